#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "isa/isa.h"
#include "isa/x86.h"

namespace burnish::isa {
namespace {

/// Most comparisons that one alignment may cost; beyond it instructions are compared as a bag.
constexpr std::size_t kAlignmentBudget = 20'000'000;
/// Most changes that the summary names.
constexpr std::size_t kNamedChanges = 3;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

bool is_number(std::string_view word) {
  if (word.starts_with("0x")) {
    word.remove_prefix(2);
  } else if (word.empty() || !std::isdigit(static_cast<unsigned char>(word.front()))) {
    return false;
  }
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c));
  });
}

/// The instruction's text with what depends on where the code lies replaced: `<symbol+offset>`,
/// comments, offsets from the program counter, labels, and, in branches and calls, plain addresses.
std::string normalise(const Instruction& instruction) {
  const bool jumps =
      instruction.instruction_class == "branch" || instruction.instruction_class == "call";
  const std::string_view text = instruction.text;
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (text.substr(i).starts_with(x86::kConstantComment)) {
      out += text.substr(i);  // the value behind an address is part of what the code does
      break;
    }
    if (c == '#' || c == ';' || text.substr(i, 2) == "//" || text.substr(i, 2) == "/*") break;
    if (c == '<' || c == '`') {
      const std::size_t end = text.find(c == '<' ? '>' : ')', i);
      out += '@';
      i = end == std::string_view::npos ? text.size() : end + 1;
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c))) {
      if (!out.empty() && out.back() != ' ') out += ' ';
      ++i;
      continue;
    }
    if (!is_word(c)) {
      out += c;
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    const bool label = word.starts_with(".L") || word.starts_with("LBB") || word.starts_with("BB");
    const bool relative = text.substr(end, 5) == "(%rip" && is_number(word);
    if (label || relative || (jumps && !out.empty() && is_number(word))) {
      out += '@';
    } else {
      out += word;
    }
    i = end;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  // One encoding: of gfx10 and gfx11 clang writes an offset of 0 and llvm-objdump no register.
  constexpr std::string_view kNoOffset = ", null";
  if (instruction.instruction_class == "smem" && out.ends_with(kNoOffset)) {
    out.replace(out.size() - kNoOffset.size(), kNoOffset.size(), ", 0x0");
  }
  return out;
}

using Tokens = std::vector<int>;

/// Edits (insertions and deletions) of a shortest alignment, after Myers (1986), or, when that
/// costs more than the budget, of the two bags of instructions.
struct Edits {
  std::size_t removed = 0, added = 0;
};
Edits align(const Tokens& before, const Tokens& after) {
  std::size_t head = 0;
  while (head < before.size() && head < after.size() && before[head] == after[head]) ++head;
  std::size_t tail = 0;
  while (tail < before.size() - head && tail < after.size() - head &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
    ++tail;
  }
  const auto a_size = static_cast<std::ptrdiff_t>(before.size() - head - tail);
  const auto b_size = static_cast<std::ptrdiff_t>(after.size() - head - tail);
  const auto edits_for = [&](std::ptrdiff_t distance) {
    // distance = removed + added and removed - added = the difference in length
    return Edits{static_cast<std::size_t>((distance + a_size - b_size) / 2),
                 static_cast<std::size_t>((distance - a_size + b_size) / 2)};
  };
  if (a_size == 0 || b_size == 0) return edits_for(a_size + b_size);

  std::vector<std::ptrdiff_t> reach(static_cast<std::size_t>(2 * (a_size + b_size) + 3), 0);
  const std::ptrdiff_t middle = a_size + b_size + 1;
  std::size_t spent = 0;
  for (std::ptrdiff_t d = 0; d <= a_size + b_size && spent < kAlignmentBudget; ++d) {
    for (std::ptrdiff_t k = -d; k <= d; k += 2) {
      const auto at = static_cast<std::size_t>(middle + k);
      const bool down = k == -d || (k != d && reach[at - 1] < reach[at + 1]);
      std::ptrdiff_t x = down ? reach[at + 1] : reach[at - 1] + 1;
      while (x < a_size && x - k < b_size &&
             before[head + static_cast<std::size_t>(x)] ==
                 after[head + static_cast<std::size_t>(x - k)]) {
        ++x;
        ++spent;
      }
      reach[at] = x;
      ++spent;
      if (x >= a_size && x - k >= b_size) return edits_for(d);
    }
  }
  std::unordered_map<int, std::ptrdiff_t> surplus;
  for (const int token : before) ++surplus[token];
  for (const int token : after) --surplus[token];
  Edits edits;
  for (const auto& [token, number] : surplus) {
    if (number > 0) edits.removed += static_cast<std::size_t>(number);
    if (number < 0) edits.added += static_cast<std::size_t>(-number);
  }
  return edits;
}

