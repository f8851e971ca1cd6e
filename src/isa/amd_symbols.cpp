#include "isa/amd_symbols.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace burnish::isa::amd {
namespace {

using Value = std::optional<std::int64_t>;

/// Bounds both parentheses and symbols that are defined by symbols, cycles included.
constexpr int kMostDepth = 64;
/// Bounds the work on symbols that are each defined twice by the one before.
constexpr int kMostSteps = 2'000;

bool is_symbol(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '@';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, const Symbols::Definitions& definitions, int depth, int& steps)
      : text_(text), definitions_(definitions), depth_(depth), steps_(steps) {}

  Value whole() {
    const Value value = binary(0);
    skip_blanks();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  struct Operator {
    std::string_view text;
    int level;
  };
  // Longer ones first where one begins another.
  static constexpr Operator kOperators[] = {
      {"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<<", 8}, {">>", 8},
      {"<=", 7}, {">=", 7}, {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},
      {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
  };

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  Value binary(int least) {
    if (++depth_ > kMostDepth || ++steps_ > kMostSteps) return {};
    Value left = unary();
    while (left) {
      skip_blanks();
      const auto* found = std::find_if(
          std::begin(kOperators), std::end(kOperators),
          [&](const Operator& each) { return text_.substr(at_).starts_with(each.text); });
      if (found == std::end(kOperators) || found->level <= least) break;
      at_ += found->text.size();
      const Value right = binary(found->level);
      left = right ? apply(found->text, *left, *right) : std::nullopt;
    }
    --depth_;
    return left;
  }

  static Value apply(std::string_view what, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    switch (what[0]) {
      case '+':
        return __builtin_add_overflow(a, b, &result) ? Value() : Value(result);
      case '-':
        return __builtin_sub_overflow(a, b, &result) ? Value() : Value(result);
      case '*':
        return __builtin_mul_overflow(a, b, &result) ? Value() : Value(result);
      case '/':
      case '%':
        if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return {};
        return what[0] == '/' ? a / b : a % b;
      case '|':
        return what == "||" ? Value(a != 0 || b != 0) : Value(a | b);
      case '&':
        return what == "&&" ? Value(a != 0 && b != 0) : Value(a & b);
      case '^':
        return a ^ b;
      case '=':
        return a == b;
      case '!':
        return a != b;
      case '<':
      case '>':
        break;
    }
    if (what == "<<" || what == ">>") {
      if (b < 0 || b > 62) return {};
      if (what == ">>") return a >> b;
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
    }
    if (what == "<") return a < b;
    if (what == "<=") return a <= b;
    if (what == ">") return a > b;
    return a >= b;
  }

  Value unary() {
    skip_blanks();
    bool negate = false;
    bool invert = false;
    bool refute = false;
    // A run of signs folds into at most one of each, without a call for each sign.
    for (; at_ < text_.size(); ++at_, skip_blanks()) {
      if (text_[at_] == '-' && !invert && !refute) {
        negate = !negate;
      } else if (text_[at_] == '~' && !negate && !refute) {
        invert = !invert;
      } else if (text_[at_] == '!' && !negate && !invert && !refute) {
        refute = true;
      } else if (text_[at_] != '+') {
        break;
      }
    }
    Value value = primary();
    if (!value) return value;
    if (negate)
      value = *value == std::numeric_limits<std::int64_t>::min() ? Value() : Value(-*value);
    if (invert) value = ~*value;
    if (refute) value = *value == 0;
    return value;
  }

  Value primary() {
    if (at_ == text_.size()) return {};
    if (text_[at_] == '(') {
      ++at_;
      const Value value = binary(0);
      skip_blanks();
      if (at_ == text_.size() || text_[at_] != ')') return {};
      ++at_;
      return value;
    }
    std::size_t end = at_;
    while (end < text_.size() && is_symbol(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) return {};
    at_ = end;
    if (is_digit(word[0])) return number(word);
    if (at_ < text_.size() && text_[at_] == '(') return call(word);
    const auto found = definitions_.find(word);
    if (found == definitions_.end()) return {};
    if (found->second.value) return found->second.value;
    return Parser(found->second.expression, definitions_, depth_ + 1, steps_).whole();
  }

  static Value number(std::string_view word) {
    int base = 10;
    if (word.starts_with("0x") || word.starts_with("0X")) {
      base = 16;
      word.remove_prefix(2);
    } else if (word.starts_with("0b") || word.starts_with("0B")) {
      base = 2;
      word.remove_prefix(2);
    } else if (word.size() > 1 && word[0] == '0') {
      base = 8;
    }
    if (word.empty()) return {};
    std::int64_t value = 0;
    for (const char c : word) {
      int digit = 99;
      if (is_digit(c)) digit = c - '0';
      if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
      if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
      if (digit >= base) return {};
      if (__builtin_mul_overflow(value, base, &value) ||
          __builtin_add_overflow(value, digit, &value)) {
        return {};
      }
    }
    return value;
  }

  Value call(std::string_view function) {
    std::vector<std::int64_t> arguments;
    do {
      ++at_;  // the parenthesis or a comma
      const Value value = binary(0);
      if (!value || arguments.size() >= 4096) return {};
      arguments.push_back(*value);
      skip_blanks();
    } while (at_ < text_.size() && text_[at_] == ',');
    if (at_ == text_.size() || text_[at_] != ')') return {};
    ++at_;
    if (function == "max") return *std::max_element(arguments.begin(), arguments.end());
    if (function == "or") {
      std::int64_t bits = 0;
      for (const std::int64_t value : arguments) bits |= value;
      return bits;
    }
    if (function == "alignto" && arguments.size() == 2 && arguments[1] > 0) {
      std::int64_t sum = 0;
      if (__builtin_add_overflow(arguments[0], arguments[1] - 1, &sum)) return {};
      return sum / arguments[1] * arguments[1];
    }
    // LLVM: accumulators follow the others at the next multiple of 4 where the file is unified; the
    // function is printed only there.
    if (function == "totalnumvgprs" && arguments.size() == 2) {
      const std::int64_t accum = arguments[0];
      const std::int64_t plain = arguments[1];
      if (accum < 0 || plain < 0 || accum > 4096 || plain > 4096) return {};
      return accum > 0 ? (plain + 3) / 4 * 4 + accum : plain;
    }
    return {};
  }

  std::string_view text_;
  const Symbols::Definitions& definitions_;
  int depth_;
  int& steps_;
  std::size_t at_ = 0;
};

}  // namespace

void Symbols::set(std::string_view name, std::string_view expression) {
  const auto value = evaluate(expression);
  definitions_[name] = {expression, value};
}

std::optional<std::int64_t> Symbols::evaluate(std::string_view expression) const {
  int steps = 0;
  return Parser(expression, definitions_, 0, steps).whole();
}

std::optional<std::int64_t> Symbols::value(std::string_view name) const { return evaluate(name); }

}  // namespace burnish::isa::amd
