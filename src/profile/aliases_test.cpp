#include "profile/aliases.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace burnish::profile {
namespace {

constexpr std::string_view kTable = R"(
[[metric]]
name = "registers.allocated"
unit = "1"
sources = [
  { raw = "regs", tool_from = "2025.1" },
  { formula = "regs / threads", tool_before = "2025.1" },
]
[[metric]]
name = "pipe.tensor_pct"
unit = "%"
sources = [ { raw = "old", sm_to = 99 }, { raw = "new", sm_from = 100 }, { raw = "amd", arch = ["gfx94*"] } ]
[[metric]]
name = "twice"
unit = "B"
sources = [ { formula = "2 * registers.allocated" } ]
[[metric]]
name = "share"
unit = "%"
sources = [ { formula = "100 * part / whole" } ]
)";

Metric raw(const std::string& name, double value) {
  Metric metric;
  metric.name = name;
  metric.value = value;
  metric.unit = "1";
  metric.where = {"a.csv", "hash", "row 7", name, ""};
  return metric;
}

KernelProfile apply(const AliasTable::Context& context, std::vector<Metric> metrics,
                    std::map<std::string, std::string, std::less<>> unavailable = {}) {
  auto table = AliasTable::parse(kTable, "t.toml");
  EXPECT_TRUE(table) << (table ? "" : table.error().to_string());
  KernelProfile kernel;
  for (Metric& metric : metrics) kernel.metrics.add(std::move(metric));
  table->apply(context, unavailable, kernel);
  return kernel;
}

TEST(Aliases, ChoosesTheSourceByVersionAndDevice) {
  const auto later = apply({"sm_90", "2025.3.1.0"}, {raw("regs", 16), raw("threads", 256)});
  EXPECT_EQ(later.metrics.value("registers.allocated"), 16);
  EXPECT_EQ(later.metrics.value("twice"), 32);
  const auto earlier = apply({"sm_75", "2024.3.1"}, {raw("regs", 4096), raw("threads", 256)});
  EXPECT_EQ(earlier.metrics.value("registers.allocated"), 16);
  EXPECT_EQ(earlier.metrics.find("registers.allocated")->where.raw_name, "regs / threads");
  EXPECT_EQ(earlier.metrics.find("registers.allocated")->where.locator, "row 7");
  // Without a version neither may be taken.
  const auto unknown = apply({"sm_90", ""}, {raw("regs", 16), raw("threads", 256)});
  EXPECT_FALSE(unknown.metrics.value("registers.allocated"));

  EXPECT_EQ(apply({"sm_90a", ""}, {raw("old", 1), raw("new", 2)}).metrics.value("pipe.tensor_pct"),
            1);
  EXPECT_EQ(apply({"sm_103", ""}, {raw("old", 1), raw("new", 2)}).metrics.value("pipe.tensor_pct"),
            2);
  EXPECT_EQ(apply({"gfx942", ""}, {raw("amd", 3)}).metrics.value("pipe.tensor_pct"), 3);
}

TEST(Aliases, SaysWhyAMetricIsNotThere) {
  const auto kernel =
      apply({"sm_90", "2025.3"}, {raw("part", 0), raw("whole", 0)}, {{"old", "n/a"}});
  EXPECT_EQ(kernel.not_measured.at("pipe.tensor_pct"), "old is n/a");
  EXPECT_EQ(kernel.not_measured.at("registers.allocated"), "regs not in the artefact");
  EXPECT_EQ(kernel.not_measured.at("share"), "the kernel has none of what it measures");
  EXPECT_FALSE(kernel.metrics.find("share"));
}

TEST(Aliases, RefusesAWrongTableAtItsPlace) {
  const auto both = AliasTable::parse(
      "[[metric]]\nname = \"a\"\nunit = \"1\"\nsources = [ { raw = \"x\", formula = \"y\" } ]\n",
      "t.toml");
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().place->line, 4);
  const auto formula = AliasTable::parse(
      "[[metric]]\nname = \"a\"\nunit = \"1\"\nsources = [ { formula = \"1 +\" } ]\n", "t.toml");
  ASSERT_FALSE(formula);
  EXPECT_EQ(formula.error().place->line, 4);
  const auto twice = AliasTable::parse(
      "[[metric]]\nname = \"a\"\nunit = \"1\"\n[[metric]]\nname = \"a\"\nunit = \"1\"\n", "t.toml");
  ASSERT_FALSE(twice);
  EXPECT_TRUE(contains(twice.error().message, "second time"));
}

TEST(Aliases, NvidiaTableLoads) {
  const auto table = AliasTable::load("metrics/nvidia.toml");
  ASSERT_TRUE(table) << table.error().to_string();
  EXPECT_GT(table->names().size(), 80u);
}

}  // namespace
}  // namespace burnish::profile
