// B = A^T: A is M x N, B is N x M, both row-major.
//
// With TILE, a block moves a square of TILE by TILE elements through shared memory, so that both the
// reads and the writes run along rows; PAD adds columns to the square, VEC moves that many elements
// at once where the rows allow it. With every tunable at its first value a thread moves one element
// and neighbouring threads write to different rows of B.

#if TILE == 0
extern "C" __global__ void transpose(const float* __restrict__ A, float* __restrict__ B, int M, int N) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && col < N) B[(size_t)col * M + row] = A[(size_t)row * N + col];
}
#else

constexpr int kPerRow = TILE / VEC;
constexpr int kSteps = TILE * kPerRow / THREADS;
static_assert(TILE * kPerRow % THREADS == 0, "threads share the tile evenly");

// `V` elements from `from`, as one access where V is 4.
template <int V>
__device__ void load(const float* from, float (&to)[V]) {
  if constexpr (V == 4) {
    const float4 all = *reinterpret_cast<const float4*>(from);
    to[0] = all.x, to[1] = all.y, to[2] = all.z, to[3] = all.w;
  } else {
    to[0] = *from;
  }
}

template <int V>
__device__ void store(float* to, const float (&from)[V]) {
  if constexpr (V == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
  } else {
    *to = from[0];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
transpose(const float* __restrict__ A, float* __restrict__ B, int M, int N) {
  __shared__ float tile[TILE][TILE + PAD];
  const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
  const int thread = threadIdx.y * 32 + threadIdx.x;
  // Rows of a matrix start at multiples of VEC elements only where its width is one.
  const bool whole = row0 + TILE <= M && col0 + TILE <= N && M % VEC == 0 && N % VEC == 0;
  if (whole) {
    float value[kSteps][VEC];
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int at = thread + i * THREADS, r = at / kPerRow, c = at % kPerRow * VEC;
      load<VEC>(A + (size_t)(row0 + r) * N + col0 + c, value[i]);
    }
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int at = thread + i * THREADS, r = at / kPerRow, c = at % kPerRow * VEC;
#pragma unroll
      for (int k = 0; k < VEC; ++k) tile[r][c + k] = value[i][k];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int at = thread + i * THREADS, c = at / kPerRow, r = at % kPerRow * VEC;
      float out[VEC];
#pragma unroll
      for (int k = 0; k < VEC; ++k) out[k] = tile[r + k][c];
      store<VEC>(B + (size_t)(col0 + c) * M + row0 + r, out);
    }
    return;
  }
  for (int at = thread; at < TILE * TILE; at += THREADS) {
    const int r = at / TILE, c = at % TILE;
    if (row0 + r < M && col0 + c < N) tile[r][c] = A[(size_t)(row0 + r) * N + col0 + c];
  }
  __syncthreads();
  for (int at = thread; at < TILE * TILE; at += THREADS) {
    const int c = at / TILE, r = at % TILE;
    if (row0 + r < M && col0 + c < N) B[(size_t)(col0 + c) * M + row0 + r] = tile[r][c];
  }
}
#endif
