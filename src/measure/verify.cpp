#include "measure/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "measure/escape.h"
#include "measure/judge.h"
#include "measure/shapes.h"

namespace burnish::measure {
namespace {

constexpr int kRepeats = 10;          ///< runs that must agree where the task demands repeatability
constexpr int kMostFailures = 3;      ///< more add nothing to what is known
constexpr double kSlowReference = 2;  ///< seconds; hostile inputs then go to smaller problems only
/// Operations and bytes of a timed workload that is cheap enough for every family of inputs.
constexpr double kCheapWorkload = 1e7;

using Contents = std::map<std::string, std::vector<std::byte>>;

class Verifier {
 public:
  Verifier(device::Device& device, const Task& task, const Candidate& candidate,
           const device::Limits& limits, const VerifyOptions& options, Random& random)
      : device_(device),
        task_(task),
        candidate_(candidate),
        limits_(limits),
        options_(options),
        generator_(random.seed()),
        poisons_(draw_poisons(generator_)) {}

  Result<Verification> run() {
    const auto start = real_clock().steady();
    auto judged = judge_all();
    if (!judged) return judged.error();
    for (const Check& check : result_.checks) {
      if (check.verdict == Verdict::pass) continue;
      result_.verdict = check.verdict;
      result_.why = fmt::format("{}{}: {}", check.name,
                                check.inputs.empty() ? "" : ", inputs " + check.inputs, check.why);
      break;
    }
    result_.seconds = std::chrono::duration<double>(real_clock().steady() - start).count();
    return std::move(result_);
  }

 private:
  Result<void> judge_all() {
    if (std::string why =
            forbidden_source(device_.info(), candidate_.source, real_process_runner());
        !why.empty()) {
      record_failure("build", "", Verdict::fail, why);
      return {};
    }
    const auto start = real_clock().steady();
    auto session = device_.open(without_escapes(device_.info(), candidate_.source), limits_);
    result_.build_seconds = std::chrono::duration<double>(real_clock().steady() - start).count();
    if (!session) return blame(session.error(), "build", "");
    session_ = std::move(*session);

    BURNISH_TRY_ASSIGN(const Workload smallest, smallest_workload(task_));
    BURNISH_TRY(judge_workload(smallest, Hostile::all));
    if (options_.shapes == VerifyOptions::Shapes::all) {
      std::vector<Shape> shapes = own_shapes(task_, generator_);
      const auto paths = path_shapes(task_, candidate_, shapes, generator_);
      shapes.insert(shapes.end(), paths.begin(), paths.end());
      for (const Shape& shape : shapes) {
        if (finished()) break;
        BURNISH_TRY(judge_shape(shape));
      }
    }
    for (const Workload& workload : task_.workloads) {
      if (finished()) break;
      if (workload.name != smallest.name) BURNISH_TRY(judge_workload(workload, Hostile::few));
    }
    return {};
  }

  enum class Hostile { few, all };

  Result<void> judge_workload(const Workload& workload, Hostile hostile) {
    BURNISH_TRY_ASSIGN(auto oracle, open(workload.name, workload.name, workload.dims));
    if (!oracle) return {};
    for (int seed = 0; seed < std::max(options_.seeds, 1) && !finished(); ++seed) {
      BURNISH_TRY(check(*oracle, workload.name, Family::normal));
      if (seed == 0) BURNISH_TRY(check_resources(workload.name));
    }
    if (options_.inputs == VerifyOptions::Inputs::all) {
      const bool slow = oracle->seconds() / std::max(options_.seeds, 1) > kSlowReference;
      const auto all = families(oracle->problem());
      // Of the hostile families impulses gain by a real size: they meet every slice there is. Of
      // the others a large problem that is timed meets one. What is not timed is there to be
      // judged, by all.
      const bool few =
          hostile == Hostile::few && workload.timed() && cost(oracle->problem()) > kCheapWorkload;
      const Family other = all[generator_.below(all.size())];  // none, if it is ordinary
      for (const Family family : all) {
        if (finished() || family == Family::normal) continue;
        if (slow || (few && family != Family::impulses && family != other)) continue;
        BURNISH_TRY(check(*oracle, workload.name, family));
      }
    }
    if (!finished() && hostile == Hostile::all) BURNISH_TRY(replay(*oracle, workload.name));
    if (!finished() && oracle->problem().tolerance.repeatable == Tolerance::Repeatable::bitwise) {
      BURNISH_TRY(repeat(*oracle, workload.name));
    }
    result_.reference_seconds += oracle->seconds();
    return {};
  }

