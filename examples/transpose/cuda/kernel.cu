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

constexpr int kWarps = THREADS / 32, kAcross = TILE / 32;  // warps of a block, and those of a row
static_assert(TILE * TILE % (VEC * THREADS) == 0 && kWarps % kAcross == 0,
              "threads share the tile evenly");

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

// Where a thread moves V elements of a row of the tile, once in each of its steps. A warp moves 32
// columns of V rows, and with rows of an odd number of words its lanes then meet in no bank, whether
// they go along the tile's rows or, in the other direction, along its columns.
template <int V>
struct Place {
  static constexpr int kSteps = TILE * TILE / (V * THREADS), kRows = kWarps / kAcross * V;
  int row, col;  // in the first step; the next is kRows further
  __device__ explicit Place(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    row = warp / kAcross * V + lane / (32 / V);
    col = warp % kAcross * 32 + lane % (32 / V) * V;
  }
};

using Tile = float[TILE][TILE + PAD];

// Rows of A are read R elements at a time, rows of B written W at a time. With `whole` all of the tile
// lies inside; otherwise R and W are 1.
template <int R, int W, bool whole>
__device__ void move(Tile& tile, const float* A, float* B, int row0, int col0, int M, int N) {
  const int thread = threadIdx.y * 32 + threadIdx.x;
  const Place<R> in(thread);
  const float* from = A + (size_t)(row0 + in.row) * N + col0 + in.col;
  float value[Place<R>::kSteps][R];
#pragma unroll
  for (int i = 0; i < Place<R>::kSteps; ++i, from += (size_t)in.kRows * N)
    if (whole || (row0 + in.row + i * in.kRows < M && col0 + in.col < N)) load<R>(from, value[i]);
#pragma unroll
  for (int i = 0; i < Place<R>::kSteps; ++i)
#pragma unroll
    for (int k = 0; k < R; ++k) tile[in.row + i * in.kRows][in.col + k] = value[i][k];
  __syncthreads();
  const Place<W> out(thread);
  float* to = B + (size_t)(col0 + out.row) * M + row0 + out.col;
#pragma unroll
  for (int i = 0; i < Place<W>::kSteps; ++i, to += (size_t)out.kRows * M) {
    float part[W];
#pragma unroll
    for (int k = 0; k < W; ++k) part[k] = tile[out.col + k][out.row + i * out.kRows];
    if (whole || (col0 + out.row + i * out.kRows < N && row0 + out.col < M)) store<W>(to, part);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
transpose(const float* __restrict__ A, float* __restrict__ B, int M, int N) {
  __shared__ Tile tile;
  const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
  // Each row starts at a multiple of VEC elements only where the matrix is a multiple of it wide.
  const bool wide_reads = N % VEC == 0, wide_writes = M % VEC == 0;
  if (row0 + TILE > M || col0 + TILE > N) move<1, 1, false>(tile, A, B, row0, col0, M, N);
  else if (wide_reads && wide_writes) move<VEC, VEC, true>(tile, A, B, row0, col0, M, N);
  else if (wide_reads) move<VEC, 1, true>(tile, A, B, row0, col0, M, N);
  else if (wide_writes) move<1, VEC, true>(tile, A, B, row0, col0, M, N);
  else move<1, 1, true>(tile, A, B, row0, col0, M, N);
}
#endif
