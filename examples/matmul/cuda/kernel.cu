// C = A B in single precision, row-major: A is M x K, B is K x N, C is M x N.
//
// A block has 16 by 16 threads, each of which computes SIDE by SIDE elements of C. With DEPTH, the
// block brings DEPTH columns of A and rows of B at a time to shared memory and computes from there.
// VEC moves that many neighbouring elements at once, from shared memory and, where rows allow it, from
// A and B. AHEAD fetches the next step into registers while this one is computed: 1 has one place for
// it in shared memory, 2 has two, and one barrier a step. With every tunable at its first value this is
// the textbook kernel, one output a thread.

#define SQUARE 16

#if DEPTH == 0
extern "C" __global__ void __launch_bounds__(SQUARE * SQUARE)
matmul(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N,
       int K) {
  // A thread's columns and rows lie a block's width apart, so that neighbours read neighbours.
  const int col = blockIdx.x * SQUARE * SIDE + threadIdx.x;
  const int row = blockIdx.y * SQUARE * SIDE + threadIdx.y;
  if (row >= M || col >= N) return;
  float sum[SIDE][SIDE] = {};
  for (int k = 0; k < K; ++k) {
    float left[SIDE], right[SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; ++i) {
      // What lies outside repeats the last row or column, and is not stored.
      left[i] = A[(size_t)min(row + i * SQUARE, M - 1) * K + k];
      right[i] = B[(size_t)k * N + min(col + i * SQUARE, N - 1)];
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
      const int r = row + i * SQUARE, c = col + j * SQUARE;
      if (r < M && c < N) C[(size_t)r * N + c] = sum[i][j];
    }
}
#else

constexpr int kTile = SQUARE * SIDE, kThreads = SQUARE * SQUARE;
constexpr int kNear = VEC < SIDE ? VEC : SIDE;  // neighbours among a thread's SIDE elements
constexpr int kPlaces = AHEAD == 2 ? 2 : 1;
// Elements that a thread brings at once, where rows allow it.
constexpr int kBrought = kTile * DEPTH % (4 * kThreads) == 0 ? VEC : 1;
static_assert(kTile * DEPTH % kThreads == 0, "threads share what is brought evenly");

struct Shared {
  // A's tile is transposed; four more columns spread its writes over the banks.
  float a[DEPTH][kTile + 4];
  float b[DEPTH][kTile];
};

// The i-th of a thread's SIDE elements along a side: neighbours in groups of kNear, and the groups
// spread so that neighbouring threads read neighbouring groups.
__device__ __forceinline__ int place(int thread, int i) {
  return (i / kNear * SQUARE + thread) * kNear + i % kNear;
}

template <int V>
__device__ __forceinline__ void load(const float* from, float* to) {
  if constexpr (V == 4) {
    const float4 all = *reinterpret_cast<const float4*>(from);
    to[0] = all.x, to[1] = all.y, to[2] = all.z, to[3] = all.w;
  } else {
#pragma unroll
    for (int k = 0; k < V; ++k) to[k] = from[k];
  }
}

template <int V>
__device__ __forceinline__ void store(float* to, const float* from) {
  if constexpr (V == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
  } else {
#pragma unroll
    for (int k = 0; k < V; ++k) to[k] = from[k];
  }
}

// V is 4 only where rows of A and B are multiples of four elements long.
template <int V>
__device__ __forceinline__ void product(Shared (&shared)[kPlaces], const float* __restrict__ A,
                                        const float* __restrict__ B, float* __restrict__ C, int M,
                                        int N, int K) {
  constexpr int kSteps = kTile * DEPTH / (V * kThreads);
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  const int thread = threadIdx.y * SQUARE + threadIdx.x;

  // Where in the tiles of A and B the first of the thread's kSteps is; the next are whole rows on.
  constexpr int kRowsA = kThreads * V / DEPTH, kRowsB = kThreads * V / kTile;
  static_assert(kThreads * V % DEPTH == 0 && kThreads * V % kTile == 0);
  const int row_a = thread * V / DEPTH, col_a = thread * V % DEPTH;
  const int row_b = thread * V / kTile, col_b = thread * V % kTile;
  const float* from_a = A + (size_t)(row0 + row_a) * K + col_a;
  const float* from_b = B + (size_t)row_b * N + col0 + col_b;
  float next_a[kSteps][V], next_b[kSteps][V];
  const auto fetch = [&](int k0) {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
#pragma unroll
      for (int k = 0; k < V; ++k) next_a[i][k] = next_b[i][k] = 0;
      if (row0 + row_a + i * kRowsA < M && k0 + col_a < K) load<V>(from_a + i * kRowsA * K, next_a[i]);
      if (k0 + row_b + i * kRowsB < K && col0 + col_b < N) load<V>(from_b + i * kRowsB * N, next_b[i]);
    }
    from_a += DEPTH;
    from_b += (size_t)DEPTH * N;
  };
  const auto keep = [&](Shared& to) {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
#pragma unroll
      for (int k = 0; k < V; ++k) to.a[col_a + k][row_a + i * kRowsA] = next_a[i][k];
      store<V>(&to.b[row_b + i * kRowsB][col_b], next_b[i]);
    }
  };

  float sum[SIDE][SIDE] = {};
  const auto compute = [&](const Shared& from) {
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      float left[SIDE], right[SIDE];
#pragma unroll
      for (int i = 0; i < SIDE; i += kNear) {
        load<kNear>(&from.a[k][place(threadIdx.y, i)], left + i);
        load<kNear>(&from.b[k][place(threadIdx.x, i)], right + i);
      }
#pragma unroll
      for (int i = 0; i < SIDE; ++i)
#pragma unroll
        for (int j = 0; j < SIDE; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
    }
  };

  if constexpr (AHEAD > 0) fetch(0);
  if constexpr (AHEAD == 2) {
    keep(shared[0]);
    __syncthreads();
    for (int k0 = 0, now = 0; k0 < K; k0 += DEPTH, now ^= 1) {
      const bool more = k0 + DEPTH < K;
      if (more) fetch(k0 + DEPTH);
      compute(shared[now]);
      if (more) keep(shared[now ^ 1]);
      __syncthreads();
    }
  } else {
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
      if constexpr (AHEAD == 0) fetch(k0);
      keep(shared[0]);
      __syncthreads();
      if (AHEAD == 1 && k0 + DEPTH < K) fetch(k0 + DEPTH);
      compute(shared[0]);
      __syncthreads();
    }
  }
#pragma unroll
  for (int i = 0; i < SIDE; ++i) {
    const int row = row0 + place(threadIdx.y, i);
    if (row >= M) continue;
#pragma unroll
    for (int j = 0; j < SIDE; j += kNear) {
      const int col = col0 + place(threadIdx.x, j);
      float* to = C + (size_t)row * N + col;
      if (V == kNear && col < N) {
        store<kNear>(to, &sum[i][j]);
      } else {
#pragma unroll
        for (int k = 0; k < kNear; ++k)
          if (col + k < N) to[k] = sum[i][j + k];
      }
    }
  }
}

// Two blocks shall fit on a multiprocessor together, so that one computes while the other waits at its
// barrier; that bounds the registers.
extern "C" __global__ void __launch_bounds__(kThreads, 2)
matmul(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N,
       int K) {
  __shared__ __align__(16) Shared shared[kPlaces];
  if (K % kBrought == 0 && N % kBrought == 0) product<kBrought>(shared, A, B, C, M, N, K);
  else product<1>(shared, A, B, C, M, N, K);
}
#endif
