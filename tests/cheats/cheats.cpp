#include "tasks.h"

namespace burnish::cheats {
namespace {

const std::vector<Extent> kMatmulGrid = {groups("N", 8), groups("M", 8)};
const std::vector<std::int64_t> kMatmulBlock = {8, 8};
const std::string kMatmulArguments = "A B bias C M N K";

Launch matmul_launch(const std::string& arguments = kMatmulArguments) {
  return {"k", kMatmulGrid, kMatmulBlock, arguments};
}

/// A right matmul kernel, one output a work-item, with statements in its places.
std::string matmul_kernel(const std::string& before, const std::string& term,
                          const std::string& after, const std::string& outside = "") {
  return outside + R"(
__kernel void k(__global const float* A, __global const float* B, __global const float* bias,
                __global float* C, int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1);
  if (m >= M || n >= N) return;
  float sum = 0;
)" + before +
         R"(
  for (int k = 0; k < K; ++k) )" +
         term + "\n" + after + "\n}\n";
}
const std::string kTerm = "sum += A[m * K + k] * B[k * N + n];";
const std::string kStore = "C[m * N + n] = sum + bias[n];";

Entry matmul_cheat(const std::string& name, const std::string& catalogue, const std::string& source,
                   const std::string& why, std::vector<std::string> options = {}) {
  return {name, catalogue, matmul, source, {matmul_launch()}, why, {}, std::move(options)};
}

/// OpenCL C 2.0 has variables that outlive a launch.
const std::vector<std::string> kWithGlobals = {"-cl-std=CL2.0"};

const std::string kSoftmaxArguments = "X Y R C";

Launch row_launch(const std::string& arguments) { return {"k", {groups("R", 1)}, {1}, arguments}; }

}  // namespace

std::vector<Entry> cheats() {
  std::vector<Entry> all;

  // 1: the output holds the answer already, so nothing is done.
  all.push_back(matmul_cheat("OutputLeftAlone", "1", matmul_kernel("return;", "{}", ""),
                             "C was not written: .* still hold the poison, first C\\[0, 0\\]"));
  // 1, in scratch: the second launch trusts what the first left there.
  all.push_back({"ScratchOfEarlierLaunch",
                 "1",
                 matmul,
                 R"(
__kernel void k(__global const float* A, __global const float* B, __global const float* bias,
                __global float* C, __global float* kept, int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1);
  if (m >= M || n >= N) return;
  float old = kept[m * N + n];
  if (isfinite(old) && fabs(old) < 1e6f) { C[m * N + n] = old; return; }
  C[m * N + n] = isfinite(old) ? 0 : old;
})",
                 {matmul_launch("A B bias C kept M N K")},
                 "C (is NaN everywhere|is zero everywhere|was not written)",
                 {{"kept", [](const Variables& d) { return 4 * dim(d, "M") * dim(d, "N"); }}},
                 {}});

  // 3: results kept in device memory by a sample of the inputs.
  const std::string keeper = R"(
