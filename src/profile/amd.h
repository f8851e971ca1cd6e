#pragma once

#include "profile/profile.h"

namespace burnish::profile::amd {

/// Whether the file or folder is an artefact of rocprofv3, rocpd or rocprof-compute.
bool recognises(const fs::path& path);

Result<Reading> read(const fs::path& path);

}  // namespace burnish::profile::amd
