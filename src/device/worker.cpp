#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "device/cuda_compile.h"
#include "device/cuda_executor.h"
#include "device/device.h"
#include "device/executor.h"
#include "device/hip_compile.h"
#include "device/hip_executor.h"
#include "device/opencl_devices.h"
#include "device/opencl_executor.h"
#include "device/protocol.h"
#include "device/sandbox.h"

namespace burnish::device {
namespace {

/// The judge's end of standard input and output, under descriptors of its own, so that nothing that
/// a kernel or a driver prints can pass for a message: what they print goes to standard error.
class Channel {
 public:
  static Result<Channel> take_standard_streams() {
    Channel channel;
    channel.in_ = ::fcntl(0, F_DUPFD_CLOEXEC, 100);
    channel.out_ = ::fcntl(1, F_DUPFD_CLOEXEC, 100);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (channel.in_ < 0 || channel.out_ < 0 || nothing < 0 || ::dup2(nothing, 0) < 0 ||
        ::dup2(2, 1) < 0) {
      return environment_error(
          fmt::format("cannot set up the worker's streams: {}", std::strerror(errno)));
    }
    ::close(nothing);
    return channel;
  }

  /// Absent at the end of the input.
  std::optional<std::pair<std::string, std::string>> receive() {
    std::string head(kFrameHead, '\0');
    if (!read_all(head)) return std::nullopt;
    const Result<FrameSizes> sizes = decode_frame_head(head);
    if (!sizes) return std::nullopt;
    std::string json(sizes->json, '\0'), attachment(sizes->attachment, '\0');
    if (!read_all(json) || !read_all(attachment)) return std::nullopt;
    return std::pair(std::move(json), std::move(attachment));
  }

  bool send(const Json& json, std::string_view attachment = {}) {
    const std::string frame = encode_frame(dump_json_line(json), attachment);
    for (std::size_t at = 0; at < frame.size();) {
      const ssize_t done = ::write(out_, frame.data() + at, frame.size() - at);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      at += static_cast<std::size_t>(done);
    }
    return true;
  }

 private:
  bool read_all(std::string& into) const {
    for (std::size_t at = 0; at < into.size();) {
      const ssize_t done = ::read(in_, into.data() + at, into.size() - at);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      at += static_cast<std::size_t>(done);
    }
    return true;
  }

  int in_ = -1, out_ = -1;
};

/// A part of the shared memory file, mapped only while data moves: a kernel that runs finds nothing
/// of an earlier run there.
class SharedPart {
 public:
  static Result<SharedPart> map(std::uint64_t offset, std::uint64_t bytes) {
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    SharedPart part;
    part.skip_ = offset % page;
    part.bytes_ = bytes;
    if (bytes == 0) return part;
    part.memory_ =
        ::mmap(nullptr, part.skip_ + bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
               kSharedMemory, static_cast<off_t>(offset - part.skip_));
    if (part.memory_ == MAP_FAILED) {
      part.memory_ = nullptr;
      return environment_error(
          fmt::format("cannot map the shared memory: {}", std::strerror(errno)));
    }
    return part;
  }
  SharedPart(SharedPart&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), skip_(other.skip_), bytes_(other.bytes_) {}
  SharedPart& operator=(SharedPart&&) = delete;
  ~SharedPart() {
    if (memory_ != nullptr) ::munmap(memory_, skip_ + bytes_);
  }
  std::span<std::byte> bytes() const {
    if (memory_ == nullptr) return {};
    return {static_cast<std::byte*>(memory_) + skip_, static_cast<std::size_t>(bytes_)};
  }

 private:
  SharedPart() = default;
  void* memory_ = nullptr;
  std::uint64_t skip_ = 0, bytes_ = 0;
};

struct Reply {
  Json json = Json::object();
  std::string attachment;
};

class Worker {
 public:
  Worker(Channel channel, fs::path folder)
      : channel_(std::move(channel)), folder_(std::move(folder)) {}

  enum class End { connection_closed, quit };

  End serve() {
    while (const auto request = channel_.receive()) {
      Result<Reply> reply = Reply{};
      try {
        reply = answer(request->first, request->second);
      } catch (const std::exception& exception) {
        reply = bug(fmt::format("the worker failed: {}", exception.what()));
      }
      if (quits_) return End::quit;  // without a reply: the judge waits for the end
      const bool sent = reply ? channel_.send(reply->json, reply->attachment)
                              : channel_.send(error_json(reply.error()));
      if (!sent) break;
    }
    return End::connection_closed;
  }

