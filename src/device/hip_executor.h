#pragma once

#include "device/executor.h"

namespace burnish::device {

/// Empty on a machine without the HIP runtime, or without an AMD GPU.
Result<std::vector<DeviceInfo>> list_hip_devices();
Result<std::unique_ptr<Executor>> open_hip_executor(const DeviceInfo& info, const fs::path& folder);

/// Whether an architecture's dies (XCDs) have an L2 each, of which HIP tells one.
bool has_several_l2(std::string_view arch);

}  // namespace burnish::device
