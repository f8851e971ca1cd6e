#include "device/cuda_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "base/text.h"
#include "device/build_log.h"
#include "device/cuda_api.h"
#include "device/cuda_clocks.h"
#include "device/cuda_compile.h"
#include "device/cuda_tensor_map.h"
#include "device/doctor_checks.h"
#include "device/sandbox.h"

namespace burnish::device {
namespace {

/// Keeps the device busy while the launches that are timed are queued, so that the first time stamp
/// is not taken long before the first kernel comes. It touches no memory. (PTX ISA, special
/// registers.)
constexpr char kWaitPtx[] = R"(.version 7.0
.target sm_70
.address_size 64
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
/// Without an opt-in a block has this much dynamic shared memory; and clusters beyond 8 are not
/// portable (CUDA C++ Programming Guide, "Compute Capabilities").
constexpr std::uint64_t kPlainSharedBytes = 48u << 10;
constexpr std::int64_t kPortableCluster = 8;

std::string device_name(const CudaApi& api, cu::Device device) {
  char name[256] = "";
  return api.device_name(name, sizeof name - 1, device) == cu::kSuccess ? name : "";
}

int attribute(const CudaApi& api, cu::Device device, int what) {
  int value = 0;
  return api.device_attribute(&value, what, device) == cu::kSuccess ? value : 0;
}

DeviceInfo describe(const CudaApi& api, cu::Device device, int ordinal) {
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
  const auto queried = [&](const char* name, int what, double unit) {
    const int value = attribute(api, device, what);
    if (value > 0) info.queried[name] = value * unit;
  };
  queried("sm.count", cu::multiprocessor_count, 1);
  queried("clock.max", cu::clock_rate, 1e3);
  queried("dram.clock", cu::memory_clock_rate, 1e3);
  queried("dram.bus_width", cu::global_memory_bus_width, 1);
  queried("l2.bytes", cu::l2_cache_size, 1);
  queried("l2.persisting_bytes", cu::max_persisting_l2_cache_size, 1);
  queried("shared.bytes_per_sm", cu::max_shared_memory_per_multiprocessor, 1);
  queried("shared.bytes_per_block", cu::max_shared_memory_per_block_optin, 1);
  queried("registers.bytes_per_sm", cu::max_registers_per_multiprocessor, 4);
  queried("warps.per_sm", cu::max_threads_per_multiprocessor, 1.0 / 32);
  queried("blocks.per_sm", cu::max_blocks_per_multiprocessor, 1);
  info.queried["dram.bytes_visible"] = static_cast<double>(memory);
  return info;
}

/// One launch with everything that it needs in memory that does not move.
struct Prepared {
  cu::Function function = nullptr;
  cu::LaunchConfig config{};
  cu::LaunchAttribute cluster{};
  std::deque<cu::TensorMap> maps;
  std::deque<std::vector<std::byte>> values;
  std::vector<void*> parameters;
};

class CudaExecutor : public Executor {
 public:
  CudaExecutor(const CudaApi* api, cu::Device device, DeviceInfo info, fs::path folder)
      : api_(*api), device_(device), info_(std::move(info)), folder_(std::move(folder)) {}

  Result<void> open();
  Result<BuildOutcome> build(const Source& source, const std::string& binary) override;
  Result<std::string> binary() override { return cubin_; }
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
  Result<Times> launch(const std::function<void(Progress, int launch)>& progress) override;
  MetricSet clocks() override { return nvidia_clocks(pci_bus_id_); }
  Result<std::vector<CodeObject>> code() override;
  Result<MetricSet> resources(const std::string& kernel) override;

 private:
  struct Allocation {
    cu::Pointer pointer = 0;
    std::uint64_t bytes = 0;
  };

  /// The error of a status, if it is one. After an error that loses the context every call gives
  /// it.
  Result<void> check(std::string_view doing, cu::Status status);
  Result<Allocation> find(const std::string& buffer) const;
  Result<cu::Function> find_function(const std::string& kernel);
  Result<void> prepare(const KernelLaunch& launch, Prepared& prepared);
  Result<void> bind(const KernelLaunch& launch, Prepared& prepared);
  Result<void> enqueue(std::size_t launch);
  Result<void> capture();
  void drop_graph();
  Result<cu::Event> event(std::size_t index);
  Result<double> seconds_between(std::size_t first, std::size_t second);

