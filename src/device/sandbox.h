#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"

namespace burnish::device {

// How a worker is shut in. All three have a process group of their own and are killed with their
// descendants. bubblewrap and namespaces add: no network, a process-id space of their own, the file
// system read-only, and an empty /tmp of bounded size that nobody else sees.
enum class Confinement { bubblewrap, namespaces, process_group };

struct Sandbox {
  Confinement confinement = Confinement::process_group;
  std::string words;  ///< for reports
};

/// Why this machine does not allow it, tried once; empty when it does.
const std::string& confinement_trouble(Confinement confinement);

/// The best that this machine allows.
const Sandbox& best_sandbox();

/// The folder that a worker may write to, when it is inside the sandbox.
inline constexpr const char* kPrivateFolder = "/tmp/session";

/// Whether the worker needs the machine's device files (GPUs), or only /dev/null and the like.
enum class DeviceFiles { none, all };

/// The command line that runs `program worker` so confined.
std::vector<std::string> confined_command(Confinement confinement, DeviceFiles files,
                                          const fs::path& program);

/// Set for a worker that runs under a profiler: it then marks the kernels under test as a range.
inline constexpr char kProfiledVariable[] = "BURNISH_WORKER_PROFILED";

/// The worker's whole environment. `folder` is its writable folder.
std::map<std::string, std::string> worker_environment(Confinement confinement,
                                                      const fs::path& folder);

/// In a fresh worker, before anything else: goes into namespaces of its own when the environment
/// asks for it. On success the caller runs as a grandchild and everybody above it passes its end
/// on.
Result<void> enter_confinement();

}  // namespace burnish::device
