#include "device/hip_compile.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/data.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"
#include "device/doctor_checks.h"
#include "isa/amd_object.h"

namespace burnish::device {
namespace {

constexpr char kInstall[] =
    "install ROCm (rocm.docs.amd.com), or apt-get install clang-22 lld-22, which compile without "
    "it";
constexpr std::string_view kHeaders = "hip/include/";

std::vector<fs::path> rocm_folders() {
  std::vector<fs::path> folders;
  if (const char* value = std::getenv("ROCM_PATH")) folders.emplace_back(value);
  folders.emplace_back("/opt/rocm");
  return folders;
}

std::optional<fs::path> find_hipcc() {
  std::vector<fs::path> extra;
  for (const fs::path& folder : rocm_folders()) extra.push_back(folder / "bin");
  return find_program({"hipcc"}, extra);
}

const std::optional<RuntimeCompiler>& hiprtc() {
  static const std::optional<RuntimeCompiler> api = [] {
    std::vector<fs::path> libraries = rocm_libraries("libhiprtc.so", {".7", ".6", ".5", ""});
    // Before ROCm 5.5 it was a part of the runtime.
    for (fs::path& path : rocm_libraries("libamdhip64.so", {".7", ".6", ".5", ""})) {
      libraries.push_back(std::move(path));
    }
    return open_runtime_compiler(libraries, "hiprtc", "Code");
  }();
  return api;
}

/// What `program --version` prints, its first two lines as one.
std::string version_text(const fs::path& program) {
  ProcessSpec spec;
  spec.argv = {program.string(), "--version"};
  spec.deadline = std::chrono::seconds(10);
  const Result<ProcessResult> result = real_process_runner().run(spec);
  if (!result || !result->ok()) return "";
  const std::vector<std::string_view> lines = split_lines(result->output);
  std::string text(lines.empty() ? "" : trim(lines[0]));
  if (lines.size() > 1) text += ", " + std::string(trim(lines[1]));
  return text;
}

std::string headers_hash() {
  const Result<std::vector<DataFile>> headers = data_files(kHeaders);
  if (!headers) return "";
  Hasher hasher;
  for (const DataFile& header : *headers) hasher.add(header.name, header.content);
  return hasher.digest();
}

Result<void> write_headers(const fs::path& folder) {
  BURNISH_TRY_ASSIGN(const std::vector<DataFile> headers, data_files(kHeaders));
  for (const DataFile& header : headers) {
    const fs::path path = folder / header.name.substr(kHeaders.size());
    BURNISH_TRY(real_file_system().make_folder(path.parent_path()));
    BURNISH_TRY(real_file_system().write(path, header.content));
  }
  return {};
}

/// Some versions of hipcc and hiprtc wrap the code object up, whatever they are told.
Result<GpuBuild> unwrapped(Result<GpuBuild> build, const Source& source) {
  if (!build || !build->outcome.built) return build;
  std::size_t size = 0;
  if (build->code.starts_with(isa::amd::kCompressedBundleMagic)) {
    BURNISH_TRY_ASSIGN(build->code, isa::amd::inflate_bundle(build->code, source.file, size));
  }
  if (!build->code.starts_with(isa::amd::kBundleMagic)) return build;
  BURNISH_TRY_ASSIGN(const isa::amd::Bundle bundle,
                     isa::amd::read_bundle(build->code, source.file));
  if (bundle.entries.size() != 1) {
    return environment_error(fmt::format("the compiler made {} code objects for one architecture",
                                         bundle.entries.size()));
  }
  std::string code(bundle.entries.front().bytes);
  build->code = std::move(code);
  return build;
}

/// A compiler that does not know the architecture is no fault of the source.
Result<GpuBuild> knowing(Result<GpuBuild> build, const std::string& arch, const std::string& who) {
  if (!build || build->outcome.built) return build;
  const std::string& log = build->outcome.log;
  for (const char* sign : {"invalid target ID", "unsupported HIP gpu architecture",
                           "unsupported CUDA gpu architecture", "is not a valid target"}) {
    if (!contains(log, sign)) continue;
    return environment_error(fmt::format("{} does not know {}", who, arch))
        .with_hint("install a newer one: " + std::string(kInstall));
  }
  return build;
}

std::vector<std::string> common_options(const std::string& arch) {
  return {"--no-gpu-bundle-output", "-O3", "-std=c++17", "--offload-arch=" + arch};
}

}  // namespace

std::vector<fs::path> rocm_libraries(const std::string& name,
                                     std::initializer_list<const char*> versions) {
  std::vector<fs::path> folders = {""}, libraries;
  for (const fs::path& folder : rocm_folders()) folders.push_back(folder / "lib");
  for (const fs::path& folder : folders) {
    for (const char* version : versions) libraries.push_back(folder / (name + version));
  }
  return libraries;
}

std::string clang_trouble(const fs::path& clang) {
  std::error_code error;
  const fs::path real = fs::canonical(clang, error);
  // One of another version, elsewhere on PATH, does not understand what this clang says to it.
  if (!error && find_program({(real.parent_path() / "ld.lld").string()})) return "";
  return fmt::format("{} has no ld.lld beside it to link code objects with",
                     clang.filename().string());
}

std::string hip_compiler_identity() {
  static const std::string identity = []() -> std::string {
    if (const std::optional<fs::path> hipcc = find_hipcc()) return "hipcc " + version_text(*hipcc);
    if (const std::optional<fs::path> clang = find_newest_program("clang")) {
      if (clang_trouble(*clang).empty()) {
        return fmt::format("{}, burnish's HIP headers {}", version_text(*clang), headers_hash());
      }
    }
    if (hiprtc()) {
      int major = 0, minor = 0;
      hiprtc()->version(&major, &minor);
      return fmt::format("hiprtc {}.{}", major, minor);
    }
    return "";
  }();
  return identity;
}

Result<GpuBuild> compile_hip(const Source& source, const std::string& arch,
                             const fs::path& folder) {
  if (const std::optional<fs::path> hipcc = find_hipcc()) {
    return compile_with_hipcc(source, arch, folder, *hipcc);
  }
  std::string trouble = "neither hipcc nor clang was found";
  if (const std::optional<fs::path> clang = find_newest_program("clang")) {
    trouble = clang_trouble(*clang);
    if (trouble.empty()) return compile_with_clang(source, arch, folder, *clang);
  }
  if (hiprtc()) return compile_with_hiprtc(source, arch, folder);
  return environment_error("there is no HIP compiler: " + trouble + ", nor libhiprtc")
      .with_hint(kInstall);
}

Result<GpuBuild> compile_with_hipcc(const Source& source, const std::string& arch,
                                    const fs::path& folder, const fs::path& hipcc) {
  // Without --genco hipcc 5 links for the host as well.
  std::vector<std::string> command = {hipcc.string(), "--genco"};
  for (std::string& option : common_options(arch)) command.push_back(std::move(option));
  return knowing(
      unwrapped(compile_by_program(source, std::move(command), "input.hip", folder), source), arch,
      "hipcc");
}

Result<GpuBuild> compile_with_clang(const Source& source, const std::string& arch,
                                    const fs::path& folder, const fs::path& clang) {
  const fs::path headers = folder / "rocm";
  BURNISH_TRY(write_headers(headers));
  std::vector<std::string> command = {clang.string(), "-x",        "hip",      "--cuda-device-only",
                                      "-nogpuinc",    "-nogpulib", "-isystem", headers.string()};
  for (std::string& option : common_options(arch)) command.push_back(std::move(option));
  BURNISH_TRY_ASSIGN(
      GpuBuild build,
      knowing(
          unwrapped(compile_by_program(source, std::move(command), "input.hip", folder), source),
          arch, clang.filename().string()));
  build.outcome.log = replace_all(std::move(build.outcome.log), headers.string() + "/", "");
  for (Diagnostic& diagnostic : build.outcome.diagnostics) {
    diagnostic.place.file =
        replace_all(std::move(diagnostic.place.file), headers.string() + "/", "");
  }
  return build;
}

Result<GpuBuild> compile_with_hiprtc(const Source& source, const std::string& arch,
                                     const fs::path& folder) {
  if (!hiprtc()) {
    return environment_error("libhiprtc was not found").with_hint(kInstall);
  }
  // What hip_runtime.h declares is built in, and the file itself need not be anywhere.
  const fs::path headers = folder / "hiprtc";
  BURNISH_TRY(real_file_system().make_folder(headers / "hip"));
  BURNISH_TRY(real_file_system().write(headers / "hip" / "hip_runtime.h", ""));
  std::vector<std::string> options = {"-I" + headers.string()};
  for (const fs::path& rocm : rocm_folders()) {
    if (real_file_system().exists(rocm / "include" / "hip")) {
      options.push_back("-I" + (rocm / "include").string());
    }
  }
  options.insert(options.end(), {"--offload-arch=" + arch, "-O3", "-std=c++17"});
  return knowing(
      unwrapped(compile_at_run_time(*hiprtc(), source, std::move(options), folder), source), arch,
      "hiprtc");
}

}  // namespace burnish::device
