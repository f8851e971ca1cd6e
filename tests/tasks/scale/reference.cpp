#include "burnish_reference.h"

void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  for (auto i = 0 * dims["N"]; i < dims["N"]; ++i) out["y"][i] = in["x"][i] * in["x"][i] + 1;
}
