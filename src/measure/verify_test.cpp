#include "measure/verify.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "measure/judge.h"
#include "measure/test_tasks.h"

namespace burnish::measure {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

Verification judged(FakeKernel kernel, const Task& task = matmul_task(), VerifyOptions options = {},
                    std::uint64_t seed = 1) {
  FakeDevice device;
  device.programs["p"]["k"] = std::move(kernel);
  FixedRandom random(seed);
  auto result = verify(device, task, matmul_candidate("p"), {}, options, random);
  EXPECT_TRUE(result) << result.error().to_string();
  return result ? *result : Verification{};
}

float to_tf32(float value) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000u) & 0xffffe000u);
}

TEST(Verify, ARightKernelPassesWithAnySeed) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto result = judged(matmul_kernel(), matmul_task(), {}, seed);
    EXPECT_EQ(result.verdict, Verdict::pass) << seed << ": " << result.why;
    EXPECT_GT(result.checks.size(), 20u);
  }
}

TEST(Verify, EveryFamilyShapeAndWorkloadIsTried) {
  const auto result = judged(matmul_kernel());
  std::set<std::string> inputs, names;
  for (const Check& check : result.checks) {
    inputs.insert(check.inputs);
    names.insert(check.name.substr(0, check.name.find(':')));
  }
  EXPECT_THAT(inputs, testing::IsSupersetOf({"normal", "zeros", "ones", "ties", "denormals",
                                             "largest finite", "mixed magnitudes", "impulses",
                                             "permuted channels", "one changed element"}));
  EXPECT_THAT(names, testing::IsSupersetOf({"square", "wide", "least", "prime", "tail 1", "tail 2",
                                            "ragged 1", "ragged 2", "thin"}));
}

TEST(Verify, WorkloadsThatAreCheapOrNotTimedMeetEveryFamily) {
  Task task = matmul_task();
  task.workloads.push_back({"large", {{"M", 170}, {"N", 171}, {"K", 180}}});
  task.workloads.push_back({"timed", {{"M", 40}, {"N", 41}, {"K", 42}}});
  task.workloads.push_back({"judged", {{"M", 42}, {"N", 41}, {"K", 40}}, 0});
  const auto result = judged(matmul_kernel(), task);
  std::map<std::string, std::set<std::string>> inputs;
  for (const Check& check : result.checks) inputs[check.name].insert(check.inputs);
  EXPECT_THAT(inputs["large"], testing::IsSupersetOf({"normal", "impulses"}));
  EXPECT_LE(inputs["large"].size(), 3u);
  for (const char* name : {"timed", "judged"}) {
    EXPECT_THAT(inputs[name],
                testing::IsSupersetOf({"zeros", "ties", "denormals", "largest finite"}));
  }
}

TEST(Verify, AChannelOfZerosIsNamed) {
  const auto result = judged([](const FakeCall& call) -> Result<void> {
    BURNISH_TRY(matmul_kernel()(call));
    const Matrices x(call);
    for (std::int64_t j = 0; x.m > 17 && j < x.n; ++j) x.c[17 * x.n + j] = 0;
    return {};
  });
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_THAT(result.why, HasSubstr("channel 17 of C is all zeros where the reference is not "
                                    "(32 of 32 elements; C[17, :])"));
}

TEST(Verify, OneOf512ChannelsDoesNotHideInTheGlobalError) {
  const Task task = matmul_task({{"w", {{"M", 512}, {"N", 40}, {"K", 16}}}});
  VerifyOptions options;
  options.shapes = VerifyOptions::Shapes::workloads;
  options.inputs = VerifyOptions::Inputs::normal;
  const auto result = judged(
      [](const FakeCall& call) -> Result<void> {
        BURNISH_TRY(matmul_kernel()(call));
        const Matrices x(call);
        for (std::int64_t j = 0; x.m > 100 && j < x.n; ++j) x.c[100 * x.n + j] = 0;
        return {};
      },
      task, options);
  EXPECT_THAT(result.why, HasSubstr("channel 100 of C is all zeros"));
}