std::string plain_number(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.3g}", value);
}

/// What people look at first comes first; then the largest relative change.
int rank(std::string_view metric) {
  if (metric.starts_with("spill.") || contains(metric, "spill_")) return 0;
  if (metric.starts_with("registers.") || metric.starts_with("shared.") ||
      metric.starts_with("scratch.")) {
    return 1;
  }
  if (contains(metric, "matrix") || contains(metric, "_mean_bits") ||
      contains(metric, "vector_bits")) {
    return 2;
  }
  if (metric == "isa.instructions" || metric == "isa.loop.instructions") return 4;
  return 3;
}

/// When nothing but NOPs comes or goes: a remark that says so, and how many others stand elsewhere.
std::string only_nops(const Kernel& before, const Tokens& a, const Kernel& after, const Tokens& b,
                      const Edits& edits) {
  const auto without = [](const Kernel& kernel, const Tokens& tokens) {
    Tokens rest;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (kernel.instructions[i].instruction_class != "nop") rest.push_back(tokens[i]);
    return rest;
  };
  const auto sorted = [](Tokens tokens) {
    std::sort(tokens.begin(), tokens.end());
    return tokens;
  };
  const Tokens was = without(before, a);
  const Tokens is = without(after, b);
  if (was.empty() || sorted(was) != sorted(is)) return "";
  const std::size_t moved = align(was, is).removed;
  if (moved == 0) return " (NOPs only)";
  if (edits.removed + edits.added == 2 * moved) return " (the same ones in other places)";
  return fmt::format(" (NOPs, and {} that stand elsewhere)", moved);
}

/// What is not the same although each instruction is; empty when nothing is known to differ.
std::string other_than_instructions(const Kernel& before, const Kernel& after) {
  std::vector<std::string> what;
  const bool same_flow =
      std::equal(before.blocks.begin(), before.blocks.end(), after.blocks.begin(),
                 after.blocks.end(), [](const BasicBlock& a, const BasicBlock& b) {
                   return a.first == b.first && a.successors == b.successors;
                 });
  if (!same_flow) what.push_back("branches go elsewhere");
  const bool same_control =
      std::equal(before.instructions.begin(), before.instructions.end(), after.instructions.begin(),
                 after.instructions.end(), [](const Instruction& a, const Instruction& b) {
                   return !a.control || !b.control || *a.control == *b.control;
                 });
  if (!same_control) what.push_back("stalls, waits or operand reuse differ");
  if (!before.data.empty() && !after.data.empty() && before.data != after.data) {
    what.push_back("constants or initialised variables differ");
  }
  const auto differs = [](const std::optional<std::int64_t>& a,
                          const std::optional<std::int64_t>& b) { return a && b && *a != *b; };
  if (differs(before.registers_used, after.registers_used) ||
      differs(before.registers_allocated, after.registers_allocated) ||
      differs(before.registers_accum, after.registers_accum) ||
      differs(before.registers_scalar, after.registers_scalar) ||
      differs(before.shared_bytes, after.shared_bytes) ||
      differs(before.scratch_bytes, after.scratch_bytes)) {
    what.push_back("registers or memory differ");
  }
  return join(what, ", ");
}

/// `other` is what differs beside instructions that are the same, `remark` what is said of them.
std::string summarise(const KernelDiff& diff, const Edits& edits, bool has_code,
                      const std::string& other, const std::string& remark) {
  if (diff.identical) return "the instructions are the same";
  std::vector<std::pair<std::string, std::pair<double, double>>> changes(diff.changed.begin(),
                                                                         diff.changed.end());
  std::erase_if(changes, [](const auto& change) {
    return contains(change.first, "_bits.") || change.first == "isa.loop.depth";
  });
  const auto weight = [](const std::pair<double, double>& change) {
    return std::abs(std::log((std::abs(change.second) + 1) / (std::abs(change.first) + 1)));
  };
  std::stable_sort(changes.begin(), changes.end(), [&](const auto& a, const auto& b) {
    return std::pair(rank(a.first), -weight(a.second)) <
           std::pair(rank(b.first), -weight(b.second));
  });
  std::string text;
  if (!other.empty()) {
    text = "the instructions are the same, but " + other;
  } else if (has_code) {
    text = fmt::format("{} instruction{} removed and {} added", edits.removed,
                       edits.removed == 1 ? "" : "s", edits.added) +
           remark;
  } else {
    text = diff.changed.empty() ? "no difference in the resources; there are no instructions"
                                : "no instructions to compare";
  }
  for (std::size_t i = 0; i < changes.size() && i < kNamedChanges; ++i) {
    text +=
        fmt::format("{} {} {} -> {}", i == 0 ? ":" : ",", changes[i].first,
                    plain_number(changes[i].second.first), plain_number(changes[i].second.second));
  }
  if (changes.size() > kNamedChanges) {
    text += fmt::format(" and {} more", changes.size() - kNamedChanges);
  }
  return text;
}

