#include "device/cuda_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <utility>

#include "base/statistics.h"
#include "device/cuda_api.h"
#include "device/cuda_clocks.h"
#include "device/cuda_compile.h"
#include "device/cuda_tensor_map.h"
#include "device/doctor_checks.h"
#include "device/gpu_executor.h"
#include "device/sandbox.h"

namespace burnish::device {
namespace {

/// burnish_wait keeps the device busy while the launches that are timed are queued, so that the
/// first time stamp is not taken long before the first kernel comes. It touches no memory. (PTX
/// ISA, special registers.) burnish_nothing is what a launch takes at least.
constexpr char kOwnPtx[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry burnish_nothing() {
  ret;
}
.visible .entry burnish_wait(.param .u64 nanoseconds) {
  .reg .u64 %now, %end, %length;
  .reg .pred %go_on;
  ld.param.u64 %length, [nanoseconds];
  mov.u64 %now, %globaltimer;
  add.u64 %end, %now, %length;
again:
  mov.u64 %now, %globaltimer;
  setp.lt.u64 %go_on, %now, %end;
  @%go_on bra again;
  ret;
}
)";
/// What queueing takes at most: a first launch, and each further one.
constexpr std::uint64_t kFirstLaunchNs = 40'000;
constexpr std::uint64_t kFurtherLaunchNs = 8'000;
constexpr std::uint64_t kLongestWaitNs = 5'000'000;
/// What measures stamping: an odd number of samples, and launches in what is compared.
constexpr int kStampingSamples = 25;
constexpr int kLaunches = 9;
constexpr int kShortGraph = 20, kLongGraph = 60;
/// Clusters beyond this are not portable (CUDA C++ Programming Guide, "Compute Capabilities").
constexpr std::int64_t kPortableCluster = 8;

DeviceInfo describe(gpu::Device device, int ordinal) {
  const CudaApi& api = **cuda_api();
  DeviceInfo info;
  info.id = fmt::format("cuda:{}", ordinal);
  info.name = device_name(api, device);
  info.backend = "cuda";
  info.vendor = "nvidia";
  info.platform = "CUDA";
  info.arch = fmt::format("sm_{}{}", attribute(api, device, cu::compute_capability_major),
                          attribute(api, device, cu::compute_capability_minor));
  int version = 0;
  api.driver_version(&version);
  const std::string kernel_module =
      version_in(real_file_system().read("/proc/driver/nvidia/version").value_or(""));
  info.driver = fmt::format("{}{}CUDA {}.{}", kernel_module, kernel_module.empty() ? "" : ", ",
                            version / 1000, version % 1000 / 10);
  std::size_t memory = 0;
  api.device_total_memory(&memory, device);
  info.memory_bytes = memory;
  info.shared_bytes =
      static_cast<std::uint64_t>(attribute(api, device, cu::max_shared_memory_per_block_optin));
  info.cache_bytes = static_cast<std::uint64_t>(attribute(api, device, cu::l2_cache_size));
  info.compute_units = attribute(api, device, cu::multiprocessor_count);
  info.largest_block = attribute(api, device, cu::max_threads_per_block);
  info.timer_resolution = 0.5e-6;  // CUDA Driver API, cuEventElapsedTime
  constexpr QueriedAttribute kQueried[] = {
      {"sm.count", cu::multiprocessor_count, 1},
      {"clock.max", cu::clock_rate, 1e3},
      {"dram.clock", cu::memory_clock_rate, 1e3},
      {"dram.bus_width", cu::global_memory_bus_width, 1},
      {"l2.bytes", cu::l2_cache_size, 1},
      {"l2.persisting_bytes", cu::max_persisting_l2_cache_size, 1},
      {"shared.bytes_per_sm", cu::max_shared_memory_per_multiprocessor, 1},
      {"shared.bytes_per_block", cu::max_shared_memory_per_block_optin, 1},
      {"registers.bytes_per_sm", cu::max_registers_per_multiprocessor, 4},
      {"warps.per_sm", cu::max_threads_per_multiprocessor, 1.0 / 32},
      {"blocks.per_sm", cu::max_blocks_per_multiprocessor, 1},
  };
  query(api, device, kQueried, info);
  info.queried["dram.bytes_visible"] = static_cast<double>(memory);
  return info;
}

/// One launch with everything that it needs in memory that does not move.
struct Prepared {
  cu::LaunchConfig config{};
  cu::LaunchAttribute cluster{};
  std::deque<cu::TensorMap> maps;
  std::deque<std::vector<std::byte>> values;
  std::vector<void*> parameters;
};

class CudaExecutor : public GpuExecutor {
 public:
  CudaExecutor(const CudaApi* api, gpu::Device device, DeviceInfo info, fs::path folder)
      : GpuExecutor(*api, device, std::move(info)), api_(*api), folder_(std::move(folder)) {}

