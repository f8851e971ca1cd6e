// What the 16 bits of a logit are: bf16, or fp16 with HALF.

#if HALF
#include <cuda_fp16.h>
__device__ inline float widen(unsigned bits) {
  return __half2float(__ushort_as_half((unsigned short)bits));
}
#else
__device__ inline float widen(unsigned bits) { return __uint_as_float(bits << 16); }
#endif

// NVRTC has no INFINITY.
__device__ inline float infinity() { return __int_as_float(0x7f800000); }
