#include "device/gpu_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace burnish::device {

namespace {

/// Without an opt-in a block has this much dynamic shared memory (CUDA C++ Programming Guide,
/// "Compute Capabilities"); AMD's local data share is larger.
constexpr std::uint64_t kPlainSharedBytes = 48u << 10;

}  // namespace

std::string extent_text(const std::array<std::int64_t, 3>& value) {
  return fmt::format("{}×{}×{}", value[0], value[1], value[2]);
}

std::string device_name(const GpuApi& api, gpu::Device device) {
  char name[256] = "";
  return api.device_name(name, sizeof name - 1, device) == gpu::kSuccess ? name : "";
}

int attribute(const GpuApi& api, gpu::Device device, int what) {
  int value = 0;
  return api.device_attribute(&value, what, device) == gpu::kSuccess ? value : 0;
}

void query(const GpuApi& api, gpu::Device device, std::span<const QueriedAttribute> wanted,
           DeviceInfo& info) {
  for (const QueriedAttribute& item : wanted) {
    const int value = attribute(api, device, item.attribute);
    if (value > 0) info.queried[item.name] = value * item.unit;
  }
}

std::vector<DeviceInfo> describe_all(const GpuApi& api,
                                     DeviceInfo (*describe)(gpu::Device device, int ordinal)) {
  int count = 0;
  api.device_count(&count);
  std::vector<DeviceInfo> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    gpu::Device device = 0;
    if (api.device_get(&device, ordinal) != gpu::kSuccess) continue;
    devices.push_back(describe(device, ordinal));
  }
  return devices;
}

Result<gpu::Device> same_device(const GpuApi& api, const DeviceInfo& info) {
  const std::optional<std::int64_t> ordinal =
      parse_integer(std::string_view(info.id).substr(info.id.find(':') + 1));
  gpu::Device device = 0;
  if (!ordinal || api.device_get(&device, static_cast<int>(*ordinal)) != gpu::kSuccess) {
    return environment_error(fmt::format("the device {} (\"{}\") is gone", info.id, info.name));
  }
  if (device_name(api, device) != info.name) {
    return environment_error(fmt::format("{} is now \"{}\", it was \"{}\"", info.id,
                                         device_name(api, device), info.name))
        .with_hint("list the devices again");
  }
  return device;
}

Result<std::vector<std::byte>> argument_bytes(const Argument& argument, std::size_t index,
                                              const std::string& kernel,
                                              const std::map<std::string, gpu::Pointer>& placed) {
  if (const auto* pointer = std::get_if<Argument::Pointer>(&argument.value)) {
    const auto at = placed.find(pointer->buffer);
    if (at == placed.end()) return bug(fmt::format("no buffer \"{}\"", pointer->buffer));
    std::vector<std::byte> bytes(sizeof at->second);
    std::memcpy(bytes.data(), &at->second, sizeof at->second);
    return bytes;
  }
  if (const auto* scalar = std::get_if<Argument::Scalar>(&argument.value)) {
    return from_doubles(scalar->dtype, std::span(&scalar->value, 1));
  }
  if (const auto* bytes = std::get_if<Argument::Bytes>(&argument.value)) return bytes->bytes;
  if (std::holds_alternative<Argument::TensorMap>(argument.value)) {
    return refused(fmt::format("argument {} of kernel \"{}\" is a TMA descriptor, which only CUDA "
                               "devices from sm_90 on have",
                               index + 1, kernel))
        .with_hint("give the pointer and the strides, and copy with ordinary loads");
  }
  return refused(
             fmt::format("argument {} of kernel \"{}\" is OpenCL local memory", index + 1, kernel))
      .with_hint("CUDA and HIP have dynamic shared memory: shared in the launch spec");
}

Result<void> GpuExecutor::check(std::string_view doing, gpu::Status status) {
  if (lost_) return *lost_;
  if (status == gpu::kSuccess) return {};
  std::string message = fmt::format("{}: {}", doing, error_text(status));
  Error error = status == gpu::kOutOfMemory || status == gpu::kEccError
                    ? environment_error(std::move(message))
                    : refused(std::move(message));
  if (loses_device(status)) lost_ = error;
  return error;
}

Result<BuildOutcome> GpuExecutor::build(const Source& source, const std::string& binary) {
  BuildOutcome outcome;
  if (!binary.empty() && gpu_.module_load_data(&module_, binary.data()) == gpu::kSuccess) {
    code_ = binary;
    BURNISH_TRY(loaded());
    outcome.built = true;
    outcome.reused = true;
    return outcome;
  }
  BURNISH_TRY_ASSIGN(GpuBuild build, compile(source));
  if (!build.outcome.built) return std::move(build.outcome);
  code_ = std::move(build.code);
  BURNISH_TRY(
      check("cannot load the compiled kernel", gpu_.module_load_data(&module_, code_.data())));
  BURNISH_TRY(loaded());
  return std::move(build.outcome);
}

