// Y = X convolved with W, stride 1, zero padding of (S - 1) / 2: X is C x H x L, W is F x C x S x S,
// Y is F x H x L, all row-major (H rows, L columns; S is odd and a macro).
//
// A work-item computes FILTERS filters by VEC neighbouring columns of one row of Y. With every tunable
// at its first value it computes one element.

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

#define S 3
#define PAD ((S - 1) / 2)

// The elements of a row of X from column `col` on; what lies outside is zero.
static inline vec elements(__global const float* row, const int col, const int L) {
#if VEC == 1
  return col >= 0 && col < L ? row[col] : 0.0f;
#else
  if (col >= 0 && col + VEC <= L) return LOAD(row + col);
  float part[VEC];
  for (int i = 0; i < VEC; ++i) part[i] = col + i >= 0 && col + i < L ? row[col + i] : 0.0f;
  return LOAD(part);
#endif
}

__kernel __attribute__((reqd_work_group_size(GROUP_L, GROUP_H, 1)))
void conv2d(__global const float* restrict X, __global const float* restrict W,
            __global float* restrict Y, const int C, const int F, const int H, const int L) {
  const int col = get_global_id(0) * VEC;
  const int row = get_global_id(1);
  const int first = get_global_id(2) * FILTERS;
  if (col >= L || row >= H || first >= F) return;

  vec acc[FILTERS];
#pragma unroll
  for (int f = 0; f < FILTERS; ++f) acc[f] = (vec)(0.0f);
  const int top = max(0, PAD - row), bottom = min(S, H + PAD - row);
  for (int c = 0; c < C; ++c)
    for (int i = top; i < bottom; ++i) {
      __global const float* x = X + ((size_t)c * H + row + i - PAD) * L;
      __global const float* w = W + (size_t)c * S * S + i * S;
#if UNROLL
#pragma unroll
#endif
      for (int j = 0; j < S; ++j) {
        const vec value = elements(x, col + j - PAD, L);
        // A filter that does not exist repeats the last one; its sum is not stored.
#pragma unroll
        for (int f = 0; f < FILTERS; ++f)
          acc[f] = fma(value, (vec)(w[(size_t)min(first + f, F - 1) * C * S * S + j]), acc[f]);
      }
    }
#pragma unroll
  for (int f = 0; f < FILTERS; ++f) {
    if (first + f >= F) break;
    __global float* y = Y + ((size_t)(first + f) * H + row) * L + col;
    if (col + VEC <= L) {
      STORE(acc[f], y);
      continue;
    }
    float part[VEC];
    STORE(acc[f], part);
    for (int i = 0; col + i < L; ++i) y[i] = part[i];
  }
}
