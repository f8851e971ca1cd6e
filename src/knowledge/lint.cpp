#include "knowledge/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/data.h"
#include "base/text.h"
#include "base/toml.h"
#include "hardware/spec.h"

namespace burnish::knowledge {
namespace {

constexpr std::size_t kFirstParagraphLimit = 700;  // bytes; what a reader takes in at one glance

/// The names of which one has `<part>` or `*` for any run of bytes without a dot.
bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t open = pattern.find_first_of("<*");
  if (open == std::string_view::npos) return pattern == name;
  const std::size_t close = pattern[open] == '*' ? open : pattern.find('>', open);
  if (close == std::string_view::npos) return false;
  if (!name.starts_with(pattern.substr(0, open))) return false;
  const std::string_view tail = pattern.substr(close + 1);
  std::string_view rest = name.substr(open);
  while (!rest.empty()) {
    if (rest.front() == '.') return false;
    rest.remove_prefix(1);
    if (matches(tail, rest)) return true;
  }
  return false;
}

class Linter {
 public:
  Linter(const CardBase& base, const MetricNames& metrics) : base_(base), metrics_(metrics) {}

  std::vector<Complaint> run() {
    for (const Card& card : base_.cards()) check(card);
    const std::size_t index = base_.catalogue().index().size();
    if (index > Catalogue::kIndexLimit)
      complain("index", 0,
               fmt::format("the index takes {} bytes; the limit is {}, 2,000 tokens", index,
                           Catalogue::kIndexLimit));
    return std::move(complaints_);
  }

  void complain(const std::string& file, int line, std::string text) {
    complaints_.push_back({file, line, std::move(text)});
  }

  std::vector<Complaint> take() { return std::move(complaints_); }

 private:
  void check(const Card& card) {
    const auto say = [&](std::string text) { complain(card.file, 1, std::move(text)); };
    if (fs::path(card.file).stem() != card.id)
      say(fmt::format("the file of '{}' has another name", card.id));
    if (!card.category.empty()) {
      const auto& known = evidence::categories();
      if (std::find(known.begin(), known.end(), card.category) == known.end()) {
        say(fmt::format("'{}' is no category", card.category));
      }
    }
    for (const std::string& vendor : card.applies.vendor) {
      if (vendor != "nvidia" && vendor != "amd" && vendor != "cpu") {
        say(fmt::format("'{}' is no vendor", vendor));
      }
    }
    for (const std::string& entry : card.applies.arch) {
      if (const auto covered = covers(entry, targets().front()); !covered) {
        say(covered.error().message);
      }
    }
    for (const auto* list : {&card.links, &card.against}) {
      for (const std::string& id : *list) {
        if (!base_.find(id)) say(fmt::format("links to '{}', which is no card", id));
        if (id == card.id) say("links to itself");
      }
    }
    if (card.sources.empty()) say("has no source");
    for (const std::string& cited : card.sources) {
      const std::string key = cited.substr(0, cited.find(": "));
      if (!base_.sources().find(key)) say(fmt::format("cites '{}', which is no source", key));
    }
    const std::string first = card.first_paragraph();
    if (first.empty()) {
      say("has no text");
    } else if (first.size() > kFirstParagraphLimit) {
      complain(card.file, card.body_line,
               fmt::format("the first paragraph takes {} bytes; the limit is {}", first.size(),
                           kFirstParagraphLimit));
    }
    check_kind(card);
    check_metrics(card);
  }

  void check_kind(const Card& card) {
    const auto need = [&](bool there, const char* what) {
      if (!there) complain(card.file, 1, fmt::format("a {} needs {}", card.kind, what));
    };
    if (card.kind == "technique") {
      need(!card.category.empty(), "a category");
      need(!card.triggers.empty(), "a trigger");
      need(!card.effect.empty(), "`effect`");
      need(!card.bound.empty(), "`bound`");
      need(!card.risks.empty(), "`risks`");
      need(!card.signature.empty(), "`signature`");
      need(contains(card.body, "```"), "a code sketch");
    } else if (card.kind == "pitfall") {
      need(!card.category.empty(), "a category");
      need(!card.against.empty(), "`against`");
      need(!card.lost.empty(), "`lost`");
      need(!card.retract.empty(), "`retract`");
    } else if (card.kind == "reference") {
      need(!card.applies.family.empty(), "an operator family");
      need(contains(card.body, "https://"), "an address");
    } else {
      need(!card.applies.arch.empty(), "`applies.arch`");
    }
  }

