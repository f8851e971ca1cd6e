#include "device/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "base/statistics.h"
#include "base/text.h"
#include "device/ceiling_kernels.h"

namespace burnish::device {
namespace {

using hardware::Ceiling;
using std::chrono::steady_clock;

constexpr char kColdSuffix[] = " cold";

/// All of it takes less than this, whatever the machine is busy with besides.
constexpr std::chrono::milliseconds kBudget{4000};
/// A launch long enough for the timer and short enough to fit between two interruptions.
constexpr double kCpuLaunchSeconds = 0.7e-3;
constexpr double kGpuLaunchSeconds = 2e-3;
constexpr int kMathLaunches = 32;
constexpr int kColdRuns = 8;
constexpr double kBatchSeconds = 200e-6;
constexpr int kBatch = 50;  ///< repetitions
constexpr int kBatches = 3;
/// What a size's warm copies may move in all.
constexpr std::uint64_t kCopiedBytes = 4ull << 30;
constexpr std::uint64_t kLargestCopy = 256u << 20;

Argument pointer(const char* buffer) { return {Argument::Pointer{buffer}}; }
Argument integer(DType dtype, double value) { return {Argument::Scalar{dtype, value}}; }

struct Samples {
  double best = 0;
  std::string spread;
};

Samples samples_of(const std::vector<double>& seconds) {
  Samples samples;
  samples.best = *std::min_element(seconds.begin(), seconds.end());
  samples.spread = fmt::format("best of {} launches, the median took {:.0f} % longer",
                               seconds.size(), 100 * (median(seconds) / samples.best - 1));
  return samples;
}

class Measurement {
 public:
  Measurement(const DeviceInfo& info, CeilingKernels kernels, std::unique_ptr<Session> session)
      : info_(info),
        kernels_(std::move(kernels)),
        session_(std::move(session)),
        end_(steady_clock::now() + kBudget) {
    std::erase_if(kernels_.copies, [&](const std::string& name) { return !has(name); });
    std::erase_if(kernels_.math, [&](const MathKernel& math) { return !has(math.kernel); });
  }

  Result<std::vector<Ceiling>> measure(const std::vector<std::uint64_t>& copy_bytes) {
    for (const MathKernel& math : kernels_.math) BURNISH_TRY(measure_math(math));
    std::set<std::uint64_t> sizes(copy_bytes.begin(), copy_bytes.end());
    if (info_.cache_bytes > 0) {
      sizes.insert(info_.cache_bytes / 8);  // both buffers together fill a quarter of it
      sizes.insert(std::min(4 * info_.cache_bytes, kLargestCopy));
    } else {
      sizes.insert(kLargestCopy);
    }
    for (const std::uint64_t size : sizes) {
      if (size > 0) BURNISH_TRY(measure_copy(size));
    }
    return std::move(ceilings_);
  }

 private:
  bool has(const std::string& kernel) { return session_->resources(kernel).has_value(); }
  bool is_cpu() const { return info_.vendor == "cpu"; }
  std::int64_t blocks() const {
    return std::max(1, info_.compute_units) * kernels_.blocks_per_unit;
  }
  bool has_time() const { return steady_clock::now() < end_; }

  /// Of two ways to the same ceiling the better one counts.
  void add(std::string name, const char* unit, double value, std::string source) {
    for (Ceiling& known : ceilings_) {
      if (known.name != name) continue;
      if (value > known.value)
        known = {std::move(name), unit, value, "measured", std::move(source)};
      return;
    }
    ceilings_.push_back({std::move(name), unit, value, "measured", std::move(source)});
  }

  Result<std::vector<double>> launch_times(const LaunchPlan& plan, Caches caches,
                                           int repetitions = 1) {
    RunRequest request;
    request.plan = &plan;
    request.caches = caches;
    request.addresses = Addresses::same;
    request.repetitions = repetitions;
    BURNISH_TRY_ASSIGN(RunResult result, session_->run(request));
    std::erase_if(result.launch_seconds,
                  [&](double seconds) { return !(seconds > info_.timer_resolution); });
    if (result.launch_seconds.empty()) {
      return environment_error("a measuring kernel takes no longer than the timer resolves");
    }
    return std::move(result.launch_seconds);
  }

