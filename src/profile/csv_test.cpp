#include "profile/csv.h"

#include <gtest/gtest.h>

namespace burnish::profile {
namespace {

using Row = std::vector<std::string>;

std::vector<Row> rows(std::string_view text, InnerQuotes inner = InnerQuotes::doubled) {
  CsvReader reader(text, "t.csv", inner);
  std::vector<Row> result;
  for (;;) {
    const auto more = reader.next();
    EXPECT_TRUE(more) << (more ? "" : more.error().to_string());
    if (!more || !*more) break;
    result.emplace_back(reader.fields().begin(), reader.fields().end());
  }
  return result;
}

TEST(Csv, ReadsRecordsAsRfc4180SaysThem) {
  EXPECT_EQ(rows("a,b,c\r\n1,,3\n"), (std::vector<Row>{{"a", "b", "c"}, {"1", "", "3"}}));
  EXPECT_EQ(rows("\"f<a, b>(int)\",\"say \"\"hi\"\"\"\n"),
            (std::vector<Row>{{"f<a, b>(int)", "say \"hi\""}}));
  EXPECT_EQ(rows("\"two\nlines\",x"), (std::vector<Row>{{"two\nlines", "x"}}));
  EXPECT_EQ(rows("a,\n"), (std::vector<Row>{{"a", ""}}));
  EXPECT_EQ(rows("a,\"\"\n"), (std::vector<Row>{{"a", ""}}));
}

TEST(Csv, SkipsBlankLinesAndTheByteOrderMark) {
  EXPECT_EQ(rows("\xEF\xBB\xBF\n\na,b\n\r\n\nc\n\n"), (std::vector<Row>{{"a", "b"}, {"c"}}));
  EXPECT_TRUE(rows("").empty());
  EXPECT_TRUE(rows("\n\n").empty());
}

TEST(Csv, ReadsQuotesThatAreNotDoubled) {
  EXPECT_EQ(rows("\"operator\"\"_x(\"a\")\",1\n", InnerQuotes::bare),
            (std::vector<Row>{{"operator\"\"_x(\"a\")", "1"}}));
}

TEST(Csv, ManyDoubledQuotesInARecordStayApart) {
  std::string text;
  Row expected;
  for (int i = 0; i < 200; ++i) {
    text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\"\"\"";
    expected.push_back(std::to_string(i) + "\"");
  }
  EXPECT_EQ(rows(text), (std::vector<Row>{expected}));
}

TEST(Csv, KnowsWhereThingsStand) {
  const std::string_view text = "a,b\n\"x\ny\",\"z\"\nlast\n";
  CsvReader reader(text, "t.csv");
  ASSERT_TRUE(*reader.next());
  EXPECT_EQ(reader.line(), 1);
  ASSERT_TRUE(*reader.next());
  EXPECT_EQ(reader.line(), 2);
  EXPECT_EQ(reader.offset(), 4u);
  EXPECT_TRUE(reader.quoted(1));
  EXPECT_EQ(reader.place(0).to_string(), "t.csv:2:2");
  EXPECT_EQ(reader.place(1).to_string(), "t.csv:3:5");
  EXPECT_EQ(reader.field(9), "");
  EXPECT_EQ(reader.rest(), "last\n");
  reader.rewind_record();
  EXPECT_EQ(reader.rest().substr(0, 3), "\"x\n");
  reader.skip_line();
  reader.skip(3);
  EXPECT_EQ(reader.rest().substr(0, 3), "\"z\"");
  reader.skip_line();
  ASSERT_TRUE(*reader.next());
  EXPECT_EQ(reader.line(), 4);
  EXPECT_FALSE(*reader.next());
}

TEST(Csv, SaysWhereAQuoteGoesWrong) {
  CsvReader open("a\nb,\"never\n", "t.csv");
  ASSERT_TRUE(*open.next());
  auto more = open.next();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().to_string().substr(0, 11), "t.csv:2:3: ");
  open.rewind_record();
  EXPECT_EQ(open.rest(), "b,\"never\n");

  CsvReader after("\"a\" b,c\n", "t.csv");
  more = after.next();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().place->to_string(), "t.csv:1:4");
}

TEST(Csv, FindsColumnsByName) {
  const CsvColumns columns({"ID", "Name", "ID"});
  EXPECT_EQ(columns.find("Name"), 1u);
  EXPECT_EQ(columns.find("ID"), 0u);
  EXPECT_FALSE(columns.find("name"));
}

}  // namespace
}  // namespace burnish::profile
