#include "measure/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/parallel.h"
#include "base/text.h"

namespace burnish::measure {
namespace {

constexpr std::int64_t kTile = 16;          ///< side of a square tile
constexpr std::int64_t kLineTile = 256;     ///< length of a tile of a vector
constexpr std::size_t kGrain = 1 << 18;     ///< elements that one core takes at a time
constexpr std::size_t kMostSums = 1 << 14;  ///< of slices, beside each other for every core
constexpr std::int64_t kFewest = 64;        ///< elements for a root mean square that can be trusted

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
  /// Of the error to what is allowed; `alike` as in ErrorModel.
  double ratio(double alike) const {
    if (error == 0) return 0;
    const double allowed = std::max(norm_share(static_cast<double>(count)) * std::sqrt(bound),
                                    alike * std::sqrt(want));
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

/// Calls `function(index, from, to)` for each run of neighbours in [begin, end) that share an index
/// along an axis of `size` with `below` elements under each of its indices.
template <class Function>
void for_each_run(std::int64_t begin, std::int64_t end, std::int64_t size, std::int64_t below,
                  Function&& function) {
  std::int64_t index = begin / below % size;
  for (std::int64_t from = begin; from < end;) {
    const std::int64_t to = std::min(end, (from / below + 1) * below);
    function(index, from, to);
    if (++index == size) index = 0;
    from = to;
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

/// What a run of the leading indices adds to the comparison of a whole tensor.
class Tally {
 public:
  struct Worst {
    double ratio;
    std::int64_t flat;
  };

  Tally(const Tensor& tensor, std::span<const double> got, std::span<const double> want,
        std::span<const double> bounds, double alike, Tolerance::NonFinite non_finite)
      : tensor_(tensor),
        got_(got),
        want_(want),
        bounds_(bounds),
        alike_(alike),
        non_finite_(non_finite),
        shape_(layout(tensor)),
        rank_(tensor.shape.size()),
        tile_columns_(rank_ >= 2 ? kTile : kLineTile),
        tiles_(static_cast<std::size_t>((shape_.columns + tile_columns_ - 1) / tile_columns_)) {
    numbers.histogram.assign(8, 0);
    slices.resize(rank_);
    for (std::size_t axis = 0; axis < rank_; ++axis) {
      slices[axis].resize(static_cast<std::size_t>(tensor.shape[axis]));
    }
  }

  /// Rows [begin, end) of all matrices, one below the other; no tile may be cut. `matrices` are of
  /// all leading indices.
  void scan(std::int64_t begin, std::int64_t end, std::vector<Part>& matrices) {
    std::int64_t flat = begin * shape_.columns;
    for (std::int64_t line_index = begin; line_index < end; ++line_index) {
      const std::int64_t leading = line_index / shape_.rows, row = line_index % shape_.rows;
      Part line;
      for (std::int64_t column = 0; column < shape_.columns; ++column, ++flat) {
        const std::optional<Part> element = scan_element(flat);
        if (!element) continue;
        line.add(*element);
        tiles_[static_cast<std::size_t>(column / tile_columns_)].add(*element);
        if (rank_ >= 1) slices[rank_ - 1][static_cast<std::size_t>(column)].add(*element);
      }
      std::int64_t outer = leading;
      for (std::size_t axis = rank_ >= 2 ? rank_ - 2 : 0; axis > 0; --axis) {
        const std::int64_t size = tensor_.shape[axis - 1];
        slices[axis - 1][static_cast<std::size_t>(outer % size)].add(line);
        outer /= size;
      }
      if (rank_ >= 2) slices[rank_ - 2][static_cast<std::size_t>(row)].add(line);
      if (rank_ >= 4) matrices[static_cast<std::size_t>(leading)].add(line);
      whole.add(line);
      if ((row + 1) % kTile == 0 || row + 1 == shape_.rows) close_tiles(leading, row);
    }
  }

  /// Adds what comes after it.
  void merge(const Tally& next) {
    numbers.failing += next.numbers.failing;
    for (std::size_t i = 0; i < numbers.histogram.size(); ++i)
      numbers.histogram[i] += next.numbers.histogram[i];
    numbers.worst_ratio = std::max(numbers.worst_ratio, next.numbers.worst_ratio);
    numbers.errors.max_abs = std::max(numbers.errors.max_abs, next.numbers.errors.max_abs);
    numbers.errors.max_rel = std::max(numbers.errors.max_rel, next.numbers.errors.max_rel);
    if (next.numbers.part_ratio > numbers.part_ratio) {
      numbers.part_ratio = next.numbers.part_ratio;
      numbers.part = next.numbers.part;
    }
    for (const Worst& one : next.worst) keep(one);
    for (std::size_t axis = 0; axis < slices.size(); ++axis)
      for (std::size_t i = 0; i < slices[axis].size(); ++i)
        slices[axis][i].add(next.slices[axis][i]);
    whole.add(next.whole);
    dot += next.dot;
  }

  void consider_part(const Part& part, auto&& name) {
    const double ratio = part.ratio(alike_);
    if (ratio > numbers.part_ratio) {
      numbers.part_ratio = ratio;
      numbers.part = name();
    }
  }

  Numbers numbers;
  std::vector<std::vector<Part>> slices;  ///< by axis, then index
  Part whole;
  double dot = 0;
  std::vector<Worst> worst;

 private:
  /// Absent where the values are not finite.
  std::optional<Part> scan_element(std::int64_t flat) {
    const auto i = static_cast<std::size_t>(flat);
    const double g = got_[i], w = want_[i], bound = bounds_[i];
    if (!std::isfinite(g) || !std::isfinite(w)) {
      const bool allowed = non_finite_ == Tolerance::NonFinite::as_reference && same_class(g, w);
      if (!allowed) {
        ++numbers.failing;
        ++numbers.histogram[7];
        numbers.worst_ratio = std::numeric_limits<double>::infinity();
        if (worst.size() < kWorst) worst.push_back({numbers.worst_ratio, flat});
      }
      return std::nullopt;
    }
    const double error = std::abs(g - w);
    numbers.errors.max_abs = std::max(numbers.errors.max_abs, error);
    if (error > 0 && w != 0) {
      numbers.errors.max_rel = std::max(numbers.errors.max_rel, error / std::abs(w));
    }
    double ratio = 0;
    if (error > 0) ratio = bound > 0 ? error / bound : std::numeric_limits<double>::infinity();
    if (!(ratio <= 1)) ++numbers.failing;
    ++numbers.histogram[decade_of(ratio)];
    if (ratio > numbers.worst_ratio) numbers.worst_ratio = ratio;
    if (ratio > 0) keep({ratio, flat});
    dot += g * w;
    return Part{error * error, bound * bound, w * w, 1};
  }

  /// Of error / bound: 0 up to 1e-6, 1 up to 1e-5, …, 7 above 1.
  static std::size_t decade_of(double ratio) {
    static constexpr double kDecades[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};
    std::size_t decade = 7;
    while (decade > 0 && ratio <= kDecades[decade - 1]) --decade;
    return decade;
  }

  void keep(const Worst& one) {
    if (worst.size() >= kWorst && !(one.ratio > worst.back().ratio)) return;
    const auto at = std::upper_bound(worst.begin(), worst.end(), one.ratio,
                                     [](double r, const Worst& o) { return r > o.ratio; });
    worst.insert(at, one);
    if (worst.size() > kWorst) worst.pop_back();
  }

  void close_tiles(std::int64_t leading, std::int64_t row) {
    for (std::size_t t = 0; t < tiles_.size(); ++t) {
      consider_part(tiles_[t], [&] {
        return tile_name(tensor_, leading, row - row % kTile,
                         static_cast<std::int64_t>(t) * tile_columns_, shape_);
      });
    }
    std::fill(tiles_.begin(), tiles_.end(), Part{});
  }

  const Tensor& tensor_;
  std::span<const double> got_, want_, bounds_;
  double alike_;
  Tolerance::NonFinite non_finite_;
  Layout shape_;
  std::size_t rank_;
  std::int64_t tile_columns_;
  std::vector<Part> tiles_;
};

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
      // Rounding to nearest has no bias; a 16-bit result that is cut off has one of 0.7 u. Where
      // all elements are of a few values, each of these may be off by all that one rounding may be.
      double bias = size_of(output.dtype) == 1 ? 0.4 : 1;
      if (rounding == Rounding::structured) {
        bias = size_of(output.dtype) == 1 ? 1 : 2;
        model.alike = bias * u_out + computed;
      }
      model.slope = (bias + 4 / std::sqrt(elements)) * u_out + computed;
    }
  }
  if (tolerance.relative) {
    model.relative = *tolerance.relative;
    if (model.slope) model.slope = tolerance.relative;
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
  for_each_piece(want.size(), kGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (std::abs(want[i]) < limit || !std::isfinite(want[i])) continue;
      want[i] = rounded(dtype, {want[i]})[0];
    }
  });
  return want;
}

std::vector<double> element_scale(const Tensor& tensor, std::span<const double> want) {
  const std::size_t rank = tensor.shape.size();
  const auto count = static_cast<std::int64_t>(want.size());
  const std::size_t pieces = pieces_of(want.size(), kGrain);
  struct Sum {
    double squares = 0;
    std::int64_t count = 0;
    void add(double value) {
      if (!std::isfinite(value)) return;
      squares += value * value;
      ++count;
    }
  };
  std::vector<Sum> sums_of_pieces(pieces);
  for_each_piece(want.size(), kGrain, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) sums_of_pieces[piece].add(want[i]);
  });
  double total = 0;
  std::int64_t finite = 0;
  for (const Sum& sum : sums_of_pieces) {
    total += sum.squares;
    finite += sum.count;
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
    // Every piece has sums of its own; where they are many, one piece is all.
    const std::size_t grain = sums.size() <= kMostSums ? kGrain : want.size();
    std::vector<std::vector<Sum>> by_piece(pieces_of(want.size(), grain));
    for_each_piece(want.size(), grain, [&](std::size_t piece, std::size_t begin, std::size_t end) {
      std::vector<Sum>& own = by_piece[piece];
      own.resize(sums.size());
      for_each_run(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end), size, below,
                   [&](std::int64_t index, std::int64_t from, std::int64_t to) {
                     Sum& sum = own[static_cast<std::size_t>(index / group)];
                     for (std::int64_t i = from; i < to; ++i)
                       sum.add(want[static_cast<std::size_t>(i)]);
                   });
    });
    for (const std::vector<Sum>& own : by_piece) {
      for (std::size_t at = 0; at < own.size(); ++at) {
        sums[at] += own[at].squares;
        counts[at] += own[at].count;
      }
    }
    // A last group that is cut short borrows from the one before it.
    if (counts.back() < kFewest / 2) {
      sums.back() += sums[sums.size() - 2];
      counts.back() += counts[counts.size() - 2];
    }
    for (std::size_t at = 0; at < sums.size(); ++at) {
      sums[at] =
          counts[at] > 0 ? std::sqrt(sums[at] / static_cast<double>(counts[at])) / overall : 1;
    }
    for_each_piece(want.size(), kGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
      for_each_run(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end), size, below,
                   [&](std::int64_t index, std::int64_t from, std::int64_t to) {
                     const double factor = sums[static_cast<std::size_t>(index / group)];
                     for (std::int64_t i = from; i < to; ++i)
                       scale[static_cast<std::size_t>(i)] *= factor;
                   });
    });
  }
  return scale;
}

