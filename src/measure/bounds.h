#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/inputs.h"
#include "measure/verify.h"

namespace burnish::measure {

/// How far an element of an output may be from the reference:
///   absolute + relative · |want| + spread · scale
/// with `scale` the size that such an element statistically has. docs/judging.md derives the
/// numbers.
struct ErrorModel {
  double relative = 0, spread = 0, absolute = 0;
  /// How far the whole tensor may be from 1 times the reference; absent where the norms say as
  /// much.
  std::optional<double> slope;
  /// Relative error that all elements may have alike, where their roundings are: of structured
  /// inputs into a narrow format.
  double alike = 0;
  /// A relative change of the inputs as small as rounding in the kernel's precision.
  double perturbation = 0x1p-24;
};
ErrorModel error_model(const Problem& problem, const Tensor& output, Rounding rounding);

/// The reference's values as the output's dtype can hold them at best: integers rounded, what is
/// beyond the largest finite value infinite; the precision of floating-point values is kept.
std::vector<double> representable(DType dtype, std::vector<double> want);

/// The statistical size of each element: the root mean square of its surroundings along every axis
/// (a rank-one model), so that a small channel has a small scale of its own.
std::vector<double> element_scale(const Tensor& tensor, std::span<const double> want);

/// Bounds of all elements. `moves` are sizes known from elsewhere (Oracle::sensitivity); empty:
/// none.
std::vector<double> element_bounds(const ErrorModel& model, const Tensor& tensor,
                                   std::span<const double> want, std::span<const double> moves);

/// A part of a tensor whose error as a whole is judged: the root of the sum of squares of the
/// errors may be at most `norm_share(elements)` times that of the bounds.
double norm_share(double elements);

struct Numbers {
  Errors errors;
  std::vector<WorstElement> worst;  ///< largest error/bound first; at most kWorst
  std::vector<std::int64_t> histogram;
  std::int64_t failing = 0;  ///< elements beyond their bound, non-finite ones included
  double worst_ratio = 0;    ///< of error to bound, over elements
  double part_ratio = 0;     ///< of error to what is allowed, over slices and tiles
  std::string part;          ///< the worst one: "C[17, :]", "C[16:32, 0:16]"
  double global_ratio = 0;
  double slope = 1;        ///< least-squares factor of got over want
  double slope_ratio = 0;  ///< |slope - 1| over what is allowed; 0 where not judged
  bool right() const {
    return failing == 0 && part_ratio <= 1 && global_ratio <= 1 && slope_ratio <= 1;
  }
};
constexpr std::size_t kWorst = 8;

/// Judges every element, slice, tile and the whole. Non-finite elements fail unless the task lets
/// them be as in the reference; they are left out of the norms.
Numbers compare(const Tensor& tensor, std::span<const double> got, std::span<const double> want,
                std::span<const double> bounds, const ErrorModel& model,
                Tolerance::NonFinite non_finite);

/// "C[3, 17]" of a flat index; "C" of a scalar.
std::string element_name(const Tensor& tensor, std::int64_t flat);
std::vector<std::int64_t> element_index(const Tensor& tensor, std::int64_t flat);
/// "C[17, :]": index `index` along `axis`.
std::string slice_name(const Tensor& tensor, std::size_t axis, std::int64_t index);

}  // namespace burnish::measure
