// bfloat16 for the host (see hip_runtime.h): conversions round to the nearest, ties to even.
#pragma once

#include "hip_runtime.h"

struct __hip_bfloat16 {
  unsigned short data;
};

inline float __bfloat162float(__hip_bfloat16 x) { return __uint_as_float((unsigned)x.data << 16); }
inline __hip_bfloat16 __float2bfloat16(float x) {
  const unsigned bits = __float_as_uint(x);
  if (x != x) return {static_cast<unsigned short>(bits >> 16 | 0x40)};
  return {static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16)};
}
inline unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.data; }
