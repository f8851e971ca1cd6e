// The K largest of every row of G (T x E, bf16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A workgroup serves a row: a thread has one logit, and the best of all is found by halving in LDS.
#include <hip/hip_runtime.h>

#include "words.h"

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