  const CudaApi& api_;
  cu::Device device_;
  DeviceInfo info_;
  fs::path folder_;
  std::string pci_bus_id_;
  cu::Context context_ = nullptr;
  cu::Stream stream_ = nullptr;
  cu::Function wait_ = nullptr;
  cu::Module module_ = nullptr;
  std::map<std::string, cu::Function> functions_;
  std::string cubin_;
  std::map<std::string, Allocation> allocations_;
  Allocation flushed_;
  std::map<std::string, cu::Pointer> placed_;
  LaunchPlan plan_;
  int repetitions_ = 1;
  std::deque<Prepared> prepared_;
  std::vector<cu::Event> events_;
  cu::Graph graph_ = nullptr;
  cu::GraphExec graph_exec_ = nullptr;
  std::optional<Error> lost_;
  bool is_profiled_ = std::getenv(kProfiledVariable) != nullptr;
};

Result<void> CudaExecutor::check(std::string_view doing, cu::Status status) {
  if (lost_) return *lost_;
  if (status == cu::kSuccess) return {};
  std::string message = fmt::format("{}: {}", doing, cuda_error_text(api_, status));
  constexpr cu::Status kOutOfMemory = 2;
  constexpr cu::Status kEccError = 214;
  Error error = status == kOutOfMemory || status == kEccError
                    ? environment_error(std::move(message))
                    : refused(std::move(message));
  if (is_sticky(status)) lost_ = error;
  return error;
}

Result<void> CudaExecutor::open() {
  BURNISH_TRY(check("cannot open " + info_.name, api_.primary_context_retain(&context_, device_)));
  BURNISH_TRY(check("cannot use " + info_.name, api_.context_set_current(context_)));
  BURNISH_TRY(check("cannot make a stream", api_.stream_create(&stream_, cu::kStreamNonBlocking)));
  char id[32] = "";
  if (api_.device_pci_bus_id(id, sizeof id, device_) == cu::kSuccess) pci_bus_id_ = id;
  cu::Module module = nullptr;
  BURNISH_TRY(check("cannot load the kernel that waits", api_.module_load_data(&module, kWaitPtx)));
  return check("cannot find the kernel that waits",
               api_.module_get_function(&wait_, module, "burnish_wait"));
}

Result<BuildOutcome> CudaExecutor::build(const Source& source, const std::string& binary) {
  BuildOutcome outcome;
  if (!binary.empty() && api_.module_load_data(&module_, binary.data()) == cu::kSuccess) {
    cubin_ = binary;
    outcome.built = true;
    outcome.reused = true;
    return outcome;
  }
  const std::string target = cuda_target(attribute(api_, device_, cu::compute_capability_major),
                                         attribute(api_, device_, cu::compute_capability_minor));
  BURNISH_TRY_ASSIGN(CudaBuild build, compile_cuda(source, target, folder_));
  if (!build.outcome.built) return std::move(build.outcome);
  cubin_ = std::move(build.cubin);
  BURNISH_TRY(
      check("cannot load the compiled kernel", api_.module_load_data(&module_, cubin_.data())));
  return std::move(build.outcome);
}

Result<CudaExecutor::Allocation> CudaExecutor::find(const std::string& buffer) const {
  const auto at = allocations_.find(buffer);
  if (at == allocations_.end()) return bug(fmt::format("no buffer \"{}\" was allocated", buffer));
  return at->second;
}

Result<void> CudaExecutor::allocate(const std::string& buffer, std::uint64_t bytes) {
  Allocation allocation;
  allocation.bytes = bytes;
  BURNISH_TRY(check(fmt::format("cannot allocate {} for \"{}\"", with_binary_prefix(bytes), buffer),
                    api_.memory_allocate(&allocation.pointer, bytes)));
  allocations_.insert_or_assign(buffer, allocation);
  return {};
}

Result<void> CudaExecutor::release(const std::string& buffer) {
  drop_graph();
  prepared_.clear();
  placed_.clear();
  const auto at = allocations_.find(buffer);
  if (at == allocations_.end()) return {};
  const cu::Status status = api_.memory_free(at->second.pointer);
  allocations_.erase(at);
  return check(fmt::format("cannot free \"{}\"", buffer), status);
}

Result<void> CudaExecutor::fill(const std::string& buffer, std::uint32_t pattern) {
  BURNISH_TRY_ASSIGN(const Allocation allocation, find(buffer));
  return check(fmt::format("cannot fill \"{}\"", buffer),
               api_.fill_32(allocation.pointer, pattern, allocation.bytes / sizeof pattern));
}

Result<void> CudaExecutor::write(const std::string& buffer, std::uint64_t offset,
                                 std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  BURNISH_TRY_ASSIGN(const Allocation allocation, find(buffer));
  return check(fmt::format("cannot write \"{}\"", buffer),
               api_.copy_to_device(allocation.pointer + offset, bytes.data(), bytes.size()));
}

Result<void> CudaExecutor::read(const std::string& buffer, std::uint64_t offset,
                                std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  BURNISH_TRY_ASSIGN(const Allocation allocation, find(buffer));
  return check(fmt::format("cannot read \"{}\" back", buffer),
               api_.copy_from_device(bytes.data(), allocation.pointer + offset, bytes.size()));
}

Result<cu::Function> CudaExecutor::find_function(const std::string& kernel) {
  const auto known = functions_.find(kernel);
  if (known != functions_.end()) return known->second;
  BURNISH_TRY_ASSIGN(const std::string symbol, kernel_symbol(cubin_, kernel));
  cu::Function function = nullptr;
  BURNISH_TRY(check(fmt::format("kernel \"{}\"", kernel),
                    api_.module_get_function(&function, module_, symbol.c_str())));
  functions_.emplace(kernel, function);
  return function;
}

Result<void> CudaExecutor::bind(const KernelLaunch& launch, Prepared& prepared) {
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const Argument& argument = launch.arguments[i];
    const auto keep = [&](std::vector<std::byte> bytes) {
      prepared.values.push_back(std::move(bytes));
      prepared.parameters.push_back(prepared.values.back().data());
      return prepared.values.back().size();
    };
    std::size_t given = 0;
    if (const auto* pointer = std::get_if<Argument::Pointer>(&argument.value)) {
      const auto placed = placed_.find(pointer->buffer);
      if (placed == placed_.end()) return bug(fmt::format("no buffer \"{}\"", pointer->buffer));
      std::vector<std::byte> bytes(sizeof placed->second);
      std::memcpy(bytes.data(), &placed->second, sizeof placed->second);
      given = keep(std::move(bytes));
    } else if (const auto* scalar = std::get_if<Argument::Scalar>(&argument.value)) {
      given = keep(from_doubles(scalar->dtype, std::span(&scalar->value, 1)));
    } else if (const auto* bytes = std::get_if<Argument::Bytes>(&argument.value)) {
      given = keep(bytes->bytes);
    } else if (const auto* map = std::get_if<Argument::TensorMap>(&argument.value)) {
      const auto placed = placed_.find(map->buffer);
      if (placed == placed_.end()) return bug(fmt::format("no buffer \"{}\"", map->buffer));
      BURNISH_TRY_ASSIGN(const cu::TensorMap encoded,
                         encode_tensor_map(api_, *map, placed->second));
      prepared.maps.push_back(encoded);
      prepared.parameters.push_back(&prepared.maps.back());
      given = sizeof encoded;
    } else {
      return refused(fmt::format("argument {} of kernel \"{}\" is OpenCL local memory", i + 1,
                                 launch.kernel))
          .with_hint("CUDA has dynamic shared memory: shared in the launch spec");
    }
    if (api_.function_parameter == nullptr) continue;
    std::size_t offset = 0, wanted = 0;
    if (api_.function_parameter(prepared.function, i, &offset, &wanted) != cu::kSuccess) {
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
      api_.function_parameter(prepared.function, launch.arguments.size(), &offset, &size) ==
          cu::kSuccess) {
    return refused(
        fmt::format("kernel \"{}\" takes more than the {} arguments that the launch gives",
                    launch.kernel, launch.arguments.size()));
  }
  return {};
}

Result<void> CudaExecutor::prepare(const KernelLaunch& launch, Prepared& prepared) {
  BURNISH_TRY_ASSIGN(prepared.function, find_function(launch.kernel));
  BURNISH_TRY(bind(launch, prepared));
  int static_shared = 0, largest_block = 0;
  api_.function_attribute(&static_shared, cu::shared_size_bytes, prepared.function);
  api_.function_attribute(&largest_block, cu::function_max_threads_per_block, prepared.function);
  const std::uint64_t shared = launch.shared_bytes + static_cast<std::uint64_t>(static_shared);
  if (shared > std::max(info_.shared_bytes, kPlainSharedBytes)) {
    return refused(fmt::format(
        "kernel \"{}\" wants {} bytes of shared memory ({} static, {} dynamic); "
        "a block on {} has {} at most",
        launch.kernel, shared, static_shared, launch.shared_bytes, info_.name, info_.shared_bytes));
  }
  const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (largest_block > 0 && threads > largest_block) {
    return refused(
        fmt::format("kernel \"{}\" was compiled for at most {} threads a block (registers, "
                    "or __launch_bounds__), the launch has {}",
                    launch.kernel, largest_block, threads));
  }
  if (launch.shared_bytes > 0) {
    BURNISH_TRY(
        check(fmt::format("kernel \"{}\" with {} bytes of dynamic shared memory", launch.kernel,
                          launch.shared_bytes),
              api_.function_set_attribute(prepared.function, cu::max_dynamic_shared_size_bytes,
                                          static_cast<int>(launch.shared_bytes))));
  }
  const std::int64_t cluster = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  if (cluster > kPortableCluster) {
    api_.function_set_attribute(prepared.function, cu::non_portable_cluster_size_allowed, 1);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] % launch.cluster[i] != 0) {
      return refused(
          fmt::format("kernel \"{}\": a grid of {}×{}×{} is no multiple of the cluster "
                      "{}×{}×{}",
                      launch.kernel, launch.grid[0], launch.grid[1], launch.grid[2],
                      launch.cluster[0], launch.cluster[1], launch.cluster[2]));
    }
  }
  cu::LaunchConfig& config = prepared.config;
  config = {};
  const auto narrow = [](std::int64_t value) { return static_cast<unsigned>(value); };
  if (launch.grid[0] > INT32_MAX || launch.grid[1] > UINT16_MAX || launch.grid[2] > UINT16_MAX) {
    return refused(
        fmt::format("kernel \"{}\": a grid of {}×{}×{} is larger than 2^31-1 × 65,535 × "
                    "65,535",
                    launch.kernel, launch.grid[0], launch.grid[1], launch.grid[2]));
  }
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
  drop_graph();
  prepared_.clear();
  placed_.clear();
  plan_ = plan;
  repetitions_ = repetitions;
  for (const Placement& placement : placements) {
    BURNISH_TRY_ASSIGN(const Allocation allocation, find(placement.buffer));
    placed_[placement.buffer] = allocation.pointer + placement.offset;
  }
  for (const KernelLaunch& launch : plan_.launches) {
    prepared_.emplace_back();  // in place, since it holds pointers into itself
    BURNISH_TRY(prepare(launch, prepared_.back()));
  }
  // Lines that an earlier candidate made persistent would serve this one.
  if (api_.context_reset_persisting_l2 != nullptr) api_.context_reset_persisting_l2();
  BURNISH_TRY(check("cannot fill the buffers", api_.context_synchronize()));
  if (repetitions_ > 1) BURNISH_TRY(capture());
  return {};
}

