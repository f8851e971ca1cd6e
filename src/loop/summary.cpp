#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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
  // Until the baseline is, nothing is known to be best: an imported v0 was timed elsewhere.
  const bool is_judged = std::any_of(journal.begin(), journal.end(), [](const auto& entry) {
    return entry.event == "baseline" && entry.phase == workspace::Entry::Phase::done;
  });
  for (const auto& record : records) {
    const auto& performance = record.performance;
    if (!performance.device.empty()) summary.device = performance.device;
    if (record.optimization.action_category == "baseline") {
      if (performance.latency_us) summary.baseline_seconds = *performance.latency_us * 1e-6;
      if (is_judged && record.number == state.incumbent) {
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
      if (record.number == state.incumbent) {
        if (performance.latency_us) summary.best_seconds = *performance.latency_us * 1e-6;
        summary.speedup = performance.speedup_over_baseline;
      }
      summary.iterations.push_back(std::move(iteration));
    }
    if (is_judged && record.number == state.incumbent) {
      const double compute = performance.tflops_peak_utilization_pct.value_or(0);
      const double bandwidth = performance.bandwidth_peak_utilization_pct.value_or(0);
      if (compute > 0 || bandwidth > 0) summary.utilization = std::max(compute, bandwidth) / 100;
    }
  }
  // Of the versions that the best one came by; others may be of another tool, or were added by
  // hand.
  int at = state.incumbent;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (record->number != at || record->optimization.action_category == "baseline") continue;
    if (const auto& interval = record->performance.interval) {
      summary.speedup_interval.low *= interval->low;
      summary.speedup_interval.high *= interval->high;
    }
    at = record->parent;
  }
  return summary;
}

Json to_json(const Summary& summary) {
  Json json = {
      {"workspace", summary.workspace}, {"task", summary.task}, {"device", summary.device}};
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

}  // namespace burnish::loop
