// Any bytes as an AMD code object, a bundle of some, or assembly: a reading or a located error. No
// disassembler is started, so that objects are read as far as burnish itself reads them.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "isa/amd.h"
#include "isa/isa.h"

namespace {

struct NoPrograms : burnish::ProcessRunner {
  burnish::Result<burnish::ProcessResult> run(const burnish::ProcessSpec&) override {
    return burnish::environment_error("no program is started");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  NoPrograms runner;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto reading = burnish::isa::amd::read("input", bytes, runner);
  if (!reading) {
    if (reading.error().kind == burnish::ErrorKind::bug || reading.error().message.empty()) abort();
    return 0;
  }
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
  return 0;
}
