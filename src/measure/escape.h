#pragma once

#include <string>

#include "base/process.h"
#include "device/device.h"

namespace burnish::measure {

/// On a CPU device a kernel runs inside the worker's process. Inline assembly and calls through
/// pointers lead out of the kernel language there, to system calls, the worker's pipes and its
/// clocks, so they are refused. A sentence that names the place, or "" when there is nothing.
std::string forbidden_source(const device::DeviceInfo& device, const device::Source& source,
                             ProcessRunner& runner);

/// The source as a CPU device may compile it: where it pastes tokens together, those words are
/// macros of a refused name, since only the device's own preprocessor knows what comes of them.
device::Source without_escapes(const device::DeviceInfo& device, device::Source source);

}  // namespace burnish::measure
