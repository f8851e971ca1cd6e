#pragma once

#include <string>
#include <string_view>

namespace burnish::device {

/// The first version number in what a program prints, "2025.3.1.0"; empty when there is none.
std::string version_in(std::string_view output);

/// What /proc/driver/nvidia/params means for who may read the performance counters; empty when
/// nothing stands in the way. `administrator`: has CAP_SYS_ADMIN.
enum class Administrator { no, yes };
std::string nvidia_counter_problem(std::string_view params, Administrator administrator);

/// Whether a /proc/<pid>/status grants CAP_SYS_ADMIN.
Administrator administrator_in(std::string_view status);

/// What /dev/kfd, the HIP runtime and the devices that it shows mean together for AMD GPUs; empty
/// when nothing is wrong, which it is where there is neither.
enum class Node { absent, closed, open };
enum class HipRuntime { absent, installed };
enum class HipDevices { none, some };
std::string amd_problem(Node kfd, HipRuntime runtime, HipDevices devices);

}  // namespace burnish::device