Result<void> CudaExecutor::enqueue(std::size_t launch) {
  Prepared& one = prepared_[launch];
  const cu::LaunchConfig& config = one.config;
  const cu::Status status =
      config.attribute_count > 0
          ? api_.launch_kernel_ex(&config, one.function, one.parameters.data(), nullptr)
          : api_.launch_kernel(one.function, config.grid_x, config.grid_y, config.grid_z,
                               config.block_x, config.block_y, config.block_z, config.shared_bytes,
                               config.stream, one.parameters.data(), nullptr);
  return check(
      fmt::format("cannot launch kernel \"{}\" with blocks of {}×{}×{}, a grid of {}×{}×{} "
                  "and {} bytes of dynamic shared memory",
                  plan_.launches[launch].kernel, config.block_x, config.block_y, config.block_z,
                  config.grid_x, config.grid_y, config.grid_z, config.shared_bytes),
      status);
}

Result<cu::Event> CudaExecutor::event(std::size_t index) {
  while (events_.size() <= index) {
    cu::Event event = nullptr;
    BURNISH_TRY(check("cannot make a time stamp", api_.event_create(&event, 0)));
    events_.push_back(event);
  }
  return events_[index];
}

Result<double> CudaExecutor::seconds_between(std::size_t first, std::size_t second) {
  float milliseconds = 0;
  BURNISH_TRY(check("cannot read a launch's time",
                    api_.event_elapsed(&milliseconds, events_[first], events_[second])));
  return 1e-3 * static_cast<double>(milliseconds);
}

