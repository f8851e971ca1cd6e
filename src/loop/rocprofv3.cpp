// How AMD's rocprofv3 is driven. Its options: ROCm/rocm-systems,
// projects/rocprofiler-sdk/source/bin/rocprofv3.py and docs/how-to.

#include "loop/rocprofv3.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "base/process.h"
#include "base/text.h"
#include "profile/amd_model.h"
#include "profile/counter_passes.h"
#include "profile/profile.h"

namespace burnish::loop {

const char* const kInstallRocprofv3 =
    "install ROCm's rocprofiler-sdk (it puts rocprofv3 into /opt/rocm/bin), or set ROCM_PATH to "
    "where it is";
const char* const kInstallDecoder =
    "install rocprof-trace-decoder (github.com/ROCm/rocprof-trace-decoder/releases; ROCm brings it "
    "along from 7.12 on) into $ROCM_PATH/lib, or set ROCPROF_ATT_LIBRARY_PATH to the folder of "
    "librocprof-trace-decoder.so";

namespace {

constexpr const char* kJoinGroups =
    "your user may not use the GPU (/dev/kfd): add it to the groups render and video";
constexpr std::string_view kDecoder = "librocprof-trace-decoder.so";
constexpr std::size_t kLongestWord = 300;

/// /opt/rocm, then /opt/rocm-7.1.0 and its like, the newest name first.
std::vector<fs::path> rocm_folders() {
  std::vector<fs::path> folders;
  if (const char* path = std::getenv("ROCM_PATH"); path != nullptr && *path != '\0')
    folders.emplace_back(path);
  std::vector<std::string> names = real_file_system().list("/opt");
  std::reverse(names.begin(), names.end());
  folders.emplace_back("/opt/rocm");
  for (const std::string& name : names)
    if (name.starts_with("rocm-")) folders.push_back(fs::path("/opt") / name);
  return folders;
}

std::vector<fs::path> folders_in(const char* variable) {
  std::vector<fs::path> folders;
  const char* list = std::getenv(variable);
  if (list == nullptr) return folders;
  for (const std::string_view folder : split(list, ':'))
    if (!folder.empty()) folders.emplace_back(folder);
  return folders;
}

std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string range_text(const LaunchRange& range) {
  return range.first == range.last ? fmt::format("[{}]", range.first)
                                   : fmt::format("[{}-{}]", range.first, range.last);
}

/// The counters that no table of the folder names.
std::vector<std::string> uncounted(const RocprofRun& run) {
  std::vector<std::string> missing = run.counters;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(run.folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (at->path().extension() != ".csv") continue;
    const auto file = MappedFile::open(at->path());
    if (!file) continue;
    std::erase_if(missing, [&](const std::string& counter) {
      return contains(file->bytes(), "\"" + counter + "\"");
    });
  }
  return missing;
}

std::string sentence(const std::string& first, const std::vector<std::string>& lines) {
  return lines.empty() ? first : first + ": " + join(lines, " | ");
}

}  // namespace

std::optional<fs::path> find_trace_decoder(const fs::path& rocprofv3) {
  std::vector<fs::path> folders = folders_in("ROCPROF_ATT_LIBRARY_PATH");
  for (auto& folder : folders_in("LD_LIBRARY_PATH")) folders.push_back(std::move(folder));
  std::error_code ignored;
  const fs::path real = fs::canonical(rocprofv3, ignored);
  if (!ignored) folders.push_back(real.parent_path().parent_path() / "lib");
  for (const auto& folder : rocm_folders()) folders.push_back(folder / "lib");
  for (const auto& folder : folders)
    for (const auto& name : real_file_system().list(folder))
      if (name.starts_with(kDecoder)) return folder;
  return std::nullopt;
}

Result<LaunchRange> parse_launch_range(const std::string& text) {
  const auto dash = text.find('-');
  const auto first = parse_integer(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse_integer(text.substr(dash + 1));
  if (!first || !last) {
    return bad_input("\"" + text + "\" is no range of launches")
        .with_hint("write 2-5, or 3 for one launch; launches of a kernel are counted from 1");
  }
  if (*first < 1)
    return bad_input("launches are counted from 1, and the range \"" + text + "\" starts below");
  if (*last < *first) {
    return bad_input(fmt::format("the range \"{}\" ends before it starts", text))
        .with_hint(fmt::format("write {}-{}", *last, *first));
  }
  return LaunchRange{*first, *last};
}

Result<void> check(const Selection& selection) {
  try {
    static_cast<void>(std::regex(selection.kernels));
  } catch (const std::regex_error& error) {
    return bad_input(
               fmt::format("\"{}\" is no regular expression: {}", selection.kernels, error.what()))
        .with_hint("in names such as copy<float>(float*) write \\( \\) \\* for ( ) *");
  }
  return {};
}

bool selects(const Selection& selection, const std::string& kernel) {
  return selection.kernels.empty() || std::regex_search(kernel, std::regex(selection.kernels));
}

std::string expression_of(const std::vector<std::string>& kernels) {
  std::vector<std::string> names;
  for (const auto& kernel : kernels) names.push_back(escaped(kernel));
  // The tool writes "void copy<float>(float*)" where the kernel is "copy<float>".
  return "(^|[^A-Za-z0-9_])(" + join(names, "|") + ")([^A-Za-z0-9_]|$)";
}

std::optional<Rocprofv3> find_rocprofv3() {
  std::vector<fs::path> folders;
  for (const auto& folder : rocm_folders()) folders.push_back(folder / "bin");
  const auto program = find_program({"rocprofv3"}, folders);
  if (!program) return std::nullopt;
  return Rocprofv3{*program, find_trace_decoder(*program)};
}

std::string arch_of_kfd() {
  const fs::path nodes = "/sys/class/kfd/kfd/topology/nodes";
  for (const auto& node : real_file_system().list(nodes)) {
    const auto text = real_file_system().read(nodes / node / "properties");
    if (!text) continue;
    for (const auto line : split_lines(*text)) {
      constexpr std::string_view kVersion = "gfx_target_version ";
      if (!line.starts_with(kVersion)) continue;
      const auto version = parse_integer(line.substr(kVersion.size()));
      if (version && *version > 0) return profile::amd::arch_of_version(*version);
    }
  }
  return {};
}

std::vector<std::string> command_of(const Rocprofv3& tool, const RocprofRun& run) {
  std::vector<std::string> command = {tool.program.string()};
  const auto add = [&](std::initializer_list<std::string> words) {
    command.insert(command.end(), words);
  };
  switch (run.collect) {
    case RocprofRun::Collect::times:
      add({"--kernel-trace"});
      break;
    case RocprofRun::Collect::counters:
      add({"--pmc"});
      command.insert(command.end(), run.counters.begin(), run.counters.end());
      break;
    case RocprofRun::Collect::trace:
      add({"--att"});
      if (tool.decoder) add({"--att-library-path", tool.decoder->string()});
      break;
  }
  // Filters are of counters and traces only. With "=", since an expression may begin with "-".
  if (run.collect != RocprofRun::Collect::times) {
    if (!run.selection.kernels.empty()) add({"--kernel-include-regex=" + run.selection.kernels});
    if (run.selection.launches)
      add({"--kernel-iteration-range", range_text(*run.selection.launches)});
  }
  // The default became a database in ROCm 7.
  add({"--output-format", "csv", "-d", run.folder.string(), "--"});
  return command;
}

Result<std::vector<RocprofRun>> counter_runs(const std::string& arch, const fs::path& folder,
                                             const Selection& selection) {
  BURNISH_TRY_ASSIGN(auto passes, profile::plan_counter_passes(arch));
  std::vector<RocprofRun> runs;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    RocprofRun run;
    run.name = fmt::format("counters, pass {} of {}", i + 1, passes.size());
    run.collect = RocprofRun::Collect::counters;
    run.counters = std::move(passes[i]);
    run.folder = folder / fmt::format("pass_{}", i + 1);
    run.selection = selection;
    runs.push_back(std::move(run));
  }
  return runs;
}

Result<fs::path> set_aside(const fs::path& run, const fs::path& failed, FileSystem& files) {
  BURNISH_TRY(files.make_folder(failed));
  const fs::path aside = failed / run.filename();
  std::error_code error;
  fs::rename(run, aside, error);
  if (error) BURNISH_TRY(files.remove_all(run));
  return aside;
}

std::vector<std::string> last_words(const std::string& log, std::size_t most) {
  std::vector<std::string> words;
  const auto lines = split_lines(log);
  for (auto line = lines.rbegin(); line != lines.rend() && words.size() < most; ++line) {
    const auto text = trim(*line);
    if (text.empty() || text.starts_with("@ ") || text.starts_with("***")) continue;
    std::string word = to_valid_utf8(text.substr(0, kLongestWord));
    if (text.size() > kLongestWord) word += " …";
    words.push_back(std::move(word));
  }
  std::reverse(words.begin(), words.end());
  return words;
}

std::string remedy(const std::string& log) {
  struct Known {
    const char* sign;
    const char* remedy;
  };
  // What is printed: issues of ROCm/rocm-systems, rocprofiler-sdk and rocprof-trace-decoder.
  static const Known known[] = {
      {"trace-decoder library path not found", kInstallDecoder},
      {"unrecognized arguments: --att", "thread traces need rocprofv3 of ROCm 7.0 or newer"},
      {"INVALID_SHADER_DATA",
       "aqlprofile and rocprof-trace-decoder do not fit together: update both (ROCm 7.0 or newer)"},
      {"exceeds the capabilities of the hardware",
       "the device counts fewer events at once than data/metrics/amd-blocks.toml says for it"},
      {"unrecognized arguments", "update ROCm: this rocprofv3 does not know the option"},
      {"/dev/kfd", kJoinGroups},
      {"HSA_STATUS_ERROR_OUT_OF_RESOURCES",
       "your user may not use the GPU, or another profiler does: add it to the groups render and "
       "video, and end other profilers"},
      {"Permission denied", "see which file it was; for /dev/kfd join the groups render and video"},
  };
  for (const auto& [sign, what] : known)
    if (contains(log, sign)) return what;
  return {};
}

RunReport judge_run(const RocprofRun& run, const std::string& failure, const std::string& log) {
  RunReport report;
  report.name = run.name;
  report.counters = run.counters;
  report.folder = run.folder;
  const auto bad = [&](const std::string& why) {
    report.why = sentence(why, last_words(log));
    report.hint = remedy(log);
    if (report.hint.empty() && ::access("/dev/kfd", F_OK) == 0 &&
        ::access("/dev/kfd", R_OK | W_OK) != 0)
      report.hint = kJoinGroups;
    return report;
  };
  if (!failure.empty()) return bad("rocprofv3 " + failure);
  const char* const perhaps = contains(log, "Unable to find all counters")
                                  ? "the device has none of these counters"
                              : run.selection.kernels.empty() && !run.selection.launches
                                  ? "perhaps the program launched no kernel, or ended by _exit()"
                                  : "perhaps no launch was selected";
  if (!profile::recognises_profile(run.folder))
    return bad(fmt::format("rocprofv3 ended well and wrote nothing: {}", perhaps));
  const auto reading = profile::read_profile(run.folder);
  if (!reading) return bad("what rocprofv3 wrote cannot be read: " + reading.error().to_string());
  const bool holds = std::any_of(
      reading->kernels.begin(), reading->kernels.end(), [&](const profile::KernelProfile& kernel) {
        return run.collect == RocprofRun::Collect::times ? kernel.metrics.find("time.device")
               : run.collect == RocprofRun::Collect::trace
                   ? kernel.metrics.find("trace.cycles")
                   : kernel.metrics.find("launch.dispatches");
      });
  if (!holds) {
    report = bad(fmt::format("rocprofv3 ended well, and its tables hold no {}: {}",
                             run.collect == RocprofRun::Collect::trace ? "traced wave" : "launch",
                             perhaps));
    if (run.collect == RocprofRun::Collect::trace && report.hint.empty())
      report.hint =
          "waves of one compute unit are traced: launch more workgroups, or see the decoder's "
          "version";
    return report;
  }
  if (run.collect == RocprofRun::Collect::counters) {
    const auto missing = uncounted(run);
    if (missing.size() == run.counters.size())
      return bad("rocprofv3 ended well, and none of the counters is in its tables");
    if (!missing.empty()) report.notes.push_back("not counted: " + join(missing, ", "));
  }
  report.good = true;
  return report;
}

}  // namespace burnish::loop
