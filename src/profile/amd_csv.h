#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "profile/amd_model.h"

namespace burnish::profile::amd {

/// What a CSV file of AMD's profilers holds, told by its header.
enum class Table {
  counters,          ///< rocprofv3 *_counter_collection.csv, a row for each launch and counter
  kernel_trace,      ///< rocprofv3 *_kernel_trace.csv
  stats,             ///< rocprofv3 *_stats.csv
  host_trap,         ///< rocprofv3 *_pc_sampling_host_trap.csv
  stochastic,        ///< rocprofv3 *_pc_sampling_stochastic.csv
  agents,            ///< rocprofv3 *_agent_info.csv
  other_trace,       ///< calls and copies: nothing of kernels
  wide_counters,     ///< rocprof-compute pmc_perf.csv and its like, a column for each counter
  sysinfo,           ///< rocprof-compute sysinfo.csv
  instruction_stats  ///< thread trace, stats_*.csv
};

std::optional<Table> table_of(std::string_view bytes);
/// "rocprofv3-counters", …
std::string kind_of(Table table);

/// Adds what the file says to the run; all but `instruction_stats`, which is a trace's.
Result<void> read_table(const Input& input, Table table, Run& run);

}  // namespace burnish::profile::amd
