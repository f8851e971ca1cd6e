// The K largest of every row of G (T x E, bf16), largest first: their sigmoids in P, their places in
// I. Ties go to the lower index; NaN is never chosen; what a row lacks has weight 0 and index -1.
//
// A work-item serves a row. Each round takes the largest of what comes after the last winner, so that
// nothing has to be marked as taken. PACKED compares one word, whose upper half orders like the value
// and whose lower half prefers lower indices.

static inline float widen(ushort x) { return as_float((uint)x << 16); }

static inline uint packed(ushort bits, int e) {
  if ((bits & 0x7fff) > 0x7f80) return 0;
  const uint value = bits == 0x8000 ? 0u : (uint)bits;  // -0 is 0
  return (value & 0x8000 ? value ^ 0xffff : value ^ 0x8000) << 16 | (uint)(0xffff - e);
}

__kernel void topk_sigmoid(__global const ushort* restrict G, __global float* restrict P,
                           __global int* restrict I, int T, int E, int K) {
  const int row = get_global_id(0);
  if (row >= T) return;
  __global const ushort* x = G + (size_t)row * E;
#if PACKED
  uint last = 0xffffffffu;
#else
  float last = INFINITY;
  int last_index = -1;
#endif
  for (int k = 0; k < K; ++k) {
    int index = -1;
#if PACKED
    uint best = 0;
    for (int e = 0; e < E; ++e) {
      const uint key = packed(x[e], e);
      if (key < last && key > best) best = key;
    }
    if (best != 0) index = 0xffff - (best & 0xffff);
    last = best;
#else
    float best = 0;
    for (int e = 0; e < E; ++e) {
      const float value = widen(x[e]);
      if (!(value < last || (value == last && e > last_index))) continue;
      if (index < 0 || value > best) best = value, index = e;
    }
    last = index < 0 ? -INFINITY : best;
    last_index = index < 0 ? E : index;
#endif
    P[(size_t)row * K + k] = index < 0 ? 0 : 1 / (1 + exp(-widen(x[index])));
    I[(size_t)row * K + k] = index;
  }
}
