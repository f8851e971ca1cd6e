#include "device/cpu_caches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/random.h"

namespace burnish::device {
namespace {

// One cycle through all lines in an order that no prefetcher foresees; of many walks the fastest
// counts, so that others may use the machine meanwhile.
TEST(CpuCaches, EvictedLinesComeFromFartherAway) {
#ifndef __x86_64__
  GTEST_SKIP() << "this processor has no instruction that burnish knows for it";
#endif
  struct Line {
    alignas(64) std::size_t next = 0;
  };
  std::vector<Line> lines(256);
  std::vector<std::size_t> order(lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Generator generator(1);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[generator.below(i + 1)]);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    lines[order[i]].next = order[(i + 1) % order.size()];
  }
  const auto fastest = [&](bool evicted) {
    auto least = std::chrono::steady_clock::duration::max();
    for (int walk = 0; walk < 200; ++walk) {
      if (evicted) evict(std::as_bytes(std::span(lines)));
      const auto start = std::chrono::steady_clock::now();
      volatile std::size_t at = 0;
      for (std::size_t step = 0; step < lines.size(); ++step) at = lines[at].next;
      least = std::min(least, std::chrono::steady_clock::now() - start);
    }
    return least;
  };
  EXPECT_GT(fastest(true), 2 * fastest(false));
}

}  // namespace
}  // namespace burnish::device
