#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace burnish {
namespace {

using Views = std::vector<std::string_view>;

TEST(Text, SplitsAndJoins) {
  EXPECT_EQ(split("a,,b,", ','), (Views{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (Views{""}));
  EXPECT_EQ(split_lines("a\r\n\nb"), (Views{"a", "", "b"}));
  EXPECT_EQ(split_lines("a\n"), (Views{"a"}));
  EXPECT_EQ(split_lines(""), Views{});
  EXPECT_EQ(split_lines("a\rb\r"), (Views{"a\rb\r"}));
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(to_lower("DRAM Ä"), "dram Ä");
  EXPECT_EQ(replace_all("aXXbX", "X", "yX"), "ayXyXbyX");
  EXPECT_EQ(replace_all("abc", "", "-"), "abc");
}

TEST(Text, ReadsWholeNumbersOnly) {
  EXPECT_EQ(parse_integer("-42"), -42);
  EXPECT_EQ(parse_integer("+42"), 42);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const char* text :
       {"", "+", "-", "+-1", "1 ", " 1", "1.0", "0x10", "1,000", "9223372036854775808"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_number("1.5e3"), 1500);
  EXPECT_EQ(parse_number("+.5"), 0.5);
  EXPECT_TRUE(std::isnan(*parse_number("nan")));
  for (const char* text : {"", "1,5", "1.5 ", "1e999", "e5", "--1", "1_000"}) {
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
  }
}

TEST(Text, FindsTheNearestNameWhenItIsASlip) {
  const std::vector<std::string> verbs = {"profile", "plan", "implement", "gate", "commit"};
  EXPECT_EQ(nearest("porfile", verbs), "profile");
  EXPECT_EQ(nearest("implment", verbs), "implement");
  EXPECT_EQ(nearest("PLAN", verbs), "plan");
  EXPECT_EQ(nearest("gaet", verbs), "gate");
  EXPECT_EQ(nearest("explode", verbs), std::nullopt);
  EXPECT_EQ(nearest("x", {"y"}), std::nullopt);
  EXPECT_EQ(nearest("", verbs), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'a'), {std::string(100'000, 'a')}), std::nullopt);
}

TEST(Text, WritesThreeDigitsWithAPrefix) {
  EXPECT_EQ(with_prefix(1.234e-4, "s"), "123 µs");
  EXPECT_EQ(with_prefix(12.34, "s"), "12.3 s");
  EXPECT_EQ(with_prefix(1.5e9, "B/s"), "1.50 GB/s");
  EXPECT_EQ(with_prefix(-2e-9, "s"), "-2.00 ns");
  EXPECT_EQ(with_prefix(0, "s"), "0 s");
  EXPECT_EQ(with_prefix(42, ""), "42.0");
  EXPECT_EQ(with_prefix(1, "s"), "1.00 s");
  EXPECT_EQ(with_prefix(1000, "B"), "1.00 kB");
  EXPECT_EQ(with_prefix(1e-3, "s"), "1.00 ms");
  EXPECT_EQ(with_prefix(std::nan(""), "s"), "nan s");
}

TEST(Text, RoundingCarriesIntoTheNextDigitAndPrefix) {
  EXPECT_EQ(with_prefix(999.96, ""), "1.00 k");
  EXPECT_EQ(with_prefix(999.4, "s"), "999 s");
  EXPECT_EQ(with_prefix(999.96e-6, "s"), "1.00 ms");
  EXPECT_EQ(with_prefix(9.996, "s"), "10.0 s");
  EXPECT_EQ(with_prefix(99.96, "s"), "100 s");
  EXPECT_EQ(with_prefix(-999.96, "s"), "-1.00 ks");
}

TEST(Text, EveryPrefixedNumberReadsBackWithinItsDigits) {
  const std::string prefixes = "yzafpnum kMGTPEZY";
  for (double value = 1.01e-23; value < 9e23; value *= 1.37) {
    const std::string text = replace_all(with_prefix(value, ""), "µ", "u");
    const auto parts = split(text, ' ');
    const char prefix = parts.size() > 1 && !parts[1].empty() ? parts[1][0] : ' ';
    const int index = static_cast<int>(prefixes.find(prefix));
    const double back = *parse_number(parts[0]) * std::pow(10.0, 3 * (index - 8));
    EXPECT_NEAR(back / value, 1, 0.00501) << text;
    EXPECT_TRUE(parts[0].size() == 4 || parts[0].size() == 3) << text;
  }
}

TEST(Text, WritesCountsAndBytes) {
  EXPECT_EQ(with_thousands(1'234'567), "1,234,567");
  EXPECT_EQ(with_thousands(-123), "-123");
  EXPECT_EQ(with_thousands(-1234), "-1,234");
  EXPECT_EQ(with_thousands(INT64_MIN), "-9,223,372,036,854,775,808");
  EXPECT_EQ(with_binary_prefix(0), "0 B");
  EXPECT_EQ(with_binary_prefix(48 * 1024), "48 KiB");
  EXPECT_EQ(with_binary_prefix(1536), "1.50 KiB");
  EXPECT_EQ(with_binary_prefix(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(with_binary_prefix(UINT64_MAX), "16 EiB");
}

TEST(Text, NumbersReadBackExactly) {
  for (const double value : {0.1, 1e300, -5e-324, 123456789.0, 1.0 / 3}) {
    EXPECT_EQ(parse_number(number_text(value)), value);
  }
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(number_text(std::nan("")), "nan");
  EXPECT_EQ(number_text(1), "1");
}

TEST(Text, MakesUtf8ValidAndMeasuresIt) {
  EXPECT_EQ(to_valid_utf8("aµ日\xff b\xc3"), "aµ日\uFFFD b\uFFFD");
  EXPECT_EQ(to_valid_utf8("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a lone surrogate
  EXPECT_EQ(display_width("µs"), 2);
  EXPECT_EQ(display_width("日本"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("\xff"), 1);
}

}  // namespace
}  // namespace burnish
