#include "base/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"

namespace burnish {
namespace {

/// A binary floating-point format of at most 16 bits: sign, exponent, mantissa.
struct SmallFloat {
  int mantissa_bits;
  int bias;
  std::uint16_t sign, infinity, nan, largest;  ///< infinity is nan where the format has none
};

// IEEE 754 binary16; bfloat16; OCP 8-bit Floating Point Specification 1.0, table 1.
constexpr SmallFloat kF16{10, 15, 0x8000, 0x7c00, 0x7e00, 0x7bff};
constexpr SmallFloat kBf16{7, 127, 0x8000, 0x7f80, 0x7fc0, 0x7f7f};
constexpr SmallFloat kE4m3{3, 7, 0x80, 0x7f, 0x7f, 0x7e};
constexpr SmallFloat kE5m2{2, 15, 0x80, 0x7c, 0x7e, 0x7b};

double decode(const SmallFloat& format, std::uint16_t bits) {
  const double sign = (bits & format.sign) != 0 ? -1.0 : 1.0;
  const int magnitude = bits & (format.sign - 1);
  if (magnitude > format.largest) {
    const bool infinite = format.infinity != format.nan && magnitude == format.infinity;
    return infinite ? sign * std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::quiet_NaN();
  }
  const int exponent = magnitude >> format.mantissa_bits;
  const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  const int implicit = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  return sign * std::ldexp(mantissa + implicit,
                           std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

std::uint16_t encode(const SmallFloat& format, double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? format.sign : 0);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | format.nan);
  const auto bits = std::bit_cast<std::uint64_t>(value) & ~(1ull << 63);
  const int exponent = static_cast<int>(bits >> 52) - 1023;
  if (exponent < 1 - format.bias) {  // subnormal or zero in the format: count its quanta
    const double quanta =
        std::nearbyint(std::ldexp(std::abs(value), format.bias - 1 + format.mantissa_bits));
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(quanta));
  }
  // The mantissa carries into the exponent when it rounds up to the next power of two.
  const int dropped = 52 - format.mantissa_bits;
  const std::uint64_t half = (1ull << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
  const std::uint64_t rounded = (bits + half) >> dropped;
  const std::uint64_t rebias = static_cast<std::uint64_t>(1023 - format.bias)
                               << format.mantissa_bits;
  const std::uint64_t result = rounded - rebias;
  if (result > format.largest) return static_cast<std::uint16_t>(sign | format.infinity);
  return static_cast<std::uint16_t>(sign | result);
}

constexpr std::size_t kGrain = 1 << 18;  ///< elements; what takes a core about a millisecond

template <class Bits>
void decode_all(const SmallFloat& format, std::span<const std::byte> bytes,
                std::vector<double>& values) {
  // Decoding a short vector through a table of 65,536 entries would cost more than it saves.
  const std::size_t patterns = static_cast<std::size_t>(format.sign) * 2;
  const bool tabled = values.size() > patterns;
  std::vector<double> table(tabled ? patterns : 0);
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = decode(format, static_cast<std::uint16_t>(i));
  }
  for_each_piece(values.size(), kGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Bits bits;
      std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
      values[i] = tabled ? table[bits] : decode(format, bits);
    }
  });
}

template <class Bits>
void encode_all(const SmallFloat& format, std::span<const double> values,
                std::vector<std::byte>& bytes) {
  for_each_piece(values.size(), kGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto bits = static_cast<Bits>(encode(format, values[i]));
      std::memcpy(bytes.data() + i * sizeof(Bits), &bits, sizeof(Bits));
    }
  });
}

template <class T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(value);
  // 2^63 is the double above the largest i64, so the bound itself saturates too.
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  return static_cast<T>(rounded);
}

template <class T>
void read_plain(std::span<const std::byte> bytes, std::vector<double>& values) {
  for_each_piece(values.size(), kGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(value);
    }
  });
}

template <class T>
void write_plain(std::span<const double> values, std::vector<std::byte>& bytes) {
  for_each_piece(values.size(), kGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      T value;
      if constexpr (std::is_integral_v<T>) {
        value = saturate<T>(values[i]);
      } else {
        value = static_cast<T>(values[i]);
      }
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
}

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size;
  bool floating;
  int precision;  ///< bits of the significand with the implicit one; 0 for integers
  double largest, smallest_normal;
};

