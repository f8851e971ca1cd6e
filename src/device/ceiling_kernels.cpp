#include "device/ceiling_kernels.h"

#include <fmt/format.h>

#include "base/text.h"

namespace burnish::device {
namespace {

// On a CPU one work-item a group, each copying a stretch of its own with vectors of a cache line,
// and twelve vector accumulators: with a latency of four cycles and two operations a cycle eight
// are needed. The factor pulls every accumulator to 1, so that no operand is ever denormal or
// infinite.
constexpr char kOpenClCpu[] = R"(
__kernel void copy(__global const float16* in, __global float16* out, ulong n) {
  ulong part = (n + get_num_groups(0) - 1) / get_num_groups(0);
  ulong begin = part * get_group_id(0), end = min(begin + part, n);
  for (ulong i = begin; i < end; ++i) out[i] = in[i];
}
#if __has_builtin(__builtin_nontemporal_store)
__kernel void copy_streaming(__global const float16* in, __global float16* out, ulong n) {
  ulong part = (n + get_num_groups(0) - 1) / get_num_groups(0);
  ulong begin = part * get_group_id(0), end = min(begin + part, n);
  for (ulong i = begin; i < end; ++i) __builtin_nontemporal_store(in[i], &out[i]);
}
#endif
#define FMA(NAME, T, FACTOR, TERM)                                                      \
  __kernel void NAME(__global T* out, int n) {                                          \
    T x = (T)(get_global_id(0)), m = (T)(FACTOR), c = (T)(TERM);                        \
    T a0 = x, a1 = x + m, a2 = x + c, a3 = x - m, a4 = x - c, a5 = x + m + m,           \
      a6 = x + c + c, a7 = x - m - m, a8 = x - c - c, a9 = x + m + c, a10 = x - m + c,  \
      a11 = x + m - c;                                                                  \
    for (int i = 0; i < n; ++i) {                                                       \
      a0 = a0 * m + c; a1 = a1 * m + c; a2 = a2 * m + c; a3 = a3 * m + c;               \
      a4 = a4 * m + c; a5 = a5 * m + c; a6 = a6 * m + c; a7 = a7 * m + c;               \
      a8 = a8 * m + c; a9 = a9 * m + c; a10 = a10 * m + c; a11 = a11 * m + c;           \
    }                                                                                   \
    out[get_global_id(0)] = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11; \
  }
FMA(fma_f32, float16, 0.999f, 0.001f)
FMA(fma_i32, int16, 1103515245, 12345)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
FMA(fma_f64, double8, 0.999, 0.001)
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
FMA(fma_f16, half16, 0.999f, 0.001f)
#endif
)";

constexpr char kOpenClGpu[] = R"(
__kernel void copy(__global const uint4* in, __global uint4* out, ulong n) {
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = in[i];
}
#define FMA(NAME, T, FACTOR, TERM)                                            \
  __kernel void NAME(__global T* out, int n) {                                \
    T x = (T)(get_global_id(0)), m = (T)(FACTOR), c = (T)(TERM);              \
    T a0 = x, a1 = x + m, a2 = x + c, a3 = x - m, a4 = x - c, a5 = x + m + m, \
      a6 = x + c + c, a7 = x - m - m;                                         \
    for (int i = 0; i < n; ++i) {                                             \
      _Pragma("unroll") for (int j = 0; j < 8; ++j) {                         \
        a0 = a0 * m + c; a1 = a1 * m + c; a2 = a2 * m + c; a3 = a3 * m + c;   \
        a4 = a4 * m + c; a5 = a5 * m + c; a6 = a6 * m + c; a7 = a7 * m + c;   \
      }                                                                       \
    }                                                                         \
    out[get_global_id(0)] = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;            \
  }
FMA(fma_f32, float, 0.999f, 0.001f)
FMA(fma_i32, int, 1103515245, 12345)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
FMA(fma_f64, double, 0.999, 0.001)
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
FMA(fma_f16, half2, 0.999f, 0.001f)
#endif
)";

