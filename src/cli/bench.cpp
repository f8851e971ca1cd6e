#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"
#include "loop/subject.h"
#include "measure/compare.h"
#include "report/table.h"

namespace burnish::cli {
namespace {

struct BenchArguments {
  std::vector<std::string> versions, workloads;
  bool csv = false;
  measure::BenchOptions options;
};

Result<int> bench_versions(const Common& common, BenchArguments& arguments) {
  const auto& options = arguments.options;
  if (!(options.largest_seconds > 0 && options.precision > 0 && options.minimum_gain >= 0))
    return bad_input("--seconds and --precision are more than 0, --minimum-gain is not less");
  BURNISH_TRY_ASSIGN(auto workspace, open_to_read(common.folder));
  BURNISH_TRY_ASSIGN(auto reference, loop::open_reference(workspace));
  const auto task = loop::judged_task(workspace.task(), reference, loop::Workloads::all);
  BURNISH_TRY_ASSIGN(auto bench, open_bench(common, workspace));
  const std::string& arch = bench.device->info().arch;
  std::vector<measure::Candidate> candidates;
  if (arguments.versions.empty()) {
    BURNISH_TRY_ASSIGN(const auto files, workspace.candidate());
    BURNISH_TRY_ASSIGN(auto candidate,
                       loop::judged_candidate(workspace.task(), files, "working tree", arch));
    candidates.push_back(std::move(candidate));
  }
  for (const auto& version : arguments.versions) {
    BURNISH_TRY_ASSIGN(const auto files, loop::files_of(workspace, version));
    BURNISH_TRY_ASSIGN(auto candidate,
                       loop::judged_candidate(workspace.task(), files, version, arch));
    candidates.push_back(std::move(candidate));
  }
  bench.observer->progress("measuring this device's ceilings");
  BURNISH_TRY_ASSIGN(const auto roofs, loop::ceilings(workspace, *bench.device));
  bench.observer->progress("timing");
  arguments.options.workloads = arguments.workloads;
  BURNISH_TRY_ASSIGN(const auto result,
                     measure::bench(*bench.device, task, candidates, {}, arguments.options, roofs,
                                    real_random(), real_clock()));
  bench.observer.reset();

  Json json = measure::to_json(result);
  report::TextTable table(
      {"version", "workload", "p50", "p5", "p95", "rate", "bandwidth", "compute", "copy"});
  std::string csv =
      "version,workload,p50_s,p5_s,p95_s,flops,bandwidth,compute_utilization,bandwidth_"
      "utilization\n";
  for (std::size_t i = 0; i < result.results.size(); ++i) {
    const auto& timing = result.results[i];
    for (const auto& workload : task.workloads) {
      if (workload.name != timing.workload) continue;
      std::vector<std::string> shares(2), numbers(2);  // blank without ceilings
      if (!roofs.empty()) {
        BURNISH_TRY_ASSIGN(const auto roof,
                           loop::workload_roofline(task, workload, timing.latency.p50,
                                                   timing.method.cache_state(), roofs));
        const double compute = roof.compute_utilization, bandwidth = roof.bandwidth_utilization;
        json["results"][i]["utilization"] = {{"compute", compute}, {"bandwidth", bandwidth}};
        shares = {fmt::format("{:.1f} %", compute * 100), fmt::format("{:.1f} %", bandwidth * 100)};
        numbers = {number_text(compute), number_text(bandwidth)};
      }
      table.row({timing.version, timing.workload, with_prefix(timing.latency.p50, "s"),
                 with_prefix(timing.latency.p5, "s"), with_prefix(timing.latency.p95, "s"),
                 with_prefix(timing.flops, "FLOP/s"), with_prefix(timing.bandwidth, "B/s"),
                 shares[0], shares[1]});
      csv += fmt::format("{},{},{},{},{},{},{},{}\n", timing.version, timing.workload,
                         number_text(timing.latency.p50), number_text(timing.latency.p5),
                         number_text(timing.latency.p95), number_text(timing.flops),
                         number_text(timing.bandwidth), join(numbers, ","));
    }
  }
  if (common.json) {
    print_json(json);
  } else if (arguments.csv) {
    print(csv);
  } else {
    print(table.text(terminal_columns()));
    if (!result.comparisons.empty()) {
      report::TextTable compared({"from", "to", "workload", "times faster", "interval", "verdict"});
      for (const auto& item : result.comparisons)
        compared.row({item.a, item.b, item.workload, fmt::format("{:.3f}", item.ratio),
                      fmt::format("[{:.3f}, {:.3f}]", item.interval.low, item.interval.high),
                      measure::to_string(item.verdict)});
      print("\n" + compared.text(terminal_columns()));
    }
    print(fmt::format("\n{}; {}; A against A [{:.4f}, {:.4f}]; an empty launch takes {}\n",
                      result.device, result.method.text(), result.noise.low, result.noise.high,
                      with_prefix(result.launch_floor, "s")));
    for (const auto& warning : result.warnings) print("warning: " + warning + "\n");
  }
  for (const auto& failed : result.failed_launches)
    return refused("a timed launch was wrong: " + failed.why);
  for (const auto& item : result.comparisons)
    if (item.workload == "all" && item.verdict == measure::Comparison::regressed)
      return exit_code(ErrorKind::refused);
  return 0;
}

}  // namespace

void add_bench(CommandLine& line, Common& common) {
  auto values = std::make_shared<BenchArguments>();
  auto arguments = line.verb("bench", "time versions and compare them with the first");
  arguments.positionals("VERSION", values->versions, "v0 v3 …; default: the working tree");
  arguments.options("--workloads", values->workloads, "only these workloads");
  arguments.option("--precision", values->options.precision,
                   "half-width of the interval to reach, relative");
  arguments.option("--minimum-gain", values->options.minimum_gain, "smaller gains are no gain");
  arguments.option("--seconds", values->options.largest_seconds, "at most this long a workload");
  arguments.flag("--csv", values->csv, "print CSV");
  arguments.device_option(common);
  arguments.action([&common, values] { return bench_versions(common, *values); });
}

}  // namespace burnish::cli
