#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/metric.h"

namespace burnish::device {

struct DeviceInfo {
  std::string id;  ///< "opencl:0", "cuda:0", "hip:1"; stable on one machine
  std::string name;
  std::string backend;  ///< opencl, cuda, hip, python
  std::string vendor;   ///< "cpu", "nvidia", "amd", "intel": picks rules and cards
  std::string arch;     ///< "x86-64 znver4", "sm_90", "gfx942"
  std::string platform, driver;
  std::uint64_t memory_bytes = 0, shared_bytes = 0, cache_bytes = 0;  ///< cache: last level
  int compute_units = 0;
  int largest_block = 0;
  double timer_resolution = 0;  ///< seconds
  /// What else the driver answers, by the names of hardware cards ("l2.bytes", "clock.max").
  std::map<std::string, double> queried;
};

/// The devices of this machine, asked for in worker processes, so that a driver that crashes or
/// hangs costs one backend and not the program. `problems` gets a sentence for each backend that
/// failed. `program` serves `worker`, as in DeviceOptions.
std::vector<DeviceInfo> list_devices(std::vector<std::string>& problems,
                                     const fs::path& program = {});

/// "auto", "opencl", "opencl:0", "opencl:pocl" (a part of the platform's or device's name) … `auto`
/// and a backend alone are a GPU before a CPU. "opencl:oclgrind" is the simulator that checks
/// memory accesses, where it is installed; it is never listed, and its findings are in
/// Session::messages(). "python" runs host code (device/python_device.h) and is never listed
/// either. Errors: environment, listing what there is.
Result<DeviceInfo> choose_device(const std::string& choice, const fs::path& program = {});

/// Device source and everything that changes what it compiles to.
struct Source {
  std::string language;  ///< opencl, cuda, hip
  std::string file;      ///< the name in diagnostics, "kernel.cl"
  std::string text;
  std::map<std::string, std::string> also;    ///< further files by relative name, for #include
  std::map<std::string, std::string> macros;  ///< tunables
  std::vector<std::string> options;
};

struct Diagnostic {
  Place place;           ///< file as in Source, not a temporary's name
  std::string severity;  ///< "error", "warning"
  std::string message;
};

struct BuildReport {
  std::string hash;  ///< of everything that went in: source, options, device, driver, compiler
  std::string log;
  std::vector<Diagnostic> diagnostics;
  bool from_cache = false;
  double seconds = 0;
};

/// A region of device memory, by name: a tensor of the workload, or scratch of the launch spec.
struct Buffer {
  enum class Role { in, out, inout, scratch };
  std::string name;
  std::uint64_t bytes = 0;
  Role role = Role::in;
};

struct Argument {
  struct Pointer {
    std::string buffer;
  };
  struct Scalar {
    DType dtype;
    double value;
  };
  struct Local {
    std::uint64_t bytes;  ///< of OpenCL local memory
  };
  /// A struct by value.
  struct Bytes {
    std::vector<std::byte> bytes;
  };
  /// A TMA descriptor (CUDA, sm_90 and newer): strides in bytes, innermost dimension first.
  struct TensorMap {
    std::string buffer;
    DType dtype;
    std::vector<std::int64_t> shape, strides, box, element_strides;
    std::string swizzle, interleave, l2_promotion, fill;
  };
  std::variant<Pointer, Scalar, Local, Bytes, TensorMap> value;
};

struct KernelLaunch {
  std::string kernel;
  std::array<std::int64_t, 3> grid{1, 1, 1};   ///< in blocks (work-groups)
  std::array<std::int64_t, 3> block{1, 1, 1};  ///< in threads (work-items)
  std::array<std::int64_t, 3> cluster{1, 1, 1};
  std::uint64_t shared_bytes = 0;  ///< dynamic
  std::vector<Argument> arguments;
};

/// The launches of one execution of the candidate at one workload, in order, and its scratch.
struct LaunchPlan {
  std::vector<KernelLaunch> launches;
  std::vector<Buffer> scratch;
};

enum class Caches { cold, warm };
enum class Addresses { same, fresh };

/// One timed or verified execution.
struct RunRequest {
  const LaunchPlan* plan = nullptr;
  /// Initial contents by tensor name, exactly Buffer::bytes long; every in and inout has one. All
  /// else is filled with `poison`: outputs that have none, scratch and guard bands.
  std::map<std::string, std::span<const std::byte>> contents;
  std::uint32_t poison = 0x7fc0dead;
  Caches caches = Caches::warm;
  Addresses addresses = Addresses::fresh;  ///< fresh: another offset than last time
  int repetitions = 1;  ///< launches of the whole plan between the two time stamps
  /// kept: scratch is as the run before left it, as one repetition finds that of another.
  enum class Scratch { poisoned, kept } scratch = Scratch::poisoned;
  enum class ReadBack { no, yes } read_back = ReadBack::no;
};

/// What a buffer holds after the run, with what lies before and after it. The byte at distance d
/// from the content's first byte (negative before it) was poisoned with byte d mod 4 of the
/// pattern, little-endian. Under what checks accesses itself there are no guard bands.
struct BufferState {
  std::vector<std::byte> before, content, after;
};

struct RunResult {
  double device_seconds = 0;  ///< first launch's start to last launch's end, over all repetitions
  std::vector<double> launch_seconds;  ///< of each launch in the plan, last repetition
  double host_seconds = 0;             ///< the judge's own clock round enqueue and wait: never less
  std::map<std::string, BufferState> buffers;  ///< with ReadBack::yes: all, inputs too
  std::string timer;  ///< "opencl event profiling", "cuda events less stamping", "hip graph of 50"
  std::uint64_t flushed_bytes = 0;  ///< written before the launch, with Caches::cold
  MetricSet clocks;  ///< clock.sm, clock.memory, temperature, throttled: where they can be read
};

/// A machine-code file that the driver made for one of the kernels.
struct CodeObject {
  std::string kernel;  ///< empty when it holds several
  std::string suffix;  ///< ".so", ".cubin"
  std::string bytes;
};

/// Limits of the process that runs a candidate.
struct Limits {
  std::chrono::milliseconds build{120'000};
  std::chrono::milliseconds run{10'000};  ///< one RunRequest
  /// Resident, the whole process tree; 0: a quarter of the machine's.
  std::uint64_t memory_bytes = 0;
};

/// A candidate that is built and loaded in a worker process of its own. When the worker crashes,
/// hangs or outgrows its limits it is killed with its descendants; the call gives an Error that
/// says so (timeout, or refused for what the candidate did), and every later call gives it again.
class Session {
 public:
  virtual ~Session() = default;
  virtual const BuildReport& build() const = 0;
  /// Allocates the workload's buffers, each with guard bands of at least 4 KiB before and after, on
  /// other pages of memory than before.
  virtual Result<void> prepare(const std::vector<Buffer>& buffers) = 0;
  virtual Result<RunResult> run(const RunRequest& request) = 0;
  /// The machine code of the kernels launched so far (PoCL compiles at the first launch).
  virtual Result<std::vector<CodeObject>> code() = 0;
  /// What the driver says of a kernel: registers.*, shared.static_bytes, … ; often nothing.
  virtual Result<MetricSet> resources(const std::string& kernel) = 0;
  /// What the kernels and the driver printed so far, its end when it is long.
  virtual std::string messages() const { return {}; }
  /// Ends the worker and its wrapper, which may tell what it found only then, and gives all that
  /// they printed. Later calls fail.
  virtual std::string finish() { return messages(); }
};

/// One device; the seam that tests replace. Opening a session starts a worker.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  /// Errors: refused with the build log's first error at its place when the source does not
  /// compile.
  virtual Result<std::unique_ptr<Session>> open(const Source& source, const Limits& limits) = 0;
  /// Runs a known-good kernel; an error means that the device is sick and must not be used.
  virtual Result<void> probe() = 0;
};

/// `cache_folder` keeps built binaries by content hash; empty: no cache. `program` is the burnish
/// binary that is started as `burnish worker` (empty: this one, /proc/self/exe).
/// `wrapper` is put before that command line: a profiler or a sanitizer that runs its target with
/// standard input and output as they are (`ncu --profile-from-start off --log-file F …`: the
/// launches of each run are a profiler range). Such a worker is confined by its process group only,
/// since the tool writes files; the session's end waits for it.
struct DeviceOptions {
  fs::path cache_folder;
  fs::path program;
  std::vector<std::string> wrapper = {};
  /// none: each buffer is an allocation of its own size that stays where it is, for a wrapper that
  /// checks accesses itself: it knows allocations, and a guard band is part of one.
  enum class Guards { bands, none } guards = Guards::bands;
};
Result<std::unique_ptr<Device>> open_device(const DeviceInfo& info, const DeviceOptions& options);

/// The body of `burnish worker`: serves one session over standard input and output. Returns the
/// exit code.
int worker_main();

/// How well candidates are confined on this machine, in words for reports and records:
/// "bubblewrap", "namespaces", or "process group only" with the reason.
std::string isolation();

}  // namespace burnish::device