void CudaExecutor::drop_graph() {
  if (graph_exec_ != nullptr) api_.graph_exec_destroy(std::exchange(graph_exec_, nullptr));
  if (graph_ != nullptr) api_.graph_destroy(std::exchange(graph_, nullptr));
}

/// All repetitions as one graph, so that the host's time for a launch does not count. With several
/// launches the last repetition has a time stamp (events 2 and following) round each of them.
Result<void> CudaExecutor::capture() {
  const std::size_t count = prepared_.size();
  BURNISH_TRY(event(2 + count));
  BURNISH_TRY(check("cannot capture the launches",
                    api_.stream_begin_capture(stream_, cu::kCaptureModeThreadLocal)));
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
  const cu::Status ended = api_.stream_end_capture(stream_, &graph_);
  BURNISH_TRY(captured);
  BURNISH_TRY(check("cannot capture the launches", ended));
  BURNISH_TRY(check("cannot make a graph of the launches",
                    api_.graph_instantiate(&graph_exec_, graph_, 0)));
  BURNISH_TRY(check("cannot upload the graph", api_.graph_upload(graph_exec_, stream_)));
  return check("cannot upload the graph", api_.stream_synchronize(stream_));
}

Result<void> CudaExecutor::flush_caches(std::uint64_t bytes) {
  if (flushed_.bytes != bytes) {
    if (flushed_.pointer != 0) api_.memory_free(flushed_.pointer);
    flushed_ = {};
    BURNISH_TRY(check("cannot allocate what flushes the caches",
                      api_.memory_allocate(&flushed_.pointer, bytes)));
    flushed_.bytes = bytes;
  }
  static unsigned value = 0;
  ++value;
  BURNISH_TRY(check("cannot flush the caches",
                    api_.fill_32(flushed_.pointer, value, bytes / sizeof value)));
  return check("cannot flush the caches", api_.context_synchronize());
}

