// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// On the tensor cores: 16 rows of 16 inputs times a band matrix of 16 inputs by 8 results, which holds the
// 5 taps of one row of the filter; 15 such products, one a row of the filter, sum 16 rows by 8 columns.
// Two neighbouring inputs are one aligned word of the tile.

#include "tile.h"
#include "bands.h"

constexpr int kPitch = 44;                                // dwords, two columns each
constexpr int kPlane = kTileRows * kPitch;
// The last product reads three rows past the tile, for results that are not stored.
constexpr int kTile = 3 * kPlane + 3 * kPitch;
constexpr int kAcross = kColumns / 8, kDown = 3;          // products of a tile

extern "C" __global__ void __launch_bounds__(THREADS)
depthwise(const unsigned short* __restrict__ X, const unsigned short* __restrict__ W,
          const unsigned short* __restrict__ B, unsigned short* __restrict__ Y, int C, int D, int H,
          int L, int tiles) {
  __shared__ unsigned tile[kTile];
  const int row0 = blockIdx.x / tiles * kRows, column0 = blockIdx.x % tiles * kColumns;
  const int nc = blockIdx.y, c = nc % C, d = blockIdx.z;
  fill<kPitch, kTile>(tile, X + ((size_t)nc * D + d) * H * L, row0, column0, H, L);

  const int lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4;
  unsigned band[15][2];
#pragma unroll
  for (int i = 0; i < 15; ++i) band_of(band[i], W + c * 75 + i * 5, 2 * pair, group);
  const float bias = widen(B[c]);
  unsigned short* plane = Y + ((size_t)nc * (D - 2) + d) * H * L;

  for (int i = threadIdx.x / 32; i < kAcross * kDown; i += THREADS / 32) {
    const int top = i / kAcross * 16, left = i % kAcross * 8;
    const unsigned* from = tile + (top + group) * kPitch + left / 2 + pair;
    float sums[4] = {bias, bias, bias, bias};
#pragma unroll
    for (int j = 0; j < 15; ++j) {
      const unsigned* x = from + j / 5 * kPlane + j % 5 * kPitch;
      const unsigned rows[4] = {x[0], x[8 * kPitch], x[4], x[8 * kPitch + 4]};
      multiply(sums, rows, band[j]);
    }
    const int column = column0 + left + 2 * pair;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int h = top + group + 8 * half;
      if (h < kRows && row0 + h < H && column < L)
        store_pair(plane + (size_t)(row0 + h) * L, sums[2 * half], sums[2 * half + 1], column, L);
    }
  }
}
