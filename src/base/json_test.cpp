#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace burnish {
namespace {

Error parse_error(std::string_view text) {
  auto result = parse_json(text, "f.json");
  EXPECT_FALSE(result) << text;
  return result ? Error{} : result.error();
}

Json parsed(std::string_view text) {
  auto result = parse_json(text, "f.json");
  if (!result) ADD_FAILURE() << result.error().to_string();
  return result ? *result : Json();
}

TEST(Json, KeepsTheOrderOfKeysAndAllKindsOfValues) {
  const std::string text = R"({"z": [1, -2, 2.5, 18446744073709551615], "a": {"t": true, "n": null},
    "s": "\u00e9\n"})";
  EXPECT_EQ(dump_json_line(parsed(text)),
            R"({"z":[1,-2,2.5,18446744073709551615],"a":{"t":true,"n":null},"s":"é\n"})");
  EXPECT_EQ(dump_json(parsed("{\"b\":[],\"a\":1}")), "{\n  \"b\": [],\n  \"a\": 1\n}\n");
  EXPECT_EQ(parsed("3"), 3);
}

TEST(Json, ErrorsSayWhere) {
  const Error comma = parse_error("{\n  \"a\": 1\n  \"b\": 2}");
  EXPECT_EQ(comma.kind, ErrorKind::bad_input);
  EXPECT_EQ(comma.place->to_string(), "f.json:3:5");
  EXPECT_TRUE(comma.message.starts_with("not JSON: syntax error")) << comma.message;
  EXPECT_EQ(parse_error("").message, "not JSON: the text is empty");
  EXPECT_EQ(parse_error(" \n").place->line, 2);
  EXPECT_EQ(parse_error("[1, 2").place->to_string(), "f.json:1:6");
  EXPECT_EQ(parse_error("{} x").place->column, 4);
  EXPECT_EQ(parse_error("[1e999]").kind, ErrorKind::bad_input);
}

TEST(Json, RefusesDuplicateKeysAtTheSecond) {
  const Error error = parse_error("{\"k\\\"\": 1, \"b\": {\"k\": 2},\n \"k\\\"\": 3}");
  EXPECT_EQ(error.place->to_string(), "f.json:2:2");
  EXPECT_NE(error.message.find("occurs twice"), std::string::npos);
  EXPECT_TRUE(parse_json(R"([{"a": 1}, {"a": 1}])", "f"));
}

TEST(Json, BoundsTheDepth) {
  EXPECT_TRUE(parse_json(std::string(512, '[') + std::string(512, ']'), "f"));
  const Error error = parse_error(std::string(513, '[') + std::string(513, ']'));
  EXPECT_EQ(error.place->column, 513);
  EXPECT_NE(error.message.find("deeper than 512"), std::string::npos);
  EXPECT_FALSE(parse_json(std::string(10'000'000, '['), "f"));
}

TEST(Json, RefusesWrongEncodingAndKeepsMessagesShort) {
  EXPECT_NE(parse_error("\"\xff\"").message.find("UTF-8"), std::string::npos);
  EXPECT_LT(parse_error("\"" + std::string(1'000'000, 'x')).message.size(), 300u);
  EXPECT_EQ(parse_error(std::string_view("[1,\0]", 5)).place->column, 4);
}

TEST(Json, ManyKeysTakeLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"key" + std::to_string(i) + "\":1,";
  text.back() = '}';
  EXPECT_EQ(parsed(text).size(), 200'000u);  // a quadratic insert would take minutes
}

TEST(Json, ATruncatedFileIsAnErrorAtEveryLength) {
  const std::string text = R"({"a": [1, {"b": "x\u00e9"}], "c": -1.5e3, "d": null})";
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_json(text.substr(0, size), "f")) << size;
  }
}

TEST(Json, DumpsInvalidUtf8WithReplacement) {
  EXPECT_EQ(dump_json_line(Json("a\xff")), "\"a\uFFFD\"");
}

TEST(Json, PrintsErrorsWithTheFieldsTheyHave) {
  Error error = bad_input("odd").at({"f", 3, 0}).with_hint("h").in("c");
  EXPECT_EQ(dump_json_line(error_json(error)),
            R"({"error":{"kind":"bad_input","message":"odd","file":"f","line":3,"hint":"h",)"
            R"("context":["c"]}})");
  EXPECT_EQ(dump_json_line(error_json(bug("b"))), R"({"error":{"kind":"bug","message":"b"}})");
}

