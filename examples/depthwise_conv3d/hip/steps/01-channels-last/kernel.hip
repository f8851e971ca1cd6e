// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// Channels are made the innermost dimension first and the outermost one again at the end. In between
// a thread computes 8 channels of one pixel, whose bf16 are one load of 16 bytes.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

// 64 pixels by 64 channels of one image, through LDS; a row of the tile is 33 words to keep banks apart.
extern "C" __global__ void __launch_bounds__(256)
pack(const unsigned short* __restrict__ X, uint4* __restrict__ packed, int C, int pixels) {
  __shared__ unsigned short tile[64][66];
  const int pixel0 = blockIdx.x * 64, channel0 = blockIdx.y * 64, n = blockIdx.z;
  const int groups = (C + 7) / 8;
  for (int i = threadIdx.x; i < 64 * 64; i += 256) {
    const int c = i / 64, p = i % 64;
    const bool inside = channel0 + c < C && pixel0 + p < pixels;
    tile[c][p] = inside ? X[((size_t)n * C + channel0 + c) * pixels + pixel0 + p] : 0;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 64 * 8; i += 256) {
    const int p = i / 8, g = i % 8;
    if (pixel0 + p >= pixels || channel0 / 8 + g >= groups) continue;
    unsigned word[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      word[k] = tile[g * 8 + 2 * k][p] | (unsigned)tile[g * 8 + 2 * k + 1][p] << 16;
    packed[((size_t)n * pixels + pixel0 + p) * groups + channel0 / 8 + g] =
        make_uint4(word[0], word[1], word[2], word[3]);
  }
}

// The 75 taps of every channel, then its bias.
extern "C" __global__ void __launch_bounds__(256)
pack_weights(const unsigned short* __restrict__ W, const unsigned short* __restrict__ B,
             unsigned short* __restrict__ packed, int C) {
  const int channels = (C + 7) / 8 * 8;
  const int i = blockIdx.x * 256 + threadIdx.x, tap = i / channels, c = i % channels;
  if (tap >= 76) return;
  packed[i] = c >= C ? 0 : tap < 75 ? W[c * 75 + tap] : B[c];
}

__device__ inline void widen(uint4 v, float* to) {
  const unsigned word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    to[2 * k] = __uint_as_float(word[k] << 16);
    to[2 * k + 1] = __uint_as_float(word[k] & 0xffff0000u);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
depthwise(const uint4* __restrict__ X, const uint4* __restrict__ W, uint4* __restrict__ Y, int N,
          int groups, int D, int H, int L) {
  const unsigned at = blockIdx.x * (unsigned)THREADS + threadIdx.x;
  const unsigned pixel = at / groups, g = at % groups;
  if (pixel >= (unsigned)(N * (D - 2) * H * L)) return;
  const int l = pixel % L, h = pixel / L % H, plane = pixel / L / H;
  const int d = plane % (D - 2), n = plane / (D - 2);
  float sum[8], x[8], w[8];
  widen(W[75 * groups + g], sum);
  for (int kd = 0; kd < 3; ++kd) {
#pragma unroll
    for (int kh = 0; kh < 5; ++kh) {
      const int row = h + kh - 2;
      if (row < 0 || row >= H) continue;
#pragma unroll
      for (int kl = 0; kl < 5; ++kl) {
        const int column = l + kl - 2;
        if (column < 0 || column >= L) continue;
        widen(X[((((size_t)n * D + d + kd) * H + row) * L + column) * groups + g], x);
        widen(W[((kd * 5 + kh) * 5 + kl) * groups + g], w);
#pragma unroll
        for (int k = 0; k < 8; ++k) sum[k] = fmaf(x[k], w[k], sum[k]);
      }
    }
  }
  unsigned word[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    word[k] = __bfloat16_as_ushort(__float2bfloat16(sum[2 * k])) |
              (unsigned)__bfloat16_as_ushort(__float2bfloat16(sum[2 * k + 1])) << 16;
  Y[at] = make_uint4(word[0], word[1], word[2], word[3]);
}

extern "C" __global__ void __launch_bounds__(256)
unpack(const uint4* __restrict__ packed, unsigned short* __restrict__ Y, int C, int pixels) {
  __shared__ unsigned short tile[64][66];
  const int pixel0 = blockIdx.x * 64, channel0 = blockIdx.y * 64, n = blockIdx.z;
  const int groups = (C + 7) / 8;
  for (int i = threadIdx.x; i < 64 * 8; i += 256) {
    const int p = i / 8, g = i % 8;
    if (pixel0 + p >= pixels || channel0 / 8 + g >= groups) continue;
    const uint4 v = packed[((size_t)n * pixels + pixel0 + p) * groups + channel0 / 8 + g];
    const unsigned word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      tile[g * 8 + 2 * k][p] = (unsigned short)word[k];
      tile[g * 8 + 2 * k + 1][p] = (unsigned short)(word[k] >> 16);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 64 * 64; i += 256) {
    const int c = i / 64, p = i % 64;
    if (channel0 + c >= C || pixel0 + p >= pixels) continue;
    Y[((size_t)n * C + channel0 + c) * pixels + pixel0 + p] = tile[c][p];
  }
}
