#include "loop/loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/outcomes.h"
#include "loop/outcomes.h"
#include "loop/testing.h"

namespace burnish::loop {
namespace {

/// All these workspaces have one reference: its program is kept beside this test, so that it is not
/// compiled for each of them.
std::unique_ptr<Loop> open(const Scene& scene) {
  const fs::path programs = scene.workspace() / ".burnish/cache/reference/reference/programs";
  const fs::path kept = fs::read_symlink("/proc/self/exe").parent_path() / "reference-of-loop-test";
  constexpr auto kWhole = fs::copy_options::recursive | fs::copy_options::skip_existing;
  if (fs::exists(kept)) {
    fs::create_directories(programs.parent_path());
    fs::copy(kept, programs, kWhole);
  }
  std::string report;
  auto loop = Loop::open(scene.workspace(), {}, report);
  EXPECT_TRUE(loop) << loop.error().to_string();
  if (!fs::exists(kept) && fs::exists(programs)) {
    const fs::path made = kept.string() + "." + std::to_string(getpid());
    fs::copy(programs, made, kWhole);
    std::error_code lost;  // to another test that was as quick
    fs::rename(made, kept, lost);
    if (lost) fs::remove_all(made);
  }
  return loop ? std::move(*loop) : nullptr;
}

TEST(Loop, TakesTheTunablesOfEachCategoryInTurnUntilTheEndOfTheRoad) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  const auto summary = loop->run(tools, *tuner, 0);
  ASSERT_TRUE(summary) << summary.error().to_string();
  ASSERT_GE(summary->iterations.size(), 2u);
  EXPECT_EQ(summary->iterations[0].category, "vectorized-access");
  EXPECT_EQ(summary->iterations[0].gate, "PASS");
  EXPECT_NEAR(summary->iterations[0].ratio, 2, 0.01);
  EXPECT_EQ(summary->iterations[1].category, "tiling");
  EXPECT_NEAR(summary->iterations[1].ratio, 3, 0.01);
  EXPECT_NEAR(*summary->speedup, 6, 0.05);
  EXPECT_NE(summary->stop_reason.find("end of the road"), std::string::npos)
      << summary->stop_reason;

  const auto& workspace = loop->workspace();
  EXPECT_TRUE(workspace.clean().value());
  for (int version = 0; version <= 2; ++version) {
    EXPECT_TRUE(workspace.commit_of(version).value()) << version;
    EXPECT_TRUE(workspace.record(version)) << version;
  }
  EXPECT_TRUE(workspace.text("plans/v1_plan.md"));
  EXPECT_TRUE(workspace.text("reports/v1.md"));
  EXPECT_TRUE(workspace.text("baseline_report.md"));
  const auto launch = workspace.launch(workspace.candidate().value());
  const auto configuration = workspace::configuration(workspace.task(), *launch);
  EXPECT_EQ(workspace::to_text(configuration.at("VEC")), "4");
  EXPECT_EQ(workspace::to_text(configuration.at("TILE")), "2");
}

// Those of the kernels that measure them are device code: `burnish bench --device python` failed on
// their syntax.
TEST(Loop, HostCodeHasNoCeilings) {
  Scene scene;
  scene.create();
  auto workspace =
      workspace::Workspace::open(scene.workspace(), workspace::Workspace::Access::read, {});
  ASSERT_TRUE(workspace) << workspace.error().to_string();
  scene.device.mutable_info().backend = "python";
  const auto found = ceilings(*workspace, scene.device);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_TRUE(found->empty());
}

TEST(Loop, ChangesNothingWhenItHasStopped) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  ASSERT_TRUE(loop->run(tools, *tuner, 0));
  const auto before = loop->workspace().journal().value().size();
  loop.reset();
  loop = open(scene);
  const auto again = loop->run(tools, *tuner, 0);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->stop_reason.empty());
  EXPECT_EQ(loop->workspace().journal().value().size(), before);
}

