#pragma once

#include <string>

#include "base/error.h"
#include "device/gpu_api.h"

namespace burnish::device {

// The part of the HIP runtime API that burnish uses beside GpuApi, declared here so that building
// needs no ROCm. Values are those of hip_runtime_api.h, the same from ROCm 5 to 7; hip_test.cpp
// holds them against the header where there is one.
namespace hip {

enum DeviceAttribute : int {
  clock_rate = 5,  // kHz
  l2_cache_size = 19,
  max_threads_per_block = 56,
  max_threads_per_multiprocessor = 57,
  memory_bus_width = 59,   // bits
  memory_clock_rate = 60,  // kHz
  multiprocessor_count = 63,
  max_shared_memory_per_block = 74,
  warp_size = 87,
  max_shared_memory_per_multiprocessor = 10002,
  physical_multiprocessor_count = 10015,
};

/// What stands in the `extra` of a launch before the packed arguments and their size, and at its
/// end (HIP porting guide, "hipModuleLaunchKernel").
inline void* const kArgumentsPointer = reinterpret_cast<void*>(1);
inline void* const kArgumentsSize = reinterpret_cast<void*>(2);
inline void* const kArgumentsEnd = reinterpret_cast<void*>(3);

}  // namespace hip

/// The functions of libamdhip64, opened at run time.
struct HipApi : GpuApi {
  const char* (*error_name)(gpu::Status);
  const char* (*error_string)(gpu::Status);
  gpu::Status (*set_device)(int ordinal);
  /// Fills a structure whose layout differs between versions; see hip_arch().
  gpu::Status (*device_properties)(void* properties, int ordinal);
  /// Like launch_kernel, but with the grid in threads, and with events that take the time stamps of
  /// the kernel itself. May be null.
  gpu::Status (*launch_kernel_timed)(gpu::Function, std::uint32_t threads_x,
                                     std::uint32_t threads_y, std::uint32_t threads_z,
                                     std::uint32_t block_x, std::uint32_t block_y,
                                     std::uint32_t block_z, std::size_t shared_bytes, gpu::Stream,
                                     void** parameters, void** extra, gpu::Event start,
                                     gpu::Event stop, std::uint32_t flags);
};

/// Errors: environment when the library is absent (`is_hip_absent` tells), does not load, or is too
/// old.
Result<const HipApi*> hip_api();

/// Whether this machine simply has no HIP runtime.
bool is_hip_absent();

/// "gfx942": the architecture that hipDeviceProp_t names, without features ("gfx942:sramecc+").
/// Found by its text, since the structure's layout changed with ROCm 6. Empty when there is none.
std::string arch_in(std::string_view properties);
std::string hip_arch(const HipApi& api, int ordinal);

/// "hipErrorIllegalAddress (700): …" with the likely cause.
std::string hip_error_text(const HipApi& api, gpu::Status status);

/// Whether nothing works in this process any more after this error.
bool is_hip_sticky(gpu::Status status);

/// The likely cause of a status in terms of the kernel; empty when there is nothing to add.
std::string hip_likely_cause(gpu::Status status);

}  // namespace burnish::device
