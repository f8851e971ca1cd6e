#include "measure/sequential.h"

#include <gmock/gmock.h>

#include <cmath>

namespace burnish::measure {
namespace {

TEST(TrimmedMean, LeavesOutAFifthAtEachEnd) {
  EXPECT_DOUBLE_EQ(trimmed_mean(std::vector<double>{1, 2, 3, 4, 1000}), 3);
  EXPECT_DOUBLE_EQ(trimmed_mean(std::vector<double>{5}), 5);
  EXPECT_TRUE(std::isnan(trimmed_mean({})));
}

// Critical values of the signed-rank statistic: Hollander, Wolfe and Chicken, Nonparametric
// Statistical Methods, table A.4; P(W <= 5) = 0.0195 for n = 8 and P(W <= 8) = 0.0244 for n = 10.
TEST(SignedRank, IntervalEndsAreTheTabulatedWalshAverages) {
  const std::vector<double> ten{1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  // The ninth smallest and ninth largest Walsh averages: 1 1.5 2 2.5 3 4 4.5 5 6 and 512 384 … 257.
  const Interval interval = signed_rank_interval(ten, 2 * 0.0245);
  EXPECT_DOUBLE_EQ(interval.low, 6);
  EXPECT_DOUBLE_EQ(interval.high, 257);
  const Interval wider = signed_rank_interval(ten, 2 * 0.0243);
  EXPECT_DOUBLE_EQ(wider.low, 5);
  EXPECT_DOUBLE_EQ(wider.high, 258);
}

TEST(SignedRank, TooFewValuesGiveNoBound) {
  const std::vector<double> values{1, 2, 3, 4};
  EXPECT_TRUE(std::isinf(signed_rank_interval(values, 0.01).low));
  EXPECT_TRUE(std::isinf(signed_rank_interval({}, 0.01).high));
  EXPECT_EQ(signed_rank_interval(values, 0.125).low, 1);  // 2 · 2^-4
}

TEST(SignedRank, ManyValuesUseTheNormalTailAndAgreeWithTheExactOne) {
  Generator generator(3);
  std::vector<double> values(401);
  for (double& value : values) value = generator.normal();
  const Interval approximate = signed_rank_interval(values, 0.01);
  values.pop_back();
  const Interval exact = signed_rank_interval(values, 0.01);
  EXPECT_NEAR(approximate.low, exact.low, 0.01);
  EXPECT_NEAR(approximate.high, exact.high, 0.01);
}

/// Noise of a shared machine: small, with bursts that last and now and then a launch far out.
struct Noise {
  Generator generator;
  double burst = 0;
  double next() {
    burst = 0.8 * burst + 0.02 * generator.normal();
    double value = burst + 0.02 * generator.normal();
    if (generator.uniform() < 0.05) value += generator.uniform();
    return value;
  }
};

TEST(CentreInterval, CoversTheTruthAsOftenAsItSays) {
  int missed = 0;
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) {
    Noise noise{Generator(static_cast<std::uint64_t>(run))};
    Generator generator(static_cast<std::uint64_t>(run) + 1000);
    std::vector<double> values(24);
    for (double& value : values) {
      // Each block is turned round by a coin, which is what makes its distribution symmetric.
      const double a = noise.next(), b = noise.next();
      value = 0.1 + (generator.below(2) == 0 ? a - b : b - a);
    }
    const Interval interval = centre_interval(values, 0.05, generator);
    if (interval.low > 0.1 || interval.high < 0.1) ++missed;
  }
  EXPECT_LE(missed, kRuns * 0.07);
  EXPECT_GE(missed, kRuns * 0.005);  // it is not merely wide
}

TEST(Looks, SpendNoMoreThanAllowedAndAllAtTheLast) {
  Looks looks(25, 0.01);
  double spent = 0;
  std::vector<int> taken;
  for (int n = 1; n <= 25; ++n) {
    if (!looks.due(n)) continue;
    taken.push_back(n);
    const double now = looks.spend(n, n == 25 ? Looks::Last::yes : Looks::Last::no);
    EXPECT_GE(now, std::ldexp(2, -n)) << "a look at " << n << " could show nothing";
    spent += now;
    EXPECT_LE(spent, 0.01 + 1e-12);
  }
  EXPECT_EQ(taken, (std::vector<int>{10, 15, 22, 25}));
  EXPECT_NEAR(spent, 0.01, 1e-12);
  Looks early(25, 0.01);
  EXPECT_DOUBLE_EQ(early.spend(10, Looks::Last::yes), 0.01);
  EXPECT_DOUBLE_EQ(early.spend(25, Looks::Last::yes), 0);
}

TEST(FastestThird, IsBlindToWhatOnlyAddsTime) {
  const std::vector<double> quiet{1, 1, 1, 1, 1, 1}, loud{1, 50, 1, 3, 9, 7};
  EXPECT_DOUBLE_EQ(fastest_third(quiet), fastest_third(loud));
  EXPECT_DOUBLE_EQ(fastest_third(std::vector<double>{2}), std::log(2));
  EXPECT_TRUE(std::isnan(fastest_third({})));
}

TEST(Decide, KnowsThreeVerdictsAndWhenMoreIsOfNoUse) {
  const Thresholds thresholds{0.02, 0.01};
  auto of = [&](double low, double high) {
    return decide({std::log(low), std::log(high)}, thresholds);
  };
  EXPECT_EQ(of(1.021, 1.3).verdict, Comparison::improved);
  EXPECT_EQ(of(1.019, 1.3).verdict, Comparison::inconclusive);
  EXPECT_FALSE(of(1.019, 1.3).settled);
  EXPECT_EQ(of(0.9, 0.98).verdict, Comparison::regressed);
  EXPECT_EQ(of(0.9, 0.995).verdict, Comparison::inconclusive);
  EXPECT_TRUE(of(0.995, 1.005).settled);
  EXPECT_EQ(of(0.995, 1.005).verdict, Comparison::inconclusive);
}

}  // namespace
}  // namespace burnish::measure
