// AMD's artefacts: those of others as the manifest of the fixtures describes them, and broken ones.

#include "profile/amd.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <functional>

#include "base/text.h"
#include "profile/amd_model.h"
#include "profile/testing.h"

namespace burnish::profile {
namespace {

using ::testing::AllOf;
using testing::bytes_of;
using ::testing::Contains;
using testing::fixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read;
using testing::text;
using testing::value;

constexpr const char* kCounterHeader =
    "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\",\"Thread_Id\","
    "\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\",\"LDS_Block_Size\","
    "\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Counter_Name\","
    "\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n";
constexpr const char* kAgents =
    "\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Max_Waves_Per_Cu\",\"Num_Xcc\",\"Cu_Count\","
    "\"Simd_Per_Cu\",\"Gfx_Target_Version\",\"Max_Engine_Clk_Fcompute\",\"Name\",\"Product_Name\"\n"
    "0,0,\"CPU\",0,1,96,0,0,0,\"AMD EPYC\",\"AMD EPYC\"\n"
    "2,2,\"GPU\",32,8,304,4,90402,2100,\"gfx942\",\"AMD Instinct MI300X\"\n";

std::string counter_row(int dispatch, const std::string& kernel, const std::string& counter,
                        const std::string& number, long long start = 1000, long long end = 101000,
                        int registers = 64, int lds = 0) {
  return fmt::format(
      "{0},{0},\"Agent 2\",1,7,7,262144,3,\"{1}\",256,{6},0,{7},64,32,\"{2}\",{3},{4},{5}\n",
      dispatch, kernel, counter, number, start, end, lds, registers);
}

class AmdFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::make();
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
  }
  fs::path write(const std::string& name, std::string_view content) {
    const fs::path path = folder_->path() / name;
    EXPECT_TRUE(real_file_system().write(path, content));
    return path;
  }
  const fs::path& folder() const { return folder_->path(); }
  static std::string error(const fs::path& path) {
    const auto reading = read_profile(path);
    return reading ? "accepted" : reading.error().to_string();
  }

 private:
  std::optional<TemporaryFolder> folder_;
};

const KernelProfile& named(const Reading& reading, std::string_view part) {
  for (const KernelProfile& kernel : reading.kernels) {
    if (contains(kernel.name, part)) return kernel;
  }
  ADD_FAILURE() << "no kernel " << part;
  static const KernelProfile kNone;
  return kNone;
}

// ------------------------------------------------------------------ rocprofv3's CSV

// Each process counts its dispatches from 1, and tools that merge them write one table.
TEST_F(AmdFiles, LaunchesOfSeveralProcessesInOneTableAreNotOne) {
  std::string other = counter_row(1, "k", "SQ_WAVES", "2048", 1000, 301000);
  other = replace_all(replace_all(other, ",7,7,", ",8,8,"), ",262144,", ",131072,");
  const Reading reading =
      read(write("counters.csv",
                 kCounterHeader + counter_row(1, "k", "SQ_WAVES", "4096") + other +
                     replace_all(replace_all(other, "SQ_WAVES", "TCC_HIT_sum"), ",2048,", ",5,")));
  ASSERT_EQ(reading.kernels.size(), 2u);
  EXPECT_EQ(value(reading.kernels[0], "SQ_WAVES"), 4096);
  EXPECT_DOUBLE_EQ(value(reading.kernels[0], "time.device"), 100e-6);
  EXPECT_EQ(value(reading.kernels[1], "SQ_WAVES"), 2048);
  EXPECT_EQ(value(reading.kernels[1], "TCC_HIT_sum"), 5);
  EXPECT_EQ(value(reading.kernels[1], "launch.grid_blocks"), 512);
  EXPECT_DOUBLE_EQ(value(reading.kernels[1], "time.device"), 300e-6);
  EXPECT_EQ(reading.kernels[1].id, "dispatch 1 of process 8");
}

TEST_F(AmdFiles, ACounterOfOneLaunchThatIsThereTwiceIsSaidToBe) {
  const std::string once = kCounterHeader + counter_row(1, "k", "TCC_HIT_sum", "100");
  EXPECT_THAT(read(write("once.csv", once + counter_row(1, "k", "TCC_HIT_sum", "100")))
                  .kernels.at(0)
                  .implausible,
              IsEmpty());
  const Reading twice = read(write("twice.csv", once + counter_row(1, "k", "TCC_HIT_sum", "300")));
  EXPECT_THAT(twice.kernels.at(0).implausible, Contains(HasSubstr("TCC_HIT_sum (100 to 300)")));
}

TEST(AmdFixtures, CountersOfSdk1) {
  BURNISH_NEEDS_FIXTURE("rocprofv3/sdk1.0_counter_collection.csv");
  const Reading reading = read(fixture("rocprofv3/sdk1.0_counter_collection.csv"));
  ASSERT_EQ(reading.kernels.size(), 4u);
  EXPECT_EQ(reading.artefacts.at(0).kind, "rocprofv3-counters");
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_EQ(kernel.name,
            "void addition_kernel<float>(float*, float const*, float const*, int, int)");
  EXPECT_EQ(kernel.id, "dispatch 1");
  EXPECT_EQ(value(kernel, "SQ_WAVES"), 16384);
  EXPECT_EQ(value(kernel, "launch.grid_blocks"), 16384) << "Grid_Size counts work-items";
  EXPECT_EQ(value(kernel, "launch.block_threads"), 64);
  EXPECT_NEAR(value(kernel, "time.device"), 52151e-9, 1e-12);
  const Metric* waves = kernel.metrics.find("SQ_WAVES");
  ASSERT_TRUE(waves);
  EXPECT_EQ(waves->where.locator, "row 2, column 17");
  EXPECT_FALSE(waves->where.hash.empty());
  // Nothing says which device it was.
  EXPECT_EQ(kernel.metrics.find("registers.allocated"), nullptr);
  EXPECT_THAT(kernel.not_measured.at("registers.allocated"), HasSubstr("does not name the device"));
  EXPECT_THAT(kernel.implausible, IsEmpty());
}

TEST(AmdFixtures, CountersOfSdk05) {
  BURNISH_NEEDS_FIXTURE("rocprofv3/sdk0.5_counter_collection.csv");
  const Reading reading = read(fixture("rocprofv3/sdk0.5_counter_collection.csv"));
  ASSERT_EQ(reading.kernels.size(), 7u);
  for (const KernelProfile& kernel : reading.kernels) {
    EXPECT_EQ(value(kernel, "SQ_WAVES"), 16384);
    EXPECT_EQ(kernel.metrics.find("time.device"), nullptr) << "no time stamps before 0.6";
    EXPECT_EQ(kernel.metrics.find("Accum_VGPR_Count"), nullptr);
  }
  const Reading older = read(fixture("rocprofv3/sdk1.0_kernel_names.csv"));
  ASSERT_EQ(older.kernels.size(), 4u);
  EXPECT_EQ(older.kernels[3].id, "dispatch 16");
}

