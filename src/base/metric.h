#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace burnish {

/// A pointer into the raw artefact that a number came from.
struct Where {
  std::string file;      ///< path as given, or "device" / "task" / "model" for what no file holds
  std::string hash;      ///< content_hash of the file
  std::string locator;   ///< "row 12, column 8", "result 0, metric 17", "kernel saxpy, loop 2"
  std::string raw_name;  ///< the vendor's name of the metric, or the formula over such names
  std::string pass;      ///< profiler pass, when the artefact says
};

/// A number with its name, its unit and where it came from. Absent is not zero: a metric that was
/// not measured is not in the set.
struct Metric {
  std::string name;  ///< normalised (docs/metrics.md), or the raw name when there is none
  double value = 0;
  std::string unit;  ///< SI base: "s", "B", "B/s", "Hz", "%", "1"; "text" when `text` is the value
  std::string text;  ///< for metrics that are words (occupancy.limiter)
  Where where;
  /// Half a step of the last digit that the artefact printed, in `unit`; 0 when the value is exact.
  double resolution = 0;
};

/// Metrics by name, each once; the first to be added wins, and a second value that differs is kept
/// as a disagreement to report.
class MetricSet {
 public:
  void add(Metric metric);
  const Metric* find(std::string_view name) const;
  std::optional<double> value(std::string_view name) const;
  const std::map<std::string, Metric, std::less<>>& all() const { return metrics_; }
  bool empty() const { return metrics_.empty(); }
  /// Sentences such as "registers.used: 24 by a.co, 32 by a.csv".
  const std::vector<std::string>& disagreements() const { return disagreements_; }

 private:
  std::map<std::string, Metric, std::less<>> metrics_;
  std::vector<std::string> disagreements_;
};

}  // namespace burnish
