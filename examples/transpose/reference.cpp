#include <algorithm>

#include "burnish_reference.h"

// Rows of B are shared among threads some at a time: that many columns of A are in the lines it
// reads.
void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto M = dims["M"], N = dims["N"];
  const double* A = in["A"];
  double* B = out["B"];
  constexpr int kRows = 16;
  burnish::parallel((N + kRows - 1) / kRows, [=](auto strip) {
    const auto first = strip * kRows, last = std::min(first + kRows, N);
    for (auto i = 0 * M; i < M; ++i)
      for (auto j = first; j < last; ++j) B[j * M + i] = A[i * N + j];
  });
}