TEST(AmdFixtures, KernelTraces) {
  BURNISH_NEEDS_FIXTURE("rocprofv3/sdk1.0_kernel_trace.csv");
  const Reading now = read(fixture("rocprofv3/sdk1.0_kernel_trace.csv"));
  ASSERT_FALSE(now.kernels.empty());
  const KernelProfile& first = now.kernels[0];
  EXPECT_NEAR(value(first, "time.device"), 12800e-9, 1e-13);
  EXPECT_EQ(first.launch.grid, (std::array<std::int64_t, 3>{16, 1024, 1}));
  EXPECT_EQ(first.launch.block, (std::array<std::int64_t, 3>{64, 1, 1}));
  const Reading old = read(fixture("rocprofv3/sdk0.5_kernel_trace.csv"));
  EXPECT_EQ(value(old.kernels[0], "time.device"), (8819330200116308 - 8819330200067564) * 1e-9);
  EXPECT_EQ(old.kernels[0].launch.shared_bytes, 0);
  EXPECT_EQ(old.kernels[0].metrics.find("VGPR_Count"), nullptr);
  const Reading truncated = read(fixture("rocprofv3/sdk1.0_kernel_trace_truncated.csv"));
  EXPECT_EQ(truncated.kernels[1].name, "divide_kernel");
}

TEST(AmdFixtures, HostTrapSamplesDoNotSayWhy) {
  BURNISH_NEEDS_FIXTURE("rocprofv3/sdk1.0_pc_sampling_host_trap.csv");
  const Reading reading = read(fixture("rocprofv3/sdk1.0_pc_sampling_host_trap.csv"));
  ASSERT_EQ(reading.kernels.size(), 1u);
  EXPECT_EQ(value(reading.kernels[0], "samples.count"), 79);
  EXPECT_EQ(reading.kernels[0].metrics.find("stall.waitcnt_vector_pct"), nullptr);
  EXPECT_EQ(reading.kernels[0].metrics.find("issue.active_pct"), nullptr);
  EXPECT_THAT(reading.warnings, Contains(HasSubstr("at another time")));
}

TEST(AmdFixtures, StochasticSamplesSayWhy) {
  BURNISH_NEEDS_FIXTURE("rocprofv3/sdk1.0_pc_sampling_stochastic_debug.csv");
  const Reading reading = read(fixture("rocprofv3/sdk1.0_pc_sampling_stochastic_debug.csv"));
  ASSERT_EQ(reading.kernels.size(), 1u);
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_EQ(value(kernel, "samples.count"), 97);
  EXPECT_NEAR(value(kernel, "issue.active_pct"), 100.0 * 20 / 97, 1e-9);
  EXPECT_NEAR(value(kernel, "stall.waitcnt_vector_pct") + value(kernel, "stall.waitcnt_lds_pct"),
              100.0 * 71 / 97, 1e-9);
  EXPECT_NEAR(value(kernel, "stall.alu_dependency_pct"), 100.0 * 5 / 97, 1e-9);
  EXPECT_NEAR(value(kernel, "stall.no_instruction_pct"), 100.0 / 97, 1e-9);
  EXPECT_EQ(value(kernel, "stall.barrier_pct"), 0);
  EXPECT_THAT(text(kernel, "hotspot.stall_waitcnt_vector"),
              AllOf(HasSubstr("vector-ops.cpp:"), HasSubstr("s_waitcnt vmcnt(0)")));
}

TEST(AmdFixtures, OtherTracesSayNothingOfKernels) {
  BURNISH_NEEDS_FIXTURE("rocprofv3/sdk1.0_hip_api_stats.csv");
  for (const char* name : {"sdk1.0_hip_api_stats.csv", "sdk1.0_memory_copy_trace.csv",
                           "sdk1.0_scratch_memory_trace.csv", "sdk1.0_rocpd-to-csv.csv"}) {
    const Reading reading = read(fixture(std::string("rocprofv3/") + name));
    EXPECT_THAT(reading.kernels, IsEmpty()) << name;
    EXPECT_THAT(reading.warnings, Contains(HasSubstr("nothing of kernels"))) << name;
  }
}

TEST(AmdFixtures, BankConflictsOfHipKittens) {
  BURNISH_NEEDS_FIXTURE("rocprofv3/HipKittens_ds_read_b64_lds_conflict_counter_collection.csv");
  const Reading reading =
      read(fixture("rocprofv3/HipKittens_ds_read_b64_lds_conflict_counter_collection.csv"));
  const KernelProfile& kernel = named(reading, "micro_tk");
  EXPECT_EQ(value(kernel, "shared.instructions"), 1);
  EXPECT_EQ(value(kernel, "shared.conflicts"), 1);
}

// ------------------------------------------------------------------ rocprof-compute

TEST(AmdFixtures, WorkloadOfAnMi300x) {
  BURNISH_NEEDS_FIXTURE("rocprof-compute/vcopy_MI300X_A1_pmc_perf.csv");
  const Reading reading = read(fixture("rocprof-compute/vcopy_MI300X_A1_pmc_perf.csv"));
  ASSERT_EQ(reading.kernels.size(), 3u);
  const double hits[] = {33.50, 33.29, 33.29};
  for (std::size_t i = 0; i < 3; ++i) {
    const KernelProfile& kernel = reading.kernels[i];
    EXPECT_EQ(kernel.name, "vecCopy(double*, double*, double*, int, int)");
    EXPECT_EQ(kernel.device.arch, "gfx942");
    EXPECT_NEAR(value(kernel, "l2.hit_pct"), hits[i], 0.005);
    EXPECT_NEAR(value(kernel, "l1.hit_pct"), 62.5, 1e-9);
    EXPECT_EQ(value(kernel, "global.coalesced_pct"), 25);
    EXPECT_EQ(value(kernel, "threads.per_instruction_ratio"), 1);
    EXPECT_EQ(value(kernel, "flops.tensor"), 0);
    EXPECT_EQ(value(kernel, "device.compute_units"), 304);
    EXPECT_EQ(value(kernel, "registers.allocated"), 8);
    // 8 MiB are read and written.
    EXPECT_NEAR(value(kernel, "dram.bytes_read"), 8 << 20, 0.01 * (8 << 20));
    EXPECT_NEAR(value(kernel, "dram.bytes_written"), 8 << 20, 0.01 * (8 << 20));
    // Counters and times are of different runs: no share of a peak may come of them.
    EXPECT_THAT(kernel.implausible, Contains(HasSubstr("different passes")));
    for (const char* name :
         {"pipe.alu_pct", "l2.throughput_pct", "l1.throughput_pct", "dram.throughput_pct",
          "dram.bandwidth", "memory.throughput_pct", "GRBM_GUI_ACTIVE"}) {
      EXPECT_EQ(kernel.metrics.find(name), nullptr) << name;
    }
    EXPECT_THAT(kernel.not_measured.at("pipe.alu_pct"), HasSubstr("another pass"));
  }
  // One pass of its own: 136623716 wave cycles over 442183 / 8 cycles.
  EXPECT_NEAR(value(reading.kernels[0], "occupancy.achieved_pct"),
              100 * 136623716.0 / (442183.0 / 8 * 304 * 32), 1e-9);
}

