#pragma once

#include <span>
#include <vector>

#include "base/random.h"
#include "base/statistics.h"
#include "measure/compare.h"

namespace burnish::measure {

/// Mean of what is left when a fifth of the values is cut off at each end; NaN when empty.
double trimmed_mean(std::span<const double> values);

/// Interval for the centre of symmetry by inverting Wilcoxon's signed-rank test (Hodges and
/// Lehmann, 1963), exact for any symmetric distribution. It is unbounded when there are too few
/// values for such a confidence.
Interval signed_rank_interval(std::span<const double> values, double alpha);

/// Percentile bootstrap of the trimmed mean, widened to the signed-rank interval where that is
/// wider.
Interval centre_interval(std::span<const double> values, double alpha, Generator& generator);

/// The trimmed means of `count` bootstrap resamples.
std::vector<double> resampled_means(std::span<const double> values, int count,
                                    Generator& generator);

/// When to look at the data, and how much of the error rate each look may spend, so that all looks
/// together spend no more than `alpha`: after n of N values n/N of it (the linear spending function
/// of Kim and DeMets, 1987, summed by the union bound). The first look is where the signed-rank
/// test can first show anything at that rate; each next one after half as many values again.
class Looks {
 public:
  Looks(int largest, double alpha);

  bool due(int values) const { return values >= next_; }
  /// Whether an interval of so many values is bounded when all that is left is spent on it.
  bool can_show(int values) const;
  /// The error rate that this look may spend; `last` lets it have all that is left.
  enum class Last { no, yes };
  double spend(int values, Last last);

 private:
  int largest_, next_ = 1;
  double alpha_, spent_ = 0;
};

/// Mean logarithm of the fastest third of some launches. Interference only ever adds time, so they
/// stand for the kernel best when others use the machine too.
double fastest_third(std::span<const double> seconds);

/// A gain counts from `gain` on, a loss from `loss` on (relative changes of the ratio).
struct Thresholds {
  double gain = 0.02, loss = 0.01;
};
struct Decision {
  Comparison verdict = Comparison::inconclusive;
  bool settled =
      false;  ///< more blocks would not change it: improved, regressed, or surely neither
};
/// `interval` is of the logarithm of the ratio.
Decision decide(const Interval& interval, const Thresholds& thresholds);

}  // namespace burnish::measure
