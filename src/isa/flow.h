#pragma once

#include <optional>
#include <vector>

#include "isa/isa.h"

namespace burnish::isa {

/// How an instruction passes control on; what each family's reader tells the common analysis.
struct Flow {
  enum class Kind { next, branch, conditional, end, call };
  Kind kind = Kind::next;
  std::optional<std::uint64_t> target;  ///< address, for branches whose target is known
};

/// Fills `blocks` and `loops` of a kernel from its instructions and their flow (one entry each):
/// dominators after Cooper, Harvey and Kennedy (2001), natural loops by back edge, loops that share
/// a header merged. Then fills the loops' counts and widths. Linear in the instructions.
void find_loops(Kernel& kernel, const std::vector<Flow>& flow);

/// Fills the kernel's `classes` and `widths` from its instructions.
void count_classes(Kernel& kernel);

}  // namespace burnish::isa
