#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent/agent.h"

namespace burnish::agent {
namespace {

const char* const kFront =
    "+++\nversion = 1\nparent = 0\ncategory = \"tiling\"\naction = \"tile\"\nfindings = [\"f\"]\n"
    "expected = \"more reuse\"\n+++\n";

class NoEvaluator : public Evaluator {
 public:
  Result<Trial> evaluate(const workspace::Files&, const workspace::Configuration&) override {
    return bug("a replay measures nothing");
  }
};

struct Story {
  TemporaryFolder folder = TemporaryFolder::make("burnish-replay-test").value();
  knowledge::CardBase cards =
      knowledge::CardBase::make(knowledge::Catalogue::make({}).value(), {}).value();
  workspace::TaskSpec task;
  device::DeviceInfo device;

  void step(const std::string& name, const std::string& diff) {
    ASSERT_TRUE(real_file_system().write(folder.path() / name, kFront + diff));
  }
  Situation situation(std::vector<workspace::Record> history) {
    Situation situation{task,
                        device,
                        cards,
                        1,
                        0,
                        "hash",
                        {{"kernel.cl", "one\ntwo\nthree\n"}},
                        {},
                        {},
                        {},
                        "",
                        std::move(history)};
    evidence::Finding finding;
    finding.id = "no-reuse";
    finding.category = "tiling";
    situation.findings = {finding};
    return situation;
  }
};

TEST(Replay, AppliesThePatchesInOrder) {
  Story story;
  story.step("01-first.patch",
             "--- a/kernel.cl\n+++ b/kernel.cl\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n");
  story.step("02-second.patch",
             "--- a/kernel.cl\n+++ b/kernel.cl\n@@ -1,3 +1,3 @@\n one\n two\n-three\n+THREE\n");
  auto agent = make_replay(story.folder.path(), {});
  ASSERT_TRUE(agent) << agent.error().to_string();
  NoEvaluator evaluator;

  const auto first = story.situation({});
  const auto plan = (*agent)->plan(first);
  ASSERT_TRUE(plan && *plan);
  EXPECT_EQ((*plan)->category, "tiling");
  EXPECT_EQ((*plan)->findings, std::vector<std::string>{"no-reuse"});
  const auto files = (*agent)->implement(first, **plan, evaluator);
  ASSERT_TRUE(files) << files.error().to_string();
  EXPECT_EQ(files->at("kernel.cl"), "one\nTWO\nthree\n");

  workspace::Record done;
  done.number = 1;
  done.optimization.agent = "replay";
  const auto second = story.situation({done});
  const auto next = (*agent)->implement(second, **plan, evaluator);
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_EQ(next->at("kernel.cl"), "one\ntwo\nTHREE\n");

  const auto end = (*agent)->plan(story.situation({done, done}));
  ASSERT_TRUE(end);
  EXPECT_FALSE(*end);
}

// Whole files do not depend on whether the step before them was kept.
TEST(Replay, ReplacesTheFilesOfAFolder) {
  Story story;
  story.step("01-first/plan.md", "");
  ASSERT_TRUE(real_file_system().write(story.folder.path() / "01-first/kernel.cl", "ONE\n"));
  story.step("02-second.patch", "--- a/kernel.cl\n+++ b/kernel.cl\n@@ -1 +1 @@\n-ONE\n+TWO\n");
  story.step("03-third/plan.md", "");
  ASSERT_TRUE(real_file_system().write(story.folder.path() / "03-third/kernel.cl", "THREE\n"));
  ASSERT_TRUE(real_file_system().write(story.folder.path() / "README.md", "of the story\n"));
  auto agent = make_replay(story.folder.path(), {});
  ASSERT_TRUE(agent) << agent.error().to_string();
  NoEvaluator evaluator;
  workspace::Record done;
  done.optimization.agent = "replay";
  const auto first = story.situation({});
  const auto third = story.situation({done, done});
  const auto plan = (*agent)->plan(first);
  ASSERT_TRUE(plan && *plan);
  EXPECT_EQ((*plan)->action, "tile");
  EXPECT_EQ((*agent)->implement(first, **plan, evaluator)->at("kernel.cl"), "ONE\n");
  EXPECT_EQ((*agent)->implement(third, **plan, evaluator)->at("kernel.cl"), "THREE\n");
}

// A step need not have again what its parent in the story left; that of a step that failed there
// stays out, and a version that the gate kept instead changes neither.
TEST(Replay, GoesOnFromTheStepThatThePlanNames) {
  Story story;
  auto& files = real_file_system();
  const auto step = [&](const std::string& name, int version, int parent,
                        const workspace::Files& whole) {
    ASSERT_TRUE(files.write(
        story.folder.path() / name / "plan.md",
        fmt::format("+++\nversion = {}\nparent = {}\ncategory = \"tiling\"\naction = \"tile\"\n"
                    "findings = [\"f\"]\nexpected = \"more reuse\"\n+++\n",
                    version, parent)));
    for (const auto& [file, text] : whole)
      ASSERT_TRUE(files.write(story.folder.path() / name / file, text));
  };
  step("01-brings", 1, 0, {{"kernel.cl", "ONE\n"}, {"tile.h", "TILE\n"}});
  step("02-failed", 2, 1, {{"kernel.cl", "TWO\n"}, {"tile.h", "WRONG\n"}});
  step("03-uses", 3, 1, {{"kernel.cl", "THREE\n"}});
  step("04-uses", 4, 3, {{"kernel.cl", "FOUR\n"}});
  step("05-elsewhere", 5, 9, {{"kernel.cl", "FIVE\n"}});  // its parent is not in this story
  auto agent = make_replay(story.folder.path(), {});
  ASSERT_TRUE(agent) << agent.error().to_string();
  NoEvaluator evaluator;
  workspace::Record done;
  done.optimization.agent = "replay";
  const auto tile_of = [&](std::size_t number) {
    auto situation = story.situation(std::vector<workspace::Record>(number - 1, done));
    situation.candidate["tile.h"] = "";  // no step before it was kept
    const auto made = (*agent)->implement(situation, *(*agent)->plan(situation).value(), evaluator);
    return made ? made->at("tile.h") : made.error().to_string();
  };
  EXPECT_EQ(tile_of(1), "TILE\n");
  EXPECT_EQ(tile_of(2), "WRONG\n");
  EXPECT_EQ(tile_of(3), "TILE\n");
  EXPECT_EQ(tile_of(4), "TILE\n");
  EXPECT_EQ(tile_of(5), "");
}

TEST(Replay, RefusesFilesThatTheCandidateLacks) {
  Story story;
  story.step("01-first/plan.md", "");
  auto empty = make_replay(story.folder.path(), {});
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("no file that it changes"), std::string::npos);
  ASSERT_TRUE(real_file_system().write(story.folder.path() / "01-first/kernel.c", "ONE\n"));
  auto agent = make_replay(story.folder.path(), {});
  ASSERT_TRUE(agent) << agent.error().to_string();
  NoEvaluator evaluator;
  const auto situation = story.situation({});
  const auto files = (*agent)->implement(situation, *(*agent)->plan(situation).value(), evaluator);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().to_string().find("01-first/kernel.c"), std::string::npos);
}

TEST(Replay, RefusesAPatchThatDoesNotApply) {
  Story story;
  story.step("01.patch",
             "--- a/kernel.cl\n+++ b/kernel.cl\n@@ -1,3 +1,3 @@\n four\n-five\n+FIVE\n six\n");
  auto agent = make_replay(story.folder.path(), {});
  ASSERT_TRUE(agent);
  NoEvaluator evaluator;
  const auto situation = story.situation({});
  const auto plan = (*agent)->plan(situation);
  const auto files = (*agent)->implement(situation, **plan, evaluator);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().to_string().find("01.patch"), std::string::npos);
}

TEST(Replay, RefusesAFolderWithoutAStory) {
  Story story;
  EXPECT_FALSE(make_replay(story.folder.path(), {}));
  story.step("01.patch", "no diff here\n");
  const auto agent = make_replay(story.folder.path(), {});
  ASSERT_FALSE(agent);
  EXPECT_NE(agent.error().message.find("no unified diff"), std::string::npos);
}

}  // namespace
}  // namespace burnish::agent
