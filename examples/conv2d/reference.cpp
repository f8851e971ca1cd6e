#include "burnish_reference.h"

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto C = dims["C"], F = dims["F"], H = dims["H"], L = dims["L"];
  const double* X = in["X"];
  const double* W = in["W"];
  double* Y = out["Y"];
  for (auto f = 0 * F; f < F; ++f)
    for (auto row = 0 * H; row < H; ++row) {
      double* y = Y + (f * H + row) * L;
      for (auto x = 0 * L; x < L; ++x) y[x] = 0;
      for (auto c = 0 * C; c < C; ++c)
        for (auto i = 0 * C; i < 3; ++i) {
          const auto source = row + i - 1;
          if (source < 0 || source >= H) continue;
          for (auto j = 0 * C; j < 3; ++j) {
            const double w = W[((f * C + c) * 3 + i) * 3 + j];
            const double* line = X + (c * H + source) * L;
            for (auto x = 0 * L; x < L; ++x)
              if (x + j - 1 >= 0 && x + j - 1 < L) y[x] += w * line[x + j - 1];
          }
        }
    }
}
