#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/toml.h"
#include "evidence/evidence.h"
#include "evidence/sentence.h"

namespace burnish::evidence {
namespace {

constexpr const char* kAll = "*";

const std::vector<std::string>& severities() {
  static const std::vector<std::string> all{"high", "medium", "low", "info"};
  return all;
}

struct Rule {
  std::string id, category, severity, action, source, collect, location;
  std::vector<std::string> applies, needs, cards, explains, explained_by;
  std::map<std::string, Metric> defaults;
  Expression when, headroom;
  Sentence because;
  bool ceiling = false;
  Place place, explains_place, explained_by_place;
};

bool has(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool is_vendor(const std::string& word) {
  return word == "nvidia" || word == "amd" || word == "cpu";
}

/// `occupancy.limiter.registers` asks whether the word `occupancy.limiter` is `registers`.
std::pair<std::string, std::string> asked_word(const std::string& variable) {
  const std::size_t dot = variable.rfind('.');
  if (dot == std::string::npos) return {};
  return {variable.substr(0, dot), variable.substr(dot + 1)};
}

void check_names(TomlFields& fields, const Rule& rule) {
  const auto places = fields.places("needs");
  if (rule.needs.empty()) {
    fields.fail("needs", "a rule needs at least one metric");
  }
  for (std::size_t i = 0; i < rule.needs.size() && i < places.size(); ++i) {
    if (!is_metric_name(rule.needs[i])) {
      fields.fail(places[i], fmt::format("\"{}\" cannot name a metric", rule.needs[i]),
                  "names are letters, digits and _, with dots between them: \"shared.conflicts\"");
    }
  }
  const auto applies = fields.places("applies");
  for (std::size_t i = 0; i < rule.applies.size() && i < applies.size(); ++i) {
    const std::string& word = rule.applies[i];
    const bool known = is_vendor(word) || word.starts_with("sm_") || word.starts_with("gfx") ||
                       word.starts_with("x86-64") || word.starts_with("aarch64");
    if (!known) {
      fields.fail(applies[i], fmt::format("\"{}\" is neither a vendor nor an architecture", word),
                  "write nvidia, amd, cpu, or the start of a target's name: sm_9, gfx942");
    }
  }
  if (rule.id.empty()) fields.fail("id", "the id is empty");
  if (!rule.location.empty() && !is_metric_name(rule.location)) {
    fields.fail("location", fmt::format("\"{}\" cannot name a metric", rule.location));
  }
}

Expression read_expression(TomlFields& fields, const std::string& key, const Rule& rule) {
  const std::string text = fields.expression(key);
  if (!fields.has(key)) return {};
  auto parsed = Expression::parse(text);
  if (!parsed) {
    fields.fail(key, parsed.error().message, parsed.error().hint);
    return {};
  }
  for (const std::string& name : parsed->variables()) {
    const auto known = [&](const std::string& metric) {
      return has(rule.needs, metric) || rule.defaults.count(metric) > 0;
    };
    if (known(name) || known(asked_word(name).first)) continue;
    std::vector<std::string> names = rule.needs;
    for (const auto& [metric, value] : rule.defaults) names.push_back(metric);
    const auto near = nearest(name, names);
    fields.fail(key, fmt::format("it reads \"{}\", which `needs` does not list", name),
                near ? fmt::format("did you mean \"{}\"?", *near) : "add it to `needs`");
  }
  return std::move(*parsed);
}

Rule read_rule(TomlFields& fields) {
  Rule rule;
  rule.place = fields.place("id");
  rule.id = fields.string("id");
  rule.category = fields.one_of("category", categories());
  rule.severity = fields.one_of("severity", severities());
  rule.action = fields.string("action");
  rule.source = fields.string("source");
  rule.cards = fields.strings("cards");
  rule.collect = fields.string("collect", "");
  rule.location = fields.string("location", "");
  rule.ceiling = fields.boolean("ceiling", false);
  rule.explains = fields.strings("explains");
  rule.explains_place = fields.place("explains");
  rule.explained_by = fields.strings("explained_by");
  rule.explained_by_place = fields.place("explained_by");
  rule.applies = fields.strings("applies");
  rule.needs = fields.strings("needs");
  TomlFields defaults = fields.table("defaults");
  for (const std::string& name : defaults.keys()) {
    Metric value;
    value.name = name;
    value.value = defaults.number(name);
    value.unit = "1";
    rule.defaults.emplace(name, std::move(value));
    if (!is_metric_name(name)) {
      defaults.fail(name, fmt::format("\"{}\" cannot name a metric", name),
                    "a name with dots is written in quotes");
    }
  }
  check_names(fields, rule);
  rule.when = read_expression(fields, "when", rule);
  rule.headroom = read_expression(fields, "headroom", rule);
  auto because = Sentence::parse(fields.string("because"));
  if (because) {
    rule.because = std::move(*because);
  } else {
    fields.fail("because", because.error().message, because.error().hint);
  }
  return rule;
}

bool applies(const Rule& rule, const Subject& subject) {
  if (rule.applies.empty()) return true;
  return std::any_of(rule.applies.begin(), rule.applies.end(), [&](const std::string& word) {
    return is_vendor(word) ? word == subject.vendor : subject.arch.starts_with(word);
  });
}

const Metric* find_metric(const Rule& rule, const MetricSet& metrics, const std::string& name) {
  if (const Metric* metric = metrics.find(name)) return metric;
  const auto assumed = rule.defaults.find(name);
  return assumed == rule.defaults.end() ? nullptr : &assumed->second;
}

Variables variables(const Rule& rule, const Expression& expression, const MetricSet& metrics) {
  Variables values;
  for (const std::string& name : expression.variables()) {
    if (const Metric* metric = find_metric(rule, metrics, name)) {
      if (metric->unit != "text") values[name] = metric->value;
      continue;
    }
    const auto [word, value] = asked_word(name);
    const Metric* metric = metrics.find(word);
    if (metric != nullptr && metric->unit == "text") values[name] = metric->text == value ? 1 : 0;
  }
  return values;
}

/// "100 / sm.throughput_pct = 100 / 17.48 = 5.72": the expression, with its values, and what comes
/// out.
std::string arithmetic(const Expression& expression, const Variables& values, double result) {
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  const std::string& text = expression.text();
  std::string filled;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_of_name(text[end])) ++end;
    if (end == i) {
      filled += text[i++];
      continue;
    }
    const std::string name = text.substr(i, end - i);
    const auto value = values.find(name);
    if (value == values.end()) {
      filled += name;
    } else {
      const bool whole =
          value->second == std::floor(value->second) && std::abs(value->second) < 1e12;
      filled += whole ? fmt::format("{:.0f}", value->second) : fmt::format("{:.4g}", value->second);
    }
    i = end;
  }
  const std::string shown = fmt::format("{:.3g}", result);
  if (filled == shown) return "";  // a bound that is a plain number
  return text == filled ? fmt::format("{} = {}", text, shown)
                        : fmt::format("{} = {} = {}", text, filled, shown);
}

/// How to get what is absent, told from the names.
std::string collect(const std::vector<std::string>& absent, const std::string& vendor) {
  std::vector<std::string> ways;
  const auto add = [&](const char* way) {
    if (!has(ways, way)) ways.emplace_back(way);
  };
  for (const std::string& name : absent) {
    const auto is_of = [&](const char* group) { return name.starts_with(group); };
    if (is_of("isa.") || is_of("registers.") || is_of("spill.") || is_of("scratch.") ||
        name == "shared.static_bytes") {
      add("give the kernel's code object or disassembly as well");
    } else if (is_of("roofline.") || is_of("workloads.")) {
      add("profile in a workspace, where the work and the ceilings are known");
    } else if (is_of("device.")) {
      add("profile on the device itself");
    } else if (is_of("launch.") || is_of("time.")) {
      add("give a profile of the launch");
    } else if (is_of("hotspot.")) {
      add(vendor == "amd" ? "take a thread trace: rocprofv3 --att"
                          : "collect source counters: ncu --set full --import-source yes");
    } else if (vendor == "amd") {
      add("collect counters: rocprofv3 --pmc, or rocprof-compute profile");
    } else if (vendor == "nvidia") {
      add("collect all sections: ncu --set full");
    } else {
      add("collect counters: ncu --set full, or rocprofv3 --pmc");
    }
  }
  return join(ways, "; ");
}

struct Fired {
  Finding finding;
  const Rule* rule = nullptr;
  double own_bound = 1;  ///< before the roofline's cap
  int severity = 0;
};

void mark_explained(std::vector<Fired>& fired) {
  for (Fired& symptom : fired) {
    if (symptom.rule->ceiling) continue;
    for (const Fired& cause : fired) {
      if (cause.rule == symptom.rule) continue;
      const bool explains =
          has(cause.rule->explains, symptom.rule->id) || has(cause.rule->explains, kAll) ||
          has(symptom.rule->explained_by, cause.rule->id) || has(symptom.rule->explained_by, kAll);
      if (!explains) continue;
      symptom.finding.explained_by = cause.rule->id;
      break;
    }
  }
}

}  // namespace

