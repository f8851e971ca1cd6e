#include "base/text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace burnish {

namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// Optimal string alignment distance: insert, delete, replace, and swap of neighbours cost 1.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (end != std::string_view::npos && !line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
    lines.push_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  std::string result;
  std::size_t start = 0;
  for (std::size_t hit; (hit = text.find(from, start)) != std::string::npos;) {
    result.append(text, start, hit - start).append(to);
    start = hit + from.size();
  }
  if (start == 0) return text;
  return result.append(text, start);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string> nearest(std::string_view text,
                                   const std::vector<std::string>& candidates) {
  // Longer than any name of ours; the distance is quadratic in the lengths.
  constexpr std::size_t kLongest = 256;
  if (text.empty() || text.size() > kLongest) return std::nullopt;
  const std::string wanted = to_lower(text);
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t length = candidate.size();
    if (length > kLongest || length + best_distance <= wanted.size() ||
        wanted.size() + best_distance <= length) {
      continue;
    }
    const std::size_t distance = edit_distance(wanted, to_lower(candidate));
    // A name that shares no letter in place is not a slip, however short both are.
    if (distance < best_distance && distance < length) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string with_prefix(double value, std::string_view unit) {
  if (!std::isfinite(value)) return number_text(value) + " " + std::string(unit);
  static constexpr std::array<const char*, 17> kPrefixes = {
      "y", "z", "a", "f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y"};
  constexpr int kNone = 8;
  int index = kNone;
  double scaled = value;
  if (value != 0) {
    const int exponent = static_cast<int>(std::floor(std::log10(std::fabs(value)) / 3));
    index = std::clamp(exponent + kNone, 0, static_cast<int>(kPrefixes.size()) - 1);
    // Two steps, since 1e-24's reciprocal power is exact in neither.
    scaled = index >= kNone ? value / std::pow(10.0, 3 * (index - kNone))
                            : value * std::pow(10.0, 3 * (kNone - index));
  }
  // Rounding may carry into the next digit (9.996 → 10.0) or the next prefix (999.6 → 1.00 k).
  const auto digits = [](double x) { return x < 9.995 ? 2 : x < 99.95 ? 1 : 0; };
  if (std::fabs(scaled) >= 999.5 && index + 1 < static_cast<int>(kPrefixes.size())) {
    scaled /= 1000;
    ++index;
  }
  const char* prefix = kPrefixes[static_cast<std::size_t>(index)];
  std::string text =
      value == 0 ? std::string("0") : fmt::format("{:.{}f}", scaled, digits(std::fabs(scaled)));
  if (*prefix || !unit.empty()) text += ' ';
  return text.append(prefix).append(unit);
}

std::string with_thousands(std::int64_t value) {
  std::string digits = std::to_string(value);
  const int first = value < 0 ? 1 : 0;
  for (int at = static_cast<int>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string with_binary_prefix(std::uint64_t bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                        "TiB", "PiB", "EiB"};
  std::size_t index = 0;
  double scaled = static_cast<double>(bytes);
  while (scaled >= 1023.5 && index + 1 < kUnits.size()) {
    scaled /= 1024;
    ++index;
  }
  if (scaled == std::floor(scaled)) return fmt::format("{:.0f} {}", scaled, kUnits[index]);
  const int digits = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", scaled, digits, kUnits[index]);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string valid;
  valid.reserve(bytes.size());
  const auto* data = reinterpret_cast<const utf8proc_uint8_t*>(bytes.data());
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t plain = at;
    while (plain < bytes.size() && data[plain] < 0x80) ++plain;
    valid.append(bytes, at, plain - at);
    at = plain;
    if (at == bytes.size()) break;
    utf8proc_int32_t point = -1;
    // No character is longer than 4 bytes; the length type of utf8proc is signed.
    const auto left = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(4, bytes.size() - at));
    const utf8proc_ssize_t length = utf8proc_iterate(data + at, left, &point);
    if (length <= 0) {
      valid += "\xEF\xBF\xBD";
      ++at;
    } else {
      valid.append(bytes, at, static_cast<std::size_t>(length));
      at += static_cast<std::size_t>(length);
    }
  }
  return valid;
}

int display_width(std::string_view text) {
  int width = 0;
  const auto* data = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t point = -1;
    const auto left = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(4, text.size() - at));
    const utf8proc_ssize_t length = utf8proc_iterate(data + at, left, &point);
    if (length <= 0) {  // shown as U+FFFD
      ++width;
      ++at;
    } else {
      width += utf8proc_charwidth(point);
      at += static_cast<std::size_t>(length);
    }
  }
  return width;
}

}  // namespace burnish