TEST(Verify, AUniformScaleErrorIsNamed) {
  const auto result =
      judged(matmul_kernel({.finish = [](float sum, float bias) { return 0.96f * (sum + bias); }}));
  EXPECT_THAT(result.why,
              HasSubstr("C is 0.9600 times the reference everywhere: a uniform scale error"));
}

TEST(Verify, ADroppedBiasIsNamed) {
  const auto result = judged(matmul_kernel({.finish = [](float sum, float) { return sum; }}));
  EXPECT_THAT(result.why, HasSubstr("bias seems not to be added: got - want equals -bias"));
}

TEST(Verify, ASkippedLastBlockOfTheReductionIsNamed) {
  const auto result =
      judged(matmul_kernel({.terms = [](std::int64_t k) { return k > 8 ? k - 8 : k; }}));
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_THAT(result.why, HasSubstr("the reduction leaves out its last 8"));
}

TEST(Verify, TF32IsNamed) {
  const auto result =
      judged(matmul_kernel({.product = [](float x, float y) { return to_tf32(x) * to_tf32(y); }}));
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_THAT(result.why, AllOf(HasSubstr("the accuracy of TF32 or half, not of f32")));
}

TEST(Verify, NaNEverywhereFails) {
  const auto result = judged(matmul_kernel(
      {.finish = [](float, float) { return std::numeric_limits<float>::quiet_NaN(); }}));
  EXPECT_THAT(result.why, HasSubstr("C is NaN everywhere, where the reference is finite"));
}

TEST(Verify, AnUntouchedOutputFails) {
  const auto result = judged([](const FakeCall&) -> Result<void> { return {}; });
  EXPECT_THAT(result.why, HasSubstr("C was not written: 768 of 768 elements still hold the poison, "
                                    "first C[0, 0]"));
}

TEST(Verify, AnUnwrittenTailIsCountedAndPlaced) {
  const auto result = judged([](const FakeCall& call) -> Result<void> {
    const Matrices x(call);
    for (std::int64_t i = 0; i < x.m; ++i) {
      for (std::int64_t j = 0; j < x.n / 16 * 16; ++j) {
        float sum = 0;
        for (std::int64_t l = 0; l < x.k; ++l) sum += x.a[i * x.k + l] * x.b[l * x.n + j];
        x.c[i * x.n + j] = sum + x.bias[j];
      }
    }
    return {};
  });
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_THAT(result.why, HasSubstr("still hold the poison, first C[0, "));
}

TEST(Verify, WritesOutsideAreFound) {
  auto after = judged([](const FakeCall& call) -> Result<void> {
    BURNISH_TRY(matmul_kernel()(call));
    const Matrices x(call);
    x.c[x.m * x.n + 3] = 1;
    return {};
  });
  EXPECT_THAT(after.why,
              HasSubstr("4 bytes after C were overwritten, the nearest 12 bytes after its end"));
  auto before = judged([](const FakeCall& call) -> Result<void> {
    BURNISH_TRY(matmul_kernel()(call));
    Matrices(call).c[-1] = 1;
    return {};
  });
  EXPECT_THAT(before.why,
              HasSubstr("4 bytes before C were overwritten, the nearest 1 bytes before its start"));
}

TEST(Verify, AChangedInputIsNamed) {
  const auto result = judged([](const FakeCall& call) -> Result<void> {
    BURNISH_TRY(matmul_kernel()(call));
    const_cast<float*>(Matrices(call).a)[5] = 2.5f;
    return {};
  });
  EXPECT_THAT(result.why,
              AllOf(HasSubstr("input A was changed: 1 of 1,152 elements, first A[0, 5] from "),
                    HasSubstr(" to 2.5")));
}

