#include "device/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "device/build_log.h"
#include "device/opencl_devices.h"
#include "device/protocol.h"
#include "device/worker_process.h"
#include "device/worker_reply.h"

namespace burnish::device {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Guard bands are at least this long; where the content lies in the rest of its allocation is
/// drawn anew for Addresses::fresh.
constexpr std::uint64_t kGuardBytes = 4096;
constexpr std::uint64_t kDriftBytes = 64 * 1024;
/// Multiples of these are what CL_DEVICE_MEM_BASE_ADDR_ALIGN of PoCL (1,024 bits) and of NVIDIA's
/// OpenCL (4,096 bits) allow for sub-buffers; both suit every vector type and TMA's 128 bytes.
constexpr std::uint64_t kCpuAlignment = 128;
constexpr std::uint64_t kGpuAlignment = 512;
constexpr std::uint64_t kPage = 4096;
/// Of the spacer that moves buffers to other pages: two processes on PoCL took up to 7 % more or
/// less for the same matrix product of 512 KiB, for as long as they kept theirs.
constexpr std::uint64_t kLargestSpacer = 6u << 20;

constexpr std::uint64_t kLargestFlush = 512u << 20;
constexpr std::uint64_t kFlushOfUnknownCache = 256u << 20;
/// PoCL compiles at the first launch, and such a run is repeated; a second kernel of the plan may
/// still be compiled in the repetition.
constexpr int kLargestAttempts = 4;
constexpr std::int64_t kLargestGrid = std::int64_t{1} << 40;

/// What moving and filling buffers may take: trusted code, whatever the candidate.
milliseconds moving_deadline(std::uint64_t bytes) {
  return milliseconds(60'000 + static_cast<std::int64_t>(bytes / (100u << 10)));
}

struct Slot {
  Buffer buffer;
  std::uint64_t allocated = 0;
  std::uint64_t offset = 0;  ///< of the content in the allocation, this run
  std::uint64_t at = 0;      ///< of the allocation's copy in the shared memory
};

std::string kernels_text(const LaunchPlan& plan) {
  std::vector<std::string> names;
  for (const KernelLaunch& launch : plan.launches) {
    const std::string name = fmt::format("\"{}\"", launch.kernel);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return fmt::format("{} {}", names.size() == 1 ? "kernel" : "kernels", join(names, ", "));
}

class WorkerSession : public Session {
 public:
  WorkerSession(DeviceInfo info, Limits limits, DeviceOptions::Guards guards,
                std::unique_ptr<WorkerProcess> worker, BuildReport report)
      : info_(std::move(info)),
        limits_(limits),
        guards_(guards),
        worker_(std::move(worker)),
        report_(std::move(report)),
        generator_(real_random().seed()) {}

  const BuildReport& build() const override { return report_; }
  Result<void> prepare(const std::vector<Buffer>& buffers) override;
  Result<RunResult> run(const RunRequest& request) override;
  Result<std::vector<CodeObject>> code() override;
  Result<MetricSet> resources(const std::string& kernel) override;
  std::string messages() const override { return worker_->messages(); }
  std::string finish() override { return worker_->finish(); }

 private:
  using Slots = std::map<std::string, Slot>;

  bool has_guards() const { return guards_ == DeviceOptions::Guards::bands; }
  std::uint64_t alignment() const { return info_.vendor == "cpu" ? kCpuAlignment : kGpuAlignment; }
  Error too_large(Buffer::Role role) const;
  Result<Slots> lay_out(const std::vector<Buffer>& buffers) const;
  /// Makes the worker hold exactly `wanted` in place of `held`.
  Result<void> replace(Slots& held, Slots wanted);
  void assign_shared_memory();
  Result<void> check(const RunRequest& request) const;
  Result<void> check_launch(const KernelLaunch& launch, const LaunchPlan& plan) const;
  void draw_offsets(Addresses addresses);
  std::vector<Slot*> all_slots();
  Result<void> stage(const RunRequest& request, std::uint64_t flush);
  Result<Times> launch(const std::string& what, double& host_seconds);
  Result<std::map<std::string, BufferState>> read_back();

  DeviceInfo info_;
  Limits limits_;
  DeviceOptions::Guards guards_;
  std::unique_ptr<WorkerProcess> worker_;
  BuildReport report_;
  Generator generator_;
  Slots tensors_, scratch_;
};

Error WorkerSession::too_large(Buffer::Role role) const {
  // The tensors are the task's, and fit by themselves; scratch is the candidate's doing.
  if (role == Buffer::Role::scratch)
    return refused(fmt::format("with its scratch the buffers need more than the {} that a worker "
                               "may use",
                               with_binary_prefix(worker_->shared().bytes())))
        .with_hint("give the candidate less scratch");
  return environment_error(fmt::format("the buffers need more than the {} that a worker may use",
                                       with_binary_prefix(worker_->shared().bytes())))
      .with_hint("choose a smaller workload, or raise the memory limit");
}

Result<WorkerSession::Slots> WorkerSession::lay_out(const std::vector<Buffer>& buffers) const {
  Slots slots;
  for (const Buffer& buffer : buffers) {
    if (buffer.bytes > worker_->shared().bytes()) return too_large(buffer.role);
    Slot slot;
    slot.buffer = buffer;
    slot.allocated = has_guards() ? buffer.bytes + 2 * kGuardBytes + kDriftBytes : buffer.bytes;
    const std::uint64_t unit = has_guards() ? kCpuAlignment : sizeof(std::uint32_t);  // of poison
    slot.allocated = (std::max<std::uint64_t>(slot.allocated, 1) + unit - 1) / unit * unit;
    slot.offset = has_guards() ? kGuardBytes : 0;
    if (!slots.emplace(buffer.name, std::move(slot)).second) {
      return bad_input(fmt::format("two buffers are called \"{}\"", buffer.name));
    }
  }
  return slots;
}

void WorkerSession::assign_shared_memory() {
  std::uint64_t at = 0;
  for (Slot* slot : all_slots()) {
    slot->at = at;
    at += (slot->allocated + kPage - 1) / kPage * kPage;
  }
}

std::vector<Slot*> WorkerSession::all_slots() {
  std::vector<Slot*> slots;
  for (Slots* group : {&tensors_, &scratch_}) {
    for (auto& [name, slot] : *group) slots.push_back(&slot);
  }
  return slots;
}

Result<void> WorkerSession::replace(Slots& held, Slots wanted) {
  Json release = Json::array();
  for (const auto& [name, slot] : held) release.push_back(name);
  std::vector<Placement> allocate;
  std::uint64_t bytes = 0, together = 0;
  for (const auto& [name, slot] : wanted) {
    allocate.push_back({name, 0, slot.allocated});
    bytes += slot.allocated;
  }
  held.clear();
  for (const Slot* slot : all_slots()) together += slot->allocated + kPage;
  const bool fits = together + bytes + kPage * wanted.size() <= worker_->shared().bytes();
  if (!fits) allocate.clear();
  Json request = Json::object();
  request["do"] = "allocate";
  request["release"] = std::move(release);
  request["allocate"] = to_json(allocate);
  if (fits && &held == &tensors_ && has_guards()) {
    request["spacer"] = kPage * (1 + generator_.below(kLargestSpacer / kPage));
  }
  BURNISH_TRY(worker_->ask(request, {}, moving_deadline(bytes), "allocating the buffers"));
  if (!fits) return too_large(&held == &scratch_ ? Buffer::Role::scratch : Buffer::Role::in);
  held = std::move(wanted);
  assign_shared_memory();
  return {};
}

Result<void> WorkerSession::prepare(const std::vector<Buffer>& buffers) {
  BURNISH_TRY_ASSIGN(Slots wanted, lay_out(buffers));
  BURNISH_TRY(replace(scratch_, {}));
  return replace(tensors_, std::move(wanted));
}

Result<void> WorkerSession::check_launch(const KernelLaunch& launch, const LaunchPlan& plan) const {
  std::int64_t threads = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] < 1 || launch.block[i] < 1 || launch.grid[i] > kLargestGrid ||
        launch.block[i] > kLargestGrid || launch.cluster[i] < 1) {
      return refused(fmt::format(
          "kernel \"{}\" cannot be launched with a grid of {}×{}×{} and blocks of {}×{}×{}",
          launch.kernel, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
          launch.block[1], launch.block[2]));
    }
    threads = std::min(threads * std::min(launch.block[i], kLargestGrid >> 20), kLargestGrid);
  }
  if (info_.largest_block > 0 && threads > info_.largest_block) {
    return refused(
        fmt::format("kernel \"{}\": blocks of {}×{}×{} are more than the {} threads that "
                    "{} allows",
                    launch.kernel, launch.block[0], launch.block[1], launch.block[2],
                    info_.largest_block, info_.name));
  }
  for (const Argument& argument : launch.arguments) {
    std::string name;
    if (const auto* pointer = std::get_if<Argument::Pointer>(&argument.value))
      name = pointer->buffer;
    if (const auto* map = std::get_if<Argument::TensorMap>(&argument.value)) name = map->buffer;
    const bool is_scratch = std::any_of(plan.scratch.begin(), plan.scratch.end(),
                                        [&](const Buffer& buffer) { return buffer.name == name; });
    if (!name.empty() && !is_scratch && !tensors_.contains(name)) {
      return bad_input(
          fmt::format("kernel \"{}\" is given \"{}\", which is neither a tensor nor "
                      "scratch",
                      launch.kernel, name));
    }
  }
  return {};
}