  Result<void> open();
  Result<void> stage(const LaunchPlan& plan, const std::vector<Placement>& placements,
                     int repetitions) override;
  Result<Times> launch(const std::function<void(Progress, int launch)>& progress) override;
  MetricSet clocks() override { return nvidia_clocks(pci_bus_id_); }
  Result<std::vector<CodeObject>> code() override;

 private:
  std::string error_text(gpu::Status status) const override {
    return cuda_error_text(api_, status);
  }
  bool loses_device(gpu::Status status) const override { return is_sticky(status); }
  Result<GpuBuild> compile(const Source& source) override;
  Result<std::string> symbol_of(const std::string& kernel) override {
    return kernel_symbol(cubin_kernels(code_), kernel);
  }
  Result<void> bind(std::size_t index) override;
  void unbind() override { prepared_.clear(); }
  Result<void> capture() override;
  Result<void> bind_arguments(std::size_t index, Prepared& prepared);
  Result<void> enqueue(std::size_t launch);
  Result<void> hold(std::uint64_t nanoseconds);
  Result<void> measure_stamping();

  const CudaApi& api_;
  fs::path folder_;
  std::string pci_bus_id_;
  cu::Context context_ = nullptr;
  cu::Function wait_ = nullptr, nothing_ = nullptr;
  /// What two time stamps add to a launch between them, and to a graph: seconds.
  double launch_stamping_ = 0, graph_stamping_ = 0;
  std::deque<Prepared> prepared_;
  bool is_profiled_ = std::getenv(kProfiledVariable) != nullptr;
};

Result<void> CudaExecutor::open() {
  BURNISH_TRY(check("cannot open " + info_.name, api_.primary_context_retain(&context_, device_)));
  BURNISH_TRY(check("cannot use " + info_.name, api_.context_set_current(context_)));
  BURNISH_TRY(check("cannot make a stream", api_.stream_create(&stream_, gpu::kStreamNonBlocking)));
  char id[32] = "";
  if (api_.device_pci_bus_id(id, sizeof id, device_) == cu::kSuccess) pci_bus_id_ = id;
  gpu::Module module = nullptr;
  BURNISH_TRY(check("cannot load burnish's own kernels", api_.module_load_data(&module, kOwnPtx)));
  BURNISH_TRY(check("cannot find the kernel that waits",
                    api_.module_get_function(&wait_, module, "burnish_wait")));
  BURNISH_TRY(check("cannot find the kernel that does nothing",
                    api_.module_get_function(&nothing_, module, "burnish_nothing")));
  return is_profiled_ ? Result<void>() : measure_stamping();
}

Result<void> CudaExecutor::hold(std::uint64_t nanoseconds) {
  void* parameters[] = {&nanoseconds};
  return check("cannot launch the kernel that waits",
               api_.launch_kernel(wait_, 1, 1, 1, 1, 1, 1, 0, stream_, parameters, nullptr));
}

/// The two stamps round a launch are further apart than the kernel is long. An empty kernel's own
/// length is what one more of them adds, in a stream, where each waits for the end of the one
/// before, or to a graph; what is beyond that is the stamps'.
Result<void> CudaExecutor::measure_stamping() {
  BURNISH_TRY(event(1));
  const auto launch = [&](int launches) {
    Result<void> launched;
    for (int i = 0; i < launches && launched; ++i) {
      launched =
          check("cannot launch an empty kernel",
                api_.launch_kernel(nothing_, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr));
    }
    return launched;
  };
  const auto median_of = [&](const auto& work) -> Result<double> {
    std::vector<double> samples;
    for (int i = 0; i < kStampingSamples; ++i) {
      BURNISH_TRY(hold(kFirstLaunchNs + kLaunches * kFurtherLaunchNs));
      BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[0], stream_)));
      BURNISH_TRY(work());
      BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[1], stream_)));
      BURNISH_TRY(check("running an empty kernel", api_.stream_synchronize(stream_)));
      BURNISH_TRY_ASSIGN(const double seconds, seconds_between(0, 1));
      samples.push_back(seconds);
    }
    return median(samples);
  };
  const auto graph_of = [&](int launches) -> Result<double> {
    BURNISH_TRY(begin_capture());
    BURNISH_TRY(end_capture(launch(launches)));
    const auto seconds = median_of(
        [&] { return check("cannot launch a graph", api_.graph_launch(graph_exec_, stream_)); });
    drop_graph();
    return seconds;
  };
  /// What is left of `fewer` launches' time when each is as long as one more of them.
  const auto beyond = [](double fewer_seconds, int fewer, double more_seconds, int more) {
    const double one = (more_seconds - fewer_seconds) / (more - fewer);
    return std::max(0.0, fewer_seconds - fewer * one);
  };
  BURNISH_TRY_ASSIGN(const double one, median_of([&] { return launch(1); }));
  BURNISH_TRY_ASSIGN(const double several, median_of([&] { return launch(kLaunches); }));
  launch_stamping_ = beyond(one, 1, several, kLaunches);
  BURNISH_TRY_ASSIGN(const double shorter, graph_of(kShortGraph));
  BURNISH_TRY_ASSIGN(const double longer, graph_of(kLongGraph));
  graph_stamping_ = beyond(shorter, kShortGraph, longer, kLongGraph);
  return {};
}

