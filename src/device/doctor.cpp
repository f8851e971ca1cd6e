#include "device/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "device/doctor_checks.h"
#include "device/hip_compile.h"
#include "device/sandbox.h"

namespace burnish::device {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kOneTool{3000};
constexpr milliseconds kAllTools{6000};

struct Wanted {
  const char* name;
  const char* purpose;
  std::vector<std::string> programs;                  ///< the first found is taken
  enum class Newest { no, yes } newest = Newest::no;  ///< look for "name-19" and the like
  std::vector<std::string> arguments = {"--version"};
  const char* hint;
};

const std::vector<Wanted>& wanted_tools() {
  constexpr auto kPlain = Wanted::Newest::no;
  static const std::vector<Wanted> tools = {
      {"git",
       "keeps the history of a workspace",
       {"git"},
       kPlain,
       {"--version"},
       "apt-get install git"},
      {"g++", "compiles C++ references", {"g++"}, kPlain, {"--version"}, "apt-get install g++"},
      {"python3",
       "runs Python references and kernels",
       {"python3"},
       kPlain,
       {"--version"},
       "apt-get install python3"},
      {"numpy",
       "Python references",
       {"python3"},
       kPlain,
       {"-c", "import numpy; print(numpy.__version__)"},
       "apt-get install python3-numpy"},
      {"bwrap",
       "shuts candidates in",
       {"bwrap"},
       kPlain,
       {"--version"},
       "apt-get install bubblewrap"},
      {"llvm-objdump",
       "disassembles CPU and AMD machine code",
       {"llvm-objdump"},
       Wanted::Newest::yes,
       {"--version"},
       "apt-get install llvm-19"},
      {"oclgrind",
       "checks the memory accesses of OpenCL kernels",
       {"oclgrind"},
       kPlain,
       {"--version"},
       "apt-get install oclgrind"},
      {"nvcc",
       "compiles CUDA kernels (NVRTC serves as well)",
       {"nvcc"},
       kPlain,
       {"--version"},
       "install the CUDA toolkit (developer.nvidia.com/cuda-downloads) and put its bin on PATH"},
      {"cuobjdump",
       "disassembles NVIDIA machine code",
       {"cuobjdump"},
       kPlain,
       {"--version"},
       "pip install nvidia-cuda-cuobjdump"},
      {"nvdisasm",
       "disassembles NVIDIA machine code",
       {"nvdisasm"},
       kPlain,
       {"--version"},
       "pip install nvidia-cuda-nvdisasm"},
      {"ncu",
       "profiles CUDA kernels",
       {"ncu"},
       kPlain,
       {"--version"},
       "install Nsight Compute (developer.nvidia.com/nsight-compute)"},
      {"compute-sanitizer",
       "checks the memory accesses of CUDA kernels",
       {"compute-sanitizer"},
       kPlain,
       {"--version"},
       "comes with the CUDA toolkit"},
      {"hipcc",
       "compiles HIP kernels",
       {"hipcc"},
       kPlain,
       {"--version"},
       "install ROCm (rocm.docs.amd.com); clang serves as well"},
      {"rocprofv3",
       "profiles HIP kernels",
       {"rocprofv3"},
       kPlain,
       {"--version"},
       "install rocprofiler-sdk (rocm.docs.amd.com)"},
      {"sbatch",
       "runs evaluations on a Slurm cluster",
       {"sbatch"},
       kPlain,
       {"--version"},
       "apt-get install slurm-client"},
      {"curl", "talks to language models", {"curl"}, kPlain, {"--version"}, "apt-get install curl"},
  };
  return tools;
}

/// Where vendors put programs without putting them on PATH.
std::vector<fs::path> vendor_folders() {
  std::vector<fs::path> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "ROCM_PATH"}) {
    if (const char* value = std::getenv(name)) folders.push_back(fs::path(value) / "bin");
  }
  for (const char* folder : {"/usr/local/cuda/bin", "/opt/cuda/bin", "/opt/rocm/bin"}) {
    folders.emplace_back(folder);
  }
  const fs::path nsight = "/opt/nvidia/nsight-compute";
  const std::vector<std::string> versions = real_file_system().list(nsight);
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    folders.push_back(nsight / *version);
  }
  return folders;
}

