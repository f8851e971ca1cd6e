#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "loop/loop.h"

namespace burnish::loop {

Result<Summary> summarize(const workspace::Workspace& workspace) {
  BURNISH_TRY_ASSIGN(const auto journal, workspace.journal());
  BURNISH_TRY_ASSIGN(const State state, state_of(journal));
  BURNISH_TRY_ASSIGN(const auto records, workspace.records());
  Summary summary;
  summary.workspace = workspace.folder().string();
  summary.task = workspace.task().name;
  summary.stop_reason = state.stop_reason;
  summary.best_version = state.incumbent;
  for (const auto& record : records) {
    const auto& performance = record.performance;
    if (!performance.device.empty()) summary.device = performance.device;
    if (record.optimization.action_category == "baseline") {
      if (performance.latency_us) summary.baseline_seconds = *performance.latency_us * 1e-6;
      if (record.number == state.incumbent) {
        summary.best_seconds = summary.baseline_seconds;
        summary.speedup = 1;
      }
    } else {
      Iteration iteration;
      iteration.version = record.number;
      iteration.category = record.optimization.action_category;
      iteration.action = record.optimization.action_description;
      iteration.verdict = performance.verdict;
      iteration.gate = record.quality_gate.result;
      iteration.reason = record.quality_gate.failure_reason;
      iteration.ratio = performance.speedup_over_previous.value_or(1);
      iteration.interval = performance.interval.value_or(Interval{1, 1});
      iteration.findings = record.profile_evidence.findings;
      if (record.quality_gate.result == "PASS" && performance.interval) {
        summary.speedup_interval.low *= performance.interval->low;
        summary.speedup_interval.high *= performance.interval->high;
      }
      if (record.number == state.incumbent) {
        if (performance.latency_us) summary.best_seconds = *performance.latency_us * 1e-6;
        summary.speedup = performance.speedup_over_baseline;
      }
      summary.iterations.push_back(std::move(iteration));
    }
    if (record.number == state.incumbent) {
      const double compute = performance.tflops_peak_utilization_pct.value_or(0);
      const double bandwidth = performance.bandwidth_peak_utilization_pct.value_or(0);
      if (compute > 0 || bandwidth > 0) summary.utilization = std::max(compute, bandwidth) / 100;
    }
  }
  return summary;
}

Json to_json(const Summary& summary) {
  Json json = {{"workspace", summary.workspace}, {"task", summary.task}, {"device", summary.device}};
  if (summary.baseline_seconds) json["baseline"] = {{"time", *summary.baseline_seconds}};
  json["best"] = {{"version", fmt::format("v{}", summary.best_version)}};
  if (summary.best_seconds) json["best"]["time"] = *summary.best_seconds;
  if (summary.speedup) {
    json["best"]["speedup"] = *summary.speedup;
    json["best"]["interval"] = {summary.speedup_interval.low, summary.speedup_interval.high};
  }
  json["iterations"] = Json::array();
  for (const auto& iteration : summary.iterations)
    json["iterations"].push_back({{"version", fmt::format("v{}", iteration.version)},
                                  {"category", iteration.category},
                                  {"action", iteration.action},
                                  {"verdict", iteration.verdict},
                                  {"gate", iteration.gate},
                                  {"reason", iteration.reason},
                                  {"ratio", iteration.ratio},
                                  {"interval", {iteration.interval.low, iteration.interval.high}},
                                  {"findings", iteration.findings}});
  if (summary.utilization) json["utilization"] = *summary.utilization;
  if (!summary.stop_reason.empty()) json["stop"] = {{"reason", summary.stop_reason}};
  return json;
}

std::vector<std::string> objections(const workspace::Plan& plan, const State& state,
                                    const workspace::TaskSpec& task,
                                    const std::vector<evidence::Finding>& findings,
                                    const std::vector<workspace::Record>& unmasked) {
  std::vector<std::string> found;
  if (plan.version != state.version)
    found.push_back(fmt::format("it is of v{}, and v{} is due", plan.version, state.version));
  if (plan.parent != state.incumbent)
    found.push_back(fmt::format("it rests on the profile of v{}, and v{} is the incumbent",
                                plan.parent, state.incumbent));
  for (const auto& id : plan.findings)
    if (std::none_of(findings.begin(), findings.end(), [&](const auto& f) { return f.id == id; }))
      found.push_back(fmt::format("`{}` is no finding of v{}'s profile", id, state.incumbent));
  for (const auto& [name, values] : plan.parameters)
    for (const auto& tunable : task.tunables)
      if (tunable.name == name && tunable.category != plan.category)
        found.push_back(fmt::format("{} is a tunable of {}, not of {}: one category a plan", name,
                                    tunable.category, plan.category));
  std::set<std::string> known;
  for (const auto& record : unmasked) {
    for (const auto& search : record.search_log)
      known.insert(search.source + "\n" + search.query + "\n" + search.finding);
    // The same search from the same starting point cannot bring anything else.
    if (record.number == 0 || record.optimization.action_category != plan.category) continue;
    const auto base = record.optimization.parameters.find("base");
    if (base == record.optimization.parameters.end() || base->second != plan.parent_hash) continue;
    bool same = record.optimization.action_description == plan.action || !plan.parameters.empty();
    for (const auto& [name, values] : plan.parameters) {
      std::string joined;
      for (const auto& value : values) joined += (joined.empty() ? "" : ",") + value;
      const auto before = record.optimization.parameters.find("search." + name);
      same = same && before != record.optimization.parameters.end() && before->second == joined;
    }
    if (same) found.push_back(fmt::format("v{} tried the same from the same kernel", record.number));
  }
  const bool fresh = std::any_of(plan.search_log.begin(), plan.search_log.end(), [&](const auto& s) {
    return !known.contains(s.source + "\n" + s.query + "\n" + s.finding);
  });
  if (!fresh) found.push_back("it cites no source (source, query, finding) that is new");
  return found;
}

}  // namespace burnish::loop
