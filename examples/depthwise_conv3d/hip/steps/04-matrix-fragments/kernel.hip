// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// On the matrix cores: 16 rows of 16 inputs times a band matrix of 16 inputs by 12 results, which holds
// the 5 taps of one row of the filter; 15 such products, one a row of the filter, sum 16 rows by 12
// columns. A lane's four inputs are neighbours at a multiple of 8 bytes: one read of 64 bits.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

#include "tile.h"

constexpr int kPitch = 44;  // dwords, two columns each: the last product reads 88 columns
constexpr int kPlane = kTileRows * kPitch;
// The last product reads three rows past the tile, with taps of 0.
constexpr int kTile = 3 * kPlane + 3 * kPitch;
constexpr int kResults = 12;                              // columns of a product
constexpr int kAcross = 7, kDown = 3;                     // products of a tile

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
  const int n = lane % 16, k0 = lane / 16 * 4;  // column of the band, and the first of its four inputs
  Fragment band[15];
#pragma unroll
  for (int i = 0; i < 15; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int kl = k0 + e - n;
      const bool inside = kl >= 0 && kl < 5 && n < kResults;
      band[i][e] = inside ? W[c * 75 + i * 5 + kl] : 0;
    }
  }
  const float bias = widen(B[c]);
  unsigned short* plane = Y + ((size_t)nc * (D - 2) + d) * H * L;

  for (int i = wave; i < kAcross * kDown; i += THREADS / 64) {
    const int top = i / kAcross * 16, left = i % kAcross * kResults;
    const unsigned short* from =
        reinterpret_cast<const unsigned short*>(tile) + (top + lane % 16) * 2 * kPitch + left + k0;
    Sums sums = {bias, bias, bias, bias};
#pragma unroll
    for (int j = 0; j < 15; ++j) {
      const Fragment x = *reinterpret_cast<const Fragment*>(from + j / 5 * 2 * kPlane + j % 5 * 2 * kPitch);
      sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, band[j], sums, 0, 0, 0);
    }
    const int column = left + n;
    if (n >= kResults || column >= kColumns || column0 + column >= L) continue;
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      const int h = top + k0 + v;
      if (h < kRows && row0 + h < H)
        plane[(size_t)(row0 + h) * L + column0 + column] = narrow(sums[v]);
    }
  }
}
