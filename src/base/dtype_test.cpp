#include "base/dtype.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace burnish {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::uint64_t bits_of(DType dtype, double value) {
  const auto bytes = from_doubles(dtype, std::vector<double>{value});
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), bytes.size());
  return bits;
}

double value_of(DType dtype, std::uint64_t bits) {
  std::vector<std::byte> bytes(size_of(dtype));
  std::memcpy(bytes.data(), &bits, bytes.size());
  return to_doubles(dtype, bytes).at(0);
}

TEST(DType, NamesRoundTripAndUnknownOnesAreAbsent) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  }
  EXPECT_EQ(parse_dtype("bool"), DType::boolean);
  EXPECT_FALSE(parse_dtype("float").has_value());
  EXPECT_FALSE(parse_dtype("").has_value());
}

// Expected patterns: IEEE 754 binary16, bfloat16 as the upper half of binary32, OCP OFP8 table 2.
TEST(DType, EncodesKnownPatterns) {
  EXPECT_EQ(bits_of(DType::f16, 1.0), 0x3c00u);
  EXPECT_EQ(bits_of(DType::f16, -2.0), 0xc000u);
  EXPECT_EQ(bits_of(DType::f16, 65504), 0x7bffu);
  EXPECT_EQ(bits_of(DType::f16, 65519.99), 0x7bffu);
  EXPECT_EQ(bits_of(DType::f16, 65520), 0x7c00u);
  EXPECT_EQ(bits_of(DType::f16, 0x1p-24), 0x0001u);
  EXPECT_EQ(bits_of(DType::f16, 0x1p-25), 0x0000u);  // tie to even
  EXPECT_EQ(bits_of(DType::f16, 0x1.8p-24), 0x0002u);
  EXPECT_EQ(bits_of(DType::f16, 1 + 0x1p-11), 0x3c00u);
  EXPECT_EQ(bits_of(DType::f16, 1 + 0x3p-11), 0x3c02u);
  EXPECT_EQ(bits_of(DType::f16, 0x1.ffep-15), 0x0400u);  // the largest subnormal rounds up
  EXPECT_EQ(bits_of(DType::bf16, 3.140625), 0x4049u);
  EXPECT_EQ(bits_of(DType::bf16, 0x1p-133), 0x0001u);
  EXPECT_EQ(bits_of(DType::bf16, 1e39), 0x7f80u);
  EXPECT_EQ(bits_of(DType::fp8e4m3, 448), 0x7eu);
  EXPECT_EQ(bits_of(DType::fp8e4m3, 464), 0x7eu);  // tie between 448 and the 480 that is NaN
  EXPECT_EQ(bits_of(DType::fp8e4m3, 465), 0x7fu);
  EXPECT_EQ(bits_of(DType::fp8e4m3, -kInfinity), 0xffu);
  EXPECT_EQ(bits_of(DType::fp8e4m3, 0x1p-9), 0x01u);
  EXPECT_EQ(bits_of(DType::fp8e5m2, 57344), 0x7bu);
  EXPECT_EQ(bits_of(DType::fp8e5m2, 61440), 0x7cu);
  EXPECT_EQ(bits_of(DType::fp8e5m2, 0x1p-16), 0x01u);
  EXPECT_EQ(bits_of(DType::f32, 1 + 0x1p-24), 0x3f800000u);
}

TEST(DType, EveryPatternOfTheSmallFormatsRoundTrips) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::fp8e4m3, DType::fp8e5m2}) {
    const std::uint64_t count = 1ull << (8 * size_of(dtype));
    for (std::uint64_t bits = 0; bits < count; ++bits) {
      const double value = value_of(dtype, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(value_of(dtype, bits_of(dtype, value))));
      } else {
        ASSERT_EQ(bits_of(dtype, value), bits) << to_string(dtype) << " " << value;
      }
    }
  }
}

TEST(DType, LongVectorsDecodeLikeSingleElements) {
  for (const DType dtype : {DType::f16, DType::fp8e4m3}) {
    std::vector<std::byte> bytes(size_of(dtype) * 140'000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 >> 2);
    const auto all = to_doubles(dtype, bytes);
    for (std::size_t i = 0; i < all.size(); i += 997) {
      const std::span one(bytes.data() + i * size_of(dtype), size_of(dtype));
      const double single = to_doubles(dtype, one).at(0);
      EXPECT_TRUE(single == all[i] || (std::isnan(single) && std::isnan(all[i])));
    }
  }
}

TEST(DType, LimitsAreThoseOfTheFormats) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::fp8e4m3, DType::fp8e5m2}) {
    const double u = unit_round_off(dtype);
    EXPECT_EQ(value_of(dtype, bits_of(dtype, 1 + u)), 1.0) << to_string(dtype);
    EXPECT_EQ(value_of(dtype, bits_of(dtype, 1 + 2 * u)), 1 + 2 * u) << to_string(dtype);
    EXPECT_EQ(value_of(dtype, bits_of(dtype, largest(dtype))), largest(dtype)) << to_string(dtype);
    EXPECT_EQ(value_of(dtype, bits_of(dtype, smallest_normal(dtype))), smallest_normal(dtype));
    if (dtype == DType::f64) continue;  // what is finer is no double
    // Below the smallest normal the relative precision is gone.
    const double fine = smallest_normal(dtype) * (1 - u);
    EXPECT_NE(value_of(dtype, bits_of(dtype, fine)), fine) << to_string(dtype);
  }
  EXPECT_EQ(unit_round_off(DType::f32), 0x1p-24);
  EXPECT_EQ(unit_round_off(DType::bf16), 0x1p-8);
  EXPECT_EQ(unit_round_off(DType::i32), 0);
}

TEST(DType, IntegersRoundToEvenAndSaturate) {
  EXPECT_EQ(value_of(DType::i8, bits_of(DType::i8, 2.5)), 2);
  EXPECT_EQ(value_of(DType::i8, bits_of(DType::i8, -3.5)), -4);
  EXPECT_EQ(value_of(DType::i8, bits_of(DType::i8, 1000)), 127);
  EXPECT_EQ(value_of(DType::i8, bits_of(DType::i8, -kInfinity)), -128);
  EXPECT_EQ(value_of(DType::u8, bits_of(DType::u8, -1)), 0);
  EXPECT_EQ(value_of(DType::i32, bits_of(DType::i32, kNaN)), 0);
  EXPECT_EQ(bits_of(DType::i64, 1e30), 0x7fffffffffffffffull);
  EXPECT_EQ(bits_of(DType::i64, -1e30), 0x8000000000000000ull);
  EXPECT_EQ(value_of(DType::boolean, 2), 1);
  EXPECT_EQ(bits_of(DType::boolean, -0.5), 1u);
}

TEST(DType, SignOfZeroAndNaNSurvive) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::fp8e4m3, DType::fp8e5m2}) {
    EXPECT_TRUE(std::signbit(value_of(dtype, bits_of(dtype, -0.0))));
    EXPECT_TRUE(std::isnan(value_of(dtype, bits_of(dtype, kNaN))));
  }
}

TEST(DType, PartOfAnElementIsLeftOut) {
  const std::vector<std::byte> bytes(7);
  EXPECT_EQ(to_doubles(DType::f32, bytes).size(), 1u);
  EXPECT_TRUE(to_doubles(DType::f32, {}).empty());
}

}  // namespace
}  // namespace burnish
