#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loop/loop.h"
#include "measure/problem.h"

namespace burnish::loop {

/// The launches under test once more, in a worker of their own under the vendor's profiler.
struct Replay {
  const measure::Candidate& candidate;
  const std::vector<device::Buffer>& buffers;
  const device::RunRequest& request;
  /// Opens the device so that its worker runs below this command line (DeviceOptions::wrapper).
  std::function<Result<std::unique_ptr<device::Device>>(const std::vector<std::string>& wrapper)>
      open;
};

/// Runs them under `ncu` or `rocprofv3`, reads what that wrote into `folder`, and adds what it says
/// of the kernel to `evidence`. What cannot be had, and what to do about that, is a statement
/// there. Errors: burnish's own files cannot be read or written.
Result<void> add_nvidia_counters(workspace::Workspace& workspace, const Tools& tools,
                                 const Replay& replay, const fs::path& folder,
                                 evidence::KernelEvidence& evidence,
                                 std::vector<profile::Artefact>& artefacts);
Result<void> add_amd_counters(workspace::Workspace& workspace, const Tools& tools,
                              const Replay& replay, const fs::path& folder,
                              evidence::KernelEvidence& evidence,
                              std::vector<profile::Artefact>& artefacts);

/// What to do when ncu says ERR_NVGPUCTRPERM.
extern const char* const kAllowNvidiaCounters;

/// With its pointer relative to the folder (a workspace, a profile's output), so that it can be
/// followed in a clone. A word that is no path stays.
Metric relative_to(Metric metric, const fs::path& folder);

}  // namespace burnish::loop