Result<void> WorkerSession::check(const RunRequest& request) const {
  if (request.plan == nullptr || request.plan->launches.empty()) {
    return bad_input("the launch plan launches nothing");
  }
  if (request.repetitions < 1) return bad_input("a run has at least one repetition");
  for (const Buffer& buffer : request.plan->scratch) {
    if (tensors_.contains(buffer.name)) {
      return bad_input(fmt::format("scratch and a tensor are both called \"{}\"", buffer.name));
    }
  }
  for (const KernelLaunch& launch : request.plan->launches) {
    BURNISH_TRY(check_launch(launch, *request.plan));
  }
  for (const auto& [name, slot] : tensors_) {
    const bool is_input =
        slot.buffer.role == Buffer::Role::in || slot.buffer.role == Buffer::Role::inout;
    const auto content = request.contents.find(name);
    if (is_input && content == request.contents.end()) {
      return bug(fmt::format("no content was given for the input \"{}\"", name));
    }
    if (content != request.contents.end() && content->second.size() != slot.buffer.bytes) {
      return bug(fmt::format("\"{}\" has {} bytes, its content {}", name, slot.buffer.bytes,
                             content->second.size()));
    }
  }
  for (const auto& [name, content] : request.contents) {
    if (!tensors_.contains(name))
      return bug(fmt::format("content for \"{}\", which is no tensor", name));
  }
  return {};
}

