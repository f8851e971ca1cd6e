#pragma once

#include "device/cuda_api.h"
#include "device/device.h"

namespace burnish::device {

/// What a TMA descriptor must fulfil (CUDA Driver API, cuTensorMapEncodeTiled), checked here since
/// the driver only says "invalid value". Errors: refused, naming the rule. The start of a copy in
/// the innermost dimension must be a multiple of 16 bytes as well, which only shows when the kernel
/// runs.
Result<void> check_tensor_map(const Argument::TensorMap& map);

/// Encodes it for a buffer at `address`.
Result<cu::TensorMap> encode_tensor_map(const CudaApi& api, const Argument::TensorMap& map,
                                        cu::Pointer address);

}  // namespace burnish::device
