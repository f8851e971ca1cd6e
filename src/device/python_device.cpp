#include "device/python_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/clock.h"
#include "base/data.h"
#include "base/dtype.h"
#include "base/json.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "device/cpu_caches.h"
#include "device/protocol.h"
#include "device/sandbox.h"
#include "device/shared_memory.h"

namespace burnish::device {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kGuardBytes = 4096;
constexpr std::uint64_t kDriftBytes = 64 * 1024;
constexpr std::uint64_t kAlignment = 128;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargestFlush = 512u << 20;
constexpr std::size_t kLongestAnswer = 1u << 16;
constexpr std::uint64_t kLargestPrinting = 8u << 20;
constexpr milliseconds kStart{60'000};
/// For processes to stop or to answer what is no work.
constexpr milliseconds kSoon{10'000};

std::vector<std::string> numbers_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (parse_integer(name)) names.push_back(name);
  }
  return names;
}

/// State ("R", "T", …) and parent of a process or thread, from the stat file in its folder.
std::optional<std::pair<char, std::int64_t>> state_of(const fs::path& folder) {
  const auto text = real_file_system().read(folder / "stat");
  if (!text) return std::nullopt;
  const std::size_t end = text->rfind(')');
  if (end == std::string::npos || end + 4 >= text->size()) return std::nullopt;
  return std::pair((*text)[end + 2], std::strtol(text->c_str() + end + 4, nullptr, 10));
}

/// `root` and all below it. The lists of children that most kernels keep are much quicker to read
/// than the parents of all processes there are.
std::set<std::int64_t> family(std::int64_t root) {
  static const bool lists_children =
      ::access(fmt::format("/proc/self/task/{}/children", ::getpid()).c_str(), R_OK) == 0;
  std::multimap<std::int64_t, std::int64_t> children;
  if (!lists_children) {
    for (const std::string& name : numbers_in("/proc")) {
      if (const auto state = state_of("/proc/" + name)) {
        children.emplace(state->second, *parse_integer(name));
      }
    }
  }
  std::vector<std::int64_t> found{root};
  for (std::size_t at = 0; at < found.size(); ++at) {
    if (lists_children) {
      const fs::path tasks = fmt::format("/proc/{}/task", found[at]);
      for (const std::string& thread : numbers_in(tasks)) {
        const auto list = real_file_system().read(tasks / thread / "children");
        if (!list) continue;
        for (const std::string_view pid : split(*list, ' ')) {
          if (const auto number = parse_integer(trim(pid))) found.push_back(*number);
        }
      }
      continue;
    }
    const auto [from, to] = children.equal_range(found[at]);
    for (auto child = from; child != to; ++child) found.push_back(child->second);
  }
  return {found.begin(), found.end()};
}

/// Nanoseconds of all threads that the process has or had; 0 when it is gone.
std::int64_t cpu_time(std::int64_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(static_cast<pid_t>(process), &clock) != 0 ||
      ::clock_gettime(clock, &time) != 0) {
    return 0;
  }
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

bool has_stopped(std::int64_t process) {
  const fs::path tasks = fmt::format("/proc/{}/task", process);
  for (const std::string& thread : numbers_in(tasks)) {
    const auto state = state_of(tasks / thread);
    if (state && std::strchr("TtZX", state->first) == nullptr) return false;
  }
  return true;
}

std::string_view numpy_name(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "f8";
    case DType::f32:
      return "f4";
    case DType::f16:
      return "f2";
    case DType::bf16:
      return "u2";
    case DType::fp8e4m3:
    case DType::fp8e5m2:
    case DType::u8:
      return "u1";
    case DType::i64:
      return "i8";
    case DType::i32:
      return "i4";
    case DType::i16:
      return "i2";
    case DType::i8:
      return "i1";
    case DType::boolean:
      return "?";
  }
  return "u1";
}

struct Slot {
  Buffer buffer;
  std::uint64_t at = 0, allocated = 0;  ///< of the allocation, in the shared memory
  std::uint64_t offset = 0;             ///< of the content in the allocation
};

class PythonSession : public Session {
 public:
  PythonSession(DeviceInfo info, const Limits& limits)
      : info_(std::move(info)), limits_(limits), generator_(real_random().seed()) {}
  ~PythonSession() override { child_.reset(); }

  Result<void> start(const fs::path& python, const Source& source);

