#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/gpu_executor.h"

namespace burnish::device {

/// Compiles with a program: `command`, then the source's options and files. `input` is the name of
/// the temporary file, whose ending tells the language. `folder` takes the intermediate files.
Result<GpuBuild> compile_by_program(const Source& source, std::vector<std::string> command,
                                    std::string_view input, const fs::path& folder);

/// NVRTC (nvrtc.h, CUDA 11.1 and newer), or hiprtc, which mirrors it call by call.
struct RuntimeCompiler {
  using Program = struct ProgramTag*;
  using Status = int;
  Status (*version)(int* major, int* minor);
  const char* (*error_string)(Status);
  Status (*create)(Program*, const char* text, const char* name, int headers, const char* const*,
                   const char* const*);
  Status (*compile)(Program, int count, const char* const* options);
  Status (*log_size)(Program, std::size_t*);
  Status (*log)(Program, char*);
  Status (*code_size)(Program, std::size_t*);
  Status (*code)(Program, char*);
  Status (*destroy)(Program*);
};

/// The first of `libraries` that opens and has every function; `prefix` is "nvrtc" or "hiprtc", and
/// `code` what it calls its product: "CUBIN", "Code".
std::optional<RuntimeCompiler> open_runtime_compiler(const std::vector<fs::path>& libraries,
                                                     const std::string& prefix,
                                                     const std::string& code);

/// The source's options follow `options`. Errors: environment when the compiler cannot start.
Result<GpuBuild> compile_at_run_time(const RuntimeCompiler& compiler, const Source& source,
                                     std::vector<std::string> options, const fs::path& folder);

/// The symbol that a kernel's name in a launch spec means: the symbol itself, or the one of
/// `symbols` that demangles to a function of this name. Errors: refused, listing what there is.
Result<std::string> kernel_symbol(const std::vector<std::string>& symbols, const std::string& name);

}  // namespace burnish::device
