#include "isa/x86_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <tuple>

namespace burnish::isa::x86 {
namespace {

constexpr int kRegisters = 32;
constexpr int kTracedBack = 4096;  // instructions; further back a register's origin is not sought
constexpr int kLineBytes = 64;     // of every x86 processor's caches

bool is_general(const Operand& operand) {
  return operand.kind == Operand::Kind::reg && operand.reg.kind == RegisterKind::general;
}
bool is_vector(const Operand& operand) {
  return operand.kind == Operand::Kind::reg && operand.reg.kind == RegisterKind::vector;
}
bool is_arithmetic(const Decoded& d) {
  return d.arithmetic != Arithmetic::none && d.arithmetic != Arithmetic::integer;
}
std::size_t at(int register_number) { return static_cast<std::size_t>(register_number); }

/// How a general register changes from one iteration to the next.
struct Step {
  enum class Kind {
    constant,  ///< by `bytes`; 0: it stays
    runtime,   ///< by an amount that only the run knows, the same every time
    loaded,    ///< it comes from memory
    unknown,
  };
  Kind kind = Kind::unknown;
  std::int64_t bytes = 0;
  bool stays() const { return kind == Kind::constant && bytes == 0; }
  bool regular() const { return kind == Kind::constant || kind == Kind::runtime; }
};
constexpr Step kStays{Step::Kind::constant, 0};

/// Steps beyond any real stride are as good as unknown, and so sums and products stay in range.
bool plausible(std::int64_t step) { return step > -(1ll << 40) && step < (1ll << 40); }

Step constant(std::int64_t bytes) {
  return plausible(bytes) ? Step{Step::Kind::constant, bytes} : Step{};
}

Step scaled(const Step& step, std::int64_t factor) {
  if (step.kind != Step::Kind::constant) return step;
  if (factor < -(1 << 20) || factor > (1 << 20)) return {};
  return constant(step.bytes * factor);
}
Step sum(const Step& a, const Step& b) {
  if (a.kind == Step::Kind::loaded || b.kind == Step::Kind::loaded) return {Step::Kind::loaded, 0};
  if (!a.regular() || !b.regular()) return {};
  if (a.kind == Step::Kind::runtime || b.kind == Step::Kind::runtime) {
    return {Step::Kind::runtime, 0};
  }
  return constant(a.bytes + b.bytes);
}

/// Follows the general registers through one iteration.
class Strides {
 public:
  Strides(const std::vector<Decoded>& code, const std::vector<int>& region, FramePointer frame)
      : frame_(frame) {
    steps_.fill(kStays);
    std::array<bool, kRegisters> other{};
    std::array<bool, kRegisters> own{};
    for (const int i : region) {
      const Decoded& d = code[at(i)];
      const int to = written(d);
      if (to < 0) continue;
      if (const auto delta = self_increment(d)) {
        own[at(to)] = true;
        const Step before = steps_[at(to)];
        steps_[at(to)] = sum(before, *delta);
      } else {
        other[at(to)] = true;
      }
    }
    for (int r = 0; r < kRegisters; ++r) {
      if (other[at(r)]) steps_[at(r)] = {};
      induction_[at(r)] = own[at(r)] && !other[at(r)];
    }
    // A register increment is only regular when what it adds stays.
    for (const int i : region) {
      const Decoded& d = code[at(i)];
      const int to = written(d);
      if (to < 0 || !induction_[at(to)]) continue;
      const Operand& from = d.operands.front();
      if (d.operands.size() == 2 && is_general(from) && self_increment(d) &&
          (own[at(from.reg.number)] || other[at(from.reg.number)])) {
        steps_[at(to)] = {};
      }
    }
  }

  Step of(const Memory& memory) const {
    Step step = kStays;
    if (memory.base.kind == RegisterKind::general) step = steps_[at(memory.base.number)];
    if (memory.index.kind == RegisterKind::general) {
      step = sum(step, scaled(steps_[at(memory.index.number)], memory.scale));
    }
    return step;
  }

