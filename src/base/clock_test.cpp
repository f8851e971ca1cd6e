#include "base/clock.h"

#include <gtest/gtest.h>

namespace burnish {
namespace {

TEST(Clock, WritesIsoTimeInUtc) {
  using namespace std::chrono;
  EXPECT_EQ(iso_time(sys_days(2026y / November / 29) + 20h + 15min + 999ms),
            "2026-11-29T20:15:00Z");
  EXPECT_EQ(iso_time(system_clock::time_point()), "1970-01-01T00:00:00Z");
  EXPECT_EQ(iso_time(sys_days(2024y / February / 29) - 1s), "2024-02-28T23:59:59Z");
}

TEST(Clock, GoesOn) {
  const auto before = real_clock().steady();
  real_clock().sleep(std::chrono::milliseconds(5));
  EXPECT_GE(real_clock().steady() - before, std::chrono::milliseconds(5));
  EXPECT_GT(real_clock().now(), std::chrono::sys_days(std::chrono::year(2024) / 1 / 1));
}

}  // namespace
}  // namespace burnish
