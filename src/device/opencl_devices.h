#pragma once

#include <vector>

#include "device/device.h"
#include "device/opencl_api.h"

namespace burnish::device {

/// The simulator that checks every memory access (Oclgrind); chosen by name, never listed.
inline constexpr char kSimulatorId[] = "opencl:oclgrind";

struct OpenClDevice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  DeviceInfo info;
};

/// All devices of all platforms in the loader's order. `folder` may be written to.
Result<std::vector<OpenClDevice>> enumerate_opencl(const OpenClApi& api);
Result<std::vector<DeviceInfo>> list_opencl_devices();

/// Before the loader is opened for the first time: shows it the drivers that its folder does not
/// name (NVIDIA's, in many containers), or the simulator alone. `folder` may be written to.
Result<void> show_opencl_drivers(const DeviceInfo& wanted, const fs::path& folder);

}  // namespace burnish::device
