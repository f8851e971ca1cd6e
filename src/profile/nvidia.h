#pragma once

#include <string_view>

#include "profile/profile.h"

namespace burnish::profile::nvidia {

/// Whether the bytes are an artefact of Nsight Compute, ptxas or cuobjdump.
bool recognises(std::string_view bytes);

/// Reads one; `name` stands for the file in errors and pointers.
Result<Reading> read(std::string_view bytes, const fs::path& name);

}  // namespace burnish::profile::nvidia
