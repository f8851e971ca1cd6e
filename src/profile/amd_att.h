#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "profile/amd_model.h"
#include "profile/profile.h"

namespace burnish::profile::amd {

/// A decoded thread trace: what rocprofv3 --att left for one dispatch.
struct TraceFiles {
  fs::path folder;  ///< ui_output_agent_*_dispatch_*; empty when only the statistics are there
  fs::path stats;   ///< stats_*.csv; empty when there is none
  std::vector<fs::path> code_objects;  ///< *_code_object_id_*.out
};

/// Reads what there is of it; files that the trace names and that are missing are warned of.
Result<Reading> read_trace(const TraceFiles& files);

/// The statistics alone.
Result<Reading> read_trace_stats(const Input& input);
/// The instructions alone, of code.json.
Result<Reading> read_trace_code(const Input& input);
/// Whether the bytes are a trace's code.json.
bool is_trace_code(std::string_view bytes);
/// A trace's wave, occupancy, states or file list, which mean nothing without its code.json.
bool is_trace_part(std::string_view bytes);

}  // namespace burnish::profile::amd
