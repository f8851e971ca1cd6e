#include "isa/sass_waits.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/text.h"

namespace burnish::isa::nvidia {
namespace {

constexpr std::size_t kMostProducers = 8;
/// Around a loop once to bring what is in flight to its header, and once to pass it on.
constexpr int kPasses = 3;
constexpr std::size_t kScoreboards = 6;
constexpr std::size_t kWgmma = kScoreboards;  ///< the one of wgmma groups, "gsb0"

using Pending = std::array<std::vector<int>, kScoreboards + 1>;

/// What is in flight, oldest first. An instruction of a loop can be there twice: from this turn and
/// from the one before.
void put(std::vector<int>& producers, int instruction) {
  if (std::count(producers.begin(), producers.end(), instruction) >= 2) return;
  producers.push_back(instruction);
  if (producers.size() > kMostProducers) producers.erase(producers.begin());
}

/// Where paths meet, what either has in flight.
void merge(std::vector<int>& into, const std::vector<int>& other) {
  for (const int producer : other) {
    if (std::count(into.begin(), into.end(), producer) <
        std::count(other.begin(), other.end(), producer)) {
      put(into, producer);
    }
  }
}

/// "DEPBAR.LE SB0, 0x1, {4,3}" and "WARPGROUP.DEPBAR.LE gsb0, 0x0": the scoreboard and how many may
/// stay in flight.
struct CountedWait {
  std::size_t scoreboard = kScoreboards + 1;
  std::size_t left = 0;
};
CountedWait counted_wait(std::string_view text, Special special) {
  CountedWait wait;
  const bool group = special == Special::wgmma_wait;
  const std::string_view tag = group ? "gsb" : "SB";
  const std::size_t at = text.find(tag);
  if (at == std::string_view::npos || at + tag.size() >= text.size()) return wait;
  const char digit = text[at + tag.size()];
  if (digit < '0' || digit > '5') return wait;
  wait.scoreboard = group ? kWgmma : static_cast<std::size_t>(digit - '0');
  const std::size_t comma = text.find("0x", at);
  if (comma == std::string_view::npos) return wait;
  for (std::size_t i = comma + 2; i < text.size() && i < comma + 6; ++i) {
    const char c = text[i];
    const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (value < 0) break;
    wait.left = wait.left * 16 + static_cast<std::size_t>(value);
  }
  return wait;
}

class Linker {
 public:
  Linker(Kernel& kernel, const Line* lines) : kernel_(kernel), lines_(lines) {}

  void run() {
    const std::size_t blocks = kernel_.blocks.size();
    std::vector<std::vector<int>> before(blocks);
    for (std::size_t b = 0; b < blocks; ++b) {
      for (const int next : kernel_.blocks[b].successors) {
        before[static_cast<std::size_t>(next)].push_back(static_cast<int>(b));
      }
    }
    std::vector<Pending> after(blocks);
    for (int pass = 0; pass < kPasses; ++pass) {
      const bool last = pass + 1 == kPasses;
      for (std::size_t b = 0; b < blocks; ++b) {
        Pending pending;
        for (const int from : before[b]) {
          const Pending& other = after[static_cast<std::size_t>(from)];
          for (std::size_t i = 0; i < pending.size(); ++i) merge(pending[i], other[i]);
        }
        step(kernel_.blocks[b], pending, last);
        after[b] = std::move(pending);
      }
    }
  }

 private:
  void step(const BasicBlock& block, Pending& pending, bool last) {
    for (int i = block.first; i < block.first + block.count; ++i) {
      Instruction& instruction = kernel_.instructions[static_cast<std::size_t>(i)];
      const Line& line = lines_[i];
      const auto wait = [&](std::vector<int>& producers, std::size_t left) {
        if (producers.size() <= left) return;
        const auto end = producers.end() - static_cast<std::ptrdiff_t>(left);
        if (last) {
          for (auto at = producers.begin(); at != end; ++at) put_all(instruction.waits_for, *at);
        }
        producers.erase(producers.begin(), end);
      };
      if (instruction.control) {
        for (std::size_t b = 0; b < kScoreboards; ++b) {
          if ((instruction.control->wait_mask >> b & 1) != 0) wait(pending[b], 0);
        }
      }
      if (line.opcode->special == Special::depbar || line.opcode->special == Special::wgmma_wait) {
        const CountedWait counted = counted_wait(line.text, line.opcode->special);
        if (counted.scoreboard < pending.size()) wait(pending[counted.scoreboard], counted.left);
      }
      if (instruction.control) {
        const Control& control = *instruction.control;
        if (control.write_barrier >= 0) {
          put(pending[static_cast<std::size_t>(control.write_barrier)], i);
        }
        if (control.read_barrier >= 0) {
          put(pending[static_cast<std::size_t>(control.read_barrier)], i);
        }
      }
      if (line.opcode->special == Special::wgmma && contains(line.text, "gsb0")) {
        put(pending[kWgmma], i);
      }
    }
  }

  static void put_all(std::vector<int>& to, int value) {
    const auto at = std::lower_bound(to.begin(), to.end(), value);
    if (at == to.end() || *at != value) to.insert(at, value);
  }

  Kernel& kernel_;
  const Line* lines_;
};

}  // namespace

void link_waits(Kernel& kernel, const Line* lines) { Linker(kernel, lines).run(); }

std::vector<ExposedWait> exposed_waits(const Kernel& kernel, const Loop& loop, const Line* lines) {
  // Instructions of the loop in the order of the code, numbered.
  std::vector<int> blocks = loop.blocks;
  std::sort(blocks.begin(), blocks.end());
  std::vector<std::pair<int, int>> members;  // instruction, number
  for (const int block : blocks) {
    const BasicBlock& at = kernel.blocks[static_cast<std::size_t>(block)];
    for (int i = at.first; i < at.first + at.count; ++i) {
      members.emplace_back(i, static_cast<int>(members.size()));
    }
  }
  const auto number_of = [&](int instruction) {
    const auto at = std::lower_bound(
        members.begin(), members.end(), instruction,
        [](const std::pair<int, int>& member, int wanted) { return member.first < wanted; });
    return at != members.end() && at->first == instruction ? at->second : -1;
  };
  std::vector<ExposedWait> waits;
  for (const auto& [i, number] : members) {
    const Instruction& instruction = kernel.instructions[static_cast<std::size_t>(i)];
    int youngest = -1;
    for (const int producer : instruction.waits_for) {
      const Special special = lines[producer].opcode->special;
      const bool from_memory = special == Special::global_load || special == Special::local_load;
      if (producer >= i || !from_memory || number_of(producer) < 0) continue;
      const auto& control = kernel.instructions[static_cast<std::size_t>(producer)].control;
      // A wait until the operands have been read is short.
      const bool result = control && control->write_barrier >= 0 && instruction.control &&
                          (instruction.control->wait_mask >> control->write_barrier & 1) != 0;
      if (result) youngest = std::max(youngest, producer);
    }
    if (youngest >= 0) waits.push_back({i, youngest, number - number_of(youngest)});
  }
  return waits;
}

}  // namespace burnish::isa::nvidia
