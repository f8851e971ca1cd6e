#pragma once

#include <string_view>

#include "profile/profile.h"

namespace burnish::profile::amd {

/// Whether the file or folder is an artefact of rocprofv3, rocpd, rocprof-compute or a thread
/// trace.
bool recognises(const fs::path& path);
bool recognises(std::string_view bytes);

/// Reads a file with what belongs to it beside it (agent_info.csv, sysinfo.csv, the trace of its
/// statistics), or a folder with all that it holds: passes, traces, workloads.
Result<Reading> read(const fs::path& path);
/// One file alone.
Result<Reading> read(std::string_view bytes, const fs::path& name);

}  // namespace burnish::profile::amd