TEST(Verify, AnAnswerKeptByPointerIsStale) {
  // Keeps its first answer for each output address and sample of the inputs.
  auto kept =
      std::make_shared<std::map<const void*, std::pair<std::vector<float>, std::vector<float>>>>();
  const auto result = judged([kept](const FakeCall& call) -> Result<void> {
    const Matrices x(call);
    auto& entry = (*kept)[x.c];
    const std::vector<float> sample{x.a[0], x.a[x.m * x.k / 2], x.b[0], x.bias[0],
                                    static_cast<float>(x.m * 1000 + x.n)};
    if (entry.second == sample) {
      std::copy(entry.first.begin(), entry.first.end(), x.c);
      return {};
    }
    BURNISH_TRY(matmul_kernel()(call));
    entry = {{x.c, x.c + x.m * x.n}, sample};
    return {};
  });
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_THAT(result.why, AllOf(HasSubstr("one changed element"), HasSubstr("earlier inputs")));
}

TEST(Verify, LessWorkAfterTheFirstLaunchesIsFound) {
  auto launches = std::make_shared<int>(0);
  const auto result = judged([launches](const FakeCall& call) -> Result<void> {
    MatmulParts parts;
    if (++*launches > 3) parts.terms = [](std::int64_t k) { return k / 2; };
    return matmul_kernel(parts)(call);
  });
  EXPECT_EQ(result.verdict, Verdict::fail);
}

TEST(Verify, AKernelRightForMultiplesOnlyFailsOnTheJudgesShapes) {
  VerifyOptions options;
  const auto kernel = [](const FakeCall& call) -> Result<void> {
    BURNISH_TRY(matmul_kernel()(call));
    const Matrices x(call);
    if (x.m % 8 != 0 && x.m > 8) x.c[(x.m - 1) * x.n] += 1;
    if (x.m < 8) x.c[0] += 1;
    return {};
  };
  EXPECT_EQ(judged(kernel, matmul_task(), options).verdict, Verdict::fail);
  options.shapes = VerifyOptions::Shapes::workloads;
  EXPECT_EQ(judged(kernel, matmul_task(), options).verdict, Verdict::pass);
}

// A byte of 255 is true to C, and no bool to a reader that counts or compares.
TEST(Verify, ABoolIsZeroOrOne) {
  Task task = matmul_task();
  task.problem = [](const std::string& workload, const Variables& dims) {
    Problem problem = matmul_problem(workload, dims);
    problem.tensors.back().dtype = DType::boolean;
    return Result<Problem>(problem);
  };
  task.reference =
      std::make_shared<FunctionReference>([](const Problem& problem, const Values& inputs) {
        Values outputs = matmul_reference(problem, inputs);
        const std::size_t columns = inputs.at("bias").size();
        for (std::size_t i = 0; i < outputs["C"].size(); ++i)
          outputs["C"][i] = inputs.at("bias")[i % columns] > 0 ? 1 : 0;
        return Result<Values>(outputs);
      });
  const auto kernel = [](unsigned char yes) {
    return [yes](const FakeCall& call) -> Result<void> {
      const Matrices x(call);
      auto* c = reinterpret_cast<unsigned char*>(x.c);
      for (std::int64_t i = 0; i < x.m * x.n; ++i) c[i] = x.bias[i % x.n] > 0 ? yes : 0;
      return {};
    };
  };
  const auto right = judged(kernel(1), task);
  EXPECT_EQ(right.verdict, Verdict::pass) << right.why;
  EXPECT_EQ(judged(kernel(255), task).verdict, Verdict::fail);
}

TEST(Verify, APathThatOnlyOtherSizesTakeIsJudgedToo) {
  FakeDevice device;
  device.programs["p"]["k"] = matmul_kernel();
  device.programs["p"]["wide"] = matmul_kernel({.finish = [](float sum, float) { return sum; }});
  Candidate candidate = matmul_candidate("p");
  candidate.plan = [plan = candidate.plan](const Variables& dims) {
    auto made = plan(dims);
    if (dims.find("N")->second >= 4000) made->launches[0].kernel = "wide";
    return made;
  };
  FixedRandom random(1);
  const auto result = verify(device, matmul_task(), candidate, {}, {}, random);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->verdict, Verdict::fail);
  EXPECT_THAT(result->why, HasSubstr("path wide: K="));
}

