#include "burnish_reference.h"

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto T = dims["T"], E = dims["E"], K = dims["K"];
  for (auto t = 0 * T; t < T; ++t) {
    const double* x = in["G"] + t * E;
    std::vector<bool> taken(static_cast<std::size_t>(E));
    for (auto k = 0 * K; k < K; ++k) {
      auto best = -1 + 0 * E;
      for (auto e = 0 * E; e < E; ++e) {
        if (taken[static_cast<std::size_t>(e)] || std::isnan(x[e])) continue;
        if (best < 0 || x[e] > x[best]) best = e;
      }
      if (best >= 0) taken[static_cast<std::size_t>(best)] = true;
      out["P"][t * K + k] = best < 0 ? 0 : 1 / (1 + std::exp(-x[best]));
      out["I"][t * K + k] = static_cast<double>(best);
    }
  }
}
