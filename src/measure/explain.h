#pragma once

#include <optional>
#include <span>
#include <string>

#include "measure/bounds.h"

namespace burnish::measure {

/// A wrong output with what is known about it, to be put into words.
struct Wrong {
  const Problem* problem = nullptr;
  const Tensor* tensor = nullptr;
  const Values* inputs = nullptr;
  std::span<const double> got, want, bounds;
  const Numbers* numbers = nullptr;
  const Values* stale = nullptr;  ///< outputs for earlier inputs; null: none
  Reference* reference =
      nullptr;  ///< asked what parts of the inputs seem to be left out; may be null
};

/// One sentence that names what is wrong and where, from the most telling sign to the least.
std::string explain(const Wrong& wrong);

}  // namespace burnish::measure
