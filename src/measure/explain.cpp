#include "measure/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace burnish::measure {
namespace {

std::string counted(std::int64_t part, std::int64_t whole) {
  return fmt::format("{} of {} elements", with_thousands(part), with_thousands(whole));
}

std::int64_t size_of_output(const Wrong& wrong) {
  return static_cast<std::int64_t>(wrong.got.size());
}

bool is_wrong(const Wrong& wrong, std::size_t i) {
  return !(std::abs(wrong.got[i] - wrong.want[i]) <= wrong.bounds[i]);
}

/// Whether `got` follows `other` but for a few elements in a thousand, by the bounds of this check.
bool follows(const Wrong& wrong, std::span<const double> other, double offset_share = 1e-3) {
  if (other.size() != wrong.got.size()) return false;
  std::size_t off = 0;
  const auto allowed = static_cast<std::size_t>(static_cast<double>(other.size()) * offset_share);
  for (std::size_t i = 0; i < other.size(); ++i) {
    if (!(std::abs(wrong.got[i] - other[i]) <= wrong.bounds[i]) && ++off > allowed) return false;
  }
  return true;
}

std::string non_finite(const Wrong& wrong) {
  std::int64_t nan = 0, infinite = 0, first = -1;
  for (std::size_t i = 0; i < wrong.got.size(); ++i) {
    if (std::isfinite(wrong.got[i]) || !std::isfinite(wrong.want[i])) continue;
    (std::isnan(wrong.got[i]) ? nan : infinite) += 1;
    if (first < 0) first = static_cast<std::int64_t>(i);
  }
  if (nan + infinite == 0) return "";
  const char* what = nan == 0 ? "Inf" : infinite == 0 ? "NaN" : "NaN and Inf";
  const std::string& name = wrong.tensor->name;
  if (nan + infinite == size_of_output(wrong)) {
    return fmt::format("{} is {} everywhere, where the reference is finite", name, what);
  }
  return fmt::format("{} holds {} where the reference is finite: {}, first {}", name, what,
                     counted(nan + infinite, size_of_output(wrong)),
                     element_name(*wrong.tensor, first));
}

std::string missing_non_finite(const Wrong& wrong) {
  for (std::size_t i = 0; i < wrong.got.size(); ++i) {
    const double got = wrong.got[i], want = wrong.want[i];
    if (std::isfinite(want)) continue;
    if (std::isnan(want) ? std::isnan(got) : got == want) continue;
    return fmt::format("{} is {} where the reference is {}",
                       element_name(*wrong.tensor, static_cast<std::int64_t>(i)), number_text(got),
                       number_text(want));
  }
  return "";
}

/// All of one value where the reference is not: as a whole, or in whole slices along an axis.
std::string constant(const Wrong& wrong) {
  const Tensor& tensor = *wrong.tensor;
  const auto total = size_of_output(wrong);
  const bool same = std::all_of(wrong.got.begin(), wrong.got.end(),
                                [&](double value) { return value == wrong.got[0]; });
  const auto wrong_count = wrong.numbers->failing;
  if (same && total > 1 && wrong_count > 0) {
    return fmt::format("{} is {} everywhere where the reference is not ({})", tensor.name,
                       wrong.got[0] == 0 ? "zero" : number_text(wrong.got[0]),
                       counted(wrong_count, total));
  }
  std::int64_t below = total;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const std::int64_t size = tensor.shape[axis];
    below /= size;
    if (size < 2) continue;
    std::vector<std::int64_t> zero_wrong(static_cast<std::size_t>(size));
    std::vector<bool> zero(static_cast<std::size_t>(size), true);
    for (std::int64_t i = 0; i < total; ++i) {
      const auto at = static_cast<std::size_t>(i / below % size);
      if (wrong.got[static_cast<std::size_t>(i)] != 0) zero[at] = false;
      if (is_wrong(wrong, static_cast<std::size_t>(i))) ++zero_wrong[at];
    }
    std::vector<std::int64_t> dead;
    std::int64_t explained = 0;
    for (std::int64_t at = 0; at < size; ++at) {
      const auto i = static_cast<std::size_t>(at);
      if (!zero[i] || zero_wrong[i] == 0) continue;
      dead.push_back(at);
      explained += zero_wrong[i];
    }
    // One channel may be dead and others wrong for other reasons; scattered zeros are no channel.
    const std::int64_t in_slice = total / size;
    if (dead.empty() || in_slice < 2 || explained * 2 < wrong_count) continue;
    const char* word =
        tensor.shape.size() >= 2 && axis + 1 == tensor.shape.size() ? "column" : "channel";
    const std::string first = slice_name(tensor, axis, dead[0]);
    if (dead.size() == 1) {
      return fmt::format("{} {} of {} is all zeros where the reference is not ({}; {})", word,
                         dead[0], tensor.name,
                         counted(zero_wrong[static_cast<std::size_t>(dead[0])], in_slice), first);
    }
    return fmt::format("{} {}s of {} are all zeros where the reference is not, first {}",
                       dead.size(), word, tensor.name, first);
  }
  return "";
}

