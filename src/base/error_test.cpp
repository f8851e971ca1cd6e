#include "base/error.h"

#include <gtest/gtest.h>

namespace burnish {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return bad_input("odd").at({"f.txt", 3, 7}).with_hint("give an even one");
  return value / 2;
}

Result<int> quarter(int value) {
  BURNISH_TRY_ASSIGN(const int once, in_context(half(value), "halving " + std::to_string(value)));
  BURNISH_TRY(half(once));
  return half(once);
}

TEST(Error, TryPassesValuesAndErrorsOn) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(7).error().context, std::vector<std::string>{"halving 7"});
  EXPECT_TRUE(quarter(6).error().context.empty());
}

TEST(Error, TellsPlaceMessageContextAndHintInThatOrder) {
  EXPECT_EQ(quarter(7).error().to_string(),
            "f.txt:3:7: odd\n  while halving 7\n  hint: give an even one");
  EXPECT_EQ(refused("no").to_string(), "no");
}

TEST(Error, LeavesOutThePartsOfAPlaceThatAreUnknown) {
  EXPECT_EQ((Place{"a", 0, 5}).to_string(), "a");
  EXPECT_EQ((Place{"a", 2, 0}).to_string(), "a:2");
  EXPECT_EQ((Place{"a", 2, 9}).to_string(), "a:2:9");
}

TEST(Error, EachKindHasItsExitCodeAndName) {
  const std::vector<std::tuple<ErrorKind, int, std::string>> kinds = {
      {ErrorKind::refused, 1, "refused"},         {ErrorKind::bad_input, 2, "bad_input"},
      {ErrorKind::environment, 3, "environment"}, {ErrorKind::bug, 4, "bug"},
      {ErrorKind::timeout, 124, "timeout"},       {ErrorKind::interrupted, 130, "interrupted"}};
  for (const auto& [kind, code, name] : kinds) {
    EXPECT_EQ(exit_code(kind), code);
    EXPECT_EQ(to_string(kind), name);
  }
}

}  // namespace
}  // namespace burnish
