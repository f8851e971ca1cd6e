#include "measure/inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "base/parallel.h"

namespace burnish::measure {
namespace {

using device::Buffer;

/// Extra elements of a content pool: as many different launches before a content could return.
constexpr std::size_t kPoolSlack = 65536;
/// Elements that are drawn from one seed: a few milliseconds of a core.
constexpr std::size_t kDrawn = 1 << 18;

bool bounded(const Tensor& tensor) {
  return tensor.draw.kind == Draw::Kind::uniform || tensor.draw.kind == Draw::Kind::integers;
}

bool holds_reals(const Tensor& tensor) {
  return is_floating(tensor.dtype) && tensor.draw.kind != Draw::Kind::integers &&
         tensor.draw.kind != Draw::Kind::constant;
}

double draw_one(const Tensor& tensor, Generator& generator) {
  const Draw& draw = tensor.draw;
  switch (draw.kind) {
    case Draw::Kind::normal:
      return draw.mean + draw.deviation * generator.normal();
    case Draw::Kind::uniform:
      return draw.low + (draw.high - draw.low) * generator.uniform();
    case Draw::Kind::integers: {
      const double count = std::max(std::floor(draw.high) - std::ceil(draw.low) + 1, 1.0);
      return std::ceil(draw.low) + std::floor(count * generator.uniform());
    }
    case Draw::Kind::constant:
      return draw.constant;
  }
  return 0;
}

/// The size of a typical element.
double typical(const Tensor& tensor) {
  const Draw& draw = tensor.draw;
  switch (draw.kind) {
    case Draw::Kind::normal:
      return std::abs(draw.mean) + draw.deviation;
    case Draw::Kind::constant:
      return std::abs(draw.constant);
    default:
      return std::max(std::abs(draw.low), std::abs(draw.high));
  }
}

/// Powers of two by which Family::mixed spreads magnitudes to either side: far beyond what a lower
/// precision bears, and products of two still far from overflow.
int spread_exponent(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 4;
    case DType::fp8e4m3:
      return 2;
    case DType::fp8e5m2:
      return 3;
    default:
      return 10;
  }
}

template <class Function>
void fill(std::vector<double>& values, Function&& function) {
  for (double& value : values) value = function();
}

std::vector<std::int64_t> permutation(std::int64_t size, Generator& generator) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[generator.below(i)]);
  }
  return order;
}

/// Impulses on a background of zeros, at least one in each slice along each axis (of long axes: in
/// 4,096 slices, the last among them).
void draw_impulses(const Tensor& tensor, std::vector<double>& values, Generator& generator) {
  fill(values, [&] { return inside_range(tensor, 0); });
  if (values.empty()) return;
  constexpr std::int64_t kMost = 4096;
  std::int64_t count = 1;
  std::vector<std::vector<std::int64_t>> orders;
  for (const std::int64_t size : tensor.shape) {
    count = std::max(count, std::min(size, kMost));
    auto order = permutation(size, generator);
    // The tail of a reduction is what is skipped most often, so a cut order still has it.
    auto last = std::find(order.begin(), order.end(), size - 1);
    if (last - order.begin() >= kMost) std::iter_swap(order.begin(), last);
    orders.push_back(std::move(order));
  }
  for (std::int64_t k = 0; k < count; ++k) {
    std::size_t flat = 0;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      const auto& order = orders[axis];
      flat = flat * order.size() +
             static_cast<std::size_t>(order[static_cast<std::size_t>(k) % order.size()]);
    }
    const double sign = generator.below(2) == 0 ? 1 : -1;
    values[flat] = inside_range(tensor, sign * typical(tensor) * (1 + generator.uniform()));
  }
}

void scale_channels(const Tensor& tensor, std::vector<double>& values, Generator& generator) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] > 1) axes.push_back(axis);
  }
  if (axes.empty()) return;
  const std::size_t axis = axes[generator.below(axes.size())];
  const auto order = permutation(tensor.shape[axis], generator);
  std::int64_t inner = 1;
  for (std::size_t a = axis + 1; a < tensor.shape.size(); ++a) inner *= tensor.shape[a];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto slice =
        static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % tensor.shape[axis]);
    values[i] = inside_range(tensor, std::ldexp(values[i], static_cast<int>(order[slice] % 7) - 3));
  }
}

void draw_denormals(const Tensor& tensor, std::vector<double>& values, Generator& generator) {
  const double smallest = smallest_normal(tensor.dtype);
  for (double& value : values) {
    if (generator.below(2) == 0) continue;
    const double sign = generator.below(2) == 0 ? 1 : -1;
    value = inside_range(tensor, sign * smallest * generator.uniform());
  }
}

