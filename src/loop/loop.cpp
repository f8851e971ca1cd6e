#include "loop/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "loop/gate.h"
#include "loop/outcomes.h"
#include "loop/situation.h"
#include "loop/subject.h"
#include "loop/texts.h"

namespace burnish::loop {

using workspace::Entry;
using workspace::Files;
using workspace::Plan;
using workspace::plan_path;
using workspace::Record;
using workspace::record_path;
using workspace::report_path;
using Phase = workspace::Entry::Phase;

namespace {

std::string label(int version) { return fmt::format("v{}", version); }

/// The candidate's own files as a commit takes them.
std::vector<std::string> candidate_paths(const workspace::TaskSpec& task) {
  std::vector<std::string> paths = {task.kernel_file};
  if (!task.launch_file.empty()) paths.push_back(task.launch_file);
  paths.insert(paths.end(), task.also.begin(), task.also.end());
  return paths;
}

std::vector<std::string> generated_paths(int version) {
  return {record_path(version), plan_path(version), report_path(version), "README.md"};
}

/// Times and rates of one side of a bench, into the record.
Result<void> fill_performance(Record::Performance& performance, const measure::Task& task,
                              const measure::Bench& bench, const std::string& version,
                              const std::vector<hardware::Ceiling>& roofs) {
  std::vector<std::pair<double, double>> seconds, flops, bandwidth, compute, memory;
  for (const auto& workload : task.workloads)
    for (const auto& timing : bench.results) {
      if (timing.version != version || timing.workload != workload.name) continue;
      performance.latency_us_by_shape[workload.name] = timing.latency.p50 * 1e6;
      seconds.emplace_back(timing.latency.p50, workload.weight);
      BURNISH_TRY_ASSIGN(const auto roof, workload_roofline(task, workload, timing.latency.p50,
                                                            timing.method.cache_state(), roofs));
      flops.emplace_back(roof.flops_rate, workload.weight);
      bandwidth.emplace_back(roof.bandwidth_rate, workload.weight);
      compute.emplace_back(roof.compute_utilization, workload.weight);
      memory.emplace_back(roof.bandwidth_utilization, workload.weight);
    }
  if (seconds.empty()) return {};
  performance.latency_us = weighted_geometric_mean(seconds) * 1e6;
  const double rate = weighted_geometric_mean(flops);
  if (rate > 0) {
    performance.tflops = rate * 1e-12;
    performance.tflops_peak_utilization_pct = weighted_geometric_mean(compute) * 100;
  }
  performance.bandwidth_gbps = weighted_geometric_mean(bandwidth) * 1e-9;
  performance.bandwidth_peak_utilization_pct = weighted_geometric_mean(memory) * 100;
  performance.method = bench.method.text();
  performance.device = bench.device;
  return {};
}

double worst_error(const measure::Verification& verification) {
  double worst = 0;
  for (const auto& check : verification.checks) worst = std::max(worst, check.errors.global);
  return worst;
}

/// Utilization of the roofline's ceiling from a record's latencies; absent without them.
Result<std::optional<double>> utilization_of(const measure::Task& task, const Record& record,
                                             const device::DeviceInfo& device,
                                             const std::vector<hardware::Ceiling>& roofs) {
  std::vector<std::pair<double, double>> values;
  for (const auto& workload : task.workloads) {
    if (!workload.timed()) continue;
    const auto time = record.performance.latency_us_by_shape.find(workload.name);
    if (time == record.performance.latency_us_by_shape.end()) return std::optional<double>();
    const double seconds = time->second * 1e-6;
    BURNISH_TRY_ASSIGN(
        const auto roof,
        workload_roofline(task, workload, seconds, measure::usual_caches(seconds, device), roofs));
    values.emplace_back(roof.utilization, workload.weight);
  }
  if (values.empty()) return std::optional<double>();
  return std::optional(weighted_geometric_mean(values));
}

Error no_record(int version) {
  return bad_input("the record is missing")
      .at({record_path(version), 0, 0})
      .with_hint(fmt::format("put it back: git checkout HEAD -- {}", record_path(version)));
}

const Record* find_record(const std::vector<Record>& records, int version) {
  for (const auto& record : records)
    if (record.number == version) return &record;
  return nullptr;
}

}  // namespace

/// Trials of a search, judged cheaply and written to trials.jsonl before they are handed back.
class Evaluations : public agent::Evaluator {
 public:
  Evaluations(Loop& loop, Tools& tools, int version)
      : loop_(loop),
        tools_(tools),
        version_(version),
        task_(judged_task(loop.workspace_.task(), loop.reference_)),
        begin_(loop.workspace_.world().clock.steady()) {}

  Result<agent::Trial> evaluate(const Files& files,
                                const workspace::Configuration& configuration) override {
    agent::Trial trial;
    trial.configuration = configuration;
    const std::chrono::duration<double> spent = loop_.workspace_.world().clock.steady() - begin_;
    const double budget = loop_.workspace_.task().agent_budget_seconds;
    // The first is the incumbent's, without which nothing can be chosen.
    if (count_ > 0 && budget > 0 && spent.count() > budget)
      trial.status = "not measured: agent.budget_seconds is used up";
    else
      BURNISH_TRY(measure(files, trial));
    ++count_;
    Json line = {{"trial", count_}, {"status", trial.status}};
    line["configuration"] = Json::object();
    for (const auto& [name, value] : configuration)
      line["configuration"][name] = workspace::to_text(value);
    if (trial.seconds) line["seconds"] = *trial.seconds;
    BURNISH_TRY(loop_.workspace_.world().files.append(
        loop_.workspace_.profile_folder(version_) / "trials.jsonl", dump_json_line(line) + "\n"));
    tools_.observer.progress(fmt::format(
        "trial {}: {}", count_, trial.seconds ? with_prefix(*trial.seconds, "s") : trial.status));
    return trial;
  }
  int count() const { return count_; }

