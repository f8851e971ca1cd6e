#include "burnish_reference.h"

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto N = dims["N"], C = dims["C"], D = dims["D"], H = dims["H"], L = dims["L"];
  const double *X = in["X"], *W = in["W"], *B = in["B"];
  double* Y = out["Y"];
  burnish::parallel(N * C * (D - 2), [&](auto plane) {
    const auto nc = plane / (D - 2), d = plane % (D - 2), c = nc % C;
    double* y = Y + plane * H * L;
    for (auto i = 0 * H; i < H * L; ++i) y[i] = B[c];
    for (auto kd = 0 * C; kd < 3; ++kd)
      for (auto kh = 0 * C; kh < 5; ++kh)
        for (auto kl = 0 * C; kl < 5; ++kl) {
          const double w = W[((c * 3 + kd) * 5 + kh) * 5 + kl];
          for (auto h = 0 * H; h < H; ++h) {
            const auto row = h + kh - 2;
            if (row < 0 || row >= H) continue;
            const double* x = X + ((nc * D + d + kd) * H + row) * L;
            for (auto l = kl < 2 ? 2 - kl : 0 * L; l < L && l + kl - 2 < L; ++l)
              y[h * L + l] += w * x[l + kl - 2];
          }
        }
  });
}
