// The device side of HIP's language, for compiling kernels with clang where ROCm is not installed:
//   clang++ -x hip --cuda-device-only --no-gpu-bundle-output --offload-arch=gfx942 -nogpuinc
//           -nogpulib -O3 -I data/hip/include kernel.hip -o kernel.co
// Names and semantics are those of the HIP programming guide; everything lowers to instructions
// without a device library. Not here, because it needs that library: printf, assert, malloc, the
// accurate sinf, cosf, powf, erff and the like (the hardware's __sinf, __cosf and __powf are), the
// functions of doubles beyond arithmetic, sqrt and rounding, cooperative groups, textures. The
// runtime's host functions are not here either: files hold kernels only.
#pragma once

#if !defined(__HIP__)
#error "compile this as HIP: clang++ -x hip --cuda-device-only"
#endif

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))

#define BURNISH_HIP_PICK(a, b, name, ...) name
#define BURNISH_HIP_BOUNDS1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define BURNISH_HIP_BOUNDS2(threads, waves) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
/// The second argument is HIP's: the fewest waves on a SIMD.
#define __launch_bounds__(...) \
  BURNISH_HIP_PICK(__VA_ARGS__, BURNISH_HIP_BOUNDS2, BURNISH_HIP_BOUNDS1)(__VA_ARGS__)

#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define BURNISH_HIP_FUNCTION static inline __device__ __attribute__((always_inline))

typedef __SIZE_TYPE__ size_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINTPTR_TYPE__ uintptr_t;

#if !defined(INFINITY)
#define INFINITY (__builtin_inff())
#endif
#if !defined(NAN)
#define NAN (__builtin_nanf(""))
#endif

// ---------------------------------------------------------------------------- where a thread is

struct dim3 {
  unsigned x, y, z;
  constexpr __host__ __device__ dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
      : x(x_), y(y_), z(z_) {}
};

/// Lanes a wave.
#if defined(__GFX9__) || defined(__GFX8__)
static constexpr int warpSize = 64;
#else
static constexpr int warpSize = 32;
#endif

#define BURNISH_HIP_INDEX(type, X, Y, Z)                                                   \
  struct type {                                                                            \
    __declspec(property(get = get_x)) unsigned x;                                          \
    __declspec(property(get = get_y)) unsigned y;                                          \
    __declspec(property(get = get_z)) unsigned z;                                          \
    static inline __device__ __attribute__((always_inline)) unsigned get_x() { return X; } \
    static inline __device__ __attribute__((always_inline)) unsigned get_y() { return Y; } \
    static inline __device__ __attribute__((always_inline)) unsigned get_z() { return Z; } \
    __device__ operator dim3() const { return dim3(get_x(), get_y(), get_z()); }           \
  };
// The number of workgroups is at the start of the implicit arguments (AMDGPU code object 5).
#define BURNISH_HIP_BLOCKS(i) \
  (((const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr())[i])
BURNISH_HIP_INDEX(burnish_hip_thread_index, __builtin_amdgcn_workitem_id_x(),
                  __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z())
BURNISH_HIP_INDEX(burnish_hip_block_index, __builtin_amdgcn_workgroup_id_x(),
                  __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z())
BURNISH_HIP_INDEX(burnish_hip_block_size, __builtin_amdgcn_workgroup_size_x(),
                  __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z())
BURNISH_HIP_INDEX(burnish_hip_grid_size, BURNISH_HIP_BLOCKS(0), BURNISH_HIP_BLOCKS(1),
                  BURNISH_HIP_BLOCKS(2))
extern const __device__ __attribute__((weak)) burnish_hip_thread_index threadIdx;
extern const __device__ __attribute__((weak)) burnish_hip_block_index blockIdx;
extern const __device__ __attribute__((weak)) burnish_hip_block_size blockDim;
extern const __device__ __attribute__((weak)) burnish_hip_grid_size gridDim;

// ---------------------------------------------------------------------------- vectors

#define BURNISH_HIP_EACH(T, OP)                                                              \
  BURNISH_HIP_FUNCTION T##2 operator OP(T##2 a, T##2 b) { return {a.x OP b.x, a.y OP b.y}; } \
  BURNISH_HIP_FUNCTION T##3 operator OP(T##3 a, T##3 b) {                                    \
    return {a.x OP b.x, a.y OP b.y, a.z OP b.z};                                             \
  }                                                                                          \
  BURNISH_HIP_FUNCTION T##4 operator OP(T##4 a, T##4 b) {                                    \
    return {a.x OP b.x, a.y OP b.y, a.z OP b.z, a.w OP b.w};                                 \
  }                                                                                          \
  BURNISH_HIP_FUNCTION T##2 & operator OP##=(T##2 & a, T##2 b) { return a = a OP b; }        \
  BURNISH_HIP_FUNCTION T##3 & operator OP##=(T##3 & a, T##3 b) { return a = a OP b; }        \
  BURNISH_HIP_FUNCTION T##4 & operator OP##=(T##4 & a, T##4 b) { return a = a OP b; }

