#include "device/opencl_devices.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "base/process.h"
#include "base/text.h"
#include "device/cpu_caches.h"

namespace burnish::device {
namespace {

constexpr char kSimulatorPlatform[] = "Oclgrind";

std::string platform_text(const OpenClApi& api, cl_platform_id platform, cl_platform_info what) {
  std::size_t size = 0;
  if (api.get_platform_info(platform, what, 0, nullptr, &size) != CL_SUCCESS || size == 0)
    return "";
  std::string text(size, '\0');
  if (api.get_platform_info(platform, what, size, text.data(), nullptr) != CL_SUCCESS) return "";
  return std::string(trim(text.c_str()));
}

std::string device_text(const OpenClApi& api, cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  if (api.get_device_info(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (api.get_device_info(device, what, size, text.data(), nullptr) != CL_SUCCESS) return "";
  return std::string(trim(text.c_str()));
}

template <class T>
T device_value(const OpenClApi& api, cl_device_id device, cl_device_info what) {
  T value{};
  if (api.get_device_info(device, what, sizeof value, &value, nullptr) != CL_SUCCESS) return T{};
  return value;
}

std::string vendor_of(cl_device_type type, const std::string& vendor) {
  if ((type & CL_DEVICE_TYPE_GPU) == 0) return "cpu";
  const std::string lower = to_lower(vendor);
  for (const auto& [part, name] :
       {std::pair{"nvidia", "nvidia"}, std::pair{"amd", "amd"}, std::pair{"advanced micro", "amd"},
        std::pair{"intel", "intel"}}) {
    if (contains(lower, part)) return name;
  }
  return lower;
}

/// PoCL ends its version with "HSTR: pthread-x86_64-pc-linux-gnu-skylake-avx512": driver, triple
/// and LLVM's name of the processor.
std::string arch_of(const OpenClApi& api, cl_device_id device, cl_device_type type,
                    const std::string& name, const std::string& vendor) {
  const std::string version = device_text(api, device, CL_DEVICE_VERSION);
  constexpr std::string_view kSystem = "-linux-gnu-";
  const std::size_t system = version.find(kSystem);
  if (vendor == "cpu" && system != std::string::npos) {
    const std::size_t hash = version.rfind(": ", system);
    const std::size_t dash = version.find('-', hash == std::string::npos ? 0 : hash);
    const std::string triple = dash < system ? version.substr(dash + 1, system - dash - 1) : "";
    const std::string machine = triple.substr(0, triple.find('-'));
    return fmt::format("{} {}", machine == "x86_64" ? "x86-64" : machine,
                       version.substr(system + kSystem.size()));
  }
  if (vendor == "nvidia") {
    // cl_nv_device_attribute_query: CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, _MINOR_NV.
    const auto major = device_value<cl_uint>(api, device, 0x4000);
    const auto minor = device_value<cl_uint>(api, device, 0x4001);
    if (major > 0) return fmt::format("sm_{}{}", major, minor);
  }
  // AMD's runtime names a device by its target, with features: "gfx942:sramecc+:xnack-".
  if (vendor == "amd" && name.starts_with("gfx")) return name.substr(0, name.find(':'));
  return (type & CL_DEVICE_TYPE_CPU) != 0 ? "unknown cpu" : name;
}

DeviceInfo describe(const OpenClApi& api, cl_platform_id platform, cl_device_id device) {
  const auto type = device_value<cl_device_type>(api, device, CL_DEVICE_TYPE);
  DeviceInfo info;
  info.backend = "opencl";
  info.name = device_text(api, device, CL_DEVICE_NAME);
  info.platform = platform_text(api, platform, CL_PLATFORM_NAME);
  info.driver = fmt::format("{} {}", device_text(api, device, CL_DRIVER_VERSION),
                            platform_text(api, platform, CL_PLATFORM_VERSION));
  info.vendor = info.platform == kSimulatorPlatform
                    ? "cpu"
                    : vendor_of(type, device_text(api, device, CL_DEVICE_VENDOR));
  info.arch = arch_of(api, device, type, info.name, info.vendor);
  info.memory_bytes = device_value<cl_ulong>(api, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.shared_bytes = device_value<cl_ulong>(api, device, CL_DEVICE_LOCAL_MEM_SIZE);
  info.cache_bytes = device_value<cl_ulong>(api, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  if (info.vendor == "cpu") info.cache_bytes = std::max(info.cache_bytes, cpu_cache_bytes());
  info.compute_units =
      static_cast<int>(device_value<cl_uint>(api, device, CL_DEVICE_MAX_COMPUTE_UNITS));
  info.largest_block =
      static_cast<int>(device_value<std::size_t>(api, device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  info.timer_resolution = 1e-9 * static_cast<double>(device_value<std::size_t>(
                                     api, device, CL_DEVICE_PROFILING_TIMER_RESOLUTION));
  const auto queried = [&](const char* name, double value) {
    if (value > 0) info.queried[name] = value;
  };
  queried("workgroup.items", info.largest_block);
  queried("shared.bytes_per_block", static_cast<double>(info.shared_bytes));
  queried("cacheline.bytes",
          device_value<cl_uint>(api, device, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE));
  if (info.vendor != "cpu") {
    queried("sm.count", info.compute_units);
    queried("clock.max", 1e6 * device_value<cl_uint>(api, device, CL_DEVICE_MAX_CLOCK_FREQUENCY));
  }
  return info;
}

std::optional<fs::path> simulator_library() {
  std::vector<fs::path> places = {"/usr/lib/oclgrind", "/usr/local/lib/oclgrind", "/usr/local/lib"};
  if (const std::optional<fs::path> program = find_program({"oclgrind"})) {
    places.push_back(program->parent_path().parent_path() / "lib");
    places.push_back(program->parent_path().parent_path() / "lib" / "oclgrind");
  }
  for (const fs::path& place : places) {
    const fs::path library = place / "liboclgrind-rt-icd.so";
    if (real_file_system().exists(library)) return library;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<OpenClDevice>> enumerate_opencl(const OpenClApi& api) {
  cl_uint count = 0;
  const cl_int code = api.get_platform_ids(0, nullptr, &count);
  if (code == -1001 || (code == CL_SUCCESS && count == 0)) return std::vector<OpenClDevice>{};
  if (code != CL_SUCCESS) {
    return environment_error("cannot list the OpenCL platforms: " + opencl_error_text(code));
  }
  std::vector<cl_platform_id> platforms(count);
  api.get_platform_ids(count, platforms.data(), nullptr);
  std::vector<OpenClDevice> found;
  for (cl_platform_id platform : platforms) {
    cl_uint devices = 0;
    if (api.get_device_ids(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices) != CL_SUCCESS)
      continue;
    std::vector<cl_device_id> ids(devices);
    if (devices == 0 || api.get_device_ids(platform, CL_DEVICE_TYPE_ALL, devices, ids.data(),
                                           nullptr) != CL_SUCCESS) {
      continue;
    }
    for (cl_device_id id : ids) {
      OpenClDevice device{platform, id, describe(api, platform, id)};
      device.info.id = device.info.platform == kSimulatorPlatform
                           ? std::string(kSimulatorId)
                           : fmt::format("opencl:{}", found.size());
      found.push_back(std::move(device));
    }
  }
  return found;
}

Result<std::vector<DeviceInfo>> list_opencl_devices() {
  BURNISH_TRY_ASSIGN(const OpenClApi* api, opencl_api());
  BURNISH_TRY_ASSIGN(const std::vector<OpenClDevice> devices, enumerate_opencl(*api));
  std::vector<DeviceInfo> infos;
  for (const OpenClDevice& device : devices) infos.push_back(device.info);
  return infos;
}

Result<void> show_opencl_drivers(const DeviceInfo& wanted, const fs::path& folder) {
  FileSystem& files = real_file_system();
  const fs::path vendors = folder / "vendors";
  if (wanted.id == kSimulatorId) {
    const std::optional<fs::path> library = simulator_library();
    if (!library) {
      return environment_error("oclgrind is not installed").with_hint("apt-get install oclgrind");
    }
    BURNISH_TRY(files.write(vendors / "oclgrind.icd", library->string() + "\n"));
    ::setenv("OCL_ICD_VENDORS", vendors.c_str(), 1);
    // Bounds are checked always. What it says of uninitialized values (oclgrind(1)) is wrong too
    // often: native_recip() and scratch that an earlier kernel wrote are such values to it.
    ::setenv("OCLGRIND_DATA_RACES", "1", 1);
    return {};
  }
  if (std::getenv("OCL_ICD_VENDORS") != nullptr) return {};
  const fs::path usual = "/etc/OpenCL/vendors";
  std::vector<std::string> names = files.list(usual);
  for (const std::string& name : names) {
    if (contains(to_lower(name), "nvidia")) return {};
  }
  constexpr char kNvidia[] = "libnvidia-opencl.so.1";
  void* library = ::dlopen(kNvidia, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return {};
  ::dlclose(library);
  for (const std::string& name : names) {
    BURNISH_TRY_ASSIGN(const std::string content, files.read(usual / name));
    BURNISH_TRY(files.write(vendors / name, content));
  }
  BURNISH_TRY(files.write(vendors / "zz-nvidia.icd", std::string(kNvidia) + "\n"));
  ::setenv("OCL_ICD_VENDORS", vendors.c_str(), 1);
  return {};
}

}  // namespace burnish::device
