#include "profile/json_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace burnish::profile {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view text) {
  JsonWalk walk(text, "f.json");
  walk.skip();
  walk.finish();
  return walk.failed() ? walk.error().to_string() : "accepted";
}

TEST(JsonWalk, TakesWhatIsAskedForAndSkipsTheRest) {
  const std::string_view text = R"( {"skipped": [1, {"a": "]}"}, [[]]], "n": -12,
    "real": 2.5e3, "name": "a\"\u00e9\ud83d\ude00\n", "kinds": [true, null, "x", {}, 7]} )";
  JsonWalk walk(text, "f.json");
  std::int64_t integer = 0;
  double real = 0;
  std::string name;
  std::vector<std::int64_t> numbers;
  walk.object([&](std::string_view key) {
    if (key == "n") integer = walk.integer().value_or(0);
    if (key == "real") real = walk.number().value_or(0);
    if (key == "name") name = std::string(walk.string().value_or(""));
    if (key == "kinds") {
      walk.array([&] {
        if (const auto one = walk.integer()) numbers.push_back(*one);
      });
    }
  });
  walk.finish();
  ASSERT_FALSE(walk.failed()) << walk.error().to_string();
  EXPECT_EQ(integer, -12);
  EXPECT_EQ(real, 2500);
  EXPECT_EQ(name, "a\"\xC3\xA9\xF0\x9F\x98\x80\n");
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{7}));
}

TEST(JsonWalk, MistakesAreLocated) {
  EXPECT_EQ(error_of("[1, 2]"), "accepted");
  EXPECT_THAT(error_of(""), HasSubstr("cut off"));
  EXPECT_THAT(error_of("{\"a\": [1,\n 2"),
              testing::AllOf(HasSubstr("f.json:2"), HasSubstr("cut off")));
  EXPECT_THAT(error_of("{\"a"), HasSubstr("not closed"));
  EXPECT_THAT(error_of("[1] 2"), HasSubstr("f.json:1:5"));
  EXPECT_THAT(error_of("@"), HasSubstr("a value was expected"));
  for (const char* text : {"{\"a\" 1}", "{1: 2}", "[1 2]", "[1,,2]", "{\"a\": }", "[-]"}) {
    JsonWalk walk(text, "f.json");
    const auto numbers = [&] { walk.array([&] { (void)walk.number(); }); };
    if (text[0] == '[') {
      numbers();
    } else {
      walk.object([&](std::string_view) { (void)walk.integer(); });
    }
    walk.finish();
    EXPECT_TRUE(walk.failed()) << text;
  }
}

TEST(JsonWalk, DeepBracketsDoNotExhaustTheStack) {
  const std::string deep(10'000'000, '[');
  EXPECT_THAT(error_of(deep), HasSubstr("cut off"));
  JsonWalk walk(deep, "f.json");
  struct Down {
    JsonWalk& walk;
    void operator()() const { walk.array(*this); }
  };
  Down{walk}();
  ASSERT_TRUE(walk.failed());
  EXPECT_THAT(walk.error().to_string(), HasSubstr("too deeply"));
}

TEST(JsonWalk, NumbersOutOfRangeAreAbsent) {
  JsonWalk walk("[1e999, 9223372036854775807, 123456789012345678901, 5]", "f.json");
  std::vector<std::optional<std::int64_t>> seen;
  walk.array([&] { seen.push_back(walk.integer()); });
  ASSERT_FALSE(walk.failed());
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_FALSE(seen[0]);
  EXPECT_FALSE(seen[2]);
  EXPECT_EQ(seen[3], 5);
}

}  // namespace
}  // namespace burnish::profile
