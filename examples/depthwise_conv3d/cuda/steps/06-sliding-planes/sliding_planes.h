// A block goes through DEPTHS planes of results with the three planes of inputs that each needs in
// a ring of four in shared memory, so that a plane comes from memory once (and two more times at
// the ends); the next one is fetched while one is computed. Products are those of 16 rows of 16
// inputs and a band matrix of 16 inputs by 8 results, which holds the 5 taps of one row of the
// filter; 15 of them sum 16 rows by 8 columns.

constexpr int kPitch = 44;  // dwords, two columns each
constexpr int kPlane = kTileRows * kPitch;
// The last product reads three rows past the plane, for results that are not stored.
constexpr int kPadded = kPlane + 3 * kPitch;
constexpr int kAcross = kColumns / 8, kDown = 3;  // products of a tile

// Starts to fetch a plane; where rows are an even number of columns long without registers.
__device__ inline void fetch(unsigned* to, const unsigned short* plane, int row0, int column0,
                             int H, int L) {
  for (int i = threadIdx.x; i < kPlane; i += THREADS) {
    const int row = row0 + i / kPitch - 2, column = column0 + 2 * (i % kPitch) - 2;
    if (L % 2 != 0) {
      to[i] = two_columns(plane, row, column, H, L);
      continue;
    }
    const bool inside = row >= 0 && row < H && column >= 0 && column < L;
    const unsigned short* from = inside ? plane + (size_t)row * L + column : plane;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(to + i)),
                 "l"(from), "r"(inside ? 4 : 0));
  }
  asm volatile("cp.async.commit_group;");
}

extern "C" __global__ void __launch_bounds__(THREADS)
    depthwise(const unsigned short* __restrict__ X, const unsigned short* __restrict__ W,
              const unsigned short* __restrict__ B, unsigned short* __restrict__ Y, int C, int D,
              int H, int L, int tiles) {
  __shared__ unsigned ring[4][kPadded];
  const int row0 = blockIdx.x / tiles * kRows, column0 = blockIdx.x % tiles * kColumns;
  const int nc = blockIdx.y, c = nc % C;
  const int first = blockIdx.z * DEPTHS, last = min(first + DEPTHS, D - 2);
  const unsigned short* planes = X + (size_t)nc * D * H * L;
  for (int i = threadIdx.x; i < 4 * 3 * kPitch; i += THREADS)
    ring[i / (3 * kPitch)][kPlane + i % (3 * kPitch)] = 0;
  for (int d = first; d < first + 3; ++d)
    fetch(ring[d % 4], planes + (size_t)d * H * L, row0, column0, H, L);

  const int lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4;
  unsigned band[15][2];
#pragma unroll
  for (int i = 0; i < 15; ++i) band_of(band[i], W + c * 75 + i * 5, 2 * pair, group);
  const float bias = widen(B[c]);

  for (int d = first; d < last; ++d) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();  // the planes of d are there, and nobody reads the one before them any more
    if (d + 1 < last)
      fetch(ring[(d + 3) % 4], planes + (size_t)(d + 3) * H * L, row0, column0, H, L);
    unsigned short* plane = Y + ((size_t)nc * (D - 2) + d) * H * L;
    for (int i = threadIdx.x / 32; i < kAcross * kDown; i += THREADS / 32) {
      const int top = i / kAcross * 16, left = i % kAcross * 8;
      const int from = (top + group) * kPitch + left / 2 + pair;
      float sums[4] = {bias, bias, bias, bias};
#pragma unroll
      for (int j = 0; j < 15; ++j) {
        const unsigned* x = ring[(d + j / 5) % 4] + from + j % 5 * kPitch;
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
}
