#include "device/opencl_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"
#include "device/build_log.h"
#include "device/cpu_caches.h"
#include "device/opencl_devices.h"

namespace burnish::device {
namespace {

using std::chrono::steady_clock;

/// How often a launch that may have to be compiled first is looked at.
constexpr std::chrono::microseconds kWatchPeriod{200};

/// Owns one OpenCL object; `Release` is a member of OpenClApi.
template <class T, auto Release>
class Handle {
 public:
  Handle() = default;
  Handle(const OpenClApi* api, T object) : api_(api), object_(object) {}
  Handle(Handle&& other) noexcept
      : api_(other.api_), object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr) (api_->*Release)(object_);
  }
  T get() const { return object_; }

 private:
  const OpenClApi* api_ = nullptr;
  T object_ = nullptr;
};
using Context = Handle<cl_context, &OpenClApi::release_context>;
using Queue = Handle<cl_command_queue, &OpenClApi::release_command_queue>;
using Program = Handle<cl_program, &OpenClApi::release_program>;
using KernelHandle = Handle<cl_kernel, &OpenClApi::release_kernel>;
using Memory = Handle<cl_mem, &OpenClApi::release_mem_object>;
using Event = Handle<cl_event, &OpenClApi::release_event>;

Error failure(std::string_view doing, cl_int code) {
  std::string message = fmt::format("{}: {}", doing, opencl_error_text(code));
  switch (code) {
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_COMPILER_NOT_AVAILABLE:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
      return environment_error(std::move(message));
    default:
      return refused(std::move(message));
  }
}

/// A kernel, its block and its grid: PoCL compiles for each block anew, and once more for large
/// grids.
using Shape = std::tuple<std::string, std::array<std::int64_t, 3>, std::array<std::int64_t, 3>>;

/// Several files as one text: for each, decimal sizes of name and content on a line, then both.
std::string pack(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string text;
  for (const auto& [name, content] : files) {
    text += fmt::format("{} {}\n{}{}", name.size(), content.size(), name, content);
  }
  return text;
}

std::optional<std::vector<std::pair<std::string, std::string>>> unpack(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> files;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::vector<std::string_view> sizes = split(text.substr(0, end), ' ');
    text.remove_prefix(end + 1);
    if (sizes.size() != 2) return std::nullopt;
    const auto name = parse_integer(sizes[0]);
    const auto content = parse_integer(sizes[1]);
    if (!name || !content || *name < 0 || *content < 0) return std::nullopt;
    const auto name_size = static_cast<std::size_t>(*name);
    const auto content_size = static_cast<std::size_t>(*content);
    if (name_size > text.size() || content_size > text.size() - name_size) return std::nullopt;
    files.emplace_back(text.substr(0, name_size), text.substr(name_size, content_size));
    text.remove_prefix(name_size + content_size);
  }
  return files;
}

class OpenClExecutor : public Executor {
 public:
  OpenClExecutor(const OpenClApi* api, OpenClDevice device, fs::path folder)
      : api_(api), device_(std::move(device)), folder_(std::move(folder)) {}

  Result<void> open() {
    cl_int code = CL_SUCCESS;
    context_ = {api_, api_->create_context(nullptr, 1, &device_.device, nullptr, nullptr, &code)};
    if (code != CL_SUCCESS) return failure("cannot open " + device_.info.name, code);
    queue_ = {api_, api_->create_command_queue(context_.get(), device_.device,
                                               CL_QUEUE_PROFILING_ENABLE, &code)};
    if (code != CL_SUCCESS) return failure("cannot make a queue with profiling", code);
    return {};
  }

  Result<BuildOutcome> build(const Source& source, const std::string& binary) override;
  Result<std::string> binary() override;
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
  Result<std::vector<CodeObject>> code() override;
  Result<MetricSet> resources(const std::string& kernel) override;

 private:
  struct Allocation {
    Memory memory;
    std::uint64_t bytes = 0;
  };

