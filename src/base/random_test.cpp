#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace burnish {
namespace {

TEST(Random, SameSeedSameStream) {
  Generator a(7), b(7), c(8);
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = a.next();
    EXPECT_EQ(value, b.next());
    equal += value == c.next();
  }
  EXPECT_EQ(equal, 0);
}

TEST(Random, IsTheGeneratorItClaimsToBe) {
  // splitmix64 and xoshiro256++ of the authors' C sources, seed 0, computed apart.
  Generator generator(0);
  EXPECT_EQ(generator.next(), 0x53175d61490b23dfull);
  EXPECT_EQ(generator.next(), 0x61da6f3dc380d507ull);
}

TEST(Random, DrawsAreUniformAndNormal) {
  Generator generator(1);
  std::array<int, 7> counts{};
  double sum = 0, normal = 0, square = 0;
  constexpr int kDraws = 70'000;
  for (int i = 0; i < kDraws; ++i) {
    ++counts[generator.below(7)];
    const double u = generator.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
    const double x = generator.normal();
    normal += x;
    square += x * x;
  }
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 1e4) * (count - 1e4) / 1e4;
  EXPECT_LT(chi_square, 22.5);  // 6 degrees of freedom, p = 0.001
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(normal / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(square / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
}

TEST(Random, BoundsAtTheEndsOfTheRange) {
  Generator generator(2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(generator.below(1), 0u);
    EXPECT_LT(generator.below(UINT64_MAX), UINT64_MAX);
  }
}

TEST(Random, SeedsOfTheKernelDiffer) { EXPECT_NE(real_random().seed(), real_random().seed()); }

}  // namespace
}  // namespace burnish
