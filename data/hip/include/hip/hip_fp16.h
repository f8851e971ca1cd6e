// HIP's half precision, over clang's _Float16 (see hip_runtime.h).
#pragma once

#include <hip/hip_runtime.h>

typedef _Float16 burnish_hip_half2 __attribute__((ext_vector_type(2)));

struct __half {
  _Float16 data;
  __half() = default;
  __host__ __device__ __half(_Float16 x) : data(x) {}
  __host__ __device__ __half(float x) : data((_Float16)x) {}
  __host__ __device__ __half(double x) : data((_Float16)x) {}
  __host__ __device__ __half(int x) : data((_Float16)x) {}
  __host__ __device__ operator float() const { return (float)data; }
  __device__ __half& operator+=(__half b) { return data = data + b.data, *this; }
  __device__ __half& operator-=(__half b) { return data = data - b.data, *this; }
  __device__ __half& operator*=(__half b) { return data = data * b.data, *this; }
  __device__ __half& operator/=(__half b) { return data = data / b.data, *this; }
};
typedef __half half;

union __attribute__((aligned(4))) __half2 {
  burnish_hip_half2 data;
  struct {
    __half x, y;
  };
  __half2() = default;
  __host__ __device__ __half2(burnish_hip_half2 v) : data(v) {}
  __host__ __device__ __half2(__half a, __half b) : data{a.data, b.data} {}
};
typedef __half2 half2;

#define BURNISH_HIP_HALF(OP, name)                                                            \
  BURNISH_HIP_FUNCTION __half operator OP(__half a, __half b) { return a.data OP b.data; }    \
  BURNISH_HIP_FUNCTION __half2 operator OP(__half2 a, __half2 b) { return a.data OP b.data; } \
  BURNISH_HIP_FUNCTION __half name(__half a, __half b) { return a.data OP b.data; }           \
  BURNISH_HIP_FUNCTION __half2 name##2(__half2 a, __half2 b) { return a.data OP b.data; }
BURNISH_HIP_HALF(+, __hadd)
BURNISH_HIP_HALF(-, __hsub)
BURNISH_HIP_HALF(*, __hmul)
BURNISH_HIP_HALF(/, __hdiv)
BURNISH_HIP_FUNCTION __half operator-(__half a) { return -a.data; }
BURNISH_HIP_FUNCTION __half2 operator-(__half2 a) { return -a.data; }
BURNISH_HIP_FUNCTION __half __hneg(__half a) { return -a.data; }
BURNISH_HIP_FUNCTION __half2 __hneg2(__half2 a) { return -a.data; }
BURNISH_HIP_FUNCTION __half __habs(__half a) { return __builtin_fabsf16(a.data); }
BURNISH_HIP_FUNCTION __half __hfma(__half a, __half b, __half c) {
  return __builtin_fmaf16(a.data, b.data, c.data);
}
BURNISH_HIP_FUNCTION __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return __builtin_elementwise_fma(a.data, b.data, c.data);
}
BURNISH_HIP_FUNCTION __half __hmax(__half a, __half b) { return __builtin_fmaxf16(a.data, b.data); }
BURNISH_HIP_FUNCTION __half __hmin(__half a, __half b) { return __builtin_fminf16(a.data, b.data); }
BURNISH_HIP_FUNCTION __half2 __hmax2(__half2 a, __half2 b) {
  return __builtin_elementwise_maxnum(a.data, b.data);
}
BURNISH_HIP_FUNCTION __half2 __hmin2(__half2 a, __half2 b) {
  return __builtin_elementwise_minnum(a.data, b.data);
}
#define BURNISH_HIP_HALF_COMPARE(OP, name)                                               \
  BURNISH_HIP_FUNCTION bool operator OP(__half a, __half b) { return a.data OP b.data; } \
  BURNISH_HIP_FUNCTION bool name(__half a, __half b) { return a.data OP b.data; }