// What CUDA and HIP write the same way.
constexpr char kGpu[] = R"(
extern "C" __global__ void copy(const uint4* in, uint4* out, unsigned long long n) {
  unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += stride)
    out[i] = in[i];
}
#define FMA(NAME, T, FACTOR, TERM)                                              \
  extern "C" __global__ void NAME(T* out, int n) {                              \
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;                        \
    T m = (T)(FACTOR), c = (T)(TERM), a[8];                                     \
    for (int j = 0; j < 8; ++j) a[j] = (T)(at + j);                             \
    for (int i = 0; i < n; ++i) {                                               \
      _Pragma("unroll") for (int k = 0; k < 8; ++k) {                           \
        _Pragma("unroll") for (int j = 0; j < 8; ++j) a[j] = a[j] * m + c;      \
      }                                                                         \
    }                                                                           \
    T sum = 0;                                                                  \
    for (int j = 0; j < 8; ++j) sum += a[j];                                    \
    out[at] = sum;                                                              \
  }
FMA(fma_f32, float, 0.999f, 0.001f)
FMA(fma_f64, double, 0.999, 0.001)
FMA(fma_i32, int, 1103515245, 12345)
)";

// Packed and matrix paths through PTX, which needs no headers. Shapes and register counts: PTX
// ISA 8.5, "Matrix multiply-accumulate operation using mma instruction".
constexpr char kCuda[] = R"(
extern "C" __global__ void copy_streaming(const uint4* in, uint4* out, unsigned long long n) {
  unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += 4 * stride) {
    uint4 kept[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (i + j * stride < n) kept[j] = __ldcs(in + i + j * stride);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (i + j * stride < n) __stcs(out + i + j * stride, kept[j]);
  }
}
extern "C" __global__ void fma_f16(unsigned* out, int n) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, a[8];
  unsigned m = 0x38003800u + (at & 1), c = 0x38003800u;  // halves of 0.5
  for (int j = 0; j < 8; ++j) a[j] = 0x3c003c00u + j;
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int k = 0; k < 8; ++k)
#pragma unroll
      for (int j = 0; j < 8; ++j)
        asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(a[j]) : "r"(m), "r"(c));
  }
  unsigned sum = 0;
  for (int j = 0; j < 8; ++j) sum ^= a[j];
  out[at] = sum;
}
#define MMA(NAME, SHAPE, A, WORD)                                                            \
  extern "C" __global__ void NAME(float* out, int n) {                                       \
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;                                     \
    unsigned a0 = WORD + (at & 3), a1 = a0, a2 = a0 ^ 1, a3 = a0, b0 = WORD, b1 = b0;        \
    float d[8][4];                                                                           \
    for (int j = 0; j < 8; ++j)                                                              \
      for (int k = 0; k < 4; ++k) d[j][k] = (float)(j + k);                                  \
    for (int i = 0; i < n; ++i) {                                                            \
      _Pragma("unroll") for (int j = 0; j < 8; ++j)                                          \
        asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." A "." A ".f32 "              \
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                 \
                     : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])            \
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));                \
    }                                                                                        \
    float sum = 0;                                                                           \
    for (int j = 0; j < 8; ++j)                                                              \
      for (int k = 0; k < 4; ++k) sum += d[j][k];                                            \
    out[at] = sum;                                                                           \
  }
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
MMA(mma_f16, "m16n8k16", "f16", 0x14001400u)
MMA(mma_bf16, "m16n8k16", "bf16", 0x3a803a80u)
MMA(mma_tf32, "m16n8k8", "tf32", 0x3a800000u)
#endif
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
extern "C" __global__ void mma_i8(int* out, int n) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, a = 0x01010101u + (at & 3);
  int d[8][4];
  for (int j = 0; j < 8; ++j)
    for (int k = 0; k < 4; ++k) d[j][k] = j + k;
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j)
      asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                   "{%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                   : "+r"(d[j][0]), "+r"(d[j][1]), "+r"(d[j][2]), "+r"(d[j][3]) : "r"(a));
  }
  int sum = 0;
  for (int j = 0; j < 8; ++j)
    for (int k = 0; k < 4; ++k) sum += d[j][k];
  out[at] = sum;
}
// The larger shape is Hopper's; it is the one that reaches the peak there.
extern "C" __global__ void mma_f64(double* out, int n) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  double a = 1e-3 * (at & 3), d[8][4];
  for (int j = 0; j < 8; ++j)
    for (int k = 0; k < 4; ++k) d[j][k] = j + k;
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#if __CUDA_ARCH__ >= 900
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
                   "{%4,%4,%4,%4,%4,%4,%4,%4}, {%4,%4,%4,%4}, {%0,%1,%2,%3};"
                   : "+d"(d[j][0]), "+d"(d[j][1]), "+d"(d[j][2]), "+d"(d[j][3]) : "d"(a));
