#include "base/metric.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace burnish {

namespace {

bool differ(const Metric& a, const Metric& b) {
  if (a.unit == "text" || b.unit == "text") return a.unit != b.unit || a.text != b.text;
  if (std::isnan(a.value) || std::isnan(b.value)) return std::isnan(a.value) != std::isnan(b.value);
  if (a.value == b.value) return false;
  // Two profilers print the same counter with six digits or so.
  const double slack = std::max(1e-6 * std::max(std::fabs(a.value), std::fabs(b.value)),
                                a.resolution + b.resolution);
  return !(std::fabs(a.value - b.value) <= slack);
}

std::string told(const Metric& metric) {
  std::string text = metric.unit == "text" ? metric.text : number_text(metric.value);
  return text + " by " + (metric.where.file.empty() ? "an unnamed source" : metric.where.file);
}

}  // namespace

void MetricSet::add(Metric metric) {
  std::string name = metric.name;
  // Left as it is when the name is taken.
  const auto [at, is_new] = metrics_.try_emplace(std::move(name), std::move(metric));
  if (is_new || !differ(at->second, metric)) return;
  disagreements_.push_back(metric.name + ": " + told(at->second) + ", " + told(metric));
}

const Metric* MetricSet::find(std::string_view name) const {
  const auto at = metrics_.find(name);
  return at == metrics_.end() ? nullptr : &at->second;
}

std::optional<double> MetricSet::value(std::string_view name) const {
  const Metric* metric = find(name);
  if (metric == nullptr || metric->unit == "text") return std::nullopt;
  return metric->value;
}

}  // namespace burnish
