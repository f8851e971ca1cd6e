#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/test_tasks.h"
#include "measure/verify.h"

namespace burnish::measure {
namespace {

using testing::HasSubstr;

/// What is made of a tool's words, after a launch that was right.
Check judged(const std::string& printed) {
  auto device = std::make_unique<FakeDevice>();
  device->programs["v0"]["k"] = matmul_kernel();
  device->printed = printed;
  const Sanitizer sanitizer{"compute-sanitizer memcheck", std::move(device)};
  FixedRandom random(3);
  const auto check = sanitize(sanitizer, matmul_task(), matmul_candidate("v0"), {}, random);
  EXPECT_TRUE(check) << (check ? "" : check.error().to_string());
  return check ? *check : Check{};
}

// The words are those of Compute Sanitizer 2023 to 2025.
TEST(Sanitize, TellsTheFirstFindingOnOneLine) {
  const Check outside = judged(
      "========= COMPUTE-SANITIZER\n"
      "========= Invalid __global__ read of size 4 bytes\n"
      "=========     at scale(float *, float)+0x70 in kernel.cu:6\n"
      "=========     by thread (255,0,0) in block (3,0,0)\n"
      "=========     Access to 0x74b834000ffc is out of bounds\n"
      "=========     and is 1 bytes after the nearest allocation at 0x74b834000000 of size 4,092 "
      "bytes\n"
      "=========\n"
      "========= Invalid __global__ read of size 4 bytes\n"
      "=========     at scale(float *, float)+0x90 in kernel.cu:7\n"
      "========= ERROR SUMMARY: 2 errors\n");
  EXPECT_EQ(outside.verdict, Verdict::fail);
  EXPECT_EQ(outside.why,
            "compute-sanitizer memcheck: Invalid __global__ read of size 4 bytes; at scale(float "
            "*, float)+0x70 in "
            "kernel.cu:6; by thread (255,0,0) in block (3,0,0); Access to 0x74b834000ffc is out of "
            "bounds; and is 1 bytes after the nearest allocation at 0x74b834000000 of size 4,092 "
            "bytes");
  const Check race = judged(
      "========= COMPUTE-SANITIZER\n"
      "========= Error: Race reported between Write access at scale(int *)+0x90 in kernel.cu:13\n"
      "=========     and Read access at scale(int *)+0xa0 in kernel.cu:14 [2048 hazards]\n"
      "=========\n"
      "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n");
  EXPECT_EQ(race.verdict, Verdict::fail);
  EXPECT_THAT(race.why, HasSubstr("Race reported between Write access at scale(int *)+0x90"));
  EXPECT_THAT(race.why, HasSubstr("and Read access at scale(int *)+0xa0"));
}

TEST(Sanitize, PassesWhatNoToolCallsWrong) {
  for (const char* printed :
       {"",
        // Hazards that the tool takes for meant, and calls that burnish itself asks and answers.
        "========= Warning: Race reported between Write access at scale(int *)+0x90\n",
        "========= Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to \"invalid argument\" on "
        "CUDA API call to cuFuncGetParamInfo.\n"}) {
    const std::string all = std::string(printed) + "========= ERROR SUMMARY: 0 errors\n";
    EXPECT_EQ(judged(all).why, "") << all;
  }
}

// A domain may be such that all of the judge's own shapes happen to be large.
TEST(Sanitize, DrawsShapesUntilOneIsSmall) {
  auto device = std::make_unique<FakeDevice>();
  device->programs["v0"]["k"] = matmul_kernel();
  const Sanitizer sanitizer{"oclgrind", std::move(device)};
  Task task = matmul_task({{"large", {{"M", 400}, {"N", 400}, {"K", 400}}}});
  task.domain = {{"M", {110, 400, 1}}, {"N", {110, 400, 1}}, {"K", {110, 400, 1}}};
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    FixedRandom random(seed);
    const auto check = sanitize(sanitizer, task, matmul_candidate("v0"), {}, random);
    ASSERT_TRUE(check) << seed << ": " << check.error().to_string();
  }
}

TEST(Sanitize, AToolThatWasNotHeardIsNoWitness) {
  auto device = std::make_unique<FakeDevice>();
  device->programs["v0"]["k"] = matmul_kernel();
  device->printed = "========= COMPUTE-SANITIZER\n========= Error: no device\n";
  const Sanitizer sanitizer{"compute-sanitizer racecheck", std::move(device)};
  FixedRandom random(3);
  const auto check = sanitize(sanitizer, matmul_task(), matmul_candidate("v0"), {}, random);
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().message, "it ended without its summary: ========= Error: no device");
}

}  // namespace
}  // namespace burnish::measure
