#include "loop/loop.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "knowledge/outcomes.h"
#include "loop/outcomes.h"
#include "loop/testing.h"

namespace burnish::loop {
namespace {

std::unique_ptr<Loop> open(const Scene& scene) {
  std::string report;
  auto loop = Loop::open(scene.workspace(), {}, report);
  EXPECT_TRUE(loop) << loop.error().to_string();
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