 private:
  Result<Reply> answer(std::string_view text, const std::string& attachment) {
    BURNISH_TRY_ASSIGN(const Json request, parse_json(text, "the judge's message"));
    JsonFields fields(request, "the judge's message");
    const std::string verb = fields.string("do");
    fields.ignore_unknown();
    BURNISH_TRY(fields.finish());
    if (verb == "list") return list(request);
    if (verb == "open") return open(request, attachment);
    if (verb == "quit") {
      // ncu was seen to write its report after any end.
      if (backend_ == "cuda") ::_exit(0);
      quits_ = true;
      return Reply{};
    }
    if (!executor_) return bug("no candidate is open in this worker");
    if (verb == "binary") {
      Reply reply;
      BURNISH_TRY_ASSIGN(reply.attachment, executor_->binary());
      return reply;
    }
    if (verb == "allocate") return allocate(request);
    if (verb == "stage") return stage(request);
    if (verb == "launch") return launch();
    if (verb == "read") return read(request);
    if (verb == "code") return code();
    if (verb == "clocks") return Reply{to_json(executor_->clocks()), {}};
    if (verb == "resources") {
      BURNISH_TRY_ASSIGN(const MetricSet metrics,
                         executor_->resources(request.value("kernel", "")));
      return Reply{to_json(metrics), {}};
    }
    return bug(fmt::format("the worker does not know \"{}\"", verb));
  }

  Result<Reply> list(const Json& request) {
    const std::string name = request.value("backend", "");
    DeviceInfo wanted;
    wanted.id = request.value("id", "");
    const Backend* backend = find_backend(name);
    if (backend == nullptr) return bad_input(fmt::format("burnish has no backend \"{}\"", name));
    if (name == "opencl") BURNISH_TRY(show_opencl_drivers(wanted, folder_));
    BURNISH_TRY_ASSIGN(const std::vector<DeviceInfo> devices, backend->list());
    Json array = Json::array();
    for (const DeviceInfo& info : devices) array.push_back(to_json(info));
    Reply reply;
    reply.json["devices"] = std::move(array);
    return reply;
  }

  Result<Reply> open(const Json& request, const std::string& binary) {
    BURNISH_TRY_ASSIGN(const DeviceInfo info, device_info_from(request.value("device", Json())));
    BURNISH_TRY_ASSIGN(const Source source, source_from(request.value("source", Json())));
    const Backend* backend = find_backend(info.backend);
    if (backend == nullptr) return bug("no such backend: " + info.backend);
    backend_ = info.backend;
    BURNISH_TRY_ASSIGN(executor_, backend->open(info, folder_));
    BURNISH_TRY_ASSIGN(const BuildOutcome outcome, executor_->build(source, binary));
    return Reply{to_json(outcome), {}};
  }

  Result<Reply> allocate(const Json& request) {
    for (const Json& name : request.value("release", Json::array())) {
      BURNISH_TRY(executor_->release(name.get<std::string>()));
    }
    BURNISH_TRY_ASSIGN(const std::vector<Placement> buffers,
                       placements_from(request.value("allocate", Json())));
    // Memory that was just released is what an allocator gives next. A spacer of another size each
    // time, held until the buffers have their pages, moves them to other ones.
    const std::string old = spacer_;
    if (const auto bytes = request.value("spacer", std::uint64_t{0}); bytes > 0) {
      spacer_ = old == "(spacer a)" ? "(spacer b)" : "(spacer a)";
      BURNISH_TRY(executor_->allocate(spacer_, bytes));
      BURNISH_TRY(executor_->fill(spacer_, 0));
    }
    for (const Placement& buffer : buffers) {
      Result<void> allocated = executor_->allocate(buffer.buffer, buffer.bytes);
      if (allocated)
        allocated = executor_->fill(buffer.buffer, 0);  // drivers allocate at first use
      if (allocated) continue;
      for (const Placement& other : buffers) BURNISH_TRY(executor_->release(other.buffer));
      return allocated.error();
    }
    if (!old.empty() && old != spacer_) BURNISH_TRY(executor_->release(old));
    return Reply{};
  }

