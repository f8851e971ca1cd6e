#pragma once

#include <map>
#include <string>
#include <vector>

#include "isa/x86_decode.h"

namespace burnish::isa::x86 {

/// Where a region's time goes round: in a loop, or in a function that the runtime calls in a loop.
enum class Region { loop, straight_line };

/// `isa.loop.*` of the instructions of one region, in the order of their addresses
/// (docs/metrics.md, "Only x86"). What has no meaning for the region is absent.
std::map<std::string, double> region_metrics(const std::vector<Decoded>& code,
                                             const std::vector<int>& region, Region kind,
                                             FramePointer frame);

}  // namespace burnish::isa::x86
