#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace burnish::device {

/// The text that is handed to the compiler: the macros, then the source under its own name, so that
/// positions in the log are the user's. Errors: bad_input for a macro whose name is no identifier.
Result<std::string> compiler_input(const Source& source);

/// Writes the files of `Source::also` below `folder`. Errors: bad_input for a name that leads out.
Result<void> write_includes(const Source& source, const fs::path& folder);

/// The log with the names of temporary files replaced by the user's.
std::string with_source_names(std::string log, const Source& source,
                              const fs::path& include_folder);

/// The diagnostics of clang (also as PoCL turns them round), gcc, nvcc, NVRTC and ptxas.
std::vector<Diagnostic> parse_diagnostics(std::string_view log, const Source& source);

/// What a failed build amounts to: the first error at its place, the log's start as context.
Error build_error(const Source& source, const BuildReport& report);

}  // namespace burnish::device
