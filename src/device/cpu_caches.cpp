#include "device/cpu_caches.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "base/file.h"
#include "base/text.h"

#ifdef __x86_64__
#include <emmintrin.h>
#endif

namespace burnish::device {

std::uint64_t cpu_cache_bytes() {
  // Documentation/ABI/testing/sysfs-devices-system-cpu: level, size ("32768K"), shared_cpu_list. A
  // cache is counted once, by the list of those who share it.
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  std::int64_t last_level = 0;
  std::uint64_t total = 0;
  std::set<std::string> counted;
  const FileSystem& files = real_file_system();
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    for (int index = 0; index < 8; ++index) {
      const fs::path folder =
          fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}", cpu, index);
      const Result<std::string> level_text = files.read(folder / "level");
      const Result<std::string> size_text = files.read(folder / "size");
      const Result<std::string> shared = files.read(folder / "shared_cpu_list");
      if (!level_text || !size_text || !shared) break;
      const auto level = parse_integer(trim(*level_text)).value_or(0);
      std::string_view size = trim(*size_text);
      std::uint64_t unit = 1;
      if (size.ends_with('K')) unit = 1024;
      if (size.ends_with('M')) unit = 1024 * 1024;
      if (unit > 1) size.remove_suffix(1);
      const auto count = parse_integer(size).value_or(0);
      if (level < last_level || count <= 0) continue;
      if (level > last_level) {
        last_level = level;
        total = 0;
        counted.clear();
      }
      if (counted.insert(*shared).second) total += static_cast<std::uint64_t>(count) * unit;
    }
  }
  return total;
}

void write_over_caches(std::vector<char>& memory, std::uint64_t bytes) {
  memory.resize(bytes);
  static char value = 0;
  ++value;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(-1);
  const std::size_t share = memory.size() / cpus.size();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    threads.emplace_back([&memory, share, i, cpu = cpus[i]] {
      if (cpu >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
      }
      std::memset(memory.data() + i * share, value, share);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void evict(std::span<const std::byte> bytes) {
#ifdef __x86_64__
  constexpr std::size_t kLine = 64;
  for (std::size_t at = 0; at < bytes.size(); at += kLine) _mm_clflush(bytes.data() + at);
  if (!bytes.empty()) _mm_clflush(&bytes.back());  // the first byte may lie inside its line
  _mm_mfence();
#else
  static_cast<void>(bytes);
#endif
}

}  // namespace burnish::device