const std::vector<std::string>& categories() {
  static const std::vector<std::string> all{"coalescing",
                                            "vectorized-access",
                                            "bank-conflicts",
                                            "tiling",
                                            "register-blocking",
                                            "software-pipelining",
                                            "async-copy",
                                            "occupancy",
                                            "spills",
                                            "unrolling",
                                            "matrix-cores",
                                            "instruction-selection",
                                            "cross-lane",
                                            "divergence",
                                            "atomics",
                                            "work-partition",
                                            "fusion",
                                            "scheduling",
                                            "cache-policy",
                                            "launch-overhead",
                                            "precision",
                                            "shape-specialization",
                                            "algorithm"};
  return all;
}

struct Rules::State {
  std::vector<Rule> rules;
};

Rules::Rules(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rules::Rules(Rules&&) noexcept = default;
Rules& Rules::operator=(Rules&&) noexcept = default;
Rules::~Rules() = default;

Result<Rules> Rules::load() {
  BURNISH_TRY_ASSIGN(std::vector<DataFile> files, data_files("rules/"));
  std::erase_if(files, [](const DataFile& file) { return !file.name.ends_with(".toml"); });
  return in_context(parse(files), "reading the rules");
}

Result<Rules> Rules::parse(const std::vector<DataFile>& files) {
  auto state = std::make_unique<State>();
  std::map<std::string, Place> ids;
  for (const DataFile& file : files) {
    BURNISH_TRY_ASSIGN(TomlFields document, TomlFields::parse(file.content, file.origin));
    for (TomlFields& fields : document.tables("rule")) {
      Rule rule = read_rule(fields);
      const auto [first, fresh] = ids.emplace(rule.id, rule.place);
      if (!fresh) {
        fields.fail("id", fmt::format("the id \"{}\" is taken", rule.id),
                    "the first is at " + first->second.to_string());
      }
      state->rules.push_back(std::move(rule));
    }
    BURNISH_TRY(document.finish());
  }
  std::vector<std::string> known;
  for (const Rule& rule : state->rules) known.push_back(rule.id);
  for (const Rule& rule : state->rules) {
    for (const auto& [list, place] : {std::pair(&rule.explains, &rule.explains_place),
                                      std::pair(&rule.explained_by, &rule.explained_by_place)}) {
      for (const std::string& id : *list) {
        if (has(known, id) || id == kAll) continue;
        const auto near = nearest(id, known);
        return bad_input(fmt::format("there is no rule \"{}\"", id))
            .at(*place)
            .with_hint(near ? fmt::format("did you mean \"{}\"?", *near) : "");
      }
    }
  }
  return Rules(std::move(state));
}

Verdicts Rules::evaluate(const Subject& subject) const {
  const MetricSet& metrics = subject.metrics;
  // No mend of one thing takes a kernel past its ceiling.
  std::optional<double> gap;
  if (const auto used = metrics.value("roofline.utilization_pct"); used && *used > 0) {
    gap = std::max(1.0, 100 / *used);
  }
  std::vector<Fired> fired;
  Verdicts verdicts;
  for (const Rule& rule : state_->rules) {
    if (!applies(rule, subject)) continue;
    Missing missing;
    missing.rule = rule.id;
    for (const std::string& name : rule.needs) {
      if (metrics.find(name) == nullptr) missing.metrics.push_back(name);
    }
    if (!missing.metrics.empty()) {
      missing.collect =
          rule.collect.empty() ? collect(missing.metrics, subject.vendor) : rule.collect;
      verdicts.missing.push_back(std::move(missing));
      continue;
    }
    const auto holds = rule.when.evaluate(variables(rule, rule.when, metrics));
    // A condition without a value (0 / 0) does not hold.
    if (!holds || *holds == 0) continue;
    const auto bound = rule.headroom.evaluate(variables(rule, rule.headroom, metrics));
    if (!bound && !gap) {
      missing.metrics = rule.needs;
      missing.collect = "the rule holds, but its bound has no value: " + bound.error().message;
      verdicts.missing.push_back(std::move(missing));
      continue;
    }
    Fired one;
    one.rule = &rule;
    one.own_bound = std::max(1.0, bound ? *bound : *gap);
    one.severity = static_cast<int>(
        std::find(severities().begin(), severities().end(), rule.severity) - severities().begin());
    Finding& finding = one.finding;
    finding.id = rule.id;
    finding.category = rule.category;
    finding.severity = rule.severity;
    finding.headroom = gap ? std::min(one.own_bound, *gap) : one.own_bound;
    if (bound) {
      const std::string own =
          arithmetic(rule.headroom, variables(rule, rule.headroom, metrics), *bound);
      finding.arithmetic =
          own.empty() ? fmt::format("the rule's own bound is {:.3g}", *bound) : own;
    }
    if (gap && (!bound || *gap < one.own_bound)) {
      finding.arithmetic += fmt::format(
          "{}the roofline leaves 100 / roofline.utilization_pct = 100 / {:.4g} = {:.3g}",
          bound ? "; " : "", *metrics.value("roofline.utilization_pct"), *gap);
    }
    finding.evidence = rule.needs;
    for (const auto& [name, assumed] : rule.defaults) {
      if (metrics.find(name) != nullptr && !has(finding.evidence, name)) {
        finding.evidence.push_back(name);
      }
    }
    finding.because = rule.because.fill(
        [&](const std::string& name) { return metrics.find(name); },
        [&](const std::string& name) { return find_metric(rule, metrics, name); });
    finding.action = rule.action;
    finding.cards = rule.cards;
    finding.source = rule.source;
    if (const Metric* place = metrics.find(rule.location)) {
      finding.location = place->unit == "text" ? place->text : place->where.locator;
    }
    fired.push_back(std::move(one));
  }
  const auto key = [](const Fired& one) {
    const int group = one.rule->ceiling ? 0 : one.finding.explained_by.empty() ? 1 : 2;
    return std::tuple(group, -one.finding.headroom, -one.own_bound, one.severity);
  };
  const auto rank = [&] {
    std::stable_sort(fired.begin(), fired.end(),
                     [&](const Fired& a, const Fired& b) { return key(a) < key(b); });
  };
  rank();  // of several causes the strongest is named
  mark_explained(fired);
  rank();
  for (Fired& one : fired) verdicts.findings.push_back(std::move(one.finding));
  return verdicts;
}

std::vector<std::string> Rules::ids() const {
  std::vector<std::string> ids;
  for (const Rule& rule : state_->rules) ids.push_back(rule.id);
  return ids;
}

Result<Finding> Rules::finding(const std::string& id) const {
  for (const Rule& rule : state_->rules) {
    if (rule.id != id) continue;
    Finding finding;
    finding.id = rule.id;
    finding.category = rule.category;
    finding.severity = rule.severity;
    finding.evidence = rule.needs;
    finding.action = rule.action;
    finding.cards = rule.cards;
    finding.source = rule.source;
    return finding;
  }
  const auto near = nearest(id, ids());
  return bad_input(fmt::format("no rule has the finding '{}'", id))
      .with_hint(near ? fmt::format("did you mean '{}'?", *near)
                      : "`burnish evidence` prints the findings of a profile");
}

std::vector<std::string> Rules::metrics() const {
  std::set<std::string> names;
  for (const Rule& rule : state_->rules) {
    names.insert(rule.needs.begin(), rule.needs.end());
    for (const auto& [name, assumed] : rule.defaults) names.insert(name);
    if (!rule.location.empty()) names.insert(rule.location);
    const auto told = rule.because.names();
    names.insert(told.begin(), told.end());
  }
  return {names.begin(), names.end()};
}

}  // namespace burnish::evidence
