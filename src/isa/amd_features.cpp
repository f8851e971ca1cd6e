#include "isa/amd_features.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <span>

#include "base/text.h"

namespace burnish::isa::amd {
namespace {

constexpr std::size_t kRegisters = 1024;
using Registers = std::bitset<kRegisters>;

/// Past this many blocks the data-flow analysis would take too much memory and is left out.
constexpr std::size_t kMostFlowBlocks = 20'000;
constexpr int kMostPasses = 16;
/// How many loads back a mergeable partner is looked for.
constexpr std::size_t kMergeWindow = 8;

bool is_vector(const Operand& operand) { return operand.kind == Operand::Kind::vector; }
int offset_of(const Line& line) { return line.offset == Line::kNoOffset ? 0 : line.offset; }
bool same(const Operand& a, const Operand& b) {
  return a.kind == b.kind && a.first == b.first && a.count == b.count;
}

template <class Visit>
void each_register(const Operand& operand, Visit visit) {
  const std::size_t end =
      std::min<std::size_t>(kRegisters, std::size_t{operand.first} + operand.count);
  for (std::size_t i = operand.first; i < end; ++i) visit(i);
}

/// What an operation does to the knowledge of which vector registers hold one value for all lanes.
struct Effect {
  const Line* line;
  const Opcode* opcode;
  std::uint8_t first;  ///< its destination among the operands
  std::uint8_t end;
};

class Uniformity {
 public:
  Uniformity(const Kernel& kernel, const Predecessors& predecessors, const Code& code)
      : kernel_(kernel), predecessors_(predecessors), code_(code) {}

  struct Found {
    std::vector<char> writes;  ///< by instruction: whether it writes such a value
    Registers written;         ///< registers that such instructions write
    Registers held;            ///< registers that the loop reads while they hold such a value
  };

  /// Where a vector register gets a value that is the same in every lane and could come from a
  /// scalar load or the scalar unit. `in_loop` marks the instructions of the loop in question.
  bool run(const std::vector<char>& in_loop, Found& found) {
    const std::size_t blocks = kernel_.blocks.size();
    if (blocks == 0 || blocks > kMostFlowBlocks) return false;
    // Optimistic: registers are uniform until a path says otherwise. Work items' numbers come in
    // v0.
    std::vector<State> out(blocks, State{Registers().set(), Registers()});
    bool changed = true;
    for (int pass = 0; changed && pass < kMostPasses; ++pass) {
      changed = false;
      for (std::size_t b = 0; b < blocks; ++b) {
        State state = enter(b, predecessors_.of(b), out);
        walk(b, state);
        if (state.uniform != out[b].uniform || state.computed != out[b].computed) {
          out[b] = state;
          changed = true;
        }
      }
    }
    if (changed) return false;
    for (std::size_t b = 0; b < blocks; ++b) {
      State state = enter(b, predecessors_.of(b), out);
      in_loop_ = &in_loop;
      found_ = &found;
      walk(b, state);
    }
    return true;
  }

 private:
  struct State {
    Registers uniform;
    Registers computed;  ///< of those, the ones that are no mere constants
  };

  static State enter(std::size_t block, std::span<const int> from, const std::vector<State>& out) {
    if (block == 0 || from.empty()) return {};
    State state = out[static_cast<std::size_t>(from[0])];
    for (const int each : from) {
      state.uniform &= out[static_cast<std::size_t>(each)].uniform;
      state.computed |= out[static_cast<std::size_t>(each)].computed;
    }
    state.computed &= state.uniform;
    return state;
  }

  void walk(std::size_t block, State& state) {
    const BasicBlock& at = kernel_.blocks[block];
    for (int i = at.first; i < at.first + at.count; ++i) {
      const Line& line = code_.lines[i];
      if (found_ != nullptr && (*in_loop_)[static_cast<std::size_t>(i)]) read(line, state);
      const std::uint8_t split = line.second ? line.second_first : line.operand_count;
      apply({&line, line.opcode, 0, split}, i, state);
      if (line.second) {
        apply({&line, line.second, split, line.operand_count}, i, state);
      }
    }
  }

  void read(const Line& line, const State& state) {
    for (std::uint8_t o = line.opcode->writes_first ? 1 : 0; o < line.operand_count; ++o) {
      if (!is_vector(line.operands[o])) continue;
      each_register(line.operands[o], [&](std::size_t r) {
        if (state.computed[r]) found_->held.set(r);
      });
    }
  }

