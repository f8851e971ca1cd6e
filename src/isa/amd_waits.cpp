#include "isa/amd_waits.h"

#include <algorithm>

#include "base/text.h"

namespace burnish::isa::amd {
namespace {

constexpr std::uint8_t kVectorBefore10 = kVectorLoad | kVectorStore | kSample | kAsync;
constexpr std::uint8_t kVector10 = kVectorLoad | kSample | kAsync;
constexpr std::uint8_t kLocal = kShared | kScalar;
/// The counters' own maxima: a wait for at most that many waits for nothing.
constexpr int kNoWait = 63;
/// Paths that the search for one wait's producers may enter.
constexpr int kMostBlocks = 64;
constexpr int kMostSteps = 8192;

std::optional<std::int64_t> number(std::string_view text) {
  text = trim(text);
  if (text.starts_with("0x") || text.starts_with("0X")) {
    std::int64_t value = 0;
    text.remove_prefix(2);
    if (text.empty() || text.size() > 8) return {};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
  }
  return parse_integer(text);
}

/// N of "name(N)" in the text.
std::optional<std::int64_t> counter_in(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + name.size());
  if (!text.starts_with('(')) return {};
  return number(text.substr(1, text.find(')') - 1));
}

void add(std::vector<WaitFor>& waits, std::uint8_t mask, std::int64_t count, int most = kNoWait) {
  if (count < 0 || count >= most) return;
  waits.push_back({mask, static_cast<int>(count)});
}

/// The 16-bit immediate of s_waitcnt (ISA manuals, SOPP S_WAITCNT).
void decode(std::vector<WaitFor>& waits, std::int64_t bits, int generation) {
  std::int64_t vector = 0;
  std::int64_t local = 0;
  if (generation >= 11) {
    vector = bits >> 10 & 63;
    local = bits >> 4 & 63;
  } else {
    vector = (bits & 15) | (bits >> 14 & 3) << 4;
    local = bits >> 8 & (generation >= 10 ? 63 : 15);
  }
  add(waits, generation >= 10 ? kVector10 : kVectorBefore10, vector);
  add(waits, kLocal, local, generation >= 10 ? kNoWait : 15);
}

}  // namespace

std::vector<WaitFor> waits_of(const Line& line, int generation) {
  std::vector<WaitFor> waits;
  const std::string_view name = line.opcode->mnemonic;
  const std::uint8_t vector = generation >= 10 ? kVector10 : kVectorBefore10;
  if (name == "s_waitcnt") {
    bool named = false;
    if (const auto count = counter_in(line.text, "vmcnt")) add(waits, vector, *count), named = true;
    if (const auto count = counter_in(line.text, "lgkmcnt"))
      add(waits, kLocal, *count), named = true;
    if (named || line.text.find("cnt(") != std::string_view::npos) return waits;
    if (const auto bits = number(line.last_operand())) decode(waits, *bits, generation);
    return waits;
  }
  const auto count = number(line.last_operand());
  if (name == "s_wait_idle") {
    add(waits, 0xff, 0);
  } else if (!count) {
    return waits;
  } else if (name == "s_waitcnt_vscnt" || name == "s_wait_storecnt") {
    add(waits, kVectorStore, *count);
  } else if (name == "s_waitcnt_vmcnt") {
    add(waits, vector, *count);
  } else if (name == "s_waitcnt_lgkmcnt") {
    add(waits, kLocal, *count);
  } else if (name == "s_wait_loadcnt") {
    add(waits, kVectorLoad, *count);
  } else if (name == "s_wait_samplecnt" || name == "s_wait_bvhcnt") {
    add(waits, kSample, *count);
  } else if (name == "s_wait_dscnt") {
    add(waits, kShared, *count);
  } else if (name == "s_wait_kmcnt") {
    add(waits, kScalar, *count, 31);
  } else if (name == "s_wait_asynccnt") {
    add(waits, kAsync, *count);
  } else if (name == "s_wait_tensorcnt") {
    add(waits, kTensor, *count);
  } else if (name == "s_wait_loadcnt_dscnt" || name == "s_wait_storecnt_dscnt") {
    add(waits, name == "s_wait_loadcnt_dscnt" ? kVectorLoad : kVectorStore, *count >> 8 & 63);
    add(waits, kShared, *count & 63);
  }
  return waits;
}

