#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"
#include "hardware/roofline.h"

namespace burnish::device {

/// Measures the roofs of a device with burnish's own kernels: copy bandwidth (bytes read plus bytes
/// written) at each of `copy_bytes` and at sizes in and beyond the last-level cache, and the FMA
/// rate of each dtype that it computes with. Each value is the best of several runs; the spread is
/// in `source`.
Result<std::vector<hardware::Ceiling>> measure_ceilings(
    Device& device, const std::vector<std::uint64_t>& copy_bytes);

/// The compute roof of a math path ("f32"), and the copy roof nearest to `bytes` by ratio.
Result<hardware::Ceiling> compute_ceiling(const std::vector<hardware::Ceiling>& ceilings,
                                          const std::string& math_path);
Result<hardware::Ceiling> copy_ceiling(const std::vector<hardware::Ceiling>& ceilings,
                                       double bytes);

}  // namespace burnish::device