#define BURNISH_HIP_VECTORS(T, E, A2, A4)                                                 \
  struct T##1 { E x; };                                                                   \
  struct __attribute__((aligned(A2))) T##2 { E x, y; };                                   \
  struct T##3 { E x, y, z; };                                                             \
  struct __attribute__((aligned(A4))) T##4 { E x, y, z, w; };                             \
  static inline __host__ __device__ T##1 make_##T##1(E x) { return {x}; }                 \
  static inline __host__ __device__ T##2 make_##T##2(E x, E y) { return {x, y}; }         \
  static inline __host__ __device__ T##3 make_##T##3(E x, E y, E z) { return {x, y, z}; } \
  static inline __host__ __device__ T##4 make_##T##4(E x, E y, E z, E w) { return {x, y, z, w}; }

BURNISH_HIP_VECTORS(char, signed char, 2, 4)
BURNISH_HIP_VECTORS(uchar, unsigned char, 2, 4)
BURNISH_HIP_VECTORS(short, short, 4, 8)
BURNISH_HIP_VECTORS(ushort, unsigned short, 4, 8)
BURNISH_HIP_VECTORS(int, int, 8, 16)
BURNISH_HIP_VECTORS(uint, unsigned, 8, 16)
BURNISH_HIP_VECTORS(long, long, 16, 16)
BURNISH_HIP_VECTORS(ulong, unsigned long, 16, 16)
BURNISH_HIP_VECTORS(longlong, long long, 16, 16)
BURNISH_HIP_VECTORS(ulonglong, unsigned long long, 16, 16)
BURNISH_HIP_VECTORS(float, float, 8, 16)
BURNISH_HIP_VECTORS(double, double, 16, 16)
BURNISH_HIP_EACH(int, +)
BURNISH_HIP_EACH(int, -)
BURNISH_HIP_EACH(int, *)
BURNISH_HIP_EACH(uint, +)
BURNISH_HIP_EACH(uint, -)
BURNISH_HIP_EACH(uint, *)
BURNISH_HIP_EACH(float, +)
BURNISH_HIP_EACH(float, -)
BURNISH_HIP_EACH(float, *)
BURNISH_HIP_EACH(float, /)
BURNISH_HIP_EACH(double, +)
BURNISH_HIP_EACH(double, -)
BURNISH_HIP_EACH(double, *)

BURNISH_HIP_FUNCTION float2 operator*(float2 a, float b) { return {a.x * b, a.y * b}; }
BURNISH_HIP_FUNCTION float3 operator*(float3 a, float b) { return {a.x * b, a.y * b, a.z * b}; }
BURNISH_HIP_FUNCTION float4 operator*(float4 a, float b) {
  return {a.x * b, a.y * b, a.z * b, a.w * b};
}

// ---------------------------------------------------------------------------- barriers and fences

