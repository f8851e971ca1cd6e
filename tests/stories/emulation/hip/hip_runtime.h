// HIP's device language for the host, as far as the steps of examples/*/hip use it, so that their
// logic can be run where no AMD GPU is. Threads of a block are fibers; those of a wave meet at
// operations between lanes, those of a block at barriers. What lanes exchange, and where matrix
// instructions keep their elements, is as AMD's manuals for CDNA3 and its matrix instruction
// calculator have it.
#pragma once

#include "emulation/common.h"

template <class T>
T __shfl_xor(T value, int mask) {
  return from_lane_of(value, [&](int lane) { return lane ^ mask; }, value);
}
inline unsigned __builtin_amdgcn_readlane(unsigned value, int from) {
  return from_lane_of(value, [&](int) { return from; }, value);
}
inline unsigned __builtin_amdgcn_readfirstlane(unsigned value) {
  return __builtin_amdgcn_readlane(value, 0);
}

/// The lane that a DPP pattern reads, -1 for none.
inline int dpp_source(int lane, int pattern) {
  const int row = lane / 16, at = lane % 16;
  if (pattern < 0x100) return lane / 4 * 4 + (pattern >> (2 * (lane % 4)) & 3);
  if (pattern > 0x110 && pattern < 0x120)  // row_shr
    return at >= pattern - 0x110 ? lane - (pattern - 0x110) : -1;
  if (pattern == 0x140) return row * 16 + 15 - at;            // row_mirror
  if (pattern == 0x141) return lane / 8 * 8 + 7 - lane % 8;   // row_half_mirror
  if (pattern == 0x142) return row == 0 ? -1 : row * 16 - 1;  // row_bcast:15
  if (pattern == 0x143) return lane < 32 ? -1 : 31;           // row_bcast:31
  burnish::emulation::unknown("a DPP pattern");
}
inline int __builtin_amdgcn_update_dpp(int old, int value, int pattern, int row_mask, int bank_mask,
                                       bool zero) {
  if (row_mask != 0xf || bank_mask != 0xf) burnish::emulation::unknown("DPP with masks");
  return from_lane_of(value, [&](int lane) { return dpp_source(lane, pattern); }, zero ? 0 : old);
}

/// D = A B + C of 16 x 16 x 16: lane l holds A[l % 16][k], B[k][l % 16] for the four k from l / 16
/// * 4 on, and C and D [l / 16 * 4 + v][l % 16] for v from 0 to 3.
template <class Four, class Sums>
Sums __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(Four a, Four b, Sums c, int, int, int) {
  const auto halves = [](Four v, int first) {
    return static_cast<std::uint32_t>(static_cast<std::uint16_t>(v[first])) |
           static_cast<std::uint32_t>(static_cast<std::uint16_t>(v[first + 1])) << 16;
  };
  const auto& wave =
      burnish::emulation::exchange({halves(a, 0), halves(a, 2), halves(b, 0), halves(b, 2)});
  const auto element = [&](int matrix, int other, int k) {
    const auto& words = wave[static_cast<std::size_t>(other + 16 * (k / 4))];
    const std::uint32_t word = words[static_cast<std::size_t>(2 * matrix + k % 4 / 2)];
    return std::bit_cast<float>(k % 2 ? word & 0xffff0000u : word << 16);
  };
  const int lane = burnish::emulation::lane();
  for (int v = 0; v < 4; ++v)
    for (int k = 0; k < 16; ++k)
      c[v] += element(0, lane / 16 * 4 + v, k) * element(1, lane % 16, k);
  return c;
}

inline void __builtin_amdgcn_sched_group_barrier(int, int, int) {}
