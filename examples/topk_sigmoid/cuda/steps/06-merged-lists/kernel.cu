// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// 8 lanes or more serve a row. Each has 16 logits (8 of a row of 64), as words of value and index, and
// sorts the best of them. Lists are merged over lanes: of two sorted lists, the smaller of each word and its
// mirror image are the best of both, in an order that a few more exchanges sort. The number of steps is the
// logarithm of the lanes, whatever K is. Lists have 4 or 8 words; rows of other lengths, and more results, have
// a kernel of their own (launch.toml).

#if HALF  // logits are fp16
#include <cuda_fp16.h>
#define PAIR "f16x2"
constexpr unsigned kMinusOnes = 0xbc00bc00u;
__device__ inline float widen(unsigned bits) { return __half2float(__ushort_as_half((unsigned short)bits)); }
#else
#define PAIR "bf16x2"
constexpr unsigned kMinusOnes = 0xbf80bf80u;
__device__ inline float widen(unsigned bits) { return __uint_as_float(bits << 16); }
#endif

// Two logits as signed 16-bit numbers of which the smallest is the best. The product is the negated logit;
// it makes -0 into 0, and every NaN into 0x7fff, the worst.
__device__ inline unsigned order(unsigned pair) {
  unsigned z, negative;
  asm("fma.rn." PAIR " %0, %1, %2, %3;" : "=r"(z) : "r"(pair), "r"(kMinusOnes), "r"(0));
  asm("prmt.b32 %0, %1, %1, 0xbb99;" : "=r"(negative) : "r"(z));  // 0xffff for each negative half
  return z ^ (negative & 0x7fff7fffu);
}

// One word of order and index: ties go to the lower index by themselves.
constexpr int kNone = 0x7fff0000;  // NaN, or no logit: what is not below
__device__ inline int key_low(unsigned pair, int e) { return (int)(pair << 16 | e); }
__device__ inline int key_high(unsigned pair, int e) { return (int)((pair & 0xffff0000u) | e); }

__device__ inline void store(float* P, int* I, int key) {
  const int value = key >> 16;
  const float minus = widen((value ^ (value >> 31 & 0x7fff)) & 0xffff);
  *P = key >= kNone ? 0 : __fdividef(1, 1 + expf(minus));
  *I = key >= kNone ? -1 : key & 0xffff;
}

__device__ inline void exchange(int& a, int& b) {
  const int better = min(a, b);
  b = max(a, b);
  a = better;
}
// Sorts a list that rises and falls.
template <int N> __device__ inline void sort_bitonic(int* a) {
#pragma unroll
  for (int d = N / 2; d > 0; d /= 2)
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (!(i & d)) exchange(a[i], a[i + d]);
}
template <int N> __device__ inline void sort(int* a) {
  if (N == 8) {
    exchange(a[0], a[2]), exchange(a[1], a[3]), exchange(a[4], a[6]), exchange(a[5], a[7]);
    exchange(a[0], a[4]), exchange(a[1], a[5]), exchange(a[2], a[6]), exchange(a[3], a[7]);
    exchange(a[0], a[1]), exchange(a[2], a[3]), exchange(a[4], a[5]), exchange(a[6], a[7]);
    exchange(a[2], a[4]), exchange(a[3], a[5]);
    exchange(a[1], a[4]), exchange(a[3], a[6]);
    exchange(a[1], a[2]), exchange(a[3], a[4]), exchange(a[5], a[6]);
  } else {
    exchange(a[0], a[1]), exchange(a[2], a[3]);
    exchange(a[0], a[2]), exchange(a[1], a[3]);
    exchange(a[1], a[2]);
  }
}
// The N best of two sorted lists, in an order that rises and falls.
template <int N> __device__ inline void best_of(int* a, const int* b) {
#pragma unroll
  for (int i = 0; i < N; ++i) a[i] = min(a[i], b[N - 1 - i]);
}
// From a sorted list of N a lane, the N best of all lanes: each lane has its share, in rank order.
template <int N, int kLanes> __device__ inline void merge_lanes(int* a, int lane) {
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    int other[N];
#pragma unroll
    for (int i = 0; i < N; ++i) other[i] = __shfl_xor_sync(~0u, a[i], step);
    best_of<N>(a, other);
    if (step * 2 < kLanes) sort_bitonic<N>(a);
  }
  // All lanes have the same, half of them mirrored: each sorts towards what it will keep.
#pragma unroll
  for (int d = N / 2, bit = (kLanes < N ? kLanes : N) / 2; d > 0; d /= 2, bit /= 2) {
#pragma unroll
    for (int i = 0; i < d; ++i)
      if (bit > 0) a[i] = (a[i] < a[i + d]) != ((lane & bit) != 0) ? a[i] : a[i + d];
      else if (!(i & d)) exchange(a[i], a[i + d]);
  }
}

template <int E, int kRanks>
__device__ inline void rank(const unsigned short* G, float* P, int* I, int T, int K) {
  constexpr int kLanes = E <= 128 ? 8 : E / 16;
  const int row = blockIdx.x * (128 / kLanes) + threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  // All lanes take part to the end.
  const uint4* x = reinterpret_cast<const uint4*>(G + (size_t)min(row, T - 1) * E);
  int best[kRanks];
#pragma unroll
  for (int j = 0; j < E / 8 / kLanes; ++j) {
    const uint4 v = __ldg(x + j * kLanes + lane);
    const unsigned word[4] = {v.x, v.y, v.z, v.w};
    int mine[8];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned pair = order(word[i]);
      const int e = (j * kLanes + lane) * 8 + 2 * i;
      mine[2 * i] = key_low(pair, e);
      mine[2 * i + 1] = key_high(pair, e + 1);
    }
#pragma unroll
    for (int i = 0; i < 8; i += kRanks) {
      sort<kRanks>(mine + i);
      if (j + i == 0) {
#pragma unroll
        for (int k = 0; k < kRanks; ++k) best[k] = mine[k];
      } else {
        best_of<kRanks>(best, mine + i);
        sort_bitonic<kRanks>(best);
      }
    }
  }
  merge_lanes<kRanks, kLanes>(best, lane);
  if (row < T && lane < K) store(P + (size_t)row * K + lane, I + (size_t)row * K + lane, best[0]);
}

#define KERNEL(name, E, kRanks)                                                                         \
  extern "C" __global__ void __launch_bounds__(128) name(                                               \
      const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T, int K) { \
    rank<E, kRanks>(G, P, I, T, K);                                                                     \
  }
KERNEL(rank_64_4, 64, 4)
KERNEL(rank_64_8, 64, 8)
KERNEL(rank_128_4, 128, 4)
KERNEL(rank_128_8, 128, 8)
KERNEL(rank_256_4, 256, 4)
KERNEL(rank_256_8, 256, 8)
KERNEL(rank_512_4, 512, 4)
KERNEL(rank_512_8, 512, 8)

// A warp serves a row of any length; each round takes the best of what comes after the last winner.
extern "C" __global__ void __launch_bounds__(128)
any_shape(const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T, int E,
          int K) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= T) return;
  const unsigned short* x = G + (size_t)row * E;
  int last = -0x7fffffff - 1;
  for (int k = 0; k < K; ++k) {
    int best = 0x7fffffff;
    for (int e = lane; e < E; e += 32) {
      const int key = key_low(order(x[e]), e);
      if (key > last) best = min(best, key);
    }
    last = __reduce_min_sync(~0u, best);
    if (lane == 0) store(P + (size_t)row * K + k, I + (size_t)row * K + k, last);
  }
}

#include "general.h"