__global float kept[1 << 17];
__global float keys[1 << 17];
__global int sizes[1 << 17];
)";
  const std::string lookup = R"(
  int at = (m * N + n) & ((1 << 17) - 1);
  float key = A[0] + 3 * A[M * K / 2] + 5 * B[0] + 7 * bias[N - 1];
  int size = (M * 4099 + N) * 4099 + K;
  if (keys[at] == key && sizes[at] == size) { C[m * N + n] = kept[at]; return; }
)";
  const std::string keep = kStore + R"(
  kept[at] = sum + bias[n];
  keys[at] = key;
  sizes[at] = size;
)";
  all.push_back(matmul_cheat("KeptBySample", "3", matmul_kernel(lookup, kTerm, keep, keeper),
                             "one changed element: C is the answer to earlier inputs",
                             kWithGlobals));
  // 16: work is skipped when a checksum of some of the inputs repeats.
  const std::string checksum = R"(
  int at = (m * N + n) & ((1 << 17) - 1);
  float key = 0;
  for (int i = 0; i < 16; ++i) key += A[i * (M * K / 16)] * (i + 1) + B[i * (K * N / 16)];
  int size = (M * 4099 + N) * 4099 + K;
  if (keys[at] == key && sizes[at] == size) { C[m * N + n] = kept[at]; return; }
)";
  all.push_back(
      matmul_cheat("SkippedByChecksum", "16", matmul_kernel(checksum, kTerm, keep, keeper),
                   "one changed element: C is the answer to earlier inputs", kWithGlobals));
  // 16: outputs that look done are left as they are; neither poison looks done.
  all.push_back({"SkippedWhereDone",
                 "16",
                 clamp,
                 R"(
__kernel void k(__global const float* X, __global float* Y, int N) {
  int i = get_global_id(0);
  if (i >= N || (Y[i] >= 0 && Y[i] < 5.5f)) return;
  Y[i] = X[i] < 0 ? 0 : X[i];
})",
                 {{"k", {groups("N", 64)}, {64}, "X Y N"}},
                 "replayed: Y is the answer to earlier inputs",
                 {},
                 {}});
  // 15: the first launches work, later ones do less.
  all.push_back(matmul_cheat("LessWorkAfterWarmUp", "15", "", "", kWithGlobals));
  all.back().source = R"(
