#pragma once

#include <string>
#include <vector>

#include "loop/demo.h"
#include "loop/story.h"

namespace burnish::report {

/// A table as rows of cells; the first row is the header.
using Cells = std::vector<std::vector<std::string>>;

/// A story by its machine code: for every step and architecture its registers, occupancy by the
/// vendor's model and by what the hardware allocates, and the counts of the hot loop. Columns that
/// say nothing of any step are left out.
Cells machine_code(const std::vector<loop::CompiledStep>& steps);

/// Every version and peer at one workload: gate, time with its interval and the launch floor beside
/// it, times faster than v0 and than each peer, shares of the ceilings, error.
Cells at_workload(const loop::Demo& demo, const std::string& variant, const std::string& workload);

/// The fastest version against every peer, a workload a row.
Cells over_workloads(const loop::Demo& demo);

/// All of it for the terminal.
std::string demo_text(const loop::Demo& demo, int columns);

std::string markdown(const Cells& cells);
std::string plain(const Cells& cells, int columns);

}  // namespace burnish::report
