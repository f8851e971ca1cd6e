// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A warp serves a row. A lane sorts its few words once, so that a round is the best of the lanes' first words
// over the warp (redux.sync, sm_80 and newer), and the winner's lane moves on to its next. Words are made
// two at a time, and 32 results are written at once.

#if HALF  // logits are fp16
#include <cuda_fp16.h>
#define PAIR "f16x2"
constexpr unsigned kMinusOnes = 0xbc00bc00u;
__device__ inline float widen(unsigned bits) { return __half2float(__ushort_as_half((unsigned short)bits)); }
#else
#define PAIR "bf16x2"
constexpr unsigned kMinusOnes = 0xbf80bf80u;
__device__ inline float widen(unsigned bits) { return __uint_as_float(bits << 16); }
#endif

// Two logits as signed 16-bit numbers of which the smallest is the best. The product is the negated logit;
// it makes -0 into 0, and every NaN into 0x7fff, the worst.
__device__ inline unsigned order(unsigned pair) {
  unsigned z, negative;
  asm("fma.rn." PAIR " %0, %1, %2, %3;" : "=r"(z) : "r"(pair), "r"(kMinusOnes), "r"(0));
  asm("prmt.b32 %0, %1, %1, 0xbb99;" : "=r"(negative) : "r"(z));  // 0xffff for each negative half
  return z ^ (negative & 0x7fff7fffu);
}

// One word of order and index: ties go to the lower index by themselves.
constexpr int kNone = 0x7fff0000;  // NaN, or no logit: what is not below
__device__ inline int key_low(unsigned pair, int e) { return (int)(pair << 16 | e); }
__device__ inline int key_high(unsigned pair, int e) { return (int)((pair & 0xffff0000u) | e); }

__device__ inline void store(float* P, int* I, int key) {
  const int value = key >> 16;
  const float minus = widen((value ^ (value >> 31 & 0x7fff)) & 0xffff);
  *P = key >= kNone ? 0 : __fdividef(1, 1 + expf(minus));
  *I = key >= kNone ? -1 : key & 0xffff;
}

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
