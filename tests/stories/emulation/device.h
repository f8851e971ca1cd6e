#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace burnish::emulation {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
const Index& thread_index();
const Index& block_index();
const Index& grid_size();
int lane();  ///< of the thread in its wave

using Words = std::array<std::uint32_t, 6>;  ///< what a lane brings at once
using Wave = std::array<Words, 64>;          ///< the first 32 of a warp

/// What every lane of this thread's wave brings; comes back when all that still run have brought
/// theirs, and holds until this thread's next one.
const Wave& exchange(const Words& words);
/// Comes back when all threads of the block that still run have come.
void barrier();
/// Lets the other threads of the block go on.
void pass();
/// Ends the test program: `what` is not emulated.
[[noreturn]] void unknown(const char* what);

/// Runs `kernel` for every thread of every block, a block after the other; waves have `lanes`
/// lanes.
void launch(Index grid, unsigned threads, unsigned lanes, const std::function<void()>& kernel);

}  // namespace burnish::emulation
