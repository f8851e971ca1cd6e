#include "base/random.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>

namespace burnish {

namespace {

std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

class KernelRandom : public Random {
 public:
  std::uint64_t seed() override {
    std::uint64_t value = 0;
    // Eight bytes come whole once the pool is seeded; before that the call waits and may be
    // interrupted. Only a kernel without the call (before 3.17) fails otherwise.
    while (getrandom(&value, sizeof value, 0) != sizeof value) {
      if (errno != EINTR) {
        std::uint64_t state =
            static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
        return split_mix(state);
      }
    }
    return value;
  }
};

}  // namespace

Generator::Generator(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = split_mix(seed);
}

std::uint64_t Generator::next() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Generator::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

std::uint64_t Generator::below(std::uint64_t bound) {
  // The values under 2^64 mod bound would make the low remainders likelier.
  const std::uint64_t unfair = (0 - bound) % bound;
  std::uint64_t value = next();
  while (value < unfair) value = next();
  return value % bound;
}

// Marsaglia's polar method.
double Generator::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double x, y, square;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * std::log(square) / square);
  spare_ = y * factor;
  has_spare_ = true;
  return x * factor;
}

Random& real_random() {
  static KernelRandom random;
  return random;
}

}  // namespace burnish
