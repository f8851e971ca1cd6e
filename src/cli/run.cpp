#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"

namespace burnish::cli {

void add_run(CommandLine& line, Common& common) {
  struct Options {
    std::string agent = "tuner", replay;
    std::int64_t iterations = 0;
    bool resume = false;
  };
  auto options = std::make_shared<Options>();
  auto arguments = line.verb("run", "optimise until the stop condition holds");
  arguments.device_option(common);
  arguments.option("--agent", options->agent, "tuner or replay");
  arguments.option("--replay", options->replay, "folder with the steps of a recorded story");
  arguments.option("--max-iterations", options->iterations,
                   "judged versions at most (0: as the task says)");
  arguments.flag("--resume", options->resume, "go on although the workspace has stopped");
  arguments.action([&common, options]() -> Result<int> {
    if (options->iterations < 0 || options->iterations > 1'000'000)
      return bad_input("--max-iterations is a number of versions, 0 for the task's own");
    std::unique_ptr<agent::Agent> agent;
    if (options->agent == "tuner") {
      agent = agent::make_tuner();
    } else if (options->agent == "replay" && options->replay.empty()) {
      return bad_input("the replay agent needs --replay FOLDER with the steps");
    } else if (options->agent == "replay") {
      BURNISH_TRY_ASSIGN(agent, agent::make_replay(options->replay, {}));
    } else {
      return bad_input("there is no agent \"" + options->agent + "\"").with_hint("tuner or replay");
    }
    BURNISH_TRY_ASSIGN(auto loop, open_loop(common, common.folder));
    BURNISH_TRY_ASSIGN(const auto state, loop->state());
    if (state.next == loop::Stage::stopped && !options->resume) {
      BURNISH_TRY_ASSIGN(const auto summary, loop::summarize(loop->workspace()));
      print_summary(common, summary);
      return 0;
    }
    if (state.next == loop::Stage::stopped) BURNISH_TRY(loop->resume());
    BURNISH_TRY_ASSIGN(auto bench, open_bench(common, loop->workspace()));
    auto tools = bench.tools();
    BURNISH_TRY_ASSIGN(const auto summary,
                       loop->run(tools, *agent, static_cast<int>(options->iterations)));
    bench.observer.reset();
    print_summary(common, summary);
    return 0;
  });
}

}  // namespace burnish::cli