std::vector<double> element_bounds(const ErrorModel& model, const Tensor& tensor,
                                   std::span<const double> want, std::span<const double> moves) {
  std::vector<double> bounds =
      model.spread > 0 ? element_scale(tensor, want) : std::vector<double>(want.size());
  for_each_piece(bounds.size(), kGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!moves.empty()) bounds[i] = std::max(bounds[i], moves[i]);
      bounds[i] = model.absolute + model.spread * bounds[i] +
                  (std::isfinite(want[i]) ? model.relative * std::abs(want[i]) : 0);
    }
  });
  return bounds;
}

double norm_share(double elements) {
  return std::min(1.0, 0.25 + 2 / std::sqrt(std::max(elements, 1.0)));
}

Numbers compare(const Tensor& tensor, std::span<const double> got, std::span<const double> want,
                std::span<const double> bounds, const ErrorModel& model,
                Tolerance::NonFinite non_finite) {
  const Layout shape = layout(tensor);
  const std::size_t rank = tensor.shape.size();
  std::vector<Part> matrices(static_cast<std::size_t>(shape.leading));
  std::size_t sums = 0;
  for (const std::int64_t size : tensor.shape) sums += static_cast<std::size_t>(size);
  // A piece is of whole matrices, or of whole rows of tiles where there is but one matrix.
  const auto height = static_cast<std::size_t>(shape.rows);
  const std::size_t rows = matrices.size() * height;
  const std::size_t unit = rank <= 2 ? static_cast<std::size_t>(kTile) : height;
  const std::size_t elements =
      unit * static_cast<std::size_t>(std::max<std::int64_t>(shape.columns, 1));
  const std::size_t grain =
      sums <= kMostSums ? unit * std::max<std::size_t>(kGrain / elements, 1) : rows;
  std::vector<Tally> tallies;
  for (std::size_t i = 0; i < pieces_of(rows, grain); ++i)
    tallies.emplace_back(tensor, got, want, bounds, model.alike, non_finite);
  for_each_piece(rows, grain, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    tallies[piece].scan(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end), matrices);
  });
  Tally& all = tallies.front();
  for (std::size_t i = 1; i < tallies.size(); ++i) all.merge(tallies[i]);
  Numbers& result = all.numbers;
  auto& slices = all.slices;
  const Part& whole = all.whole;
  const double dot = all.dot;
  const auto& worst = all.worst;
  const auto consider_part = [&](const Part& part, auto&& name) { all.consider_part(part, name); };

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
  result.global_ratio = whole.ratio(model.alike);
  const double relative = whole.relative();
  result.errors.global = relative;
  if (whole.want > 0) result.slope = dot / whole.want;
  if (model.slope && *model.slope > 0 && whole.want > 0) {
    result.slope_ratio = std::abs(result.slope - 1) / *model.slope;
  }
  for (const Tally::Worst& entry : worst) {
    const auto i = static_cast<std::size_t>(entry.flat);
    result.worst.push_back(
        {tensor.name, element_index(tensor, entry.flat), got[i], want[i], bounds[i]});
  }
  return std::move(result);
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
