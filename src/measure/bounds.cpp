#include "measure/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace burnish::measure {
namespace {

constexpr std::int64_t kTile = 16;       ///< side of a square tile
constexpr std::int64_t kLineTile = 256;  ///< length of a tile of a vector
constexpr std::int64_t kFewest = 64;     ///< elements for a root mean square that can be trusted

/// The precision that a kernel may compute in: that of its output, but no better than f32 is asked
/// of narrow formats; and no better than the task's math path when inputs are rounded to it.
double compute_round_off(const Problem& problem, const Tensor& output) {
  const double f32 = unit_round_off(DType::f32);
  double round_off = output.dtype == DType::f64 ? unit_round_off(DType::f64) : f32;
  double finest_input = 1;
  for (const Tensor& tensor : problem.tensors) {
    if (is_input(tensor) && is_floating(tensor.dtype)) {
      finest_input = std::min(finest_input, unit_round_off(tensor.dtype));
    }
  }
  std::string_view path = problem.work.math_path;
  path = path.substr(0, path.find('-'));
  double path_round_off = 0;
  if (path == "tf32") {
    path_round_off = unit_round_off(DType::f16);  // both have 10 stored bits
  } else if (const auto dtype = parse_dtype(path)) {
    path_round_off = unit_round_off(*dtype);
  }
  if (path_round_off > finest_input) round_off = std::max(round_off, path_round_off);
  return round_off;
}

/// The tensor as `leading` matrices of `rows` × `columns`.
struct Layout {
  std::int64_t leading = 1, rows = 1, columns = 1;
};

Layout layout(const Tensor& tensor) {
  Layout result;
  const std::size_t rank = tensor.shape.size();
  if (rank >= 1) result.columns = tensor.shape[rank - 1];
  if (rank >= 2) result.rows = tensor.shape[rank - 2];
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) result.leading *= tensor.shape[axis];
  return result;
}

struct Part {
  double error = 0, bound = 0, want = 0;  ///< sums of squares
  std::int64_t count = 0;
  void add(const Part& other) {
    error += other.error;
    bound += other.bound;
    want += other.want;
    count += other.count;
  }
  double ratio() const {
    if (error == 0) return 0;
    const double allowed = norm_share(static_cast<double>(count)) * std::sqrt(bound);
    return allowed > 0 ? std::sqrt(error) / allowed : std::numeric_limits<double>::infinity();
  }
  double relative() const {
    if (error == 0) return 0;
    return want > 0 ? std::sqrt(error / want) : std::numeric_limits<double>::infinity();
  }
};

bool same_class(double got, double want) {
  return (std::isnan(got) && std::isnan(want)) || (std::isinf(got) && got == want);
}

/// Calls `function(index, from)` for each run of `below` neighbours that share an index along an
/// axis of `size`; `from` is the flat index of the first.
template <class Function>
void for_each_run(std::int64_t count, std::int64_t size, std::int64_t below, Function&& function) {
  for (std::int64_t from = 0, index = 0; from < count; from += below) {
    function(index, from);
    if (++index == size) index = 0;
  }
}

std::string tile_name(const Tensor& tensor, std::int64_t leading, std::int64_t row,
                      std::int64_t column, const Layout& shape) {
  const std::size_t rank = tensor.shape.size();
  std::vector<std::string> parts;
  if (rank >= 2) {
    for (std::size_t axis = rank - 2; axis > 0; --axis) {
      parts.push_back(std::to_string(leading % tensor.shape[axis - 1]));
      leading /= tensor.shape[axis - 1];
    }
    std::reverse(parts.begin(), parts.end());
    parts.push_back(fmt::format("{}:{}", row, std::min(row + kTile, shape.rows)));
  }
  const std::int64_t width = rank >= 2 ? kTile : kLineTile;
  parts.push_back(fmt::format("{}:{}", column, std::min(column + width, shape.columns)));
  return fmt::format("{}[{}]", tensor.name, join(parts, ", "));
}

}  // namespace