Result<Times> CudaExecutor::launch(const std::function<void(Progress, int launch)>& /*progress*/) {
  const std::size_t count = prepared_.size();
  BURNISH_TRY(event(2 + count));
  std::uint64_t wait = std::min(
      kFirstLaunchNs + kFurtherLaunchNs * static_cast<std::uint64_t>(count), kLongestWaitNs);
  void* wait_parameters[] = {&wait};
  if (is_profiled_) {  // a profiler runs each launch by itself
    api_.profiler_start();
  } else {
    BURNISH_TRY(
        check("cannot launch the kernel that waits",
              api_.launch_kernel(wait_, 1, 1, 1, 1, 1, 1, 0, stream_, wait_parameters, nullptr)));
  }
  Times times;
  if (graph_exec_ != nullptr) {
    times.timer = fmt::format("cuda graph of {}", repetitions_);
    BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[0], stream_)));
    BURNISH_TRY(check("cannot launch the graph", api_.graph_launch(graph_exec_, stream_)));
    BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[1], stream_)));
  } else {
    times.timer = "cuda events";
    for (std::size_t i = 0; i < count; ++i) {
      BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[2 + i], stream_)));
      BURNISH_TRY(enqueue(i));
    }
    BURNISH_TRY(check("cannot stamp the time", api_.event_record(events_[2 + count], stream_)));
  }
  std::vector<std::string> names;
  for (const KernelLaunch& launch : plan_.launches) names.push_back("\"" + launch.kernel + "\"");
  BURNISH_TRY(check("running " + join(names, ", "), api_.stream_synchronize(stream_)));
  if (is_profiled_) api_.profiler_stop();

  if (graph_exec_ != nullptr) {
    BURNISH_TRY_ASSIGN(times.device_seconds, seconds_between(0, 1));
  } else {
    BURNISH_TRY_ASSIGN(times.device_seconds, seconds_between(2, 2 + count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (count == 1) {
      times.launch_seconds.push_back(times.device_seconds / repetitions_);
      continue;
    }
    BURNISH_TRY_ASSIGN(const double seconds, seconds_between(2 + i, 3 + i));
    times.launch_seconds.push_back(seconds);
  }
  return times;
}

Result<std::vector<CodeObject>> CudaExecutor::code() {
  return std::vector<CodeObject>{{"", ".cubin", cubin_}};
}

Result<MetricSet> CudaExecutor::resources(const std::string& kernel) {
  BURNISH_TRY_ASSIGN(const cu::Function function, find_function(kernel));
  MetricSet metrics;
  const auto add = [&](const char* name, int what, const char* unit, const char* raw) {
    int value = 0;
    if (api_.function_attribute(&value, what, function) != cu::kSuccess) return;
    Metric metric;
    metric.name = name;
    metric.value = value;
    metric.unit = unit;
    metric.where.file = "device";
    metric.where.locator = "kernel " + kernel;
    metric.where.raw_name = raw;
    metrics.add(std::move(metric));
  };
  add("registers.used", cu::num_regs, "1", "CU_FUNC_ATTRIBUTE_NUM_REGS");
  add("shared.static_bytes", cu::shared_size_bytes, "B", "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES");
  add("scratch.bytes", cu::local_size_bytes, "B", "CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES");
  add("CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK", cu::function_max_threads_per_block, "1",
      "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK");
  return metrics;
}

}  // namespace

