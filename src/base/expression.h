#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"

namespace burnish {

/// Values by name for an expression; names may hold dots (`shared.conflicts`).
using Variables = std::map<std::string, double, std::less<>>;

/// An arithmetic expression over named doubles, as tasks, launch specs and rules write it:
/// + - * / % ^, comparisons, `and` `or` `not` (also && || !), `a ? b : c`, and the functions min,
/// max, abs, floor, ceil, round, sqrt, log, log2, exp, ceil_div(a, b), round_up(a, multiple).
/// Copyable; may be evaluated by many threads at once. Both operands of `and` and `or` are
/// evaluated.
class Expression {
 public:
  Expression() = default;  ///< of no text; to evaluate it is a bug
  /// Errors: bad_input, the message names the position inside the text; `place` is added when
  /// given.
  static Result<Expression> parse(std::string_view text, std::optional<Place> place = {});

  const std::string& text() const { return text_; }
  const std::optional<Place>& place() const { return place_; }
  /// The names that it reads.
  const std::set<std::string, std::less<>>& variables() const { return variables_; }
  /// Errors: a variable without a value (named, with the nearest known), or a result that is not
  /// finite.
  Result<double> evaluate(const Variables& values) const;
  /// evaluate() that must give a whole number from 0 to 2^53.
  Result<std::int64_t> evaluate_count(const Variables& values) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared by copies; evaluation locks it
  std::string text_;
  std::set<std::string, std::less<>> variables_;
  std::optional<Place> place_;
};

}  // namespace burnish