 private:
  Result<void> measure(const Files& files, agent::Trial& trial) {
    const auto& spec = loop_.workspace_.task();
    if (const auto why = workspace::violated_constraint(spec, trial.configuration); !why.empty()) {
      trial.status = "constraint: " + why;
      return {};
    }
    Files changed = files;
    std::string& launch = changed.at(spec.launch_file);
    BURNISH_TRY_ASSIGN(launch,
                       workspace::with_tunables(launch, spec.launch_file, trial.configuration));
    auto candidate = judged_candidate(spec, changed, "trial", tools_.device.info().arch);
    if (!candidate) {
      trial.status = "invalid: " + candidate.error().message;
      return {};
    }
    std::vector<std::string> names;
    std::vector<std::pair<double, double>> seconds;
    for (const auto& workload : task_.workloads) {
      if (!workload.timed()) continue;
      names.push_back(workload.name);
      seconds.emplace_back(0, workload.weight);
    }
    auto timed = measure::quick_trial(tools_.device, task_, *candidate, names, loop_.trial_inputs_,
                                      {}, tools_.random);
    if (!timed) {
      const auto kind = timed.error().kind;
      if (kind != ErrorKind::refused && kind != ErrorKind::timeout && kind != ErrorKind::bad_input)
        return std::move(timed.error()).in("measuring a trial");
      trial.status = timed.error().message;
      return {};
    }
    for (std::size_t i = 0; i < timed->size(); ++i) seconds[i].first = (*timed)[i].seconds;
    trial.seconds = weighted_geometric_mean(seconds);
    trial.status = "ok";
    return {};
  }

