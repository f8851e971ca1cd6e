// burnish's own time an iteration at 100 iterations of history: plan, implement, gate, commit and
// profile with a device that takes no time. What building, running and judging take on a real
// device comes on top. Prints the times; fails when an iteration takes more than 50 ms.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "loop/testing.h"

namespace burnish::loop {
namespace {

using Phase = workspace::Entry::Phase;

/// Makes a change that is new each time, and answers the same finding again and again.
class Scribe : public agent::Agent {
 public:
  std::string name() const override { return "scribe"; }
  Result<std::optional<workspace::Plan>> plan(const agent::Situation& situation) override {
    workspace::Plan plan;
    plan.version = situation.version;
    plan.parent = situation.parent;
    plan.parent_hash = situation.parent_hash;
    plan.agent = name();
    plan.category = "tiling";
    plan.action = "write line " + std::to_string(situation.version);
    plan.expected = "nothing";
    plan.findings = {"untiled"};
    plan.search_log = {{"card:tile-for-cache", "L1", plan.action, "f", "", true}};
    return std::optional(plan);
  }
  Result<workspace::Files> implement(const agent::Situation& situation, const workspace::Plan& plan,
                                     agent::Evaluator&) override {
    auto files = situation.candidate;
    files.at("kernel.cl") += "// " + plan.action + "\n";
    return files;
  }
};

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "loop_overhead: %s failed\n", what);
  std::exit(1);
}

int run() {
  Scene scene;
  scene.create();
  auto tools = scene.tools();
  std::string report;
  {
    auto opened = Loop::open(scene.workspace(), {}, report);
    check(opened.has_value(), "open");
    auto& loop = **opened;
    check(loop.baseline(tools, Loop::AllowWeak::no).has_value(), "baseline");
    check(loop.profile(tools).has_value(), "profile");
    auto& workspace = loop.workspace();
    for (int version = 1; version <= 100; ++version) {
      auto record = workspace.record(0).value();
      record.number = version;
      record.version = "v" + std::to_string(version);
      record.parent = 0;
      record.optimization.action_category = "unrolling";
      record.quality_gate.result = "FAIL";
      record.quality_gate.failure_reason = "no gain";
      record.performance.verdict = "inconclusive";
      record.git_commit_hash.reset();
      check(workspace.put_record(record).has_value(), "put_record");
      check(workspace
                .commit("V: revert", "", version, {"memory/v" + std::to_string(version) + ".json"})
                .has_value(),
            "commit");
      for (const char* event : {"plan", "implement", "gate", "restore"}) {
        check(workspace.append(event, Phase::begin, version, Json::object()).has_value(), "append");
        check(workspace.append(event, Phase::done, version, Json::object()).has_value(), "append");
      }
    }
  }
  auto opened = Loop::open(scene.workspace(), {}, report);
  check(opened.has_value(), "reopen");
  auto& loop = **opened;
  Scribe scribe;
  std::vector<double> totals;
  for (int i = 0; i < 7; ++i) {
    const auto start = std::chrono::steady_clock::now();
    auto last = start;
    const auto lap = [&](const char* name) {
      const auto now = std::chrono::steady_clock::now();
      std::printf("  %-10s %7.2f ms\n", name,
                  std::chrono::duration<double, std::milli>(now - last).count());
      last = now;
    };
    check(loop.plan(tools, scribe).has_value(), "plan");
    lap("plan");
    check(loop.implement(tools, scribe).has_value(), "implement");
    lap("implement");
    const auto record = loop.gate(tools);
    check(record.has_value(), "gate");
    lap("gate");
    check(loop.commit(tools).has_value(), "commit");
    lap("commit");
    totals.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
    std::printf("iteration  %7.2f ms (%s)\n", totals.back(), record->quality_gate.result.c_str());
    if (loop.state().value().next == Stage::profile)
      check(loop.profile(tools).has_value(), "profile");
  }
  const double best = *std::min_element(totals.begin(), totals.end());
  std::printf("at 100 iterations of history an iteration takes %.1f ms\n", best);
  return best <= 50 ? 0 : 1;
}

}  // namespace
}  // namespace burnish::loop

int main() { return burnish::loop::run(); }