  const BuildReport& build() const override { return report_; }
  Result<void> prepare(const std::vector<Buffer>& buffers) override;
  Result<RunResult> run(const RunRequest& request) override;
  Result<std::vector<CodeObject>> code() override { return std::vector<CodeObject>{}; }
  Result<MetricSet> resources(const std::string&) override { return MetricSet{}; }
  std::string messages() const override {
    return to_valid_utf8(child_ ? child_->errors() : last_messages_);
  }

 private:
  Result<void> lay_out(const std::vector<Buffer>& buffers, std::vector<Slot>& slots,
                       std::uint64_t& end) const;
  Result<void> fill(const RunRequest& request);
  Result<Json> call_of(const KernelLaunch& launch) const;
  Result<void> stop();
  Result<void> hold_to_the_stop();
  Error could_not_be_stopped();
  void go_on();
  Result<void> send(const Json& message);
  /// One line, with the candidate's exceptions made errors.
  Result<Json> receive(milliseconds deadline, const std::string& what);
  Error fail(const Error& error, milliseconds deadline, const std::string& what);

  DeviceInfo info_;
  Limits limits_;
  Generator generator_;
  BuildReport report_;
  std::string file_;
  std::optional<TemporaryFolder> folder_;
  std::optional<ChildProcess> child_;
  std::int64_t root_ = 0;  ///< of the processes to be stopped
  std::set<std::int64_t> stopped_, known_;
  std::map<std::int64_t, std::int64_t> used_;  ///< by what is stopped: CPU time, nanoseconds
  SharedMemory shared_;
  std::vector<Slot> tensors_, scratch_;
  std::uint64_t tensors_end_ = 0;
  std::vector<char> flushed_;
  std::optional<Error> failure_;
  std::string last_messages_;
};

Result<void> PythonSession::start(const fs::path& python, const Source& source) {
  BURNISH_TRY_ASSIGN(shared_, SharedMemory::make(limits_.memory_bytes));
  BURNISH_TRY_ASSIGN(const DataFile script, data_file("python/worker.py"));
  // Namespaces are entered by our own program, which this is not.
  const Confinement confinement = best_sandbox().confinement == Confinement::bubblewrap
                                      ? Confinement::bubblewrap
                                      : Confinement::process_group;
  fs::path folder = kPrivateFolder;
  if (confinement == Confinement::process_group) {
    BURNISH_TRY_ASSIGN(folder_, TemporaryFolder::make("burnish-python"));
    folder = folder_->path();
  }
  ProcessSpec spec;
  spec.argv = confined_command(confinement, DeviceFiles::none, python);
  spec.argv.pop_back();  // "worker"
  for (const char* argument : {"-B", "-I", "-c"}) spec.argv.emplace_back(argument);
  spec.argv.emplace_back(script.content);
  spec.environment = worker_environment(confinement, folder);
  spec.pass_fds = {{shared_.fd(), kSharedMemory}};
  spec.error_limit = kLargestPrinting;
  spec.memory_limit = shared_.bytes();
  file_ = source.file;
  const auto began = real_clock().steady();
  BURNISH_TRY_ASSIGN(child_, ChildProcess::start(spec));
  // What escapes from its parent lands below the process that watches over the tree.
  const auto state = state_of(fmt::format("/proc/{}", child_->pid()));
  root_ = confinement == Confinement::bubblewrap || !state ? child_->pid() : state->second;

  Json message = Json::object();
  message["bytes"] = shared_.bytes();
  message["folder"] = folder.string();
  message["file"] = source.file;
  message["text"] = source.text;
  message["also"] = source.also;
  message["macros"] = source.macros;
  BURNISH_TRY(send(message));
  BURNISH_TRY(receive(std::max(limits_.build, kStart), "importing " + file_));
  report_.seconds = std::chrono::duration<double>(real_clock().steady() - began).count();
  return stop();
}

Error PythonSession::fail(const Error& error, milliseconds deadline, const std::string& what) {
  const ProcessResult end = child_->finish();
  last_messages_ = end.errors;
  child_.reset();
  Error result = refused(fmt::format("{}: the process {}", what, end.describe()));
  if (end.end == ProcessResult::End::timed_out) {
    result = timed_out(fmt::format("{} took longer than {} and was stopped", what,
                                   with_prefix(static_cast<double>(deadline.count()) * 1e-3, "s")));
  }
  if (const auto words = trim(last_messages_); !words.empty()) {
    result.context.push_back(
        "its last words: " +
        to_valid_utf8(words.size() > 600 ? words.substr(words.size() - 600) : words));
  }
  failure_ = result;
  return error.kind == ErrorKind::bug ? error : result;
}