  void check_metrics(const Card& card) {
    const auto check = [&](const std::string& name, int line) {
      // `occupancy.limiter.registers` asks for a value of the word `occupancy.limiter`.
      static const std::set<std::string, std::less<>> words = {"occupancy.limiter",
                                                               "roofline.bound"};
      if (metrics_.contains(name) || words.contains(name.substr(0, name.rfind('.')))) return;
      const std::string near = metrics_.near(name);
      complain(card.file, line,
               fmt::format("reads '{}', a metric that no reader produces{}", name,
                           near.empty() ? "" : fmt::format("; near: '{}'", near)));
    };
    for (const Trigger& trigger : card.triggers) {
      std::set<std::string> names(trigger.when.variables().begin(), trigger.when.variables().end());
      for (const auto* part : {&trigger.strength, &trigger.headroom}) {
        if (*part) names.insert((*part)->variables().begin(), (*part)->variables().end());
      }
      for (const std::string& name : names) check(name, 1);
    }
    for (const Signature& sign : card.signature) check(sign.metric, 1);
  }

  const CardBase& base_;
  const MetricNames& metrics_;
  std::vector<Complaint> complaints_;
};

/// The cards that data/rules name must exist. Only `id` and `cards` are read here; the rules' own
/// reader checks the rest.
Result<void> check_rules(const CardBase& base, std::vector<Complaint>& complaints) {
  BURNISH_TRY_ASSIGN(const std::vector<DataFile> files, data_files("rules/"));
  for (const DataFile& file : files) {
    if (!file.name.ends_with(".toml")) continue;
    BURNISH_TRY_ASSIGN(TomlFields fields, TomlFields::parse(file.content, file.origin));
    for (TomlFields& rule : fields.tables("rule")) {
      const std::string id = rule.string("id", "");
      for (const std::string& card : rule.strings("cards")) {
        if (base.find(card)) continue;
        complaints.push_back({file.origin, rule.place("cards").line,
                              fmt::format("the rule '{}' names '{}', which is no card", id, card)});
      }
    }
  }
  return {};
}

Result<void> check_hardware(std::vector<Complaint>& complaints) {
  BURNISH_TRY_ASSIGN(const std::vector<hardware::Spec> specs, hardware::load_specs());
  std::map<std::string, std::string> names;  // what finds a card, and which
  for (const hardware::Spec& spec : specs) {
    if (fs::path(spec.file).stem() != spec.id) {
      complaints.push_back(
          {spec.file, 1, fmt::format("the file of '{}' has another name", spec.id)});
    }
    if (const auto target = find_target(spec.arch); !target) {
      complaints.push_back({spec.file, 1, target.error().message});
    } else if (target->family != spec.family) {
      complaints.push_back(
          {spec.file, 1, fmt::format("{} is {}, not {}", spec.arch, target->family, spec.family)});
    }
    for (const std::string& sentence : hardware::check_physics(spec)) {
      complaints.push_back({spec.file, 0, sentence});
    }
    const auto [entry, fresh] = names.insert({to_lower(spec.id), spec.id});
    if (!fresh) complaints.push_back({spec.file, 1, fmt::format("'{}' is there twice", spec.id)});
  }
  return {};
}

}  // namespace

std::string Complaint::to_string() const {
  return line > 0 ? fmt::format("{}:{}: {}", file, line, text) : fmt::format("{}: {}", file, text);
}

MetricNames MetricNames::of_table(std::string_view markdown) {
  MetricNames out;
  for (const std::string_view line : split_lines(markdown)) {
    if (!line.starts_with('|')) continue;
    const std::string_view cell = line.substr(1, line.find('|', 1) - 1);
    std::size_t position = 0;
    while ((position = cell.find('`', position)) != std::string_view::npos) {
      const std::size_t end = cell.find('`', position + 1);
      if (end == std::string_view::npos) break;
      out.add(std::string(cell.substr(position + 1, end - position - 1)));
      position = end + 1;
    }
  }
  return out;
}

