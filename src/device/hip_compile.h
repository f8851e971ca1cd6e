#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "device/gpu_compile.h"

namespace burnish::device {

/// Where a library of ROCm may lie: what the loader finds under each name, then ROCm's own folders.
std::vector<fs::path> rocm_libraries(const std::string& name,
                                     std::initializer_list<const char*> versions);

/// Which compiler compile_hip() takes, with its version; empty when there is none.
std::string hip_compiler_identity();

/// Compiles to a code object for `arch` ("gfx942"): by hipcc, where ROCm is installed; by the
/// newest clang with burnish's stand-ins for ROCm's headers otherwise; by hiprtc when there is no
/// program. `folder` takes the intermediate files. Errors: environment when there is none of them,
/// or it does not know the architecture.
Result<GpuBuild> compile_hip(const Source& source, const std::string& arch, const fs::path& folder);
/// The three ways of it.
Result<GpuBuild> compile_with_hipcc(const Source& source, const std::string& arch,
                                    const fs::path& folder, const fs::path& hipcc);
Result<GpuBuild> compile_with_clang(const Source& source, const std::string& arch,
                                    const fs::path& folder, const fs::path& clang);
Result<GpuBuild> compile_with_hiprtc(const Source& source, const std::string& arch,
                                     const fs::path& folder);

/// Why this clang cannot make code objects; empty when it can. It links them with LLVM's linker.
std::string clang_trouble(const fs::path& clang);

}  // namespace burnish::device
