#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/isa.h"

namespace burnish::isa {

/// How an instruction passes control on; what each family's reader tells the common analysis.
struct Flow {
  enum class Kind { next, branch, conditional, end, call };
  Kind kind = Kind::next;
  std::optional<std::uint64_t> target;  ///< address, for branches whose target is known
  std::vector<std::uint64_t> others{};  ///< further targets of an indirect branch
};

/// Fills `blocks` and `loops` of a kernel from its instructions and their flow (one entry each):
/// dominators after Lengauer and Tarjan (1979), natural loops by back edge, loops that share a
/// header merged. Then fills the loops' counts and widths. Near-linear in the instructions.
/// Code that only an indirect branch reaches is analysed as if it were called. A loop lists the
/// blocks of the loops inside it, down to 16 levels. Cycles without a dominating header are no
/// loops; a note counts them.
void find_loops(Kernel& kernel, const std::vector<Flow>& flow);

/// Fills the kernel's `classes` and `widths` from its instructions. Classes that can occur on the
/// target (by `arch`, or by the keys that `classes` already has) and do not are 0.
///
/// Widths count by class: `vmem_store` is a global store, `lds_load` and `lds_store` are shared,
/// `spill_*`, `local_*`, `smem` and `atomic` are not counted, and every other class with a width
/// loads from global memory (plain loads, asynchronous copies, arithmetic with a memory operand).
void count_classes(Kernel& kernel);

/// The same counts over some of the kernel's instructions, by index.
void count_classes(const Kernel& kernel, const std::vector<int>& instructions, Counts& classes,
                   Widths& widths);

}  // namespace burnish::isa
