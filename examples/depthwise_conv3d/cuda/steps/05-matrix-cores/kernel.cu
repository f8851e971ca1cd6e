// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// On the tensor cores: 16 rows of 16 inputs times a band matrix of 16 inputs by 8 results, which holds the
// 5 taps of one row of the filter; 15 such products, one a row of the filter, sum 16 rows by 8 columns.
// Two neighbouring inputs are one aligned word of the tile.
constexpr int kRows = 45, kColumns = 80;                  // of a tile of results
constexpr int kTileRows = kRows + 4;                      // with the edges that they need
constexpr int kPitch = 44;                                // dwords, two columns each
constexpr int kPlane = kTileRows * kPitch;
// The last product reads three rows past the tile, for results that are not stored.
constexpr int kTile = 3 * kPlane + 3 * kPitch;
constexpr int kAcross = kColumns / 8, kDown = 3;          // products of a tile

// Two neighbouring columns, 0 outside of the plane. `column` is even; where rows are an even number
// of columns long the two are one aligned load.
__device__ inline unsigned two_columns(const unsigned short* plane, int row, int column, int H,
                                       int L) {
  if (row < 0 || row >= H) return 0;
  if (L % 2 == 0) {
    const bool inside = column >= 0 && column < L;
    return inside ? *reinterpret_cast<const unsigned*>(plane + (size_t)row * L + column) : 0;
  }
  const unsigned low = column >= 0 && column < L ? plane[(size_t)row * L + column] : 0;
  const unsigned high = column >= 0 && column + 1 < L ? plane[(size_t)row * L + column + 1] : 0;
  return low | high << 16;
}

__device__ inline void fill(unsigned* tile, const unsigned short* planes, int row0, int column0,
                            int H, int L) {
  for (int i = threadIdx.x; i < kTile; i += THREADS) {
    const int kd = i / kPlane, row = i % kPlane / kPitch, pair = i % kPitch;
    const unsigned short* plane = planes + (size_t)kd * H * L;
    tile[i] = kd < 3 ? two_columns(plane, row0 + row - 2, column0 + 2 * pair - 2, H, L) : 0;
  }
  __syncthreads();
}

__device__ inline float widen(unsigned short x) { return __uint_as_float((unsigned)x << 16); }

__device__ inline unsigned short narrow(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

__device__ inline void store_pair(unsigned short* y, float even, float odd, int column, int L) {
  const unsigned low = narrow(even);
  const unsigned high = narrow(odd);
  if (L % 2 == 0) {
    *reinterpret_cast<unsigned*>(y + column) = low | high << 16;
  } else {
    y[column] = low;
    if (column + 1 < L) y[column + 1] = high;
  }
}

// sums += rows times band: 16 rows of 16 inputs, 16 inputs by 8 results, bf16.
__device__ inline void multiply(float (&sums)[4], const unsigned (&rows)[4],
                                const unsigned (&band)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(band[0]), "r"(band[1]));
}

// The taps of one row of the filter as a band: a lane has inputs k and k + 1, and k + 8 and k + 9, of
// result n. A result n takes input k with tap k - n.
__device__ inline void band_of(unsigned (&band)[2], const unsigned short* taps, int k, int n) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int tap = k + 8 * half - n;
    const unsigned low = tap >= 0 && tap < 5 ? taps[tap] : 0;
    const unsigned high = tap + 1 >= 0 && tap + 1 < 5 ? taps[tap + 1] : 0;
    band[half] = low | high << 16;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
depthwise(const unsigned short* __restrict__ X, const unsigned short* __restrict__ W,
          const unsigned short* __restrict__ B, unsigned short* __restrict__ Y, int C, int D, int H,
          int L, int tiles) {
  __shared__ unsigned tile[kTile];
  const int row0 = blockIdx.x / tiles * kRows, column0 = blockIdx.x % tiles * kColumns;
  const int nc = blockIdx.y, c = nc % C, d = blockIdx.z;
  fill(tile, X + ((size_t)nc * D + d) * H * L, row0, column0, H, L);

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
