#include "profile/ptxas.h"

#include "base/text.h"
#include "profile/testing.h"

namespace burnish::profile {
namespace {

using nvidia::read_resource_usage;
using testing::bytes_of;
using testing::data;
using testing::fixture;
using testing::read;
using testing::value;

double most_registers(const Reading& reading) {
  double most = 0;
  for (const KernelProfile& kernel : reading.kernels) {
    most = std::max(most, kernel.metrics.value("registers.used").value_or(0));
  }
  return most;
}

TEST(ResourceUsage, PtxasOfCuda13) {
  const Reading reading = read(data("ptxas.log"));
  EXPECT_EQ(reading.artefacts[0].kind, "ptxas");
  ASSERT_EQ(reading.kernels.size(), 6u);
  const KernelProfile& spill = reading.kernels[0];
  EXPECT_EQ(spill.symbol, "_Z14register_spillILi96EEvPKfPfi");
  EXPECT_EQ(spill.device.arch, "sm_90");
  EXPECT_EQ(value(spill, "registers.used"), 64);
  EXPECT_EQ(value(spill, "spill.bytes"), 908 + 908);
  EXPECT_EQ(value(spill, "scratch.bytes"), 368);
  EXPECT_EQ(value(spill, "shared.static_bytes"), 0);
  EXPECT_EQ(spill.metrics.find("spill.bytes")->where.locator, "line 4");
  EXPECT_EQ(value(reading.kernels[4], "registers.used"), 8);
  EXPECT_EQ(value(reading.kernels[4], "spill.bytes"), 0);
}

TEST(ResourceUsage, PtxasOfSeveralArchitecturesAndDeviceFunctions) {
  const auto reading = read_resource_usage(
      "nvcc warning : something\n"
      "ptxas info    : 77696 bytes gmem, 72 bytes cmem[3]\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Function properties for k\n"
      "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Function properties for helper\n"
      "    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 256 bytes cumulative stack size, 4096 "
      "bytes "
      "smem, 384 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized "
      "due to ...in function 'k'\n"
      "ptxas info    : Function properties for k\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 32 registers\n",
      "build.log");
  ASSERT_TRUE(reading) << reading.error().to_string();
  ASSERT_EQ(reading->kernels.size(), 2u);
  EXPECT_EQ(reading->kernels[0].device.arch, "sm_80");
  EXPECT_EQ(value(reading->kernels[0], "registers.used"), 40);
  EXPECT_EQ(value(reading->kernels[0], "spill.bytes"), 0);
  EXPECT_EQ(value(reading->kernels[0], "scratch.bytes"), 8);
  EXPECT_EQ(value(reading->kernels[0], "shared.static_bytes"), 4096);
  EXPECT_EQ(value(reading->kernels[0], "ptxas__barriers"), 1);
  EXPECT_EQ(reading->kernels[1].device.arch, "sm_90a");
  EXPECT_EQ(value(reading->kernels[1], "registers.used"), 32);
  ASSERT_EQ(reading->warnings.size(), 1u);
  EXPECT_TRUE(contains(reading->warnings[0], "build.log:10: "));
}

TEST(ResourceUsage, CuobjdumpOfOneFunction) {
  const char* name = "ptxas/cuda-test-snippets_celer-array-size_sizet.usage.txt";
  BURNISH_NEEDS_FIXTURE(name);
  const Reading reading = read(fixture(name));
  EXPECT_EQ(reading.artefacts[0].kind, "cuobjdump-resource-usage");
  ASSERT_EQ(reading.kernels.size(), 1u);
  EXPECT_EQ(value(reading.kernels[0], "registers.used"), 16);
  EXPECT_EQ(value(reading.kernels[0], "scratch.bytes"), 0);
}

TEST(ResourceUsage, CuobjdumpOfManyFunctions) {
  const char* name = "ptxas/cuda-test-snippets_celer-along-step_develop_big.usage.txt";
  BURNISH_NEEDS_FIXTURE(name);
  const Reading reading = read(fixture(name));
  EXPECT_EQ(reading.kernels.size(), 488u);
  EXPECT_EQ(most_registers(reading), 78);
}

TEST(ResourceUsage, CuobjdumpOfTheH200Run) {
  BURNISH_NEEDS_FIXTURE("h200/k.resusage.txt");
  const Reading reading = read(fixture("h200/k.resusage.txt"));
  ASSERT_EQ(reading.kernels.size(), 3u);
  EXPECT_EQ(reading.kernels[0].device.arch, "sm_90");
  EXPECT_EQ(value(reading.kernels[0], "registers.used"), 14);  // where ncu says 16
  // 5,120 with the driver's share, and other versions leave it out.
  EXPECT_FALSE(reading.kernels[0].metrics.find("shared.static_bytes"));
  EXPECT_EQ(value(reading.kernels[1], "scratch.bytes"), 256);
}

TEST(ResourceUsage, TruncatedNeverCrashes) {
  const std::string whole = bytes_of(data("ptxas.log"));
  for (int part = 0; part < 64; ++part) {
    const auto reading =
        read_resource_usage(std::string_view(whole).substr(0, whole.size() * part / 64), "cut.log");
    if (!reading) {
      EXPECT_EQ(reading.error().kind, ErrorKind::bad_input);
    }
  }
}

}  // namespace
}  // namespace burnish::profile