  LaunchPlan math_plan(const MathKernel& math, std::int64_t rounds, int launches) const {
    KernelLaunch launch;
    launch.kernel = math.kernel;
    launch.grid = {blocks(), 1, 1};
    launch.block = {kernels_.block, 1, 1};
    launch.arguments = {pointer("out"), integer(DType::i32, static_cast<double>(rounds))};
    LaunchPlan plan;
    plan.launches.assign(static_cast<std::size_t>(launches), launch);
    return plan;
  }

  Result<void> measure_math(const MathKernel& math) {
    const auto threads = static_cast<std::uint64_t>(blocks() * kernels_.block);
    BURNISH_TRY(session_->prepare({{"out", threads * math.bytes, Buffer::Role::out}}));
    std::int64_t rounds = 2000;
    BURNISH_TRY_ASSIGN(const auto first, launch_times(math_plan(math, rounds, 4), Caches::warm));
    const double wanted = is_cpu() ? kCpuLaunchSeconds : kGpuLaunchSeconds;
    rounds = static_cast<std::int64_t>(
        std::clamp(static_cast<double>(rounds) * wanted / samples_of(first).best, 100.0, 5e7));
    BURNISH_TRY_ASSIGN(const auto seconds,
                       launch_times(math_plan(math, rounds, kMathLaunches), Caches::warm));
    const Samples samples = samples_of(seconds);
    const double operations =
        math.operations * static_cast<double>(rounds) * static_cast<double>(threads);
    add(math.ceiling, "FLOP/s", operations / samples.best,
        fmt::format("burnish's kernel {} ({}), {}", math.kernel, math.instruction, samples.spread));
    return {};
  }

  /// Launches of every copying kernel, with few and with many blocks, `rounds` times.
  LaunchPlan copy_plan(std::uint64_t elements, int rounds) const {
    LaunchPlan plan;
    for (int round = 0; round < rounds; ++round) {
      for (const std::string& kernel : kernels_.copies) {
        for (const std::int64_t times : {1, 8}) {
          KernelLaunch launch;
          launch.kernel = kernel;
          launch.grid = {blocks() * times, 1, 1};
          launch.block = {kernels_.block, 1, 1};
          launch.arguments = {pointer("in"), pointer("out"),
                              integer(DType::i64, static_cast<double>(elements))};
          plan.launches.push_back(std::move(launch));
        }
      }
    }
    return plan;
  }

  Result<void> measure_copy(std::uint64_t size) {
    const std::uint64_t elements = std::max<std::uint64_t>(1, size / kernels_.copy_bytes);
    const std::uint64_t bytes = elements * kernels_.copy_bytes;
    // Both are "outputs", so that nothing but poison need be brought there.
    const Result<void> prepared =
        session_->prepare({{"in", bytes, Buffer::Role::out}, {"out", bytes, Buffer::Role::out}});
    if (!prepared && prepared.error().kind == ErrorKind::environment) return {};
    BURNISH_TRY(prepared);
    const auto per_round = 2 * bytes * kernels_.copies.size() * 2;
    const auto rounds =
        static_cast<int>(std::clamp<std::uint64_t>(kCopiedBytes / per_round, 1, 12));
    BURNISH_TRY_ASSIGN(auto warm, launch_times(copy_plan(elements, rounds), Caches::warm));
    // Short kernels of candidates are timed in batches, which do not show the time of a launch.
    if (!is_cpu() && samples_of(warm).best < kBatchSeconds) {
      warm.clear();
      for (const KernelLaunch& launch : copy_plan(elements, 1).launches) {
        LaunchPlan one;
        one.launches = {launch};
        for (int batch = 0; batch < kBatches; ++batch) {
          BURNISH_TRY_ASSIGN(const auto seconds, launch_times(one, Caches::warm, kBatch));
          warm.push_back(seconds.front());
        }
      }
    }
    const std::string name = "copy " + with_binary_prefix(size);
    const auto report = [&](const std::string& suffix, const std::vector<double>& seconds) {
      const Samples samples = samples_of(seconds);
      add(name + suffix, "B/s", 2 * static_cast<double>(bytes) / samples.best,
          fmt::format("burnish's copy kernels over buffers of {} bytes, {}", bytes,
                      samples.spread));
    };
    report("", warm);

    std::vector<double> cold;
    const LaunchPlan all = copy_plan(elements, 1);
    for (int run = 0; run < kColdRuns && (run == 0 || has_time()); ++run) {
      LaunchPlan one;
      one.launches = {all.launches[static_cast<std::size_t>(run) % all.launches.size()]};
      BURNISH_TRY_ASSIGN(const auto seconds, launch_times(one, Caches::cold));
      cold.push_back(seconds.front());
    }
    report(kColdSuffix, cold);
    return {};
  }

