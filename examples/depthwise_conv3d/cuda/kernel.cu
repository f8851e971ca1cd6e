// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// A thread computes one element and looks at the edges for every tap.

__device__ inline float widen(unsigned short x) { return __uint_as_float((unsigned)x << 16); }

__device__ inline unsigned short narrow(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

extern "C" __global__ void __launch_bounds__(THREADS)
depthwise(const unsigned short* __restrict__ X, const unsigned short* __restrict__ W,
          const unsigned short* __restrict__ B, unsigned short* __restrict__ Y, int N, int C, int D,
          int H, int L) {
  const unsigned at = blockIdx.x * (unsigned)THREADS + threadIdx.x;
  if (at >= (unsigned)(N * C * (D - 2)) * (unsigned)(H * L)) return;
  const int l = at % L, h = at / L % H, plane = at / L / H;
  const int d = plane % (D - 2), nc = plane / (D - 2), c = nc % C;
  float sum = widen(B[c]);
  for (int kd = 0; kd < 3; ++kd) {
    for (int kh = 0; kh < 5; ++kh) {
      for (int kl = 0; kl < 5; ++kl) {
        const int row = h + kh - 2, column = l + kl - 2;
        if (row < 0 || row >= H || column < 0 || column >= L) continue;
        const float x = widen(X[(((size_t)nc * D + d + kd) * H + row) * L + column]);
        sum = fmaf(x, widen(W[c * 75 + (kd * 5 + kh) * 5 + kl]), sum);
      }
    }
  }
  Y[at] = narrow(sum);
}
