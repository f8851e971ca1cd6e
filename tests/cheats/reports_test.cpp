// Faults that users of tools of this kind have reported in public and that concern judging,
// replayed. A test is named by the number that the report has in docs/judging.md.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "measure/fake_device.h"
#include "tasks.h"

namespace burnish::cheats {
namespace {

using measure::Bench;
using measure::Comparison;
using measure::Verdict;
using testing::HasSubstr;

/// One task and its candidates on a device whose times the test gives.
struct Lab {
  measure::Task task = clamp();
  measure::FakeDevice device;
  measure::FixedRandom random{seed()};
  Generator noise{seed()};
  measure::BenchOptions options;
  std::vector<hardware::Ceiling> ceilings;

  Lab() {
    for (const char* name : {"v0", "v1"}) device.programs[name]["k"] = clamp_values;
    device.time = [this](const std::string&, const device::RunRequest& request) {
      return 1e-3 * request.repetitions * std::exp(0.01 * noise.normal());
    };
  }

  static Result<void> clamp_values(const measure::FakeCall& call) {
    const auto* x = call.pointer<float>(0);
    auto* y = call.pointer<float>(1);
    for (std::int64_t i = 0; i < call.integer(2); ++i) y[i] = x[i] < 0 ? 0 : x[i];
    return {};
  }

  static measure::Candidate version(const std::string& program) {
    Entry entry{program, "", clamp, program, {{"k", {fixed(1)}, {1}, "X Y N"}}, "", {}, {}};
    return candidate(entry);
  }

  Result<Bench> bench() {
    return measure::bench(device, task, {version("v0"), version("v1")}, {}, options, ceilings,
                          random, device.clock);
  }
  Result<measure::Verification> verify() {
    return measure::verify(device, task, version("v1"), {}, {}, random);
  }
};

const Entry& named(const std::vector<Entry>& entries, const std::string& name) {
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry;
  }
  throw std::out_of_range(name);
}

bool has_weakness(const measure::Task& task, const std::string& what) {
  measure::FixedRandom random(seed());
  const auto lint = measure::lint(task, random);
  EXPECT_TRUE(lint) << lint.error().to_string();
  bool found = false;
  for (const auto& weakness : lint->weaknesses) {
    found = found || weakness.what.find(what) != std::string::npos;
    EXPECT_NE(weakness.tighten, "");
  }
  return found;
}

/// The task with every problem changed.
measure::Task changed(measure::Task task, std::function<void(measure::Problem&)> change) {
  task.problem = [problem = task.problem, change](const std::string& name, const Variables& dims) {
    auto result = problem(name, dims);
    if (result) change(*result);
    return result;
  };
  return task;
}

TEST(Reports, Number1_ZerosPassASoftmaxWithinAnAbsoluteTolerance) {
  // Outputs of a softmax over 8,000 columns are below 0.01, which the tolerance was.
  measure::Task task = softmax();
  task.workloads = {{"long", {{"R", 6}, {"C", 8000}}}};
  EXPECT_TRUE(has_weakness(changed(task, [](auto& p) { p.tolerance.absolute = 1e-2; }), "zeros"));
  EXPECT_FALSE(has_weakness(task, "zeros"));
}

TEST(Reports, Number2_WeightsOfZeroMakeTheWorkTrivial) {
  EXPECT_TRUE(has_weakness(
      changed(matmul(),
              [](auto& p) { p.tensors[1].draw = {.kind = measure::Draw::Kind::constant}; }),
      "B"));
}

TEST(Reports, Number4_AnswersOfABatchComputedAtItsFirstCall) {
  Lab lab;
  auto calls = std::make_shared<int>(0);
  auto kept = std::make_shared<std::vector<float>>();
  lab.device.programs["v1"]["k"] = [calls, kept](const measure::FakeCall& call) -> Result<void> {
    auto* y = call.pointer<float>(1);
    const auto n = static_cast<std::size_t>(call.integer(2));
    if ((*calls)++ % 15 == 0 || kept->size() != n) {
      BURNISH_TRY(Lab::clamp_values(call));
      kept->assign(y, y + n);
    }
    std::copy(kept->begin(), kept->end(), y);
    return {};
  };
  const auto result = lab.verify();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, Verdict::fail);
}

TEST(Reports, Number5_ResultsKeptByPointer) {
  Lab lab;
  auto kept = std::make_shared<std::map<const void*, std::vector<float>>>();
  lab.device.programs["v1"]["k"] = [kept](const measure::FakeCall& call) -> Result<void> {
    auto* y = call.pointer<float>(1);
    auto& old = (*kept)[call.pointer<float>(0)];
    if (old.size() == static_cast<std::size_t>(call.integer(2))) {
      std::copy(old.begin(), old.end(), y);
      return {};
    }
    BURNISH_TRY(Lab::clamp_values(call));
    old.assign(y, y + call.integer(2));
    return {};
  };
  const auto result = lab.verify();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, Verdict::fail);
}

// A time of zero makes the geometric mean zero, and first in the ranking (6, 13).
TEST(Reports, Number6And13_ATimeOfNothingIsAnErrorAndNoRecord) {
  for (const double seconds : {0.0, std::nan(""), 1e-10}) {
    Lab lab;
    lab.device.time = [seconds](const std::string& program, const device::RunRequest&) {
      return program == "v1" ? seconds : 1e-3;
    };
    const auto result = lab.bench();
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("no such time is possible"));
  }
}

TEST(Reports, Number9_TheTimerIsNotExchangedInSilence) {
  Lab lab;
  int runs = 0;
  lab.device.timer = [&runs](const device::RunRequest&) {
    return ++runs < 90 ? "cupti" : "events";
  };
  const auto result = lab.bench();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("by cupti before and by events now"));
}

