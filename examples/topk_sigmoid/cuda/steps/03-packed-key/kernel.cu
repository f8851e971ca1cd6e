// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A warp serves a row and keeps it in registers. Value and index are one word, so that the best of all
// lanes is one instruction: the maximum over a warp (redux.sync, sm_80 and newer).

#include "logits.h"
#include "words.h"

template <int kExperts>
__device__ inline void rank(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I,
                            int T, int E, int K) {
  constexpr int kEach = kExperts / 32;
  const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= T) return;
  unsigned mine[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int e = lane + 32 * j;
    mine[j] = e < E ? key_of(G[(size_t)row * E + e], e) : 0;
  }
  for (int k = 0; k < K; ++k) {
    unsigned best = mine[0];
#pragma unroll
    for (int j = 1; j < kEach; ++j) best = max(best, mine[j]);
    best = __reduce_max_sync(~0u, best);
    if (lane == 0) store(P + (size_t)row * K + k, I + (size_t)row * K + k, best);
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (mine[j] == best) mine[j] = 0;
  }
}

#define KERNEL(name, experts)                                                                           \
  extern "C" __global__ void __launch_bounds__(256)                                                     \
  name(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T, int E,  \
       int K) {                                                                                         \
    rank<experts>(G, P, I, T, E, K);                                                                    \
  }
KERNEL(topk_sigmoid, EXPERTS)
KERNEL(wide, 512)

#include "general.h"
