// Kernels with one known fault each, after exercises and samples that others published (the table in
// cases.toml says which). They are profiled as they are, to see which card the evidence leads to.
#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include <cstdio>

#define CHECK(call)                                                                    \
  do {                                                                                 \
    if (cudaError_t e = (call)) return std::printf("%s\n", cudaGetErrorString(e)), 1; \
  } while (0)

constexpr int kN = 1 << 24;

__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void transpose_naive(const float* in, float* out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[x * n + y + j] = in[(y + j) * n + x];
}

__global__ void transpose_tile_conflicts(const float* in, float* out, int n) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Harris, Optimizing parallel reduction in CUDA (2007), steps 1, 2 and 3.
__global__ void reduce_divergent(const int* in, int* out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    if (t % (2 * d) == 0) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void reduce_bank_conflicts(const int* in, int* out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    int i = 2 * d * t;
    if (i < blockDim.x) s[i] += s[i + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void reduce_many_barriers(const int* in, int* out) {
  __shared__ int s[1024];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

// S. Boehm, SGEMM_CUDA, kernels 1 and 3.
__global__ void matmul_uncoalesced(const float* a, const float* b, float* c, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
  float acc = 0;
  for (int k = 0; k < n; ++k) acc += a[row * n + k] * b[k * n + col];
  c[row * n + col] = acc;
}

__global__ void matmul_tile_one_output(const float* a, const float* b, float* c, int n) {
  __shared__ float as[32][32], bs[32][32];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
  float acc = 0;
  for (int k0 = 0; k0 < n; k0 += 32) {
    as[ty][tx] = a[row * n + k0 + tx];
    bs[ty][tx] = b[(k0 + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < 32; ++k) acc += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  c[row * n + col] = acc;
}

__global__ void matmul_half_without_tensor_cores(const half* a, const half* b, half* c, int n) {
  __shared__ half as[32][32], bs[32][32];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
  half acc = 0;
  for (int k0 = 0; k0 < n; k0 += 32) {
    as[ty][tx] = a[row * n + k0 + tx];
    bs[ty][tx] = b[(k0 + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < 32; ++k) acc = __hfma(as[ty][k], bs[k][tx], acc);
    __syncthreads();
  }
  c[row * n + col] = acc;
}

__global__ void histogram_global_atomics(const unsigned char* in, unsigned* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[in[i] & 15], 1u);
}

struct Particle {
  float x, y, z, vx, vy, vz, mass, charge, spare[8];
};
__global__ void one_field_of_structures(const Particle* p, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = p[i].x * 2.f;
}

__global__ void strided_copy(const float* in, float* out, int n, int stride) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride % n;
  out[i] = in[i];
}

__global__ void byte_copy(const unsigned char* in, unsigned char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

__global__ void double_literals(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 16; ++k) v = v * 1.0001 + 0.5;
  y[i] = v;
}

__global__ void indexed_local_array(const int* key, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float bins[32];
  for (int k = 0; k < 32; ++k) bins[k] = 0;
  for (int k = 0; k < 64; ++k) bins[(key[(i + k) % n] + k) & 31] += 1;
  float sum = 0;
  for (int k = 0; k < 32; ++k) sum += bins[k] * k;
  out[i % n] = sum;
}

__global__ void __launch_bounds__(1024, 2) spills_under_a_tight_bound(const float* in, float* out) {
  float v[64];
  int t = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 64; ++k) v[k] = in[t + k * 32];
  for (int r = 0; r < 16; ++r) {
#pragma unroll
    for (int k = 0; k < 64; ++k) v[k] = v[k] * v[(k + 1) % 64] + v[(k + 7) % 64];
  }
  float s = 0;
#pragma unroll
  for (int k = 0; k < 64; ++k) s += v[k];
  out[t] = s;
}

__global__ void eight_blocks(const float* in, float* out, int n) {
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += in[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

__global__ void barrier_in_a_large_block(const float* in, float* out) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  float v = in[blockIdx.x * 1024 + t];
  for (int r = 0; r < 64; ++r) {
    s[t] = v;
    __syncthreads();
    v = v * 0.5f + s[(t + r) & 1023];
    if (t < 32) for (int k = 0; k < 8; ++k) v = v * 1.01f + 0.1f;
    __syncthreads();
  }
  out[blockIdx.x * 1024 + t] = v;
}

__global__ void many_exponentials(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i] * 1e-3f;
  for (int k = 0; k < 32; ++k) v = __expf(v) * 0.1f + __sinf(v);
  y[i] = v;
}

__global__ void one_load_a_thread_low_occupancy(const float* in, float* out, int n) {
  extern __shared__ float unused[];
  float s = unused[0] * 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += in[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

__global__ void divergent_branches(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  switch (threadIdx.x & 7) {
    case 0: for (int k = 0; k < 64; ++k) v = v * 1.1f + 1; break;
    case 1: for (int k = 0; k < 64; ++k) v = v * v + 2; break;
    case 2: for (int k = 0; k < 64; ++k) v = v / (v + 3); break;
    case 3: for (int k = 0; k < 64; ++k) v = sqrtf(v * v + 4); break;
    case 4: for (int k = 0; k < 64; ++k) v = v * 1.2f - 5; break;
    case 5: for (int k = 0; k < 64; ++k) v = v - v * 0.3f; break;
    default: v = v * 2; break;
  }
  y[i] = v;
}

__global__ void last_blocks_are_long(const float* in, float* out, int blocks) {
  int work = blockIdx.x > blocks - 20 ? 4000 : 100;
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int k = 0; k < work; ++k) v = v * 1.0001f + 0.001f;
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

__constant__ float table[1024];
__global__ void divergent_constant_index(const int* key, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int k = 0; k < 32; ++k) s += table[(key[i % n] + threadIdx.x * 37 + k) & 1023];
  out[i % n] = s;
}

__global__ void one_partial_wave(const float* in, float* out) {
  extern __shared__ float big[];
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  big[threadIdx.x] = v;
  for (int k = 0; k < 20000; ++k) v = v * 1.0001f + 0.001f;
  out[blockIdx.x * blockDim.x + threadIdx.x] = v + big[threadIdx.x];
}

__global__ void fence_in_a_loop(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 64; ++k) {
    out[i] = k;
    __threadfence();
  }
}

__global__ void products_and_sums_apart(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = a[i], w = b[i];
  for (int k = 0; k < 256; ++k) v = __fadd_rn(__fmul_rn(v, w), 0.25f);
  c[i] = v;
}

__global__ void dependent_chain(const float* a, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = a[i % n];
#pragma unroll 1
  for (int k = 0; k < 4096; ++k) v = fmaf(v, 1.0001f, 0.25f);
  c[i % n] = v;
}

__global__ void empty_work(float* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = 1;
}

int main() {
  float *a, *b, *c;
  CHECK(cudaMalloc(&a, 4ull * kN * 4));
  CHECK(cudaMalloc(&b, 4ull * kN * 4));
  CHECK(cudaMalloc(&c, 4ull * kN * 4));
  CHECK(cudaMemset(a, 1, 4ull * kN * 4));
  CHECK(cudaMemset(b, 1, 4ull * kN * 4));
  CHECK(cudaMemset(c, 0, 4ull * kN * 4));
  int* ai = reinterpret_cast<int*>(a);
  int* ci = reinterpret_cast<int*>(c);
  half *ah = reinterpret_cast<half*>(a), *bh = reinterpret_cast<half*>(b), *ch = reinterpret_cast<half*>(c);
  auto* bytes = reinterpret_cast<unsigned char*>(a);
  auto* out_bytes = reinterpret_cast<unsigned char*>(c);

  saxpy<<<kN * 4 / 256, 256>>>(kN * 4, 2.f, a, b);
  transpose_naive<<<dim3(128, 128), dim3(32, 8)>>>(a, c, 4096);
  transpose_tile_conflicts<<<dim3(128, 128), dim3(32, 8)>>>(a, c, 4096);
  reduce_divergent<<<kN / 256, 256>>>(ai, ci);
  reduce_bank_conflicts<<<kN / 256, 256>>>(ai, ci);
  reduce_many_barriers<<<kN / 1024, 1024>>>(ai, ci);
  matmul_uncoalesced<<<dim3(32, 32), dim3(32, 32)>>>(a, b, c, 1024);
  matmul_tile_one_output<<<dim3(64, 64), dim3(32, 32)>>>(a, b, c, 2048);
  matmul_half_without_tensor_cores<<<dim3(64, 64), dim3(32, 32)>>>(ah, bh, ch, 2048);
  histogram_global_atomics<<<1056, 256>>>(bytes, reinterpret_cast<unsigned*>(c), kN);
  one_field_of_structures<<<(1 << 20) / 256, 256>>>(reinterpret_cast<Particle*>(a), c, 1 << 20);
  strided_copy<<<kN / 256, 256>>>(a, c, kN, 33);
  byte_copy<<<kN * 4 / 256, 256>>>(bytes, out_bytes, kN * 4);
  double_literals<<<kN / 4 / 256, 256>>>(a, c, kN / 4);
  indexed_local_array<<<kN / 16 / 256, 256>>>(ai, c, kN / 16);
  spills_under_a_tight_bound<<<264, 1024>>>(a, c);
  eight_blocks<<<8, 256>>>(a, c, kN);
  barrier_in_a_large_block<<<132, 1024>>>(a, c);
  many_exponentials<<<kN / 256, 256>>>(a, c, kN);
  CHECK(cudaFuncSetAttribute(one_load_a_thread_low_occupancy,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  one_load_a_thread_low_occupancy<<<132, 256, 200 << 10>>>(a, c, kN);
  divergent_branches<<<kN / 4 / 256, 256>>>(a, c, kN / 4);
  last_blocks_are_long<<<4000, 256>>>(a, c, 4000);
  divergent_constant_index<<<kN / 16 / 256, 256>>>(ai, c, kN / 16);
  CHECK(cudaFuncSetAttribute(one_partial_wave, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  one_partial_wave<<<140, 256, 200 << 10>>>(a, c);
  fence_in_a_loop<<<1056, 256>>>(c, kN);
  products_and_sums_apart<<<kN / 256, 256>>>(a, b, c, kN);
  dependent_chain<<<132, 128>>>(a, c, kN);
  empty_work<<<132, 128>>>(c);
  CHECK(cudaDeviceSynchronize());
  std::printf("done\n");
}
