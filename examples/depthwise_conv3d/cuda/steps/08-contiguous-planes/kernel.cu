// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// `depthwise_planes`, the second kernel, is for planes of up to 48 rows by 80 columns; `depthwise` is for all
// others (sliding_planes.h).
//
// A plane is one piece of memory and comes by one bulk copy, so rows in shared memory follow each other as they
// do in memory. What is outside of a plane are rows of zeros between the stages, and zeros apart for the lanes
// left and right of it. A bulk copy is cut at lines of 128 bytes on both sides, into the fewest pieces where both
// sides are cut at the same places; so a plane starts within a line of shared memory where it starts within a line
// of memory. A block has a channel's planes of results or an equal part of them, and its warps take turns to refill
// the ring. Results go out as they end: neighbouring lanes exchange two of theirs, so that each stores 8 bytes of
// one slot.

#include "tile.h"
#include "bands.h"
#include "sliding_planes.h"
#include "whole_planes.h"

constexpr int kLine = 40;                                 // dwords of a row
constexpr int kMargin = 2 * kLine;                        // rows of zeros above the first plane
// A plane of up to 48 rows and rows of zeros: what reads below a plane goes on into them, and so does what reads
// above the next. A plane of 45 rows is a quarter of a line more than whole lines, and so is a stage; four stages are
// whole lines again.
constexpr int kStage = 56 * kLine + 8, kStages = 4;
constexpr int kMostShift = 32;                            // dwords that the ring starts later, for its place in a line
// What lanes left and right of a plane read instead, from the bank that they would read there.
constexpr int kZeros = (2 * kPairs + 4) * kLine + 64;

// The column block of the i-th slot of a band. Bands are 20 slots and start in the same bank, so 8 slots that are
// loaded at once are 4 of an even band and 4 of the next in turn; that these share no bank, odd bands begin with
// blocks 8 to 11.
__device__ inline int block_of(int band, int i) {
  if (band % 2 == 0 || i >= 12) return i;
  return i < 4 ? i + 8 : i - 4;
}

// Arrives when the plane is there.
__device__ inline void load_plane(unsigned to, const unsigned* from, int bytes, unsigned barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

extern "C" __global__ void __launch_bounds__(kWarps * 32, 2)
depthwise_planes(const unsigned* __restrict__ X, const unsigned short* __restrict__ W,
                 const unsigned short* __restrict__ B, unsigned* __restrict__ Y, int C, int depth, int H) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4;
  const int channel = blockIdx.y % C, plane_size = H * kLine;
  // This block's planes of results, and as many planes of inputs and two more.
  const int begin = depth * (int)blockIdx.x / (int)gridDim.x;
  const int planes = depth * ((int)blockIdx.x + 1) / (int)gridDim.x - begin + 2;
  // Asked for before the planes, or they would come after all that all blocks have under way.
  unsigned short asked[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) asked[i] = W[channel * 75 + min(lane + 32 * i, 74)];
  const float bias = widen(B[channel]);
  const unsigned* const from = X + ((size_t)blockIdx.y * (depth + 2) + begin) * plane_size;
  const int shift = (int)(((size_t)from - kMargin * 4) % 128 / 4);
  unsigned* inputs = reinterpret_cast<unsigned*>(shared) + kMargin + shift;
  unsigned* zeros = inputs + kStages * kStage;
  // Barriers of 8 bytes: a plane of inputs is there, is used.
  const unsigned there = shared_address(zeros + kZeros + kMostShift - shift), used = there + 8 * kStages;
  const auto load = [&](int plane, int stage) {
    load_plane(shared_address(inputs + stage * kStage), from + (size_t)plane * plane_size, plane_size * 4,
               there + 8 * stage);
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      start_barrier(there + 8 * i, 1);
      start_barrier(used + 8 * i, kWarps);
    }
    publish_barriers();
    for (int i = 0; i < kStages && i < planes; ++i) load(i, i);
  }
  for (int i = threadIdx.x; i < kMargin + shift; i += kWarps * 32) reinterpret_cast<unsigned*>(shared)[i] = 0;
  for (int i = plane_size + threadIdx.x; i < kStage; i += kWarps * 32)
    for (int stage = 0; stage < kStages; ++stage) inputs[stage * kStage + i] = 0;
  for (int i = threadIdx.x; i < kZeros; i += kWarps * 32) zeros[i] = 0;
  // A table of the taps for each warp, 3 x 7 x 12: a row of zeros above and below, three columns on both sides.
  unsigned short* taps =
      reinterpret_cast<unsigned short*>(zeros + kZeros + kMostShift - shift + 4 * kStages) + warp * 256;
  for (int i = lane; i < 128; i += 32) reinterpret_cast<unsigned*>(taps)[i] = 0;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const int i = min(lane + 32 * k, 74);
    taps[i / 25 * 84 + i / 5 % 5 * 12 + i % 5 + 15] = asked[k];
  }
  __syncthreads();

  // A lane has inputs (0, 2 pair), (0, 2 pair + 1) and the same of row 1, of result (group / 4, group % 4).
  unsigned band[3][3][2];
