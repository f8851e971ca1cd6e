#include "device/cuda_clocks.h"

#include <dlfcn.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "device/gpu_api.h"

namespace burnish::device {
namespace {

/// NVML API reference: "Initialization", "Device queries". Numbers are those of nvml.h.
struct Nvml {
  using Status = int;
  using Device = struct DeviceTag*;
  Status (*init)();
  Status (*device_by_pci)(const char* bus_id, Device*);
  Status (*clock)(Device, int type, unsigned* megahertz);
  Status (*temperature)(Device, int sensor, unsigned* celsius);
  Status (*throttle)(Device, unsigned long long* mask);  ///< may be null
};
constexpr int kClockSm = 1, kClockMemory = 2, kSensorGpu = 0;

const Nvml* nvml() {
  static const Nvml* opened = []() -> const Nvml* {
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    static Nvml api{};
    if (!load(library, "nvmlInit_v2", api.init) ||
        !load(library, "nvmlDeviceGetHandleByPciBusId_v2", api.device_by_pci) ||
        !load(library, "nvmlDeviceGetClockInfo", api.clock) ||
        !load(library, "nvmlDeviceGetTemperature", api.temperature) || api.init() != 0) {
      return nullptr;
    }
    if (!load(library, "nvmlDeviceGetCurrentClocksEventReasons", api.throttle)) {
      load(library, "nvmlDeviceGetCurrentClocksThrottleReasons", api.throttle);
    }
    return &api;
  }();
  return opened;
}

Metric metric(const char* name, double value, const char* unit, const char* raw) {
  Metric made;
  made.name = name;
  made.value = value;
  made.unit = unit;
  made.where.file = "device";
  made.where.locator = "right after the run";
  made.where.raw_name = raw;
  return made;
}

}  // namespace

std::string throttle_reasons(unsigned long long mask) {
  // nvmlClocksEventReasons; idleness and clocks that somebody asked for (bits 0, 1, 4, 8) are none.
  const std::pair<unsigned long long, const char*> reasons[] = {
      {0x04, "power cap"},
      {0x08, "hardware slowdown"},
      {0x20, "thermal slowdown (software)"},
      {0x40, "thermal slowdown (hardware)"},
      {0x80, "power brake"},
  };
  std::vector<std::string> found;
  for (const auto& [bit, words] : reasons) {
    if ((mask & bit) != 0) found.emplace_back(words);
  }
  return found.empty() ? "none" : join(found, ", ");
}

MetricSet nvidia_clocks(const std::string& pci_bus_id) {
  MetricSet metrics;
  const Nvml* api = nvml();
  Nvml::Device device = nullptr;
  if (api == nullptr || api->device_by_pci(pci_bus_id.c_str(), &device) != 0) return metrics;
  unsigned value = 0;
  if (api->clock(device, kClockSm, &value) == 0) {
    metrics.add(metric("clock.sm", 1e6 * value, "Hz", "nvmlDeviceGetClockInfo(SM)"));
  }
  if (api->clock(device, kClockMemory, &value) == 0) {
    metrics.add(metric("clock.memory", 1e6 * value, "Hz", "nvmlDeviceGetClockInfo(MEM)"));
  }
  if (api->temperature(device, kSensorGpu, &value) == 0) {
    metrics.add(metric("temperature", value, "degC", "nvmlDeviceGetTemperature"));
  }
  unsigned long long mask = 0;
  if (api->throttle != nullptr && api->throttle(device, &mask) == 0) {
    Metric throttled = metric("throttled", 0, "text", "nvmlDeviceGetCurrentClocksEventReasons");
    throttled.text = throttle_reasons(mask);
    metrics.add(std::move(throttled));
  }
  return metrics;
}

}  // namespace burnish::device
