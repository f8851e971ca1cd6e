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

static float one(__global const float* X, __global const float* W, const int row, const int col,
                 const int C, const int H, const int L) {
  float sum = 0.0f;
  for (int c = 0; c < C; ++c)
    for (int i = 0; i < S; ++i) {
      const int y = row + i - PAD;
      if (y < 0 || y >= H) continue;
      for (int j = 0; j < S; ++j) {
        const int x = col + j - PAD;
        if (x < 0 || x >= L) continue;
        sum = fma(X[((size_t)c * H + y) * L + x], W[(c * S + i) * S + j], sum);
      }
    }
  return sum;
}

__kernel __attribute__((reqd_work_group_size(GROUP_L, GROUP_H, 1)))
void conv2d(__global const float* restrict X, __global const float* restrict W,
            __global float* restrict Y, const int C, const int F, const int H, const int L) {
  const int col = get_global_id(0) * VEC;
  const int row = get_global_id(1);
  const int first = get_global_id(2) * FILTERS;
  if (col >= L || row >= H || first >= F) return;

  // Inside, where neither a filter nor a column is missing, nothing has to be asked.
  if (col >= PAD && col + VEC + PAD <= L && first + FILTERS <= F) {
    vec acc[FILTERS];
#pragma unroll
    for (int f = 0; f < FILTERS; ++f) acc[f] = (vec)(0.0f);
    const int top = max(0, PAD - row), bottom = min(S, H + PAD - row);
    for (int c = 0; c < C; ++c)
      for (int i = top; i < bottom; ++i) {
        __global const float* x = X + ((size_t)c * H + row + i - PAD) * L + col - PAD;
        __global const float* w = W + ((size_t)first * C + c) * S * S + i * S;
#if UNROLL
#pragma unroll
#endif
        for (int j = 0; j < S; ++j) {
          const vec value = LOAD(x + j);
#pragma unroll
          for (int f = 0; f < FILTERS; ++f)
            acc[f] = fma(value, (vec)(w[(size_t)f * C * S * S + j]), acc[f]);
        }
      }
#pragma unroll
    for (int f = 0; f < FILTERS; ++f) STORE(acc[f], Y + ((size_t)(first + f) * H + row) * L + col);
    return;
  }
  for (int f = first; f < min(first + FILTERS, F); ++f)
    for (int x = col; x < min(col + VEC, L); ++x)
      Y[((size_t)f * H + row) * L + x] = one(X, W + (size_t)f * C * S * S, row, x, C, H, L);
}
