#include "measure/inputs.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "measure/shapes.h"
#include "measure/test_tasks.h"

namespace burnish::measure {
namespace {

using testing::Contains;
using testing::Not;

Problem one_input(Draw draw, DType dtype = DType::f32, std::vector<std::int64_t> shape = {40, 25}) {
  Problem problem;
  problem.tensors = {{"x", dtype, shape, device::Buffer::Role::in, draw},
                     {"y", DType::f32, shape, device::Buffer::Role::out, {}}};
  return problem;
}

std::vector<double> drawn(const Problem& problem, Family family, double magnitude = 0) {
  Generator generator(7);
  return draw_inputs(problem, family, generator, magnitude).at("x");
}

TEST(Inputs, FamiliesFitTheDtypesAndDraws) {
  EXPECT_THAT(families(one_input({})), Contains(Family::denormals));
  EXPECT_THAT(families(one_input({})), Not(Contains(Family::non_finite)));
  Problem open = one_input({});
  open.tolerance.non_finite = Tolerance::NonFinite::as_reference;
  EXPECT_THAT(families(open), Contains(Family::non_finite));
  const auto indices = families(one_input({Draw::Kind::integers, 0, 9}, DType::i32));
  EXPECT_THAT(indices, Not(Contains(Family::largest)));
  EXPECT_THAT(indices, Contains(Family::ties));
  EXPECT_EQ(families(one_input({Draw::Kind::constant})).size(), 1u);
}

TEST(Inputs, StatedRangesAreNeverLeft) {
  for (const Family family :
       {Family::normal, Family::zeros, Family::ones, Family::ties, Family::denormals,
        Family::largest, Family::mixed, Family::impulses, Family::channels}) {
    for (const double value : drawn(one_input({Draw::Kind::uniform, 2, 3}), family, 1e20)) {
      EXPECT_GE(value, 2) << to_string(family);
      EXPECT_LE(value, 3) << to_string(family);
    }
    for (const double value :
         drawn(one_input({Draw::Kind::integers, 3, 5}, DType::i32), family, 1e20)) {
      EXPECT_EQ(value, std::round(value));
      EXPECT_GE(value, 3) << to_string(family);
      EXPECT_LE(value, 5) << to_string(family);
    }
  }
}

TEST(Inputs, ValuesAreThoseOfTheDtype) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::fp8e4m3, DType::fp8e5m2, DType::f32}) {
    for (const Family family : families(one_input({}, dtype))) {
      const auto values = drawn(one_input({}, dtype), family, 100);
      EXPECT_EQ(values, rounded(dtype, values)) << to_string(dtype) << " " << to_string(family);
      for (const double value : values) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

TEST(Inputs, ImpulsesReachEverySlice) {
  const auto values = drawn(one_input({}), Family::impulses);
  std::set<std::size_t> rows, columns;
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    ++count;
    rows.insert(i / 25);
    columns.insert(i % 25);
  }
  EXPECT_EQ(rows.size(), 40u);
  EXPECT_EQ(columns.size(), 25u);
  EXPECT_LE(count, 40u);
}

TEST(Inputs, ALongAxisKeepsItsTail) {
  const auto values = drawn(one_input({}, DType::f32, {20000}), Family::impulses);
  EXPECT_NE(values.back(), 0);
}

TEST(Inputs, DenormalsAreDenormalAndMixedIsWide) {
  int denormal = 0;
  for (const double value : drawn(one_input({}), Family::denormals)) {
    if (value != 0 && std::abs(value) < smallest_normal(DType::f32)) ++denormal;
  }
  EXPECT_GT(denormal, 300);
  double least = 1e30, most = 0;
  for (const double value : drawn(one_input({}), Family::mixed)) {
    least = std::min(least, std::abs(value));
    most = std::max(most, std::abs(value));
  }
  EXPECT_GT(most / least, 1e6);
}

TEST(Inputs, MagnitudesStayWithinTheNarrowestFormat) {
  Problem problem = one_input({}, DType::f16);
  problem.tolerance.accumulation = 16;
  ASSERT_FALSE(magnitudes(problem).empty());
  EXPECT_LE(magnitudes(problem)[0] * magnitudes(problem)[0] * 16, largest(DType::f16));
}

TEST(Inputs, ClearSliceClearsJustThat) {
  const Tensor tensor{"x", DType::f32, {2, 3, 2}, device::Buffer::Role::in, {}};
  std::vector<double> values(12, 1);
  clear_slice(tensor, values, 1, 2, 3);
  EXPECT_EQ(values, (std::vector<double>{1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0}));
}

TEST(ContentPool, GivesOtherContentEachTime) {
  Generator generator(3);
  const ContentPool pool(one_input({}), generator);
  const auto first = pool.next(generator).at("x");
  const auto second = pool.next(generator).at("x");
  EXPECT_EQ(first.size(), 4000u);
  EXPECT_FALSE(std::equal(first.begin(), first.end(), second.begin()));
}

TEST(Shapes, AreInsideTheDomainAndAffordable) {
  Task task = matmul_task();
  task.domain = {{"M", {3, 100, 1}}, {"N", {16, 512, 16}}};
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Generator generator(seed);
    const auto shapes = own_shapes(task, generator);
    EXPECT_GE(shapes.size(), 4u);
    std::set<std::string> names;
    for (const Shape& shape : shapes) {
      const double m = shape.dims.at("M"), n = shape.dims.at("N");
      EXPECT_TRUE(m >= 3 && m <= 100) << shape.name;
      EXPECT_TRUE(n >= 16 && n <= 512 && std::fmod(n, 16) == 0) << shape.name;
      EXPECT_EQ(shape.dims.at("K"), 48) << shape.name;
      EXPECT_TRUE(names.insert(describe(shape.dims)).second) << shape.name;
    }
  }
}

TEST(Shapes, NoDomainOrOnePointGivesNone) {
  Task task = matmul_task();
  Generator generator(1);
  task.domain.clear();
  EXPECT_TRUE(own_shapes(task, generator).empty());
  task.domain = {{"M", {24, 24, 1}}};
  EXPECT_TRUE(own_shapes(task, generator).empty());
}

}  // namespace
}  // namespace burnish::measure