Tool examine(const Wanted& wanted, ProcessRunner& runner, milliseconds deadline) {
  Tool tool;
  tool.name = wanted.name;
  tool.purpose = wanted.purpose;
  const std::optional<fs::path> program = wanted.newest == Wanted::Newest::yes
                                              ? find_newest_program(wanted.programs.front())
                                              : find_program(wanted.programs, vendor_folders());
  if (!program) {
    tool.hint = wanted.hint;
    return tool;
  }
  tool.path = program->string();
  ProcessSpec spec;
  spec.argv = {tool.path};
  spec.argv.insert(spec.argv.end(), wanted.arguments.begin(), wanted.arguments.end());
  spec.deadline = deadline;
  spec.output_limit = 1 << 20;
  spec.extra_environment["LC_ALL"] = "C";
  const Result<ProcessResult> result = runner.run(spec);
  if (result && result->ok()) {
    tool.ok = true;
    tool.version = version_in(result->output + "\n" + result->errors);
    return tool;
  }
  if (tool.name == "numpy") {
    tool.path.clear();
    tool.hint = wanted.hint;
    return tool;
  }
  tool.hint = result ? fmt::format("`{}` {}; reinstall it: {}", join(spec.argv, " "),
                                   result->describe(), wanted.hint)
                     : result.error().message;
  return tool;
}

/// Where the loader and ROCm keep libraries.
std::optional<fs::path> find_hip_runtime() {
  std::vector<fs::path> folders;
  if (const char* value = std::getenv("LD_LIBRARY_PATH")) {
    for (const std::string_view folder : split(value, ':')) folders.emplace_back(folder);
  }
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    folders.emplace_back(folder);
  }
  std::error_code ignored;
  for (const fs::path& path : rocm_libraries("libamdhip64.so", {".7", ".6", ".5", ""})) {
    if (path.has_parent_path()) {
      if (fs::exists(path, ignored)) return path;
      continue;
    }
    for (const fs::path& folder : folders) {
      if (fs::exists(folder / path, ignored)) return folder / path;
    }
  }
  return std::nullopt;
}

Tool examine_hip_runtime() {
  Tool tool{"libamdhip64", "runs HIP kernels on AMD GPUs", "", "", false, ""};
  if (const std::optional<fs::path> library = find_hip_runtime()) {
    std::error_code error;
    const fs::path real = fs::canonical(*library, error);
    const std::string name = (error ? *library : real).filename().string();
    constexpr std::string_view kBefore = ".so.";
    if (const std::size_t at = name.find(kBefore); at != std::string::npos) {
      tool.version = name.substr(at + kBefore.size());
    }
    tool.path = library->string();
    tool.ok = true;
  } else {
    tool.hint =
        "install ROCm (rocm.docs.amd.com; apt-get install hip-runtime-amd from AMD's packages), or "
        "put its folder on LD_LIBRARY_PATH";
  }
  return tool;
}

