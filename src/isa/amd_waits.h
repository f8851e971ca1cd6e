#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/amd_listing.h"
#include "isa/isa.h"

namespace burnish::isa::amd {

/// One counter of a wait: it goes on when at most `count` of the events of `mask` are in flight.
struct WaitFor {
  std::uint8_t mask = 0;
  int count = 0;
};

/// What a wait instruction waits for: s_waitcnt in words or as a number, the split waits of gfx10
/// and gfx12. Waits on exports and on the ALU are empty.
std::vector<WaitFor> waits_of(const Line& line, int generation);

/// The waits of a kernel, by instruction; sparse.
struct Wait {
  int instruction = 0;
  std::vector<WaitFor> counters;
};

/// The blocks that a block is entered from.
class Predecessors {
 public:
  explicit Predecessors(const Kernel& kernel);
  std::span<const int> of(std::size_t block) const {
    return {from_.data() + first_[block], first_[block + 1] - first_[block]};
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<int> from_;
};

/// Fills `waits_for` of the kernel's waits: the instructions in flight whose end each needs, found
/// backwards through the blocks. Memory operations of one counter are taken to end in order.
void find_producers(Kernel& kernel, const Predecessors& predecessors,
                    const std::vector<std::uint8_t>& events, const std::vector<Wait>& waits);

}  // namespace burnish::isa::amd
