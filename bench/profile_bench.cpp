// How long a report of Nsight Compute takes to become a model, and how fast CSV is walked.
// Processor time, since the machine may be busy; the first reading includes loading the alias
// tables. Usage: bench_profile_bench [REPORT…]

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "profile/csv.h"
#include "profile/profile.h"

namespace burnish::profile {
namespace {

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

bool time_reading(const fs::path& path) {
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    const double start = cpu_ms();
    const auto reading = read_profile(path);
    times.push_back(cpu_ms() - start);
    if (!reading) {
      std::fprintf(stderr, "%s\n", reading.error().to_string().c_str());
      return false;
    }
  }
  const double first = times.front();
  std::sort(times.begin(), times.end());
  std::printf("%s: first %.2f ms, median %.2f ms, least %.2f ms\n", path.c_str(), first,
              times[times.size() / 2], times.front());
  return true;
}

void time_csv() {
  std::string text;
  while (text.size() < (std::size_t{64} << 20)) {
    text +=
        "\"0\",\"661\",\"k\",\"127.0.0.1\",\"saxpy(int, float, const float *, float "
        "*)\",\"1\",\"7\","
        "\"(256, 1, 1)\",\"(262144, 1, 1)\",\"0\",\"9.0\",\"GPU Speed Of Light Throughput\","
        "\"DRAM Frequency\",\"Ghz\",\"3.20\",\n";
  }
  const double start = cpu_ms();
  CsvReader reader(text, "generated");
  std::size_t fields = 0;
  for (auto more = reader.next(); more && *more; more = reader.next()) {
    fields += reader.fields().size();
  }
  const double seconds = (cpu_ms() - start) / 1e3;
  std::printf("CSV: %.0f MB/s (%zu fields)\n", static_cast<double>(text.size()) / seconds / 1e6,
              fields);
}

}  // namespace
}  // namespace burnish::profile

int main(int argc, char** argv) {
  std::vector<std::string> reports(argv + 1, argv + argc);
  if (reports.empty()) reports.emplace_back(BURNISH_SHARED_DIR "/fixtures/h200/k.ncu-rep");
  bool ok = true;
  for (const std::string& report : reports) ok = burnish::profile::time_reading(report) && ok;
  burnish::profile::time_csv();
  return ok ? 0 : 1;
}