/// The newest clang, its linker, and whether it knows AMD's newest data-centre architecture.
std::array<Tool, 2> examine_clang(ProcessRunner& runner, milliseconds deadline) {
  constexpr char kHint[] = "apt-get install clang-22 lld-22";
  Tool clang = examine({"clang",
                        "compiles HIP kernels without ROCm",
                        {"clang"},
                        Wanted::Newest::yes,
                        {"--version"},
                        kHint},
                       runner, deadline);
  Tool newest{"clang for gfx950", "compiles for MI350 and MI355 without ROCm", "", "", false, ""};
  if (!clang.ok) {
    newest.hint = kHint;
    return {clang, newest};
  }
  if (const std::string trouble = clang_trouble(clang.path); !trouble.empty()) {
    newest.hint = trouble + ": " + kHint;
    return {clang, newest};
  }
  ProcessSpec spec;
  spec.argv = {clang.path,
               "--target=amdgcn-amd-amdhsa",
               "-mcpu=gfx950",
               "-nogpulib",
               "-x",
               "c",
               "-fsyntax-only",
               "/dev/null"};
  spec.deadline = deadline;
  spec.output_limit = 1 << 20;
  const Result<ProcessResult> result = runner.run(spec);
  newest.ok = result && result->ok();
  newest.path = clang.path;
  newest.version = clang.version;
  if (!newest.ok) {
    newest.hint = fmt::format("clang {} does not know it: {}", clang.version, kHint);
  }
  return {clang, newest};
}

std::string file_text(const char* path) {
  return real_file_system().read(path).value_or(std::string());
}

void check_permissions(Diagnosis& diagnosis) {
  const auto has = [&](std::string_view vendor, std::string_view backend) {
    return std::any_of(
        diagnosis.devices.begin(), diagnosis.devices.end(), [&](const DeviceInfo& info) {
          return info.vendor == vendor && (backend.empty() || info.backend == backend);
        });
  };
  std::vector<std::string>& problems = diagnosis.problems;
  const FileSystem& files = real_file_system();
  const std::string params = file_text("/proc/driver/nvidia/params");
  const std::string counters =
      nvidia_counter_problem(params, administrator_in(file_text("/proc/self/status")));
  if (!counters.empty()) problems.push_back(counters);
  if (files.exists("/proc/driver/nvidia/version") && !has("nvidia", "cuda")) {
    problems.emplace_back(
        "the NVIDIA driver is loaded, but CUDA shows no device: libcuda.so.1 is missing, or this "
        "container was started without GPUs");
  }
  const Node kfd = !files.exists("/dev/kfd")                ? Node::absent
                   : ::access("/dev/kfd", R_OK | W_OK) != 0 ? Node::closed
                                                            : Node::open;
  const std::string amd =
      amd_problem(kfd, find_hip_runtime() ? HipRuntime::installed : HipRuntime::absent,
                  has("amd", "hip") ? HipDevices::some : HipDevices::none);
  if (!amd.empty()) problems.push_back(amd);
  if (diagnosis.devices.empty()) {
    problems.emplace_back(
        "there is no device; for the CPU: apt-get install pocl-opencl-icd ocl-icd-libopencl1");
  }
  if (best_sandbox().confinement == Confinement::process_group) {
    problems.push_back("candidates are confined by a " + diagnosis.isolation +
                       "; apt-get install bubblewrap, or allow user namespaces");
  }
}

}  // namespace

std::string version_in(std::string_view output) {
  const auto is_digit = [&](std::size_t at) {
    return at < output.size() && std::isdigit(static_cast<unsigned char>(output[at]));
  };
  for (std::size_t begin = 0; begin < output.size(); ++begin) {
    if (!is_digit(begin) || (begin > 0 && (is_digit(begin - 1) || output[begin - 1] == '.')))
      continue;
    std::size_t end = begin;
    int dots = 0;
    while (is_digit(end) || (end < output.size() && output[end] == '.' && is_digit(end + 1))) {
      dots += output[end] == '.' ? 1 : 0;
      ++end;
    }
    if (dots > 0) return std::string(output.substr(begin, end - begin));
  }
  return "";
}

Administrator administrator_in(std::string_view status) {
  constexpr int kSysAdmin = 21;  // linux/capability.h
  for (const std::string_view line : split_lines(status)) {
    constexpr std::string_view kEffective = "CapEff:";
    if (!line.starts_with(kEffective)) continue;
    const std::string digits(trim(line.substr(kEffective.size())));
    const std::uint64_t mask = std::strtoull(digits.c_str(), nullptr, 16);
    return (mask >> kSysAdmin & 1) != 0 ? Administrator::yes : Administrator::no;
  }
  return Administrator::no;
}

