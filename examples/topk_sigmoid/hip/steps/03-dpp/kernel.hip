// The K largest of every row of G (T x E, bf16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A wave serves a row and keeps it in registers; the best of all lanes is found by moves between lanes
// within the vector unit (DPP).
#include <hip/hip_runtime.h>

#include "words.h"

template <int kPattern>
__device__ inline Best from_lane(Best best) {
  const int value = __float_as_int(best.value);
  return {__int_as_float(__builtin_amdgcn_update_dpp(value, value, kPattern, 0xf, 0xf, false)),
          __builtin_amdgcn_update_dpp(best.index, best.index, kPattern, 0xf, 0xf, false)};
}

// The best of all lanes arrives in lane 63: of pairs, of quads, of rows of 16 lanes in their last quad,
// then over the rows. Lanes that a pattern gives nothing keep what they have.
__device__ inline Best best_of_wave(Best best) {
  best = better(best, from_lane<0xb1>(best));   // quad_perm:[1,0,3,2]
  best = better(best, from_lane<0x4e>(best));   // quad_perm:[2,3,0,1]
  best = better(best, from_lane<0x114>(best));  // row_shr:4
  best = better(best, from_lane<0x118>(best));  // row_shr:8
  best = better(best, from_lane<0x142>(best));  // row_bcast:15
  best = better(best, from_lane<0x143>(best));  // row_bcast:31
  return {__int_as_float(__builtin_amdgcn_readlane(__float_as_int(best.value), 63)),
          __builtin_amdgcn_readlane(best.index, 63)};
}

extern "C" __global__ void __launch_bounds__(256)
topk_sigmoid(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T,
             int E, int K) {
  constexpr int kEach = EXPERTS / 64;
  const int row = blockIdx.x * 4 + threadIdx.x / 64, lane = threadIdx.x % 64;
  if (row >= T) return;
  Best mine[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) mine[j] = logit(G + (size_t)row * E, lane + 64 * j, E);
  for (int k = 0; k < K; ++k) {
    Best best = mine[0];
#pragma unroll
    for (int j = 1; j < kEach; ++j) best = better(best, mine[j]);
    best = best_of_wave(best);
    if (lane == 0) store(P + (size_t)row * K + k, I + (size_t)row * K + k, best);
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (mine[j].index == best.index) mine[j] = {-INFINITY, kNone};
  }
}

#include "general.h"
