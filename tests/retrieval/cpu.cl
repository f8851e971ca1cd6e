// OpenCL kernels for a CPU with one known fault each. Arguments: three buffers of n × n floats, n.
kernel void matmul_one_output(global const float* a, global const float* b, global float* c, int n) {
  int col = get_global_id(0), row = get_global_id(1);
  float acc = 0;
  for (int k = 0; k < n; ++k) acc = fma(a[row * n + k], b[k * n + col], acc);
  c[row * n + col] = acc;
}

// Dimension 0 walks down the rows: neighbours in a vector are n floats apart.
kernel void matmul_rows_on_dimension_0(global const float* a, global const float* b, global float* c,
                                       int n) {
  int row = get_global_id(0), col = get_global_id(1);
  float acc = 0;
  for (int k = 0; k < n; ++k) acc = fma(a[row * n + k], b[k * n + col], acc);
  c[row * n + col] = acc;
}

kernel void matmul_one_row_of_vectors(global const float* a, global const float* b, global float* c,
                                      int n) {
  int col = get_global_id(0) * 16, row = get_global_id(1);
  if (col >= n) return;
  float16 acc = 0;
  for (int k = 0; k < n; ++k) acc = fma((float16)(a[row * n + k]), vload16(0, b + k * n + col), acc);
  vstore16(acc, 0, c + row * n + col);
}

// A sum of products along a row, kept in order by the language: one chain, one element at a time.
kernel void dot_of_rows(global const float* a, global const float* b, global float* c, int n) {
  int row = get_global_id(0);
  float acc = 0;
  for (int k = 0; k < n; ++k) acc += a[row * n + k] * b[row * n + k];
  c[row] = acc;
}

kernel void transpose_naive(global const float* a, global const float* b, global float* c, int n) {
  int x = get_global_id(0);
  for (int y = 0; y < n; ++y) c[x * n + y] = a[y * n + x];
}

kernel void divide_by_a_row_sum(global const float* a, global const float* b, global float* c, int n) {
  int row = get_global_id(0);
  float sum = b[row];
  for (int k = 0; k < n; ++k) c[row * n + k] = a[row * n + k] / sum;
}

kernel void exponentials(global const float* a, global const float* b, global float* c, int n) {
  int row = get_global_id(0);
  for (int k = 0; k < n; ++k) c[row * n + k] = exp(a[row * n + k]);
}

kernel void wrapped_index(global const float* a, global const float* b, global float* c, int n) {
  int row = get_global_id(0), period = (int)b[0] + 3;
  for (int k = 0; k < n; ++k) c[row * n + k] = a[row * n + (k * 7) % period];
}

kernel void one_field_of_four(global const float* a, global const float* b, global float* c, int n) {
  int row = get_global_id(0);
  float16 acc = 0;
  for (int k = 0; k + 64 <= n; k += 64) {
    global const float* p = a + row * n + k;
    acc += (float16)(p[0], p[4], p[8], p[12], p[16], p[20], p[24], p[28], p[32], p[36], p[40], p[44],
                     p[48], p[52], p[56], p[60]);
  }
  vstore16(acc, 0, c + row * n);
}

// 8 × 4 accumulators of 16 floats do not fit into 32 registers.
kernel void block_too_large(global const float* a, global const float* b, global float* c, int n) {
  int col = get_global_id(0) * 64, row = get_global_id(1) * 8;
  if (col >= n || row >= n) return;
  float16 acc[8][4];
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j) acc[i][j] = 0;
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < 4; ++j) {
      float16 v = vload16(0, b + k * n + col + 16 * j);
#pragma unroll
      for (int i = 0; i < 8; ++i) acc[i][j] = fma((float16)(a[(row + i) * n + k]), v, acc[i][j]);
    }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j) vstore16(acc[i][j], 0, c + (row + i) * n + col + 16 * j);
}
