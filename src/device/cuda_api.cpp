#include "device/cuda_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace burnish::device {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

void* open_library() {
  static void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  return library;
}

Result<CudaApi> load_api() {
  void* library = open_library();
  if (library == nullptr) {
    return environment_error(fmt::format("the NVIDIA driver ({}) is not installed", kLibrary));
  }
  CudaApi api{};
  const bool complete = load(library, "cuInit", api.init) &&
                        load(library, "cuDriverGetVersion", api.driver_version) &&
                        load(library, "cuGetErrorName", api.error_name) &&
                        load(library, "cuGetErrorString", api.error_string) &&
                        load(library, "cuDeviceGetCount", api.device_count) &&
                        load(library, "cuDeviceGet", api.device_get) &&
                        load(library, "cuDeviceGetName", api.device_name) &&
                        load(library, "cuDeviceGetAttribute", api.device_attribute) &&
                        load(library, "cuDeviceTotalMem_v2", api.device_total_memory) &&
                        load(library, "cuDeviceGetPCIBusId", api.device_pci_bus_id) &&
                        load(library, "cuDevicePrimaryCtxRetain", api.primary_context_retain) &&
                        load(library, "cuCtxSetCurrent", api.context_set_current) &&
                        load(library, "cuCtxSynchronize", api.synchronize) &&
                        load(library, "cuModuleLoadData", api.module_load_data) &&
                        load(library, "cuModuleGetFunction", api.module_get_function) &&
                        load(library, "cuFuncGetAttribute", api.function_attribute) &&
                        load(library, "cuFuncSetAttribute", api.function_set_attribute) &&
                        load(library, "cuMemAlloc_v2", api.memory_allocate) &&
                        load(library, "cuMemFree_v2", api.memory_free) &&
                        load(library, "cuMemcpyHtoD_v2", api.copy_to_device) &&
                        load(library, "cuMemcpyDtoH_v2", api.copy_from_device) &&
                        load(library, "cuMemsetD32_v2", api.fill_32) &&
                        load(library, "cuStreamCreate", api.stream_create) &&
                        load(library, "cuStreamSynchronize", api.stream_synchronize) &&
                        load(library, "cuStreamBeginCapture_v2", api.stream_begin_capture) &&
                        load(library, "cuStreamEndCapture", api.stream_end_capture) &&
                        load(library, "cuEventCreate", api.event_create) &&
                        load(library, "cuEventRecord", api.event_record) &&
                        load(library, "cuEventRecordWithFlags", api.event_record_with_flags) &&
                        load(library, "cuEventElapsedTime", api.event_elapsed) &&
                        load(library, "cuLaunchKernel", api.launch_kernel) &&
                        load(library, "cuProfilerStart", api.profiler_start) &&
                        load(library, "cuProfilerStop", api.profiler_stop) &&
                        load(library, "cuGraphInstantiateWithFlags", api.graph_instantiate) &&
                        load(library, "cuGraphUpload", api.graph_upload) &&
                        load(library, "cuGraphLaunch", api.graph_launch) &&
                        load(library, "cuGraphDestroy", api.graph_destroy) &&
                        load(library, "cuGraphExecDestroy", api.graph_exec_destroy);
  if (!complete) {
    return environment_error("the NVIDIA driver is older than CUDA 11.4")
        .with_hint("install a driver of branch 470 or newer");
  }
  load(library, "cuCtxResetPersistingL2Cache", api.context_reset_persisting_l2);
  load(library, "cuFuncGetParamInfo", api.function_parameter);
  load(library, "cuLaunchKernelEx", api.launch_kernel_ex);
  load(library, "cuTensorMapEncodeTiled", api.tensor_map_encode_tiled);
  return api;
}

}  // namespace

Result<const CudaApi*> cuda_api() {
  static const Result<CudaApi> api = load_api();
  if (!api) return api.error();
  return &*api;
}

bool is_cuda_absent() { return open_library() == nullptr; }

// CUDA Driver API, "Data types used by CUDA driver": the errors after which "the process must be
// terminated and relaunched", and what each is documented to mean.
bool is_sticky(cu::Status status) {
  switch (status) {
    case 214:  // ECC uncorrectable
    case 700:
    case 702:
    case 714:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719:
    case 710:
    case 721:
      return true;
    default:
      return false;
  }
}

std::string cuda_likely_cause(cu::Status status) {
  switch (status) {
    case 1:
      return "an argument of the launch is out of range";
    case 2:
      return "the device's memory is full";
    case 200:
    case 209:
      return "the code was compiled for another architecture";
    case 700:
      return "the kernel read or wrote outside its buffers";
    case 701:
      return "the block needs more registers or shared memory than a multiprocessor has; "
             "__launch_bounds__ or a smaller block helps";
    case 710:
      return "an assert() in the kernel failed";
    case 715:
      return "the code needs a newer architecture, or a TMA copy started at an innermost "
             "coordinate "
             "that is no multiple of 16 bytes, or a trap was executed";
    case 716:
      return "a vector access is not aligned to its width";
    case 719:
      return "the kernel failed while it ran: a bad address, a stack overflow, or an mbarrier that "
             "was used before it was initialised";
    case 720:
      return "a cooperative launch has more blocks than fit on the device at once";
    case 912:
      return "the cluster does not fit: fewer or smaller blocks a cluster";
    default:
      return "";
  }
}

std::string cuda_error_text(const CudaApi& api, cu::Status status) {
  const char* name = nullptr;
  const char* meaning = nullptr;
  if (api.error_name(status, &name) != cu::kSuccess || name == nullptr) name = "CUDA error";
  if (api.error_string(status, &meaning) != cu::kSuccess || meaning == nullptr) meaning = "unknown";
  std::string text = fmt::format("{} ({}): {}", name, status, meaning);
  if (const std::string cause = cuda_likely_cause(status); !cause.empty()) text += "; " + cause;
  return text;
}

}  // namespace burnish::device
