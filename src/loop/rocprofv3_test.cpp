#include "loop/rocprofv3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"

namespace burnish::loop {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Collect = RocprofRun::Collect;

constexpr const char* kHeader =
    "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\",\"Thread_Id\","
    "\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\",\"LDS_Block_Size\",\"Scratch_"
    "Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Counter_Name\",\"Counter_Value\","
    "\"Start_Timestamp\",\"End_Timestamp\"\n";
constexpr const char* kRow =
    "1,1,\"Agent 1\",1,7,7,1048576,17,\"k(float*)\",64,0,0,8,0,16,\"SQ_WAVES\",16384.000000,1000,"
    "53000\n";

class Rocprofv3Run : public ::testing::Test {
 protected:
  Rocprofv3Run() : folder_(TemporaryFolder::make("burnish-rocprofv3").value()) {
    run_.name = "counters, pass 1 of 1";
    run_.collect = Collect::counters;
    run_.counters = {"SQ_WAVES", "GRBM_GUI_ACTIVE"};
    run_.folder = folder_.path() / "pass_1";
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(real_file_system().write(run_.folder / name, text));
  }
  TemporaryFolder folder_;
  RocprofRun run_;
};

TEST(LaunchRange, IsOneOrMoreLaunchesFromOneOn) {
  const auto range = parse_launch_range("2-5");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 2);
  EXPECT_EQ(range->last, 5);
  const auto one = parse_launch_range("3");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->first, 3);
  EXPECT_EQ(one->last, 3);
  for (const char* wrong : {"", "-", "5-2", "0", "0-3", "a-b", "1-2-3", "1.5", "-3", "1-"}) {
    const auto parsed = parse_launch_range(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input) << wrong;
  }
}

TEST(Selection, ExpressionsFindNamesAndNoOthers) {
  Selection selection;
  selection.kernels = expression_of({"copy<float>", "sum"});
  ASSERT_TRUE(check(selection));
  EXPECT_TRUE(selects(selection, "void copy<float>(float*, int)"));
  EXPECT_TRUE(selects(selection, "sum"));
  EXPECT_TRUE(selects(selection, "sum.kd"));
  EXPECT_FALSE(selects(selection, "void copy<double>(double*, int)"));
  EXPECT_FALSE(selects(selection, "sum2"));
  EXPECT_FALSE(selects(selection, "partial_sum"));
  selection.kernels = expression_of({"void f<int (*)(int), 3>(int*, a::b (*)[2])"});
  ASSERT_TRUE(check(selection));
  EXPECT_TRUE(selects(selection, "void f<int (*)(int), 3>(int*, a::b (*)[2])"));
  selection.kernels = "copy(";
  const auto wrong = check(selection);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("copy("));
  EXPECT_TRUE(selects({}, "anything"));
}

TEST(Rocprofv3, CommandLines) {
  const Rocprofv3 tool{"/opt/rocm/bin/rocprofv3", fs::path("/opt/rocm/lib")};
  RocprofRun run;
  run.folder = "/out/times";
  run.selection = {"k", LaunchRange{2, 2}};
  EXPECT_THAT(command_of(tool, run),
              ElementsAre("/opt/rocm/bin/rocprofv3", "--kernel-trace", "--output-format", "csv",
                          "-d", "/out/times", "--"));
  run.collect = Collect::counters;
  run.counters = {"SQ_WAVES", "SQ_INSTS"};
  EXPECT_THAT(command_of(tool, run),
              ElementsAre("/opt/rocm/bin/rocprofv3", "--pmc", "SQ_WAVES", "SQ_INSTS",
                          "--kernel-include-regex=k", "--kernel-iteration-range", "[2]",
                          "--output-format", "csv", "-d", "/out/times", "--"));
  run.collect = Collect::trace;
  run.selection.launches = LaunchRange{3, 5};
  EXPECT_THAT(command_of(tool, run),
              ElementsAre("/opt/rocm/bin/rocprofv3", "--att", "--att-library-path", "/opt/rocm/lib",
                          "--kernel-include-regex=k", "--kernel-iteration-range", "[3-5]",
                          "--output-format", "csv", "-d", "/out/times", "--"));
}

TEST(Rocprofv3, EachPassIsARunOfItsOwn) {
  const auto runs = counter_runs("gfx942", "/out/pmc", {"k", {}});
  ASSERT_TRUE(runs) << runs.error().to_string();
  ASSERT_GT(runs->size(), 1u);
  for (std::size_t i = 0; i < runs->size(); ++i) {
    const auto& run = (*runs)[i];
    EXPECT_EQ(run.folder, "/out/pmc/pass_" + std::to_string(i + 1));
    EXPECT_EQ(run.selection.kernels, "k");
    EXPECT_THAT(run.counters, Contains("GRBM_GUI_ACTIVE"));
  }
  EXPECT_FALSE(counter_runs("gfx1100", "/out/pmc", {}));
}

