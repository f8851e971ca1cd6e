#include "workspace/plan.h"

#include <gtest/gtest.h>

namespace burnish::workspace {
namespace {

Plan example() {
  Plan plan;
  plan.version = 3;
  plan.parent = 2;
  plan.parent_hash = "ab12";
  plan.agent = "tuner";
  plan.category = "register-blocking";
  plan.action = "Search ROWS \"at most 8\"\\ and keep the fastest";
  plan.findings = {"few-fma-per-load"};
  plan.bound = 7.25;
  plan.expected = "8 loads fewer a product:\nat most 7.25 times";
  plan.signature = {{"isa.loop.loads_per_fma", "down"}};
  plan.risks = {"spills"};
  plan.rollback = "restore v2";
  plan.parameters = {{"ROWS", {"1", "2", "8"}}};
  plan.search_log = {
      {"register-blocking-outputs", "L1", "few-fma-per-load", "block", "direct", true}};
  plan.notes = "\n## Input evidence\n\n- 1.1 loads\n";
  return plan;
}

TEST(Plan, SurvivesItsOwnFile) {
  const std::string text = to_markdown(example());
  const auto read = parse_plan(text, "plans/v3_plan.md");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(to_markdown(*read), text);
  EXPECT_EQ(read->action, example().action);
  EXPECT_EQ(read->expected, example().expected);
  EXPECT_EQ(read->parameters.at("ROWS").size(), 3u);
  EXPECT_TRUE(read->search_log.at(0).is_new);
}

TEST(Plan, RefusesWhatIsMissingAtItsPlace) {
  struct Case {
    const char* text;
    int line;
    const char* message;
  };
  const Case cases[] = {
      {"", 1, "front matter"},
      {"# a plan\n", 1, "front matter"},
      {"+++\nversion = 1\n", 1, "front matter"},
      {"+++\nversion = 1\nparent = 0\ncategory = \"tilling\"\naction = \"a\"\nfindings = [\"f\"]\n"
       "expected = \"e\"\n+++\n",
       4, "tiling"},
      {"+++\nversion = 1\nparent = 0\ncategory = \"tiling\"\naction = \"a\"\nfindings = []\n"
       "expected = \"e\"\n+++\n",
       6, "finding"},
      {"+++\nversion = 1\nparent = 0\ncategory = \"tiling\"\naction = \"a\"\nfindings = [\"f\"]\n"
       "expected = \"e\"\nrisk = [\"r\"]\n+++\n",
       8, "risks"},
  };
  for (const Case& c : cases) {
    const auto read = parse_plan(c.text, "p.md");
    ASSERT_FALSE(read) << c.text;
    EXPECT_EQ(read.error().kind, ErrorKind::bad_input);
    ASSERT_TRUE(read.error().place) << c.text;
    EXPECT_EQ(read.error().place->line, c.line) << c.text;
    EXPECT_NE(read.error().to_string().find(c.message), std::string::npos)
        << read.error().to_string();
  }
}

}  // namespace
}  // namespace burnish::workspace
