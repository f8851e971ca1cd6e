#include "base/toml.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/text.h"

namespace burnish {
namespace {

TomlFields parsed(std::string_view text, int first_line = 1) {
  auto result = TomlFields::parse(text, "f.toml", first_line);
  if (!result) {
    ADD_FAILURE() << result.error().to_string();
    return *TomlFields::parse("", "f.toml");
  }
  return *result;
}

/// What finish() says after `read`.
std::string mistake(std::string_view text, const std::function<void(TomlFields&)>& read) {
  TomlFields fields = parsed(text);
  read(fields);
  const auto result = fields.finish();
  return result ? "" : result.error().to_string();
}

TEST(Toml, ReadsEveryKind) {
  TomlFields fields = parsed(R"(
s = "t"
i = -7
n = 2.5
b = true
w = "x"
e = "n * 2"
e2 = 256
e3 = 0.1
es = ["a + 1", 2]
list = ["a", "b"]
mixed = [1, 2.5, "x", true]
[table]
in = 1
[[tables]]
in = 2
[[tables]]
in = 3
)");
  EXPECT_EQ(fields.string("s"), "t");
  EXPECT_EQ(fields.string("absent", "fall"), "fall");
  EXPECT_EQ(fields.integer("i"), -7);
  EXPECT_EQ(fields.integer("absent", 5), 5);
  EXPECT_EQ(fields.number("n"), 2.5);
  EXPECT_EQ(fields.number("i"), -7);
  EXPECT_TRUE(fields.boolean("b", false));
  EXPECT_EQ(fields.one_of("w", {"x", "y"}), "x");
  EXPECT_EQ(fields.one_of("absent", {"x", "y"}, "y"), "y");
  EXPECT_EQ(fields.expression("e"), "n * 2");
  EXPECT_EQ(fields.expression("e2"), "256");
  EXPECT_EQ(fields.expression("e3"), "0.1");
  EXPECT_EQ(fields.expression("absent", "1"), "1");
  EXPECT_EQ(fields.expressions("es"), (std::vector<std::string>{"a + 1", "2"}));
  EXPECT_EQ(fields.strings("list"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(fields.values("mixed"),
            (std::vector<TomlValue>{std::int64_t{1}, 2.5, std::string("x"), true}));
  EXPECT_EQ(fields.value("b"), TomlValue(true));
  EXPECT_EQ(fields.table("table").integer("in"), 1);
  EXPECT_EQ(fields.table("absent").integer("in", 9), 9);
  auto tables = fields.tables("tables");
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].integer("in") * tables[1].integer("in"), 6);
  EXPECT_TRUE(fields.tables("absent").empty());
  EXPECT_TRUE(fields.has("s"));
  EXPECT_FALSE(fields.has("absent"));
  EXPECT_EQ(fields.keys(), (std::vector<std::string>{"s", "i", "n", "b", "w", "e", "e2", "e3", "es",
                                                     "list", "mixed", "table", "tables"}));
  const auto result = fields.finish();
  EXPECT_TRUE(result) << result.error().to_string();
}

TEST(Toml, ErrorsOfSyntaxSayWhere) {
  const auto error = [](std::string_view text, int first_line = 1) {
    auto result = TomlFields::parse(text, "f.toml", first_line);
    EXPECT_FALSE(result) << text;
    return result ? std::string() : result.error().to_string();
  };
  EXPECT_TRUE(error("a = 1\nb = = 2\n").starts_with("f.toml:2:5: not TOML: "));
  EXPECT_TRUE(error("a = 1\nb = \n", 11).starts_with("f.toml:12:"));
  EXPECT_TRUE(error("a = 1\na = 2\n").starts_with("f.toml:2:"));
  EXPECT_TRUE(error("a = \"\xff\"").starts_with("f.toml:1:"));
  EXPECT_TRUE(contains(error("a = " + std::string(1'000'000, '[')), "nest"));
  EXPECT_TRUE(TomlFields::parse("", "f"));
}

TEST(Toml, HostileNestingOfKeysIsRefused) {
  std::string key = "a";
  for (int i = 0; i < 500'000; ++i) key += ".a";
  EXPECT_FALSE(TomlFields::parse(key + " = 1", "f"));
  EXPECT_FALSE(TomlFields::parse("[" + key + "]", "f"));
  EXPECT_FALSE(TomlFields::parse("x = {" + key + " = 1}", "f"));
  EXPECT_FALSE(TomlFields::parse("x = {y = \"\"\"a\"\"\"\", " + key + " = 1}", "f"));
  EXPECT_FALSE(TomlFields::parse("# '\n" + key + " = 1", "f"));
  EXPECT_TRUE(
      TomlFields::parse("x = \"" + key + "\" # " + key + "\ny = \'\'\'\n" + key + "\'\'\'", "f"));
  EXPECT_EQ(TomlFields::parse("x = 1\n" + key, "f").error().place->to_string(), "f:2:32");
  std::string growing = "[a]\n", name = "a";
  for (int i = 0; i < 3000; ++i) growing += "[" + (name += ".a") + "]\n";
  EXPECT_FALSE(TomlFields::parse(growing, "f"));
}

TEST(Toml, ATruncatedFileNeverCrashes) {
  const std::string text = "a = [1, {b = \"x\u00e9\"}]\n[c.d]\ne = '''\nx'''\n[[f]]\ng = 1e5\n";
  for (std::size_t size = 0; size < text.size(); ++size) {
    if (auto result = TomlFields::parse(text.substr(0, size), "f")) {
      EXPECT_TRUE(result->finish() || size > 0);
    }
  }
}

TEST(Toml, PlacesCountBytesAndLinesOfTheWholeFile) {
  TomlFields fields = parsed("\"é\" = 1\n'µµ' = [ \"x\", 2 ]\n\n  [t]\nk = 1\n", 11);
  EXPECT_EQ(fields.place("é").to_string(), "f.toml:11:8");
  EXPECT_EQ(fields.place("µµ").to_string(), "f.toml:12:10");
  EXPECT_EQ(fields.place().to_string(), "f.toml:11:1");
  EXPECT_EQ(fields.place("absent").to_string(), "f.toml:11:1");
  EXPECT_EQ(fields.table("t").place().to_string(), "f.toml:14:3");
  EXPECT_EQ(fields.table("t").place("k").to_string(), "f.toml:15:5");
  fields.integer("é");
  fields.strings("µµ");
  EXPECT_EQ(fields.table("t").integer("k"), 1);
  EXPECT_EQ(fields.finish().error().place->to_string(), "f.toml:12:17");
}

TEST(Toml, SaysWhatWasExpected) {
  EXPECT_EQ(mistake("[t]\n", [](auto& f) { f.table("t").string("a"); }),
            "f.toml:1:1: the key \"a\" is missing");
  EXPECT_EQ(mistake("a = 1", [](auto& f) { f.string("a"); }),
            "f.toml:1:5: \"a\" must be a string, not an integer");
  EXPECT_EQ(mistake("a = 1.5", [](auto& f) { f.integer("a"); }),
            "f.toml:1:5: \"a\" must be an integer, not a number");
  EXPECT_EQ(mistake("a = nan", [](auto& f) { f.number("a"); }),
            "f.toml:1:5: \"a\" must be finite, not nan");
  EXPECT_EQ(mistake("a = 'true'", [](auto& f) { f.boolean("a", false); }),
            "f.toml:1:5: \"a\" must be true or false, not a string");
  EXPECT_EQ(mistake("a = 'rel'", [](auto& f) { f.one_of("a", {"relative", "abs", "real"}); }),
            "f.toml:1:5: \"a\" must be one of relative, abs, real, not \"rel\"\n"
            "  hint: did you mean \"real\"?");
  EXPECT_EQ(mistake("a = 2024-01-01", [](auto& f) { f.value("a"); }),
            "f.toml:1:5: \"a\" must be a string, a number or a boolean, not a date");
  EXPECT_EQ(mistake("a = [1, [2]]", [](auto& f) { f.values("a"); }),
            "f.toml:1:9: \"a\" must be a string, a number or a boolean, not an array");
  EXPECT_EQ(mistake("a = inf", [](auto& f) { f.expression("a"); }),
            "f.toml:1:5: \"a\" must be an expression (a string or a number), not a number");
  EXPECT_EQ(mistake("a = 1", [](auto& f) { f.table("a"); }),
            "f.toml:1:5: \"a\" must be a table, not an integer");
  EXPECT_EQ(mistake("[a]", [](auto& f) { f.tables("a"); }),
            "f.toml:1:1: \"a\" must be an array of tables, not a table");
  EXPECT_EQ(mistake("a = 1",
                    [](auto& f) {
                      f.integer("a");
                      f.fail("a", "too small", "2 or more");
                    }),
            "f.toml:1:5: too small\n  hint: 2 or more");
}

TEST(Toml, TheFirstMistakeIsTheFirstInTheFile) {
  const auto read = [](TomlFields& f) {
    f.string("c");
    f.string("b");
    f.string("a");
  };
  EXPECT_TRUE(mistake("a = 1\nb = 2\nc = 3", read).starts_with("f.toml:1:5"));
  EXPECT_TRUE(mistake("a = ''\nb = 2\nc = 3", read).starts_with("f.toml:2:5"));
  EXPECT_TRUE(mistake("a = ''\nodd = 0\nb = 2\nc = 3", read).starts_with("f.toml:2:1: unknown"));
}

TEST(Toml, NamesUnknownKeysWithTheNearestRightOne) {
  EXPECT_EQ(mistake("tolerence = 1", [](auto& f) { f.number("tolerance", 0); }),
            "f.toml:1:1: unknown key \"tolerence\"\n  hint: did you mean \"tolerance\"?");
  // The misspelt key is told, not that the right one is missing.
  EXPECT_EQ(mistake("x = 1\ntolerence = 1",
                    [](auto& f) {
                      f.integer("x");
                      f.number("tolerance");
                    }),
            "f.toml:2:1: unknown key \"tolerence\"\n  hint: did you mean \"tolerance\"?");
  EXPECT_EQ(mistake("[t]\nx = 1\n[t.u]\ny = 1",
                    [](auto& f) {
                      f.table("t").integer("x");
                      f.table("t").table("u");
                    }),
            "f.toml:4:1: unknown key \"y\"");
  EXPECT_EQ(mistake("[[t]]\nx = 1\n[[t]]\nz = 1",
                    [](auto& f) {
                      for (auto& t : f.tables("t")) t.integer("x", 0);
                    }),
            "f.toml:4:1: unknown key \"z\"");
  EXPECT_TRUE(mistake("[unread]\nx = 1", [](auto&) {}).starts_with("f.toml:1:2: unknown key"));
}

TEST(Toml, AChildFinishesForItselfAndSharesItsTable) {
  TomlFields fields = parsed("[a]\nx = 1\n[b]\ny = 1");
  TomlFields a = fields.table("a");
  fields.table("b");
  EXPECT_FALSE(a.finish());
  fields = parsed("[a]\nx = 1\n[b]\ny = 1");
  fields.table("a").integer("x");
  fields.table("b");
  EXPECT_TRUE(fields.table("a").finish());
  EXPECT_FALSE(fields.finish());
}

}  // namespace
}  // namespace burnish
