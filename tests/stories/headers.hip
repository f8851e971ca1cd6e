// Every part of data/hip/include once: what does not lower without a device library does not link.
#ifdef BEFORE
#include <cmath>
#include <cstdint>
#include <cstdlib>
#endif
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#ifndef BEFORE
#include <cmath>
#include <cstdint>
#include <cstdlib>
#endif

extern "C" __global__ void __launch_bounds__(256, 2)
mathematics(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * (int)gridDim.x) return;
  float4 v = x[i] * 2.f + x[i + 1];
  v.x += expf(v.x) + exp2f(v.y) + exp10f(v.z) + logf(v.w) + log2f(v.x) + log10f(v.y) + tanhf(v.z);
  v.y += sqrtf(v.x) + rsqrtf(v.y) + fabsf(v.z) + fmodf(v.x, v.y) + fmaf(v.x, v.y, v.z);
  v.z += floorf(v.x) + ceilf(v.y) + truncf(v.z) + rintf(v.w) + roundf(v.x) + ldexpf(v.x, 3);
  v.w += __expf(v.x) + __logf(v.y) + __powf(v.x, v.y) + __sinf(v.z) + __cosf(v.w);
  v.x += __fdividef(v.x, v.y) + __frcp_rn(v.y) + __saturatef(v.z) + __float2int_rn(v.w);
  v.y += min(v.x, v.y) + max(3, i) + abs(-i) + __popc(i) + __clz(i) + __ffs(i) + (int)__brev(i);
  y[i] = v;
}

extern "C" __global__ void narrow_types(const __half* h, __half2* h2, __hip_bfloat16* b, float* f) {
  extern __shared__ float s[];
  const int t = threadIdx.x;
  s[t] = __half2float(h[t]) + h[t + 1];
  __syncthreads();
  h2[t] = __hfma2(h2[t], __float2half2_rn(s[t ^ 1]), __half2half2(h[t])) + __hmax2(h2[t], h2[t + 1]);
  b[t] = __float2bfloat16(__bfloat162float(b[t]) * s[t]) * b[t + 1] + __hfma(b[t], b[t], b[t]);
  if (h[t] > h[t + 1] || b[t] < b[t + 1]) f[t] = h[t] + 1.f;
}

extern "C" __global__ void lanes(float* f, double* d, unsigned* u, unsigned long long* l) {
  const int t = threadIdx.x;
  f[t] = __shfl(f[t], 0, 16) + __shfl_xor(f[t], 3) + __shfl_up(f[t], 1) + __shfl_down_sync(~0ull, f[t], 1);
  d[t] = __shfl_xor(d[t], 1) + sqrt(d[t]) + min(1.0, d[t]);
  if (__any(t == 3) && !__all(t == 4)) atomicAdd(f, (float)__popcll(__ballot(t & 1)));
  atomicAdd(d, 1.0);
  atomicMax(u, 3u);
  atomicAdd(l, 3ull);
  atomicCAS(u, 1u, __lane_id());
  __threadfence();
  l[t] = clock64();
}
