// data/rules/amd.toml over code that shows what each rule is about, and over numbers of profiles.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "evidence/evidence.h"
#include "isa/isa.h"

namespace burnish::evidence {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

const Rules& rules() {
  static const Result<Rules> loaded = Rules::load();
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().to_string());
  return *loaded;
}

/// Metrics of one kernel of assembly.
MetricSet metrics_of(std::string_view code, const std::string& arch,
                     std::string_view spills = "0") {
  auto folder = TemporaryFolder::make();
  EXPECT_TRUE(folder);
  const fs::path path = folder->path() / "k.s";
  const std::string text = fmt::format(
      "\t.amdgcn_target \"amdgcn-amd-amdhsa--{0}\"\nk:\n{1}\n\tglobal_store_dword v0, v1, s[2:3]\n"
      "\ts_endpgm\n\t.amdhsa_kernel k\n\t.amdhsa_group_segment_fixed_size 0\n"
      "\t.amdhsa_private_segment_fixed_size 0\n\t.end_amdhsa_kernel\n\t.amdgpu_metadata\n"
      "amdhsa.kernels:\n  - .name: k\n    .sgpr_spill_count: 0\n    .vgpr_spill_count: {2}\n"
      "    .private_segment_fixed_size: 0\n    .max_flat_workgroup_size: 256\n"
      "amdhsa.target: amdgcn-amd-amdhsa--{0}\n\t.end_amdgpu_metadata\n",
      arch, code, spills);
  EXPECT_TRUE(real_file_system().write(path, text));
  auto reading = isa::read_code(path, real_process_runner());
  EXPECT_TRUE(reading) << (reading ? "" : reading.error().to_string());
  return reading ? isa::metrics(reading->kernels.at(0)) : MetricSet();
}

std::map<std::string, double> fired(const MetricSet& metrics, const std::string& arch) {
  const Verdicts verdicts = rules().evaluate({metrics, "amd", arch});
  std::map<std::string, double> found;
  for (const Finding& finding : verdicts.findings) {
    EXPECT_GE(finding.headroom, 1) << finding.id;
    EXPECT_FALSE(finding.action.empty()) << finding.id;
    EXPECT_THAT(finding.because, Not(testing::HasSubstr("unknown"))) << finding.id;
    found[finding.id] = finding.headroom;
  }
  return found;
}

std::map<std::string, double> code(std::string_view text, const std::string& arch = "gfx942",
                                   std::string_view spills = "0") {
  return fired(metrics_of(text, arch, spills), arch);
}

std::set<std::string> names(const std::map<std::string, double>& found) {
  std::set<std::string> result;
  for (const auto& [name, bound] : found) result.insert(name);
  return result;
}

std::string repeat(std::string_view line, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += line;
  return result;
}

// Wide loads a turn ahead, a count above 0, packed arithmetic: nothing to say.
TEST(AmdRules, APipelinedKernelHasNoFindings) {
  EXPECT_THAT(code(R"(
	global_load_dwordx4 v[4:7], v0, s[2:3]
.LBB0_1:
	global_load_dwordx4 v[8:11], v0, s[2:3] offset:16
	s_waitcnt vmcnt(1)
	v_pk_fma_f32 v[12:13], v[4:5], v[4:5], v[12:13]
	v_pk_fma_f32 v[14:15], v[6:7], v[6:7], v[14:15]
	s_cbranch_scc0 .LBB0_1)"),
              IsEmpty());
}

TEST(AmdRules, NarrowExposedLoads) {
  const auto found = code(R"(
.LBB0_1:
	global_load_dword v4, v0, s[2:3]
	global_load_dword v5, v0, s[2:3] offset:4
	global_load_dword v6, v0, s[2:3] offset:8
	s_waitcnt vmcnt(0)
	v_add_f32 v1, v1, v4
	s_cbranch_scc0 .LBB0_1)");
  EXPECT_EQ(names(found), (std::set<std::string>{"amd-exposed-loads", "amd-mergeable-loads",
                                                 "amd-narrow-global-loads"}));
  EXPECT_DOUBLE_EQ(found.at("amd-narrow-global-loads"), 4);
  EXPECT_DOUBLE_EQ(found.at("amd-exposed-loads"), 1 + 1000.0 / 6);
}