/// The output is an input, an earlier output, or the transposed output.
std::string copied(const Wrong& wrong) {
  const Tensor& tensor = *wrong.tensor;
  if (wrong.stale != nullptr) {
    auto found = wrong.stale->find(tensor.name);
    if (found != wrong.stale->end() && follows(wrong, found->second)) {
      return fmt::format(
          "{} is the answer to earlier inputs: the change of the inputs did not reach it",
          tensor.name);
    }
  }
  for (const auto& [name, values] : *wrong.inputs) {
    if (values.size() == wrong.got.size() && values.size() > 1 &&
        std::equal(values.begin(), values.end(), wrong.got.begin())) {
      return name == tensor.name ? fmt::format("{} was left as it was given", name)
                                 : fmt::format("{} equals the input {}", tensor.name, name);
    }
  }
  if (tensor.shape.size() == 2 && tensor.shape[0] == tensor.shape[1] && tensor.shape[0] > 1) {
    const auto size = static_cast<std::size_t>(tensor.shape[0]);
    std::vector<double> turned(wrong.want.size());
    for (std::size_t i = 0; i < turned.size(); ++i) {
      turned[i] = wrong.want[i % size * size + i / size];
    }
    if (follows(wrong, turned)) {
      return fmt::format("{} is the reference transposed", tensor.name);
    }
  }
  return "";
}

/// One factor explains everything.
std::string scaled(const Wrong& wrong) {
  const double slope = wrong.numbers->slope;
  if (!std::isfinite(slope) || slope == 0 || wrong.got.size() < 2) return "";
  std::vector<double> scaled(wrong.want.begin(), wrong.want.end());
  for (double& value : scaled) value *= slope;
  double largest = 0;
  for (const double bound : wrong.bounds) largest = std::max(largest, bound);
  double size = 0;
  for (const double value : wrong.want) size = std::max(size, std::abs(value));
  // A factor nearer to 1 than the bounds says nothing.
  if (std::abs(slope - 1) * size <= largest && wrong.numbers->slope_ratio <= 1) return "";
  if (!follows(wrong, scaled)) return "";
  return fmt::format("{} is {:.4f} times the reference everywhere: a uniform scale error",
                     wrong.tensor->name, slope);
}