Result<std::vector<DeviceInfo>> list_cuda_devices() {
  if (is_cuda_absent()) return std::vector<DeviceInfo>{};
  BURNISH_TRY_ASSIGN(const CudaApi* api, cuda_api());
  const cu::Status started = api->init(0);
  if (started == cu::kNoDevice) return std::vector<DeviceInfo>{};
  if (started != cu::kSuccess) {
    return environment_error("CUDA does not start: " + cuda_error_text(*api, started));
  }
  int count = 0;
  api->device_count(&count);
  std::vector<DeviceInfo> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cu::Device device = 0;
    if (api->device_get(&device, ordinal) != cu::kSuccess) continue;
    devices.push_back(describe(*api, device, ordinal));
  }
  return devices;
}

Result<std::unique_ptr<Executor>> open_cuda_executor(const DeviceInfo& info,
                                                     const fs::path& folder) {
  BURNISH_TRY_ASSIGN(const CudaApi* api, cuda_api());
  if (const cu::Status started = api->init(0); started != cu::kSuccess) {
    return environment_error("CUDA does not start: " + cuda_error_text(*api, started));
  }
  const std::optional<std::int64_t> ordinal =
      parse_integer(std::string_view(info.id).substr(info.id.find(':') + 1));
  cu::Device device = 0;
  if (!ordinal || api->device_get(&device, static_cast<int>(*ordinal)) != cu::kSuccess) {
    return environment_error(fmt::format("the device {} (\"{}\") is gone", info.id, info.name));
  }
  if (device_name(*api, device) != info.name) {
    return environment_error(fmt::format("{} is now \"{}\", it was \"{}\"", info.id,
                                         device_name(*api, device), info.name))
        .with_hint("list the devices again");
  }
  auto executor = std::make_unique<CudaExecutor>(api, device, info, folder);
  BURNISH_TRY(executor->open());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace burnish::device