  Result<Reply> stage(const Json& request) {
    BURNISH_TRY_ASSIGN(const LaunchPlan plan, plan_from(request.value("plan", Json())));
    BURNISH_TRY_ASSIGN(const std::vector<Placement> placements,
                       placements_from(request.value("placements", Json())));
    const auto poison = request.value("poison", std::uint32_t{0});
    const Json keep = request.value("keep", Json::array());
    for (const Placement& placement : placements) {
      if (std::find(keep.begin(), keep.end(), placement.buffer) != keep.end()) continue;
      BURNISH_TRY(executor_->fill(placement.buffer, poison));
    }
    for (const Json& content : request.value("contents", Json::array())) {
      BURNISH_TRY_ASSIGN(const SharedPart part,
                         SharedPart::map(content.value("at", std::uint64_t{0}),
                                         content.value("bytes", std::uint64_t{0})));
      BURNISH_TRY(executor_->write(content.value("buffer", ""),
                                   content.value("offset", std::uint64_t{0}), part.bytes()));
    }
    BURNISH_TRY(executor_->stage(plan, placements, request.value("repetitions", 1)));
    const auto flush = request.value("flush", std::uint64_t{0});
    if (flush > 0) BURNISH_TRY(executor_->flush_caches(flush));
    return Reply{};
  }

  Result<Reply> launch() {
    const auto tell = [this](Progress progress, int at) {
      Json json = Json::object();
      json["progress"] = progress == Progress::compiling ? "compiling" : "running";
      json["launch"] = at;
      channel_.send(json);
    };
    BURNISH_TRY_ASSIGN(const Times times, executor_->launch(tell));
    return Reply{to_json(times), {}};
  }

  Result<Reply> read(const Json& request) {
    for (const Json& buffer : request.value("buffers", Json::array())) {
      BURNISH_TRY_ASSIGN(const SharedPart part,
                         SharedPart::map(buffer.value("at", std::uint64_t{0}),
                                         buffer.value("bytes", std::uint64_t{0})));
      BURNISH_TRY(executor_->read(buffer.value("buffer", ""), 0, part.bytes()));
    }
    return Reply{};
  }

  Result<Reply> code() {
    BURNISH_TRY_ASSIGN(const std::vector<CodeObject> objects, executor_->code());
    Reply reply;
    Json array = Json::array();
    for (const CodeObject& object : objects) {
      array.push_back(
          {{"kernel", object.kernel}, {"suffix", object.suffix}, {"bytes", object.bytes.size()}});
      reply.attachment += object.bytes;
    }
    reply.json["objects"] = std::move(array);
    return reply;
  }

  Channel channel_;
  fs::path folder_;
  std::unique_ptr<Executor> executor_;
  std::string backend_;
  bool quits_ = false;
  std::string spacer_;  ///< the allocation of that purpose
};

constexpr std::array kBackends = {
    Backend{"cuda", "cuda", list_cuda_devices, open_cuda_executor, cuda_compiler_identity},
    Backend{"hip", "hip", list_hip_devices, open_hip_executor, hip_compiler_identity},
    Backend{"opencl", "opencl", list_opencl_devices, open_opencl_executor, nullptr},
};

}  // namespace

std::span<const Backend> backends() { return kBackends; }

const Backend* find_backend(std::string_view name) {
  for (const Backend& backend : kBackends) {
    if (backend.name == name) return &backend;
  }
  return nullptr;
}

int worker_main() {
  const auto fail = [](const Error& error) {
    fmt::print(stderr, "{}\n", error.to_string());
    return exit_code(error.kind);
  };
  if (const Result<void> confined = enter_confinement(); !confined) return fail(confined.error());
  Result<Channel> channel = Channel::take_standard_streams();
  if (!channel) return fail(channel.error());
  const char* folder = std::getenv("BURNISH_WORKER_FOLDER");
  if (folder == nullptr || ::chdir(folder) != 0) {
    return fail(environment_error("`burnish worker` is started by burnish itself")
                    .with_hint("see `burnish --help` for what there is to start by hand"));
  }
  // rocprofv3 writes what it counted when main returns (rocprofiler-sdk-tool, rocprofv3_main).
  if (Worker(std::move(*channel), folder).serve() == Worker::End::quit) return 0;
  // Not by way of destructors and exit handlers: a kernel may have left anything in this memory.
  ::_exit(0);
}

}  // namespace burnish::device
