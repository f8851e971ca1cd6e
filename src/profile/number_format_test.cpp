#include "profile/number_format.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace burnish::profile {
namespace {

using Kind = NumberFormat::Kind;

std::optional<double> value(const NumberFormat& format, std::string_view cell) {
  const auto read = format.read(cell);
  return read ? std::optional(read->value) : std::nullopt;
}

TEST(NumberFormat, ReadsPlainNumbersWithoutAnyHint) {
  const NumberFormat format;
  EXPECT_EQ(value(format, "4096"), 4096);
  EXPECT_EQ(value(format, "-16.000000"), -16);
  EXPECT_EQ(value(format, "0.00000000e+00"), 0);
  EXPECT_EQ(value(format, "1.5e3"), 1500);
  EXPECT_EQ(value(format, "67,108,864"), 67108864);
  EXPECT_EQ(value(format, "4,374.00"), 4374);
  EXPECT_EQ(value(format, "4.374,00"), 4374);
  EXPECT_EQ(value(format, "0.123"), 0.123);
  for (const char* no : {"", "n/a", "1.2.3,4,5", "PolicySpread", "12 apples", "e5", ".", "1,"}) {
    EXPECT_FALSE(value(format, no)) << no;
  }
}

TEST(NumberFormat, GroupsHaveThreeDigits) {
  NumberFormat format;
  for (const char* no : {"1,2,3", "127.0.0.1", "2025.3.1", "1,2345,678", "1234,567,890", "1,,234",
                         "1,2345.5", "12,34.5"}) {
    format.see(no);
    EXPECT_FALSE(value(format, no)) << no;
  }
  EXPECT_EQ(format.decimal(), '.') << "what is no number proves nothing";
  EXPECT_EQ(value(format, "12,34,567.5"), 1234567.5) << "lakhs";
}

TEST(NumberFormat, OneCellDecidesForTheFile) {
  NumberFormat english;
  english.see("117,344");
  english.see("65.77");
  EXPECT_EQ(english.decimal(), '.');
  EXPECT_EQ(value(english, "117,344"), 117344);

  // As a German Windows prints: 117344 ns, not 117 ns.
  NumberFormat german;
  german.see("117.344");
  german.see("65,77");
  EXPECT_EQ(german.decimal(), ',');
  EXPECT_EQ(value(german, "117.344"), 117344);
  EXPECT_EQ(value(german, "65,77"), 65.77);
}

TEST(NumberFormat, KindsHelpOnlyWhenNothingProves) {
  NumberFormat percentage;
  percentage.see("12,345", Kind::percentage);
  EXPECT_EQ(percentage.decimal(), ',');
  NumberFormat count;
  count.see("262.144", Kind::whole);
  EXPECT_EQ(count.decimal(), ',');
  EXPECT_EQ(value(count, "262.144"), 262144);
  // A sum of percentages is thousands after all; "1.50" proves more.
  NumberFormat both;
  both.see("5,706", Kind::percentage);
  both.see("1.50");
  EXPECT_EQ(both.decimal(), '.');
}

TEST(NumberFormat, SaysWhenAFileDoesNotTell) {
  NumberFormat open;
  open.see("117.344");
  open.see("42");
  EXPECT_FALSE(open.decimal());
  EXPECT_FALSE(value(open, "117.344"));
  EXPECT_EQ(value(open, "42"), 42);
  EXPECT_TRUE(contains(open.why_undecided(), "117.344"));

  NumberFormat mixed;
  mixed.see("1.5");
  mixed.see("1,5");
  EXPECT_FALSE(mixed.decimal());
  EXPECT_TRUE(contains(mixed.why_undecided(), "different locales"));
}

TEST(NumberFormat, KnowsOtherGroupingMarks) {
  const NumberFormat format;
  EXPECT_EQ(value(format, "1'234'567.5"), 1234567.5);
  EXPECT_EQ(value(format,
                  "1\xC2\xA0"
                  "234,50"),
            1234.5);
  EXPECT_EQ(value(format,
                  "1\xE2\x80\xAF"
                  "234,50"),
            1234.5);
}

TEST(NumberFormat, KeepsHowFinelyANumberWasPrinted) {
  const NumberFormat format;
  EXPECT_DOUBLE_EQ(format.read("0.000173")->resolution, 0.5e-6);
  EXPECT_DOUBLE_EQ(format.read("3.20")->resolution, 0.005);
  EXPECT_DOUBLE_EQ(format.read("1.5e3")->resolution, 50);
  EXPECT_EQ(format.read("262144")->resolution, 0);
}

}  // namespace
}  // namespace burnish::profile
