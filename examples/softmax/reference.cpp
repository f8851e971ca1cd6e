#include <cmath>

#include "burnish_reference.h"

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto R = dims["R"], C = dims["C"];
  for (auto r = 0 * R; r < R; ++r) {
    const double* x = in["X"] + r * C;
    double* y = out["Y"] + r * C;
    double best = -INFINITY, sum = 0;
    for (auto c = 0 * C; c < C; ++c) best = std::fmax(best, x[c]);
    for (auto c = 0 * C; c < C; ++c) sum += y[c] = std::exp(x[c] - best);
    for (auto c = 0 * C; c < C; ++c) y[c] /= sum;
  }
}
