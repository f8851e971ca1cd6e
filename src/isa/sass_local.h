#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "isa/sass_listing.h"

namespace burnish::isa::nvidia {

/// Where the compiler says that it moves spilled registers: addresses in the function.
using SpillAddresses = std::unordered_set<std::uint64_t>;

enum class LocalAccess : std::uint8_t { none, spill, array };

/// What each instruction of a function does to local memory. `told` are the compiler's own words
/// (cubins of CUDA 12.9 and newer); without them it follows from how the frame is used.
struct LocalAccesses {
  std::vector<LocalAccess> of;  ///< by instruction
  bool guessed = false;         ///< spills and arrays share a frame, and nobody told which is which
};
LocalAccesses local_accesses(const Line* lines, std::size_t count,
                             const std::optional<SpillAddresses>& told);

}  // namespace burnish::isa::nvidia
