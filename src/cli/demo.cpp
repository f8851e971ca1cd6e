#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"
#include "evidence/evidence.h"
#include "isa/isa.h"
#include "loop/demo.h"
#include "loop/story.h"
#include "report/demo.h"

namespace burnish::cli {
namespace {

struct DemoArguments {
  std::string name = "matmul", output;
  bool sanitize = false;
  double seconds = 0;
};

Result<void> make_workspace(const loop::Example& example, const fs::path& folder) {
  BURNISH_TRY_ASSIGN(const TemporaryFolder from, TemporaryFolder::make("burnish-demo"));
  for (const auto& [name, content] : example.task_files())
    BURNISH_TRY(real_file_system().write(from.path() / name, content));
  BURNISH_TRY(workspace::Workspace::create(folder, from.path(), {}));
  return {};
}

void print_history(const fs::path& folder) {
  print(fmt::format(
      "\nthe history is a git repository: git -C {} log\nplans, reports and records: {}/\n",
      shell_word(folder.string()), folder.string()));
}

/// The tuner on the example, or its story step by step, judged, timed and compared with its peers.
Result<int> run_example(const Common& common, const DemoArguments& arguments,
                        const loop::Example& example, const fs::path& folder) {
  if (!fs::exists(folder)) BURNISH_TRY(make_workspace(example, folder));
  BURNISH_TRY_ASSIGN(auto loop, open_loop(common, folder));
  BURNISH_TRY_ASSIGN(const auto state, loop->state());
  const bool is_over = state.next == loop::Stage::stopped;
  const bool has_story = example.has_story();
  if (is_over && !has_story) {
    BURNISH_TRY_ASSIGN(const auto summary, loop::summarize(loop->workspace()));
    print_summary(common, summary);
    if (!common.json) print_history(folder);
    return 0;
  }
  BURNISH_TRY_ASSIGN(auto bench, open_bench(common, loop->workspace()));
  auto tools = bench.tools();
  say(common, fmt::format("{} {} on {} in {}", has_story ? "replaying" : "optimising", example.name,
                          bench.device->info().name, folder.string()));
  if (has_story) {
    BURNISH_TRY_ASSIGN(const auto steps, TemporaryFolder::make("burnish-demo"));
    BURNISH_TRY(loop::write_example(example, "steps/", steps.path()));
    BURNISH_TRY_ASSIGN(auto replay, agent::make_replay(steps.path() / "steps", {}));
    if (!arguments.sanitize) tools.sanitizers = {};
    const double seconds = arguments.seconds;
    tools.timing.largest_seconds = seconds > 0 ? seconds : loop::kStorySeconds;
    tools.timing.verified_launches = 1;
    std::string broken_off;
    if (!is_over) {
      const auto told = loop->run(tools, *replay, 0, loop::Loop::Until::end);
      // A step whose plan does not hold here ends the story; what was judged before it counts.
      if (!told && told.error().kind != ErrorKind::refused) return told.error();
      if (!told) broken_off = "the story broke off: " + told.error().to_string();
    }
    tools.timing.largest_seconds = seconds;
    BURNISH_TRY_ASSIGN(auto demo, loop::measure_story(*loop, tools, example));
    if (!broken_off.empty()) demo.notes.insert(demo.notes.begin(), broken_off);
    bench.observer.reset();
    BURNISH_TRY_ASSIGN(const auto summary, loop::summarize(loop->workspace()));
    Json json = loop::to_json(demo);
    json["story"] = loop::to_json(summary);
    auto& files = real_file_system();
    BURNISH_TRY(files.write(folder / "profiles/demo.json", dump_json(json)));
    BURNISH_TRY(files.write(folder / "profiles/demo.txt", report::demo_text(demo, 0)));
    if (common.json) {
      print_json(json);
      return 0;
    }
    print(report::demo_text(demo, terminal_columns()));
  } else {
    auto tuner = agent::make_tuner();
    if (arguments.seconds > 0) tools.timing.largest_seconds = arguments.seconds;
    BURNISH_TRY(loop->run(tools, *tuner, 0));
    bench.observer.reset();
    BURNISH_TRY_ASSIGN(const auto summary, loop::summarize(loop->workspace()));
    print_summary(common, summary);
    if (common.json) return 0;
  }
  print_history(folder);
  return 0;
}

Json step_json(const loop::CompiledStep& step) {
  Json metrics = Json::object();
  for (const auto& [name, metric] : step.metrics.all())
    if (metric.unit != "text") metrics[name] = metric.value;
  Json findings = Json::array();
  for (const auto& finding : step.findings) findings.push_back(finding.id);
  Json occupancy = {{"waves_per_simd", step.occupancy.waves_per_simd},
                    {"limiter", step.occupancy.limiter},
                    {"model", step.occupancy.model}};
  if (step.occupancy.hardware_waves_per_simd)
    occupancy["hardware_waves_per_simd"] = *step.occupancy.hardware_waves_per_simd;
  return {{"step", step.step},
          {"arch", step.arch},
          {"kernel", step.kernel.name},
          {"shared_bytes", step.shared_bytes},
          {"occupancy", std::move(occupancy)},
          {"metrics", std::move(metrics)},
          {"findings", std::move(findings)}};
}

/// The stories by their machine code alone, for every architecture that can be compiled for here.
Result<int> tell_by_machine_code(const Common& common, const std::string& name,
                                 const std::vector<loop::Example>& stories,
                                 const device::DeviceInfo& info) {
  BURNISH_TRY_ASSIGN(const auto rules, evidence::Rules::load());
  Json json = {{"example", name}, {"stories", Json::array()}, {"notes", Json::array()}};
  std::string text;
  const auto note = [&](const std::string& what) {
    json["notes"].push_back(what);
    text += "note: " + what + "\n";
  };
  for (const auto& example : stories) {
    const std::string compiler = loop::story_compiler(example.backend);
    if (compiler.empty()) {
      note("no compiler of " + example.backend + " is here");
      continue;
    }
    BURNISH_TRY_ASSIGN(const auto story, loop::Story::read(example, {}, {}));
    std::vector<loop::CompiledStep> steps;
    std::set<std::string> warnings;  // the same of every step
    for (const auto& step : story.steps())
      for (const auto& arch : loop::story_architectures(example.backend)) {
        auto compiled = story.compile(step, arch, rules);
        if (!compiled) {
          note(fmt::format("{} for {}: {}", step, arch, compiled.error().message));
          continue;
        }
        warnings.insert(compiled->reading.warnings.begin(), compiled->reading.warnings.end());
        steps.push_back(std::move(*compiled));
      }
    for (const auto& warning : warnings) note(example.backend + ": " + warning);
    if (steps.empty()) continue;
    text += fmt::format("\n{} in {}, by its machine code ({})\n", name, example.backend, compiler);
    text += report::plain(report::machine_code(steps), terminal_columns());
    Json list = Json::array();
    for (const auto& step : steps) list.push_back(step_json(step));
    json["stories"].push_back(
        {{"backend", example.backend}, {"compiler", compiler}, {"steps", std::move(list)}});
  }
  if (json["stories"].empty())
    return environment_error(fmt::format("{} has no kernels of this story, and nothing here "
                                         "compiles them for other devices",
                                         info.name))
        .with_hint("install clang-22 with lld-22 and llvm-22 for AMD, or the CUDA toolkit");
  if (common.json) {
    print_json(json);
    return 0;
  }
  print(fmt::format("{} has no kernels of this story; nothing was run. Registers are used / "
                    "allocated, waves a SIMD by the vendor's model / by what the hardware "
                    "allocates; counts are of one turn of the hot loop.\n",
                    info.name) +
        text + fmt::format("\n--device {} tunes the version for this machine\n", info.backend));
  return 0;
}

Result<int> run_demo(const Common& common, const DemoArguments& arguments) {
  if (!(arguments.seconds >= 0))
    return bad_input("--seconds is not less than 0; 0 leaves it to the demo");
  BURNISH_TRY_ASSIGN(const std::string name, loop::example_name(arguments.name));
  const fs::path folder =
      fs::path(common.folder) /
      (arguments.output.empty() ? "burnish-demo-" + arguments.name : arguments.output);
  BURNISH_TRY_ASSIGN(const auto info, device::choose_device(common.device));
  BURNISH_TRY_ASSIGN(const auto stories, loop::stories_of(name));
  auto example = loop::find_example(name, info.backend);
  const bool has_story = example && example->has_story();
  if (!has_story && !stories.empty() && common.device == "auto" && !fs::exists(folder))
    return tell_by_machine_code(common, name, stories, info);
  BURNISH_TRY(example);
  return run_example(common, arguments, *example, folder);
}

}  // namespace

void add_demo(CommandLine& line, Common& common) {
  auto values = std::make_shared<DemoArguments>();
  auto arguments =
      line.verb("demo", "show itself: an example, optimised or replayed on this machine");
  arguments.positional("NAME", values->name, "the example (default: matmul); conv3d, topk, …");
  arguments.option("--output", values->output, "the workspace (default: burnish-demo-NAME)");
  arguments.flag("--sanitize", values->sanitize,
                 "check the accesses of every step of a story too, which takes longer");
  arguments.option("--seconds", values->seconds,
                   "time a candidate, and all steps of a story at the end, so long a workload");
  arguments.device_option(common);
  arguments.action([&common, values] { return run_demo(common, *values); });
}

}  // namespace burnish::cli
