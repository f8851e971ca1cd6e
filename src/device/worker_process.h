#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/process.h"
#include "device/sandbox.h"
#include "device/shared_memory.h"

namespace burnish::device {

struct WorkerStart {
  fs::path program;
  std::vector<std::string> wrapper = {};  ///< put before the worker's command line
  Confinement confinement = Confinement::process_group;
  DeviceFiles files = DeviceFiles::none;
  std::uint64_t memory_bytes =
      0;  ///< of the process tree, and of the shared memory; 0: the default
};

struct WorkerReply;

/// What a worker is at, for the sentence that tells of its end: "running kernel "k"".
struct Activity {
  std::string name;
  std::string when_crashed;  ///< as far as a crash lets one know

  Activity(std::string what) : name(what), when_crashed(std::move(what)) {}
  Activity(const char* what) : Activity(std::string(what)) {}
};

/// The judge's end of one worker: the process, its messages, and the memory that both see. Once the
/// worker has crashed, hung or outgrown a limit it is dead, and every call gives the same error.
class WorkerProcess {
 public:
  static Result<std::unique_ptr<WorkerProcess>> start(const WorkerStart& start);
  ~WorkerProcess();

  /// One request and its reply.
  Result<WorkerReply> ask(const Json& request, std::string_view attachment,
                          std::chrono::milliseconds deadline, const Activity& activity);
  /// The halves of ask(), for requests with more than one reply.
  Result<void> send(const Json& request, std::string_view attachment,
                    std::chrono::milliseconds deadline, const Activity& activity);
  Result<WorkerReply> receive(std::chrono::milliseconds deadline, const Activity& activity);

  SharedMemory& shared() { return shared_; }

  std::string messages() const;
  /// Ends the worker, with its wrapper, and gives the same of all its life.
  std::string finish();

 private:
  /// Lets a wrapper (a profiler) end by itself, since it writes its results only then.
  void wait_for_wrapper();
  WorkerProcess() = default;
  /// What the end of the worker means.
  Error fail(const Error& error, const Activity& activity, std::chrono::milliseconds deadline);
  /// The same for a worker that lives and talks nonsense.
  Error distrust(const Error& error, const Activity& activity);

  std::optional<TemporaryFolder> folder_;
  std::optional<ChildProcess> child_;
  SharedMemory shared_;
  bool is_wrapped_ = false;
  std::optional<Error> failure_;
  std::string last_messages_;
};

}  // namespace burnish::device