  Loop& loop_;
  Tools& tools_;
  int version_;
  measure::Task task_;
  std::chrono::nanoseconds begin_;
  int count_ = 0;
};

Loop::Loop(workspace::Workspace workspace) : workspace_(std::move(workspace)) {}

Result<std::unique_ptr<Loop>> Loop::open(const fs::path& folder, workspace::World world,
                                         std::string& report) {
  BURNISH_TRY_ASSIGN(auto workspace, workspace::Workspace::open(
                                         folder, workspace::Workspace::Access::write, world));
  std::unique_ptr<Loop> loop(new Loop(std::move(workspace)));
  BURNISH_TRY_ASSIGN(loop->reference_, open_reference(loop->workspace_));
  BURNISH_TRY_ASSIGN(report, loop->recover());
  return loop;
}

Result<State> Loop::state() const {
  BURNISH_TRY_ASSIGN(const auto journal, workspace_.journal());
  return state_of(journal);
}

Result<Files> Loop::incumbent_files(const State& state) const {
  BURNISH_TRY_ASSIGN(const auto commit, workspace_.commit_of(state.incumbent));
  if (!commit)
    return bad_input(fmt::format("HEAD has no commit of v{}: another commit is checked out, or "
                                 "its history was rewritten",
                                 state.incumbent))
        .at({workspace_.folder().string()})
        .with_hint("check out the branch that has it; `git reflog` names what was checked out");
  return workspace_.candidate_at(*commit);
}

Result<void> Loop::require_incumbent(const State& state) const {
  BURNISH_TRY_ASSIGN(const Files incumbent, incumbent_files(state));
  BURNISH_TRY_ASSIGN(const Files files, workspace_.candidate());
  std::vector<std::string> changed;
  // Attributes of a user's repository may turn line ends on their way into git.
  const auto plain = [](const std::string& text) { return replace_all(text, "\r\n", "\n"); };
  for (const auto& [name, text] : files)
    if (plain(incumbent.at(name)) != plain(text)) changed.push_back(name);
  if (changed.empty()) return {};
  BURNISH_TRY_ASSIGN(const auto commit, workspace_.commit_of(state.incumbent));
  return refused(fmt::format("{} differs from v{}, and no plan covers the change",
                             join(changed, ", "), state.incumbent))
      .at({(workspace_.folder() / changed.front()).string()})
      .with_hint(fmt::format("put it back with `git checkout {} -- {}`, or have it judged: "
                             "`burnish plan --template`, `burnish plan --check FILE`, "
                             "`burnish implement`, `burnish gate`",
                             commit->substr(0, 12), join(changed, " ")));
}

Result<std::string> Loop::recover() {
  BURNISH_TRY_ASSIGN(State state, this->state());
  BURNISH_TRY_ASSIGN(const auto journal, workspace_.journal());
  BURNISH_TRY_ASSIGN(const auto newest, workspace_.newest_commit());
  const bool known = std::any_of(journal.begin(), journal.end(), [&](const Entry& entry) {
    return entry.version >= newest.value_or(0);
  });
  if (newest && !known)
    return bad_input(
               fmt::format("git has a commit of v{}, and the journal ends before it", *newest))
        .at({".burnish/journal.jsonl", static_cast<int>(journal.size()), 1})
        .with_hint(
            "lines at its end are lost, and the next version would take a number again: restore "
            "the journal from a copy, or go on from the records in a new workspace with `burnish "
            "import`");
  std::string recovered;
  if (state.unfinished) {
    BURNISH_TRY_ASSIGN(recovered, recover_transition(state));
    BURNISH_TRY_ASSIGN(state, this->state());
  }
  BURNISH_TRY_ASSIGN(const std::string undone, undo_spent_enabler(state));
  return recovered + (recovered.empty() || undone.empty() ? "" : "; ") + undone;
}

Result<std::string> Loop::undo_spent_enabler(const State& state) {
  const int most = workspace_.task().enabler_iterations;
  // Only between two iterations: what is in the making is judged first.
  const bool between = state.next == Stage::profile || state.next == Stage::plan;
  if (!between || !state.enabler || state.enabler->judged < most) return std::string();
  const State::Enabler enabler = *state.enabler;
  BURNISH_TRY(undo_enabler(
      enabler, fmt::format("no gain followed within {} iteration{}", most, most == 1 ? "" : "s")));
  return fmt::format("no gain followed the enabler v{}: undid it, v{} is back", enabler.version,
                     enabler.parent);
}

Result<void> Loop::undo_enabler(const State::Enabler& enabler, const std::string& why) {
  const std::string label = loop::label(enabler.version);
  BURNISH_TRY_ASSIGN(const auto accepted, workspace_.commit_of(enabler.version));
  BURNISH_TRY_ASSIGN(const auto parent, workspace_.commit_of(enabler.parent));
  if (!accepted || !parent)
    return bad_input(fmt::format("git lacks the commit of v{}: its history was rewritten",
                                 accepted ? enabler.parent : enabler.version))
        .at({workspace_.folder().string()});
  BURNISH_TRY(workspace_.append("undo", Phase::begin, enabler.version,
                                {{"to", enabler.parent}, {"commit", *accepted}, {"reason", why}}));
  BURNISH_TRY_ASSIGN(const Files tried, workspace_.candidate_at(*accepted));
  for (const auto& [name, text] : tried)
    BURNISH_TRY(workspace_.world().files.write(
        workspace_.profile_folder(enabler.version) / "candidate" / name, text));
  BURNISH_TRY_ASSIGN(const Files back, workspace_.candidate_at(*parent));
  BURNISH_TRY(workspace_.put_candidate(back));
  BURNISH_TRY_ASSIGN(const auto records, workspace_.records());
  auto paths = candidate_paths(workspace_.task());
  for (Record record : records) {
    if (record.number < enabler.version || record.quality_gate.result != "PASS") continue;
    record.quality_gate.result = "FAIL";
    record.quality_gate.failure_reason =
        record.number == enabler.version
            ? "an enabler that " + why
            : fmt::format("it builds on the enabler {}, that {}", label, why);
    record.pitfalls_and_fixes.push_back({"performance", record.quality_gate.failure_reason, "",
                                         "restored " + loop::label(enabler.parent), ""});
    BURNISH_TRY(workspace_.put_record(record));
    paths.push_back(record_path(record.number));
  }
  BURNISH_TRY(workspace_.commit(
      fmt::format("V{0}: revert V{0} (an enabler that {1})", enabler.version, why),
      fmt::format("v{} is back.", enabler.parent), enabler.version, paths));
  return workspace_.append("undo", Phase::done, enabler.version, {{"to", enabler.parent}});
}

/// What a dead process left is finished when its commit exists, and undone otherwise.
Result<std::string> Loop::recover_transition(const State& state) {
  const Entry entry = *state.unfinished;
  auto& files = workspace_.world().files;
  const bool commits = entry.event == "baseline" || entry.event == "commit" ||
                       entry.event == "restore" || entry.event == "undo";
  if (commits) {
    BURNISH_TRY_ASSIGN(const auto commit, workspace_.commit_of(entry.version));
    // An enabler has a commit already: the one that accepted it.
    const auto detail = Json::parse(entry.detail_text, nullptr, false);
    const std::string earlier = detail.is_object() ? detail.value("commit", "") : "";
    if (commit && *commit != earlier) {
      // The candidate was written before the commit; what differs from it now is the user's.
      BURNISH_TRY(workspace_.restore(workspace::Restore::texts));
      BURNISH_TRY(workspace_.unstage());
      BURNISH_TRY(workspace_.append(entry.event, Phase::done, entry.version, detail));
      return fmt::format("`{}` of v{} had been cut off after its commit: finished it", entry.event,
                         entry.version);
    }
  }
  if (entry.event == "baseline") {
    BURNISH_TRY(files.remove_all(workspace_.folder() / record_path(entry.version)));
    BURNISH_TRY(files.remove_all(workspace_.folder() / "baseline_report.md"));
    // The kernel stays: until v0 is committed it is the user's, and may be of no commit.
    BURNISH_TRY(workspace_.restore(workspace::Restore::texts));
  } else if (entry.event == "profile") {
    // What the gate and the trials of the version left there stays.
    for (const char* name : {"evidence.json", "summary.txt"})
      BURNISH_TRY(files.remove_all(workspace_.profile_folder(entry.version) / name));
  } else if (entry.event == "plan") {
    BURNISH_TRY(files.remove_all(workspace_.folder() / plan_path(entry.version)));
  } else if (entry.event == "implement") {
    BURNISH_TRY_ASSIGN(const auto commit, workspace_.commit_of(state.incumbent));
    if (commit) {
      BURNISH_TRY_ASSIGN(const Files incumbent, workspace_.candidate_at(*commit));
      // It may be what somebody wrote there since.
      if (const auto found = workspace_.candidate())
        for (const auto& [name, text] : *found)
          if (incumbent.at(name) != text)
            BURNISH_TRY(
                files.write(workspace_.profile_folder(entry.version) / "put-aside" / name, text));
      BURNISH_TRY(workspace_.put_candidate(incumbent));
    }
  } else if (entry.event == "undo") {
    BURNISH_TRY(workspace_.restore());
  } else if (entry.event == "gate") {
    BURNISH_TRY(files.remove_all(workspace_.folder() / record_path(entry.version)));
    BURNISH_TRY(files.remove_all(workspace_.folder() / report_path(entry.version)));
  }
  // A commit or restore without its commit is simply due again: record and report are still there.
  if (commits) BURNISH_TRY(workspace_.unstage());
  BURNISH_TRY(workspace_.append("undone", Phase::done, entry.version, {{"event", entry.event}}));
  return fmt::format("`{}` of v{} had been cut off: undid it", entry.event, entry.version);
}

Result<void> Loop::baseline(Tools& tools, AllowWeak allow) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  const auto& spec = workspace_.task();
  BURNISH_TRY(require(state, Stage::baseline, spec));
  BURNISH_TRY_ASSIGN(const auto journal, workspace_.journal());
  int version = 0;
  for (const auto& entry : journal)
    if (entry.event == "import") version = std::max(version, entry.version + 1);

