// Y = softmax of every row of X: X and Y are R x C, row-major.
//
// A work-item computes one row. The textbook version passes over the row three times (largest, sum,
// quotient) and computes every exponential twice. KEEP stores the exponentials and scales them,
// FAST_EXP chooses how they are computed, VEC works on vectors, ROWS on several rows a work-item.

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)

#if VEC == 1
typedef float vec;
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#define SPLAT(s) (s)
#else
typedef CONCAT(float, VEC) vec;
#define LOAD(p) CONCAT(vload, VEC)(0, p)
#define STORE(v, p) CONCAT(vstore, VEC)(v, 0, p)
#define SPLAT(s) ((vec)(s))
#endif

#if FAST_EXP == 2
// 2^x for x <= 0 by range reduction and a polynomial of degree 6; relative error below 2e-7.
static inline vec power2(vec x) {
  x = fmax(x, SPLAT(-126.0f));
  const vec whole = rint(x);
  const vec f = x - whole;
  vec p = SPLAT(1.5403530e-4f);
  p = fma(p, f, SPLAT(1.3333558e-3f));
  p = fma(p, f, SPLAT(9.6181291e-3f));
  p = fma(p, f, SPLAT(5.5504109e-2f));
  p = fma(p, f, SPLAT(2.4022651e-1f));
  p = fma(p, f, SPLAT(6.9314718e-1f));
  p = fma(p, f, SPLAT(1.0f));
#if VEC == 1
  return p * as_float(((int)whole + 127) << 23);
#else
  return p * CONCAT(as_float, VEC)((CONCAT(convert_int, VEC)(whole) + 127) << 23);
#endif
}
#define EXP(x) power2((x)*SPLAT(1.44269504f))
#elif FAST_EXP == 1
#define EXP(x) native_exp(x)
#else
#define EXP(x) exp(x)
#endif

static inline float largest(const vec v) {
#if VEC == 1
  return v;
#else
  float part[VEC];
  STORE(v, part);
  float best = part[0];
#pragma unroll
  for (int i = 1; i < VEC; ++i) best = fmax(best, part[i]);
  return best;
#endif
}

static inline float total(const vec v) {
#if VEC == 1
  return v;
#else
  float part[VEC];
  STORE(v, part);
  float sum = part[0];
#pragma unroll
  for (int i = 1; i < VEC; ++i) sum += part[i];
  return sum;
#endif
}

static inline float exp_one(const float x) {
#if VEC == 1
  return EXP(x);
#else
  float part[VEC];
  STORE(EXP(SPLAT(x)), part);
  return part[0];
#endif
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax(__global const float* restrict X, __global float* restrict Y, const int R, const int C) {
  const int first = get_global_id(0) * ROWS;
  for (int row = first; row < min(first + ROWS, R); ++row) {
    __global const float* x = X + (size_t)row * C;
    __global float* y = Y + (size_t)row * C;
    const int whole = C / VEC * VEC;

    vec best_v = SPLAT(-INFINITY);
    for (int c = 0; c < whole; c += VEC) best_v = fmax(best_v, LOAD(x + c));
    float best = largest(best_v);
    for (int c = whole; c < C; ++c) best = fmax(best, x[c]);

    vec sum_v = SPLAT(0.0f);
    float sum = 0.0f;
    for (int c = 0; c < whole; c += VEC) {
      const vec e = EXP(LOAD(x + c) - SPLAT(best));
      sum_v += e;
#if KEEP
      STORE(e, y + c);
#endif
    }
    for (int c = whole; c < C; ++c) {
      const float e = exp_one(x[c] - best);
      sum += e;
#if KEEP
      y[c] = e;
#endif
    }
    sum += total(sum_v);

#if KEEP
    const float scale = 1.0f / sum;
    for (int c = 0; c < whole; c += VEC) STORE(LOAD(y + c) * SPLAT(scale), y + c);
    for (int c = whole; c < C; ++c) y[c] *= scale;
#else
    for (int c = 0; c < whole; c += VEC) STORE(EXP(LOAD(x + c) - SPLAT(best)) / SPLAT(sum), y + c);
    for (int c = whole; c < C; ++c) y[c] = exp_one(x[c] - best) / sum;
#endif
  }
}
