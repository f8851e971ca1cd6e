#include "isa/sass_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "isa/flow.h"
#include "isa/sass_waits.h"

namespace burnish::isa::nvidia {
namespace {

/// Registers of one file that a text can name; RZ, the zero register, has no number.
constexpr int kMostRegisters = 255;
/// From sm_70 on a thread's program counter takes two registers that no instruction names: ptxas
/// counts the highest that the code names and two more, in every kernel of the tests.
constexpr int kCounterRegisters = 2;
constexpr int kCounterRegistersFrom = 70;
/// Loops that ptxas writes round an instruction with uniform operands, to serve the lanes that
/// differ one after another, are no longer.
constexpr std::int64_t kLongestServingLoop = 8;

/// The last hexadecimal operand: "BRA.U !UP0, 0x540" → 0x540.
std::optional<std::uint64_t> address_operand(std::string_view text) {
  const std::size_t at = text.rfind(" 0x");
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + 3);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// Highest registers that instructions name.
struct Registers {
  int vector = -1, uniform = -1, predicate = -1, uniform_predicate = -1;
};

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/// `span` registers belong to the operand that moves data: the first one of a load, the last one of
/// a store.
void note_registers(std::string_view text, int span, bool last_moves, Registers& registers) {
  int first = -1;
  int last = -1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c != 'R' && c != 'U' && c != 'P') ||
        (i > 0 && (is_word(text[i - 1]) || text[i - 1] == '.'))) {
      continue;
    }
    std::size_t at = i;
    const bool uniform = c == 'U';
    if (uniform) ++at;
    if (at >= text.size() || (text[at] != 'R' && text[at] != 'P')) continue;
    const bool predicate = text[at] == 'P';
    int number = 0;
    std::size_t digits = ++at;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && number < 1000) {
      number = number * 10 + (text[digits] - '0');
      ++digits;
    }
    if (digits == at || (digits < text.size() && is_word(text[digits])) ||
        number >= kMostRegisters) {
      continue;
    }
    i = digits - 1;
    if (predicate) {
      int& most = uniform ? registers.uniform_predicate : registers.predicate;
      most = std::max(most, number);
      continue;
    }
    const bool pair = text.substr(digits, 3) == ".64";
    int& most = uniform ? registers.uniform : registers.vector;
    most = std::max(most, number + (pair ? 1 : 0));
    if (uniform) continue;
    if (first < 0) first = number;
    last = number;
  }
  const int moved = last_moves ? last : first;
  if (moved >= 0) {
    registers.vector = std::max(registers.vector, std::min(moved + span, kMostRegisters) - 1);
  }
}

/// Registers that hold the result of an instruction, at least.
int result_span(const Opcode& opcode) {
  const std::string_view name = opcode.mnemonic;
  if (opcode.special == Special::mma) return name.starts_with("HMMA.884") ? 2 : 4;
  if (opcode.special == Special::wgmma) {
    // 64 x N accumulators over 128 threads, 32 bits each, 16 where the result is half precision.
    const std::size_t from = opcode.matrix_shape.find('x');
    int n = 0;
    if (from != std::string::npos) {
      std::from_chars(opcode.matrix_shape.data() + from + 1,
                      opcode.matrix_shape.data() + opcode.matrix_shape.size(), n);
    }
    const int bits = contains(name, ".F16") ? 16 : 32;
    return std::clamp(n * bits / 64, 1, kMostRegisters);
  }
  // "LDG.E.ENL2.256 R8, R4, …" moves two groups of registers.
  if (contains(name, ".ENL2")) return std::max(opcode.width_bits / 64, 1);
  if (opcode.width_bits > 32) return opcode.width_bits / 32;
  const bool wide = name.starts_with("DADD") || name.starts_with("DMUL") ||
                    name.starts_with("DFMA") || name.starts_with("IMAD.WIDE") ||
                    name.starts_with("FFMA2") || name.starts_with("FADD2") ||
                    name.starts_with("FMUL2");
  return wide ? 2 : 1;
}

/// "HFMA2.MMA R13, -RZ, RZ, 0, 5.96e-08" and "FFMA R0, -RZ, RZ, 1": ptxas loads constants so.
bool moves_constant(std::string_view text) {
  const std::size_t comma = text.find(", ");
  if (comma == std::string_view::npos) return false;
  const std::string_view rest = text.substr(comma + 2);
  return rest.starts_with("-RZ, RZ,") || rest.starts_with("RZ, RZ,");
}

