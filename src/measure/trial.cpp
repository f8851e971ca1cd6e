#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "measure/compare.h"
#include "measure/escape.h"
#include "measure/judge.h"
#include "measure/shapes.h"

namespace burnish::measure {
namespace {

constexpr int kLaunches = 5;
constexpr double kBatch = 200e-6;
/// Inputs at a timed workload are always the same, so that the reference is asked once for all
/// trials; a trial decides nothing, and the gate draws its own.
constexpr std::uint64_t kFixedSeed = 0xb0a5;

Error wrong(const std::string& label, const std::string& where, const std::string& why) {
  return refused(fmt::format("{} is wrong at {}: {}", label, where, why));
}

/// Runs and judges `drawn` once.
Result<device::RunResult> judged_run(device::Session& session, const device::LaunchPlan& plan,
                                     Oracle& oracle, const Drawn& drawn, std::uint32_t poison,
                                     const std::string& label) {
  device::RunRequest request;
  request.plan = &plan;
  for (const auto& [name, bytes] : drawn.bytes) request.contents[name] = bytes;
  request.poison = poison;
  request.read_back = device::RunRequest::ReadBack::yes;
  BURNISH_TRY_ASSIGN(auto run, session.run(request));
  JudgeContext context;
  context.oracle = &oracle;
  BURNISH_TRY_ASSIGN(const Check check, judge(oracle.problem(), drawn, run, poison, context));
  if (check.verdict != Verdict::pass) return wrong(label, oracle.problem().workload, check.why);
  return run;
}

Result<Trial> timed_at(device::Session& session, const Task& task, const Candidate& candidate,
                       const Workload& timed, TrialInputs& inputs, const Poisons& poisons,
                       const device::DeviceInfo& info) {
  BURNISH_TRY_ASSIGN(Problem problem, task.problem(timed.name, timed.dims));
  BURNISH_TRY_ASSIGN(const device::LaunchPlan plan, candidate.plan(timed.dims));
  Oracle oracle(std::move(problem), *task.reference);
  BURNISH_TRY(session.prepare(buffers(oracle.problem())));
  auto& drawn = inputs[timed.name];
  if (drawn == nullptr) {
    BURNISH_TRY_ASSIGN(auto fresh, oracle.draw(Family::normal, kFixedSeed));
    drawn = std::make_shared<const Drawn>(std::move(*fresh));
  }
  BURNISH_TRY_ASSIGN(const auto first,
                     judged_run(session, plan, oracle, *drawn, poisons.second, candidate.label));

  device::RunRequest request;
  request.plan = &plan;
  for (const auto& [name, bytes] : drawn->bytes) request.contents[name] = bytes;
  request.poison = poisons.first;
  request.addresses = device::Addresses::same;
  BURNISH_TRY_ASSIGN(const auto second, session.run(request));
  if (usual_caches(second.device_seconds, info) == device::Caches::warm) {
    request.repetitions =
        std::clamp(static_cast<int>(kBatch / std::max(second.device_seconds, 1e-6)), 2, 100);
  }
  std::vector<double> times;
  for (int i = 0; i < kLaunches; ++i) {
    BURNISH_TRY_ASSIGN(const auto run, session.run(request));
    if (!(run.device_seconds > info.timer_resolution)) {
      return refused(fmt::format("{} took {}, which no launch can take", candidate.label,
                                 with_prefix(run.device_seconds, "s")));
    }
    times.push_back(run.device_seconds / request.repetitions);
  }
  return Trial{median(times), kLaunches};
}

}  // namespace

Result<std::vector<Trial>> quick_trial(device::Device& device, const Task& task,
                                       const Candidate& candidate,
                                       const std::vector<std::string>& workloads,
                                       TrialInputs& inputs, const device::Limits& limits,
                                       Random& random) {
  if (std::string why = forbidden_source(device.info(), candidate.source, real_process_runner());
      !why.empty()) {
    return refused(why);
  }
  BURNISH_TRY_ASSIGN(const Workload smallest, smallest_workload(task));
  BURNISH_TRY_ASSIGN(const auto session, device.open(candidate.source, limits));
  Generator generator(random.seed());
  const Poisons poisons = draw_poisons(generator);

  if (std::find(workloads.begin(), workloads.end(), smallest.name) == workloads.end()) {
    BURNISH_TRY_ASSIGN(Problem problem, task.problem(smallest.name, smallest.dims));
    BURNISH_TRY_ASSIGN(const device::LaunchPlan plan, candidate.plan(smallest.dims));
    Oracle oracle(std::move(problem), *task.reference);
    BURNISH_TRY(session->prepare(buffers(oracle.problem())));
    BURNISH_TRY_ASSIGN(const auto drawn, oracle.draw(Family::normal, generator.next()));
    BURNISH_TRY(judged_run(*session, plan, oracle, *drawn, poisons.first, candidate.label));
  }
  std::vector<Trial> trials;
  for (const std::string& workload : workloads) {
    const auto timed = std::find_if(task.workloads.begin(), task.workloads.end(),
                                    [&](const Workload& one) { return one.name == workload; });
    if (timed == task.workloads.end()) {
      return bad_input(fmt::format("the task has no workload {}", workload));
    }
    BURNISH_TRY_ASSIGN(const Trial trial,
                       timed_at(*session, task, candidate, *timed, inputs, poisons, device.info()));
    trials.push_back(trial);
  }
  return trials;
}

}  // namespace burnish::measure
