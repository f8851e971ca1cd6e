#pragma once

#include "device/binary_cache.h"
#include "device/device.h"
#include "device/sandbox.h"

namespace burnish::device {

/// How a session's worker is started.
struct WorkerOptions {
  fs::path program;
  std::vector<std::string> wrapper;
  Confinement confinement = Confinement::process_group;
  DeviceOptions::Guards guards = DeviceOptions::Guards::bands;
};

/// open_device() with the confinement stated.
Result<std::unique_ptr<Device>> open_confined_device(const DeviceInfo& info,
                                                     const DeviceOptions& options,
                                                     Confinement confinement);

/// Starts a worker and has it build `source`.
Result<std::unique_ptr<Session>> open_session(const DeviceInfo& info, const WorkerOptions& worker,
                                              const BinaryCache& cache, const Source& source,
                                              const Limits& limits);

/// This program's file, or `program` when one is given.
Result<fs::path> worker_program(const fs::path& program);

}  // namespace burnish::device
