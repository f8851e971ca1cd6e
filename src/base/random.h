#pragma once

#include <cstdint>

namespace burnish {

/// xoshiro256++ (Blackman and Vigna, 2019), seeded through splitmix64. The same seed gives the same
/// stream on every machine.
class Generator {
 public:
  explicit Generator(std::uint64_t seed);
  std::uint64_t next();
  double uniform();                          ///< [0, 1)
  std::uint64_t below(std::uint64_t bound);  ///< [0, bound), unbiased; bound > 0
  double normal();                           ///< mean 0, deviation 1

 private:
  std::uint64_t state_[4];
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Where secret seeds come from; a seam that tests make repeatable.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t seed() = 0;
};

/// The kernel's getrandom().
Random& real_random();

}  // namespace burnish
