#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "workspace/fields.h"
#include "workspace/task.h"

namespace burnish::workspace {

namespace {

/// A double that C and TOML both read as one.
std::string floating_text(double value) {
  std::string text = number_text(value);
  if (text.find_first_of(".eEni") == std::string::npos) text += ".0";
  return text;
}

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string toml_text(const TomlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return floating_text(*number);
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  return toml_string(std::get<std::string>(value));
}

/// Bytes of the text before a position, which toml++ counts in code points.
std::size_t offset_of(std::string_view text, toml::source_position position) {
  std::size_t at = 0;
  for (toml::source_index line = 1; line < position.line; ++line) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return text.size();
    at = end + 1;
  }
  for (toml::source_index column = 1; column < position.column && at < text.size(); ++column) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

/// The end of the scalar that starts at `begin`; the end that toml++ tells may lie behind blanks.
std::size_t end_of_scalar(std::string_view text, std::size_t begin) {
  const char quote = begin < text.size() ? text[begin] : '\0';
  if (quote != '"' && quote != '\'') {
    const std::size_t end = text.find_first_of(" \t\r\n,}#", begin);
    return end == std::string_view::npos ? text.size() : end;
  }
  if (text.substr(begin, 3) == std::string(3, quote)) {
    std::size_t end = begin + 3;
    while (end < text.size() && text.substr(end, 3) != std::string(3, quote)) {
      end += text[end] == '\\' && quote == '"' ? 2 : 1;
    }
    end = std::min(end + 3, text.size());
    while (end < text.size() && text[end] == quote) ++end;  // quotes before the closing three
    return end;
  }
  std::size_t end = begin + 1;
  while (end < text.size() && text[end] != quote) end += text[end] == '\\' && quote == '"' ? 2 : 1;
  return std::min(end + 1, text.size());
}

std::optional<TomlValue> scalar_of(const toml::node& node) {
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_string()) return value->get();
  return std::nullopt;
}

/// Whether the [tunables] of the text hold the values.
bool holds(std::string_view text, const Configuration& values) {
  try {
    const toml::table root = toml::parse(text);
    for (const auto& [name, value] : values) {
      const toml::node* node = root["tunables"][name].node();
      if (node == nullptr || scalar_of(*node) != value) return false;
    }
    return true;
  } catch (const toml::parse_error&) {
    return false;
  }
}

struct Edit {
  std::size_t begin, end;
  std::string text;
};

std::string with_edits(std::string_view text, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string result;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    result.append(text.substr(at, edit.begin - at));
    result += edit.text;
    at = edit.end;
  }
  result.append(text.substr(at));
  return result;
}

}  // namespace

Result<std::string> with_tunables(std::string_view launch_text, const std::string& file,
                                  const Configuration& values) {
  // Reported with its place by the reader that everything shares.
  BURNISH_TRY(TomlFields::parse(launch_text, file));
  const toml::table root = toml::parse(launch_text);
  const std::string newline = contains(launch_text, "\r\n") ? "\r\n" : "\n";
  const toml::table* table = root["tunables"].as_table();
  if (table == nullptr && root.contains("tunables")) {
    return bad_input("\"tunables\" must be a table").at({file, 0, 0});
  }

  std::vector<Edit> edits;
  std::string added;  // lines for the keys that are missing
  std::vector<std::string> pairs;
  std::size_t last = 0;  // end of the last value of the table
  for (const auto& [name, value] : values) {
    if (!is_name(name)) return bug(fmt::format("\"{}\" cannot be a tunable", name));
    const std::string text = toml_text(value);
    const toml::node* node = table == nullptr ? nullptr : table->get(name);
    if (node == nullptr) {
      added += fmt::format("{} = {}{}", name, text, newline);
      pairs.push_back(fmt::format("{} = {}", name, text));
    } else if (scalar_of(*node) != value) {
      const std::size_t begin = offset_of(launch_text, node->source().begin);
      edits.push_back({begin, end_of_scalar(launch_text, begin), text});
    }
  }
  if (table != nullptr) {
    for (const auto& [key, node] : *table) {
      const std::size_t begin = offset_of(launch_text, node.source().begin);
      last = std::max(last, end_of_scalar(launch_text, begin));
    }
  }
  if (table == nullptr && !added.empty()) {
    std::string head = launch_text.empty() || launch_text.back() == '\n' ? "" : newline;
    if (!launch_text.empty()) head += newline;
    edits.push_back(
        {launch_text.size(), launch_text.size(), head + "[tunables]" + newline + added});
  } else if (!added.empty() && table->is_inline()) {
    const std::size_t begin = offset_of(launch_text, table->source().begin);
    const std::size_t at = last > 0 ? last : begin + 1;  // behind the last value, or the brace
    edits.push_back({at, at, (last > 0 ? ", " : "") + join(pairs, ", ")});
  } else if (!added.empty()) {
    // Behind the line of the last key, or of the [tunables] header when there is none.
    const std::size_t from = last > 0 ? last : offset_of(launch_text, table->source().begin);
    const std::size_t end = launch_text.find('\n', from);
    const std::size_t at = end == std::string_view::npos ? launch_text.size() : end + 1;
    edits.push_back({at, at, (end == std::string_view::npos ? newline : "") + added});
  }

  std::string result = with_edits(launch_text, std::move(edits));
  if (!holds(result, values)) {
    return bad_input("the tunables of this file cannot be changed in place")
        .at({file, table == nullptr ? 0 : static_cast<int>(table->source().begin.line), 0})
        .with_hint("write a table [tunables] with one key a line");
  }
  return result;
}

Configuration configuration(const TaskSpec& task, const LaunchSpec& launch) {
  Configuration result = launch.tunables;
  for (const Tunable& tunable : task.tunables) result.try_emplace(tunable.name, tunable.initial);
  return result;
}

Variables variables(const Configuration& configuration) {
  Variables values;
  for (const auto& [name, value] : configuration) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      values[name] = static_cast<double>(*integer);
    } else if (const auto* number = std::get_if<double>(&value)) {
      values[name] = *number;
    } else if (const auto* boolean = std::get_if<bool>(&value)) {
      values[name] = *boolean ? 1 : 0;
    }
  }
  return values;
}

std::string violated_constraint(const TaskSpec& task, const Configuration& configuration) {
  for (const WorkloadSpec& workload : task.workloads) {
    Variables values = variables(configuration);
    for (const auto& [name, value] : workload.dims) values[name] = value;
    for (const Constraint& constraint : task.constraints) {
      const auto allowed = constraint.when.evaluate(values);
      if (!allowed) return allowed.error().message;
      if (*allowed != 0) continue;
      Variables read;  // what the constraint looks at
      for (const std::string& name : constraint.when.variables()) {
        read[name] = values.find(name)->second;
      }
      return fmt::format("{} (`{}` does not hold at workload \"{}\" with {})", constraint.why,
                         constraint.when.text(), workload.name, describe(read));
    }
  }
  return "";
}

std::string to_text(const TomlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return floating_text(*number);
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "1" : "0";
  return std::get<std::string>(value);
}

std::map<std::string, std::string> macros(const Configuration& configuration) {
  std::map<std::string, std::string> result;
  for (const auto& [name, value] : configuration) result[name] = to_text(value);
  return result;
}

}  // namespace burnish::workspace
