#include "base/metric.h"

#include <gtest/gtest.h>

namespace burnish {
namespace {

Metric metric(std::string name, double value, std::string file) {
  Metric result;
  result.name = std::move(name);
  result.value = value;
  result.unit = "1";
  result.where.file = std::move(file);
  return result;
}

TEST(MetricSet, TheFirstWinsAndADifferenceIsTold) {
  MetricSet set;
  EXPECT_TRUE(set.empty());
  set.add(metric("registers.used", 24, "a.co"));
  set.add(metric("registers.used", 24 * (1 + 1e-7), "b.csv"));
  EXPECT_TRUE(set.disagreements().empty());
  set.add(metric("registers.used", 32, "a.csv"));
  EXPECT_EQ(set.value("registers.used"), 24);
  EXPECT_EQ(set.find("registers.used")->where.file, "a.co");
  EXPECT_EQ(set.disagreements(),
            std::vector<std::string>{"registers.used: 24 by a.co, 32 by a.csv"});
}

TEST(MetricSet, AbsentIsNotZero) {
  MetricSet set;
  set.add(metric("spills", 0, "a"));
  EXPECT_EQ(set.value("spills"), 0);
  EXPECT_EQ(set.value("other"), std::nullopt);
  EXPECT_EQ(set.find("other"), nullptr);
}

TEST(MetricSet, WordsAreComparedAsWordsAndHaveNoValue) {
  MetricSet set;
  Metric word = metric("occupancy.limiter", 0, "a");
  word.unit = "text";
  word.text = "registers";
  set.add(word);
  set.add(word);
  EXPECT_TRUE(set.disagreements().empty());
  word.text = "shared";
  word.where.file = "b";
  set.add(word);
  EXPECT_EQ(set.disagreements(),
            std::vector<std::string>{"occupancy.limiter: registers by a, shared by b"});
  EXPECT_EQ(set.value("occupancy.limiter"), std::nullopt);
}

}  // namespace
}  // namespace burnish