  /// Whether the instruction only counts, addresses or branches.
  bool advance(const Decoded& d) {
    const int to = written(d);
    if (to < 0) return false;
    if (induction_[at(to)]) return steps_[at(to)].regular();
    const Step result = evaluate(d);
    steps_[at(to)] = result;
    return result.regular();
  }

  /// The general register that the instruction writes, or -1.
  static int written(const Decoded& d) {
    const Operand* to = d.destination();
    if (to == nullptr || !is_general(*to)) return -1;
    const std::string& m = d.mnemonic;
    const bool reads_only =
        m.starts_with("cmp") || m.starts_with("test") || m.starts_with("push") ||
        m.starts_with("bt") || d.instruction_class == "branch" || d.instruction_class == "call" ||
        (d.operands.size() == 1 &&
         (m.find("mul") != std::string::npos || m.find("div") != std::string::npos));
    return reads_only ? -1 : to->reg.number;
  }

 private:
  /// What an instruction adds to a register that it reads and writes, if that is all it does.
  static std::optional<Step> self_increment(const Decoded& d) {
    const Operand& to = d.operands.back();
    const std::string& m = d.mnemonic;
    if (m.starts_with("inc")) return Step{Step::Kind::constant, 1};
    if (m.starts_with("dec")) return Step{Step::Kind::constant, -1};
    if (d.operands.size() != 2) return {};
    const Operand& from = d.operands.front();
    const bool adds = m.starts_with("add") || m.starts_with("sub");
    if (adds && from.kind == Operand::Kind::immediate) {
      const Step step = constant(from.immediate);
      return m.starts_with("add") ? step : scaled(step, -1);
    }
    if (adds && is_general(from)) return Step{Step::Kind::runtime, 0};
    if (m.starts_with("lea") && from.kind == Operand::Kind::memory &&
        from.memory.base.kind == RegisterKind::general &&
        from.memory.base.number == to.reg.number && from.memory.index.kind == RegisterKind::none) {
      return Step{Step::Kind::constant, from.memory.displacement};
    }
    return {};
  }

  Step evaluate(const Decoded& d) const {
    const std::string& m = d.mnemonic;
    const Operand& from = d.operands.front();
    const Operand& to = d.operands.back();
    if (m.starts_with("lea")) return of(from.memory);
    if (m.starts_with("set") || m.starts_with("cmov")) return {};
    if (m.starts_with("xor") && is_general(from) && from.reg.number == to.reg.number) return kStays;
    if (m.starts_with("mov")) {
      if (is_general(from)) return steps_[at(from.reg.number)];
      if (from.kind == Operand::Kind::immediate) return kStays;
      if (from.kind != Operand::Kind::memory) return {};
      // A spilled pointer comes back as it was.
      if (is_stack_slot(from.memory, frame_)) return kStays;
      return {Step::Kind::loaded, 0};
    }
    const Step before = steps_[at(to.reg.number)];
    if (from.kind == Operand::Kind::immediate) {
      if (m.starts_with("shl") || m.starts_with("sal")) {
        return from.immediate < 20 ? scaled(before, 1ll << (from.immediate & 31)) : Step{};
      }
      if (m.starts_with("imul")) {
        const Step source = d.operands.size() == 3 && is_general(d.operands[1])
                                ? steps_[at(d.operands[1].reg.number)]
                                : before;
        return scaled(source, from.immediate);
      }
      if (m.starts_with("add") || m.starts_with("sub")) return before;
      if (before.stays()) return kStays;
      return {};
    }
    if (!is_general(from))
      return from.kind == Operand::Kind::memory ? Step{Step::Kind::loaded, 0} : Step{};
    const Step other = steps_[at(from.reg.number)];
    if (m.starts_with("add") || m.starts_with("sub")) return sum(before, other);
    if (before.stays() && other.stays()) return kStays;
    // An index times a run-time size: a stride that only the run knows.
    if (m.starts_with("imul") &&
        ((before.stays() && other.regular()) || (other.stays() && before.regular()))) {
      return {Step::Kind::runtime, 0};
    }
    return {};
  }

