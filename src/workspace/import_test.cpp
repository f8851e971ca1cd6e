#include "workspace/import.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "workspace/memory.h"
#include "workspace/testing.h"

namespace burnish::workspace {
namespace {

class ImportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    temporary_ = std::make_unique<TemporaryFolder>(TemporaryFolder::make().value());
    from_ = temporary_->path() / "kernel_opt_moe";
    to_ = temporary_->path() / "moe";
  }

  void put(const fs::path& name, const std::string& text) {
    ASSERT_TRUE(real_file_system().write(from_ / name, text));
  }
  std::string fixture(const std::string& name) {
    auto text = real_file_system().read(fs::path(BURNISH_SHARED_DIR) / "fixtures/agents" / name);
    return text ? *text : "";
  }
  /// A workspace as the skills leave it: records of every age, and their files.
  void make_skill_workspace() {
    const std::string filled =
        replace_all(fixture("v_iteration.schema.json"), "\"v<N>\"", "\"v1\"");
    const std::string negative = fixture("memory_v22_negative.json");
    put("kernel.py", "class Model: pass\n");
    put("reference.py", "def reference(): pass\n");
    put("test_kernel.py", "");
    put("README.md", "# Target\n");
    put("baseline_report.md", "# Baseline\n");
    put("memory/v0.json",
        R"({"version": "v0", "masked": true, "performance": {"latency_us": 2832.0, "tflops": null},
            "quality_gate": {"result": "PASS", "failure_reason": null}, "git_commit_hash": 123e45})");
    put("memory/v1.json", filled);
    put("memory/v2.json",
        R"({"version": "v2", "masked": true, "performance": {"latency_us": Infinity}})");
    put("memory/v5_g11_full_profile.json",
        R"({"version": "v5_g11_full_profile", "result": "MISS"})");
    put("memory/v2_again.json", R"({"version": "v2_again", "note": "a second v2"})");
    put("memory/v7.json", R"({"version": "seven", "goal": 7})");
    put("memory/v22_swiglu_scale_skip_negative.json", negative);
    put("plans/v1_plan.md", "# Plan\n");
    put("profiles/v1/summary.txt", "SYMPTOMS\n");
    put("profiles/v1/ncu.ncu-rep", std::string("\0binary", 7));
    put("profiles/v1/att/ui_output_1/code.json", "{}");
    put("candidates/a.py", "");
    fs::create_symlink("/etc/passwd", from_ / "plans/link.md");
  }

  std::unique_ptr<TemporaryFolder> temporary_;
  fs::path from_, to_;
};

TEST_F(ImportTest, EverythingIsKeptAndNumberingGoesOn) {
  if (fixture("memory_v22_negative.json").empty()) {
    GTEST_SKIP() << "fixtures/agents/memory_v22_negative.json is absent";
  }
  make_skill_workspace();
  const auto report = import_skill_workspace(from_, to_, World{});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->records, 7);
  EXPECT_EQ(report->last, 23);
  EXPECT_EQ(report->renamed,
            (std::vector<std::string>{"v22_swiglu_scale_skip_negative.json is v22",
                                      "v2_again.json is v23", "v5_g11_full_profile.json is v5"}));
  EXPECT_EQ(report->skipped,
            (std::vector<std::string>{"candidates/: not a folder of such a workspace",
                                      "plans/link.md: not a regular file"}));
  ASSERT_EQ(report->todo.size(), 1u);
  const auto odd = [&](int version, const std::string& pointer) -> std::string {
    for (const auto& one : report->odd) {
      if (one.version == version && one.pointer == pointer) return one.value;
    }
    return "";
  };
  EXPECT_FALSE(odd(0, "/git_commit_hash").empty());
  EXPECT_EQ(odd(0, "/masked"), "true");
  EXPECT_EQ(odd(2, "/performance/latency_us"), "\"Infinity\"");
  EXPECT_EQ(odd(7, "/version"), "\"seven\"");
  EXPECT_EQ(odd(23, "/version"), "\"v2_again\"");

  // Until the task is told, opening says what is missing.
  const auto unopened = Workspace::open(to_, Workspace::Access::write, World{});
  ASSERT_FALSE(unopened);
  EXPECT_EQ(unopened.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(contains(unopened.error().to_string(), "\"workload\" is missing"))
      << unopened.error().to_string();
  auto& files = real_file_system();
  const std::string begun = files.read(to_ / "burnish.toml").value();
  EXPECT_TRUE(contains(begun, "name = \"moe\""));
  ASSERT_TRUE(files.write(to_ / "burnish.toml",
                          begun + testing::kTask.substr(testing::kTask.find("[[tensor]]"))));

  auto workspace = Workspace::open(to_, Workspace::Access::write, World{});
  ASSERT_TRUE(workspace) << workspace.error().to_string();
  const auto entries = workspace->journal();
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[1].event, "import");
  EXPECT_EQ((*entries)[1].version, 23);
  const auto records = workspace->records();
  ASSERT_TRUE(records) << records.error().to_string();
  std::vector<int> numbers;
  for (const Record& record : *records) numbers.push_back(record.number);
  EXPECT_EQ(numbers, (std::vector<int>{0, 1, 2, 5, 7, 22, 23}));
  EXPECT_FALSE(records->front().masked);
  EXPECT_TRUE((*records)[2].masked);
  EXPECT_EQ(workspace->record(0)->performance.latency_us, 2832.0);
  EXPECT_EQ(workspace->record(5)->other()["result"], "MISS");
  EXPECT_EQ(workspace->record(22)->version, "v22_swiglu_scale_skip_negative");
  const Json original = parse_json(fixture("memory_v22_negative.json"), "v22").value();
  for (const auto& [key, value] : original.items()) {
    if (key != "version") {
      EXPECT_EQ(workspace->record(22)->other()[key], value) << key;
    }
  }
  EXPECT_EQ(workspace->text("plans/v1_plan.md").value(), "# Plan\n");
  EXPECT_EQ(files.read(to_ / "profiles/v1/ncu.ncu-rep").value(), std::string("\0binary", 7));
  EXPECT_TRUE(files.exists(to_ / "profiles/v1/att/ui_output_1/code.json"));
  ASSERT_TRUE(workspace->commit("Task", "", -1, {"burnish.toml"}));
  EXPECT_TRUE(workspace->clean().value());  // all but the profiles is in git
  ASSERT_TRUE(memory_create(*workspace, report->last + 1, Overwrite::no));
  EXPECT_EQ(memory_latest(*workspace)->number, 24);
}

