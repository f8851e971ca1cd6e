// C = A B in single precision, row-major: A is M x K, B is K x N, C is M x N.
//
// A work-item computes VEC neighbouring columns of C, ROWS rows at a time. With TILE_K it works
// through TILE_M rows: it copies TILE_K rows of its columns of B into a private, contiguous tile and
// uses it for all of them. With every tunable at its first value this is the textbook kernel, one
// output a work-item.

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)

#if VEC == 1
typedef float vec;
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#else
typedef CONCAT(float, VEC) vec;
#define LOAD(p) CONCAT(vload, VEC)(0, p)
#define STORE(v, p) CONCAT(vstore, VEC)(v, 0, p)
#endif

#if TILE_K > 0
#define ITEM_ROWS TILE_M
#define B_SPACE __private  // the tile
#else
#define ITEM_ROWS ROWS
#define B_SPACE __global
#endif

// acc[r] += A[r, k] * b[k] over `count` values of k; b's rows are `stride` floats apart.
static inline void accumulate(vec acc[ROWS], __global const float* A, const int K,
                              B_SPACE const float* b, const int stride, const int count) {
  int k = 0;
  for (; k + UNROLL <= count; k += UNROLL) {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const vec value = LOAD(b + (size_t)(k + u) * stride);
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
        acc[r] = fma((vec)(A[(size_t)r * K + k + u]), value, acc[r]);
    }
  }
  for (; k < count; ++k) {
    const vec value = LOAD(b + (size_t)k * stride);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) acc[r] = fma((vec)(A[(size_t)r * K + k]), value, acc[r]);
  }
}

// The ragged edge, `rows` by `cols` (at most VEC) of C.
static void edge(__global const float* A, __global const float* B, __global float* C, const int rows,
                 const int cols, const int N, const int K) {
#if PAD_EDGE
  // Whole vectors over a copy of B that is padded with zeros.
  float padded[64 * VEC];
  for (int row = 0; row < rows; row += ROWS) {
    vec acc[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) acc[r] = (vec)(0.0f);
    for (int k = 0; k < K; k += 64) {
      const int count = min(64, K - k);
      for (int i = 0; i < count; ++i)
        for (int c = 0; c < VEC; ++c)
          padded[i * VEC + c] = c < cols ? B[(size_t)(k + i) * N + c] : 0.0f;
      for (int i = 0; i < count; ++i) {
        const vec value = LOAD(padded + i * VEC);
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
          acc[r] = fma((vec)(A[(size_t)min(row + r, rows - 1) * K + k + i]), value, acc[r]);
      }
    }
    for (int r = 0; r < ROWS && row + r < rows; ++r) {
      float line[VEC];
      STORE(acc[r], line);
      for (int c = 0; c < cols; ++c) C[(size_t)(row + r) * N + c] = line[c];
    }
  }
#else
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      float sum = 0.0f;
      for (int k = 0; k < K; ++k) sum = fma(A[(size_t)r * K + k], B[(size_t)k * N + c], sum);
      C[(size_t)r * N + c] = sum;
    }
#endif
}

__kernel __attribute__((reqd_work_group_size(GROUP_N, GROUP_M, 1)))
void matmul(__global const float* restrict A, __global const float* restrict B,
            __global float* restrict C, const int M, const int N, const int K) {
  const int col = get_global_id(0) * VEC;
  const int first = get_global_id(1) * ITEM_ROWS;
  if (first >= M || col >= N) return;
  const int last = min(first + ITEM_ROWS, M);
  if (col + VEC > N) {
    edge(A + (size_t)first * K, B + col, C + (size_t)first * N + col, last - first, N - col, N, K);
    return;
  }

  int row = first;
#if TILE_K > 0
  float tile[TILE_K * VEC];
  for (int k = 0; k < K; k += TILE_K) {
    const int count = min(TILE_K, K - k);
    for (int i = 0; i < count; ++i) STORE(LOAD(B + (size_t)(k + i) * N + col), tile + i * VEC);
    for (row = first; row + ROWS <= last; row += ROWS) {
      __global float* c = C + (size_t)row * N + col;
      vec acc[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) acc[r] = k > 0 ? LOAD(c + (size_t)r * N) : (vec)(0.0f);
      accumulate(acc, A + (size_t)row * K + k, K, tile, VEC, count);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) STORE(acc[r], c + (size_t)r * N);
    }
  }
#else
  for (; row + ROWS <= last; row += ROWS) {
    vec acc[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) acc[r] = (vec)(0.0f);
    accumulate(acc, A + (size_t)row * K, K, B + col, N, K);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) STORE(acc[r], C + (size_t)(row + r) * N + col);
  }
#endif
  if (row < last)
    edge(A + (size_t)row * K, B + col, C + (size_t)row * N + col, last - row, VEC, N, K);
}
