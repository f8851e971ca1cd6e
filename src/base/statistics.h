#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/random.h"

namespace burnish {

double mean(std::span<const double> values);    ///< NaN when empty
double median(std::span<const double> values);  ///< NaN when empty
/// Linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996); p in [0, 1].
double quantile(std::span<const double> values, double p);
double standard_deviation(std::span<const double> values);  ///< n - 1 in the denominator
/// Median absolute deviation from the median, not scaled.
double median_absolute_deviation(std::span<const double> values);
double geometric_mean(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// Percentile bootstrap of a statistic (Efron 1979): `resamples` draws with replacement.
Interval bootstrap_interval(std::span<const double> values,
                            const std::function<double(std::span<const double>)>& statistic,
                            double confidence, int resamples, Generator& generator);

}  // namespace burnish
