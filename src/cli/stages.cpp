#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"
#include "loop/situation.h"

namespace burnish::cli {
namespace {

struct StageOptions {
  std::string agent, replay, check;
  bool allow_weak = false, blank = false;
};

Result<std::unique_ptr<agent::Agent>> open_agent(const StageOptions& options) {
  if (options.agent == "tuner") return agent::make_tuner();
  if (options.agent == "replay") {
    if (options.replay.empty())
      return bad_input("the replay agent needs --replay FOLDER with the steps");
    return agent::make_replay(options.replay, {});
  }
  return bad_input("there is no agent \"" + options.agent + "\"").with_hint("tuner or replay");
}

Json plan_json(const workspace::Plan& plan) {
  return {{"version", fmt::format("v{}", plan.version)},
          {"category", plan.category},
          {"action", plan.action},
          {"findings", plan.findings},
          {"bound", plan.bound},
          {"expected", plan.expected},
          {"file", fmt::format("plans/v{}_plan.md", plan.version)}};
}

void show_plan(const Common& common, const workspace::Plan& plan) {
  if (common.json)
    print_json(plan_json(plan));
  else
    print(fmt::format("v{} {}: {}\n{}\nplans/v{}_plan.md\n", plan.version, plan.category,
                      plan.action, plan.expected, plan.version));
}

Result<int> do_baseline(const Common& common, const StageOptions& options) {
  BURNISH_TRY_ASSIGN(auto loop, open_loop(common, common.folder));
  BURNISH_TRY_ASSIGN(auto bench, open_bench(common, loop->workspace()));
  auto tools = bench.tools();
  BURNISH_TRY(loop->baseline(
      tools, options.allow_weak ? loop::Loop::AllowWeak::yes : loop::Loop::AllowWeak::no));
  BURNISH_TRY_ASSIGN(const auto records, loop->workspace().records());
  if (common.json)
    print_json(workspace::to_json(records.back()));
  else
    print("baseline_report.md\n");
  return 0;
}

/// A plan to fill in, for the version that is due and the strongest finding of its profile.
Result<int> print_template(const Common& common) {
  BURNISH_TRY_ASSIGN(const auto workspace, open_to_read(common.folder));
  BURNISH_TRY_ASSIGN(const auto journal, workspace.journal());
  BURNISH_TRY_ASSIGN(const auto state, loop::state_of(journal));
  BURNISH_TRY(loop::require(state, loop::Stage::plan, workspace.task()));
  const fs::path file = workspace.profile_folder(state.incumbent) / "evidence.json";
  BURNISH_TRY_ASSIGN(const std::string text, real_file_system().read(file));
  BURNISH_TRY_ASSIGN(const auto evidence, loop::read_evidence(text, file.string()));
  workspace::Plan plan;
  plan.version = state.version;
  plan.parent = state.incumbent;
  plan.agent = "person";
  if (!evidence.findings.empty()) {
    const auto& finding = evidence.findings.front();
    plan.category = finding.category;
    plan.findings = {finding.id};
    plan.bound = finding.headroom;
  }
  plan.action = "the one change, in a sentence";
  plan.expected = "the effect that you expect, with its arithmetic";
  plan.risks = {"what may go wrong"};
  plan.rollback = fmt::format("v{} is restored", state.incumbent);
  plan.search_log = {{"card:ID", "L1", "what you looked for", "what the source says",
                      "what that means here", false}};
  print(workspace::to_markdown(plan));
  return 0;
}

Result<int> do_plan(const Common& common, const StageOptions& options) {
  if (options.blank) return print_template(common);
  BURNISH_TRY_ASSIGN(auto loop, open_loop(common, common.folder));
  BURNISH_TRY_ASSIGN(auto bench, open_bench(common, loop->workspace()));
  auto tools = bench.tools();
  if (!options.check.empty()) {
    BURNISH_TRY_ASSIGN(const auto plan, loop->accept_plan(tools, options.check));
    show_plan(common, plan);
    return 0;
  }
  BURNISH_TRY_ASSIGN(auto agent, open_agent(options));
  BURNISH_TRY_ASSIGN(const auto plan, loop->plan(tools, *agent));
  if (!plan)
    return refused("the " + agent->name() + " sees no direction that was not tried")
        .with_hint("write a plan and give it with `burnish plan --check FILE`");
  show_plan(common, *plan);
  return 0;
}

Result<int> do_implement(const Common& common, const StageOptions& options) {
  BURNISH_TRY_ASSIGN(auto loop, open_loop(common, common.folder));
  BURNISH_TRY_ASSIGN(auto bench, open_bench(common, loop->workspace()));
  auto tools = bench.tools();
  if (options.agent == "none") {
    BURNISH_TRY(loop->accept_change(tools));
  } else {
    BURNISH_TRY_ASSIGN(auto agent, open_agent(options));
    BURNISH_TRY(loop->implement(tools, *agent));
  }
  BURNISH_TRY_ASSIGN(const auto state, loop->state());
  const auto due = loop::todo(state, loop->workspace().task()).front();
  if (common.json)
    print_json(
        {{"version", fmt::format("v{}", state.version)}, {"stage", loop::to_string(state.next)}});
  else
    print("next: " + due.verb + "\n");
  return 0;
}

Result<int> do_gate(const Common& common) {
  BURNISH_TRY_ASSIGN(auto loop, open_loop(common, common.folder));
  BURNISH_TRY_ASSIGN(auto bench, open_bench(common, loop->workspace()));
  auto tools = bench.tools();
  BURNISH_TRY_ASSIGN(const auto record, loop->gate(tools));
  if (common.json) {
    print_json(workspace::to_json(record));
  } else {
    print(fmt::format("{} {}\n", record.version, record.quality_gate.result));
    for (const auto& [part, text] : record.quality_gate.parts)
      print(fmt::format("  {}: {}\n", part, text));
  }
  return record.quality_gate.result == "PASS"           ? 0
         : record.quality_gate.result == "TIMEOUT_FAIL" ? exit_code(ErrorKind::timeout)
                                                        : exit_code(ErrorKind::refused);
}

Result<int> do_commit(const Common& common) {
  BURNISH_TRY_ASSIGN(auto loop, open_loop(common, common.folder));
  BURNISH_TRY_ASSIGN(auto bench, open_bench(common, loop->workspace()));
  auto tools = bench.tools();
  BURNISH_TRY_ASSIGN(const auto before, loop->state());
  BURNISH_TRY_ASSIGN(const auto shift, loop->commit(tools));
  BURNISH_TRY_ASSIGN(const auto record, loop->workspace().record(before.version));
  if (common.json)
    print_json(workspace::to_json(record));
  else
    print(shift == loop::Shift::accepted
              ? record.version + " is kept\n"
              : record.version + " is put back: " + record.quality_gate.failure_reason + "\n");
  return 0;
}

Result<int> do_stop(const Common& common, const std::string& reason) {
  BURNISH_TRY_ASSIGN(auto loop, open_loop(common, common.folder));
  BURNISH_TRY(loop->stop(reason));
  BURNISH_TRY_ASSIGN(const auto summary, loop::summarize(loop->workspace()));
  print_summary(common, summary);
  return 0;
}

}  // namespace

void add_stages(CommandLine& line, Common& common) {
  auto options = std::make_shared<StageOptions>();
  auto baseline = line.verb("baseline", "judge and time v0");
  baseline.device_option(common);
  baseline.flag("--allow-weak", options->allow_weak,
                "go on although the task lets a null candidate pass");
  baseline.action([&common, options] { return do_baseline(common, *options); });

  auto plan = line.verb("plan", "choose one change of one category");
  plan.device_option(common);
  plan.option("--agent", options->agent, "tuner or replay (default: tuner)");
  plan.option("--replay", options->replay, "folder with the steps of a recorded story");
  plan.flag("--template", options->blank, "print a plan to fill in, for --check");
  plan.option("--check", options->check,
              "a plan that you wrote: accept it, or say what refuses it");
  plan.action([&common, options] {
    if (options->agent.empty()) options->agent = "tuner";
    return do_plan(common, *options);
  });

  auto implement = line.verb("implement", "make the planned change, or take the one you made");
  implement.device_option(common);
  implement.option("--agent", options->agent,
                   "tuner, replay, or none: the change is in the working tree (default)");
  implement.option("--replay", options->replay, "folder with the steps of a recorded story");
  implement.action([&common, options] {
    if (options->agent.empty()) options->agent = "none";
    return do_implement(common, *options);
  });

  auto gate = line.verb("gate", "judge the change");
  gate.device_option(common);
  gate.action([&common] { return do_gate(common); });

  auto commit = line.verb("commit", "keep the change, or put the kernel back");
  commit.device_option(common);
  commit.action([&common] { return do_commit(common); });

  auto reason = std::make_shared<std::string>("by an explicit word");
  auto stop = line.verb("stop", "end the optimisation here");
  stop.option("--reason", *reason, "why");
  stop.action([&common, reason] { return do_stop(common, *reason); });
}

}  // namespace burnish::cli
