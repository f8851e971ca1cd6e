#pragma once

#include "device/executor.h"

namespace burnish::device {

/// Empty on a machine without an NVIDIA driver.
Result<std::vector<DeviceInfo>> list_cuda_devices();
Result<std::unique_ptr<Executor>> open_cuda_executor(const DeviceInfo& info,
                                                     const fs::path& folder);

}  // namespace burnish::device
