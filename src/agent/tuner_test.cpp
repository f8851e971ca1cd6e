#include <gtest/gtest.h>

#include <cmath>

#include "agent/agent.h"

namespace burnish::agent {
namespace {

workspace::Tunable tunable(const std::string& name, std::vector<std::int64_t> values,
                           const std::string& category) {
  workspace::Tunable made;
  made.name = name;
  for (const auto value : values) made.values.emplace_back(value);
  made.initial = made.values.front();
  made.category = category;
  return made;
}

evidence::Finding finding(const std::string& id, const std::string& category, double headroom) {
  evidence::Finding made;
  made.id = id;
  made.category = category;
  made.headroom = headroom;
  made.because = "because";
  made.action = "act";
  return made;
}

struct Stage {
  knowledge::CardBase cards =
      knowledge::CardBase::make(knowledge::Catalogue::make({}).value(), {}).value();
  workspace::TaskSpec task;
  device::DeviceInfo device;
  std::vector<evidence::Finding> findings;
  std::vector<workspace::Record> history;

  Stage() {
    task.launch_file = "launch.toml";
    task.tunables = {tunable("A", {1, 2, 4, 8}, "tiling"), tunable("B", {1, 2, 4}, "tiling"),
                     tunable("C", {0, 1}, "unrolling")};
    findings = {finding("unanswered", "cache-policy", 9), finding("tile-it", "tiling", 5),
                finding("unroll-it", "unrolling", 2)};
  }
  Situation situation() {
    Situation made{
        task, device, cards,    1,  0,      "hash", {{"launch.toml", "[tunables]\nA = 1\n"}},
        {},   {},     findings, "", history};
    for (const auto& item : task.tunables) made.configuration[item.name] = item.initial;
    return made;
  }
  void tried(int number, const std::string& category, const std::string& gate) {
    workspace::Record record;
    record.number = number;
    record.optimization.action_category = category;
    record.quality_gate.result = gate;
    history.push_back(record);
  }
};

/// Fastest at A = 4, B = 2; odd products of both are invalid.
class Bowl : public Evaluator {
 public:
  int calls = 0;
  Result<Trial> evaluate(const workspace::Files&,
                         const workspace::Configuration& configuration) override {
    ++calls;
    Trial trial;
    trial.configuration = configuration;
    const double a = static_cast<double>(std::get<std::int64_t>(configuration.at("A")));
    const double b = static_cast<double>(std::get<std::int64_t>(configuration.at("B")));
    if (a == 8 && b == 4) {
      trial.status = "crashed";
      return trial;
    }
    trial.seconds = 1 + std::abs(std::log2(a) - 2) + std::abs(std::log2(b) - 1);
    trial.status = "ok";
    return trial;
  }
};

TEST(Tuner, PlansTheLargestBoundThatATunableAnswers) {
  Stage stage;
  const auto plan = make_tuner()->plan(stage.situation());
  ASSERT_TRUE(plan && *plan);
  EXPECT_EQ((*plan)->category, "tiling");
  EXPECT_EQ((*plan)->findings, std::vector<std::string>{"tile-it"});
  EXPECT_EQ((*plan)->bound, 5);
  EXPECT_EQ((*plan)->parameters.size(), 2u);
}

TEST(Tuner, LeavesACategoryThatGaveNothingUntilSomethingElseChanged) {
  Stage stage;
  stage.tried(1, "tiling", "FAIL");
  auto plan = make_tuner()->plan(stage.situation());
  ASSERT_TRUE(plan && *plan);
  EXPECT_EQ((*plan)->category, "unrolling");
  stage.tried(2, "unrolling", "PASS");
  plan = make_tuner()->plan(stage.situation());
  ASSERT_TRUE(plan && *plan);
  EXPECT_EQ((*plan)->category, "tiling");
  stage.tried(3, "tiling", "FAIL");
  stage.tried(4, "unrolling", "FAIL");
  plan = make_tuner()->plan(stage.situation());
  ASSERT_TRUE(plan);
  EXPECT_FALSE(*plan);
}

TEST(Tuner, FindsTheFastestConfigurationOfTheCategory) {
  Stage stage;
  const auto situation = stage.situation();
  const auto plan = make_tuner()->plan(situation);
  Bowl bowl;
  const auto files = make_tuner()->implement(situation, **plan, bowl);
  ASSERT_TRUE(files) << files.error().to_string();
  const std::string& launch = files->at("launch.toml");
  EXPECT_NE(launch.find("A = 4"), std::string::npos) << launch;
  EXPECT_NE(launch.find("B = 2"), std::string::npos) << launch;
  EXPECT_EQ(bowl.calls, 12);
}

TEST(Tuner, SearchesALargeCategoryOneAxisAtATime) {
  Stage stage;
  stage.task.tunables = {tunable("A", {1, 2, 4, 8}, "tiling"), tunable("B", {1, 2, 4}, "tiling"),
                         tunable("D", {1, 2, 3, 4, 5, 6, 7, 8}, "tiling")};
  const auto situation = stage.situation();
  const auto plan = make_tuner()->plan(situation);
  Bowl bowl;
  const auto files = make_tuner()->implement(situation, **plan, bowl);
  ASSERT_TRUE(files) << files.error().to_string();
  EXPECT_NE(files->at("launch.toml").find("A = 4"), std::string::npos);
  EXPECT_NE(files->at("launch.toml").find("B = 2"), std::string::npos);
  EXPECT_LE(bowl.calls, 40);
}

}  // namespace
}  // namespace burnish::agent