Result<void> PythonSession::send(const Json& message) {
  if (failure_) return *failure_;
  const auto sent = child_->write(dump_json_line(message) + "\n", kSoon);
  if (!sent) return fail(sent.error(), kSoon, "talking to the worker");
  return {};
}

Result<Json> PythonSession::receive(milliseconds deadline, const std::string& what) {
  if (failure_) return *failure_;
  std::string line;
  while (true) {
    const auto byte = child_->read(1, deadline);
    if (!byte) return fail(byte.error(), deadline, what);
    if (*byte == "\n") break;
    line += *byte;
    if (line.size() <= kLongestAnswer) continue;
    child_.reset();
    failure_ = refused(what + ": the answer is too long to be one");
    return *failure_;
  }
  const auto json = parse_json(line, "the worker's answer");
  if (!json || !json->is_object()) {
    child_.reset();
    failure_ = refused(what + ": the worker's answer makes no sense")
                   .with_hint("the candidate writes into the worker's channel");
    return *failure_;
  }
  if (const auto error = json->find("error"); error != json->end() && error->is_string()) {
    const auto number = json->find("line");
    const int at = number != json->end() && number->is_number_integer() ? number->get<int>() : 0;
    return refused(to_valid_utf8(error->get<std::string>())).at({file_, std::max(at, 0), 0});
  }
  return *json;
}

/// Stops the process and all that it started, and waits until none runs any more.
Result<void> PythonSession::stop() {
  const auto until = real_clock().steady() + kSoon;
  for (const std::int64_t process : known_) ::kill(static_cast<pid_t>(process), SIGSTOP);
  // A process may have been started while the list was made.
  for (bool all = false; !all;) {
    all = true;
    for (const std::int64_t process : family(root_)) {
      if (process == root_ && process != child_->pid()) continue;  // the one that watches
      if (stopped_.insert(process).second) {
        all = false;
        ::kill(static_cast<pid_t>(process), SIGSTOP);
      }
    }
  }
  for (const std::int64_t process : stopped_) {
    while (!has_stopped(process)) {
      ::kill(static_cast<pid_t>(process), SIGSTOP);  // again, for what was woken meanwhile
      if (real_clock().steady() > until) {
        return could_not_be_stopped();
      }
    }
  }
  // A thread is seen as stopped shortly before it leaves its processor.
  const auto used = [&] {
    std::map<std::int64_t, std::int64_t> by_process;
    for (const std::int64_t process : stopped_) by_process[process] = cpu_time(process);
    return by_process;
  };
  for (used_ = used();;) {
    auto now = used();
    if (now == used_) return {};
    if (real_clock().steady() > until) return could_not_be_stopped();
    used_ = std::move(now);
  }
}

Error PythonSession::could_not_be_stopped() {
  child_.reset();
  failure_ = refused(file_ + " could not be stopped between two calls")
                 .with_hint("something wakes it: a timer, or another process, that sends SIGCONT");
  return *failure_;
}

/// What was stopped must not have run since: a timer or a signal can wake it, to see inputs before
/// the clock runs or to work on after it.
Result<void> PythonSession::hold_to_the_stop() {
  for (const auto& [process, before] : used_) {
    if (has_stopped(process) && cpu_time(process) <= before) continue;
    child_.reset();
    failure_ = refused(file_ + " went on while it was stopped between two calls")
                   .with_hint("something woke it: a timer, or another process, that sends SIGCONT");
    return *failure_;
  }
  return {};
}

void PythonSession::go_on() {
  for (const std::int64_t process : stopped_) ::kill(static_cast<pid_t>(process), SIGCONT);
  known_ = std::move(stopped_);
  stopped_.clear();
  used_.clear();
}

Result<void> PythonSession::lay_out(const std::vector<Buffer>& buffers, std::vector<Slot>& slots,
                                    std::uint64_t& end) const {
  slots.clear();
  for (const Buffer& buffer : buffers) {
    Slot slot;
    slot.buffer = buffer;
    slot.at = end;
    if (buffer.bytes > shared_.bytes()) end = shared_.bytes();
    slot.allocated = (buffer.bytes + 2 * kGuardBytes + kDriftBytes + kPage - 1) / kPage * kPage;
    end += slot.allocated;
    if (end > shared_.bytes()) {
      return environment_error(
          fmt::format("the buffers need more than the {} that a worker may use",
                      with_binary_prefix(shared_.bytes())));
    }
    slots.push_back(std::move(slot));
  }
  return {};
}

