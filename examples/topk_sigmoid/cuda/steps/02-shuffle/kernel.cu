// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A warp serves a row and keeps it in registers; the best of all lanes is found by shuffles, which
// leave it in every lane.

#if HALF  // logits are fp16
#include <cuda_fp16.h>
__device__ inline float widen(unsigned bits) { return __half2float(__ushort_as_half((unsigned short)bits)); }
#else
__device__ inline float widen(unsigned bits) { return __uint_as_float(bits << 16); }
#endif

// NVRTC has no INFINITY.
__device__ inline float infinity() { return __int_as_float(0x7f800000); }

constexpr int kNone = 0x7fffffff;  // index of what is not there

struct Best {
  float value;
  int index;
};

__device__ inline Best better(Best a, Best b) {
  const bool second = b.value > a.value || (b.value == a.value && b.index < a.index);
  return {second ? b.value : a.value, second ? b.index : a.index};
}

// A logit, or nothing where there is none or it is NaN.
__device__ inline Best logit(const unsigned short* row, int e, int E) {
  const float value = e < E ? widen(row[e]) : 0;
  const bool number = e < E && value == value;
  return {number ? value : -infinity(), number ? e : kNone};
}

__device__ inline void store(float* P, int* I, Best best) {
  *P = best.index == kNone ? 0 : 1 / (1 + expf(-best.value));
  *I = best.index == kNone ? -1 : best.index;
}

template <int kExperts>
__device__ inline void rank(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I,
                            int T, int E, int K) {
  constexpr int kEach = kExperts / 32;
  const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= T) return;
  Best mine[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) mine[j] = logit(G + (size_t)row * E, lane + 32 * j, E);
  for (int k = 0; k < K; ++k) {
    Best best = mine[0];
#pragma unroll
    for (int j = 1; j < kEach; ++j) best = better(best, mine[j]);
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      best = better(best, {__shfl_xor_sync(~0u, best.value, step), __shfl_xor_sync(~0u, best.index, step)});
    if (lane == 0) store(P + (size_t)row * K + k, I + (size_t)row * K + k, best);
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (mine[j].index == best.index) mine[j] = {-infinity(), kNone};
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