TEST(AmdFixtures, WorkloadOfAnMi100) {
  BURNISH_NEEDS_FIXTURE("rocprof-compute/vcopy_MI100_pmc_perf.csv");
  const Reading reading = read(fixture("rocprof-compute/vcopy_MI100_pmc_perf.csv"));
  ASSERT_EQ(reading.kernels.size(), 3u);
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_EQ(kernel.device.arch, "gfx908");
  EXPECT_EQ(kernel.name, "vecCopy(double*, double*, double*, int, int)");
  EXPECT_NEAR(value(kernel, "l2.hit_pct"), 100.0 * 188 / (188 + 262485), 1e-9);
  EXPECT_EQ(value(kernel, "dram.bytes_read"), 64 * 131484.0);
  // 48328 cycles in 24480 ns are 1.97 GHz on a device of 1.5.
  EXPECT_THAT(kernel.implausible, Contains(HasSubstr("different passes")));
  // AGPRs are apart from the other registers on gfx908.
  EXPECT_EQ(value(kernel, "registers.allocated"), 8);
  EXPECT_EQ(kernel.metrics.find("occupancy.achieved_pct"), nullptr)
      << "the pass that it needs was not collected";
}

TEST(AmdFixtures, WorkloadsInOneFolderStayApart) {
  BURNISH_NEEDS_FIXTURE("rocprof-compute");
  const Reading reading = read(fixture("rocprof-compute"));
  ASSERT_EQ(reading.kernels.size(), 6u);
  EXPECT_EQ(reading.kernels[0].device.arch, "gfx908");
  EXPECT_EQ(reading.kernels[5].device.arch, "gfx942");
}

// ------------------------------------------------------------------ rocpd

TEST(AmdFixtures, DatabaseWithoutCounters) {
  const std::string name = "rocpd/HGLiu1998_batched_gemm_mi300x_trimmed_schema3.db";
  BURNISH_NEEDS_FIXTURE(name);
  const Reading reading = read(fixture(name));
  EXPECT_EQ(reading.artefacts.at(0).version, "schema 3");
  ASSERT_EQ(reading.kernels.size(), 2u) << "150 launches of one kernel with one shape are one";
  const KernelProfile& gemm = reading.kernels[0];
  EXPECT_THAT(gemm.name, HasSubstr("kentry"));
  EXPECT_THAT(gemm.symbol, ::testing::StartsWith("_ZN7ck_tile6kentry"));
  EXPECT_EQ(value(gemm, "launch.dispatches"), 150);
  EXPECT_NEAR(value(gemm, "time.total"), 2580371e-9, 1e-13);
  EXPECT_EQ(gemm.device.name, "AMD Instinct MI300X");
  EXPECT_EQ(gemm.device.arch, "gfx942");
  EXPECT_EQ(value(gemm, "device.compute_units"), 304);
  EXPECT_EQ(value(gemm, "num_xcd"), 8);
  EXPECT_EQ(value(gemm, "registers.allocated"), 512);
  EXPECT_EQ(gemm.launch.shared_bytes, 65536);
  EXPECT_EQ(gemm.launch.grid, (std::array<std::int64_t, 3>{2, 128, 1}));
  const KernelProfile& fill = reading.kernels[1];
  EXPECT_THAT(fill.name, HasSubstr("fillBufferAligned"));
  EXPECT_NEAR(value(fill, "time.device"), 24175e-9, 1e-13);
  EXPECT_THAT(reading.warnings, Contains(HasSubstr("no counter was collected")));
}

/// A database with the columns that matter; `track` is how schema 4 keeps agents.
std::string database(const fs::path& path, bool track, const std::string& version,
                     const std::vector<std::string>& further = {}) {
  sqlite3* opened = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &opened), SQLITE_OK);
  std::vector<std::string> statements = {
      "CREATE TABLE rocpd_metadata_u (id INTEGER PRIMARY KEY, tag TEXT, value TEXT)",
      "INSERT INTO rocpd_metadata_u VALUES (1, 'schema_version', '" + version + "')",
      "CREATE TABLE rocpd_info_agent_u (id INTEGER PRIMARY KEY, guid TEXT, type TEXT, name TEXT, "
      "product_name TEXT, extdata TEXT)",
      "INSERT INTO rocpd_info_agent_u VALUES (3, 'g', 'GPU', 'gfx90a', 'AMD Instinct MI210', "
      "'{\"cu_count\":104,\"num_xcc\":1,\"max_engine_clk_fcompute\":1700}')",
      "CREATE TABLE rocpd_info_kernel_symbol_u (id INTEGER PRIMARY KEY, guid TEXT, kernel_name "
      "TEXT, display_name TEXT, arch_vgpr_count INT, accum_vgpr_count INT, sgpr_count INT)",
      "INSERT INTO rocpd_info_kernel_symbol_u VALUES (5, 'g', '_Z1kPf.kd', 'k(float*)', 32, 0, 16)",
      "CREATE TABLE rocpd_info_pmc_u (id INTEGER PRIMARY KEY, guid TEXT, name TEXT, symbol TEXT)",
      "INSERT INTO rocpd_info_pmc_u VALUES (1, 'g', 'SQ_WAVES', 'SQ_WAVES'), (2, 'g', "
      "'TCC_HIT_sum', 'TCC_HIT_sum')",
      std::string("CREATE TABLE rocpd_pmc_event_u (id INTEGER PRIMARY KEY, guid TEXT, event_id "
                  "INT, pmc_id INT, value REAL") +
          (track ? ", sample_id INT)" : ")"),
  };
  const char* more = track ? ", NULL)" : ")";
  for (const auto& [event, pmc, number] :
       {std::tuple{11, 1, 1000}, {12, 1, 3000}, {11, 1, 24}, {11, 2, 7}, {99, 2, 1}}) {
    statements.push_back(fmt::format(
        "INSERT INTO rocpd_pmc_event_u VALUES (NULL, 'g', {}, {}, {}{}", event, pmc, number, more));
  }
  if (track) {
    statements.emplace_back("INSERT INTO rocpd_pmc_event_u VALUES (NULL, 'g', 11, 1, 5e6, 1)");
    statements.emplace_back(
        "CREATE TABLE rocpd_track_u (id INTEGER PRIMARY KEY, guid TEXT, agent_id INT)");
    statements.emplace_back("INSERT INTO rocpd_track_u VALUES (8, 'g', 3)");
  }
  const std::string owner = track ? "track_id" : "agent_id";
  statements.push_back(fmt::format(
      "CREATE TABLE rocpd_kernel_dispatch_u (id INTEGER PRIMARY KEY, guid TEXT, {} INT, kernel_id "
      "INT, dispatch_id INT, start INT, \"end\" INT, private_segment_size INT, "
      "group_segment_size INT, workgroup_size_x INT, workgroup_size_y INT, workgroup_size_z INT, "
      "grid_size_x INT, grid_size_y INT, grid_size_z INT, event_id INT)",
      owner));
  for (const int dispatch : {1, 2}) {
    statements.push_back(
        fmt::format("INSERT INTO rocpd_kernel_dispatch_u VALUES ({0}, 'g', {1}, 5, {0}, 1000, {2}, "
                    "0, 0, 64, 1, "
                    "1, 65536, 1, 1, {3})",
                    dispatch, track ? 8 : 3, 1000 + dispatch * 500, 10 + dispatch));
  }
  statements.insert(statements.end(), further.begin(), further.end());
  for (const std::string& sql : statements) {
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(opened, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << sql << ": " << (message ? message : "");
  }
  sqlite3_close(opened);
  return path.string();
}