Result<void> PythonSession::prepare(const std::vector<Buffer>& buffers) {
  if (failure_) return *failure_;
  scratch_.clear();
  tensors_end_ = 0;
  return lay_out(buffers, tensors_, tensors_end_);
}

Result<void> PythonSession::fill(const RunRequest& request) {
  std::vector<std::byte> bytes;
  for (std::vector<Slot>* group : {&tensors_, &scratch_}) {
    if (group == &scratch_ && request.scratch == RunRequest::Scratch::kept) continue;
    for (Slot& slot : *group) {
      const std::uint64_t before = slot.offset;
      while (slot.offset == 0 || (request.addresses == Addresses::fresh && slot.offset == before)) {
        slot.offset = kGuardBytes + kAlignment * generator_.below(kDriftBytes / kAlignment + 1);
      }
      bytes.resize(slot.allocated);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(request.poison >> (8 * ((i - slot.offset) % 4)));
      }
      if (const auto found = request.contents.find(slot.buffer.name);
          found != request.contents.end() && found->second.size() != slot.buffer.bytes) {
        return bug(fmt::format("the content of \"{}\" has the wrong size", slot.buffer.name));
      }
      BURNISH_TRY(shared_.put(slot.at, bytes));
    }
  }
  return {};
}

Result<Json> PythonSession::call_of(const KernelLaunch& launch) const {
  Json call = Json::object();
  call["kernel"] = launch.kernel;
  Json arguments = Json::array();
  for (const Argument& argument : launch.arguments) {
    Json one = Json::object();
    if (const auto* scalar = std::get_if<Argument::Scalar>(&argument.value)) {
      one["scalar"] = scalar->value;
      one["integer"] = !is_floating(scalar->dtype);
    } else if (const auto* array = std::get_if<Argument::TensorMap>(&argument.value)) {
      const Slot* found = nullptr;
      for (const std::vector<Slot>* group : {&tensors_, &scratch_}) {
        for (const Slot& slot : *group) {
          if (slot.buffer.name == array->buffer) found = &slot;
        }
      }
      std::uint64_t bytes = size_of(array->dtype);
      for (const std::int64_t size : array->shape) bytes *= static_cast<std::uint64_t>(size);
      if (found == nullptr || bytes != found->buffer.bytes) {
        return bug(fmt::format("no buffer \"{}\" of {} bytes", array->buffer, bytes));
      }
      one["dtype"] = numpy_name(array->dtype);
      one["shape"] = array->shape;
      one["offset"] = found->at + found->offset;
    } else {
      return refused(fmt::format("{}: Python functions take arrays and scalars", launch.kernel));
    }
    arguments.push_back(std::move(one));
  }
  call["arguments"] = std::move(arguments);
  return call;
}

