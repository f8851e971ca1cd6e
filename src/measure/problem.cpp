#include "measure/problem.h"

namespace burnish::measure {

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::uint64_t Tensor::bytes() const {
  return static_cast<std::uint64_t>(elements()) * size_of(dtype);
}

}  // namespace burnish::measure
