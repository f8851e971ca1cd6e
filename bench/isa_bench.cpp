// How fast SASS text is analysed, on one core: control flow, loops, classes, waits, all metrics.
// Processor time, since the machine may be busy. Usage: bench_isa_bench [FILE…]

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "isa/nvidia.h"

namespace burnish::isa {
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

bool time_reading(const fs::path& path) {
  const auto one = real_file_system().read(path);
  if (!one) {
    std::fprintf(stderr, "%s\n", one.error().to_string().c_str());
    return false;
  }
  std::string text;
  while (text.size() < (std::size_t{32} << 20)) text += *one;
  std::vector<double> times;
  std::size_t instructions = 0;
  for (int i = 0; i < 7; ++i) {
    const double start = cpu_seconds();
    const auto reading = nvidia::read_text(path, text);
    if (!reading) {
      std::fprintf(stderr, "%s\n", reading.error().to_string().c_str());
      return false;
    }
    instructions = 0;
    for (const Kernel& kernel : reading->kernels) instructions += kernel.instructions.size();
    times.push_back(cpu_seconds() - start);
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  std::printf("%s: %.0f MB/s, %.2f million instructions a second (%zu)\n", path.filename().c_str(),
              static_cast<double>(text.size()) / median / 1e6,
              static_cast<double>(instructions) / median / 1e6, instructions);
  return true;
}

}  // namespace
}  // namespace burnish::isa

int main(int argc, char** argv) {
  std::vector<std::string> files(argv + 1, argv + argc);
  if (files.empty()) files.emplace_back(BURNISH_SHARED_DIR "/fixtures/h200/k.sass");
  bool ok = true;
  for (const std::string& file : files) ok = burnish::isa::time_reading(file) && ok;
  return ok ? 0 : 1;
}
