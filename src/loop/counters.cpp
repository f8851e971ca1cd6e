#include "loop/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "evidence/names.h"
#include "loop/rocprofv3.h"

namespace burnish::loop {
namespace {

/// What the judge's own clock and the task decide, and a profiler's run must not.
bool is_ours(const std::string& name) {
  return name == "time.device" || name.starts_with("roofline.") || name.starts_with("workloads.");
}

/// What the files say of the kernel joins what is known of it; false when they do not know it.
Result<bool> take_evidence(const std::vector<fs::path>& files, workspace::Workspace& workspace,
                           const Tools& tools, evidence::KernelEvidence& evidence,
                           std::vector<profile::Artefact>& artefacts) {
  BURNISH_TRY_ASSIGN(const auto found,
                     evidence::gather(files, tools.rules, workspace.world().processes));
  for (auto artefact : found.artefacts) {
    artefact.file = fs::path(artefact.file).lexically_proximate(workspace.folder()).string();
    artefacts.push_back(std::move(artefact));
  }
  for (const auto& warning : found.warnings) evidence.statements.push_back(warning);
  // The profiler writes a kernel with its parameters.
  const std::string name = evidence::plain_name(evidence.name);
  for (const auto& kernel : found.kernels) {
    if (evidence::plain_name(kernel.name) != name) continue;
    for (const auto& [metric, value] : kernel.metrics.all()) {
      if (is_ours(metric) || evidence.metrics.find(metric) != nullptr) continue;
      evidence.metrics.add(relative_to(value, workspace.folder()));
    }
    evidence.vendor_rules = kernel.vendor_rules;
    for (const auto& statement : kernel.statements) evidence.statements.push_back(statement);
    return true;
  }
  return false;
}

/// Runs the launches `times` times in a worker below `command`; its end waits for the tool.
Result<void> run_wrapped(const Replay& replay, const std::vector<std::string>& command, int times) {
  BURNISH_TRY_ASSIGN(const auto device, replay.open(command));
  device::Limits limits;
  limits.run = std::chrono::minutes(5);  // a full set of ncu's replays a launch some forty times
  BURNISH_TRY_ASSIGN(auto session, device->open(replay.candidate.source, limits));
  BURNISH_TRY(session->prepare(replay.buffers));
  for (int i = 0; i < times; ++i) BURNISH_TRY(session->run(replay.request));
  return {};
}

/// Which launches to count, and how often to run the plan for that: those of a second run, which
/// finds code and pages in place, where each kernel is launched equally often in a run.
std::pair<Selection, int> selection_of(const device::LaunchPlan& plan) {
  std::map<std::string, std::int64_t> launches;
  for (const auto& launch : plan.launches) ++launches[launch.kernel];
  std::vector<std::string> names;
  std::int64_t least = 0, most = 0;
  for (const auto& [name, count] : launches) {
    names.push_back(name);
    least = least == 0 ? count : std::min(least, count);
    most = std::max(most, count);
  }
  Selection selection;
  selection.kernels = expression_of(names);
  if (least == most) {
    selection.launches = LaunchRange{most + 1, 2 * most};
    return {selection, 2};
  }
  selection.launches = LaunchRange{1, most};
  return {selection, 1};
}

}  // namespace

const char* const kAllowNvidiaCounters =
    "the driver keeps its counters for administrators (ERR_NVGPUCTRPERM): load nvidia with "
    "NVreg_RestrictProfilingToAdminUsers=0, or run as root";

Metric relative_to(Metric metric, const fs::path& folder) {
  metric.where.file = fs::path(metric.where.file).lexically_proximate(folder).string();
  return metric;
}

Result<void> add_nvidia_counters(workspace::Workspace& workspace, const Tools& tools,
                                 const Replay& replay, const fs::path& folder,
                                 evidence::KernelEvidence& evidence,
                                 std::vector<profile::Artefact>& artefacts) {
  tools.observer.progress(fmt::format("profiling {} under ncu", replay.candidate.label));
  const auto ncu = find_program({"ncu"});
  if (!ncu) {
    evidence.statements.emplace_back(
        "no hardware counters: ncu (Nsight Compute) is not on the PATH; timing and machine code "
        "alone");
    return {};
  }
  const fs::path report = folder / "counters.ncu-rep";
  std::error_code ignored;
  fs::remove(report, ignored);  // of an earlier profile
  std::vector<std::string> command = {ncu->string(),
                                      "--profile-from-start",
                                      "off",
                                      "--clock-control",
                                      "none",  // the clocks that are timed
                                      "--set",
                                      tools.profiling.set,
                                      "--force-overwrite"};
  if (tools.profiling.source) command.insert(command.end(), {"--import-source", "yes"});
  for (const auto& section : tools.profiling.sections)
    command.insert(command.end(), {"--section", section});
  command.insert(command.end(), {"--log-file", (folder / "ncu.log").string(), "--export",
                                 (folder / "counters").string()});
  const auto profiled = run_wrapped(replay, command, 1);
  auto& files = workspace.world().files;
  const std::string log = files.read(folder / "ncu.log").value_or("");
  if (!profiled || !files.exists(report)) {
    std::string why = contains(log, "ERR_NVGPUCTRPERM") ? kAllowNvidiaCounters
                      : profiled                        ? "ncu wrote no report"
                                                        : profiled.error().message;
    if (const auto at = log.find("==ERROR=="); at != std::string::npos && profiled)
      why += ": " + std::string(trim(log.substr(at + 9, log.find('\n', at) - at - 9)));
    evidence.statements.push_back("no hardware counters: " + why +
                                  "; timing and machine code alone");
    return {};
  }
  BURNISH_TRY_ASSIGN(const bool found,
                     take_evidence({report}, workspace, tools, evidence, artefacts));
  if (!found) evidence.statements.push_back("ncu's report holds no launch of " + evidence.name);
  return {};
}

Result<void> add_amd_counters(workspace::Workspace& workspace, const Tools& tools,
                              const Replay& replay, const fs::path& folder,
                              evidence::KernelEvidence& evidence,
                              std::vector<profile::Artefact>& artefacts) {
  auto& files = workspace.world().files;
  for (const char* part : {"pmc", "att", "failed"})  // of an earlier profile
    BURNISH_TRY(files.remove_all(folder / part));
  const auto tool = find_rocprofv3();
  if (!tool) {
    evidence.statements.push_back(
        fmt::format("no hardware counters: rocprofv3 is not on the PATH; timing and machine code "
                    "alone; to have them, {}",
                    kInstallRocprofv3));
    return {};
  }
  const auto [selection, times] = selection_of(*replay.request.plan);
  std::vector<RocprofRun> runs;
  const std::string& arch = evidence.device.arch;
  if (auto counters = counter_runs(arch.substr(0, arch.find(':')), folder / "pmc", selection)) {
    runs = std::move(*counters);
  } else {
    evidence.statements.push_back("no hardware counters: " + counters.error().message);
  }
  if (tool->decoder) {
    RocprofRun trace;
    trace.name = "thread trace of " + evidence.name;
    trace.collect = RocprofRun::Collect::trace;
    trace.folder = folder / "att";
    trace.selection.kernels = expression_of({evidence.name});
    trace.selection.launches = LaunchRange{selection.launches->first, selection.launches->first};
    runs.push_back(std::move(trace));
  } else {
    evidence.statements.push_back(
        fmt::format("no thread trace: librocprof-trace-decoder.so was not found; to have one, {}",
                    kInstallDecoder));
  }
  int hung = 0;
  for (const auto& run : runs) {
    tools.observer.progress(
        fmt::format("profiling {} under rocprofv3: {}", replay.candidate.label, run.name));
    BURNISH_TRY(files.make_folder(run.folder));
    const auto ended = run_wrapped(replay, command_of(*tool, run), times);
    std::string log;
    if (!ended) {
      for (const auto& line : ended.error().context) log += line + "\n";
      hung += int{ended.error().kind == ErrorKind::timeout};
    }
    const RunReport report =
        judge_run(run, ended ? "" : "gave no result: " + ended.error().message, log);
    for (const auto& note : report.notes) evidence.statements.push_back(report.name + ": " + note);
    if (report.good) continue;
    evidence.statements.push_back(fmt::format("{} failed: {}{}{}", report.name, report.why,
                                              report.hint.empty() ? "" : "; ", report.hint));
    BURNISH_TRY(set_aside(run.folder, folder / "failed", files));
    if (hung == kMostHangs) {
      evidence.statements.push_back(
          fmt::format("no further run under rocprofv3, since {} hung", kMostHangs));
      break;
    }
  }
  std::vector<fs::path> found;
  for (const char* part : {"pmc", "att"})
    if (profile::recognises_profile(folder / part)) found.push_back(folder / part);
  if (found.empty()) {
    evidence.statements.emplace_back(
        "no hardware counters: no run under rocprofv3 gave a result; timing and machine code "
        "alone");
    return {};
  }
  BURNISH_TRY_ASSIGN(const bool known, take_evidence(found, workspace, tools, evidence, artefacts));
  if (!known)
    evidence.statements.push_back("rocprofv3's tables hold no launch of " + evidence.name);
  return {};
}

}  // namespace burnish::loop