Result<GpuExecutor::Allocation> GpuExecutor::find(const std::string& buffer) const {
  const auto at = allocations_.find(buffer);
  if (at == allocations_.end()) return bug(fmt::format("no buffer \"{}\" was allocated", buffer));
  return at->second;
}

Result<void> GpuExecutor::allocate(const std::string& buffer, std::uint64_t bytes) {
  Allocation allocation;
  allocation.bytes = bytes;
  BURNISH_TRY(check(fmt::format("cannot allocate {} for \"{}\"", with_binary_prefix(bytes), buffer),
                    gpu_.memory_allocate(&allocation.pointer, bytes)));
  allocations_.insert_or_assign(buffer, allocation);
  return {};
}

Result<void> GpuExecutor::release(const std::string& buffer) {
  drop_graph();
  unbind();
  placed_.clear();
  const auto at = allocations_.find(buffer);
  if (at == allocations_.end()) return {};
  const gpu::Status status = gpu_.memory_free(at->second.pointer);
  allocations_.erase(at);
  return check(fmt::format("cannot free \"{}\"", buffer), status);
}

Result<void> GpuExecutor::fill(const std::string& buffer, std::uint32_t pattern) {
  BURNISH_TRY_ASSIGN(const Allocation allocation, find(buffer));
  return check(fmt::format("cannot fill \"{}\"", buffer),
               gpu_.fill_32(allocation.pointer, pattern, allocation.bytes / sizeof pattern));
}

Result<void> GpuExecutor::write(const std::string& buffer, std::uint64_t offset,
                                std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  BURNISH_TRY_ASSIGN(const Allocation allocation, find(buffer));
  return check(fmt::format("cannot write \"{}\"", buffer),
               gpu_.copy_to_device(allocation.pointer + offset, bytes.data(), bytes.size()));
}

Result<void> GpuExecutor::read(const std::string& buffer, std::uint64_t offset,
                               std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  BURNISH_TRY_ASSIGN(const Allocation allocation, find(buffer));
  return check(fmt::format("cannot read \"{}\" back", buffer),
               gpu_.copy_from_device(bytes.data(), allocation.pointer + offset, bytes.size()));
}

Result<gpu::Function> GpuExecutor::find_function(const std::string& kernel) {
  const auto known = functions_.find(kernel);
  if (known != functions_.end()) return known->second;
  BURNISH_TRY_ASSIGN(const std::string symbol, symbol_of(kernel));
  gpu::Function function = nullptr;
  BURNISH_TRY(check(fmt::format("kernel \"{}\"", kernel),
                    gpu_.module_get_function(&function, module_, symbol.c_str())));
  functions_.emplace(kernel, function);
  return function;
}

Result<void> GpuExecutor::check_launch(const KernelLaunch& launch, gpu::Function function) {
  int static_shared = 0, largest_block = 0;
  gpu_.function_attribute(&static_shared, gpu::shared_size_bytes, function);
  gpu_.function_attribute(&largest_block, gpu::function_max_threads_per_block, function);
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
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] % launch.cluster[i] != 0) {
      return refused(fmt::format("kernel \"{}\": a grid of {} is no multiple of the cluster {}",
                                 launch.kernel, extent_text(launch.grid),
                                 extent_text(launch.cluster)));
    }
  }
  if (launch.grid[0] > INT32_MAX || launch.grid[1] > UINT16_MAX || launch.grid[2] > UINT16_MAX) {
    return refused(
        fmt::format("kernel \"{}\": a grid of {} is larger than 2^31-1 × 65,535 × 65,535",
                    launch.kernel, extent_text(launch.grid)));
  }
  return {};
}

Result<void> GpuExecutor::stage(const LaunchPlan& plan, const std::vector<Placement>& placements,
                                int repetitions) {
  drop_graph();
  unbind();
  launched_.clear();
  placed_.clear();
  plan_ = plan;
  repetitions_ = repetitions;
  for (const Placement& placement : placements) {
    BURNISH_TRY_ASSIGN(const Allocation allocation, find(placement.buffer));
    placed_[placement.buffer] = allocation.pointer + placement.offset;
  }
  for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
    BURNISH_TRY_ASSIGN(const gpu::Function function, find_function(plan_.launches[i].kernel));
    launched_.push_back(function);
    BURNISH_TRY(check_launch(plan_.launches[i], function));
    BURNISH_TRY(bind(i));
  }
  BURNISH_TRY(check("cannot fill the buffers", gpu_.synchronize()));
  if (repetitions_ > 1) BURNISH_TRY(capture());
  return {};
}

