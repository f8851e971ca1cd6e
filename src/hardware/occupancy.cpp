#include "hardware/occupancy.h"

#include <fmt/format.h>

#include <string_view>

#include "hardware/occupancy_models.h"

namespace burnish::hardware {

Result<Occupancy> occupancy(const std::string& arch, const KernelResources& resources) {
  if (resources.threads <= 0 || resources.threads > 1024) {
    return bad_input(fmt::format("a block of {} threads cannot be launched", resources.threads))
        .with_hint("blocks have 1 to 1024 threads");
  }
  if (resources.registers < 0 || resources.accum_registers < 0 || resources.scalar_registers < 0 ||
      resources.shared_bytes < 0 || resources.barriers < 0 ||
      resources.carveout_bytes.value_or(0) < 0) {
    return bad_input("a negative amount of registers, shared memory or barriers makes no sense");
  }
  std::string_view target = arch;
  if (target.starts_with("sm_")) return nvidia_occupancy(target.substr(3), resources);
  // "gfx90a:sramecc+:xnack-": the features after the colon do not change the limits.
  if (target.starts_with("gfx"))
    return amd_occupancy(target.substr(0, target.find(':')), resources);
  return bad_input(fmt::format("cannot model the occupancy of \"{}\": the target is unknown", arch))
      .with_hint("give an NVIDIA target such as sm_90 or an AMD target such as gfx942");
}

}  // namespace burnish::hardware
