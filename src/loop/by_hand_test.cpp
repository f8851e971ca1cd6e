// What plans and changes made by hand lead to: enablers, which a later gain keeps and which go
// without one, and partial restarts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

#include "base/text.h"
#include "loop/fuse.h"
#include "loop/outcomes.h"
#include "loop/testing.h"

namespace burnish::loop {
namespace {

using ::testing::HasSubstr;

/// VEC changes nothing of the time, TILE = 2 what `tile` says.
class ByHand : public testing::Test {
 protected:
  void begin(int iterations) {
    auto& files = real_file_system();
    const fs::path task = scene.folder() / "task/burnish.toml";
    const std::string text = files.read(task).value();
    ASSERT_TRUE(files.write(
        task, text + "[judge]\nenabler_iterations = " + std::to_string(iterations) + "\n"));
    scene.device.time = [this](const std::string& program, const device::RunRequest& request) {
      return (program.find("TILE=2") != std::string::npos ? 1e-3 / tile : 1e-3) *
             request.repetitions;
    };
    scene.create();
    open();
    auto tools = scene.tools();
    ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
    ASSERT_TRUE(loop->profile(tools));
  }

  void open() {
    std::string report;
    loop.reset();
    auto opened = Loop::open(scene.workspace(), {}, report);
    ASSERT_TRUE(opened) << opened.error().to_string();
    loop = std::move(*opened);
  }

  enum class As { enabler, change };
  Result<workspace::Plan> plan(const std::string& tunable, int value, As as) {
    auto tools = scene.tools();
    const auto state = loop->state().value();
    const bool vec = tunable == "VEC";
    const std::string text =
        "+++\nversion = " + std::to_string(state.version) +
        "\nparent = " + std::to_string(state.incumbent) + "\ncategory = \"" +
        (vec ? "vectorized-access" : "tiling") + "\"\naction = \"set " + tunable + " to " +
        std::to_string(value) + "\"\nfindings = [\"" + (vec ? "narrow" : "untiled") +
        "\"]\nexpected = \"room for the next change\"\nenabler = " +
        (as == As::enabler ? "true" : "false") +
        "\n[[search]]\nsource = \"card:" + (vec ? "explicit-vector-types" : "tile-for-cache") +
        "\"\nquery = \"v" + std::to_string(state.version) + "\"\nfinding = \"f\"\n+++\n";
    const fs::path file = scene.folder() / "plan.md";
    BURNISH_TRY(real_file_system().write(file, text));
    return loop->accept_plan(tools, file);
  }
  /// A plan and a change by hand, up to the gate.
  void make(const std::string& tunable, int value, As as) {
    auto tools = scene.tools();
    const auto accepted = plan(tunable, value, as);
    ASSERT_TRUE(accepted) << accepted.error().to_string();
    const auto& spec = loop->workspace().task();
    auto files = loop->workspace().candidate().value();
    auto configuration = workspace::configuration(spec, loop->workspace().launch(files).value());
    configuration[tunable] = std::int64_t{value};
    const auto launch =
        workspace::with_tunables(files.at("launch.toml"), "launch.toml", configuration);
    ASSERT_TRUE(launch) << launch.error().to_string();
    ASSERT_TRUE(real_file_system().write(scene.workspace() / "launch.toml", *launch));
    ASSERT_TRUE(loop->accept_change(tools));
    const auto record = loop->gate(tools);
    ASSERT_TRUE(record) << record.error().to_string();
  }

  Shift commit() {
    auto tools = scene.tools();
    const auto shift = loop->commit(tools);
    EXPECT_TRUE(shift) << shift.error().to_string();
    return shift ? *shift : Shift::none;
  }

  void profile() {
    auto tools = scene.tools();
    ASSERT_TRUE(loop->profile(tools));
  }

  std::string vec() {
    const auto& workspace = loop->workspace();
    const auto launch = workspace.launch(workspace.candidate().value()).value();
    return workspace::to_text(workspace::configuration(workspace.task(), launch).at("VEC"));
  }