TEST(Verify, ARefusedShapeInsideTheDomainFails) {
  FakeDevice device;
  device.programs["p"]["k"] = matmul_kernel();
  Candidate candidate = matmul_candidate("p");
  candidate.plan = [plan = candidate.plan](const Variables& dims) -> Result<device::LaunchPlan> {
    if (std::fmod(dims.find("M")->second, 8) != 0) return refused("M must be a multiple of 8");
    return plan(dims);
  };
  FixedRandom random(3);
  const auto result = verify(device, matmul_task(), candidate, {}, {}, random);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->why,
              AllOf(HasSubstr("p does not take"), HasSubstr("M must be a multiple of 8")));
}

TEST(Verify, CompileErrorsCrashesAndHangsAreVerdicts) {
  FakeDevice device;
  FixedRandom random(1);
  auto broken = verify(device, matmul_task(), matmul_candidate("does not compile"), {}, {}, random);
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->verdict, Verdict::fail);
  EXPECT_EQ(broken->why, "build: kernel.cl:3:7: use of undeclared identifier 'x'");
  EXPECT_EQ(device.probed, 0);

  device.programs["crash"]["k"] = [](const FakeCall&) -> Result<void> {
    return refused("the worker was killed by SIGSEGV (segmentation fault)");
  };
  auto crashed = verify(device, matmul_task(), matmul_candidate("crash"), {}, {}, random);
  ASSERT_TRUE(crashed);
  EXPECT_EQ(crashed->verdict, Verdict::fail);
  EXPECT_THAT(crashed->why, HasSubstr("SIGSEGV"));
  EXPECT_EQ(device.probed, 1);
  EXPECT_EQ(crashed->device_problem, "");

  device.programs["hang"]["k"] = [](const FakeCall&) -> Result<void> {
    return timed_out("the launch took longer than 10 s");
  };
  device.probe_answer = environment_error("the device does not answer");
  auto hung = verify(device, matmul_task(), matmul_candidate("hang"), {}, {}, random);
  ASSERT_TRUE(hung);
  EXPECT_EQ(hung->verdict, Verdict::timeout);
  EXPECT_STREQ(to_string(hung->verdict), "TIMEOUT_FAIL");
  EXPECT_EQ(hung->device_problem, "the device does not answer");

  device.programs["gone"]["k"] = [](const FakeCall&) -> Result<void> {
    return environment_error("no worker could be started");
  };
  auto gone = verify(device, matmul_task(), matmul_candidate("gone"), {}, {}, random);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::environment);
}

TEST(Verify, ABrokenReferenceIsNoFaultOfTheCandidate) {
  Task task = matmul_task();
  task.reference =
      std::make_shared<FunctionReference>([](const Problem&, const Values&) -> Result<Values> {
        return refused("the reference failed");
      });
  FakeDevice device;
  device.programs["p"]["k"] = matmul_kernel();
  FixedRandom random(1);
  const auto result = verify(device, task, matmul_candidate("p"), {}, {}, random);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the reference failed");
}

TEST(Verify, RepeatabilityIsHeldToTheBitWhereTheTaskDemandsIt) {
  auto calls = std::make_shared<int>(0);
  const FakeKernel kernel = [calls](const FakeCall& call) -> Result<void> {
    BURNISH_TRY(matmul_kernel()(call));
    const Matrices x(call);
    if (++*calls % 2 == 0) x.c[0] = std::nextafter(x.c[0], 1e30f);
    return {};
  };
  EXPECT_EQ(judged(kernel).verdict, Verdict::pass);
  Task task = matmul_task();
  task.problem = [](const std::string& workload, const Variables& dims) {
    Problem problem = matmul_problem(workload, dims);
    problem.tolerance.repeatable = Tolerance::Repeatable::bitwise;
    return Result<Problem>(problem);
  };
  EXPECT_THAT(judged(kernel, task).why,
              HasSubstr("C is not repeatable: two runs on the same inputs "
                        "differ in 1 of 768 elements, first C[0, 0]"));
}

