#include "loop/state.h"

#include <gtest/gtest.h>

namespace burnish::loop {
namespace {

using workspace::Entry;

std::vector<Entry> journal(const std::vector<std::pair<std::string, int>>& events) {
  std::vector<Entry> entries;
  for (const auto& [event, version] : events) {
    Entry entry;
    entry.sequence = static_cast<std::int64_t>(entries.size());
    entry.phase = event.front() == '>' ? Entry::Phase::begin : Entry::Phase::done;
    entry.event = event.front() == '>' ? event.substr(1) : event;
    entry.version = version;
    entry.detail_text = R"({"reason": "enough"})";
    entries.push_back(entry);
  }
  return entries;
}

TEST(State, FollowsAnIteration) {
  struct Step {
    const char* event;
    int version;
    Stage next;
  };
  const Step steps[] = {
      {"init", 0, Stage::baseline},  {"baseline", 0, Stage::profile}, {"profile", 0, Stage::plan},
      {"plan", 1, Stage::implement}, {"implement", 1, Stage::gate},   {"gate", 1, Stage::commit},
      {"commit", 1, Stage::profile}, {"profile", 1, Stage::plan},     {"plan", 2, Stage::implement},
      {"implement", 2, Stage::gate}, {"gate", 2, Stage::commit},      {"restore", 2, Stage::plan},
      {"mask", 0, Stage::plan},      {"plan", 3, Stage::implement},   {"implement", 3, Stage::gate},
      {"gate", 3, Stage::commit},    {"restore", 3, Stage::plan},     {"stop", 0, Stage::stopped},
      {"resume", 0, Stage::profile},
  };
  std::vector<std::pair<std::string, int>> events;
  for (const Step& step : steps) {
    events.emplace_back(step.event, step.version);
    const auto state = state_of(journal(events));
    ASSERT_TRUE(state) << step.event << ": " << state.error().to_string();
    EXPECT_EQ(state->next, step.next) << step.event << " v" << step.version;
  }
  events.pop_back();
  const auto stopped = state_of(journal(events));
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->incumbent, 1);
  EXPECT_EQ(stopped->iterations, 3);
  EXPECT_EQ(stopped->since_gain, 2);
  EXPECT_TRUE(stopped->restarted);
  EXPECT_EQ(stopped->stop_reason, "enough");
}

TEST(State, NumbersOnFromWhatWasImported) {
  const auto state = state_of(journal({{"init", 0}, {"import", 4}}));
  ASSERT_TRUE(state) << state.error().to_string();
  EXPECT_EQ(state->version, 5);
  EXPECT_NE(todo(*state, {}).front().why.find("v5"), std::string::npos);
}

TEST(State, KnowsWhatWasCutOff) {
  const auto state =
      state_of(journal({{"init", 0}, {"baseline", 0}, {"profile", 0}, {">plan", 1}}));
  ASSERT_TRUE(state);
  ASSERT_TRUE(state->unfinished);
  EXPECT_EQ(state->unfinished->event, "plan");
  EXPECT_EQ(state->next, Stage::plan);
}

TEST(State, WhatWasUndoneIsDueAgain) {
  const auto state = state_of(
      journal({{"init", 0}, {"baseline", 0}, {"profile", 0}, {">plan", 1}, {"undone", 1}}));
  ASSERT_TRUE(state);
  EXPECT_FALSE(state->unfinished);
  EXPECT_EQ(state->next, Stage::plan);
  EXPECT_EQ(state->version, 1);
}

TEST(State, RefusesAHistoryThatCannotBe) {
  const std::vector<std::vector<std::pair<std::string, int>>> histories = {
      {{"init", 0}, {"commit", 1}},
      {{"init", 0}, {"baseline", 0}, {"plan", 1}},
      {{"init", 0}, {"baseline", 0}, {"baseline", 0}},
      {{"init", 0}, {">baseline", 0}, {"plan", 1}},
      {{"init", 0}, {">baseline", 0}, {">baseline", 0}},
      {{"init", 0}, {"dance", 0}},
      {{"init", 0}, {"resume", 0}},
  };
  for (const auto& events : histories) {
    const auto state = state_of(journal(events));
    ASSERT_FALSE(state) << events.back().first;
    EXPECT_EQ(state.error().kind, ErrorKind::bad_input);
    ASSERT_TRUE(state.error().place);
    EXPECT_EQ(state.error().place->line, static_cast<int>(events.size()));
  }
}

TEST(State, RefusesAVerbOutOfTurnWithWhatIsDue) {
  const auto state = state_of(journal({{"init", 0}, {"baseline", 0}}));
  ASSERT_TRUE(state);
  workspace::TaskSpec task;
  const auto refused = require(*state, Stage::implement, task);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().to_string().find("burnish profile"), std::string::npos);
  EXPECT_TRUE(require(*state, Stage::profile, task));
}

}  // namespace
}  // namespace burnish::loop
