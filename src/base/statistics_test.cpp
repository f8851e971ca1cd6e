#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace burnish {
namespace {

using Values = std::vector<double>;

TEST(Statistics, MatchNumpyOnAKnownSample) {
  const Values values = {2, 3, 4, 5, 7};
  EXPECT_DOUBLE_EQ(mean(values), 4.2);
  EXPECT_DOUBLE_EQ(median(values), 4);
  EXPECT_DOUBLE_EQ(standard_deviation(values), 1.9235384061671346);  // ddof = 1
  EXPECT_DOUBLE_EQ(median_absolute_deviation(values), 1);
  EXPECT_NEAR(geometric_mean(values), 3.84464156815852, 1e-13);  // 840 ^ (1/5)
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 2.4);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 6.2);
  EXPECT_DOUBLE_EQ(quantile(values, 0), 2);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 7);
  EXPECT_DOUBLE_EQ(median(Values{4, 1, 3, 2}), 2.5);
}

TEST(Statistics, OfNothingThereIsNone) {
  const Values none;
  EXPECT_TRUE(std::isnan(mean(none)));
  EXPECT_TRUE(std::isnan(median(none)));
  EXPECT_TRUE(std::isnan(quantile(none, 0.5)));
  EXPECT_TRUE(std::isnan(standard_deviation(Values{1})));
  EXPECT_TRUE(std::isnan(median_absolute_deviation(none)));
  EXPECT_TRUE(std::isnan(geometric_mean(none)));
}

TEST(Statistics, ANanIsNotHiddenAndInfinitiesAreKept) {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(median(Values{1, nan, 2})));
  EXPECT_TRUE(std::isnan(quantile(Values{nan, 1}, 0.5)));
  EXPECT_EQ(median(Values{1, 2, inf}), 2);
  EXPECT_EQ(quantile(Values{1, 2, inf}, 0.5), 2);
  EXPECT_EQ(median(Values{inf, inf}), inf);
  EXPECT_TRUE(std::isnan(quantile(Values{1, 2}, 1.5)));
}

TEST(Statistics, TheBootstrapCoversTheMeanAsOftenAsItSays) {
  Generator generator(3);
  int covered = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    Values sample(40);
    for (double& x : sample) x = 10 + generator.normal();
    const Interval interval = bootstrap_interval(
        sample, [](std::span<const double> x) { return mean(x); }, 0.95, 400, generator);
    EXPECT_LT(interval.low, interval.high);
    covered += interval.low <= 10 && 10 <= interval.high;
  }
  // The percentile bootstrap is a little narrow at n = 40; three deviations below 0.93.
  EXPECT_GT(covered, static_cast<int>(kTrials * 0.885));
  EXPECT_LT(covered, kTrials);
}

TEST(Statistics, TheBootstrapOfAConstantIsThatConstant) {
  Generator generator(4);
  const auto statistic = [](std::span<const double> x) { return median(x); };
  const Interval interval = bootstrap_interval(Values{5, 5, 5}, statistic, 0.9, 50, generator);
  EXPECT_EQ(interval.low, 5);
  EXPECT_EQ(interval.high, 5);
  EXPECT_TRUE(std::isnan(bootstrap_interval(Values{}, statistic, 0.9, 50, generator).low));
}

}  // namespace
}  // namespace burnish