const std::array<Row, 12>& rows() {
  static const std::array<Row, 12> table = {{
      {DType::f64, "f64", 8, true, 53, std::numeric_limits<double>::max(), 0x1p-1022},
      {DType::f32, "f32", 4, true, 24, static_cast<double>(std::numeric_limits<float>::max()),
       0x1p-126},
      {DType::f16, "f16", 2, true, 11, 65504, 0x1p-14},
      {DType::bf16, "bf16", 2, true, 8, 0x1.fep127, 0x1p-126},
      {DType::fp8e4m3, "fp8e4m3", 1, true, 4, 448, 0x1p-6},
      {DType::fp8e5m2, "fp8e5m2", 1, true, 3, 57344, 0x1p-14},
      {DType::i64, "i64", 8, false, 0, 0x1p63, 1},
      {DType::i32, "i32", 4, false, 0, 2147483647, 1},
      {DType::i16, "i16", 2, false, 0, 32767, 1},
      {DType::i8, "i8", 1, false, 0, 127, 1},
      {DType::u8, "u8", 1, false, 0, 255, 1},
      {DType::boolean, "bool", 1, false, 0, 1, 1},
  }};
  return table;
}

const Row& row(DType dtype) { return rows()[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view to_string(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& candidate : rows()) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

std::size_t size_of(DType dtype) { return row(dtype).size; }

bool is_floating(DType dtype) { return row(dtype).floating; }

double unit_round_off(DType dtype) {
  return is_floating(dtype) ? std::ldexp(1.0, -row(dtype).precision) : 0;
}

double largest(DType dtype) { return row(dtype).largest; }

double smallest_normal(DType dtype) { return row(dtype).smallest_normal; }

std::vector<double> to_doubles(DType dtype, std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / size_of(dtype));
  switch (dtype) {
    case DType::f64:
      read_plain<double>(bytes, values);
      break;
    case DType::f32:
      read_plain<float>(bytes, values);
      break;
    case DType::f16:
      decode_all<std::uint16_t>(kF16, bytes, values);
      break;
    case DType::bf16:
      decode_all<std::uint16_t>(kBf16, bytes, values);
      break;
    case DType::fp8e4m3:
      decode_all<std::uint8_t>(kE4m3, bytes, values);
      break;
    case DType::fp8e5m2:
      decode_all<std::uint8_t>(kE5m2, bytes, values);
      break;
    case DType::i64:
      read_plain<std::int64_t>(bytes, values);
      break;
    case DType::i32:
      read_plain<std::int32_t>(bytes, values);
      break;
    case DType::i16:
      read_plain<std::int16_t>(bytes, values);
      break;
    case DType::i8:
      read_plain<std::int8_t>(bytes, values);
      break;
    case DType::u8:
      read_plain<std::uint8_t>(bytes, values);
      break;
    case DType::boolean:
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = bytes[i] == std::byte{0} ? 0 : 1;
      }
      break;
  }
  return values;
}

std::vector<std::byte> from_doubles(DType dtype, std::span<const double> values) {
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  switch (dtype) {
    case DType::f64:
      write_plain<double>(values, bytes);
      break;
    case DType::f32:
      write_plain<float>(values, bytes);
      break;
    case DType::f16:
      encode_all<std::uint16_t>(kF16, values, bytes);
      break;
    case DType::bf16:
      encode_all<std::uint16_t>(kBf16, values, bytes);
      break;
    case DType::fp8e4m3:
      encode_all<std::uint8_t>(kE4m3, values, bytes);
      break;
    case DType::fp8e5m2:
      encode_all<std::uint8_t>(kE5m2, values, bytes);
      break;
    case DType::i64:
      write_plain<std::int64_t>(values, bytes);
      break;
    case DType::i32:
      write_plain<std::int32_t>(values, bytes);
      break;
    case DType::i16:
      write_plain<std::int16_t>(values, bytes);
      break;
    case DType::i8:
      write_plain<std::int8_t>(values, bytes);
      break;
    case DType::u8:
      write_plain<std::uint8_t>(values, bytes);
      break;
    case DType::boolean:
      for (std::size_t i = 0; i < values.size(); ++i) {
        bytes[i] = values[i] == 0 ? std::byte{0} : std::byte{1};
      }
      break;
  }
  return bytes;
}

}  // namespace burnish