  void apply(const Effect& effect, int i, State& state) {
    if (effect.first >= effect.end || !effect.opcode->writes_first) return;
    const Operand& to = effect.line->operands[effect.first];
    if (!is_vector(to)) return;
    const Opcode& opcode = *effect.opcode;
    bool computed = false;
    bool uniform = can_be_uniform(opcode, *effect.line, i);
    if (uniform) {
      for (std::uint8_t o = static_cast<std::uint8_t>(effect.first + 1); o < effect.end; ++o) {
        const Operand& from = effect.line->operands[o];
        if (from.kind == Operand::Kind::accum) uniform = false;
        if (from.kind == Operand::Kind::scalar) computed = true;
        if (!is_vector(from)) continue;
        each_register(from, [&](std::size_t r) {
          if (!state.uniform[r]) uniform = false;
          if (state.computed[r]) computed = true;
        });
      }
    }
    // A load of one address gives one value.
    if (opcode.access == Access::load) computed = true;
    each_register(to, [&](std::size_t r) {
      state.uniform[r] = uniform;
      state.computed[r] = uniform && computed;
      if (uniform && computed && found_ != nullptr) found_->written.set(r);
    });
    if (uniform && computed && found_ != nullptr) found_->writes[static_cast<std::size_t>(i)] = 1;
  }

  bool can_be_uniform(const Opcode& opcode, const Line& line, int i) const {
    if (opcode.access == Access::load) {
      // What LDS or scratch gives cannot come from a scalar load.
      const bool memory = opcode.space == Space::global || opcode.space == Space::buffer ||
                          opcode.space == Space::flat;
      return memory && code_.scratch[static_cast<std::size_t>(i)] == 0;
    }
    return opcode.lanewise && line.dpp == Dpp::none;
  }

  const Kernel& kernel_;
  const Predecessors& predecessors_;
  const Code& code_;
  const std::vector<char>* in_loop_ = nullptr;
  Found* found_ = nullptr;  ///< null until the knowledge has settled
};

/// Counts over the kernel and over its hot loop; the metrics are "isa.<name>" and
/// "isa.loop.<name>".
enum Feature : std::size_t {
  kNopCycles,
  kFullWaits,
  kFullVectorWaits,
  kReadlanes,
  kReadlaneChain,
  kBpermutes,
  kScratchLoads,
  kScratchStores,
  kPackedMath,
  kDualIssue,
  kMatrixNarrowFed,
  kMergeableLoads,
  kUniformVectorOps,
  kDppMoves,
  kFeatures,
};
constexpr std::array<const char*, kFeatures> kNames{
    "nop_cycles",        "full_waits",      "full_vector_waits",  "readlanes",   "readlane_chain",
    "bpermutes",         "scratch_loads",   "scratch_stores",     "packed_math", "dual_issue",
    "matrix_narrow_fed", "mergeable_loads", "uniform_vector_ops", "dpp_moves"};

class Features {
 public:
  Features(Kernel& kernel, const Predecessors& predecessors, const Code& code)
      : kernel_(kernel),
        predecessors_(predecessors),
        code_(code),
        in_loop_(kernel.instructions.size(), 0) {
    const int hot = hot_loop(kernel);
    if (hot < 0) return;
    has_loop_ = true;
    for (const int block : kernel.loops[static_cast<std::size_t>(hot)].blocks) {
      const BasicBlock& at = kernel.blocks[static_cast<std::size_t>(block)];
      for (int i = at.first; i < at.first + at.count; ++i)
        in_loop_[static_cast<std::size_t>(i)] = 1;
    }
  }

  void find() {
    known_.set();
    known_.reset(kUniformVectorOps);
    instructions();
    full_waits();
    if (all_[kReadlanes] > 0) readlane_chains();
    if (!kernel_.matrix_shapes.empty()) matrix_feeds();
    mergeable_loads();
    uniform_values();
    lane_selects();
    for (std::size_t f = 0; f < kFeatures; ++f) {
      if (!known_[f]) continue;
      kernel_.extra[std::string("isa.") + kNames[f]] = all_[f];
      if (has_loop_) kernel_.extra[std::string("isa.loop.") + kNames[f]] = loop_[f];
    }
  }

 private:
  std::size_t size() const { return kernel_.instructions.size(); }

  void count(Feature feature, std::size_t i, double amount = 1) {
    all_[feature] += amount;
    if (in_loop_[i]) loop_[feature] += amount;
  }

  void instructions() {
    for (std::size_t i = 0; i < size(); ++i) {
      const Line& line = code_.lines[i];
      const Opcode& opcode = *line.opcode;
      switch (opcode.special) {
        case Special::nop: {
          // s_nop N waits for N + 1 cycles.
          const auto more = opcode.padding ? parse_integer(line.last_operand()) : 0;
          count(kNopCycles, i,
                static_cast<double>(std::clamp<std::int64_t>(more.value_or(0), 0, 127)) + 1);
          break;
        }
        case Special::readlane:
          count(kReadlanes, i);
          break;
        case Special::move:
          if (line.dpp != Dpp::none) count(kDppMoves, i);
          break;
        case Special::bpermute:
        case Special::permute:
          count(kBpermutes, i);
          break;
        default:
          break;
      }
      if (code_.scratch[i]) {
        count(opcode.access == Access::load ? kScratchLoads : kScratchStores, i);
      }
      if (opcode.packed) count(kPackedMath, i);
      if (line.second) count(kDualIssue, i);
    }
  }