Result<MetricNames> MetricNames::load() {
  BURNISH_TRY_ASSIGN(const DataFile table, data_file("metrics.md"));
  MetricNames out = of_table(table.content);
  BURNISH_TRY_ASSIGN(const std::vector<DataFile> files, data_files("metrics/"));
  for (const DataFile& file : files) {
    BURNISH_TRY_ASSIGN(TomlFields fields, TomlFields::parse(file.content, file.origin));
    for (TomlFields& metric : fields.tables("metric")) {
      if (metric.has("name")) out.add(metric.string("name"));
    }
  }
  return out;
}

bool MetricNames::contains(std::string_view name) const {
  if (names_.contains(name)) return true;
  return std::any_of(names_.begin(), names_.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

std::string MetricNames::near(const std::string& name) const {
  return nearest(name, {names_.begin(), names_.end()}).value_or("");
}

Result<std::vector<Complaint>> lint(const CardBase& base, const MetricNames& metrics) {
  std::vector<Complaint> complaints = Linter(base, metrics).run();
  BURNISH_TRY(check_rules(base, complaints));
  BURNISH_TRY(check_hardware(complaints));
  return complaints;
}

Result<std::string> counts(const CardBase& base) {
  static const std::vector<std::string> vendors = {"nvidia", "amd", "cpu"};
  struct Row {
    int techniques = 0, pitfalls = 0, other = 0;
    std::map<std::string, int> by_vendor;  ///< techniques and pitfalls that hold there
  };
  std::map<std::string, Row> rows;
  std::map<std::string, int> kinds;
  for (const Card& card : base.cards()) {
    ++kinds[card.kind];
    if (card.kind != "technique" && card.kind != "pitfall") continue;
    Row& row = rows[card.category];
    (card.kind == "technique" ? row.techniques : row.pitfalls) += 1;
    for (const std::string& vendor : vendors) {
      const auto& list = card.applies.vendor;
      if (list.empty() || std::find(list.begin(), list.end(), vendor) != list.end()) {
        ++row.by_vendor[vendor];
      }
    }
  }
  std::string out =
      "| category | techniques | pitfalls | NVIDIA | AMD | CPU |\n|---|---|---|---|---|---|\n";
  Row total;
  const auto add = [&](const std::string& name, const Row& row) {
    const auto of = [&](const char* vendor) {
      const auto found = row.by_vendor.find(vendor);
      return found == row.by_vendor.end() ? 0 : found->second;
    };
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", name, row.techniques, row.pitfalls,
                       of("nvidia"), of("amd"), of("cpu"));
  };
  for (const auto& [category, row] : rows) {
    add(category, row);
    total.techniques += row.techniques;
    total.pitfalls += row.pitfalls;
    for (const auto& [vendor, n] : row.by_vendor) total.by_vendor[vendor] += n;
  }
  add("**all**", total);
  out += fmt::format("\nReference kernels: {}. Architectures: {}. Sources: {}.\n\n",
                     kinds["reference"], kinds["architecture"], base.sources().all().size());

  BURNISH_TRY_ASSIGN(const std::vector<hardware::Spec> specs, hardware::load_specs());
  out += "| hardware card | vendor | target | values";
  for (const std::string& kind : hardware::spec_kinds()) out += " | " + kind;
  out += " |\n|---|---|---|---";
  for (std::size_t i = 0; i < hardware::spec_kinds().size(); ++i) out += "|---";
  out += "|\n";
  for (const hardware::Spec& spec : specs) {
    out += fmt::format("| `{}` {} | {} | {} | {}", spec.id, spec.name, spec.vendor, spec.arch,
                       spec.values.size());
    for (const std::string& kind : hardware::spec_kinds()) {
      out += fmt::format(" | {}", std::count_if(spec.values.begin(), spec.values.end(),
                                                [&](const hardware::SpecValue& value) {
                                                  return value.kind == kind;
                                                }));
    }
    out += " |\n";
  }
  return out;
}

}  // namespace burnish::knowledge
