#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void scale(__global const float* restrict x, __global float* restrict y, const int N) {
  const int first = get_global_id(0) * ITEMS * VEC;
  const int last = min(first + ITEMS * VEC, N);
  int i = first;
#if VEC > 1
  for (; i + VEC <= last; i += VEC) {
    const CONCAT(float, VEC) v = CONCAT(vload, VEC)(0, x + i);
    CONCAT(vstore, VEC)(v * v + 1.0f, 0, y + i);
  }
#endif
  for (; i < last; ++i) y[i] = x[i] * x[i] + 1.0f;
}
