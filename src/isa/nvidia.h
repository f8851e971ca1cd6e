#pragma once

#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "isa/isa.h"

namespace burnish::isa::nvidia {

/// NVIDIA code: a cubin, a fat binary or executable that holds some, SASS text, PTX, or ptxas -v output.
bool recognises(std::string_view bytes);

/// Reads all kernels of it; `path` names the artefact in errors and pointers.
Result<Reading> read(const fs::path& path, std::string_view bytes, ProcessRunner& runner);

}  // namespace burnish::isa::nvidia