#else
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%2}, {%0,%1};"
                   : "+d"(d[j][0]), "+d"(d[j][1]) : "d"(a));
#endif
    }
  }
  double sum = 0;
  for (int j = 0; j < 8; ++j)
    for (int k = 0; k < 4; ++k) sum += d[j][k];
  out[at] = sum;
}
#endif
#if __CUDA_ARCH__ >= 890 || !defined(__CUDA_ARCH__)
MMA(mma_fp8, "m16n8k32", "e4m3", 0x08080808u)
#endif
)";

// Matrix instructions through clang's builtins, with four accumulators in flight: LLVM, "Syntax of
// AMDGPU instructions", MFMA and WMMA; shapes and rates: AMD Matrix Instruction Calculator.
constexpr char kHip[] = R"(
typedef unsigned Words __attribute__((ext_vector_type(4)));
typedef float Float2 __attribute__((ext_vector_type(2)));
typedef _Float16 Half2 __attribute__((ext_vector_type(2)));
extern "C" __global__ void copy_streaming(const Words* in, Words* out, unsigned long long n) {
  unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += 4 * stride) {
    Words kept[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (i + j * stride < n) kept[j] = __builtin_nontemporal_load(in + i + j * stride);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (i + j * stride < n) __builtin_nontemporal_store(kept[j], out + i + j * stride);
  }
}
FMA(fma_f16, Half2, 0.5f, 0.5f)
#define MATRIX(NAME, T, COUNT, A, CALL)                                       \
  extern "C" __global__ void NAME(T* out, int n) {                            \
    typedef T D __attribute__((ext_vector_type(COUNT)));                      \
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;                      \
    A a = (A)(at & 1);                                                        \
    D d[4];                                                                   \
    for (int j = 0; j < 4; ++j) d[j] = (D)(T)(j);                             \
    for (int i = 0; i < n; ++i) {                                             \
      _Pragma("unroll") for (int j = 0; j < 4; ++j) d[j] = CALL;              \
    }                                                                         \
    D sum = d[0] + d[1] + d[2] + d[3];                                        \
    out[at] = sum[0] + sum[1];                                                \
  }
