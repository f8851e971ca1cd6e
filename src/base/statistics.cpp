#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace burnish {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool has_nan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

double sorted_quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const std::size_t low = static_cast<std::size_t>(at);
  const double fraction = at - static_cast<double>(low);
  if (fraction == 0) return sorted[low];  // also keeps an infinite neighbour out
  return sorted[low] + fraction * (sorted[low + 1] - sorted[low]);
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return kNan;
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

double median(std::span<const double> values) {
  if (values.empty() || has_nan(values)) return kNan;
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  if (copy.size() % 2 == 1) return *middle;
  const double below = *std::max_element(copy.begin(), middle);
  return below == *middle ? below : below + (*middle - below) / 2;
}

double quantile(std::span<const double> values, double p) {
  if (values.empty() || has_nan(values) || !(p >= 0 && p <= 1)) return kNan;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted_quantile(sorted, p);
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return kNan;
  const double centre = mean(values);
  double sum = 0;
  for (const double x : values) sum += (x - centre) * (x - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double median_absolute_deviation(std::span<const double> values) {
  const double centre = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double x : values) distances.push_back(std::fabs(x - centre));
  return median(distances);
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return kNan;
  double sum = 0;
  for (const double x : values) sum += std::log(x);
  return std::exp(sum / static_cast<double>(values.size()));
}

Interval bootstrap_interval(std::span<const double> values,
                            const std::function<double(std::span<const double>)>& statistic,
                            double confidence, int resamples, Generator& generator) {
  if (values.empty() || resamples < 1) return {kNan, kNan};
  std::vector<double> draw(values.size());
  std::vector<double> results;
  results.reserve(static_cast<std::size_t>(resamples));
  for (int i = 0; i < resamples; ++i) {
    for (double& x : draw) x = values[generator.below(values.size())];
    results.push_back(statistic(draw));
  }
  const double tail = (1 - confidence) / 2;
  if (has_nan(results) || !(tail >= 0 && tail <= 0.5)) return {kNan, kNan};
  std::sort(results.begin(), results.end());
  return {sorted_quantile(results, tail), sorted_quantile(results, 1 - tail)};
}

}  // namespace burnish
