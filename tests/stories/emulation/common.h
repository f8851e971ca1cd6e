// What the device languages of HIP and CUDA share, for the host (see device.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "emulation/device.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)

using burnish::emulation::Index;
inline const Index& threadIdx = burnish::emulation::thread_index();
inline const Index& blockIdx = burnish::emulation::block_index();
inline const Index& gridDim = burnish::emulation::grid_size();

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline int min(int a, int b) { return std::min(a, b); }
inline int max(int a, int b) { return std::max(a, b); }
inline unsigned max(unsigned a, unsigned b) { return std::max(a, b); }

inline void __syncthreads() { burnish::emulation::barrier(); }

/// The word of lane `from`, or `otherwise` where that is no lane.
template <class T, class From>
T from_lane_of(T value, From from, T otherwise) {
  static_assert(sizeof(T) == 4);
  const auto& wave = burnish::emulation::exchange({std::bit_cast<std::uint32_t>(value)});
  const int lane = from(burnish::emulation::lane());
  return lane < 0 ? otherwise : std::bit_cast<T>(wave[static_cast<std::size_t>(lane)][0]);
}
