#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/metric.h"

namespace burnish::profile {

struct Launch {
  std::optional<std::array<std::int64_t, 3>> grid;   ///< in blocks
  std::optional<std::array<std::int64_t, 3>> block;  ///< in threads
  std::optional<std::int64_t> shared_bytes;          ///< static and dynamic
};

struct DeviceFacts {
  std::string name;
  std::string arch;  ///< "sm_90", "gfx942"; empty when the artefact does not say
};

/// What the vendor's own rule said of a launch.
struct VendorRule {
  std::string id;
  std::string kind;     ///< "optimization", "warning", "info", "error", "ok"
  std::string message;  ///< markup removed
  std::optional<double> speedup_pct;
  bool speedup_global = false;
};

/// Values of one metric by instruction or by instance. An address is the offset in bytes from the
/// kernel's first instruction, as disassemblers print it.
struct InstanceValues {
  std::string metric;
  std::vector<std::pair<std::uint64_t, double>> by_address;
  std::vector<std::pair<std::string, double>> by_name;
};

/// The source line of the instructions from `address` on, up to the next entry.
struct CodeLine {
  std::uint64_t address = 0;
  std::string file;
  int line = 0;
};

/// One launch of one kernel.
struct KernelProfile {
  std::string name;
  std::string symbol;  ///< mangled, as in the code object; empty when the artefact does not say
  std::string id;      ///< what tells this launch from others in the artefact: "0", "dispatch 3"
  Launch launch;
  DeviceFacts device;
  MetricSet metrics;  ///< normalised where a name means exactly this, raw names otherwise
  std::vector<VendorRule> vendor_rules;
  std::vector<InstanceValues> instances;
  std::vector<CodeLine> lines;  ///< by address; empty without line information
  /// Statements about numbers that cannot be right ("counters and timestamps come from different
  /// passes"); what they concern is not in `metrics`.
  std::vector<std::string> implausible;
  /// Normalised metrics that the artefact could have held and does not, with the reason.
  std::map<std::string, std::string> not_measured;
};

struct Artefact {
  fs::path file;
  std::string kind;  ///< "ncu-rep", "ncu-csv-raw", "rocprofv3-counters", …
  std::string tool;
  std::string version;
  std::string hash;
};

/// A code object found inside an artefact.
struct EmbeddedCode {
  std::string name;
  std::string bytes;
};

struct Reading {
  std::vector<Artefact> artefacts;
  std::vector<KernelProfile> kernels;
  std::vector<EmbeddedCode> code;
  std::vector<std::string> warnings;
  std::map<std::string, std::string> session;  ///< clock control, driver, command line, …
};

/// Reads any profiler artefact: a file, or a folder that a profiler left. What it is is told by
/// content, not by name. Errors are located (path:line:column, or path and byte offset in the
/// message) and say what was expected; nothing partial is returned.
Result<Reading> read_profile(const fs::path& path);

/// What is wrong with a file that is no profile, where that can be said: text in UTF-16, or what a
/// profiler printed when it failed.
std::optional<Error> known_trouble(std::string_view bytes, const fs::path& name);

/// Whether the path is something read_profile() reads.
bool recognises_profile(const fs::path& path);

/// read_profile() of one file's content; `name` stands for the file in errors and pointers.
Result<Reading> read_bytes(std::string_view bytes, const fs::path& name);

}  // namespace burnish::profile
