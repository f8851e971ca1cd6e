#include "knowledge/outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace burnish::knowledge {
namespace {

using testing::HasSubstr;

Outcome outcome(const std::string& workspace, int version, double gain) {
  Outcome made{"pad-shared-memory", gain > 1, gain};
  made.interval = Interval{gain - 0.1, gain + 0.1};
  made.device = "NVIDIA H200";
  made.family = "transpose";
  made.workspace = workspace;
  made.version = version;
  return made;
}

struct Store {
  TemporaryFolder folder = TemporaryFolder::make("burnish-outcomes").value();
  fs::path file = folder.path() / "team" / "outcomes.jsonl";
  FileSystem& files = real_file_system();
};

TEST(Outcomes, AreReadAsTheyWereShared) {
  Store store;
  EXPECT_TRUE(read_outcomes(store.file, store.files)->outcomes.empty());
  ASSERT_TRUE(share_outcomes(store.file, {outcome("a", 1, 1.5)}, store.files));
  // What is there already is not written again, so a version that was missed comes with the next
  // one.
  ASSERT_TRUE(
      share_outcomes(store.file, {outcome("a", 1, 1.5), outcome("a", 2, 0.9)}, store.files));
  const auto read = read_outcomes(store.file, store.files);
  ASSERT_TRUE(read && read->complaints.empty());
  ASSERT_EQ(read->outcomes.size(), 2u);
  const Outcome& first = read->outcomes[0];
  EXPECT_EQ(first.card, "pad-shared-memory");
  EXPECT_EQ(first.device, "NVIDIA H200");
  EXPECT_EQ(first.family, "transpose");
  EXPECT_TRUE(first.accepted);
  EXPECT_DOUBLE_EQ(first.gain, 1.5);
  ASSERT_TRUE(first.interval);
  EXPECT_DOUBLE_EQ(first.interval->low, 1.4);
  EXPECT_FALSE(read->outcomes[1].accepted);
}

TEST(Outcomes, LocateLinesThatAreNone) {
  Store store;
  ASSERT_TRUE(store.files.write(store.file,
                                "{\"card\":\"a\",\"accepted\":true,\"gain\":2}\n"
                                "{\"card\":\"b\",\"accepted\":true,\"gain\":-1}\n"
                                "[1]\n"
                                "{\"card\":\"c\",\"gain\":2}\n"
                                "{\"card\":\"d\",\"accepted\":false,\"gain\":0.5,\"later\":1}\n"
                                "{\"card\":\"e\",\"acc"));
  const auto read = read_outcomes(store.file, store.files);
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_EQ(read->outcomes.size(), 2u);
  EXPECT_EQ(read->outcomes[1].card, "d");
  ASSERT_EQ(read->complaints.size(), 4u);
  EXPECT_THAT(read->complaints[0], HasSubstr("outcomes.jsonl:2: "));
  EXPECT_THAT(read->complaints[0], HasSubstr("above 0"));
  EXPECT_THAT(read->complaints[2], HasSubstr("outcomes.jsonl:4: "));
  EXPECT_THAT(read->complaints[3], HasSubstr("outcomes.jsonl:6: "));
  // Half a line does not swallow the next one.
  ASSERT_TRUE(share_outcomes(store.file, {outcome("a", 1, 1.5)}, store.files));
  EXPECT_EQ(read_outcomes(store.file, store.files)->outcomes.size(), 3u);
}

TEST(Outcomes, ManyWritersLoseNothing) {
  Store store;
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i)
    writers.emplace_back([&, i] {
      EXPECT_TRUE(
          share_outcomes(store.file, {outcome("w" + std::to_string(i), 1, 1.5)}, store.files));
    });
  for (auto& writer : writers) writer.join();
  const auto read = read_outcomes(store.file, store.files);
  EXPECT_EQ(read->outcomes.size(), 8u);
  EXPECT_TRUE(read->complaints.empty());
}

TEST(Outcomes, ChangeWhatIsRankedFirst) {
  const auto base = CardBase::load();
  ASSERT_TRUE(base);
  evidence::Finding finding;
  finding.id = "shared-bank-conflicts";
  finding.category = "bank-conflicts";
  finding.headroom = 3;
  finding.cards = {"swizzle-shared-memory", "pad-shared-memory"};
  const evidence::Subject subject{{}, "nvidia", "sm_90"};
  EXPECT_EQ(base->for_finding(finding, subject)[0].id, "swizzle-shared-memory");
  Outcome lost{"swizzle-shared-memory", false, 0.9};
  EXPECT_EQ(base->for_finding(finding, subject, {lost})[0].id, "pad-shared-memory");
  // From another device it says less.
  lost.weight = 0.25;
  const double near =
      base->for_finding(finding, subject, {Outcome{"swizzle-shared-memory", false, 0.9}})[1].score;
  EXPECT_GT(base->for_finding(finding, subject, {lost})[1].score, near);
}

}  // namespace
}  // namespace burnish::knowledge
