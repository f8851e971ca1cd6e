// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// On the matrix cores: a band matrix of 12 results by 16 inputs, which holds the 5 taps of one column of
// the filter, times 16 rows of 16 columns; 15 such products, one a column of the filter, sum 12 rows by
// 16 columns, which are neighbours in neighbouring lanes. A lane collects its four inputs row by row.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

#include "tile.h"

constexpr int kPitch = (kColumns + 4) / 2;                // dwords, two columns each
constexpr int kPlane = kTileRows * kPitch;
// The last product reads three rows past the tile, with taps of 0.
constexpr int kTile = 3 * kPlane + 3 * kPitch;
constexpr int kResults = 12;                              // rows of a product
constexpr int kAcross = 5, kDown = 4;                     // products of a tile

typedef short Fragment __attribute__((vector_size(8)));
typedef float Sums __attribute__((vector_size(16)));

extern "C" __global__ void __launch_bounds__(THREADS)
depthwise(const unsigned short* __restrict__ X, const unsigned short* __restrict__ W,
          const unsigned short* __restrict__ B, unsigned short* __restrict__ Y, int C, int D, int H,
          int L, int tiles) {
  __shared__ unsigned tile[kTile];
  const int row0 = blockIdx.x / tiles * kRows, column0 = blockIdx.x % tiles * kColumns;
  const int nc = blockIdx.y, c = nc % C, d = blockIdx.z;
  fill<kPitch, kTile>(tile, X + ((size_t)nc * D + d) * H * L, row0, column0, H, L);

  const int lane = threadIdx.x % 64, wave = threadIdx.x / 64;
  const int m = lane % 16, k0 = lane / 16 * 4;  // row of the band, and the first of its four inputs
  Fragment band[15];
#pragma unroll
  for (int i = 0; i < 15; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int kh = k0 + e - m;
      const bool inside = kh >= 0 && kh < 5 && m < kResults;
      band[i][e] = inside ? W[c * 75 + i / 5 * 25 + kh * 5 + i % 5] : 0;
    }
  }
  const float bias = widen(B[c]);
  unsigned short* plane = Y + ((size_t)nc * (D - 2) + d) * H * L;

  for (int i = wave; i < kAcross * kDown; i += THREADS / 64) {
    const int top = i / kAcross * kResults, left = i % kAcross * 16;
    const unsigned short* from =
        reinterpret_cast<const unsigned short*>(tile) + (top + k0) * 2 * kPitch + left + lane % 16;
    Sums sums = {bias, bias, bias, bias};
#pragma unroll
    for (int j = 0; j < 15; ++j) {
      Fragment x;
#pragma unroll
      for (int e = 0; e < 4; ++e) x[e] = from[j / 5 * 2 * kPlane + e * 2 * kPitch + j % 5];
      sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(band[j], x, sums, 0, 0, 0);
    }
    const int column = left + lane % 16;
    if (column0 + column >= L) continue;
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      const int h = top + k0 + v;
      if (k0 + v < kResults && h < kRows && row0 + h < H)
        plane[(size_t)(row0 + h) * L + column0 + column] = narrow(sums[v]);
    }
  }
}
