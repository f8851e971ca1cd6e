// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A thread serves a row. Each round takes the largest of what comes after the last winner.

#include "logits.h"

extern "C" __global__ void __launch_bounds__(256)
topk_sigmoid(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T,
             int E, int K) {
  const int row = blockIdx.x * 256 + threadIdx.x;
  if (row >= T) return;
  const unsigned short* x = G + (size_t)row * E;
  float last = infinity();
  int last_index = -1;
  for (int k = 0; k < K; ++k) {
    float best = 0;
    int index = -1;
    for (int e = 0; e < E; ++e) {
      const float value = widen(x[e]);
      if (!(value < last || (value == last && e > last_index))) continue;
      if (index < 0 || value > best) best = value, index = e;
    }
    last = index < 0 ? -infinity() : best;
    last_index = index < 0 ? E : index;
    P[(size_t)row * K + k] = index < 0 ? 0 : 1 / (1 + expf(-best));
    I[(size_t)row * K + k] = index;
  }
}

#include "general.h"