TEST(Loop, PutsAWrongKernelBackAndSaysWhatIsWrong) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  ASSERT_TRUE(loop->profile(tools));
  ASSERT_TRUE(loop->plan(tools, *tuner));
  ASSERT_TRUE(loop->implement(tools, *tuner));
  scene.device.wrong = true;  // right in the trials, wrong before the judge
  const auto record = loop->gate(tools);
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_EQ(record->quality_gate.result, "FAIL");
  EXPECT_NE(record->quality_gate.failure_reason.find("y"), std::string::npos);
  const auto shift = loop->commit(tools);
  ASSERT_TRUE(shift) << shift.error().to_string();
  EXPECT_EQ(*shift, Shift::rejected);
  const auto launch = loop->workspace().launch(loop->workspace().candidate().value());
  EXPECT_TRUE(launch->tunables.empty());
  EXPECT_TRUE(loop->workspace().clean().value());
  const auto state = loop->state();
  EXPECT_EQ(state->incumbent, 0);
  EXPECT_EQ(state->next, Stage::plan);
}

TEST(Loop, AcceptsAPlanAndAChangeByHand) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  ASSERT_TRUE(loop->profile(tools));

  const auto plan = [](const std::string& finding, const std::string& source) {
    return "+++\nversion = 1\nparent = 0\ncategory = \"tiling\"\naction = \"set TILE to "
           "2\"\nfindings = [\"" +
           finding + "\"]\nexpected = \"3 times\"\n[[search]]\nsource = \"" + source +
           "\"\nquery = \"tile\"\nfinding = \"f\"\n+++\n";
  };
  const fs::path file = scene.folder() / "my_plan.md";
  ASSERT_TRUE(real_file_system().write(file, plan("no-such-finding", "card:tile-for-cache")));
  auto refused = loop->accept_plan(tools, file);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("no-such-finding"), std::string::npos);
  ASSERT_TRUE(real_file_system().write(file, plan("untiled", "card:tile-for-cache")));
  ASSERT_TRUE(loop->accept_plan(tools, file));

  const auto nothing = loop->accept_change(tools);
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().message.find("nothing was changed"), std::string::npos);
  ASSERT_TRUE(real_file_system().write(scene.workspace() / "reference.cpp", "int x;\n"));
  const auto foreign = loop->accept_change(tools);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("reference.cpp"), std::string::npos);
  ASSERT_TRUE(real_file_system().write(scene.workspace() / "reference.cpp", kReference));

  ASSERT_TRUE(real_file_system().write(scene.workspace() / "launch.toml",
                                       std::string(kLaunch) + "\n[tunables]\nTILE = 2\n"));
  ASSERT_TRUE(loop->accept_change(tools));
  const auto record = loop->gate(tools);
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_EQ(record->quality_gate.result, "PASS") << record->quality_gate.failure_reason;
  EXPECT_EQ(*loop->commit(tools), Shift::accepted);
}

TEST(Loop, RefusesABundleOfTwoCategories) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  ASSERT_TRUE(loop->profile(tools));
  ASSERT_TRUE(loop->plan(tools, *tuner));
  ASSERT_TRUE(real_file_system().write(scene.workspace() / "launch.toml",
                                       std::string(kLaunch) + "\n[tunables]\nTILE = 2\nVEC = 4\n"));
  ASSERT_TRUE(loop->accept_change(tools));
  const auto record = loop->gate(tools);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->quality_gate.result, "FAIL");
  EXPECT_NE(record->quality_gate.failure_reason.find("one category"), std::string::npos);
}

TEST(Loop, CallsAChangeWithoutEffectANoOp) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  ASSERT_TRUE(loop->profile(tools));
  ASSERT_TRUE(loop->plan(tools, *tuner));
  ASSERT_TRUE(real_file_system().write(scene.workspace() / "launch.toml",
                                       std::string("# the same\n") + kLaunch));
  ASSERT_TRUE(loop->accept_change(tools));
  const auto record = loop->gate(tools);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->quality_gate.result, "FAIL") << record->quality_gate.parts.at("performance");
}

