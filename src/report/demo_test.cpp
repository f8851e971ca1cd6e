#include "report/demo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
