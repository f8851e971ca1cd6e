#include <fmt/format.h>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"
#include "loop/profile_program.h"

namespace burnish::cli {
namespace {

struct ProfileOptions {
  loop::Profiling profiling;
  std::string program, output, kernels, range;
  std::vector<std::string> arguments;  ///< of the program
  bool counters = false, trace = false, code = false;
  double timeout = 600;
};

Result<int> print_profile(const Common& common, const fs::path& folder) {
  BURNISH_TRY_ASSIGN(
      const std::string text,
      real_file_system().read(folder / (common.json ? "evidence.json" : "summary.txt")));
  print(text);
  return 0;
}

/// "v3": a program of that name is written ./v3.
bool names_version(const std::string& name) {
  return name.starts_with('v') && parse_integer(name.substr(1));
}

/// A version; the one in the working tree where none is named.
Result<int> profile_workspace(const Common& common, const ProfileOptions& options) {
  if (options.counters || options.trace || options.code || !options.kernels.empty() ||
      !options.range.empty() || !options.output.empty()) {
    return bad_input("these options choose what to profile of a program, and no program is named")
        .with_hint(
            "burnish profile FILE --output-dir DIR; in a workspace exactly the kernels under "
            "test are profiled");
  }
  BURNISH_TRY_ASSIGN(auto loop, open_loop(common, common.folder));
  BURNISH_TRY_ASSIGN(auto bench, open_bench(common, loop->workspace()));
  auto tools = bench.tools();
  tools.profiling = options.profiling;
  if (!options.program.empty()) {
    BURNISH_TRY_ASSIGN(const auto folder, loop->profile_version(tools, options.program));
    return print_profile(common, folder);
  }
  BURNISH_TRY_ASSIGN(const auto state, loop->state());
  BURNISH_TRY(loop->profile(tools));
  return print_profile(common, loop->workspace().profile_folder(state.incumbent));
}

Result<int> profile_file(const Common& common, const ProfileOptions& options) {
  if (options.output.empty()) {
    return bad_input("a program is profiled into a folder, and none is named")
        .with_hint("burnish profile " + options.program + " --output-dir DIR");
  }
  loop::ProgramProfile request;
  request.program = options.program;
  request.arguments = options.arguments;
  request.output = options.output;
  request.device = common.device;
  request.selection.kernels = options.kernels;
  if (!options.range.empty()) {
    BURNISH_TRY_ASSIGN(request.selection.launches, loop::parse_launch_range(options.range));
  }
  using Parts = loop::ProgramProfile::Parts;
  if (int{options.counters} + int{options.trace} + int{options.code} > 1)
    return bad_input("--pmc-only, --att-only and --asm-only exclude each other")
        .with_hint("leave them out for all three");
  request.parts = options.counters ? Parts::counters
                  : options.trace  ? Parts::trace
                  : options.code   ? Parts::code
                                   : Parts::all;
  if (!(options.timeout > 0 && options.timeout <= 1e6))
    return bad_input("--timeout is a number of seconds, more than 0");
  request.deadline = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000));
  BURNISH_TRY_ASSIGN(const auto rules, evidence::Rules::load());
  const auto observer = make_observer(common);
  BURNISH_TRY(loop::profile_program(request, rules, *observer, {}));
  return print_profile(common, request.output);
}

}  // namespace

void add_profile(CommandLine& line, Common& common) {
  const auto options = std::make_shared<ProfileOptions>();
  auto profile = line.verb("profile",
                           "profile a version (default: the one in the working tree), or a program "
                           "(FILE --output-dir DIR)");
  profile.device_option(common);
  profile.positional("VERSION|FILE", options->program,
                     "v3 of the workspace; or a Python or shell script or an executable, whose "
                     "arguments follow after --");
  profile.trailing(options->arguments);
  profile.option("--output-dir", options->output, "where what is known of FILE goes");
  profile.flag("--pmc-only", options->counters, "of FILE: hardware counters only");
  profile.flag("--att-only", options->trace, "of FILE: a thread trace only (AMD)");
  profile.flag("--asm-only", options->code, "of FILE: the machine code of its kernels only");
  profile.option("--kernel-regex", options->kernels,
                 "of FILE: kernels whose names it is found in (ECMAScript)");
  profile.option("--iteration-range", options->range,
                 "of FILE: launches of each kernel, from 1: 2-5");
  profile.option("--timeout", options->timeout, "of FILE: seconds that each run of it may take");
  profile.option("--set", options->profiling.set, "ncu's set of sections (default: full)");
  profile.options("--section", options->profiling.sections,
                  "a section of ncu's besides those of the set");
  profile.flag("--source", options->profiling.source, "keep the source in ncu's report");
  profile.action([&common, options] {
    const bool workspace =
        options->program.empty() || (options->output.empty() && names_version(options->program));
    return workspace ? profile_workspace(common, *options) : profile_file(common, *options);
  });
}

}  // namespace burnish::cli
