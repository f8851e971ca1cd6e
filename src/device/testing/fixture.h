#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/session.h"

namespace burnish::device::testing {

inline Argument pointer(std::string buffer) { return {Argument::Pointer{std::move(buffer)}}; }
inline Argument scalar(DType dtype, double value) { return {Argument::Scalar{dtype, value}}; }

inline Source opencl_source(std::string text) {
  Source source;
  source.language = "opencl";
  source.file = "kernel.cl";
  source.text = std::move(text);
  return source;
}

inline LaunchPlan one_launch(std::string kernel, std::int64_t grid, std::int64_t block,
                             std::vector<Argument> arguments) {
  KernelLaunch launch;
  launch.kernel = std::move(kernel);
  launch.grid = {grid, 1, 1};
  launch.block = {block, 1, 1};
  launch.arguments = std::move(arguments);
  LaunchPlan plan;
  plan.launches.push_back(std::move(launch));
  return plan;
}

inline std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// The bytes of `state` that differ from the poison, outside the content.
inline int broken_guard_bytes(const BufferState& state, std::uint32_t poison) {
  const auto expected = [&](std::int64_t distance) {
    return static_cast<std::byte>(poison >> (8 * ((distance % 4 + 4) % 4)) & 0xff);
  };
  int broken = 0;
  const auto before = static_cast<std::int64_t>(state.before.size());
  for (std::int64_t i = 0; i < before; ++i) {
    broken += state.before[static_cast<std::size_t>(i)] != expected(i - before) ? 1 : 0;
  }
  const auto size = static_cast<std::int64_t>(state.content.size());
  for (std::size_t i = 0; i < state.after.size(); ++i) {
    broken += state.after[i] != expected(size + static_cast<std::int64_t>(i)) ? 1 : 0;
  }
  return broken;
}

/// Tests on PoCL through a worker; skipped where there is no PoCL.
class PoclTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<DeviceInfo> info = choose_device("opencl:pocl", BURNISH_TEST_WORKER);
    if (!info) GTEST_SKIP() << "no PoCL here: " << info.error().to_string();
    info_ = *info;
    open_device_with({});
  }

  void open_device_with(const fs::path& cache) {
    Result<std::unique_ptr<Device>> device = open_device(info_, {cache, BURNISH_TEST_WORKER});
    ASSERT_TRUE(device.has_value()) << device.error().to_string();
    device_ = std::move(*device);
  }

  Result<std::unique_ptr<Session>> open(const Source& source, Limits limits = {}) {
    return device_->open(source, limits);
  }

  /// Opens `text`, gives it one buffer "out" of `bytes`, and launches `kernel` on it once.
  Result<RunResult> run_once(const std::string& text, const std::string& kernel,
                             std::uint64_t bytes, std::int64_t grid, std::int64_t block,
                             Limits limits = {}) {
    BURNISH_TRY_ASSIGN(session_, open(opencl_source(text), limits));
    BURNISH_TRY(session_->prepare({{"out", bytes, Buffer::Role::out}}));
    const LaunchPlan plan = one_launch(kernel, grid, block, {pointer("out")});
    RunRequest request;
    request.plan = &plan;
    request.read_back = RunRequest::ReadBack::yes;
    return session_->run(request);
  }

  DeviceInfo info_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Session> session_;
};

}  // namespace burnish::device::testing
