#pragma once

#include <string_view>

#include "hardware/occupancy.h"

namespace burnish::hardware {

/// `target` is what follows "sm_", and the whole "gfx…" without features.
Result<Occupancy> nvidia_occupancy(std::string_view target, const KernelResources& resources);
Result<Occupancy> amd_occupancy(std::string_view target, const KernelResources& resources);

}  // namespace burnish::hardware
