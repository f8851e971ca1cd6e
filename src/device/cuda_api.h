#pragma once

#include <string>

#include "base/error.h"
#include "device/gpu_api.h"

namespace burnish::device {

// The part of the CUDA driver API that burnish uses, declared here so that building needs no
// toolkit. Values and layouts are those of cuda.h 13.0, which keeps them for binary compatibility;
// cuda_api_test.cpp holds them against the header where there is one.
namespace cu {

using gpu::Device;
using gpu::Event;
using gpu::Function;
using gpu::kSuccess;
using gpu::Pointer;
using gpu::Status;
using gpu::Stream;

using Context = struct ContextTag*;

enum DeviceAttribute : int {
  max_threads_per_block = 1,
  clock_rate = 13,  // kHz
  multiprocessor_count = 16,
  memory_clock_rate = 36,  // kHz
  global_memory_bus_width = 37,
  l2_cache_size = 38,
  max_threads_per_multiprocessor = 39,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  max_shared_memory_per_block_optin = 97,
  max_blocks_per_multiprocessor = 106,
  max_persisting_l2_cache_size = 108,
  tensor_map_access_supported = 127,
};

enum CudaFunctionAttribute : int {
  max_dynamic_shared_size_bytes = 8,
  non_portable_cluster_size_allowed = 14,
};

constexpr int kLaunchAttributeClusterDimension = 4;
constexpr unsigned kEventRecordExternal = 1;

struct LaunchAttribute {
  int id = 0;
  char padding[4] = {};
  union Value {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
  } value = {};
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// The driver wants 64 bytes of alignment up to CUDA 12, and 128 from 13 on.
struct alignas(128) TensorMap {
  std::uint64_t opaque[16];
};

}  // namespace cu

/// The functions of libcuda, opened at run time. Members that older drivers lack may be null.
struct CudaApi : GpuApi {
  cu::Status (*error_name)(cu::Status, const char** text);
  cu::Status (*error_string)(cu::Status, const char** text);
  cu::Status (*primary_context_retain)(cu::Context*, cu::Device);
  cu::Status (*context_set_current)(cu::Context);
  cu::Status (*context_reset_persisting_l2)();  ///< may be null
  cu::Status (*function_set_attribute)(cu::Function, int attribute, int value);
  cu::Status (*function_parameter)(cu::Function, std::size_t index, std::size_t* offset,
                                   std::size_t* size);  ///< may be null
  cu::Status (*event_record_with_flags)(cu::Event, cu::Stream, unsigned flags);
  cu::Status (*profiler_start)();
  cu::Status (*profiler_stop)();
  cu::Status (*launch_kernel_ex)(const cu::LaunchConfig*, cu::Function, void** parameters,
                                 void** extra);  ///< may be null
  cu::Status (*tensor_map_encode_tiled)(cu::TensorMap*, int type, std::uint32_t rank, void* address,
                                        const std::uint64_t* shape, const std::uint64_t* strides,
                                        const std::uint32_t* box,
                                        const std::uint32_t* element_strides, int interleave,
                                        int swizzle, int l2_promotion, int fill);  ///< may be null
};

/// Errors: environment when the library is absent (`is_cuda_absent` tells) or too old.
Result<const CudaApi*> cuda_api();

/// Whether this machine simply has no NVIDIA driver.
bool is_cuda_absent();

/// "CUDA_ERROR_ILLEGAL_ADDRESS (700): …" with the likely cause.
std::string cuda_error_text(const CudaApi& api, cu::Status status);

/// Whether the context is lost with this error, so that nothing works in this process any more.
bool is_sticky(cu::Status status);

/// The likely cause of a status in terms of the kernel; empty when there is nothing to add.
std::string cuda_likely_cause(cu::Status status);

}  // namespace burnish::device
