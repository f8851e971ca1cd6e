#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace burnish::profile::nvidia {

/// What is where in a `.ncu-rep`. Views point into the bytes.
///
/// Layout (extras/FileFormat/*.proto of Nsight Compute; container version 7 from 2020.3 to 2025.3):
/// "NVR\0", u32 size, FileHeader; then blocks until the end: u32 size, BlockHeader, payload. The
/// payload holds, each with its u32 size before it, NumSources SourceData, NumResults
/// ProfileResult, then range, command-list and graph results. String tables append over blocks;
/// session facts come in pieces, some of them behind the results.
struct Container {
  enum class Kind { kernel, range, command_list, graph };
  struct Entry {
    Kind kind;
    std::string_view bytes;
    std::string process;  ///< "name (pid 661)"; empty when not said
  };
  std::vector<std::string_view> strings;
  std::vector<std::string_view> sources;
  std::vector<Entry> results;
  std::map<std::string, std::string> session;
  std::string tool_version;  ///< "2025.3.1.0"
  std::vector<std::string> warnings;
};

/// Errors: bad_input with the byte offset in the message.
Result<Container> open_container(std::string_view bytes, const std::string& file);

/// The error for bytes that are not what the format demands at `position`, inside `bytes`.
Error broken(const std::string& file, std::string_view bytes, const char* position,
             const std::string& what);

}  // namespace burnish::profile::nvidia