  const measure::Task task = judged_task(spec, reference_);
  tools.observer.stage(Stage::baseline, version);
  tools.observer.progress("linting the task");
  BURNISH_TRY_ASSIGN(const measure::Lint lint, measure::lint(task, tools.random));
  if (!lint.weaknesses.empty() && allow == AllowWeak::no) {
    const auto& weakness = lint.weaknesses.front();
    return refused(fmt::format("the task is too weak to judge with: {} (workload {})",
                               weakness.what, weakness.workload))
        .at({(workspace_.folder() / "burnish.toml").string()})
        .with_hint(weakness.tighten);
  }

  BURNISH_TRY(workspace_.append("baseline", Phase::begin, version, Json::object()));
  BURNISH_TRY_ASSIGN(const Files files, workspace_.candidate());
  BURNISH_TRY_ASSIGN(const auto candidate,
                     judged_candidate(spec, files, label(version), tools.device.info().arch));
  tools.observer.progress(fmt::format("checking {}", label(version)));
  BURNISH_TRY_ASSIGN(const auto verification,
                     verify_variants(tools.device, spec, reference_, Workloads::of_the_gate, files,
                                     candidate.label, {}, tools.random));
  if (verification.verdict != measure::Verdict::pass) {
    BURNISH_TRY(workspace_.append("undone", Phase::done, version, {{"event", "baseline"}}));
    return refused("the baseline does not pass its own checks: " + verification.why)
        .at({(workspace_.folder() / spec.kernel_file).string()})
        .with_hint(
            "mend the kernel, the reference or the tolerance; burnish makes right kernels fast");
  }
  tools.observer.progress("measuring this device's ceilings");
  BURNISH_TRY_ASSIGN(const auto roofs, ceilings(workspace_, tools.device));
  tools.observer.progress(fmt::format("timing {}", label(version)));
  BURNISH_TRY_ASSIGN(const auto bench,
                     measure::bench(tools.device, task, {candidate}, {}, tools.timing, roofs,
                                    tools.random, workspace_.world().clock));

  Record record;
  record.number = version;
  record.version = label(version);
  record.timestamp = iso_time(workspace_.world().clock.now());
  record.artefact_hash = workspace_.artefact_hash(files);
  record.optimization.action_category = "baseline";
  record.optimization.action_description = "the kernel as it was given";
  record.correctness.rel_err = worst_error(verification);
  record.correctness.status = "PASS";
  record.quality_gate.result = "PASS";
  record.quality_gate.parts["correctness"] =
      fmt::format("{} checks passed", verification.checks.size());
  record.performance.verdict = "baseline";
  BURNISH_TRY(fill_performance(record.performance, task, bench, candidate.label, roofs));
  record.performance.speedup_over_baseline = 1;
  BURNISH_TRY(workspace_.put_record(record));
  auto& out = workspace_.world().files;
  BURNISH_TRY(out.write(workspace_.profile_folder(version) / "baseline-checks.json",
                        dump_json(measure::to_json(verification))));
  BURNISH_TRY(workspace_.put_text("baseline_report.md",
                                  baseline_report(spec, record, verification, bench, roofs)));
  BURNISH_TRY(write_readme(tools));
  // With what was judged and by what, which may have been edited since `init`.
  auto paths = candidate_paths(spec);
  for (const std::string& path :
       {std::string("burnish.toml"), spec.reference_file, record_path(version),
        std::string("baseline_report.md"), std::string("README.md")})
    paths.push_back(path);
  BURNISH_TRY(workspace_.commit(commit_subject(record, "baseline kernel"), "", version, paths));
  return workspace_.append("baseline", Phase::done, version, Json::object());
}

Result<evidence::KernelEvidence> Loop::profile(Tools& tools) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  const auto& spec = workspace_.task();
  BURNISH_TRY(require(state, Stage::profile, spec));
  tools.observer.stage(Stage::profile, state.incumbent);
  BURNISH_TRY_ASSIGN(const Files files, incumbent_files(state));
  BURNISH_TRY(workspace_.append("profile", Phase::begin, state.incumbent, Json::object()));
  BURNISH_TRY_ASSIGN(const auto candidate, judged_candidate(spec, files, label(state.incumbent),
                                                            tools.device.info().arch));
  const measure::Task task = judged_task(spec, reference_);
  BURNISH_TRY_ASSIGN(auto evidence, profile_candidate(workspace_, tools, task, candidate,
                                                      workspace_.profile_folder(state.incumbent)));
  BURNISH_TRY(workspace_.append("profile", Phase::done, state.incumbent, Json::object()));
  return evidence;
}

Result<fs::path> Loop::profile_version(Tools& tools, const std::string& version) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  BURNISH_TRY_ASSIGN(const int number, version_number(version));
  if (state.next == Stage::profile && number == state.incumbent) {
    BURNISH_TRY(profile(tools));
    return workspace_.profile_folder(number);
  }
  const auto& spec = workspace_.task();
  BURNISH_TRY_ASSIGN(const Files files, files_of(workspace_, version));
  BURNISH_TRY_ASSIGN(const auto candidate,
                     judged_candidate(spec, files, label(number), tools.device.info().arch));
  fs::path folder = workspace_.profile_folder(number);
  for (int again = 2; workspace_.world().files.exists(folder / "evidence.json"); ++again)
    folder.replace_filename(fmt::format("{}.{}", label(number), again));
  BURNISH_TRY(
      profile_candidate(workspace_, tools, judged_task(spec, reference_), candidate, folder));
  return folder;
}