TEST_F(AmdFiles, DatabasesOfBothSchemasSumInstances) {
  for (const bool track : {false, true}) {
    const fs::path path = folder() / (track ? "4.db" : "3.db");
    database(path, track, track ? "4.0.1" : "3.0.0");
    const Reading reading = read(path);
    ASSERT_EQ(reading.kernels.size(), 2u);
    const KernelProfile& first = reading.kernels[0];
    EXPECT_EQ(first.name, "k(float*)");
    EXPECT_EQ(first.symbol, "_Z1kPf");
    EXPECT_EQ(first.device.arch, "gfx90a") << track;
    EXPECT_EQ(value(first, "SQ_WAVES"), 1024) << "instances are summed, samples are not";
    EXPECT_EQ(value(first, "TCC_HIT_sum"), 7);
    EXPECT_EQ(value(reading.kernels[1], "SQ_WAVES"), 3000);
    EXPECT_EQ(reading.kernels[1].metrics.find("TCC_HIT_sum"), nullptr);
    EXPECT_THAT(reading.kernels[1].implausible, Contains(HasSubstr("has 1024 waves")));
    EXPECT_THAT(reading.warnings, Contains(HasSubstr("1 counter values belong to no launch")));
    EXPECT_EQ(first.metrics.find("SQ_WAVES")->where.locator, "rocpd_pmc_event of event 11");
  }
}

TEST_F(AmdFiles, HostileDatabases) {
  const std::string whole = bytes_of(database(folder() / "a.db", false, "3.0.0"));
  EXPECT_THAT(error(database(folder() / "b.db", false, "9.1")),
              AllOf(HasSubstr("b.db"), HasSubstr("schema_version \"9.1\"")));
  EXPECT_THAT(error(write("cut.db", std::string_view(whole).substr(0, whole.size() / 2))),
              HasSubstr("cut.db"));
  EXPECT_THAT(error(write("head.db", std::string_view(whole).substr(0, 100))),
              HasSubstr("head.db"));
  std::string damaged = whole;
  for (std::size_t i = 4096; i + 1 < damaged.size(); i += 97)
    damaged[i] = static_cast<char>(i * 31);
  EXPECT_THAT(error(write("bad.db", damaged)), ::testing::AnyOf(HasSubstr("bad.db"), "accepted"));
  // A table that never ends behind a view, and one whose columns compute: neither is run.
  const std::string endless = database(
      folder() / "c.db", false, "3.0.0",
      {"CREATE VIEW rocpd_info_agent AS WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
       "FROM t) SELECT x AS id FROM t"});
  EXPECT_EQ(read(endless).kernels.size(), 2u);
  // The name of a table is no text to paste into a query.
  const std::string quotes =
      database(folder() / "d.db", false, "3.0.0",
               {"CREATE TABLE \"rocpd_kernel_dispatch_\"\"; DROP TABLE x; --\" (id INTEGER)"});
  EXPECT_THAT(error(quotes), HasSubstr("no column"));
  EXPECT_EQ(bytes_of(folder() / "a.db"), whole) << "reading changes nothing";
}

// ------------------------------------------------------------------ several files of one run

TEST_F(AmdFiles, PassesOfOneRunMeet) {
  write("pass_1/7_agent_info.csv", kAgents);
  write("pass_1/7_counter_collection.csv",
        kCounterHeader + counter_row(1, "k", "SQ_WAVES", "4096.000000") +
            counter_row(1, "k", "GRBM_GUI_ACTIVE", "1600000.000000"));
  write("pass_2/8_counter_collection.csv",
        kCounterHeader + counter_row(1, "k", "SQ_ACTIVE_INST_VALU", "15200000.000000") +
            counter_row(1, "k", "GRBM_GUI_ACTIVE", "1610000.000000"));
  const Reading reading = read(folder());
  ASSERT_EQ(reading.kernels.size(), 1u);
  const KernelProfile& kernel = reading.kernels[0];
  // 200,000 cycles of 304 units.
  EXPECT_NEAR(value(kernel, "pipe.alu_pct"), 25, 1e-9);
  EXPECT_EQ(kernel.metrics.find("SQ_ACTIVE_INST_VALU")->where.pass, "pass_2");
  EXPECT_EQ(value(kernel, "registers.allocated"), 128);
  EXPECT_EQ(kernel.device.name, "AMD Instinct MI300X");
  EXPECT_THAT(kernel.implausible, IsEmpty());
}

TEST_F(AmdFiles, PassesThatDisagreeAreStated) {
  write("pass_1/7_counter_collection.csv",
        kCounterHeader + counter_row(1, "k", "SQ_INSTS", "1000.000000"));
  write("pass_2/8_counter_collection.csv",
        kCounterHeader + counter_row(1, "k", "SQ_INSTS", "2000.000000"));
  EXPECT_THAT(read(folder()).kernels.at(0).implausible, Contains(HasSubstr("differ by more than")));
}

