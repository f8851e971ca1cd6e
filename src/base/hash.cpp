#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace burnish {

namespace {

std::string hex(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

void add_sized(XXH3_state_t* state, std::string_view bytes) {
  const std::uint64_t size = bytes.size();
  unsigned char prefix[8];
  for (int i = 0; i < 8; ++i) prefix[i] = static_cast<unsigned char>(size >> (8 * i));
  XXH3_128bits_update(state, prefix, sizeof prefix);
  XXH3_128bits_update(state, bytes.data(), bytes.size());
}

}  // namespace

std::string content_hash(std::string_view bytes) {
  return hex(XXH3_128bits(bytes.data(), bytes.size()));
}

Hasher::Hasher() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}

Hasher::~Hasher() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }

Hasher& Hasher::add(std::string_view label, std::string_view bytes) {
  add_sized(static_cast<XXH3_state_t*>(state_), label);
  add_sized(static_cast<XXH3_state_t*>(state_), bytes);
  return *this;
}

std::string Hasher::digest() const {
  return hex(XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_)));
}

}  // namespace burnish
