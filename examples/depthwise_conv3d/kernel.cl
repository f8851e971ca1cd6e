// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// A work-item computes ROWS rows at VEC neighbouring columns of one plane. With every tunable at its
// first value it computes one element.

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)

#if VEC == 1
typedef float floats;
typedef uint uints;
#define LOAD(p) ((uint)*(p))
#define STORE(v, p) (*(p) = (ushort)(v))
#define AS_FLOATS as_float
#define AS_UINTS as_uint
#else
typedef CONCAT(float, VEC) floats;
typedef CONCAT(uint, VEC) uints;
#define LOAD(p) CONCAT(convert_uint, VEC)(CONCAT(vload, VEC)(0, p))
#define STORE(v, p) CONCAT(vstore, VEC)(CONCAT(convert_ushort, VEC)(v), 0, p)
#define AS_FLOATS CONCAT(as_float, VEC)
#define AS_UINTS CONCAT(as_uint, VEC)
#endif

static inline float widen(ushort x) { return as_float((uint)x << 16); }

// To the nearest, ties to even; the sums are finite.
static inline ushort narrow(float x) {
  const uint bits = as_uint(x);
  return (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
}

__kernel void depthwise(__global const ushort* restrict X, __global const ushort* restrict W,
                        __global const ushort* restrict B, __global ushort* restrict Y, int C,
                        int D, int H, int L) {
  const int col = get_global_id(0) * VEC;
  if (col >= L) return;
  const int plane = get_global_id(2), d = plane % (D - 2), nc = plane / (D - 2), c = nc % C;
  __global const ushort* w = W + c * 75;
  const int last = min((int)(get_global_id(1) + 1) * ROWS, H);
  for (int h = get_global_id(1) * ROWS; h < last; ++h) {
    __global ushort* y = Y + ((size_t)plane * H + h) * L;
    // Whole vectors whose columns are all inside; the others one column at a time.
    if (VEC > 1 && col >= 2 && col + VEC + 2 <= L) {
      floats sum = widen(B[c]);
      for (int kd = 0; kd < 3; ++kd)
        for (int kh = 0; kh < 5; ++kh) {
          const int row = h + kh - 2;
          if (row < 0 || row >= H) continue;
          __global const ushort* x = X + (((size_t)nc * D + d + kd) * H + row) * L;
          for (int kl = 0; kl < 5; ++kl)
            sum += widen(w[(kd * 5 + kh) * 5 + kl]) * AS_FLOATS(LOAD(x + col + kl - 2) << 16);
        }
      const uints bits = AS_UINTS(sum);
      STORE((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16, y + col);
      continue;
    }
    for (int l = col; l < min(col + VEC, L); ++l) {
      float sum = widen(B[c]);
      for (int kd = 0; kd < 3; ++kd)
        for (int kh = 0; kh < 5; ++kh) {
          const int row = h + kh - 2;
          if (row < 0 || row >= H) continue;
          __global const ushort* x = X + (((size_t)nc * D + d + kd) * H + row) * L;
          for (int kl = 0; kl < 5; ++kl) {
            const int at = l + kl - 2;
            if (at >= 0 && at < L) sum += widen(w[(kd * 5 + kh) * 5 + kl]) * widen(x[at]);
          }
        }
      y[l] = narrow(sum);
    }
  }
}
