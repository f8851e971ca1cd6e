#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "hardware/occupancy_models.h"

namespace burnish::hardware {
namespace {

enum class Accumulators { none, separate, unified };

/// Limits of a target. The unit that shares LDS is a compute unit on gfx9 and gfx125x, and a
/// workgroup processor (two compute units, the compiler's default mode) in between; either has four
/// SIMDs. Sources: LLVM 22 llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp (namespace IsaInfo) and
/// the processor features of AMDGPU.td; LDS granules: LLVM "User Guide for AMDGPU Backend",
/// GRANULATED_LDS_SIZE, and llvm-project pull requests 167614 (gfx125x: 2048 B) and 224852
/// (gfx10.3, gfx11, gfx12.0: encoded in units of 512 B, allocated in blocks of 1024 B).
struct Limits {
  std::string_view target;
  int vector_file;     ///< vector registers of a lane; of a wave32's lane where there are both
  int vector_granule;  ///< they are given out in units of this many
  int waves;           ///< most waves a SIMD
  int shared_pool_kib;
  int shared_limit_kib;  ///< of one workgroup
  int shared_granule;    ///< bytes
  int vector_limit;      ///< of one wave, accumulators apart
  int barriers;          ///< workgroups of more than one wave
  int default_wave;
  Accumulators accumulators;
};

constexpr Limits gfx9(std::string_view target, Accumulators accumulators = Accumulators::none) {
  return {target, 256, 4, 10, 64, 64, 512, 256, 16, 64, accumulators};
}
constexpr Limits cdna(std::string_view target, int shared_kib, int shared_granule) {
  return {target,         512, 8,  8,  shared_kib,           shared_kib,
          shared_granule, 256, 16, 64, Accumulators::unified};
}
constexpr Limits gfx10_1(std::string_view target) {
  return {target, 1024, 8, 20, 128, 64, 512, 256, 32, 32, Accumulators::none};
}
constexpr Limits rdna(std::string_view target) {
  return {target, 1024, 16, 16, 128, 64, 1024, 256, 32, 32, Accumulators::none};
}
constexpr Limits rdna_large_file(std::string_view target) {
  return {target, 1536, 24, 16, 128, 64, 1024, 256, 32, 32, Accumulators::none};
}
constexpr Limits gfx12_5(std::string_view target) {
  return {target, 1024, 16, 16, 320, 320, 2048, 1024, 16, 32, Accumulators::none};
}

constexpr std::array kLimits{
    gfx9("gfx900"),
    gfx9("gfx902"),
    gfx9("gfx904"),
    gfx9("gfx906"),
    gfx9("gfx908", Accumulators::separate),
    gfx9("gfx909"),
    gfx9("gfx90c"),
    cdna("gfx90a", 64, 512),
    cdna("gfx942", 64, 512),
    cdna("gfx950", 160, 1280),
    gfx10_1("gfx1010"),
    gfx10_1("gfx1011"),
    gfx10_1("gfx1012"),
    gfx10_1("gfx1013"),
    rdna("gfx1030"),
    rdna("gfx1031"),
    rdna("gfx1032"),
    rdna("gfx1033"),
    rdna("gfx1034"),
    rdna("gfx1035"),
    rdna("gfx1036"),
    rdna_large_file("gfx1100"),
    rdna_large_file("gfx1101"),
    rdna("gfx1102"),
    rdna("gfx1103"),
    rdna("gfx1150"),
    rdna_large_file("gfx1151"),
    rdna("gfx1152"),
    rdna("gfx1153"),
    rdna_large_file("gfx1200"),
    rdna_large_file("gfx1201"),
    gfx12_5("gfx1250"),
    gfx12_5("gfx1251"),
};

constexpr int kSimds = 4;

constexpr int round_up(int value, int granule) { return (value + granule - 1) / granule * granule; }
constexpr int divide_up(int value, int by) { return (value + by - 1) / by; }

/// Waves a SIMD by scalar registers. gfx9 has 800 a SIMD, given out in units of 16; LLVM 22 uses
/// these steps. Since gfx10 every wave has its own 128.
int scalar_limit(int registers, int most) {
  if (registers <= 80) return most;
  if (registers <= 88) return std::min(9, most);
  if (registers <= 100) return std::min(8, most);
  return std::min(7, most);
}

/// Vector registers that count against the file: with a unified file the accumulators follow the
/// others at the next multiple of 4.
int counted_registers(const Limits& limits, const KernelResources& resources) {
  switch (limits.accumulators) {
    case Accumulators::none:
      return resources.registers;
    case Accumulators::separate:
      return std::max(resources.registers, resources.accum_registers);
    case Accumulators::unified:
      break;
  }
  return resources.accum_registers > 0
             ? round_up(resources.registers, 4) + resources.accum_registers
             : resources.registers;
}

Result<void> check(const Limits& limits, const KernelResources& resources) {
  if (limits.accumulators == Accumulators::none && resources.accum_registers > 0) {
    return bad_input(fmt::format("{} has no accumulation registers", limits.target));
  }
  if (resources.registers > limits.vector_limit || resources.accum_registers > 256) {
    return bad_input(fmt::format(
        "{} vector and {} accumulation registers: {} has at most {} of "
        "each kind that it has",
        resources.registers, resources.accum_registers, limits.target, limits.vector_limit));
  }
  if (resources.shared_bytes > std::int64_t{limits.shared_limit_kib} * 1024) {
    return bad_input(fmt::format("{} bytes of LDS: a workgroup on {} has at most {} KiB",
                                 resources.shared_bytes, limits.target, limits.shared_limit_kib));
  }
  const bool both = limits.default_wave == 32 && limits.vector_limit == 256;
  if (resources.wave_size != 0 && resources.wave_size != limits.default_wave &&
      !(both && resources.wave_size == 64)) {
    return bad_input(
        fmt::format("{} does not run waves of {} lanes", limits.target, resources.wave_size));
  }
  return {};
}

}  // namespace

Result<Occupancy> amd_occupancy(std::string_view target, const KernelResources& resources) {
  const auto* limits = std::find_if(kLimits.begin(), kLimits.end(),
                                    [&](const Limits& each) { return each.target == target; });
  if (limits == kLimits.end()) {
    std::string known;
    for (const Limits& each : kLimits) known += fmt::format(" {}", each.target);
    return bad_input(fmt::format("cannot model the occupancy of \"{}\": its limits are not known",
                                 target))
        .with_hint("known targets:" + known);
  }
  BURNISH_TRY(check(*limits, resources));

  const int lanes = resources.wave_size != 0 ? resources.wave_size : limits->default_wave;
  // A wave64 register is as large as two of wave32: half as many fit.
  const int halves = lanes / limits->default_wave;
  const int file = limits->vector_file / halves;
  const int granule = limits->vector_granule / halves;
  const int most = limits->waves;
  const int waves = divide_up(resources.threads, lanes);  // of a workgroup
  const int slots = most * kSimds;
  const int slot_groups = slots / waves;
  // A workgroup of one wave needs no barrier.
  const int barrier_groups = waves == 1 ? slots : limits->barriers;

  int vector_waves = most;
  if (const int counted = counted_registers(*limits, resources); counted >= granule) {
    vector_waves = std::clamp(file / round_up(counted, granule), 1, most);
  }
  const int scalar_waves =
      limits->default_wave == 64 ? scalar_limit(resources.scalar_registers, most) : most;
  const int register_waves = std::min(vector_waves, scalar_waves);
  const int pool = limits->shared_pool_kib * 1024;
  const int shared = static_cast<int>(resources.shared_bytes);

  const auto waves_of = [&](int groups) {
    return std::clamp(divide_up(groups * waves, kSimds), 1, most);
  };
  const int shared_groups = shared > 0 ? pool / shared : slots;
  Occupancy result;
  result.limits["registers"] = register_waves;
  result.limits["shared"] = waves_of(std::min(shared_groups, slots));
  result.limits["warps"] = waves_of(slot_groups);
  result.limits["barriers"] = waves_of(barrier_groups);
  result.limits["blocks"] = most;  // no limit of its own
  if (scalar_waves < most) result.limits["scalar_registers"] = scalar_waves;
  result.waves_per_simd = most;
  for (const auto& [name, limit] : result.limits) {
    result.waves_per_simd = std::min(result.waves_per_simd, limit);
  }
  const int register_groups = register_waves * kSimds / waves;
  result.blocks = std::min({register_groups, shared_groups, slot_groups, barrier_groups});
  if (result.blocks == 0) {
    return bad_input(
        fmt::format("a workgroup of {} threads with {} registers does not fit on {}: "
                    "it needs {} waves a SIMD, and {} fit",
                    resources.threads, counted_registers(*limits, resources), target,
                    divide_up(waves, kSimds), register_waves));
  }
  result.pct = 100.0 * result.waves_per_simd / most;
  result.limiter = "none";
  if (result.waves_per_simd < most) {
    for (const char* name : {"registers", "shared", "barriers", "warps"}) {
      if (result.limits[name] == result.waves_per_simd) {
        result.limiter = name;
        break;
      }
    }
  }
  result.model = fmt::format("LLVM AMDGPU (22.1), wave{}", lanes);

  // The hardware: LDS in whole granules, whole workgroups. What limits is told from the bounds
  // before they are rounded to workgroups, or else a 320-thread workgroup would blame its
  // registers.
  const int granted = round_up(shared, limits->shared_granule);
  const int granted_groups = granted > 0 ? pool / granted : slots;
  const int groups = std::min({register_groups, granted_groups, slot_groups, barrier_groups});
  result.hardware_waves_per_simd = divide_up(groups * waves, kSimds);
  result.hardware_pct = 100.0 * groups * waves / slots;
  result.hardware_limiter = "none";
  if (groups * waves < slots) {
    const double of_waves = static_cast<double>(kSimds) / waves;
    double tightest = slots / static_cast<double>(waves);
    result.hardware_limiter = "warps";
    const std::pair<const char*, double> bounds[] = {
        {"registers", register_waves * of_waves},
        {"shared", granted > 0 ? pool / static_cast<double>(granted) : slots},
        {"barriers", barrier_groups}};
    for (const auto& [name, bound] : bounds) {
      if (bound < tightest) {
        tightest = bound;
        result.hardware_limiter = name;
      }
    }
  }
  return result;
}

}  // namespace burnish::hardware
