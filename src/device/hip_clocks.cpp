#include "device/hip_clocks.h"

#include <optional>
#include <utility>

#include "base/text.h"

namespace burnish::device {

// Linux kernel documentation, "drm/amdgpu: GPU Power/Thermal Controls and Monitoring", HWMON
// interfaces: freq1 is the graphics clock and freq2 the memory clock, in hertz; temperatures are in
// thousandths of a degree, and data-centre parts have no edge sensor (temp1) but a junction's
// (temp2).
MetricSet amd_clocks(const std::string& pci_bus_id, const fs::path& devices) {
  MetricSet metrics;
  const FileSystem& files = real_file_system();
  const fs::path monitors = devices / to_lower(pci_bus_id) / "hwmon";
  for (const std::string& monitor : files.list(monitors)) {
    const auto add = [&](const char* name, const char* file, double factor, const char* unit) {
      const Result<std::string> text = files.read(monitors / monitor / file);
      const std::optional<double> value =
          text ? parse_number(trim(*text)) : std::optional<double>();
      if (!value || metrics.find(name) != nullptr) return;
      Metric metric;
      metric.name = name;
      metric.value = *value * factor;
      metric.unit = unit;
      metric.where.file = "device";
      metric.where.locator = "right after the run";
      metric.where.raw_name = std::string("amdgpu ") + file;
      metrics.add(std::move(metric));
    };
    add("clock.sm", "freq1_input", 1, "Hz");
    add("clock.memory", "freq2_input", 1, "Hz");
    add("temperature", "temp2_input", 1e-3, "degC");
    add("temperature", "temp1_input", 1e-3, "degC");
  }
  return metrics;
}

}  // namespace burnish::device
