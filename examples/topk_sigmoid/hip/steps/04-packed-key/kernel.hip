// The K largest of every row of G (T x E, bf16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A wave serves a row and keeps it in registers. Value and index are one word, so that the best of all
// lanes is a maximum, whose move between lanes (DPP) is part of the instruction.
#include <hip/hip_runtime.h>

#include "words.h"

// The largest of all lanes arrives in lane 63: of pairs, of quads, of rows of 16 lanes in their last
// quad, then over the rows. Lanes that a pattern gives nothing get 0.
__device__ inline unsigned largest_of_wave(unsigned key) {
  key = larger_with<0xb1>(key);   // quad_perm:[1,0,3,2]
  key = larger_with<0x4e>(key);   // quad_perm:[2,3,0,1]
  key = larger_with<0x114>(key);  // row_shr:4
  key = larger_with<0x118>(key);  // row_shr:8
  key = larger_with<0x142>(key);  // row_bcast:15
  key = larger_with<0x143>(key);  // row_bcast:31
  return __builtin_amdgcn_readlane(key, 63);
}

extern "C" __global__ void __launch_bounds__(256)
topk_sigmoid(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T,
             int E, int K) {
  constexpr int kEach = EXPERTS / 64;
  const int row = blockIdx.x * 4 + threadIdx.x / 64, lane = threadIdx.x % 64;
  if (row >= T) return;
  unsigned mine[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int e = lane + 64 * j;
    mine[j] = e < E ? key_of(G[(size_t)row * E + e], e) : 0;
  }
  for (int k = 0; k < K; ++k) {
    unsigned best = mine[0];
#pragma unroll
    for (int j = 1; j < kEach; ++j) best = max(best, mine[j]);
    best = largest_of_wave(best);
    if (lane == 0) store(P + (size_t)row * K + k, I + (size_t)row * K + k, best);
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (mine[j] == best) mine[j] = 0;
  }
}

#include "general.h"
