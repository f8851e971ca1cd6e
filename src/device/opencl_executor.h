#pragma once

#include "device/executor.h"

namespace burnish::device {

Result<std::unique_ptr<Executor>> open_opencl_executor(const DeviceInfo& info,
                                                       const fs::path& folder);

}  // namespace burnish::device