Counts possible_classes(std::optional<int> sm) {
  Counts classes;
  for (const char* name :
       {"valu",       "fma",        "vmem_load",   "vmem_store", "lds_load",    "lds_store", "smem",
        "cross_lane", "convert",    "sfu",         "atomic",     "barrier",     "wait",      "nop",
        "branch",     "spill_load", "spill_store", "local_load", "local_store", "call"}) {
    classes.emplace(name, 0);
  }
  if (!sm) return classes;
  if (*sm >= 53) classes.emplace("packed_fma", 0);
  if (*sm >= 70) classes.emplace("matrix", 0);
  if (*sm >= 75) classes.emplace("salu", 0);
  if (*sm >= 80) classes.emplace("async_copy", 0);
  if (*sm >= 100 && *sm < 120) classes.emplace("accum_move", 0);
  return classes;
}

class CodeReader {
 public:
  CodeReader(Kernel& kernel, const Listing& listing, const Function& function,
             const std::optional<SpillAddresses>& told)
      : kernel_(kernel),
        listing_(listing),
        function_(function),
        told_(told),
        lines_(listing.lines.data() + function.begin),
        count_(function.end - function.begin),
        sm_(sm_number(kernel.arch)) {}

  void read() {
    trim_padding();
    if (count_ == 0) return;
    const LocalAccesses local = local_accesses(lines_, count_, told_);
    take_instructions(local);
    note_local(local);
    find_flow();
    kernel_.classes = possible_classes(sm_);
    count_classes(kernel_);
    find_loops(kernel_, flow_);
    link_waits(kernel_, lines_);
    choose_hot_loop();
    count_further();
  }

 private:
  /// Behind the last instruction stand a branch to itself and NOPs.
  void trim_padding() {
    const auto is_pad = [&](const Line& line) {
      if (line.opcode->special == Special::nop && !line.guarded) return true;
      if (line.opcode->flow != Flow::Kind::branch || line.guarded) return false;
      return target_of(line) == line.address;
    };
    while (count_ > 1 && is_pad(lines_[count_ - 1])) --count_;
  }

  void take_instructions(const LocalAccesses& local) {
    kernel_.instructions.resize(count_);
    Registers registers;
    for (std::size_t i = 0; i < count_; ++i) {
      const Line& line = lines_[i];
      const Opcode& opcode = *line.opcode;
      Instruction& to = kernel_.instructions[i];
      to.address = line.address;
      to.text = line.text;
      to.opcode = opcode.mnemonic;
      std::string_view instruction_class = opcode.instruction_class;
      if (line.never && opcode.flow != Flow::Kind::branch) {
        instruction_class = "nop";
      } else if (local.of[i] == LocalAccess::spill) {
        instruction_class = opcode.special == Special::local_load ? "spill_load" : "spill_store";
      } else if (opcode.special == Special::fma && moves_constant(line.text)) {
        instruction_class = "valu";
      }
      to.instruction_class = instruction_class;
      if (!line.never) to.width_bits = opcode.width_bits;
      if (line.place >= 0) {
        const auto& [file, number] = listing_.places[static_cast<std::size_t>(line.place)];
        to.source_file = file;
        to.source_line = number;
      }
      to.control = line.control;
      if (instruction_class == "unknown") {
        ++kernel_
              .unknown_opcodes[std::string(opcode.mnemonic.substr(0, opcode.mnemonic.find('.')))];
      }
      if (!opcode.cross_lane.empty()) ++kernel_.cross_lane[std::string(opcode.cross_lane)];
      if (!opcode.matrix_shape.empty()) ++kernel_.matrix_shapes[opcode.matrix_shape];
      const bool stores = instruction_class.ends_with("store");
      note_registers(line.text, result_span(opcode), stores, registers);
      if (local.of[i] == LocalAccess::spill) spill_bytes_ += opcode.width_bits / 8;
    }
    kernel_.extra["isa.register_peak"] = registers.vector + 1;
    if (!sm_ || *sm_ >= 75) kernel_.extra["isa.uniform_registers"] = registers.uniform + 1;
    kernel_.extra["isa.predicate_registers"] =
        registers.predicate + 1 + registers.uniform_predicate + 1;
    if (!kernel_.registers_used) {
      const bool counter = sm_ && *sm_ >= kCounterRegistersFrom;
      kernel_.registers_used = registers.vector + 1 + (counter ? kCounterRegisters : 0);
      kernel_.notes.push_back("registers are counted from the instructions");
    }
  }

