#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace burnish {

/// XXH3 with 128 bits as 32 lower-case hex digits; names content in caches and provenance. It is
/// not a defence against someone who crafts collisions.
std::string content_hash(std::string_view bytes);

/// A hash over several labelled parts, order and boundaries counting.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  Hasher& add(std::string_view label, std::string_view bytes);
  std::string digest() const;

 private:
  void* state_;
};

}  // namespace burnish
