// A tile of results of one channel, and the inputs that it needs in shared memory as pairs of
// columns.

constexpr int kRows = 45, kColumns = 80;  // of a tile of results
constexpr int kTileRows = kRows + 4;      // with the edges that they need

__device__ inline float widen(unsigned short x) { return __uint_as_float((unsigned)x << 16); }

__device__ inline unsigned short narrow(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

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

// The tile of three planes, in rows of kPitch dwords; what is behind them up to kTile dwords is 0.
template <int kPitch, int kTile = 3 * kTileRows * kPitch>
__device__ inline void fill(unsigned* tile, const unsigned short* planes, int row0, int column0,
                            int H, int L) {
  constexpr int kPlane = kTileRows * kPitch;
  for (int i = threadIdx.x; i < kTile; i += THREADS) {
    const int kd = i / kPlane, row = i % kPlane / kPitch, pair = i % kPitch;
    const unsigned short* plane = planes + (size_t)kd * H * L;
    const bool inside = kTile == 3 * kPlane || kd < 3;
    tile[i] = inside ? two_columns(plane, row0 + row - 2, column0 + 2 * pair - 2, H, L) : 0;
  }
  __syncthreads();
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
