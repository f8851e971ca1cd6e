#include <algorithm>

#include "burnish_reference.h"

// Filters are shared among threads.
void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto C = dims["C"], F = dims["F"], H = dims["H"], L = dims["L"];
  const double* X = in["X"];
  const double* W = in["W"];
  double* Y = out["Y"];
  burnish::parallel(F, [=](auto f) {
    for (auto row = 0 * H; row < H; ++row) {
      double* y = Y + (f * H + row) * L;
      std::fill(y, y + L, 0.0);
      for (auto c = 0 * C; c < C; ++c)
        for (auto i = 0 * C; i < 3; ++i) {
          const auto source = row + i - 1;
          if (source < 0 || source >= H) continue;
          for (auto j = 0 * C; j < 3; ++j) {
            const double w = W[((f * C + c) * 3 + i) * 3 + j];
            const double* line = X + (c * H + source) * L + j - 1;
            const auto end = std::min(L, L + 1 - j);
            for (auto x = std::max(1 - j, 0 * L); x < end; ++x) y[x] += w * line[x];
          }
        }
    }
  });
}
