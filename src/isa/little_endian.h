#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace burnish::isa {

/// The little-endian value at a place of a file, which may lie outside it.
template <class T>
std::optional<T> value_at(std::string_view bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return {};
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// The same, 0 outside.
template <class T>
T read_at(std::string_view bytes, std::uint64_t at) {
  return value_at<T>(bytes, at).value_or(T{});
}

}  // namespace burnish::isa
