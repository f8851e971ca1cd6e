#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace burnish::isa::amd {

/// The symbols of an assembly file and the values of expressions over them: C's integer operators
/// and the functions that LLVM prints for resources that depend on callees (max, or, alignto,
/// totalnumvgprs). Views point into the text that was read.
class Symbols {
 public:
  /// An expression that has a value now keeps it, as an assembler does; another is looked at again
  /// when it is asked for, since LLVM refers to callees that come later.
  void set(std::string_view name, std::string_view expression);
  /// Absent when it is no expression, names an unknown symbol, divides by zero or overflows.
  std::optional<std::int64_t> evaluate(std::string_view expression) const;
  /// The value of one symbol.
  std::optional<std::int64_t> value(std::string_view name) const;

  struct Definition {
    std::string_view expression;
    std::optional<std::int64_t> value;
  };
  using Definitions = std::unordered_map<std::string_view, Definition>;

 private:
  Definitions definitions_;
};

}  // namespace burnish::isa::amd
