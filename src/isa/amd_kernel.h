#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "isa/amd_listing.h"
#include "isa/amd_metadata.h"
#include "isa/isa.h"

namespace burnish::isa::amd {

/// What follows from the name of a target. An empty name is a target that the text does not say.
struct Target {
  std::string processor;      ///< "gfx942"
  int generation = 9;         ///< 9, 10, 11 or 12
  bool unified_file = false;  ///< accumulators share the file of the other vector registers
  bool accumulators = false;
  int default_wave = 64;
};
Target target_of(std::string_view processor);
/// The registers that one step of the descriptor's VGPR field stands for.
int allocation_step(const Target& target, int wave_size);

/// What is said of a kernel's resources apart from its code, by whoever says it.
struct Declared {
  std::optional<std::int64_t> used_vgprs, used_agprs, used_sgprs;  ///< as the compiler counted
  std::optional<std::int64_t> next_free_vgpr;                      ///< of .amdhsa_next_free_vgpr
  std::optional<std::int64_t> allocated_vgprs;  ///< of the kernel descriptor, accumulators included
  std::optional<std::int64_t> accum_offset;
  std::optional<std::int64_t> shared_bytes, scratch_bytes;
  std::optional<int> wave_size;
  std::string source;  ///< "the kernel descriptor", ".amdhsa_kernel"
  const KernelMetadata* metadata = nullptr;
};

/// A stretch of a listing that is one function.
struct Function {
  std::string_view name;
  std::size_t begin = 0, end = 0;
};

/// The functions of a listing, without the padding behind them. `known` are the functions that the
/// object's symbol table names; empty: not known, and labels are judged by what stands around them.
std::vector<Function> functions_of(const Listing& listing,
                                   const std::unordered_set<std::string_view>& known);

/// Fills the resources from what is declared, and notes where sources disagree.
void fill_resources(Kernel& kernel, const Target& target, const Declared& declared);

/// Fills instructions, loops, counts, waits and the family's further metrics. Resources come first:
/// what scratch accesses are depends on them.
void fill_code(Kernel& kernel, const Target& target, const Declared& declared,
               const Listing& listing, const Function& function);

/// The generation that the instructions belong to, for text that names no target.
int generation_of(const Listing& listing);

}  // namespace burnish::isa::amd