  FramePointer frame_;
  std::array<Step, kRegisters> steps_{};
  std::array<bool, kRegisters> induction_{};
};

/// Whether an address lies in the function's frame though it is no fixed slot: an array of private
/// values. Its registers are traced back from instruction `before` to where they were set.
bool in_private_array(const std::vector<Decoded>& code, int before, const Memory& memory,
                      FramePointer frame) {
  if (memory.base.kind == RegisterKind::pointer) {
    return !memory.relative && memory.index.kind != RegisterKind::none;
  }
  const auto from_frame = [&](Register reg) {
    int hops = 0;
    const int last = std::max(0, before - kTracedBack);
    for (int i = before - 1; i >= last && hops < 4; --i) {
      const Decoded& d = code[at(i)];
      if (reg.kind != RegisterKind::general || Strides::written(d) != reg.number) continue;
      const Operand& from = d.operands.front();
      if (d.mnemonic.starts_with("lea")) {
        const Memory& source = from.memory;
        if (source.base.kind == RegisterKind::pointer && !source.relative) return true;
        if (is_stack_slot(source, frame)) return true;
        if (source.base.number == reg.number) continue;
        reg = source.base;
      } else if (d.mnemonic.starts_with("mov") && from.kind == Operand::Kind::reg) {
        if (from.reg.kind == RegisterKind::pointer) return true;
        reg = from.reg;
      } else if (d.mnemonic.starts_with("add") || d.mnemonic.starts_with("sub") ||
                 d.mnemonic.starts_with("inc") || d.mnemonic.starts_with("dec")) {
        continue;
      } else {
        return false;
      }
      ++hops;
    }
    return false;
  };
  return from_frame(memory.base) || from_frame(memory.index);
}

/// Follows the vector registers through one iteration: which results carry over to the next one,
/// and which are kept in memory between the iterations.
class Accumulators {
 public:
  Accumulators() {
    for (int r = 0; r < kRegisters; ++r) values_[at(r)].carried.set(at(r));
  }

  void advance(const Decoded& d, bool private_array) {
    if (const int general = Strides::written(d); general >= 0) ++versions_[at(general)];
    const Operand* to = d.destination();
    if (to == nullptr) return;
    if (to->kind == Operand::Kind::memory) {
      if (d.operands.size() >= 2 && is_vector(d.operands[d.operands.size() - 2])) {
        const Value& stored = values_[at(d.operands[d.operands.size() - 2].reg.number)];
        if (private_array && stored.computed && !stored.loaded_from.empty() &&
            stored.loaded_from == key(to->memory)) {
          ++in_memory_;
        }
      }
      return;
    }
    if (!is_vector(*to)) return;
    values_[at(to->reg.number)] = result(d);
  }

  int carried() const {
    int count = 0;
    for (int r = 0; r < kRegisters; ++r) {
      const Value& value = values_[at(r)];
      if (value.computed && value.carried.test(at(r))) ++count;
    }
    return count;
  }
  int in_memory() const { return in_memory_; }

 private:
  struct Value {
    std::bitset<kRegisters> carried;  ///< registers of the iteration's start that it depends on
    bool computed = false;            ///< by arithmetic in this iteration
    std::string loaded_from;
  };

