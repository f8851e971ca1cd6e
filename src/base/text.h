#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace burnish {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
/// Lines without their ends ("\n" or "\r\n"); a final newline makes no empty last line.
std::vector<std::string_view> split_lines(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string to_lower(std::string_view text);
bool contains(std::string_view text, std::string_view part);
std::string replace_all(std::string text, std::string_view from, std::string_view to);

/// The whole of `text` as a number in the C locale; absent when anything else is in it, or when
/// it is out of range. parse_number() reads "inf" and "nan" too, as number_text() writes them.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

/// Of `candidates` the one nearest to `text` by edit distance, when near enough to be a slip.
std::optional<std::string> nearest(std::string_view text,
                                   const std::vector<std::string>& candidates);

/// 1.23e-4 s → "123 µs"; three significant digits, SI prefix. The unit is appended as given.
std::string with_prefix(double value, std::string_view unit);
/// "1,234,567".
std::string with_thousands(std::int64_t value);
/// Bytes with binary prefix: "48 KiB".
std::string with_binary_prefix(std::uint64_t bytes);
/// Shortest text that reads back as the same double; "nan", "inf", "-inf" for those.
std::string number_text(double value);

/// The bytes as valid UTF-8: what is not becomes U+FFFD.
std::string to_valid_utf8(std::string_view bytes);
/// Terminal columns that the UTF-8 text takes.
int display_width(std::string_view text);

}  // namespace burnish
