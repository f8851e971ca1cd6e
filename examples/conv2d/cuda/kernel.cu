// Y = X convolved with W, stride 1, zero padding of one: X is C x H x L, W is F x C x 3 x 3, Y is
// F x H x L, all row-major (H rows, L columns).
//
// A thread computes FILTERS filters at COLS columns of one row; the columns lie GROUP_L apart, so that
// neighbouring threads have neighbouring columns. STAGE brings the weights of that many channels, and
// what the block reads of them, to shared memory. With every tunable at its first value a thread
// computes one element.

constexpr int kThreads = GROUP_L * GROUP_H;
#if STAGE > 0
constexpr int kWide = GROUP_L * COLS + 2, kHigh = GROUP_H + 2;  // what a block reads of a channel
#endif

extern "C" __global__ void __launch_bounds__(kThreads)
conv2d(const float* __restrict__ X, const float* __restrict__ W, float* __restrict__ Y, int C, int F,
       int H, int L) {
  const int col0 = blockIdx.x * GROUP_L * COLS, row0 = blockIdx.y * GROUP_H;
  const int col = col0 + threadIdx.x, row = row0 + threadIdx.y;
  const int first = blockIdx.z * FILTERS;
  float sum[FILTERS][COLS] = {};

#if STAGE > 0
  __shared__ __align__(16) float weights[STAGE * 9][FILTERS];
  __shared__ float inputs[STAGE][kHigh][kWide];
  const int thread = threadIdx.y * GROUP_L + threadIdx.x;
  for (int c0 = 0; c0 < C; c0 += STAGE) {
    __syncthreads();  // nobody reads the last ones any more
    for (int at = thread; at < STAGE * 9 * FILTERS; at += kThreads) {
      const int f = at % FILTERS, rest = at / FILTERS;
      // What does not exist is zero.
      const bool exists = first + f < F && c0 + rest / 9 < C;
      weights[rest][f] = exists ? W[((size_t)(first + f) * C + c0) * 9 + rest] : 0;
    }
    for (int at = thread; at < STAGE * kHigh * kWide; at += kThreads) {
      const int j = at % kWide, i = at / kWide % kHigh, c = at / (kWide * kHigh);
      const int x = col0 + j - 1, y = row0 + i - 1;
      const bool inside = c0 + c < C && x >= 0 && x < L && y >= 0 && y < H;
      inputs[c][i][j] = inside ? X[((size_t)(c0 + c) * H + y) * L + x] : 0;
    }
    __syncthreads();
#pragma unroll 1
    for (int c = 0; c < STAGE; ++c) {
#else
  {
    for (int c = 0; c < C; ++c) {
#endif
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        float x[COLS][3];
#pragma unroll
        for (int k = 0; k < COLS; ++k)
#pragma unroll
          for (int j = 0; j < 3; ++j) {
#if STAGE > 0
            x[k][j] = inputs[c][threadIdx.y + i][threadIdx.x + k * GROUP_L + j];
#else
            const int at = col + k * GROUP_L + j - 1, y = row + i - 1;
            x[k][j] = y >= 0 && y < H && at >= 0 && at < L ? X[((size_t)c * H + y) * L + at] : 0;
#endif
          }
#pragma unroll
        for (int j = 0; j < 3; ++j)
#pragma unroll
          for (int f = 0; f < FILTERS; ++f) {
#if STAGE > 0
            const float w = weights[(c * 3 + i) * 3 + j][f];
#else
            // A filter that does not exist repeats the last one; its sum is not stored.
            const float w = W[((size_t)min(first + f, F - 1) * C + c) * 9 + i * 3 + j];
#endif
#pragma unroll
            for (int k = 0; k < COLS; ++k) sum[f][k] = fmaf(x[k][j], w, sum[f][k]);
          }
      }
    }
  }
  if (row >= H) return;
#pragma unroll
  for (int f = 0; f < FILTERS; ++f)
#pragma unroll
    for (int k = 0; k < COLS; ++k) {
      const int x = col + k * GROUP_L;
      if (first + f < F && x < L) Y[((size_t)(first + f) * H + row) * L + x] = sum[f][k];
    }
}
