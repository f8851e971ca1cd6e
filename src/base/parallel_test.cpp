#include "base/parallel.h"

#include <gtest/gtest.h>

#include <mutex>
#include <numeric>
#include <vector>

namespace burnish {
namespace {

TEST(Parallel, EveryPieceOnce) {
  for (const std::size_t count : {0u, 1u, 9u, 10u, 11u, 10'007u}) {
    std::vector<int> seen(count);
    std::vector<std::size_t> pieces(pieces_of(count, 10));
    for_each_piece(count, 10, [&](std::size_t piece, std::size_t begin, std::size_t end) {
      EXPECT_EQ(begin, piece * 10);
      EXPECT_LE(end, count);
      pieces[piece] = end - begin;
      for (std::size_t i = begin; i < end; ++i) ++seen[i];
    });
    EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), std::size_t{0}), count);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<long>(count));
  }
}

}  // namespace
}  // namespace burnish
