// The launches under test under a fake of rocprofv3 that plays recordings (tests/fakes/rocprofv3).

#include "loop/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <set>

#include "base/text.h"
#include "loop/testing.h"

namespace burnish::loop {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Runs the wrapper as a session would, round a program that does nothing.
class WrappedDevice : public measure::FakeDevice {
 public:
  explicit WrappedDevice(std::vector<std::string> wrapper) : wrapper_(std::move(wrapper)) {}
  Result<std::unique_ptr<device::Session>> open(const device::Source& source,
                                                const device::Limits& limits) override {
    ProcessSpec spec;
    spec.argv = wrapper_;
    spec.argv.emplace_back("/bin/true");
    BURNISH_TRY_ASSIGN(const auto result, real_process_runner().run(spec));
    if (!result.ok())
      return environment_error("the worker " + result.describe() + " while building kernel.hip")
          .in("the worker's last words: " + result.errors);
    return FakeDevice::open(source, limits);
  }

 private:
  std::vector<std::string> wrapper_;
};

class AmdCounters : public ::testing::Test {
 protected:
  void SetUp() override {
    recordings_ = fs::path(BURNISH_SHARED_DIR) / "fixtures";
    for (const char* name : {"rocprof-compute/vcopy_MI300X_A1_pmc_perf.csv", "att"})
      if (!fs::exists(recordings_ / name)) GTEST_SKIP() << "no recording " << recordings_ / name;
    scene_.create();
    auto opened =
        workspace::Workspace::open(scene_.workspace(), workspace::Workspace::Access::read, {});
    ASSERT_TRUE(opened) << opened.error().to_string();
    workspace_.emplace(std::move(*opened));
    folder_ = workspace_->profile_folder(0);
    path_ = std::getenv("PATH");
    setenv("PATH", (std::string(BURNISH_SOURCE_DIR) + "/tests/fakes:" + path_).c_str(), 1);
    setenv("FAKE_ROCPROFV3_FIXTURES", recordings_.c_str(), 1);
    const fs::path decoder = scene_.folder() / "decoder";
    ASSERT_TRUE(real_file_system().write(decoder / "librocprof-trace-decoder.so", ""));
    setenv("ROCPROF_ATT_LIBRARY_PATH", decoder.c_str(), 1);
  }
  void TearDown() override {
    if (!path_.empty()) setenv("PATH", path_.c_str(), 1);
    for (const char* name :
         {"FAKE_ROCPROFV3", "FAKE_ROCPROFV3_FIXTURES", "ROCPROF_ATT_LIBRARY_PATH"})
      unsetenv(name);
  }

  /// Of two launches of vecCopy.
  evidence::KernelEvidence profile() {
    device::KernelLaunch launch;
    launch.kernel = "vecCopy";
    plan_.launches = {launch, launch};
    device::RunRequest request;
    request.plan = &plan_;
    return profile({}, request, [](const std::vector<std::string>& wrapper) {
      return Result<std::unique_ptr<device::Device>>(std::make_unique<WrappedDevice>(wrapper));
    });
  }

  evidence::KernelEvidence profile(
      const std::vector<device::Buffer>& buffers, const device::RunRequest& request,
      const std::function<Result<std::unique_ptr<device::Device>>(const std::vector<std::string>&)>&
          open) {
    candidate_.label = "v0";
    const Replay replay{candidate_, buffers, request, [&](const std::vector<std::string>& wrapper) {
                          commands_.push_back(wrapper);
                          return open(wrapper);
                        }};
    evidence::KernelEvidence evidence;
    evidence.name = "vecCopy";
    evidence.device = {"AMD Instinct MI300X", "gfx942:sramecc+:xnack-"};
    auto tools = scene_.tools();
    const auto done = add_amd_counters(*workspace_, tools, replay, folder_, evidence, artefacts_);
    EXPECT_TRUE(done) << (done ? "" : done.error().to_string());
    return evidence;
  }

