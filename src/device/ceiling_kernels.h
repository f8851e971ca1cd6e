#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace burnish::device {

/// A kernel that keeps one math path busy from registers: `name(out, n)` does `operations` per
/// thread and round of its loop of `n` rounds, and writes `bytes` a thread so that nothing is
/// optimised away.
struct MathKernel {
  std::string kernel;
  std::string ceiling;      ///< "fma f32", "tensor bf16"
  double operations = 0;    ///< a thread and round
  std::uint64_t bytes = 0;  ///< results of a thread
  std::string instruction;  ///< how, for the ceiling's source
};

/// burnish's own measuring kernels for one device: `copy(in, out, n)` and `copy_streaming` move `n`
/// elements of `copy_bytes` each; a kernel that the device cannot build is left out by the
/// preprocessor.
struct CeilingKernels {
  Source source;
  std::uint64_t copy_bytes = 0;
  std::vector<std::string> copies;
  std::vector<MathKernel> math;
  std::int64_t block = 1;            ///< threads a block
  std::int64_t blocks_per_unit = 1;  ///< blocks for each compute unit
};

CeilingKernels ceiling_kernels(const DeviceInfo& info);

}  // namespace burnish::device