Result<RunResult> PythonSession::run(const RunRequest& request) {
  if (failure_) return *failure_;
  std::uint64_t end = tensors_end_;
  if (scratch_.size() != request.plan->scratch.size()) {
    BURNISH_TRY(lay_out(request.plan->scratch, scratch_, end));
  }
  // All of it is stopped. The addresses are told first, so that nothing but the call is timed; the
  // arrays hold poison until it is stopped again.
  BURNISH_TRY(fill(request));
  Json message = Json::object();
  message["repetitions"] = request.repetitions;
  message["launches"] = Json::array();
  for (const KernelLaunch& launch : request.plan->launches) {
    BURNISH_TRY_ASSIGN(Json call, call_of(launch));
    message["launches"].push_back(std::move(call));
  }
  std::vector<std::string> names;
  for (const KernelLaunch& launch : request.plan->launches) names.push_back(launch.kernel);
  const std::string what = "running " + join(names, ", ");
  BURNISH_TRY(send(message));
  BURNISH_TRY(hold_to_the_stop());
  go_on();
  BURNISH_TRY(receive(kSoon, what));
  BURNISH_TRY(stop());
  for (const Slot& slot : tensors_) {
    const auto found = request.contents.find(slot.buffer.name);
    if (found != request.contents.end())
      BURNISH_TRY(shared_.put(slot.at + slot.offset, found->second));
  }

  RunResult result;
  result.timer = "judge's clock round the call";
  if (request.caches == Caches::cold) {
    result.flushed_bytes = std::min(2 * info_.cache_bytes, kLargestFlush);
    write_over_caches(flushed_, result.flushed_bytes);
    for (const std::vector<Slot>* group : {&tensors_, &scratch_}) {
      for (const Slot& slot : *group) BURNISH_TRY(shared_.evict(slot.at, slot.allocated));
    }
  }
  Json go = Json::object();
  go["go"] = fmt::format("{:016x}", generator_.next());
  BURNISH_TRY(send(go));
  BURNISH_TRY(hold_to_the_stop());
  const auto from = real_clock().steady();
  go_on();
  const auto answer = receive(limits_.run, what);
  if (!answer) return answer.error();
  // Whoever works on behind the answer does so on the clock.
  BURNISH_TRY(stop());
  const auto to = real_clock().steady();
  if (const auto word = answer->find("done"); word == answer->end() || *word != go["go"]) {
    child_.reset();
    failure_ = refused(what + ": the answer is not that to this call")
                   .with_hint("the candidate writes into the worker's channel");
    return *failure_;
  }
  result.host_seconds = result.device_seconds = std::chrono::duration<double>(to - from).count();
  result.launch_seconds.assign(
      request.plan->launches.size(),
      result.host_seconds / request.repetitions /
          static_cast<double>(std::max<std::size_t>(request.plan->launches.size(), 1)));
  if (request.read_back == RunRequest::ReadBack::yes) {
    for (const std::vector<Slot>* group : {&tensors_, &scratch_}) {
      for (const Slot& slot : *group) {
        BufferState& state = result.buffers[slot.buffer.name];
        const std::uint64_t after = slot.offset + slot.buffer.bytes;
        state.before.resize(slot.offset);
        state.content.resize(slot.buffer.bytes);
        state.after.resize(slot.allocated - after);
        BURNISH_TRY(shared_.get(slot.at, state.before));
        BURNISH_TRY(shared_.get(slot.at + slot.offset, state.content));
        BURNISH_TRY(shared_.get(slot.at + after, state.after));
      }
    }
    BURNISH_TRY(hold_to_the_stop());
  }
  return result;
}

class PythonDevice : public Device {
 public:
  PythonDevice(DeviceInfo info, fs::path python)
      : info_(std::move(info)), python_(std::move(python)) {}
  const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Session>> open(const Source& source, const Limits& limits) override {
    auto session = std::make_unique<PythonSession>(info_, limits);
    BURNISH_TRY(session->start(python_, source));
    return std::unique_ptr<Session>(std::move(session));
  }
  Result<void> probe() override {
    Source source;
    source.language = "python";
    source.file = "probe.py";
    source.text = "def probe():\n    pass\n";
    BURNISH_TRY_ASSIGN(const auto session, open(source, {}));
    LaunchPlan plan;
    plan.launches.resize(1);
    plan.launches[0].kernel = "probe";
    RunRequest request;
    request.plan = &plan;
    BURNISH_TRY(session->run(request));
    return {};
  }

 private:
  DeviceInfo info_;
  fs::path python_;
};

struct Interpreter {
  fs::path path;
  std::string version;
};

Result<Interpreter> find_python() {
  // A python3 of the user's own often comes first on PATH and may lack numpy.
  for (const auto& candidate : {find_program({"python3"}), find_program({"/usr/bin/python3"})}) {
    if (!candidate) continue;
    ProcessSpec spec;
    spec.argv = {candidate->string(), "-I", "-c",
                 "import sys, numpy; print(sys.version.split()[0], numpy.__version__)"};
    BURNISH_TRY_ASSIGN(const ProcessResult result, real_process_runner().run(spec));
    if (result.ok()) return Interpreter{*candidate, std::string(trim(result.output))};
  }
  return environment_error("there is no python3 with numpy to run Python candidates")
      .with_hint("apt-get install python3-numpy");
}

}  // namespace

Result<DeviceInfo> python_device_info() {
  BURNISH_TRY_ASSIGN(const Interpreter python, find_python());
  const auto versions = split(python.version, ' ');
  DeviceInfo info;
  info.id = kPythonId;
  info.name = fmt::format("Python {} with numpy {} (host-code)", versions[0],
                          versions.size() > 1 ? versions[1] : "");
  info.backend = "python";
  info.vendor = "cpu";
  info.platform = "host-code";
  info.driver = python.version;
  info.compute_units = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  info.memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * kPage;
  info.cache_bytes = cpu_cache_bytes();
  info.timer_resolution = 1e-6;
  return info;
}

Result<std::unique_ptr<Device>> open_python_device(const DeviceInfo& info) {
  BURNISH_TRY_ASSIGN(const Interpreter python, find_python());
  return std::unique_ptr<Device>(std::make_unique<PythonDevice>(info, python.path));
}

}  // namespace burnish::device
