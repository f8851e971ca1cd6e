// Y = X convolved with W, stride 1, zero padding of one: X is C x H x L, W is F x C x 3 x 3, Y is
// F x H x L, all row-major (H rows, L columns).
//
// A block has 8 rows of 32 threads, each of which computes FILTERS filters at COLS columns of one row.
// STAGE brings the weights of that many channels, and what the block reads of them, to shared memory;
// with two PLACES for it, the next channels come by asynchronous copies while these are computed. A
// thread's columns are then neighbours, which it reads as vectors; without STAGE they lie 32 apart, so
// that neighbouring threads read neighbours. With every tunable at its first value a thread computes
// one element.

constexpr int kLanes = 32, kRows = 8, kThreads = kLanes * kRows;
static_assert((FILTERS == 1 || FILTERS % 4 == 0) && (COLS == 1 || COLS == 4) && (STAGE > 0 || PLACES == 1));

#if STAGE > 0
constexpr int kWide = kLanes * COLS + 2, kHigh = kRows + 2;  // what a block reads of a channel

struct Stage {
  float inputs[STAGE][kHigh][(kWide + 3) / 4 * 4];
  float weights[STAGE * 9][FILTERS];
};

// N neighbours, the first of which is aligned to four elements where N is at least four.
template <int N>
__device__ __forceinline__ void load(const float* from, float* to) {
  constexpr int kWhole = N / 4 * 4;
#pragma unroll
  for (int i = 0; i < kWhole; i += 4) {
    const float4 all = *reinterpret_cast<const float4*>(from + i);
    to[i] = all.x, to[i + 1] = all.y, to[i + 2] = all.z, to[i + 3] = all.w;
  }
  if constexpr (N - kWhole == 2 && kWhole > 0) {
    const float2 both = *reinterpret_cast<const float2*>(from + kWhole);
    to[kWhole] = both.x, to[kWhole + 1] = both.y;
  } else {
#pragma unroll
    for (int i = kWhole; i < N; ++i) to[i] = from[i];
  }
}

// One element to shared memory, zero where it does not exist; `from` must be readable all the same.
__device__ __forceinline__ void bring(float* to, const float* from, bool exists) {
  if constexpr (PLACES == 2) {
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(exists ? 4 : 0));
  } else {
    *to = exists ? *from : 0;
  }
}

// Waits for what this thread brought.
__device__ __forceinline__ void wait() {
  if constexpr (PLACES == 2) asm volatile("cp.async.wait_all;" ::: "memory");
}

// Channels from c0 on; a warp brings a row at a time.
__device__ __forceinline__ void fetch(Stage& to, const float* X, const float* W, int c0, int C, int F,
                                      int H, int L) {
  const int col0 = blockIdx.x * kLanes * COLS, row0 = blockIdx.y * kRows, first = blockIdx.z * FILTERS;
  for (int line = threadIdx.y; line < STAGE * kHigh; line += kRows) {
    const int c = line / kHigh, i = line % kHigh, y = row0 + i - 1;
    const bool inside = c0 + c < C && y >= 0 && y < H;
    const float* from = inside ? X + ((size_t)(c0 + c) * H + y) * L : X;
#pragma unroll
    for (int j0 = 0; j0 < kWide; j0 += kLanes) {
      const int j = j0 + threadIdx.x, x = col0 + j - 1;
      const bool exists = inside && x >= 0 && x < L;
      if (j < kWide) bring(&to.inputs[c][i][j], exists ? from + x : X, exists);
    }
  }
  for (int at = threadIdx.y * kLanes + threadIdx.x; at < STAGE * 9 * FILTERS; at += kThreads) {
    const int f = at / (STAGE * 9), rest = at % (STAGE * 9);
    const bool exists = first + f < F && c0 * 9 + rest < C * 9;
    bring(&to.weights[rest][f], exists ? W + ((size_t)(first + f) * C + c0) * 9 + rest : W, exists);
  }
}
#endif

extern "C" __global__ void __launch_bounds__(kThreads)
conv2d(const float* __restrict__ X, const float* __restrict__ W, float* __restrict__ Y, int C, int F,
       int H, int L) {
  const int col0 = blockIdx.x * kLanes * COLS, row = blockIdx.y * kRows + threadIdx.y;
  const int first = blockIdx.z * FILTERS;
  float sum[FILTERS][COLS] = {};

#if STAGE > 0
  __shared__ __align__(16) Stage stages[PLACES];
  const int col = col0 + threadIdx.x * COLS;
  constexpr int kApart = 1;
  if (PLACES == 2) fetch(stages[0], X, W, 0, C, F, H, L);
  for (int c0 = 0, now = 0; c0 < C; c0 += STAGE, now ^= PLACES - 1) {
    if (PLACES == 1) {
      __syncthreads();  // nobody reads the last ones any more
      fetch(stages[0], X, W, c0, C, F, H, L);
    }
    wait();
    __syncthreads();
    if (PLACES == 2 && c0 + STAGE < C) fetch(stages[now ^ 1], X, W, c0 + STAGE, C, F, H, L);
    const Stage& stage = stages[now];
#pragma unroll 1
    for (int c = 0; c < STAGE; ++c) {
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        float x[COLS + 2];
        load<COLS + 2>(&stage.inputs[c][threadIdx.y + i][threadIdx.x * COLS], x);
#pragma unroll
        for (int j = 0; j < 3; ++j) {
          float w[FILTERS];
          load<FILTERS>(stage.weights[(c * 3 + i) * 3 + j], w);
#pragma unroll
          for (int f = 0; f < FILTERS; ++f)
#pragma unroll
            for (int k = 0; k < COLS; ++k) sum[f][k] = fmaf(x[k + j], w[f], sum[f][k]);
        }
      }
    }
  }
#else
  const int col = col0 + threadIdx.x;
  constexpr int kApart = kLanes;
  for (int c = 0; c < C; ++c) {
#pragma unroll
    for (int i = 0; i < 3; ++i)
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        float x[COLS];
#pragma unroll
        for (int k = 0; k < COLS; ++k) {
          const int at = col + k * kApart + j - 1, y = row + i - 1;
          x[k] = y >= 0 && y < H && at >= 0 && at < L ? X[((size_t)c * H + y) * L + at] : 0;
        }
#pragma unroll
        for (int f = 0; f < FILTERS; ++f) {
          // A filter that does not exist repeats the last one; its sum is not stored.
          const float w = W[((size_t)min(first + f, F - 1) * C + c) * 9 + i * 3 + j];
#pragma unroll
          for (int k = 0; k < COLS; ++k) sum[f][k] = fmaf(x[k], w, sum[f][k]);
        }
      }
  }
#endif
  if (row >= H) return;
#pragma unroll
  for (int f = 0; f < FILTERS; ++f) {
    if (first + f >= F) return;
    float* to = Y + ((size_t)(first + f) * H + row) * L;
    if (STAGE > 0 && COLS == 4 && L % 4 == 0) {
      if (col < L) *reinterpret_cast<float4*>(to + col) = *reinterpret_cast<float4*>(sum[f]);
    } else {
#pragma unroll
      for (int k = 0; k < COLS; ++k)
        if (col + k * kApart < L) to[col + k * kApart] = sum[f][k];
    }
  }
}
