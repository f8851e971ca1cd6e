#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "agent/agent.h"
#include "base/random.h"
#include "base/text.h"
#include "knowledge/search_index.h"

namespace burnish::agent {
namespace {

using workspace::Configuration;
using workspace::Plan;
using workspace::Record;
using workspace::Tunable;

constexpr int kTrialBudget = 40;  ///< configurations measured in one iteration
constexpr std::size_t kCardsLookedAt = 6, kCardsCited = 3, kFilesCited = 2, kRisks = 5;

/// "a", "a and b", "a, b and c".
std::string join_and(std::vector<std::string> parts) {
  if (parts.size() < 2) return join(parts, "");
  const std::string last = std::move(parts.back());
  parts.pop_back();
  return join(parts, ", ") + " and " + last;
}

std::string counted(std::int64_t count, const std::string& noun) {
  return with_thousands(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

/// As an engineer writes it: four digits, thousands apart, with the unit.
std::string value_text(const Metric& metric) {
  if (metric.unit == "text") return metric.text;
  if (metric.unit == "%") return fmt::format("{:.4g} %", metric.value);
  if (metric.unit != "1" && !metric.unit.empty()) return with_prefix(metric.value, metric.unit);
  const bool whole = metric.value == std::floor(metric.value) && std::abs(metric.value) < 9e15;
  return whole ? with_thousands(std::llround(metric.value)) : fmt::format("{:.4g}", metric.value);
}

std::string sign_text(const std::string& direction) {
  return direction == "zero" ? "at zero" : direction == "appears" ? "appearing" : direction;
}

/// What was gained, and what limits it.
std::string what_it_says(const knowledge::Card& card) {
  std::vector<std::string> parts;
  if (!card.effect.empty()) parts.push_back(card.effect);
  if (!card.bound.empty()) parts.push_back("bound: " + card.bound);
  return parts.empty() ? replace_all(card.first_paragraph(), "\n", " ") : join(parts, "; ");
}

/// How many words of a card's name and title the names and purposes of the tunables hold.
int closeness(const knowledge::Hit& hit, const std::vector<const Tunable*>& tunables) {
  static const std::set<std::string> empty_words = {"and", "are", "for",  "from", "into", "its",
                                                    "not", "one", "that", "the",  "use",  "with"};
  std::set<std::string> said, of_card;
  for (const Tunable* tunable : tunables)
    for (const auto& word : knowledge::words(tunable->name + " " + tunable->why)) said.insert(word);
  for (const auto& word : knowledge::words(hit.title)) of_card.insert(word);
  for (const auto& part : knowledge::word_parts(hit.id)) of_card.insert(part);
  int held = 0;
  for (const auto& word : of_card)
    held += word.size() > 2 && !empty_words.contains(word) &&
            std::any_of(said.begin(), said.end(), [&](const std::string& other) {
              return other.size() > 2 && !empty_words.contains(other) &&
                     (other.starts_with(word) || word.starts_with(other));
            });
  return held;
}

/// Whether a card's name or title holds the name of the tunable.
bool names(const knowledge::Hit& hit, const Tunable& tunable) {
  const std::string name = to_lower(tunable.name);
  const auto words = knowledge::words(hit.id + " " + hit.title);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    const auto parts = knowledge::word_parts(word);
    return word.starts_with(name) || std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
             return part.starts_with(name);
           });
  });
}

std::vector<const Tunable*> tunables_of(const workspace::TaskSpec& task,
                                        const std::string& category) {
  std::vector<const Tunable*> found;
  for (const auto& tunable : task.tunables)
    if (tunable.category == category) found.push_back(&tunable);
  return found;
}

std::string text_of(const Configuration& configuration) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : configuration)
    parts.push_back(name + "=" + workspace::to_text(value));
  return join(parts, " ");
}

