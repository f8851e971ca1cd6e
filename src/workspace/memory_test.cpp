#include "workspace/memory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "workspace/testing.h"

namespace burnish::workspace {
namespace {

class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    temporary_ = std::make_unique<TemporaryFolder>(TemporaryFolder::make().value());
    testing::write_source(temporary_->path() / "from");
    workspace_ = std::make_unique<Workspace>(
        Workspace::create(temporary_->path() / "w", temporary_->path() / "from", World{}).value());
    ASSERT_TRUE(memory_init(*workspace_));
    for (int number = 0; number < 3; ++number) {
      ASSERT_TRUE(memory_create(*workspace_, number, Overwrite::no));
    }
    // v0 and v1 are settled, v2 is in the making.
    ASSERT_TRUE(workspace_->commit("V0", "", 0, {"memory/v0.json"}));
    ASSERT_TRUE(workspace_->commit("V1", "", 1, {"memory/v1.json"}));
  }

  std::string stored(int version) {
    return workspace_->text("memory/v" + std::to_string(version) + ".json").value();
  }

  std::unique_ptr<TemporaryFolder> temporary_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(MemoryTest, CreateStartsARecordAndKeepsOldOnes) {
  const Record record = workspace_->record(2).value();
  EXPECT_EQ(record.version, "v2");
  EXPECT_EQ(record.timestamp.size(), 20u);
  EXPECT_FALSE(record.performance.latency_us);
  ASSERT_TRUE(memory_update(*workspace_, 2, {"quality_gate.result=PASS"}));
  const auto again = memory_create(*workspace_, 2, Overwrite::no);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(workspace_->record(2)->quality_gate.result, "PASS");
  ASSERT_TRUE(memory_create(*workspace_, 2, Overwrite::yes));
  EXPECT_EQ(workspace_->record(2)->quality_gate.result, "");
}

TEST_F(MemoryTest, UpdatesAreTyped) {
  const auto updated = memory_update(
      *workspace_, 2,
      {"quality_gate.result=PASS", "performance.latency_us=12.5", "artefact_hash=123e4567",
       "performance.comparison_with_previous.latency_delta=-12%", "optimization.enabler=true",
       "performance.latency_us_by_shape.square.v2=3", "optimization.parameters.ROWS=08",
       "optimization.action_description=a=b, \"c\"\nd", "experience.experiment_count=4",
       "search_log=[{\"source\": \"card\", \"new\": true}]", "parent=v1",
       "performance.interval={\"low\": 1.1, \"high\": 1.2}",
       "profile_evidence.findings=[\"few-fma\"]", "search_log.0.query=swizzle"});
  ASSERT_TRUE(updated) << updated.error().to_string();
  EXPECT_EQ(updated->quality_gate.result, "PASS");
  EXPECT_EQ(updated->performance.latency_us, 12.5);
  EXPECT_EQ(updated->artefact_hash, "123e4567");  // a hash is no number
  EXPECT_EQ(updated->performance.latency_delta, "-12%");
  EXPECT_TRUE(updated->optimization.enabler);
  EXPECT_EQ(updated->performance.latency_us_by_shape.at("square.v2"), 3);
  EXPECT_EQ(updated->optimization.parameters.at("ROWS"), "08");
  EXPECT_EQ(updated->optimization.action_description, "a=b, \"c\"\nd");
  EXPECT_EQ(updated->experience.experiment_count, 4);
  EXPECT_EQ(updated->search_log.at(0).query, "swizzle");
  EXPECT_TRUE(updated->search_log.at(0).is_new);
  EXPECT_EQ(updated->parent, 1);
  EXPECT_EQ(updated->performance.interval->high, 1.2);
  EXPECT_TRUE(contains(stored(2), "\"artefact_hash\": \"123e4567\""));
  EXPECT_TRUE(contains(stored(2), "\"latency_us\": 12.5"));

  const auto cleared = memory_update(
      *workspace_, 2, {"performance.latency_us=null", "search_log=[]", "quality_gate.result=null"});
  ASSERT_TRUE(cleared) << cleared.error().to_string();
  EXPECT_FALSE(cleared->performance.latency_us);
  EXPECT_TRUE(cleared->search_log.empty());
  EXPECT_EQ(cleared->quality_gate.result, "");
}

TEST_F(MemoryTest, WrongUpdatesChangeNothing) {
  const std::string before = stored(2);
  struct Case {
    const char* assignment;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"correctness.status=BANANA", "one of PASS, FAIL, TIMEOUT_FAIL"},
      {"quality_gate.result=PASSED", "did you mean \"PASS\"?"},
      {"qualty_gate.result=PASS", "did you mean \"quality_gate.result\"?"},
      {"latency_us=3", "did you mean \"performance.latency_us\"?"},
      {"foo.bar=1", "has no field \"foo.bar\""},
      {"performance=3", "has fields of its own"},
      {"performance.latency_us=fast", "must be a number or null"},
      {"performance.latency_us=inf", "must be a number or null"},
      {"performance.latency_us=", "must be a number or null"},
      {"performance.latency_us_by_shape.a=b", "must be a number or null"},
      {"performance.latency_us_by_shape=[1]", "a JSON object"},
      {"performance.latency_us_by_shape={\"a\": \"b\"}", "/performance/latency_us_by_shape/a"},
      {"optimization.enabler=yes", "true or false"},
      {"experience.experiment_count=1.5", "a whole number"},
      {"search_log=free text", "a JSON array"},
      {"search_log=[{\"qeury\": \"x\"}]", "did you mean \"query\"?"},
      {"search_log.0.query=x", "the list has 0 elements"},
      {"search_log.x.query=x", "has no field"},
      {"parent=none", "/parent: expected a version"},
      {"version=v9", "keeps its version"},
      {"masked=true", "memory mask"},
      {"git_commit_hash=123e4567", "taken from git"},
      {"PASS", "not path=value"},
      {"=PASS", "not path=value"},
      {"", "not path=value"},
  };
  for (const Case& one : cases) {
    // A right one in front does not count either.
    const auto updated = memory_update(*workspace_, 2, {"correctness.rel_err=0.5", one.assignment});
    ASSERT_FALSE(updated) << one.assignment;
    EXPECT_EQ(updated.error().kind, ErrorKind::bad_input) << one.assignment;
    EXPECT_TRUE(contains(updated.error().to_string(), one.message))
        << one.assignment << ": " << updated.error().to_string();
    EXPECT_EQ(stored(2), before) << one.assignment;
  }
  EXPECT_FALSE(memory_update(*workspace_, 9, {"quality_gate.result=PASS"}));
}

