#include "burnish_reference.h"

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  const auto N = dims["N"];
  for (auto i = 0 * N; i < N; ++i) {
    const auto other = i ^ 32;
    out["y"][i] = in["x"][i] + (other < N ? in["x"][other] : 0);
  }
}
