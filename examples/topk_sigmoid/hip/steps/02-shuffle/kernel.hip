// The K largest of every row of G (T x E, bf16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A wave serves a row and keeps it in registers; the best of all lanes is found by shuffles, which
// leave it in every lane.
#include <hip/hip_runtime.h>

#include "words.h"

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
#pragma unroll
    for (int step = 32; step > 0; step /= 2)
      best = better(best, {__shfl_xor(best.value, step), __shfl_xor(best.index, step)});
    if (lane == 0) store(P + (size_t)row * K + k, I + (size_t)row * K + k, best);
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (mine[j].index == best.index) mine[j] = {-INFINITY, kNone};
  }
}

#include "general.h"
