#include "hardware/roofline.h"

#include <algorithm>
#include <limits>
#include <utility>

// The model: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model",
// CACM 52(4), 2009.
namespace burnish::hardware {
namespace {

/// Time for an amount at a rate: nothing takes no time, and something at no rate takes forever.
double seconds_at(double amount, double rate) {
  if (!(amount > 0)) return 0;
  return rate > 0 ? amount / rate : std::numeric_limits<double>::infinity();
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

Metric metric(const char* name, double value, const char* unit, const char* formula) {
  Metric made;
  made.name = name;
  made.value = value;
  made.unit = unit;
  made.where.file = "model";
  made.where.locator = "roofline";
  made.where.raw_name = formula;
  return made;
}

}  // namespace

Roofline roofline(const Work& work, double seconds, const Ceiling& compute,
                  const Ceiling& bandwidth) {
  Roofline result;
  result.compute = compute;
  result.bandwidth = bandwidth;
  result.intensity = work.bytes > 0   ? work.flops / work.bytes
                     : work.flops > 0 ? std::numeric_limits<double>::infinity()
                                      : 0;
  const double compute_floor = seconds_at(work.flops, compute.value);
  const double bandwidth_floor = seconds_at(work.bytes, bandwidth.value);
  result.bound = compute_floor > bandwidth_floor ? "compute" : "bandwidth";
  result.floor_seconds = std::max(compute_floor, bandwidth_floor);
  result.flops_rate = ratio(work.flops, seconds);
  result.bandwidth_rate = ratio(work.bytes, seconds);
  result.compute_utilization = ratio(result.flops_rate, compute.value);
  result.bandwidth_utilization = ratio(result.bandwidth_rate, bandwidth.value);
  result.utilization = ratio(result.floor_seconds, seconds);
  return result;
}

MetricSet metrics(const Roofline& roofline) {
  MetricSet set;
  set.add(metric("roofline.intensity", roofline.intensity, "FLOP/B", "flops / bytes"));
  Metric bound = metric("roofline.bound", 0, "text", "the larger of the times at the ceilings");
  bound.text = roofline.bound;
  set.add(std::move(bound));
  const auto ceiling = [&](const char* name, const Ceiling& of) {
    Metric made = metric(name, of.value, of.unit.c_str(), of.name.c_str());
    made.where.file = of.kind == "measured" ? "device" : of.source;
    made.where.locator = of.kind + ": " + of.source;
    set.add(std::move(made));
  };
  ceiling("roofline.ceiling_flops", roofline.compute);
  ceiling("roofline.ceiling_bandwidth", roofline.bandwidth);
  set.add(
      metric("roofline.utilization_pct", 100 * roofline.utilization, "%", "100 * floor / seconds"));
  set.add(metric("roofline.compute_utilization_pct", 100 * roofline.compute_utilization, "%",
                 "100 * flops / seconds / ceiling"));
  set.add(metric("roofline.bandwidth_utilization_pct", 100 * roofline.bandwidth_utilization, "%",
                 "100 * bytes / seconds / ceiling"));
  if (roofline.utilization > 0) {
    const double seconds = roofline.floor_seconds / roofline.utilization;
    set.add(metric("roofline.compulsory_bytes", roofline.bandwidth_rate * seconds, "B",
                   "each input read once, each output written once"));
  }
  return set;
}

}  // namespace burnish::hardware