TEST(Loop, RefusesEachVerbOutOfTurn) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  EXPECT_FALSE(loop->profile(tools));
  EXPECT_FALSE(loop->plan(tools, *tuner));
  EXPECT_FALSE(loop->implement(tools, *tuner));
  EXPECT_FALSE(loop->gate(tools));
  EXPECT_FALSE(loop->commit(tools));
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  EXPECT_FALSE(loop->baseline(tools, Loop::AllowWeak::no));
  EXPECT_EQ(loop->state()->next, Stage::profile);
}

TEST(Loop, RefusesToCommitWhatWasNotJudged) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  ASSERT_TRUE(loop->profile(tools));
  ASSERT_TRUE(loop->plan(tools, *tuner));
  ASSERT_TRUE(loop->implement(tools, *tuner));
  ASSERT_EQ(loop->gate(tools)->quality_gate.result, "PASS");
  ASSERT_TRUE(real_file_system().write(scene.workspace() / "kernel.cl", "scale kernel, edited\n"));
  const auto refused = loop->commit(tools);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("differs from the one that was judged"),
            std::string::npos);
}

/// To the gate with the tuner's first change.
void to_the_gate(Loop& loop, Tools& tools) {
  auto tuner = agent::make_tuner();
  ASSERT_TRUE(loop.baseline(tools, Loop::AllowWeak::no));
  ASSERT_TRUE(loop.profile(tools));
  ASSERT_TRUE(loop.plan(tools, *tuner));
  ASSERT_TRUE(loop.implement(tools, *tuner));
}

TEST(Loop, LetsNoEditedRecordPass) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  to_the_gate(*loop, tools);
  scene.device.wrong = true;
  auto record = loop->gate(tools);
  ASSERT_TRUE(record) << record.error().to_string();
  ASSERT_EQ(record->quality_gate.result, "FAIL");
  record->quality_gate.result = "PASS";
  ASSERT_TRUE(loop->workspace().change_records({*record}, "Say that it passed"));
  const auto refused = loop->commit(tools);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "memory/v1.json says PASS, and the gate said FAIL");
  EXPECT_EQ(loop->state()->next, Stage::commit);
  // A stricter word than the gate's is a person's to say.
  record->quality_gate.result = "FAIL";
  ASSERT_TRUE(loop->workspace().change_records({*record}, "Say what the gate said"));
  EXPECT_EQ(loop->commit(tools).value(), Shift::rejected);
}

TEST(Loop, CommitsTheBaselineAsItWasJudged) {
  Scene scene;
  scene.create();
  const std::string mine = "scale kernel, edited after init\n";
  ASSERT_TRUE(real_file_system().write(scene.workspace() / "kernel.cl", mine));
  auto loop = open(scene);
  auto tools = scene.tools();
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  EXPECT_TRUE(loop->workspace().clean().value());
  const auto commit = loop->workspace().commit_of(0).value();
  ASSERT_TRUE(commit);
  EXPECT_EQ(loop->workspace().candidate_at(*commit)->at("kernel.cl"), mine);
}

TEST(Loop, KeepsTheKernelWhenABaselineIsCutOff) {
  Scene scene;
  scene.create();
  const std::string mine = "scale kernel, edited after init\n";
  ASSERT_TRUE(real_file_system().write(scene.workspace() / "kernel.cl", mine));
  auto loop = open(scene);
  ASSERT_TRUE(loop->workspace().append("baseline", workspace::Entry::Phase::begin, 0, {}));
  loop.reset();
  loop = open(scene);
  EXPECT_EQ(loop->state()->next, Stage::baseline);
  EXPECT_EQ(loop->workspace().candidate()->at("kernel.cl"), mine);
}

TEST(Loop, TakesNobodysChangeForTheAgents) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  const std::string mine = "scale kernel, my idea\n";
  ASSERT_TRUE(real_file_system().write(scene.workspace() / "kernel.cl", mine));
  auto refused = loop->run(tools, *tuner, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_EQ(refused.error().message, "kernel.cl differs from v0, and no plan covers the change");
  EXPECT_EQ(loop->workspace().candidate()->at("kernel.cl"), mine);
  EXPECT_EQ(loop->state()->next, Stage::plan);
  // A plan rests on the incumbent, whatever stands in the working tree.
  ASSERT_TRUE(loop->plan(tools, *tuner));
  EXPECT_FALSE(loop->implement(tools, *tuner));
  EXPECT_TRUE(loop->accept_change(tools));
  const auto record = loop->gate(tools);
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_EQ(record->optimization.parameters.at("base"), loop->workspace().record(0)->artefact_hash);
}

