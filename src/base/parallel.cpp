#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace burnish {

void for_each_piece(std::size_t count, std::size_t grain,
                    const std::function<void(std::size_t, std::size_t, std::size_t)>& function) {
  const std::size_t pieces = pieces_of(count, grain);
  // To ask how many cores there are is a call of the system: too much for what is short.
  if (pieces <= 1) {
    if (pieces == 1) function(0, 0, count);
    return;
  }
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t piece = next++; piece < pieces; piece = next++)
      function(piece, piece * grain, std::min(count, (piece + 1) * grain));
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(cores, pieces); ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {  // this machine gives no more
      break;
    }
  }
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace burnish
