#include "measure/compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "measure/test_tasks.h"

namespace burnish::measure {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

/// Simulated noise of a shared machine, in relative terms: slow drift that all programs share,
/// bursts of load, launches far out, and ordinary jitter.
struct Weather {
  explicit Weather(std::uint64_t seed) : generator(seed) {}
  Generator generator;
  double drift = 0, burst = 0;
  double factor() {
    drift += 0.003 * generator.normal();
    burst = 0.9 * burst + (generator.uniform() < 0.03 ? 0.3 * generator.uniform() : 0);
    double value = drift + burst + 0.025 * generator.normal();
    if (generator.uniform() < 0.04) value += 2 * generator.uniform();
    return std::exp(value);
  }
};

/// Y[N] = 2 X[N]: as little work as can be judged.
Task tiny_task(std::vector<Workload> workloads = {{"only", {{"N", 16}}}}) {
  Task task;
  task.workloads = std::move(workloads);
  task.problem = [](const std::string& workload, const Variables& dims) {
    Problem problem;
    problem.workload = workload;
    problem.dims = dims;
    const auto n = static_cast<std::int64_t>(dims.find("N")->second);
    problem.tensors = {{"X", DType::f32, {n}, device::Buffer::Role::in, {}},
                       {"Y", DType::f32, {n}, device::Buffer::Role::out, {}}};
    problem.work = {dims.find("N")->second, 8 * dims.find("N")->second, "f32"};
    return Result<Problem>(problem);
  };
  task.reference = std::make_shared<FunctionReference>([](const Problem&, const Values& inputs) {
    Values outputs{{"Y", inputs.at("X")}};
    for (double& value : outputs["Y"]) value *= 2;
    return Result<Values>(outputs);
  });
  return task;
}

Result<void> twice(const FakeCall& call) {
  const auto* x = call.pointer<float>(0);
  auto* y = call.pointer<float>(1);
  for (std::int64_t i = 0; i < call.integer(2); ++i) y[i] = 2 * x[i];
  return {};
}

Candidate version(const std::string& program) {
  Candidate candidate;
  candidate.label = program;
  candidate.source.language = "opencl";
  candidate.source.text = program;
  candidate.plan = [](const Variables& dims) {
    using device::Argument;
    device::KernelLaunch launch;
    launch.kernel = "k";
    launch.arguments = {{Argument::Pointer{"X"}},
                        {Argument::Pointer{"Y"}},
                        {Argument::Scalar{DType::i32, dims.find("N")->second}}};
    device::LaunchPlan plan;
    plan.launches = {launch};
    return Result<device::LaunchPlan>(plan);
  };
  return candidate;
}

struct Lab {
  explicit Lab(std::uint64_t seed) : weather(seed), random(seed ^ 0x1234) {
    for (const char* name : {"v0", "v1", "v2"}) device.programs[name]["k"] = twice;
    device.time = [this](const std::string& program, const device::RunRequest& request) {
      const double cold = request.caches == device::Caches::cold ? 1.2 : 1;
      return seconds[program] * cold * request.repetitions * weather.factor();
    };
    device.overhead = 5e-3;
  }
  std::map<std::string, double> seconds{{"v0", 1e-3}, {"v1", 1e-3}, {"v2", 1e-3}};
  Weather weather;
  FixedRandom random;
  FakeDevice device;
  BenchOptions options;
  std::vector<hardware::Ceiling> ceilings;
  Task task = tiny_task();

