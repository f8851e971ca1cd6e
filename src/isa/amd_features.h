#pragma once

#include <cstdint>
#include <vector>

#include "isa/amd_listing.h"
#include "isa/amd_waits.h"
#include "isa/isa.h"

namespace burnish::isa::amd {

/// A kernel's lines with what the reader made of them; one entry each for every instruction.
struct Code {
  const Line* lines = nullptr;
  std::vector<std::uint8_t> events;
  std::vector<char> scratch;  ///< 1 where a line accesses scratch memory
  std::vector<Wait> waits;
};

/// Fills `extra` with what the AMD rules use (docs/metrics.md, AMD): full waits, NOPs, chains of
/// readlane, narrow feeds of matrix instructions, values that are the same in all lanes, loads that
/// could be merged. Blocks, loops, classes and producers of waits are filled before.
void find_features(Kernel& kernel, const Predecessors& predecessors, const Code& code);

}  // namespace burnish::isa::amd
