#include "profile/aliases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/data.h"
#include "base/expression.h"
#include "base/text.h"
#include "base/toml.h"

namespace burnish::profile {
namespace {

struct Source {
  std::string raw;  ///< empty when it is a formula
  std::optional<Expression> formula;
  std::vector<std::string> arch;
  std::string tool_from, tool_before;
  std::optional<std::int64_t> sm_from, sm_to;
};

struct Alias {
  std::string name;
  std::string unit;
  std::vector<Source> sources;
};

/// Dotted versions, number by number; a missing part is 0.
int compare_versions(std::string_view a, std::string_view b) {
  const auto parts_a = split(a, '.');
  const auto parts_b = split(b, '.');
  for (std::size_t i = 0; i < std::max(parts_a.size(), parts_b.size()); ++i) {
    const std::int64_t x = i < parts_a.size() ? parse_integer(parts_a[i]).value_or(0) : 0;
    const std::int64_t y = i < parts_b.size() ? parse_integer(parts_b[i]).value_or(0) : 0;
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

/// The number of "sm_90a".
std::optional<std::int64_t> sm_number(std::string_view arch) {
  if (arch.substr(0, 3) != "sm_") return std::nullopt;
  std::string_view digits = arch.substr(3);
  while (!digits.empty() && (digits.back() < '0' || digits.back() > '9')) digits.remove_suffix(1);
  return parse_integer(digits);
}

bool holds(const Source& source, const AliasTable::Context& context) {
  if (!source.arch.empty() &&
      std::none_of(source.arch.begin(), source.arch.end(), [&](const std::string& pattern) {
        return arch_matches(pattern, context.arch);
      })) {
    return false;
  }
  if (source.sm_from || source.sm_to) {
    const auto number = sm_number(context.arch);
    if (!number) return false;
    if (source.sm_from && *number < *source.sm_from) return false;
    if (source.sm_to && *number > *source.sm_to) return false;
  }
  if (!source.tool_from.empty() || !source.tool_before.empty()) {
    if (context.tool_version.empty()) return false;
    if (!source.tool_from.empty() && compare_versions(context.tool_version, source.tool_from) < 0) {
      return false;
    }
    if (!source.tool_before.empty() &&
        compare_versions(context.tool_version, source.tool_before) >= 0) {
      return false;
    }
  }
  return true;
}

std::vector<std::string> raw_names_of(const Source& source) {
  if (!source.formula) return {source.raw};
  const auto& names = source.formula->variables();
  return {names.begin(), names.end()};
}

/// The value of a source; absent when a metric is missing or the result is not a number (a formula
/// divides by zero where its quantity does not exist).
std::optional<Metric> value_of(const Alias& alias, const Source& source, const MetricSet& metrics) {
  Metric result;
  result.name = alias.name;
  result.unit = alias.unit;
  if (!source.formula) {
    const Metric* raw = metrics.find(source.raw);
    if (raw == nullptr || (raw->unit == "text") != (alias.unit == "text")) return std::nullopt;
    if (raw->unit != "text" && !std::isfinite(raw->value)) return std::nullopt;
    result.value = raw->value;
    result.text = raw->text;
    result.where = raw->where;
    result.resolution = raw->resolution;
    return result;
  }
  Variables variables;
  const Metric* first = nullptr;
  double relative_error = 0;
  for (const std::string& name : source.formula->variables()) {
    const Metric* raw = metrics.find(name);
    if (raw == nullptr || raw->unit == "text" || !std::isfinite(raw->value)) return std::nullopt;
    variables.emplace(name, raw->value);
    // The pointer goes to the raw metric that stands first in the text.
    if (first == nullptr ||
        source.formula->text().find(name) < source.formula->text().find(first->name)) {
      first = raw;
    }
    if (raw->value != 0) relative_error += raw->resolution / std::fabs(raw->value);
  }
  const auto value = source.formula->evaluate(variables);
  if (!value) return std::nullopt;
  result.value = *value;
  result.resolution = std::fabs(*value) * relative_error;
  if (first != nullptr) result.where = first->where;
  result.where.raw_name = source.formula->text();
  return result;
}

}  // namespace

struct AliasTable::State {
  std::vector<Alias> aliases;
};

AliasTable::AliasTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
AliasTable::AliasTable(AliasTable&&) noexcept = default;
AliasTable& AliasTable::operator=(AliasTable&&) noexcept = default;
AliasTable::~AliasTable() = default;

Result<AliasTable> AliasTable::load(std::string_view name) {
  BURNISH_TRY_ASSIGN(const DataFile file, data_file(name));
  return parse(file.content, file.origin);
}

Result<AliasTable> AliasTable::parse(std::string_view text, const std::string& file) {
  BURNISH_TRY_ASSIGN(TomlFields root, TomlFields::parse(text, file));
  auto state = std::make_unique<State>();
  std::set<std::string> seen;
  for (TomlFields& table : root.tables("metric")) {
    Alias alias;
    alias.name = table.string("name");
    alias.unit = table.string("unit");
    if (!seen.insert(alias.name).second) {
      table.fail("name", fmt::format("the metric \"{}\" stands here a second time", alias.name),
                 "add its sources to the first entry");
    }
    for (TomlFields& entry : table.tables("sources")) {
      Source source;
      if (entry.has("raw") == entry.has("formula")) {
        entry.fail(entry.has("raw") ? "formula" : "raw", "a source is either `raw` or `formula`");
      } else if (entry.has("raw")) {
        source.raw = entry.string("raw");
      } else {
        auto parsed = Expression::parse(entry.string("formula"), entry.place("formula"));
        if (!parsed) return parsed.error();
        source.formula = std::move(*parsed);
      }
      source.arch = entry.strings("arch");
      source.tool_from = entry.string("tool_from", "");
      source.tool_before = entry.string("tool_before", "");
      if (entry.has("sm_from")) source.sm_from = entry.integer("sm_from");
      if (entry.has("sm_to")) source.sm_to = entry.integer("sm_to");
      alias.sources.push_back(std::move(source));
    }
    state->aliases.push_back(std::move(alias));
  }
  BURNISH_TRY(root.finish());
  return AliasTable(std::move(state));
}

void AliasTable::apply(const Context& context,
                       const std::map<std::string, std::string, std::less<>>& unavailable,
                       KernelProfile& kernel) const {
  for (const Alias& alias : state_->aliases) {
    if (kernel.metrics.find(alias.name) != nullptr) continue;
    std::string reason;
    bool found = false;
    for (const Source& source : alias.sources) {
      if (!holds(source, context)) continue;
      if (auto metric = value_of(alias, source, kernel.metrics)) {
        kernel.metrics.add(std::move(*metric));
        found = true;
        break;
      }
      for (const std::string& raw : raw_names_of(source)) {
        const auto why = unavailable.find(raw);
        if (why != unavailable.end() && reason.empty()) reason = raw + " is " + why->second;
      }
    }
    if (found || alias.sources.empty()) continue;
    if (reason.empty()) {
      const auto usable =
          std::find_if(alias.sources.begin(), alias.sources.end(),
                       [&](const Source& source) { return holds(source, context); });
      if (usable == alias.sources.end()) {
        reason = "not defined for this device or profiler version";
      } else {
        std::vector<std::string> missing;
        for (const std::string& raw : raw_names_of(*usable)) {
          if (kernel.metrics.find(raw) == nullptr) missing.push_back(raw);
        }
        reason = missing.empty() ? "the kernel has none of what it measures"
                                 : join(missing, ", ") + " not in the artefact";
      }
    }
    kernel.not_measured.emplace(alias.name, std::move(reason));
  }
}

std::vector<std::string> AliasTable::names() const {
  std::vector<std::string> names;
  for (const Alias& alias : state_->aliases) names.push_back(alias.name);
  return names;
}

std::vector<std::string> AliasTable::raw_names() const {
  std::set<std::string> names;
  for (const Alias& alias : state_->aliases) {
    for (const Source& source : alias.sources) {
      for (std::string& raw : raw_names_of(source)) names.insert(std::move(raw));
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::vector<std::vector<std::string>>> AliasTable::sources(
    const Context& context) const {
  std::vector<std::vector<std::vector<std::string>>> all;
  for (const Alias& alias : state_->aliases) {
    auto& of_metric = all.emplace_back();
    for (const Source& source : alias.sources)
      if (holds(source, context)) of_metric.push_back(raw_names_of(source));
  }
  return all;
}

bool arch_matches(std::string_view pattern, std::string_view arch) {
  if (!pattern.empty() && pattern.back() == '*') {
    pattern.remove_suffix(1);
    return arch.substr(0, pattern.size()) == pattern;
  }
  return pattern == arch;
}

}  // namespace burnish::profile