  Value result(const Decoded& d) const {
    Value value;
    const bool clears = d.mnemonic.find("xor") != std::string::npos && d.operands.size() >= 2 &&
                        is_vector(d.operands[0]) && is_vector(d.operands[1]) &&
                        d.operands[0].reg.number == d.operands[1].reg.number;
    if (clears) return value;
    const std::size_t sources = d.operands.size() - (d.reads_destination ? 0 : 1);
    for (std::size_t i = 0; i < sources; ++i) {
      const Operand& operand = d.operands[i];
      if (is_vector(operand)) {
        const Value& source = values_[at(operand.reg.number)];
        value.carried |= source.carried;
        value.computed = value.computed || source.computed;
        if (!source.loaded_from.empty()) value.loaded_from = source.loaded_from;
      } else if (operand.kind == Operand::Kind::memory && operand.memory.broadcast == 0 &&
                 !d.broadcast) {
        value.loaded_from = key(operand.memory);
      }
    }
    value.computed = value.computed || is_arithmetic(d);
    return value;
  }

  /// The address as an expression of register versions, so that equal keys are equal addresses.
  std::string key(const Memory& memory) const {
    const auto part = [&](const Register& reg) {
      return reg.kind == RegisterKind::general
                 ? fmt::format("r{}v{}", reg.number, versions_[at(reg.number)])
             : reg.kind == RegisterKind::pointer ? fmt::format("p{}", reg.number)
                                                 : std::string();
    };
    return fmt::format("{}+{}*{}+{}", part(memory.base), part(memory.index), memory.scale,
                       memory.displacement);
  }

  std::array<Value, kRegisters> values_;
  std::array<int, kRegisters> versions_{};
  int in_memory_ = 0;
};

/// What general registers hold, as a sum of values that are not known and a distance that is. An
/// unrolled loop forms the address of each of its accesses anew, often in the same register.
class Origins {
 public:
  Origins() {
    for (int r = 0; r < kRegisters; ++r) values_[at(r)] = {r, 0};
  }

  struct Address {
    std::tuple<int, int, int> origin;
    std::int64_t displacement;
  };
  Address of(const Memory& memory) const {
    const Value base = of(memory.base), index = of(memory.index);
    return {{base.origin, index.origin, memory.scale},
            memory.displacement + base.distance + index.distance * memory.scale};
  }

  void advance(const Decoded& d) {
    const int to = Strides::written(d);
    if (to < 0) return;
    const Value found = result(d, to);
    values_[at(to)] = plausible(found.distance) ? found : Value{to, 0};
  }

 private:
  struct Value {
    int origin = -1;
    std::int64_t distance = 0;
  };

  Value of(Register reg) const {
    if (reg.kind == RegisterKind::general) return values_[at(reg.number)];
    return reg.kind == RegisterKind::none ? Value{} : Value{-2, 0};
  }

  Value made(const Value& a, const Value& b, int scale) {
    const std::int64_t distance = a.distance + b.distance * scale;
    if (b.origin == -1) return {a.origin, distance};
    const int fresh = kRegisters + static_cast<int>(sums_.size());
    return {sums_.try_emplace({a.origin, b.origin, scale}, fresh).first->second, distance};
  }

  Value result(const Decoded& d, int to) {
    const std::string& m = d.mnemonic;
    const Operand& from = d.operands.front();
    const Value before = values_[at(to)];
    if (m.starts_with("inc")) return {before.origin, before.distance + 1};
    if (m.starts_with("dec")) return {before.origin, before.distance - 1};
    if (d.operands.size() == 2) {
      if (m.starts_with("lea")) {
        Value sum = made(of(from.memory.base), of(from.memory.index), from.memory.scale);
        sum.distance += from.memory.displacement;
        return sum;
      }
      const bool whole = m == "mov" || m == "movl" || m == "movq" || m == "movslq";
      if (whole && is_general(from)) return values_[at(from.reg.number)];
      const int sign = m.starts_with("add") ? 1 : m.starts_with("sub") ? -1 : 0;
      if (sign != 0 && from.kind == Operand::Kind::immediate && plausible(from.immediate)) {
        return {before.origin, before.distance + sign * from.immediate};
      }
      if (sign > 0 && is_general(from)) return made(before, values_[at(from.reg.number)], 1);
      if ((m.starts_with("shl") || m.starts_with("sal")) && from.kind == Operand::Kind::immediate &&
          from.immediate > 0 && from.immediate < 20) {
        return made({}, before, 1 << from.immediate);
      }
    }
    return {to, 0};  // whatever the register holds now
  }

