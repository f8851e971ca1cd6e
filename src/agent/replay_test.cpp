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
  knowledge::CardBase cards = knowledge::CardBase::make({}, {}).value();
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