#define MFMA(NAME) __builtin_amdgcn_mfma_##NAME
#define WMMA(NAME) __builtin_amdgcn_wmma_##NAME
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half8 __attribute__((ext_vector_type(8)));
typedef _Float16 Half16 __attribute__((ext_vector_type(16)));
typedef short Short4 __attribute__((ext_vector_type(4)));
typedef short Short16 __attribute__((ext_vector_type(16)));
typedef int Int2 __attribute__((ext_vector_type(2)));
typedef int Int4 __attribute__((ext_vector_type(4)));
typedef int Int8 __attribute__((ext_vector_type(8)));
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
FMA(fma_f32_packed, Float2, 0.999f, 0.001f)
MATRIX(matrix_f64, double, 4, double, MFMA(f64_16x16x4f64)(a, a, d[j], 0, 0, 0))
MATRIX(matrix_f32, float, 16, float, MFMA(f32_32x32x2f32)(a, a, d[j], 0, 0, 0))
#endif
#if defined(__gfx90a__) || defined(__gfx942__)
MATRIX(matrix_f16, float, 16, Half4, MFMA(f32_32x32x8f16)(a, a, d[j], 0, 0, 0))
MATRIX(matrix_bf16, float, 16, Short4, MFMA(f32_32x32x8bf16_1k)(a, a, d[j], 0, 0, 0))
#endif
#if defined(__gfx90a__)
MATRIX(matrix_i8, int, 16, int, MFMA(i32_32x32x8i8)(a, a, d[j], 0, 0, 0))
#elif defined(__gfx942__)
MATRIX(matrix_tf32, float, 16, Float2, MFMA(f32_32x32x4_xf32)(a, a, d[j], 0, 0, 0))
MATRIX(matrix_i8, int, 16, long, MFMA(i32_32x32x16_i8)(a, a, d[j], 0, 0, 0))
MATRIX(matrix_fp8, float, 16, long, MFMA(f32_32x32x16_fp8_fp8)(a, a, d[j], 0, 0, 0))
#elif defined(__gfx950__)
typedef __bf16 Brain8 __attribute__((ext_vector_type(8)));
MATRIX(matrix_f16, float, 16, Half8, MFMA(f32_32x32x16_f16)(a, a, d[j], 0, 0, 0))
MATRIX(matrix_bf16, float, 16, Brain8, MFMA(f32_32x32x16_bf16)(a, a, d[j], 0, 0, 0))
MATRIX(matrix_i8, int, 16, Int4, MFMA(i32_32x32x32_i8)(a, a, d[j], 0, 0, 0))
MATRIX(matrix_fp8, float, 16, Int8,  // with scales of 2^0
       MFMA(scale_f32_32x32x64_f8f6f4)(a, a, d[j], 0, 0, 0, 127, 0, 127))
#elif defined(__GFX11__)
MATRIX(matrix_f16, float, 8, Half16, WMMA(f32_16x16x16_f16_w32)(a, a, d[j]))
MATRIX(matrix_bf16, float, 8, Short16, WMMA(f32_16x16x16_bf16_w32)(a, a, d[j]))
MATRIX(matrix_i8, int, 8, Int4, WMMA(i32_16x16x16_iu8_w32)(true, a, true, a, d[j], false))
#elif defined(__GFX12__)
typedef __bf16 Brain8 __attribute__((ext_vector_type(8)));
MATRIX(matrix_f16, float, 8, Half8, WMMA(f32_16x16x16_f16_w32_gfx12)(a, a, d[j]))
MATRIX(matrix_bf16, float, 8, Brain8, WMMA(f32_16x16x16_bf16_w32_gfx12)(a, a, d[j]))
MATRIX(matrix_i8, int, 8, Int2, WMMA(i32_16x16x16_iu8_w32_gfx12)(true, a, true, a, d[j], false))
MATRIX(matrix_fp8, float, 8, Int2, WMMA(f32_16x16x16_fp8_fp8_w32_gfx12)(a, a, d[j]))
#endif
)";

/// The matrix instruction of a type that kHip has for an architecture; a kernel that is not there
/// is not measured.
struct MatrixPath {
  const char* type;
  const char* instruction;
  double m, n, k;
  std::uint64_t bytes = 4;
};

std::vector<MatrixPath> matrix_paths(std::string_view arch) {
  if (arch.starts_with("gfx11") || arch.starts_with("gfx12")) {
    std::vector<MatrixPath> paths = {{"f16", "wmma 16x16x16", 16, 16, 16},
                                     {"bf16", "wmma 16x16x16", 16, 16, 16},
                                     {"i8", "wmma 16x16x16", 16, 16, 16}};
    if (arch.starts_with("gfx12")) paths.push_back({"fp8", "wmma 16x16x16", 16, 16, 16});
    return paths;
  }
  if (arch != "gfx90a" && arch != "gfx942" && arch != "gfx950") return {};
  std::vector<MatrixPath> paths = {{"f64", "mfma 16x16x4", 16, 16, 4, 8},
                                   {"f32", "mfma 32x32x2", 32, 32, 2}};
  const auto add = [&](const char* type, const char* instruction, double k) {
    paths.push_back({type, instruction, 32, 32, k});
  };
  if (arch == "gfx950") {
    add("f16", "mfma 32x32x16", 16);
    add("bf16", "mfma 32x32x16", 16);
    add("i8", "mfma 32x32x32", 32);
    add("fp8", "mfma_scale 32x32x64", 64);
    return paths;
  }
  add("f16", "mfma 32x32x8", 8);
  add("bf16", "mfma 32x32x8", 8);
  if (arch == "gfx90a") {
    add("i8", "mfma 32x32x8", 8);
    return paths;
  }
  add("tf32", "mfma 32x32x4", 4);
  add("i8", "mfma 32x32x16", 16);
  add("fp8", "mfma 32x32x16", 16);
  return paths;
}

