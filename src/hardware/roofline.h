#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/metric.h"

namespace burnish::hardware {

/// One roof: a rate that the device cannot exceed.
struct Ceiling {
  std::string name;  ///< "copy 8 MiB", "fma f32", "tensor bf16 dense"
  std::string unit;  ///< "FLOP/s" or "B/s"
  double value = 0;
  std::string kind;    ///< "measured" or "datasheet"
  std::string source;  ///< how it was measured, or the document
};

struct Work {
  double flops = 0;
  double bytes = 0;       ///< compulsory traffic: each input read once, each output written once
  std::string math_path;  ///< "f32", "f64", "f16", "bf16-tensor", …
};

struct Roofline {
  double intensity = 0;  ///< FLOP a byte
  std::string bound;     ///< "compute" or "bandwidth"
  Ceiling compute, bandwidth;
  double floor_seconds = 0;                   ///< the larger of the two times at the ceilings
  double flops_rate = 0, bandwidth_rate = 0;  ///< achieved
  double compute_utilization = 0,
         bandwidth_utilization = 0;  ///< of the ceilings; over 1 is an alarm
  double utilization = 0;            ///< floor_seconds / seconds
};

Roofline roofline(const Work& work, double seconds, const Ceiling& compute,
                  const Ceiling& bandwidth);

/// `roofline.*` of docs/metrics.md.
MetricSet metrics(const Roofline& roofline);

}  // namespace burnish::hardware
