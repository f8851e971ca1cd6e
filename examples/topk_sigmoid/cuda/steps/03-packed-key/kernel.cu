// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A warp serves a row and keeps it in registers. Value and index are one word, so that the best of all
// lanes is one instruction: the maximum over a warp (redux.sync, sm_80 and newer).

#if HALF  // logits are fp16
#include <cuda_fp16.h>
constexpr unsigned kInfinity = 0x7c00;
__device__ inline float widen(unsigned bits) { return __half2float(__ushort_as_half((unsigned short)bits)); }
#else
constexpr unsigned kInfinity = 0x7f80;
__device__ inline float widen(unsigned bits) { return __uint_as_float(bits << 16); }
#endif

// One word that orders like value and index: above, the logit as an unsigned number that orders like it;
// below, what prefers the lower index. 0 is nothing: no logit, or NaN.
__device__ inline unsigned key_of(unsigned bits, int e) {
  if (bits == 0x8000u) bits = 0;  // -0 is 0
  const unsigned value = bits ^ (bits & 0x8000u ? 0xffffu : 0x8000u);
  return (bits & 0x7fffu) > kInfinity ? 0 : value << 16 | (0xffffu - e);
}

__device__ inline void store(float* P, int* I, unsigned key) {
  const unsigned value = key >> 16, bits = value ^ (value & 0x8000u ? 0x8000u : 0xffffu);
  *P = key == 0 ? 0 : 1 / (1 + expf(-widen(bits)));
  *I = key == 0 ? -1 : (int)(0xffffu - (key & 0xffffu));
}

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
