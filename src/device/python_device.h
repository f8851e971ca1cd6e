#pragma once

#include "device/device.h"

namespace burnish::device {

// Python candidates run on the CPU in a process of their own, and with host code of their own: they
// can reach everything in that process. So the judge holds what decides. Buffers lie in memory that
// it shares with the process; before a run it stops the process with all that it started, fills
// them, and starts its own clock when it lets them go on; at the answer it stops them again, and
// its clock when they have stopped, before it reads. Threads that work before or after the call do
// so for nothing.
//
// A plan's kernel is a function of the module, called with the launch's arguments: numpy arrays
// (Argument::TensorMap, of which buffer, dtype and shape count) and scalars. It writes its results
// into the arrays. bf16 and fp8 come as the unsigned integers that hold them.

inline constexpr char kPythonId[] = "python:0";

/// Errors: environment when there is no python3 with numpy.
Result<DeviceInfo> python_device_info();
Result<std::unique_ptr<Device>> open_python_device(const DeviceInfo& info);

}  // namespace burnish::device
