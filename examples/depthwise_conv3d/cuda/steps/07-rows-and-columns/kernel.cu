// Y = B + X convolved with W over 3 planes, 5 rows and 5 columns of the same channel; rows and
// columns are padded by 2, planes are not. bf16 in and out, sums in single precision.
//
// `depthwise_planes`, the second kernel, is for planes of up to 48 rows by 80 columns whose rows are a
// multiple of 16 bytes; `depthwise` is for all others and is the step before (sliding_planes.h).
//
// Planes come and go by TMA, with zeros outside of the plane. A block stays: it has an equal part of the planes
// of results of all channels, wherever that starts and ends.

#include "tile.h"
#include "bands.h"
#include "sliding_planes.h"
#include "whole_planes.h"

struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

constexpr int kLine = 48;                                 // dwords of a row in shared memory, from column -8 on
constexpr int kInput = (2 * kPairs * kBands + 4) * kLine, kResult = 2 * kPairs * kBands * kLine;
constexpr int kStages = 6, kResults = 4;                  // planes in shared memory
// The first warp moves planes, this many after the last use of their room, when the other warps are done too.
constexpr int kLate = 2;

// Arrives when the plane is there.
__device__ inline void load_plane(unsigned to, const TensorMap* map, int plane, unsigned barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(kInput * 4) : "memory");
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(to), "l"(map), "r"(-8), "r"(-2), "r"(plane), "r"(barrier) : "memory");
}
// Comes back when the stores before this one have read their room.
__device__ inline void store_plane(const TensorMap* map, int plane, unsigned from) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
               "r"(0), "r"(0), "r"(plane), "r"(from) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
}
__device__ inline void wait_for_stores() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
// Between ordinary writes to shared memory and TMA's reads of them.
__device__ inline void show_to_tma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(kWarps * 32, 2)
depthwise_planes(const __grid_constant__ TensorMap X, const unsigned short* __restrict__ W,
                 const unsigned short* __restrict__ B, const __grid_constant__ TensorMap Y, int channels, int C,
                 int depth) {
  extern __shared__ __align__(1024) unsigned char shared[];
  unsigned* inputs = reinterpret_cast<unsigned*>(shared);
  unsigned* results = inputs + kStages * kInput;
  const unsigned inputs_at = shared_address(inputs), results_at = shared_address(results);
  // Barriers of 8 bytes: a plane of inputs is there, is used; a plane of results is there, is stored.
  const unsigned there = results_at + kResults * kResult * 4, used = there + 8 * kStages;
  const unsigned ready = used + 8 * kStages, stored = ready + 8 * kResults;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4;
  const bool moves = threadIdx.x == 0;
  if (moves) {
    for (int i = 0; i < kStages; ++i) {
      start_barrier(there + 8 * i, 1);
      start_barrier(used + 8 * i, kWarps);
    }
    for (int i = 0; i < kResults; ++i) {
      start_barrier(ready + 8 * i, kWarps);
      start_barrier(stored + 8 * i, 1);
    }
    publish_barriers();
  }
  // A table of the taps for each warp, 3 x 7 x 12: a row of zeros above and below, three columns on both sides.
  unsigned short* taps = reinterpret_cast<unsigned short*>(shared + (kStages * kInput + kResults * kResult) * 4 +
                                                           16 * (kStages + kResults)) + warp * 256;
  for (int i = lane; i < 128; i += 32) reinterpret_cast<unsigned*>(taps)[i] = 0;
  __syncthreads();

  // This block's planes of results, and their planes of inputs, which follow each other across channels.
  const long long total = (long long)channels * depth;
  int at = (int)(total * blockIdx.x / gridDim.x);
  const int end = (int)(total * (blockIdx.x + 1) / gridDim.x);
  if (at == end) return;
  int next_in = at + at / depth * 2, next_out = at, refill = 0, oldest = 0;
  const int last_in = end - 1 + (end - 1) / depth * 2 + 3;
  unsigned refill_turn = 0, oldest_turn = 0, finished = 0;  // a bit for each plane of inputs, the last one lowest
  if (moves) {
    for (int i = 0; i < kStages && next_in < last_in; ++i)
      load_plane(inputs_at + i * kInput * 4, &X, next_in++, there + 8 * i);
  }
  const auto store_oldest = [&] {
    wait(ready + 8 * oldest, oldest_turn);
    store_plane(&Y, next_out, results_at + oldest * kResult * 4);
    if (next_out++ > (int)(total * blockIdx.x / gridDim.x)) arrive(stored + 8 * ((oldest + kResults - 1) % kResults));
    if (++oldest == kResults) oldest = 0, oldest_turn ^= 1;
  };

  int from[2], to[2];
  bool slot_is_there[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int slot = warp * 16 + group + 8 * half, last = kBlocks * kBands - 1;
    const int top = min(slot, last) / kBlocks * 2 * kPairs, block = min(slot, last) % kBlocks;
    from[half] = top * kLine + 2 * block + 3 + pair;  // two columns before the block's first
    to[half] = (top + pair / 2) * kLine + 2 * block + pair % 2;
    slot_is_there[half] = slot <= last;
  }

  int stage = 0, room = 0, done = 0;
  unsigned turn = 0, room_turn = 1;
  while (at < end) {
    const int channel = at / depth % C;
    __syncwarp();
    for (int i = lane; i < 75; i += 32) taps[i / 25 * 84 + i / 5 % 5 * 12 + i % 5 + 15] = W[channel * 75 + i];
    __syncwarp();
    // A lane has inputs (0, 2 pair), (0, 2 pair + 1) and the same of row 1, of result (group / 4, group % 4).
    unsigned band[3][3][2];
#pragma unroll
    for (int i = 0; i < 18; ++i) {
      const unsigned short* tap = taps + i / 6 * 84 + (i % 6 + 1 - group / 4) * 12 + 3 + 2 * pair - group % 4;
      band[i / 6][i % 6 / 2][i % 2] = tap[0] | (unsigned)tap[1] << 16;
    }
    const float bias = widen(B[channel]);
    float sums[3][kPairs][4];
    const int planes = min(depth - at % depth, end - at) + 2;  // of inputs
    for (int first = 0; first < planes; first += 3) {
#pragma unroll
      for (int turn_of_sums = 0; turn_of_sums < 3; ++turn_of_sums) {
        const int plane = first + turn_of_sums;
        if (plane >= planes) break;
        if (moves) {
          if (done >= kLate && next_in < last_in) {
            wait(used + 8 * refill, refill_turn);
            load_plane(inputs_at + refill * kInput * 4, &X, next_in++, there + 8 * refill);
            if (++refill == kStages) refill = 0, refill_turn ^= 1;
          }
          if (finished >> (kLate - 1) & 1) store_oldest();
          finished = finished << 1 | (plane >= 2);
        }
        ++done;
        __syncwarp();
        wait(there + 8 * stage, turn);
        const unsigned* x = inputs + stage * kInput;
#pragma unroll
        for (int i = 0; i < kPairs + 2; ++i) {
          const unsigned* upper = x + from[0] + 2 * i * kLine;
          const unsigned* lower = x + from[1] + 2 * i * kLine;
          const unsigned rows[4] = {upper[0], lower[0], upper[kLine], lower[kLine]};
          if (i == kPairs + 1) {
            __syncwarp();
            if (lane == 0) arrive(used + 8 * stage);
          }
          // This plane's rows with the taps of depth 2 end the sums that were begun two planes ago.
#pragma unroll
          for (int kd = 2; kd >= 0; --kd) {
#pragma unroll
            for (int kh = 2; kh >= 0; --kh) {
              const int y = i - kh;
              if (y < 0 || y >= kPairs) continue;
              if (kd == 0 && kh == 0) multiply_first(sums[turn_of_sums][y], rows, band[0][0], bias);
              else multiply(sums[(turn_of_sums + 3 - kd) % 3][y], rows, band[kd][kh]);
            }
          }
          if (i < 2 || plane < 2) continue;
          if (i == 2) wait(stored + 8 * room, room_turn);
          const float(&sum)[4] = sums[(turn_of_sums + 1) % 3][i - 2];
          unsigned* y = results + room * kResult + 2 * (i - 2) * kLine;
          if (slot_is_there[0]) y[to[0]] = narrow_pair(sum[0], sum[1]);
          if (slot_is_there[1]) y[to[1]] = narrow_pair(sum[2], sum[3]);
        }
        if (plane >= 2) {
          show_to_tma();
          __syncwarp();
          if (lane == 0) arrive(ready + 8 * room);
          if (++room == kResults) room = 0, room_turn ^= 1;
        }
        if (++stage == kStages) stage = 0, turn ^= 1;
      }
    }
    at += planes - 2;
  }
  if (moves) {
    for (int i = kLate - 1; i >= 0; --i)
      if (finished >> i & 1) store_oldest();
    wait_for_stores();
  }
}
