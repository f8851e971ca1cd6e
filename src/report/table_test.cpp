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

TEST(TextTable, CutsOnlyTheLastColumn) {
  TextTable table({"a", "why"});
  table.row({"x", "a sentence that is far too long for a narrow terminal"});
  const std::string text = table.text(30);
  EXPECT_NE(text.find("…"), std::string::npos);
  EXPECT_EQ(text.substr(text.find('\n') + 1).find("x  a sentence"), 0u);
}

}  // namespace
}  // namespace burnish::report
