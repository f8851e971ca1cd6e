// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// A block has the rows and columns that its tile needs in shared memory, and the 75 taps of its channel
// in registers. A thread computes 15 rows of two columns: it goes down the tile, and adds each row of inputs
// as it is read to the five rows of results that need it.

#include "tile.h"

constexpr int kDown = 15;                                 // rows of results of a thread
constexpr int kPitch = (kColumns + 4) / 2;                // dwords, two columns each
constexpr int kPlane = kTileRows * kPitch;

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

  for (int i = threadIdx.x; i < kRows / kDown * (kColumns / 2); i += THREADS) {
    const int top = i / (kColumns / 2) * kDown, pair = i % (kColumns / 2);
    if (row0 + top >= H || column0 + 2 * pair >= L) continue;
    const unsigned* from = tile + top * kPitch + pair;
    float even[kDown], odd[kDown];
#pragma unroll
    for (int row = 0; row < kDown + 4; ++row) {
      if (row < kDown) even[row] = odd[row] = bias;
#pragma unroll
      for (int kd = 0; kd < 3; ++kd) {
        const unsigned* x = from + kd * kPlane + row * kPitch;
        float column[6];
#pragma unroll
        for (int k = 0; k < 3; ++k) {
          column[2 * k] = __uint_as_float(x[k] << 16);
          column[2 * k + 1] = __uint_as_float(x[k] & 0xffff0000u);
        }
#pragma unroll
        for (int kl = 0; kl < 5; ++kl) {
#pragma unroll
          for (int kh = 0; kh < 5; ++kh) {
            const int h = row - kh;
            if (h < 0 || h >= kDown) continue;
            even[h] = fmaf(column[kl], w[(kd * 5 + kh) * 5 + kl], even[h]);
            odd[h] = fmaf(column[kl + 1], w[(kd * 5 + kh) * 5 + kl], odd[h]);
          }
        }
      }
      const int h = row - 4;  // has all its inputs now
      if (h >= 0 && row0 + top + h < H)
        store_pair(plane + (size_t)(row0 + top + h) * L, even[h], odd[h], column0 + 2 * pair, L);
    }
  }
}
