#pragma once

#include <string_view>

#include "profile/profile.h"

namespace burnish::profile::nvidia {

/// A report of Nsight Compute as it writes it (`.ncu-rep`), or compressed as a whole (`.ncu-repz`).
bool is_report(std::string_view bytes);
Result<Reading> read_report(std::string_view bytes, const fs::path& name);

}  // namespace burnish::profile::nvidia