/// Hopper's matrix units reach their peak only through wgmma. Two warpgroups a block take turns;
/// each multiplies the same two tiles in shared memory, in the layout without swizzle: core
/// matrices of 8 rows by 16 bytes, neighbours along K 128 bytes apart and along M or N 256 (PTX
/// ISA 8.5, "Asynchronous warpgroup level matrix instructions", matrix descriptor).
std::string wgmma_kernel(std::string_view name, int k, std::string_view type,
                         std::string_view accumulator, std::string_view word) {
  constexpr int kAccumulators = 128;
  const bool is_integer = accumulator == "s32";
  const bool has_scales = !is_integer;
  const bool has_transposes = type == "f16" || type == "bf16";
  std::string registers, constraints;
  for (int i = 0; i < kAccumulators; ++i) {
    registers += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    constraints += fmt::format("{}\"+{}\"(d[{}])", i == 0 ? "" : ", ", is_integer ? "r" : "f", i);
  }
  const std::string instruction = fmt::format(
      "wgmma.mma_async.sync.aligned.m64n256k{}.{}.{}.{} {{{}}}, %128, %129, p{}{};", k, accumulator,
      type, type, registers, has_scales ? ", 1, 1" : "", has_transposes ? ", 0, 0" : "");
  const std::string_view number = is_integer ? "int" : "float";
  std::string text = fmt::format(R"(
extern "C" __global__ void __launch_bounds__(256) {}({}* out, int n) {{
  __shared__ alignas(1024) unsigned tiles[(64 + 256) * 32 / 4];
  for (int i = threadIdx.x; i < (64 + 256) * 32 / 4; i += blockDim.x) tiles[i] = {};
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  unsigned long long at = (unsigned long long)__cvta_generic_to_shared(tiles);
  unsigned long long steps = (128ull >> 4) << 16 | (256ull >> 4) << 32;
  unsigned long long a = steps | at >> 4, b = steps | (at + 64 * 32) >> 4;
  {} d[{}], sum = 0;
  for (int i = 0; i < {}; ++i) d[i] = threadIdx.x + i;
  for (int i = 0; i < n; ++i) {{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int j = 0; j < 4; ++j)
      asm volatile("{{ .reg .pred p; setp.eq.u32 p, 0, 0; {} }}" : {} : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }}
  for (int i = 0; i < {}; ++i) sum += d[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}}
)",
                                 name, number, word, number, kAccumulators, kAccumulators,
                                 instruction, constraints, kAccumulators);
  return text;
}

}  // namespace