Result<agent::Situation> Loop::situation(Tools& tools, const State& state,
                                         const std::vector<Record>& records) const {
  const auto& spec = workspace_.task();
  const fs::path file = workspace_.profile_folder(state.incumbent) / "evidence.json";
  BURNISH_TRY_ASSIGN(const std::string text, real_file_system().read(file));
  BURNISH_TRY_ASSIGN(Files files, incumbent_files(state));
  BURNISH_TRY_ASSIGN(const auto launch, workspace_.launch(files));

  agent::Situation situation{spec,
                             tools.device.info(),
                             tools.cards,
                             state.version,
                             state.incumbent,
                             workspace_.artefact_hash(files),
                             files,
                             workspace::configuration(spec, launch),
                             {},
                             {},
                             fmt::format("profiles/v{}/evidence.json", state.incumbent),
                             {}};
  situation.subject.vendor = tools.device.info().vendor;
  situation.subject.arch = tools.device.info().arch;
  BURNISH_TRY_ASSIGN(auto recorded, read_evidence(text, file.string()));
  situation.subject.metrics = std::move(recorded.metrics);
  situation.findings = std::move(recorded.findings);
  for (const auto& record : records)
    if (!record.masked) situation.history.push_back(record);
  return situation;
}

Result<agent::Situation> Loop::planning_situation(Tools& tools, const State& state) const {
  BURNISH_TRY_ASSIGN(const auto records, workspace_.records());
  BURNISH_TRY_ASSIGN(auto situation, this->situation(tools, state, records));
  std::vector<std::string> notes;
  BURNISH_TRY_ASSIGN(situation.outcomes,
                     past_outcomes(workspace_, records, tools.device.info().name, notes));
  std::vector<fs::path> folders;
  for (const auto& folder : workspace_.task().reference_projects)
    folders.push_back(workspace_.folder() / folder);
  if (!folders.empty()) {
    BURNISH_TRY_ASSIGN(auto references, knowledge::ReferenceFolders::open(folders));
    notes.insert(notes.end(), references.left_out().begin(), references.left_out().end());
    situation.references = std::make_shared<knowledge::ReferenceFolders>(std::move(references));
  }
  for (const auto& note : notes) tools.observer.note(note);
  return situation;
}

Result<std::optional<Plan>> Loop::plan(Tools& tools, agent::Agent& agent) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  BURNISH_TRY(require(state, Stage::plan, workspace_.task()));
  tools.observer.stage(Stage::plan, state.version);
  BURNISH_TRY_ASSIGN(const auto situation, planning_situation(tools, state));
  BURNISH_TRY_ASSIGN(auto plan, agent.plan(situation));
  if (!plan) return plan;
  for (auto& search : plan->search_log) search.is_new = agent::is_new(search, situation.history);
  const auto refusals = objections(*plan, state, situation);
  if (!refusals.empty())
    return refused("the plan of " + agent.name() + " does not hold: " + join(refusals, "; "));
  BURNISH_TRY(workspace_.append("plan", Phase::begin, plan->version, {{"agent", agent.name()}}));
  BURNISH_TRY(workspace_.put_text(plan_path(plan->version), workspace::to_markdown(*plan)));
  BURNISH_TRY(
      workspace_.append("plan", Phase::done, plan->version, {{"category", plan->category}}));
  return plan;
}

Result<Plan> Loop::accept_plan(Tools& tools, const fs::path& file) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  BURNISH_TRY(require(state, Stage::plan, workspace_.task()));
  BURNISH_TRY_ASSIGN(const std::string text, workspace_.world().files.read(file));
  BURNISH_TRY_ASSIGN(Plan plan, workspace::parse_plan(text, file.string()));
  BURNISH_TRY_ASSIGN(const auto situation, planning_situation(tools, state));
  plan.parent_hash = situation.parent_hash;
  for (auto& search : plan.search_log) search.is_new = agent::is_new(search, situation.history);
  const auto refusals = objections(plan, state, situation);
  if (!refusals.empty())
    return refused("the plan does not hold: " + join(refusals, "; ")).at({file.string()});
  BURNISH_TRY(workspace_.append("plan", Phase::begin, plan.version, {{"agent", plan.agent}}));
  BURNISH_TRY(workspace_.put_text(plan_path(plan.version), workspace::to_markdown(plan)));
  BURNISH_TRY(workspace_.append("plan", Phase::done, plan.version, {{"category", plan.category}}));
  return plan;
}

namespace {

Result<Plan> read_plan(const workspace::Workspace& workspace, int version) {
  BURNISH_TRY_ASSIGN(const std::string text, workspace.text(plan_path(version)));
  return workspace::parse_plan(text, plan_path(version));
}

}  // namespace

Result<void> Loop::implement(Tools& tools, agent::Agent& agent) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  const auto& spec = workspace_.task();
  BURNISH_TRY(require(state, Stage::implement, spec));
  BURNISH_TRY(require_incumbent(state));
  BURNISH_TRY_ASSIGN(const Plan plan, read_plan(workspace_, state.version));
  tools.observer.stage(Stage::implement, state.version);
  BURNISH_TRY(
      workspace_.append("implement", Phase::begin, state.version, {{"agent", agent.name()}}));
  BURNISH_TRY_ASSIGN(const auto records, workspace_.records());
  BURNISH_TRY_ASSIGN(const auto situation, this->situation(tools, state, records));
  BURNISH_TRY(workspace_.world().files.remove_all(workspace_.profile_folder(state.version) /
                                                  "trials.jsonl"));
  Evaluations evaluations(*this, tools, state.version);
  BURNISH_TRY_ASSIGN(const Files files, agent.implement(situation, plan, evaluations));
  for (const auto& [name, text] : files)
    if (!situation.candidate.contains(name))
      return refused("the change touches " + name + ", which is not the candidate's");
  BURNISH_TRY(workspace_.put_candidate(files));
  if (evaluations.count() > 0)
    tools.observer.note(
        fmt::format("{} trials, in profiles/v{}/trials.jsonl", evaluations.count(), state.version));
  return workspace_.append("implement", Phase::done, state.version,
                           {{"hash", workspace_.artefact_hash(files)}});
}

