#pragma once

#include <vector>

#include "isa/isa.h"
#include "isa/sass_listing.h"

namespace burnish::isa::nvidia {

/// Fills Instruction::waits_for from the control words: which instructions set the scoreboards that
/// an instruction waits for, along all paths of the control flow graph. `lines` are the kernel's,
/// one for each instruction. A scoreboard has at most 8 producers, the latest.
void link_waits(Kernel& kernel, const Line* lines);

/// A wait for a load from memory that was issued earlier in the same turn of a loop.
struct ExposedWait {
  int consumer = 0, producer = 0;  ///< indices of instructions
  int distance = 0;                ///< instructions of the loop from one to the other
};
/// All of them in one loop, in the order of the code; the producer is the youngest.
std::vector<ExposedWait> exposed_waits(const Kernel& kernel, const Loop& loop, const Line* lines);

}  // namespace burnish::isa::nvidia
