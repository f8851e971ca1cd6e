#include "device/worker_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "device/protocol.h"
#include "device/worker_reply.h"

namespace burnish::device {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// What kernels and drivers may print before it is taken for an attack on the disk and the reader.
constexpr std::uint64_t kLargestPrinting = 8u << 20;
/// For what follows a message's head.
constexpr milliseconds kRestOfMessage{10'000};
/// For a profiler to write what it found.
constexpr milliseconds kWrapperEnd{120'000};

milliseconds left_until(steady_clock::time_point end) {
  const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
  return std::max(left, milliseconds(0));
}

std::string seconds_text(milliseconds duration) {
  return with_prefix(static_cast<double>(duration.count()) * 1e-3, "s");
}

std::string last_words(std::string_view text) {
  const std::string valid =
      to_valid_utf8(text.size() > 600 ? text.substr(text.size() - 600) : text);
  return std::string(trim(valid));
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const WorkerStart& start) {
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess);
  BURNISH_TRY_ASSIGN(worker->shared_, SharedMemory::make(start.memory_bytes));
  fs::path folder = kPrivateFolder;
  if (start.confinement == Confinement::process_group) {
    BURNISH_TRY_ASSIGN(worker->folder_, TemporaryFolder::make("burnish-worker"));
    folder = worker->folder_->path();
  }
  ProcessSpec spec;
  worker->is_wrapped_ = !start.wrapper.empty();
  spec.argv = start.wrapper;
  const std::vector<std::string> command =
      confined_command(start.confinement, start.files, start.program);
  spec.argv.insert(spec.argv.end(), command.begin(), command.end());
  spec.environment = worker_environment(start.confinement, folder);
  if (worker->is_wrapped_) (*spec.environment)[kProfiledVariable] = "1";
  spec.pass_fds = {{worker->shared_.fd(), kSharedMemory}};
  spec.output_limit = kFrameHead + kLargestJson + kLargestAttachment;
  spec.error_limit = kLargestPrinting;
  spec.memory_limit = worker->shared_.bytes();
  BURNISH_TRY_ASSIGN(worker->child_, ChildProcess::start(spec));
  return worker;
}

void WorkerProcess::wait_for_wrapper() {
  Json request = Json::object();
  request["do"] = "quit";
  if (!child_->write(encode_frame(dump_json_line(request), {}), kRestOfMessage)) return;
  // There is nothing more to read: this is over when the wrapper ends, or after the deadline.
  (void)child_->read(1, kWrapperEnd).has_value();
}

WorkerProcess::~WorkerProcess() {
  if (is_wrapped_ && child_) wait_for_wrapper();
  child_.reset();
}

Error WorkerProcess::fail(const Error& error, const Activity& activity, milliseconds deadline) {
  const ProcessResult end = child_->finish();
  last_messages_ = end.errors;
  child_.reset();

  // Inside a sandbox the worker's end comes as a shell tells it: 128 and the signal.
  ProcessResult told = end;
  if (end.end == ProcessResult::End::exited && end.code > 128 && end.code < 128 + NSIG) {
    told.end = ProcessResult::End::signalled;
    told.code = end.code - 128;
  }
  Error result;
  switch (told.end) {
    case ProcessResult::End::timed_out:
      result = timed_out(fmt::format("{} took longer than {} and was stopped", activity.name,
                                     seconds_text(deadline)));
      break;
    case ProcessResult::End::memory_limit:
      result = refused(fmt::format("{} took more than {} of memory and was stopped", activity.name,
                                   with_binary_prefix(shared_.bytes())));
      break;
    case ProcessResult::End::output_limit:
      result = refused(fmt::format("{} printed more than {} and was stopped", activity.name,
                                   with_binary_prefix(kLargestPrinting)))
                   .with_hint("remove printf from the kernel");
      break;
    case ProcessResult::End::signalled:
      result =
          refused(fmt::format("{} crashed: the worker {}", activity.when_crashed, told.describe()));
      if (told.code == SIGSEGV || told.code == SIGBUS || told.code == SIGABRT) {
        result.hint = "most often a kernel reads or writes outside its buffers";
      }
      if (told.code == SIGKILL) result.hint = "perhaps the system ran out of memory";
      break;
    case ProcessResult::End::exited:
      result = environment_error(
          fmt::format("the worker {} while {}: {}", told.describe(), activity.name, error.message));
      break;
  }
  const std::string words = last_words(last_messages_);
  if (!words.empty() && told.end != ProcessResult::End::output_limit) {
    result.context.push_back("the worker's last words: " + words);
  }
  failure_ = result;
  return result;
}

Error WorkerProcess::distrust(const Error& error, const Activity& activity) {
  child_.reset();
  failure_ = refused(fmt::format("{}: the worker's answer makes no sense: {}", activity.name,
                                 error.to_string()))
                 .with_hint("the kernel may have overwritten the worker's memory");
  return *failure_;
}

Result<void> WorkerProcess::send(const Json& request, std::string_view attachment,
                                 milliseconds deadline, const Activity& activity) {
  if (failure_) return *failure_;
  const Result<void> sent =
      child_->write(encode_frame(dump_json_line(request), attachment), deadline);
  if (!sent) return fail(sent.error(), activity, deadline);
  return {};
}

Result<WorkerReply> WorkerProcess::receive(milliseconds deadline, const Activity& activity) {
  if (failure_) return *failure_;
  const steady_clock::time_point end = steady_clock::now() + deadline;
  const Result<std::string> head = child_->read(kFrameHead, deadline);
  if (!head) return fail(head.error(), activity, deadline);
  const Result<FrameSizes> sizes = decode_frame_head(*head);
  if (!sizes) return distrust(sizes.error(), activity);
  Result<std::string> text = child_->read(sizes->json, left_until(end) + kRestOfMessage);
  if (!text) return fail(text.error(), activity, deadline);
  Result<std::string> attachment =
      child_->read(sizes->attachment, left_until(end) + kRestOfMessage);
  if (!attachment) return fail(attachment.error(), activity, deadline);
  Result<Json> json = parse_json(*text, "the worker's message");
  if (!json) return distrust(json.error(), activity);
  if (!json->is_object()) return distrust(bug("a message is no object"), activity);
  if (const auto error = json->find("error"); error != json->end()) return error_from(*error);
  return WorkerReply{std::move(*json), std::move(*attachment)};
}

Result<WorkerReply> WorkerProcess::ask(const Json& request, std::string_view attachment,
                                       milliseconds deadline, const Activity& activity) {
  const steady_clock::time_point end = steady_clock::now() + deadline;
  BURNISH_TRY(send(request, attachment, deadline, activity));
  return receive(left_until(end), activity);
}

std::string WorkerProcess::finish() {
  if (child_) {
    if (is_wrapped_) wait_for_wrapper();
    last_messages_ = child_->finish().errors;
    child_.reset();
    failure_ = bug("the worker was ended");
  }
  return messages();
}

std::string WorkerProcess::messages() const {
  return to_valid_utf8(child_ ? child_->errors() : last_messages_);
}

}  // namespace burnish::device
