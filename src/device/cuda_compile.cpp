#include "device/cuda_compile.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "base/process.h"
#include "base/text.h"
#include "device/doctor_checks.h"

namespace burnish::device {
namespace {

std::vector<fs::path> toolkit_folders() {
  std::vector<fs::path> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* value = std::getenv(name)) folders.emplace_back(value);
  }
  folders.emplace_back("/usr/local/cuda");
  folders.emplace_back("/opt/cuda");
  return folders;
}

std::optional<fs::path> find_nvcc() {
  if (!find_program({"g++", "gcc", "clang++"})) return std::nullopt;  // nvcc preprocesses with it
  std::vector<fs::path> extra;
  for (const fs::path& folder : toolkit_folders()) extra.push_back(folder / "bin");
  return find_program({"nvcc"}, extra);
}

std::optional<RuntimeCompiler> open_nvrtc() {
  std::vector<fs::path> folders = {""}, libraries;
  for (const fs::path& folder : toolkit_folders()) folders.push_back(folder / "lib64");
  for (const fs::path& folder : folders) {
    for (const char* name :
         {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}) {
      libraries.push_back(folder / name);
    }
  }
  return open_runtime_compiler(libraries, "nvrtc", "CUBIN");
}

const std::optional<RuntimeCompiler>& nvrtc() {
  static const std::optional<RuntimeCompiler> api = open_nvrtc();
  return api;
}

}  // namespace

std::string cuda_target(int major, int minor) {
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

std::string cuda_compiler_identity() {
  static const std::string identity = []() -> std::string {
    if (const std::optional<fs::path> nvcc = find_nvcc()) {
      ProcessSpec spec;
      spec.argv = {nvcc->string(), "--version"};
      spec.deadline = std::chrono::seconds(5);
      const Result<ProcessResult> result = real_process_runner().run(spec);
      if (result && result->ok()) {
        // The last line names the build: "Build cuda_13.0.r13.0/compiler.36424714_0".
        const std::vector<std::string_view> lines = split_lines(result->output);
        return fmt::format("nvcc {} {}", version_in(result->output),
                           lines.empty() ? "" : lines.back());
      }
    }
    if (nvrtc()) {
      int major = 0, minor = 0;
      nvrtc()->version(&major, &minor);
      return fmt::format("nvrtc {}.{}", major, minor);
    }
    return "";
  }();
  return identity;
}

Result<GpuBuild> compile_cuda(const Source& source, const std::string& target,
                              const fs::path& folder) {
  if (const std::optional<fs::path> nvcc = find_nvcc()) {
    return compile_with_nvcc(source, target, folder, *nvcc);
  }
  return compile_with_nvrtc(source, target, folder);
}

Result<GpuBuild> compile_with_nvcc(const Source& source, const std::string& target,
                                   const fs::path& folder, const fs::path& nvcc) {
  return compile_by_program(source,
                            {nvcc.string(), "-cubin", "-arch=" + target, "-std=c++17", "-lineinfo"},
                            "input.cu", folder);
}

Result<GpuBuild> compile_with_nvrtc(const Source& source, const std::string& target,
                                    const fs::path& folder) {
  if (!nvrtc()) {
    return environment_error(
               "there is no CUDA compiler: neither nvcc (with a host compiler) nor "
               "libnvrtc was found")
        .with_hint("install the CUDA toolkit, or put libnvrtc on LD_LIBRARY_PATH");
  }
  std::vector<std::string> options = {"--gpu-architecture=" + target, "--std=c++17", "-lineinfo"};
  for (const fs::path& toolkit : toolkit_folders()) {
    if (real_file_system().exists(toolkit / "include" / "cuda_fp16.h")) {
      options.push_back("-I" + (toolkit / "include").string());
      break;
    }
  }
  return compile_at_run_time(*nvrtc(), source, std::move(options), folder);
}

std::vector<std::string> cubin_kernels(std::string_view cubin) {
  // In the section names' string table every name follows a zero byte and ends with one.
  constexpr std::string_view kText(".text.", 6);
  std::set<std::string> symbols;
  for (std::size_t at = 0; (at = cubin.find(kText, at)) != std::string_view::npos; ++at) {
    if (at == 0 || cubin[at - 1] != '\0') continue;
    const std::size_t begin = at + kText.size();
    const std::size_t end = cubin.find('\0', begin);
    if (end == std::string_view::npos || end == begin) continue;
    symbols.emplace(cubin.substr(begin, end - begin));
  }
  return {symbols.begin(), symbols.end()};
}

}  // namespace burnish::device