TEST(AmdRules, LanesOneByOne) {
  const std::string chain = repeat("\tv_readlane_b32 s0, v1, 3\n\ts_max_i32 s1, s1, s0\n", 8);
  const auto found = code(chain);
  EXPECT_EQ(names(found), (std::set<std::string>{"amd-serial-readlanes"}));
  // 4.67 to 3.33 µs when such chains were replaced on an MI300X.
  EXPECT_GE(found.at("amd-serial-readlanes"), 4.67 / 3.33);
  EXPECT_THAT(names(code(chain, "gfx1100")), Contains("amd-serial-readlanes-rdna"));
  EXPECT_THAT(names(code(chain, "gfx1100")), Not(Contains("amd-serial-readlanes")));
  // The instructions of the argmax over 64 lanes: 12 of 63.
  const auto shuffles =
      code(repeat("\tds_bpermute_b32 v2, v2, v1\n", 12) + repeat("\tv_max_f32 v1, v1, v2\n", 49));
  EXPECT_EQ(names(shuffles), (std::set<std::string>{"amd-bpermute-shuffles"}));
  EXPECT_GE(shuffles.at("amd-bpermute-shuffles"), 7.23 / 4.67);
}

TEST(AmdRules, SpillsAndLocalArrays) {
  const auto spilled = code(
      "\tscratch_store_dword off, v1, off offset:8 ; 4-byte Folded Spill\n"
      "\tscratch_load_dword v1, off, off offset:8 ; 4-byte Folded Reload\n",
      "gfx942", "1");
  EXPECT_EQ(names(spilled), (std::set<std::string>{"amd-register-spill"}));
  const auto array = code("\tscratch_load_dword v1, v2, off\n");
  EXPECT_EQ(names(array), (std::set<std::string>{"amd-local-array"}));
}

TEST(AmdRules, AccumulatorTraffic) {
  const std::string loop = ".LBB0_1:\n" + repeat("\tv_accvgpr_read_b32 v4, a3\n", 4) +
                           "\tv_mfma_f32_32x32x8_f16 a[0:15], v[10:11], v[8:9], a[0:15]\n"
                           "\ts_cbranch_scc0 .LBB0_1\n";
  EXPECT_EQ(names(code(loop)), (std::set<std::string>{"amd-agpr-traffic"}));
}

TEST(AmdRules, MatrixCoresFedByNarrowLoads) {
  const auto found = code(R"(
	ds_read_u16 v4, v0
	ds_read_u16 v5, v0 offset:2
	v_perm_b32 v10, v4, v5, s2
	v_mfma_f32_32x32x8_f16 v[12:27], v[10:11], v[10:11], v[12:27])");
  EXPECT_THAT(names(found), Contains("amd-scalar-loads-for-matrix-cores"));
}

// What was loaded before the loop was loaded once.
TEST(AmdRules, NarrowLoadsBeforeTheLoopAreNoMatter) {
  const auto found = code(R"(
	ds_read_u16 v4, v0
	ds_read_u16 v5, v0 offset:2
	v_perm_b32 v10, v4, v5, s2
.LBB0_1:
	ds_read_b64 v[6:7], v0
	v_mfma_f32_32x32x8_f16 v[12:27], v[10:11], v[6:7], v[12:27]
	s_cbranch_scc0 .LBB0_1)");
  EXPECT_THAT(names(found), Not(Contains("amd-scalar-loads-for-matrix-cores")));
}

TEST(AmdRules, ExchangeThroughLds) {
  const std::string step =
      "\tds_write_b32 v0, v4\n\ts_waitcnt lgkmcnt(0)\n\tds_read_b32 v5, v0 offset:64\n"
      "\ts_waitcnt lgkmcnt(0)\n\tv_max_f32 v4, v4, v5\n";
  const std::string end = "\ts_cbranch_scc0 .LBB0_1";
  const auto found = code(".LBB0_1:\n" + repeat(step, 6) + end);
  EXPECT_DOUBLE_EQ(found.at("amd-exchange-through-lds"), 1 + 128 * 12.0 / 19);
  // A tile that comes from memory is no exchange.
  EXPECT_THAT(names(code(".LBB0_1:\n\tglobal_load_dword v4, v0, s[2:3]\n" + repeat(step, 6) + end)),
              Not(Contains("amd-exchange-through-lds")));
}

