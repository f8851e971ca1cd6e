#include "device/hip_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cctype>

#include "base/text.h"
#include "device/hip_compile.h"

namespace burnish::device {
namespace {

struct Library {
  void* handle = nullptr;
  std::string trouble;  ///< why a library that is there does not load
};

const Library& library() {
  static const Library opened = [] {
    Library library;
    for (const fs::path& path : rocm_libraries("libamdhip64.so", {".7", ".6", ".5", ""})) {
      library.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library.handle != nullptr) break;
      // "libnuma.so.1: cannot open …": it is there, and something that it needs is not.
      const char* words = ::dlerror();
      if (words != nullptr && !std::string_view(words).starts_with(path.string() + ":")) {
        library.trouble = words;
      }
    }
    return library;
  }();
  return opened;
}

Result<HipApi> load_api() {
  void* handle = library().handle;
  if (handle == nullptr) {
    if (!library().trouble.empty()) {
      return environment_error("libamdhip64.so does not load: " + library().trouble)
          .with_hint("install what it needs, or put its folder on LD_LIBRARY_PATH");
    }
    return environment_error("the HIP runtime (libamdhip64.so) is not installed")
        .with_hint("install ROCm (rocm.docs.amd.com), or put libamdhip64.so on LD_LIBRARY_PATH");
  }
  HipApi api{};
  const bool complete = load(handle, "hipInit", api.init) &&
                        load(handle, "hipRuntimeGetVersion", api.driver_version) &&
                        load(handle, "hipGetErrorName", api.error_name) &&
                        load(handle, "hipGetErrorString", api.error_string) &&
                        load(handle, "hipGetDeviceCount", api.device_count) &&
                        load(handle, "hipDeviceGet", api.device_get) &&
                        load(handle, "hipDeviceGetName", api.device_name) &&
                        load(handle, "hipDeviceGetAttribute", api.device_attribute) &&
                        load(handle, "hipDeviceTotalMem", api.device_total_memory) &&
                        load(handle, "hipDeviceGetPCIBusId", api.device_pci_bus_id) &&
                        (load(handle, "hipGetDevicePropertiesR0600", api.device_properties) ||
                         load(handle, "hipGetDeviceProperties", api.device_properties)) &&
                        load(handle, "hipSetDevice", api.set_device) &&
                        load(handle, "hipDeviceSynchronize", api.synchronize) &&
                        load(handle, "hipModuleLoadData", api.module_load_data) &&
                        load(handle, "hipModuleGetFunction", api.module_get_function) &&
                        load(handle, "hipFuncGetAttribute", api.function_attribute) &&
                        load(handle, "hipMalloc", api.memory_allocate) &&
                        load(handle, "hipFree", api.memory_free) &&
                        load(handle, "hipMemcpyHtoD", api.copy_to_device) &&
                        load(handle, "hipMemcpyDtoH", api.copy_from_device) &&
                        load(handle, "hipMemsetD32", api.fill_32) &&
                        load(handle, "hipStreamCreateWithFlags", api.stream_create) &&
                        load(handle, "hipStreamSynchronize", api.stream_synchronize) &&
                        load(handle, "hipStreamBeginCapture", api.stream_begin_capture) &&
                        load(handle, "hipStreamEndCapture", api.stream_end_capture) &&
                        load(handle, "hipEventCreateWithFlags", api.event_create) &&
                        load(handle, "hipEventRecord", api.event_record) &&
                        load(handle, "hipEventElapsedTime", api.event_elapsed) &&
                        load(handle, "hipModuleLaunchKernel", api.launch_kernel) &&
                        load(handle, "hipGraphInstantiateWithFlags", api.graph_instantiate) &&
                        load(handle, "hipGraphLaunch", api.graph_launch) &&
                        load(handle, "hipGraphDestroy", api.graph_destroy) &&
                        load(handle, "hipGraphExecDestroy", api.graph_exec_destroy);
  if (!complete) {
    return environment_error("the HIP runtime is older than ROCm 5")
        .with_hint("install ROCm 5.2 or newer");
  }
  load(handle, "hipGraphUpload", api.graph_upload);
  // hip_ext.h declares it for C++.
  if (!load(handle,
            "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihip"
            "Event_tS6_j",
            api.launch_kernel_timed)) {
    load(handle, "hipExtModuleLaunchKernel", api.launch_kernel_timed);
  }
  return api;
}

}  // namespace

Result<const HipApi*> hip_api() {
  static const Result<HipApi> api = load_api();
  if (!api) return api.error();
  return &*api;
}

bool is_hip_absent() { return library().handle == nullptr && library().trouble.empty(); }

std::string arch_in(std::string_view properties) {
  constexpr std::string_view kStart = "gfx";
  for (std::size_t at = 0; (at = properties.find(kStart, at)) != std::string_view::npos; ++at) {
    if (at > 0 && properties[at - 1] != '\0') continue;  // a name starts its array
    std::size_t end = at + kStart.size();
    while (end < properties.size() &&
           std::isalnum(static_cast<unsigned char>(properties[end])) != 0) {
      ++end;
    }
    const bool is_ended =
        end < properties.size() && (properties[end] == '\0' || properties[end] == ':');
    if (is_ended && end > at + kStart.size()) return std::string(properties.substr(at, end - at));
  }
  return "";
}

std::string hip_arch(const HipApi& api, int ordinal) {
  // 1,472 bytes in ROCm 6 and 7, fewer before.
  alignas(16) std::array<char, 16384> properties{};
  if (api.device_properties(properties.data(), ordinal) != gpu::kSuccess) return "";
  return arch_in({properties.data(), properties.size()});
}

// HIP API reference, "Error handling": the runtime gives these again at every later call.
bool is_hip_sticky(gpu::Status status) {
  switch (status) {
    case gpu::kEccError:
    case 700:
    case 702:
    case 710:
    case 719:
      return true;
    default:
      return false;
  }
}

std::string hip_likely_cause(gpu::Status status) {
  switch (status) {
    case 1:
      return "an argument of the launch is out of range";
    case 2:
      return "the device's memory is full";
    case 9:
      return "the block or the grid is larger than the device allows";
    case 98:
    case 200:
    case 209:
      return "the code was compiled for another architecture, or for other settings of XNACK and "
             "SRAM ECC";
    case 700:
      return "the kernel read or wrote outside its buffers";
    case 701:
      return "the block needs more registers or local data share than a compute unit has; "
             "__launch_bounds__ or a smaller block helps";
    case 710:
      return "an assert() in the kernel failed";
    case 719:
      return "the kernel failed while it ran: a bad address, a trap, or a stack overflow";
    case 720:
      return "a cooperative launch has more blocks than fit on the device at once";
    default:
      return "";
  }
}

std::string hip_error_text(const HipApi& api, gpu::Status status) {
  const char* name = api.error_name(status);
  const char* meaning = api.error_string(status);
  std::string text = fmt::format("{} ({})", name == nullptr ? "HIP error" : name, status);
  // ROCm 5 has no other words for an error than its name.
  if (meaning != nullptr && text.find(meaning) != 0) text += fmt::format(": {}", meaning);
  if (const std::string cause = hip_likely_cause(status); !cause.empty()) text += "; " + cause;
  return text;
}

}  // namespace burnish::device
