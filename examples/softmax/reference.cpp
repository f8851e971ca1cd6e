#include <cmath>

#include "burnish_reference.h"

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto R = dims["R"], C = dims["C"];
  const double* X = in["X"];
  double* Y = out["Y"];
  burnish::parallel(R, [=](auto r) {
    const double* x = X + r * C;
    double* y = Y + r * C;
    double best = -INFINITY, sum = 0;
    for (auto c = 0 * C; c < C; ++c) best = std::fmax(best, x[c]);
    for (auto c = 0 * C; c < C; ++c) sum += y[c] = std::exp(x[c] - best);
    for (auto c = 0 * C; c < C; ++c) y[c] /= sum;
  });
}
