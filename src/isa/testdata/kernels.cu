// The kernels whose machine code lies beside this file; README.md says how it was made.
// Loops are not unrolled so that the files stay small.
#if __CUDA_ARCH__ >= 700
#include <mma.h>
#endif

extern "C" {

#ifdef AXPY
__global__ void axpy(int n, float a, const float4* __restrict__ x, float4* y) {
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 u = x[i], v = y[i];
    v.x += a * u.x;
    v.y += a * u.y;
    v.z += a * u.z;
    v.w += a * u.w;
    y[i] = v;
  }
}
#endif

#ifdef TILE
__global__ void tile(const float* a, const float* b, float* c, int n) {
  __shared__ float s[16][16], t[16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < n; k += 16) {
    s[y][x] = a[y * n + k + x];
    t[y][x] = b[(k + y) * n + x];
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < 16; ++i) sum += s[y][i] * t[i][x];
    __syncthreads();
  }
  c[y * n + x] = sum;
}
#endif

#ifdef ARRAY
__global__ void indexed(float* o, const int* at, int k) {
  float a[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) a[i] = o[i * 32 + threadIdx.x];
#pragma unroll 1
  for (int j = 0; j < k; ++j) a[at[j] & 7] += 1.5f;
  o[threadIdx.x] = a[3];
}
#endif

#ifdef SPILLS  // compiled for at most 24 registers
__global__ void both(float* o, const float* in, const int* at, int n) {
  float a[20], c[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) c[i] = in[i * 7 + threadIdx.x];
#pragma unroll
  for (int i = 0; i < 20; ++i) a[i] = in[i * 32 + threadIdx.x];
#pragma unroll 1
  for (int j = 0; j < n; ++j) {
    const float b = in[j] + c[at[j] & 15];
    c[at[j + 1] & 15] = b;
#pragma unroll
    for (int i = 0; i < 20; ++i) a[i] = a[i] * b + a[(i * 7 + 3) % 20];
  }
#pragma unroll
  for (int i = 0; i < 20; ++i) o[i * 32 + threadIdx.x] = a[i];
  o[threadIdx.x] += c[3];
}
#endif

#ifdef REDUCE
__global__ void reduce(const double* in, double* out, unsigned* count, int n) {
  double s = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += 32) s = fma(in[i], in[i], s);
  s += __shfl_xor_sync(~0u, s, 16);
  const float r = rsqrtf(static_cast<float>(s));
  if (__any_sync(~0u, r > 1.f)) atomicAdd(count, 1u);
  out[blockIdx.x] = r;
}
#endif

#ifdef WMMA
__global__ void wmma_f16(const half* a, const half* b, float* c, int n) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.f);
#pragma unroll 1
  for (int k = 0; k < n; k += 16) {
    load_matrix_sync(fa, a + k, 64);
    load_matrix_sync(fb, b + k, 64);
    mma_sync(fc, fa, fb, fc);
  }
  store_matrix_sync(c, fc, 16, mem_row_major);
}
#endif

#ifdef PIPELINE
__global__ void pipeline(const float* in, float* out, int n) {
  __shared__ float4 s[2][128];
  const float4* at = reinterpret_cast<const float4*>(in) + threadIdx.x;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&s[0][threadIdx.x]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(at));
  asm volatile("cp.async.commit_group;");
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + ((i + 1) & 1) * 2048),
                 "l"(at + (i + 1) * 128));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 1;");
    __syncthreads();
    const float4 v = s[i & 1][threadIdx.x ^ 1];
    sum += v.x * v.y + v.z * v.w;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
__global__ void mma(const unsigned* a, float* c, double* d, int n) {
  float x[4] = {0, 0, 0, 0};
  double y[2] = {0, 0};
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
        : "r"(a[0]), "r"(a[32]), "r"(a[64]), "r"(a[96]), "r"(a[128]), "r"(a[160]));
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(y[0]), "+d"(y[1]) : "d"(d[k]), "d"(d[k + 32]));
  }
  for (int i = 0; i < 4; ++i) c[threadIdx.x * 4 + i] = x[i];
  d[threadIdx.x] = y[0] + y[1] + __reduce_add_sync(~0u, threadIdx.x);
}
#endif

#ifdef FP8
__global__ void mma_fp8(const unsigned* a, float* c, int n) {
  float x[4] = {0, 0, 0, 0};
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
        : "r"(a[k]), "r"(a[k + 32]), "r"(a[k + 64]), "r"(a[k + 96]), "r"(a[k + 128]), "r"(a[k + 160]));
#ifdef FP4
    asm volatile("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e2m1.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
        : "r"(a[k]), "r"(a[k + 32]), "r"(a[k + 64]), "r"(a[k + 96]), "r"(a[k + 128]), "r"(a[k + 160]));
#endif
  }
  for (int i = 0; i < 4; ++i) c[threadIdx.x * 4 + i] = x[i];
}
#endif

#ifdef HOPPER
__global__ void tma(const __grid_constant__ char map[128], float* out, const float* in, int n) {
  extern __shared__ __align__(1024) float s[];
  __shared__ __align__(8) unsigned long long bar;
  const unsigned b = static_cast<unsigned>(__cvta_generic_to_shared(&bar));
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(s));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b));
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 8192;" ::"r"(b));
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
          ::"r"(to), "l"(map), "r"(k), "r"(0), "r"(b) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];"
          ::"r"(to + 4096), "l"(in + k * 1024), "r"(b) : "memory");
    }
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra.uni D; bra.uni W; D: }"
        ::"r"(b), "r"(k & 1) : "memory");
    sum = fmaf(s[threadIdx.x], 1.5f, sum);
    __syncthreads();
  }
  s[threadIdx.x] = sum;
  asm volatile("fence.proxy.async;");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
        ::"l"(map), "r"(0), "r"(0), "r"(to) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;");
  }
  out[threadIdx.x] = sum;
}
#endif

#ifdef WGMMA
__global__ void wgmma(unsigned long long a, unsigned long long b, float* c, int n) {
  float x[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, p, 1, 1, 0, 0;}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]), "+f"(x[7]) : "l"(a + k), "l"(b + k));
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 {%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, p, 1, 1;}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]), "+f"(x[7]) : "l"(a + k), "l"(b + k));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
  }
  for (int i = 0; i < 8; ++i) c[i * 128 + threadIdx.x] = x[i];
}
#endif

#ifdef TCGEN05
__global__ void tcgen05(unsigned long long a, unsigned long long b, float* c, int n) {
  __shared__ unsigned base;
  __shared__ __align__(8) unsigned long long bar;
  const unsigned m = static_cast<unsigned>(__cvta_generic_to_shared(&bar));
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&base));
  if (threadIdx.x < 32) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(at));
  __syncthreads();
  const unsigned d = base;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) {
      asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;}" ::"r"(d), "l"(a + k), "l"(b + k), "r"(0x8100490));
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(m));
    }
    asm volatile("{.reg .pred p; W2: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra.uni D2; bra.uni W2; D2: }" ::"r"(m), "r"(k & 1) : "memory");
  }
  unsigned r[2];
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(d));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  c[threadIdx.x] = __uint_as_float(r[0] ^ r[1]);
}
#endif
}
