#include "device/hip_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "base/text.h"
#include "device/gpu_executor.h"
#include "device/hip_api.h"
#include "device/hip_clocks.h"
#include "device/hip_compile.h"
#include "hardware/spec.h"
#include "isa/amd_object.h"

namespace burnish::device {
namespace {

/// The memory-side cache, which HIP does not tell, of devices without a card: the largest of the
/// family (hardware cards, llc.bytes).
constexpr std::uint64_t kInstinctCache = 256u << 20;
constexpr std::uint64_t kRadeonCache = 128u << 20;

std::uint64_t last_level_cache(const DeviceInfo& info, std::uint64_t l2) {
  if (const Result<hardware::Spec> spec = hardware::find_spec(info.name)) {
    for (const hardware::SpecValue& value : spec->values) {
      if (value.name == "llc.bytes" && value.value > 0) {
        return static_cast<std::uint64_t>(value.value);
      }
    }
    return l2;
  }
  if (has_several_l2(info.arch)) return kInstinctCache;
  return info.arch.starts_with("gfx1") ? std::max(l2, kRadeonCache) : l2;
}

DeviceInfo describe(gpu::Device device, int ordinal) {
  const HipApi& api = **hip_api();
  DeviceInfo info;
  info.id = fmt::format("hip:{}", ordinal);
  info.name = device_name(api, device);
  info.backend = "hip";
  info.vendor = "amd";
  info.platform = "HIP";
  info.arch = hip_arch(api, ordinal);
  int version = 0;
  api.driver_version(&version);
  info.driver =
      fmt::format("HIP {}.{}.{}", version / 10'000'000, version / 100'000 % 100, version % 100'000);
  std::size_t memory = 0;
  api.device_total_memory(&memory, device);
  info.memory_bytes = memory;
  info.shared_bytes =
      static_cast<std::uint64_t>(attribute(api, device, hip::max_shared_memory_per_block));
  const auto l2 = static_cast<std::uint64_t>(attribute(api, device, hip::l2_cache_size));
  info.cache_bytes = last_level_cache(info, l2);
  info.compute_units = attribute(api, device, hip::multiprocessor_count);
  info.largest_block = attribute(api, device, hip::max_threads_per_block);
  info.timer_resolution = 1e-6;  // HIP API reference, hipEventElapsedTime
  constexpr QueriedAttribute kQueried[] = {
      {"sm.count", hip::multiprocessor_count, 1},
      {"clock.max", hip::clock_rate, 1e3},
      {"dram.clock", hip::memory_clock_rate, 1e3},
      {"dram.bus_width", hip::memory_bus_width, 1},
      {"shared.bytes_per_sm", hip::max_shared_memory_per_multiprocessor, 1},
      {"shared.bytes_per_block", hip::max_shared_memory_per_block, 1},
      {"wave.size", hip::warp_size, 1},
  };
  query(api, device, kQueried, info);
  // From RDNA on HIP counts pairs of compute units, unless a program asks for single ones.
  const int physical = attribute(api, device, hip::physical_multiprocessor_count);
  if (physical > 0 && info.arch.starts_with("gfx1")) info.queried["sm.count"] = physical;
  if (l2 > 0 && !has_several_l2(info.arch)) info.queried["l2.bytes"] = static_cast<double>(l2);
  const int threads = attribute(api, device, hip::max_threads_per_multiprocessor);
  constexpr int kSimds = 4, kLanes = 64;  // of a compute unit of GCN and CDNA
  if (threads > 0 && info.arch.starts_with("gfx9")) {
    info.queried["waves.per_simd"] = threads / (kSimds * kLanes);
  }
  info.queried["dram.bytes_visible"] = static_cast<double>(memory);
  return info;
}

/// One launch with its packed arguments, in memory that does not move.
struct Prepared {
  std::vector<std::byte> arguments;
  std::size_t size = 0;
  std::array<void*, 5> extra{};

  void** packed() { return size == 0 ? nullptr : extra.data(); }
};

class HipExecutor : public GpuExecutor {
 public:
  HipExecutor(const HipApi* api, gpu::Device device, DeviceInfo info, fs::path folder)
      : GpuExecutor(*api, device, std::move(info)), api_(*api), folder_(std::move(folder)) {}

  Result<void> open();
  Result<Times> launch(const std::function<void(Progress, int launch)>& progress) override;
  MetricSet clocks() override { return amd_clocks(pci_bus_id_); }
  Result<std::vector<CodeObject>> code() override {
    return std::vector<CodeObject>{{"", ".co", code_}};
  }

 private:
  // Time stamps: the first two round a graph, then one before and one after each launch.
  static constexpr std::size_t kBefore = 0, kAfter = 1;
  static std::size_t start_of(std::size_t launch) { return 2 + 2 * launch; }
  static std::size_t stop_of(std::size_t launch) { return 3 + 2 * launch; }