Result<GpuBuild> CudaExecutor::compile(const Source& source) {
  const std::string target = cuda_target(attribute(api_, device_, cu::compute_capability_major),
                                         attribute(api_, device_, cu::compute_capability_minor));
  return compile_cuda(source, target, folder_);
}

Result<void> CudaExecutor::bind_arguments(std::size_t index, Prepared& prepared) {
  const KernelLaunch& launch = plan_.launches[index];
  const cu::Function function = launched_[index];
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const Argument& argument = launch.arguments[i];
    std::size_t given = 0;
    if (const auto* map = std::get_if<Argument::TensorMap>(&argument.value)) {
      const auto placed = placed_.find(map->buffer);
      if (placed == placed_.end()) return bug(fmt::format("no buffer \"{}\"", map->buffer));
      BURNISH_TRY_ASSIGN(const cu::TensorMap encoded,
                         encode_tensor_map(api_, *map, placed->second));
      prepared.maps.push_back(encoded);
      prepared.parameters.push_back(&prepared.maps.back());
      given = sizeof encoded;
    } else {
      BURNISH_TRY_ASSIGN(std::vector<std::byte> bytes,
                         argument_bytes(argument, i, launch.kernel, placed_));
      given = bytes.size();
      prepared.values.push_back(std::move(bytes));
      prepared.parameters.push_back(prepared.values.back().data());
    }
    if (api_.function_parameter == nullptr) continue;
    std::size_t offset = 0, wanted = 0;
    if (api_.function_parameter(function, i, &offset, &wanted) != cu::kSuccess) {
      return refused(fmt::format("kernel \"{}\" takes {} arguments, the launch gives {}",
                                 launch.kernel, i, launch.arguments.size()));
    }
    if (wanted != given) {
      return refused(fmt::format("argument {} of kernel \"{}\" has {} bytes, it was given {}",
                                 i + 1, launch.kernel, wanted, given));
    }
  }
  std::size_t offset = 0, size = 0;
  if (api_.function_parameter != nullptr &&
      api_.function_parameter(function, launch.arguments.size(), &offset, &size) == cu::kSuccess) {
    return refused(
        fmt::format("kernel \"{}\" takes more than the {} arguments that the launch gives",
                    launch.kernel, launch.arguments.size()));
  }
  return {};
}

