#include "loop/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace burnish::loop {
namespace {

using workspace::Files;
using workspace::TaskSpec;

void fail(Judgement& judgement, const std::string& part, const std::string& reason,
          const char* result = "FAIL") {
  judgement.parts[part] = reason;
  if (judgement.result.empty()) {
    judgement.result = result;
    judgement.reason = reason;
  }
}

bool holds(double value, const workspace::IsaTarget& target) {
  if (target.comparison == "<") return value < target.value;
  if (target.comparison == "<=") return value <= target.value;
  if (target.comparison == "==") return value == target.value;
  if (target.comparison == ">=") return value >= target.value;
  return value > target.value;
}

/// Only the values of tunables and the text of files can differ; which of both did.
Result<void> attribute(const TaskSpec& task, const GateInput& input, Judgement& judgement) {
  BURNISH_TRY_ASSIGN(
      const auto before_launch,
      workspace::parse_launch(input.incumbent.at(task.launch_file), task.launch_file, task));
  BURNISH_TRY_ASSIGN(
      const auto after_launch,
      workspace::parse_launch(input.candidate.at(task.launch_file), task.launch_file, task));
  const auto before = workspace::configuration(task, before_launch);
  const auto after = workspace::configuration(task, after_launch);
  if (const auto why = workspace::violated_constraint(task, after); !why.empty())
    fail(judgement, "attribution", "the tunables violate a constraint: " + why);

  const auto categories = changed_categories(task, before, after);
  std::vector<std::string> files;
  for (const auto& [name, text] : input.candidate)
    if (name != task.launch_file && input.incumbent.at(name) != text) files.push_back(name);
  if (categories.empty() && files.empty() &&
      input.incumbent.at(task.launch_file) == input.candidate.at(task.launch_file)) {
    fail(judgement, "attribution", "no-op: nothing differs from " + input.incumbent_label);
    return {};
  }
  std::vector<std::string> foreign;
  for (const auto& category : categories)
    if (category != input.plan.category) foreign.push_back(category);
  if (!foreign.empty()) {
    fail(judgement, "attribution",
         fmt::format("the plan is of category {}, and the change sets tunables of {} too: one "
                     "iteration changes one category",
                     input.plan.category, join(foreign, ", ")));
    return {};
  }
  std::vector<std::string> what;
  if (!categories.empty()) what.push_back("tunables of " + join(categories, ", "));
  if (!files.empty()) what.push_back(join(files, ", "));
  if (what.empty()) what.push_back(task.launch_file);
  judgement.parts["attribution"] = "changed: " + join(what, "; ");
  return {};
}

/// Machine code of both sides at the heaviest workload; identical code is a no-op.
void compare_code(workspace::Workspace& workspace, Tools& tools, const measure::Task& task,
                  const measure::Candidate& incumbent, const measure::Candidate& candidate,
                  const GateInput& input, const fs::path& folder, Judgement& judgement) {
  const auto& workload = *std::max_element(
      task.workloads.begin(), task.workloads.end(), [&](const auto& a, const auto& b) {
        const auto left = task.problem(a.name, a.dims), right = task.problem(b.name, b.dims);
        return left && right && left->work.bytes < right->work.bytes;
      });
  const auto read = [&](const measure::Candidate& side, const std::string& name,
                        std::vector<device::CodeObject>& objects) -> Result<isa::Reading> {
    BURNISH_TRY_ASSIGN(auto session, warm_session(tools.device, task, side, workload));
    BURNISH_TRY_ASSIGN(objects, session->code());
    std::vector<fs::path> files;
    return read_session_code(workspace, *session, folder / name, files);
  };
  std::vector<device::CodeObject> before_objects, after_objects;
  const auto before = read(incumbent, "code-before", before_objects);
  const auto after = read(candidate, "code-after", after_objects);
  if (!before || !after) {
    judgement.parts["isa"] = "not compared: " + (before ? after.error() : before.error()).message;
    return;
  }
  const bool same_bytes =
      !after_objects.empty() &&
      std::equal(before_objects.begin(), before_objects.end(), after_objects.begin(),
                 after_objects.end(),
                 [](const auto& a, const auto& b) { return a.bytes == b.bytes; });
  const isa::Diff diff = isa::diff(*before, *after);
  judgement.isa = diff.kernels;
  // A launch geometry may change the work without changing an instruction.
  const auto before_plan = incumbent.plan(workload.dims),
             after_plan = candidate.plan(workload.dims);
  bool same_launch =
      before_plan && after_plan && before_plan->launches.size() == after_plan->launches.size();
  for (std::size_t i = 0; same_launch && i < before_plan->launches.size(); ++i) {
    const auto& a = before_plan->launches[i];
    const auto& b = after_plan->launches[i];
    same_launch = a.kernel == b.kernel && a.grid == b.grid && a.block == b.block &&
                  a.cluster == b.cluster && a.shared_bytes == b.shared_bytes;
  }
  if ((same_bytes || (diff.identical && !after->kernels.empty())) && same_launch) {
    fail(judgement, "isa",
         "no-op: the machine code and the launches are those of " + input.incumbent_label);
    return;
  }

  std::vector<std::string> seen;
  for (const auto& kernel : diff.kernels) seen.push_back(kernel.name + ": " + kernel.summary);
  judgement.parts["isa"] = seen.empty() ? "no code to compare" : join(seen, "; ");
  for (const auto& kernel : after->kernels) {
    const MetricSet metrics = isa::metrics(kernel);
    for (const auto& target : workspace.task().isa_targets)
      if (const auto value = metrics.value(target.metric))
        judgement.isa_targets.push_back({target.metric,
                                         target.comparison + " " + number_text(target.value),
                                         number_text(*value), holds(*value, target)});
  }
  // The plan said what the machine code would show.
  std::vector<std::string> unseen, not_of_code;
  for (const auto& signature : input.plan.signature) {
    bool found = false, known = false, of_code = signature.metric.starts_with("isa.");
    for (const isa::Reading* reading : {&*before, &*after})
      for (const auto& kernel : reading->kernels)
        of_code = of_code || isa::metrics(kernel).find(signature.metric) != nullptr;
    for (const auto& kernel : diff.kernels) {
      const auto change = kernel.changed.find(signature.metric);
      if (change == kernel.changed.end()) continue;
      known = true;
      const auto [was, is] = change->second;
      found = found || (signature.direction == "up" && is > was) ||
              (signature.direction == "down" && is < was) ||
              (signature.direction == "zero" && is == 0) ||
              (signature.direction == "appears" && was == 0 && is > 0);
    }
    if (!of_code && !known)
      not_of_code.push_back(signature.metric + " " + signature.direction);
    else if (!found)
      unseen.push_back(signature.metric + " " + signature.direction +
                       (known ? "" : " (unchanged)"));
  }
  if (!unseen.empty())
    judgement.parts["isa"] += "; the plan's signature is not there: " + join(unseen, ", ");
  if (!not_of_code.empty())
    judgement.parts["isa"] += "; machine code cannot show " + join(not_of_code, ", ");
}

/// A kernel may be undefined and right all the same, until the day that it is not. Where no
/// sanitizer is to be had, or the problem is too large for it, the report says so by name.
void check_accesses(Tools& tools, const measure::Task& task, const measure::Candidate& candidate,
                    Judgement& judgement) {
  if (!tools.sanitizers) return;
  const auto sanitizers = tools.sanitizers();
  if (!sanitizers) {
    judgement.parts["sanitizer"] = "skipped: " + sanitizers.error().message;
    return;
  }
  std::vector<std::string> said;
  for (const auto& sanitizer : *sanitizers) {
    const auto check = measure::sanitize(sanitizer, task, candidate, {}, tools.random);
    if (!check) {
      said.push_back("skipped: " + check.error().message);
    } else if (check->verdict != measure::Verdict::pass) {
      fail(judgement, "sanitizer", check->name + ": " + check->why,
           measure::to_string(check->verdict));
      return;
    } else {
      said.push_back(fmt::format("{}: nothing found at {}", sanitizer.name, check->name));
    }
  }
  judgement.parts["sanitizer"] = join(said, "; ");
}

/// Registers that went to memory where there was none before cost more than they save, unless the
/// time says otherwise.
std::string new_spills(const Judgement& judgement) {
  for (const auto& kernel : judgement.isa)
    for (const char* name : {"spill.bytes", "spill.instructions"})
      if (const auto change = kernel.changed.find(name);
          change != kernel.changed.end() && change->second.first == 0 && change->second.second > 0)
        return fmt::format("{} spills registers now ({} {})", kernel.name,
                           number_text(change->second.second), name);
  return "";
}

void judge_time(const workspace::Plan& plan, Judgement& judgement) {
  const auto& bench = *judgement.bench;
  const measure::Compared* all = nullptr;
  std::vector<std::string> regressed;
  for (const auto& compared : bench.comparisons) {
    if (compared.workload == "all")
      all = &compared;
    else if (compared.verdict == measure::Comparison::regressed)
      regressed.push_back(compared.workload);
  }
  if (!bench.failed_launches.empty()) {
    fail(judgement, "correctness",
         "a timed launch was wrong: " + bench.failed_launches.front().why);
    return;
  }
  if (all == nullptr) {
    fail(judgement, "performance", "no comparison was made");
    return;
  }
  const std::string numbers =
      fmt::format("{:.3f}× [{:.3f}, {:.3f}], noise [{:.3f}, {:.3f}]", all->ratio, all->interval.low,
                  all->interval.high, bench.noise.low, bench.noise.high);
  const std::string spills = new_spills(judgement);
  if (!regressed.empty()) {
    fail(judgement, "performance", "slower at " + join(regressed, ", ") + ": " + numbers);
  } else if (all->verdict == measure::Comparison::improved) {
    judgement.parts["performance"] = "improved: " + numbers;
    if (!spills.empty())
      judgement.parts["isa"] += "; " + spills + ", and it is faster all the same";
  } else if (all->verdict == measure::Comparison::regressed) {
    fail(judgement, "performance", "slower: " + numbers);
  } else if (plan.enabler && spills.empty()) {
    judgement.parts["performance"] = "no gain, allowed to an enabler: " + numbers;
  } else {
    fail(
        judgement, "performance",
        "no gain that stands out of the noise: " + numbers + (spills.empty() ? "" : "; " + spills));
  }
}

}  // namespace