  Result<void> judge_shape(const Shape& shape) {
    BURNISH_TRY_ASSIGN(auto oracle, open(shape.name, shape.workload, shape.dims));
    if (!oracle) return {};
    BURNISH_TRY(check(*oracle, shape.name, Family::normal));
    BURNISH_TRY(check_resources(shape.name));
    if (options_.inputs == VerifyOptions::Inputs::all && !finished()) {
      const auto all = families(oracle->problem());
      if (all.size() > 1) BURNISH_TRY(check(*oracle, shape.name, Family::impulses));
      if (all.size() > 1 && !finished()) {
        const Family other = all[1 + generator_.below(all.size() - 1)];
        if (other != Family::impulses) BURNISH_TRY(check(*oracle, shape.name, other));
      }
    }
    result_.reference_seconds += oracle->seconds();
    return {};
  }

  /// Drivers let some kernels run that ask for more than the device has; the result is undefined.
  Result<void> check_resources(const std::string& name) {
    const std::uint64_t most = device_.info().shared_bytes;
    for (const device::KernelLaunch& launch : plan_.launches) {
      if (dead_ || most == 0 || !weighed_.insert(launch.kernel).second) continue;
      auto metrics = session_->resources(launch.kernel);
      if (!metrics) return blame(metrics.error(), name, "");
      double bytes = metrics->value("shared.static_bytes").value_or(0) +
                     static_cast<double>(launch.shared_bytes);
      for (const device::Argument& argument : launch.arguments) {
        if (const auto* local = std::get_if<device::Argument::Local>(&argument.value)) {
          bytes += static_cast<double>(local->bytes);
        }
      }
      if (bytes <= static_cast<double>(most)) continue;
      record_failure(
          name, "", Verdict::fail,
          fmt::format("kernel {} takes {} of local memory a work-group, the device has {}",
                      launch.kernel, with_binary_prefix(static_cast<std::uint64_t>(bytes)),
                      with_binary_prefix(most)));
    }
    return {};
  }

  /// The problem with the candidate's plan for it, allocated; null when the candidate failed there.
  Result<std::unique_ptr<Oracle>> open(const std::string& name, const std::string& workload,
                                       const Variables& dims) {
    BURNISH_TRY_ASSIGN(Problem problem, task_.problem(workload, dims));
    auto plan = candidate_.plan(dims);
    if (!plan) {
      if (!is_fault_of_candidate(plan.error())) return plan.error();
      record_failure(name, "", Verdict::fail,
                     fmt::format("{} does not take {}, which the task's domain holds: {}",
                                 candidate_.label, describe(dims), one_line(plan.error())));
      return std::unique_ptr<Oracle>();
    }
    plan_ = std::move(*plan);
    if (auto prepared = session_->prepare(buffers(problem)); !prepared) {
      BURNISH_TRY(blame(prepared.error(), name, ""));
      return std::unique_ptr<Oracle>();
    }
    return std::make_unique<Oracle>(std::move(problem), *task_.reference);
  }

  /// Outputs start as poison or, where given, with the contents of `outputs`.
  Result<std::optional<device::RunResult>> run(const Drawn& drawn, std::uint32_t poison,
                                               const std::string& name, const std::string& inputs,
                                               device::Addresses addresses,
                                               const Contents& outputs = {}) {
    device::RunRequest request;
    request.plan = &plan_;
    // What follows a launch finds all that it left, as in a batch.
    if (!outputs.empty()) request.scratch = device::RunRequest::Scratch::kept;
    for (const Contents* contents : {&drawn.bytes, &outputs}) {
      for (const auto& [tensor, bytes] : *contents) request.contents[tensor] = bytes;
    }
    request.poison = poison;
    request.addresses = addresses;
    request.read_back = device::RunRequest::ReadBack::yes;
    const auto start = real_clock().steady();
    auto ran = session_->run(request);
    result_.run_seconds += std::chrono::duration<double>(real_clock().steady() - start).count();
    if (!ran) {
      BURNISH_TRY(blame(ran.error(), name, inputs));
      return std::optional<device::RunResult>();
    }
    return std::optional<device::RunResult>(std::move(*ran));
  }