  Result<Bench> run(const std::vector<std::string>& versions) {
    std::vector<Candidate> candidates;
    for (const auto& name : versions) candidates.push_back(version(name));
    return bench(device, task, candidates, {}, options, ceilings, random, device.clock);
  }
};

const Compared& find(const Bench& bench, const std::string& b, const std::string& workload) {
  for (const Compared& one : bench.comparisons) {
    if (one.b == b && one.workload == workload) return one;
  }
  throw std::out_of_range(b + " at " + workload);
}

TEST(Bench, ALargeGainIsImprovedWithFewBlocks) {
  Lab lab(1);
  lab.seconds["v1"] = 0.5e-3;
  const auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  const Compared& compared = find(*result, "v1", "all");
  EXPECT_EQ(compared.verdict, Comparison::improved) << compared.why;
  EXPECT_NEAR(compared.ratio, 2, 0.1);
  EXPECT_LT(compared.interval.low, 2.05);
  EXPECT_LE(find(*result, "v1", "only").blocks, 33);  // 11 rounds: the first look
  EXPECT_THAT(result->tied, ElementsAre("v1"));
  EXPECT_TRUE(result->failed_launches.empty());
  EXPECT_EQ(result->method.caches.substr(0, 4), "cold");
  EXPECT_NEAR(result->results.at(0).latency.p50 / result->results.at(0).warm.p50, 1.2, 0.15);
  EXPECT_NEAR(result->launch_floor, 1e-6, 1e-9);
}

// What is demanded of real kernels, on simulated noise that is worse: at most 1 % called improved.
TEST(Bench, NoiseIsNotCalledAGain) {
  int improved = 0, regressed = 0, naive = 0;
  constexpr int kRuns = 40;
  for (int run = 0; run < kRuns; ++run) {
    Lab lab(static_cast<std::uint64_t>(100 + run));
    const auto result = lab.run({"v0", "v1"});
    ASSERT_TRUE(result) << result.error().to_string();
    const Compared& compared = find(*result, "v1", "all");
    improved += compared.verdict == Comparison::improved ? 1 : 0;
    regressed += compared.verdict == Comparison::regressed ? 1 : 0;
    naive += result->results[1].latency.p50 < result->results[0].latency.p50 ? 1 : 0;
  }
  EXPECT_LE(improved, 1);
  EXPECT_LE(regressed, 2);
  EXPECT_GT(naive, kRuns / 4);  // the ratio of two medians is above 1 about half of the time
}

TEST(Bench, ThreePercentSlowerIsCalledRegressed) {
  int regressed = 0;
  constexpr int kRuns = 20;
  for (int run = 0; run < kRuns; ++run) {
    Lab lab(static_cast<std::uint64_t>(1000 + run));
    lab.seconds["v1"] = 1.03e-3;
    const auto result = lab.run({"v0", "v1"});
    ASSERT_TRUE(result) << result.error().to_string();
    regressed += find(*result, "v1", "all").verdict == Comparison::regressed ? 1 : 0;
  }
  EXPECT_GE(regressed, 19);
}

TEST(Bench, ATimerBiasBetweenProcessesIsNoise) {
  // Each process is up to 4 % faster or slower than others, for as long as it lives.
  Lab lab(5);
  // The incumbent's second process is 5 % slower: A against A shows it.
  int session = 0;
  const device::LaunchPlan* second = nullptr;
  lab.device.time = [&](const std::string& program, const device::RunRequest& request) {
    if (program == "v0" && session < 2 && request.plan != second) {
      second = request.plan;
      ++session;
    }
    const double factor = program == "v0" && session >= 2 && request.plan == second ? 1.05 : 1;
    return 1e-3 * factor * (1 + 0.01 * lab.weather.generator.normal());
  };
  lab.seconds["v1"] = 1e-3;
  const auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_GT(std::max(result->noise.high - 1, 1 - result->noise.low), 0.03);
  EXPECT_EQ(find(*result, "v1", "all").verdict, Comparison::inconclusive);
}

TEST(Bench, AHotWorkloadMayNotRegress) {
  Lab lab(7);
  lab.task = tiny_task({{"big", {{"N", 64}}, 10}, {"small", {{"N", 16}}, 1}});
  lab.device.time = [&](const std::string& program, const device::RunRequest& request) {
    const bool small = request.contents.at("X").size() == 64;
    const double factor = program == "v1" ? (small ? 1.3 : 0.5) : 1;
    return 1e-3 * factor * (1 + 0.01 * lab.weather.generator.normal());
  };
  auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(find(*result, "v1", "big").verdict, Comparison::improved);
  EXPECT_EQ(find(*result, "v1", "small").verdict, Comparison::regressed);
  EXPECT_EQ(find(*result, "v1", "all").verdict, Comparison::regressed);
  EXPECT_THAT(find(*result, "v1", "all").why, HasSubstr("small regressed"));
  // The weighted geometric mean: 2^(10/11) · (1/1.3)^(1/11).
  EXPECT_NEAR(find(*result, "v1", "all").ratio, std::pow(2, 10 / 11.) * std::pow(1.3, -1 / 11.),
              0.05);

  Lab cold(8);
  cold.task = lab.task;
  cold.task.workloads[1].hot = false;
  cold.device.time = lab.device.time;
  result = cold.run({"v0", "v1"});
  ASSERT_TRUE(result);
  EXPECT_EQ(find(*result, "v1", "all").verdict, Comparison::improved);
}

TEST(Bench, VersionsThatCannotBeToldApartAreTied) {
  Lab lab(9);
  lab.seconds["v0"] = 2e-3;
  const auto result = lab.run({"v0", "v1", "v2"});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_THAT(result->tied, testing::UnorderedElementsAre("v1", "v2"));
  EXPECT_EQ(result->comparisons.size(), 4u);
}

TEST(Bench, ShortKernelsAreTimedInBatchesAndTheMethodSaysSo) {
  Lab lab(11);
  lab.seconds = {{"v0", 8e-6}, {"v1", 4e-6}};
  const auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_THAT(result->method.text(), AllOf(HasSubstr("fake timer, warm, batches of")));
  EXPECT_NEAR(result->results.at(1).latency.p50, 4e-6, 4e-7);
  EXPECT_EQ(find(*result, "v1", "all").verdict, Comparison::improved);
}

// Next to a time stands what an empty launch takes by the same method; the copy that bounds a short
// kernel's time was launched as well.
TEST(Bench, TheLaunchFloorIsTakenByTheSameMethod) {
  const auto run = [](double seconds) {
    Lab lab(12);
    lab.seconds = {{"v0", 8e-6}, {"v1", seconds}};
    lab.device.floor = 1e-6;
    lab.ceilings = {{"copy 128 B", "B/s", 128 / 3.5e-6, "measured", ""}};
    return lab.run({"v0", "v1"});
  };
  const auto possible = run(3e-6);
  ASSERT_TRUE(possible) << possible.error().to_string();
  EXPECT_NEAR(possible->results.at(1).floor, 1e-6, 1e-9);
  EXPECT_EQ(to_json(*possible)["results"][1]["floor"], possible->results.at(1).floor);
  const auto impossible = run(2e-6);
  ASSERT_FALSE(impossible);
  EXPECT_THAT(impossible.error().message, HasSubstr("less than the 2.50 µs"));
}

TEST(Bench, ClocksAreRecordedAndWhatHeldThemDownIsSaid) {
  Lab lab(14);
  const auto clock = [](const char* name, double value, const char* unit, const char* text) {
    return Metric{name, value, unit, text, {}, 0};
  };
  lab.device.clocks.add(clock("clock.sm", 1.7e9, "Hz", ""));
  lab.device.clocks.add(clock("throttled", 0, "text", "power cap"));
  const auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  ASSERT_EQ(result->clocks.size(), 1u);
  EXPECT_EQ(result->clocks.at("clock.sm").low, 1.7e9);
  const int launches = result->throttled.at("power cap");
  EXPECT_GT(launches, 20);
  EXPECT_EQ(to_json(*result)["throttled"]["power cap"], launches);
  EXPECT_THAT(result->warnings,
              Contains(fmt::format(
                  "clocks were held down right after {0} of {0} launches: power cap", launches)));
}

TEST(Bench, WorkSkippedInABatchIsFound) {
  Lab lab(13);
  lab.device.time = [&](const std::string& program, const device::RunRequest& request) {
    const double all =
        program == "v1" ? 30e-6 + 2e-6 * (request.repetitions - 1) : 30e-6 * request.repetitions;
    return all * (1 + 0.01 * lab.weather.generator.normal());
  };
  const auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  ASSERT_EQ(result->failed_launches.size(), 1u);
  EXPECT_THAT(result->failed_launches[0].why, HasSubstr("the work seems to be skipped"));
}

// A batch would hand the result of one repetition to the next as its input.
TEST(Bench, WhatIsUpdatedInPlaceIsTimedOneLaunchAtATime) {
  Lab lab(14);
  lab.seconds = {{"v0", 8e-6}, {"v1", 4e-6}};
  lab.task.problem = [problem = lab.task.problem](const std::string& workload,
                                                  const Variables& dims) {
    auto made = problem(workload, dims);
    made->tensors.erase(made->tensors.begin() + 1);
    made->tensors[0].role = device::Buffer::Role::inout;
    return made;
  };
  lab.task.reference = std::make_shared<FunctionReference>([](const Problem&, Values inputs) {
    for (double& value : inputs["X"]) value *= 2;
    return Result<Values>(inputs);
  });
  for (const char* name : {"v0", "v1"}) {
    lab.device.programs[name]["k"] = [](const FakeCall& call) -> Result<void> {
      auto* x = call.pointer<float>(0);
      for (std::int64_t i = 0; i < call.integer(2); ++i) x[i] *= 2;
      return {};
    };
  }
  std::vector<Candidate> candidates{version("v0"), version("v1")};
  for (Candidate& one : candidates) {
    one.plan = [plan = one.plan](const Variables& dims) {
      auto made = plan(dims);
      made->launches[0].arguments[1] = made->launches[0].arguments[0];
      return made;
    };
  }
  const auto result =
      bench(lab.device, lab.task, candidates, {}, lab.options, {}, lab.random, lab.device.clock);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(result->failed_launches.empty()) << result->failed_launches.front().why;
  EXPECT_EQ(result->method.repetitions, 1);
  EXPECT_EQ(find(*result, "v1", "all").verdict, Comparison::improved);
}

// Nine of ten launches are honest, so that those which are verified in full mostly are; the tenth
// is what the fastest third is made of.
TEST(Bench, WorkSkippedNowAndThenIsNoGain) {
  int improved = 0, unseen = 0;
  for (std::uint64_t seed = 60; seed < 70; ++seed) {
    for (const int every : {2, 10}) {
      Lab lab(seed);
      int calls = 0;
      bool skips = false;
      lab.device.programs["v1"]["k"] = [&](const FakeCall& call) -> Result<void> {
        skips = ++calls % every == 0;
        // What is not poison is an earlier answer: somebody looks on.
        const float before = call.pointer<float>(1)[0];
        if (!std::isnan(before) && !(before >= 6 && before < 8)) skips = false;
        BURNISH_TRY(twice(call));
        if (skips) call.pointer<float>(1)[1] = 0;
        return {};
      };
      lab.device.time = [&](const std::string& program, const device::RunRequest&) {
        return 1e-3 * (program == "v1" && skips ? 0.2 : 1) *
               (1 + 0.01 * lab.weather.generator.normal());
      };
      const auto result = lab.run({"v0", "v1"});
      ASSERT_TRUE(result) << result.error().to_string();
      const bool gain = find(*result, "v1", "all").verdict == Comparison::improved;
      improved += gain && result->failed_launches.empty() ? 1 : 0;
      unseen += every == 2 && result->failed_launches.empty() ? 1 : 0;
    }
  }
  EXPECT_EQ(improved, 0);
  EXPECT_EQ(unseen, 0);
}

// The first repetition of a batch leaves a copy of its inputs in scratch, which the next ones use:
// right in every batch, and of no use where inputs are new.
TEST(Bench, WhatScratchKeepsFromOneRepetitionToTheNextIsFound) {
  Lab lab(16);
  lab.device.programs["v1"]["k"] = [](const FakeCall& call) -> Result<void> {
    const auto* x = call.pointer<float>(0);
    auto* y = call.pointer<float>(1);
    auto* kept = call.pointer<float>(3);
    const auto n = call.integer(2);
    if (kept[n] != 12345.f) std::copy(x, x + n, kept);
    kept[n] = 12345.f;
    for (std::int64_t i = 0; i < n; ++i) y[i] = 2 * kept[i];
    return {};
  };
  lab.device.time = [&](const std::string& program, const device::RunRequest& request) {
    const double later = program == "v1" ? 5e-6 : 8e-6;
    return (8e-6 + later * (request.repetitions - 1)) * (1 + 0.01 * lab.weather.generator.normal());
  };
  std::vector<Candidate> candidates{version("v0"), version("v1")};
  candidates[1].plan = [plan = candidates[1].plan](const Variables& dims) {
    auto made = plan(dims);
    made->launches[0].arguments.push_back({device::Argument::Pointer{"kept"}});
    made->scratch = {{"kept", 4 * 17, device::Buffer::Role::scratch}};
    return made;
  };
  const auto result =
      bench(lab.device, lab.task, candidates, {}, lab.options, {}, lab.random, lab.device.clock);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_GT(result->method.repetitions, 1);
  ASSERT_FALSE(result->failed_launches.empty());
  EXPECT_THAT(result->failed_launches[0].why, HasSubstr("Y is the answer to earlier inputs"));
}

// In a batch the answer is there already. A kernel that looks at a part of it, and leaves the rest
// where that part is right, is right in every batch.
TEST(Bench, AnAnswerThatIsTrustedAfterALookAtAPartOfItIsFound) {
  Lab lab(18);
  lab.task = tiny_task({{"only", {{"N", 256}}}});
  lab.device.programs["v1"]["k"] = [](const FakeCall& call) -> Result<void> {
    const auto* x = call.pointer<float>(0);
    auto* y = call.pointer<float>(1);
    for (std::int64_t i = 0; i < call.integer(2); i += 16)
      if (y[i] != 2 * x[i]) return twice(call);
    return {};
  };
  lab.device.time = [&](const std::string& program, const device::RunRequest& request) {
    const double later = program == "v1" ? 4e-6 : 8e-6;
    return (8e-6 + later * (request.repetitions - 1)) * (1 + 0.01 * lab.weather.generator.normal());
  };
  const auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  ASSERT_FALSE(result->failed_launches.empty());
  EXPECT_THAT(result->failed_launches[0].name, HasSubstr("after the timed launches of v1"));
}

TEST(Bench, ATimedLaunchThatIsWrongIsReported) {
  Lab lab(15);
  auto calls = std::make_shared<int>(0);
  // Right at first and wrong once it has run for a while.
  lab.device.programs["v1"]["k"] = [calls](const FakeCall& call) -> Result<void> {
    BURNISH_TRY(twice(call));
    if (++*calls > 40) call.pointer<float>(1)[3] = 0;
    return {};
  };
  const auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  ASSERT_FALSE(result->failed_launches.empty());
  EXPECT_THAT(result->failed_launches.back().name, HasSubstr("after the timed launches of v1"));
}

TEST(Bench, ImpossibleTimesAreErrors) {
  auto message = [](auto&& change) {
    Lab lab(17);
    change(lab);
    const auto result = lab.run({"v0", "v1"});
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().kind, ErrorKind::refused);
    return result.error().message;
  };
  // 0 ms wins, CLBlast issue 116; NaN, KernelTuner issue 46; under the resolution, RK issue 162.
  for (const double time : {0.0, -1e-3, std::nan(""), 1e-9}) {
    EXPECT_THAT(message([&](Lab& lab) {
                  lab.device.time = [time](const std::string&, const device::RunRequest&) {
                    return time;
                  };
                }),
                HasSubstr("no such time is possible"));
  }
  EXPECT_THAT(message([](Lab& lab) { lab.device.host = [](double s) { return s / 2; }; }),
              HasSubstr("the device's clock is wrong"));
  EXPECT_THAT(message([](Lab& lab) { lab.device.host = [](double s) { return s * 20; }; }),
              HasSubstr("work was done outside the time"));
  Lab busy(17);
  busy.device.host = [](double s) { return s + 50e-3; };
  const auto delayed = busy.run({"v0", "v1"});
  ASSERT_FALSE(delayed);
  EXPECT_THAT(delayed.error().hint, HasSubstr("time it again when it is idle"));
  // 3,530 GB/s on a card of 864 GB/s, llm.c pull 851.
  EXPECT_THAT(
      message([](Lab& lab) { lab.ceilings = {{"copy 128 B", "B/s", 100e3, "measured", ""}}; }),
      AllOf(HasSubstr("less than the 1.28 ms that its work needs at the ceiling \"copy 128 B\"")));
}

