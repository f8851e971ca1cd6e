#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"

namespace burnish::hardware {

struct KernelResources {
  int threads = 0;          ///< a block
  int registers = 0;        ///< a thread, as used (VGPRs on AMD)
  int accum_registers = 0;  ///< AGPRs; AMD only
  int scalar_registers = 0;
  std::int64_t shared_bytes = 0;               ///< a block, static and dynamic
  std::optional<std::int64_t> carveout_bytes;  ///< shared memory configured for the SM; NVIDIA
  int barriers = 0;                            ///< named barriers a block; NVIDIA
  int wave_size = 0;  ///< lanes a wave, 32 or 64; 0: the target's default (gfx9 64, later 32); AMD
};

struct Occupancy {
  int blocks = 0;          ///< resident blocks a multiprocessor / compute unit
  int waves_per_simd = 0;  ///< warps a scheduler on NVIDIA
  double pct = 0;          ///< of the most warps / waves that can be resident
  std::string limiter;     ///< registers, shared, warps, blocks, barriers, none
  std::map<std::string, int>
      limits;         ///< blocks (AMD: waves a SIMD) that each resource alone allows
  std::string model;  ///< "NVIDIA occupancy calculator", "LLVM AMDGPU", with its version
  /// On AMD the same with the hardware's LDS allocation granule; absent elsewhere.
  std::optional<int> hardware_waves_per_simd;
  std::optional<double> hardware_pct;
  std::optional<std::string> hardware_limiter;
};

/// The vendors' models: NVIDIA's occupancy calculator for "sm_XY", LLVM's for "gfxXYZ". An unknown
/// target, or resources that cannot be launched at all, is a bad_input error that says so.
Result<Occupancy> occupancy(const std::string& arch, const KernelResources& resources);

}  // namespace burnish::hardware
