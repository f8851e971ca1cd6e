// CUDA's device language for the host, as far as the steps of examples/*/cuda use it. Where matrix
// instructions keep their elements is as the PTX ISA has it.
#pragma once

#include "emulation/common.h"

template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return from_lane_of(value, [&](int lane) { return lane ^ mask; }, value);
}

inline unsigned __reduce_max_sync(unsigned, unsigned value) {
  const auto& warp = burnish::emulation::exchange({value});
  for (int lane = 0; lane < 32; ++lane) value = max(value, warp[static_cast<std::size_t>(lane)][0]);
  return value;
}

/// cvt.rn.bf16.f32
inline unsigned short emulated_narrow(float x) {
  const unsigned bits = __float_as_uint(x);
  if (x != x) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/// mma.sync.m16n8k16, row by column: lane l holds A[l / 4 (+ 8)][2 (l % 4) (+ 1) (+ 8)], B[k][l /
/// 4] for the same k, and C and D [l / 4 (+ 8)][2 (l % 4) (+ 1)].
inline void emulated_mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const auto& warp = burnish::emulation::exchange({a[0], a[1], a[2], a[3], b[0], b[1]});
  const auto element = [&](int other, int k, std::size_t word) {
    const std::uint32_t both = warp[static_cast<std::size_t>(other * 4 + k % 8 / 2)][word];
    return std::bit_cast<float>(k % 2 ? both & 0xffff0000u : both << 16);
  };
  const int lane = burnish::emulation::lane();
  for (int v = 0; v < 4; ++v) {
    const std::size_t lower = v / 2;  // rows from 8 on
    for (int k = 0; k < 16; ++k) {
      const std::size_t right = k / 8;
      c[v] += element(lane / 4, k, lower + 2 * right) * element(lane % 4 * 2 + v % 2, k, 4 + right);
    }
  }
}

/// cp.async of 4 bytes, of which `size` are read; nobody waits for it here.
inline void emulated_copy(unsigned* to, const unsigned short* from, int size) {
  *to = 0;
  std::memcpy(to, from, static_cast<std::size_t>(size));
}