  Scene scene;
  double tile = 1;
  std::unique_ptr<Loop> loop;
};

using Enabler = ByHand;

TEST_F(Enabler, StaysWhenAGainFollows) {
  tile = 3;
  begin(1);
  make("VEC", 2, As::enabler);
  ASSERT_EQ(commit(), Shift::accepted);
  ASSERT_TRUE(loop->state()->enabler);
  // While it stands alone it says nothing of its card.
  EXPECT_TRUE(own_outcomes(loop->workspace().task(), *loop->workspace().records()).empty());
  profile();
  make("TILE", 2, As::change);
  ASSERT_EQ(commit(), Shift::accepted);
  EXPECT_FALSE(loop->state()->enabler);
  EXPECT_EQ(loop->state()->incumbent, 2);
  EXPECT_EQ(vec(), "2");
}

TEST_F(Enabler, IsUndoneWhenNoGainFollowsInTime) {
  begin(2);
  make("VEC", 2, As::enabler);
  ASSERT_EQ(commit(), Shift::accepted);
  profile();
  make("TILE", 2, As::change);
  ASSERT_EQ(commit(), Shift::rejected);
  EXPECT_EQ(vec(), "2");        // one iteration more
  make("VEC", 4, As::enabler);  // another enabler is no gain
  ASSERT_EQ(commit(), Shift::accepted);

  const auto state = loop->state().value();
  EXPECT_EQ(state.incumbent, 0);
  EXPECT_EQ(state.next, Stage::profile);
  EXPECT_FALSE(state.enabler);
  EXPECT_EQ(vec(), "1");
  EXPECT_TRUE(loop->workspace().clean().value());
  EXPECT_THAT(scene.observer.notes, testing::Contains(HasSubstr("v0 is back")));
  const auto first = loop->workspace().record(1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->quality_gate.result, "FAIL");
  EXPECT_THAT(first->quality_gate.failure_reason, HasSubstr("within 2 iterations"));
  EXPECT_THAT(loop->workspace().record(3)->quality_gate.failure_reason, HasSubstr("v1"));
  EXPECT_TRUE(fs::exists(loop->workspace().profile_folder(1) / "candidate/launch.toml"));
  const auto outcomes = own_outcomes(loop->workspace().task(), *loop->workspace().records());
  ASSERT_EQ(outcomes.size(), 3u);
  for (const auto& outcome : outcomes) EXPECT_FALSE(outcome.accepted);

  // The numbers go on.
  profile();
  EXPECT_EQ(loop->state()->version, 4);
}

TEST_F(Enabler, IsUndoneBeforeTheEndOfTheRoad) {
  begin(5);
  make("VEC", 2, As::enabler);
  ASSERT_EQ(commit(), Shift::accepted);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  const auto summary = loop->run(tools, *tuner, 0);
  ASSERT_TRUE(summary) << summary.error().to_string();
  EXPECT_THAT(summary->stop_reason, HasSubstr("end of the road"));
  EXPECT_EQ(summary->best_version, 0);
  EXPECT_EQ(vec(), "1");
}

TEST_F(Enabler, AKillWhileItIsUndoneLosesNothing) {
  begin(2);
  make("VEC", 2, As::enabler);
  ASSERT_EQ(commit(), Shift::accepted);
  profile();
  make("TILE", 2, As::change);
  ASSERT_EQ(commit(), Shift::rejected);
  // Now one iteration is enough: it is due when the workspace is opened next.
  const fs::path task = scene.workspace() / "burnish.toml";
  const std::string text = real_file_system().read(task).value();
  ASSERT_TRUE(real_file_system().write(
      task, replace_all(text, "enabler_iterations = 2", "enabler_iterations = 1")));
  ASSERT_TRUE(loop->workspace().commit("Less patience", "", -1, {"burnish.toml"}));
  loop.reset();
  const fs::path workspace = scene.workspace();
  const fs::path kept = scene.folder() / "kept";
  fs::rename(workspace, kept);
  int killed = 0;
  for (int fatal = 0;; ++fatal) {
    SCOPED_TRACE("killed at step " + std::to_string(fatal));
    fs::remove_all(workspace);
    fs::copy(kept, workspace, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Fuse fuse{0, fatal};
      FusedFiles files(fuse);
      FusedProcesses processes(fuse);
      std::string report;
      _exit(Loop::open(workspace, {files, processes, real_clock()}, report) ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const bool whole = WIFEXITED(status);
    if (whole) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
    }
    open();
    const auto state = loop->state().value();
    EXPECT_EQ(state.incumbent, 0);
    EXPECT_EQ(state.next, Stage::profile);
    EXPECT_EQ(vec(), "1");
    EXPECT_EQ(loop->workspace().record(1)->quality_gate.result, "FAIL");
    EXPECT_TRUE(loop->workspace().clean().value());
    loop.reset();
    if (whole) break;
    ++killed;
  }
  EXPECT_GT(killed, 15);
}

/// Looks at what planning may see, and sees no direction.
class Looker : public agent::Agent {
 public:
  std::string name() const override { return "looker"; }
  Result<std::optional<workspace::Plan>> plan(const agent::Situation& situation) override {
    seen.clear();
    for (const auto& record : situation.history) seen.push_back(record.number);
    return std::optional<workspace::Plan>();
  }
  Result<workspace::Files> implement(const agent::Situation&, const workspace::Plan&,
                                     agent::Evaluator&) override {
    return bug("it has no direction");
  }
  std::vector<int> seen;
};

using PartialRestart = ByHand;

TEST_F(PartialRestart, MasksHalfAndPlanningNeverReadsTheMasked) {
  tile = 3;
  begin(3);
  make("TILE", 2, As::change);
  ASSERT_EQ(commit(), Shift::accepted);
  profile();
  make("VEC", 2, As::change);
  ASSERT_EQ(commit(), Shift::rejected);
  make("VEC", 4, As::change);
  ASSERT_EQ(commit(), Shift::rejected);
  auto tools = scene.tools();
  Looker looker;
  ASSERT_TRUE(loop->plan(tools, looker));
  EXPECT_EQ(looker.seen, (std::vector<int>{0, 1, 2, 3}));
  const auto tried = plan("VEC", 2, As::change);
  ASSERT_FALSE(tried);
  EXPECT_THAT(tried.error().message, HasSubstr("v2 tried the same"));

  // Half of v2 and v3: v0 and the best stay.
  const std::string before = loop->workspace().candidate().value().at("launch.toml");
  const auto masked = loop->partial_restart(tools);
  ASSERT_TRUE(masked) << masked.error().to_string();
  ASSERT_EQ(masked->size(), 1u);
  const int gone = masked->front(), left = gone == 2 ? 3 : 2;
  EXPECT_TRUE(gone == 2 || gone == 3);
  ASSERT_TRUE(loop->plan(tools, looker));
  EXPECT_EQ(looker.seen, (std::vector<int>{0, 1, left}));
  EXPECT_EQ(loop->workspace().candidate().value().at("launch.toml"), before);
  EXPECT_TRUE(loop->workspace().clean().value());
  EXPECT_TRUE(loop->state()->restarted);

  // What a masked record tried may be tried again, under the next number.
  EXPECT_FALSE(plan("VEC", left == 2 ? 2 : 4, As::change));
  const auto again = plan("VEC", gone == 2 ? 2 : 4, As::change);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->version, 4);

  // Nothing is left to mask but v0 and the best: nothing is masked.
  auto record = loop->workspace().record(left).value();
  record.masked = true;
  ASSERT_TRUE(loop->workspace().change_records({record}, "Mask"));
  const auto none = loop->partial_restart(tools);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

}  // namespace
}  // namespace burnish::loop
