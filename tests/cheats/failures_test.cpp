// Seven failures that a judge of one number lets pass or cannot name, each in the kernel of the
// task C[512, 64] = A[512, 96] B[96, 64] + bias[64], with the sentence that it gets; and what
// judging a kernel costs.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdio>

#include "base/text.h"
#include "measure/fake_device.h"
#include "tasks.h"

namespace burnish::cheats {
namespace {

measure::Task with_512_channels() {
  measure::Task task = matmul();
  task.workloads = {{"channels", {{"M", 512}, {"N", 64}, {"K", 96}}}};
  task.domain.clear();
  return task;
}

struct Failure {
  const char* name;
  const char* factor;  ///< of a product, from a, b
  const char* terms;   ///< of K
  const char* store;   ///< from sum
  const char* why;
};

std::string source_of(const Failure& failure) {
  return fmt::format(R"(
float tf32(float x) {{ return as_float((as_uint(x) + 0x1000u) & 0xffffe000u); }}
__kernel void k(__global const float* A, __global const float* B, __global const float* bias,
                __global float* C, int M, int N, int K) {{
  int n = get_global_id(0), m = get_global_id(1);
  if (m >= M || n >= N) return;
  float sum = 0;
  int at = m * N + n;
  for (int k = 0; k < {}; ++k) {{
    float a = A[m * K + k], b = B[k * N + n];
    sum += {};
  }}
  {}
}}
)",
                     failure.terms, failure.factor, failure.store);
}

Entry entry(const Failure& failure, measure::Task (*task)() = with_512_channels) {
  return {failure.name,
          "",
          task,
          source_of(failure),
          {{"k", {groups("N", 8), groups("M", 8)}, {8, 8}, "A B bias C M N K"}},
          failure.why,
          {},
          {}};
}

const Failure kRight = {"Right", "a * b", "K", "C[at] = sum + bias[n];", ""};

const Failure kFailures[] = {
    {"ZeroChannel", "a * b", "K", "C[at] = m == 137 ? 0 : sum + bias[n];",
     "channel 137 of C is all zeros where the reference is not \\(64 of 64 elements; C\\[137, "
     ":\\]\\)"},
    {"ScaledBy4Percent", "a * b", "K", "C[at] = 0.96f * (sum + bias[n]);",
     "C is 0.9600 times the reference everywhere: a uniform scale error"},
    {"DroppedBias", "a * b", "K", "C[at] = sum;",
     "bias seems not to be added: got - want equals -bias"},
    {"SkippedLastBlock", "a * b", "K - 16", "C[at] = sum + bias[n];",
     "the reduction leaves out its last 16"},
    {"TensorFloat32", "tf32(a) * tf32(b)", "K", "C[at] = sum + bias[n];",
     "the accuracy of TF32 or half, not of f32"},
    {"NaNEverywhere", "a * b", "K", "C[at] = NAN;",
     "C is NaN everywhere, where the reference is finite"},
    {"OutputUntouched", "a * b", "K", "",
     "C was not written: 32,768 of 32,768 elements still hold the poison, first C\\[0, 0\\]"},
};

TEST_F(NeedsOpenCl, SevenFailuresAreNamedAndPlaced) {
  std::vector<Failure> all(std::begin(kFailures), std::end(kFailures));
  all.push_back(kRight);
  for (const Failure& failure : all) {
    measure::FixedRandom random(seed());
    const Entry one = entry(failure);
    const auto result = measure::verify(**opencl(), one.task(), candidate(one), {}, {}, random);
    ASSERT_TRUE(result) << result.error().to_string();
    std::printf("%s: %s\n", failure.name, result->why.empty() ? "PASS" : result->why.c_str());
    EXPECT_EQ(result->verdict == measure::Verdict::pass, one.why.empty()) << failure.name;
    EXPECT_THAT(result->why, testing::ContainsRegex(one.why));
  }
}

measure::Task of_a_millisecond() {
  measure::Task task = matmul();
  task.workloads = {{"ms", {{"M", 128}, {"N", 128}, {"K", 256}}}};
  return task;
}

// Verification and comparison together, as the gate does them.
TEST_F(NeedsOpenCl, JudgingAKernelOfAMillisecondTakesLessThan20Seconds) {
  measure::FixedRandom random(seed());
  const Entry one = entry(kRight, of_a_millisecond);
  const measure::Candidate incumbent = candidate(one);
  measure::Candidate other = candidate(one);
  other.label = "Candidate";
  const auto checked = measure::verify(**opencl(), one.task(), other, {}, {}, random);
  ASSERT_TRUE(checked) << checked.error().to_string();
  EXPECT_EQ(checked->verdict, measure::Verdict::pass) << checked->why;
  const auto timed =
      measure::bench(**opencl(), one.task(), {incumbent, other}, {}, {}, {}, random, real_clock());
  ASSERT_TRUE(timed) << timed.error().to_string();
  std::printf("%s a launch; checks %.1f s (build %.1f, reference %.1f, runs %.1f)",
              with_prefix(timed->results.at(0).latency.p50, "s").c_str(), checked->seconds,
              checked->build_seconds, checked->reference_seconds, checked->run_seconds);
  std::printf("; comparison %.1f s, %d blocks (", timed->seconds, timed->comparisons.at(0).blocks);
  double known = 0;
  for (const auto& [name, seconds] : timed->time) {
    std::printf("%s %.1f ", name.c_str(), seconds);
    known += seconds;
  }
  std::printf(")\n");
  EXPECT_LT(checked->seconds + timed->seconds, 20);
  EXPECT_GT(known, 0.8 * timed->seconds);
}

}  // namespace
}  // namespace burnish::cheats