/// Half of the elements at an end of their range, where few draws or none come to.
void draw_ends(const Tensor& tensor, std::vector<double>& values, Generator& generator) {
  const bool whole = tensor.draw.kind == Draw::Kind::integers;
  const double low = whole ? std::ceil(tensor.draw.low) : tensor.draw.low;
  const double high = whole ? std::floor(tensor.draw.high) : tensor.draw.high;
  for (double& value : values) {
    if (generator.below(2) == 0) continue;
    value = generator.below(2) == 0 ? low : high;
  }
}

void sprinkle_non_finite(const Tensor& tensor, std::vector<double>& values, Generator& generator) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double kinds[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity};
  for (const double kind : kinds) {
    if (!values.empty()) values[generator.below(values.size())] = kind;
  }
  static_cast<void>(tensor);
}

}  // namespace

const char* to_string(Family family) {
  switch (family) {
    case Family::normal:
      return "normal";
    case Family::zeros:
      return "zeros";
    case Family::ones:
      return "ones";
    case Family::ties:
      return "ties";
    case Family::denormals:
      return "denormals";
    case Family::largest:
      return "largest finite";
    case Family::mixed:
      return "mixed magnitudes";
    case Family::impulses:
      return "impulses";
    case Family::channels:
      return "permuted channels";
    case Family::non_finite:
      return "NaN and Inf";
    case Family::ends:
      return "ends of ranges";
  }
  return "";
}

bool is_input(const Tensor& tensor) { return tensor.role != Buffer::Role::out; }

bool is_output(const Tensor& tensor) { return tensor.role != Buffer::Role::in; }

Rounding rounding(Family family) {
  switch (family) {
    case Family::zeros:
    case Family::ones:
    case Family::ties:
    case Family::largest:
    case Family::impulses:
    case Family::ends:
    case Family::denormals:  // half of the values act alike
      return Rounding::structured;
    default:
      return Rounding::random;
  }
}

double inside_range(const Tensor& tensor, double value) {
  if (tensor.draw.kind == Draw::Kind::constant) return tensor.draw.constant;
  return bounded(tensor) ? std::clamp(value, tensor.draw.low, tensor.draw.high) : value;
}

std::vector<double> rounded(DType dtype, std::vector<double> values) {
  if (dtype == DType::f64) return values;
  return to_doubles(dtype, from_doubles(dtype, values));
}

std::vector<double> draw_tensor(const Tensor& tensor, Generator& generator) {
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  // Each piece has a seed of its own, so that it does not matter which core draws it.
  std::vector<std::uint64_t> seeds(pieces_of(values.size(), kDrawn));
  for (std::uint64_t& seed : seeds) seed = generator.next();
  for_each_piece(values.size(), kDrawn, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    Generator own(seeds[piece]);
    for (std::size_t i = begin; i < end; ++i) values[i] = draw_one(tensor, own);
  });
  return rounded(tensor.dtype, std::move(values));
}

std::vector<Family> families(const Problem& problem) {
  bool reals = false, unbounded = false, ends = false, varied = false;
  for (const Tensor& tensor : problem.tensors) {
    if (!is_input(tensor) || tensor.draw.kind == Draw::Kind::constant) continue;
    varied = true;
    if (holds_reals(tensor)) reals = true;
    if (holds_reals(tensor) && !bounded(tensor)) unbounded = true;
    if (bounded(tensor)) ends = true;
  }
  std::vector<Family> result{Family::normal};
  if (!varied) return result;
  for (const Family family : {Family::zeros, Family::ones, Family::ties, Family::impulses}) {
    result.push_back(family);
  }
  if (ends) result.push_back(Family::ends);
  if (reals) {
    result.insert(result.end(), {Family::channels, Family::denormals});
  }
  if (unbounded) {
    result.insert(result.end(), {Family::mixed, Family::largest});
    if (problem.tolerance.non_finite == Tolerance::NonFinite::as_reference) {
      result.push_back(Family::non_finite);
    }
  }
  return result;
}

std::vector<double> magnitudes(const Problem& problem) {
  // Products of two inputs, summed, shall stay finite in f32 and in the outputs' dtypes, or a right
  // kernel could not bear them; the reference tells which of these is small enough.
  double limit = 0x1p120;
  for (const Tensor& tensor : problem.tensors) {
    if (is_floating(tensor.dtype)) limit = std::min(limit, largest(tensor.dtype) / 4);
  }
  const double terms = std::max(problem.tolerance.accumulation, 1.0);
  const double product = std::sqrt(limit / terms);
  std::vector<double> result;
  for (double size = product; size > 4 && result.size() < 4; size = std::sqrt(size)) {
    result.push_back(size);
  }
  return result;
}

