#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace burnish {

/// Element types of tensors. fp8 are the OCP formats (OFP8 1.0): e4m3 has no infinities.
enum class DType { f64, f32, f16, bf16, fp8e4m3, fp8e5m2, i64, i32, i16, i8, u8, boolean };

std::string_view to_string(DType dtype);  ///< "f64", …, "bool"
std::optional<DType> parse_dtype(std::string_view name);
std::size_t size_of(DType dtype);
bool is_floating(DType dtype);
/// Half the distance from 1 to the next value: 2^-24 for f32, 2^-8 for bf16 …; 0 for integers.
double unit_round_off(DType dtype);
/// Largest finite value, and smallest positive normal one (integers: largest, and 1).
double largest(DType dtype);
double smallest_normal(DType dtype);

/// Elements as doubles (i64 beyond 2^53 loses low bits), and back with round-to-nearest-even;
/// integers saturate, fp8e4m3 saturates to NaN as the format demands.
std::vector<double> to_doubles(DType dtype, std::span<const std::byte> bytes);
std::vector<std::byte> from_doubles(DType dtype, std::span<const double> values);

}  // namespace burnish