  /// Waits until nothing of a kind is in flight any more. One whose youngest producer is in the
  /// loop before it leaves that producer's latency uncovered by anything but what stands between
  /// the two.
  void full_waits() {
    double nearest = 0;
    double exposed = 0;
    for (const Wait& wait : code_.waits) {
      const auto at = static_cast<std::size_t>(wait.instruction);
      bool full = false;
      bool vector = false;
      for (const WaitFor& counter : wait.counters) {
        if (counter.count != 0) continue;
        full = true;
        if (counter.mask & kVectorLoad) vector = true;
      }
      if (!full) continue;
      count(kFullWaits, at);
      if (!vector) continue;
      count(kFullVectorWaits, at);
      if (!in_loop_[at]) continue;
      int youngest = -1;
      bool from_before = false;
      for (const int producer : kernel_.instructions[at].waits_for) {
        const auto p = static_cast<std::size_t>(producer);
        if (!in_loop_[p] || !(code_.events[p] & kVectorLoad)) continue;
        if (producer < wait.instruction) youngest = std::max(youngest, producer);
        if (producer > wait.instruction) from_before = true;
      }
      if (youngest < 0) continue;
      // A loop that loads for its next turn has producers behind the wait; what is before it then
      // came in by the first turn or serves something else.
      if (from_before) continue;
      const double distance = wait.instruction - youngest;
      nearest = exposed == 0 ? distance : std::min(nearest, distance);
      ++exposed;
    }
    if (!has_loop_) return;
    kernel_.extra["isa.loop.exposed_waits"] = exposed;
    if (exposed > 0) kernel_.extra["isa.loop.wait_distance"] = nearest;
  }

  /// The most readlanes of one register in one block. Registers that writelane fills hold spilled
  /// scalars and are no vectors that are being reduced.
  void readlane_chains() {
    std::bitset<kRegisters> filled;
    for (std::size_t i = 0; i < size(); ++i) {
      const Line& line = code_.lines[i];
      if (line.opcode->special == Special::writelane && is_vector(line.operands[0])) {
        filled.set(line.operands[0].first % kRegisters);
      }
    }
    int longest = 0;
    int longest_in_loop = 0;
    std::array<int, kRegisters> reads{};
    std::vector<std::size_t> touched;
    for (const BasicBlock& block : kernel_.blocks) {
      for (int i = block.first; i < block.first + block.count; ++i) {
        const Line& line = code_.lines[i];
        if (line.opcode->special != Special::readlane || !is_vector(line.operands[1])) continue;
        const std::size_t from = line.operands[1].first % kRegisters;
        if (filled[from]) continue;
        if (reads[from]++ == 0) touched.push_back(from);
        longest = std::max(longest, reads[from]);
        if (in_loop_[static_cast<std::size_t>(i)]) {
          longest_in_loop = std::max(longest_in_loop, reads[from]);
        }
      }
      for (const std::size_t r : touched) reads[r] = 0;
      touched.clear();
    }
    all_[kReadlaneChain] = longest;
    loop_[kReadlaneChain] = longest_in_loop;
  }

  /// Matrix instructions with an operand that was loaded in pieces of less than a register,
  /// followed in program order through moves and packing. For those in the loop only loads in the
  /// loop count: what is loaded before it is loaded once.
  void matrix_feeds() {
    constexpr int kNotLoaded = 0;
    struct Loaded {
      std::uint16_t bits = kNotLoaded;  ///< of the narrowest load
      bool in_loop = false;
    };
    std::array<std::array<Loaded, kRegisters>, 2> loads{};
    const auto file_of = [](const Operand& operand) -> std::size_t {
      return operand.kind == Operand::Kind::accum ? 1 : 0;
    };
    const auto holds = [](const Operand& operand) {
      return operand.kind == Operand::Kind::vector || operand.kind == Operand::Kind::accum;
    };
    for (std::size_t i = 0; i < size(); ++i) {
      const Line& line = code_.lines[i];
      const Opcode& opcode = *line.opcode;
      if (opcode.special == Special::matrix) {
        bool narrow = false;
        bool narrow_in_loop = false;
        for (std::uint8_t o = 1; o <= 2 && o < line.operand_count; ++o) {
          if (!holds(line.operands[o])) continue;
          each_register(line.operands[o], [&](std::size_t r) {
            const Loaded& loaded = loads[file_of(line.operands[o])][r];
            if (loaded.bits == kNotLoaded || loaded.bits >= 32) return;
            narrow = true;
            narrow_in_loop = narrow_in_loop || loaded.in_loop;
          });
        }
        if (in_loop_[i] ? narrow_in_loop : narrow) count(kMatrixNarrowFed, i);
      }
      if (!opcode.writes_first || line.operand_count == 0 || !holds(line.operands[0])) continue;
      Loaded loaded;
      if (opcode.access == Access::load && opcode.space != Space::scratch) {
        loaded = {static_cast<std::uint16_t>(opcode.width_bits), in_loop_[i] != 0};
      } else if (opcode.special == Special::move || opcode.special == Special::accum_read ||
                 opcode.special == Special::accum_write || opcode.instruction_class == "convert") {
        for (std::uint8_t o = 1; o < line.operand_count; ++o) {
          if (!holds(line.operands[o])) continue;
          each_register(line.operands[o], [&](std::size_t r) {
            const Loaded& from = loads[file_of(line.operands[o])][r];
            if (from.bits == kNotLoaded) return;
            if (loaded.bits == kNotLoaded || from.bits < loaded.bits) loaded = from;
          });
        }
      }
      each_register(line.operands[0],
                    [&](std::size_t r) { loads[file_of(line.operands[0])][r] = loaded; });
    }
  }

