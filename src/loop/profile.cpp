#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "loop/counters.h"
#include "loop/subject.h"

namespace burnish::loop {
namespace {

constexpr int kLaunches = 5;  ///< timed for the profile; a benchmark takes more
constexpr double kShort = 200e-6;
constexpr int kBatch = 20;  ///< repetitions of a short launch on a GPU

Metric metric(std::string name, double value, std::string unit, std::string file,
              std::string locator) {
  return {std::move(name),
          value,
          std::move(unit),
          "",
          {std::move(file), "", std::move(locator), "", ""}};
}

void merge(MetricSet& into, const MetricSet& from) {
  for (const auto& [name, value] : from.all()) into.add(value);
}

double volume(const std::array<std::int64_t, 3>& extent) {
  return static_cast<double>(extent[0]) * static_cast<double>(extent[1]) *
         static_cast<double>(extent[2]);
}

struct Timed {
  const measure::Workload* workload;
  double seconds;
  hardware::Roofline roofline;
};

std::string summary_text(const evidence::KernelEvidence& kernel, const std::vector<Timed>& timed,
                         const std::string& label) {
  std::string out = fmt::format("{} of {} on {}\n\n", kernel.name, label, kernel.device.name);
  for (const auto& item : timed)
    out += fmt::format("{:<16} {:>10}  {:>5.1f} % of the ceiling, {} bound ({} at {}, {} at {})\n",
                       item.workload->name, with_prefix(item.seconds, "s"),
                       item.roofline.utilization * 100, item.roofline.bound,
                       item.roofline.compute.name,
                       with_prefix(item.roofline.compute.value, item.roofline.compute.unit),
                       item.roofline.bandwidth.name,
                       with_prefix(item.roofline.bandwidth.value, item.roofline.bandwidth.unit));
  out += "\nFINDINGS, strongest first\n";
  for (const auto& finding : kernel.verdicts.findings) {
    out += fmt::format("{:<28} {:<20} at most {:.2f}x\n", finding.id, finding.category,
                       finding.headroom);
    if (!finding.explained_by.empty())
      out += fmt::format("    a symptom of {}, ranked behind it\n", finding.explained_by);
    out += fmt::format("    {}\n    -> {}\n", finding.because, finding.action);
  }
  if (kernel.verdicts.findings.empty()) out += "none\n";
  if (!kernel.verdicts.missing.empty()) {
    out += "\nNOT EVALUATED (not the same as no problem)\n";
    for (const auto& missing : kernel.verdicts.missing)
      out += fmt::format("{:<28} needs {}\n", missing.rule, join(missing.metrics, ", "));
  }
  for (const auto& statement : kernel.statements) out += "\nnote: " + statement + "\n";
  return out;
}

}  // namespace

Result<evidence::KernelEvidence> profile_candidate(workspace::Workspace& workspace, Tools& tools,
                                                   const measure::Task& task,
                                                   const measure::Candidate& candidate,
                                                   const fs::path& folder) {
  const auto& info = tools.device.info();
  BURNISH_TRY_ASSIGN(const auto roofs, ceilings(workspace, tools.device));

  std::vector<Timed> timed;
  std::unique_ptr<device::Session> subject;
  std::string slowest_kernel;
  device::LaunchPlan subject_plan;
  std::vector<device::Buffer> subject_buffers;
  std::map<std::string, std::vector<std::byte>> subject_contents;
  for (const auto& workload : task.workloads) {
    if (!workload.timed()) continue;
    tools.observer.progress(fmt::format("profiling {} at {}", candidate.label, workload.name));
    BURNISH_TRY_ASSIGN(const measure::Problem problem, task.problem(workload.name, workload.dims));
    BURNISH_TRY_ASSIGN(const device::LaunchPlan plan, candidate.plan(workload.dims));
    BURNISH_TRY_ASSIGN(auto session, tools.device.open(candidate.source, {}));
    std::vector<device::Buffer> buffers;
    std::map<std::string, std::vector<std::byte>> contents;
    Generator generator(tools.random.seed());
    for (const auto& tensor : problem.tensors) {
      buffers.push_back({tensor.name, tensor.bytes(), tensor.role});
      if (tensor.role == device::Buffer::Role::out) continue;
      std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
      for (double& value : values) value = generator.uniform();
      contents[tensor.name] = from_doubles(tensor.dtype, values);
    }
    BURNISH_TRY(session->prepare(buffers));
    device::RunRequest request;
    request.plan = &plan;
    for (const auto& [name, bytes] : contents) request.contents[name] = bytes;
    std::vector<double> seconds;
    std::map<std::string, double> by_kernel;
    double spent = 0;
    for (int i = 0; i < kLaunches && (i < 2 || spent < 3.0); ++i) {
      BURNISH_TRY_ASSIGN(const auto run, session->run(request));
      spent += run.host_seconds;
      if (i > 0 || spent > 1.0) seconds.push_back(run.device_seconds / request.repetitions);
      // As in a benchmark: a launch by itself would show the time of launching.
      if (info.vendor != "cpu" && run.device_seconds < kShort) request.repetitions = kBatch;
      for (std::size_t k = 0; k < run.launch_seconds.size() && k < plan.launches.size(); ++k)
        by_kernel[plan.launches[k].kernel] += run.launch_seconds[k];
    }
    BURNISH_TRY_ASSIGN(const auto roof, workload_roofline(task, workload, median(seconds),
                                                          device::Caches::warm, roofs));
    timed.push_back({&workload, median(seconds), roof});
    // The workload that is furthest from its ceiling stands for the kernel: it has most to gain.
    const bool furthest = std::all_of(timed.begin(), timed.end(), [&](const Timed& other) {
      return other.roofline.utilization >= roof.utilization;
    });
    if (furthest) {
      subject = std::move(session);
      subject_plan = plan;
      subject_buffers = std::move(buffers);
      subject_contents = std::move(contents);
      slowest_kernel =
          std::max_element(by_kernel.begin(), by_kernel.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
          })->first;
    }
  }
  const Timed& main =
      *std::min_element(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) {
        return a.roofline.utilization < b.roofline.utilization;
      });

  evidence::KernelEvidence evidence;
  evidence.name = slowest_kernel;
  evidence.device = {info.name, info.arch};
  const std::string here = "profiles/" + folder.filename().string();
  const auto launch =
      std::find_if(subject_plan.launches.begin(), subject_plan.launches.end(),
                   [&](const device::KernelLaunch& item) { return item.kernel == slowest_kernel; });
  evidence.launch.grid = launch->grid;
  evidence.launch.block = launch->block;
  evidence.launch.shared_bytes = static_cast<std::int64_t>(launch->shared_bytes);

  MetricSet& metrics = evidence.metrics;
  const std::string at =
      fmt::format("workload {}, median of {} launches", main.workload->name, kLaunches);
  metrics.add(metric("time.device", main.seconds, "s", "device", at));
  metrics.add(metric("launch.grid_blocks", volume(launch->grid), "1", "launch.toml", at));
  metrics.add(metric("launch.block_threads", volume(launch->block), "1", "launch.toml", at));
  metrics.add(metric("device.compute_units", info.compute_units, "1", "device", info.name));
  merge(metrics, hardware::metrics(main.roofline));
  std::vector<std::pair<double, double>> utilizations;
  double best = 0, worst = 2;
  for (const auto& item : timed) {
    utilizations.emplace_back(item.roofline.utilization, item.workload->weight);
    best = std::max(best, item.roofline.utilization);
    worst = std::min(worst, item.roofline.utilization);
  }
  const double mean = weighted_geometric_mean(utilizations);
  metrics.add(
      metric("workloads.utilization_pct", mean * 100, "%", "device", "weighted geometric mean"));
  metrics.add(metric("workloads.best_utilization_pct", best * 100, "%", "device", "best workload"));
  metrics.add(
      metric("workloads.worst_utilization_pct", worst * 100, "%", "device", "worst workload"));

  evidence::Evidence document;
  if (info.backend == "cuda" || info.backend == "hip") {
    device::RunRequest request;
    request.plan = &subject_plan;
    for (const auto& [name, bytes] : subject_contents) request.contents[name] = bytes;
    const Replay replay{
        candidate, subject_buffers, request, [&](const std::vector<std::string>& wrapper) {
          return device::open_device(info, {workspace.cache_folder() / "binaries", {}, wrapper});
        }};
    BURNISH_TRY((info.backend == "cuda" ? add_nvidia_counters : add_amd_counters)(
        workspace, tools, replay, folder, evidence, document.artefacts));
  }
  std::vector<fs::path> files;
  auto code = read_session_code(workspace, *subject, folder, files);
  if (code) {
    for (const auto& warning : code->warnings) evidence.statements.push_back(warning);
    for (const auto& kernel : code->kernels)
      if (kernel.name == slowest_kernel || code->kernels.size() == 1) {
        const MetricSet of_code = isa::metrics(kernel);
        for (const auto& [name, value] : of_code.all())
          metrics.add(relative_to(value, workspace.folder()));
        break;
      }
  } else {
    evidence.statements.push_back("no machine code: " + code.error().message);
  }
  if (auto resources = subject->resources(slowest_kernel)) merge(metrics, *resources);

  if (info.vendor == "amd" && metrics.find("occupancy.theoretical_pct") == nullptr) {
    // No profiler told it.
    const double shared = static_cast<double>(launch->shared_bytes) +
                          metrics.value("shared.static_bytes").value_or(0);
    metrics.add(metric("shared.bytes", shared, "B", "device", "static and dynamic, a block"));
    evidence::model_occupancy(evidence, static_cast<std::int64_t>(shared));
  }
  evidence.verdicts = tools.rules.evaluate({metrics, info.vendor, info.arch});
  for (const auto& sentence : metrics.disagreements()) evidence.statements.push_back(sentence);

  for (const auto& file : files) {
    BURNISH_TRY_ASSIGN(const std::string bytes, workspace.world().files.read(file));
    document.artefacts.push_back({fs::path(here) / file.filename(), "code", info.platform,
                                  info.driver, content_hash(bytes)});
  }
  document.kernels.push_back(evidence);
  Json json = evidence::to_json(document);
  json["workloads"] = Json::array();
  for (const auto& item : timed)
    json["workloads"].push_back({{"name", item.workload->name},
                                 {"seconds", item.seconds},
                                 {"utilization", item.roofline.utilization},
                                 {"bound", item.roofline.bound}});
  auto& out = workspace.world().files;
  BURNISH_TRY(out.write(folder / "summary.txt", summary_text(evidence, timed, candidate.label)));
  BURNISH_TRY(out.write(folder / "evidence.json", dump_json(json)));
  return evidence;
}

}  // namespace burnish::loop
