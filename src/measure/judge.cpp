#include "measure/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "base/text.h"
#include "measure/explain.h"

namespace burnish::measure {
namespace {

using device::Buffer;
using device::BufferState;

constexpr std::size_t kCheap = 1 << 16;  ///< inputs so small that the reference is quick
constexpr std::size_t kPiece = 1 << 18;  ///< elements that a core looks at in one go
constexpr double kOfBaseline = 8;        ///< times the baseline's error that a candidate may have

/// The byte of a 32-bit pattern (little-endian) at an offset from the start of the content.
std::byte poison_byte(std::uint32_t poison, std::int64_t offset) {
  const auto lane = static_cast<std::uint32_t>(((offset % 4) + 4) % 4);
  return static_cast<std::byte>(poison >> (8 * lane));
}

bool holds_poison(std::span<const std::byte> content, std::size_t at, std::size_t size,
                  std::uint32_t poison) {
  for (std::size_t i = at; i < at + size; ++i) {
    if (content[i] != poison_byte(poison, static_cast<std::int64_t>(i))) return false;
  }
  return true;
}

/// How many of `elements` hold(i), and the first of them; -1 where none does.
template <class Holds>
std::pair<std::int64_t, std::int64_t> count_elements(std::size_t elements, const Holds& holds) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found(pieces_of(elements, kPiece), {0, -1});
  for_each_piece(elements, kPiece, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    auto& [count, first] = found[piece];
    for (std::size_t i = begin; i < end; ++i) {
      if (!holds(i)) continue;
      if (first < 0) first = static_cast<std::int64_t>(i);
      ++count;
    }
  });
  std::pair<std::int64_t, std::int64_t> all{0, -1};
  for (const auto& [count, first] : found) {
    if (all.second < 0) all.second = first;
    all.first += count;
  }
  return all;
}

std::string of(std::int64_t part, std::int64_t whole) {
  return fmt::format("{} of {} elements", with_thousands(part), with_thousands(whole));
}

std::string not_written(const Tensor& tensor, std::int64_t count, std::int64_t first) {
  return fmt::format("{} was not written: {} still hold the poison, first {}", tensor.name,
                     of(count, tensor.elements()), element_name(tensor, first));
}

/// What lies around a buffer must be as it was filled.
std::string guards(const std::string& name, const BufferState& state, std::uint32_t poison) {
  auto sweep = [&](const std::vector<std::byte>& band, std::int64_t origin, bool before) {
    std::int64_t count = 0, nearest = 0;
    for (std::size_t i = 0; i < band.size(); ++i) {
      if (band[i] == poison_byte(poison, origin + static_cast<std::int64_t>(i))) continue;
      const auto at = static_cast<std::int64_t>(i);
      if (count == 0 || before) nearest = at;
      ++count;
    }
    if (count == 0) return std::string();
    const auto size = static_cast<std::int64_t>(band.size());
    return before ? fmt::format(
                        "{} bytes before {} were overwritten, the nearest {} bytes before its "
                        "start",
                        with_thousands(count), name, with_thousands(size - nearest))
                  : fmt::format(
                        "{} bytes after {} were overwritten, the nearest {} bytes after its end",
                        with_thousands(count), name, with_thousands(nearest));
  };
  const auto size = static_cast<std::int64_t>(state.content.size());
  std::string found = sweep(state.before, -static_cast<std::int64_t>(state.before.size()), true);
  return found.empty() ? sweep(state.after, size, false) : found;
}

std::string changed_input(const Tensor& tensor, std::span<const std::byte> given,
                          std::span<const std::byte> found) {
  if (found.size() == given.size() && std::memcmp(found.data(), given.data(), given.size()) == 0) {
    return "";
  }
  const std::size_t size = size_of(tensor.dtype);
  std::int64_t count = 0, first = -1;
  for (std::size_t at = 0; at + size <= std::min(given.size(), found.size()); at += size) {
    if (std::memcmp(given.data() + at, found.data() + at, size) == 0) continue;
    if (first < 0) first = static_cast<std::int64_t>(at / size);
    ++count;
  }
  if (first < 0) return fmt::format("input {} came back with another size", tensor.name);
  const auto at = static_cast<std::size_t>(first) * size;
  const double was = to_doubles(tensor.dtype, given.subspan(at, size))[0];
  const double is = to_doubles(tensor.dtype, found.subspan(at, size))[0];
  return fmt::format("input {} was changed: {}, first {} from {} to {}", tensor.name,
                     of(count, tensor.elements()), element_name(tensor, first), number_text(was),
                     number_text(is));
}

const BufferState* find_state(const device::RunResult& run, const std::string& name) {
  auto found = run.buffers.find(name);
  return found == run.buffers.end() ? nullptr : &found->second;
}

