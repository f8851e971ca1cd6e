#include "measure/sequential.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace burnish::measure {
namespace {

constexpr int kResamples = 2000;
constexpr double kCut = 0.2;         ///< share cut off at each end
constexpr std::size_t kExact = 400;  ///< values up to which the distribution is counted out

double trimmed_mean_of(std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto cut = static_cast<std::size_t>(kCut * static_cast<double>(values.size()));
  const auto from = values.begin() + static_cast<std::ptrdiff_t>(cut);
  const auto to = values.end() - static_cast<std::ptrdiff_t>(cut);
  if (cut > 0) {
    std::nth_element(values.begin(), from, values.end());
    std::nth_element(from, to, values.end());
  }
  double sum = 0;
  for (auto at = from; at != to; ++at) sum += *at;
  return sum / static_cast<double>(to - from);
}

/// The largest k with P(W < k) <= tail, where W is the sum of the ranks of the positive values
/// among n under symmetry about zero; 0 when even P(W < 1) is larger.
std::size_t signed_rank_quantile(std::size_t n, double tail) {
  const std::size_t sums = n * (n + 1) / 2;
  if (n > kExact) {
    const double mean = static_cast<double>(sums) / 2;
    const double variance = static_cast<double>(sums) * (2 * static_cast<double>(n) + 1) / 12;
    // Bisection on the normal tail; n is large, so the approximation is good to a rank.
    double low = -40, high = 0;
    for (int i = 0; i < 100; ++i) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) <= tail ? low : high) = middle;
    }
    return static_cast<std::size_t>(std::max(0.0, mean + low * std::sqrt(variance)));
  }
  static thread_local std::map<std::size_t, std::vector<double>> cumulative;
  auto& table = cumulative[n];
  if (table.empty()) {
    // Each rank is added or not with probability one half.
    table.assign(sums + 1, 0);
    table[0] = 1;
    std::size_t reach = 0;
    for (std::size_t rank = 1; rank <= n; ++rank) {
      reach += rank;
      for (std::size_t s = reach + 1; s-- > 0;) {
        table[s] = 0.5 * (table[s] + (s >= rank ? table[s - rank] : 0));
      }
    }
    for (std::size_t s = 1; s < table.size(); ++s) table[s] += table[s - 1];
  }
  std::size_t k = 0;
  while (k < table.size() && table[k] <= tail) ++k;
  return k;
}

}  // namespace

double trimmed_mean(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return trimmed_mean_of(copy);
}

Interval signed_rank_interval(std::span<const double> values, double alpha) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::size_t n = values.size();
  const std::size_t k = n == 0 ? 0 : signed_rank_quantile(n, alpha / 2);
  if (k == 0) return {-kInfinity, kInfinity};
  std::vector<double> walsh;
  walsh.reserve(n * (n + 1) / 2);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) walsh.push_back((values[i] + values[j]) / 2);
  }
  const auto low = walsh.begin() + static_cast<std::ptrdiff_t>(k - 1);
  const auto high = walsh.end() - static_cast<std::ptrdiff_t>(k);
  std::nth_element(walsh.begin(), low, walsh.end());
  const double lower = *low;
  std::nth_element(walsh.begin(), high, walsh.end());
  return {lower, *high};
}

std::vector<double> resampled_means(std::span<const double> values, int count,
                                    Generator& generator) {
  std::vector<double> means(static_cast<std::size_t>(count));
  std::vector<double> resample(values.size());
  for (double& mean : means) {
    for (double& value : resample) value = values[generator.below(values.size())];
    mean = trimmed_mean_of(resample);
  }
  return means;
}

Interval centre_interval(std::span<const double> values, double alpha, Generator& generator) {
  Interval result = signed_rank_interval(values, alpha);
  if (values.empty()) return result;
  const auto means = resampled_means(values, kResamples, generator);
  result.low = std::min(result.low, quantile(means, alpha / 2));
  result.high = std::max(result.high, quantile(means, 1 - alpha / 2));
  return result;
}

// All n values have one sign with probability 2^(1-n).
Looks::Looks(int largest, double alpha) : largest_(std::max(largest, 1)), alpha_(alpha) {
  while (next_ < largest_ && std::ldexp(2, -next_) > alpha_ * next_ / largest_) ++next_;
}

bool Looks::can_show(int values) const { return std::ldexp(2, -values) <= alpha_ - spent_; }

double Looks::spend(int values, Last last) {
  const double share =
      last == Last::yes ? 1 : std::min(1.0, static_cast<double>(values) / largest_);
  const double now = std::max(0.0, alpha_ * share - spent_);
  spent_ += now;
  next_ = std::min(largest_, values + std::max(values / 2, 1));
  return now;
}

double fastest_third(std::span<const double> seconds) {
  if (seconds.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> copy(seconds.begin(), seconds.end());
  const std::size_t count = (copy.size() + 2) / 3;
  const auto end = copy.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(copy.begin(), end - 1, copy.end());
  double sum = 0;
  for (auto at = copy.begin(); at != end; ++at) sum += std::log(*at);
  return sum / static_cast<double>(count);
}

Decision decide(const Interval& interval, const Thresholds& thresholds) {
  const double gain = std::log1p(thresholds.gain), loss = -std::log1p(thresholds.loss);
  if (interval.low > gain) return {Comparison::improved, true};
  if (interval.high < loss) return {Comparison::regressed, true};
  return {Comparison::inconclusive, interval.high <= gain && interval.low >= loss};
}

}  // namespace burnish::measure