TEST(JsonFields, ReadsEveryKind) {
  const Json json = parsed(R"({"s": "t", "n": 2.5, "i": 7, "whole": 3.0, "b": true, "w": "x",
    "list": ["a", "b"], "map": {"p": 1, "q": 2.5}, "o": {"in": 1}, "os": [{"in": 1}, {"in": 2}],
    "null": null, "skip": 0})");
  JsonFields fields(json, "f.json");
  EXPECT_EQ(fields.string("s"), "t");
  EXPECT_EQ(fields.string("absent", "fall"), "fall");
  EXPECT_EQ(fields.string("null", "fall"), "fall");
  EXPECT_EQ(fields.number("n"), 2.5);
  EXPECT_EQ(fields.number("i", 1), 7);
  EXPECT_EQ(fields.integer("i"), 7);
  EXPECT_EQ(fields.integer("whole"), 3);
  EXPECT_TRUE(fields.boolean("b", false));
  EXPECT_EQ(fields.one_of("w", {"x", "y"}), "x");
  EXPECT_EQ(fields.strings("list"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(fields.numbers("map").at("q"), 2.5);
  EXPECT_EQ(fields.object("o").integer("in"), 1);
  EXPECT_EQ(fields.object("no").integer("in", 5), 5);
  auto objects = fields.objects("os");
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].integer("in") + objects[1].integer("in"), 3);
  EXPECT_FALSE(fields.has("null"));
  EXPECT_TRUE(fields.has("s"));
  ASSERT_NE(fields.raw("null"), nullptr);
  EXPECT_EQ(fields.raw("absent"), nullptr);
  fields.ignore("skip");
  EXPECT_TRUE(fields.finish());
}

std::string mistake(std::string_view text, const std::function<void(JsonFields&)>& read) {
  const Json json = parsed(text);
  JsonFields fields(json, "f.json");
  read(fields);
  const auto result = fields.finish();
  return result ? "" : result.error().to_string();
}

TEST(JsonFields, NamesThePointerThatIsWrong) {
  EXPECT_EQ(mistake("{}", [](auto& f) { f.string("a"); }), "f.json: /a: is missing");
  EXPECT_EQ(mistake(R"({"a": null})", [](auto& f) { f.number("a"); }),
            "f.json: /a: is null, but a value is required");
  EXPECT_EQ(mistake(R"({"a": "x"})", [](auto& f) { f.number("a"); }),
            "f.json: /a: expected a number, found string \"x\"");
  EXPECT_EQ(mistake(R"({"a": 1.5})", [](auto& f) { f.integer("a"); }),
            "f.json: /a: expected a whole number, found number 1.5");
  EXPECT_EQ(mistake(R"({"a": 1e300})", [](auto& f) { f.integer("a"); }),
            "f.json: /a: expected a whole number, found number 1e+300");
  EXPECT_EQ(
      mistake(R"({"a/~": [{"b": [1]}]})", [](auto& f) { f.objects("a/~").at(0).strings("b"); }),
      "f.json: /a~1~0/0/b/0: expected a string, found number 1");
  EXPECT_EQ(mistake("[]", [](auto& f) { f.string("a"); }),
            "f.json: the top level: expected an object, found array");
  EXPECT_EQ(mistake(R"({"a": "gaet"})", [](auto& f) { f.one_of("a", {"gate", "plan"}); }),
            "f.json: /a: expected one of gate, plan, found string \"gaet\"\n"
            "  hint: did you mean \"gate\"?");
  EXPECT_EQ(mistake(R"({"a": 1})",
                    [](auto& f) {
                      f.fail("a", "must be 2");
                      f.fail("a", "x");
                    }),
            "f.json: /a: must be 2");
}

TEST(JsonFields, RefusesKeysThatNobodyAskedFor) {
  EXPECT_EQ(mistake(R"({"name": "x", "vresion": 1})",
                    [](auto& f) {
                      f.string("name");
                      f.integer("version", 0);
                    }),
            "f.json: /vresion: is not a known key\n  hint: did you mean \"version\"?");
  EXPECT_EQ(mistake(R"({"o": {"x": 1}})", [](auto& f) { f.object("o"); }),
            "f.json: /o/x: is not a known key");
  EXPECT_EQ(mistake(R"({"o": {"x": 1}})", [](auto& f) { f.object("o").ignore_unknown(); }), "");
}

TEST(JsonFields, AChildJudgesItselfOnly) {
  const Json json = parsed(R"({"a": {"x": 1}, "ab": {"y": 1}})");
  JsonFields fields(json, "f");
  JsonFields a = fields.object("a");
  fields.object("ab");
  a.integer("x");
  EXPECT_TRUE(a.finish());
  EXPECT_FALSE(fields.finish());
}

}  // namespace
}  // namespace burnish
