#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace burnish::loop {

/// Launches of each kernel, counted from 1, both included.
struct LaunchRange {
  std::int64_t first = 1, last = 1;
};
/// "2-5" or "3". Errors: bad_input.
Result<LaunchRange> parse_launch_range(const std::string& text);

/// Which launches a run is about.
struct Selection {
  std::string kernels;  ///< ECMAScript regular expression, searched in names; empty: all
  std::optional<LaunchRange> launches;
};
/// Errors: bad_input where `kernels` is no regular expression.
Result<void> check(const Selection& selection);
/// Whether the name of a kernel is selected; `kernels` must have passed check().
bool selects(const Selection& selection, const std::string& kernel);
/// A regular expression that finds these names as whole words and nothing else.
std::string expression_of(const std::vector<std::string>& kernels);

/// AMD's profiler on this machine.
struct Rocprofv3 {
  fs::path program;
  std::optional<fs::path> decoder;  ///< the folder that holds librocprof-trace-decoder.so
};
/// On the PATH, in $ROCM_PATH/bin or /opt/rocm*/bin.
std::optional<Rocprofv3> find_rocprofv3();
/// The folder with the trace decoder: where $ROCPROF_ATT_LIBRARY_PATH and $LD_LIBRARY_PATH say, in
/// $ROCM_PATH/lib, beside rocprofv3 (empty: it is not here), or in /opt/rocm*/lib.
std::optional<fs::path> find_trace_decoder(const fs::path& rocprofv3);
/// What to do about what is missing.
extern const char* const kInstallRocprofv3;
extern const char* const kInstallDecoder;
/// Hangs after which no further run is tried.
constexpr int kMostHangs = 2;
/// "gfx942" as the driver tells it, empty without an AMD GPU.
std::string arch_of_kfd();

/// One run of the program under rocprofv3. Each set of counters is a run of its own: then a run
/// that fails or hangs costs itself only, the program keeps its standard input and output, and
/// every version since ROCm 6.2 takes the same command line.
struct RocprofRun {
  enum class Collect { times, counters, trace };
  std::string name;  ///< for people: "counters, pass 2 of 4"
  Collect collect = Collect::times;
  std::vector<std::string> counters;
  fs::path folder;  ///< it writes here; the readers take "pass_2" for the pass
  Selection selection;
};
/// The command line up to and with "--"; the program and its arguments follow.
std::vector<std::string> command_of(const Rocprofv3& tool, const RocprofRun& run);
/// The passes of an architecture, each a run in `folder`/pass_N. Errors: see plan_counter_passes().
Result<std::vector<RocprofRun>> counter_runs(const std::string& arch, const fs::path& folder,
                                             const Selection& selection);

/// How a run went. Only one that is `good` left numbers to use.
struct RunReport {
  std::string name;
  std::vector<std::string> command, counters;
  fs::path folder;
  bool good = false;
  bool timed_out = false;
  std::string why;                 ///< it is not good, with the tool's last lines; empty when it is
  std::string hint;                ///< what to do
  std::vector<std::string> notes;  ///< what is missing although it is good
};
/// Judges a run that has ended by what it left: its files must hold what was asked for. `failure`
/// is how it ended when that was not well ("exited with 1"), `log` what it and the program printed.
RunReport judge_run(const RocprofRun& run, const std::string& failure, const std::string& log);

/// Moves what a run that is not good left into `failed`: the readers look at pmc/ and att/ as a
/// whole. Returns where it lies; what cannot be moved is removed.
Result<fs::path> set_aside(const fs::path& run, const fs::path& failed, FileSystem& files);

/// The last lines of a log that say something: no stack trace, no more than `most`.
std::vector<std::string> last_words(const std::string& log, std::size_t most = 3);
/// What to do about a failure, by what was printed; empty when that says nothing known.
std::string remedy(const std::string& log);

}  // namespace burnish::loop
