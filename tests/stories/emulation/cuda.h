// CUDA's device language for the host, as far as the steps of examples/*/cuda use it. Where matrix
// instructions keep their elements is as the PTX ISA has it.
#pragma once

#include <map>
#include <vector>

#include "emulation/common.h"
#include "emulation/steps.h"

#define __grid_constant__

template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return from_lane_of(value, [&](int lane) { return lane ^ mask; }, value);
}

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(8) float2 {
  float x, y;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
template <class T>
T __ldg(const T* p) {
  return *p;
}
inline float __fdividef(float a, float b) { return a / b; }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned words[2] = {a, b};
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned from = selector >> 4 * i & 7;
    result |= (words[from / 4] >> from % 4 * 8 & 0xffu) << 8 * i;
  }
  return result;
}

/// fma.rn.bf16x2 with -1 and 0: the canonical NaN is 0x7fff, and 0 - 0 is 0.
inline unsigned emulated_minus(unsigned pair) {
  const auto one = [](unsigned x) {
    if ((x & 0x7fffu) > 0x7f80u) return 0x7fffu;
    return (x & 0x7fffu) == 0 ? 0u : x ^ 0x8000u;
  };
  return one(pair & 0xffffu) | one(pair >> 16) << 16;
}
/// max.bf16x2
inline unsigned emulated_larger(unsigned a, unsigned b) {
  const auto one = [](unsigned x, unsigned y) {
    const float p = __uint_as_float(x << 16), q = __uint_as_float(y << 16);
    if (p != p && q != q) return 0x7fffu;
    return p != p || q > p ? y : x;
  };
  return one(a & 0xffffu, b & 0xffffu) | one(a >> 16, b >> 16) << 16;
}

inline int __reduce_min_sync(unsigned, int value) {
  const auto& warp = burnish::emulation::exchange({static_cast<unsigned>(value)});
  for (int lane = 0; lane < 32; ++lane)
    value = std::min(value, static_cast<int>(warp[static_cast<std::size_t>(lane)][0]));
  return value;
}
inline unsigned __reduce_max_sync(unsigned, unsigned value) {
  const auto& warp = burnish::emulation::exchange({value});
  for (int lane = 0; lane < 32; ++lane) value = max(value, warp[static_cast<std::size_t>(lane)][0]);
  return value;
}

/// cvt.rn.bf16.f32
inline unsigned short emulated_narrow(float x) {
  const unsigned bits = __float_as_uint(x);
  if (x != x) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/// mma.sync.m16n8k16, row by column: lane l holds A[l / 4 (+ 8)][2 (l % 4) (+ 1) (+ 8)], B[k][l /
/// 4] for the same k, and C and D [l / 4 (+ 8)][2 (l % 4) (+ 1)].
inline void emulated_mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const auto& warp = burnish::emulation::exchange({a[0], a[1], a[2], a[3], b[0], b[1]});
  const auto element = [&](int other, int k, std::size_t word) {
    const std::uint32_t both = warp[static_cast<std::size_t>(other * 4 + k % 8 / 2)][word];
    return std::bit_cast<float>(k % 2 ? both & 0xffff0000u : both << 16);
  };
  const int lane = burnish::emulation::lane();
  for (int v = 0; v < 4; ++v) {
    const std::size_t lower = v / 2;  // rows from 8 on
    for (int k = 0; k < 16; ++k) {
      const std::size_t right = k / 8;
      c[v] += element(lane / 4, k, lower + 2 * right) * element(lane % 4 * 2 + v % 2, k, 4 + right);
    }
  }
}

/// cp.async of 4 bytes, of which `size` are read; nobody waits for it here.
inline void emulated_copy(unsigned* to, const unsigned short* from, int size) {
  *to = 0;
  std::memcpy(to, from, static_cast<std::size_t>(size));
}

inline void __syncwarp() { burnish::emulation::exchange({0}); }

/// A block's dynamic shared memory; its addresses are offsets from here.
inline unsigned char* emulated_shared() {
  alignas(1024) static unsigned char memory[227 * 1024];
  return memory;
}
inline unsigned __cvta_generic_to_shared(const void* p) {
  return static_cast<unsigned>(static_cast<const unsigned char*>(p) - emulated_shared());
}

/// An mbarrier: a phase ends when all have arrived and every byte that is expected has come.
struct EmulatedBarrier {
  int arrivals, missing, bytes;
  unsigned phase;
  void settle() {
    if (missing > 0 || bytes > 0) return;
    missing = arrivals;
    phase ^= 1;
  }
};
inline std::map<unsigned, EmulatedBarrier> emulated_barriers;
inline void emulated_barrier(unsigned at, int arrivals) {
  emulated_barriers[at] = {arrivals, arrivals, 0, 0};
}
inline void emulated_arrive(unsigned at, int bytes) {
  EmulatedBarrier& barrier = emulated_barriers.at(at);
  if (--barrier.missing < 0) burnish::emulation::unknown("more arrivals than a barrier has");
  barrier.bytes += bytes;
  barrier.settle();
}
inline void emulated_wait(unsigned at, unsigned parity) {
  while (emulated_barriers.at(at).phase == parity) burnish::emulation::pass();
}

/// Every element of the box from (x, y, z) on, with where it is in the tensor; null outside.
template <class Visit>
void emulated_box(const void* opaque, int x, int y, int z, Visit visit) {
  const auto& map = *static_cast<const burnish::emulation::TensorMap*>(opaque);
  const auto inside = [](std::int64_t i, std::int64_t extent) { return i >= 0 && i < extent; };
  std::size_t i = 0;
  for (std::int64_t row = y; row < y + map.box[1]; ++row) {
    for (std::int64_t column = x; column < x + map.box[0]; ++column) {
      const bool there =
          inside(column, map.shape[0]) && inside(row, map.shape[1]) && inside(z, map.shape[2]);
      visit(i++, there ? map.data + (z * map.shape[1] + row) * map.shape[0] + column : nullptr);
    }
  }
}
template <class Map>
void emulated_load(unsigned to, const Map& map, int x, int y, int z, unsigned barrier) {
  static_assert(sizeof(Map) == sizeof(burnish::emulation::TensorMap));
  auto* const memory = reinterpret_cast<unsigned short*>(emulated_shared() + to);
  emulated_box(&map, x, y, z, [&](std::size_t i, const unsigned short* element) {
    memory[i] = element ? *element : 0;
    emulated_barriers.at(barrier).bytes -= 2;
  });
  emulated_barriers.at(barrier).settle();
}
inline void emulated_load(unsigned to, const void* from, int bytes, unsigned barrier) {
  std::memcpy(emulated_shared() + to, from, static_cast<std::size_t>(bytes));
  emulated_barriers.at(barrier).bytes -= bytes;
  emulated_barriers.at(barrier).settle();
}
/// Stores read shared memory as late as they may: when they are waited for.
inline std::vector<std::function<void()>> emulated_pending;
template <class Map>
void emulated_store(const Map& map, int x, int y, int z, unsigned from) {
  emulated_pending.push_back([&map, x, y, z, from] {
    const auto* const memory = reinterpret_cast<const unsigned short*>(emulated_shared() + from);
    emulated_box(&map, x, y, z, [&](std::size_t i, unsigned short* element) {
      if (element) *element = memory[i];
    });
  });
}
inline void emulated_stores(std::size_t left) {
  while (emulated_pending.size() > left) {
    emulated_pending.front()();
    emulated_pending.erase(emulated_pending.begin());
  }
}