  void note_local(const LocalAccesses& local) {
    std::int64_t spill_loads = 0;
    std::int64_t spill_stores = 0;
    std::int64_t arrays = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (local.of[i] == LocalAccess::array) ++arrays;
      if (local.of[i] != LocalAccess::spill) continue;
      ++(lines_[i].opcode->special == Special::local_load ? spill_loads : spill_stores);
    }
    kernel_.spill_loads = spill_loads;
    kernel_.spill_stores = spill_stores;
    kernel_.spill_bytes = spill_bytes_;
    if (arrays > 0) {
      // ptxas does not mark the registers that a function saves for its caller.
      const bool calls = std::any_of(lines_, lines_ + count_, [](const Line& line) {
        return line.opcode->flow == Flow::Kind::call;
      });
      kernel_.notes.push_back(fmt::format(
          "local memory: {} access{} to an array (indexed at run time, or passed to a function){}, "
          "{} of spilled registers{}",
          arrays, arrays == 1 ? "" : "es",
          calls ? " or to registers that a called function saves" : "", spill_loads + spill_stores,
          local.guessed ? ", told apart by where they lie in the frame" : ""));
    }
  }

  std::optional<std::uint64_t> label_address(std::string_view name) const {
    if (labels_.empty() && function_.first_label < function_.last_label) {
      for (std::size_t i = function_.first_label; i < function_.last_label; ++i) {
        labels_.emplace(listing_.labels[i].name, listing_.labels[i].address);
      }
    }
    const auto found = labels_.find(name);
    if (found == labels_.end()) return {};
    return found->second;
  }

  std::optional<std::uint64_t> target_of(const Line& line) const {
    if (!line.label.empty()) return label_address(line.label);
    auto address = address_operand(line.text);
    // Before sm_70 a group of instructions starts with their control word.
    if (address && sm_ && *sm_ < 70 && *address % 32 == 0) *address += 8;
    return address;
  }

  /// Whether a branch may fall through although no predicate guards it: "BRA.U !UP0, …",
  /// "BRA P1, …", "BRA.DIV ~URZ, …".
  static bool has_condition(const Line& line) {
    const std::string_view name = line.opcode->mnemonic;
    if (contains(name, ".DIV") || contains(name, ".CONV") || contains(name, ".ANY")) return true;
    const std::size_t at = line.text.find(name);
    std::string_view operands = line.text.substr(std::min(at + name.size(), line.text.size()));
    operands = trim(operands);
    if (operands.starts_with('!')) operands.remove_prefix(1);
    return operands.starts_with("P") || operands.starts_with("UP");
  }

  void find_flow() {
    flow_.resize(count_);
    // Before sm_70, SYNC, BRK and CONT go where the last SSY, PBK or PCNT says.
    std::array<std::vector<std::uint64_t>, 3> stacks;
    const auto stack_of = [&](Special special) -> std::vector<std::uint64_t>* {
      switch (special) {
        case Special::sync_push:
        case Special::sync_pop:
          return &stacks[0];
        case Special::break_push:
        case Special::break_pop:
          return &stacks[1];
        case Special::continue_push:
        case Special::continue_pop:
          return &stacks[2];
        default:
          return nullptr;
      }
    };
    int indirect = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const Line& line = lines_[i];
      Flow& flow = flow_[i];
      for (auto& stack : stacks) {
        while (!stack.empty() && stack.back() <= line.address) stack.pop_back();
      }
      auto* stack = stack_of(line.opcode->special);
      const Flow::Kind kind = line.opcode->flow;
      if (kind == Flow::Kind::next) {
        if (stack != nullptr) {
          if (const auto target = target_of(line); target && *target > line.address) {
            stack->push_back(*target);
          }
        }
        continue;
      }
      if (line.never) continue;
      flow.kind = kind;
      if (kind == Flow::Kind::call) continue;
      if (kind == Flow::Kind::end) {
        if (line.guarded) flow.kind = Flow::Kind::conditional;
        continue;
      }
      if (line.guarded || has_condition(line)) flow.kind = Flow::Kind::conditional;
      if (!line.targets.empty()) {
        std::vector<std::uint64_t> targets;
        for (const std::string_view name : split(line.targets, ',')) {
          if (const auto address = label_address(trim(name))) targets.push_back(*address);
        }
        if (!targets.empty()) {
          flow.target = targets.front();
          flow.others.assign(targets.begin() + 1, targets.end());
        }
      } else if (stack != nullptr) {
        if (!stack->empty()) flow.target = stack->back();
      } else if (line.opcode->mnemonic.starts_with("BRX") ||
                 line.opcode->mnemonic.starts_with("JMX")) {
        ++indirect;
      } else {
        flow.target = target_of(line);
      }
    }
    if (indirect > 0) {
      kernel_.notes.push_back(
          fmt::format("{} indirect branch{} whose targets the text does not name; nvdisasm does",
                      indirect, indirect == 1 ? "" : "es"));
    }
  }

  static std::int64_t count_of(const Loop& loop, const char* name) {
    const auto found = loop.classes.find(name);
    return found == loop.classes.end() ? 0 : found->second;
  }

  bool goes_on_for_any_lane(const Loop& loop) const {
    return std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](int block) {
      const BasicBlock& at = kernel_.blocks[static_cast<std::size_t>(block)];
      const int last = at.first + at.count - 1;
      return kernel_.instructions[static_cast<std::size_t>(last)].opcode == "BRA.U.ANY";
    });
  }

  /// A loop that only waits, for an mbarrier or for what another block writes, or that serves the
  /// lanes one after another: most often it runs once.
  bool does_no_work(const Loop& loop) const {
    std::int64_t work = 0;
    for (const char* name :
         {"fma", "packed_fma", "sfu", "convert", "vmem_load", "vmem_store", "lds_load", "lds_store",
          "spill_load", "spill_store", "local_load", "local_store"}) {
      work += count_of(loop, name);
    }
    if (work > 0) return false;
    if (loop.instructions <= kLongestServingLoop &&
        (count_of(loop, "cross_lane") > 0 || goes_on_for_any_lane(loop))) {
      return true;
    }
    return count_of(loop, "matrix") + count_of(loop, "async_copy") + count_of(loop, "cross_lane") ==
               0 &&
           count_of(loop, "barrier") + count_of(loop, "wait") > 0;
  }

  /// Of the loops that have none inside but such as do no work: one with matrix instructions before
  /// others, then the deepest, then the largest (an unrolled loop before the one for its rest).
  void choose_hot_loop() {
    const std::size_t loops = kernel_.loops.size();
    std::vector<char> has_inner(loops, 0);
    for (const Loop& each : kernel_.loops) {
      if (each.parent >= 0 && !does_no_work(each)) {
        has_inner[static_cast<std::size_t>(each.parent)] = 1;
      }
    }
    std::tuple<bool, bool, int, std::int64_t> best{false, false, 0, 0};
    for (std::size_t i = 0; i < loops; ++i) {
      if (has_inner[i] != 0) continue;
      const Loop& each = kernel_.loops[i];
      const std::tuple rank(!does_no_work(each), count_of(each, "matrix") > 0, each.depth,
                            each.instructions);
      if (rank > best || !kernel_.hot) {
        best = rank;
        kernel_.hot = static_cast<int>(i);
      }
    }
  }

  /// Counts of one stretch of code.
  struct Further {
    std::int64_t stall_cycles = 0, scoreboard_waits = 0, predicated = 0, dual_issue = 0;
    std::int64_t ldgsts = 0, groups = 0, tma_loads = 0, tma_stores = 0, mbarrier_tries = 0;
    std::int64_t mma = 0, wgmma = 0, tcgen05 = 0, local_loads = 0, local_stores = 0;
    bool controlled = true;  ///< every instruction has its control
  };

  void add(Further& to, std::size_t i) const {
    const Line& line = lines_[i];
    if (line.control) {
      to.stall_cycles += line.control->stall;
      if (line.control->wait_mask != 0) ++to.scoreboard_waits;
      // Before sm_70 a stall of 0 lets the next instruction issue in the same cycle.
      if (sm_ && *sm_ < 70 && line.control->stall == 0) ++to.dual_issue;
    } else {
      to.controlled = false;
      if (line.paired) ++to.dual_issue;
    }
    if (line.guarded && line.opcode->flow == Flow::Kind::next) ++to.predicated;
    if (line.never) return;
    switch (line.opcode->special) {
      case Special::async_copy:
        ++to.ldgsts;
        break;
      case Special::async_group:
        ++to.groups;
        break;
      case Special::tma_load:
        ++to.tma_loads;
        break;
      case Special::tma_store:
        ++to.tma_stores;
        break;
      case Special::mbarrier_try:
        ++to.mbarrier_tries;
        break;
      case Special::mma:
        ++to.mma;
        break;
      case Special::wgmma:
        ++to.wgmma;
        break;
      case Special::tcgen05:
        ++to.tcgen05;
        break;
      case Special::local_load:
        ++to.local_loads;
        break;
      case Special::local_store:
        ++to.local_stores;
        break;
      default:
        break;
    }
  }

  /// Names without prefix: of the kernel, or of a loop.
  std::map<std::string, double> named(const Further& from) const {
    std::map<std::string, double> result;
    const auto put = [&](const char* name, std::int64_t value) {
      result[name] = static_cast<double>(value);
    };
    if (from.controlled) {
      put("stall_cycles", from.stall_cycles);
      put("scoreboard_waits", from.scoreboard_waits);
    }
    put("predicated", from.predicated);
    put("scratch_loads", from.local_loads);
    put("scratch_stores", from.local_stores);
    if (!sm_) return result;
    if (*sm_ < 70) put("dual_issue", from.dual_issue);
    if (*sm_ >= 70) put("mma", from.mma);
    if (*sm_ >= 80) {
      put("ldgsts", from.ldgsts);
      put("async_groups", from.groups);
    }
    if (*sm_ >= 90) {
      put("tma_loads", from.tma_loads);
      put("tma_stores", from.tma_stores);
      put("mbarrier_tries", from.mbarrier_tries);
    }
    if (*sm_ == 90) put("wgmma", from.wgmma);
    if (*sm_ >= 100 && *sm_ < 120) put("tcgen05", from.tcgen05);
    return result;
  }

  void count_further() {
    Further all;
    for (std::size_t i = 0; i < count_; ++i) add(all, i);
    for (const auto& [name, value] : named(all)) kernel_.extra["isa." + name] = value;
    for (Loop& each : kernel_.loops) count_further(each, all.controlled);
  }

  void count_further(Loop& each, bool controlled) {
    Further in_loop;
    for (const int block : each.blocks) {
      const BasicBlock& at = kernel_.blocks[static_cast<std::size_t>(block)];
      for (int i = at.first; i < at.first + at.count; ++i) {
        add(in_loop, static_cast<std::size_t>(i));
      }
    }
    each.extra = named(in_loop);
    if (!controlled) return;
    const auto waits = exposed_waits(kernel_, each, lines_);
    each.extra["exposed_waits"] = static_cast<double>(waits.size());
    if (waits.empty()) return;
    const auto nearest = std::min_element(
        waits.begin(), waits.end(),
        [](const ExposedWait& a, const ExposedWait& b) { return a.distance < b.distance; });
    each.extra["wait_distance"] = nearest->distance;
    if (kernel_.hot != each.id) return;
    const Instruction& consumer = kernel_.instructions[static_cast<std::size_t>(nearest->consumer)];
    const Instruction& producer = kernel_.instructions[static_cast<std::size_t>(nearest->producer)];
    kernel_.notes.push_back(fmt::format(
        "in loop {} {:#x} ({}{}) waits for {:#x} ({}{}), {} instruction{} earlier", each.id,
        consumer.address, consumer.opcode, place_of(consumer), producer.address, producer.opcode,
        place_of(producer), nearest->distance, nearest->distance == 1 ? "" : "s"));
  }

  static std::string place_of(const Instruction& instruction) {
    const std::string line = instruction.source_place();
    return line.empty() ? "" : ", " + line;
  }

  Kernel& kernel_;
  const Listing& listing_;
  const Function& function_;
  const std::optional<SpillAddresses>& told_;
  const Line* lines_;
  std::size_t count_;
  std::optional<int> sm_;
  std::int64_t spill_bytes_ = 0;
  std::vector<Flow> flow_;
  mutable std::unordered_map<std::string_view, std::uint64_t> labels_;
};

}  // namespace

void fill_code(Kernel& kernel, const Listing& listing, const Function& function,
               const std::optional<SpillAddresses>& told) {
  CodeReader(kernel, listing, function, told).read();
}

}  // namespace burnish::isa::nvidia
