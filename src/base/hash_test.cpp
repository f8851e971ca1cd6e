#include "base/hash.h"

#include <gtest/gtest.h>

namespace burnish {
namespace {

TEST(Hash, IsXxh3With128Bits) {
  // XXH128 of the empty input with seed 0, from xxHash's own sanity checks.
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(content_hash("a").size(), 32u);
  EXPECT_NE(content_hash("a"), content_hash("b"));
}

TEST(Hash, OrderAndBoundariesOfPartsCount) {
  const auto of = [](std::initializer_list<std::pair<const char*, const char*>> parts) {
    Hasher hasher;
    for (const auto& [label, bytes] : parts) hasher.add(label, bytes);
    return hasher.digest();
  };
  EXPECT_EQ(of({{"a", "bc"}}), of({{"a", "bc"}}));
  EXPECT_NE(of({{"a", "bc"}}), of({{"ab", "c"}}));
  EXPECT_NE(of({{"a", "b"}, {"c", "d"}}), of({{"c", "d"}, {"a", "b"}}));
  EXPECT_NE(of({{"a", "b"}, {"", ""}}), of({{"a", "b"}}));
}

}  // namespace
}  // namespace burnish
