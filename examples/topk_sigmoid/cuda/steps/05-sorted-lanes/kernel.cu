// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A warp serves a row. A lane sorts its few words once, so that a round is the best of the lanes' first words
// over the warp (redux.sync, sm_80 and newer), and the winner's lane moves on to its next. Words are made
// two at a time, and 32 results are written at once.

#include "logits.h"
#include "words.h"

template <int kExperts>
__device__ inline void rank(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I,
                            int T, int E, int K) {
  constexpr int kEach = kExperts / 32;
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= T) return;
  const unsigned short* x = G + (size_t)row * E + lane * kEach;
  int mine[kEach];
#pragma unroll
  for (int j = 0; j < kEach; j += 2) {
    const int e = lane * kEach + j;
    unsigned pair = ~0u;  // NaN
    if (E % 2 == 0) {
      if (e < E) pair = *reinterpret_cast<const unsigned*>(x + j);
    } else if (e < E) {
      pair = x[j] | (e + 1 < E ? x[j + 1] : 0xffffu) << 16;
    }
    pair = order(pair);
    mine[j] = key_low(pair, e);
    mine[j + 1] = key_high(pair, e + 1);
  }
  // odd-even transposition, best first
#pragma unroll
  for (int pass = 0; pass < kEach; ++pass)
#pragma unroll
    for (int j = pass % 2; j + 1 < kEach; j += 2) {
      const int better = min(mine[j], mine[j + 1]);
      mine[j + 1] = max(mine[j], mine[j + 1]);
      mine[j] = better;
    }
  int winner = kNone;
  for (int k = 0; k < K; ++k) {
    const int best = __reduce_min_sync(~0u, mine[0]);
    if (lane == k % 32) winner = best;
    if (mine[0] == best) {
#pragma unroll
      for (int j = 0; j + 1 < kEach; ++j) mine[j] = mine[j + 1];
      mine[kEach - 1] = 0x7fffffff;
    }
    if ((k % 32 == 31 || k + 1 == K) && lane <= k % 32)
      store(P + (size_t)row * K + k - k % 32 + lane, I + (size_t)row * K + k - k % 32 + lane, winner);
  }
}

#define KERNEL(name, experts)                                                                           \
  extern "C" __global__ void __launch_bounds__(128)                                                     \
  name(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T, int E,  \
       int K) {                                                                                         \
    rank<experts>(G, P, I, T, E, K);                                                                    \
  }
KERNEL(topk_sigmoid, EXPERTS)
KERNEL(wide, 512)

#include "general.h"