  bool is_pocl() const { return contains(device_.info.platform, "Portable Computing Language"); }
  bool is_cpu() const { return device_.info.vendor == "cpu"; }
  fs::path pocl_cache() const { return folder_ / "pocl"; }
  /// Files below PoCL's cache whose name ends so, relative to it, sorted.
  std::vector<std::string> pocl_files(std::string_view suffix) const;
  Result<Allocation*> find(const std::string& buffer);
  Result<KernelHandle> make_kernel(const std::string& name) const;
  Result<void> set_argument(cl_kernel kernel, const KernelLaunch& launch, std::size_t index);
  Result<Event> enqueue(std::size_t launch, bool with_event);
  Result<void> watch(std::size_t launch, const Event& event,
                     const std::function<void(Progress, int launch)>& progress) const;
  Result<std::pair<cl_ulong, cl_ulong>> span_of(const Event& event) const;

  const OpenClApi* api_;
  OpenClDevice device_;
  fs::path folder_;
  Context context_;
  Queue queue_;
  Program program_;
  std::map<std::string, Allocation> allocations_;
  Allocation flushed_;
  std::vector<char> flushed_host_;
  LaunchPlan plan_;
  int repetitions_ = 1;
  std::vector<KernelHandle> kernels_;  ///< one a launch, with its arguments bound
  std::map<std::string, Memory> views_;
  std::set<Shape> known_;
  std::vector<std::string> launched_;
};

