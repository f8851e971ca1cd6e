#pragma once

#include <cstdint>
#include <string>

#include "profile/profile.h"

namespace burnish::profile {

/// "k.cu:4 (+0x1d0)", or "+0x1d0" without line information.
std::string place_in_code(const KernelProfile& kernel, std::uint64_t address);

/// Adds what the per-instruction values point at: `hotspot.<topic>` (a place, as text) and
/// `hotspot.<topic>_pct` (its share), by source line where lines are known. Topics: shared (excess
/// wavefronts), global (excess sectors; global_load and global_store where the report says which
/// instruction does which), local (local-memory sectors), divergence (idle lanes),
/// stall (samples; with hotspot.stall_reason and its share of the place's samples) and
/// stall_<reason>.
void add_hot_spots(KernelProfile& kernel);

}  // namespace burnish::profile