// *_kernel_stats.csv of `rocprofv3 --kernel-trace --stats`: the columns are those of the recorded
// hip_api_stats.csv, as the documentation has them too ("Using rocprofv3"); the rows are made up.
TEST_F(AmdFiles, StatisticsOfKernelsAreTheirTimes) {
  const std::string header =
      "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\","
      "\"StdDev\"\n";
  write("7_kernel_stats.csv",
        header +
            "\"void scale<float>(float*, int)\",4,80000,20000.000000,80.00,19000,21000,816.5\n"
            "\"fill(float*)\",1,20000,20000.000000,20.00,20000,20000,0.00000000e+00\n");
  const Reading reading = read(folder());
  ASSERT_EQ(reading.kernels.size(), 2u);
  const KernelProfile& kernel = named(reading, "scale");
  EXPECT_NEAR(value(kernel, "time.device"), 20e-6, 1e-12);
  EXPECT_NEAR(value(kernel, "time.total"), 80e-6, 1e-12);
  EXPECT_EQ(value(kernel, "launch.dispatches"), 4);
  EXPECT_THAT(kernel.metrics.find("time.device")->where.raw_name, HasSubstr("AverageNs of 4"));
  EXPECT_THAT(kernel.metrics.find("time.device")->where.locator, HasSubstr("row 2"));
  ASSERT_EQ(reading.artefacts.size(), 1u);
  EXPECT_EQ(reading.artefacts[0].kind, "rocprofv3-stats");
  // A mean that is no number, and calls that are none.
  write("7_kernel_stats.csv", header + "\"k\",4,80000,mean,80.00,1,2,0\n");
  EXPECT_THAT(error(folder()), HasSubstr("7_kernel_stats.csv:2"));
  write("7_kernel_stats.csv", header + "\"k\",0,80000,1.0,80.00,1,2,0\n");
  EXPECT_THAT(error(folder()), HasSubstr("calls"));
}

TEST_F(AmdFiles, ProcessesStayApart) {
  for (const char* process : {"7", "8"}) {
    write(std::string(process) + "_counter_collection.csv",
          kCounterHeader + counter_row(1, "k", "SQ_WAVES", "4096"));
  }
  EXPECT_EQ(read(folder()).kernels.size(), 2u);
}

TEST_F(AmdFiles, ManyLaunchesOfAKernelBecomeOne) {
  std::string rows = kCounterHeader;
  for (int i = 1; i <= 100; ++i) {
    rows += counter_row(i, i % 2 == 0 ? "even" : "odd", "SQ_INSTS", std::to_string(1000 + i), 1000,
                        1000 + 10 * i);
  }
  const Reading reading = read(write("7_counter_collection.csv", rows));
  ASSERT_EQ(reading.kernels.size(), 2u);
  const KernelProfile& even = reading.kernels[0];
  EXPECT_EQ(even.name, "even") << "the one that takes longest goes first";
  EXPECT_EQ(value(even, "launch.dispatches"), 50);
  EXPECT_EQ(value(even, "SQ_INSTS"), 1051);
  EXPECT_NEAR(value(even, "time.device"), 510e-9, 1e-15);
  EXPECT_NEAR(value(even, "time.total"), 25500e-9, 1e-15);
}

TEST_F(AmdFiles, SamplesFindTheirKernel) {
  write("7_kernel_trace.csv",
        "\"Kind\",\"Agent_Id\",\"Dispatch_Id\",\"Kernel_Name\",\"Start_Timestamp\","
        "\"End_Timestamp\"\n\"KERNEL_DISPATCH\",2,4,\"k<int>(int)\",10,20\n"
        "\"KERNEL_DISPATCH\",2,5,\"k<int>(int)\",30,44\n");
  write("7_pc_sampling_stochastic.csv",
        "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\","
        "\"Instruction_Comment\",\"Correlation_Id\",\"Wave_Issued_Instruction\","
        "\"Instruction_Type\",\"Stall_Reason\",\"Wave_Count\"\n"
        "1,1,4,\"s_waitcnt lgkmcnt(0)\",\"\",4,0,\"\",\"WAITCNT\",4\n"
        "1,1,5,\"s_barrier\",\"\",4,0,\"\",\"BARRIER_WAIT\",4\n");
  const Reading reading = read(folder());
  ASSERT_EQ(reading.kernels.size(), 1u);
  EXPECT_EQ(reading.kernels[0].name, "k<int>(int)");
  EXPECT_EQ(value(reading.kernels[0], "stall.waitcnt_lds_pct"), 50);
  EXPECT_EQ(value(reading.kernels[0], "stall.barrier_pct"), 50);
  EXPECT_EQ(value(reading.kernels[0], "launch.dispatches"), 2);
}

TEST_F(AmdFiles, SamplesOfAnotherTimeAreOfAnotherRun) {
  const auto sample = [](long long time) {
    return fmt::format(
        "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\","
        "\"Instruction_Comment\",\"Correlation_Id\"\n{},1,1,\"s_nop 0\",\"\",1\n",
        time);
  };
  write("7_kernel_trace.csv",
        "\"Kind\",\"Dispatch_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n"
        "\"KERNEL_DISPATCH\",1,\"k\",5000000000000,5000000001000\n");
  const fs::path samples = write("7_pc_sampling_host_trap.csv", sample(5000000000500));
  ASSERT_EQ(read(samples).kernels.size(), 1u);
  EXPECT_EQ(read(samples).kernels[0].name, "k");
  write("7_pc_sampling_host_trap.csv", sample(1000000000500));
  const Reading reading = read(samples);
  ASSERT_EQ(reading.kernels.size(), 1u);
  EXPECT_THAT(reading.kernels[0].name, HasSubstr("do not name"));
  EXPECT_THAT(reading.warnings, Contains(HasSubstr("at another time")));
}

TEST_F(AmdFiles, JsonSumsInstancesAndBearsInvalidUtf8) {
  const fs::path path = write(
      "out.json",
      "{\"rocprofiler-sdk-tool\":[{\"metadata\":{\"pid\":1,\"command\":[\"./a\",\"-n\"]},"
      "\"agents\":[{\"id\":{\"handle\":77},\"type\":2,\"name\":\"gfx942\",\"product_name\":\"AMD "
      "Instinct "
      "MI300X\",\"cu_count\":304,\"num_xcc\":8,\"max_waves_per_simd\":8,\"simd_per_cu\":4}],"
      "\"callback_records\":{\"counter_collection\":[{\"dispatch_data\":{\"start_timestamp\":100,"
      "\"end_timestamp\":350,\"dispatch_info\":{\"agent_id\":{\"handle\":77},\"kernel_id\":6,"
      "\"dispatch_id\":2,\"workgroup_size\":{\"x\":64,\"y\":2,\"z\":1},\"grid_size\":{\"x\":128,"
      "\"y\":8,\"z\":1}}},\"records\":[{\"counter_id\":{\"handle\":9},\"value\":5.0},"
      "{\"counter_id\":{\"handle\":9},\"value\":11.0},{\"counter_id\":{\"handle\":10},\"value\":1}]"
      "}]},\"counters\":[{\"id\":{\"handle\":9},\"name\":\"SQ_WAVES\"}],"
      "\"kernel_symbols\":[{\"kernel_id\":6,\"kernel_name\":\"_Z1kv\",\"formatted_kernel_name\":"
      "\"k\xFF()\",\"arch_vgpr_count\":8,\"accum_vgpr_count\":4}]}]}");
  const Reading reading = read(path);
  ASSERT_EQ(reading.kernels.size(), 1u);
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_EQ(kernel.name, "k\xEF\xBF\xBD()");
  EXPECT_EQ(kernel.symbol, "_Z1kv");
  EXPECT_EQ(value(kernel, "SQ_WAVES"), 16) << "names behind the records are found";
  EXPECT_EQ(value(kernel, "counter 10"), 1);
  EXPECT_EQ(kernel.launch.grid, (std::array<std::int64_t, 3>{2, 4, 1}));
  EXPECT_EQ(value(kernel, "registers.allocated"), 12);
  EXPECT_EQ(reading.session.at("command"), "./a -n");
}