void WorkerSession::draw_offsets(Addresses addresses) {
  if (!has_guards()) return;
  for (Slot* slot : all_slots()) {
    const std::uint64_t before = slot->offset;
    while (addresses == Addresses::fresh && slot->offset == before) {
      slot->offset = kGuardBytes + alignment() * generator_.below(kDriftBytes / alignment() + 1);
    }
  }
}

Result<void> WorkerSession::stage(const RunRequest& request, std::uint64_t flush) {
  std::uint64_t bytes = flush;
  std::vector<Placement> placements;
  Json contents = Json::array();
  for (Slot* slot : all_slots()) {
    bytes += slot->allocated;
    placements.push_back({slot->buffer.name, slot->offset, slot->buffer.bytes});
    const auto content = request.contents.find(slot->buffer.name);
    if (content == request.contents.end()) continue;
    BURNISH_TRY(worker_->shared().put(slot->at, content->second));
    contents.push_back({{"buffer", slot->buffer.name},
                        {"offset", slot->offset},
                        {"at", slot->at},
                        {"bytes", slot->buffer.bytes}});
  }
  Json message = Json::object();
  message["do"] = "stage";
  message["plan"] = to_json(*request.plan);
  message["placements"] = to_json(placements);
  message["contents"] = std::move(contents);
  message["poison"] = request.poison;
  message["keep"] = Json::array();
  if (request.scratch == RunRequest::Scratch::kept) {
    for (const auto& [name, slot] : scratch_) message["keep"].push_back(name);
  }
  message["repetitions"] = request.repetitions;
  message["flush"] = flush;
  BURNISH_TRY(worker_->ask(message, {}, moving_deadline(bytes), "filling the buffers"));
  return {};
}

