#include <algorithm>
#include <thread>
#include <vector>

#include "burnish_reference.h"

// Rows of C are shared among threads, and B is taken some rows at a time, which then stay in a
// cache.
void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto M = dims["M"], N = dims["N"], K = dims["K"];
  const double* A = in["A"];
  const double* B = in["B"];
  double* C = out["C"];
  const auto rows = [=](auto first, auto last) {
    std::fill(C + first * N, C + last * N, 0.0);
    for (auto k0 = 0 * K; k0 < K; k0 += 32)
      for (auto i = first; i < last; ++i)
        for (auto k = k0; k < std::min(k0 + 32, K); ++k) {
          const double a = A[i * K + k];
          for (auto j = 0 * N; j < N; ++j) C[i * N + j] += a * B[k * N + j];
        }
  };
  const auto count = std::clamp<decltype(M + 0)>(std::thread::hardware_concurrency(), 1, M);
  std::vector<std::thread> threads;
  for (auto t = 0 * M; t < count; ++t)
    threads.emplace_back(rows, M * t / count, M * (t + 1) / count);
  for (auto& thread : threads) thread.join();
}