  const DeviceInfo& info_;
  CeilingKernels kernels_;
  std::unique_ptr<Session> session_;
  steady_clock::time_point end_;
  std::vector<Ceiling> ceilings_;
};

/// Of "copy 8 MiB" or "copy 8 MiB cold".
std::optional<double> copied_bytes(std::string_view name, Caches caches) {
  constexpr std::string_view kCopy = "copy ";
  if (!name.starts_with(kCopy)) return std::nullopt;
  name.remove_prefix(kCopy.size());
  if (name.ends_with(kColdSuffix) != (caches == Caches::cold)) return std::nullopt;
  if (caches == Caches::cold) name.remove_suffix(std::size(kColdSuffix) - 1);
  const std::vector<std::string_view> parts = split(name, ' ');
  if (parts.size() != 2) return std::nullopt;
  std::optional<double> bytes = parse_number(parts[0]);
  if (!bytes) return std::nullopt;
  for (const std::string_view unit : {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}) {
    if (parts[1] == unit) return bytes;
    *bytes *= 1024;
  }
  return std::nullopt;
}

std::string names_of(const std::vector<Ceiling>& ceilings) {
  std::vector<std::string> names;
  for (const Ceiling& ceiling : ceilings) names.push_back(ceiling.name);
  return names.empty() ? "none was measured" : "there are: " + join(names, ", ");
}

}  // namespace

Result<std::vector<Ceiling>> measure_ceilings(Device& device,
                                              const std::vector<std::uint64_t>& copy_bytes) {
  CeilingKernels kernels = ceiling_kernels(device.info());
  Result<std::unique_ptr<Session>> session = device.open(kernels.source, {});
  if (!session)
    return std::move(session.error()).in("measuring the ceilings of " + device.info().id);
  return in_context(
      Measurement(device.info(), std::move(kernels), std::move(*session)).measure(copy_bytes),
      "measuring the ceilings of " + device.info().id);
}

Result<Ceiling> compute_ceiling(const std::vector<Ceiling>& ceilings,
                                const std::string& math_path) {
  constexpr std::string_view kTensor = "-tensor";
  std::vector<std::string> names;
  if (math_path.ends_with(kTensor)) {
    names = {"tensor " + math_path.substr(0, math_path.size() - kTensor.size())};
  } else {
    names = {"fma " + math_path};
    if (math_path == "f16" || math_path == "bf16") names.emplace_back("fma f32");
  }
  for (const std::string& name : names) {
    for (const Ceiling& ceiling : ceilings) {
      if (ceiling.name == name) return ceiling;
    }
  }
  return environment_error(
             fmt::format("no ceiling for the math path {}: {}", math_path, names_of(ceilings)))
      .with_hint("choose a math path that this device has (task: work.math)");
}

Result<Ceiling> copy_ceiling(const std::vector<Ceiling>& ceilings, double bytes, Caches caches) {
  const Ceiling* nearest = nullptr;
  double distance = 0;
  for (const Ceiling& ceiling : ceilings) {
    const std::optional<double> size = copied_bytes(ceiling.name, caches);
    if (!size || *size <= 0) continue;
    const double away = std::fabs(std::log(std::max(bytes, 1.0) / *size));
    if (nearest == nullptr || away < distance) {
      nearest = &ceiling;
      distance = away;
    }
  }
  if (nearest == nullptr && caches == Caches::cold) return copy_ceiling(ceilings, bytes);
  if (nearest == nullptr) {
    return environment_error("no copy bandwidth was measured: " + names_of(ceilings));
  }
  return *nearest;
}

}  // namespace burnish::device