TEST_F(MemoryTest, SettledRecordsAreCommittedAndOthersWait) {
  ASSERT_TRUE(memory_update(*workspace_, 2, {"quality_gate.result=FAIL"}));
  EXPECT_FALSE(workspace_->clean().value());  // v2 waits for its commit
  const auto before = workspace_->commit_of(1).value();
  ASSERT_TRUE(memory_update(*workspace_, 1, {"correctness.status=PASS"}));
  ASSERT_TRUE(workspace_->restore());  // an iteration that failed takes v2 away, and only that
  EXPECT_EQ(workspace_->record(1)->correctness.status, "PASS");
  EXPECT_EQ(workspace_->commit_of(1).value(), before);
  EXPECT_FALSE(workspace_->record(2));
}

TEST_F(MemoryTest, MaskedRecordsAreNotRead) {
  const auto masked = memory_mask(*workspace_, {1, 2}, Masking::mask);
  ASSERT_TRUE(masked) << masked.error().to_string();
  EXPECT_EQ(masked->size(), 2u);
  const auto read = memory_read(*workspace_, 1, "", Masked::refuse);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::refused);
  EXPECT_TRUE(memory_read(*workspace_, 1, "", Masked::show));
  EXPECT_EQ(memory_list(*workspace_, Masked::refuse)->size(), 1u);
  EXPECT_EQ(memory_list(*workspace_, Masked::show)->size(), 3u);
  EXPECT_EQ(memory_latest(*workspace_)->number, 0);
  ASSERT_TRUE(memory_mask(*workspace_, {1}, Masking::unmask));
  EXPECT_EQ(memory_latest(*workspace_)->number, 1);

  const auto baseline = memory_mask(*workspace_, {1, 0}, Masking::mask);
  ASSERT_FALSE(baseline);
  EXPECT_EQ(baseline.error().kind, ErrorKind::refused);
  EXPECT_FALSE(workspace_->record(1)->masked);  // all or none
  EXPECT_FALSE(memory_mask(*workspace_, {1, 7}, Masking::mask));
  EXPECT_FALSE(workspace_->record(1)->masked);
}

TEST_F(MemoryTest, FieldsAreReadByPath) {
  ASSERT_TRUE(
      memory_update(*workspace_, 2, {"performance.tflops=1.5", "search_log=[{\"query\": \"q\"}]"}));
  EXPECT_EQ(memory_read(*workspace_, 2, "performance.tflops", Masked::refuse).value(), 1.5);
  EXPECT_EQ(memory_read(*workspace_, 2, "search_log.0.query", Masked::refuse).value(), "q");
  EXPECT_TRUE(memory_read(*workspace_, 2, "performance", Masked::refuse)->is_object());
  const auto unknown = memory_read(*workspace_, 2, "performance.tflop", Masked::refuse);
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(contains(unknown.error().hint, "performance.tflops"));
  EXPECT_FALSE(memory_read(*workspace_, 2, "search_log.7.query", Masked::refuse));
}

TEST_F(MemoryTest, SummaryHasOneRowARecord) {
  ASSERT_TRUE(
      memory_update(*workspace_, 1, {"performance.latency_us=7", "quality_gate.result=PASS"}));
  const auto rows = memory_summary(*workspace_);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 3u);
  const Json json = to_json(*rows);
  EXPECT_EQ(json[1]["version"], "v1");
  EXPECT_EQ(json[1]["latency_us"], 7.0);
  EXPECT_EQ(json[1]["gate"], "PASS");
  EXPECT_EQ(json[1]["commit"], *workspace_->commit_of(1).value());
  EXPECT_TRUE(json[0]["latency_us"].is_null());
}

}  // namespace
}  // namespace burnish::workspace