  std::array<Value, kRegisters> values_;
  std::map<std::tuple<int, int, int>, int> sums_;
};

/// The key with the largest count; of equals the largest key. 0 when there is none.
int most_common(const std::map<int, int>& counts) {
  int best = 0, best_count = 0;
  for (const auto& [key, count] : counts) {
    if (count >= best_count) best = key, best_count = count;
  }
  return best;
}

/// How much of the cache lines that it touches a region uses. Accesses a known distance apart
/// belong together: an unrolled loop walks one row with several.
class LineUse {
 public:
  void note(const Origins::Address& address, const Step& step, int bits) {
    if (step.stays() || step.kind == Step::Kind::unknown) return;
    Walk& walk = walks_[address.origin];
    walk.step = step;
    ++walk.accesses;
    int& bytes = walk.bytes_at[address.displacement];
    bytes = std::max(bytes, std::max(bits / 8, 1));
  }

  struct Worst {
    int strided = 0;   ///< accesses that leave part of their lines unused
    double share = 1;  ///< of a line that the worst walk uses
  };
  Worst worst() const {
    Worst worst;
    for (const auto& [registers, walk] : walks_) {
      double used = 0;
      std::set<std::int64_t> lines;
      const std::int64_t origin = walk.bytes_at.begin()->first;
      for (const auto& [displacement, bytes] : walk.bytes_at) {
        used += bytes;
        for (std::int64_t at_byte = 0; at_byte < bytes; at_byte += kLineBytes) {
          lines.insert((displacement - origin + at_byte) / kLineBytes);
        }
      }
      const bool near =
          walk.step.kind == Step::Kind::constant && std::abs(walk.step.bytes) < kLineBytes;
      const double touched =
          near ? static_cast<double>(std::abs(walk.step.bytes))
               : static_cast<double>(kLineBytes) * static_cast<double>(lines.size());
      const double share = std::min(used / touched, 1.0);
      if (share >= 1) continue;
      worst.strided += walk.accesses;
      worst.share = std::min(worst.share, share);
    }
    return worst;
  }