/// What the baseline's own error allows: a candidate whose error is many times larger than that of
/// the kernel it replaces, and than rounding explains, has lost precision.
std::string beyond_baseline(const Problem& problem, const Tensor& tensor, const Check& check,
                            const Numbers& numbers, const JudgeContext& context) {
  if (context.baseline == nullptr || problem.tolerance.relative || problem.tolerance.absolute ||
      !is_floating(tensor.dtype)) {
    return "";
  }
  double global = -1;
  for (const Check& other : *context.baseline) {
    if (other.name != context.name || other.inputs != check.inputs) continue;
    if (std::isfinite(other.errors.global)) global = std::max(global, other.errors.global);
  }
  if (global < 0) return "";
  const double u_out = unit_round_off(tensor.dtype);
  const double u = std::min(u_out, unit_round_off(DType::f32));
  const double honest =
      u_out + (4 + 2 * std::sqrt(std::max(problem.tolerance.accumulation, 1.0))) * u;
  const double allowed = std::max(kOfBaseline * global, honest);
  if (numbers.errors.global <= allowed) return "";
  return fmt::format(
      "the error of {} is {:.3g} relative, where the baseline's is {:.3g} and {:.3g} is "
      "allowed: precision was lost",
      tensor.name, numbers.errors.global, global, allowed);
}

void merge(Check& check, const Numbers& numbers) {
  Errors& errors = check.errors;
  errors.max_abs = std::max(errors.max_abs, numbers.errors.max_abs);
  errors.max_rel = std::max(errors.max_rel, numbers.errors.max_rel);
  errors.global = std::max(errors.global, numbers.errors.global);
  if (numbers.errors.slice >= errors.slice) {
    errors.slice = numbers.errors.slice;
    errors.worst_slice = numbers.errors.worst_slice;
  }
  if (check.histogram.empty()) check.histogram.assign(numbers.histogram.size(), 0);
  for (std::size_t i = 0; i < numbers.histogram.size(); ++i) {
    check.histogram[i] += numbers.histogram[i];
  }
  check.worst.insert(check.worst.end(), numbers.worst.begin(), numbers.worst.end());
}

}  // namespace

Result<Values> Oracle::ask(const Values& inputs) {
  const auto start = real_clock().steady();
  auto outputs = reference_.compute(problem_, inputs);
  seconds_ += std::chrono::duration<double>(real_clock().steady() - start).count();
  if (!outputs) return outputs;
  for (const Tensor& tensor : problem_.tensors) {
    if (!is_output(tensor)) continue;
    auto found = outputs->find(tensor.name);
    if (found == outputs->end() ||
        found->second.size() != static_cast<std::size_t>(tensor.elements())) {
      return refused(fmt::format("the reference gives no output {} of {} elements", tensor.name,
                                 tensor.elements()));
    }
    found->second = representable(tensor.dtype, std::move(found->second));
  }
  return outputs;
}

bool Oracle::finite(const Values& outputs) const {
  for (const Tensor& tensor : problem_.tensors) {
    if (!is_output(tensor) || !is_floating(tensor.dtype)) continue;
    for (const double value : outputs.at(tensor.name)) {
      if (!std::isfinite(value)) return false;
    }
  }
  return true;
}

Result<std::optional<Drawn>> Oracle::draw(Family family, std::uint64_t seed) {
  const bool may_be_non_finite =
      problem_.tolerance.non_finite == Tolerance::NonFinite::as_reference;
  std::vector<double> sizes{0};
  if (family == Family::largest) sizes = magnitudes(problem_);
  for (const double size : sizes) {
    Generator generator(seed);
    Drawn drawn;
    drawn.family = family;
    drawn.seed = seed;
    drawn.inputs = draw_inputs(problem_, family, generator, size);
    BURNISH_TRY(complete(drawn));
    if (family == Family::non_finite || finite(drawn.expected) ||
        (may_be_non_finite && family != Family::largest)) {
      return std::optional<Drawn>(std::move(drawn));
    }
    if (family == Family::normal) {
      return refused(
                 fmt::format("the reference gives values that are not finite for ordinary inputs "
                             "at {}",
                             problem_.workload))
          .with_hint("draw inputs that it is defined for, or set non_finite = \"as_reference\"");
    }
  }
  return std::optional<Drawn>();
}

Result<void> Oracle::complete(Drawn& drawn) {
  BURNISH_TRY_ASSIGN(drawn.expected, ask(drawn.inputs));
  drawn.bytes = to_bytes(problem_, drawn.inputs);
  return {};
}

