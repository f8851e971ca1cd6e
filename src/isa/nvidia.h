#pragma once

#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "isa/isa.h"

namespace burnish::isa::nvidia {

/// NVIDIA code: a cubin, a fat binary or a host object that holds some, or SASS text as cuobjdump
/// and nvdisasm print it.
bool recognises(std::string_view bytes);

/// Reads all kernels of it; `path` names the artefact in errors and pointers.
Result<Reading> read(const fs::path& path, std::string_view bytes, ProcessRunner& runner);

/// read() of SASS text alone.
Result<Reading> read_text(const fs::path& path, std::string_view text);

}  // namespace burnish::isa::nvidia
