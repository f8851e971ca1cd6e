#include "device/gpu_compile.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>

#include "base/process.h"
#include "base/text.h"
#include "device/build_log.h"
#include "isa/demangle.h"

namespace burnish::device {
namespace {

using std::chrono::steady_clock;

/// `input` is the temporary file that the compiler read, empty when there was none.
void finish(GpuBuild& build, const Source& source, const fs::path& input, const fs::path& folder,
            std::string log, steady_clock::time_point start) {
  log = to_valid_utf8(trim(log));
  if (!input.empty()) log = replace_all(std::move(log), input.string(), source.file);
  build.outcome.log = with_source_names(std::move(log), source, folder / "include");
  build.outcome.diagnostics = parse_diagnostics(build.outcome.log, source);
  build.outcome.seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
}

/// "void ns::scale<float>(float*, int)" → "ns::scale<float>".
std::string function_name(const std::string& symbol) {
  std::string text = isa::demangled(symbol);
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

Result<GpuBuild> compile_by_program(const Source& source, std::vector<std::string> command,
                                    std::string_view input, const fs::path& folder) {
  const steady_clock::time_point start = steady_clock::now();
  BURNISH_TRY_ASSIGN(const std::string text, compiler_input(source));
  BURNISH_TRY(write_includes(source, folder / "include"));
  FileSystem& files = real_file_system();
  const fs::path file = folder / input;
  BURNISH_TRY(files.write(file, text));
  const fs::path output = folder / "output.bin";
  BURNISH_TRY(files.remove_all(output));
  ProcessSpec spec;
  spec.argv = std::move(command);
  spec.argv.insert(spec.argv.end(), {"-I", (folder / "include").string()});
  spec.argv.insert(spec.argv.end(), source.options.begin(), source.options.end());
  spec.argv.insert(spec.argv.end(), {"-o", output.string(), file.string()});
  spec.folder = folder;
  spec.deadline = std::chrono::hours(1);  // the judge's deadline ends this process before
  BURNISH_TRY_ASSIGN(const ProcessResult result, real_process_runner().run(spec));
  GpuBuild build;
  build.outcome.built = result.ok() && files.exists(output);
  if (build.outcome.built) {
    BURNISH_TRY_ASSIGN(build.code, files.read(output));
  }
  std::string log = result.errors + result.output;
  if (!build.outcome.built && trim(log).empty()) {
    log = fs::path(spec.argv.front()).filename().string() + " " + result.describe();
  }
  finish(build, source, file, folder, std::move(log), start);
  return build;
}

std::optional<RuntimeCompiler> open_runtime_compiler(const std::vector<fs::path>& libraries,
                                                     const std::string& prefix,
                                                     const std::string& code) {
  for (const fs::path& path : libraries) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    RuntimeCompiler api{};
    const auto find = [&](const std::string& name, auto& function) {
      return load(library, (prefix + name).c_str(), function);
    };
    if (find("Version", api.version) && find("GetErrorString", api.error_string) &&
        find("CreateProgram", api.create) && find("CompileProgram", api.compile) &&
        find("GetProgramLogSize", api.log_size) && find("GetProgramLog", api.log) &&
        find("Get" + code + "Size", api.code_size) && find("Get" + code, api.code) &&
        find("DestroyProgram", api.destroy)) {
      return api;
    }
  }
  return std::nullopt;
}

Result<GpuBuild> compile_at_run_time(const RuntimeCompiler& api, const Source& source,
                                     std::vector<std::string> options, const fs::path& folder) {
  const steady_clock::time_point start = steady_clock::now();
  BURNISH_TRY_ASSIGN(const std::string text, compiler_input(source));
  BURNISH_TRY(write_includes(source, folder / "include"));
  options.insert(options.begin(), "-I" + (folder / "include").string());
  options.insert(options.end(), source.options.begin(), source.options.end());
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());

  RuntimeCompiler::Program program = nullptr;
  RuntimeCompiler::Status status =
      api.create(&program, text.c_str(), source.file.c_str(), 0, nullptr, nullptr);
  if (status != 0) {
    return environment_error(
        fmt::format("the run-time compiler cannot start: {}", api.error_string(status)));
  }
  status = api.compile(program, static_cast<int>(pointers.size()), pointers.data());
  GpuBuild build;
  std::size_t size = 0;
  std::string log;
  if (api.log_size(program, &size) == 0 && size > 0) {
    log.resize(size);
    api.log(program, log.data());
    log = log.c_str();
  }
  if (status == 0 && api.code_size(program, &size) == 0 && size > 0) {
    build.code.resize(size);
    build.outcome.built = api.code(program, build.code.data()) == 0;
  }
  api.destroy(&program);
  if (!build.outcome.built && trim(log).empty()) log = api.error_string(status);
  finish(build, source, {}, folder, std::move(log), start);
  return build;
}

Result<std::string> kernel_symbol(const std::vector<std::string>& symbols,
                                  const std::string& name) {
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