Result<Values> Oracle::sensitivity(const Drawn& drawn, double relative) {
  std::size_t elements = 0;
  for (const auto& [name, values] : drawn.inputs) elements += values.size();
  const int draws = elements < kCheap ? 8 : 3;
  // The seed is no secret: what comes of it only widens bounds, to what rounding explains.
  Generator generator(0x5eed);
  Values result;
  for (int k = 0; k < draws; ++k) {
    Values moved = drawn.inputs;
    for (auto& [name, values] : moved) {
      for (double& value : values) {
        if (std::isfinite(value)) value += value * relative * (2 * generator.uniform() - 1);
      }
    }
    BURNISH_TRY_ASSIGN(const Values outputs, ask(moved));
    for (const auto& [name, values] : outputs) {
      const auto& before = drawn.expected.at(name);
      auto& sizes = result[name];
      sizes.resize(values.size());
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const double moved_by = (values[i] - before[i]) / relative;
        if (std::isfinite(moved_by)) sizes[i] += moved_by * moved_by / draws;
      }
    }
  }
  for (auto& [name, sizes] : result) {
    for (double& size : sizes) size = std::sqrt(size);
  }
  return result;
}

Poisons draw_poisons(Generator& generator) {
  Poisons poisons{};
  do {
    const std::uint64_t bits = generator.next();
    poisons.first = 0x7fc00000u | (static_cast<std::uint32_t>(bits) & 0x3fffffu);
    poisons.second = 0x40c00000u | (static_cast<std::uint32_t>(bits >> 32) & 0x3fffffu);
  } while (((poisons.first ^ poisons.second) & 0xff) == 0 ||
           ((poisons.first ^ poisons.second) & 0xff00) == 0 ||
           ((poisons.first ^ poisons.second) & 0xff0000) == 0);
  return poisons;
}

Result<std::string> trespassed(const Problem& problem, const Drawn& drawn,
                               const device::RunResult& run, std::uint32_t poison) {
  std::string first;
  for (const auto& [name, state] : run.buffers) {
    if (first.empty()) first = guards(name, state, poison);
  }
  for (const Tensor& tensor : problem.tensors) {
    const BufferState* state = find_state(run, tensor.name);
    if (state == nullptr || state->content.size() != tensor.bytes()) {
      return bug(fmt::format("the device gave back no content of buffer {}", tensor.name));
    }
    if (tensor.role != Buffer::Role::in || !first.empty()) continue;
    first = changed_input(tensor, drawn.bytes.at(tensor.name), state->content);
  }
  return first;
}

Result<Check> judge(const Problem& problem, const Drawn& drawn, const device::RunResult& run,
                    std::uint32_t poison, const JudgeContext& context) {
  Check check;
  check.name = context.name.empty() ? problem.workload : context.name;
  check.inputs = to_string(drawn.family);
  check.seed = drawn.seed;
  auto fail = [&](std::string why) {
    check.verdict = Verdict::fail;
    if (check.why.empty()) check.why = std::move(why);
  };

  BURNISH_TRY_ASSIGN(std::string trespass, trespassed(problem, drawn, run, poison));
  if (!trespass.empty()) fail(std::move(trespass));
  Values moves;
  for (const Tensor& tensor : problem.tensors) {
    if (!is_output(tensor)) continue;
    const std::span<const std::byte> content = find_state(run, tensor.name)->content;
    // A byte of a bool is 0 or 1; another one is no truth to a reader that counts or compares them.
    const auto got = to_doubles(tensor.dtype == DType::boolean ? DType::u8 : tensor.dtype, content);
    const auto& want = drawn.expected.at(tensor.name);
    const ErrorModel model = error_model(problem, tensor, rounding(drawn.family));
    auto bounds = element_bounds(model, tensor, want, {});
    Numbers numbers = compare(tensor, got, want, bounds, model, problem.tolerance.non_finite);
    if (!numbers.right() && model.spread > 0 && context.oracle != nullptr) {
      // Where outputs are small by cancellation, ordinary rounding is large beside them.
      if (moves.empty()) {
        BURNISH_TRY_ASSIGN(moves, context.oracle->sensitivity(drawn, model.perturbation));
      }
      bounds = element_bounds(model, tensor, want, moves.at(tensor.name));
      numbers = compare(tensor, got, want, bounds, model, problem.tolerance.non_finite);
    }
    merge(check, numbers);

    // A short element may hold the pattern by chance, a wrong one does not.
    const std::size_t size = size_of(tensor.dtype);
    const std::size_t looked_at = tensor.role == Buffer::Role::out ? got.size() : 0;
    const auto [poisoned, first] = count_elements(looked_at, [&](std::size_t i) {
      return holds_poison(content, i * size, size, poison) &&
             !(size < 4 && std::abs(got[i] - want[i]) <= bounds[i]);
    });
    const bool judged = context.holes == JudgeContext::Holes::judged;
    // With short elements a few matches among many wrong ones are chance.
    if (judged && poisoned > 0 && (size >= 4 || poisoned * 2 >= numbers.failing)) {
      fail(not_written(tensor, poisoned, first));
    } else if (!numbers.right()) {
      Wrong wrong;
      wrong.problem = &problem;
      wrong.tensor = &tensor;
      wrong.inputs = &drawn.inputs;
      wrong.got = got;
      wrong.want = want;
      wrong.bounds = bounds;
      wrong.numbers = &numbers;
      wrong.stale = context.stale;
      wrong.reference = context.oracle == nullptr ? nullptr : &context.oracle->reference();
      if (check.why.empty()) {
        fail(explain(wrong));
        if (poisoned > 0 && size >= 4) {
          check.why += "; it carries the poison of memory that nobody wrote";
        }
      }
      check.verdict = Verdict::fail;
    } else {
      std::string found = beyond_baseline(problem, tensor, check, numbers, context);
      if (!found.empty()) fail(std::move(found));
    }
  }
  std::stable_sort(check.worst.begin(), check.worst.end(),
                   [](const WorstElement& a, const WorstElement& b) {
                     const double left = std::abs(a.got - a.want) * b.bound;
                     const double right = std::abs(b.got - b.want) * a.bound;
                     return left > right || (std::isnan(left) && !std::isnan(right));
                   });
  if (check.worst.size() > kWorst) check.worst.resize(kWorst);
  return check;
}

