#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "measure/judge.h"
#include "measure/shapes.h"
#include "measure/verify.h"

namespace burnish::measure {
namespace {

/// What Oclgrind 21.10 and, in the last row, the Compute Sanitizer 2025.3 say of what they find
/// wrong. Its warnings of races are hazards that it takes for meant.
constexpr std::string_view kSigns[] = {
    "Invalid read",        "Invalid write",         "data race",
    "Uninitialized value", "Work-group divergence", "Invalid memory access",
    "Invalid __",          "Error: Race reported",  "Barrier error detected"};
/// Before each of the Compute Sanitizer's lines; alone between two findings.
constexpr std::string_view kRuler = "=========";

/// Without a summary at its end it was not heard, and nothing found means nothing.
constexpr std::string_view kComputeSanitizer = "compute-sanitizer", kSummary = " SUMMARY: ";
/// Bytes after each allocation that are nobody's, under memcheck.
constexpr int kPadding = 64 << 10;

/// A simulated launch is slow, and its end by this deadline says nothing of the candidate.
constexpr std::chrono::milliseconds kDeadline{60'000};
/// Operations and bytes of a launch that a simulator gets through in seconds.
constexpr double kLargestCost = 5e6;
constexpr int kMostDraws = 20;  ///< of shapes, in search of a small one

std::string_view without_ruler(std::string_view line) {
  line = trim(line);
  if (line.starts_with(kRuler)) line.remove_prefix(kRuler.size());
  return trim(line);
}

/// The first finding, with the lines that tell where, on one line; "" when there is none.
std::string finding(const std::string& messages) {
  const auto lines = split_lines(messages);
  const auto is_sign = [](std::string_view line) {
    return std::any_of(std::begin(kSigns), std::end(kSigns),
                       [&](std::string_view sign) { return contains(line, sign); });
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!is_sign(lines[i])) continue;
    std::vector<std::string> told{std::string(without_ruler(lines[i]))};
    for (std::size_t j = i + 1; j < lines.size() && j < i + 20 && !is_sign(lines[j]); ++j) {
      if (trim(lines[j]) == kRuler) break;
      if (const auto line = without_ruler(lines[j]); !line.empty()) told.emplace_back(line);
    }
    std::string text = to_valid_utf8(join(told, "; "));
    // A plain read beside atomic updates of the same place is how they are written.
    if (contains(text, "data race") && contains(text, "atomic")) continue;
    return text;
  }
  return "";
}

/// The problem with the least work among the smallest workload and the judge's own shapes, of which
/// more are drawn as long as all are too large.
Result<Problem> smallest_problem(const Task& task, Generator& generator) {
  BURNISH_TRY_ASSIGN(const Workload workload, smallest_workload(task));
  BURNISH_TRY_ASSIGN(Problem best, task.problem(workload.name, workload.dims));
  best.workload = workload.name;
  for (int draw = 0; draw == 0 || (draw < kMostDraws && cost(best) > kLargestCost); ++draw) {
    for (const Shape& shape : own_shapes(task, generator)) {
      // One work-item is no match for a race.
      if (shape.name.starts_with("least")) continue;
      auto problem = task.problem(shape.workload, shape.dims);
      if (!problem || cost(*problem) >= cost(best)) continue;
      best = std::move(*problem);
      best.workload = shape.name;
    }
  }
  return best;
}

}  // namespace

Result<std::vector<Sanitizer>> open_sanitizers(const device::DeviceInfo& info,
                                               const device::DeviceOptions& options) {
  std::vector<Sanitizer> all;
  if (info.backend == "opencl") {
    BURNISH_TRY_ASSIGN(const auto simulator,
                       device::choose_device("opencl:oclgrind", options.program));
    BURNISH_TRY_ASSIGN(auto opened, device::open_device(simulator, options));
    all.push_back({"oclgrind", std::move(opened)});
    return all;
  }
  if (info.backend != "cuda") {
    return environment_error(fmt::format("there is no sanitizer for {} devices", info.backend));
  }
  const auto program =
      find_program({std::string(kComputeSanitizer), "/usr/local/cuda/bin/compute-sanitizer"});
  if (!program) {
    return environment_error("compute-sanitizer is not installed")
        .with_hint("it comes with the CUDA toolkit: put its folder on PATH");
  }
  for (const char* tool : {"memcheck", "racecheck"}) {
    device::DeviceOptions wrapped = options;
    // The worker's standard output is its channel to the judge. Where a kernel was launched from
    // says nothing: that is burnish itself.
    wrapped.wrapper = {program->string(), "--tool",           tool, "--log-file",
                       "/dev/stderr",     "--show-backtrace", "no"};
    if (tool == std::string_view("memcheck")) {
      // Calls that fail are dealt with. Without padding the next allocation begins where one ends.
      wrapped.wrapper.insert(wrapped.wrapper.end(),
                             {"--report-api-errors", "no", "--padding", std::to_string(kPadding)});
      wrapped.guards = device::DeviceOptions::Guards::none;
    }
    BURNISH_TRY_ASSIGN(auto opened, device::open_device(info, wrapped));
    all.push_back({fmt::format("{} {}", kComputeSanitizer, tool), std::move(opened)});
  }
  return all;
}

Result<Check> sanitize(const Sanitizer& sanitizer, const Task& task, const Candidate& candidate,
                       device::Limits limits, Random& random) {
  limits.run = std::max(limits.run, kDeadline);
  Generator generator(random.seed());
  BURNISH_TRY_ASSIGN(Problem problem, smallest_problem(task, generator));
  if (cost(problem) > kLargestCost) {
    return environment_error(fmt::format("{} takes {:.2g} operations and bytes, too many for {}",
                                         problem.workload, cost(problem), sanitizer.name))
        .with_hint("a [domain] in the task lets smaller shapes be tried");
  }
  Check check;
  check.name = problem.workload;
  check.inputs = "sanitizer";
  check.seed = generator.next();
  // The outputs are not judged here: they were on the device, and a simulator has faults of its
  // own.
  const auto run = [&]() -> Result<void> {
    BURNISH_TRY_ASSIGN(const auto plan, candidate.plan(problem.dims));
    BURNISH_TRY_ASSIGN(const auto session, sanitizer.device->open(candidate.source, limits));
    BURNISH_TRY(session->prepare(buffers(problem)));
    Oracle oracle(problem, *task.reference);
    BURNISH_TRY_ASSIGN(const auto drawn, oracle.draw(Family::normal, check.seed));
    device::RunRequest request;
    request.plan = &plan;
    for (const auto& [name, bytes] : drawn->bytes) request.contents[name] = bytes;
    const auto done = session->run(request);
    const std::string messages = session->finish();
    check.why = finding(messages);
    if (!check.why.empty()) return {};
    if (!done) return done.error();
    if (sanitizer.name.starts_with(kComputeSanitizer) && !contains(messages, kSummary)) {
      const std::string_view said = trim(messages);
      return environment_error(fmt::format("it ended without its summary: {}",
                                           to_valid_utf8(said.substr(said.rfind('\n') + 1))));
    }
    return {};
  };
  if (auto done = run(); !done) {
    return Error(std::move(done.error())).in("checking accesses under " + sanitizer.name);
  }
  if (!check.why.empty()) {
    check.verdict = Verdict::fail;
    check.why = sanitizer.name + ": " + check.why;
  }
  return check;
}

}  // namespace burnish::measure
