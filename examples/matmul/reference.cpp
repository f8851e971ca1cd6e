#include "burnish_reference.h"

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto M = dims["M"], N = dims["N"], K = dims["K"];
  const double* A = in["A"];
  const double* B = in["B"];
  double* C = out["C"];
  for (auto i = 0 * M; i < M; ++i) {
    for (auto j = 0 * N; j < N; ++j) C[i * N + j] = 0;
    for (auto k = 0 * K; k < K; ++k) {
      const double a = A[i * K + k];
      for (auto j = 0 * N; j < N; ++j) C[i * N + j] += a * B[k * N + j];
    }
  }
}
