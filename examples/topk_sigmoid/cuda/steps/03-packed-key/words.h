// What is compared: words of a logit and its index.

#if HALF
constexpr unsigned kInfinity = 0x7c00;
#else
constexpr unsigned kInfinity = 0x7f80;
#endif

// One word that orders like value and index: above, the logit as an unsigned number that orders
// like it; below, what prefers the lower index. 0 is nothing: no logit, or NaN.
__device__ inline unsigned key_of(unsigned bits, int e) {
  if (bits == 0x8000u) bits = 0;  // -0 is 0
  const unsigned value = bits ^ (bits & 0x8000u ? 0xffffu : 0x8000u);
  return (bits & 0x7fffu) > kInfinity ? 0 : value << 16 | (0xffffu - e);
}

__device__ inline void store(float* P, int* I, unsigned key) {
  const unsigned value = key >> 16, bits = value ^ (value & 0x8000u ? 0x8000u : 0xffffu);
  *P = key == 0 ? 0 : 1 / (1 + expf(-widen(bits)));
  *I = key == 0 ? -1 : (int)(0xffffu - (key & 0xffffu));
}
