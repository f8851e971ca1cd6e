#include "hardware/roofline.h"

#include <gtest/gtest.h>

#include <cmath>

namespace burnish::hardware {
namespace {

const Ceiling kCompute{"fma f32", "FLOP/s", 300e9, "measured", "burnish peak"};
const Ceiling kBandwidth{"copy 8 MiB", "B/s", 50e9, "measured", "burnish copy"};

TEST(Roofline, MatrixProductIsComputeBound) {
  const double n = 1024;
  const Work work{2 * n * n * n, 3 * n * n * 4, "f32"};
  const Roofline found = roofline(work, 13.5e-3, kCompute, kBandwidth);
  EXPECT_EQ(found.bound, "compute");
  EXPECT_NEAR(found.intensity, 2 * n / 12, 1e-9);
  EXPECT_NEAR(found.floor_seconds, 2 * n * n * n / 300e9, 1e-12);
  EXPECT_NEAR(found.flops_rate, 159.07e9, 0.01e9);
  EXPECT_NEAR(found.utilization, 0.5302, 1e-4);
  EXPECT_DOUBLE_EQ(found.utilization, found.compute_utilization);
}

TEST(Roofline, SumOfVectorsIsBandwidthBound) {
  const Work work{1e6, 12e6, "f32"};
  const Roofline found = roofline(work, 300e-6, kCompute, kBandwidth);
  EXPECT_EQ(found.bound, "bandwidth");
  EXPECT_NEAR(found.floor_seconds, 240e-6, 1e-12);
  EXPECT_NEAR(found.utilization, 0.8, 1e-12);
  EXPECT_NEAR(found.bandwidth_utilization, 0.8, 1e-12);
}

TEST(Roofline, AboveTheRoofIsShownAsIs) {
  const Roofline found = roofline({0, 12e6, "f32"}, 200e-6, kCompute, kBandwidth);
  EXPECT_NEAR(found.utilization, 1.2, 1e-12);
  EXPECT_EQ(found.intensity, 0);
}

TEST(Roofline, NothingToDoAndNoTimeAreNoCrash) {
  const Roofline nothing = roofline({}, 0, {}, {});
  EXPECT_EQ(nothing.utilization, 0);
  EXPECT_EQ(nothing.flops_rate, 0);
  const Roofline registers_only = roofline({1e9, 0, "f32"}, 1e-2, kCompute, kBandwidth);
  EXPECT_TRUE(std::isinf(registers_only.intensity));
  EXPECT_EQ(registers_only.bound, "compute");
}

TEST(Roofline, MetricsKeepUnitsAndSource) {
  const MetricSet set = metrics(roofline({1e6, 12e6, "f32"}, 300e-6, kCompute, kBandwidth));
  EXPECT_NEAR(*set.value("roofline.utilization_pct"), 80, 1e-9);
  EXPECT_NEAR(*set.value("roofline.compulsory_bytes"), 12e6, 1e-3);
  EXPECT_EQ(set.find("roofline.bound")->text, "bandwidth");
  EXPECT_EQ(set.find("roofline.bound")->unit, "text");
  EXPECT_EQ(set.find("roofline.ceiling_flops")->unit, "FLOP/s");
  EXPECT_EQ(set.find("roofline.ceiling_bandwidth")->where.raw_name, "copy 8 MiB");
}

}  // namespace
}  // namespace burnish::hardware
