#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace burnish::profile {

/// A number read from a page, and half a step of its last digit.
struct Printed {
  double value = 0;
  double resolution = 0;
};

/// How the numbers of one file are written. ncu prints in the locale of its process: "4,374.00" in
/// English, "4.374,00" in German, "4374.00" in C. One cell such as "117.344" does not tell; all
/// cells of a file together mostly do. Feed every cell to see(), then decide once.
class NumberFormat {
 public:
  enum class Kind { number, percentage, whole };

  void see(std::string_view cell, Kind kind = Kind::number);

  /// The decimal separator: '.' or ','; absent when nothing in the file tells and it matters, or
  /// when the cells contradict each other.
  std::optional<char> decimal() const;
  /// Why decimal() is absent, with an example; empty otherwise.
  std::string why_undecided() const;

  /// Absent for what is no number, and for a cell that could mean two numbers.
  std::optional<Printed> read(std::string_view cell) const;

 private:
  std::string point_, comma_;                ///< a cell that proves '.' to be decimal, or ','
  std::string likely_point_, likely_comma_;  ///< one that would be an odd value otherwise
  std::string ambiguous_;                    ///< one that does not tell
};

}  // namespace burnish::profile
