#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/gpu_compile.h"

namespace burnish::device {

/// "sm_90a": the target with the features of that very architecture (wgmma, tcgen05, …), where
/// there is such a one.
std::string cuda_target(int major, int minor);

/// Which compiler compile_cuda() takes, with its version; empty when there is none.
std::string cuda_compiler_identity();

/// Compiles to a cubin: by nvcc where it and a host compiler are installed, by NVRTC otherwise.
/// `folder` takes the intermediate files. Errors: environment when there is neither.
Result<GpuBuild> compile_cuda(const Source& source, const std::string& target,
                              const fs::path& folder);
/// The two ways of it.
Result<GpuBuild> compile_with_nvcc(const Source& source, const std::string& target,
                                   const fs::path& folder, const fs::path& nvcc);
Result<GpuBuild> compile_with_nvrtc(const Source& source, const std::string& target,
                                    const fs::path& folder);

/// The symbols of the kernels in a cubin (names of its sections ".text.<symbol>"), sorted.
std::vector<std::string> cubin_kernels(std::string_view cubin);

}  // namespace burnish::device
