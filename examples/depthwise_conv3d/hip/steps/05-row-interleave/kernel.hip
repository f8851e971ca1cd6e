// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// A workgroup has the rows and columns that its tile needs in LDS, and the 75 taps of its channel in
// registers. A thread computes two results at a time: it reads three pairs of columns of one row and sums
// them for both before it goes on to the next row.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

#include "tile.h"

constexpr int kPitch = (kColumns + 4) / 2;                // dwords, two columns each
constexpr int kPlane = kTileRows * kPitch;

// This instruction, where it is written: the compiler neither fuses, packs nor moves it, and it moves no
// read of LDS across.
#define ACCUMULATE(sum, x, w) asm volatile("v_fmac_f32 %0, %1, %2" : "+v"(sum) : "v"(x), "v"(w))

extern "C" __global__ void __launch_bounds__(THREADS)
depthwise(const unsigned short* __restrict__ X, const unsigned short* __restrict__ W,
          const unsigned short* __restrict__ B, unsigned short* __restrict__ Y, int C, int D, int H,
          int L, int tiles) {
  __shared__ unsigned tile[3 * kPlane];
  const int row0 = blockIdx.x / tiles * kRows, column0 = blockIdx.x % tiles * kColumns;
  const int nc = blockIdx.y, c = nc % C, d = blockIdx.z;
  fill<kPitch>(tile, X + ((size_t)nc * D + d) * H * L, row0, column0, H, L);
  float w[75];
#pragma unroll
  for (int i = 0; i < 75; ++i) w[i] = widen(W[c * 75 + i]);
  const float bias = widen(B[c]);
  unsigned short* plane = Y + ((size_t)nc * (D - 2) + d) * H * L;

  for (int i = threadIdx.x; i < kRows * kColumns / 2; i += THREADS) {
    const int h = i / (kColumns / 2), pair = i % (kColumns / 2);
    if (row0 + h >= H || column0 + 2 * pair >= L) continue;
    float even = bias, odd = bias;
#pragma unroll
    for (int row = 0; row < 15; ++row) {
      const unsigned* x = tile + row / 5 * kPlane + (h + row % 5) * kPitch + pair;
      float column[6];
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        column[2 * k] = __uint_as_float(x[k] << 16);
        column[2 * k + 1] = __uint_as_float(x[k] & 0xffff0000u);
      }
#pragma unroll
      for (int kl = 0; kl < 5; ++kl) {
        ACCUMULATE(even, column[kl], w[row * 5 + kl]);
        ACCUMULATE(odd, column[kl + 1], w[row * 5 + kl]);
      }
    }
    store_pair(plane + (size_t)(row0 + h) * L, even, odd, column0 + 2 * pair, L);
  }
}
