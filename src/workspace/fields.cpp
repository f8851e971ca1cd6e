#include "workspace/fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace burnish::workspace {

Names names_of(const TaskSpec& task) {
  Names names;
  if (!task.workloads.empty()) {
    for (const auto& [name, value] : task.workloads.front().dims) names.dims.insert(name);
  }
  for (const Tunable& tunable : task.tunables) {
    const bool is_text = std::holds_alternative<std::string>(tunable.initial);
    (is_text ? names.texts : names.tunables).insert(tunable.name);
  }
  return names;
}

void record_error(TomlFields& fields, const std::string& key, const Error& error) {
  fields.fail(error.place.value_or(fields.place(key)), error.message, error.hint);
}

Expression read_expression(TomlFields& fields, const std::string& key) {
  // The fallback of the getter stands for a mistake that is already recorded.
  const std::string text = fields.expression(key);
  auto expression = Expression::parse(text, fields.place(key));
  if (expression) return std::move(*expression);
  record_error(fields, key, expression.error());
  return {};
}

std::optional<Expression> read_optional_expression(TomlFields& fields, const std::string& key) {
  if (!fields.has(key)) return std::nullopt;
  return read_expression(fields, key);
}

std::vector<Expression> read_expressions(TomlFields& fields, const std::string& key) {
  std::vector<Expression> result;
  const std::vector<std::string> texts = fields.expressions(key);
  const std::vector<Place> places = fields.places(key);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    // Fewer texts than places: an element of a wrong type is recorded already.
    auto expression =
        Expression::parse(texts[i], texts.size() == places.size() ? places[i] : fields.place(key));
    if (expression) {
      result.push_back(std::move(*expression));
    } else {
      record_error(fields, key, expression.error());
    }
  }
  return result;
}

void check_names(TomlFields& fields, const Expression& expression, const Names& names) {
  for (const std::string& name : expression.variables()) {
    if (names.dims.contains(name) || names.tunables.contains(name) || names.lets.contains(name)) {
      continue;
    }
    const Place place = expression.place().value_or(fields.place());
    if (names.texts.contains(name)) {
      fields.fail(place,
                  fmt::format("`{}` reads the tunable \"{}\", whose values are text",
                              expression.text(), name),
                  "expressions can read numbers and booleans only");
      continue;
    }
    std::vector<std::string> known(names.dims.begin(), names.dims.end());
    known.insert(known.end(), names.tunables.begin(), names.tunables.end());
    known.insert(known.end(), names.lets.begin(), names.lets.end());
    const auto near = nearest(name, known);
    fields.fail(place,
                fmt::format("`{}` reads \"{}\", which nothing defines", expression.text(), name),
                near            ? fmt::format("did you mean \"{}\"?", *near)
                : known.empty() ? "no names can be used here"
                                : fmt::format("the names here are {}", join(known, ", ")));
  }
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 64 || contains(text, ".")) return false;
  const auto expression = Expression::parse(text);  // words of the language are no names
  return expression && expression->variables().size() == 1 &&
         *expression->variables().begin() == text;
}

std::string path_problem(std::string_view path) {
  if (path.empty()) return "it is empty";
  if (path.size() > 200) return "it is longer than 200 bytes";
  if (path.front() == '/') return "it is absolute";
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "it holds a control character";
    if (c == '\\' || c == '"' || c == ':') return fmt::format("it holds the character {}", c);
  }
  if (path != to_valid_utf8(path)) return "it is not UTF-8";
  for (const std::string_view part : split(path, '/')) {
    if (part.empty()) return "a part of it is empty";
    if (part == "." || part == "..") return "it leaves its folder";
    if (part.front() == '.') return "a part of it starts with a dot";
    if (part.front() == '-') return "a part of it starts with a dash";
  }
  const std::string_view first = split(path, '/').front();
  for (const std::string_view taken : {"burnish.toml", "README.md", "baseline_report.md", "memory",
                                       "plans", "reports", "profiles"}) {
    if (first == taken) return fmt::format("{} belongs to the workspace", taken);
  }
  return "";
}

const std::vector<std::string>& dtype_names() {
  static const std::vector<std::string> names = {"f64", "f32", "f16", "bf16", "fp8e4m3", "fp8e5m2",
                                                 "i64", "i32", "i16", "i8",   "u8",      "bool"};
  return names;
}

DType read_dtype(TomlFields& fields, const std::string& key) {
  return parse_dtype(fields.one_of(key, dtype_names())).value_or(DType::f32);
}

std::string describe(const Variables& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, number_text(value));
  }
  return text;
}

}  // namespace burnish::workspace
