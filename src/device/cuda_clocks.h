#pragma once

#include <string>

#include "base/metric.h"

namespace burnish::device {

/// `clock.sm`, `clock.memory`, `temperature` and `throttled` of the NVIDIA GPU at this PCI address,
/// from NVML; empty where NVML is not there.
MetricSet nvidia_clocks(const std::string& pci_bus_id);

/// The reasons in NVML's bit mask that slow a GPU down, in words; "none" when there are none.
std::string throttle_reasons(unsigned long long mask);

}  // namespace burnish::device
