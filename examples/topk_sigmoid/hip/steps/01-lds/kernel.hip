// The K largest of every row of G (T x E, bf16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A workgroup serves a row: a thread has one logit, and the best of all is found by halving in LDS.
#include <hip/hip_runtime.h>

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
  const float value = e < E ? __uint_as_float((unsigned)row[e] << 16) : NAN;
  const bool number = value == value;
  return {number ? value : -INFINITY, number ? e : kNone};
}

__device__ inline void store(float* P, int* I, Best best) {
  *P = best.index == kNone ? 0 : 1 / (1 + expf(-best.value));
  *I = best.index == kNone ? -1 : best.index;
}

extern "C" __global__ void __launch_bounds__(EXPERTS)
topk_sigmoid(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T,
             int E, int K) {
  __shared__ float value[EXPERTS];
  __shared__ int index[EXPERTS];
  const int row = blockIdx.x, t = threadIdx.x;
  Best mine = logit(G + (size_t)row * E, t, E);
  for (int k = 0; k < K; ++k) {
    value[t] = mine.value;
    index[t] = mine.index;
    __syncthreads();
    for (int step = EXPERTS / 2; step > 0; step /= 2) {
      if (t < step) {
        const Best best = better({value[t], index[t]}, {value[t + step], index[t + step]});
        value[t] = best.value;
        index[t] = best.index;
      }
      __syncthreads();
    }
    const Best best = {value[0], index[0]};
    if (t == 0) store(P + (size_t)row * K + k, I + (size_t)row * K + k, best);
    if (mine.index == best.index) mine = {-INFINITY, kNone};
    __syncthreads();
  }
}

#include "general.h"