ErrorModel error_model(const Problem& problem, const Tensor& output, Rounding rounding) {
  const Tolerance& tolerance = problem.tolerance;
  ErrorModel model;
  if (is_floating(output.dtype)) {
    const double terms = std::max(tolerance.accumulation, 1.0);
    const double u_out = unit_round_off(output.dtype);
    const double u = compute_round_off(problem, output);
    // The reference works in double precision, so that finer changes would drown in its own
    // rounding.
    model.perturbation = std::max(u, 0x1p-36);
    double growth = 8 * std::sqrt(terms);
    if (rounding == Rounding::structured) growth += 2 * terms;
    // The reference rounds too, which counts only where its double precision is the output's.
    const double reference = output.dtype == DType::f64 ? 2 : 1;
    const double computed = reference * (32 + growth) * u;
    model.relative = 4 * u_out + computed;
    model.spread = computed + (u_out > unit_round_off(DType::f32) ? 2 * u_out : 0);
    const bool wide_exponent = smallest_normal(output.dtype) <= smallest_normal(DType::f32);
    // f32, bf16 and f64 units may flush denormals to zero, term by term; f16 and fp8 units need
    // not.
    model.absolute = wide_exponent ? (1 + terms) * smallest_normal(DType::f32)
                                   : 2 * u_out * smallest_normal(output.dtype);
    if (output.dtype == DType::f64) model.absolute = (1 + terms) * smallest_normal(DType::f64);
    if (u_out >= unit_round_off(DType::f16)) {
      const double elements = static_cast<double>(std::max<std::int64_t>(output.elements(), 1));
      // Rounding to nearest has no bias; a 16-bit result that is cut off has one of 0.7 u.
      const double bias = size_of(output.dtype) == 1 ? 0.4 : 1;
      model.slope = (bias + 4 / std::sqrt(elements)) * u_out + computed;
    }
  }
  if (tolerance.relative) {
    model.relative = *tolerance.relative;
    if (model.slope) model.slope = *tolerance.relative;
  }
  if (tolerance.absolute) {
    model.absolute = *tolerance.absolute;
    model.spread = 0;
  }
  return model;
}

std::vector<double> representable(DType dtype, std::vector<double> want) {
  if (!is_floating(dtype)) return rounded(dtype, std::move(want));
  const double limit = largest(dtype) * (1 + unit_round_off(dtype));
  for (double& value : want) {
    if (std::abs(value) < limit || !std::isfinite(value)) continue;
    value = rounded(dtype, {value})[0];
  }
  return want;
}

std::vector<double> element_scale(const Tensor& tensor, std::span<const double> want) {
  const std::size_t rank = tensor.shape.size();
  const auto count = static_cast<std::int64_t>(want.size());
  double total = 0;
  std::int64_t finite = 0;
  for (const double value : want) {
    if (!std::isfinite(value)) continue;
    total += value * value;
    ++finite;
  }
  const double overall = finite > 0 ? std::sqrt(total / static_cast<double>(finite)) : 0;
  std::vector<double> scale(want.size(), overall);
  if (overall == 0 || !std::isfinite(overall)) return scale;

  std::int64_t below = count;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t size = tensor.shape[axis];
    below /= size;
    // Neighbours along the axis are taken together until there are enough elements to judge by.
    const std::int64_t in_slice = count / size;
    const std::int64_t group = (kFewest + in_slice - 1) / in_slice;
    const std::int64_t groups = (size + group - 1) / group;
    if (groups < 2) continue;
    std::vector<double> sums(static_cast<std::size_t>(groups));
    std::vector<std::int64_t> counts(sums.size());
    for_each_run(count, size, below, [&](std::int64_t index, std::int64_t from) {
      const auto at = static_cast<std::size_t>(index / group);
      for (std::int64_t i = from; i < from + below; ++i) {
        const double value = want[static_cast<std::size_t>(i)];
        if (!std::isfinite(value)) continue;
        sums[at] += value * value;
        ++counts[at];
      }
    });
    // A last group that is cut short borrows from the one before it.
    if (counts.back() < kFewest / 2) {
      sums.back() += sums[sums.size() - 2];
      counts.back() += counts[counts.size() - 2];
    }
    for (std::size_t at = 0; at < sums.size(); ++at) {
      sums[at] =
          counts[at] > 0 ? std::sqrt(sums[at] / static_cast<double>(counts[at])) / overall : 1;
    }
    for_each_run(count, size, below, [&](std::int64_t index, std::int64_t from) {
      const double factor = sums[static_cast<std::size_t>(index / group)];
      for (std::int64_t i = from; i < from + below; ++i) {
        scale[static_cast<std::size_t>(i)] *= factor;
      }
    });
  }
  return scale;
}

