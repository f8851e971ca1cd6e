#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace burnish::device {

/// What compiling came to, before the judge's process makes a BuildReport or an Error of it.
struct BuildOutcome {
  bool built = false;
  bool reused = false;  ///< the binary that was handed in was used
  std::string log;
  std::vector<Diagnostic> diagnostics;
  double seconds = 0;
};

/// Where the content of a buffer lies within its allocation in this run.
struct Placement {
  std::string buffer;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct Times {
  double device_seconds = 0;
  std::vector<double> launch_seconds;
  bool compiled =
      false;  ///< the driver compiled on the way, so the times are not the kernels' alone
  std::string timer;
};

/// How far a run has come, so that the judge can hold each part to its own deadline.
enum class Progress { compiling, running };

/// One backend's half of the worker: builds, allocates, launches, times, reads. Everything here
/// runs in the process that the candidate can reach, so nothing here decides anything.
class Executor {
 public:
  virtual ~Executor() = default;

  /// `binary` is what binary() gave for the same source, or empty.
  virtual Result<BuildOutcome> build(const Source& source, const std::string& binary) = 0;
  /// What makes the next build of the same source cheap; empty when the backend has no such thing.
  virtual Result<std::string> binary() = 0;

  virtual Result<void> allocate(const std::string& buffer, std::uint64_t bytes) = 0;
  virtual Result<void> release(const std::string& buffer) = 0;
  /// Fills the whole allocation with the bytes of `pattern`.
  virtual Result<void> fill(const std::string& buffer, std::uint32_t pattern) = 0;
  virtual Result<void> write(const std::string& buffer, std::uint64_t offset,
                             std::span<const std::byte> bytes) = 0;
  virtual Result<void> read(const std::string& buffer, std::uint64_t offset,
                            std::span<std::byte> bytes) = 0;

  /// Binds arguments, so that launch() has nothing left to do but launch.
  virtual Result<void> stage(const LaunchPlan& plan, const std::vector<Placement>& placements,
                             int repetitions) = 0;
  /// Puts `bytes` of other data into every cache.
  virtual Result<void> flush_caches(std::uint64_t bytes) = 0;
  virtual Result<Times> launch(const std::function<void(Progress, int launch)>& progress) = 0;

  /// Clocks, temperature and throttling now; empty where nothing tells.
  virtual MetricSet clocks() { return {}; }

  virtual Result<std::vector<CodeObject>> code() = 0;
  virtual Result<MetricSet> resources(const std::string& kernel) = 0;
};

/// One backend. `list` may load drivers, so it runs in a worker.
struct Backend {
  std::string_view name;
  std::string_view language;
  /// Errors say why there are no devices; a machine without the driver simply has none.
  Result<std::vector<DeviceInfo>> (*list)();
  /// `index` counts as in list(); `folder` is the session's own, writable and empty.
  Result<std::unique_ptr<Executor>> (*open)(const DeviceInfo& info, const fs::path& folder);
  /// Names the compiler where it is a program and no part of the driver; may be null.
  std::string (*compiler)();
};
std::span<const Backend> backends();
const Backend* find_backend(std::string_view name);

}  // namespace burnish::device