TEST(Loop, LosesNothingThatWasWrittenAfterARejection) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  to_the_gate(*loop, tools);
  scene.device.wrong = true;
  ASSERT_EQ(loop->gate(tools)->quality_gate.result, "FAIL");
  const auto judged = loop->workspace().candidate().value();
  const fs::path kernel = scene.workspace() / "kernel.cl";
  ASSERT_TRUE(real_file_system().write(kernel, "scale kernel, mended\n"));
  const auto refused = loop->commit(tools);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().hint.find("profiles/v1/candidate/kernel.cl"), std::string::npos);
  EXPECT_EQ(real_file_system().read(kernel).value(), "scale kernel, mended\n");
  // Without the kernel there is nothing to lose.
  fs::remove(kernel);
  EXPECT_EQ(loop->commit(tools).value(), Shift::rejected);
  EXPECT_TRUE(loop->workspace().clean().value());
  const auto kept = files_of(loop->workspace(), "v1");
  ASSERT_TRUE(kept) << kept.error().to_string();
  EXPECT_EQ(*kept, judged);
}

TEST(Loop, GoesOnWhereItWasStopped) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  ASSERT_TRUE(loop->stop("before all"));
  ASSERT_TRUE(loop->stop("again"));
  ASSERT_TRUE(loop->resume());
  EXPECT_EQ(loop->state()->next, Stage::baseline);
  to_the_gate(*loop, tools);
  ASSERT_TRUE(loop->stop("lunch"));
  ASSERT_TRUE(loop->resume());
  // The kernel in the working tree is v1's: to profile it as v0 would tell of the wrong one.
  EXPECT_EQ(loop->state()->next, Stage::gate);
  EXPECT_EQ(loop->state()->version, 1);
  ASSERT_TRUE(loop->gate(tools));
  ASSERT_TRUE(loop->stop("night"));
  ASSERT_TRUE(loop->resume());
  EXPECT_EQ(loop->commit(tools).value(), Shift::accepted);
}

TEST(Loop, KeepsWhatTheGateLeftWhenAProfileIsCutOff) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  to_the_gate(*loop, tools);
  ASSERT_TRUE(loop->gate(tools));
  ASSERT_EQ(loop->commit(tools).value(), Shift::accepted);
  const fs::path folder = loop->workspace().profile_folder(1);
  ASSERT_TRUE(real_file_system().write(folder / "evidence.json", "{}"));
  ASSERT_TRUE(loop->workspace().append("profile", workspace::Entry::Phase::begin, 1, {}));
  loop.reset();
  loop = open(scene);
  EXPECT_EQ(loop->state()->next, Stage::profile);
  EXPECT_FALSE(fs::exists(folder / "evidence.json"));
  EXPECT_TRUE(fs::exists(folder / "gate.json"));
  EXPECT_TRUE(fs::exists(folder / "trials.jsonl"));
}

TEST(Loop, RefusesAJournalThatEndsBeforeTheHistory) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  const fs::path journal = scene.workspace() / ".burnish/journal.jsonl";
  const std::string before = real_file_system().read(journal).value();
  auto tuner = agent::make_tuner();
  ASSERT_TRUE(loop->run(tools, *tuner, 1));
  const std::string whole = real_file_system().read(journal).value();
  loop.reset();
  // A copy from before v1 was put in its place: the next version would be a second v1.
  ASSERT_TRUE(real_file_system().write(journal, before));
  std::string report;
  const auto refused = Loop::open(scene.workspace(), {}, report);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a commit of v1"), std::string::npos);
  ASSERT_TRUE(real_file_system().write(journal, whole));
  EXPECT_TRUE(open(scene));
}