std::string GpuExecutor::launching(std::size_t index) const {
  const KernelLaunch& launch = plan_.launches[index];
  return fmt::format(
      "cannot launch kernel \"{}\" with blocks of {}, a grid of {} and {} bytes of dynamic shared "
      "memory",
      launch.kernel, extent_text(launch.block), extent_text(launch.grid), launch.shared_bytes);
}

std::string GpuExecutor::running() const {
  std::vector<std::string> names;
  for (const KernelLaunch& launch : plan_.launches) names.push_back("\"" + launch.kernel + "\"");
  return "running " + join(names, ", ");
}

Result<gpu::Event> GpuExecutor::event(std::size_t index) {
  while (events_.size() <= index) {
    gpu::Event event = nullptr;
    BURNISH_TRY(check("cannot make a time stamp", gpu_.event_create(&event, 0)));
    events_.push_back(event);
  }
  return events_[index];
}

Result<double> GpuExecutor::seconds_between(std::size_t first, std::size_t second) {
  float milliseconds = 0;
  BURNISH_TRY(check("cannot read a launch's time",
                    gpu_.event_elapsed(&milliseconds, events_[first], events_[second])));
  return 1e-3 * static_cast<double>(milliseconds);
}

void GpuExecutor::drop_graph() {
  if (graph_exec_ != nullptr) gpu_.graph_exec_destroy(std::exchange(graph_exec_, nullptr));
  if (graph_ != nullptr) gpu_.graph_destroy(std::exchange(graph_, nullptr));
}

Result<void> GpuExecutor::begin_capture() {
  return check("cannot capture the launches",
               gpu_.stream_begin_capture(stream_, gpu::kCaptureModeThreadLocal));
}

Result<void> GpuExecutor::end_capture(const Result<void>& captured) {
  const gpu::Status ended = gpu_.stream_end_capture(stream_, &graph_);
  BURNISH_TRY(captured);
  BURNISH_TRY(check("cannot capture the launches", ended));
  BURNISH_TRY(check("cannot make a graph of the launches",
                    gpu_.graph_instantiate(&graph_exec_, graph_, 0)));
  if (gpu_.graph_upload != nullptr) {
    BURNISH_TRY(check("cannot upload the graph", gpu_.graph_upload(graph_exec_, stream_)));
  }
  return check("cannot upload the graph", gpu_.stream_synchronize(stream_));
}

Result<void> GpuExecutor::flush_caches(std::uint64_t bytes) {
  if (flushed_.bytes != bytes) {
    if (flushed_.pointer != 0) gpu_.memory_free(flushed_.pointer);
    flushed_ = {};
    BURNISH_TRY(check("cannot allocate what flushes the caches",
                      gpu_.memory_allocate(&flushed_.pointer, bytes)));
    flushed_.bytes = bytes;
  }
  static unsigned value = 0;
  ++value;
  BURNISH_TRY(check("cannot flush the caches",
                    gpu_.fill_32(flushed_.pointer, value, bytes / sizeof value)));
  return check("cannot flush the caches", gpu_.synchronize());
}

Result<MetricSet> GpuExecutor::resources(const std::string& kernel) {
  BURNISH_TRY_ASSIGN(const gpu::Function function, find_function(kernel));
  const std::string prefix = info_.backend == "cuda" ? "CU_FUNC" : "HIP_FUNC";
  MetricSet metrics;
  const auto add = [&](std::string name, int what, const char* unit, const std::string& raw) {
    int value = 0;
    if (gpu_.function_attribute(&value, what, function) != gpu::kSuccess) return;
    Metric metric;
    metric.name = std::move(name);
    metric.value = value;
    metric.unit = unit;
    metric.where.file = "device";
    metric.where.locator = "kernel " + kernel;
    metric.where.raw_name = raw;
    metrics.add(std::move(metric));
  };
  add("registers.used", gpu::num_regs, "1", prefix + "_ATTRIBUTE_NUM_REGS");
  add("shared.static_bytes", gpu::shared_size_bytes, "B", prefix + "_ATTRIBUTE_SHARED_SIZE_BYTES");
  add("scratch.bytes", gpu::local_size_bytes, "B", prefix + "_ATTRIBUTE_LOCAL_SIZE_BYTES");
  const std::string threads = prefix + "_ATTRIBUTE_MAX_THREADS_PER_BLOCK";
  add(threads, gpu::function_max_threads_per_block, "1", threads);
  return metrics;
}

}  // namespace burnish::device