CeilingKernels ceiling_kernels(const DeviceInfo& info) {
  CeilingKernels kernels;
  const bool is_cuda = info.backend == "cuda";
  const bool is_hip = info.backend == "hip";
  const bool is_cpu = info.vendor == "cpu";
  kernels.source.language = is_cuda || is_hip ? info.backend : "opencl";
  if (is_cuda) {
    kernels.source.file = "ceilings.cu";
    kernels.source.text = std::string(kGpu) + kCuda;
  } else if (is_hip) {
    kernels.source.file = "ceilings.hip";
    kernels.source.text = std::string("#include <hip/hip_runtime.h>\n") + kGpu + kHip;
  } else {
    kernels.source.file = "ceilings.cl";
    kernels.source.text = is_cpu ? kOpenClCpu : kOpenClGpu;
    kernels.source.options = {"-cl-mad-enable"};
  }
  kernels.copies = {"copy", "copy_streaming"};
  if (is_cpu) {
    kernels.copy_bytes = 64;
    kernels.math = {{"fma_f32", "fma f32", 2.0 * 12 * 16, 64, "vectors of 16, 12 accumulators"},
                    {"fma_f64", "fma f64", 2.0 * 12 * 8, 64, "vectors of 8, 12 accumulators"},
                    {"fma_f16", "fma f16", 2.0 * 12 * 16, 32, "vectors of 16, 12 accumulators"},
                    {"fma_i32", "fma i32", 2.0 * 12 * 16, 64, "vectors of 16, 12 accumulators"}};
    return kernels;
  }
  kernels.copy_bytes = 16;
  kernels.block = 256;
  kernels.blocks_per_unit = 8;
  kernels.math = {{"fma_f32", "fma f32", 2.0 * 64, 4, "8 accumulators a thread"},
                  {"fma_f64", "fma f64", 2.0 * 64, 8, "8 accumulators a thread"},
                  {"fma_f16", "fma f16", 2.0 * 2 * 64, 4, "8 packed accumulators a thread"},
                  {"fma_i32", "fma i32", 2.0 * 64, 4, "8 accumulators a thread"}};
  if (is_hip) {
    kernels.math.push_back(
        {"fma_f32_packed", "fma f32", 2.0 * 2 * 64, 8, "8 packed accumulators a thread"});
    const double wave = info.arch.starts_with("gfx9") ? 64 : 32;
    for (const MatrixPath& path : matrix_paths(info.arch)) {
      kernels.math.push_back(
          {fmt::format("matrix_{}", path.type), fmt::format("tensor {}", path.type),
           4 * 2 * path.m * path.n * path.k / wave, path.bytes, path.instruction});
    }
    return kernels;
  }
  // Datacenter Blackwell computes matrices through tcgen05, which is not measured: a roof that is
  // too low would be worse than none.
  const bool has_mma = is_cuda && info.arch != "sm_100" && info.arch != "sm_103" &&
                       info.arch != "sm_110" && info.arch != "sm_75" && info.arch != "sm_70";
  if (has_mma) {
    // A warp shares one instruction of 2·m·n·k operations; each thread has 8 in flight.
    const auto mma = [](double m, double k) { return 8 * 2 * m * 8 * k / 32; };
    const bool is_large_f64 = info.arch == "sm_90" || info.arch.size() > 5;
    kernels.math.push_back({"mma_f16", "tensor f16", mma(16, 16), 4, "mma.sync m16n8k16"});
    kernels.math.push_back({"mma_bf16", "tensor bf16", mma(16, 16), 4, "mma.sync m16n8k16"});
    kernels.math.push_back({"mma_tf32", "tensor tf32", mma(16, 8), 4, "mma.sync m16n8k8"});
    kernels.math.push_back({"mma_fp8", "tensor fp8", mma(16, 32), 4, "mma.sync m16n8k32"});
    kernels.math.push_back({"mma_i8", "tensor i8", mma(16, 32), 4, "mma.sync m16n8k32"});
    kernels.math.push_back({"mma_f64", "tensor f64", is_large_f64 ? mma(16, 16) : mma(8, 4), 8,
                            is_large_f64 ? "mma.sync m16n8k16" : "mma.sync m8n8k4"});
  }
  if (is_cuda && info.arch == "sm_90") {
    struct Path {
      const char* name;
      int k;
      const char* type;
      const char* accumulator;
      const char* word;  ///< small values, so that sums stay finite
    };
    for (const Path& path : {Path{"f16", 16, "f16", "f32", "0x14001400u"},
                             Path{"bf16", 16, "bf16", "f32", "0x3a803a80u"},
                             Path{"tf32", 8, "tf32", "f32", "0x3a800000u"},
                             Path{"fp8", 32, "e4m3", "f32", "0x08080808u"},
                             Path{"i8", 32, "s8", "s32", "0x01010101u"}}) {
      const std::string kernel = fmt::format("wgmma_{}", path.name);
      kernels.source.text += wgmma_kernel(kernel, path.k, path.type, path.accumulator, path.word);
      kernels.math.push_back({kernel, fmt::format("tensor {}", path.name),
                              4 * 2.0 * 64 * 256 * path.k / 128, 4,
                              fmt::format("wgmma m64n256k{}", path.k)});
    }
  }
  return kernels;
}

}  // namespace burnish::device
