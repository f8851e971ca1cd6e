#pragma once

#include "device/device.h"

namespace burnish::device {

/// Runs a kernel whose result is known (arithmetic, local memory, a barrier, atomics) and checks
/// it.
Result<void> probe_device(Device& device);

}  // namespace burnish::device
