#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "hardware/occupancy_models.h"

namespace burnish::hardware {
namespace {

/// Limits of a multiprocessor by compute capability. Source: CUDA C++ Programming Guide 13.0,
/// "Technical Specifications per Compute Capability", and the tables of the occupancy calculator of
/// Nsight Compute 2025.3.1, whose answers the test compares with.
struct Limits {
  std::string_view target;
  int warps;
  int blocks;
  int shared_kib;
  int barriers;
};
constexpr std::array kLimits{
    Limits{"70", 64, 32, 96, 64},   Limits{"75", 32, 16, 64, 32},   Limits{"80", 64, 32, 164, 64},
    Limits{"86", 48, 16, 100, 16},  Limits{"87", 48, 16, 164, 16},  Limits{"89", 48, 24, 100, 24},
    Limits{"90", 64, 32, 228, 64},  Limits{"100", 64, 32, 228, 64}, Limits{"103", 64, 32, 228, 64},
    Limits{"110", 48, 24, 228, 24}, Limits{"120", 48, 24, 100, 24}, Limits{"121", 48, 24, 100, 24},
};

// The same on every capability of the table.
constexpr int kWarpThreads = 32;
constexpr int kSchedulers = 4;  ///< also the granule, in warps, of the register file
constexpr int kRegisterFile = 65536;
constexpr int kRegisterUnit = 256;  ///< 32-bit registers a warp is given at a time
constexpr int kMostRegisters = 255;

constexpr int round_up(int value, int granule) { return (value + granule - 1) / granule * granule; }

int register_limit(int registers, int warps) {
  if (round_up(registers, 8) * kWarpThreads * round_up(warps, kSchedulers) > kRegisterFile)
    return 0;
  const int per_warp = round_up(registers * kWarpThreads, kRegisterUnit);
  return kRegisterFile / per_warp / kSchedulers * kSchedulers / warps;
}

}  // namespace

Result<Occupancy> nvidia_occupancy(std::string_view target, const KernelResources& resources) {
  std::string_view number = target;
  // sm_90a and sm_100f have the limits of sm_90 and sm_100.
  if (number.ends_with('a') || number.ends_with('f')) number.remove_suffix(1);
  const auto* limits = std::find_if(kLimits.begin(), kLimits.end(),
                                    [&](const Limits& each) { return each.target == number; });
  if (limits == kLimits.end()) {
    std::string known;
    for (const Limits& each : kLimits) known += fmt::format(" sm_{}", each.target);
    return bad_input(
               fmt::format("cannot model the occupancy of \"sm_{}\": its limits are not known",
                           target))
        .with_hint("known targets:" + known);
  }
  if (resources.registers > kMostRegisters) {
    return bad_input(fmt::format("{} registers a thread: NVIDIA kernels have at most {}",
                                 resources.registers, kMostRegisters));
  }
  const int major = std::stoi(std::string(number)) / 10;
  const std::int64_t capacity = std::int64_t{limits->shared_kib} * 1024;
  const std::int64_t carveout = resources.carveout_bytes.value_or(capacity);
  if (carveout > capacity) {
    return bad_input(fmt::format("a carve-out of {} bytes is more than the {} bytes that sm_{} has",
                                 carveout, capacity, target));
  }
  const int warps = (resources.threads + kWarpThreads - 1) / kWarpThreads;
  Occupancy result;
  result.limits["warps"] = limits->warps / warps;
  result.limits["blocks"] = limits->blocks;
  if (resources.registers > 0) {
    result.limits["registers"] = register_limit(resources.registers, warps);
  }
  // Since 8.0 the system keeps 1 KiB of each block's shared memory, even when a block asks for
  // none.
  const std::int64_t granule = major >= 8 ? 128 : 256;
  const std::int64_t wanted =
      std::min(resources.shared_bytes, capacity + 1) + (major >= 8 ? 1024 : 0);
  if (wanted > 0) {
    const std::int64_t taken = (wanted + granule - 1) / granule * granule;
    result.limits["shared"] = static_cast<int>(carveout / taken);
  }
  // Older parts have the limit too, but the calculator does not apply it.
  if (major >= 9 && resources.barriers > 0) {
    result.limits["barriers"] = limits->barriers / resources.barriers;
  }

  result.blocks = limits->blocks;
  for (const auto& [name, blocks] : result.limits) result.blocks = std::min(result.blocks, blocks);
  if (result.blocks == 0) {
    std::string why;
    for (const auto& [name, blocks] : result.limits) {
      if (blocks == 0) why += (why.empty() ? "" : ", ") + name;
    }
    return bad_input(fmt::format("not even one block of {} threads fits on sm_{}: too much of {}",
                                 resources.threads, target, why))
        .with_hint(fmt::format("asked for {} registers a thread and {} bytes of shared memory of a "
                               "carve-out of {}",
                               resources.registers, resources.shared_bytes, carveout));
  }
  const int resident = result.blocks * warps;
  result.waves_per_simd = (resident + kSchedulers - 1) / kSchedulers;
  result.pct = 100.0 * resident / limits->warps;
  result.limiter = "none";
  if (resident < limits->warps) {
    // When several bind, the one that the programmer can move most easily is named; `limits` shows
    // the tie.
    for (const char* name : {"registers", "shared", "barriers", "blocks", "warps"}) {
      const auto found = result.limits.find(name);
      if (found != result.limits.end() && found->second == result.blocks) {
        result.limiter = name;
        break;
      }
    }
  }
  result.model = "NVIDIA occupancy calculator (Nsight Compute 2025.3.1)";
  if (!resources.carveout_bytes) {
    result.model += fmt::format(", largest carve-out assumed: {} KiB", limits->shared_kib);
  }
  return result;
}

}  // namespace burnish::hardware