  /// Selects between a lane's own value and one that DPP brings, followed in program order.
  void lane_selects() {
    std::bitset<kRegisters> brought;
    double selects = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const Line& line = code_.lines[i];
      const Opcode& opcode = *line.opcode;
      const bool moves = opcode.special == Special::move && line.dpp != Dpp::none;
      if (opcode.mnemonic.starts_with("v_cndmask")) {
        bool chooses = line.dpp != Dpp::none;
        for (std::uint8_t o = 1; o < line.operand_count; ++o) {
          if (!is_vector(line.operands[o])) continue;
          each_register(line.operands[o], [&](std::size_t r) { chooses = chooses || brought[r]; });
        }
        selects += chooses ? 1 : 0;
      }
      if (!opcode.writes_first || line.operand_count == 0 || !is_vector(line.operands[0])) continue;
      each_register(line.operands[0], [&](std::size_t r) { brought[r] = moves; });
    }
    kernel_.extra["isa.lane_selects"] = selects;
  }

  /// Loads next to one another: the same opcode and address registers, offsets one width apart, in
  /// one block.
  void mergeable_loads() {
    std::vector<std::size_t> recent;
    for (const BasicBlock& block : kernel_.blocks) {
      recent.clear();
      for (int i = block.first; i < block.first + block.count; ++i) {
        const Line& line = code_.lines[i];
        const Opcode& opcode = *line.opcode;
        const auto at = static_cast<std::size_t>(i);
        if (opcode.access != Access::load || opcode.width_bits >= 128 || opcode.width_bits == 0 ||
            code_.scratch[at] || line.to_lds ||
            (opcode.space != Space::global && opcode.space != Space::buffer &&
             opcode.space != Space::flat)) {
          continue;
        }
        for (std::size_t back = 0; back < std::min(recent.size(), kMergeWindow); ++back) {
          const Line& other = code_.lines[recent[recent.size() - 1 - back]];
          if (other.opcode != line.opcode || other.operand_count != line.operand_count) continue;
          bool addressed = true;
          for (std::uint8_t o = 1; o < line.operand_count; ++o) {
            addressed = addressed && same(line.operands[o], other.operands[o]);
          }
          const int apart = offset_of(line) - offset_of(other);
          if (addressed && std::abs(apart) * 8 == opcode.width_bits) {
            count(kMergeableLoads, at);
            break;
          }
        }
        recent.push_back(at);
      }
    }
  }

  void uniform_values() {
    Uniformity::Found found{std::vector<char>(size(), 0), {}, {}};
    if (!Uniformity(kernel_, predecessors_, code_).run(in_loop_, found)) return;
    known_.set(kUniformVectorOps);
    for (std::size_t i = 0; i < size(); ++i) {
      if (found.writes[i]) count(kUniformVectorOps, i);
    }
    kernel_.extra["isa.uniform_vector_registers"] = static_cast<double>(found.written.count());
    if (has_loop_)
      kernel_.extra["isa.loop.uniform_vector_registers"] = static_cast<double>(found.held.count());
  }

  Kernel& kernel_;
  const Predecessors& predecessors_;
  const Code& code_;
  std::vector<char> in_loop_;
  bool has_loop_ = false;
  std::array<double, kFeatures> all_{};
  std::array<double, kFeatures> loop_{};
  std::bitset<kFeatures> known_;
};

}  // namespace

void find_features(Kernel& kernel, const Predecessors& predecessors, const Code& code) {
  Features(kernel, predecessors, code).find();
}

}  // namespace burnish::isa::amd