TEST(Rocprofv3, ToolAndDecoderAreFoundWhereVariablesSay) {
  const auto folder = TemporaryFolder::make("burnish-rocm");
  ASSERT_TRUE(folder);
  auto& files = real_file_system();
  ASSERT_TRUE(files.write(folder->path() / "bin/rocprofv3", "#!/bin/sh\n"));
  fs::permissions(folder->path() / "bin/rocprofv3", fs::perms::owner_all);
  const char* path = std::getenv("PATH");
  const std::string old = path == nullptr ? "" : path;
  setenv("ROCM_PATH", folder->path().c_str(), 1);
  setenv("PATH", "/nowhere", 1);
  auto tool = find_rocprofv3();
  ASSERT_TRUE(tool);
  EXPECT_EQ(tool->program, folder->path() / "bin/rocprofv3");
  EXPECT_TRUE(fs::exists("/opt/rocm") || !tool->decoder);
  ASSERT_TRUE(files.write(folder->path() / "lib/librocprof-trace-decoder.so.0.1", ""));
  tool = find_rocprofv3();
  ASSERT_TRUE(tool && tool->decoder);
  EXPECT_EQ(*tool->decoder, folder->path() / "lib");
  ASSERT_TRUE(files.write(folder->path() / "mine/librocprof-trace-decoder.so", ""));
  setenv("ROCPROF_ATT_LIBRARY_PATH", ("/nowhere:" + (folder->path() / "mine").string()).c_str(), 1);
  tool = find_rocprofv3();
  ASSERT_TRUE(tool && tool->decoder);
  EXPECT_EQ(*tool->decoder, folder->path() / "mine");
  unsetenv("ROCPROF_ATT_LIBRARY_PATH");
  unsetenv("ROCM_PATH");
  setenv("PATH", old.c_str(), 1);
}

TEST_F(Rocprofv3Run, IsGoodWhenItsTablesHoldWhatWasAskedFor) {
  std::string other = kRow;
  other.replace(other.find("SQ_WAVES"), 8, "GRBM_GUI_ACTIVE");
  write("host/7_counter_collection.csv", std::string(kHeader) + kRow + other);
  const RunReport report = judge_run(run_, "", "");
  EXPECT_TRUE(report.good) << report.why;
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_EQ(report.counters, run_.counters);
}

TEST_F(Rocprofv3Run, CountersThatWereNotCountedAreNamed) {
  write("host/7_counter_collection.csv", std::string(kHeader) + kRow);
  const RunReport report = judge_run(
      run_, "",
      "Unable to find all counters for agent 1 (gpu-0, gfx942) in [GRBM_GUI_ACTIVE, SQ_WAVES].\n"
      "Found: [SQ_WAVES]. Missing: [GRBM_GUI_ACTIVE]\n");
  EXPECT_TRUE(report.good);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.notes[0], "not counted: GRBM_GUI_ACTIVE");
}

TEST_F(Rocprofv3Run, IsNoResultWhenItFailed) {
  // Complete tables do not make a result of a run that failed.
  write("host/7_counter_collection.csv", std::string(kHeader) + kRow);
  const RunReport report = judge_run(
      run_, "exited with 134",
      "counter.cpp:9 Could not construct profile cfg failed with error code 38: Request exceeds "
      "the capabilities of the hardware to collect\n*** Check failure stack trace: ***\n"
      "    @     0x7ce5e008e930  google::LogMessage::Fail()\n");
  EXPECT_FALSE(report.good);
  EXPECT_THAT(report.why, HasSubstr("exited with 134"));
  EXPECT_THAT(report.why, HasSubstr("error code 38"));
  EXPECT_THAT(report.why, Not(HasSubstr("google::")));
  EXPECT_THAT(report.hint, HasSubstr("amd-blocks.toml"));
}

TEST_F(Rocprofv3Run, IsNoResultWhenItLeftNothingToUse) {
  EXPECT_THAT(judge_run(run_, "", "").why, HasSubstr("wrote nothing"));
  write("host/7_counter_collection.csv", kHeader);
  RunReport report = judge_run(run_, "", "");
  EXPECT_FALSE(report.good);
  EXPECT_FALSE(report.why.empty());
  // Rows of other counters than those asked for.
  run_.counters = {"TCC_HIT_sum"};
  write("host/7_counter_collection.csv", std::string(kHeader) + kRow);
  report = judge_run(run_, "", "");
  EXPECT_FALSE(report.good);
  EXPECT_THAT(report.why, HasSubstr("none of the counters"));
  write("host/7_counter_collection.csv", std::string(kHeader) + "1,2,\n");
  EXPECT_THAT(judge_run(run_, "", "").why, HasSubstr("cannot be read"));
  // Counters are no trace and no times.
  write("host/7_counter_collection.csv", std::string(kHeader) + kRow);
  run_.collect = Collect::trace;
  report = judge_run(run_, "", "");
  EXPECT_FALSE(report.good);
  EXPECT_THAT(report.why, HasSubstr("no traced wave"));
}

TEST(Remedy, KnowsWhatTheToolSays) {
  EXPECT_THAT(remedy("[rocprofv3] Fatal error: rocprof-trace-decoder library path not found in ['"
                     "', '/opt/rocm-7.1.1/lib']"),
              HasSubstr("github.com/ROCm/rocprof-trace-decoder"));
  EXPECT_THAT(remedy("rocprofv3: error: unrecognized arguments: --att=true"),
              HasSubstr("ROCm 7.0"));
  EXPECT_THAT(remedy("open /dev/kfd: Permission denied"), HasSubstr("render"));
  EXPECT_EQ(remedy("Segmentation fault"), "");
}

}  // namespace
}  // namespace burnish::loop