TEST(Loop, SaysThatTheIncumbentsRecordIsMissing) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  fs::remove(scene.workspace() / "memory/v0.json");
  const auto refused = loop->run(tools, *tuner, 1);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().hint.find("git checkout HEAD -- memory/v0.json"), std::string::npos);
  EXPECT_NE(loop->state()->next, Stage::implement);
}

TEST(Loop, GivesNoOtherKernelForOneWhoseFilesAreGone) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  to_the_gate(*loop, tools);
  scene.device.wrong = true;
  ASSERT_TRUE(loop->gate(tools));
  ASSERT_EQ(loop->commit(tools).value(), Shift::rejected);
  EXPECT_TRUE(files_of(loop->workspace(), "v1"));
  fs::remove_all(scene.workspace() / "profiles");
  EXPECT_TRUE(files_of(loop->workspace(), "v0"));
  const auto gone = files_of(loop->workspace(), "v1");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().message, "v1 was put back, and its files are gone");
}

TEST(Loop, TellsAStoryOnce) {
  Scene scene;
  scene.create();
  const std::string plan =
      "+++\nversion = 1\nparent = 0\ncategory = \"algorithm\"\naction = \"rename\"\nfindings = "
      "[\"narrow\"]\nexpected = \"nothing\"\n[[search]]\nsource = \"card:tile-for-cache\"\nquery "
      "= \"q\"\nfinding = \"f\"\n+++\n";
  ASSERT_TRUE(real_file_system().write(scene.folder() / "story/01-slow/plan.md", plan));
  ASSERT_TRUE(real_file_system().write(scene.folder() / "story/01-slow/kernel.cl",
                                       "scale kernel, named\n"));
  auto loop = open(scene);
  auto tools = scene.tools();
  auto replay = agent::make_replay(scene.folder() / "story", {});
  ASSERT_TRUE(replay) << replay.error().to_string();
  const auto summary = loop->run(tools, **replay, 0);
  ASSERT_TRUE(summary) << summary.error().to_string();
  // Its rejection masks no record: the story would lose its place and tell the step again.
  ASSERT_EQ(summary->iterations.size(), 1u);
  EXPECT_EQ(summary->iterations[0].gate, "FAIL");
  EXPECT_EQ(summary->stop_reason, "the story is told: no step is left");
}

TEST(Loop, JudgesAChangeThatItsMakerCommitted) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  ASSERT_TRUE(loop->baseline(tools, Loop::AllowWeak::no));
  ASSERT_TRUE(loop->profile(tools));
  ASSERT_TRUE(loop->plan(tools, *tuner));
  const auto v0 = loop->workspace().candidate().value();
  ASSERT_TRUE(
      real_file_system().write(scene.workspace() / "kernel.cl", "scale kernel, no faster\n"));
  ASSERT_TRUE(loop->workspace().commit("My change", "", -1, {"kernel.cl"}));
  const auto accepted = loop->accept_change(tools);
  ASSERT_TRUE(accepted) << accepted.error().to_string();
  ASSERT_EQ(loop->gate(tools)->quality_gate.result, "FAIL");
  ASSERT_EQ(loop->commit(tools).value(), Shift::rejected);
  EXPECT_EQ(loop->workspace().candidate().value(), v0);
  EXPECT_TRUE(loop->workspace().clean().value());
}

TEST(Loop, EndsASearchWhenTheAgentsTimeIsUp) {
  Scene scene;
  auto& files = real_file_system();
  const fs::path task = scene.folder() / "task/burnish.toml";
  ASSERT_TRUE(files.write(task, files.read(task).value() + "[agent]\nbudget_seconds = 0.000001\n"));
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  to_the_gate(*loop, tools);
  const auto trials = files.read(loop->workspace().profile_folder(1) / "trials.jsonl");
  ASSERT_TRUE(trials) << trials.error().to_string();
  const auto lines = split(trim(*trials), '\n');
  ASSERT_EQ(lines.size(), 3u) << *trials;
  EXPECT_TRUE(contains(lines[0], "\"ok\"")) << *trials;
  for (std::size_t i = 1; i < lines.size(); ++i)
    EXPECT_TRUE(contains(lines[i], "agent.budget_seconds is used up")) << *trials;
}

