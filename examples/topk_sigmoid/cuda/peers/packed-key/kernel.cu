// A peer to compare with, not a step: the published design of packed keys and a warp reduction, written
// here from its description. A warp serves a row; a lane has the logits that are 32 apart, as words of
// twiddled bits above and 65535 - index below, and sorts them once; a round is one reduction of the
// lanes' first words over the warp, and the winner's lane moves on to its next.
//
// NaN orders like a number beyond infinity, and -0 below 0: it is right where neither occurs.

#if HALF  // logits are fp16
#include <cuda_fp16.h>
__device__ inline float widen(unsigned bits) { return __half2float(__ushort_as_half((unsigned short)bits)); }
#else
__device__ inline float widen(unsigned bits) { return __uint_as_float(bits << 16); }
#endif

__device__ inline unsigned key_of(unsigned bits, int e) {
  return (bits ^ (bits & 0x8000u ? 0xffffu : 0x8000u)) << 16 | (0xffffu - e);
}

__device__ inline void store(float* P, int* I, unsigned key) {
  const unsigned value = key >> 16, bits = value ^ (value & 0x8000u ? 0x8000u : 0xffffu);
  *P = 1 / (1 + __expf(-widen(bits)));
  *I = (int)(0xffffu - (key & 0xffffu));
}

template <int kExperts>
__device__ inline void rank(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I,
                            int T, int E, int K) {
  constexpr int kEach = kExperts / 32;
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= T) return;
  unsigned mine[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int e = lane + 32 * j;
    mine[j] = e < E ? key_of(G[(size_t)row * E + e], e) : 0;
  }
  // odd-even transposition, largest first
#pragma unroll
  for (int pass = 0; pass < kEach; ++pass)
#pragma unroll
    for (int j = pass % 2; j + 1 < kEach; j += 2) {
      const unsigned larger = max(mine[j], mine[j + 1]);
      mine[j + 1] = min(mine[j], mine[j + 1]);
      mine[j] = larger;
    }
  unsigned winner = 0;
  for (int k = 0; k < K; ++k) {
    const unsigned best = __reduce_max_sync(~0u, mine[0]);
    if (lane == k % 32) winner = best;
    if (mine[0] == best) {
#pragma unroll
      for (int j = 0; j + 1 < kEach; ++j) mine[j] = mine[j + 1];
      mine[kEach - 1] = 0;
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