TEST(Reports, Number11_WithoutEnoughSamplesTheAnswerIsInconclusiveAndNoNaN) {
  Lab lab;
  lab.options.largest_samples = 4;
  const auto result = lab.bench();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_THAT(result->warnings, testing::Contains(HasSubstr("too few blocks")));
  for (const auto& compared : result->comparisons) {
    EXPECT_EQ(compared.verdict, Comparison::inconclusive);
    EXPECT_TRUE(std::isfinite(compared.ratio));
  }
}

TEST(Reports, Number15_OneIterationHasATimeThoughNoVariance) {
  Lab lab;
  lab.options.largest_samples = 1;
  const auto result = lab.bench();
  ASSERT_TRUE(result) << result.error().to_string();
  for (const auto& timing : result->results) EXPECT_NEAR(timing.latency.p50, 1e-3, 1e-4);
  EXPECT_THAT(dump_json(to_json(*result)), testing::Not(HasSubstr("nan")));
}

TEST(Reports, Number16_FasterThanTheMemoryIsAnError) {
  Lab lab;
  // 32 kB in 1 ms are 32 MB/s, on a card of 8.
  lab.ceilings = {{"copy 32 KiB", "B/s", 8e6, "measured", ""}};
  const auto result = lab.bench();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("at the ceiling \"copy 32 KiB\""));
}

TEST(Reports, Number16_OutputsAreCheckedAgainAfterTheTimedLaunches) {
  Lab lab;
  auto calls = std::make_shared<int>(0);
  lab.device.programs["v1"]["k"] = [calls](const measure::FakeCall& call) -> Result<void> {
    BURNISH_TRY(Lab::clamp_values(call));
    if (++*calls > 10) call.pointer<float>(1)[0] += 1;
    return {};
  };
  const auto result = lab.bench();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_FALSE(result->failed_launches.empty());
}

TEST(Reports, Number22_DeviceTimeAndWhatTheCallerSeesAreBothReported) {
  Lab lab;
  lab.device.host = [](double seconds) { return seconds + 2e-3; };
  lab.device.time = [&lab](const std::string& program, const device::RunRequest& request) {
    return (program == "v1" ? 1e-3 / 1.28 : 1e-3) * request.repetitions *
           std::exp(0.01 * lab.noise.normal());
  };
  const auto result = lab.bench();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->comparisons.at(0).verdict, Comparison::improved);
  EXPECT_NEAR(result->comparisons.at(0).ratio, 1.28, 0.03);
  EXPECT_NEAR(result->results.at(0).host.p50, 3e-3, 1e-4);
}

class DeviceReports : public NeedsOpenCl {};

TEST_F(DeviceReports, Number39_NarrowFloatsAreHeldToWhatRoundingGives) {
  measure::FixedRandom random(seed());
  for (const char* name : {"Bf16RoundedToNearest", "Bf16CutOff"}) {
    const auto entries = honest();
    const Entry& entry = named(entries, name);
    const auto result = measure::verify(**opencl(), entry.task(), candidate(entry), {}, {}, random);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->verdict, Verdict::pass) << result->why;
  }
}

// A timeout is a status and no number (41), and the next candidate finds a healthy device (42).
TEST_F(DeviceReports, Number41And42_AHangIsATimeoutAndHurtsNobodyElse) {
  measure::FixedRandom random(seed());
  device::Limits limits;
  limits.run = std::chrono::milliseconds(1500);
  const auto bad = cheats(), good = honest();
  const Entry &hanging = named(bad, "NeverEnds"), &right = named(good, "Naive");
  const auto start = real_clock().steady();
  const auto hung =
      measure::verify(**opencl(), hanging.task(), candidate(hanging), limits, {}, random);
  ASSERT_TRUE(hung) << hung.error().to_string();
  EXPECT_EQ(hung->verdict, Verdict::timeout);
  EXPECT_EQ(hung->device_problem, "");
  const auto timed =
      measure::bench(**opencl(), right.task(), {candidate(right), candidate(hanging)}, limits, {},
                     {}, random, real_clock());
  ASSERT_FALSE(timed);
  EXPECT_EQ(timed.error().kind, ErrorKind::timeout);
  EXPECT_LT(real_clock().steady() - start, std::chrono::seconds(15));
  const auto next = measure::verify(**opencl(), right.task(), candidate(right), {}, {}, random);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->verdict, Verdict::pass) << next->why;
}

TEST_F(DeviceReports, Number44_ManyCandidatesLeaveNothingOpen) {
  const auto good = honest();
  const measure::Candidate right = candidate(named(good, "Naive"));
  const auto open_files = [] { return real_file_system().list("/proc/self/fd").size(); };
  const auto before = open_files();
  for (int i = 0; i < 40; ++i) {
    const auto session = (*opencl())->open(right.source, {});
    ASSERT_TRUE(session) << session.error().to_string();
  }
  EXPECT_EQ(open_files(), before);
}

TEST(Reports, Number45_TheSidesOfAComparisonAlternate) {
  Lab lab;
  std::vector<std::string> order;
  lab.device.time = [&](const std::string& program, const device::RunRequest& request) {
    order.push_back(program);
    return 1e-3 * request.repetitions * std::exp(0.01 * lab.noise.normal());
  };
  ASSERT_TRUE(lab.bench());
  const auto first = std::find(order.begin(), order.end(), "v1");
  int longest = 0, length = 0;
  for (auto at = first + 3; at != order.end(); ++at) {
    length = *at == "v1" ? length + 1 : 0;
    longest = std::max(longest, length);
  }
  EXPECT_GT(longest, 0);
  EXPECT_LE(longest, 3);
}

}  // namespace
}  // namespace burnish::cheats
