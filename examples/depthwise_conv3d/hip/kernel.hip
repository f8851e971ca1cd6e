// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// A thread computes one element and looks at the edges for every tap.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

extern "C" __global__ void __launch_bounds__(THREADS)
depthwise(const __hip_bfloat16* __restrict__ X, const __hip_bfloat16* __restrict__ W,
          const __hip_bfloat16* __restrict__ B, __hip_bfloat16* __restrict__ Y, int N, int C, int D,
          int H, int L) {
  const unsigned at = blockIdx.x * (unsigned)THREADS + threadIdx.x;
  if (at >= (unsigned)(N * C * (D - 2)) * (unsigned)(H * L)) return;
  const int l = at % L, h = at / L % H, plane = at / L / H;
  const int d = plane % (D - 2), nc = plane / (D - 2), c = nc % C;
  float sum = __bfloat162float(B[c]);
  for (int kd = 0; kd < 3; ++kd) {
    for (int kh = 0; kh < 5; ++kh) {
      for (int kl = 0; kl < 5; ++kl) {
        const int row = h + kh - 2, column = l + kl - 2;
        if (row < 0 || row >= H || column < 0 || column >= L) continue;
        const float x = __bfloat162float(X[(((size_t)nc * D + d + kd) * H + row) * L + column]);
        sum = fmaf(x, __bfloat162float(W[c * 75 + (kd * 5 + kh) * 5 + kl]), sum);
      }
    }
  }
  Y[at] = __float2bfloat16(sum);
}
