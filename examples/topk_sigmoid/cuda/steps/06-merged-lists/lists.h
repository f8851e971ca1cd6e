// Sorted lists of words, best first, and the best of several.

__device__ inline void exchange(int& a, int& b) {
  const int better = min(a, b);
  b = max(a, b);
  a = better;
}
// Sorts a list that rises and falls.
template <int N>
__device__ inline void sort_bitonic(int* a) {
#pragma unroll
  for (int d = N / 2; d > 0; d /= 2)
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (!(i & d)) exchange(a[i], a[i + d]);
}
template <int N>
__device__ inline void sort(int* a) {
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
template <int N>
__device__ inline void best_of(int* a, const int* b) {
#pragma unroll
  for (int i = 0; i < N; ++i) a[i] = min(a[i], b[N - 1 - i]);
}
// From a sorted list of N a lane, the N best of all lanes, in an order that rises and falls.
template <int N, int kLanes>
__device__ inline void choose_lanes(int* a) {
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    int other[N];
#pragma unroll
    for (int i = 0; i < N; ++i) other[i] = __shfl_xor_sync(~0u, a[i], step);
    best_of<N>(a, other);
    if (step * 2 < kLanes) sort_bitonic<N>(a);
  }
}
// And each lane has its share of them, in rank order.
template <int N, int kLanes>
__device__ inline void merge_lanes(int* a, int lane) {
  choose_lanes<N, kLanes>(a);
  // All lanes have the same, half of them mirrored: each sorts towards what it will keep.
#pragma unroll
  for (int d = N / 2, bit = (kLanes < N ? kLanes : N) / 2; d > 0; d /= 2, bit /= 2) {
#pragma unroll
    for (int i = 0; i < d; ++i)
      if (bit > 0)
        a[i] = (a[i] < a[i + d]) != ((lane & bit) != 0) ? a[i] : a[i + d];
      else if (!(i & d))
        exchange(a[i], a[i + d]);
  }
}

// The kRanks best of a row that kLanes lanes serve: each lane has its share, in rank order.
template <int E, int kRanks, int kLanes>
__device__ inline void rank_row(const uint4* x, int* best, int lane) {
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
}
