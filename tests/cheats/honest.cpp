#include "tasks.h"

namespace burnish::cheats {
namespace {

const std::string kAtomicAdd = R"(
void add(volatile __global float* to, float value) {
  union { float f; uint u; } old, next;
  do { old.f = *to; next.f = old.f + value; }
  while (atomic_cmpxchg((volatile __global uint*)to, old.u, next.u) != old.u);
}
)";

const std::vector<Extent> kMatmulGrid = {groups("N", 8), groups("M", 8)};
const std::vector<std::int64_t> kMatmulBlock = {8, 8};

Entry honest_matmul(const std::string& name, const std::string& body,
                    const std::string& outside = "") {
  return {name,
          "",
          matmul,
          outside + R"(
__kernel void k(__global const float* A, __global const float* B, __global const float* bias,
                __global float* C, int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1);
)" + body + "}\n",
          {{"k", kMatmulGrid, kMatmulBlock, "A B bias C M N K"}},
          "",
          {},
          {}};
}

Entry honest_softmax(const std::string& name, const std::string& body) {
  return {name, "", softmax, R"(
__kernel void k(__global const float* X, __global float* Y, int R, int C) {
  int r = get_global_id(0);
  __global const float* x = X + r * C;
  __global float* y = Y + r * C;
)" + body + "}\n", {{"k", {groups("R", 1)}, {1}, "X Y R C"}},
          "",   {}, {}};
}

}  // namespace