Result<void> Loop::accept_change(Tools& tools) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  const auto& spec = workspace_.task();
  BURNISH_TRY(require(state, Stage::implement, spec));
  BURNISH_TRY_ASSIGN(const auto changed, workspace_.changed_files(workspace_.folder()));
  const auto own = candidate_paths(spec);
  for (const auto& name : changed) {
    if (name.starts_with("plans/") || name.starts_with("memory/") || name.starts_with("reports/") ||
        name == "README.md")
      continue;
    if (std::find(own.begin(), own.end(), name) == own.end())
      return refused("the change touches " + name + ", which is not the candidate's")
          .with_hint("only " + join(own, ", ") + " may differ; put the rest back");
  }
  BURNISH_TRY_ASSIGN(const Files files, workspace_.candidate());
  // Not by what git says: who made the change may have committed it.
  BURNISH_TRY_ASSIGN(const Files incumbent, incumbent_files(state));
  if (files == incumbent)
    return refused("nothing was changed: the kernel is that of v" + std::to_string(state.incumbent))
        .with_hint(fmt::format("make the change of plans/v{}_plan.md in {}", state.version,
                               join(own, ", ")));
  tools.observer.stage(Stage::implement, state.version);
  return workspace_.append("implement", Phase::done, state.version,
                           {{"hash", workspace_.artefact_hash(files)}});
}

Result<Record> Loop::gate(Tools& tools) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  const auto& spec = workspace_.task();
  BURNISH_TRY(require(state, Stage::gate, spec));
  const int version = state.version;
  BURNISH_TRY_ASSIGN(const Plan plan, read_plan(workspace_, version));
  BURNISH_TRY_ASSIGN(const Files candidate, workspace_.candidate());
  BURNISH_TRY_ASSIGN(const Files incumbent, incumbent_files(state));
  BURNISH_TRY_ASSIGN(const auto records, workspace_.records());
  const Record* parent = find_record(records, state.incumbent);
  if (parent == nullptr) return no_record(state.incumbent);

  tools.observer.stage(Stage::gate, version);
  BURNISH_TRY(workspace_.append("gate", Phase::begin, version, Json::object()));
  const measure::Task task = judged_task(spec, reference_);
  const fs::path folder = workspace_.profile_folder(version);
  for (const auto& [name, text] : candidate)
    BURNISH_TRY(workspace_.world().files.write(folder / "candidate" / name, text));
  BURNISH_TRY_ASSIGN(
      const Judgement judgement,
      judge(workspace_, tools, task,
            {plan, incumbent, candidate, label(state.incumbent), label(version), {}}, folder));

  Record record;
  record.number = version;
  record.version = label(version);
  record.parent = state.incumbent;
  record.timestamp = iso_time(workspace_.world().clock.now());
  record.artefact_hash = workspace_.artefact_hash(candidate);
  record.optimization.action_category = plan.category;
  record.optimization.action_description = plan.action;
  record.optimization.expected_impact = plan.expected;
  record.optimization.risks_and_rollback =
      join(plan.risks, "; ") + (plan.risks.empty() ? "" : "; ") + plan.rollback;
  record.optimization.agent = plan.agent;
  record.optimization.enabler = plan.enabler;
  record.optimization.parameters["base"] = plan.parent_hash;
  for (const auto& [name, values] : plan.parameters)
    record.optimization.parameters["search." + name] = join(values, ",");
  if (const auto launch = workspace_.launch(candidate))
    for (const auto& [name, value] : workspace::configuration(spec, *launch))
      record.optimization.parameters[name] = workspace::to_text(value);
  record.profile_evidence.tool_used = tools.device.info().backend;
  record.profile_evidence.findings = plan.findings;
  record.profile_evidence.pointer = fmt::format("profiles/v{}/evidence.json", plan.parent);
  if (const auto situation = this->situation(tools, state, records)) {
    for (const auto& finding : situation->findings)
      if (!plan.findings.empty() && finding.id == plan.findings.front()) {
        record.profile_evidence.evidence_summary = finding.because;
        record.profile_evidence.evidence_chain =
            finding.because + " -> " + finding.id + " -> " + plan.action;
      }
    if (const Metric* bound = situation->subject.metrics.find("roofline.bound"))
      record.profile_evidence.bottleneck_type =
          bound->text == "compute" ? "compute_bound" : "memory_bound";
  }
  record.search_log = plan.search_log;
  for (const auto& search : plan.search_log)
    record.references.push_back({search.layer, search.source, search.actionability});
  record.isa_metric_progress = judgement.isa_targets;
  if (judgement.verification) {
    record.correctness.status = measure::to_string(judgement.verification->verdict);
    record.correctness.why = judgement.verification->why;
    if (judgement.verification->verdict == measure::Verdict::pass)
      record.correctness.rel_err = worst_error(*judgement.verification);
  }
  if (judgement.bench) {
    BURNISH_TRY_ASSIGN(const auto roofs, ceilings(workspace_, tools.device));
    BURNISH_TRY(
        fill_performance(record.performance, task, *judgement.bench, label(version), roofs));
    for (const auto& compared : judgement.bench->comparisons)
      if (compared.workload == "all") {
        record.performance.speedup_over_previous = compared.ratio;
        // Too few samples bound nothing; absent says so.
        if (std::isfinite(compared.interval.low) && std::isfinite(compared.interval.high))
          record.performance.interval = compared.interval;
        record.performance.verdict = measure::to_string(compared.verdict);
        record.performance.speedup_over_baseline =
            compared.ratio * parent->performance.speedup_over_baseline.value_or(1);
      }
  }
  record.quality_gate.result = judgement.result;
  record.quality_gate.failure_reason = judgement.reason;
  record.quality_gate.parts = judgement.parts;
  if (judgement.result != "PASS")
    record.pitfalls_and_fixes.push_back({judgement.result == "TIMEOUT_FAIL"    ? "timeout"
                                         : record.correctness.status == "FAIL" ? "accuracy"
                                                                               : "performance",
                                         judgement.reason, "",
                                         "restored v" + std::to_string(state.incumbent), ""});

  auto& out = workspace_.world().files;
  Json raw = Json::object();
  if (judgement.verification) raw["verification"] = measure::to_json(*judgement.verification);
  if (judgement.bench) raw["bench"] = measure::to_json(*judgement.bench);
  BURNISH_TRY(out.write(folder / "gate.json", dump_json(raw)));
  BURNISH_TRY(workspace_.put_text(report_path(version),
                                  iteration_report(plan, record, *parent, judgement)));
  BURNISH_TRY(workspace_.put_record(record));
  BURNISH_TRY(workspace_.append("gate", Phase::done, version,
                                {{"result", judgement.result}, {"hash", record.artefact_hash}}));
  return record;
}