TEST(Loop, TellsTheIntervalOfTheVersionsThatLedToTheBest) {
  Scene scene;
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  const auto before = loop->run(tools, *tuner, 0);
  ASSERT_TRUE(before) << before.error().to_string();
  ASSERT_GT(before->speedup_interval.low, 5);
  // A record of another tool, or one that was made by hand, is in no one's ancestry.
  auto record = loop->workspace().record(1).value();
  record.number = 77;
  record.version = "v77";
  record.parent = -1;
  record.performance.interval = Interval{100, 200};
  ASSERT_TRUE(loop->workspace().put_record(record));
  const auto after = summarize(loop->workspace());
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_EQ(after->speedup_interval.low, before->speedup_interval.low);
  EXPECT_EQ(after->speedup_interval.high, before->speedup_interval.high);
}

TEST(Loop, RefusesAWeakTask) {
  Scene scene;
  // A reference that is zero everywhere lets zeros pass.
  ASSERT_TRUE(real_file_system().write(
      scene.folder() / "task/reference.cpp",
      "#include \"burnish_reference.h\"\n"
      "void reference(const burnish::Dims& d, const burnish::Inputs&, burnish::Outputs& out) {\n"
      "  for (auto i = 0 * d[\"N\"]; i < d[\"N\"]; ++i) out[\"y\"][i] = 0;\n}\n"));
  scene.create();
  auto loop = open(scene);
  auto tools = scene.tools();
  const auto refused = loop->baseline(tools, Loop::AllowWeak::no);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_NE(refused.error().message.find("too weak"), std::string::npos);
}

TEST(Loop, SharesOutcomesAndReadsReferenceFolders) {
  Scene scene;
  scene.create();
  auto& files = real_file_system();
  const fs::path task = scene.workspace() / "burnish.toml";
  const fs::path store = scene.folder() / "outcomes.jsonl";
  const std::string text = files.read(task).value();
  ASSERT_TRUE(files.write(task, "reference_projects = [\"../kernels\"]\n" + text +
                                    "[knowledge]\noutcomes = \"../outcomes.jsonl\"\n"));
  ASSERT_TRUE(files.write(scene.folder() / "kernels/wide.cl",
                          "// explicit vector types: float4 loads, vectorized access\n"));
  // Somebody else's line, and one that is none.
  ASSERT_TRUE(
      files.write(store, "{\"card\":\"tile-for-cache\",\"accepted\":true,\"gain\":2}\nnonsense\n"));
  auto loop = open(scene);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  const auto summary = loop->run(tools, *tuner, 0);
  ASSERT_TRUE(summary) << summary.error().to_string();

  const auto outcomes = knowledge::read_outcomes(store, files);
  ASSERT_TRUE(outcomes);
  ASSERT_EQ(outcomes->outcomes.size(), 1 + summary->iterations.size());
  EXPECT_EQ(outcomes->outcomes[1].card, "explicit-vector-types");
  EXPECT_TRUE(outcomes->outcomes[1].accepted);
  EXPECT_NEAR(outcomes->outcomes[1].gain, 2, 0.01);
  bool complained = false;
  for (const auto& note : scene.observer.notes)
    complained = complained || note.find("outcomes.jsonl:2: ") != std::string::npos;
  EXPECT_TRUE(complained);

  const auto record = loop->workspace().record(1);
  ASSERT_TRUE(record);
  bool cited = false;
  for (const auto& search : record->search_log)
    cited = cited || (search.layer == "L2" && search.source == "reference:kernels/wide.cl");
  EXPECT_TRUE(cited);
  // Masked records do not speak, not through the store either.
  std::vector<std::string> complaints;
  const auto records = loop->workspace().records();
  ASSERT_TRUE(records);
  auto past = past_outcomes(loop->workspace(), *records, scene.device.info().name, complaints);
  ASSERT_TRUE(past);
  EXPECT_EQ(past->size(), own_outcomes(loop->workspace().task(), *records).size() + 1);
  EXPECT_LT(past->back().weight, 1);
}

}  // namespace
}  // namespace burnish::loop
