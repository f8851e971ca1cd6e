// The K largest of every row of G (T x E, bf16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// 8 lanes (16 for more than 64 experts) serve a row, so that a wave serves several. A lane loads 16
// bytes at a time. Value and index are one word; its maximum is exchanged between the lanes (DPP), and
// all of them have it in the end.
#include <hip/hip_runtime.h>

#include "words.h"

constexpr int kLanes = EXPERTS <= 64 ? 8 : 16;
constexpr int kEach = EXPERTS / kLanes;

extern "C" __global__ void __launch_bounds__(256)
topk_sigmoid(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T,
             int E, int K) {
  const int row = blockIdx.x * (256 / kLanes) + threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const unsigned short* x = G + (size_t)min(row, T - 1) * E;  // all lanes take part to the end
  unsigned mine[kEach];
#pragma unroll
  for (int j = 0; j < kEach; j += 8) {
    const int first = lane * kEach + j;
    if (E % 8 == 0) {
      uint4 v = make_uint4(0, 0, 0, 0);
      if (first < E) v = *reinterpret_cast<const uint4*>(x + first);
      const unsigned word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const unsigned bits = i % 2 ? word[i / 2] >> 16 : word[i / 2] & 0xffffu;
        mine[j + i] = first < E ? key_of(bits, first + i) : 0;
      }
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) mine[j + i] = first + i < E ? key_of(x[first + i], first + i) : 0;
    }
  }
  for (int k = 0; k < K; ++k) {
    unsigned best = mine[0];
#pragma unroll
    for (int j = 1; j < kEach; ++j) best = max(best, mine[j]);
    best = larger_with<0xb1>(best);                    // quad_perm:[1,0,3,2]
    best = larger_with<0x4e>(best);                    // quad_perm:[2,3,0,1]
    best = larger_with<0x141>(best);                   // row_half_mirror
    if (kLanes == 16) best = larger_with<0x140>(best);  // row_mirror
    if (row < T && lane == k % kLanes) store(P + (size_t)row * K + k, I + (size_t)row * K + k, best);
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (mine[j] == best) mine[j] = 0;
  }
}

#include "general.h"
