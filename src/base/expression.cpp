#include "base/expression.h"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/text.h"

namespace burnish {

namespace {

constexpr const char* kNameChars =
    "0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
// Longer and deeper than any that a person writes; muParser keeps neither in bounds.
constexpr std::size_t kLongest = 8192;
constexpr int kDeepest = 128;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

double modulo(double a, double b) { return std::fmod(a, b); }
double logical_not(double a) { return a == 0 ? 1 : 0; }
double ceil_div(double a, double b) { return std::ceil(a / b); }
double round_up(double a, double multiple) { return std::ceil(a / multiple) * multiple; }
double absolute(double a) { return std::fabs(a); }
double floor_of(double a) { return std::floor(a); }
double ceil_of(double a) { return std::ceil(a); }
double round_of(double a) { return std::round(a); }
double root_of(double a) { return std::sqrt(a); }
double log_of(double a) { return std::log(a); }
double log2_of(double a) { return std::log2(a); }
double exp_of(double a) { return std::exp(a); }

// Unlike std::min these pass a NaN on, so that a missing number does not vanish in a bound.
double least(const double* values, int count) {
  if (count < 1) throw mu::ParserError("min needs at least one argument");
  double result = values[0];
  for (int i = 1; i < count; ++i) {
    if (std::isnan(values[i]) || values[i] < result) result = values[i];
  }
  return result;
}

double greatest(const double* values, int count) {
  if (count < 1) throw mu::ParserError("max needs at least one argument");
  double result = values[0];
  for (int i = 1; i < count; ++i) {
    if (std::isnan(values[i]) || values[i] > result) result = values[i];
  }
  return result;
}

const std::vector<std::string>& function_names() {
  static const std::vector<std::string> names = {"min",  "max",   "abs",      "floor",
                                                 "ceil", "round", "sqrt",     "log",
                                                 "log2", "exp",   "ceil_div", "round_up"};
  return names;
}

mu::Parser make_language() {
  mu::Parser parser;
  parser.DefineNameChars(kNameChars);
  parser.ClearFun();
  parser.ClearConst();
  parser.DefineFun("min", least);
  parser.DefineFun("max", greatest);
  parser.DefineFun("abs", absolute);
  parser.DefineFun("floor", floor_of);
  parser.DefineFun("ceil", ceil_of);
  parser.DefineFun("round", round_of);
  parser.DefineFun("sqrt", root_of);
  parser.DefineFun("log", log_of);
  parser.DefineFun("log2", log2_of);
  parser.DefineFun("exp", exp_of);
  parser.DefineFun("ceil_div", ceil_div);
  parser.DefineFun("round_up", round_up);
  parser.DefineOprt("%", modulo, mu::prMUL_DIV, mu::oaLEFT, true);
  parser.DefineInfixOprt("!", logical_not);
  // `not a == b` denies the comparison, as the word does in Python; scan() writes it as ~.
  parser.DefineInfixOprt("~", logical_not, mu::prLOGIC);
  return parser;
}

/// A parser to copy: to define its functions takes longer than to read an expression.
const mu::Parser& language() {
  static const mu::Parser parser = make_language();
  return parser;
}

/// muParser's message without its own, zero-based position.
std::string plain_message(const mu::ParserError& error) {
  std::string message = replace_all(error.GetMsg(), "~", "not");
  for (const char* tail : {" found at position ", " at expression position ", " at position "}) {
    if (const std::size_t at = message.rfind(tail); at != std::string::npos) message.resize(at);
  }
  return message;
}

struct Mistake {
  std::size_t position;
  std::string message;
  std::string hint;
};

struct Scan {
  std::string translated;  ///< for muParser, each token where it stood
  std::set<std::string, std::less<>> names;
};

/// Reads the tokens: finds the names, turns words into muParser's operators, and refuses what
/// muParser knows and this language does not (assignment, strings, its other functions).
tl::expected<Scan, Mistake> scan(std::string_view text) {
  Scan result;
  result.translated.assign(text);
  const auto mistake = [](std::size_t at, std::string message, std::string hint = "") {
    return tl::unexpected(Mistake{at, std::move(message), std::move(hint)});
  };
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      result.translated[at++] = ' ';
    } else if (is_letter(c)) {
      std::size_t end = at;
      while (end < text.size() && is_name_char(text[end])) ++end;
      const std::string name(text.substr(at, end - at));
      std::size_t after = end;
      while (after < text.size() && trim(text.substr(after, 1)).empty()) ++after;
      const bool is_call = after < text.size() && text[after] == '(';
      const bool is_function = std::find(function_names().begin(), function_names().end(), name) !=
                               function_names().end();
      if (name == "and" || name == "or" || name == "not") {
        const char* symbol = name == "and" ? "&& " : name == "or" ? "||" : "~  ";
        result.translated.replace(at, name.size(), symbol);
      } else if (is_function && is_call) {
        // muParser wants the parenthesis right behind the name.
        std::rotate(result.translated.begin() + static_cast<std::ptrdiff_t>(at),
                    result.translated.begin() + static_cast<std::ptrdiff_t>(end),
                    result.translated.begin() + static_cast<std::ptrdiff_t>(after));
        end = after;
      } else if (is_call) {
        const auto near = nearest(name, function_names());
        return mistake(at, fmt::format("there is no function \"{}\"", name),
                       near ? fmt::format("did you mean \"{}\"?", *near)
                            : fmt::format("the functions are {}", join(function_names(), ", ")));
      } else if (is_function) {
        return mistake(at,
                       fmt::format("the function \"{}\" needs its arguments in parentheses", name));
      } else if (name.back() == '.' || contains(name, "..")) {
        return mistake(at, fmt::format("\"{}\" is not a name", name));
      } else {
        result.names.insert(name);
      }
      at = end;
    } else if (is_digit(c) || (c == '.' && is_digit(next))) {
      double value = 0;
      const auto read = std::from_chars(text.data() + at, text.data() + text.size(), value);
      const std::size_t end = static_cast<std::size_t>(read.ptr - text.data());
      if (read.ec != std::errc() || !std::isfinite(value)) {
        return mistake(at, "the number is out of range");
      }
      if (end < text.size() && is_name_char(text[end])) {
        return mistake(end, fmt::format("\"{}\" cannot follow a number", text[end]),
                       "write a product with *");
      }
      at = end;
    } else if (c == '(') {
      if (++depth > kDeepest) return mistake(at, "too many parentheses within each other");
      ++at;
    } else if (c == ')') {
      if (--depth < 0) return mistake(at, "\")\" closes nothing");
      ++at;
    } else if ((c == '&' && next == '&') || (c == '|' && next == '|') ||
               ((c == '=' || c == '!' || c == '<' || c == '>') && next == '=')) {
      at += 2;
    } else if (c == '=') {
      return mistake(at, "an expression cannot assign", "equality is written ==");
    } else if (contains("+-*/%^<>!?:,", std::string_view(&c, 1))) {
      ++at;
    } else {
      const std::string shown = to_valid_utf8(text.substr(at, c & '\x80' ? 4 : 1));
      return mistake(at, fmt::format("\"{}\" has no meaning in an expression", shown));
    }
  }
  if (depth > 0) return mistake(text.size(), "a \"(\" is not closed");
  return result;
}

}  // namespace

