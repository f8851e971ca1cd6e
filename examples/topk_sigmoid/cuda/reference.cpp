#include "burnish_reference.h"

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto T = dims["T"], E = dims["E"], K = dims["K"];
  const bool bias = dims["BIAS"] != 0, renorm = dims["RENORM"] != 0;
  const double *G = in["G"], *B = in["B"];
  double *P = out["P"], *I = out["I"];
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  burnish::parallel(T, [&](auto t) {
    const double* x = G + t * E;
    std::vector<double> scores(static_cast<std::size_t>(E));
    double* score = scores.data();
    for (auto e = 0 * E; e < E; ++e) score[e] = bias ? sigmoid(x[e]) + B[e] : x[e];
    double sum = 0;
    for (auto k = 0 * K; k < K; ++k) {
      auto best = -1 + 0 * E;
      for (auto e = 0 * E; e < E; ++e) {
        if (std::isnan(score[e])) continue;
        if (best < 0 || score[e] > score[best]) best = e;
      }
      const double weight = best < 0 ? 0 : sigmoid(x[best]);
      if (best >= 0) score[best] = std::nan("");
      sum += weight;
      P[t * K + k] = weight;
      I[t * K + k] = static_cast<double>(best);
    }
    if (renorm && sum > 0)
      for (auto k = 0 * K; k < K; ++k) P[t * K + k] /= sum;
  });
}
