// Rows with a bias or with renormalised weights, as serving stacks have them. With a bias the K
// best are chosen by sigmoid(logit) + B[e] in single precision, else by their logits as everywhere
// here; weights are the sigmoids alone, divided by their sum where that is asked for and not 0.
// Ties go to the lower index; a score that is NaN is never chosen; what a row lacks has weight 0
// and index -1.
//
// A wave serves a row and keeps its scores in registers; the best of all lanes is found by
// shuffles, which leave it in every lane.

__device__ inline float sigmoid(unsigned short x) {
  return 1 / (1 + expf(-__uint_as_float((unsigned)x << 16)));
}

struct Score {
  float value;
  int index;  // EXPERTS: of nothing
};

__device__ inline Score higher(Score a, Score b) {
  const bool second = b.value > a.value || (b.value == a.value && b.index < a.index);
  return {second ? b.value : a.value, second ? b.index : a.index};
}

extern "C" __global__ void __launch_bounds__(256)
    general(const unsigned short* __restrict__ G, const float* __restrict__ B,
            float* __restrict__ P, int* __restrict__ I, int T, int E, int K, int bias, int renorm) {
  constexpr int kEach = EXPERTS / 64;
  const int row = blockIdx.x * 4 + threadIdx.x / 64, lane = threadIdx.x % 64;
  if (row >= T) return;
  const unsigned short* x = G + (size_t)row * E;
  float* p = P + (size_t)row * K;
  int* index = I + (size_t)row * K;
  const Score none = {-INFINITY, EXPERTS};
  Score mine[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int e = lane + 64 * j;
    mine[j] = none;
    if (e >= E) continue;
    const float value = bias ? sigmoid(x[e]) + B[e] : __uint_as_float((unsigned)x[e] << 16);
    if (value == value) mine[j] = {value, e};
  }
  for (int k = 0; k < K; ++k) {
    Score best = mine[0];
#pragma unroll
    for (int j = 1; j < kEach; ++j) best = higher(best, mine[j]);
#pragma unroll
    for (int step = 32; step > 0; step /= 2)
      best = higher(best, {__shfl_xor(best.value, step), __shfl_xor(best.index, step)});
    if (lane == k % 64) index[k] = best.index == EXPERTS ? -1 : best.index;
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (mine[j].index == best.index) mine[j] = none;
  }
  // Each lane weighs the winners that it wrote.
  float sum = 0;
  for (int k = lane; k < K; k += 64) {
    const float weight = index[k] < 0 ? 0 : sigmoid(x[index[k]]);
    p[k] = weight;
    sum += weight;
  }
  if (!renorm) return;
#pragma unroll
  for (int step = 32; step > 0; step /= 2) sum += __shfl_xor(sum, step);
  if (sum > 0)
    for (int k = lane; k < K; k += 64) p[k] /= sum;
}