BURNISH_HIP_FUNCTION void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
/// Lanes of a wave run in step; only the compiler must not reorder.
BURNISH_HIP_FUNCTION void __syncwarp(unsigned long long = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
BURNISH_HIP_FUNCTION void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
BURNISH_HIP_FUNCTION void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
BURNISH_HIP_FUNCTION void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// ---------------------------------------------------------------------------- lanes

BURNISH_HIP_FUNCTION unsigned __lane_id() {
  const unsigned low = __builtin_amdgcn_mbcnt_lo(~0u, 0u);
  return warpSize == 32 ? low : __builtin_amdgcn_mbcnt_hi(~0u, low);
}
BURNISH_HIP_FUNCTION unsigned long long __ballot(int predicate) {
#if defined(__GFX9__) || defined(__GFX8__)
  return __builtin_amdgcn_ballot_w64(predicate != 0);
#else
  return __builtin_amdgcn_ballot_w32(predicate != 0);
#endif
}
BURNISH_HIP_FUNCTION unsigned long long __activemask() { return __ballot(1); }
BURNISH_HIP_FUNCTION int __any(int predicate) { return __ballot(predicate) != 0; }
BURNISH_HIP_FUNCTION int __all(int predicate) { return __ballot(predicate == 0) == 0; }
BURNISH_HIP_FUNCTION unsigned long long __ballot_sync(unsigned long long mask, int predicate) {
  return __ballot(predicate) & mask;
}
BURNISH_HIP_FUNCTION int __any_sync(unsigned long long mask, int predicate) {
  return (__ballot(predicate) & mask) != 0;
}
BURNISH_HIP_FUNCTION int __all_sync(unsigned long long mask, int predicate) {
  return (__ballot(predicate == 0) & mask) == 0;
}

/// The value of lane `lane`, which all lanes that it reads from must be active for.
template <class T>
BURNISH_HIP_FUNCTION T burnish_hip_from_lane(T value, int lane) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  int words[kWords] = {};
  __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __builtin_amdgcn_ds_bpermute(lane << 2, words[i]);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
template <class T>
BURNISH_HIP_FUNCTION T __shfl(T value, int source, int width = warpSize) {
  const int self = __lane_id();
  return burnish_hip_from_lane(value, (source & (width - 1)) + (self & ~(width - 1)));
}
template <class T>
BURNISH_HIP_FUNCTION T __shfl_up(T value, unsigned delta, int width = warpSize) {
  const int self = __lane_id(), source = self - (int)delta;
  return burnish_hip_from_lane(value, source < (self & ~(width - 1)) ? self : source);
}
template <class T>
BURNISH_HIP_FUNCTION T __shfl_down(T value, unsigned delta, int width = warpSize) {
  const int self = __lane_id();
  const bool inside = (self & (width - 1)) + (int)delta < width;
  return burnish_hip_from_lane(value, inside ? self + (int)delta : self);
}
template <class T>
BURNISH_HIP_FUNCTION T __shfl_xor(T value, int mask, int width = warpSize) {
  const int self = __lane_id(), source = self ^ mask;
  return burnish_hip_from_lane(value, source >= ((self + width) & ~(width - 1)) ? self : source);
}
template <class T>
BURNISH_HIP_FUNCTION T __shfl_sync(unsigned long long, T value, int source, int width = warpSize) {
  return __shfl(value, source, width);
}
template <class T>
BURNISH_HIP_FUNCTION T __shfl_up_sync(unsigned long long, T value, unsigned delta,
                                      int width = warpSize) {
  return __shfl_up(value, delta, width);
}
template <class T>
BURNISH_HIP_FUNCTION T __shfl_down_sync(unsigned long long, T value, unsigned delta,
                                        int width = warpSize) {
  return __shfl_down(value, delta, width);
}
template <class T>
BURNISH_HIP_FUNCTION T __shfl_xor_sync(unsigned long long, T value, int mask,
                                       int width = warpSize) {
  return __shfl_xor(value, mask, width);
}

// ---------------------------------------------------------------------------- atomics

#define BURNISH_HIP_ATOMIC(T, name, operation)                                                    \
  BURNISH_HIP_FUNCTION T name(T* address, T value) {                                              \
    return __hip_atomic_##operation(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  \
  }                                                                                               \
  BURNISH_HIP_FUNCTION T name##_block(T* address, T value) {                                      \
    return __hip_atomic_##operation(address, value, __ATOMIC_RELAXED,                             \
                                    __HIP_MEMORY_SCOPE_WORKGROUP);                                \
  }                                                                                               \
  BURNISH_HIP_FUNCTION T name##_system(T* address, T value) {                                     \
    return __hip_atomic_##operation(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); \
  }
