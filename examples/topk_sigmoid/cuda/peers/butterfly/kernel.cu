// A peer to compare with, not a step: the published design of the serving stacks' fused gating kernels,
// written here from its description. EXPERTS / 8 lanes serve a row and load 16 bytes each; the sigmoids
// of all logits are taken first, in fp32, and K rounds rank them: the best of a lane's own, then a
// butterfly over the lanes that exchanges value and index; the winner is overwritten.
//
// Ranking sigmoids is the design's known flaw: they saturate, so that large logits tie which are not
// equal; and NaN and infinity count as 0. It is right where neither occurs.

constexpr float kTaken = -10000;

#if HALF  // logits are fp16
#include <cuda_fp16.h>
__device__ inline float widen(unsigned bits) { return __half2float(__ushort_as_half((unsigned short)bits)); }
#else
__device__ inline float widen(unsigned bits) { return __uint_as_float(bits << 16); }
#endif

__device__ inline float sigmoid(unsigned bits) {
  const float value = 1 / (1 + __expf(-widen(bits)));
  return value <= 1 ? value : 0;  // NaN
}

template <int kExperts>
__device__ inline void rank(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I,
                            int T, int E, int K) {
  constexpr int kEach = kExperts / 32 > 8 ? kExperts / 32 : 8;
  constexpr int kLanes = kExperts / kEach;
  const int row = blockIdx.x * (128 / kLanes) + threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const unsigned short* x = G + (size_t)min(row, T - 1) * E;  // all lanes take part to the end
  float mine[kEach];
#pragma unroll
  for (int j = 0; j < kEach; j += 8) {
    const int first = lane * kEach + j;
    if (E % 8 == 0) {
      uint4 v = make_uint4(0, 0, 0, 0);
      if (first < E) v = *reinterpret_cast<const uint4*>(x + first);
      const unsigned word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int i = 0; i < 8; ++i)
        mine[j + i] = first < E ? sigmoid(i % 2 ? word[i / 2] >> 16 : word[i / 2] & 0xffffu) : kTaken;
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) mine[j + i] = first + i < E ? sigmoid(x[first + i]) : kTaken;
    }
  }
  for (int k = 0; k < K; ++k) {
    float best = mine[0];
    int index = lane * kEach;
#pragma unroll
    for (int j = 1; j < kEach; ++j)
      if (mine[j] > best) best = mine[j], index = lane * kEach + j;
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(~0u, best, step);
      const int other_index = __shfl_xor_sync(~0u, index, step);
      if (other > best || (other == best && other_index < index)) best = other, index = other_index;
    }
    if (row < T && lane == 0) {
      P[(size_t)row * K + k] = best;
      I[(size_t)row * K + k] = index;
    }
    if (k + 1 < K && index / kEach == lane) {
#pragma unroll
      for (int j = 0; j < kEach; ++j)
        if (index % kEach == j) mine[j] = kTaken;
    }
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
