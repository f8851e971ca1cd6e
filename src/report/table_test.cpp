#include "report/table.h"

#include <gtest/gtest.h>

namespace burnish::report {
namespace {

TEST(TextTable, AlignsByDisplayWidth) {
  TextTable table({"name", "time", "note"});
  table.row({"µs", "12.5 ms", "日本"});
  table.row({"longer", "3 s", ""});
  EXPECT_EQ(table.text(),
            "name       time  note\n"
            "µs      12.5 ms  日本\n"
            "longer      3 s\n");
}

TEST(TextTable, WrapsOnlyTheLastColumnAndLosesNothing) {
  TextTable table({"a", "why"});
  table.row({"x", "a sentence that is far too long for a narrow terminal"});
  table.row({"yy", "see https://example.com/an/address/to/copy"});
  EXPECT_EQ(table.text(30),
            "a   why\n"
            "x   a sentence that is far too\n"
            "    long for a narrow terminal\n"
            "yy  see\n"
            "    https://example.com/an/address/to/copy\n");
}

}  // namespace
}  // namespace burnish::report
