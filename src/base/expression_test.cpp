#include "base/expression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/text.h"

namespace burnish {
namespace {

const Variables kValues = {
    {"a", 3}, {"n", 0}, {"shared.conflicts", 2}, {"not_a", 5}, {"orange", 7}};

double value_of(std::string_view text) {
  auto expression = Expression::parse(text);
  if (!expression) {
    ADD_FAILURE() << expression.error().to_string();
    return -1e9;
  }
  auto value = expression->evaluate(kValues);
  if (!value) ADD_FAILURE() << value.error().to_string();
  return value.value_or(-1e9);
}

std::string parse_error(std::string_view text) {
  auto expression = Expression::parse(text);
  EXPECT_FALSE(expression) << text;
  return expression ? "" : expression.error().to_string();
}

TEST(Expression, Calculates) {
  EXPECT_EQ(value_of("1 + 2 * 3 - 4 / 8"), 6.5);
  EXPECT_EQ(value_of("-2^2"), -4);
  EXPECT_EQ(value_of("2^3^2"), 512);
  EXPECT_EQ(value_of("7 % 4 * 2"), 6);
  EXPECT_EQ(value_of("a % shared.conflicts"), 1);
  EXPECT_EQ(value_of("1e3 + .5"), 1000.5);
  EXPECT_EQ(value_of("a+\n\tshared.conflicts"), 5);
  EXPECT_EQ(value_of("min(3, a - 1, 9) + max(1)"), 3);
  EXPECT_EQ(value_of("ceil_div (7, 2) + round_up(9, 8) + abs(-1)"), 21);
  EXPECT_EQ(value_of("floor(2.7) + ceil(2.2) + round(2.5)"), 8);
  EXPECT_EQ(value_of("sqrt(16) + log2(8) + log(exp(1))"), 8);
}

TEST(Expression, ComparesAndDecides) {
  EXPECT_EQ(value_of("a >= 3 and a <= 3 and a == 3 and not (a != 3) and 1 < 2 and 2 > 1"), 1);
  EXPECT_EQ(value_of("n or a && !n || 0"), 1);
  EXPECT_EQ(value_of("not a == 4"), 1);  // the word denies the comparison
  EXPECT_EQ(value_of("!a == 0"), 1);     // the sign denies the value
  EXPECT_EQ(value_of("a > 1 ? n ? 1 : 2 : 3"), 2);
  EXPECT_EQ(value_of("n > 0 and a / n > 0.1"), 0);
  EXPECT_EQ(value_of("n ? a / n : 7"), 7);
}

TEST(Expression, WordsInsideNamesAreNames) {
  EXPECT_EQ(value_of("not_a + orange"), 12);
  EXPECT_EQ(Expression::parse("not not_a or x.and")->variables(),
            (std::set<std::string, std::less<>>{"not_a", "x.and"}));
  EXPECT_TRUE(Expression::parse("max(1, 2)")->variables().empty());
}

TEST(Expression, RefusesWhatIsNotInTheLanguage) {
  EXPECT_EQ(parse_error("a = 3"),
            "cannot read the expression `a = 3`: an expression cannot assign (character 3)\n"
            "  hint: equality is written ==");
  EXPECT_EQ(parse_error("1 + mim(a)"),
            "cannot read the expression `1 + mim(a)`: there is no function \"mim\" (character 5)\n"
            "  hint: did you mean \"min\"?");
  EXPECT_EQ(parse_error("a b"),
            "cannot read the expression `a b`: Unexpected variable \"b\" (character 3)");
  for (const char* text :
       {"",        "  ",          "\"x\"",     "'x'",   "sin(a)", "rnd(1)", "a, 3", "min()",
        "min(1,)", "ceil_div(1)", "abs(1, 2)", "(a",    "a)",     "1e3a",   "2x",   "and",
        "a and",   "a +",         "~a",        "a & 1", "a | 1",  "$a",     "a; b", "é",
        "a..b",    "a.",          "1e999",     "min",   "a ? 1",  "a : 1",  "?",    "()",
        "a += 1",  "[a]",         "0x10",      "a\xff"}) {
    EXPECT_FALSE(parse_error(text).empty()) << text;
  }
  EXPECT_FALSE(Expression::parse(std::string_view("a\0", 2)));
}

TEST(Expression, BoundsSizeAndDepth) {
  EXPECT_FALSE(Expression::parse(std::string(5000, '(') + "1" + std::string(5000, ')')));
  EXPECT_FALSE(Expression::parse(std::string(100'000'000, '1')));
  std::string choice, signs, powers = "1";
  for (int i = 0; i < 1000; ++i) choice += "a?a:";
  for (int i = 0; i < 8000; ++i) signs += '-';
  for (int i = 0; i < 4000; ++i) powers += "^1";
  EXPECT_EQ(value_of(choice + "1"), 3);
  EXPECT_EQ(value_of(powers), 1);
  const auto negated = Expression::parse(signs + "1");
  EXPECT_TRUE(!negated || *negated->evaluate({}) == 1);
}

TEST(Expression, SaysWhatHasNoValueAndWhereItWasWritten) {
  const auto expression = Expression::parse("shared.conflict + 1", Place{"t.toml", 4, 9});
  const auto value = expression->evaluate(kValues);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().to_string(),
            "t.toml:4:9: `shared.conflict + 1` needs \"shared.conflict\", which has no value here\n"
            "  hint: did you mean \"shared.conflicts\"?");
  EXPECT_EQ(Expression::parse("1 +", Place{"t.toml", 4, 9}).error().place->line, 4);
  EXPECT_EQ(Expression::parse("a / n")->evaluate(kValues).error().message,
            "`a / n` is inf, not a finite number with a = 3, n = 0");
  EXPECT_FALSE(Expression::parse("a % n")->evaluate(kValues));
  EXPECT_FALSE(Expression::parse("min(1, n / n)")->evaluate(kValues));  // no bound from a NaN
  EXPECT_FALSE(Expression::parse("1 / 0")->evaluate({}));
  EXPECT_EQ(Expression().evaluate({}).error().kind, ErrorKind::bug);
}

TEST(Expression, CountsAreWholeAndInRange) {
  EXPECT_EQ(*Expression::parse("2^53")->evaluate_count({}), std::int64_t{1} << 53);
  EXPECT_EQ(*Expression::parse("ceil_div(1000, 256)")->evaluate_count({}), 4);
  for (const char* text : {"0.5", "-1", "2^53 * 2"}) {
    EXPECT_FALSE(Expression::parse(text)->evaluate_count({})) << text;
  }
}

TEST(Expression, ManyThreadsMayEvaluateOne) {
  const Expression expression = *Expression::parse("x * 2 + y");
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([copy = expression, thread] {
      for (int i = 0; i < 5000; ++i) {
        ASSERT_EQ(*copy.evaluate({{"x", i}, {"y", thread}}), 2 * i + thread);
      }
    });
  }
}

TEST(Expression, RandomTextNeverCrashes) {
  const std::vector<std::string> tokens = {
      "a",  "b.c",  "1",    "2.5",       "+",   "-",   "*", "/", "%", "^",
      "(",  ")",    "and",  "or",        "not", "!",   "?", ":", ",", "<",
      "==", "min(", "abs(", "ceil_div(", " ",   "max", "=", "~"};
  Generator generator(11);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t left = generator.below(12); left > 0; --left) {
      text += tokens[generator.below(tokens.size())];
      text += ' ';
    }
    if (auto expression = Expression::parse(text)) {
      ++read;
      const auto value = expression->evaluate({{"a", 1}, {"b.c", 0}});
      EXPECT_TRUE(!value || std::isfinite(*value)) << text;
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace burnish