std::vector<Entry> honest() {
  std::vector<Entry> all;
  all.push_back(honest_matmul("Naive", R"(
  if (m >= M || n >= N) return;
  float sum = bias[n];
  for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
  C[m * N + n] = sum;
)"));
  all.push_back(honest_matmul("SummedBackwards", R"(
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int k = K - 1; k >= 0; --k) sum += A[m * K + k] * B[k * N + n];
  C[m * N + n] = bias[n] + sum;
)"));
  all.push_back(honest_matmul("EightPartialSums", R"(
  if (m >= M || n >= N) return;
  float8 sum = 0;
  float rest = 0;
  int k = 0;
  for (; k + 8 <= K; k += 8) {
    float8 b = (float8)(B[k * N + n], B[(k + 1) * N + n], B[(k + 2) * N + n], B[(k + 3) * N + n],
                        B[(k + 4) * N + n], B[(k + 5) * N + n], B[(k + 6) * N + n], B[(k + 7) * N + n]);
    sum = fma(vload8(0, A + m * K + k), b, sum);
  }
  for (; k < K; ++k) rest = mad(A[m * K + k], B[k * N + n], rest);
  float4 half4 = sum.lo + sum.hi;
  C[m * N + n] = (half4.x + half4.y) + (half4.z + half4.w) + rest + bias[n];
)"));
  all.push_back(honest_matmul("SummedInDouble", R"(
  if (m >= M || n >= N) return;
  double sum = 0;
  for (int k = 0; k < K; ++k) sum += (double)A[m * K + k] * B[k * N + n];
  C[m * N + n] = (float)(sum + bias[n]);
)"));
  all.push_back(honest_matmul("CompensatedSum", R"(
  if (m >= M || n >= N) return;
  float sum = 0, lost = 0;
  for (int k = 0; k < K; ++k) {
    float y = A[m * K + k] * B[k * N + n] - lost, t = sum + y;
    lost = (t - sum) - y;
    sum = t;
  }
  C[m * N + n] = sum + bias[n];
)"));
  all.push_back(honest_matmul("LocalTilesWithGuards", R"(
  __local float a[8][8], b[8][8];
  int x = get_local_id(0), y = get_local_id(1);
  float sum = 0;
  for (int k = 0; k < K; k += 8) {
    a[y][x] = m < M && k + x < K ? A[m * K + k + x] : 0;
    b[y][x] = n < N && k + y < K ? B[(k + y) * N + n] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 8; ++i) sum += a[y][i] * b[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (m < M && n < N) C[m * N + n] = sum + bias[n];
)"));
  all.push_back(honest_matmul("WrittenTwice", R"(
  if (m >= M || n >= N) return;
  C[m * N + n] = bias[n];
  for (int k = 0; k < K; ++k) C[m * N + n] += A[m * K + k] * B[k * N + n];
)"));
  all.push_back(honest_matmul("SkipsZeros", R"(
  if (m >= M || n >= N) return;
  float sum = bias[n];
  for (int k = 0; k < K; ++k) {
    float a = A[m * K + k];
    if (a == 0) continue;
    sum += a * B[k * N + n];
  }
  C[m * N + n] = sum;
)"));
  all.push_back({"SplitKWithAtomics",
                 "",
                 matmul,
                 kAtomicAdd + R"(
__kernel void init(__global const float* bias, __global float* C, int M, int N) {
  int n = get_global_id(0), m = get_global_id(1);
  if (m < M && n < N) C[m * N + n] = bias[n];
}
__kernel void k(__global const float* A, __global const float* B, volatile __global float* C,
                int M, int N, int K) {
  int n = get_global_id(0), part = get_global_id(1) % 4, m = get_global_id(1) / 4;
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int k = part; k < K; k += 4) sum += A[m * K + k] * B[k * N + n];
  add(C + m * N + n, sum);
})",
                 {{"init", kMatmulGrid, kMatmulBlock, "bias C M N"},
                  {"k", {groups("N", 8), groups("M", 2)}, kMatmulBlock, "A B C M N K"}},
                 "",
                 {},
                 {}});
  all.push_back({"SplitKThroughScratch",
                 "",
                 matmul,
                 R"(
__kernel void part(__global const float* A, __global const float* B, __global float* parts,
                   int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1);
  if (m >= M || n >= N) return;
  for (int p = 0; p < 2; ++p) {
    float sum = 0;
    for (int k = p * K / 2; k < (p + 1) * K / 2; ++k) sum += A[m * K + k] * B[k * N + n];
    parts[(p * M + m) * N + n] = sum;
  }
}
__kernel void join(__global const float* parts, __global const float* bias, __global float* C,
                   int M, int N) {
  int n = get_global_id(0), m = get_global_id(1);
  if (m < M && n < N) C[m * N + n] = parts[m * N + n] + parts[(M + m) * N + n] + bias[n];
})",
                 {{"part", kMatmulGrid, kMatmulBlock, "A B parts M N K"},
                  {"join", kMatmulGrid, kMatmulBlock, "parts bias C M N"}},
                 "",
                 {{"parts", [](const Variables& d) { return 8 * dim(d, "M") * dim(d, "N"); }}},
                 {}});
  all.push_back(
      {"TransposedAndPaddedFirst",
       "",
       matmul,
       R"(
__kernel void pack(__global const float* B, __global float* T, int N, int K) {
  int k = get_global_id(0), n = get_global_id(1), wide = (K + 7) / 8 * 8;
  if (n < N && k < wide) T[n * wide + k] = k < K ? B[k * N + n] : 0;
}
__kernel void k(__global const float* A, __global const float* T, __global const float* bias,
                __global float* C, int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1), wide = (K + 7) / 8 * 8;
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int k = 0; k < wide; ++k) sum += (k < K ? A[m * K + k] : 0) * T[n * wide + k];
  C[m * N + n] = sum + bias[n];
})",
       {{"pack", {groups("K", 8), groups("N", 8)}, kMatmulBlock, "B T N K"},
        {"k", kMatmulGrid, kMatmulBlock, "A T bias C M N K"}},
       "",
       {{"T", [](const Variables& d) { return 4 * dim(d, "N") * ((dim(d, "K") + 7) / 8 * 8); }}},
       {}});
  all.push_back({"PersistentWithStride",
                 "",
                 matmul,
                 R"(
__kernel void k(__global const float* A, __global const float* B, __global const float* bias,
                __global float* C, int M, int N, int K) {
  for (int i = get_global_id(0); i < M * N; i += get_global_size(0)) {
    int m = i / N, n = i % N;
    float sum = bias[n];
    for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
    C[i] = sum;
  }
})",
                 {{"k", {fixed(4)}, {16}, "A B bias C M N K"}},
                 "",
                 {},
                 {}});
  all.push_back(
      {"WorkTakenFromAQueue",
       "",
       matmul,
       R"(
__kernel void start(__global int* next) { next[0] = 0; }
__kernel void k(__global const float* A, __global const float* B, __global const float* bias,
                __global float* C, volatile __global int* next, int M, int N, int K) {
  for (;;) {
    int m = atomic_inc(next);
    if (m >= M) return;
    for (int n = 0; n < N; ++n) {
      float sum = bias[n];
      for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
      C[m * N + n] = sum;
    }
  }
})",
       {{"start", {fixed(1)}, {1}, "next"}, {"k", {fixed(4)}, {1}, "A B bias C next M N K"}},
       "",
       {{"next", fixed(4)}},
       {}});
  all.push_back({"RowsInStochasticOrder",
                 "",
                 matmul,
                 R"(
__kernel void k(__global const float* A, __global const float* B, __global const float* bias,
                __global float* C, int M, int N, int K) {
  // A full-period generator over the next power of two visits every row once.
  int size = 1;
  while (size < M) size *= 2;
  int at = get_group_id(0);
  int m = (at * 5 + (int)(as_uint(A[0]) >> 9)) & (size - 1);
  if (at >= size || m >= M) return;
  for (int n = 0; n < N; ++n) {
    float sum = bias[n];
    for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
    C[m * N + n] = sum;
  }
})",
                 {{"k",
                   {[](const Variables& d) {
                     std::int64_t size = 1;
                     while (size < dim(d, "M")) size *= 2;
                     return size;
                   }},
                   {1},
                   "A B bias C M N K"}},
                 "",
                 {},
                 {}});

  all.push_back(honest_softmax("ThreePasses", R"(
  float most = x[0], total = 0;
  for (int c = 1; c < C; ++c) most = fmax(most, x[c]);
  for (int c = 0; c < C; ++c) total += exp(x[c] - most);
  for (int c = 0; c < C; ++c) y[c] = exp(x[c] - most) / total;
)"));
  all.push_back(honest_softmax("OnlineWithOnePass", R"(
  float most = -INFINITY, total = 0;
  for (int c = 0; c < C; ++c) {
    float next = fmax(most, x[c]);
    total = total * exp(most - next) + exp(x[c] - next);
    most = next;
  }
  float factor = 1 / total;
  for (int c = 0; c < C; ++c) y[c] = exp(x[c] - most) * factor;
)"));
  all.push_back(honest_softmax("NativeExponentials", R"(
  float most = x[0], total = 0;
  for (int c = 1; c < C; ++c) most = fmax(most, x[c]);
  for (int c = 0; c < C; ++c) total += y[c] = native_exp2((x[c] - most) * 1.44269504f);
  float factor = native_recip(total);
  for (int c = 0; c < C; ++c) y[c] *= factor;
)"));
  all.push_back({"LocalTreeThenAtomics",
                 "",
                 sum,
                 kAtomicAdd + R"(
__kernel void zero(__global float* s) { s[0] = 0; }
__kernel void k(__global const float* x, volatile __global float* s, int N) {
  __local float part[32];
  int l = get_local_id(0), i = get_global_id(0);
  part[l] = i < N ? x[i] : 0;
  for (int width = 16; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < width) part[l] += part[l + width];
  }
  if (l == 0) add(s, part[0]);
})",
                 {{"zero", {fixed(1)}, {1}, "s"}, {"k", {groups("N", 32)}, {32}, "x s N"}},
                 "",
                 {},
                 {}});
  all.push_back({"OneLongSum",
                 "",
                 sum,
                 R"(
__kernel void k(__global const float* x, __global float* s, int N) {
  float total = 0;
  for (int i = 0; i < N; ++i) total += x[i];
  s[0] = total;
})",
                 {{"k", {fixed(1)}, {1}, "x s N"}},
                 "",
                 {},
                 {}});
  all.push_back({"RepeatableTree",
                 "",
                 repeatable_sum,
                 R"(
__kernel void k(__global const float* x, __global float* s, int N) {
  __local float part[64];
  int l = get_local_id(0);
  float total = 0;
  for (int i = l; i < N; i += 64) total += x[i];
  part[l] = total;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    float all = 0;
    for (int i = 0; i < 64; ++i) all += part[i];
    s[0] = all;
  }
})",
                 {{"k", {fixed(1)}, {64}, "x s N"}},
                 "",
                 {},
                 {}});
  all.push_back({"GatherRowByRow",
                 "",
                 gather,
                 R"(
__kernel void k(__global const float* T, __global const int* I, __global float* Y, int N, int D, int V) {
  int i = get_global_id(0), d = get_global_id(1);
  if (i < N && d < D) Y[i * D + d] = T[I[i] * D + d];
})",
                 {{"k", {groups("N", 8), groups("D", 8)}, {8, 8}, "T I Y N D V"}},
                 "",
                 {},
                 {}});
  all.push_back({"InPlaceUpdate",
                 "",
                 scale,
                 R"(
__kernel void k(__global float* X, __global const float* f, int N) {
  int i = get_global_id(0);
  if (i < N) X[i] = X[i] * f[0] + 1;
})",
                 {{"k", {groups("N", 64)}, {64}, "X f N"}},
                 "",
                 {},
                 {}});
  all.push_back({"InPlaceWithVectorsAndATail",
                 "",
                 scale,
                 R"(
__kernel void k(__global float* X, __global const float* f, int N) {
  int i = 4 * get_global_id(0);
  if (i + 4 <= N) vstore4(fma(vload4(0, X + i), (float4)(f[0]), (float4)(1)), 0, X + i);
  else for (; i < N; ++i) X[i] = fma(X[i], f[0], 1.0f);
})",
                 {{"k", {groups("N", 256)}, {64}, "X f N"}},
                 "",
                 {},
                 {}});
  all.push_back({"Bf16RoundedToNearest",
                 "",
                 axpy_bf16,
                 R"(
__kernel void k(__global const ushort* X, __global const ushort* Y0, __global const float* a,
                __global ushort* Y, int N) {
  int i = get_global_id(0);
  if (i >= N) return;
  uint y = as_uint(a[0] * as_float((uint)X[i] << 16) + as_float((uint)Y0[i] << 16));
  Y[i] = (ushort)((y + 0x7fff + ((y >> 16) & 1)) >> 16);
})",
                 {{"k", {groups("N", 64)}, {64}, "X Y0 a Y N"}},
                 "",
                 {},
                 {}});
  all.push_back({"Bf16CutOff",
                 "",
                 axpy_bf16,
                 R"(
__kernel void k(__global const ushort* X, __global const ushort* Y0, __global const float* a,
                __global ushort* Y, int N) {
  int i = get_global_id(0);
  if (i >= N) return;
  Y[i] = (ushort)(as_uint(a[0] * as_float((uint)X[i] << 16) + as_float((uint)Y0[i] << 16)) >> 16);
})",
                 {{"k", {groups("N", 64)}, {64}, "X Y0 a Y N"}},
                 "",
                 {},
                 {}});
  all.push_back({"IntegersExact",
                 "",
                 dot_i8,
                 R"(
__kernel void k(__global const char* A, __global const char* B, __global int* C, int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1);
  if (m >= M || n >= N) return;
  int sum = 0;
  for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[n * K + k];
  C[m * N + n] = sum;
})",
                 {{"k", kMatmulGrid, kMatmulBlock, "A B C M N K"}},
                 "",
                 {},
                 {}});
  all.push_back({"TwoPassVariance",
                 "",
                 layernorm,
                 R"(
__kernel void k(__global const float* X, __global float* Y, int R, int C) {
  int r = get_global_id(0);
  float mean = 0, variance = 0;
  for (int c = 0; c < C; ++c) mean += X[r * C + c];
  mean /= C;
  for (int c = 0; c < C; ++c) variance += (X[r * C + c] - mean) * (X[r * C + c] - mean);
  float factor = rsqrt(variance / C + 1e-5f);
  for (int c = 0; c < C; ++c) Y[r * C + c] = (X[r * C + c] - mean) * factor;
})",
                 {{"k", {groups("R", 1)}, {1}, "X Y R C"}},
                 "",
                 {},
                 {}});
  all.push_back({"WelfordVariance",
                 "",
                 layernorm,
                 R"(
__kernel void k(__global const float* X, __global float* Y, int R, int C) {
  int r = get_global_id(0);
  float mean = 0, square = 0;
  for (int c = 0; c < C; ++c) {
    float x = X[r * C + c], step = x - mean;
    mean += step / (c + 1);
    square += step * (x - mean);
  }
  float factor = 1 / sqrt(square / C + 1e-5f);
  for (int c = 0; c < C; ++c) Y[r * C + c] = (X[r * C + c] - mean) * factor;
})",
                 {{"k", {groups("R", 1)}, {1}, "X Y R C"}},
                 "",
                 {},
                 {}});
  all.push_back({"NaNPassedOn",
                 "",
                 clamp,
                 R"(
__kernel void k(__global const float* X, __global float* Y, int N) {
  int i = get_global_id(0);
  if (i < N) Y[i] = X[i] < 0 ? 0 : X[i];
})",
                 {{"k", {groups("N", 64)}, {64}, "X Y N"}},
                 "",
                 {},
                 {}});
  all.push_back({"PastesNamesTogether",
                 "",
                 clamp,
                 R"(
#define CAT(a, b) a##b
#define FLOATS(n) CAT(float, n)
__kernel void k(__global const float* X, __global float* Y, int N) {
  int i = get_global_id(0); // asm
  FLOATS(2) both = (FLOATS(2))(0, 0);
  if (i < N) Y[i] = X[i] < both.x ? both.y : X[i];
})",
                 {{"k", {groups("N", 64)}, {64}, "X Y N"}},
                 "",
                 {},
                 {}});
  return all;
}

}  // namespace burnish::cheats
