// Any bytes as SASS text, a cubin or a fat binary: a reading or a located error.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "isa/cubin_object.h"
#include "isa/fatbin.h"
#include "isa/isa.h"
#include "isa/nvidia.h"

namespace {

void check(const burnish::Error& error) {
  if (error.kind == burnish::ErrorKind::bug || error.message.empty() || !error.place) abort();
}

void read(std::string_view bytes) {
  using namespace burnish::isa::nvidia;
  if (is_cubin(bytes)) {
    if (const auto cubin = read_cubin(bytes, "input", {}); !cubin) check(cubin.error());
    return;
  }
  if (bytes.starts_with(kFatbinMagic)) {
    const auto entries = read_fatbins(bytes, "input");
    if (!entries) return check(entries.error());
    for (const FatbinEntry& entry : *entries) {
      const auto plain = unpack(entry, "input");
      if (!plain) {
        check(plain.error());
      } else if (is_cubin(*plain)) {
        if (const auto cubin = read_cubin(*plain, "input", "image"); !cubin) check(cubin.error());
      }
    }
    return;
  }
  const auto reading = read_text("input", bytes);
  if (!reading) return check(reading.error());
  for (const burnish::isa::Kernel& kernel : reading->kernels) {
    (void)burnish::isa::metrics(kernel);
    if (kernel.hot && static_cast<std::size_t>(*kernel.hot) >= kernel.loops.size()) abort();
    const int count = static_cast<int>(kernel.instructions.size());
    for (const auto& instruction : kernel.instructions) {
      for (const int producer : instruction.waits_for) {
        if (producer < 0 || producer >= count) abort();
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read({reinterpret_cast<const char*>(data), size});
  return 0;
}