#define BURNISH_HIP_INTEGER_ATOMICS(T)                                                \
  BURNISH_HIP_ATOMIC(T, atomicAdd, fetch_add)                                         \
  BURNISH_HIP_ATOMIC(T, atomicSub, fetch_sub)                                         \
  BURNISH_HIP_ATOMIC(T, atomicMin, fetch_min)                                         \
  BURNISH_HIP_ATOMIC(T, atomicMax, fetch_max)                                         \
  BURNISH_HIP_ATOMIC(T, atomicAnd, fetch_and)                                         \
  BURNISH_HIP_ATOMIC(T, atomicOr, fetch_or)                                           \
  BURNISH_HIP_ATOMIC(T, atomicXor, fetch_xor)                                         \
  BURNISH_HIP_ATOMIC(T, atomicExch, exchange)                                         \
  BURNISH_HIP_FUNCTION T atomicCAS(T* address, T expected, T value) {                 \
    __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED, \
                                         __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
    return expected;                                                                  \
  }
BURNISH_HIP_INTEGER_ATOMICS(int)
BURNISH_HIP_INTEGER_ATOMICS(unsigned)
BURNISH_HIP_INTEGER_ATOMICS(unsigned long)
BURNISH_HIP_INTEGER_ATOMICS(unsigned long long)
BURNISH_HIP_INTEGER_ATOMICS(long long)
BURNISH_HIP_ATOMIC(float, atomicAdd, fetch_add)
BURNISH_HIP_ATOMIC(double, atomicAdd, fetch_add)
BURNISH_HIP_ATOMIC(float, atomicMin, fetch_min)
BURNISH_HIP_ATOMIC(float, atomicMax, fetch_max)
BURNISH_HIP_ATOMIC(float, atomicExch, exchange)
template <class T>
BURNISH_HIP_FUNCTION T unsafeAtomicAdd(T* address, T value) {
  return atomicAdd(address, value);
}

// ---------------------------------------------------------------------------- bits

BURNISH_HIP_FUNCTION int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
BURNISH_HIP_FUNCTION unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
BURNISH_HIP_FUNCTION float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
BURNISH_HIP_FUNCTION float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
BURNISH_HIP_FUNCTION long long __double_as_longlong(double x) {
  return __builtin_bit_cast(long long, x);
}
BURNISH_HIP_FUNCTION double __longlong_as_double(long long x) {
  return __builtin_bit_cast(double, x);
}
BURNISH_HIP_FUNCTION int __popc(unsigned x) { return __builtin_popcount(x); }
BURNISH_HIP_FUNCTION int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
BURNISH_HIP_FUNCTION int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
BURNISH_HIP_FUNCTION int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
BURNISH_HIP_FUNCTION int __ffs(int x) { return __builtin_ffs(x); }
BURNISH_HIP_FUNCTION int __ffsll(long long x) { return __builtin_ffsll(x); }
BURNISH_HIP_FUNCTION unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
BURNISH_HIP_FUNCTION unsigned long long __brevll(unsigned long long x) {
  return __builtin_bitreverse64(x);
}
BURNISH_HIP_FUNCTION int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
BURNISH_HIP_FUNCTION int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
BURNISH_HIP_FUNCTION unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
BURNISH_HIP_FUNCTION unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  return __builtin_amdgcn_perm(b, a, selector & 0x7777u);
}
template <class T>
BURNISH_HIP_FUNCTION T __ldg(const T* address) {
  return *address;
}

