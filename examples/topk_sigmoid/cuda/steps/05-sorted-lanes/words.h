// What is compared: words of a logit and its index, which are made two at a time.

#if HALF
#define PAIR "f16x2"
constexpr unsigned kMinusOnes = 0xbc00bc00u;
#else
#define PAIR "bf16x2"
constexpr unsigned kMinusOnes = 0xbf80bf80u;
#endif

// Two logits as signed 16-bit numbers of which the smallest is the best. The product is the negated
// logit; it makes -0 into 0, and every NaN into 0x7fff, the worst.
__device__ inline unsigned order(unsigned pair) {
  unsigned z, negative;
  asm("fma.rn." PAIR " %0, %1, %2, %3;" : "=r"(z) : "r"(pair), "r"(kMinusOnes), "r"(0));
  asm("prmt.b32 %0, %1, %1, 0xbb99;" : "=r"(negative) : "r"(z));  // 0xffff for each negative half
  return z ^ (negative & 0x7fff7fffu);
}

// One word of order and index: ties go to the lower index by themselves.
constexpr int kNone = 0x7fff0000;  // NaN, or no logit: what is not below
__device__ inline int key_low(unsigned pair, int e) { return (int)(pair << 16 | e); }
__device__ inline int key_high(unsigned pair, int e) { return (int)((pair & 0xffff0000u) | e); }

__device__ inline void store(float* P, int* I, int key) {
  const int value = key >> 16;
  const float minus = widen((value ^ (value >> 31 & 0x7fff)) & 0xffff);
  *P = key >= kNone ? 0 : __fdividef(1, 1 + expf(minus));
  *I = key >= kNone ? -1 : key & 0xffff;
}
