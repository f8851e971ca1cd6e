#include "device/cuda_compile.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>

#include "base/process.h"
#include "base/text.h"
#include "device/build_log.h"
#include "device/doctor_checks.h"

namespace burnish::device {
namespace {

using std::chrono::steady_clock;

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

/// NVRTC as far as it is used here (nvrtc.h, CUDA 11.1 and newer).
struct Nvrtc {
  using Program = struct ProgramTag*;
  using Status = int;
  fs::path path;
  Status (*version)(int* major, int* minor);
  const char* (*error_string)(Status);
  Status (*create)(Program*, const char* text, const char* name, int headers, const char* const*,
                   const char* const*);
  Status (*compile)(Program, int count, const char* const* options);
  Status (*log_size)(Program, std::size_t*);
  Status (*log)(Program, char*);
  Status (*cubin_size)(Program, std::size_t*);
  Status (*cubin)(Program, char*);
  Status (*destroy)(Program*);
};

template <class T>
bool load(void* library, const char* name, T& function) {
  function = reinterpret_cast<T>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<Nvrtc> open_nvrtc() {
  std::vector<fs::path> folders = {""};
  for (const fs::path& folder : toolkit_folders()) folders.push_back(folder / "lib64");
  for (const fs::path& folder : folders) {
    for (const char* name :
         {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}) {
      const fs::path path = folder / name;
      void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      Nvrtc api{};
      api.path = path;
      if (load(library, "nvrtcVersion", api.version) &&
          load(library, "nvrtcGetErrorString", api.error_string) &&
          load(library, "nvrtcCreateProgram", api.create) &&
          load(library, "nvrtcCompileProgram", api.compile) &&
          load(library, "nvrtcGetProgramLogSize", api.log_size) &&
          load(library, "nvrtcGetProgramLog", api.log) &&
          load(library, "nvrtcGetCUBINSize", api.cubin_size) &&
          load(library, "nvrtcGetCUBIN", api.cubin) &&
          load(library, "nvrtcDestroyProgram", api.destroy)) {
        return api;
      }
    }
  }
  return std::nullopt;
}

const std::optional<Nvrtc>& nvrtc() {
  static const std::optional<Nvrtc> api = open_nvrtc();
  return api;
}

void finish(CudaBuild& build, const Source& source, const fs::path& folder, std::string log,
            steady_clock::time_point start) {
  log = replace_all(to_valid_utf8(trim(log)), (folder / "input.cu").string(), source.file);
  build.outcome.log = with_source_names(std::move(log), source, folder / "include");
  build.outcome.diagnostics = parse_diagnostics(build.outcome.log, source);
  build.outcome.seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : symbol;
  std::free(text);
  return result;
}

/// "void ns::scale<float>(float*, int)" → "ns::scale<float>".
std::string function_name(const std::string& symbol) {
  std::string text = demangled(symbol);
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>') --depth;
    if (depth == 0 && text[i] == ' ') begin = i + 1;
    if (depth == 0 && text[i] == '(' && !text.substr(i).starts_with("(anonymous")) {
      return text.substr(begin, i - begin);
    }
  }
  return text;
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

Result<CudaBuild> compile_cuda(const Source& source, const std::string& target,
                               const fs::path& folder) {
  if (const std::optional<fs::path> nvcc = find_nvcc()) {
    return compile_with_nvcc(source, target, folder, *nvcc);
  }
  return compile_with_nvrtc(source, target, folder);
}

Result<CudaBuild> compile_with_nvcc(const Source& source, const std::string& target,
                                    const fs::path& folder, const fs::path& nvcc) {
  const steady_clock::time_point start = steady_clock::now();
  BURNISH_TRY_ASSIGN(const std::string text, compiler_input(source));
  BURNISH_TRY(write_includes(source, folder / "include"));
  FileSystem& files = real_file_system();
  BURNISH_TRY(files.write(folder / "input.cu", text));
  const fs::path output = folder / "output.cubin";
  BURNISH_TRY(files.remove_all(output));
  ProcessSpec spec;
  spec.argv = {nvcc.string(),
               "-cubin",
               "-arch=" + target,
               "-std=c++17",
               "-lineinfo",
               "-I",
               (folder / "include").string()};
  spec.argv.insert(spec.argv.end(), source.options.begin(), source.options.end());
  spec.argv.insert(spec.argv.end(), {"-o", output.string(), (folder / "input.cu").string()});
  spec.folder = folder;
  spec.deadline = std::chrono::hours(1);  // the judge's deadline ends this process before
  BURNISH_TRY_ASSIGN(const ProcessResult result, real_process_runner().run(spec));
  CudaBuild build;
  build.outcome.built = result.ok() && files.exists(output);
  if (build.outcome.built) {
    BURNISH_TRY_ASSIGN(build.cubin, files.read(output));
  }
  std::string log = result.errors + result.output;
  if (!build.outcome.built && trim(log).empty()) log = "nvcc " + result.describe();
  finish(build, source, folder, std::move(log), start);
  return build;
}

Result<CudaBuild> compile_with_nvrtc(const Source& source, const std::string& target,
                                     const fs::path& folder) {
  if (!nvrtc()) {
    return environment_error(
               "there is no CUDA compiler: neither nvcc (with a host compiler) nor "
               "libnvrtc was found")
        .with_hint("install the CUDA toolkit, or put libnvrtc on LD_LIBRARY_PATH");
  }
  const Nvrtc& api = *nvrtc();
  const steady_clock::time_point start = steady_clock::now();
  BURNISH_TRY_ASSIGN(const std::string text, compiler_input(source));
  BURNISH_TRY(write_includes(source, folder / "include"));
  std::vector<std::string> options = {"--gpu-architecture=" + target, "--std=c++17", "-lineinfo",
                                      "-I" + (folder / "include").string()};
  for (const fs::path& toolkit : toolkit_folders()) {
    if (real_file_system().exists(toolkit / "include" / "cuda_fp16.h")) {
      options.push_back("-I" + (toolkit / "include").string());
      break;
    }
  }
  options.insert(options.end(), source.options.begin(), source.options.end());
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());

  Nvrtc::Program program = nullptr;
  Nvrtc::Status status =
      api.create(&program, text.c_str(), source.file.c_str(), 0, nullptr, nullptr);
  if (status != 0) {
    return environment_error(fmt::format("NVRTC cannot start: {}", api.error_string(status)));
  }
  status = api.compile(program, static_cast<int>(pointers.size()), pointers.data());
  CudaBuild build;
  std::size_t size = 0;
  std::string log;
  if (api.log_size(program, &size) == 0 && size > 0) {
    log.resize(size);
    api.log(program, log.data());
    log = log.c_str();
  }
  if (status == 0 && api.cubin_size(program, &size) == 0 && size > 0) {
    build.cubin.resize(size);
    build.outcome.built = api.cubin(program, build.cubin.data()) == 0;
  }
  api.destroy(&program);
  if (!build.outcome.built && trim(log).empty()) log = api.error_string(status);
  finish(build, source, folder, std::move(log), start);
  return build;
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

Result<std::string> kernel_symbol(std::string_view cubin, const std::string& name) {
  const std::vector<std::string> symbols = cubin_kernels(cubin);
  std::vector<std::string> fitting, names;
  for (const std::string& symbol : symbols) {
    if (symbol == name) return symbol;
    const std::string function = function_name(symbol);
    names.push_back(function);
    const std::string_view plain = std::string_view(function).substr(0, function.find('<'));
    if (function == name || plain == name) fitting.push_back(symbol);
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) {
    return refused(fmt::format("the source has no kernel \"{}\"", name))
        .with_hint(names.empty() ? "it has no kernel at all" : "it has: " + join(names, ", "));
  }
  for (std::string& symbol : fitting) symbol = function_name(symbol);
  return refused(fmt::format("\"{}\" may be any of several kernels", name))
      .with_hint("say which: " + join(fitting, ", "));
}

}  // namespace burnish::device