// Of eight launches seven wait for a processor that others use.
TEST(Bench, ABusyMachineIsNotTakenForWorkOutsideTheTime) {
  Lab lab(18);
  lab.device.host = [launch = 0](double seconds) mutable {
    return launch++ % 8 == 0 ? 1.1 * seconds : seconds + 20e-3;
  };
  const auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_GT(result->results.at(0).host.p50, 20e-3);
}

TEST(Bench, AClockThatChangesItsMethodIsRefused) {
  Lab lab(19);
  int launches = 0;
  lab.device.timer = [&launches](const device::RunRequest&) {
    return ++launches > 60 ? "host clock" : "fake timer";
  };
  const auto result = lab.run({"v0", "v1"});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message,
              HasSubstr("times were taken by fake timer before and by host clock now"));
}

// CUDA times a launch alone by events and a batch as a graph, of as many launches as were found
// fit.
TEST(Bench, ABatchMayHaveATimerOfItsOwnWhichIsTheMethods) {
  Lab lab(20);
  lab.seconds = {{"v0", 8e-6}, {"v1", 4e-6}};
  lab.task = tiny_task({{"big", {{"N", 64}}}, {"small", {{"N", 16}}}});
  lab.device.timer = [](const device::RunRequest& request) {
    return request.repetitions == 1 ? "events" : fmt::format("graph of {}", request.repetitions);
  };
  auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->method.text(),
            fmt::format("graph of {0}, warm, batches of {0}", result->method.repetitions));
  EXPECT_EQ(find(*result, "v1", "all").verdict, Comparison::improved);

  Lab worse(20);
  worse.seconds = lab.seconds;
  int batches = 0;
  worse.device.timer = [&batches](const device::RunRequest& request) {
    if (request.repetitions == 1) return "events";
    return ++batches > 20 ? "host clock" : "graph";
  };
  result = worse.run({"v0", "v1"});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("by graph before and by host clock now"));
}

