#pragma once

#include <cstddef>
#include <functional>

namespace burnish {

/// Calls function(piece, begin, end) for the pieces of [0, count), each `grain` long but the last,
/// on the cores of this machine. The pieces are the same on every machine, so that sums which are
/// made piece by piece, and added up in their order, are too.
void for_each_piece(std::size_t count, std::size_t grain,
                    const std::function<void(std::size_t, std::size_t, std::size_t)>& function);

/// The number of pieces.
constexpr std::size_t pieces_of(std::size_t count, std::size_t grain) {
  return (count + grain - 1) / grain;
}

}  // namespace burnish
