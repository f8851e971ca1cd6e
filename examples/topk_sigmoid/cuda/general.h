// Rows with a bias or with renormalised weights, as serving stacks have them. With a bias the K
// best are chosen by sigmoid(logit) + B[e] in single precision, else by their logits as everywhere
// here; weights are the sigmoids alone, divided by their sum where that is asked for and not 0.
// Ties go to the lower index; a score that is NaN is never chosen; what a row lacks has weight 0
// and index -1.
//
// A warp serves a row and keeps its scores in registers. Each round takes the best score of all
// lanes, and then the lowest index that has it (redux.sync, sm_80 and newer). The kernel that
// includes this has widen().

__device__ inline float sigmoid(float x) { return __fdividef(1, 1 + expf(-x)); }

// Orders like the score, -0 as 0; 0 is nothing: no score, or NaN.
__device__ inline unsigned key_of_score(float score) {
  const unsigned bits = __float_as_uint(score + 0.0f);
  return score != score ? 0 : bits ^ ((int)bits < 0 ? ~0u : 0x80000000u);
}

template <int kExperts>
__device__ inline void rank_scores(const unsigned short* __restrict__ G,
                                   const float* __restrict__ B, float* __restrict__ P,
                                   int* __restrict__ I, int T, int E, int K, int bias, int renorm) {
  constexpr int kEach = kExperts / 32;
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= T) return;
  const unsigned short* x = G + (size_t)row * E;
  float* p = P + (size_t)row * K;
  int* index = I + (size_t)row * K;
  unsigned mine[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int e = lane + 32 * j;
    mine[j] = 0;
    if (e < E) mine[j] = key_of_score(bias ? sigmoid(widen(x[e])) + B[e] : widen(x[e]));
  }
  for (int k = 0; k < K; ++k) {
    unsigned best = mine[0];
#pragma unroll
    for (int j = 1; j < kEach; ++j) best = max(best, mine[j]);
    best = __reduce_max_sync(~0u, best);
    int e = kExperts;
#pragma unroll
    for (int j = kEach - 1; j >= 0; --j)
      if (mine[j] == best) e = lane + 32 * j;
    e = __reduce_min_sync(~0u, e);
    if (lane == k % 32) index[k] = best == 0 ? -1 : e;
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (e == lane + 32 * j) mine[j] = 0;
  }
  // Each lane weighs the winners that it wrote.
  float sum = 0;
  for (int k = lane; k < K; k += 32) {
    const float weight = index[k] < 0 ? 0 : sigmoid(widen(x[index[k]]));
    p[k] = weight;
    sum += weight;
  }
  if (!renorm) return;
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (sum > 0)
    for (int k = lane; k < K; k += 32) p[k] /= sum;
}

extern "C" __global__ void __launch_bounds__(128)
    general_128(const unsigned short* __restrict__ G, const float* __restrict__ B,
                float* __restrict__ P, int* __restrict__ I, int T, int E, int K, int bias,
                int renorm) {
  rank_scores<128>(G, B, P, I, T, E, K, bias, renorm);
}
extern "C" __global__ void __launch_bounds__(128)
    general_512(const unsigned short* __restrict__ G, const float* __restrict__ B,
                float* __restrict__ P, int* __restrict__ I, int T, int E, int K, int bias,
                int renorm) {
  rank_scores<512>(G, B, P, I, T, E, K, bias, renorm);
}
