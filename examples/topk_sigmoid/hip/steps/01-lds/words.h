// What is compared: a logit and its index.

constexpr int kNone = 0x7fffffff;  // index of what is not there

struct Best {
  float value;
  int index;
};

__device__ inline Best better(Best a, Best b) {
  const bool second = b.value > a.value || (b.value == a.value && b.index < a.index);
  return {second ? b.value : a.value, second ? b.index : a.index};
}

// A logit, or nothing where there is none or it is NaN.
__device__ inline Best logit(const unsigned short* row, int e, int E) {
  const float value = e < E ? __uint_as_float((unsigned)row[e] << 16) : NAN;
  const bool number = value == value;
  return {number ? value : -INFINITY, number ? e : kNone};
}

__device__ inline void store(float* P, int* I, Best best) {
  *P = best.index == kNone ? 0 : 1 / (1 + expf(-best.value));
  *I = best.index == kNone ? -1 : best.index;
}