 private:
  struct Walk {
    Step step;
    int accesses = 0;
    std::map<std::int64_t, int> bytes_at;
  };
  std::map<std::tuple<int, int, int>, Walk> walks_;
};

}  // namespace

std::map<std::string, double> region_metrics(const std::vector<Decoded>& code,
                                             const std::vector<int>& region, Region kind,
                                             FramePointer frame) {
  std::map<std::string, double> metrics;
  if (region.empty()) return metrics;
  std::map<int, int> widths, integer_widths, elements;
  int fp = 0, scalar = 0, fused = 0, products = 0, sums = 0, divisions = 0, integer_divisions = 0;
  int loads = 0, stores = 0, spills = 0, gathers = 0, scatters = 0, element_accesses = 0;
  int broadcasts = 0, calls = 0, control = 0, private_accesses = 0;
  LineUse load_lines, store_lines;
  Strides strides(code, region, frame);
  Origins origins;
  Accumulators accumulators;

  for (const int i : region) {
    const Decoded& d = code[at(i)];
    if (is_arithmetic(d)) {
      ++fp;
      ++widths[d.vector_bits];
      ++elements[d.element_bits];
      scalar += d.packed ? 0 : 1;
      fused += d.arithmetic == Arithmetic::fused ? 1 : 0;
      products += d.arithmetic == Arithmetic::multiply ? 1 : 0;
      sums += d.arithmetic == Arithmetic::add ? 1 : 0;
      divisions += d.arithmetic == Arithmetic::slow_fp ? 1 : 0;
    } else if (d.arithmetic == Arithmetic::integer) {
      ++integer_widths[d.vector_bits];
    } else if (d.instruction_class == "sfu") {
      ++integer_divisions;
    }
    const Operand* memory = d.memory();
    const bool slot = memory != nullptr && is_stack_slot(memory->memory, frame);
    const bool moves = d.read_bits > 0 || d.written_bits > 0;
    if (slot && moves) ++spills;
    if (memory != nullptr && moves && !slot && !memory->memory.relative) {
      const Step step = strides.of(memory->memory);
      // A value that is spread over the lanes is one address for all of them.
      if (d.read_bits > 0) {
        ++loads;
        if (!d.broadcast) load_lines.note(origins.of(memory->memory), step, d.read_bits);
      }
      if (d.written_bits > 0)
        ++stores, store_lines.note(origins.of(memory->memory), step, d.written_bits);
    }
    const bool private_array =
        memory != nullptr && moves && !slot && in_private_array(code, i, memory->memory, frame);
    private_accesses += private_array ? 1 : 0;
    gathers += d.gather ? 1 : 0;
    scatters += d.scatter ? 1 : 0;
    element_accesses += d.element_access ? 1 : 0;
    broadcasts += d.broadcast ? 1 : 0;
    calls += d.instruction_class == "call" ? 1 : 0;
    const bool compares = d.mnemonic.starts_with("cmp") || d.mnemonic.starts_with("test");
    const bool scalar_compare = compares && d.instruction_class == "salu" && memory == nullptr;
    const bool counts = strides.advance(d) && !moves;
    // A value that moves from a vector into a general register is an address there, or a condition.
    const bool extracts = d.instruction_class == "salu" && d.operands.size() >= 2 &&
                          std::any_of(d.operands.begin(), d.operands.end(), is_vector);
    if (counts || scalar_compare || extracts || d.instruction_class == "branch" ||
        d.instruction_class == "nop") {
      ++control;
    }
    accumulators.advance(d, private_array);
    origins.advance(d);
  }

  const auto put = [&](const char* name, double value) {
    metrics[std::string("isa.loop.") + name] = value;
  };
  put("fp", fp);
  put("loads", loads);
  put("stores", stores);
  put("spills", spills);
  put("private_accesses", private_accesses);
  put("gathers", gathers);
  put("scatters", scatters);
  put("broadcasts", broadcasts);
  put("calls", calls);
  put("divides", divisions);
  put("integer_divides", integer_divisions);
  put("overhead_share", static_cast<double>(control) / static_cast<double>(region.size()));
  put("instructions", static_cast<double>(region.size()));
  if (fp > 0) {
    put("scalar_fp_share", static_cast<double>(scalar) / fp);
    put("element_bits", most_common(elements));
    put("vector_bits", most_common(widths));
    put("instructions_per_fp", static_cast<double>(region.size()) / fp);
    put("fusable", std::min(products, sums));
    // In scalar code every access is of one element; that is another finding's matter.
    put("element_accesses", 2 * scalar > fp ? 0 : element_accesses);
    if (fused + sums > 0)
      put("fma_share", static_cast<double>(fused) / (fused + std::max(products, sums)));
  } else if (!integer_widths.empty()) {
    put("vector_bits", most_common(integer_widths));
  }
  if (fused > 0) put("loads_per_fma", static_cast<double>(loads) / fused);
  if (kind == Region::loop) {
    put("accumulators", accumulators.carried());
    put("accumulators_in_memory", accumulators.in_memory());
    put("strided_loads", load_lines.worst().strided);
    put("strided_stores", store_lines.worst().strided);
    put("load_line_use", load_lines.worst().share);
    put("store_line_use", store_lines.worst().share);
  }
  return metrics;
}

}  // namespace burnish::isa::x86
