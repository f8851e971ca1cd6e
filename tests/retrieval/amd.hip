// HIP kernels with one known fault each, compiled for AMD targets without ROCm's headers.
#define KERNEL(n) extern "C" __attribute__((global, amdgpu_flat_work_group_size(n, n))) void
#define SHARED __attribute__((shared))
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef float f2 __attribute__((ext_vector_type(2)));
typedef __bf16 b8 __attribute__((ext_vector_type(8)));
typedef short s4 __attribute__((ext_vector_type(4)));

__attribute__((device)) static float shuffle_xor(float x, int d) {
  return __builtin_bit_cast(
      float, __builtin_amdgcn_ds_bpermute((LANE ^ d) * 4, __builtin_bit_cast(int, x)));
}

// A wave maximum with value and index by shuffles, as in softmax and gating kernels.
KERNEL(64) argmax_by_shuffles(const float* in, int* out) {
  float v = in[GROUP * 64 + LANE];
  int at = LANE;
#pragma unroll
  for (int d = 32; d; d >>= 1) {
    float other = shuffle_xor(v, d);
    int where = __builtin_bit_cast(int, shuffle_xor(__builtin_bit_cast(float, at), d));
    if (other > v) v = other, at = where;
  }
  if (LANE == 0) out[GROUP] = at;
}

KERNEL(256) copy_of_single_floats(const float* in, float* out, int n) {
  for (int i = LANE; i < n; i += 256) out[i] = in[i] * 2.f;
}

KERNEL(256) float_atomics_by_compare_and_swap(const float* in, int* out, int n) {
  for (int i = LANE; i < n; i += 256) {
    int old = *out, seen;
    do {
      seen = old;
      float sum = __builtin_bit_cast(float, seen) + in[i];
      old = __sync_val_compare_and_swap(out, seen, __builtin_bit_cast(int, sum));
    } while (old != seen);
  }
}

KERNEL(1024) __attribute__((amdgpu_num_vgpr(32))) spills(const float* in, float* out, int n) {
  float a[64];
#pragma unroll
  for (int i = 0; i < 64; i++) a[i] = in[i * 1024 + LANE];
  for (int k = 0; k < n; k++) {
#pragma unroll
    for (int i = 0; i < 64; i++) a[i] = a[i] * a[(i + 7) & 63] + in[k];
  }
#pragma unroll
  for (int i = 0; i < 64; i++) out[i * 1024 + LANE] = a[i];
}

KERNEL(256) tile_read_word_by_word(const f4* a, const f4* b, float* out, int n) {
  SHARED static float as[4096], bs[4096];
  float acc[4][4] = {};
  int tx = LANE % 16, ty = LANE / 16;
  *(f4*)&as[LANE * 4] = a[LANE];
  *(f4*)&bs[LANE * 4] = b[LANE];
  __builtin_amdgcn_s_barrier();
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) acc[i][j] += as[(ty + 16 * i) * 17 + k] * bs[(tx + 16 * j) * 17 + k];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) out[(ty * 4 + i) * 64 + tx * 4 + j] = acc[i][j];
}

KERNEL(64) packed_math_between_matrix_instructions(const s4* a, const s4* b, f2* io, f4* out, int n) {
  f4 acc = {0, 0, 0, 0};
  f2 x = io[LANE], y = io[LANE + 64];
  s4 left = a[LANE], right = b[LANE];
  for (int k = 0; k < n; ++k) {
    acc = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(left, right, acc, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < 8; ++i) x = __builtin_elementwise_fma(x, y, y), y = __builtin_elementwise_fma(y, x, x);
  }
  io[LANE] = x + y;
  out[LANE] = acc;
}

KERNEL(64) indexed_private_array(const int* p, float* q, int n) {
  float a[64];
  for (int i = 0; i < 64; i++) a[i] = i * LANE;
  for (int i = 0; i < n; i++) a[p[i] & 63] += 1;
  q[LANE] = a[p[LANE] & 63];
}