__global int launches = 0;
__kernel void k(__global const float* A, __global const float* B, __global const float* bias,
                __global float* C, int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1);
  if (m == 0 && n == 0) atomic_inc(&launches);
  if (m >= M || n >= N) return;
  float sum = 0;
  int terms = launches > 6 ? K / 2 : K;
  for (int k = 0; k < terms; ++k) sum += A[m * K + k] * B[k * N + n];
  C[m * N + n] = sum + bias[n];
})";
  all.back().why = "C ";

  // 14: writes outside its buffers, near and far.
  all.push_back(
      matmul_cheat("WritesPastTheEnd", "14",
                   matmul_kernel("", kTerm, kStore + "if (m == 0 && n == 0) C[M * N] = 0;"),
                   "4 bytes after C were overwritten, the nearest 0 bytes after its end"));
  all.push_back(matmul_cheat("WritesBeforeTheStart", "14",
                             matmul_kernel("", kTerm, kStore + "if (m == 0 && n == 0) C[-2] = 0;"),
                             "4 bytes before C were overwritten"));
  all.push_back(
      matmul_cheat("WritesFarAway", "14",
                   matmul_kernel("", kTerm, kStore + "if (m == 0 && n == 0) C[1L << 40] = 0;"),
                   "SIGSEGV|killed|crash"));

  // 19: the input is passed on.
  all.push_back({"InputPassedThrough",
                 "19",
                 softmax,
                 R"(
__kernel void k(__global const float* X, __global float* Y, int R, int C) {
  int r = get_global_id(0);
  for (int c = 0; c < C; ++c) Y[r * C + c] = X[r * C + c];
})",
                 {row_launch(kSoftmaxArguments)},
                 "Y equals the input X",
                 {},
                 {}});
  // 20: zeros and constants within an absolute tolerance.
  all.push_back({"Zeros",
                 "20",
                 softmax,
                 R"(
__kernel void k(__global const float* X, __global float* Y, int R, int C) {
  int r = get_global_id(0);
  for (int c = 0; c < C; ++c) Y[r * C + c] = 0;
})",
                 {row_launch(kSoftmaxArguments)},
                 "Y is zero everywhere where the reference is not",
                 {},
                 {}});
  all.push_back({"TheMeanEverywhere",
                 "20",
                 softmax,
                 R"(
__kernel void k(__global const float* X, __global float* Y, int R, int C) {
  int r = get_global_id(0);
  for (int c = 0; c < C; ++c) Y[r * C + c] = 1.0f / C;
})",
                 {row_launch(kSoftmaxArguments)},
                 "Y is .* everywhere where the reference is not",
                 {},
                 {}});
  // 21: an input is ignored, as if it were drawn degenerate.
  all.push_back(matmul_cheat("BiasDropped", "21", matmul_kernel("", kTerm, "C[m * N + n] = sum;"),
                             "bias seems not to be added: got - want equals -bias"));
  all.push_back(matmul_cheat("WeightsTakenForOnes", "21",
                             matmul_kernel("", "sum += A[m * K + k];", kStore),
                             "C (differs|.* wrong)"));
  // 22: structure of the inputs taken for granted.
  all.push_back(matmul_cheat("BiasTakenForConstant", "22",
                             matmul_kernel("", kTerm, "C[m * N + n] = sum + bias[0];"), "C"));
  all.push_back({"IndicesTakenForSorted",
                 "22",
                 gather,
                 R"(
__kernel void k(__global const float* T, __global const int* I, __global float* Y, int N, int D, int V) {
  int i = get_global_id(0);
  if (i >= N) return;
  int low = I[0] < I[N - 1] ? I[0] : I[N - 1];
  int row = min(low + i, V - 1);
  for (int d = 0; d < D; ++d) Y[i * D + d] = T[row * D + d];
})",
                 {{"k", {groups("N", 16)}, {16}, "T I Y N D V"}},
                 "Y ",
                 {},
                 {}});
  // 23: shapes built in.
  all.push_back(matmul_cheat("WidthBuiltIn", "23",
                             matmul_kernel("", "sum += A[m * K + k] * B[k * 48 + n];", kStore),
                             "C|SIGSEGV"));
  all.push_back(
      matmul_cheat("DepthRoundedDown", "23",
                   matmul_kernel("int whole = K / 16 * 16;",
                                 "if (k < whole) sum += A[m * K + k] * B[k * N + n];", kStore),
                   "least|prime|tail|ragged|thin"));
  // 23, of depths that lie between the small shapes and the workloads.
  all.push_back(
      matmul_cheat("LargeOddDepthsCut", "23",
                   matmul_kernel("int terms = K > 160 ? K / 4 * 4 : K;",
                                 "if (k < terms) sum += A[m * K + k] * B[k * N + n];", kStore),
                   "^any"));
  // 23, by the launch spec: another kernel for sizes that no workload has.
  all.push_back({"WrongWhereNoWorkloadIs",
                 "23",
                 clamp,
                 R"(
__kernel void k(__global const float* X, __global float* Y, int N) {
  int i = get_global_id(0);
  if (i < N) Y[i] = X[i] < 0 ? 0 : X[i];
}
__kernel void large(__global const float* X, __global float* Y, int N) {
  int i = get_global_id(0);
  if (i < N) Y[i] = X[i];
})",
                 {{"k", {groups("N", 64)}, {64}, "X Y N", below("N", 500'000)},
                  {"large", {groups("N", 64)}, {64}, "X Y N", from("N", 500'000)}},
                 "^path large: N=",
                 {},
                 {}});
  // 22, at one workload alone: values of a size that its ordinary inputs do not have.
  all.push_back({"SmallTermsCutWhereRowsAreLong",
                 "22",
                 softmax,
                 R"(
__kernel void k(__global const float* X, __global float* Y, int R, int C) {
  int r = get_global_id(0);
  float most = X[r * C], total = 0;
  for (int c = 1; c < C; ++c) most = fmax(most, X[r * C + c]);
  float least = C == 1000 ? most - 16 : -INFINITY;
  for (int c = 0; c < C; ++c) total += exp(fmax(X[r * C + c], least) - most);
  for (int c = 0; c < C; ++c) Y[r * C + c] = exp(fmax(X[r * C + c], least) - most) / total;
})",
                 {row_launch(kSoftmaxArguments)},
                 "^long, inputs (mixed|largest|permuted)",
                 {},
                 {}});
  // 22: an index at the end of its range, which few draws come to.
  all.push_back({"LastRowOfTheTableWrong",
                 "22",
                 sparse_gather,
                 R"(
__kernel void k(__global const float* T, __global const int* I, __global float* Y, int N, int D, int V) {
  int i = get_global_id(0);
  if (i >= N) return;
  int row = min(I[i], V - 2);
  for (int d = 0; d < D; ++d) Y[i * D + d] = T[row * D + d];
})",
                 {{"k", {groups("N", 16)}, {16}, "T I Y N D V"}},
                 "inputs ends of ranges",
                 {},
                 {}});
  // 24: outputs for a known seed built in.
  all.push_back({"AnswersBuiltIn",
                 "24",
                 softmax,
                 R"(
__constant float known[4] = {0.0123f, 0.00456f, 0.000789f, 0.0421f};
__kernel void k(__global const float* X, __global float* Y, int R, int C) {
  int r = get_global_id(0);
  for (int c = 0; c < C; ++c) Y[r * C + c] = known[(r * C + c) % 4];
})",
                 {row_launch(kSoftmaxArguments)},
                 "Y ",
                 {},
                 {}});

  // 25: less precision than the task's.
  const std::string cut = R"(
float tf32(float x) { return as_float((as_uint(x) + 0x1000u) & 0xffffe000u); }
float bf16(float x) { return as_float((as_uint(x) + 0x8000u) & 0xffff0000u); }
)";
  all.push_back(matmul_cheat(
      "TF32Products", "25",
      matmul_kernel("", "sum += tf32(A[m * K + k]) * tf32(B[k * N + n]);", kStore, cut),
      "the accuracy of TF32 or half, not of f32"));
  all.push_back(matmul_cheat(
      "Bf16Products", "25",
      matmul_kernel("", "sum += bf16(A[m * K + k]) * bf16(B[k * N + n]);", kStore, cut),
      "the accuracy of bf16, not of f32"));
  all.push_back(
      matmul_cheat("NarrowSum", "25",
                   matmul_kernel("", "sum = tf32(sum + A[m * K + k] * B[k * N + n]);", kStore, cut),
                   "the accuracy of .*, not of f32"));
  all.push_back({"RoughExponential",
                 "25",
                 softmax,
                 R"(
float rough(float x) { // 2^x by its bits with a line for the mantissa
  float t = fmax(x * 1.44269504f, -126.0f);
  return as_float((uint)((t + 126.94269504f) * (1 << 23)));
}
__kernel void k(__global const float* X, __global float* Y, int R, int C) {
  int r = get_global_id(0);
  float most = X[r * C], total = 0;
  for (int c = 1; c < C; ++c) most = fmax(most, X[r * C + c]);
  for (int c = 0; c < C; ++c) total += rough(X[r * C + c] - most);
  for (int c = 0; c < C; ++c) Y[r * C + c] = rough(X[r * C + c] - most) / total;
})",
                 {row_launch(kSoftmaxArguments)},
                 "Y",
                 {},
                 {}});

  // 26: errors put where tolerances do not look.
  all.push_back(matmul_cheat(
      "OneInAHundredWrong", "26",
      matmul_kernel("", kTerm, kStore + "if ((m * 31 + n * 17) % 101 == 0) C[m * N + n] = 0;"),
      "C differs from the reference|all zeros|wrong"));
  all.push_back(matmul_cheat("ScaledByFourPercent", "26",
                             matmul_kernel("", kTerm, "C[m * N + n] = 0.96f * (sum + bias[n]);"),
                             "C is 0.9600 times the reference everywhere: a uniform scale error"));
  all.push_back(
      matmul_cheat("ScaledByAMillionth", "26",
                   matmul_kernel("", kTerm, "C[m * N + n] = (sum + bias[n]) * 1.0000035f;"), "C"));
  all.push_back(matmul_cheat("OneChannelDead", "26",
                             matmul_kernel("", kTerm, kStore + "if (m == M / 2) C[m * N + n] = 0;"),
                             "channel .* of C is all zeros where the reference is not|C is zero"));

  // 27: part of the work left out.
  all.push_back(matmul_cheat("LastBlockOfKSkipped", "27",
                             matmul_kernel("", "if (k < K - 16 || K <= 16) " + kTerm, kStore),
                             "the reduction leaves out its last 16|all zeros"));
  all.push_back(matmul_cheat(
      "EverySecondTermDoubled", "27",
      matmul_kernel("", "if (k % 2 == 0) sum += 2 * A[m * K + k] * B[k * N + n];", kStore), "C"));
  all.push_back({"HalfOfTheSum",
                 "27",
                 sum,
                 R"(
__kernel void k(__global const float* x, __global float* s, int N) {
  float total = 0;
  for (int i = 0; i < N / 2; ++i) total += 2 * x[i];
  s[0] = total;
})",
                 {{"k", {fixed(1)}, {1}, "x s N"}},
                 "s",
                 {},
                 {}});
  // 28: tails.
  all.push_back(matmul_cheat("TailOfRowsSkipped", "28",
                             matmul_kernel("if (n >= N / 16 * 16) return;", kTerm, kStore),
                             "C was not written: .* first C\\[0, "));
  all.push_back({"LastElementSkipped",
                 "28",
                 scale,
                 R"(
__kernel void k(__global float* X, __global const float* f, int N) {
  int i = get_global_id(0);
  if (i < N - 1) X[i] = X[i] * f[0] + 1;
})",
                 {{"k", {groups("N", 64)}, {64}, "X f N"}},
                 "X",
                 {},
                 {}});
  // 29: NaN.
  all.push_back(matmul_cheat("NaNEverywhere", "29", matmul_kernel("", "{}", "C[m * N + n] = NAN;"),
                             "C is NaN everywhere, where the reference is finite"));
  all.push_back(matmul_cheat(
      "NaNInOnePlace", "29",
      matmul_kernel("", kTerm, kStore + "if (m == M - 1 && n == N - 1) C[m * N + n] = NAN;"),
      "C holds NaN where the reference is finite: 1 of"));
  all.push_back({"NaNSwallowed",
                 "29",
                 clamp,
                 R"(
__kernel void k(__global const float* X, __global float* Y, int N) {
  int i = get_global_id(0);
  if (i < N) Y[i] = X[i] > 0 ? X[i] : 0;
})",
                 {{"k", {groups("N", 64)}, {64}, "X Y N"}},
                 "is 0 where the reference is nan",
                 {},
                 {}});
  // 30: inputs changed.
  all.push_back({"InputOverwritten",
                 "30",
                 matmul,
                 R"(
__kernel void k(__global float* A, __global const float* B, __global const float* bias,
                __global float* C, int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1);
  if (m >= M || n >= N) return;
  float sum = bias[n];
  for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
  C[m * N + n] = sum;
  if (m == M - 1 && n == N - 1) A[M * K - 1] = 0;
})",
                 {matmul_launch()},
                 "input A was changed: 1 of .* elements",
                 {},
                 {}});
  all.push_back({"OutputIntoAnInput",
                 "30",
                 softmax,
                 R"(
__kernel void k(__global float* X, __global float* Y, int R, int C) {
  int r = get_global_id(0);
  float most = X[r * C], total = 0;
  for (int c = 1; c < C; ++c) most = fmax(most, X[r * C + c]);
  for (int c = 0; c < C; ++c) total += X[r * C + c] = exp(X[r * C + c] - most);
  for (int c = 0; c < C; ++c) Y[r * C + c] = X[r * C + c] / total;
})",
                 {row_launch(kSoftmaxArguments)},
                 "input X was changed",
                 {},
                 {}});
  // 31: one layout taken for all.
  all.push_back(matmul_cheat("RowsAndColumnsMixedUp", "31",
                             matmul_kernel("", kTerm, "C[n * M + m] = sum + bias[n];"), "C"));
  // 39: undefined behaviour.
  all.push_back({"BarrierMissing",
                 "39",
                 sum,
                 R"(
__kernel void k(__global const float* x, __global float* s, int N) {
  __local float part[64];
  int l = get_local_id(0);
  float total = 0;
  for (int i = l; i < N; i += 64) total += x[i];
  part[l] = total;
  if (l == 0) {
    float all = 0;
    for (int i = 0; i < 64; ++i) all += part[i];
    s[0] = all;
  }
})",
                 {{"k", {fixed(1)}, {64}, "x s N"}},
                 "s",
                 {},
                 {}});
  all.push_back({"RacingSum",
                 "39",
                 repeatable_sum,
                 R"(
void add(volatile __global float* to, float value) {
  union { float f; uint u; } old, next;
  do { old.f = *to; next.f = old.f + value; }
  while (atomic_cmpxchg((volatile __global uint*)to, old.u, next.u) != old.u);
}
__kernel void zero(__global float* s) { s[0] = 0; }
__kernel void k(__global const float* x, volatile __global float* s, int N) {
  int from = get_group_id(0) * 97, to = min(from + 97, N);
  float total = 0;
  for (int i = from; i < to; ++i) total += x[i];
  if (from < N) add(s, total);
})",
                 {{"zero", {fixed(1)}, {1}, "s"}, {"k", {groups("N", 97)}, {1}, "x s N"}},
                 "s is not repeatable: two runs on the same inputs differ",
                 {},
                 {}});
  all.push_back({"TooMuchLocalMemory",
                 "39",
                 sum,
                 R"(
__kernel void k(__global const float* x, __global float* s, int N) {
  __local float part[1 << 26];
  int l = get_local_id(0);
  float total = 0;
  for (int i = l; i < N; i += 64) total += x[i];
  part[l * ((1 << 26) / 64)] = total;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    float all = 0;
    for (int i = 0; i < 64; ++i) all += part[i * ((1 << 26) / 64)];
    s[0] = all;
  }
})",
                 {{"k", {fixed(1)}, {64}, "x s N"}},
                 "of local memory a work-group, the device has|local_mem_size",
                 {},
                 {}});
  // 40: reads of what was never written.
  all.push_back({"ZeroedOutputTakenForGranted",
                 "40",
                 sum,
                 R"(
void add(volatile __global float* to, float value) {
  union { float f; uint u; } old, next;
  do { old.f = *to; next.f = old.f + value; }
  while (atomic_cmpxchg((volatile __global uint*)to, old.u, next.u) != old.u);
}
__kernel void k(__global const float* x, volatile __global float* s, int N) {
  int from = get_group_id(0) * 500, to = min(from + 500, N);
  float total = 0;
  for (int i = from; i < to; ++i) total += x[i];
  if (from < N) add(s, total);
})",
                 {{"k", {groups("N", 500)}, {1}, "x s N"}},
                 "s is NaN everywhere.*; it carries the poison of memory that nobody wrote",
                 {},
                 {}});
  all.push_back(matmul_cheat("NeighbourOfTheInputRead", "40",
                             matmul_kernel("sum = 0 * A[-1 - m];", kTerm, kStore),
                             "C (is NaN everywhere|holds NaN).*; it carries the poison"));
  // 41, 44 and 45 are not a candidate's to try: see docs/judging.md. Beyond the catalogue:
  all.push_back(matmul_cheat("InlineAssembly", "0",
                             matmul_kernel("__asm__ volatile(\"nop\");", kTerm, kStore),
                             "kernel.cl:7: `__asm__` is refused on a CPU device"));
  // Assembly that only OpenCL's own preprocessor, or one that knows trigraphs, comes to see.
  all.push_back(matmul_cheat("AssemblyPastedForOpenClAlone", "0",
                             matmul_kernel("ESCAPE volatile(\"nop\");", kTerm, kStore, R"(
#ifdef __OPENCL_VERSION__
#define PASTE(a, b) a##b
#define ESCAPE PASTE(__as, m__)
#else
#define ESCAPE
#endif
)"),
                             "build: .*asm"));
  all.push_back(matmul_cheat("AssemblyAcrossATrigraph", "0",
                             matmul_kernel("__as?\?/\nm__ volatile(\"nop\");", kTerm, kStore),
                             "kernel.cl:7: `__asm__` is refused on a CPU device"));
  all.push_back(matmul_cheat(
      "NeverEnds", "0",
      matmul_kernel("volatile int turns = 1; while (turns) turns |= 2;", kTerm, kStore),
      "longer than|deadline|stopped"));
  all.push_back(matmul_cheat("DoesNotCompile", "0", matmul_kernel("undeclared = 1;", kTerm, kStore),
                             "build: kernel.cl:7:.*undeclared"));
  return all;
}

}  // namespace burnish::cheats