Result<void> CudaExecutor::bind(std::size_t index) {
  const KernelLaunch& launch = plan_.launches[index];
  const cu::Function function = launched_[index];
  prepared_.emplace_back();  // in place, since it holds pointers into itself
  Prepared& prepared = prepared_.back();
  BURNISH_TRY(bind_arguments(index, prepared));
  if (launch.shared_bytes > 0) {
    BURNISH_TRY(check(fmt::format("kernel \"{}\" with {} bytes of dynamic shared memory",
                                  launch.kernel, launch.shared_bytes),
                      api_.function_set_attribute(function, cu::max_dynamic_shared_size_bytes,
                                                  static_cast<int>(launch.shared_bytes))));
  }
  const std::int64_t cluster = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  if (cluster > kPortableCluster) {
    api_.function_set_attribute(function, cu::non_portable_cluster_size_allowed, 1);
  }
  cu::LaunchConfig& config = prepared.config;
  const auto narrow = [](std::int64_t value) { return static_cast<unsigned>(value); };
  config.grid_x = narrow(launch.grid[0]);
  config.grid_y = narrow(launch.grid[1]);
  config.grid_z = narrow(launch.grid[2]);
  config.block_x = narrow(launch.block[0]);
  config.block_y = narrow(launch.block[1]);
  config.block_z = narrow(launch.block[2]);
  config.shared_bytes = static_cast<unsigned>(launch.shared_bytes);
  config.stream = stream_;
  if (cluster > 1) {
    if (api_.launch_kernel_ex == nullptr) {
      return environment_error("the NVIDIA driver is too old for clusters (CUDA 11.8)");
    }
    prepared.cluster.id = cu::kLaunchAttributeClusterDimension;
    prepared.cluster.value.cluster.x = narrow(launch.cluster[0]);
    prepared.cluster.value.cluster.y = narrow(launch.cluster[1]);
    prepared.cluster.value.cluster.z = narrow(launch.cluster[2]);
    config.attributes = &prepared.cluster;
    config.attribute_count = 1;
  }
  return {};
}

Result<void> CudaExecutor::stage(const LaunchPlan& plan, const std::vector<Placement>& placements,
                                 int repetitions) {
  // Lines that an earlier candidate made persistent would serve this one.
  if (api_.context_reset_persisting_l2 != nullptr) api_.context_reset_persisting_l2();
  return GpuExecutor::stage(plan, placements, repetitions);
}

Result<void> CudaExecutor::enqueue(std::size_t launch) {
  Prepared& one = prepared_[launch];
  const cu::LaunchConfig& config = one.config;
  return check(
      launching(launch),
      config.attribute_count > 0
          ? api_.launch_kernel_ex(&config, launched_[launch], one.parameters.data(), nullptr)
          : api_.launch_kernel(launched_[launch], config.grid_x, config.grid_y, config.grid_z,
                               config.block_x, config.block_y, config.block_z, config.shared_bytes,
                               config.stream, one.parameters.data(), nullptr));
}

