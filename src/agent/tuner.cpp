#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "agent/agent.h"
#include "base/random.h"
#include "base/text.h"

namespace burnish::agent {
namespace {

using workspace::Configuration;
using workspace::Plan;
using workspace::Record;
using workspace::Tunable;

constexpr int kTrialBudget = 40;  ///< configurations measured in one iteration

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
      combinations = std::min<std::int64_t>(combinations * static_cast<std::int64_t>(axis.second.size()),
                                            1'000'000);
    if (combinations <= kTrialBudget) {
      BURNISH_TRY(search.exhaust(axes, 0, situation.configuration));
    } else {
      BURNISH_TRY(search.descend(axes));
    }
    if (!search.best)
      return refused("no configuration of " + plan.category + " could be measured, the incumbent's included");
    workspace::Files files = situation.candidate;
    std::string& launch = files.at(situation.task.launch_file);
    BURNISH_TRY_ASSIGN(launch, workspace::with_tunables(launch, situation.task.launch_file,
                                                        *search.best));
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
    std::vector<std::string> names;
    for (const Tunable* tunable : tunables) {
      names.push_back(tunable->name);
      auto& values = plan.parameters[tunable->name];
      for (const auto& value : tunable->values) values.push_back(workspace::to_text(value));
    }
    plan.action = fmt::format("{}: search {} and keep the fastest", finding.action, join(names, ", "));
    plan.expected =
        fmt::format("at most {:.2f} times faster (bound of the finding {})", finding.headroom, finding.id);
    plan.rollback = fmt::format("restore v{} when the gate says FAIL", situation.parent);

    for (const auto& other : situation.findings)
      if (other.category == finding.category) plan.findings.push_back(other.id);

    const auto hits = situation.cards.for_finding(finding, situation.subject);
    int cited = 0;
    for (const auto& hit : hits) {
      if (cited == 3) break;
      const auto* card = situation.cards.find(hit.id);
      if (card == nullptr) continue;
      ++cited;
      Record::Search search;
      search.source = "card:" + hit.id;
      search.layer = "L1";
      search.query = fmt::format("{} of v{}", finding.id, situation.parent);
      search.finding = finding.because;
      search.actionability = card->title + " (" + hit.why + ")";
      search.is_new = true;
      plan.search_log.push_back(search);
      if (cited == 1) {
        for (const auto& signature : card->signature)
          plan.signature.push_back({signature.metric, signature.direction});
        plan.risks = card->risks;
      }
    }

    plan.notes = fmt::format("\n# v{}: {}\n\n## Input evidence\n\n", plan.version, plan.category);
    for (const auto& other : situation.findings) {
      if (std::find(plan.findings.begin(), plan.findings.end(), other.id) == plan.findings.end())
        continue;
      plan.notes += fmt::format("- **{}** (at most {:.2f}×): {}\n", other.id, other.headroom, other.because);
      for (const auto& name : other.evidence)
        if (const Metric* metric = situation.subject.metrics.find(name))
          plan.notes += fmt::format("  - `{}` = {} {}: {}, {}\n", name,
                                    metric->unit == "text" ? metric->text : number_text(metric->value),
                                    metric->unit == "text" || metric->unit == "1" ? "" : metric->unit,
                                    metric->where.file, metric->where.locator);
    }
    plan.notes += fmt::format("\nAll metrics: `{}`.\n\n## Search log\n\n"
                              "| source | layer | query | finding | new | actionability |\n"
                              "|---|---|---|---|---|---|\n",
                              situation.evidence_pointer);
    for (const auto& search : plan.search_log)
      plan.notes += fmt::format("| {} | {} | {} | {} | {} | {} |\n", search.source, search.layer,
                                search.query, replace_all(search.finding, "|", "\\|"),
                                search.is_new ? "yes" : "no",
                                replace_all(search.actionability, "|", "\\|"));
    plan.notes += fmt::format("\n## The one action\n\n{}.\n\n", plan.action);
    for (const Tunable* tunable : tunables)
      plan.notes += fmt::format("- `{}`: {} → one of {}\n", tunable->name,
                                workspace::to_text(situation.configuration.at(tunable->name)),
                                join(plan.parameters[tunable->name], ", "));
    plan.notes += fmt::format("\n## Expected effect\n\n{}.", plan.expected);
    for (const auto& signature : plan.signature)
      plan.notes += fmt::format(" In the machine code: `{}` {}.", signature.metric, signature.direction);
    plan.notes += "\n\n## Risks and rollback\n\n";
    for (const auto& risk : plan.risks) plan.notes += "- " + risk + "\n";
    plan.notes += fmt::format("- {}.\n", plan.rollback);
    return plan;
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

std::unique_ptr<Agent> make_tuner() { return std::make_unique<Tuner>(); }

}  // namespace burnish::agent
