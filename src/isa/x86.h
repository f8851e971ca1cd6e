#pragma once

#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "isa/isa.h"

namespace burnish::isa::x86 {

/// Starts the comment that this reader adds to an instruction that reads a constant of the object:
/// two codes that differ only in such a value are not the same.
constexpr std::string_view kConstantComment = "# constant ";

/// Host ELF objects that an OpenCL CPU runtime (PoCL) made.
bool recognises(std::string_view bytes);

/// Reads all kernels of it; `path` names the artefact in errors and pointers.
Result<Reading> read(const fs::path& path, std::string_view bytes, ProcessRunner& runner);

}  // namespace burnish::isa::x86
