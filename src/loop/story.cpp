#include "loop/story.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/agent.h"
#include "base/text.h"
#include "device/cuda_compile.h"
#include "device/hip_compile.h"
#include "loop/subject.h"

namespace burnish::loop {
namespace {

using workspace::Configuration;
using workspace::Files;

constexpr char kBaseline[] = "00";

/// Nothing is measured: replay takes what the story has.
class NoEvaluator : public agent::Evaluator {
 public:
  Result<agent::Trial> evaluate(const Files&, const Configuration&) override {
    return bug("a replay measures nothing");
  }
};

/// Of the kernels that are launched the one that v0 launches too, else the one with most code.
const isa::Kernel* main_kernel(const isa::Reading& reading, const device::LaunchPlan& plan,
                               const std::string& first) {
  const isa::Kernel* found = nullptr;
  for (const isa::Kernel& kernel : reading.kernels) {
    const bool launched = std::any_of(plan.launches.begin(), plan.launches.end(),
                                      [&](const auto& one) { return one.kernel == kernel.name; });
    if (!launched) continue;
    if (kernel.name == first) return &kernel;
    if (found == nullptr || kernel.instructions.size() > found->instructions.size())
      found = &kernel;
  }
  return found;
}

}  // namespace

Result<Story> Story::read(const Example& example, const Configuration& values,
                          workspace::World world) {
  Story story(world);
  story.example_ = example;
  story.values_ = values;
  const auto text = example.files.find("burnish.toml");
  if (text == example.files.end()) return bug("an example without a task");
  const std::string place = "examples/" + example.name + "/" + example.backend;
  BURNISH_TRY_ASSIGN(story.task_, workspace::parse_task(text->second, place + "/burnish.toml"));
  Files candidate;
  std::vector<std::string> names = story.task_.also;
  names.insert(names.end(), {story.task_.kernel_file, story.task_.launch_file});
  for (const auto& name : names) {
    const auto file = example.files.find(name);
    if (file == example.files.end()) return bad_input("the example lacks " + name).at({place});
    candidate[name] = file->second;
  }
  story.versions_[kBaseline] = candidate;

  BURNISH_TRY_ASSIGN(const auto folder, TemporaryFolder::make("burnish-story"));
  BURNISH_TRY(write_example(example, "steps/", folder.path()));
  BURNISH_TRY_ASSIGN(const auto replay, agent::make_replay(folder.path() / "steps", world));
  BURNISH_TRY_ASSIGN(auto pages, knowledge::Catalogue::make({}));
  BURNISH_TRY_ASSIGN(const auto cards, knowledge::CardBase::make(std::move(pages), {}));
  const device::DeviceInfo device;
  NoEvaluator evaluator;
  std::vector<workspace::Record> history;
  for (const std::string& name : example.folders("steps")) {
    const agent::Situation situation{story.task_, device, cards, 1,  0,  "",
                                     candidate,   {},     {},    {}, "", history};
    BURNISH_TRY_ASSIGN(const auto plan, replay->plan(situation));
    if (!plan) return bad_input("replay leaves out a step").at({place + "/steps/" + name});
    BURNISH_TRY_ASSIGN(Files changed, replay->implement(situation, *plan, evaluator));
    // Every step's launch spec fits its task.
    BURNISH_TRY(
        in_context(workspace::parse_launch(changed.at(story.task_.launch_file),
                                           place + "/steps/" + name + "/launch.toml", story.task_),
                   "reading the step " + name));
    story.versions_[name] = std::move(changed);
    workspace::Record done;
    done.optimization.agent = "replay";
    history.push_back(done);
  }
  return story;
}

std::vector<std::string> Story::steps() const {
  std::vector<std::string> names;
  for (const auto& [name, files] : versions_) names.push_back(name);
  return names;
}

Result<Configuration> Story::configuration(const std::string& step) const {
  BURNISH_TRY_ASSIGN(const auto launch, workspace::parse_launch(files(step).at(task_.launch_file),
                                                                step + "/launch.toml", task_));
  Configuration all = workspace::configuration(task_, launch);
  for (const auto& [name, value] : values_) all[name] = value;
  return all;
}

Result<CompiledStep> Story::compile(const std::string& step, const std::string& arch,
                                    const evidence::Rules& rules) const {
  BURNISH_TRY_ASSIGN(auto candidate, judged_candidate(task_, files(step), step, arch));
  BURNISH_TRY_ASSIGN(const Configuration values, configuration(step));
  candidate.source.macros = workspace::macros(values);
  BURNISH_TRY_ASSIGN(const auto folder, TemporaryFolder::make("burnish-story"));
  const bool is_cuda = task_.language == "cuda";
  const std::string target = arch == "sm_90" ? device::cuda_target(9, 0) : arch;
  BURNISH_TRY_ASSIGN(auto build, is_cuda
                                     ? device::compile_cuda(candidate.source, target, folder.path())
                                     : device::compile_hip(candidate.source, arch, folder.path()));
  if (!build.outcome.built)
    return refused(fmt::format("{} does not compile for {}: {}", step, arch, build.outcome.log));
  const fs::path object = folder.path() / (is_cuda ? "kernel.cubin" : "kernel.co");
  BURNISH_TRY(world_.files.write(object, build.code));

  CompiledStep result;
  result.step = step;
  result.arch = arch;
  BURNISH_TRY_ASSIGN(result.reading, isa::read_code(object, world_.processes));
  // What is launched at the first workload, where the configuration admits it.
  BURNISH_TRY_ASSIGN(const auto launch, workspace::parse_launch(files(step).at(task_.launch_file),
                                                                step + "/launch.toml", task_));
  BURNISH_TRY_ASSIGN(const auto plan,
                     workspace::resolve(task_, launch, values, task_.workloads.front().dims, arch));
  BURNISH_TRY_ASSIGN(
      const auto first,
      workspace::parse_launch(files(kBaseline).at(task_.launch_file), "launch.toml", task_));
  const isa::Kernel* kernel = main_kernel(result.reading, plan, first.kernels.front().name);
  if (kernel == nullptr)
    return refused(fmt::format("{} for {} has none of the kernels that are launched", step, arch));
  result.kernel = *kernel;
  result.metrics = isa::metrics(result.kernel);
  const std::string vendor = is_cuda ? "nvidia" : "amd";
  result.findings = rules.evaluate({result.metrics, vendor, arch}).findings;

  hardware::KernelResources resources;
  for (const auto& each : plan.launches) {
    if (each.kernel != kernel->name) continue;
    resources.threads = static_cast<int>(each.block[0] * each.block[1] * each.block[2]);
    resources.shared_bytes = static_cast<std::int64_t>(each.shared_bytes);
  }
  const auto number = [&](const char* name) { return result.metrics.value(name).value_or(0); };
  resources.registers = static_cast<int>(number("registers.used"));
  resources.accum_registers = static_cast<int>(number("registers.accum"));
  resources.scalar_registers = static_cast<int>(number("registers.scalar"));
  resources.shared_bytes += static_cast<std::int64_t>(number("shared.static_bytes"));
  result.shared_bytes = resources.shared_bytes;
  BURNISH_TRY_ASSIGN(result.occupancy, hardware::occupancy(arch, resources));
  return result;
}

std::vector<std::string> story_architectures(const std::string& backend) {
  if (backend == "cuda") return {"sm_90"};
  if (backend == "hip") return {"gfx942", "gfx950"};
  return {};
}

std::string story_compiler(const std::string& backend) {
  if (backend == "cuda") return device::cuda_compiler_identity();
  if (backend == "hip") return device::hip_compiler_identity();
  return "";
}

}  // namespace burnish::loop