TEST(AmdRules, MovesBetweenLanesThatCouldBePartOfAnOperation) {
  const auto step = [](const char* pattern) {
    return fmt::format(
        "\tv_mov_b32_dpp v6, v4 {0} row_mask:0xf bank_mask:0xf\n"
        "\tv_mov_b32_dpp v7, v5 {0} row_mask:0xf bank_mask:0xf\n"
        "\tv_cmp_gt_f32 vcc, v6, v4\n\tv_cndmask_b32 v4, v4, v6, vcc\n"
        "\tv_cndmask_b32 v5, v5, v7, vcc\n",
        pattern);
  };
  const std::string chain = step("quad_perm:[1,0,3,2]") + step("quad_perm:[2,3,0,1]") +
                            step("row_shr:4") + step("row_shr:8") + step("row_bcast:15") +
                            step("row_bcast:31");
  const auto moves = code(chain);
  // 30 instructions of the chain, a store and the end.
  EXPECT_DOUBLE_EQ(moves.at("amd-selects-between-lanes"), 1 + 16 * 12.0 / 20);
  EXPECT_THAT(
      names(code(repeat("\tv_max_u32_dpp v4, v4, v4 row_shr:4 row_mask:0xf bank_mask:0xf\n", 6))),
      Not(Contains("amd-selects-between-lanes")));
}

TEST(AmdRules, OneElementALane) {
  const std::string chain =
      repeat("\tv_max_u32_dpp v4, v4, v4 row_shr:4 row_mask:0xf bank_mask:0xf\n", 4) +
      repeat("\tv_max_u32_dpp v4, v4, v4 row_bcast:15 row_mask:0xf bank_mask:0xf\n", 2);
  const std::string end = "\ts_cbranch_scc0 .LBB0_1";
  const auto found = code("\tglobal_load_ushort v4, v0, s[2:3]\n.LBB0_1:\n" + chain + end);
  EXPECT_DOUBLE_EQ(found.at("amd-one-element-a-lane"), 8);
  EXPECT_THAT(names(code("\tglobal_load_dwordx4 v[4:7], v0, s[2:3]\n.LBB0_1:\n" + chain + end)),
              Not(Contains("amd-one-element-a-lane")));
}

TEST(AmdRules, UniformValues) {
  std::string weights = "\tv_mov_b32 v1, 0\n";
  for (int i = 2; i < 27; ++i) {
    weights += fmt::format("\tglobal_load_dword v{}, v1, s[2:3] offset:{}\n", i, 4 * i);
  }
  const auto found = code(weights);
  EXPECT_THAT(names(found), Contains("amd-uniform-values-in-vector-registers"));
  // Before a loop they may be on their way to scalar registers; what it reads is what it holds.
  const auto loop = [](std::string_view body) {
    return ".LBB0_1:\n" + std::string(body) + "\ts_cbranch_scc0 .LBB0_1";
  };
  std::string sums;
  for (int i = 2; i < 27; ++i) sums += fmt::format("\tv_fmac_f32 v30, v{}, v0\n", i);
  EXPECT_THAT(names(code(weights + loop(sums))),
              Contains("amd-uniform-values-in-vector-registers"));
  EXPECT_THAT(names(code(weights + loop("\tv_fmac_f32 v30, s4, v0\n"))),
              Not(Contains("amd-uniform-values-in-vector-registers")));
}

// Of a depthwise convolution 59 NOPs of 365 instructions went to 13: 12.6 % fewer slots.
TEST(AmdRules, HazardNops) {
  const auto found = code(".LBB0_1:\n" + repeat("\tv_fmac_f32 v1, v2, v3\n", 304) +
                          repeat("\ts_nop 0\n", 59) + "\ts_cbranch_scc0 .LBB0_1\n");
  EXPECT_THAT(names(found), Contains("amd-hazard-nops"));
  EXPECT_GE(found.at("amd-hazard-nops"), 365.0 / 319);
  EXPECT_LE(found.at("amd-hazard-nops"), 1.25);
  EXPECT_THAT(names(found), Contains("amd-unpacked-fp32"));
  EXPECT_LE(found.at("amd-unpacked-fp32"), 2);
  const auto rdna =
      code(".LBB0_1:\n" + repeat("\tv_fmac_f32 v1, v2, v3\n", 20) + "\ts_cbranch_scc0 .LBB0_1\n",
           "gfx1100");
  EXPECT_EQ(names(rdna), (std::set<std::string>{"amd-no-dual-issue"}));
}