std::vector<double> element_bounds(const ErrorModel& model, const Tensor& tensor,
                                   std::span<const double> want, std::span<const double> moves) {
  std::vector<double> bounds =
      model.spread > 0 ? element_scale(tensor, want) : std::vector<double>(want.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!moves.empty()) bounds[i] = std::max(bounds[i], moves[i]);
    bounds[i] = model.absolute + model.spread * bounds[i] +
                (std::isfinite(want[i]) ? model.relative * std::abs(want[i]) : 0);
  }
  return bounds;
}

double norm_share(double elements) {
  return std::min(1.0, 0.25 + 2 / std::sqrt(std::max(elements, 1.0)));
}

Numbers compare(const Tensor& tensor, std::span<const double> got, std::span<const double> want,
                std::span<const double> bounds, const ErrorModel& model,
                Tolerance::NonFinite non_finite) {
  Numbers result;
  result.histogram.assign(8, 0);
  const Layout shape = layout(tensor);
  const std::size_t rank = tensor.shape.size();
  const std::int64_t tile_rows = kTile;
  const std::int64_t tile_columns = rank >= 2 ? kTile : kLineTile;
  const std::int64_t tiles_across = (shape.columns + tile_columns - 1) / tile_columns;

  std::vector<std::vector<Part>> slices(rank);  // by axis, then index
  for (std::size_t axis = 0; axis < rank; ++axis) {
    slices[axis].resize(static_cast<std::size_t>(tensor.shape[axis]));
  }
  std::vector<Part> matrices(static_cast<std::size_t>(shape.leading));
  std::vector<Part> tiles(static_cast<std::size_t>(tiles_across));
  Part whole;
  double dot = 0;
  struct Worst {
    double ratio;
    std::int64_t flat;
  };
  std::vector<Worst> worst;

  auto consider_part = [&](const Part& part, auto&& name) {
    const double ratio = part.ratio();
    if (ratio > result.part_ratio) {
      result.part_ratio = ratio;
      result.part = name();
    }
  };
  auto close_tiles = [&](std::int64_t leading, std::int64_t row) {
    for (std::int64_t t = 0; t < tiles_across; ++t) {
      consider_part(tiles[static_cast<std::size_t>(t)], [&] {
        return tile_name(tensor, leading, row - row % tile_rows, t * tile_columns, shape);
      });
    }
    std::fill(tiles.begin(), tiles.end(), Part{});
  };

  std::int64_t flat = 0;
  for (std::int64_t leading = 0; leading < shape.leading; ++leading) {
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      Part line;
      for (std::int64_t column = 0; column < shape.columns; ++column, ++flat) {
        const auto i = static_cast<std::size_t>(flat);
        const double g = got[i], w = want[i], bound = bounds[i];
        if (!std::isfinite(g) || !std::isfinite(w)) {
          const bool allowed = non_finite == Tolerance::NonFinite::as_reference && same_class(g, w);
          if (!allowed) {
            ++result.failing;
            ++result.histogram[7];
            result.worst_ratio = std::numeric_limits<double>::infinity();
            if (worst.size() < kWorst) worst.push_back({result.worst_ratio, flat});
          }
          continue;
        }
        const double error = std::abs(g - w);
        result.errors.max_abs = std::max(result.errors.max_abs, error);
        if (error > 0 && w != 0) {
          result.errors.max_rel = std::max(result.errors.max_rel, error / std::abs(w));
        }
        double ratio = 0;
        if (error > 0) {
          ratio = bound > 0 ? error / bound : std::numeric_limits<double>::infinity();
        }
        if (!(ratio <= 1)) ++result.failing;
        int decade = ratio <= 1e-6 ? 0 : static_cast<int>(std::ceil(std::log10(ratio))) + 6;
        ++result.histogram[static_cast<std::size_t>(std::clamp(decade, 0, 7))];
        if (ratio > result.worst_ratio) result.worst_ratio = ratio;
        if (ratio > 0 && (worst.size() < kWorst || ratio > worst.back().ratio)) {
          const auto at = std::upper_bound(worst.begin(), worst.end(), ratio,
                                           [](double r, const Worst& o) { return r > o.ratio; });
          worst.insert(at, {ratio, flat});
          if (worst.size() > kWorst) worst.pop_back();
        }
        dot += g * w;
        const Part element{error * error, bound * bound, w * w, 1};
        line.add(element);
        tiles[static_cast<std::size_t>(column / tile_columns)].add(element);
        if (rank >= 1) slices[rank - 1][static_cast<std::size_t>(column)].add(element);
      }
      std::int64_t outer = leading;
      for (std::size_t axis = rank >= 2 ? rank - 2 : 0; axis > 0; --axis) {
        const std::int64_t size = tensor.shape[axis - 1];
        slices[axis - 1][static_cast<std::size_t>(outer % size)].add(line);
        outer /= size;
      }
      if (rank >= 2) slices[rank - 2][static_cast<std::size_t>(row)].add(line);
      matrices[static_cast<std::size_t>(leading)].add(line);
      whole.add(line);
      if ((row + 1) % tile_rows == 0 || row + 1 == shape.rows) close_tiles(leading, row);
    }
  }

  auto consider_slice = [&](const Part& part, const std::string& name) {
    const double relative = part.relative();
    if (std::isfinite(relative) && relative >= result.errors.slice) {
      result.errors.slice = relative;
      result.errors.worst_slice = name;
    }
    consider_part(part, [&] { return name; });
  };
  for (std::size_t axis = 0; axis < rank; ++axis) {
    for (std::size_t index = 0; index < slices[axis].size(); ++index) {
      consider_slice(slices[axis][index],
                     slice_name(tensor, axis, static_cast<std::int64_t>(index)));
    }
  }
  // Combinations of the leading indices, such as (batch, channel), are slices as well.
  if (rank >= 4) {
    for (std::int64_t leading = 0; leading < shape.leading; ++leading) {
      auto index = element_index(tensor, leading * shape.rows * shape.columns);
      std::vector<std::string> parts;
      for (std::size_t axis = 0; axis + 2 < rank; ++axis)
        parts.push_back(std::to_string(index[axis]));
      consider_slice(matrices[static_cast<std::size_t>(leading)],
                     fmt::format("{}[{}, :, :]", tensor.name, join(parts, ", ")));
    }
  }
  result.global_ratio = whole.ratio();
  const double relative = whole.relative();
  result.errors.global = relative;
  if (whole.want > 0) result.slope = dot / whole.want;
  if (model.slope && *model.slope > 0 && whole.want > 0) {
    result.slope_ratio = std::abs(result.slope - 1) / *model.slope;
  }
  for (const Worst& entry : worst) {
    const auto i = static_cast<std::size_t>(entry.flat);
    result.worst.push_back(
        {tensor.name, element_index(tensor, entry.flat), got[i], want[i], bounds[i]});
  }
  return result;
}

std::vector<std::int64_t> element_index(const Tensor& tensor, std::int64_t flat) {
  std::vector<std::int64_t> index(tensor.shape.size());
  for (std::size_t axis = tensor.shape.size(); axis > 0; --axis) {
    index[axis - 1] = flat % tensor.shape[axis - 1];
    flat /= tensor.shape[axis - 1];
  }
  return index;
}

std::string element_name(const Tensor& tensor, std::int64_t flat) {
  std::vector<std::string> parts;
  for (const std::int64_t index : element_index(tensor, flat))
    parts.push_back(std::to_string(index));
  return parts.empty() ? tensor.name : fmt::format("{}[{}]", tensor.name, join(parts, ", "));
}

std::string slice_name(const Tensor& tensor, std::size_t axis, std::int64_t index) {
  std::vector<std::string> parts;
  for (std::size_t a = 0; a < tensor.shape.size(); ++a) {
    parts.push_back(a == axis ? std::to_string(index) : ":");
  }
  return fmt::format("{}[{}]", tensor.name, join(parts, ", "));
}

}  // namespace burnish::measure
