#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

namespace burnish::device {

// What CUDA's driver and HIP's runtime have in common: HIP mirrors the driver API call by call,
// with the same arguments, the same numbers for errors and attributes of functions, and handles
// that are pointers. (HIP API reference; CUDA Driver API reference.)
namespace gpu {

using Status = int;
using Device = int;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Graph = struct GraphTag*;
using GraphExec = struct GraphExecTag*;
using Pointer = unsigned long long;

constexpr Status kSuccess = 0;
constexpr Status kOutOfMemory = 2;
constexpr Status kNoDevice = 100;
constexpr Status kEccError = 214;

enum FunctionAttribute : int {
  function_max_threads_per_block = 0,
  shared_size_bytes = 1,
  local_size_bytes = 3,
  num_regs = 4,
};

constexpr unsigned kStreamNonBlocking = 1;
constexpr int kCaptureModeThreadLocal = 1;

}  // namespace gpu

struct GpuApi {
  gpu::Status (*init)(unsigned flags);
  gpu::Status (*driver_version)(int* version);
  gpu::Status (*device_count)(int* count);
  gpu::Status (*device_get)(gpu::Device*, int ordinal);
  gpu::Status (*device_name)(char* name, int length, gpu::Device);
  gpu::Status (*device_attribute)(int* value, int attribute, gpu::Device);
  gpu::Status (*device_total_memory)(std::size_t* bytes, gpu::Device);
  gpu::Status (*device_pci_bus_id)(char* id, int length, gpu::Device);
  gpu::Status (*synchronize)();
  gpu::Status (*module_load_data)(gpu::Module*, const void* image);
  gpu::Status (*module_get_function)(gpu::Function*, gpu::Module, const char* name);
  gpu::Status (*function_attribute)(int* value, int attribute, gpu::Function);
  gpu::Status (*memory_allocate)(gpu::Pointer*, std::size_t bytes);
  gpu::Status (*memory_free)(gpu::Pointer);
  gpu::Status (*copy_to_device)(gpu::Pointer, const void*, std::size_t bytes);
  gpu::Status (*copy_from_device)(void*, gpu::Pointer, std::size_t bytes);
  gpu::Status (*fill_32)(gpu::Pointer, unsigned value, std::size_t count);
  gpu::Status (*stream_create)(gpu::Stream*, unsigned flags);
  gpu::Status (*stream_synchronize)(gpu::Stream);
  gpu::Status (*stream_begin_capture)(gpu::Stream, int mode);
  gpu::Status (*stream_end_capture)(gpu::Stream, gpu::Graph*);
  gpu::Status (*event_create)(gpu::Event*, unsigned flags);
  gpu::Status (*event_record)(gpu::Event, gpu::Stream);
  gpu::Status (*event_elapsed)(float* milliseconds, gpu::Event start, gpu::Event end);
  gpu::Status (*launch_kernel)(gpu::Function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z,
                               unsigned shared_bytes, gpu::Stream, void** parameters, void** extra);
  gpu::Status (*graph_instantiate)(gpu::GraphExec*, gpu::Graph, unsigned long long flags);
  gpu::Status (*graph_upload)(gpu::GraphExec, gpu::Stream);  ///< may be null (HIP before 5.4)
  gpu::Status (*graph_launch)(gpu::GraphExec, gpu::Stream);
  gpu::Status (*graph_destroy)(gpu::Graph);
  gpu::Status (*graph_exec_destroy)(gpu::GraphExec);
};

/// Whether the library has the function; `function` is null when it has not.
template <class T>
bool load(void* library, const char* name, T& function) {
  function = reinterpret_cast<T>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace burnish::device
