#pragma once

#include <string_view>

#include "profile/profile.h"

namespace burnish::profile::nvidia {

/// What `ptxas -v` (nvcc --resource-usage) and `cuobjdump --dump-resource-usage` print.
bool is_resource_usage(std::string_view bytes);
/// One kernel a function and architecture, with its static resources.
Result<Reading> read_resource_usage(std::string_view bytes, const fs::path& name);

}  // namespace burnish::profile::nvidia
