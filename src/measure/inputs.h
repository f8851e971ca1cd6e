#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "measure/problem.h"

namespace burnish::measure {

/// A way to draw all inputs of a problem, from ordinary to hostile (docs/judging.md).
enum class Family {
  normal,  ///< as the task says
  zeros,
  ones,
  ties,        ///< three distinct values
  denormals,   ///< half of the elements, the other half as the task says
  largest,     ///< as large as the reference bears
  mixed,       ///< magnitudes over many powers of two
  impulses,    ///< one input zero but for an impulse in every slice along every axis
  channels,    ///< one input's slices at different scales, in secret order
  non_finite,  ///< a few NaN and Inf
  ends,        ///< half of the elements at an end of the range that the task states
};
const char* to_string(Family family);

/// The families that mean something for the inputs of this problem.
std::vector<Family> families(const Problem& problem);

/// Whether roundings of sums over such inputs may be taken as random; where not, only the
/// deterministic bound on their growth holds.
enum class Rounding { random, structured };
Rounding rounding(Family family);
bool is_input(const Tensor& tensor);   ///< roles in and inout
bool is_output(const Tensor& tensor);  ///< roles out and inout

/// The elements of every input, rounded to their dtypes and kept inside ranges that the task states
/// (those of uniform and integers draws). `magnitude` is the size of Family::largest.
Values draw_inputs(const Problem& problem, Family family, Generator& generator,
                   double magnitude = 0);

/// Magnitudes to try for Family::largest, from the largest that may do.
std::vector<double> magnitudes(const Problem& problem);

/// `tensor` as drawn by the task; elements rounded.
std::vector<double> draw_tensor(const Tensor& tensor, Generator& generator);

std::vector<double> rounded(DType dtype, std::vector<double> values);

/// The inputs as the bytes that a device buffer holds.
std::map<std::string, std::vector<std::byte>> to_bytes(const Problem& problem,
                                                       const Values& inputs);

/// Sets the elements of `tensor` whose index along `axis` is in [low, high) to what the task draws
/// least of: zero, or the nearest value it allows.
void clear_slice(const Tensor& tensor, std::vector<double>& values, std::size_t axis,
                 std::int64_t low, std::int64_t high);

/// `value` moved into the range that the task states for the tensor.
double inside_range(const Tensor& tensor, double value);

/// Fresh contents for timed launches at no cost: a long drawn vector that is looked at from another
/// offset each time. Two launches share neither content nor the place of any value.
class ContentPool {
 public:
  ContentPool(const Problem& problem, Generator& generator);
  /// Spans stay valid as long as the pool.
  std::map<std::string, std::span<const std::byte>> next(Generator& generator) const;

 private:
  struct Entry {
    std::string name;
    std::size_t element = 1, bytes = 0;
    std::vector<std::byte> content;
  };
  std::vector<Entry> entries_;
};

}  // namespace burnish::measure