/// A category that brought nothing is worth another look only after something else changed.
bool exhausted(const Situation& situation, const std::string& category) {
  int last_accepted = 0, last_tried = -1;
  for (const Record& record : situation.history) {
    if (record.number == 0) continue;
    if (record.quality_gate.result == "PASS") last_accepted = record.number;
    if (record.optimization.action_category == category) last_tried = record.number;
  }
  return last_tried > 0 && last_tried >= last_accepted;
}

class Tuner : public Agent {
 public:
  std::string name() const override { return "tuner"; }

  Result<std::optional<Plan>> plan(const Situation& situation) override {
    for (const auto& finding : situation.findings) {
      const auto tunables = tunables_of(situation.task, finding.category);
      if (tunables.empty() || exhausted(situation, finding.category)) continue;
      return std::optional(plan_for(situation, finding, tunables));
    }
    return std::optional<Plan>();
  }

  Result<workspace::Files> implement(const Situation& situation, const Plan& plan,
                                     Evaluator& evaluator) override {
    std::vector<std::pair<std::string, std::vector<TomlValue>>> axes;
    for (const Tunable* tunable : tunables_of(situation.task, plan.category))
      axes.emplace_back(tunable->name, tunable->values);

    Search search{situation, evaluator, {}, {}, std::nullopt, 0};
    BURNISH_TRY(search.measure(situation.configuration));
    std::int64_t combinations = 1;
    for (const auto& axis : axes)
      combinations = std::min<std::int64_t>(
          combinations * static_cast<std::int64_t>(axis.second.size()), 1'000'000);
    if (combinations <= kTrialBudget) {
      BURNISH_TRY(search.exhaust(axes, 0, situation.configuration));
    } else {
      BURNISH_TRY(search.descend(axes));
    }
    if (!search.best)
      return refused("no configuration of " + plan.category +
                     " could be measured, the incumbent's included");
    workspace::Files files = situation.candidate;
    std::string& launch = files.at(situation.task.launch_file);
    BURNISH_TRY_ASSIGN(launch,
                       workspace::with_tunables(launch, situation.task.launch_file, *search.best));
    return files;
  }

 private:
  static Plan plan_for(const Situation& situation, const evidence::Finding& finding,
                       const std::vector<const Tunable*>& tunables) {
    Plan plan;
    plan.version = situation.version;
    plan.parent = situation.parent;
    plan.parent_hash = situation.parent_hash;
    plan.agent = "tuner";
    plan.category = finding.category;
    plan.bound = finding.headroom;
    for (const Tunable* tunable : tunables) {
      auto& values = plan.parameters[tunable->name];
      for (const auto& value : tunable->values) values.push_back(workspace::to_text(value));
    }
    plan.expected = expected(situation, finding);
    plan.rollback = fmt::format("when the gate says FAIL, v{} is restored", situation.parent);
    for (const auto& other : situation.findings)
      if (other.category == finding.category) plan.findings.push_back(other.id);

    const std::string purpose = search_cards(situation, finding, tunables, plan);
    const std::string aim = purpose.empty() ? capitalized(finding.action) : purpose;
    plan.action =
        fmt::format("{}{} {}", aim, contains(aim, ":") ? ";" : ":", trials(situation, tunables));
    search_folders(situation, finding, plan);
    add_risks_of_the_search(situation, tunables, plan);
    plan.notes = notes(situation, finding, tunables, plan);
    return plan;
  }

  static std::string now(const Situation& situation, const Tunable& tunable) {
    return workspace::to_text(situation.configuration.at(tunable.name));
  }

  /// The values of a tunable that the incumbent does not have.
  static std::vector<std::string> others(const Situation& situation, const Tunable& tunable) {
    std::vector<std::string> values;
    for (const auto& value : tunable.values)
      if (const std::string text = workspace::to_text(value); text != now(situation, tunable))
        values.push_back(text);
    return values;
  }

