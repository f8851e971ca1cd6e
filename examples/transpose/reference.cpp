#include "burnish_reference.h"

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto M = dims["M"], N = dims["N"];
  const double* A = in["A"];
  double* B = out["B"];
  for (auto i = 0 * M; i < M; ++i)
    for (auto j = 0 * N; j < N; ++j) B[j * M + i] = A[i * N + j];
}
