#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <mma.h>

// Each kernel has one fault on purpose.
__global__ void strided_copy(const float* in, float* out, int n, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  long j = (long)i * stride % n;
  out[j] = in[j] * 2.0f;
}

__global__ void divergent(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i;
  int steps = (threadIdx.x % 32) * 16;
  for (int k = 0; k < steps; ++k) v = v * 1.0001f + 0.5f;
  if (i < n) out[i] = v;
}

__global__ void histogram(const unsigned* in, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i] & 7], 1u);
}

__global__ void accidental_double(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i];
  for (int k = 0; k < 64; ++k) v = v * 1.0001 + 0.5;
  out[i] = v;
}

template <int N>
__global__ void __launch_bounds__(1024) register_spill(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a[N];
#pragma unroll
  for (int k = 0; k < N; ++k) a[k] = in[(i + k * 977) % n];
  for (int r = 0; r < 8; ++r) {
#pragma unroll
    for (int k = 0; k < N; ++k) a[k] = a[k] * a[(k + 1) % N] + a[(k * 7 + 3) % N];
  }
  float s = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) s += a[k];
  out[i] = s;
}

__global__ void tensor_product(const half* a, const half* b, float* c, int k) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.0f);
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  for (int i = 0; i < k; i += 16) {
    load_matrix_sync(fa, a + i, k);
    load_matrix_sync(fb, b + i, k);
    mma_sync(fc, fa, fb, fc);
  }
  store_matrix_sync(c + (long)warp * 256, fc, 16, mem_row_major);
}

int main(int argc, char** argv) {
  int n = 1 << 24;
  float *x, *y;
  cudaMalloc(&x, n * 4L);
  cudaMalloc(&y, n * 4L);
  cudaMemset(x, 0, n * 4L);
  cudaStream_t s;
  cudaStreamCreate(&s);
  bool graph = argc > 1 && argv[1][0] == 'g';
  cudaProfilerStart();
  if (graph) cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  strided_copy<<<n / 256, 256, 0, s>>>(x, y, n, 33);
  divergent<<<4096, 256, 0, s>>>(y, n);
  if (!graph && argc == 1) {
    histogram<<<n / 256, 256, 0, s>>>((unsigned*)x, (unsigned*)y, n);
    accidental_double<<<n / 256, 256, 0, s>>>(x, y, n);
    register_spill<96><<<1024, 1024, 0, s>>>(x, y, n);
    tensor_product<<<1024, 128, 0, s>>>((half*)x, (half*)x, y, 1024);
    printf("application output, with a \" quote\n");
    fflush(stdout);
  }
  if (graph) {
    cudaGraph_t g;
    cudaGraphExec_t e;
    cudaStreamEndCapture(s, &g);
    cudaGraphInstantiate(&e, g, 0);
    cudaGraphLaunch(e, s);
  }
  cudaStreamSynchronize(s);
  cudaProfilerStop();
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