  /// What is tried of the tunables, and against what.
  static std::string trials(const Situation& situation,
                            const std::vector<const Tunable*>& tunables) {
    std::vector<std::string> names;
    for (const Tunable* tunable : tunables)
      names.push_back(fmt::format("{} (now {})", tunable->name, now(situation, *tunable)));
    if (tunables.size() > 1)
      return fmt::format("try the {} of {} and keep the fastest",
                         counted(static_cast<std::int64_t>(combinations(tunables)), "combination"),
                         join_and(names));
    const auto values = others(situation, *tunables.front());
    if (values.size() == 1) return fmt::format("set {} to {}", names.front(), values.front());
    return fmt::format("try {} at {} and keep the fastest", names.front(), join_and(values));
  }

  static std::size_t combinations(const std::vector<const Tunable*>& tunables) {
    std::size_t product = 1;
    for (const Tunable* tunable : tunables)
      product = std::min<std::size_t>(product * tunable->values.size(), 1'000'000);
    return product;
  }

  /// The bound, its arithmetic, and what it would make of the parent's time.
  static std::string expected(const Situation& situation, const evidence::Finding& finding) {
    std::string text = fmt::format("at most {:.3g} times faster", finding.headroom);
    text += finding.arithmetic.empty() ? fmt::format(", the bound of {}", finding.id)
                                       : fmt::format(" ({}: {})", finding.id, finding.arithmetic);
    for (const Record& record : situation.history)
      if (record.number == situation.parent && record.performance.latency_us) {
        const double seconds = *record.performance.latency_us * 1e-6;
        const std::size_t workloads = record.performance.latency_us_by_shape.size();
        text += fmt::format(
            "; v{} takes {}{}, so v{} takes at least {} / {:.3g} = {}", situation.parent,
            with_prefix(seconds, "s"),
            workloads > 1 ? fmt::format(" (weighted mean of {} workloads)", workloads) : "",
            situation.version, with_prefix(seconds, "s"), finding.headroom,
            with_prefix(seconds / finding.headroom, "s"));
      }
    return text;
  }

  /// Layer 1. The card that speaks of what the tunables do comes first: the plan acts on it.
  /// Returns that card's title; empty when none speaks of it.
  static std::string search_cards(const Situation& situation, const evidence::Finding& finding,
                                  const std::vector<const Tunable*>& tunables, Plan& plan) {
    auto hits = situation.cards.for_finding(finding, situation.subject, situation.outcomes);
    std::erase_if(hits, [](const knowledge::Hit& hit) { return hit.kind != "technique"; });
    if (hits.size() > kCardsLookedAt) hits.resize(kCardsLookedAt);
    std::stable_sort(hits.begin(), hits.end(), [&](const auto& a, const auto& b) {
      return closeness(a, tunables) > closeness(b, tunables);
    });
    if (hits.size() > kCardsCited) hits.resize(kCardsCited);
    std::string purpose;
    for (std::size_t i = 0; i < hits.size(); ++i) {
      const knowledge::Hit& hit = hits[i];
      const knowledge::Card* card = situation.cards.find(hit.id);
      Record::Search search;
      search.source = "card:" + hit.id;
      search.layer = "L1";
      search.query = fmt::format("{} of v{}", finding.id, situation.parent);
      search.finding = what_it_says(*card);
      const bool close = closeness(hit, tunables) > 0;
      if (i == 0 && close) purpose = card->title;
      search.actionability = fmt::format("{}: {} ({})",
                                         i > 0   ? "an alternative, not tried now"
                                         : close ? "acted on"
                                                 : "the nearest to what the tunables do",
                                         card->title, hit.why);
      search.is_new = is_new(search, situation.history);
      plan.search_log.push_back(std::move(search));
      if (i > 0) continue;
      // What this profile does not measure, the next one will not show either, and what is zero
      // does not fall.
      for (const auto& signature : card->signature) {
        const Metric* metric = situation.subject.metrics.find(signature.metric);
        const bool falls = signature.direction == "down" || signature.direction == "zero";
        if (metric == nullptr ? signature.direction == "appears" : !falls || metric->value != 0)
          plan.signature.push_back({signature.metric, signature.direction});
      }
      if (plan.signature.empty())
        for (const auto& signature : card->signature)
          plan.signature.push_back({signature.metric, signature.direction});
      plan.risks = card->risks;
      for (const Tunable& other : situation.task.tunables)
        if (other.category != plan.category && names(hit, other))
          plan.risks.push_back(fmt::format(
              "{} (now {}) belongs to the same card and stays as it is: it is of {}, and "
              "an iteration changes one category",
              other.name, now(situation, other), other.category));
      for (const auto& id : hit.cautions) {
        const knowledge::Card* pitfall = situation.cards.find(id);
        if (pitfall != nullptr && !pitfall->lost.empty())
          plan.risks.push_back(fmt::format("pitfall `{}`: {}; this lost where {}", id,
                                           pitfall->title, pitfall->lost));
        if (plan.risks.size() >= kRisks) break;
      }
    }
    return purpose;
  }