Result<Shift> Loop::commit(Tools& tools) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  const auto& spec = workspace_.task();
  BURNISH_TRY(require(state, Stage::commit, spec));
  const int version = state.version;
  BURNISH_TRY_ASSIGN(const Record record, workspace_.record(version));
  BURNISH_TRY_ASSIGN(const Plan plan, read_plan(workspace_, version));
  tools.observer.stage(Stage::commit, version);
  const std::string& reason = record.quality_gate.failure_reason;
  // A record may be made stricter by a person; nobody but the gate lets a kernel pass.
  if (record.quality_gate.result == "PASS" &&
      (state.judged != "PASS" || record.artefact_hash != state.judged_hash))
    return refused(fmt::format("{} says PASS, and the gate said {}{}", record_path(version),
                               state.judged, state.judged == "PASS" ? " of other files" : ""))
        .at({(workspace_.folder() / record_path(version)).string()})
        .with_hint(fmt::format("the record was edited: put quality_gate.result back to {} and "
                               "artefact_hash to {}",
                               state.judged, state.judged_hash));
  if (record.quality_gate.result == "PASS") {
    BURNISH_TRY_ASSIGN(const Files files, workspace_.candidate());
    if (workspace_.artefact_hash(files) != state.judged_hash)
      return refused(fmt::format("the kernel differs from the one that was judged as v{}", version))
          .at({(workspace_.folder() / spec.kernel_file).string()})
          .with_hint("put the judged files back; what the gate saw is what is kept");
    const Json detail = awaits_gain(record) ? Json{{"enabler", true}} : Json::object();
    BURNISH_TRY(workspace_.append("commit", Phase::begin, version, detail));
    BURNISH_TRY(write_readme(tools));
    auto paths = candidate_paths(spec);
    for (auto& path : generated_paths(version)) paths.push_back(std::move(path));
    BURNISH_TRY(workspace_.commit(commit_subject(record, plan.category),
                                  plan.action + "\n\n" + record.profile_evidence.evidence_summary,
                                  version, paths));
    BURNISH_TRY(workspace_.append("commit", Phase::done, version, detail));
    BURNISH_TRY(settle(tools));
    return Shift::accepted;
  }
  // What was tried is kept beside its profile since the gate; the working tree goes back. What was
  // written there in the meantime is nobody's but the user's.
  BURNISH_TRY_ASSIGN(const Files incumbent, incumbent_files(state));
  const fs::path tried = workspace_.profile_folder(version) / "candidate";
  for (const auto& name : candidate_paths(spec)) {
    auto& files = workspace_.world().files;
    if (!files.exists(workspace_.folder() / name) || !files.exists(tried / name)) continue;
    BURNISH_TRY_ASSIGN(const std::string here, files.read(workspace_.folder() / name));
    BURNISH_TRY_ASSIGN(const std::string there, files.read(tried / name));
    if (here != there && here != incumbent.at(name))
      return refused(fmt::format("{} differs from the one that was judged as v{}, and would be "
                                 "lost when v{} is put back",
                                 name, version, state.incumbent))
          .at({(workspace_.folder() / name).string()})
          .with_hint(fmt::format("keep yours elsewhere, and put the judged file back: cp "
                                 "profiles/v{0}/candidate/{1} {1}",
                                 version, name));
  }
  BURNISH_TRY(workspace_.append("restore", Phase::begin, version, {{"reason", reason}}));
  BURNISH_TRY(workspace_.put_candidate(incumbent));
  auto paths = candidate_paths(spec);  // HEAD has the rejected one where its maker committed it
  for (auto& path : generated_paths(version)) paths.push_back(std::move(path));
  BURNISH_TRY(
      workspace_.commit(fmt::format("V{0}: revert V{0} ({1})", version, first_line(reason, 120)),
                        plan.action, version, paths));
  BURNISH_TRY(workspace_.append("restore", Phase::done, version, {{"reason", reason}}));
  BURNISH_TRY(settle(tools));
  return Shift::rejected;
}

Result<void> Loop::settle(Tools& tools) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  BURNISH_TRY_ASSIGN(const std::string undone, undo_spent_enabler(state));
  if (!undone.empty()) tools.observer.note(undone);
  share_outcomes(tools);
  return {};
}

/// The version stands whatever becomes of the store: what could not be written now, because the
/// store was held or the process died, is written with the next version.
void Loop::share_outcomes(Tools& tools) const {
  const fs::path store = outcome_store(workspace_);
  if (store.empty()) return;
  const auto records = workspace_.records();
  const auto shared =
      records ? knowledge::share_outcomes(store, own_outcomes(workspace_.task(), *records),
                                          real_file_system())
              : Result<void>(tl::unexpected(records.error()));
  if (!shared) tools.observer.note("outcomes were not shared: " + shared.error().to_string());
}

