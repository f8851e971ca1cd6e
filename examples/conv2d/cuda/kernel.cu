// Y = X convolved with W, stride 1, zero padding of one: X is C x H x L, W is F x C x 3 x 3, Y is
// F x H x L, all row-major (H rows, L columns).
//
// A thread computes FILTERS filters at COLS neighbouring columns of one row. STAGE brings the weights
// of that many channels to shared memory, where all threads of the block read them. With every tunable
// at its first value a thread computes one element.

extern "C" __global__ void __launch_bounds__(GROUP_L * GROUP_H)
conv2d(const float* __restrict__ X, const float* __restrict__ W, float* __restrict__ Y, int C, int F,
       int H, int L) {
  const int col = (blockIdx.x * GROUP_L + threadIdx.x) * COLS;
  const int row = blockIdx.y * GROUP_H + threadIdx.y;
  const int first = blockIdx.z * FILTERS;
  float sum[FILTERS][COLS] = {};

#if STAGE > 0
  __shared__ float weights[STAGE * 9 * FILTERS];
  for (int c0 = 0; c0 < C; c0 += STAGE) {
    const int channels = min(STAGE, C - c0);
    __syncthreads();  // nobody reads the last weights any more
    for (int at = threadIdx.y * GROUP_L + threadIdx.x; at < channels * 9 * FILTERS;
         at += GROUP_L * GROUP_H) {
      const int f = at % FILTERS, rest = at / FILTERS;
      weights[at] = first + f < F ? W[(size_t)(first + f) * C * 9 + c0 * 9 + rest] : 0;
    }
    __syncthreads();
#else
  {
    const int c0 = 0, channels = C;
#endif
    for (int c = 0; c < channels; ++c) {
      const float* plane = X + (size_t)(c0 + c) * H * L;
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        const int y = row + i - 1;
        float x[COLS + 2];
#pragma unroll
        for (int j = 0; j < COLS + 2; ++j) {
          const int at = col + j - 1;
          x[j] = y >= 0 && y < H && at >= 0 && at < L ? plane[(size_t)y * L + at] : 0;
        }
#pragma unroll
        for (int j = 0; j < 3; ++j) {
#pragma unroll
          for (int f = 0; f < FILTERS; ++f) {
            // A filter that does not exist repeats the last one; its sum is not stored.
#if STAGE > 0
            const float w = weights[((c * 3 + i) * 3 + j) * FILTERS + f];
#else
            const float w = W[((size_t)min(first + f, F - 1) * C + c) * 9 + i * 3 + j];
#endif
#pragma unroll
            for (int k = 0; k < COLS; ++k) sum[f][k] = fmaf(x[j + k], w, sum[f][k]);
          }
        }
      }
    }
  }
  if (row >= H) return;
#pragma unroll
  for (int f = 0; f < FILTERS; ++f)
#pragma unroll
    for (int k = 0; k < COLS; ++k)
      if (first + f < F && col + k < L) Y[((size_t)(first + f) * H + row) * L + col + k] = sum[f][k];
}
