#pragma once

// For tests: a device whose kernels are functions on the host, with the times that the test gives.
// It shows what PoCL cannot (state on the device between launches, clocks that lie) and gives
// repeatable times.

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "device/device.h"
#include "measure/problem.h"

namespace burnish::measure {

class FakeClock : public Clock {
 public:
  std::chrono::nanoseconds steady() const override { return now_; }
  std::chrono::system_clock::time_point now() const override { return {}; }
  void sleep(std::chrono::milliseconds duration) override { now_ += duration; }
  void advance(double seconds) {
    now_ += std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  }

 private:
  std::chrono::nanoseconds now_{0};
};

class FixedRandom : public Random {
 public:
  explicit FixedRandom(std::uint64_t first) : generator_(first) {}
  std::uint64_t seed() override { return generator_.next(); }

 private:
  Generator generator_;
};

/// What a kernel of the fake device sees: its arguments, and past the ends of the buffers.
struct FakeCall {
  const device::KernelLaunch* launch = nullptr;
  std::map<std::string, std::vector<std::byte>>* memory = nullptr;
  static constexpr std::size_t kGuard = 4096;

  template <class T>
  T* pointer(std::size_t argument) const {
    const auto& value = launch->arguments.at(argument).value;
    const auto& name = std::get<device::Argument::Pointer>(value).buffer;
    return reinterpret_cast<T*>(memory->at(name).data() + kGuard);
  }
  std::int64_t integer(std::size_t argument) const {
    return static_cast<std::int64_t>(
        std::get<device::Argument::Scalar>(launch->arguments.at(argument).value).value);
  }
};
using FakeKernel = std::function<Result<void>(const FakeCall&)>;

/// Kernels by name; the program is named by its source text.
using FakeProgram = std::map<std::string, FakeKernel>;

class FakeDevice : public device::Device {
 public:
  FakeDevice() {
    info_.id = "fake:0";
    info_.name = "fake";
    info_.backend = "opencl";
    info_.vendor = "cpu";
    info_.timer_resolution = 1e-9;
  }

  std::map<std::string, FakeProgram> programs;
  /// Device time of one run, in seconds over all repetitions. Programs that the test does not know
  /// (the judge's empty kernel) take `floor` a repetition.
  std::function<double(const std::string& program, const device::RunRequest&)> time;
  double floor = 1e-6;
  /// Host time from device time.
  std::function<double(double)> host = [](double seconds) { return seconds + 5e-6; };
  std::function<std::string(const device::RunRequest&)> timer = [](const device::RunRequest&) {
    return "fake timer";
  };
  FakeClock clock;
  std::string printed;  ///< by every session
  MetricSet clocks;     ///< that each run finds
  double overhead = 0;  ///< seconds that each run takes beside its host time
  int opened = 0, ran = 0, probed = 0;
  Result<void> probe_answer;

  device::DeviceInfo& mutable_info() { return info_; }
  const device::DeviceInfo& info() const override { return info_; }
  Result<void> probe() override {
    ++probed;
    return probe_answer;
  }
  Result<std::unique_ptr<device::Session>> open(const device::Source& source,
                                                const device::Limits&) override;

 private:
  class FakeSession;
  device::DeviceInfo info_;
};

class FakeDevice::FakeSession : public device::Session {
 public:
  FakeSession(FakeDevice& device, std::string program)
      : device_(device), program_(std::move(program)) {}

  const device::BuildReport& build() const override { return build_; }

  Result<void> prepare(const std::vector<device::Buffer>& buffers) override {
    buffers_ = buffers;
    memory_.clear();
    for (const auto& buffer : buffers) {
      memory_[buffer.name].resize((buffer.bytes + 3) / 4 * 4 + 2 * FakeCall::kGuard);
    }
    return {};
  }

  Result<device::RunResult> run(const device::RunRequest& request) override {
    if (dead_) return *dead_;
    ++device_.ran;
    auto buffers = buffers_;
    for (const auto& scratch : request.plan->scratch) {
      buffers.push_back(scratch);
      memory_[scratch.name].resize((scratch.bytes + 3) / 4 * 4 + 2 * FakeCall::kGuard);
    }
    for (const auto& buffer : buffers) {
      if (buffer.role == device::Buffer::Role::scratch &&
          request.scratch == device::RunRequest::Scratch::kept) {
        continue;
      }
      auto& bytes = memory_.at(buffer.name);
      for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        std::memcpy(bytes.data() + i, &request.poison, 4);
      }
      if (auto found = request.contents.find(buffer.name); found != request.contents.end()) {
        std::memcpy(bytes.data() + FakeCall::kGuard, found->second.data(), found->second.size());
      }
    }
    const auto program = device_.programs.find(program_);
    if (program != device_.programs.end()) {
      for (int repetition = 0; repetition < request.repetitions; ++repetition) {
        for (const auto& launch : request.plan->launches) {
          const FakeCall call{&launch, &memory_};
          const auto kernel = program->second.find(launch.kernel);
          if (kernel == program->second.end()) return bad_input("no kernel " + launch.kernel);
          if (auto ran = kernel->second(call); !ran) {
            dead_ = ran.error();
            return *dead_;
          }
        }
      }
    }
    device::RunResult result;
    result.timer = device_.timer(request);
    result.device_seconds = program != device_.programs.end() && device_.time
                                ? device_.time(program_, request)
                                : device_.floor * request.repetitions;
    result.flushed_bytes = request.caches == device::Caches::cold ? 64u << 20 : 0;
    result.launch_seconds.assign(request.plan->launches.size(),
                                 result.device_seconds / request.repetitions);
    result.host_seconds = device_.host(result.device_seconds);
    result.clocks = device_.clocks;
    device_.clock.advance(result.host_seconds + device_.overhead);
    if (request.read_back == device::RunRequest::ReadBack::yes) {
      for (const auto& buffer : buffers) {
        const auto& bytes = memory_.at(buffer.name);
        const auto from = bytes.begin() + FakeCall::kGuard;
        const auto to = from + static_cast<std::ptrdiff_t>(buffer.bytes);
        result.buffers[buffer.name] = {{bytes.begin(), from}, {from, to}, {to, bytes.end()}};
      }
    }
    return result;
  }

  Result<std::vector<device::CodeObject>> code() override {
    return std::vector<device::CodeObject>{};
  }
  Result<MetricSet> resources(const std::string&) override { return MetricSet{}; }
  std::string messages() const override { return device_.printed; }

 private:
  FakeDevice& device_;
  std::string program_;
  std::vector<device::Buffer> buffers_;
  std::map<std::string, std::vector<std::byte>> memory_;
  device::BuildReport build_;
  std::optional<Error> dead_;
};

inline Result<std::unique_ptr<device::Session>> FakeDevice::open(const device::Source& source,
                                                                 const device::Limits&) {
  ++opened;
  if (source.text == "does not compile") {
    return refused("use of undeclared identifier 'x'").at({source.file, 3, 7});
  }
  return std::unique_ptr<device::Session>(std::make_unique<FakeSession>(*this, source.text));
}

/// A reference that is a function.
class FunctionReference : public Reference {
 public:
  using Function = std::function<Result<Values>(const Problem&, const Values&)>;
  explicit FunctionReference(Function function) : function_(std::move(function)) {}
  Result<Values> compute(const Problem& problem, const Values& inputs) override {
    ++calls;
    return function_(problem, inputs);
  }
  int calls = 0;

 private:
  Function function_;
};

}  // namespace burnish::measure
