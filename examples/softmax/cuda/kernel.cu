// Y = softmax of every row of X: X and Y are R x C, row-major.
//
// LANES threads share a row. The textbook version passes over the row three times (largest, sum,
// quotient) and computes every exponential twice; KEEP holds a row of up to LANES * KEEP elements in
// registers instead, VEC moves that many elements at once where rows are a multiple of it, FAST_EXP
// takes the hardware's exponential. With every tunable at its first value a thread computes a row.

#if FAST_EXP
#define EXP(x) __expf(x)
#else
#define EXP(x) expf(x)
#endif

// NVRTC has no INFINITY.
#define LOWEST __int_as_float(0xff800000)

constexpr int kWidth = LANES < 32 ? LANES : 32;

struct Largest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Total {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// Over all lanes of a row; every lane gets the result.
template <class Combine>
__device__ float reduce(float value, Combine combine) {
#pragma unroll
  for (int step = kWidth / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, step, kWidth));
#if LANES > 32
  __shared__ float parts[LANES / 32];
  __syncthreads();  // everybody has read what the last reduction left there
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
#pragma unroll
  for (int i = 1; i < LANES / 32; ++i) value = combine(value, parts[i]);
#endif
  return value;
}

template <int V>
__device__ void load(const float* from, float* to) {
  if constexpr (V == 4) {
    const float4 all = *reinterpret_cast<const float4*>(from);
    to[0] = all.x, to[1] = all.y, to[2] = all.z, to[3] = all.w;
  } else {
    to[0] = *from;
  }
}

template <int V>
__device__ void store(float* to, const float* from) {
  if constexpr (V == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
  } else {
    *to = from[0];
  }
}

template <int V>
__device__ void streamed(const float* x, float* y, int C) {
  const int first = threadIdx.x * V, step = LANES * V;
  float part[V], best = LOWEST, sum = 0;
  for (int c = first; c < C; c += step) {
    load<V>(x + c, part);
#pragma unroll
    for (int k = 0; k < V; ++k) best = fmaxf(best, part[k]);
  }
  best = reduce(best, Largest{});
  for (int c = first; c < C; c += step) {
    load<V>(x + c, part);
#pragma unroll
    for (int k = 0; k < V; ++k) sum += EXP(part[k] - best);
  }
  const float scale = 1 / reduce(sum, Total{});
  for (int c = first; c < C; c += step) {
    load<V>(x + c, part);
#pragma unroll
    for (int k = 0; k < V; ++k) part[k] = EXP(part[k] - best) * scale;
    store<V>(y + c, part);
  }
}

#if KEEP > 0
template <int V>
__device__ void kept(const float* x, float* y, int C) {
  float value[KEEP], best = LOWEST, sum = 0;
#pragma unroll
  for (int i = 0; i < KEEP; i += V) {
    const int c = (i * LANES) + threadIdx.x * V;
    if (c < C) {
      load<V>(x + c, value + i);
    } else {
#pragma unroll
      for (int k = 0; k < V; ++k) value[i + k] = LOWEST;
    }
  }
#pragma unroll
  for (int i = 0; i < KEEP; ++i) best = fmaxf(best, value[i]);
  best = reduce(best, Largest{});
#pragma unroll
  for (int i = 0; i < KEEP; ++i) sum += value[i] = EXP(value[i] - best);
  const float scale = 1 / reduce(sum, Total{});
#pragma unroll
  for (int i = 0; i < KEEP; i += V) {
    const int c = (i * LANES) + threadIdx.x * V;
    if (c >= C) break;
#pragma unroll
    for (int k = 0; k < V; ++k) value[i + k] *= scale;
    store<V>(y + c, value + i);
  }
}
#endif

template <int V>
__device__ void softmax_of(const float* x, float* y, int C) {
#if KEEP > 0
  if (C <= LANES * KEEP) return kept<V>(x, y, C);
#endif
  streamed<V>(x, y, C);
}

extern "C" __global__ void softmax(const float* __restrict__ X, float* __restrict__ Y, int R, int C) {
  // The last block repeats the last row, so that whole warps take part in the reductions.
  const int row = min((int)(blockIdx.x * blockDim.y + threadIdx.y), R - 1);
  const float* x = X + (size_t)row * C;
  float* y = Y + (size_t)row * C;
  if (C % VEC == 0) softmax_of<VEC>(x, y, C);
  else softmax_of<1>(x, y, C);
}
