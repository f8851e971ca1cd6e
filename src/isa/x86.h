#pragma once

#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "isa/isa.h"

namespace burnish::isa::x86 {

/// Host ELF objects that an OpenCL CPU runtime (PoCL) made.
bool recognises(std::string_view bytes);

/// Reads all kernels of it; `path` names the artefact in errors and pointers.
Result<Reading> read(const fs::path& path, std::string_view bytes, ProcessRunner& runner);

}  // namespace burnish::isa::x86
