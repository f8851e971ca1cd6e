// B = A^T: A is M x N, B is N x M, both row-major.
//
// A work-item moves a patch of PATCH_M rows by PATCH_N columns of A. With VEC above 1 it reads VEC
// neighbouring elements at once and keeps a VEC by VEC square in registers, whose columns it writes at
// once. With every tunable at its first value it moves one element, reading along the columns.

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)

#if VEC > 1
typedef CONCAT(float, VEC) vec;

// A whole VEC by VEC square: rows in, columns out.
static inline void square(__global const float* in, __global float* out, const int M, const int N) {
  float block[VEC * VEC];
#pragma unroll
  for (int r = 0; r < VEC; ++r)
    CONCAT(vstore, VEC)(CONCAT(vload, VEC)(0, in + (size_t)r * N), 0, block + r * VEC);
#pragma unroll
  for (int c = 0; c < VEC; ++c) {
    float column[VEC];
#pragma unroll
    for (int r = 0; r < VEC; ++r) column[r] = block[r * VEC + c];
    CONCAT(vstore, VEC)(CONCAT(vload, VEC)(0, column), 0, out + (size_t)c * M);
  }
}
#endif

static inline void patch(__global const float* A, __global float* B, const int row, const int rows,
                         const int col, const int cols, const int M, const int N) {
  int r = row;
#if VEC > 1
  for (; r + VEC <= rows; r += VEC) {
    int c = col;
    for (; c + VEC <= cols; c += VEC) square(A + (size_t)r * N + c, B + (size_t)c * M + r, M, N);
    for (; c < cols; ++c)
      for (int i = 0; i < VEC; ++i) B[(size_t)c * M + r + i] = A[(size_t)(r + i) * N + c];
  }
#endif
#if WRITE_ROWS
  // Along the rows of B, so that the writes are contiguous and the reads are strided.
  for (int c = col; c < cols; ++c)
    for (int i = r; i < rows; ++i) B[(size_t)c * M + i] = A[(size_t)i * N + c];
#else
  for (int i = r; i < rows; ++i)
    for (int c = col; c < cols; ++c) B[(size_t)c * M + i] = A[(size_t)i * N + c];
#endif
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose(__global const float* restrict A, __global float* restrict B, const int M, const int N) {
  const int row = get_global_id(0) * PATCH_M;
  const int col = get_global_id(1) * PATCH_N;
  if (row >= M || col >= N) return;
  patch(A, B, row, min(row + PATCH_M, M), col, min(col + PATCH_N, N), M, N);
}