std::vector<std::string> changed_categories(const TaskSpec& task,
                                            const workspace::Configuration& before,
                                            const workspace::Configuration& after) {
  std::set<std::string> categories;
  for (const auto& tunable : task.tunables)
    if (before.at(tunable.name) != after.at(tunable.name)) categories.insert(tunable.category);
  return {categories.begin(), categories.end()};
}

Result<Judgement> judge(workspace::Workspace& workspace, Tools& tools, const measure::Task& task,
                        const GateInput& input, const fs::path& folder) {
  Judgement judgement;
  const TaskSpec& spec = workspace.task();
  const std::string& arch = tools.device.info().arch;
  auto incumbent = judged_candidate(spec, input.incumbent, input.incumbent_label, arch);
  if (!incumbent) return std::move(incumbent.error()).in("reading the incumbent");
  auto candidate = judged_candidate(spec, input.candidate, input.candidate_label, arch);
  if (!candidate) {
    fail(judgement, "attribution", candidate.error().to_string());
    return judgement;
  }
  if (auto attributed = attribute(spec, input, judgement); !attributed)
    fail(judgement, "attribution", attributed.error().to_string());
  if (!judgement.result.empty()) return judgement;

  tools.observer.progress(fmt::format("{}: checking correctness", input.candidate_label));
  measure::VerifyOptions verify_options;
  verify_options.baseline = input.baseline_checks;
  BURNISH_TRY_ASSIGN(
      judgement.verification,
      verify_variants(tools.device, spec, task.reference, Workloads::of_the_gate, input.candidate,
                      input.candidate_label, verify_options, tools.random));
  const auto& verification = *judgement.verification;
  if (verification.verdict != measure::Verdict::pass) {
    fail(judgement, "correctness", verification.why, measure::to_string(verification.verdict));
    if (auto healthy = tools.device.probe(); !healthy)
      return std::move(healthy.error())
          .in("probing the device after " + input.candidate_label + " failed");
    return judgement;
  }
  judgement.parts["correctness"] = fmt::format("{} checks passed", verification.checks.size());

  tools.observer.progress(fmt::format("{}: comparing the machine code", input.candidate_label));
  compare_code(workspace, tools, task, *incumbent, *candidate, input, folder, judgement);
  if (!judgement.result.empty()) return judgement;

  tools.observer.progress(fmt::format("{}: checking accesses", input.candidate_label));
  check_accesses(tools, task, *candidate, judgement);
  if (!judgement.result.empty()) return judgement;

  tools.observer.progress(
      fmt::format("{}: timing against {}", input.candidate_label, input.incumbent_label));
  BURNISH_TRY_ASSIGN(const auto roofs, ceilings(workspace, tools.device));
  measure::BenchOptions options = tools.timing;
  options.minimum_gain = spec.minimum_gain;
  auto bench = measure::bench(tools.device, task, {*incumbent, *candidate}, {}, options, roofs,
                              tools.random, real_clock());
  if (!bench) {
    // Times that cannot be are the candidate's doing; a lost device is not.
    if (bench.error().kind != ErrorKind::refused && bench.error().kind != ErrorKind::timeout)
      return std::move(bench.error()).in("timing " + input.candidate_label);
    fail(judgement, "performance", bench.error().message,
         bench.error().kind == ErrorKind::timeout ? "TIMEOUT_FAIL" : "FAIL");
    return judgement;
  }
  judgement.bench = std::move(*bench);
  judge_time(input.plan, judgement);
  if (judgement.result.empty()) judgement.result = "PASS";
  return judgement;
}

}  // namespace burnish::loop