TEST(Verify, PrecisionLostAgainstTheBaselineIsFound) {
  // An error that the general bound allows at this length, but that the baseline does not have.
  const FakeKernel rough = matmul_kernel({.finish = [](float sum, float bias) {
    const float exact = sum + bias;
    return exact * (1 + 1.5e-6f * (std::bit_cast<std::uint32_t>(exact) % 2 == 0 ? 1.f : -1.f));
  }});
  VerifyOptions options;
  options.inputs = VerifyOptions::Inputs::normal;
  options.shapes = VerifyOptions::Shapes::workloads;
  const auto baseline = judged(matmul_kernel(), matmul_task(), options);
  EXPECT_EQ(judged(rough, matmul_task(), options).verdict, Verdict::pass);
  options.baseline = baseline.checks;
  EXPECT_THAT(judged(rough, matmul_task(), options).why, HasSubstr("precision was lost"));
  EXPECT_EQ(judged(matmul_kernel(), matmul_task(), options, 9).verdict, Verdict::pass);
}

TEST(Verify, InlineAssemblyIsRefusedOnACpu) {
  FakeDevice device;
  FixedRandom random(1);
  for (const char* text :
       {"__kernel void k() {\n __asm__(\"syscall\"); }",
        "#define P(a, b) a##b\n__kernel void k() { P(as, m)(\"syscall\"); }",
        "__kernel void k() { a\\\nsm(\"syscall\"); }",
        "__kernel void k() { a\\ \t\nsm(\"syscall\"); }",
        "__kernel void k() { a?\?/\nsm(\"syscall\"); }",
        "__kernel void k() { char* s = \"?\?/\\\"; asm(\"syscall\"); //\"\n }",
        "#define P(a, b) a#\\\n#b\n__kernel void k() { P(as, m)(\"syscall\"); }"}) {
    auto result = verify(device, matmul_task(), matmul_candidate(text), {}, {}, random);
    ASSERT_TRUE(result);
    EXPECT_THAT(result->why, HasSubstr("is refused on a CPU device")) << text;
  }
  const std::string innocent = "// asm\n/* __asm__ */ \"asm\" assembly k";
  device.programs[innocent]["k"] = matmul_kernel();
  auto result = verify(device, matmul_task(), matmul_candidate(innocent), {}, {}, random);
  EXPECT_EQ(result->verdict, Verdict::pass) << result->why;
}

TEST(CheckRun, JudgesOneRunByItself) {
  const Problem problem = matmul_problem("w", {{"M", 4}, {"N", 4}, {"K", 4}});
  Generator generator(1);
  const Values inputs = draw_inputs(problem, Family::normal, generator);
  const Values expected = matmul_reference(problem, inputs);
  device::RunResult run;
  for (const auto& [name, values] : inputs)
    run.buffers[name].content = from_doubles(DType::f32, values);
  run.buffers["C"].content = from_doubles(DType::f32, expected.at("C"));
  auto check = check_run(problem, inputs, expected, run, 1);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->verdict, Verdict::pass) << check->why;
  Values other = expected;
  other["C"][5] += 1;
  check = check_run(problem, inputs, other, run, 1);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->verdict, Verdict::fail);
  EXPECT_EQ(check->worst.at(0).index, (std::vector<std::int64_t>{1, 1}));
}

TEST(VerifyJson, HasTheShapeOfTheContract) {
  const Json json = to_json(judged(matmul_kernel(
      {.finish = [](float, float) { return std::numeric_limits<float>::infinity(); }})));
  EXPECT_EQ(json.at("verdict"), "FAIL");
  const Json& check = json.at("workloads").at(0);
  for (const char* key : {"name", "seed", "inputs", "verdict", "errors", "worst", "why"}) {
    EXPECT_TRUE(check.contains(key)) << key;
  }
  for (const char* key : {"max_abs", "max_rel", "slice", "global"}) {
    EXPECT_TRUE(check.at("errors").contains(key)) << key;
  }
  EXPECT_EQ(check.at("worst").at(0).at("got"), "inf");
  EXPECT_THAT(dump_json(json), testing::Not(HasSubstr("null")));
}

}  // namespace
}  // namespace burnish::measure
