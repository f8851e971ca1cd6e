#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "hardware/spec.h"
#include "knowledge/search_index.h"
#include "loop/loop.h"

namespace burnish::loop {
namespace {

using agent::Situation;
using workspace::Plan;
using workspace::Record;

/// A number with a unit in which hardware is described.
struct Quantity {
  std::string text;       ///< as it was written
  std::string unit;       ///< SI base
  double value = 0;       ///< in it
  double decimal = 0;     ///< the value where KB is 1000 bytes; else the same
  double half_digit = 0;  ///< half a step of the last digit written
};

struct Unit {
  std::string_view name, base;
  double scale;
  double decimal;
};

// Longest first: "GB/s" before "GB".
constexpr Unit kUnits[] = {
    {"TFLOP/s", "FLOP/s", 1e12, 1e12},
    {"GFLOP/s", "FLOP/s", 1e9, 1e9},
    {"PFLOP/s", "FLOP/s", 1e15, 1e15},
    {"TFLOPS", "FLOP/s", 1e12, 1e12},
    {"GFLOPS", "FLOP/s", 1e9, 1e9},
    {"PFLOPS", "FLOP/s", 1e15, 1e15},
    {"TOP/s", "FLOP/s", 1e12, 1e12},
    {"TOPS", "FLOP/s", 1e12, 1e12},
    {"TiB/s", "B/s", 1099511627776.0, 1099511627776.0},
    {"GiB/s", "B/s", 1073741824.0, 1073741824.0},
    {"TB/s", "B/s", 1e12, 1e12},
    {"GB/s", "B/s", 1e9, 1e9},
    {"MB/s", "B/s", 1e6, 1e6},
    {"GHz", "Hz", 1e9, 1e9},
    {"MHz", "Hz", 1e6, 1e6},
    {"KiB", "B", 1024, 1024},
    {"MiB", "B", 1048576, 1048576},
    {"GiB", "B", 1073741824.0, 1073741824.0},
    {"KB", "B", 1024, 1e3},
    {"kB", "B", 1024, 1e3},
    {"MB", "B", 1048576, 1e6},
    {"GB", "B", 1073741824.0, 1e9},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Sizes speak of hardware only beside the name of a memory: a tile of 32 KiB is the kernel's.
bool beside_a_memory(std::string_view text, std::size_t begin, std::size_t end) {
  const std::size_t from = begin > 30 ? begin - 30 : 0;
  const std::string before = to_lower(text.substr(from, begin - from));
  const std::string after = to_lower(text.substr(end, 40));
  for (const char* name : {"shared memory", "lds", "local memory", "l1", "l2", "l3", "cache",
                           "register", "hbm", "dram", "device memory", "tensor memory", "tmem"}) {
    if (before.rfind(name) != std::string::npos &&
        before.find_first_of(".;", before.rfind(name)) == std::string::npos)
      return true;
    const std::size_t at = after.find(name);
    if (at != std::string::npos && after.substr(0, at).find_first_of(".;") == std::string::npos)
      return true;
  }
  return false;
}

enum class Sizes { beside_a_memory, all };

std::vector<Quantity> quantities(std::string_view text, Sizes sizes) {
  std::vector<Quantity> found;
  for (std::size_t i = 0; i < text.size();) {
    const bool starts =
        is_digit(text[i]) && (i == 0 || (!is_digit(text[i - 1]) && !is_letter(text[i - 1]) &&
                                         text[i - 1] != '_' && text[i - 1] != '.'));
    if (!starts) {
      ++i;
      continue;
    }
    std::string digits;
    std::size_t end = i;
    double half_digit = 0.5;
    bool point = false;
    for (; end < text.size(); ++end) {
      if (is_digit(text[end])) {
        digits += text[end];
        if (point) half_digit /= 10;
      } else if (text[end] == ',' && !point && end + 3 < text.size() && is_digit(text[end + 1]) &&
                 is_digit(text[end + 2]) && is_digit(text[end + 3])) {
        continue;
      } else if (text[end] == '.' && !point && end + 1 < text.size() && is_digit(text[end + 1])) {
        digits += '.';
        point = true;
      } else {
        break;
      }
    }
    std::size_t at = end;
    // A space, a no-break space or a thin one may stand before the unit.
    for (const std::string_view space : {" ", "\u00A0", "\u202F"})
      if (text.substr(at).starts_with(space)) at += space.size();
    for (const Unit& unit : kUnits) {
      if (!text.substr(at).starts_with(unit.name)) continue;
      const std::size_t after = at + unit.name.size();
      if (after < text.size() && is_letter(text[after])) continue;
      if (unit.base == "B" && sizes == Sizes::beside_a_memory && !beside_a_memory(text, i, after))
        break;
      const auto number = parse_number(digits);
      if (!number) break;
      found.push_back({std::string(text.substr(i, after - i)), std::string(unit.base),
                       *number * unit.scale, *number * unit.decimal, half_digit * unit.scale});
      break;
    }
    i = end;
  }
  return found;
}

/// What a plan may quote: the device's hardware card, the device itself, the cards that the plan
/// cites, and the evidence of the findings that it cites.
std::vector<Quantity> quotable(const Plan& plan, const Situation& situation) {
  std::vector<Quantity> all;
  const auto add = [&](double value, const std::string& unit) {
    all.push_back({"", unit == "OP/s" ? "FLOP/s" : unit, value, value, 0});
  };
  const auto add_text = [&](const std::string& text) {
    for (auto& quantity : quantities(text, Sizes::all)) all.push_back(std::move(quantity));
  };
  const auto add_spec = [&](const std::string& name) {
    const auto spec = hardware::find_spec(name);
    if (!spec) return;
    for (const auto& value : spec->values)
      if (value.unit != "text") add(value.value, value.unit);
  };
  add_spec(situation.device.name);
  add(static_cast<double>(situation.device.memory_bytes), "B");
  add(static_cast<double>(situation.device.cache_bytes), "B");
  for (const auto& search : plan.search_log) {
    if (search.source.starts_with("hardware:")) add_spec(search.source.substr(9));
    if (!search.source.starts_with("card:")) continue;
    if (const auto* card = situation.cards.find(search.source.substr(5)))
      add_text(card->body + "\n" + card->effect + "\n" + card->bound + "\n" + card->cost + "\n" +
               join(card->risks, "\n"));
  }
  for (const auto& finding : situation.findings) {
    if (std::find(plan.findings.begin(), plan.findings.end(), finding.id) == plan.findings.end())
      continue;
    add_text(finding.because);
    for (const auto& name : finding.evidence)
      if (const Metric* metric = situation.subject.metrics.find(name);
          metric && metric->unit != "text")
        add(metric->value, metric->unit);
  }
  for (const auto& [name, metric] : situation.subject.metrics.all())
    if (metric.unit != "text" && (name.starts_with("roofline.") || name.starts_with("device.")))
      add(metric.value, metric.unit);
  return all;
}

bool covered(const Quantity& said, const std::vector<Quantity>& known) {
  return std::any_of(known.begin(), known.end(), [&](const Quantity& one) {
    if (one.unit != said.unit) return false;
    for (const double mine : {said.value, said.decimal})
      for (const double theirs : {one.value, one.decimal})
        if (std::abs(mine - theirs) <= said.half_digit + one.half_digit + 1e-9 * std::abs(theirs))
          return true;
    return false;
  });
}

bool is_web(const Record::Search& search) {
  return search.layer == "L3" || search.source.starts_with("web:") ||
         contains(search.source, "://");
}

void check_sources(const Plan& plan, const Situation& situation, std::vector<std::string>& found) {
  bool fresh = false;
  for (const auto& search : plan.search_log) {
    if (search.source.starts_with("card:")) {
      const std::string id = search.source.substr(5);
      if (situation.cards.find(id) == nullptr) {
        std::vector<std::string> ids;
        for (const auto& card : situation.cards.cards()) ids.push_back(card.id);
        const auto near = nearest(id, ids);
        found.push_back(fmt::format("it cites the card `{}`, which is not there{}", id,
                                    near ? fmt::format(" (`{}` is)", *near) : ""));
        continue;
      }
    }
    if (search.source.starts_with("hardware:") && !hardware::find_spec(search.source.substr(9)))
      found.push_back(
          fmt::format("it cites `{}`, and there is no such hardware card", search.source));
    if (search.source.starts_with("reference:") &&
        (!situation.references || !situation.references->contains(search.source))) {
      found.push_back(
          fmt::format("it cites `{}`, which is in no folder of reference_projects", search.source));
      continue;
    }
    if (!is_web(search) && agent::is_new(search, situation.history)) fresh = true;
  }
  if (fresh) return;
  const bool web = std::any_of(plan.search_log.begin(), plan.search_log.end(), is_web);
  found.push_back(
      web ? "it rests on the web alone, which gives ideas: cite a card (`burnish wiki for`, "
            "`burnish wiki search`) or a file of reference_projects that bears it out"
          : "it cites no source (source, query, finding) that is new: search the cards "
            "(`burnish wiki for`, `burnish wiki search`), then the reference folders");
}

/// The same search from the same starting point cannot bring anything else.
bool repeats(const Plan& plan, const Record& record) {
  if (record.number == 0 || record.optimization.action_category != plan.category) return false;
  const auto& before = record.optimization.parameters;
  const auto base = before.find("base");
  if (base != before.end() && base->second != plan.parent_hash) return false;
  const auto plain = [](const std::string& text) { return join(knowledge::words(text), " "); };
  if (plan.parameters.empty())
    return plain(record.optimization.action_description) == plain(plan.action);
  return std::all_of(plan.parameters.begin(), plan.parameters.end(), [&](const auto& parameter) {
    const auto tried = before.find("search." + parameter.first);
    return tried != before.end() && tried->second == join(parameter.second, ",");
  });
}

}  // namespace

std::vector<std::string> objections(const Plan& plan, const State& state,
                                    const Situation& situation) {
  std::vector<std::string> found;
  if (plan.version != state.version)
    found.push_back(fmt::format("it is of v{}, and v{} is due", plan.version, state.version));
  if (plan.parent != state.incumbent)
    found.push_back(fmt::format("it rests on the profile of v{}, and v{} is the incumbent",
                                plan.parent, state.incumbent));
  if (plan.findings.empty())
    found.push_back(fmt::format("it cites no finding of v{}'s profile ({})", state.incumbent,
                                situation.evidence_pointer));
  for (const auto& id : plan.findings)
    if (std::none_of(situation.findings.begin(), situation.findings.end(),
                     [&](const auto& finding) { return finding.id == id; }))
      found.push_back(fmt::format("`{}` is no finding of v{}'s profile", id, state.incumbent));
  const auto& categories = evidence::categories();
  if (std::find(categories.begin(), categories.end(), plan.category) == categories.end())
    found.push_back(fmt::format("\"{}\" is not one category of change", plan.category));
  for (const auto& [name, values] : plan.parameters)
    for (const auto& tunable : situation.task.tunables)
      if (tunable.name == name && tunable.category != plan.category)
        found.push_back(fmt::format("{} is a tunable of {}, not of {}: one category a plan", name,
                                    tunable.category, plan.category));
  for (const Record& record : situation.history)
    if (repeats(plan, record))
      found.push_back(fmt::format("v{} tried the same from the same kernel", record.number));
  check_sources(plan, situation, found);
  const auto claims = quantities(plan.action + "\n" + plan.expected, Sizes::beside_a_memory);
  // The hardware cards take milliseconds to read, and most plans quote none.
  const auto known = claims.empty() ? std::vector<Quantity>{} : quotable(plan, situation);
  std::set<std::string> told;
  for (const auto& said : claims)
    if (!covered(said, known) && told.insert(said.text).second)
      found.push_back(
          fmt::format("{} is in no card that it cites, not in the device's card, and not in "
                      "the evidence that it cites: take hardware numbers from `burnish spec`",
                      said.text));
  return found;
}

}  // namespace burnish::loop
