#include "emulation/device.h"

#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace burnish::emulation {
namespace {

constexpr std::size_t kStack = 64 * 1024;

/// Threads that meet: the lanes of a wave, or the threads of a block.
struct Meeting {
  unsigned running = 0;         ///< threads that have not ended
  unsigned arrived = 0;         ///< of those, the ones that wait
  unsigned rounds = 0;          ///< meetings so far
  std::array<Wave, 2> words{};  ///< of this round and the last one, which late lanes still read
};

struct Fiber {
  ucontext_t start{};
  jmp_buf at;
  bool started = false;
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStack);
  bool ended = false;
};

struct Block {
  Index thread, block, grid;
  std::vector<Fiber> fibers;
  std::vector<Meeting> waves;
  Meeting all;
  unsigned current = 0;
  unsigned lanes = 64;
  jmp_buf scheduler;
  const std::function<void()>* kernel = nullptr;
};
Block state;

// Contexts are for the first switch to a stack only: each of theirs is two system calls.
void yield() {
  if (_setjmp(state.fibers[state.current].at) == 0) _longjmp(state.scheduler, 1);
}
void resume(Fiber& fiber) {
  if (_setjmp(state.scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.at, 1);
  fiber.started = true;
  setcontext(&fiber.start);
}

/// The round in which the thread took part.
unsigned meet(Meeting& meeting) {
  const unsigned round = meeting.rounds;
  if (++meeting.arrived == meeting.running) {
    meeting.arrived = 0;
    ++meeting.rounds;
  }
  while (meeting.rounds == round) yield();
  return round;
}

void leave(Meeting& meeting) {
  --meeting.running;
  if (meeting.running > 0 && meeting.arrived == meeting.running) {
    meeting.arrived = 0;
    ++meeting.rounds;
  }
}

void run_thread() {
  (*state.kernel)();
  state.fibers[state.current].ended = true;
  leave(state.waves[state.current / state.lanes]);
  leave(state.all);
  _longjmp(state.scheduler, 1);
}

}  // namespace

const Index& thread_index() { return state.thread; }
const Index& block_index() { return state.block; }
const Index& grid_size() { return state.grid; }
int lane() { return static_cast<int>(state.current % state.lanes); }

const Wave& exchange(const Words& words) {
  Meeting& wave = state.waves[state.current / state.lanes];
  wave.words[wave.rounds % 2][state.current % state.lanes] = words;
  return wave.words[meet(wave) % 2];
}

void pass() { yield(); }

void barrier() { meet(state.all); }

void unknown(const char* what) {
  std::fprintf(stderr, "not emulated: %s\n", what);
  std::abort();
}

void launch(Index grid, unsigned threads, unsigned lanes, const std::function<void()>& kernel) {
  state.kernel = &kernel;
  state.lanes = lanes;
  state.grid = grid;
  state.fibers.resize(threads);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        state.block = {x, y, z};
        state.waves.assign((threads + lanes - 1) / lanes, {});
        state.all = {};
        state.all.running = threads;
        for (unsigned t = 0; t < threads; ++t) {
          Fiber& fiber = state.fibers[t];
          ++state.waves[t / lanes].running;
          fiber.started = fiber.ended = false;
          getcontext(&fiber.start);
          fiber.start.uc_stack = {fiber.stack.get(), 0, kStack};
          fiber.start.uc_link = nullptr;
          makecontext(&fiber.start, run_thread, 0);
        }
        while (state.all.running > 0) {
          for (unsigned t = 0; t < threads; ++t) {
            if (state.fibers[t].ended) continue;
            state.current = t;
            state.thread = {t, 0, 0};
            resume(state.fibers[t]);
          }
        }
      }
    }
  }
}

}  // namespace burnish::emulation
