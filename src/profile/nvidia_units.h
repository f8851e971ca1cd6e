#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace burnish::profile::nvidia {

/// An SI base unit and what a number must be multiplied with to be in it.
struct Unit {
  std::string name;  ///< "B", "s", "Hz", "%", "B/s", "cycle", "1"; counted things are "1"
  double factor = 1;
};

/// A unit as ncu prints it: "Gbyte/s", "nsecond", "cycle/nsecond", "register/thread", "%".
/// Absent for text that is no unit of ncu. An empty text is absent too: ask unit_of_metric().
std::optional<Unit> parse_unit(std::string_view text);

/// The unit of a metric's value in a report, which stores none: told by its name
/// (docs.nvidia.com/nsight-compute/ProfilingGuide, "Metrics Structure").
Unit unit_of_metric(std::string_view name);

/// Whether ncu prints this metric as a whole number; tells grouping from a decimal point.
bool is_whole(std::string_view name);

}  // namespace burnish::profile::nvidia