Predecessors::Predecessors(const Kernel& kernel) : first_(kernel.blocks.size() + 1, 0) {
  for (const BasicBlock& block : kernel.blocks) {
    for (const int next : block.successors) ++first_[static_cast<std::size_t>(next) + 1];
  }
  for (std::size_t b = 1; b < first_.size(); ++b) first_[b] += first_[b - 1];
  from_.resize(first_.back());
  std::vector<std::size_t> next_slot(first_.begin(), first_.end() - 1);
  for (std::size_t b = 0; b < kernel.blocks.size(); ++b) {
    for (const int next : kernel.blocks[b].successors) {
      from_[next_slot[static_cast<std::size_t>(next)]++] = static_cast<int>(b);
    }
  }
}

void find_producers(Kernel& kernel, const Predecessors& predecessors,
                    const std::vector<std::uint8_t>& events, const std::vector<Wait>& waits) {
  if (waits.empty()) return;
  const std::size_t blocks = kernel.blocks.size();
  // Within a block, the instruction before each that puts something in flight or waits.
  std::vector<int> before(kernel.instructions.size(), -1);
  std::vector<int> last(blocks, -1);
  std::vector<int> block_of(kernel.instructions.size(), 0);
  std::vector<int> wait_at(kernel.instructions.size(), -1);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    wait_at[static_cast<std::size_t>(waits[i].instruction)] = static_cast<int>(i);
  }
  for (std::size_t b = 0; b < blocks; ++b) {
    int previous = -1;
    for (int i = 0; i < kernel.blocks[b].count; ++i) {
      const auto at = static_cast<std::size_t>(kernel.blocks[b].first + i);
      before[at] = previous;
      block_of[at] = static_cast<int>(b);
      if (events[at] != 0 || wait_at[at] >= 0) previous = static_cast<int>(at);
    }
    last[b] = previous;
  }

  struct Path {
    int block;
    int at;         ///< the instruction to look at next, or -1
    int newer;      ///< events of the counter that are younger than what comes
    int in_flight;  ///< how many more can still be in flight
  };
  std::vector<Path> paths;
  std::vector<int> visited;
  std::vector<int> entered(blocks, -1);
  for (std::size_t w = 0; w < waits.size(); ++w) {
    std::vector<int>& producers =
        kernel.instructions[static_cast<std::size_t>(waits[w].instruction)].waits_for;
    for (const WaitFor& wait : waits[w].counters) {
      int entries = 0;
      int steps = 0;
      const auto start = static_cast<std::size_t>(waits[w].instruction);
      paths.push_back({block_of[start], before[start], 0, kNoWait});
      while (!paths.empty()) {
        Path path = paths.back();
        paths.pop_back();
        for (; path.at >= 0 && path.in_flight > 0 && ++steps < kMostSteps;
             path.at = before[static_cast<std::size_t>(path.at)]) {
          const auto at = static_cast<std::size_t>(path.at);
          if (events[at] & wait.mask) {
            if (path.newer >= wait.count) producers.push_back(path.at);
            ++path.newer;
            --path.in_flight;
          }
          if (wait_at[at] >= 0) {
            for (const WaitFor& earlier : waits[static_cast<std::size_t>(wait_at[at])].counters) {
              if ((earlier.mask & wait.mask) == wait.mask) {
                path.in_flight = std::min(path.in_flight, earlier.count);
              }
            }
          }
        }
        if (path.in_flight <= 0 || steps >= kMostSteps) continue;
        for (const int from : predecessors.of(static_cast<std::size_t>(path.block))) {
          if (entered[static_cast<std::size_t>(from)] >= 0 || ++entries > kMostBlocks) continue;
          entered[static_cast<std::size_t>(from)] = 1;
          visited.push_back(from);
          paths.push_back({from, last[static_cast<std::size_t>(from)], path.newer, path.in_flight});
        }
      }
      for (const int block : visited) entered[static_cast<std::size_t>(block)] = -1;
      visited.clear();
    }
    std::sort(producers.begin(), producers.end());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
  }
}

}  // namespace burnish::isa::amd
