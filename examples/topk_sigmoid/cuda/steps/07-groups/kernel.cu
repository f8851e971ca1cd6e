// The K largest of every row of G (T x E, bf16 or fp16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// 8 lanes or more serve a row. Each has 16 logits (8 of a row of 64), as words of value and index, and
// sorts the best of them. Lists are merged over lanes: of two sorted lists, the smaller of each word and its
// mirror image are the best of both, in an order that a few more exchanges sort. The number of steps is the
// logarithm of the lanes, whatever K is. Lists have 4 or 8 words; rows of other lengths, and more results, have
// a kernel of their own (launch.toml).
//
// Many rows are served by 4 lanes each, for which all logits are too many to sort. The K best of the groups
// of 4 neighbours, ranked by their largest, hold the K best logits: a group that holds one of these is behind
// fewer than K others, each of which has a better logit, or the same at a lower index. So groups are ranked
// first, and then the logits of the K best.

#include "logits.h"
#include "words.h"
#include "lists.h"

__device__ inline float weight(int key) {
  const int value = key >> 16;
  const float minus = widen((value ^ (value >> 31 & 0x7fff)) & 0xffff);
  return key >= kNone ? 0 : __fdividef(1, 1 + expf(minus));
}
__device__ inline int index(int key) { return key >= kNone ? -1 : key & 0xffff; }

// Writes the ranks of this lane, as far as K of them are wanted.
template <int kRanks, int kLanes>
__device__ inline void store(float* P, int* I, int T, int K, int row, int lane, const int* best) {
  constexpr int kShare = kRanks > kLanes ? kRanks / kLanes : 1;
  const int first = lane * kShare;
  const size_t at = (size_t)row * K + first;
  if (row >= T || first >= K) return;
  float p[kShare];
  int e[kShare];
#pragma unroll
  for (int i = 0; i < kShare; ++i) p[i] = weight(best[i]), e[i] = index(best[i]);
  if (kShare == 2 && K == kRanks) {
    *reinterpret_cast<float2*>(P + at) = make_float2(p[0], p[kShare - 1]);
    *reinterpret_cast<int2*>(I + at) = make_int2(e[0], e[kShare - 1]);
    return;
  }
#pragma unroll
  for (int i = 0; i < kShare; ++i)
    if (first + i < K) P[at + i] = p[i], I[at + i] = e[i];
}

template <int E, int kRanks, int kThreads, int kLanes>
__device__ inline void rank(const unsigned short* G, float* P, int* I, int T, int K) {
  const int row = blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  // All lanes take part to the end.
  const uint4* x = reinterpret_cast<const uint4*>(G + (size_t)min(row, T - 1) * E);
  int best[kRanks];
  rank_row<E, kRanks, kLanes>(x, best, lane);
  store<kRanks, kLanes>(P, I, T, K, row, lane, best);
}

// The larger of two logits, twice; a number where one is NaN.
__device__ inline unsigned larger(unsigned a, unsigned b) {
  unsigned z;
  asm("max." PAIR " %0, %1, %2;" : "=r"(z) : "r"(a), "r"(b));
  return z;
}

template <int E, int kRanks, int kThreads>
__device__ inline void rank_groups(const unsigned short* G, float* P, int* I, int T, int K) {
  constexpr int kLanes = 4, kShare = kRanks / kLanes;
  const int row = blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const unsigned short* x = G + (size_t)min(row, T - 1) * E;  // all lanes take part to the end
  int best[kRanks], mine[kRanks];
#pragma unroll
  for (int j = 0; j < E / 8 / kLanes; ++j) {
    const int chunk = j * kLanes + lane, at = 2 * j % kRanks;
    const uint4 v = __ldg(reinterpret_cast<const uint4*>(x) + chunk);
    const unsigned first = larger(v.x, v.y), second = larger(v.z, v.w);
    const unsigned pair = order(larger(__byte_perm(first, second, 0x5410), __byte_perm(first, second, 0x7632)));
    mine[at] = key_low(pair, 2 * chunk);
    mine[at + 1] = key_high(pair, 2 * chunk + 1);
    if (at + 2 < kRanks) continue;
    sort<kRanks>(mine);
    if (2 * j < kRanks) {
#pragma unroll
      for (int k = 0; k < kRanks; ++k) best[k] = mine[k];
    } else {
      best_of<kRanks>(best, mine);
      sort_bitonic<kRanks>(best);
    }
  }
  choose_lanes<kRanks, kLanes>(best);
  // Which lane looks at which of the groups does not matter: half of the lanes have them mirrored.
#pragma unroll
  for (int i = 0; i < kShare; ++i) {
    const int group = (lane & 1 ? best[i + kShare] : best[i]) & 0xffff;
    const uint2 v = *(reinterpret_cast<const uint2*>(x) + group);
    const unsigned low = order(v.x), high = order(v.y);
    mine[4 * i] = key_low(low, 4 * group);
    mine[4 * i + 1] = key_high(low, 4 * group + 1);
    mine[4 * i + 2] = key_low(high, 4 * group + 2);
    mine[4 * i + 3] = key_high(high, 4 * group + 3);
  }
  sort<kRanks>(mine);
  merge_lanes<kRanks, kLanes>(mine, lane);
  store<kRanks, kLanes>(P, I, T, K, row, lane, mine);
}

#define KERNEL(name, threads, ...)                                                                      \
  extern "C" __global__ void __launch_bounds__(threads) name(                                           \
      const unsigned short* __restrict__ G, float* __restrict__ P, int* __restrict__ I, int T, int K) { \
    __VA_ARGS__(G, P, I, T, K);                                                                         \
  }
KERNEL(rank_64_4, 128, rank<64, 4, 128, 8>)
KERNEL(rank_64_8, 128, rank<64, 8, 128, 8>)
KERNEL(rank_128_4, 128, rank<128, 4, 128, 8>)
KERNEL(rank_128_8, 128, rank<128, 8, 128, 8>)
KERNEL(rank_256_4, 128, rank<256, 4, 128, 16>)
KERNEL(rank_256_8, 128, rank<256, 8, 128, 16>)
KERNEL(rank_512_4, 128, rank<512, 4, 128, 32>)
KERNEL(rank_512_8, 128, rank<512, 8, 128, 32>)
KERNEL(rank_64_4_many, 64, rank<64, 4, 64, 4>)
KERNEL(rank_64_8_many, 64, rank<64, 8, 64, 4>)
KERNEL(groups_128_4, 64, rank_groups<128, 4, 64>)
KERNEL(groups_128_8, 64, rank_groups<128, 8, 64>)
KERNEL(groups_256_4, 64, rank_groups<256, 4, 64>)
KERNEL(groups_256_8, 64, rank_groups<256, 8, 64>)
KERNEL(groups_512_4, 64, rank_groups<512, 4, 64>)
KERNEL(groups_512_8, 64, rank_groups<512, 8, 64>)

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
    if (lane == 0) {
      P[(size_t)row * K + k] = weight(last);
      I[(size_t)row * K + k] = index(last);
    }
  }
}

#include "general.h"