  Result<void> check(Oracle& oracle, const std::string& name, Family family) {
    BURNISH_TRY_ASSIGN(const auto drawn, oracle.draw(family, generator_.next()));
    if (!drawn) return {};
    const char* inputs = to_string(family);
    const JudgeContext context{&oracle, nullptr, &options_.baseline, name,
                               JudgeContext::Holes::known};
    const Problem& problem = oracle.problem();

    BURNISH_TRY_ASSIGN(const auto first,
                       run(*drawn, poisons_.first, name, inputs, device::Addresses::fresh));
    if (!first) return {};
    BURNISH_TRY_ASSIGN(const auto second,
                       run(*drawn, poisons_.second, name, inputs, device::Addresses::fresh));
    if (!second) return {};
    BURNISH_TRY_ASSIGN(const std::string hole, unwritten(problem, *first, *second, poisons_));
    BURNISH_TRY_ASSIGN(Check check, judge(problem, *drawn, *first, poisons_.first, context));
    if (!hole.empty()) {
      check.verdict = Verdict::fail;
      check.why = hole;
    } else if (check.verdict == Verdict::pass) {
      const std::string differs = difference(problem, *first, *second);
      Check again = check;
      if (differs.empty()) {  // the same bytes are as right as they were
        BURNISH_TRY_ASSIGN(again.why, trespassed(problem, *drawn, *second, poisons_.second));
        if (!again.why.empty()) again.verdict = Verdict::fail;
      } else {
        BURNISH_TRY_ASSIGN(again, judge(problem, *drawn, *second, poisons_.second, context));
      }
      if (again.verdict != Verdict::pass) {
        check = std::move(again);
        check.why += "; the first run on the same inputs was right";
      } else if (problem.tolerance.repeatable == Tolerance::Repeatable::bitwise) {
        check.why = differs;
        if (!check.why.empty()) check.verdict = Verdict::fail;
      }
    }
    record(std::move(check));
    return {};
  }

  /// Other inputs at the same addresses over the outputs of the launch before, then the first ones
  /// with one element changed: a kernel that keeps results by pointer, or by a sample of the
  /// inputs, or that takes outputs which look done for its own, gives the old answer.
  Result<void> replay(Oracle& oracle, const std::string& name) {
    BURNISH_TRY_ASSIGN(const auto first, oracle.draw(Family::normal, generator_.next()));
    BURNISH_TRY_ASSIGN(const auto other, oracle.draw(Family::normal, generator_.next()));
    if (!first || !other) return {};
    BURNISH_TRY_ASSIGN(const auto changed, change_one(oracle, *first));
    std::vector<const Drawn*> order{&*first, &*other};
    order.push_back(&*first);
    if (changed) order.push_back(&*changed);
    const Drawn* before = nullptr;
    Contents outputs;
    for (const Drawn* drawn : order) {
      const char* inputs =
          drawn == (changed ? &*changed : nullptr) ? "one changed element" : "replayed";
      BURNISH_TRY_ASSIGN(
          auto ran, run(*drawn, poisons_.first, name, inputs, device::Addresses::same, outputs));
      if (!ran) return {};
      const JudgeContext context{&oracle, before == nullptr ? nullptr : &before->expected, nullptr,
                                 name, JudgeContext::Holes::judged};
      BURNISH_TRY_ASSIGN(Check check,
                         judge(oracle.problem(), *drawn, *ran, poisons_.first, context));
      check.inputs = inputs;
      before = drawn;
      for (const Tensor& tensor : oracle.problem().tensors) {
        if (tensor.role != device::Buffer::Role::out) continue;
        outputs[tensor.name] = std::move(ran->buffers.at(tensor.name).content);
      }
      const bool failed = check.verdict != Verdict::pass;
      // One record for the sequence: the first that fails, or that with the changed element.
      if (failed || drawn == order.back()) record(std::move(check));
      if (failed) return {};
    }
    return {};
  }

