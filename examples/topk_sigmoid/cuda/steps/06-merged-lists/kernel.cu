// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// 8 lanes or more serve a row. Each has 16 logits (8 of a row of 64), as words of value and index, and
// sorts the best of them. Lists are merged over lanes: of two sorted lists, the smaller of each word and its
// mirror image are the best of both, in an order that a few more exchanges sort. The number of steps is the
// logarithm of the lanes, whatever K is. Lists have 4 or 8 words; rows of other lengths, and more results, have
// a kernel of their own (launch.toml).

#include "logits.h"
#include "words.h"
#include "lists.h"

template <int E, int kRanks>
__device__ inline void rank(const unsigned short* G, float* P, int* I, int T, int K) {
  constexpr int kLanes = E <= 128 ? 8 : E / 16;
  const int row = blockIdx.x * (128 / kLanes) + threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  // All lanes take part to the end.
  const uint4* x = reinterpret_cast<const uint4*>(G + (size_t)min(row, T - 1) * E);
  int best[kRanks];
  rank_row<E, kRanks, kLanes>(x, best, lane);
  if (row < T && lane < K) store(P + (size_t)row * K + lane, I + (size_t)row * K + lane, best[0]);
}

#define KERNEL(name, E, kRanks)                                                                         \
  extern "C" __global__ void __launch_bounds__(128) name(                                               \
      const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T, int K) { \
    rank<E, kRanks>(G, P, I, T, K);                                                                     \
  }
KERNEL(rank_64_4, 64, 4)
KERNEL(rank_64_8, 64, 8)
KERNEL(rank_128_4, 128, 4)
KERNEL(rank_128_8, 128, 8)
KERNEL(rank_256_4, 256, 4)
KERNEL(rank_256_8, 256, 8)
KERNEL(rank_512_4, 512, 4)
KERNEL(rank_512_8, 512, 8)

// A warp serves a row of any length; each round takes the best of what comes after the last winner.
extern "C" __global__ void __launch_bounds__(128)
any_shape(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T, int E,
          int K) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= T) return;
  const unsigned short* x = G + (size_t)row * E;
  int last = -0x7fffffff - 1;
  for (int k = 0; k < K; ++k) {
    int best = 0x7fffffff;
    for (int e = lane; e < E; e += 32) {
      const int key = key_low(order(x[e]), e);
      if (key > last) best = min(best, key);
    }
    last = __reduce_min_sync(~0u, best);
    if (lane == 0) store(P + (size_t)row * K + k, I + (size_t)row * K + k, last);
  }
}

#include "general.h"