Result<Times> WorkerSession::launch(const std::string& what, double& host_seconds) {
  Json message = Json::object();
  message["do"] = "launch";
  const steady_clock::time_point start = steady_clock::now();
  // Each part has its own budget, and all launches share it.
  milliseconds building = limits_.build, running = limits_.run;
  milliseconds* budget = &running;
  Activity activity{"running " + what};
  BURNISH_TRY(worker_->send(message, {}, running, activity));
  while (true) {
    const steady_clock::time_point waited_from = steady_clock::now();
    BURNISH_TRY_ASSIGN(const WorkerReply reply, worker_->receive(*budget, activity));
    const steady_clock::time_point now = steady_clock::now();
    const auto progress = reply.json.find("progress");
    if (progress == reply.json.end()) {
      host_seconds = std::chrono::duration<double>(now - start).count();
      return times_from(reply.json);
    }
    *budget -= std::chrono::floor<milliseconds>(now - waited_from);
    *budget = std::max(*budget, milliseconds(1));
    const bool is_compiling = *progress == "compiling";
    budget = is_compiling ? &building : &running;
    activity = Activity{(is_compiling ? "compiling " : "running ") + what};
    // A kernel that crashes at once does so before the worker has told that it runs.
    if (is_compiling) activity.when_crashed = "compiling or running " + what;
  }
}

Result<std::map<std::string, BufferState>> WorkerSession::read_back() {
  std::uint64_t bytes = 0;
  Json buffers = Json::array();
  for (Slot* slot : all_slots()) {
    bytes += slot->allocated;
    buffers.push_back(
        {{"buffer", slot->buffer.name}, {"at", slot->at}, {"bytes", slot->allocated}});
  }
  Json message = Json::object();
  message["do"] = "read";
  message["buffers"] = std::move(buffers);
  BURNISH_TRY(worker_->ask(message, {}, moving_deadline(bytes), "reading the buffers back"));
  std::map<std::string, BufferState> states;
  for (Slot* slot : all_slots()) {
    BufferState state;
    const std::uint64_t end = slot->offset + slot->buffer.bytes;
    state.before.resize(slot->offset);
    state.content.resize(slot->buffer.bytes);
    state.after.resize(has_guards() ? slot->allocated - end : 0);  // at least kGuardBytes
    BURNISH_TRY(worker_->shared().get(slot->at, state.before));
    BURNISH_TRY(worker_->shared().get(slot->at + slot->offset, state.content));
    BURNISH_TRY(worker_->shared().get(slot->at + end, state.after));
    states.emplace(slot->buffer.name, std::move(state));
  }
  return states;
}

Result<RunResult> WorkerSession::run(const RunRequest& request) {
  BURNISH_TRY(check(request));
  const LaunchPlan& plan = *request.plan;
  const bool has_this_scratch =
      plan.scratch.size() == scratch_.size() &&
      std::all_of(plan.scratch.begin(), plan.scratch.end(), [&](const Buffer& buffer) {
        const auto held = scratch_.find(buffer.name);
        return held != scratch_.end() && held->second.buffer.bytes == buffer.bytes;
      });
  if (!has_this_scratch) {
    std::vector<Buffer> scratch = plan.scratch;
    for (Buffer& buffer : scratch) buffer.role = Buffer::Role::scratch;
    BURNISH_TRY_ASSIGN(Slots wanted, lay_out(scratch));
    Result<void> replaced = replace(scratch_, std::move(wanted));
    if (!replaced) return std::move(replaced.error()).in("making room for the candidate's scratch");
  }

  RunResult result;
  if (request.caches == Caches::cold) {
    const std::uint64_t twice = 2 * info_.cache_bytes;
    result.flushed_bytes = twice == 0 ? kFlushOfUnknownCache : std::min(twice, kLargestFlush);
  }
  const std::string what = kernels_text(plan);
  Times times;
  for (int attempt = 0; attempt < kLargestAttempts; ++attempt) {
    draw_offsets(request.addresses);
    BURNISH_TRY(stage(request, result.flushed_bytes));
    BURNISH_TRY_ASSIGN(times, launch(what, result.host_seconds));
    if (!times.compiled) break;
  }
  if (times.launch_seconds.size() != plan.launches.size()) {
    return refused(fmt::format("running {}: the worker gave {} times for {} launches", what,
                               times.launch_seconds.size(), plan.launches.size()));
  }
  result.device_seconds = times.device_seconds;
  result.launch_seconds = std::move(times.launch_seconds);
  result.timer = std::move(times.timer);
  if (info_.backend != "opencl") {
    Json message = Json::object();
    message["do"] = "clocks";
    BURNISH_TRY_ASSIGN(const WorkerReply reply,
                       worker_->ask(message, {}, limits_.run, "reading the clocks"));
    BURNISH_TRY_ASSIGN(result.clocks, metrics_from(reply.json));
  }
  if (request.read_back == RunRequest::ReadBack::yes) {
    BURNISH_TRY_ASSIGN(result.buffers, read_back());
  }
  return result;
}

