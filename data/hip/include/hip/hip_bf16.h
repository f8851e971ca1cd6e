// HIP's bfloat16, over clang's __bf16 (see hip_runtime.h). Arithmetic is done in single precision
// and rounded once.
#pragma once

#include <hip/hip_runtime.h>

struct __hip_bfloat16 {
  __bf16 data;
  __hip_bfloat16() = default;
  __host__ __device__ __hip_bfloat16(__bf16 x) : data(x) {}
  __host__ __device__ __hip_bfloat16(float x) : data((__bf16)x) {}
  __host__ __device__ __hip_bfloat16(double x) : data((__bf16)x) {}
  __host__ __device__ __hip_bfloat16(int x) : data((__bf16)(float)x) {}
  __host__ __device__ operator float() const { return (float)data; }
};
typedef __hip_bfloat16 hip_bfloat16;

struct __attribute__((aligned(4))) __hip_bfloat162 {
  __hip_bfloat16 x, y;
};

#define BURNISH_HIP_BF16(OP, name)                                                                \
  BURNISH_HIP_FUNCTION __hip_bfloat16 operator OP(__hip_bfloat16 a, __hip_bfloat16 b) {           \
    return (float)a.data OP(float) b.data;                                                        \
  }                                                                                               \
  BURNISH_HIP_FUNCTION __hip_bfloat16& operator OP##=(__hip_bfloat16 & a, __hip_bfloat16 b) {     \
    return a = a OP b;                                                                            \
  }                                                                                               \
  BURNISH_HIP_FUNCTION __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b) { return a OP b; } \
  BURNISH_HIP_FUNCTION __hip_bfloat162 name##2(__hip_bfloat162 a, __hip_bfloat162 b) {            \
    return {a.x OP b.x, a.y OP b.y};                                                              \
  }
BURNISH_HIP_BF16(+, __hadd)
BURNISH_HIP_BF16(-, __hsub)
BURNISH_HIP_BF16(*, __hmul)
BURNISH_HIP_BF16(/, __hdiv)
BURNISH_HIP_FUNCTION __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __builtin_fmaf((float)a.data, (float)b.data, (float)c.data);
}
BURNISH_HIP_FUNCTION __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b,
                                             __hip_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
BURNISH_HIP_FUNCTION __hip_bfloat16 __hneg(__hip_bfloat16 a) { return -(float)a.data; }
BURNISH_HIP_FUNCTION __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __builtin_fmaxf((float)a.data, (float)b.data);
}
BURNISH_HIP_FUNCTION __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __builtin_fminf((float)a.data, (float)b.data);
}
#define BURNISH_HIP_BF16_COMPARE(OP, name)                                    \
  BURNISH_HIP_FUNCTION bool operator OP(__hip_bfloat16 a, __hip_bfloat16 b) { \
    return (float)a.data OP(float) b.data;                                    \
  }                                                                           \
  BURNISH_HIP_FUNCTION bool name(__hip_bfloat16 a, __hip_bfloat16 b) { return a OP b; }
BURNISH_HIP_BF16_COMPARE(==, __heq)
BURNISH_HIP_BF16_COMPARE(!=, __hne)
BURNISH_HIP_BF16_COMPARE(<, __hlt)
BURNISH_HIP_BF16_COMPARE(<=, __hle)
BURNISH_HIP_BF16_COMPARE(>, __hgt)
BURNISH_HIP_BF16_COMPARE(>=, __hge)
BURNISH_HIP_FUNCTION bool __hisnan(__hip_bfloat16 a) { return (float)a.data != (float)a.data; }

// With a float the other operand is one too.
#define BURNISH_HIP_BF16_MIXED(R, OP)                                                          \
  BURNISH_HIP_FUNCTION R operator OP(__hip_bfloat16 a, float b) { return (float)a.data OP b; } \
  BURNISH_HIP_FUNCTION R operator OP(float a, __hip_bfloat16 b) { return a OP(float) b.data; }
BURNISH_HIP_BF16_MIXED(float, +)
BURNISH_HIP_BF16_MIXED(float, -)
BURNISH_HIP_BF16_MIXED(float, *)
BURNISH_HIP_BF16_MIXED(float, /)
BURNISH_HIP_BF16_MIXED(bool, ==)
BURNISH_HIP_BF16_MIXED(bool, !=)
BURNISH_HIP_BF16_MIXED(bool, <)
BURNISH_HIP_BF16_MIXED(bool, <=)
BURNISH_HIP_BF16_MIXED(bool, >)
BURNISH_HIP_BF16_MIXED(bool, >=)

static inline __host__ __device__ __hip_bfloat16 __float2bfloat16(float x) { return (__bf16)x; }
static inline __host__ __device__ __hip_bfloat16 __float2bfloat16_rn(float x) { return (__bf16)x; }
static inline __host__ __device__ float __bfloat162float(__hip_bfloat16 x) { return (float)x.data; }
static inline __host__ __device__ __hip_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return {(__bf16)a, (__bf16)b};
}
static inline __host__ __device__ __hip_bfloat162 __float22bfloat162_rn(float2 v) {
  return {(__bf16)v.x, (__bf16)v.y};
}
static inline __host__ __device__ __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) {
  return {x, x};
}
static inline __host__ __device__ __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a,
                                                                     __hip_bfloat16 b) {
  return {a, b};
}
static inline __host__ __device__ float2 __bfloat1622float2(__hip_bfloat162 v) {
  return {(float)v.x, (float)v.y};
}
static inline __host__ __device__ float __low2float(__hip_bfloat162 v) { return (float)v.x; }
static inline __host__ __device__ float __high2float(__hip_bfloat162 v) { return (float)v.y; }
static inline __host__ __device__ __hip_bfloat16 __low2bfloat16(__hip_bfloat162 v) { return v.x; }
static inline __host__ __device__ __hip_bfloat16 __high2bfloat16(__hip_bfloat162 v) { return v.y; }
static inline __host__ __device__ unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) {
  return __builtin_bit_cast(unsigned short, x.data);
}
static inline __host__ __device__ __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) {
  return __builtin_bit_cast(__bf16, x);
}