// A slow kernel leaves time for few blocks at one workload and many at the other.
TEST(Bench, TheIntervalOverAllIsBoundedWhereEachWorkloadsIs) {
  for (const double overhead : {0.01, 0.2, 0.45}) {
    Lab lab(31);
    lab.options.largest_seconds = 20;
    lab.seconds["v1"] = 0.9e-3;
    lab.task = tiny_task({{"big", {{"N", 64}}}, {"small", {{"N", 16}}}});
    lab.device.overhead = overhead;
    const auto result = lab.run({"v0", "v1"});
    ASSERT_TRUE(result) << result.error().to_string();
    for (const char* name : {"big", "small", "all"}) {
      EXPECT_GT(find(*result, "v1", name).interval.low, 0.1) << name << " " << overhead;
      EXPECT_LT(find(*result, "v1", name).interval.high, 10) << name << " " << overhead;
    }
    EXPECT_LT(result->seconds, 2 * lab.options.largest_seconds * 3);
  }
}

TEST(Bench, WithOneWorkloadTheVerdictOverAllIsThatOnes) {
  for (std::uint64_t seed = 40; seed < 50; ++seed) {
    Lab lab(seed);
    lab.seconds["v1"] = 1.02e-3;
    const auto result = lab.run({"v0", "v1"});
    ASSERT_TRUE(result) << result.error().to_string();
    const Compared &one = find(*result, "v1", "only"), &all = find(*result, "v1", "all");
    EXPECT_EQ(one.verdict, all.verdict);
    EXPECT_NEAR(one.interval.low, all.interval.low, 1e-12);
    EXPECT_NEAR(one.interval.high, all.interval.high, 1e-12);
  }
}