Result<std::vector<CodeObject>> WorkerSession::code() {
  Json message = Json::object();
  message["do"] = "code";
  BURNISH_TRY_ASSIGN(WorkerReply reply,
                     worker_->ask(message, {}, limits_.build, "fetching the machine code"));
  std::vector<CodeObject> objects;
  JsonFields fields(reply.json, "the worker's message");
  std::size_t at = 0;
  for (JsonFields& item : fields.objects("objects")) {
    CodeObject object;
    object.kernel = item.string("kernel");
    object.suffix = item.string("suffix");
    const auto bytes = static_cast<std::uint64_t>(item.integer("bytes"));
    if (bytes > reply.attachment.size() - at) {
      return refused("the worker promised more machine code than it sent");
    }
    object.bytes = reply.attachment.substr(at, bytes);
    at += bytes;
    objects.push_back(std::move(object));
  }
  BURNISH_TRY(fields.finish());
  return objects;
}

Result<MetricSet> WorkerSession::resources(const std::string& kernel) {
  Json message = Json::object();
  message["do"] = "resources";
  message["kernel"] = kernel;
  BURNISH_TRY_ASSIGN(const WorkerReply reply,
                     worker_->ask(message, {}, limits_.build, "asking for a kernel's resources"));
  return metrics_from(reply.json);
}

}  // namespace

Result<std::unique_ptr<Session>> open_session(const DeviceInfo& info, const WorkerOptions& options,
                                              const BinaryCache& cache, const Source& source,
                                              const Limits& limits) {
  const Backend* backend = find_backend(info.backend);
  if (backend == nullptr) {
    return environment_error(fmt::format("this burnish cannot run {} devices", info.backend));
  }
  if (source.language != backend->language) {
    return bad_input(fmt::format("{} is written in {}, and {} runs {}", source.file,
                                 source.language, info.id, backend->language));
  }
  WorkerStart start;
  start.program = options.program;
  start.wrapper = options.wrapper;
  start.confinement = options.confinement;
  start.files = info.vendor == "cpu" ? DeviceFiles::none : DeviceFiles::all;
  start.memory_bytes = limits.memory_bytes;
  BURNISH_TRY_ASSIGN(std::unique_ptr<WorkerProcess> worker, WorkerProcess::start(start));

  const std::string compiler = backend->compiler == nullptr ? "" : backend->compiler();
  BuildReport report;
  report.hash = build_key(source, info, compiler);
  const std::optional<CachedBuild> cached = cache.find(report.hash);
  Json message = Json::object();
  message["do"] = "open";
  message["device"] = to_json(info);
  message["source"] = to_json(source);
  const steady_clock::time_point began = steady_clock::now();
  BURNISH_TRY_ASSIGN(const WorkerReply reply,
                     worker->ask(message, cached ? cached->binary : std::string(), limits.build,
                                 fmt::format("building {}", source.file)));
  BURNISH_TRY_ASSIGN(BuildOutcome outcome, outcome_from(reply.json));
  report.seconds = std::chrono::duration<double>(steady_clock::now() - began).count();
  report.from_cache = cached && outcome.reused;
  if (report.from_cache) {  // warnings are the compiler's, which did not run
    outcome.log = cached->outcome.log;
    outcome.diagnostics = cached->outcome.diagnostics;
  }
  report.log = outcome.log;
  report.diagnostics = outcome.diagnostics;
  if (!outcome.built) return build_error(source, report);
  if (!report.from_cache) {
    Json ask = Json::object();
    ask["do"] = "binary";
    BURNISH_TRY_ASSIGN(const WorkerReply binary,
                       worker->ask(ask, {}, limits.build, "fetching the binary"));
    // A cache that cannot be written costs time only.
    if (!binary.attachment.empty()) {
      (void)cache.store(report.hash, {outcome, binary.attachment}).has_value();
    }
  }
  return std::unique_ptr<Session>(std::make_unique<WorkerSession>(
      info, limits, options.guards, std::move(worker), std::move(report)));
}

}  // namespace burnish::device
