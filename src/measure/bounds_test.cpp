#include "measure/bounds.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "measure/test_tasks.h"

namespace burnish::measure {
namespace {

Problem dot(DType in, DType out, double terms, const std::string& path = "f32") {
  Problem problem;
  problem.tensors = {{"x", in, {64}, device::Buffer::Role::in, {}},
                     {"y", out, {64}, device::Buffer::Role::out, {}}};
  problem.tolerance.accumulation = terms;
  problem.work.math_path = path;
  return problem;
}

ErrorModel model_of(const Problem& problem, Rounding rounding = Rounding::random) {
  return error_model(problem, problem.tensors[1], rounding);
}

TEST(ErrorModel, GrowsWithTheRootOfTheTermsAndNotFaster) {
  const double short_sum = model_of(dot(DType::f32, DType::f32, 100)).spread;
  const double long_sum = model_of(dot(DType::f32, DType::f32, 1e6)).spread;
  EXPECT_LT(long_sum / short_sum, 100);
  EXPECT_GT(long_sum, 8e3 * 0x1p-24);
  // Sums of equal values round alike, so that only the linear bound holds.
  EXPECT_GT(model_of(dot(DType::f32, DType::f32, 1e6), Rounding::structured).spread, 1e6 * 0x1p-24);
}

TEST(ErrorModel, IsThatOfTheMathPathWhereInputsAreRoundedToIt) {
  const double f32 = model_of(dot(DType::f32, DType::f32, 64)).spread;
  EXPECT_GT(model_of(dot(DType::f32, DType::f32, 64, "tf32")).spread, 1000 * f32);
  EXPECT_GT(model_of(dot(DType::f32, DType::f32, 64, "bf16-tensor")).spread, 1000 * f32);
  // bf16 inputs are exact in a bf16 path, and sums are kept in f32.
  EXPECT_EQ(model_of(dot(DType::bf16, DType::f32, 64, "bf16-tensor")).spread, f32);
}

TEST(ErrorModel, IntegersAreExactUnlessTheTaskSaysOtherwise) {
  const ErrorModel exact = model_of(dot(DType::i8, DType::i32, 64));
  EXPECT_EQ(exact.absolute + exact.relative + exact.spread, 0);
  Problem problem = dot(DType::i8, DType::i32, 64);
  problem.tolerance.absolute = 1;
  EXPECT_EQ(model_of(problem).absolute, 1);
}

TEST(ErrorModel, TheTasksOwnToleranceReplacesTheDerivedOne) {
  Problem problem = dot(DType::f32, DType::f32, 64);
  problem.tolerance.relative = 0.25;
  problem.tolerance.absolute = 3;
  const ErrorModel model = model_of(problem);
  EXPECT_EQ(model.relative, 0.25);
  EXPECT_EQ(model.absolute, 3);
  EXPECT_EQ(model.spread, 0);
}

// The claim of docs/judging.md, for f32: sums in any order stay within the bounds, and inputs
// rounded to 10 bits do not, whatever the length.
TEST(ErrorModel, SeparatesF32FromTF32AtEveryLength) {
  for (const int terms : {8, 64, 1024, 16384}) {
    Generator generator(static_cast<std::uint64_t>(terms));
    constexpr std::int64_t kOutputs = 256;
    Problem problem = dot(DType::f32, DType::f32, terms);
    problem.tensors[1].shape = {kOutputs};
    std::vector<double> want, forward, backward, pairs, tf32;
    for (std::int64_t i = 0; i < kOutputs; ++i) {
      std::vector<float> x(static_cast<std::size_t>(terms)), y(x.size());
      double exact = 0, coarse = 0;
      for (std::size_t k = 0; k < x.size(); ++k) {
        x[k] = static_cast<float>(generator.normal());
        y[k] = static_cast<float>(generator.normal());
        exact += static_cast<double>(x[k]) * static_cast<double>(y[k]);
        auto cut = [](float v) { return rounded(DType::f16, {static_cast<double>(v)})[0]; };
        coarse += cut(x[k]) * cut(y[k]);
      }
      float up = 0, down = 0, lanes[8] = {};
      for (std::size_t k = 0; k < x.size(); ++k) {
        up += x[k] * y[k];
        down += x[x.size() - 1 - k] * y[x.size() - 1 - k];
        lanes[k % 8] += x[k] * y[k];
      }
      want.push_back(exact);
      forward.push_back(static_cast<double>(up));
      backward.push_back(static_cast<double>(down));
      pairs.push_back(static_cast<double>(((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                                          ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))));
      tf32.push_back(coarse);
    }
    const Tensor& output = problem.tensors[1];
    const ErrorModel model = model_of(problem);
    const auto bounds = element_bounds(model, output, want, {});
    auto right = [&](const std::vector<double>& got) {
      return compare(output, got, want, bounds, model, Tolerance::NonFinite::forbidden).right();
    };
    EXPECT_TRUE(right(forward)) << terms;
    EXPECT_TRUE(right(backward)) << terms;
    EXPECT_TRUE(right(pairs)) << terms;
    EXPECT_FALSE(right(tf32)) << terms;
  }
}

TEST(Compare, NaNNeverPassesForABoundItCannotBeHeldTo) {
  const Tensor tensor{"y", DType::f32, {2}, device::Buffer::Role::out, {}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> bounds{1e30, 1e30};
  auto failing = [&](std::vector<double> got, std::vector<double> want, Tolerance::NonFinite rule) {
    return compare(tensor, got, want, bounds, {}, rule).failing;
  };
  using Rule = Tolerance::NonFinite;
  EXPECT_EQ(failing({nan, 1}, {1, 1}, Rule::forbidden), 1);
  EXPECT_EQ(failing({nan, 1}, {1, 1}, Rule::as_reference), 1);
  EXPECT_EQ(failing({nan, 1}, {nan, 1}, Rule::as_reference), 0);
  EXPECT_EQ(failing({1, 1}, {nan, 1}, Rule::as_reference), 1);
  EXPECT_EQ(failing({infinity, 1}, {-infinity, 1}, Rule::as_reference), 1);
  EXPECT_EQ(failing({infinity, 1}, {infinity, 1}, Rule::as_reference), 0);
  EXPECT_EQ(failing({nan, 1}, {nan, 1}, Rule::forbidden), 1);
}

TEST(Compare, AChannelTooSmallToShowInTheWholeShowsInItsSlice) {
  const Tensor tensor{"y", DType::f32, {4, 100, 100}, device::Buffer::Role::out, {}};
  Generator generator(5);
  std::vector<double> want(40000);
  for (double& value : want) value = generator.normal();
  std::vector<double> got = want;
  const std::vector<double> bounds(want.size(), 0.01);
  for (std::size_t i = 20000; i < 20100; ++i) got[i] += 0.0099;  // within each element's bound
  const Numbers numbers = compare(tensor, got, want, bounds, {}, Tolerance::NonFinite::forbidden);
  EXPECT_EQ(numbers.failing, 0);
  EXPECT_LT(numbers.global_ratio, 1);
  EXPECT_GT(numbers.part_ratio, 1);
  EXPECT_FALSE(numbers.right());
}

TEST(Compare, HistogramCountsByDecadeOfTheBound) {
  const Tensor tensor{"y", DType::f32, {4}, device::Buffer::Role::out, {}};
  const std::vector<double> want{1, 1, 1, 1}, bounds{1, 1, 1, 1};
  const std::vector<double> got{1, 1.05, 1.5, 3};
  EXPECT_THAT(compare(tensor, got, want, bounds, {}, Tolerance::NonFinite::forbidden).histogram,
              testing::ElementsAre(1, 0, 0, 0, 0, 1, 1, 1));
}

TEST(ElementScale, GivesEachChannelItsOwn) {
  const Tensor tensor{"y", DType::f32, {2, 100}, device::Buffer::Role::out, {}};
  std::vector<double> want(200, 1000);
  for (std::size_t i = 100; i < 200; ++i) want[i] = 1e-3;
  const auto scale = element_scale(tensor, want);
  EXPECT_NEAR(scale[0], 1000, 500);
  EXPECT_NEAR(scale[150], 1e-3, 5e-4);
}

TEST(Names, AreThoseOfTheLanguage) {
  const Tensor tensor{"C", DType::f32, {3, 4}, device::Buffer::Role::out, {}};
  EXPECT_EQ(element_name(tensor, 7), "C[1, 3]");
  EXPECT_EQ(slice_name(tensor, 1, 2), "C[:, 2]");
  EXPECT_EQ(element_name({"s", DType::f32, {}, device::Buffer::Role::out, {}}, 0), "s");
}

// One value everywhere, of which a right kernel may cut off nearly two units of round-off.
TEST(Bounds, ElementsThatAreAlikeMayBeRoundedAlike) {
  Problem problem;
  problem.tensors = {{"Y", DType::bf16, {5000}, device::Buffer::Role::out, {}}};
  const Tensor& tensor = problem.tensors[0];
  const std::vector<double> want(5000, 1 + 0.95 * 0x1p-7), got(5000, 1);
  const auto judged = [&](Rounding rounding) {
    const ErrorModel model = error_model(problem, tensor, rounding);
    return compare(tensor, got, want, element_bounds(model, tensor, want, {}), model,
                   Tolerance::NonFinite::forbidden);
  };
  EXPECT_TRUE(judged(Rounding::structured).right());
  EXPECT_FALSE(judged(Rounding::random).right());
}

}  // namespace
}  // namespace burnish::measure