// ------------------------------------------------------------------ what cannot be right

TEST_F(AmdFiles, CountersThatAreZeroWereNotCounted) {
  const Reading reading =
      read(write("7_counter_collection.csv",
                 kCounterHeader + counter_row(1, "k", "SQ_WAVES", "0.00000000e+00") +
                     counter_row(1, "k", "SQ_INSTS_LDS", "0.00000000e+00")));
  const KernelProfile& kernel = reading.kernels.at(0);
  EXPECT_THAT(kernel.implausible, Contains(HasSubstr("SQ_WAVES is 0 for a kernel that ran")));
  EXPECT_EQ(kernel.metrics.find("shared.instructions"), nullptr);
}

TEST_F(AmdFiles, SharesOver100AreNoShares) {
  write("7_agent_info.csv", kAgents);
  write("7_counter_collection.csv",
        kCounterHeader + counter_row(1, "k", "GRBM_GUI_ACTIVE", "1600000") +
            counter_row(1, "k", "SQ_LDS_IDX_ACTIVE", "640000000") +
            counter_row(1, "k", "TCC_HIT_sum", "900") + counter_row(1, "k", "TCC_MISS_sum", "300") +
            counter_row(1, "k", "TCC_REQ_sum", "1000"));
  const KernelProfile kernel = read(folder()).kernels.at(0);
  EXPECT_EQ(kernel.metrics.find("shared.pipe_pct"), nullptr);
  EXPECT_EQ(kernel.metrics.find("l2.hit_pct"), nullptr);
  EXPECT_THAT(kernel.implausible, Contains(HasSubstr("shared.pipe_pct: 1052.6 %")));
  EXPECT_THAT(kernel.implausible, Contains(HasSubstr("more than the 1000 requests")));
}

TEST_F(AmdFiles, RegistersOfGfx950AreNotBelieved) {
  std::string agents = kAgents;
  agents = replace_all(replace_all(agents, "90402", "90500"), "gfx942", "gfx950");
  write("7_agent_info.csv", agents);
  std::string row = counter_row(1, "k", "SQ_WAVES", "4096");
  row = replace_all(row, ",64,64,32,", ",64,0,32,");
  write("7_counter_collection.csv", kCounterHeader + row);
  const KernelProfile kernel = read(folder()).kernels.at(0);
  EXPECT_EQ(kernel.device.arch, "gfx950");
  EXPECT_EQ(kernel.metrics.find("registers.allocated"), nullptr);
  EXPECT_THAT(kernel.not_measured.at("registers.allocated"), HasSubstr("half of gfx950's"));
}

// ------------------------------------------------------------------ formulas by architecture

TEST_F(AmdFiles, BytesOfDeviceMemoryByArchitecture) {
  const auto bytes_read = [&](const std::string& arch, const std::string& version,
                              std::vector<std::pair<const char*, int>> counters) {
    const std::string name = arch + "/";
    write(name + "7_agent_info.csv",
          replace_all(replace_all(kAgents, "90402", version), "gfx942", arch));
    std::string rows = kCounterHeader;
    for (const auto& [counter, number] : counters) {
      rows += counter_row(1, "k", counter, std::to_string(number));
    }
    write(name + "7_counter_collection.csv", rows);
    return value(read(folder() / arch).kernels.at(0), "dram.bytes_read");
  };
  EXPECT_EQ(
      bytes_read("gfx90a", "90010", {{"TCC_EA_RDREQ_sum", 100}, {"TCC_EA_RDREQ_32B_sum", 40}}),
      60 * 64 + 40 * 32);
  EXPECT_EQ(
      bytes_read(
          "gfx942", "90402",
          {{"TCC_BUBBLE_sum", 10}, {"TCC_EA0_RDREQ_sum", 100}, {"TCC_EA0_RDREQ_32B_sum", 40}}),
      10 * 128 + 50 * 64 + 40 * 32);
  EXPECT_EQ(bytes_read("gfx950", "90500",
                       {{"TCC_EA0_RDREQ_32B_sum", 1},
                        {"TCC_EA0_RDREQ_64B_sum", 2},
                        {"TCC_EA0_RDREQ_128B_sum", 3}}),
            32 + 128 + 384);
  EXPECT_EQ(bytes_read("gfx1100", "110000", {{"FETCH_SIZE", 4}}), 4096);
}

TEST(Amd, ArchitecturesByVersion) {
  EXPECT_EQ(amd::arch_of_version(90402), "gfx942");
  EXPECT_EQ(amd::arch_of_version(90010), "gfx90a");
  EXPECT_EQ(amd::arch_of_version(110001), "gfx1101");
  EXPECT_EQ(amd::arch_of_version(0), "");
  EXPECT_EQ(amd::arch_of_name("gfx942:sramecc+:xnack-"), "gfx942");
  EXPECT_EQ(amd::arch_of_name("AMD EPYC"), "");
}

TEST(Amd, ClassesAndStallsOfInstructions) {
  for (const auto& [instruction, kind] : std::map<std::string, std::string>{
           {"v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", "matrix"},
           {"v_accvgpr_read_b32 v1, a2", "accum_move"},
           {"ds_bpermute_b32 v1, v2, v3", "cross_lane"},
           {"v_mov_b32_dpp v1, v2 row_shr:1", "cross_lane"},
           {"global_load_dwordx4 v[0:3], v4, s[0:1]", "vmem_load"},
           {"buffer_load_dword v1, s[0:3], 0 offen lds", "vmem_load"},
           {"global_load_lds_dwordx4 v1, s[0:1]", "async_copy"},
           {"global_atomic_add v1, v2, s[0:1]", "atomic"},
           {"ds_write_b128 v1, v[2:5]", "lds_store"},
           {"s_load_dwordx2 s[0:1], s[2:3], 0x0", "smem"},
           {"s_cbranch_scc0 65520", "branch"},
           {"v_pk_fma_f32 v[0:1], v[0:1], v[0:1], v[0:1]", "packed_fma"}}) {
    EXPECT_EQ(amd::class_of(instruction), kind) << instruction;
  }
  EXPECT_EQ(amd::stall_of("s_waitcnt vmcnt(3) lgkmcnt(0)"), "waitcnt_vector");
  EXPECT_EQ(amd::stall_of("s_waitcnt lgkmcnt(0)"), "waitcnt_lds");
  EXPECT_EQ(amd::stall_of("s_wait_dscnt 0x0"), "waitcnt_lds");
  EXPECT_EQ(amd::stall_of("global_store_dwordx4 v[8:9], v[4:7], off"), "memory_queue");
}

