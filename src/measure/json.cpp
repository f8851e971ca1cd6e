#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "measure/compare.h"
#include "measure/verify.h"

namespace burnish::measure {
namespace {

/// JSON has no NaN and no infinity; they become text, so that a reader sees them.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json interval(const Interval& range) {
  return Json::array({number(range.low), number(range.high)});
}

Json latency(const Latency& times) {
  return {{"p50", number(times.p50)}, {"p5", number(times.p5)}, {"p95", number(times.p95)}};
}

Json check(const Check& one) {
  Json worst = Json::array();
  for (const WorstElement& element : one.worst) {
    worst.push_back({{"tensor", element.tensor},
                     {"index", element.index},
                     {"got", number(element.got)},
                     {"want", number(element.want)},
                     {"bound", number(element.bound)}});
  }
  return {{"name", one.name},
          {"seed", one.seed},
          {"inputs", one.inputs},
          {"verdict", to_string(one.verdict)},
          {"errors",
           {{"max_abs", number(one.errors.max_abs)},
            {"max_rel", number(one.errors.max_rel)},
            {"slice", number(one.errors.slice)},
            {"global", number(one.errors.global)},
            {"worst_slice", one.errors.worst_slice}}},
          {"worst", std::move(worst)},
          {"histogram", one.histogram},
          {"why", one.why}};
}

Json checks(const std::vector<Check>& all) {
  Json result = Json::array();
  for (const Check& one : all) result.push_back(check(one));
  return result;
}

}  // namespace

Json to_json(const Verification& verification) {
  Json result = {{"verdict", to_string(verification.verdict)},
                 {"why", verification.why},
                 {"workloads", checks(verification.checks)},
                 {"seconds", verification.seconds},
                 {"time",
                  {{"reference", verification.reference_seconds},
                   {"build", verification.build_seconds},
                   {"runs", verification.run_seconds}}}};
  if (!verification.device_problem.empty()) {
    result["device_problem"] = verification.device_problem;
  }
  return result;
}

Json to_json(const Lint& lint) {
  Json weaknesses = Json::array();
  for (const Weakness& weakness : lint.weaknesses) {
    weaknesses.push_back(
        {{"what", weakness.what}, {"workload", weakness.workload}, {"tighten", weakness.tighten}});
  }
  return {{"verdict", lint.weaknesses.empty() ? "PASS" : "FAIL"},
          {"weaknesses", std::move(weaknesses)},
          {"tried", lint.tried}};
}

Json to_json(const Bench& bench) {
  Json results = Json::array();
  for (const Timing& timing : bench.results) {
    Json utilization = Json::object();
    if (timing.compute_utilization) utilization["compute"] = number(*timing.compute_utilization);
    if (timing.bandwidth_utilization) {
      utilization["bandwidth"] = number(*timing.bandwidth_utilization);
    }
    results.push_back({{"version", timing.version},
                       {"workload", timing.workload},
                       {"method", timing.method.text()},
                       {"latency", latency(timing.latency)},
                       {"warm", latency(timing.warm)},
                       {"host", latency(timing.host)},
                       {"floor", number(timing.floor)},
                       {"flops", number(timing.flops)},
                       {"bandwidth", number(timing.bandwidth)},
                       {"utilization", std::move(utilization)},
                       {"samples", timing.samples}});
  }
  Json comparisons = Json::array();
  for (const Compared& one : bench.comparisons) {
    comparisons.push_back({{"a", one.a},
                           {"b", one.b},
                           {"workload", one.workload},
                           {"ratio", number(one.ratio)},
                           {"interval", interval(one.interval)},
                           {"verdict", to_string(one.verdict)},
                           {"blocks", one.blocks},
                           {"noise", number(one.noise)},
                           {"why", one.why}});
  }
  Json clocks = Json::object();
  for (const auto& [name, range] : bench.clocks) clocks[name] = interval(range);
  return {{"device", bench.device},
          {"method", bench.method.text()},
          {"floor", number(bench.launch_floor)},
          {"aa", {{"interval", interval(bench.noise)}}},
          {"results", std::move(results)},
          {"comparisons", std::move(comparisons)},
          {"tied", bench.tied},
          {"failed_launches", checks(bench.failed_launches)},
          {"clocks", std::move(clocks)},
          {"throttled", bench.throttled},
          {"warnings", bench.warnings},
          {"seconds", bench.seconds},
          {"time", bench.time}};
}

}  // namespace burnish::measure
