#include "report/demo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace burnish::report {
namespace {

using loop::Contender;
using testing::ElementsAre;

loop::DemoTime timed(const std::string& contender, const std::string& workload, double seconds,
                     double floor) {
  loop::DemoTime time;
  time.contender = contender;
  time.workload = workload;
  time.seconds = seconds;
  time.interval = {seconds * 0.9, seconds * 1.1};
  time.floor = floor;
  time.medians = {seconds * 0.9, seconds, seconds * 1.1};
  if (floor > 0) time.copy = 0.5;
  return time;
}

/// Two versions, one of them wrong, a kernel and a program beside them, at two workloads.
loop::Demo small() {
  loop::Demo demo;
  demo.task = "task";
  demo.headline = "first";
  demo.math = "f32";
  demo.contenders = {
      {"v0", Contender::Kind::version, "the kernel as it was given", "PASS", "", 1e-7},
      {"v1", Contender::Kind::version, "01-fast", "PASS", "", 2e-7},
      {"v2", Contender::Kind::version, "02-wrong", "FAIL", "it is wrong", {}},
      {"other", Contender::Kind::peer, "", "PASS", "", {}},
      {"program", Contender::Kind::program, "", "", "", {}}};
  for (const char* workload : {"first", "second"}) {
    demo.times.push_back(timed("v0", workload, 8e-6, 1e-6));
    demo.times.push_back(timed("v1", workload, 2e-6, 1e-6));
    demo.times.push_back(timed("other", workload, 4e-6, 1e-6));
    demo.times.push_back(timed("program", workload, 6e-5, 0));
  }
  loop::compare_times(demo);
  return demo;
}

/// The same with means over a set and with what the loop recorded.
loop::Demo recorded() {
  loop::Demo demo = small();
  for (auto& time : demo.times)
    if (time.workload == "first") time.workload = "set.N=1";
  demo.headline = "set.N=1";
  demo.means = {{"v1", "v0", "set", 1, {4, {3.9, 4.1}}, loop::Ratio{7, {6, 8}}},
                {"v1", "program", "set", 1, {30, {29, 31}}, {}}};
  for (std::size_t v = 0; v < 3; ++v) {
    Contender& one = demo.contenders[v];
    one.recorded.emplace();
    one.recorded->file = "memory/" + one.label + ".json";
    one.recorded->verdict = v == 0 ? "baseline" : "improved";
  }
  loop::Recorded& second = *demo.contenders[1].recorded;
  second.plan = "plans/v1_plan.md";
  second.report = "reports/v1.md";
  second.evidence = "profiles/v0/evidence.json";
  second.profile = "profiles/v1/evidence.json";
  second.category = "tiling";
  second.findings = {"some-finding"};
  second.gain = loop::Ratio{4, {3.9, 4.1}};
  second.seconds = {{"gate's", 3e-6}};
  second.metrics = {{"registers.used", 40}};
  demo.clocks["clock.sm"] = {1e9, 2e9};
  demo.notes = {"something"};
  return demo;
}

TEST(DemoTable, HasEveryVersionAndPeerAtAWorkload) {
  const Cells cells = at_workload(small(), "", "first");
  EXPECT_THAT(cells[0], ElementsAre("version", "step", "gate", "time", "interval", "floor", "× v0",
                                    "× other", "× program", "copy", "f32", "error"));
  ASSERT_EQ(cells.size(), 6u);
  EXPECT_THAT(cells[2], ElementsAre("v1", "01-fast", "PASS", "2.00 µs", "[1.80 µs, 2.20 µs]",
                                    "1.00 µs", "4 [4, 4]", "2", "30", "50.0 %", "–", "2.00e-07"));
  EXPECT_THAT(cells[3],
              ElementsAre("v2", "02-wrong", "FAIL", "–", "–", "–", "–", "–", "–", "–", "–", "–"));
  EXPECT_EQ(cells[4][0], "other (peer)");
  EXPECT_EQ(cells[4][7], "1");
  EXPECT_EQ(cells[5][5], "–");  // a program's launches have a floor of their own
}

TEST(DemoTable, SetsTheFastestRightVersionAgainstItsPeers) {
  const Cells cells = over_workloads(small());
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_THAT(cells[0], ElementsAre("workload", "version", "time", "floor", "copy", "× v0", "other",
                                    "×", "× net", "program", "×"));
  // Net of the floor: (4 - 1) / (2 - 1).
  EXPECT_THAT(cells[1], ElementsAre("first", "v1", "2.00 µs", "1.00 µs", "50.0 %", "4", "4.00 µs",
                                    "2", "3", "60.0 µs", "30"));
}

TEST(DemoTable, TellsWhatWasRefused) {
  loop::Demo demo = small();
  demo.notes = {"PyTorch is not here"};
  const std::string text = demo_text(demo, 0);
  EXPECT_TRUE(contains(text, "v2: it is wrong (FAIL)")) << text;
  EXPECT_TRUE(contains(text, "note: PyTorch is not here")) << text;
  EXPECT_FALSE(contains(text, "geometric means")) << text;
}

TEST(DemoTable, HasMeansOverASetAndWhatIsOutsideIt) {
  const Cells cells = over_sets(recorded());
  EXPECT_THAT(cells[0],
              ElementsAre("version", "step", "gate", "N=1", "second", "× v0", "× program"));
  EXPECT_THAT(cells[2], ElementsAre("v1", "01-fast", "PASS", "2.00 µs", "2.00 µs", "4 / 7", "30"));
  EXPECT_THAT(cells[4], ElementsAre("other (peer)", "–", "PASS", "4.00 µs", "4.00 µs", "–", "–"));
}

TEST(DemoTable, TellsHowTheLoopCameToEachVersion) {
  const Cells cells = history(recorded(), "");
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_THAT(cells[2], ElementsAre("v1", "01-fast", "tiling", "`some-finding`", "PASS", "improved",
                                    "4 [3.9, 4.1]", "3.00 µs", "–"));
  EXPECT_EQ(cells[3].back(), "it is wrong");
  EXPECT_TRUE(history(small(), "").empty());
  const Cells linked = history(recorded(), "../x");
  EXPECT_THAT(
      linked[2],
      ElementsAre("[v1](../x/memory/v1.json)", "[01-fast](../x/plans/v1_plan.md)", "tiling",
                  "[`some-finding`](../x/profiles/v0/summary.txt)", "[PASS](../x/reports/v1.md)",
                  "improved", "4 [3.9, 4.1]", "3.00 µs", "–"));
  EXPECT_THAT(counters(recorded(), "x"),
              ElementsAre(ElementsAre("version", "`registers.used`"),
                          ElementsAre("[v1](x/profiles/v1/summary.txt)", "40")));
}

TEST(DemoTable, OfAPageIsTheSameFromTheRecordAsFromTheRun) {
  const loop::Demo demo = recorded();
  const auto text = dump_json(loop::to_json(demo));
  const auto json = parse_json(text, "demo.json");
  ASSERT_TRUE(json);
  const auto read = loop::demo_from_json(*json, "demo.json");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(dump_json(loop::to_json(*read)), text);
  for (const char* table : {"results", "history", "counters", "workloads"})
    EXPECT_EQ(page_table(*read, table, "x").value(), page_table(demo, table, "x").value()) << table;
  EXPECT_TRUE(
      contains(page_table(demo, "history", "../x").value(), "| [v1](../x/memory/v1.json) |"));
  EXPECT_TRUE(contains(page_table(small(), "history", "x").value(), "not kept"));
  EXPECT_FALSE(page_table(demo, "other", "x"));

  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"\"kind\": \"peer\"", "\"kind\": \"pear\""}, {"\"p50\": ", "\"p51\": "}}) {
    const auto broken = parse_json(replace_all(text, from, to), "demo.json");
    EXPECT_FALSE(loop::demo_from_json(*broken, "demo.json")) << from;
  }
}

TEST(MachineCodeTable, LeavesOutColumnsThatSayNothing) {
  loop::CompiledStep step;
  step.step = "00";
  step.arch = "sm_90";
  step.occupancy.waves_per_simd = 8;
  step.occupancy.limiter = "registers";
  for (const auto& [name, value] : std::map<std::string, double>{
           {"registers.used", 57}, {"isa.loop.instructions", 161}, {"isa.loop.lds_load", 60}})
    step.metrics.add({name, value, "1", "", {}});
  const Cells cells = machine_code({step});
  EXPECT_THAT(cells[0], ElementsAre("step", "target", "registers", "waves", "limit", "instructions",
                                    "shared writes + reads", "what the rules say"));
  EXPECT_THAT(cells[1],
              ElementsAre("00", "sm_90", "57", "8", "registers", "161", "0 + 60", "nothing"));
  EXPECT_EQ(markdown(cells).substr(0, 20), "| step | target | re");
}

}  // namespace
}  // namespace burnish::report