Result<std::string> Loop::stop_condition(Tools& tools, int max_iterations) const {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  const auto& spec = workspace_.task();
  BURNISH_TRY_ASSIGN(const auto records, workspace_.records());
  const Record* best = find_record(records, state.incumbent);
  if (best == nullptr) return no_record(state.incumbent);
  const measure::Task task = judged_task(spec, reference_);
  const auto& stop = spec.stop;
  std::vector<std::string> reached;
  bool all = true;
  std::optional<double> goal = stop.utilization;
  if (!goal && !stop.speedup && !stop.seconds) goal = 0.9;
  if (goal) {
    BURNISH_TRY_ASSIGN(const auto roofs,
                       ceilings(const_cast<workspace::Workspace&>(workspace_), tools.device));
    BURNISH_TRY_ASSIGN(const auto utilization,
                       utilization_of(task, *best, tools.device.info(), roofs));
    all = all && utilization && *utilization >= *goal;
    if (utilization)
      reached.push_back(
          fmt::format("utilization {:.1f} % (goal {:.0f} %)", *utilization * 100, *goal * 100));
  }
  if (stop.speedup) {
    const double speedup = best->performance.speedup_over_baseline.value_or(1);
    all = all && speedup >= *stop.speedup;
    reached.push_back(
        fmt::format("{:.1f} times v0 (goal {})", speedup, number_text(*stop.speedup)));
  }
  if (stop.seconds) {
    const double seconds = best->performance.latency_us.value_or(INFINITY) * 1e-6;
    all = all && seconds <= *stop.seconds;
    reached.push_back(with_prefix(seconds, "s") + " (goal " + with_prefix(*stop.seconds, "s") +
                      ")");
  }
  if (all) return "the stop condition holds: " + join(reached, ", ");
  const int budget = max_iterations > 0 ? max_iterations : stop.max_iterations;
  if (state.iterations >= budget)
    return fmt::format("the budget of {} iterations is used up", budget);
  return std::string();
}

Result<void> Loop::stop(const std::string& reason) {
  return workspace_.append("stop", Phase::done, 0, {{"reason", reason}});
}

Result<void> Loop::resume() { return workspace_.append("resume", Phase::done, 0, Json::object()); }

Result<std::vector<int>> Loop::partial_restart(Tools& tools) {
  BURNISH_TRY_ASSIGN(const State state, this->state());
  BURNISH_TRY_ASSIGN(auto records, workspace_.records());
  std::vector<Record*> eligible;
  for (auto& record : records)
    if (!record.masked && record.number != 0 && record.number != state.incumbent)
      eligible.push_back(&record);
  Generator generator(tools.random.seed());
  for (std::size_t i = eligible.size(); i > 1; --i)
    std::swap(eligible[i - 1], eligible[generator.below(i)]);
  eligible.resize((eligible.size() + 1) / 2);
  std::vector<Record> changed;
  std::vector<int> masked;
  std::vector<std::string> names;
  std::sort(eligible.begin(), eligible.end(),
            [](const Record* a, const Record* b) { return a->number < b->number; });
  for (const Record* record : eligible) {
    changed.push_back(*record);
    changed.back().masked = true;
    masked.push_back(record->number);
    names.push_back(label(record->number));
  }
  if (!masked.empty())
    BURNISH_TRY(
        workspace_.change_records(changed, "Mask " + join(names, ", ") + " for a partial restart"));
  BURNISH_TRY(workspace_.append("mask", Phase::done, 0, {{"versions", masked}}));
  return masked;
}

Result<Summary> Loop::run(Tools& tools, agent::Agent& agent, int max_iterations, Until until) {
  const auto reached = [&]() -> Result<std::string> {
    if (until == Until::end) return std::string();
    return stop_condition(tools, max_iterations);
  };
  for (;;) {
    BURNISH_TRY_ASSIGN(const State state, this->state());
    switch (state.next) {
      case Stage::baseline:
        BURNISH_TRY(baseline(tools, AllowWeak::no));
        break;
      case Stage::profile: {
        BURNISH_TRY(profile(tools));
        BURNISH_TRY_ASSIGN(const std::string reason, reached());
        if (!reason.empty()) BURNISH_TRY(stop(reason));
        break;
      }
      case Stage::plan: {
        BURNISH_TRY_ASSIGN(const std::string reason, reached());
        if (!reason.empty()) {
          BURNISH_TRY(stop(reason));
          break;
        }
        BURNISH_TRY(require_incumbent(state));
        BURNISH_TRY_ASSIGN(const auto plan, this->plan(tools, agent));
        if (plan) {
          tools.observer.note(
              fmt::format("{}: {} (at most {:.2f}×)", plan->category, plan->action, plan->bound));
        } else if (until == Until::goal && agent.can_restart() && !state.restarted &&
                   state.since_gain > 0) {
          BURNISH_TRY_ASSIGN(const auto masked, partial_restart(tools));
          tools.observer.note(fmt::format("no new direction; masked {} records and starting afresh",
                                          masked.size()));
        } else if (state.enabler) {
          BURNISH_TRY(
              undo_enabler(*state.enabler, "no gain followed before the directions ran out"));
          tools.observer.note(
              fmt::format("no gain followed the enabler v{}: undid it", state.enabler->version));
        } else if (until == Until::end || !agent.can_restart()) {
          BURNISH_TRY(stop("the story is told: no step is left"));
        } else {
          BURNISH_TRY(stop("the end of the road: no finding that this agent can answer is left"));
        }
        break;
      }
      case Stage::implement:
        BURNISH_TRY(implement(tools, agent));
        break;
      case Stage::gate: {
        BURNISH_TRY_ASSIGN(const Record record, gate(tools));
        tools.observer.note(fmt::format("{}: {}", record.quality_gate.result,
                                        record.quality_gate.failure_reason.empty()
                                            ? record.quality_gate.parts.at("performance")
                                            : record.quality_gate.failure_reason));
        break;
      }
      case Stage::commit:
        BURNISH_TRY(commit(tools));
        break;
      case Stage::stopped:
        return summarize(workspace_);
    }
  }
}

Result<void> Loop::write_readme(Tools& tools) {
  BURNISH_TRY_ASSIGN(const auto roofs, ceilings(workspace_, tools.device));
  BURNISH_TRY_ASSIGN(const auto records, workspace_.records());
  return workspace_.put_text(
      "README.md", workspace_readme(workspace_.task(), tools.device.info(), roofs, records));
}

}  // namespace burnish::loop