BURNISH_HIP_FUNCTION long long clock64() { return (long long)__builtin_readcyclecounter(); }
BURNISH_HIP_FUNCTION long long clock() { return clock64(); }
BURNISH_HIP_FUNCTION long long wall_clock64() { return (long long)__builtin_readsteadycounter(); }

// ---------------------------------------------------------------------------- arithmetic

#define BURNISH_HIP_MIN_MAX(T)                                   \
  BURNISH_HIP_FUNCTION T min(T a, T b) { return b < a ? b : a; } \
  BURNISH_HIP_FUNCTION T max(T a, T b) { return a < b ? b : a; }
BURNISH_HIP_MIN_MAX(int)
BURNISH_HIP_MIN_MAX(unsigned)
BURNISH_HIP_MIN_MAX(long)
BURNISH_HIP_MIN_MAX(unsigned long)
BURNISH_HIP_MIN_MAX(long long)
BURNISH_HIP_MIN_MAX(unsigned long long)

BURNISH_HIP_FUNCTION
float min(float a, float b) { return __builtin_fminf(a, b); }
BURNISH_HIP_FUNCTION float max(float a, float b) { return __builtin_fmaxf(a, b); }
BURNISH_HIP_FUNCTION double min(double a, double b) { return __builtin_fmin(a, b); }
BURNISH_HIP_FUNCTION double max(double a, double b) { return __builtin_fmax(a, b); }
BURNISH_HIP_FUNCTION int abs(int x) { return x < 0 ? -x : x; }

#define BURNISH_HIP_UNARY(name) \
  BURNISH_HIP_FUNCTION float name##f(float x) { return __builtin_##name##f(x); }
