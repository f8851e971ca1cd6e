#pragma once

#include <string>

#include "base/file.h"
#include "base/metric.h"

namespace burnish::device {

/// `clock.sm`, `clock.memory` and `temperature` of the AMD GPU at this PCI address, from what its
/// kernel driver shows under `devices`; empty where it shows nothing.
MetricSet amd_clocks(const std::string& pci_bus_id,
                     const fs::path& devices = "/sys/bus/pci/devices");

}  // namespace burnish::device