  fs::path recordings_, folder_;
  Scene scene_;
  std::optional<workspace::Workspace> workspace_;
  std::string path_;
  measure::Candidate candidate_;
  device::LaunchPlan plan_;
  std::vector<std::vector<std::string>> commands_;
  std::vector<profile::Artefact> artefacts_;
};

TEST_F(AmdCounters, AreOfTheLaunchesUnderTest) {
  const auto evidence = profile();
  // Four passes of counters and a trace, each of a second run of the plan's two launches.
  ASSERT_EQ(commands_.size(), 5u);
  for (const auto& command : commands_) {
    EXPECT_THAT(command,
                Contains("--kernel-include-regex=(^|[^A-Za-z0-9_])(vecCopy)([^A-Za-z0-9_]|$)"));
    EXPECT_EQ(command.back(), "--") << "the worker's command line follows";
  }
  EXPECT_THAT(commands_.front(), Contains("[3-4]"));
  EXPECT_THAT(commands_.back(), Contains("--att"));
  EXPECT_THAT(commands_.back(), Contains("[3]"));
  const Metric* hits = evidence.metrics.find("l2.hit_pct");
  ASSERT_NE(hits, nullptr);
  EXPECT_NEAR(hits->value, 33.5, 0.01);
  EXPECT_THAT(hits->where.pass, HasSubstr("pass_"));
  EXPECT_TRUE(fs::exists(workspace_->folder() / hits->where.file)) << hits->where.file;
  EXPECT_EQ(evidence.metrics.find("time.device"), nullptr) << "the judge's clock alone says that";
  EXPECT_FALSE(artefacts_.empty());
  for (const auto& artefact : artefacts_) EXPECT_TRUE(artefact.file.is_relative());
}

// The worker is burnish's own, below the tool; only its device is another one.
TEST_F(AmdCounters, ComeFromAWorkerBelowTheTool) {
  const auto info = device::choose_device("opencl:pocl", BURNISH_TEST_WORKER);
  if (!info) GTEST_SKIP() << info.error().to_string();
  // A worker's environment holds nothing of this process's but how programs are found.
  const auto play = [&](const std::string& orders) {
    const fs::path script = scene_.folder() / "bin/rocprofv3";
    ASSERT_TRUE(real_file_system().write(
        script, "#!/bin/sh\nexport FAKE_ROCPROFV3_FIXTURES='" + recordings_.string() +
                    "' FAKE_ROCPROFV3='" + orders +
                    "'\nexec '" BURNISH_SOURCE_DIR "/tests/fakes/rocprofv3' \"$@\"\n"));
    fs::permissions(script, fs::perms::owner_all);
    setenv("PATH", (script.parent_path().string() + ":" + path_).c_str(), 1);
  };
  play("");
  // One pass is enough here.
  ASSERT_TRUE(
      real_file_system().write(scene_.folder() / "data/metrics/amd-blocks.toml", R"([[device]]
arch = ["gfx94*"]
counters = { SQ = 64, TA = 64, TCP = 64, TCC = 64, SPI = 64, GRBM = 64 }
source = "test"
)"));
  unsetenv("ROCPROF_ATT_LIBRARY_PATH");
  candidate_.source = {"opencl",
                       "kernel.cl",
                       "__kernel void vecCopy(__global const float* a, __global float* b) {"
                       " b[get_global_id(0)] = a[get_global_id(0)]; }",
                       {},
                       {},
                       {}};
  device::KernelLaunch launch;
  launch.kernel = "vecCopy";
  launch.grid = {4, 1, 1};
  launch.block = {64, 1, 1};
  launch.arguments = {{device::Argument::Pointer{"a"}}, {device::Argument::Pointer{"b"}}};
  plan_.launches = {launch};
  const std::vector<std::byte> content(1024, std::byte{1});
  device::RunRequest request;
  request.plan = &plan_;
  request.contents["a"] = content;
  const auto evidence =
      profile({{"a", 1024, device::Buffer::Role::in}, {"b", 1024, device::Buffer::Role::out}},
              request, [&](const std::vector<std::string>& wrapper) {
                return device::open_device(*info, {{}, BURNISH_TEST_WORKER, wrapper});
              });
  ASSERT_EQ(commands_.size(), 1u);
  EXPECT_THAT(commands_[0], Contains("[2]"));
  EXPECT_THAT(evidence.statements, Not(Contains(HasSubstr("gave no result"))));
  ASSERT_NE(evidence.metrics.find("l2.hit_pct"), nullptr) << join(evidence.statements, "\n");
  EXPECT_EQ(evidence.metrics.find("l2.hit_pct")->where.pass, "pass_1");
  // A tool that ends before the worker answers.
  play("fail=pass_1");
  const auto failed =
      profile({{"a", 1024, device::Buffer::Role::in}, {"b", 1024, device::Buffer::Role::out}},
              request, [&](const std::vector<std::string>& wrapper) {
                return device::open_device(*info, {{}, BURNISH_TEST_WORKER, wrapper});
              });
  EXPECT_THAT(failed.statements, Contains(HasSubstr("error code 38")));
  EXPECT_EQ(failed.metrics.find("l2.hit_pct"), nullptr);
}

TEST_F(AmdCounters, OfAFailedPassAreNoResult) {
  setenv("FAKE_ROCPROFV3", "fail=pass_2 nothing=pass_3", 1);
  const auto evidence = profile();
  EXPECT_THAT(evidence.statements, Contains(HasSubstr("pass 2 of 4 failed")));
  EXPECT_THAT(evidence.statements, Contains(HasSubstr("error code 38")));
  EXPECT_THAT(evidence.statements, Contains(HasSubstr("pass 3 of 4 failed")));
  std::set<std::string> passes;
  for (const auto& [name, metric] : evidence.metrics.all()) passes.insert(metric.where.pass);
  EXPECT_THAT(passes, Contains("pass_1"));
  EXPECT_THAT(passes, Not(Contains("pass_2")));
  EXPECT_FALSE(fs::exists(folder_ / "pmc/pass_2"));
  EXPECT_TRUE(fs::exists(folder_ / "failed"));
}

TEST_F(AmdCounters, AreMissedWithAWordOnWhatToInstall) {
  setenv("PATH", "/nowhere", 1);
  if (fs::exists("/opt/rocm")) GTEST_SKIP() << "ROCm is here";
  auto evidence = profile();
  EXPECT_THAT(commands_, IsEmpty());
  EXPECT_THAT(evidence.statements, Contains(HasSubstr("rocprofiler-sdk")));
  // Without the decoder there are counters and no trace.
  setenv("PATH", (std::string(BURNISH_SOURCE_DIR) + "/tests/fakes:" + path_).c_str(), 1);
  unsetenv("ROCPROF_ATT_LIBRARY_PATH");
  evidence = profile();
  EXPECT_EQ(commands_.size(), 4u);
  EXPECT_THAT(evidence.statements, Contains(HasSubstr("github.com/ROCm/rocprof-trace-decoder")));
  EXPECT_NE(evidence.metrics.find("l2.hit_pct"), nullptr);
}

}  // namespace
}  // namespace burnish::loop