  /// `drawn` with one element changed so that an output must change beyond its bounds.
  Result<std::optional<Drawn>> change_one(Oracle& oracle, const Drawn& drawn) {
    const Problem& problem = oracle.problem();
    std::vector<const Tensor*> inputs;
    for (const Tensor& tensor : problem.tensors) {
      if (is_input(tensor) && tensor.draw.kind != Draw::Kind::constant) inputs.push_back(&tensor);
    }
    // An input may be of no use here.
    for (std::size_t attempt = 0; attempt < 4 * inputs.size(); ++attempt) {
      const Tensor& tensor = *inputs[generator_.below(inputs.size())];
      Drawn changed = drawn;
      auto& values = changed.inputs[tensor.name];
      double& value = values[generator_.below(values.size())];
      Tensor one = tensor;
      one.shape = {1};
      const double old = value;
      value = inside_range(tensor, 3 * draw_tensor(one, generator_)[0] - old);
      value = rounded(tensor.dtype, {value})[0];
      if (value == old) continue;
      BURNISH_TRY(oracle.complete(changed));
      for (const Tensor& output : problem.tensors) {
        if (!is_output(output)) continue;
        const ErrorModel model = error_model(problem, output, Rounding::random);
        const auto& want = changed.expected.at(output.name);
        const auto bounds = element_bounds(model, output, want, {});
        const auto numbers = compare(output, drawn.expected.at(output.name), want, bounds, model,
                                     problem.tolerance.non_finite);
        if (numbers.failing > 0) return std::optional<Drawn>(std::move(changed));
      }
    }
    return std::optional<Drawn>();
  }

  Result<void> repeat(Oracle& oracle, const std::string& name) {
    BURNISH_TRY_ASSIGN(const auto drawn, oracle.draw(Family::normal, generator_.next()));
    if (!drawn) return {};
    std::optional<device::RunResult> first;
    Check check;
    check.name = name;
    check.inputs = "repeated";
    check.seed = drawn->seed;
    for (int i = 0; i < kRepeats && check.why.empty(); ++i) {
      BURNISH_TRY_ASSIGN(auto ran, run(*drawn, i % 2 == 0 ? poisons_.first : poisons_.second, name,
                                       check.inputs, device::Addresses::fresh));
      if (!ran) return {};
      if (first) {
        check.why = difference(oracle.problem(), *first, *ran);
      } else {
        first = std::move(ran);
      }
    }
    if (!check.why.empty()) check.verdict = Verdict::fail;
    record(std::move(check));
    return {};
  }

  void record(Check check) {
    if (check.verdict != Verdict::pass) ++failures_;
    result_.checks.push_back(std::move(check));
  }

  void record_failure(const std::string& name, const std::string& inputs, Verdict verdict,
                      std::string why) {
    Check check;
    check.name = name;
    check.inputs = inputs;
    check.verdict = verdict;
    check.why = std::move(why);
    record(std::move(check));
  }

  /// Puts an error of the session down to the candidate, or hands it on.
  Result<void> blame(const Error& error, const std::string& name, const std::string& inputs) {
    if (!is_fault_of_candidate(error)) return error;
    dead_ = true;
    record_failure(name, inputs, verdict_of(error), one_line(error));
    // What killed its worker may have hurt the device too.
    if (session_ != nullptr) {
      if (auto probed = device_.probe(); !probed) {
        result_.device_problem = one_line(probed.error());
      }
    }
    return {};
  }

  bool finished() const { return dead_ || failures_ >= kMostFailures; }

  device::Device& device_;
  const Task& task_;
  const Candidate& candidate_;
  const device::Limits& limits_;
  const VerifyOptions& options_;
  Generator generator_;
  Poisons poisons_;
  std::unique_ptr<device::Session> session_;
  device::LaunchPlan plan_;
  Verification result_;
  std::set<std::string> weighed_;  ///< kernels whose resources were looked at
  int failures_ = 0;
  bool dead_ = false;
};

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "PASS";
    case Verdict::fail:
      return "FAIL";
    case Verdict::timeout:
      return "TIMEOUT_FAIL";
  }
  return "";
}

Result<Verification> verify(device::Device& device, const Task& task, const Candidate& candidate,
                            const device::Limits& limits, const VerifyOptions& options,
                            Random& random) {
  return Verifier(device, task, candidate, limits, options, random).run();
}

}  // namespace burnish::measure
