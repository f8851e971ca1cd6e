#include <algorithm>
#include <thread>
#include <vector>

#include "burnish_reference.h"

// Filters are shared among threads.
void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto C = dims["C"], F = dims["F"], H = dims["H"], L = dims["L"];
  const double* X = in["X"];
  const double* W = in["W"];
  double* Y = out["Y"];
  const auto filters = [=](auto first, auto last) {
    for (auto f = first; f < last; ++f)
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
  };
  const auto count = std::clamp<decltype(F + 0)>(std::thread::hardware_concurrency(), 1, F);
  std::vector<std::thread> threads;
  for (auto t = 0 * F; t < count; ++t)
    threads.emplace_back(filters, F * t / count, F * (t + 1) / count);
  for (auto& thread : threads) thread.join();
}