TEST_F(ImportTest, HistoryOfGitComesAlong) {
  put("kernel.py", "1");
  put("reference.py", "1");
  put("memory/v0.json", "{\"version\": \"v0\"}");
  ProcessSpec spec;
  spec.argv = {
      "sh", "-c",
      "git init -q -b work . && git add . && git -c user.name=a -c user.email=a@b commit -q -m "
      "'V0: baseline kernel' && git rev-parse HEAD"};
  spec.folder = from_;
  const auto made = real_process_runner().run(spec);
  ASSERT_TRUE(made && made->ok()) << made->errors;
  const auto report = import_skill_workspace(from_, to_, World{});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->skipped.empty());
  spec.argv = {"git", "log", "--format=%H %s", "refs/imported/work"};
  spec.folder = to_;
  const auto log = real_process_runner().run(spec);
  EXPECT_EQ(log->output, std::string(trim(made->output)) + " V0: baseline kernel\n") << log->errors;
}

TEST_F(ImportTest, OwnWorkspacesComeBackToo) {
  testing::write_source(from_);
  const fs::path lost = temporary_->path() / "lost";
  {
    auto workspace = Workspace::create(lost, from_, World{});
    ASSERT_TRUE(workspace);
    ASSERT_TRUE(memory_create(*workspace, 0, Overwrite::no));
    ASSERT_TRUE(memory_create(*workspace, 1, Overwrite::no));
  }
  fs::remove(lost / ".burnish/journal.jsonl");
  const auto report = import_skill_workspace(lost, to_, World{});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->todo.empty());
  EXPECT_TRUE(report->odd.empty());
  auto workspace = Workspace::open(to_, Workspace::Access::write, World{});
  ASSERT_TRUE(workspace) << workspace.error().to_string();
  EXPECT_EQ(workspace->records()->size(), 2u);
  EXPECT_EQ(workspace->journal()->back().version, 1);
  EXPECT_TRUE(workspace->clean().value());
}

TEST_F(ImportTest, WhatCannotBeReadIsRefusedWhole) {
  auto refused_with = [&](const std::string& message, const std::string& place) {
    const auto report = import_skill_workspace(from_, to_, World{});
    ASSERT_FALSE(report) << message;
    EXPECT_EQ(report.error().kind, ErrorKind::bad_input) << report.error().to_string();
    EXPECT_TRUE(contains(report.error().to_string(), message)) << report.error().to_string();
    if (!place.empty()) {
      EXPECT_TRUE(contains(report.error().to_string(), place)) << report.error().to_string();
    }
    EXPECT_FALSE(fs::exists(to_));
  };
  refused_with("holds no records", "");
  put("kernel.py", "");
  refused_with("holds no records", "");
  put("memory/v0.json", "{\"version\": \"v0\",\n\"masked\": tru");
  refused_with("not JSON", "memory/v0.json:2:");
  put("memory/v0.json", "[1, 2]");
  refused_with("a record is a JSON object", "memory/v0.json");
  put("memory/v0.json", "{\"version\": \"v0\"}");
  put("burnish.toml", "nmae = \"x\"\n");
  refused_with("did you mean \"name\"?", "burnish.toml:1:1");
  fs::remove(from_ / "burnish.toml");
  fs::create_directory(to_);
  const auto report = import_skill_workspace(from_, to_, World{});
  ASSERT_FALSE(report);
  EXPECT_TRUE(contains(report.error().message, "exists already"));
}

}  // namespace
}  // namespace burnish::workspace