// ------------------------------------------------------------------ thread traces

constexpr const char* kTrace = "att/ui_output_agent_5600_dispatch_1";

TEST(AmdFixtures, ThreadTrace) {
  BURNISH_NEEDS_FIXTURE(kTrace);
  for (const char* name : {kTrace, "att", "att/stats_ui_output_agent_5600_dispatch_1.csv",
                           "att/ui_output_agent_5600_dispatch_1/code.json"}) {
    const Reading reading = read(fixture(name));
    ASSERT_EQ(reading.kernels.size(), 1u) << name;
    const KernelProfile& kernel = reading.kernels[0];
    EXPECT_EQ(kernel.name, "__amd_rocclr_fillBufferAligned");
    EXPECT_EQ(value(kernel, "trace.instructions"), 10008);
    EXPECT_EQ(value(kernel, "trace.cycles"), 133640 + 26432);
    EXPECT_EQ(value(kernel, "trace.waves"), 4);
    EXPECT_NEAR(value(kernel, "trace.stall_pct"), 100.0 * 86648 / 160072, 1e-9);
    EXPECT_NEAR(value(kernel, "trace.idle_pct"), 100.0 * 26432 / 160072, 1e-9);
    EXPECT_THAT(kernel.implausible, IsEmpty()) << "the waves took 160068 cycles";
    EXPECT_NEAR(value(kernel, "hotspot.stall_pct"), 100.0 * 76052 / 86648, 1e-9);
    EXPECT_EQ(text(kernel, "hotspot.stall"), "0x49e0: global_store_dwordx4 v[8:9], v[4:7], off");
    EXPECT_EQ(text(kernel, "hotspot.stall_reason"), "memory_queue");
    EXPECT_NEAR(value(kernel, "stall.memory_queue_pct"), 100.0 * 76052 / 160072, 1e-9);
    // The wait counts as what it waits for.
    EXPECT_NEAR(value(kernel, "stall.waitcnt_lds_pct"), 100.0 * 10596 / 160072, 1e-9);
    EXPECT_EQ(text(kernel, "hotspot.stall_waitcnt_lds"),
              "0x49d0: s_waitcnt lgkmcnt(0), which waits for 0x49b4: s_load_dwordx4 s[24:27], "
              "s[22:23], 0x0");
    // The inner loop takes one turn in each of the outer one's.
    EXPECT_EQ(text(kernel, "hotspot.loop"), "0x4984 to 0x49ec, 23 instructions");
    EXPECT_EQ(value(kernel, "trace.loop.turns"), 107);
    EXPECT_GT(value(kernel, "trace.loop.time_pct"), 90);
    EXPECT_NEAR(value(kernel, "trace.loop.vmem_store.stall_pct"), 100.0 * 76052 / 77764, 1e-9);
    EXPECT_GT(value(kernel, "trace.waves_per_simd"), 0.9);
    EXPECT_LT(value(kernel, "trace.waves_per_simd"), 1.1);
  }
}

TEST_F(AmdFiles, StatisticsAloneGiveTheSameStalls) {
  BURNISH_NEEDS_FIXTURE("att/stats_ui_output_agent_5600_dispatch_1.csv");
  const fs::path path =
      write("stats_x.csv", bytes_of(fixture("att/stats_ui_output_agent_5600_dispatch_1.csv")));
  const KernelProfile kernel = read(path).kernels.at(0);
  EXPECT_EQ(value(kernel, "trace.cycles"), 160072);
  EXPECT_EQ(kernel.metrics.find("trace.waves"), nullptr);
  // No wave says what the wait waits for: it is counted back.
  EXPECT_THAT(text(kernel, "hotspot.stall_waitcnt_lds"), HasSubstr("waits for 0x49b4: s_load"));
  EXPECT_EQ(text(kernel, "hotspot.loop"), "0x4984 to 0x49ec, 23 instructions");
}

TEST_F(AmdFiles, MissingFilesOfATraceAreTolerated) {
  BURNISH_NEEDS_FIXTURE(kTrace);
  const auto copy = [&](const char* name) {
    write(std::string("ui_output_1/") + name, bytes_of(fixture(std::string(kTrace) + "/" + name)));
  };
  copy("code.json");
  EXPECT_EQ(value(read(folder()).kernels.at(0), "trace.cycles"), 160072);
  copy("filenames.json");
  copy("se0_sm2_sl0_wv0.json");
  const Reading reading = read(folder());
  EXPECT_THAT(reading.warnings, Contains(HasSubstr("3 of 4 waves are missing")));
  EXPECT_EQ(value(reading.kernels.at(0), "trace.waves"), 1);
  EXPECT_THAT(reading.kernels.at(0).implausible, Contains(HasSubstr("is missing")));
}

TEST_F(AmdFiles, AWaitIsPutDownToTheLoadItWaitsFor) {
  const fs::path path = write("code.json", R"json({"code":[["; k",0,0,"",1,256,0,0,0,0],
    ["global_load_dword v1, v0, s[0:1]",0,1,"k.hip:3",1,256,8,32,0,0],
    ["ds_read_b32 v2, v0",0,2,"",1,264,8,32,0,0],
    ["global_load_dword v3, v0, s[2:3]",0,3,"k.hip:4",1,272,8,32,0,0],
    ["s_waitcnt vmcnt(1)",0,4,"k.hip:5",1,280,8,832,800,0],
    ["v_add_f32 v1, v1, v1",0,5,"",1,284,8,32,0,0],
    ["s_barrier",0,6,"",1,288,8,132,100,0],
    ["s_endpgm",0,7,"",1,292,8,32,0,0]],
    "header":"ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle, Extra"})json");
  const KernelProfile kernel = read(path).kernels.at(0);
  EXPECT_EQ(text(kernel, "hotspot.stall_waitcnt_vector"),
            "k.hip:5: s_waitcnt vmcnt(1), which waits for k.hip:3: global_load_dword v1, v0, "
            "s[0:1]");
  EXPECT_NEAR(value(kernel, "stall.waitcnt_vector_pct"), 100.0 * 800 / 1124, 1e-9);
  EXPECT_NEAR(value(kernel, "stall.barrier_pct"), 100.0 * 100 / 1124, 1e-9);
  ASSERT_FALSE(kernel.lines.empty());
  EXPECT_EQ(kernel.lines[0].file, "k.hip");
  EXPECT_EQ(kernel.lines[0].line, 3);
  // Columns go by the header.
  const fs::path moved = write("moved/code.json",
                               R"json({"header":"Vaddr, ISA, Latency, Hit","code":[[256,"; k",0,0],
                               [256,"s_endpgm",40,10]]})json");
  EXPECT_EQ(value(read(moved).kernels.at(0), "trace.cycles"), 40);
}