  std::string error_text(gpu::Status status) const override { return hip_error_text(api_, status); }
  bool loses_device(gpu::Status status) const override { return is_hip_sticky(status); }
  Result<GpuBuild> compile(const Source& source) override {
    return compile_hip(source, info_.arch, folder_);
  }
  Result<void> loaded() override;
  Result<std::string> symbol_of(const std::string& kernel) override;
  Result<void> bind(std::size_t index) override;
  void unbind() override { prepared_.clear(); }
  Result<void> capture() override;
  Result<void> enqueue(std::size_t launch);
  Result<void> enqueue_timed(std::size_t launch);
  /// A graph has no time stamps inside (they came late to HIP), so of several launches the last
  /// repetition follows the graph launch by launch.
  int captured_repetitions() const {
    return prepared_.size() > 1 ? repetitions_ - 1 : repetitions_;
  }

  const HipApi& api_;
  fs::path folder_;
  std::string pci_bus_id_;
  isa::amd::Metadata metadata_;
  std::deque<Prepared> prepared_;
};

Result<void> HipExecutor::open() {
  if (info_.arch.empty()) {
    return environment_error(fmt::format("HIP does not tell the architecture of {}", info_.name));
  }
  const auto ordinal = parse_integer(std::string_view(info_.id).substr(info_.id.find(':') + 1));
  BURNISH_TRY(
      check("cannot use " + info_.name, api_.set_device(static_cast<int>(ordinal.value_or(0)))));
  BURNISH_TRY(check("cannot make a stream", api_.stream_create(&stream_, gpu::kStreamNonBlocking)));
  char id[32] = "";
  if (api_.device_pci_bus_id(id, sizeof id, device_) == gpu::kSuccess) pci_bus_id_ = id;
  return {};
}

Result<void> HipExecutor::loaded() {
  BURNISH_TRY_ASSIGN(isa::amd::CodeObject object, isa::amd::read_code_object(code_, "output.co"));
  metadata_ = std::move(object.metadata);
  return {};
}

Result<std::string> HipExecutor::symbol_of(const std::string& kernel) {
  std::vector<std::string> symbols;
  for (const isa::amd::KernelMetadata& known : metadata_.kernels) symbols.push_back(known.name);
  return kernel_symbol(symbols, kernel);
}

/// Arguments are packed by the code object's own description: the runtime believes what it is
/// given.
Result<void> HipExecutor::bind(std::size_t index) {
  const KernelLaunch& launch = plan_.launches[index];
  if (launch.cluster != std::array<std::int64_t, 3>{1, 1, 1}) {
    return refused(fmt::format("kernel \"{}\" is launched in clusters of {}, which {} has not",
                               launch.kernel, extent_text(launch.cluster), info_.name))
        .with_hint("take cluster out of the launch spec");
  }
  constexpr std::int64_t kMostThreads = UINT32_MAX;  // of a dispatch in each dimension
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] * launch.block[i] > kMostThreads) {
      return refused(
          fmt::format("kernel \"{}\": a grid of {} blocks of {} has more than 2^32-1 threads in a "
                      "dimension",
                      launch.kernel, extent_text(launch.grid), extent_text(launch.block)));
    }
  }
  BURNISH_TRY_ASSIGN(const std::string symbol, symbol_of(launch.kernel));
  const auto kernel =
      std::find_if(metadata_.kernels.begin(), metadata_.kernels.end(),
                   [&](const isa::amd::KernelMetadata& known) { return known.name == symbol; });
  std::vector<isa::KernelArgument> wanted = kernel->arguments;
  std::erase_if(wanted, [](const isa::KernelArgument& argument) {
    return argument.kind.starts_with("hidden_");
  });
  Prepared& prepared = prepared_.emplace_back();
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    BURNISH_TRY_ASSIGN(const std::vector<std::byte> bytes,
                       argument_bytes(launch.arguments[i], i, launch.kernel, placed_));
    if (i >= wanted.size()) continue;
    if (static_cast<std::size_t>(wanted[i].size) != bytes.size()) {
      return refused(fmt::format("argument {} of kernel \"{}\" has {} bytes, it was given {}",
                                 i + 1, launch.kernel, wanted[i].size, bytes.size()));
    }
    const auto offset = static_cast<std::size_t>(wanted[i].offset);
    prepared.arguments.resize(std::max(prepared.arguments.size(), offset + bytes.size()));
    std::copy(bytes.begin(), bytes.end(),
              prepared.arguments.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  if (launch.arguments.size() != wanted.size()) {
    return refused(fmt::format("kernel \"{}\" takes {} arguments, the launch gives {}",
                               launch.kernel, wanted.size(), launch.arguments.size()));
  }
  prepared.size = prepared.arguments.size();
  prepared.extra = {hip::kArgumentsPointer, prepared.arguments.data(), hip::kArgumentsSize,
                    &prepared.size, hip::kArgumentsEnd};
  return {};
}