#define BURNISH_HIP_UNARY_BOTH(name)                                          \
  BURNISH_HIP_UNARY(name)                                                     \
  BURNISH_HIP_FUNCTION float name(float x) { return __builtin_##name##f(x); } \
  BURNISH_HIP_FUNCTION double name(double x) { return __builtin_##name(x); }
BURNISH_HIP_UNARY_BOTH(sqrt)
BURNISH_HIP_UNARY_BOTH(fabs)
BURNISH_HIP_UNARY_BOTH(floor)
BURNISH_HIP_UNARY_BOTH(ceil)
BURNISH_HIP_UNARY_BOTH(trunc)
BURNISH_HIP_UNARY_BOTH(rint)
BURNISH_HIP_UNARY_BOTH(nearbyint)
BURNISH_HIP_UNARY_BOTH(round)
// LLVM expands these for single precision only.
BURNISH_HIP_UNARY(exp)
BURNISH_HIP_UNARY(exp2)
BURNISH_HIP_UNARY(exp10)
BURNISH_HIP_UNARY(log)
BURNISH_HIP_UNARY(log2)
BURNISH_HIP_UNARY(log10)

BURNISH_HIP_FUNCTION float exp(float x) { return __builtin_expf(x); }
BURNISH_HIP_FUNCTION float exp2(float x) { return __builtin_exp2f(x); }
BURNISH_HIP_FUNCTION float log(float x) { return __builtin_logf(x); }
BURNISH_HIP_FUNCTION float log2(float x) { return __builtin_log2f(x); }

BURNISH_HIP_FUNCTION float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
BURNISH_HIP_FUNCTION float fminf(float a, float b) { return __builtin_fminf(a, b); }
BURNISH_HIP_FUNCTION double fmax(double a, double b) { return __builtin_fmax(a, b); }
BURNISH_HIP_FUNCTION double fmin(double a, double b) { return __builtin_fmin(a, b); }
BURNISH_HIP_FUNCTION float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
BURNISH_HIP_FUNCTION double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
BURNISH_HIP_FUNCTION float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
BURNISH_HIP_FUNCTION float fmodf(float a, float b) { return __builtin_fmodf(a, b); }
BURNISH_HIP_FUNCTION float copysignf(float a, float b) { return __builtin_copysignf(a, b); }
BURNISH_HIP_FUNCTION float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
/// The hardware's, within 1 ulp; it takes no denormals, which are scaled into its range first.
BURNISH_HIP_FUNCTION float rsqrtf(float x) {
  const bool tiny = x < 0x1p-126f;
  const float root = __builtin_amdgcn_rsqf(tiny ? x * 0x1p24f : x);
  return tiny ? root * 0x1p12f : root;
}
BURNISH_HIP_FUNCTION double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
/// From exponentials; below 1/8, where those cancel, the series of tanh to its x^7 term.
BURNISH_HIP_FUNCTION float tanhf(float x) {
  const float a = __builtin_fabsf(x), s = x * x;
  const float far = 1 - 2 / (__builtin_expf(2 * a) + 1);
  const float near = a + a * s * (-1 / 3.f + s * (2 / 15.f + s * (-17 / 315.f)));
  return __builtin_copysignf(a < 0.125f ? near : far, x);
}

BURNISH_HIP_FUNCTION float __exp2f(float x) { return __builtin_amdgcn_exp2f(x); }
BURNISH_HIP_FUNCTION float __expf(float x) {
  return __builtin_amdgcn_exp2f(x * 1.44269504088896340736f);
}
BURNISH_HIP_FUNCTION float __exp10f(float x) {
  return __builtin_amdgcn_exp2f(x * 3.32192809488736234787f);
}
BURNISH_HIP_FUNCTION float __log2f(float x) { return __builtin_amdgcn_logf(x); }
BURNISH_HIP_FUNCTION float __logf(float x) {
  return __builtin_amdgcn_logf(x) * 0.69314718055994530942f;
}
BURNISH_HIP_FUNCTION float __log10f(float x) {
  return __builtin_amdgcn_logf(x) * 0.30102999566398119521f;
}
BURNISH_HIP_FUNCTION float __powf(float x, float y) {
  return __builtin_amdgcn_exp2f(y * __builtin_amdgcn_logf(x));
}
/// The hardware takes turns, not radians; no reduction of large arguments.
BURNISH_HIP_FUNCTION float __sinf(float x) {
  return __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(x * 0.15915494309189533577f));
}
BURNISH_HIP_FUNCTION float __cosf(float x) {
  return __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(x * 0.15915494309189533577f));
}
BURNISH_HIP_FUNCTION float __fdividef(float a, float b) { return a * __builtin_amdgcn_rcpf(b); }
BURNISH_HIP_FUNCTION float __frcp_rn(float x) { return 1 / x; }
BURNISH_HIP_FUNCTION float __frsqrt_rn(float x) { return 1 / __builtin_sqrtf(x); }
BURNISH_HIP_FUNCTION float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
BURNISH_HIP_FUNCTION float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
BURNISH_HIP_FUNCTION float __fadd_rn(float a, float b) { return a + b; }
BURNISH_HIP_FUNCTION float __fsub_rn(float a, float b) { return a - b; }
BURNISH_HIP_FUNCTION float __fmul_rn(float a, float b) { return a * b; }
BURNISH_HIP_FUNCTION float __fdiv_rn(float a, float b) { return a / b; }
BURNISH_HIP_FUNCTION float __saturatef(float x) {
  return __builtin_fminf(__builtin_fmaxf(x, 0.f), 1.f);
}
BURNISH_HIP_FUNCTION int __float2int_rn(float x) { return (int)__builtin_rintf(x); }
BURNISH_HIP_FUNCTION int __float2int_rz(float x) { return (int)x; }
BURNISH_HIP_FUNCTION int __float2int_rd(float x) { return (int)__builtin_floorf(x); }
BURNISH_HIP_FUNCTION int __float2int_ru(float x) { return (int)__builtin_ceilf(x); }
BURNISH_HIP_FUNCTION float __int2float_rn(int x) { return (float)x; }
