#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace burnish::profile {

/// The counters that the formulas of data/metrics/amd.toml read on an architecture, in as few runs
/// of the program as its hardware blocks allow (data/metrics/amd-blocks.toml). What one formula
/// reads is counted in one run where it fits. Errors: environment when nothing is known of the
/// architecture; bad_input in the data.
Result<std::vector<std::vector<std::string>>> plan_counter_passes(std::string_view arch);

}  // namespace burnish::profile