Result<void> HipExecutor::enqueue(std::size_t index) {
  const auto at = [](const std::array<std::int64_t, 3>& extent, std::size_t i) {
    return static_cast<unsigned>(extent[i]);
  };
  const KernelLaunch& launch = plan_.launches[index];
  return check(launching(index),
               api_.launch_kernel(launched_[index], at(launch.grid, 0), at(launch.grid, 1),
                                  at(launch.grid, 2), at(launch.block, 0), at(launch.block, 1),
                                  at(launch.block, 2), static_cast<unsigned>(launch.shared_bytes),
                                  stream_, nullptr, prepared_[index].packed()));
}

Result<void> HipExecutor::enqueue_timed(std::size_t index) {
  const gpu::Event start = events_[start_of(index)], stop = events_[stop_of(index)];
  if (api_.launch_kernel_timed == nullptr) {
    BURNISH_TRY(check("cannot stamp the time", api_.event_record(start, stream_)));
    BURNISH_TRY(enqueue(index));
    return check("cannot stamp the time", api_.event_record(stop, stream_));
  }
  const KernelLaunch& launch = plan_.launches[index];
  const auto threads = [&](std::size_t i) {
    return static_cast<std::uint32_t>(launch.grid[i] * launch.block[i]);
  };
  const auto block = [&](std::size_t i) { return static_cast<std::uint32_t>(launch.block[i]); };
  return check(launching(index),
               api_.launch_kernel_timed(launched_[index], threads(0), threads(1), threads(2),
                                        block(0), block(1), block(2), launch.shared_bytes, stream_,
                                        nullptr, prepared_[index].packed(), start, stop, 0));
}

Result<void> HipExecutor::capture() {
  BURNISH_TRY(begin_capture());
  Result<void> captured;
  for (int repetition = 0; repetition < captured_repetitions() && captured; ++repetition) {
    for (std::size_t i = 0; i < prepared_.size() && captured; ++i) captured = enqueue(i);
  }
  return end_capture(captured);
}

Result<Times> HipExecutor::launch(const std::function<void(Progress, int launch)>& /*progress*/) {
  const std::size_t count = prepared_.size();
  const bool has_graph = graph_exec_ != nullptr;
  const bool is_graph_alone = has_graph && count == 1;
  BURNISH_TRY(event(stop_of(count)));
  Times times;
  times.timer = api_.launch_kernel_timed == nullptr ? "hip events" : "hip kernel time stamps";
  if (has_graph) {
    times.timer =
        fmt::format("hip graph of {}{}", captured_repetitions(), is_graph_alone ? "" : " + 1");
    BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[kBefore], stream_)));
    BURNISH_TRY(check("cannot launch the graph", api_.graph_launch(graph_exec_, stream_)));
  }
  if (is_graph_alone) {
    BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[kAfter], stream_)));
  } else {
    for (std::size_t i = 0; i < count; ++i) BURNISH_TRY(enqueue_timed(i));
  }
  BURNISH_TRY(check(running(), api_.stream_synchronize(stream_)));

  const std::size_t begin = has_graph ? kBefore : start_of(0);
  const std::size_t end = is_graph_alone ? kAfter : stop_of(count - 1);
  BURNISH_TRY_ASSIGN(times.device_seconds, seconds_between(begin, end));
  for (std::size_t i = 0; i < count; ++i) {
    if (is_graph_alone) {
      times.launch_seconds.push_back(times.device_seconds / repetitions_);
      continue;
    }
    BURNISH_TRY_ASSIGN(const double seconds, seconds_between(start_of(i), stop_of(i)));
    times.launch_seconds.push_back(seconds);
  }
  return times;
}

}  // namespace

bool has_several_l2(std::string_view arch) {
  return arch.starts_with("gfx94") || arch.starts_with("gfx95");
}

Result<std::vector<DeviceInfo>> list_hip_devices() {
  if (is_hip_absent()) return std::vector<DeviceInfo>{};
  BURNISH_TRY_ASSIGN(const HipApi* api, hip_api());
  if (const gpu::Status started = api->init(0); started != gpu::kSuccess) {
    // Without a GPU ROCm 5.2 starts with hipErrorInvalidDevice.
    int count = 0;
    if (api->device_count(&count) == gpu::kNoDevice) return std::vector<DeviceInfo>{};
    return environment_error("HIP does not start: " + hip_error_text(*api, started));
  }
  return describe_all(*api, describe);
}

Result<std::unique_ptr<Executor>> open_hip_executor(const DeviceInfo& info,
                                                    const fs::path& folder) {
  BURNISH_TRY_ASSIGN(const HipApi* api, hip_api());
  if (const gpu::Status started = api->init(0); started != gpu::kSuccess) {
    return environment_error("HIP does not start: " + hip_error_text(*api, started));
  }
  BURNISH_TRY_ASSIGN(const gpu::Device device, same_device(*api, info));
  auto executor = std::make_unique<HipExecutor>(api, device, info, folder);
  BURNISH_TRY(executor->open());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace burnish::device
