#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"
#include "hardware/roofline.h"

namespace burnish::device {

/// Measures the roofs of a device with burnish's own kernels: copy bandwidth (bytes read plus bytes
/// written) of buffers of each of `copy_bytes` and of sizes in and beyond the last-level cache, and
/// the FMA rate of each dtype and matrix path that it computes with. Each value is the best of
/// several runs; the spread is in `source`. "copy 8 MiB" is of one launch with warm caches, "copy 8
/// MiB cold" after they were flushed; sizes that the device cannot hold twice are left out.
Result<std::vector<hardware::Ceiling>> measure_ceilings(
    Device& device, const std::vector<std::uint64_t>& copy_bytes);

/// The compute roof of a math path ("f32", "bf16-tensor"). Arithmetic in f16 or bf16 that a device
/// does in f32 has the roof of f32.
Result<hardware::Ceiling> compute_ceiling(const std::vector<hardware::Ceiling>& ceilings,
                                          const std::string& math_path);
/// The copy roof whose buffer is nearest to `bytes` by ratio, with caches as those; with warm ones
/// where none was measured cold.
Result<hardware::Ceiling> copy_ceiling(const std::vector<hardware::Ceiling>& ceilings, double bytes,
                                       Caches caches = Caches::warm);

}  // namespace burnish::device
