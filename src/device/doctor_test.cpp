#include "device/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "device/doctor_checks.h"

namespace burnish::device {
namespace {

const Tool* find(const Diagnosis& diagnosis, const std::string& name) {
  for (const Tool& tool : diagnosis.tools) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

TEST(Doctor, SeesThisMachine) {
  const auto started = std::chrono::steady_clock::now();
  const Diagnosis diagnosis = diagnose(real_process_runner(), BURNISH_TEST_WORKER);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
  const Tool* git = find(diagnosis, "git");
  ASSERT_NE(git, nullptr);
  if (git->ok) {
    EXPECT_TRUE(git->version.starts_with("2.")) << git->version;
  }
  for (const Tool& tool : diagnosis.tools) {
    EXPECT_FALSE(tool.purpose.empty());
    EXPECT_EQ(tool.ok, tool.hint.empty()) << tool.name << ": " << tool.hint;
    if (tool.ok) {
      EXPECT_FALSE(tool.path.empty()) << tool.name;
    }
  }
  const Json json = to_json(diagnosis);
  EXPECT_EQ(json.at("tools").size(), diagnosis.tools.size());
  for (const Json& device : json.at("devices")) {
    for (const char* key : {"id", "name", "backend", "arch", "memory"}) {
      EXPECT_TRUE(device.contains(key)) << key;
    }
  }
}

TEST(Doctor, HangingToolsAreNamedAndNotWaitedFor) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.has_value());
  for (const char* name : {"git", "g++", "python3", "llvm-objdump-19", "clang", "ncu", "nvcc"}) {
    std::ofstream(folder->path() / name) << "#!/bin/sh\nexec /bin/sleep 1000\n";
    fs::permissions(folder->path() / name, fs::perms::owner_all);
  }
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", folder->path().c_str(), 1);
  const auto started = std::chrono::steady_clock::now();
  const Diagnosis diagnosis = diagnose(real_process_runner(), BURNISH_TEST_WORKER);
  const auto took = std::chrono::steady_clock::now() - started;
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_LT(took, std::chrono::seconds(20));
  for (const char* name : {"git", "g++", "python3", "llvm-objdump", "clang", "ncu", "nvcc"}) {
    const Tool* tool = find(diagnosis, name);
    ASSERT_NE(tool, nullptr);
    EXPECT_FALSE(tool->ok);
    EXPECT_TRUE(contains(tool->hint, "was stopped after")) << name << ": " << tool->hint;
  }
  EXPECT_TRUE(find(diagnosis, "bwrap")->path.empty());
  EXPECT_EQ(find(diagnosis, "bwrap")->hint, "apt-get install bubblewrap");
}

TEST(Versions, AreFoundInWhatProgramsPrint) {
  EXPECT_EQ(version_in("git version 2.39.5"), "2.39.5");
  EXPECT_EQ(version_in("g++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022"), "12.2.0");
  EXPECT_EQ(version_in("nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA\n"
                       "Built on Wed_Jul_16\nCuda compilation tools, release 13.0, V13.0.48\n"),
            "13.0");
  EXPECT_EQ(version_in("Version 2025.3.1.0 (build 36398880)"), "2025.3.1.0");
  EXPECT_EQ(version_in("no number 7 here."), "");
  EXPECT_EQ(version_in(""), "");
}

TEST(Permissions, CountersOfNvidia) {
  const std::string restricted = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n";
  EXPECT_TRUE(contains(nvidia_counter_problem(restricted, Administrator::no), "ERR_NVGPUCTRPERM"));
  EXPECT_EQ(nvidia_counter_problem(restricted, Administrator::yes), "");
  EXPECT_EQ(nvidia_counter_problem("RmProfilingAdminOnly: 0\n", Administrator::no), "");
  EXPECT_EQ(nvidia_counter_problem("", Administrator::no), "");
  EXPECT_EQ(administrator_in("Name:\tx\nCapEff:\t000001ffffffffff\n"), Administrator::yes);
  EXPECT_EQ(administrator_in("CapEff:\t00000000a80425fb\n"), Administrator::no);
  EXPECT_EQ(administrator_in(""), Administrator::no);
}

TEST(Permissions, AnAmdGpuThatIsNotShownHasAReason) {
  EXPECT_EQ(amd_problem(Node::absent, HipRuntime::absent, HipDevices::none), "");
  EXPECT_EQ(amd_problem(Node::open, HipRuntime::installed, HipDevices::some), "");
  EXPECT_TRUE(contains(amd_problem(Node::closed, HipRuntime::installed, HipDevices::none),
                       "usermod -aG render,video"));
  EXPECT_TRUE(contains(amd_problem(Node::open, HipRuntime::absent, HipDevices::none), "install"));
  EXPECT_TRUE(contains(amd_problem(Node::open, HipRuntime::installed, HipDevices::none),
                       "HIP_VISIBLE_DEVICES"));
  EXPECT_TRUE(contains(amd_problem(Node::absent, HipRuntime::installed, HipDevices::none),
                       "--device=/dev/kfd"));
}

}  // namespace
}  // namespace burnish::device