BURNISH_HIP_HALF_COMPARE(==, __heq)
BURNISH_HIP_HALF_COMPARE(!=, __hne)
BURNISH_HIP_HALF_COMPARE(<, __hlt)
BURNISH_HIP_HALF_COMPARE(<=, __hle)
BURNISH_HIP_HALF_COMPARE(>, __hgt)
BURNISH_HIP_HALF_COMPARE(>=, __hge)
BURNISH_HIP_FUNCTION bool __hisnan(__half a) { return a.data != a.data; }

// With a float the other operand is one too.
#define BURNISH_HIP_HALF_MIXED(R, OP)                                                  \
  BURNISH_HIP_FUNCTION R operator OP(__half a, float b) { return (float)a.data OP b; } \
  BURNISH_HIP_FUNCTION R operator OP(float a, __half b) { return a OP(float) b.data; }
BURNISH_HIP_HALF_MIXED(float, +)
BURNISH_HIP_HALF_MIXED(float, -)
BURNISH_HIP_HALF_MIXED(float, *)
BURNISH_HIP_HALF_MIXED(float, /)
BURNISH_HIP_HALF_MIXED(bool, ==)
BURNISH_HIP_HALF_MIXED(bool, !=)
BURNISH_HIP_HALF_MIXED(bool, <)
BURNISH_HIP_HALF_MIXED(bool, <=)
BURNISH_HIP_HALF_MIXED(bool, >)
BURNISH_HIP_HALF_MIXED(bool, >=)

static inline __host__ __device__ __half __float2half(float x) { return (_Float16)x; }
static inline __host__ __device__ __half __float2half_rn(float x) { return (_Float16)x; }
static inline __host__ __device__ float __half2float(__half x) { return (float)x.data; }
static inline __host__ __device__ __half2 __floats2half2_rn(float a, float b) {
  return __half2(__half(a), __half(b));
}
static inline __host__ __device__ __half2 __float22half2_rn(float2 v) {
  return __floats2half2_rn(v.x, v.y);
}
static inline __host__ __device__ __half2 __float2half2_rn(float x) {
  return __floats2half2_rn(x, x);
}
static inline __host__ __device__ float2 __half22float2(__half2 v) {
  return {(float)v.data.x, (float)v.data.y};
}
static inline __host__ __device__ float __low2float(__half2 v) { return (float)v.data.x; }
static inline __host__ __device__ float __high2float(__half2 v) { return (float)v.data.y; }
static inline __host__ __device__ __half __low2half(__half2 v) { return v.data.x; }
static inline __host__ __device__ __half __high2half(__half2 v) { return v.data.y; }
static inline __host__ __device__ __half2 __halves2half2(__half a, __half b) {
  return __half2(a, b);
}
static inline __host__ __device__ __half2 __half2half2(__half a) { return __half2(a, a); }
static inline __host__ __device__ __half2 make_half2(__half a, __half b) { return __half2(a, b); }
static inline __host__ __device__ unsigned short __half_as_ushort(__half x) {
  return __builtin_bit_cast(unsigned short, x.data);
}
static inline __host__ __device__ __half __ushort_as_half(unsigned short x) {
  return __builtin_bit_cast(_Float16, x);
}
BURNISH_HIP_FUNCTION __half __int2half_rn(int x) { return (_Float16)x; }
BURNISH_HIP_FUNCTION int __half2int_rn(__half x) { return (int)__builtin_rintf((float)x.data); }
BURNISH_HIP_FUNCTION __half hexp(__half x) { return (_Float16)__builtin_expf((float)x.data); }
BURNISH_HIP_FUNCTION __half hlog(__half x) { return (_Float16)__builtin_logf((float)x.data); }
BURNISH_HIP_FUNCTION __half hsqrt(__half x) { return __builtin_sqrtf16(x.data); }
BURNISH_HIP_FUNCTION __half hrsqrt(__half x) { return (_Float16)rsqrtf((float)x.data); }
BURNISH_HIP_FUNCTION __half hrcp(__half x) { return (_Float16)(1 / (float)x.data); }