/// The compiled expression. muParser reads variables from fixed places and keeps a stack of its
/// own, so one evaluation at a time.
struct Expression::State {
  std::mutex mutex;
  mu::Parser parser{language()};
  std::vector<double> slots;  ///< in the order of variables_; never resized once bound
};

Result<Expression> Expression::parse(std::string_view text, std::optional<Place> place) {
  Expression expression;
  expression.text_ = text;
  expression.place_ = place;
  const auto fail = [&](std::size_t position, const std::string& message, std::string hint = "") {
    Error error = bad_input(fmt::format("cannot read the expression `{}`: {} (character {})",
                                        to_valid_utf8(text.substr(0, 200)), message, position + 1))
                      .with_hint(std::move(hint));
    return place ? std::move(error).at(*place) : error;
  };
  if (trim(text).empty()) return fail(0, "it is empty");
  if (text.size() > kLongest) return fail(kLongest, fmt::format("longer than {} bytes", kLongest));
  auto scanned = scan(text);
  if (!scanned) {
    return fail(scanned.error().position, scanned.error().message, scanned.error().hint);
  }
  expression.variables_ = std::move(scanned->names);
  auto state = std::make_shared<State>();
  state->slots.assign(expression.variables_.size(), 1.0);
  try {
    std::size_t index = 0;
    for (const std::string& name : expression.variables_) {
      state->parser.DefineVar(name, &state->slots[index++]);
    }
    state->parser.SetExpr(scanned->translated);
    state->parser.Eval();  // compiles
    if (state->parser.GetNumResults() != 1) {
      return fail(text.size() - 1, "a list is not one value", "remove the comma");
    }
  } catch (const mu::ParserError& error) {
    const int position = error.GetPos();
    return fail(position < 0 ? text.size() - 1 : static_cast<std::size_t>(position),
                plain_message(error));
  }
  expression.state_ = std::move(state);
  return expression;
}

Result<double> Expression::evaluate(const Variables& values) const {
  const auto fail = [this](std::string message, std::string hint = "") {
    Error error = bad_input(std::move(message)).with_hint(std::move(hint));
    return place_ ? std::move(error).at(*place_) : error;
  };
  if (state_ == nullptr) return bug("an expression that was never read is evaluated");
  double result = std::numeric_limits<double>::quiet_NaN();
  {
    const std::lock_guard lock(state_->mutex);
    std::size_t index = 0;
    for (const std::string& name : variables_) {
      const auto at = values.find(name);
      if (at == values.end()) {
        std::vector<std::string> known;
        for (const auto& entry : values) known.push_back(entry.first);
        const auto near = nearest(name, known);
        return fail(fmt::format("`{}` needs \"{}\", which has no value here", text_, name),
                    near ? fmt::format("did you mean \"{}\"?", *near) : "");
      }
      state_->slots[index++] = at->second;
    }
    try {
      result = state_->parser.Eval();
    } catch (const mu::ParserError& error) {
      return fail(fmt::format("cannot evaluate `{}`: {}", text_, plain_message(error)));
    }
  }
  if (!std::isfinite(result)) {
    std::string with;
    for (const std::string& name : variables_) {
      with += fmt::format("{}{} = {}", with.empty() ? " with " : ", ", name,
                          number_text(values.find(name)->second));
    }
    return fail(fmt::format("`{}` is {}, not a finite number{}", text_, number_text(result), with));
  }
  return result;
}

Result<std::int64_t> Expression::evaluate_count(const Variables& values) const {
  BURNISH_TRY_ASSIGN(const double value, evaluate(values));
  if (value < 0 || value > 0x1p53 || value != std::floor(value)) {
    Error error = bad_input(
        fmt::format("`{}` is {}, not a whole number from 0 to 2^53", text_, number_text(value)));
    return place_ ? std::move(error).at(*place_) : error;
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace burnish