std::vector<std::string> OpenClExecutor::pocl_files(std::string_view suffix) const {
  std::vector<std::string> found;
  std::error_code error;
  fs::recursive_directory_iterator at(pocl_cache(), error), end;
  while (!error && at != end) {
    if (at->is_regular_file(error) && at->path().filename().string().ends_with(suffix)) {
      found.push_back(at->path().lexically_relative(pocl_cache()).string());
    }
    at.increment(error);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<BuildOutcome> OpenClExecutor::build(const Source& source, const std::string& binary) {
  if (source.language != "opencl") {
    return bad_input(
        fmt::format("{} is {}, the device runs OpenCL C", source.file, source.language));
  }
  const steady_clock::time_point start = steady_clock::now();
  BURNISH_TRY_ASSIGN(const std::string text, compiler_input(source));
  // The folder's name is relative, so that the options, and with them PoCL's own key, are the same
  // in every session.
  const fs::path include_folder = "include";
  BURNISH_TRY(write_includes(source, folder_ / include_folder));
  std::string options = "-cl-kernel-arg-info -I " + include_folder.string();
  for (const std::string& option : source.options) options += " " + option;

  cl_int code = CL_SUCCESS;
  std::vector<std::string> handed_in;
  if (is_pocl()) {
    const auto files = unpack(binary);
    for (const auto& [name, content] :
         files.value_or(std::vector<std::pair<std::string, std::string>>{})) {
      BURNISH_TRY(real_file_system().write(pocl_cache() / name, content));
      handed_in.push_back(name);
    }
  }
  BuildOutcome outcome;
  if (!is_pocl() && !binary.empty()) {
    const std::size_t size = binary.size();
    const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
    cl_int status = CL_SUCCESS;
    program_ = {api_, api_->create_program_with_binary(context_.get(), 1, &device_.device, &size,
                                                       &bytes, &status, &code)};
    outcome.reused = code == CL_SUCCESS && status == CL_SUCCESS;
  }
  if (outcome.reused) {
    code =
        api_->build_program(program_.get(), 1, &device_.device, options.c_str(), nullptr, nullptr);
    outcome.reused = code == CL_SUCCESS;
  }
  if (!outcome.reused) {
    const char* pointer = text.c_str();
    const std::size_t size = text.size();
    program_ = {api_, api_->create_program_with_source(context_.get(), 1, &pointer, &size, &code)};
    if (code != CL_SUCCESS) return failure("cannot hand over the source", code);
    code =
        api_->build_program(program_.get(), 1, &device_.device, options.c_str(), nullptr, nullptr);
  }
  outcome.built = code == CL_SUCCESS;
  if (is_pocl()) outcome.reused = !handed_in.empty() && pocl_files("program.bc") == handed_in;

  std::size_t size = 0;
  api_->get_program_build_info(program_.get(), device_.device, CL_PROGRAM_BUILD_LOG, 0, nullptr,
                               &size);
  std::string log(size, '\0');
  if (size > 0) {
    api_->get_program_build_info(program_.get(), device_.device, CL_PROGRAM_BUILD_LOG, size,
                                 log.data(), nullptr);
  }
  outcome.log =
      with_source_names(to_valid_utf8(trim(log.c_str())), source, folder_ / include_folder);
  outcome.diagnostics = parse_diagnostics(outcome.log, source);
  if (!outcome.built && outcome.log.empty()) outcome.log = opencl_error_text(code);
  outcome.seconds = std::chrono::duration<double>(steady_clock::now() - start).count();
  if (!outcome.built && (code == CL_COMPILER_NOT_AVAILABLE || code == CL_OUT_OF_HOST_MEMORY)) {
    return failure("cannot compile", code);
  }
  return outcome;
}

Result<std::string> OpenClExecutor::binary() {
  if (is_pocl()) {
    // The compiler's output from before any kernel ran; clGetProgramInfo would also compile generic
    // work-group code that no launch uses, which takes as long as compiling the kernel.
    std::vector<std::pair<std::string, std::string>> files;
    for (const std::string& name : pocl_files("program.bc")) {
      BURNISH_TRY_ASSIGN(std::string content, real_file_system().read(pocl_cache() / name));
      files.emplace_back(name, std::move(content));
    }
    return pack(files);
  }
  if (device_.info.id == kSimulatorId) return std::string();
  std::size_t size = 0;
  cl_int code =
      api_->get_program_info(program_.get(), CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  if (code != CL_SUCCESS || size == 0) return std::string();
  std::string bytes(size, '\0');
  auto* pointer = reinterpret_cast<unsigned char*>(bytes.data());
  code = api_->get_program_info(program_.get(), CL_PROGRAM_BINARIES, sizeof pointer, &pointer,
                                nullptr);
  if (code != CL_SUCCESS) return failure("cannot read the binary", code);
  return bytes;
}

Result<OpenClExecutor::Allocation*> OpenClExecutor::find(const std::string& buffer) {
  const auto at = allocations_.find(buffer);
  if (at == allocations_.end()) return bug(fmt::format("no buffer \"{}\" was allocated", buffer));
  return &at->second;
}

Result<void> OpenClExecutor::allocate(const std::string& buffer, std::uint64_t bytes) {
  cl_int code = CL_SUCCESS;
  Allocation allocation;
  allocation.memory = {
      api_, api_->create_buffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code)};
  allocation.bytes = bytes;
  if (code != CL_SUCCESS) {
    return failure(fmt::format("cannot allocate {} for \"{}\"", with_binary_prefix(bytes), buffer),
                   code);
  }
  allocations_.insert_or_assign(buffer, std::move(allocation));
  return {};
}

Result<void> OpenClExecutor::release(const std::string& buffer) {
  kernels_.clear();
  views_.clear();
  allocations_.erase(buffer);
  return {};
}

Result<void> OpenClExecutor::fill(const std::string& buffer, std::uint32_t pattern) {
  BURNISH_TRY_ASSIGN(Allocation * allocation, find(buffer));
  const cl_int code =
      api_->enqueue_fill_buffer(queue_.get(), allocation->memory.get(), &pattern, sizeof pattern, 0,
                                allocation->bytes, 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return failure(fmt::format("cannot fill \"{}\"", buffer), code);
  return {};
}

Result<void> OpenClExecutor::write(const std::string& buffer, std::uint64_t offset,
                                   std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  BURNISH_TRY_ASSIGN(Allocation * allocation, find(buffer));
  const cl_int code =
      api_->enqueue_write_buffer(queue_.get(), allocation->memory.get(), CL_TRUE, offset,
                                 bytes.size(), bytes.data(), 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return failure(fmt::format("cannot write \"{}\"", buffer), code);
  return {};
}

Result<void> OpenClExecutor::read(const std::string& buffer, std::uint64_t offset,
                                  std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  BURNISH_TRY_ASSIGN(Allocation * allocation, find(buffer));
  const cl_int code =
      api_->enqueue_read_buffer(queue_.get(), allocation->memory.get(), CL_TRUE, offset,
                                bytes.size(), bytes.data(), 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return failure(fmt::format("cannot read \"{}\" back", buffer), code);
  return {};
}

Result<KernelHandle> OpenClExecutor::make_kernel(const std::string& name) const {
  cl_int code = CL_SUCCESS;
  KernelHandle kernel(api_, api_->create_kernel(program_.get(), name.c_str(), &code));
  if (code == CL_SUCCESS) return kernel;
  Error error = failure(fmt::format("kernel \"{}\"", name), code);
  std::size_t size = 0;
  if (api_->get_program_info(program_.get(), CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size) ==
      CL_SUCCESS) {
    std::string names(size, '\0');
    api_->get_program_info(program_.get(), CL_PROGRAM_KERNEL_NAMES, size, names.data(), nullptr);
    error.hint = "the source has: " + replace_all(names.c_str(), ";", ", ");
  }
  return error;
}

Result<void> OpenClExecutor::set_argument(cl_kernel kernel, const KernelLaunch& launch,
                                          std::size_t index) {
  const Argument& argument = launch.arguments[index];
  std::size_t size = 0;
  const void* value = nullptr;
  cl_mem memory = nullptr;
  std::vector<std::byte> scalar;
  std::string given;
  if (const auto* pointer = std::get_if<Argument::Pointer>(&argument.value)) {
    const auto view = views_.find(pointer->buffer);
    if (view == views_.end())
      return bug(fmt::format("no buffer \"{}\" was placed", pointer->buffer));
    memory = view->second.get();
    value = &memory;
    size = sizeof memory;
    given = fmt::format("buffer \"{}\"", pointer->buffer);
  } else if (const auto* number = std::get_if<Argument::Scalar>(&argument.value)) {
    scalar = from_doubles(number->dtype, std::span(&number->value, 1));
    value = scalar.data();
    size = scalar.size();
    given = fmt::format("an {}", to_string(number->dtype));
  } else if (const auto* local = std::get_if<Argument::Local>(&argument.value)) {
    size = local->bytes;
    given = fmt::format("{} bytes of local memory", size);
  } else if (const auto* bytes = std::get_if<Argument::Bytes>(&argument.value)) {
    value = bytes->bytes.data();
    size = bytes->bytes.size();
    given = fmt::format("{} bytes", size);
  } else {
    return refused(fmt::format("argument {} of kernel \"{}\" is a tensor map: OpenCL has none",
                               index + 1, launch.kernel));
  }
  const cl_int code = api_->set_kernel_arg(kernel, static_cast<cl_uint>(index), size, value);
  if (code == CL_SUCCESS) return {};
  std::string wants;
  char type[128] = "";
  if (api_->get_kernel_arg_info(kernel, static_cast<cl_uint>(index), CL_KERNEL_ARG_TYPE_NAME,
                                sizeof type - 1, type, nullptr) == CL_SUCCESS) {
    wants = fmt::format(", which is of type {}", type);
  }
  return failure(fmt::format("argument {} of kernel \"{}\"{}, was given {}", index + 1,
                             launch.kernel, wants, given),
                 code);
}

Result<void> OpenClExecutor::stage(const LaunchPlan& plan, const std::vector<Placement>& placements,
                                   int repetitions) {
  kernels_.clear();
  views_.clear();
  plan_ = plan;
  repetitions_ = repetitions;
  for (const Placement& placement : placements) {
    BURNISH_TRY_ASSIGN(Allocation * allocation, find(placement.buffer));
    // OpenCL has no empty buffers; the kernel is told of the size by other arguments.
    const cl_buffer_region region{placement.offset, std::max<std::uint64_t>(placement.bytes, 1)};
    cl_int code = CL_SUCCESS;
    Memory view(api_, api_->create_sub_buffer(allocation->memory.get(), CL_MEM_READ_WRITE,
                                              CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
    if (code != CL_SUCCESS)
      return failure(fmt::format("cannot place \"{}\"", placement.buffer), code);
    views_.insert_or_assign(placement.buffer, std::move(view));
  }
  for (const KernelLaunch& launch : plan_.launches) {
    if (launch.shared_bytes > 0) {
      return refused(
                 fmt::format("kernel \"{}\": OpenCL has no dynamic shared memory", launch.kernel))
          .with_hint("pass a local-memory argument instead");
    }
    if (launch.cluster != std::array<std::int64_t, 3>{1, 1, 1}) {
      return refused(fmt::format("kernel \"{}\": OpenCL has no clusters", launch.kernel));
    }
    BURNISH_TRY_ASSIGN(KernelHandle kernel, make_kernel(launch.kernel));
    cl_uint count = 0;
    api_->get_kernel_info(kernel.get(), CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
    if (count != launch.arguments.size()) {
      return refused(fmt::format("kernel \"{}\" takes {} arguments, the launch gives {}",
                                 launch.kernel, count, launch.arguments.size()));
    }
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      BURNISH_TRY(set_argument(kernel.get(), launch, i));
    }
    kernels_.push_back(std::move(kernel));
  }
  const cl_int code = api_->finish(queue_.get());
  if (code != CL_SUCCESS) return failure("cannot fill the buffers", code);
  return {};
}

Result<void> OpenClExecutor::flush_caches(std::uint64_t bytes) {
  cl_int code = CL_SUCCESS;
  if (is_cpu()) {
    write_over_caches(flushed_host_, bytes);
    for (const auto& [name, buffer] : allocations_) {
      // A CPU's buffers lie in the memory of this process: to map one is to be told where.
      void* const mapped =
          api_->enqueue_map_buffer(queue_.get(), buffer.memory.get(), CL_TRUE, CL_MAP_READ, 0,
                                   buffer.bytes, 0, nullptr, nullptr, &code);
      if (code != CL_SUCCESS) return failure(fmt::format("cannot map \"{}\"", name), code);
      evict({static_cast<const std::byte*>(mapped), buffer.bytes});
      code = api_->enqueue_unmap_mem_object(queue_.get(), buffer.memory.get(), mapped, 0, nullptr,
                                            nullptr);
      if (code != CL_SUCCESS) return failure(fmt::format("cannot unmap \"{}\"", name), code);
    }
    code = api_->finish(queue_.get());
    if (code != CL_SUCCESS) return failure("cannot flush the caches", code);
    return {};
  }
  if (flushed_.bytes != bytes) {
    flushed_.memory = {
        api_, api_->create_buffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code)};
    if (code != CL_SUCCESS) return failure("cannot allocate what flushes the caches", code);
    flushed_.bytes = bytes;
  }
  static std::uint32_t value = 0;
  ++value;
  code = api_->enqueue_fill_buffer(queue_.get(), flushed_.memory.get(), &value, sizeof value, 0,
                                   bytes, 0, nullptr, nullptr);
  if (code == CL_SUCCESS) code = api_->finish(queue_.get());
  if (code != CL_SUCCESS) return failure("cannot flush the caches", code);
  return {};
}

Result<Event> OpenClExecutor::enqueue(std::size_t launch, bool with_event) {
  const KernelLaunch& what = plan_.launches[launch];
  std::array<std::size_t, 3> global{}, local{};
  cl_uint dimensions = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    local[i] = static_cast<std::size_t>(what.block[i]);
    global[i] = static_cast<std::size_t>(what.grid[i]) * local[i];
    if (global[i] > 1) dimensions = static_cast<cl_uint>(i + 1);
  }
  cl_event event = nullptr;
  const cl_int code = api_->enqueue_ndrange_kernel(queue_.get(), kernels_[launch].get(), dimensions,
                                                   nullptr, global.data(), local.data(), 0, nullptr,
                                                   with_event ? &event : nullptr);
  if (code != CL_SUCCESS) {
    return failure(fmt::format("cannot launch kernel \"{}\" with blocks of {}×{}×{} and a grid of "
                               "{}×{}×{}",
                               what.kernel, local[0], local[1], local[2], what.grid[0],
                               what.grid[1], what.grid[2]),
                   code);
  }
  return Event(api_, event);
}

Result<void> OpenClExecutor::watch(
    std::size_t launch, const Event& event,
    const std::function<void(Progress, int launch)>& progress) const {
  // PoCL compiles a launch between CL_SUBMITTED and CL_RUNNING.
  bool is_running = false;
  progress(Progress::compiling, static_cast<int>(launch));
  while (true) {
    cl_int status = CL_QUEUED;
    const cl_int code = api_->get_event_info(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS,
                                             sizeof status, &status, nullptr);
    if (code != CL_SUCCESS) return failure("cannot ask how far a launch is", code);
    if (status <= CL_RUNNING && !is_running) {
      is_running = true;
      progress(Progress::running, static_cast<int>(launch));
    }
    if (status <= CL_COMPLETE) return {};
    std::this_thread::sleep_for(kWatchPeriod);
  }
}

Result<std::pair<cl_ulong, cl_ulong>> OpenClExecutor::span_of(const Event& event) const {
  cl_int status = CL_COMPLETE;
  api_->get_event_info(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                       nullptr);
  if (status < 0) return failure("a kernel failed while it ran", status);
  cl_ulong start = 0, end = 0;
  cl_int code = api_->get_event_profiling_info(event.get(), CL_PROFILING_COMMAND_START,
                                               sizeof start, &start, nullptr);
  if (code == CL_SUCCESS) {
    code = api_->get_event_profiling_info(event.get(), CL_PROFILING_COMMAND_END, sizeof end, &end,
                                          nullptr);
  }
  if (code != CL_SUCCESS) return failure("cannot read a launch's time", code);
  return std::pair(start, end);
}

Result<Times> OpenClExecutor::launch(const std::function<void(Progress, int launch)>& progress) {
  std::vector<std::string> before;
  bool is_watched = false;
  if (is_pocl()) {
    for (const KernelLaunch& launch : plan_.launches) {
      is_watched = known_.emplace(launch.kernel, launch.block, launch.grid).second || is_watched;
    }
    if (is_watched) before = pocl_files(".so");
  }
  std::vector<Event> first, last;
  for (int repetition = 0; repetition < repetitions_; ++repetition) {
    const bool is_first = repetition == 0, is_last = repetition == repetitions_ - 1;
    for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
      const bool is_needed = is_last || (is_first && (i == 0 || is_watched));
      BURNISH_TRY_ASSIGN(Event event, enqueue(i, is_needed));
      if (is_needed) (is_last ? last : first).push_back(std::move(event));
    }
  }
  api_->flush(queue_.get());
  if (is_watched) {
    const std::vector<Event>& watched = first.empty() ? last : first;
    for (std::size_t i = 0; i < watched.size(); ++i) BURNISH_TRY(watch(i, watched[i], progress));
  }
  const cl_int code = api_->finish(queue_.get());
  if (code != CL_SUCCESS) return failure("the kernels did not end well", code);

  Times times;
  times.timer = "opencl event profiling";
  if (is_watched) times.compiled = pocl_files(".so") != before;
  cl_ulong begin = 0, end = 0;
  for (const Event& event : last) {
    BURNISH_TRY_ASSIGN(const auto span, span_of(event));
    if (times.launch_seconds.empty()) begin = span.first;
    end = span.second;
    times.launch_seconds.push_back(1e-9 * static_cast<double>(span.second - span.first));
  }
  if (!first.empty()) {
    BURNISH_TRY_ASSIGN(const auto span, span_of(first.front()));
    begin = span.first;
  }
  if (end < begin) return environment_error("the driver's clock ran backwards");
  times.device_seconds = 1e-9 * static_cast<double>(end - begin);
  for (const KernelLaunch& launch : plan_.launches) {
    if (std::find(launched_.begin(), launched_.end(), launch.kernel) == launched_.end()) {
      launched_.push_back(launch.kernel);
    }
  }
  return times;
}

Result<std::vector<CodeObject>> OpenClExecutor::code() {
  std::vector<CodeObject> objects;
  if (is_pocl()) {
    // <2 letters>/<hash>/<kernel>/<x-y-z-…>/<kernel>.so; 0-0-0 is the generic one, which none uses.
    for (const std::string& name : pocl_files(".so")) {
      const fs::path path = name;
      const std::string kernel = path.stem().string();
      const bool is_generic = path.parent_path().filename().string().starts_with("0-0-0");
      if (is_generic || std::find(launched_.begin(), launched_.end(), kernel) == launched_.end()) {
        continue;
      }
      BURNISH_TRY_ASSIGN(std::string bytes, real_file_system().read(pocl_cache() / path));
      objects.push_back({kernel, ".so", std::move(bytes)});
    }
    return objects;
  }
  BURNISH_TRY_ASSIGN(std::string bytes, binary());
  if (!bytes.empty()) {
    const bool is_elf = bytes.starts_with(
        "\x7f"
        "ELF");
    const bool is_ptx = !is_elf && device_.info.vendor == "nvidia";
    objects.push_back({"", is_ptx ? ".ptx" : is_elf ? ".co" : ".bin", std::move(bytes)});
  }
  return objects;
}

Result<MetricSet> OpenClExecutor::resources(const std::string& kernel) {
  BURNISH_TRY_ASSIGN(const KernelHandle handle, make_kernel(kernel));
  MetricSet metrics;
  const auto add = [&](const char* name, const char* raw, const char* unit, double value) {
    Metric metric;
    metric.name = name;
    metric.value = value;
    metric.unit = unit;
    metric.where.file = "device";
    metric.where.locator = "kernel " + kernel;
    metric.where.raw_name = raw;
    metrics.add(std::move(metric));
  };
  const auto query = [&](cl_kernel_work_group_info what, auto& value) {
    return api_->get_kernel_work_group_info(handle.get(), device_.device, what, sizeof value,
                                            &value, nullptr) == CL_SUCCESS;
  };
  cl_ulong bytes = 0;
  if (query(CL_KERNEL_LOCAL_MEM_SIZE, bytes) && bytes <= device_.info.shared_bytes) {
    add("shared.static_bytes", "CL_KERNEL_LOCAL_MEM_SIZE", "B", static_cast<double>(bytes));
  }
  // On a CPU PoCL answers with the local memory's size here.
  if (!is_cpu() && query(CL_KERNEL_PRIVATE_MEM_SIZE, bytes) && bytes < (1u << 20)) {
    add("scratch.bytes", "CL_KERNEL_PRIVATE_MEM_SIZE", "B", static_cast<double>(bytes));
  }
  std::size_t count = 0;
  if (query(CL_KERNEL_WORK_GROUP_SIZE, count) && count > 0) {
    add("CL_KERNEL_WORK_GROUP_SIZE", "CL_KERNEL_WORK_GROUP_SIZE", "1", static_cast<double>(count));
  }
  return metrics;
}

}  // namespace

Result<std::unique_ptr<Executor>> open_opencl_executor(const DeviceInfo& info,
                                                       const fs::path& folder) {
  BURNISH_TRY(show_opencl_drivers(info, folder));
  BURNISH_TRY_ASSIGN(const OpenClApi* api, opencl_api());
  BURNISH_TRY_ASSIGN(std::vector<OpenClDevice> devices, enumerate_opencl(*api));
  for (OpenClDevice& device : devices) {
    if (device.info.id != info.id) continue;
    if (device.info.name != info.name) {
      return environment_error(fmt::format("{} is now \"{}\", it was \"{}\"", info.id,
                                           device.info.name, info.name))
          .with_hint("list the devices again");
    }
    auto executor = std::make_unique<OpenClExecutor>(api, std::move(device), folder);
    BURNISH_TRY(executor->open());
    return std::unique_ptr<Executor>(std::move(executor));
  }
  return environment_error(fmt::format("the device {} (\"{}\") is gone", info.id, info.name));
}

}  // namespace burnish::device