/// All repetitions as one graph, so that the host's time for a launch does not count. With several
/// launches the last repetition has a time stamp (events 2 and following) round each of them.
Result<void> CudaExecutor::capture() {
  const std::size_t count = prepared_.size();
  BURNISH_TRY(event(2 + count));
  BURNISH_TRY(begin_capture());
  Result<void> captured;
  for (int repetition = 0; repetition < repetitions_ && captured; ++repetition) {
    const bool is_stamped = count > 1 && repetition == repetitions_ - 1;
    for (std::size_t i = 0; i < count && captured; ++i) {
      if (is_stamped) {
        captured =
            check("cannot capture a time stamp",
                  api_.event_record_with_flags(events_[2 + i], stream_, cu::kEventRecordExternal));
      }
      if (captured) captured = enqueue(i);
    }
    if (is_stamped && captured) {
      captured = check(
          "cannot capture a time stamp",
          api_.event_record_with_flags(events_[2 + count], stream_, cu::kEventRecordExternal));
    }
  }
  return end_capture(captured);
}

Result<Times> CudaExecutor::launch(const std::function<void(Progress, int launch)>& /*progress*/) {
  const std::size_t count = prepared_.size();
  BURNISH_TRY(event(2 + count));
  const std::uint64_t wait = std::min(
      kFirstLaunchNs + kFurtherLaunchNs * static_cast<std::uint64_t>(count), kLongestWaitNs);
  if (is_profiled_) {  // a profiler runs each launch by itself
    api_.profiler_start();
  } else {
    BURNISH_TRY(hold(wait));
  }
  Times times;
  if (graph_exec_ != nullptr) {
    times.timer = fmt::format("cuda graph of {} less stamping", repetitions_);
    BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[0], stream_)));
    BURNISH_TRY(check("cannot launch the graph", api_.graph_launch(graph_exec_, stream_)));
    BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[1], stream_)));
  } else {
    times.timer = "cuda events less stamping";
    for (std::size_t i = 0; i < count; ++i) {
      BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[2 + i], stream_)));
      BURNISH_TRY(enqueue(i));
    }
    BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[2 + count], stream_)));
  }
  BURNISH_TRY(check(running(), api_.stream_synchronize(stream_)));
  if (is_profiled_) api_.profiler_stop();

  const bool is_graph = graph_exec_ != nullptr;
  BURNISH_TRY_ASSIGN(const double between,
                     is_graph ? seconds_between(0, 1) : seconds_between(2, 2 + count));
  times.device_seconds = std::max(
      0.0, between - (is_graph ? graph_stamping_ : static_cast<double>(count) * launch_stamping_));
  for (std::size_t i = 0; i < count; ++i) {
    if (count == 1) {
      times.launch_seconds.push_back(times.device_seconds / repetitions_);
      continue;
    }
    BURNISH_TRY_ASSIGN(const double seconds, seconds_between(2 + i, 3 + i));
    times.launch_seconds.push_back(std::max(0.0, seconds - launch_stamping_));
  }
  return times;
}

Result<std::vector<CodeObject>> CudaExecutor::code() {
  return std::vector<CodeObject>{{"", ".cubin", code_}};
}

}  // namespace

Result<std::vector<DeviceInfo>> list_cuda_devices() {
  if (is_cuda_absent()) return std::vector<DeviceInfo>{};
  BURNISH_TRY_ASSIGN(const CudaApi* api, cuda_api());
  const cu::Status started = api->init(0);
  if (started == gpu::kNoDevice) return std::vector<DeviceInfo>{};
  if (started != cu::kSuccess) {
    return environment_error("CUDA does not start: " + cuda_error_text(*api, started));
  }
  return describe_all(*api, describe);
}

Result<std::unique_ptr<Executor>> open_cuda_executor(const DeviceInfo& info,
                                                     const fs::path& folder) {
  BURNISH_TRY_ASSIGN(const CudaApi* api, cuda_api());
  if (const cu::Status started = api->init(0); started != cu::kSuccess) {
    return environment_error("CUDA does not start: " + cuda_error_text(*api, started));
  }
  BURNISH_TRY_ASSIGN(const gpu::Device device, same_device(*api, info));
  auto executor = std::make_unique<CudaExecutor>(api, device, info, folder);
  BURNISH_TRY(executor->open());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace burnish::device
