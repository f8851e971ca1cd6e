#include "profile/number_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace burnish::profile {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Digits with '.' and ',' among them; sign, exponent and other grouping marks taken off.
struct Shape {
  std::string body;      ///< digits, '.', ','
  std::string exponent;  ///< "e+05", or empty
  bool negative = false;
};

/// Thousands are groups of 3 digits; in lakhs and crores those before the last have 2. Versions and
/// addresses look like numbers otherwise.
bool is_grouped(std::string_view whole, char separator) {
  for (std::size_t fewest = 1;; fewest = 2) {
    const std::size_t digits = std::min(whole.find(separator), whole.size());
    const bool is_last = digits == whole.size();
    if (fewest == 2 && is_last) return digits == 3;
    if (digits < fewest || digits > 3) return false;
    if (is_last) return true;
    whole.remove_prefix(digits + 1);
  }
}

/// Whether what stands before the decimals is grouped, where it is in groups at all.
bool has_right_groups(std::string_view body) {
  const std::size_t last = body.find_last_of(".,");
  if (last == std::string_view::npos) return true;
  const char separator = body[last], other = separator == '.' ? ',' : '.';
  if (body.find(other) != std::string_view::npos) return is_grouped(body.substr(0, last), other);
  return body.find(separator) == last || is_grouped(body, separator);
}

std::optional<Shape> shape_of(std::string_view cell) {
  cell = trim(cell);
  Shape shape;
  if (!cell.empty() && (cell.front() == '-' || cell.front() == '+')) {
    shape.negative = cell.front() == '-';
    cell.remove_prefix(1);
  }
  if (cell.size() > 64) return std::nullopt;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const char c = cell[i];
    if (is_digit(c) || c == '.' || c == ',') {
      shape.body += c;
    } else if (c == '\'' || c == ' ') {
      // Swiss and other grouping
    } else if (cell.substr(i, 2) == "\xC2\xA0") {  // no-break space
      ++i;
    } else if (cell.substr(i, 3) == "\xE2\x80\xAF" || cell.substr(i, 3) == "\xE2\x80\x99") {
      i += 2;  // narrow no-break space, right quotation mark
    } else if ((c == 'e' || c == 'E') && !shape.body.empty()) {
      shape.exponent = cell.substr(i);
      break;
    } else {
      return std::nullopt;
    }
  }
  if (shape.body.empty() || !is_digit(shape.body.front()) || !is_digit(shape.body.back()) ||
      !has_right_groups(shape.body)) {
    return std::nullopt;
  }
  return shape;
}

/// The separator when the body has exactly one, and it could be either.
std::optional<char> ambiguous_separator(std::string_view body) {
  const std::size_t at = body.find_first_of(".,");
  if (at == std::string_view::npos || body.find_first_of(".,", at + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  const bool three_after = body.size() - at - 1 == 3;
  const bool group_before = at >= 1 && at <= 3 && body.front() != '0';
  if (!three_after || !group_before) return std::nullopt;
  return body[at];
}

/// The decimal separator that the body proves, absent when it proves none.
std::optional<char> proven_decimal(std::string_view body) {
  const std::size_t last = body.find_last_of(".,");
  if (last == std::string_view::npos) return std::nullopt;
  const char separator = body[last];
  const char other = separator == '.' ? ',' : '.';
  if (body.find(other) != std::string_view::npos) {
    // Both: the last is decimal, unless it stands there twice ("1,234,567.8" never ends so).
    return std::count(body.begin(), body.end(), separator) == 1 ? std::optional(separator)
                                                                : std::nullopt;
  }
  if (std::count(body.begin(), body.end(), separator) > 1) return other;  // grouping
  if (ambiguous_separator(body)) return std::nullopt;
  return separator;
}

}  // namespace

void NumberFormat::see(std::string_view cell, Kind kind) {
  const auto shape = shape_of(cell);
  if (!shape || !shape->exponent.empty()) return;
  const auto keep = [&](std::string& example) {
    if (example.empty()) example = std::string(trim(cell));
  };
  if (const auto decimal = proven_decimal(shape->body)) {
    keep(*decimal == '.' ? point_ : comma_);
    return;
  }
  const auto separator = ambiguous_separator(shape->body);
  if (!separator) return;
  keep(ambiguous_);
  // A percentage is hardly thousands, and a count has no decimals.
  if (kind == Kind::percentage) keep(*separator == '.' ? likely_point_ : likely_comma_);
  if (kind == Kind::whole) keep(*separator == '.' ? likely_comma_ : likely_point_);
}

std::optional<char> NumberFormat::decimal() const {
  if (!point_.empty() || !comma_.empty()) {
    if (!point_.empty() && !comma_.empty()) return std::nullopt;
    return point_.empty() ? ',' : '.';
  }
  if (likely_point_.empty() != likely_comma_.empty()) return likely_point_.empty() ? ',' : '.';
  if (!ambiguous_.empty()) return std::nullopt;
  return '.';  // no cell has a separator
}

std::string NumberFormat::why_undecided() const {
  if (!point_.empty() && !comma_.empty()) {
    return fmt::format("\"{}\" and \"{}\" are written in different locales", point_, comma_);
  }
  if (!decimal()) {
    return fmt::format("\"{}\" can be a fraction or thousands, and no other number tells which",
                       ambiguous_);
  }
  return {};
}

std::optional<Printed> NumberFormat::read(std::string_view cell) const {
  const auto shape = shape_of(cell);
  if (!shape) return std::nullopt;
  char point = '.';
  if (shape->exponent.empty() && ambiguous_separator(shape->body)) {
    const auto decided = decimal();
    if (!decided) return std::nullopt;
    point = *decided;
  } else if (const auto proven = proven_decimal(shape->body)) {
    point = *proven;
  }
  std::string plain = shape->negative ? "-" : "";
  int decimals = -1;
  for (const char c : shape->body) {
    if (is_digit(c)) {
      plain += c;
      if (decimals >= 0) ++decimals;
    } else if (c == point) {
      if (decimals >= 0) return std::nullopt;
      plain += '.';
      decimals = 0;
    }
  }
  plain += shape->exponent;
  const auto value = parse_number(plain);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  double step = std::pow(10.0, -std::max(decimals, 0));
  if (!shape->exponent.empty()) {
    std::string_view digits = std::string_view(shape->exponent).substr(1);
    if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
    step *= std::pow(10.0, static_cast<double>(parse_integer(digits).value_or(0)));
  }
  // A whole number is exact.
  return Printed{*value, decimals > 0 || !shape->exponent.empty() ? step / 2 : 0};
}

}  // namespace burnish::profile
