#pragma once

#include <string_view>

#include "base/error.h"
#include "profile/amd_model.h"

namespace burnish::profile::amd {

/// Whether the bytes are an SQLite database with rocpd's tables (or one whose first page says so).
bool is_rocpd(std::string_view bytes);

/// Adds the launches, counters and devices of a rocpd database (schemas 3 to 4) to the run. The
/// database is opened read-only and its views and triggers are never run.
Result<void> read_rocpd(const Input& input, Run& run);

}  // namespace burnish::profile::amd