Result<std::string> unwritten(const Problem& problem, const device::RunResult& first,
                              const device::RunResult& second, const Poisons& poisons) {
  for (const Tensor& tensor : problem.tensors) {
    if (tensor.role != Buffer::Role::out) continue;
    const BufferState* a = find_state(first, tensor.name);
    const BufferState* b = find_state(second, tensor.name);
    if (a == nullptr || b == nullptr) return bug("the device gave back no content");
    const std::size_t size = size_of(tensor.dtype);
    const auto elements = static_cast<std::size_t>(tensor.elements());
    const auto [count, at] = count_elements(elements, [&](std::size_t i) {
      return holds_poison(a->content, i * size, size, poisons.first) &&
             holds_poison(b->content, i * size, size, poisons.second);
    });
    if (count > 0) return not_written(tensor, count, at);
  }
  return std::string();
}

std::string difference(const Problem& problem, const device::RunResult& first,
                       const device::RunResult& second) {
  for (const Tensor& tensor : problem.tensors) {
    if (!is_output(tensor)) continue;
    const BufferState* a = find_state(first, tensor.name);
    const BufferState* b = find_state(second, tensor.name);
    if (a == nullptr || b == nullptr) continue;
    if (a->content.size() == b->content.size() &&
        std::memcmp(a->content.data(), b->content.data(), a->content.size()) == 0) {
      continue;
    }
    const std::size_t size = size_of(tensor.dtype);
    std::int64_t count = 0, at = -1;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const auto offset = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * size);
      if (std::equal(a->content.begin() + offset,
                     a->content.begin() + offset + static_cast<std::ptrdiff_t>(size),
                     b->content.begin() + offset)) {
        continue;
      }
      if (at < 0) at = i;
      ++count;
    }
    return fmt::format("{} is not repeatable: two runs on the same inputs differ in {}, first {}",
                       tensor.name, of(count, tensor.elements()), element_name(tensor, at));
  }
  return "";
}

std::vector<device::Buffer> buffers(const Problem& problem) {
  std::vector<device::Buffer> result;
  for (const Tensor& tensor : problem.tensors) {
    result.push_back({tensor.name, tensor.bytes(), tensor.role});
  }
  return result;
}

bool is_fault_of_candidate(const Error& error) {
  return error.kind == ErrorKind::refused || error.kind == ErrorKind::bad_input ||
         error.kind == ErrorKind::timeout;
}

Verdict verdict_of(const Error& error) {
  return error.kind == ErrorKind::timeout ? Verdict::timeout : Verdict::fail;
}

std::string one_line(const Error& error) {
  std::string text = error.place && !error.place->file.empty()
                         ? error.place->to_string() + ": " + error.message
                         : error.message;
  for (const std::string& outer : error.context) text += "; while " + outer;
  return replace_all(std::move(text), "\n", " ");
}

Result<Check> check_run(const Problem& problem, const Values& inputs, const Values& expected,
                        const device::RunResult& run, std::uint32_t poison) {
  Drawn drawn;
  drawn.inputs = inputs;
  drawn.bytes = to_bytes(problem, inputs);
  for (const Tensor& tensor : problem.tensors) {
    if (auto found = expected.find(tensor.name); is_output(tensor) && found != expected.end()) {
      drawn.expected[tensor.name] = representable(tensor.dtype, found->second);
    } else if (is_output(tensor)) {
      return bug(fmt::format("no expected values of {} were given", tensor.name));
    }
  }
  return judge(problem, drawn, run, poison, {});
}

}  // namespace burnish::measure
