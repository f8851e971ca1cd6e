// C = A B in single precision, row-major: A is M x K, B is K x N, C is M x N.
//
// With TILE, a block computes TILE by TILE elements of C: it brings DEPTH columns of A and rows of B
// at a time to shared memory, and each thread computes its SIDE by SIDE elements from there. VEC reads
// that many neighbouring elements of shared memory at once, AHEAD fetches the next step into
// registers while this one is computed. With every tunable at its first value this is the textbook
// kernel, one output a thread.

#if TILE == 0
extern "C" __global__ void matmul(const float* __restrict__ A, const float* __restrict__ B,
                                  float* __restrict__ C, int M, int N, int K) {
  // A thread's columns and rows lie a block's width apart, so that neighbours read neighbours.
  const int col = blockIdx.x * blockDim.x * SIDE + threadIdx.x;
  const int row = blockIdx.y * blockDim.y * SIDE + threadIdx.y;
  if (row >= M || col >= N) return;
  float sum[SIDE][SIDE] = {};
  for (int k = 0; k < K; ++k) {
    float left[SIDE], right[SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; ++i) {
      // What lies outside repeats the last row or column, and is not stored.
      left[i] = A[(size_t)min(row + i * (int)blockDim.y, M - 1) * K + k];
      right[i] = B[(size_t)k * N + min(col + i * (int)blockDim.x, N - 1)];
    }
#pragma unroll
    for (int i = 0; i < SIDE; ++i)
#pragma unroll
      for (int j = 0; j < SIDE; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
  }
#pragma unroll
  for (int i = 0; i < SIDE; ++i)
#pragma unroll
    for (int j = 0; j < SIDE; ++j) {
      const int r = row + i * blockDim.y, c = col + j * blockDim.x;
      if (r < M && c < N) C[(size_t)r * N + c] = sum[i][j];
    }
}
#else

constexpr int kWide = TILE / SIDE;  // threads along a side of the block
constexpr int kThreads = kWide * kWide;
constexpr int kEach = TILE * DEPTH / kThreads;  // elements of A and of B that a thread brings
constexpr int kVec = VEC < SIDE ? VEC : SIDE;
static_assert(TILE * DEPTH % kThreads == 0 && kEach > 0, "threads share what is brought evenly");

// The i-th of a thread's SIDE elements along a side: neighbours in groups of kVec, and the groups
// spread so that neighbouring threads read neighbouring groups.
__device__ __forceinline__ int place(int thread, int i) {
  return (i / kVec * kWide + thread) * kVec + i % kVec;
}

__device__ __forceinline__ void gather(const float* row, int thread, float (&to)[SIDE]) {
#pragma unroll
  for (int i = 0; i < SIDE; i += kVec) {
    const float* from = row + place(thread, i);
    if constexpr (kVec == 4) {
      const float4 all = *reinterpret_cast<const float4*>(from);
      to[i] = all.x, to[i + 1] = all.y, to[i + 2] = all.z, to[i + 3] = all.w;
    } else {
#pragma unroll
      for (int k = 0; k < kVec; ++k) to[i + k] = from[k];
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
matmul(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N,
       int K) {
  // A's tile is transposed; four more columns spread its writes over the banks.
  __shared__ __align__(16) float a[DEPTH][TILE + 4];
  __shared__ __align__(16) float b[DEPTH][TILE];
  const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
  const int thread = threadIdx.y * kWide + threadIdx.x;

  float next_a[kEach], next_b[kEach];
  const auto fetch = [&](int k0) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = thread + i * kThreads;
      const int row = row0 + at / DEPTH, ka = k0 + at % DEPTH;
      const int kb = k0 + at / TILE, col = col0 + at % TILE;
      next_a[i] = row < M && ka < K ? A[(size_t)row * K + ka] : 0;
      next_b[i] = kb < K && col < N ? B[(size_t)kb * N + col] : 0;
    }
  };
  const auto keep = [&] {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = thread + i * kThreads;
      a[at % DEPTH][at / DEPTH] = next_a[i];
      b[at / TILE][at % TILE] = next_b[i];
    }
  };

  float sum[SIDE][SIDE] = {};
  if (AHEAD) fetch(0);
  for (int k0 = 0; k0 < K; k0 += DEPTH) {
    if (!AHEAD) fetch(k0);
    keep();
    __syncthreads();
    if (AHEAD && k0 + DEPTH < K) fetch(k0 + DEPTH);
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      float left[SIDE], right[SIDE];
      gather(a[k], threadIdx.y, left);
      gather(b[k], threadIdx.x, right);
#pragma unroll
      for (int i = 0; i < SIDE; ++i)
#pragma unroll
        for (int j = 0; j < SIDE; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < SIDE; ++i) {
    const int row = row0 + place(threadIdx.y, i);
#pragma unroll
    for (int j = 0; j < SIDE; ++j) {
      const int col = col0 + place(threadIdx.x, j);
      if (row < M && col < N) C[(size_t)row * N + col] = sum[i][j];
    }
  }
}
#endif