#pragma unroll
  for (int i = 0; i < 18; ++i) {
    const unsigned short* tap = taps + i / 6 * 84 + (i % 6 + 1 - group / 4) * 12 + 3 + 2 * pair - group % 4;
    band[i / 6][i % 6 / 2][i % 2] = tap[0] | (unsigned)tap[1] << 16;
  }
  // Of both slots: the inputs two rows above and two columns before in the first stage, and how far they are in the
  // next. Of the slot that this lane stores, the second for odd lanes: the results and how many rows are left there.
  const bool odd = pair % 2 != 0;
  const unsigned* x[2];
  int next[2], left = 0;
  unsigned* y = Y + ((size_t)blockIdx.y * depth + begin) * plane_size;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int slot = warp * 16 + group + 8 * half, last = kBlocks * kBands - 1;
    const int number = min(slot, last) / kBlocks, top = number * 2 * kPairs;
    const int block = block_of(number, min(slot, last) % kBlocks);
    const bool outside = (block == 0 && pair == 0) || (block == kBlocks - 1 && pair == 3);
    const int offset = (top - 2) * kLine + 2 * block - 1 + pair;
    x[half] = outside ? zeros + (offset + 4 * kMargin) % 32 : inputs + offset;
    next[half] = outside ? kStage % 32 : kStage;
    if (odd != (half == 1)) continue;
    left = slot <= last ? H - top - pair / 2 : 0;
    y += (top + pair / 2) * kLine + 2 * block;
  }

  float sums[3][kPairs][4];
  unsigned turn = 0;
  int stage = 0;
  for (int first = 0; first < planes; first += 3) {
#pragma unroll
    for (int r = 0; r < 3; ++r) {  // where this plane's first sums are
      const int plane = first + r;
      if (plane >= planes) break;
      wait(there + 8 * stage, turn);
      // All that a plane has for this warp comes to registers first, so that its room is free early.
      unsigned rows[kPairs + 2][4];
#pragma unroll
      for (int i = 0; i < kPairs + 2; ++i) {
        const unsigned* upper = x[0] + stage * next[0] + 2 * i * kLine;
        const unsigned* lower = x[1] + stage * next[1] + 2 * i * kLine;
        rows[i][0] = upper[0], rows[i][1] = lower[0], rows[i][2] = upper[kLine], rows[i][3] = lower[kLine];
      }
      __syncwarp();
      if (lane == 0) arrive(used + 8 * stage);
      // The first two planes end no results. These are converted all the same and not stored: a branch would keep the
      // next products from starting while these are under way.
      const int rows_left = plane < 2 ? 0 : left;
#pragma unroll
      for (int i = 0; i < kPairs + 2; ++i) {
        // Once all have used the plane before this one its room is free; that is waited for while products run.
        if (i == 2) {
          if (threadIdx.x == plane % kWarps * 32 && plane >= 1 && plane - 1 + kStages < planes) {
            const int before = stage == 0 ? kStages - 1 : stage - 1;
            wait(used + 8 * before, stage == 0 ? turn ^ 1 : turn);
            load(plane - 1 + kStages, before);
          }
          __syncwarp();
        }
        // This plane's rows with the taps of depth 2 end the sums that were begun two planes ago.
#pragma unroll
        for (int kd = 2; kd >= 0; --kd) {
#pragma unroll
          for (int kh = 2; kh >= 0; --kh) {
            const int down = i - kh;
            if (down < 0 || down >= kPairs) continue;
            if (kd == 0 && kh == 0) multiply_first(sums[r][down], rows[i], band[0][0], bias);
            else multiply(sums[(r + 3 - kd) % 3][down], rows[i], band[kd][kh]);
          }
        }
        if (i < 2) continue;
        const float(&sum)[4] = sums[(r + 1) % 3][i - 2];
        const unsigned upper_pair = narrow_pair(sum[0], sum[1]), lower_pair = narrow_pair(sum[2], sum[3]);
        const unsigned other = __shfl_xor_sync(0xffffffff, odd ? upper_pair : lower_pair, 1);
        if (2 * (i - 2) < rows_left) {
          *reinterpret_cast<uint2*>(y + 2 * (i - 2) * kLine) =
              make_uint2(odd ? other : upper_pair, odd ? lower_pair : other);
        }
      }
      if (plane >= 2) y += plane_size;
      if (++stage == kStages) stage = 0, turn ^= 1;
    }
  }
}
