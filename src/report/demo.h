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

/// Every version and peer: its time at the headline workload and at those of no set, and how much
/// faster than v0 and than each peer it is over the set (geometric means, gross / net of the launch
/// floor). Only for demos with means.
Cells over_sets(const loop::Demo& demo);

/// How the loop came to every version: the kind of change, the findings that it rests on, what the
/// gate and the comparison with the version before said. With a folder, the cells link to the plan,
/// the profile, the report and the record there.
Cells history(const loop::Demo& demo, const std::string& folder);

/// What the profiler counted of every version that was profiled.
Cells counters(const loop::Demo& demo, const std::string& folder);

/// How it was timed, with what clocks; what failed, and what is missing.
std::string method_text(const loop::Demo& demo);

/// A table for a page, in Markdown: "results" (over_sets(), or at_workload() at the headline),
/// "history", "counters" or "workloads". `folder` is where the files of the workspace are kept, as
/// the page names it. Errors: bad_input for another name.
Result<std::string> page_table(const loop::Demo& demo, const std::string& name,
                               const std::string& folder);

/// All of it for the terminal.
std::string demo_text(const loop::Demo& demo, int columns);

std::string markdown(const Cells& cells);
std::string plain(const Cells& cells, int columns);

}  // namespace burnish::report
