#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/executor.h"
#include "device/gpu_api.h"

namespace burnish::device {

/// A source that was compiled to the code object of a GPU.
struct GpuBuild {
  BuildOutcome outcome;
  std::string code;
};

/// The argument's bytes as a kernel takes them; `address` finds a buffer. Errors: refused for
/// OpenCL local memory and for a TMA descriptor, which only CUDA has.
Result<std::vector<std::byte>> argument_bytes(const Argument& argument, std::size_t index,
                                              const std::string& kernel,
                                              const std::map<std::string, gpu::Pointer>& placed);

/// What executors on CUDA and on HIP share: modules, memory, streams, events and graphs. How a
/// kernel gets its arguments and how launches are timed is each one's own.
class GpuExecutor : public Executor {
 public:
  Result<BuildOutcome> build(const Source& source, const std::string& binary) override;
  Result<std::string> binary() override { return code_; }
  Result<void> allocate(const std::string& buffer, std::uint64_t bytes) override;
  Result<void> release(const std::string& buffer) override;
  Result<void> fill(const std::string& buffer, std::uint32_t pattern) override;
  Result<void> write(const std::string& buffer, std::uint64_t offset,
                     std::span<const std::byte> bytes) override;
  Result<void> read(const std::string& buffer, std::uint64_t offset,
                    std::span<std::byte> bytes) override;
  Result<void> stage(const LaunchPlan& plan, const std::vector<Placement>& placements,
                     int repetitions) override;
  Result<void> flush_caches(std::uint64_t bytes) override;
  Result<MetricSet> resources(const std::string& kernel) override;

 protected:
  GpuExecutor(const GpuApi& api, gpu::Device device, DeviceInfo info)
      : gpu_(api), device_(device), info_(std::move(info)) {}

  virtual std::string error_text(gpu::Status status) const = 0;
  /// Whether the device is lost to this process with this error.
  virtual bool loses_device(gpu::Status status) const = 0;
  virtual Result<GpuBuild> compile(const Source& source) = 0;
  /// The symbol in code_ that a kernel's name means.
  virtual Result<std::string> symbol_of(const std::string& kernel) = 0;
  /// Called once code_ is loaded.
  virtual Result<void> loaded() { return {}; }
  /// Makes launch number `index` of plan_ ready. launches_ has been checked against the device.
  virtual Result<void> bind(std::size_t index) = 0;
  /// Drops what bind() made.
  virtual void unbind() = 0;
  /// Captures the repetitions with begin_capture() and end_capture(). Only for more than one.
  virtual Result<void> capture() = 0;

  /// The error of a status, if it is one. After an error that loses the device every call gives it.
  Result<void> check(std::string_view doing, gpu::Status status);
  Result<gpu::Function> find_function(const std::string& kernel);
  Result<void> begin_capture();
  Result<void> end_capture(const Result<void>& captured);
  void drop_graph();
  Result<gpu::Event> event(std::size_t index);
  Result<double> seconds_between(std::size_t first, std::size_t second);
  /// For messages: "cannot launch kernel …" of one launch, and "running …" of all.
  std::string launching(std::size_t index) const;
  std::string running() const;

  const GpuApi& gpu_;
  gpu::Device device_;
  DeviceInfo info_;
  gpu::Stream stream_ = nullptr;
  gpu::Module module_ = nullptr;
  std::string code_;
  LaunchPlan plan_;
  int repetitions_ = 1;
  std::map<std::string, gpu::Pointer> placed_;
  std::vector<gpu::Function> launched_;  ///< of each launch in plan_
  std::vector<gpu::Event> events_;
  gpu::GraphExec graph_exec_ = nullptr;

 private:
  struct Allocation {
    gpu::Pointer pointer = 0;
    std::uint64_t bytes = 0;
  };
  Result<Allocation> find(const std::string& buffer) const;
  Result<void> check_launch(const KernelLaunch& launch, gpu::Function function);

  std::map<std::string, gpu::Function> functions_;
  std::map<std::string, Allocation> allocations_;
  Allocation flushed_;
  gpu::Graph graph_ = nullptr;
  std::optional<Error> lost_;
};

/// "4×1×1".
std::string extent_text(const std::array<std::int64_t, 3>& value);

/// What a driver answers, times `unit`, for those of `names` that it knows.
struct QueriedAttribute {
  const char* name;  ///< as in hardware cards
  int attribute;
  double unit;
};
void query(const GpuApi& api, gpu::Device device, std::span<const QueriedAttribute> wanted,
           DeviceInfo& info);
int attribute(const GpuApi& api, gpu::Device device, int what);
std::string device_name(const GpuApi& api, gpu::Device device);

/// The devices of a started driver, each as `describe` tells it.
std::vector<DeviceInfo> describe_all(const GpuApi& api,
                                     DeviceInfo (*describe)(gpu::Device device, int ordinal));
/// The device that `info` is of. Errors: environment when it is gone, or another one now.
Result<gpu::Device> same_device(const GpuApi& api, const DeviceInfo& info);

}  // namespace burnish::device
