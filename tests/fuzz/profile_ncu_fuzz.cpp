// Any bytes as an artefact of ncu, ptxas or cuobjdump: a reading or a located error.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "profile/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto reading = burnish::profile::read_bytes(bytes, "input");
  if (!reading) {
    if (reading.error().kind == burnish::ErrorKind::bug || reading.error().message.empty()) abort();
  }
  return 0;
}