  /// Layer 2: files of the reference folders that speak of the same.
  static void search_folders(const Situation& situation, const evidence::Finding& finding,
                             Plan& plan) {
    if (!situation.references) return;
    std::string query = situation.task.family + " " + finding.category;
    for (const auto& search : plan.search_log)
      query += " " + search.source.substr(search.source.find(':') + 1);
    const auto hits = situation.references->search(query, static_cast<int>(kFilesCited));
    if (!hits) return;
    for (const auto& hit : *hits) {
      Record::Search search;
      search.source = hit.id;
      search.layer = "L2";
      search.query = std::string(trim(query));
      search.finding = hit.title;
      search.actionability = fmt::format("to read beside the kernel ({})", hit.why);
      search.is_new = is_new(search, situation.history);
      plan.search_log.push_back(std::move(search));
    }
  }

  static void add_risks_of_the_search(const Situation& situation,
                                      const std::vector<const Tunable*>& tunables, Plan& plan) {
    static const std::set<std::string> taking = {"register-blocking", "tiling", "unrolling",
                                                 "vectorized-access", "software-pipelining"};
    const auto registers = situation.subject.metrics.value("registers.used");
    if (situation.subject.vendor != "cpu" && taking.contains(plan.category) && registers &&
        *registers > 0)
      plan.risks.push_back(
          fmt::format("a value that keeps more per thread takes more registers than the {:.0f} of "
                      "v{}: the gate "
                      "refuses new spills",
                      *registers, situation.parent));
    if (combinations(tunables) > kTrialBudget)
      plan.risks.push_back(
          fmt::format("{} combinations are searched one tunable at a time, {} trials at most: "
                      "a pair of values that only pays together may be missed",
                      combinations(tunables), kTrialBudget));
  }

