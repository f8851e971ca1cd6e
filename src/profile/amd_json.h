#pragma once

#include <string_view>

#include "base/error.h"
#include "profile/amd_model.h"

namespace burnish::profile::amd {

/// Whether the bytes are rocprofv3's JSON output ("rocprofiler-sdk-tool").
bool is_tool_json(std::string_view bytes);

/// Adds its launches, counters (records of instances summed) and devices to the run.
Result<void> read_tool_json(const Input& input, Run& run);

}  // namespace burnish::profile::amd
