#include <fmt/format.h>

#include <algorithm>

#include "agent/agent.h"
#include "base/text.h"

namespace burnish::agent {
namespace {

using workspace::Files;
using workspace::Plan;

/// A step of a story: a plan, and either a unified diff against the candidate's folder or the files
/// that the story has with it, whole.
struct Step {
  Plan plan;
  std::string diff;
  Files whole;
  fs::path file;
};

constexpr std::string_view kPlan = "plan.md";

/// NAME.patch: a plan's front matter, then the diff.
Result<Step> read_patch(const fs::path& file, workspace::World& world) {
  Step step;
  step.file = file;
  BURNISH_TRY_ASSIGN(std::string text, world.files.read(file));
  BURNISH_TRY_ASSIGN(step.plan, workspace::parse_plan(text, file.string()));
  step.diff = std::move(step.plan.notes);
  step.plan.notes.clear();
  if (!contains(step.diff, "\n+++ ") || !contains(step.diff, "@@"))
    return bad_input("the patch has no unified diff after its front matter").at({file.string()});
  return step;
}

/// A folder with plan.md, and beside it the files that the step replaces.
Result<Step> read_folder(const fs::path& folder, workspace::World& world) {
  Step step;
  step.file = folder;
  BURNISH_TRY_ASSIGN(std::string text, world.files.read(folder / kPlan));
  BURNISH_TRY_ASSIGN(step.plan, workspace::parse_plan(text, (folder / kPlan).string()));
  for (const auto& name : world.files.list(folder)) {
    if (name == kPlan) continue;
    BURNISH_TRY_ASSIGN(step.whole[name], world.files.read(folder / name));
  }
  if (step.whole.empty())
    return bad_input("the step has a plan and no file that it changes").at({folder.string()});
  return step;
}

/// A folder need not have again what its parent in the story left, whether or not the gate takes
/// that parent here.
void inherit(std::vector<Step>& steps) {
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    if (step->whole.empty()) continue;
    const auto parent = std::find_if(steps.begin(), step, [&](const Step& before) {
      return before.plan.version == step->plan.parent;
    });
    if (parent != step) step->whole.insert(parent->whole.begin(), parent->whole.end());
  }
}

/// The candidate with the step's files in the place of its own, whatever those are.
Result<Files> replace(const Files& files, const Step& step) {
  Files replaced = files;
  for (const auto& [name, text] : step.whole) {
    const auto found = replaced.find(name);
    if (found == replaced.end())
      return bad_input("the candidate has no such file")
          .at({(step.file / name).string()})
          .with_hint("kernel.also of burnish.toml names a candidate's further files");
    found->second = text;
  }
  return replaced;
}

/// Patches the files in a folder of their own with `git apply`, which refuses what does not fit.
Result<Files> apply_patch(const Files& files, const Step& step, workspace::World& world) {
  BURNISH_TRY_ASSIGN(TemporaryFolder folder, TemporaryFolder::make("burnish-replay"));
  for (const auto& [name, text] : files) BURNISH_TRY(world.files.write(folder.path() / name, text));
  ProcessSpec spec;
  spec.argv = {"git", "apply", "--whitespace=nowarn", "-"};
  spec.folder = folder.path();
  spec.input = step.diff;
  spec.extra_environment = {{"GIT_CEILING_DIRECTORIES", folder.path().parent_path().string()},
                            {"GIT_CONFIG_GLOBAL", "/dev/null"},
                            {"LC_ALL", "C"}};
  BURNISH_TRY_ASSIGN(ProcessResult result, world.processes.run(spec));
  if (!result.ok())
    return bad_input(
               fmt::format("the patch does not apply to this version: {}", trim(result.errors)))
        .at({step.file.string()})
        .with_hint("a story is replayed from the version that it was recorded on");
  Files patched;
  for (const auto& [name, text] : files) {
    BURNISH_TRY_ASSIGN(patched[name], world.files.read(folder.path() / name));
  }
  return patched;
}

class Replay : public Agent {
 public:
  Replay(std::vector<Step> steps, workspace::World world)
      : steps_(std::move(steps)), world_(world) {}

  std::string name() const override { return "replay"; }
  bool can_restart() const override { return false; }

  Result<std::optional<Plan>> plan(const Situation& situation) override {
    const std::size_t index = next(situation);
    if (index >= steps_.size()) return std::optional<Plan>();
    Plan plan = steps_[index].plan;
    plan.version = situation.version;
    plan.parent = situation.parent;
    plan.parent_hash = situation.parent_hash;
    plan.agent = "replay";
    // The story was recorded elsewhere: its action stands, and it rests on the findings of the same
    // category that this profile has, or on the strongest one.
    plan.findings.clear();
    for (const auto& finding : situation.findings)
      if (finding.category == plan.category) plan.findings.push_back(finding.id);
    if (plan.findings.empty() && !situation.findings.empty())
      plan.findings.push_back(situation.findings.front().id);
    plan.search_log.push_back({"replay:" + steps_[index].file.filename().string(), "L2",
                               plan.category, plan.action, "recorded step", true});
    return std::optional(plan);
  }

  Result<Files> implement(const Situation& situation, const Plan&, Evaluator&) override {
    const std::size_t index = next(situation);
    if (index >= steps_.size()) return bug("replay has no step left to implement");
    const Step& step = steps_[index];
    return step.whole.empty() ? apply_patch(situation.candidate, step, world_)
                              : replace(situation.candidate, step);
  }

 private:
  /// The story goes on after the versions that replay made, whatever the gate said of them.
  static std::size_t next(const Situation& situation) {
    return static_cast<std::size_t>(
        std::count_if(situation.history.begin(), situation.history.end(),
                      [](const auto& record) { return record.optimization.agent == "replay"; }));
  }

  std::vector<Step> steps_;
  workspace::World world_;
};

}  // namespace

Result<std::unique_ptr<Agent>> make_replay(const fs::path& folder, workspace::World world) {
  std::vector<Step> steps;
  for (const auto& name : world.files.list(folder)) {
    if (name.ends_with(".patch")) {
      BURNISH_TRY_ASSIGN(Step step, read_patch(folder / name, world));
      steps.push_back(std::move(step));
    } else if (world.files.exists(folder / name / kPlan)) {
      BURNISH_TRY_ASSIGN(Step step, read_folder(folder / name, world));
      steps.push_back(std::move(step));
    }
  }
  if (steps.empty())
    return bad_input("there is no *.patch and no folder with a plan.md to replay")
        .at({folder.string()});
  inherit(steps);
  return std::unique_ptr<Agent>(std::make_unique<Replay>(std::move(steps), world));
}

}  // namespace burnish::agent