class Tokeniser {
 public:
  Tokens operator()(const Kernel& kernel) {
    Tokens tokens;
    tokens.reserve(kernel.instructions.size());
    for (const Instruction& instruction : kernel.instructions) {
      tokens.push_back(
          ids_.try_emplace(normalise(instruction), static_cast<int>(ids_.size())).first->second);
    }
    return tokens;
  }

 private:
  std::unordered_map<std::string, int> ids_;
};

KernelDiff compare(const Kernel& before, const Kernel& after) {
  KernelDiff diff;
  diff.name = after.name;
  Tokeniser tokenise;
  const Tokens a = tokenise(before);
  const Tokens b = tokenise(after);
  const MetricSet was = metrics(before);
  const MetricSet is = metrics(after);
  // A metric that one side lacks is unknown there, not changed; but a count by class, width, kind
  // or shape that one side lacks is 0 there when that side has code.
  const auto further = [](const Kernel& kernel, const std::string& name) {
    if (kernel.extra.contains(name)) return true;
    const int hot = hot_loop(kernel);
    constexpr std::string_view kLoop = "isa.loop.";
    return hot >= 0 && name.starts_with(kLoop) &&
           kernel.loops[static_cast<std::size_t>(hot)].extra.contains(name.substr(kLoop.size()));
  };
  const auto value = [&](const MetricSet& set, const std::string& name,
                         bool has_code) -> std::optional<double> {
    if (const auto known = set.value(name)) return known;
    const bool countable = name.starts_with("isa.") && name != "isa.workgroup_limit" &&
                           !contains(name, "mean_bits") && !further(before, name) &&
                           !further(after, name);
    return countable && has_code ? std::optional<double>(0.0) : std::nullopt;
  };
  const auto note = [&](const std::string& name) {
    const auto x = value(was, name, !a.empty());
    const auto y = value(is, name, !b.empty());
    if (x && y && *x != *y) diff.changed[name] = {*x, *y};
  };
  for (const auto& [name, metric] : was.all()) note(name);
  for (const auto& [name, metric] : is.all()) note(name);
  const bool same_code = !a.empty() && a == b;
  const std::string other = same_code ? other_than_instructions(before, after) : "";
  diff.identical = same_code && other.empty();
  const Edits edits = align(a, b);
  diff.summary = summarise(diff, edits, !a.empty() && !b.empty(), other,
                           same_code ? "" : only_nops(before, a, after, b, edits));
  return diff;
}

}  // namespace

Diff diff(const Reading& before, const Reading& after) {
  Diff result;
  std::unordered_map<std::string, std::vector<const Kernel*>> by_name;
  for (const Kernel& kernel : before.kernels) by_name[kernel.name].push_back(&kernel);
  std::vector<const Kernel*> unpaired;
  for (const Kernel& kernel : after.kernels) {
    auto& candidates = by_name[kernel.name];
    if (candidates.empty()) {
      unpaired.push_back(&kernel);
      continue;
    }
    result.kernels.push_back(compare(*candidates.front(), kernel));
    candidates.erase(candidates.begin());
  }
  if (before.kernels.size() == 1 && after.kernels.size() == 1 && result.kernels.empty()) {
    result.kernels.push_back(compare(before.kernels.front(), after.kernels.front()));
    unpaired.clear();
    by_name.clear();
  }
  for (const Kernel& kernel : before.kernels) {
    auto& left = by_name[kernel.name];
    if (left.empty()) continue;
    result.only_before.push_back(kernel.name);
    left.erase(left.begin());
  }
  for (const Kernel* kernel : unpaired) result.only_after.push_back(kernel->name);
  result.identical = !result.kernels.empty() && result.only_before.empty() &&
                     result.only_after.empty() &&
                     std::all_of(result.kernels.begin(), result.kernels.end(),
                                 [](const KernelDiff& kernel) { return kernel.identical; });
  return result;
}

}  // namespace burnish::isa