MetricSet set(std::initializer_list<std::pair<const char*, double>> values) {
  MetricSet metrics;
  for (const auto& [name, value] : values) {
    Metric metric;
    metric.name = name;
    metric.value = value;
    metric.unit = "1";
    metrics.add(std::move(metric));
  }
  return metrics;
}

// MI100 and a die of MI200 have one L2, and no XCDs to order workgroups for.
TEST(AmdRules, OneL2AsksForNoOrderByXcd) {
  for (const char* arch : {"gfx90a", "gfx908", "gfx942"}) {
    const Verdicts verdicts = rules().evaluate({set({{"l2.hit_pct", 33},
                                                     {"dram.throughput_pct", 60},
                                                     {"sm.throughput_pct", 20},
                                                     {"l2.throughput_pct", 40}}),
                                                "amd", arch});
    ASSERT_EQ(verdicts.findings.size(), 1u) << arch;
    EXPECT_DOUBLE_EQ(verdicts.findings[0].headroom, 2.5);
    EXPECT_EQ(contains(verdicts.findings[0].action, "XCD"), std::string(arch) == "gfx942") << arch;
  }
}

MetricSet limited(const char* by, std::initializer_list<std::pair<const char*, double>> values) {
  MetricSet metrics = set(values);
  Metric limiter;
  limiter.name = "occupancy.limiter";
  limiter.unit = "text";
  limiter.text = by;
  metrics.add(std::move(limiter));
  return metrics;
}

TEST(AmdRules, Occupancy) {
  // rocprof-compute's example on an MI250: 122 registers, 49.9 %.
  const auto registers = fired(
      limited("registers", {{"occupancy.theoretical_pct", 49.9}, {"registers.allocated", 122}}),
      "gfx90a");
  EXPECT_NEAR(registers.at("amd-limited-by-registers"), 2, 0.01);
  const auto shared = fired(
      limited("shared", {{"occupancy.theoretical_pct", 12.5}, {"shared.bytes", 65536}}), "gfx90a");
  EXPECT_DOUBLE_EQ(shared.at("amd-limited-by-lds"), 8);
  // Nobody waited for registers, or a unit is busy: no finding.
  EXPECT_THAT(names(fired(limited("registers", {{"occupancy.theoretical_pct", 40},
                                                {"registers.allocated", 122},
                                                {"dispatch.registers_full_pct", 0}}),
                          "gfx942")),
              Not(Contains("amd-limited-by-registers")));
  EXPECT_THAT(names(fired(limited("registers", {{"occupancy.theoretical_pct", 25},
                                                {"registers.allocated", 200},
                                                {"sm.throughput_pct", 97}}),
                          "gfx950")),
              Not(Contains("amd-limited-by-registers")));
}

