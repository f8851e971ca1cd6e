// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A block serves a row: a thread has one logit, and the best of all is found by halving in shared memory.

#include "logits.h"
#include "words.h"

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
