// Every way of the catalogue (docs/judging.md) in which a device-code candidate can fool a judge,
// as a candidate that must be refused for the right reason, beside honest candidates with awkward
// habits that must pass.

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/text.h"
#include "measure/fake_device.h"
#include "tasks.h"

namespace burnish::cheats {
namespace {

measure::Verification judged(const Entry& entry) {
  measure::FixedRandom random(seed());
  device::Limits limits;
  limits.run = std::chrono::milliseconds(3000);
  const auto result =
      measure::verify(**opencl(), entry.task(), candidate(entry), limits, {}, random);
  EXPECT_TRUE(result) << result.error().to_string();
  if (result && std::getenv("BURNISH_CHEATS_TIMES") != nullptr) {
    std::printf("%.2f s: build %.2f, reference %.2f, runs %.2f; %zu checks\n", result->seconds,
                result->build_seconds, result->reference_seconds, result->run_seconds,
                result->checks.size());
  }
  return result ? *result : measure::Verification{};
}

class Suite : public NeedsOpenCl, public testing::WithParamInterface<Entry> {};
class Cheats : public Suite {};
class Honest : public Suite {};

TEST_P(Cheats, IsCaughtForTheRightReason) {
  const auto result = judged(GetParam());
  EXPECT_NE(result.verdict, measure::Verdict::pass);
  EXPECT_THAT(result.why, testing::ContainsRegex(GetParam().why));
}

TEST_P(Honest, Passes) {
  const auto result = judged(GetParam());
  EXPECT_EQ(result.verdict, measure::Verdict::pass) << result.why;
}

measure::BenchOptions quick() {
  measure::BenchOptions options;
  options.largest_seconds = 6;
  options.largest_samples = 48;
  return options;
}

Result<measure::Bench> timed(const Entry& incumbent, const Entry& candidate_entry) {
  measure::FixedRandom random(seed());
  measure::Candidate a = candidate(incumbent), b = candidate(candidate_entry);
  a.label = "incumbent";
  return measure::bench(**opencl(), incumbent.task(), {a, b}, {}, quick(), {}, random,
                        real_clock());
}

class Timing : public NeedsOpenCl {};

Entry clamped(const std::string& name, const std::string& body, const std::string& outside = "") {
  return {name,
          "",
          clamp,
          outside + R"(
__kernel void k(__global const float* X, __global float* Y, int N) {
  int i = get_global_id(0);
  if (i >= N) return;
)" + body + "}\n",
          {{"k", {groups("N", 64)}, {64}, "X Y N"}},
          "",
          {},
          {}};
}

// 4 and 16 of the catalogue, in a batch: the outputs of the first repetition are there already.
// What the times say of it drowns on a busy machine; the answer over another one's does not.
TEST_F(Timing, WorkSkippedInABatchIsFound) {
  const std::string slow =
      "float x = X[i]; for (int j = 0; j < 12; ++j) x = sqrt(x * x); Y[i] = X[i] < 0 ? 0 : X[i] + "
      "0 * x;";
  const auto result = timed(clamped("Honest", slow),
                            clamped("Skips", "if (Y[i] >= 0 && Y[i] < 5.5f) return;" + slow));
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_THAT(result->results.at(0).method.text(), testing::HasSubstr("batches of"));
  ASSERT_FALSE(result->failed_launches.empty());
  EXPECT_THAT(result->failed_launches.at(0).name, testing::HasSubstr("timed launches of Skips"));
  EXPECT_THAT(result->failed_launches.at(0).why,
              testing::HasSubstr("Y is the answer to earlier inputs"));
}

// 15: right while it is verified, then not. No check before the timing can see it.
TEST_F(Timing, LessWorkAfterManyLaunchesIsFound) {
  Entry honest = clamped("Honest", "Y[i] = X[i] < 0 ? 0 : X[i];");
  Entry lazy = clamped("Lazy", R"(
  if (i == 0) atomic_inc(&launches);
  Y[i] = launches > 300 ? 0 : X[i] < 0 ? 0 : X[i];
)",
                       "__global int launches = 0;\n");
  lazy.options = {"-cl-std=CL2.0"};
  const auto result = timed(honest, lazy);
  ASSERT_TRUE(result) << result.error().to_string();
  ASSERT_FALSE(result->failed_launches.empty());
  EXPECT_THAT(result->failed_launches.back().name, testing::HasSubstr("of Lazy"));
}

// 32: what the launch before left in the caches is gone for the times that verdicts rest on.
TEST_F(Timing, CachesAreColdForTheVerdictAndWarmBesideIt) {
  // Each address depends on the value read before it, so that the latency of the memory that the
  // inputs are found in is nearly all of the time, and cold caches cost a multiple.
  Entry entry = clamped("Walks", R"(
  if (i == 0) {
    uint at = 0;
    for (int step = 0; step < N / 16; ++step)
      at = (at * 1664525u + 1013904223u + as_uint(X[at % N])) ^ (at >> 16);
    Y[i] = X[i] < 0 || at == 0xffffffffu ? 0 : X[i];
    return;
  }
  Y[i] = X[i] < 0 ? 0 : X[i];
)");
  entry.task = [] {
    measure::Task task = clamp();
    task.workloads = {{"512 KB", {{"N", 1 << 17}}}};
    return task;
  };
  const auto result = timed(entry, entry);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_THAT(result->method.text(),
              testing::ContainsRegex("cold \\(.* written before each launch"));
  // Of the fast launches: what else runs on the machine slows some of either kind down.
  EXPECT_GT(result->results.at(0).latency.p5, result->results.at(0).warm.p5);
  EXPECT_NE(result->comparisons.at(0).verdict, measure::Comparison::improved);
}

// 39, as a sanitizer sees it: what is undefined and came out right all the same.
TEST_F(Timing, TheSanitizerFindsRacesAndReadsOutside) {
  const auto sanitizers = measure::open_sanitizers((*opencl())->info(), {{}, BURNISH_TEST_WORKER});
  if (!sanitizers) GTEST_SKIP() << sanitizers.error().to_string();
  ASSERT_EQ(sanitizers->size(), 1u);
  const auto sanitized = [&](const Entry& entry) {
    measure::FixedRandom random(seed());
    const auto check =
        measure::sanitize(sanitizers->front(), entry.task(), candidate(entry), {}, random);
    EXPECT_TRUE(check) << check.error().to_string();
    return check ? *check : measure::Check{};
  };
  const std::map<std::string, std::string> found = {
      {"BarrierMissing", "oclgrind: Read-write data race at local memory.*of kernel.cl"},
      {"NeighbourOfTheInputRead",
       "oclgrind: Invalid read of size 4 at global memory.*of kernel.cl"}};
  for (const Entry& entry : cheats()) {
    if (!found.contains(entry.name)) continue;
    const auto check = sanitized(entry);
    EXPECT_EQ(check.verdict, measure::Verdict::fail) << entry.name;
    EXPECT_THAT(check.why, testing::ContainsRegex(found.at(entry.name)));
  }
  for (const Entry& entry : honest()) {
    const auto check = sanitized(entry);
    EXPECT_EQ(check.verdict, measure::Verdict::pass) << entry.name << ": " << check.why;
  }
}

std::string test_name(const testing::TestParamInfo<Entry>& info) {
  return (info.param.catalogue.empty() ? "" : "C" + info.param.catalogue + "_") + info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Cheats, testing::ValuesIn(cheats()), test_name);
INSTANTIATE_TEST_SUITE_P(Awkward, Honest, testing::ValuesIn(honest()), test_name);

}  // namespace
}  // namespace burnish::cheats