std::string nvidia_counter_problem(std::string_view params, Administrator administrator) {
  for (const std::string_view line : split_lines(params)) {
    constexpr std::string_view kName = "RmProfilingAdminOnly:";
    if (!line.starts_with(kName)) continue;
    if (trim(line.substr(kName.size())) == "0" || administrator == Administrator::yes) return "";
    return "NVIDIA's performance counters are for administrators only (RmProfilingAdminOnly is 1): "
           "ncu will fail with ERR_NVGPUCTRPERM. An administrator of the host can write \"options "
           "nvidia NVreg_RestrictProfilingToAdminUsers=0\" to /etc/modprobe.d/nvidia.conf and "
           "reboot, or start the container with --cap-add=SYS_ADMIN";
  }
  return "";
}

std::string amd_problem(Node kfd, HipRuntime runtime, HipDevices devices) {
  if (kfd == Node::closed) {
    return "an AMD GPU is here, but /dev/kfd may not be opened: usermod -aG render,video $USER, "
           "then log in again";
  }
  if (devices == HipDevices::some) return "";
  if (kfd == Node::open && runtime == HipRuntime::absent) {
    return "an AMD GPU is here (/dev/kfd), but not the HIP runtime: install ROCm "
           "(rocm.docs.amd.com)";
  }
  if (kfd == Node::open) {
    return "an AMD GPU is here (/dev/kfd), but HIP shows no device: the files /dev/dri/renderD* "
           "may "
           "be closed to this user (groups render and video), or HIP_VISIBLE_DEVICES or "
           "ROCR_VISIBLE_DEVICES hides it";
  }
  if (runtime == HipRuntime::installed) {
    return "the HIP runtime is installed, but there is no /dev/kfd: load the driver amdgpu, or "
           "start "
           "the container with --device=/dev/kfd --device=/dev/dri";
  }
  return "";
}

Diagnosis diagnose(ProcessRunner& runner, const fs::path& program) {
  Diagnosis diagnosis;
  diagnosis.isolation = isolation();
  diagnosis.devices = list_devices(diagnosis.problems, program);
  const steady_clock::time_point end = steady_clock::now() + kAllTools;
  for (const Wanted& wanted : wanted_tools()) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    diagnosis.tools.push_back(
        examine(wanted, runner, std::clamp(left, milliseconds(100), kOneTool)));
  }
  diagnosis.tools.push_back(examine_hip_runtime());
  for (Tool& tool : examine_clang(runner, kOneTool)) diagnosis.tools.push_back(std::move(tool));
  check_permissions(diagnosis);
  return diagnosis;
}

Json to_json(const Diagnosis& diagnosis) {
  Json devices = Json::array(), tools = Json::array();
  for (const DeviceInfo& info : diagnosis.devices) {
    devices.push_back({{"id", info.id},
                       {"name", info.name},
                       {"backend", info.backend},
                       {"vendor", info.vendor},
                       {"arch", info.arch},
                       {"platform", info.platform},
                       {"driver", info.driver},
                       {"memory", info.memory_bytes},
                       {"cache", info.cache_bytes},
                       {"compute_units", info.compute_units}});
  }
  for (const Tool& tool : diagnosis.tools) {
    Json item = {{"name", tool.name}, {"purpose", tool.purpose}, {"ok", tool.ok}};
    if (!tool.version.empty()) item["version"] = tool.version;
    if (!tool.path.empty()) item["path"] = tool.path;
    if (!tool.hint.empty()) item["hint"] = tool.hint;
    tools.push_back(std::move(item));
  }
  Json result = Json::object();
  result["devices"] = std::move(devices);
  result["tools"] = std::move(tools);
  result["problems"] = diagnosis.problems;
  result["isolation"] = diagnosis.isolation;
  return result;
}

}  // namespace burnish::device