/// got - want is minus a one-dimensional input laid along one of the axes.
std::string without_bias(const Wrong& wrong) {
  const Tensor& tensor = *wrong.tensor;
  const auto total = size_of_output(wrong);
  for (const Tensor& input : wrong.problem->tensors) {
    auto found = wrong.inputs->find(input.name);
    if (found == wrong.inputs->end() || found->second.size() == wrong.got.size()) continue;
    const auto& bias = found->second;
    std::int64_t below = total;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      const std::int64_t size = tensor.shape[axis];
      below /= size;
      if (static_cast<std::int64_t>(bias.size()) != size) continue;
      for (const double sign : {1.0, -1.0}) {
        std::vector<double> expected(wrong.want.begin(), wrong.want.end());
        for (std::int64_t i = 0; i < total; ++i) {
          expected[static_cast<std::size_t>(i)] -=
              sign * bias[static_cast<std::size_t>(i / below % size)];
        }
        if (!follows(wrong, expected)) continue;
        return sign > 0
                   ? fmt::format("{0} seems not to be added: got - want equals -{0}", input.name)
                   : fmt::format("{0} seems to be added twice: got - want equals {0}", input.name);
      }
    }
  }
  return "";
}

/// Parts of the inputs that the output does not depend on, found by asking the reference.
std::string left_out(const Wrong& wrong) {
  if (wrong.reference == nullptr) return "";
  constexpr std::int64_t kAffordable = 1 << 18;
  std::int64_t elements = 0;
  for (const auto& [name, values] : *wrong.inputs) {
    elements += static_cast<std::int64_t>(values.size());
  }
  if (elements > kAffordable) return "";
  auto matches = [&](const Values& inputs) {
    const auto outputs = wrong.reference->compute(*wrong.problem, inputs);
    if (!outputs) return false;
    auto found = outputs->find(wrong.tensor->name);
    return found != outputs->end() && follows(wrong, found->second, 0);
  };
  for (const Tensor& input : wrong.problem->tensors) {
    if (!is_input(input) || wrong.inputs->count(input.name) == 0) continue;
    Values without = *wrong.inputs;
    std::fill(without[input.name].begin(), without[input.name].end(), inside_range(input, 0));
    if (matches(without)) {
      return fmt::format("{} is what the reference gives when {} is zero: {} seems to be ignored",
                         wrong.tensor->name, input.name, input.name);
    }
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const std::int64_t size = input.shape[axis];
      std::vector<std::int64_t> lengths;
      for (std::int64_t length = 1; length < size; length *= 2) {
        lengths.push_back(length);
        if (size % length != 0) lengths.push_back(size % length);
      }
      std::sort(lengths.begin(), lengths.end());
      lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
      for (const std::int64_t length : lengths) {
        Values cut = *wrong.inputs;
        clear_slice(input, cut[input.name], axis, size - length, size);
        if (!matches(cut)) continue;
        std::vector<std::string> parts(input.shape.size(), ":");
        parts[axis] =
            length == 1 ? std::to_string(size - 1) : fmt::format("{}:{}", size - length, size);
        return fmt::format(
            "{} is what the reference gives without {}[{}]: the reduction leaves out its last {}",
            wrong.tensor->name, input.name, join(parts, ", "), length);
      }
    }
  }
  return "";
}

/// All wrong elements lie in a box that they fill for the better part.
std::string boxed(const Wrong& wrong) {
  const Tensor& tensor = *wrong.tensor;
  const std::size_t rank = tensor.shape.size();
  if (rank == 0) return "";
  std::vector<std::int64_t> low = tensor.shape, high(rank, -1);
  for (std::size_t i = 0; i < wrong.got.size(); ++i) {
    if (!is_wrong(wrong, i)) continue;
    const auto index = element_index(tensor, static_cast<std::int64_t>(i));
    for (std::size_t axis = 0; axis < rank; ++axis) {
      low[axis] = std::min(low[axis], index[axis]);
      high[axis] = std::max(high[axis], index[axis]);
    }
  }
  std::int64_t volume = 1;
  bool whole = true, tail = false;
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t extent = high[axis] - low[axis] + 1;
    volume *= extent;
    if (extent == tensor.shape[axis]) {
      parts.emplace_back("*");
      continue;
    }
    whole = false;
    if (high[axis] + 1 == tensor.shape[axis]) tail = true;
    parts.push_back(extent == 1 ? std::to_string(low[axis])
                                : fmt::format("{}:{}", low[axis], high[axis] + 1));
  }
  if (whole || wrong.numbers->failing * 2 < volume) return "";
  const auto& worst = wrong.numbers->worst.front();
  return fmt::format(
      "elements [{}] of {} {}are wrong and all others right ({}), worst got {}, want {}",
      join(parts, ", "), tensor.name, tail ? "(the last block) " : "",
      counted(wrong.numbers->failing, size_of_output(wrong)), number_text(worst.got),
      number_text(worst.want));
}

