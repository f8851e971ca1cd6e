#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "loop/testing.h"

namespace burnish::loop {
namespace {

constexpr char kAddTask[] = R"(name = "vector-add"
description = "out = a + b"
[kernel]
language = "hip"
file = "kernel.hip"
launch = "launch.toml"
[reference]
file = "reference.cpp"
[[tensor]]
name = "a"
dtype = "f32"
shape = ["N"]
role = "in"
[[tensor]]
name = "b"
dtype = "f32"
shape = ["N"]
role = "in"
[[tensor]]
name = "out"
dtype = "f32"
shape = ["N"]
role = "out"
[[workload]]
name = "small"
dims = {N = 65536}
[domain]
N = {low = 1, high = 2000}
[work]
flops = "N"
bytes = "12 * N"
math = "f32"
[stop]
speedup = 1000
max_iterations = 1
[[tunable]]
name = "BLOCK"
values = [64, 256]
initial = 64
category = "work-partition"
)";

constexpr char kAddKernel[] = R"(#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(BLOCK) vector_add(const float* a, const float* b,
                                                              float* out, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
)";

constexpr char kAddLaunch[] = R"toml([[kernel]]
name = "vector_add"
grid = ["ceil_div(N, BLOCK)"]
block = ["BLOCK"]
arguments = [{tensor = "a"}, {tensor = "b"}, {tensor = "out"}, {scalar = "N", dtype = "i32"}]
)toml";

constexpr char kAddReference[] = R"(#include "burnish_reference.h"
void reference(const burnish::Dims& d, const burnish::Inputs& in, burnish::Outputs& out) {
  for (auto i = 0 * d["N"]; i < d["N"]; ++i) out["out"][i] = in["a"][i] + in["b"][i];
}
)";

/// It rests on the machine code of the built object and on the vendor.
constexpr char kAddRules[] = R"([[rule]]
id = "small-blocks"
category = "work-partition"
severity = "high"
applies = ["amd"]
needs = ["launch.block_threads", "isa.vmem_load", "occupancy.theoretical_pct"]
when = "launch.block_threads < 256 and isa.vmem_load == 2"
headroom = "2"
because = "blocks of {launch.block_threads} threads"
action = "larger blocks"
cards = ["increase-parallelism"]
source = "test"
)";

constexpr char kAddCeilings[] = R"([
 {"name": "copy 1 MiB", "unit": "B/s", "value": 1.3e12, "kind": "measured", "source": "test"},
 {"name": "copy 1 MiB cold", "unit": "B/s", "value": 1.3e12, "kind": "measured", "source": "test"},
 {"name": "fma f32", "unit": "FLOP/s", "value": 2e13, "kind": "measured", "source": "test"}
])";

// The whole loop on the fake of the HIP runtime (device/testing/fake_hip.cpp), whose blocks cost
// time: it shows that the parts fit together for AMD, and nothing about an AMD GPU.
TEST(HipLoop, TakesLargerBlocksOnTheFakeDevice) {
  if (!find_program({"clang-22"})) GTEST_SKIP() << "clang-22 is not installed";
  setenv("LD_LIBRARY_PATH", BURNISH_FAKE_HIP, 1);
  const auto info = device::choose_device("hip:0", BURNISH_TEST_WORKER);
  ASSERT_TRUE(info) << info.error().to_string();
  const auto folder = TemporaryFolder::make("burnish-hip").value();
  const auto device = device::open_device(*info, {folder.path() / "cache", BURNISH_TEST_WORKER});
  ASSERT_TRUE(device) << device.error().to_string();
  auto& files = real_file_system();
  for (const auto& [name, text] : {std::pair("task/burnish.toml", kAddTask),
                                   {"task/kernel.hip", kAddKernel},
                                   {"task/launch.toml", kAddLaunch},
                                   {"task/reference.cpp", kAddReference},
                                   {"data/rules/amd.toml", kAddRules}}) {
    ASSERT_TRUE(files.write(folder.path() / name, text));
  }
  setenv("BURNISH_DATA", (folder.path() / "data").c_str(), 1);
  {
    const auto made = workspace::Workspace::create(folder.path() / "w", folder.path() / "task", {});
    ASSERT_TRUE(made) << made.error().to_string();
    const auto ceilings = ceilings_file(*made, *info);
    ASSERT_TRUE(ceilings) << ceilings.error().to_string();
    ASSERT_TRUE(files.write(*ceilings, kAddCeilings));
  }

  const auto cards = knowledge::CardBase::load();
  const auto rules = evidence::Rules::load();
  ASSERT_TRUE(cards) << cards.error().to_string();
  ASSERT_TRUE(rules) << rules.error().to_string();
  measure::FixedRandom random(7);
  SilentObserver observer;
  Tools tools{**device, *cards, *rules, random, observer};
  std::string report;
  auto loop = Loop::open(folder.path() / "w", {}, report);
  ASSERT_TRUE(loop) << loop.error().to_string();
  auto tuner = agent::make_tuner();
  const auto summary = (*loop)->run(tools, *tuner, 0);
  ASSERT_TRUE(summary) << summary.error().to_string();
  ASSERT_EQ(summary->iterations.size(), 1u);
  EXPECT_EQ(summary->iterations[0].gate, "PASS") << summary->iterations[0].reason;
  EXPECT_GT(summary->iterations[0].ratio, 1.05);

  const auto& workspace = (*loop)->workspace();
  const auto record = workspace.text("memory/v1.json");
  ASSERT_TRUE(record);
  EXPECT_NE(record->find("hip graph of"), std::string::npos) << *record;
  const auto evidence = files.read(folder.path() / "w" / "profiles" / "v0" / "evidence.json");
  ASSERT_TRUE(evidence) << evidence.error().to_string();
  const Json json = Json::parse(*evidence);
  const Json& kernel = json.at("kernels").at(0);
  EXPECT_EQ(kernel.at("device").at("arch"), "gfx90a");
  bool has_finding = false;
  for (const Json& finding : kernel.at("findings")) {
    has_finding = has_finding || finding.at("id") == "small-blocks";
  }
  EXPECT_TRUE(has_finding) << kernel.at("findings");
  EXPECT_TRUE(files.exists(folder.path() / "w" / "profiles" / "v0" / "code.co"));
  unsetenv("BURNISH_DATA");
  unsetenv("LD_LIBRARY_PATH");
}

}  // namespace
}  // namespace burnish::loop