Values draw_inputs(const Problem& problem, Family family, Generator& generator, double magnitude) {
  std::vector<const Tensor*> reals;
  for (const Tensor& tensor : problem.tensors) {
    if (is_input(tensor) && holds_reals(tensor) && tensor.elements() > 1) reals.push_back(&tensor);
  }
  // Impulses and scaled channels go into one input, so that what they meet in the others is
  // ordinary.
  const Tensor* chosen = reals.empty() ? nullptr : reals[generator.below(reals.size())];

  Values inputs;
  for (const Tensor& tensor : problem.tensors) {
    if (!is_input(tensor)) continue;
    auto values = draw_tensor(tensor, generator);
    const bool real = holds_reals(tensor);
    switch (family) {
      case Family::normal:
        break;
      case Family::zeros:
        fill(values, [&] { return inside_range(tensor, 0); });
        break;
      case Family::ones:
        fill(values, [&] { return inside_range(tensor, 1); });
        break;
      case Family::ties: {
        if (tensor.draw.kind == Draw::Kind::constant) break;
        const double choices[] = {draw_one(tensor, generator), draw_one(tensor, generator),
                                  draw_one(tensor, generator)};
        fill(values, [&] { return choices[generator.below(3)]; });
        break;
      }
      case Family::denormals:
        if (real) draw_denormals(tensor, values, generator);
        break;
      case Family::largest:
        if (real && !bounded(tensor)) {
          fill(values, [&] { return generator.below(2) == 0 ? magnitude : -magnitude; });
        }
        break;
      case Family::mixed:
        if (real && !bounded(tensor)) {
          const int range = spread_exponent(tensor.dtype);
          for (double& value : values) {
            const auto shift =
                static_cast<int>(generator.below(2 * static_cast<std::uint64_t>(range) + 1));
            value = std::ldexp(value, shift - range);
          }
        }
        break;
      case Family::impulses:
        if (&tensor == chosen) draw_impulses(tensor, values, generator);
        break;
      case Family::channels:
        if (&tensor == chosen) scale_channels(tensor, values, generator);
        break;
      case Family::ends:
        if (bounded(tensor)) draw_ends(tensor, values, generator);
        break;
      case Family::non_finite:
        if (real && !bounded(tensor)) sprinkle_non_finite(tensor, values, generator);
        break;
    }
    // As they were drawn they are rounded already.
    inputs[tensor.name] =
        family == Family::normal ? std::move(values) : rounded(tensor.dtype, std::move(values));
  }
  return inputs;
}

std::map<std::string, std::vector<std::byte>> to_bytes(const Problem& problem,
                                                       const Values& inputs) {
  std::map<std::string, std::vector<std::byte>> result;
  for (const Tensor& tensor : problem.tensors) {
    if (auto found = inputs.find(tensor.name); found != inputs.end()) {
      result[tensor.name] = from_doubles(tensor.dtype, found->second);
    }
  }
  return result;
}

void clear_slice(const Tensor& tensor, std::vector<double>& values, std::size_t axis,
                 std::int64_t low, std::int64_t high) {
  std::int64_t inner = 1;
  for (std::size_t a = axis + 1; a < tensor.shape.size(); ++a) inner *= tensor.shape[a];
  const double zero = bounded(tensor) ? inside_range(tensor, 0) : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t index = static_cast<std::int64_t>(i) / inner % tensor.shape[axis];
    if (index >= low && index < high) values[i] = zero;
  }
}

ContentPool::ContentPool(const Problem& problem, Generator& generator) {
  for (const Tensor& tensor : problem.tensors) {
    if (!is_input(tensor)) continue;
    Entry entry{tensor.name, size_of(tensor.dtype), static_cast<std::size_t>(tensor.bytes()), {}};
    Tensor longer = tensor;
    // A period that is no multiple of a row keeps rows from recurring in rows.
    longer.shape = {tensor.elements() + static_cast<std::int64_t>(kPoolSlack)};
    entry.content = from_doubles(tensor.dtype, draw_tensor(longer, generator));
    entries_.push_back(std::move(entry));
  }
}

std::map<std::string, std::span<const std::byte>> ContentPool::next(Generator& generator) const {
  std::map<std::string, std::span<const std::byte>> result;
  for (const Entry& entry : entries_) {
    const std::size_t offset = generator.below(kPoolSlack + 1) * entry.element;
    result[entry.name] = std::span(entry.content).subspan(offset, entry.bytes);
  }
  return result;
}

}  // namespace burnish::measure
