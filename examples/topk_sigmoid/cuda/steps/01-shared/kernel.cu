// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A block serves a row: a thread has one logit, and the best of all is found by halving in shared memory.

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
  __shared__ float value[kExperts];
  __shared__ int index[kExperts];
  const int row = blockIdx.x, t = threadIdx.x;
  Best mine = logit(G + (size_t)row * E, t, E);
  for (int k = 0; k < K; ++k) {
    value[t] = mine.value;
    index[t] = mine.index;
    __syncthreads();
    for (int step = kExperts / 2; step > 0; step /= 2) {
      if (t < step) {
        const Best best = better({value[t], index[t]}, {value[t + step], index[t + step]});
        value[t] = best.value;
        index[t] = best.index;
      }
      __syncthreads();
    }
    const Best best = {value[0], index[0]};
    if (t == 0) store(P + (size_t)row * K + k, I + (size_t)row * K + k, best);
    if (mine.index == best.index) mine = {-infinity(), kNone};
    __syncthreads();
  }
}

#define KERNEL(name, experts)                                                                           \
  extern "C" __global__ void __launch_bounds__(experts)                                                 \
  name(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T, int E,  \
       int K) {                                                                                         \
    rank<experts>(G, P, I, T, E, K);                                                                    \
  }
KERNEL(topk_sigmoid, EXPERTS)
KERNEL(wide, 512)

#include "general.h"