TEST(AmdRules, OfAProfile) {
  struct Row {
    const char* id;
    MetricSet metrics;
    double bound;
  };
  const std::vector<Row> rows{
      {"amd-lds-bank-conflicts",
       set({{"shared.wavefronts", 1000},
            {"shared.conflicts", 500},
            {"shared.pipe_pct", 80},
            {"dram.throughput_pct", 10},
            {"l2.throughput_pct", 20}}),
       2.5},
      {"amd-uncoalesced",
       set({{"global.coalesced_pct", 25},
            {"global.accesses_per_request", 64},
            {"sm.throughput_pct", 5}}),
       16},
      {"amd-l1-ineffective",
       set({{"l1.hit_pct", 20},
            {"l2.throughput_pct", 60},
            {"sm.throughput_pct", 30},
            {"dram.throughput_pct", 25}}),
       100 / 30.0},
      {"amd-l2-misses",
       set({{"l2.hit_pct", 33},
            {"dram.throughput_pct", 60},
            {"sm.throughput_pct", 20},
            {"l2.throughput_pct", 40}}),
       2.5},
      {"amd-channel-camping", set({{"balance.l2_pct", 50}}), 2},
      {"amd-slow-atomics",
       set({{"atomics.latency_cycles", 2500},
            {"atomics.requests", 1e6},
            {"sm.throughput_pct", 10},
            {"dram.throughput_pct", 20}}),
       5},
      {"amd-memory-waits", set({{"stall.waitcnt_vector_pct", 75}}), 4},
      {"amd-lds-waits", set({{"stall.waitcnt_lds_pct", 50}}), 2},
      {"fewer-bytes-than-compulsory",
       set({{"roofline.compulsory_bytes", 1e6},
            {"dram.bytes_read", 4e5},
            {"dram.bytes_written", 4e5}}),
       1},
      {"amd-memory-queue-full", set({{"stall.memory_queue_pct", 50}}), 2},
      {"amd-hazard-stalls", set({{"stall.hazard_pct", 20}}), 1.25},
      {"amd-lds-conflicts-per-instruction",
       set({{"shared.instructions", 10}, {"shared.conflicts", 20}}), 3},
      {"amd-scratch", set({{"scratch.bytes", 64}, {"sm.throughput_pct", 50}}), 2},
      {"amd-barrier-waits", set({{"stall.barrier_pct", 50}}), 2},
      {"amd-dependency-waits", set({{"stall.alu_dependency_pct", 50}}), 2},
      {"amd-instruction-fetch", set({{"stall.no_instruction_pct", 50}}), 2},
      {"amd-low-issue", set({{"issue.active_pct", 5}}), 20},
      {"amd-matrix-cores-starved",
       set({{"pipe.tensor_pct", 20}, {"flops.tensor", 1e12}, {"dram.throughput_pct", 40}}), 2.5},
      {"amd-matrix-cores-saturated", set({{"pipe.tensor_pct", 97}}), 100 / 97.0},
      {"amd-matrix-cores-unused",
       set({{"pipe.fma_pct", 90}, {"flops.tensor", 0}, {"memory.throughput_pct", 25}}), 4},
      {"amd-accidental-double",
       set({{"flops.fp64", 10}, {"flops.fp32", 1000}, {"memory.throughput_pct", 50}}), 2},
      {"amd-few-workgroups", set({{"launch.grid_blocks", 320}, {"device.compute_units", 304}}),
       608 / 320.0},
  };
  for (const Row& row : rows) {
    const auto found = fired(row.metrics, "gfx942");
    ASSERT_TRUE(found.contains(row.id)) << row.id;
    EXPECT_NEAR(found.at(row.id), row.bound, 1e-9) << row.id;
  }
  // A contiguous copy of doubles, which AMD's formula calls 25 % coalesced.
  EXPECT_THAT(names(fired(set({{"global.coalesced_pct", 25},
                               {"global.accesses_per_request", 16},
                               {"sm.throughput_pct", 5}}),
                          "gfx942")),
              Not(Contains("amd-uncoalesced")));
  // Saturated matrix cores explain what waits for them.
  const Verdicts verdicts = rules().evaluate(
      {set({{"pipe.tensor_pct", 97}, {"stall.waitcnt_vector_pct", 75}}), "amd", "gfx942"});
  ASSERT_GE(verdicts.findings.size(), 2u);
  EXPECT_EQ(verdicts.findings[0].id, "amd-matrix-cores-saturated");
  EXPECT_EQ(verdicts.findings[1].explained_by, "amd-matrix-cores-saturated");
}

// Every rule of the file fires in one of the tests above, or here.
TEST(AmdRules, TheRest) {
  EXPECT_THAT(names(fired(set({{"isa.spilled_scalar_registers", 4},
                               {"isa.cross_lane.writelane", 4},
                               {"isa.cross_lane.readlane", 4},
                               {"isa.instructions", 100}}),
                          "gfx942")),
              Contains("amd-scalar-spills"));
  EXPECT_THAT(names(fired(limited("warps", {{"occupancy.theoretical_pct", 60},
                                            {"launch.block_threads", 320}}),
                          "gfx942")),
              Contains("amd-limited-by-workgroup-size"));
  EXPECT_THAT(names(fired(set({{"isa.lds_load_mean_bits", 32}, {"isa.lds_load", 45}}), "gfx942")),
              Contains("amd-narrow-lds-loads"));
}

// They are about AMD: no other device is told of them, not even as missing.
TEST(AmdRules, AreForAmdOnly) {
  const Verdicts verdicts =
      rules().evaluate({set({{"stall.waitcnt_vector_pct", 75}}), "nvidia", "sm_90"});
  for (const Finding& finding : verdicts.findings) EXPECT_FALSE(finding.id.starts_with("amd-"));
  for (const Missing& missing : verdicts.missing) EXPECT_FALSE(missing.rule.starts_with("amd-"));
}

}  // namespace
}  // namespace burnish::evidence