TEST(Bench, ASingleVersionIsTimedToo) {
  Lab lab(21);
  const auto result = lab.run({"v0"});
  ASSERT_TRUE(result) << result.error().to_string();
  ASSERT_EQ(result->results.size(), 1u);
  EXPECT_TRUE(result->comparisons.empty());
  EXPECT_NEAR(result->results[0].latency.p50, 1.2e-3, 3e-4);
  EXPECT_LE(result->results[0].latency.p5, result->results[0].latency.p50);
  EXPECT_GE(result->results[0].latency.p95, result->results[0].latency.p50);
}

TEST(Bench, TimeIsBoundedAndAccountedFor) {
  Lab lab(23);
  lab.device.overhead = 0.5;
  const auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_LT(result->seconds, 60);
  double sum = 0;
  for (const auto& [name, seconds] : result->time) sum += seconds;
  EXPECT_NEAR(sum, result->seconds, 0.1 * result->seconds);
}

TEST(Bench, AnUnknownWorkloadIsAnErrorWithTheNearest) {
  Lab lab(25);
  lab.options.workloads = {"onyl"};
  const auto result = lab.run({"v0"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(result.error().hint, HasSubstr("only"));
}

TEST(Bench, JsonHasTheShapeOfTheContract) {
  Lab lab(27);
  const auto result = lab.run({"v0", "v1"});
  ASSERT_TRUE(result);
  const Json json = to_json(*result);
  for (const char* key : {"device", "method", "floor", "aa", "results", "comparisons", "time"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const char* key :
       {"version", "workload", "latency", "flops", "bandwidth", "utilization", "samples"}) {
    EXPECT_TRUE(json["results"][0].contains(key)) << key;
  }
  for (const char* key : {"a", "b", "workload", "ratio", "interval", "verdict"}) {
    EXPECT_TRUE(json["comparisons"][0].contains(key)) << key;
  }
}

TEST(Bench, WorkloadsWithoutWeightAreTimedByNameOnly) {
  Lab lab(31);
  lab.task = tiny_task({{"big", {{"N", 64}}}, {"small", {{"N", 16}}, 0}});
  const auto all = lab.run({"v0"});
  ASSERT_TRUE(all) << all.error().to_string();
  ASSERT_EQ(all->results.size(), 1u);
  EXPECT_EQ(all->results[0].workload, "big");
  lab.options.workloads = {"small"};
  const auto named = lab.run({"v0"});
  ASSERT_TRUE(named) << named.error().to_string();
  ASSERT_EQ(named->results.size(), 1u);
  EXPECT_EQ(named->results[0].workload, "small");
}

TEST(QuickTrial, TimesARightCandidateAndRefusesAWrongOne) {
  Lab lab(29);
  lab.task = tiny_task({{"big", {{"N", 64}}}, {"small", {{"N", 16}}}});
  TrialInputs inputs;
  auto trial = quick_trial(lab.device, lab.task, version("v0"), {"big"}, inputs, {}, lab.random);
  ASSERT_TRUE(trial) << trial.error().to_string();
  EXPECT_NEAR(trial->at(0).seconds, 1e-3, 5e-4);
  EXPECT_EQ(inputs.count("big"), 1u);
  lab.device.programs["v1"]["k"] = [](const FakeCall& call) -> Result<void> {
    BURNISH_TRY(twice(call));
    call.pointer<float>(1)[call.integer(2) - 1] = 0;
    return {};
  };
  trial = quick_trial(lab.device, lab.task, version("v1"), {"big"}, inputs, {}, lab.random);
  ASSERT_FALSE(trial);
  EXPECT_EQ(trial.error().kind, ErrorKind::refused);
  EXPECT_THAT(trial.error().message, HasSubstr("v1 is wrong at small: elements [15] of Y"));
  trial = quick_trial(lab.device, lab.task, version("does not compile"), {"big"}, inputs, {},
                      lab.random);
  ASSERT_FALSE(trial);
  EXPECT_EQ(trial.error().kind, ErrorKind::refused);
}

}  // namespace
}  // namespace burnish::measure
