// B = A^T: A is M x N, B is N x M, both row-major.
//
// With TILE, a block moves a square of TILE by TILE elements through shared memory, so that both the
// reads and the writes run along rows; PAD adds columns to the square. VEC moves that many elements at
// once: reads where the rows of A allow it, and all writes, since what a block writes of each row of B
// is then shifted to begin at a whole sector, whatever M is. With every tunable at its first value a
// thread moves one element and neighbouring threads write to different rows of B.

constexpr int kThreads = 256;

#if TILE == 0
extern "C" __global__ void __launch_bounds__(kThreads)
transpose(const float* __restrict__ A, float* __restrict__ B, int M, int N) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && col < N) B[(size_t)col * M + row] = A[(size_t)row * N + col];
}
#else

constexpr int kAcross = TILE / 32;  // warps along a row of the tile
constexpr int kSector = 8;          // elements

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
  static constexpr int kRows = kThreads / 32 / kAcross * V;
  int row, col;  // in the first step; the next is kRows further
  __device__ explicit Place(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    row = warp / kAcross * V + lane / (32 / V);
    col = warp % kAcross * 32 + lane % (32 / V) * V;
  }
};

using Tile = float[TILE][TILE + PAD];

// Rows of A are read R elements at a time, rows of B written W at a time. Column col of A is written
// (M * col) % S rows early, for which up to S rows above the square are read.
template <int R, int W, int S>
__device__ void move(Tile& tile, const float* A, float* B, int M, int N) {
  constexpr int kAbove = S > 1 ? S : 0;
  const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
  const int thread = threadIdx.y * 32 + threadIdx.x;
  const auto shift = [=](int col) { return static_cast<int>((unsigned)M * col % S); };

  const Place<R> in(thread);
  constexpr int kSteps = (kAbove + TILE + in.kRows - 1) / in.kRows;
  float value[kSteps][R];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int row = row0 - kAbove + in.row + i * in.kRows, col = col0 + in.col;
    if (row >= 0 && row < M && row < row0 + TILE && col < N) load<R>(A + (size_t)row * N + col, value[i]);
  }
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
#pragma unroll
    for (int k = 0; k < R; ++k) {
      const int row = in.row + i * in.kRows - kAbove + shift(col0 + in.col + k);
      if (row >= 0 && row < TILE) tile[row][in.col + k] = value[i][k];
    }
  __syncthreads();
  const Place<W> out(thread);
#pragma unroll
  for (int i = 0; i < TILE / out.kRows; ++i) {
    const int col = col0 + out.row + i * out.kRows, row = row0 + out.col - shift(col);
    float part[W];
#pragma unroll
    for (int k = 0; k < W; ++k) part[k] = tile[out.col + k][col - col0];
    if (col >= N) continue;
    float* to = B + (size_t)col * M + row;
    if (row >= 0 && row + W <= M) {
      store<W>(to, part);
    } else {
#pragma unroll
      for (int k = 0; k < W; ++k)
        if (row + k >= 0 && row + k < M) to[k] = part[k];
    }
  }
}

template <int R>
__device__ void move(Tile& tile, const float* A, float* B, int M, int N) {
  if (VEC == 1 || M % kSector == 0) move<R, VEC, 1>(tile, A, B, M, N);
  else move<R, VEC, kSector>(tile, A, B, M, N);
}

extern "C" __global__ void __launch_bounds__(kThreads)
transpose(const float* __restrict__ A, float* __restrict__ B, int M, int N) {
  __shared__ Tile tile;
  if (N % VEC == 0) move<VEC>(tile, A, B, M, N);
  else move<1>(tile, A, B, M, N);
}
#endif