  static std::string notes(const Situation& situation, const evidence::Finding& finding,
                           const std::vector<const Tunable*>& tunables, const Plan& plan) {
    const MetricSet& metrics = situation.subject.metrics;
    std::string text =
        fmt::format("\n# v{}: {}\n\n## Input evidence\n\n", plan.version, plan.category);
    for (const auto& other : situation.findings) {
      if (std::find(plan.findings.begin(), plan.findings.end(), other.id) == plan.findings.end())
        continue;
      text +=
          fmt::format("- **{}** (at most {:.3g}×): {}\n", other.id, other.headroom, other.because);
      if (!other.explained_by.empty())
        text += fmt::format("  - a symptom of {}, ranked behind it\n", other.explained_by);
      for (const auto& name : other.evidence)
        if (const Metric* metric = metrics.find(name))
          text += fmt::format("  - `{}` = {}: {}, {}\n", name, value_text(*metric),
                              metric->where.file, metric->where.locator);
    }
    text += fmt::format(
        "\nAll metrics: `{}`.\n\n## Search log\n\n"
        "| source | layer | query | finding | new | actionability |\n"
        "|---|---|---|---|---|---|\n",
        situation.evidence_pointer);
    const auto cell = [](const std::string& content) { return replace_all(content, "|", "\\|"); };
    for (const auto& search : plan.search_log)
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", search.source, search.layer,
                          search.query, cell(search.finding), search.is_new ? "yes" : "no",
                          cell(search.actionability));
    text += fmt::format("\n## The one action\n\n{}.\n\n", plan.action);
    for (const Tunable* tunable : tunables)
      text += fmt::format("- `{}`{}: now {}, tried at {}\n", tunable->name,
                          tunable->why.empty() ? "" : " (" + tunable->why + ")",
                          now(situation, *tunable), join_and(others(situation, *tunable)));
    text += fmt::format(
        "\nEach configuration that the constraints allow is built, checked and timed briefly; "
        "the gate judges the fastest against v{}.\n\n## Expected effect\n\n{}.",
        situation.parent, capitalized(plan.expected));
    if (!plan.signature.empty()) {
      std::vector<std::string> signs;
      for (const auto& signature : plan.signature) {
        const Metric* metric = metrics.find(signature.metric);
        signs.push_back(fmt::format(
            "`{}` {} ({})", signature.metric, sign_text(signature.direction),
            !metric                                               ? "not measured in this profile"
            : signature.direction == "zero" && metric->value == 0 ? "as it is now"
                                                                  : "now " + value_text(*metric)));
      }
      text +=
          fmt::format(" When the change takes hold, the next profile shows {}.", join_and(signs));
    }
    text += "\n\n## Risks and rollback\n\n";
    for (const auto& risk : plan.risks) text += fmt::format("- {}\n", risk);
    text += fmt::format("- Rollback: {}.\n", plan.rollback);
    if (finding.headroom < 1.1)
      text += "- The bound is small: a gain below the task's minimum counts as none.\n";
    return text;
  }

  struct Search {
    const Situation& situation;
    Evaluator& evaluator;
    std::map<std::string, std::optional<double>> seen;
    std::vector<Trial> trials;
    std::optional<Configuration> best;
    double best_seconds = 0;

    /// Measures a configuration once; keeps the fastest.
    Result<std::optional<double>> measure(const Configuration& configuration) {
      const std::string key = text_of(configuration);
      if (const auto found = seen.find(key); found != seen.end()) return found->second;
      BURNISH_TRY_ASSIGN(Trial trial, evaluator.evaluate(situation.candidate, configuration));
      seen[key] = trial.seconds;
      if (trial.seconds && (!best || *trial.seconds < best_seconds)) {
        best = configuration;
        best_seconds = *trial.seconds;
      }
      return trial.seconds;
    }

    template <class Axes>
    Result<void> exhaust(const Axes& axes, std::size_t axis, Configuration configuration) {
      if (axis == axes.size()) {
        BURNISH_TRY(measure(configuration));
        return {};
      }
      for (const auto& value : axes[axis].second) {
        configuration[axes[axis].first] = value;
        BURNISH_TRY(exhaust(axes, axis + 1, configuration));
      }
      return {};
    }

    /// One axis after the other from the best point so far, until a round brings nothing.
    template <class Axes>
    Result<void> descend(const Axes& axes) {
      for (bool moved = true; moved && seen.size() < kTrialBudget;) {
        moved = false;
        for (const auto& [name, values] : axes) {
          const double before = best_seconds;
          const bool had = best.has_value();
          const Configuration start = best.value_or(situation.configuration);
          for (const auto& value : values) {
            if (seen.size() >= kTrialBudget) break;
            Configuration configuration = start;
            configuration[name] = value;
            BURNISH_TRY(measure(configuration));
          }
          if (best && (!had || best_seconds < before)) moved = true;
        }
      }
      return {};
    }
  };
};

}  // namespace

bool is_new(const Record::Search& search, const std::vector<Record>& history) {
  return std::none_of(history.begin(), history.end(), [&](const Record& record) {
    return std::any_of(record.search_log.begin(), record.search_log.end(), [&](const auto& before) {
      return before.source == search.source && before.query == search.query &&
             before.finding == search.finding;
    });
  });
}

std::unique_ptr<Agent> make_tuner() { return std::make_unique<Tuner>(); }

}  // namespace burnish::agent
