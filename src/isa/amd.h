#pragma once

#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "isa/isa.h"

namespace burnish::isa::amd {

/// AMD code: an amdgcn ELF object, a bundle or fat binary that holds some, or assembly text.
bool recognises(std::string_view bytes);

/// Reads all kernels of it; `path` names the artefact in errors and pointers.
Result<Reading> read(const fs::path& path, std::string_view bytes, ProcessRunner& runner);

}  // namespace burnish::isa::amd