TEST_F(AmdFiles, CodeMadeToTakeForeverIsRead) {
  // Every instruction is a wait that nothing answers, or a jump into a loop inside another.
  std::string code = "{\"code\":[[\"; k\",0,0,\"\",1,0,0,0,0,0]";
  for (int i = 0; i < 60'000; ++i) {
    code += fmt::format(
        ",[\"{}\",0,{},\"\",1,{},{},9,9,9]",
        i % 2 == 0 ? "s_waitcnt vmcnt(63)" : fmt::format("s_cbranch_scc0 {}", 65536 - i % 32000), i,
        4 * i, 1 + i);
  }
  const Reading reading = read(write("code.json", code + "]}"));
  EXPECT_EQ(value(reading.kernels.at(0), "trace.cycles"), 60'000 * 18);
  // A counter of its own in every row, too.
  std::string rows = kCounterHeader;
  for (int i = 0; i < 30'000; ++i) rows += counter_row(1, "k", fmt::format("C{}", i), "1");
  EXPECT_THAT(error(write("many_counter_collection.csv", rows)), HasSubstr("too many"));
}

TEST_F(AmdFiles, BrokenTraces) {
  EXPECT_THAT(error(write("out.att", std::string("\0\1\2", 3))),
              AllOf(HasSubstr("has not been decoded"), HasSubstr("rocprof-trace-decoder")));
  EXPECT_THAT(error(folder()), HasSubstr("has not been decoded"));
  EXPECT_THAT(error(write("a/code.json", "{\"code\":null,\"header\":\"ISA, Vaddr\"}")),
              HasSubstr("holds no code"));
  EXPECT_THAT(error(write("b/code.json", "{\"code\":[[\"s_nop 0\",0,1")),
              HasSubstr("code.json:1:"));
  EXPECT_THAT(error(write("c/code.json", "{\"code\":[],\"header\":\"Vaddr, Nothing\"}")),
              HasSubstr("lacks a column"));
  EXPECT_THAT(error(write("wave.json", "{\"duration\":4,\"num_stitched\":1,\"wave\":{}}")),
              HasSubstr("give the folder"));
  const Reading unhit = read(
      write("d/code.json",
            "{\"code\":[[\"; k\",0,0,\"\",1,0,0,0,0,0],[\"s_endpgm\",0,1,\"\",1,0,0,0,0,0]]}"));
  EXPECT_THAT(unhit.warnings, Contains(HasSubstr("no wave ran")));
}

// ------------------------------------------------------------------ broken files

TEST_F(AmdFiles, BrokenCsvIsLocated) {
  const std::string header = kCounterHeader, row = counter_row(1, "k", "SQ_WAVES", "16");
  EXPECT_THAT(error(write("cut_counter_collection.csv", header + row + row.substr(0, 20))),
              AllOf(HasSubstr("cut_counter_collection.csv:3"), HasSubstr("cut off")));
  EXPECT_THAT(
      error(write("bad_counter_collection.csv", header + counter_row(1, "k", "SQ_WAVES", "many"))),
      AllOf(HasSubstr("bad_counter_collection.csv:2:"), HasSubstr("\"many\" is no number")));
  EXPECT_THAT(error(write("quote_counter_collection.csv", header + "1,1,\"Agent")),
              HasSubstr("quote_counter_collection.csv:2"));
  EXPECT_THAT(error(write("empty.csv", "")), HasSubstr("empty"));
  EXPECT_THAT(error(write("x.db.lz4", "\x04\x22\x4D\x18 compressed")), HasSubstr("lz4 -d"));
  const Reading none = read(write("none_counter_collection.csv", header));
  EXPECT_THAT(none.warnings, Contains(HasSubstr("no counter was collected")));
  EXPECT_THAT(error(write("wide_pmc_perf.csv", "Dispatch_ID,Kernel_Name,SQ_WAVES\n0,k,xyz\n")),
              HasSubstr("wide_pmc_perf.csv:2:5"));
  // Sizes and times that only a hostile file claims.
  const Reading huge = read(
      write("huge_kernel_trace.csv",
            "\"Kind\",\"Dispatch_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\","
            "\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\","
            "\"Grid_Size_Y\",\"Grid_Size_Z\"\n\"KERNEL_DISPATCH\",1,\"k\",-9223372036854775807,"
            "9223372036854775807,2,1,1,9223372036854775807,9223372036854775807,1\n"));
  EXPECT_EQ(huge.kernels.at(0).launch.grid->at(0), std::int64_t{1} << 62);
  // Blank and nan are not measured.
  const Reading blank =
      read(write("blank_pmc_perf.csv", "Dispatch_ID,Kernel_Name,SQ_WAVES,SQ_INSTS\n0,k,,nan\n"));
  EXPECT_EQ(blank.kernels.at(0).metrics.find("SQ_WAVES"), nullptr);
  EXPECT_EQ(blank.kernels.at(0).metrics.find("SQ_INSTS"), nullptr);
}

TEST_F(AmdFiles, QuotesInKernelNamesAreNotEscaped) {
  const Reading reading =
      read(write("q_counter_collection.csv",
                 kCounterHeader + counter_row(1, "f<\"a\" , 'b'>(int)", "SQ_INSTS", "3")));
  EXPECT_EQ(reading.kernels.at(0).name, "f<\"a\" , 'b'>(int)");
}

TEST(AmdFixtures, EveryPrefixOfEveryFixtureIsReadOrRefused) {
  for (const char* folder : {"rocprofv3", "att", "rocpd"}) {
    BURNISH_NEEDS_FIXTURE(folder);
    for (const auto& entry : fs::recursive_directory_iterator(fixture(folder))) {
      if (!entry.is_regular_file()) continue;
      const std::string bytes = bytes_of(entry.path());
      for (int part = 0; part < 20; ++part) {
        const std::size_t size = bytes.size() * static_cast<std::size_t>(part) / 20;
        const auto reading =
            read_bytes(std::string_view(bytes).substr(0, size), entry.path().filename());
        if (!reading) {
          EXPECT_THAT(reading.error().to_string(), HasSubstr(entry.path().filename().string()));
        }
      }
    }
  }
}

}  // namespace
}  // namespace burnish::profile