/// Everything is nearly right: the size of the error tells the precision.
std::string precision(const Wrong& wrong) {
  const DType dtype = wrong.tensor->dtype;
  if (!is_floating(dtype) || wrong.got.size() < 2) return "";
  const double error = wrong.numbers->errors.global;
  if (!std::isfinite(error) || error <= 0 || error > 0x1p-5) return "";
  // A few elements far off are no matter of precision.
  std::size_t far = 0;
  double norm = 0;
  for (const double value : wrong.want) norm += value * value;
  const double typical = error * std::sqrt(norm / static_cast<double>(wrong.want.size()));
  std::size_t busy = 0;
  for (std::size_t i = 0; i < wrong.got.size(); ++i) {
    const double off = std::abs(wrong.got[i] - wrong.want[i]);
    if (off > 12 * typical) ++far;
    if (off > typical / 16) ++busy;
  }
  if (far * 100 > wrong.got.size() || busy * 3 < wrong.got.size()) return "";
  const int power = static_cast<int>(std::lround(std::log2(error)));
  const char* like = nullptr;
  if (power >= -14 && power <= -11) like = "TF32 or half";
  if (power >= -10 && power <= -7) like = "bf16";
  if (power >= -6) like = "an 8-bit format";
  if (power <= -15 && dtype == DType::f64) like = power <= -20 ? "f32" : "TF32 or half";
  if (like == nullptr || unit_round_off(dtype) > std::ldexp(1, power)) return "";
  return fmt::format("error of {} is 2^{} relative: the accuracy of {}, not of {}",
                     wrong.tensor->name, power, like, to_string(dtype));
}

std::string general(const Wrong& wrong) {
  const Numbers& numbers = *wrong.numbers;
  const Tensor& tensor = *wrong.tensor;
  if (numbers.failing > 0) {
    const WorstElement& worst = numbers.worst.front();
    std::int64_t flat = 0;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      flat = flat * tensor.shape[axis] + worst.index[axis];
    }
    return fmt::format(
        "{} differs from the reference in {}; worst {}: got {}, want {}, allowed {:.3g}",
        tensor.name, counted(numbers.failing, size_of_output(wrong)), element_name(tensor, flat),
        number_text(worst.got), number_text(worst.want), worst.bound);
  }
  if (numbers.slope_ratio > 1) {
    return fmt::format("{} is {:.4f} times the reference on the whole: a uniform scale error",
                       tensor.name, numbers.slope);
  }
  if (numbers.part_ratio > 1) {
    return fmt::format(
        "no element of {} is far off, but {} as a whole is: its error is {:.1f} times "
        "what is allowed",
        tensor.name, numbers.part, numbers.part_ratio);
  }
  return fmt::format(
      "no element of {} is far off, but the whole is: relative error {:.3g}, {:.1f} "
      "times what is allowed",
      tensor.name, numbers.errors.global, numbers.global_ratio);
}

}  // namespace

std::string explain(const Wrong& wrong) {
  using Sign = std::string (*)(const Wrong&);
  for (const Sign sign : {non_finite, missing_non_finite, copied, constant, scaled, without_bias,
                          boxed, left_out, precision, general}) {
    if (std::string sentence = sign(wrong); !sentence.empty()) return sentence;
  }
  return "";
}

}  // namespace burnish::measure
