#include "measure/verify.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/front.h"
#include "cli/verbs.h"
#include "loop/subject.h"

namespace burnish::cli {
namespace {

struct CheckOptions {
  std::string version;
  bool lint = false;
};

Result<int> lint_task(const Common& common, const measure::Task& task) {
  BURNISH_TRY_ASSIGN(const auto lint, measure::lint(task, real_random()));
  if (common.json) {
    print_json(measure::to_json(lint));
  } else {
    for (const auto& weakness : lint.weaknesses)
      print(fmt::format("weak: {} (workload {})\n  tighten: {}\n", weakness.what, weakness.workload,
                        weakness.tighten));
    print(fmt::format("{} null candidates and perturbations tried, {} weaknesses\n",
                      lint.tried.size(), lint.weaknesses.size()));
  }
  return lint.weaknesses.empty() ? 0 : exit_code(ErrorKind::refused);
}

Result<int> check(const Common& common, const CheckOptions& options) {
  BURNISH_TRY_ASSIGN(auto workspace, open_to_read(common.folder));
  BURNISH_TRY_ASSIGN(auto reference, loop::open_reference(workspace));
  const auto task = loop::judged_task(workspace.task(), reference, loop::Workloads::all);
  if (options.lint) return lint_task(common, task);
  std::string label = "the working tree";
  BURNISH_TRY_ASSIGN(workspace::Files files, workspace.candidate());
  if (!options.version.empty()) {
    BURNISH_TRY_ASSIGN(files, loop::files_of(workspace, options.version));
    label = options.version;
  }
  BURNISH_TRY_ASSIGN(auto bench, open_bench(common, workspace));
  bench.observer->progress("checking " + label);
  BURNISH_TRY_ASSIGN(const auto verification,
                     loop::verify_variants(*bench.device, workspace.task(), reference,
                                           loop::Workloads::all, files, label, {}, real_random()));
  bench.observer.reset();
  if (common.json) {
    print_json(measure::to_json(verification));
  } else {
    for (const auto& item : verification.checks)
      if (common.verbose || item.verdict != measure::Verdict::pass)
        print(fmt::format("{:<5} {} with {}{}\n", measure::to_string(item.verdict), item.name,
                          item.inputs, item.why.empty() ? "" : ": " + item.why));
    print(fmt::format("{}: {}, {} checks in {:.1f} s{}\n", label,
                      measure::to_string(verification.verdict), verification.checks.size(),
                      verification.seconds,
                      verification.why.empty() ? "" : ": " + verification.why));
  }
  return verification.verdict == measure::Verdict::pass      ? 0
         : verification.verdict == measure::Verdict::timeout ? exit_code(ErrorKind::timeout)
                                                             : exit_code(ErrorKind::refused);
}

}  // namespace

void add_check(CommandLine& line, Common& common) {
  auto options = std::make_shared<CheckOptions>();
  auto arguments = line.verb("check", "judge correctness, or the task itself");
  arguments.positional("VERSION", options->version, "v0, v1, …; default: the working tree");
  arguments.flag("--lint", options->lint, "judge the task with null candidates");
  arguments.device_option(common);
  arguments.action([&common, options] { return check(common, *options); });
}

}  // namespace burnish::cli
