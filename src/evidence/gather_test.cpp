#include <fmt/format.h>
#include <gmock/gmock.h>

#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "evidence/evidence.h"
#include "evidence/names.h"
#include "hardware/occupancy.h"
#include "isa/pocl_fixture.h"

namespace burnish::evidence {
namespace {

using testing::HasSubstr;

TEST(Names, ComparableForms) {
  EXPECT_EQ(plain_name("saxpy"), "saxpy");
  EXPECT_EQ(plain_name("saxpy.kd"), "saxpy");
  EXPECT_EQ(plain_name("_Z5saxpyfPKfPf"), "saxpy");
  EXPECT_EQ(plain_name("_Z5saxpyfPKfPf.kd"), "saxpy");
  EXPECT_EQ(plain_name("saxpy(float, float const*, float*)"), "saxpy");
  EXPECT_EQ(plain_name("void copy<float, 4>(float const*, float*)"), "copy<float,4>");
  EXPECT_EQ(plain_name("void ns::(anonymous namespace)::f<(int)3>(int)"),
            "ns::(anonymous namespace)::f<(int)3>");
  EXPECT_EQ(plain_name("f<unsigned int>"), "f<unsigned int>");
  EXPECT_EQ(plain_name("f(int) [clone .kd]"), "f");
  EXPECT_EQ(plain_name("_Znonsense"), "_Znonsense");
  EXPECT_EQ(plain_name(""), "");
  EXPECT_EQ(plain_name("((((<<<<"), plain_name("((((<<<<"));
  EXPECT_EQ(base_name("void ns::copy<float, 4>(float const*)"), "copy");
  EXPECT_EQ(base_name("_ZN2ns4copyIfEEvPT_"), "copy");
}

Rules shipped() {
  auto rules = Rules::load();
  if (!rules) throw std::runtime_error(rules.error().to_string());
  return std::move(*rules);
}

Result<Evidence> gathered(const std::vector<fs::path>& files) {
  return gather(files, shipped(), real_process_runner());
}

std::string fixture(const std::string& name) {
  return std::string(BURNISH_SHARED_DIR) + "/fixtures/" + name;
}

class GatherPocl : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_newest_program("llvm-objdump")) GTEST_SKIP() << "no llvm-objdump on PATH";
    if (!isa::Pocl::get().missing().empty()) GTEST_SKIP() << isa::Pocl::get().missing();
  }
  static KernelEvidence of(const char* kernel, std::array<std::size_t, 2> global,
                           std::array<std::size_t, 2> local) {
    const auto object = isa::Pocl::get().build(isa::kProducts, kernel, 64, global, local);
    EXPECT_TRUE(object) << object.error().to_string();
    auto evidence = gathered({*object});
    EXPECT_TRUE(evidence) << evidence.error().to_string();
    EXPECT_EQ(evidence->artefacts.at(0).kind, "x86-elf");
    EXPECT_EQ(evidence->kernels.size(), 1u);
    return evidence->kernels.at(0);
  }
  /// The first finding once the run is known too: a product of 1024 × 1024 at some speed.
  static Finding first(KernelEvidence kernel, double gflops, double groups, double items) {
    const auto add = [&](const char* name, double value) {
      Metric metric;
      metric.name = name;
      metric.value = value;
      metric.unit = "1";
      kernel.metrics.add(metric);
    };
    add("roofline.utilization_pct", gflops / 3);
    add("time.device", 2.0 * 1024 * 1024 * 1024 / gflops / 1e9);
    add("launch.grid_blocks", groups);
    add("launch.block_threads", items);
    add("device.compute_units", 2);
    const Verdicts verdicts = shipped().evaluate({kernel.metrics, "cpu", kernel.device.arch});
    EXPECT_FALSE(verdicts.findings.empty());
    for (const Finding& finding : verdicts.findings) {
      EXPECT_LE(finding.headroom, 300 / gflops * (1 + 1e-9)) << finding.id;
    }
    return verdicts.findings.empty() ? Finding{} : verdicts.findings.front();
  }
};

TEST_F(GatherPocl, FourStepsOfAMatrixProduct) {
  EXPECT_THAT(first(of("one_output", {64, 64}, {16, 16}), 1.3, 4096, 256).category,
              testing::AnyOf("vectorized-access", "coalescing"));
  EXPECT_EQ(first(of("vectors", {4, 64}, {4, 4}), 23, 4096, 16).category, "register-blocking");
  EXPECT_THAT(first(of("rows", {4, 8}, {4, 4}), 159, 512, 16).category,
              testing::AnyOf("unrolling", "work-partition"));
  EXPECT_EQ(first(of("array_of_rows", {4, 8}, {4, 4}), 75, 512, 16).category, "unrolling");
}

TEST_F(GatherPocl, CodeAloneGivesFindingsWithPlacesAndSaysWhatIsMissing) {
  const KernelEvidence kernel = of("one_output", {64, 64}, {16, 16});
  EXPECT_EQ(kernel.name, "one_output");
  EXPECT_THAT(kernel.device.arch, HasSubstr("x86-64"));
  ASSERT_FALSE(kernel.verdicts.findings.empty());
  EXPECT_EQ(kernel.verdicts.findings[0].id, "cpu-scalar-arithmetic");
  EXPECT_THAT(kernel.verdicts.findings[0].location, HasSubstr("loop"));
  bool launch_missing = false;
  for (const Missing& missing : kernel.verdicts.missing) {
    launch_missing |= missing.rule == "launch-too-small";
  }
  EXPECT_TRUE(launch_missing);
}

TEST_F(GatherPocl, JsonHasTheShapeOfTheContract) {
  const auto object = isa::Pocl::get().build(isa::kProducts, "vectors", 64, {4, 64}, {4, 4});
  ASSERT_TRUE(object);
  const auto evidence = gathered({*object});
  ASSERT_TRUE(evidence);
  const auto json = parse_json(dump_json(to_json(*evidence)), "evidence.json");
  ASSERT_TRUE(json) << json.error().to_string();
  EXPECT_EQ(json->at("artefacts").at(0).at("kind"), "x86-elf");
  EXPECT_FALSE(json->at("artefacts").at(0).at("hash").get<std::string>().empty());
  const Json& kernel = json->at("kernels").at(0);
  EXPECT_EQ(kernel.at("name"), "vectors");
  const Json& metric = kernel.at("metrics").at("isa.loop.accumulators");
  EXPECT_EQ(metric.at("unit"), "1");
  EXPECT_EQ(metric.at("where").at("file"), object->string());
  EXPECT_THAT(metric.at("where").at("locator").get<std::string>(), HasSubstr("loop"));
  const Json& finding = kernel.at("findings").at(0);
  for (const char* key : {"id", "category", "severity", "headroom", "evidence", "because", "action",
                          "cards", "location"}) {
    EXPECT_TRUE(finding.contains(key)) << key;
  }
  const auto back = finding_from_json(finding, "evidence.json");
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(to_json(*back), finding);
  EXPECT_TRUE(kernel.at("missing").at(0).contains("collect"));
}

TEST(FindingJson, MistakesNameTheirPointer) {
  Finding finding;
  finding.id = "x";
  finding.category = "tiling";
  finding.severity = "low";
  finding.because = "b";
  finding.action = "a";
  Json json = to_json(finding);
  ASSERT_TRUE(finding_from_json(json, "f.json"));
  for (const auto& [key, value] : std::map<std::string, Json>{{"category", "tilling"},
                                                              {"severity", 3},
                                                              {"headroom", 0.5},
                                                              {"id", nullptr},
                                                              {"surplus", 1}}) {
    Json bad = json;
    bad[key] = value;
    const auto read = finding_from_json(bad, "f.json");
    ASSERT_FALSE(read) << key;
    EXPECT_THAT(read.error().to_string(), testing::AllOf(HasSubstr("f.json"), HasSubstr(key)));
  }
}

TEST(Gather, WhatIsNeitherIsAnError) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const auto write = [&](const char* name, std::string_view content) {
    const fs::path path = folder->path() / name;
    EXPECT_TRUE(real_file_system().write(path, content));
    return path;
  };
  const auto error = [&](const fs::path& path) {
    const auto evidence = gathered({path});
    return evidence ? std::string("accepted") : evidence.error().to_string();
  };
  EXPECT_THAT(error(write("empty", "")), HasSubstr("empty"));
  EXPECT_THAT(error(write("text", "hello\nworld\n")), HasSubstr("neither"));
  EXPECT_THAT(error(write("wide.csv", std::string_view("\xFF\xFE\"\0I\0D\0", 8))),
              HasSubstr("UTF-16"));
  EXPECT_THAT(error(write("log",
                          "==PROF== Connected to process 12\n==ERROR== ERR_NVGPUCTRPERM - "
                          "The user does not have permission\n")),
              HasSubstr("ERR_NVGPUCTRPERM"));
  EXPECT_THAT(error(write("bytes", std::string("\x7f"
                                               "ELF\x01\x01",
                                               6))),
              HasSubstr("bytes"));
  EXPECT_THAT(error(folder->path() / "absent"), HasSubstr("absent"));
  EXPECT_NE(error(folder->path()), "accepted");
  EXPECT_FALSE(gathered({}));
}

TEST(Gather, ReportIsCompletedByCardAndModel) {
  const std::string report = fixture("h200/k.ncu-rep");
  if (!fs::exists(report)) GTEST_SKIP() << report;
  const auto evidence = gathered({report});
  ASSERT_TRUE(evidence) << evidence.error().to_string();
  ASSERT_FALSE(evidence->kernels.empty());
  for (const KernelEvidence& kernel : evidence->kernels) {
    EXPECT_EQ(kernel.device.arch, "sm_90") << kernel.name;
    EXPECT_EQ(kernel.metrics.value("device.compute_units"), 132) << kernel.name;
    const Metric* limiter = kernel.metrics.find("occupancy.limiter");
    ASSERT_TRUE(limiter) << kernel.name;
    EXPECT_EQ(limiter->unit, "text");
    EXPECT_FALSE(kernel.verdicts.findings.empty()) << kernel.name;
  }
}

TEST(Gather, TraceAndCodeOfOneKernelMeet) {
  const std::string trace = fixture("rocprofv3/sdk1.0_kernel_trace.csv");
  if (!fs::exists(trace)) GTEST_SKIP() << trace;
  if (!profile::recognises_profile(trace)) GTEST_SKIP() << "rocprofv3's traces are not read";
  const auto clang = find_newest_program("clang");
  const auto lld = find_newest_program("ld.lld");
  if (!clang || !lld) GTEST_SKIP() << "no clang or ld.lld on PATH";
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const fs::path source = folder->path() / "k.cpp", object = folder->path() / "k.o",
                 code = folder->path() / "k.co";
  ASSERT_TRUE(real_file_system().write(
      source,
      "__attribute__((amdgpu_kernel)) void divide_kernel(float* a, const float* b, const float* c, "
      "int, int) { *a = *b / *c; }"));
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{clang->string(), "-O2", "--target=amdgcn-amd-amdhsa",
                                 "-mcpu=gfx90a", "-nogpulib", "-c", source.string(), "-o",
                                 object.string()},
        std::vector<std::string>{lld->string(), "-shared", object.string(), "-o", code.string()}}) {
    ProcessSpec spec;
    spec.argv = argv;
    const auto done = real_process_runner().run(spec);
    ASSERT_TRUE(done && done->ok()) << (done ? done->errors : done.error().to_string());
  }
  const auto evidence = gathered({code, trace});
  ASSERT_TRUE(evidence) << evidence.error().to_string();
  int joined = 0;
  for (const KernelEvidence& kernel : evidence->kernels) {
    const bool timed = kernel.metrics.find("time.device") != nullptr;
    const bool read = kernel.metrics.find("isa.instructions") != nullptr;
    EXPECT_EQ(read, contains(kernel.name, "divide_kernel")) << kernel.name;
    if (timed && read) ++joined;
  }
  EXPECT_GE(joined, 1);
}

TEST(Gather, TwoViewsOfOneReportAgree) {
  const std::string report = fixture("h200/k.ncu-rep"), csv = fixture("h200/k.raw.csv");
  if (!fs::exists(report) || !fs::exists(csv)) GTEST_SKIP() << report << " or " << csv;
  const auto one = gathered({report});
  const auto two = gathered({report, csv});
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->kernels.size(), two->kernels.size()) << "launches are joined, not doubled";
  for (const KernelEvidence& kernel : two->kernels) {
    for (const std::string& statement : kernel.metrics.disagreements()) {
      ADD_FAILURE() << kernel.name << ": " << statement;
    }
  }
}

std::string wave_kernel(int lanes) {
  return fmt::format(
      "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx1100\"\nk:\n\tglobal_store_b32 v0, v1, s[2:3]\n"
      "\ts_endpgm\n\t.amdhsa_kernel k\n\t.amdhsa_group_segment_fixed_size 0\n"
      "\t.amdhsa_private_segment_fixed_size 0\n\t.amdhsa_next_free_vgpr 128\n"
      "\t.amdhsa_wavefront_size32 {}\n\t.end_amdhsa_kernel\n\t.amdgpu_metadata\n"
      "amdhsa.kernels:\n  - .name: k\n    .vgpr_count: 128\n    .wavefront_size: {}\n"
      "    .max_flat_workgroup_size: 256\namdhsa.target: amdgcn-amd-amdhsa--gfx1100\n"
      "\t.end_amdgpu_metadata\n",
      lanes == 32 ? 1 : 0, lanes);
}

// A wave of 64 lanes takes twice the registers of one of 32.
TEST(Gather, OccupancyGoesByTheLanesOfAWave) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const fs::path trace = folder->path() / "7_kernel_trace.csv";
  ASSERT_TRUE(real_file_system().write(
      trace,
      "\"Kind\",\"Dispatch_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\","
      "\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\","
      "\"Grid_Size_Y\",\"Grid_Size_Z\"\n\"KERNEL_DISPATCH\",1,\"k\",10,20,256,1,1,65536,1,1\n"));
  for (const auto& [lanes, waves] : {std::pair{32, 10}, std::pair{64, 5}}) {
    const fs::path code = folder->path() / fmt::format("{}.s", lanes);
    ASSERT_TRUE(real_file_system().write(code, wave_kernel(lanes)));
    const auto evidence = gathered({trace, code});
    ASSERT_TRUE(evidence) << evidence.error().to_string();
    ASSERT_EQ(evidence->kernels.size(), 1u);
    hardware::KernelResources resources;
    resources.threads = 256;
    resources.registers = 128;
    resources.wave_size = lanes;
    const auto model = hardware::occupancy("gfx1100", resources);
    ASSERT_TRUE(model);
    EXPECT_EQ(evidence->kernels[0].metrics.value("isa.wave_size"), lanes);
    EXPECT_EQ(evidence->kernels[0].metrics.value("occupancy.waves_per_simd"),
              model->waves_per_simd);
    EXPECT_EQ(model->waves_per_simd, waves) << lanes;
  }
}

// llvm-objdump does not print the target. The code is AMD's all the same, and no CPU's.
TEST(Gather, CodeThatNamesNoTargetStillHasAVendor) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const fs::path file = folder->path() / "f.txt";
  ASSERT_TRUE(real_file_system().write(
      file,
      "build/f.co:\tfile format elf64-amdgpu\n\nDisassembly of section .text:\n\n"
      "0000000000001600 <f>:\n"
      "\tglobal_load_dword v1, v0, s[2:3] // 000000001600: DC508000 01020000\n"
      "\ts_waitcnt vmcnt(0)               // 000000001608: BF8C0F70\n"
      "\tv_cvt_f32_i32_e32 v1, v1         // 00000000160C: 7E020B01\n"
      "\ts_cbranch_scc0 65531             // 000000001610: BF84FFFB <f>\n"
      "\ts_endpgm                         // 000000001614: BF810000\n"));
  const auto evidence = gathered({file});
  ASSERT_TRUE(evidence) << evidence.error().to_string();
  ASSERT_EQ(evidence->kernels.size(), 1u);
  std::vector<std::string> ids;
  for (const Finding& finding : evidence->kernels[0].verdicts.findings) ids.push_back(finding.id);
  EXPECT_EQ(ids, std::vector<std::string>{"amd-exposed-loads"});
}

const KernelEvidence* kernel_of(const Evidence& evidence, std::string_view part) {
  for (const KernelEvidence& kernel : evidence.kernels) {
    if (contains(kernel.name, part)) return &kernel;
  }
  return nullptr;
}

std::vector<std::string> findings_of(const KernelEvidence& kernel) {
  std::vector<std::string> ids;
  for (const Finding& finding : kernel.verdicts.findings) ids.push_back(finding.id);
  return ids;
}

TEST(Gather, WhatAnExpertWouldSayOfAmdFixtures) {
  if (!fs::exists(fixture("att"))) GTEST_SKIP() << fixture("att");
  {  // A fill: its stores back up. Nothing else of it is slow.
    const auto evidence = gathered({fixture("att")});
    ASSERT_TRUE(evidence) << evidence.error().to_string();
    const KernelEvidence* fill = kernel_of(*evidence, "fillBuffer");
    ASSERT_TRUE(fill);
    EXPECT_EQ(findings_of(*fill), std::vector<std::string>{"amd-memory-queue-full"});
    EXPECT_THAT(fill->verdicts.findings.at(0).location, HasSubstr("global_store_dwordx4"));
  }
  {  // 64 KiB of LDS leave room for one workgroup, and 256 do not fill 304 units.
    const auto evidence =
        gathered({fixture("rocpd/HGLiu1998_batched_gemm_mi300x_trimmed_schema3.db")});
    ASSERT_TRUE(evidence) << evidence.error().to_string();
    const KernelEvidence* gemm = kernel_of(*evidence, "kentry");
    ASSERT_TRUE(gemm);
    EXPECT_EQ(gemm->metrics.value("occupancy.theoretical_pct"), 12.5);
    EXPECT_EQ(gemm->metrics.find("occupancy.limiter")->text, "shared");
    EXPECT_THAT(findings_of(*gemm),
                testing::UnorderedElementsAre("launch-too-small", "amd-limited-by-lds"));
  }
  {  // A contiguous copy, whose counters and times do not belong together.
    const auto evidence = gathered({fixture("rocprof-compute/vcopy_MI300X_A1_pmc_perf.csv")});
    ASSERT_TRUE(evidence) << evidence.error().to_string();
    ASSERT_EQ(evidence->kernels.size(), 3u);
    for (const KernelEvidence& copy : evidence->kernels) {
      // 4,096 workgroups, of which the device holds 2,432.
      EXPECT_THAT(findings_of(copy), testing::ElementsAre("tail-wave"));
      EXPECT_THAT(copy.statements, testing::Contains(HasSubstr("different passes")));
    }
  }
  {  // One access pattern with one conflict an instruction.
    const auto evidence =
        gathered({fixture("rocprofv3/HipKittens_ds_read_b64_lds_conflict_counter_collection.csv")});
    ASSERT_TRUE(evidence) << evidence.error().to_string();
    const KernelEvidence* pattern = kernel_of(*evidence, "micro_tk");
    ASSERT_TRUE(pattern);
    EXPECT_THAT(findings_of(*pattern), testing::Contains("amd-lds-conflicts-per-instruction"));
  }
  {  // 62 of 97 samples wait for loads.
    const auto evidence = gathered({fixture("rocprofv3/sdk1.0_pc_sampling_stochastic_debug.csv")});
    ASSERT_TRUE(evidence) << evidence.error().to_string();
    EXPECT_THAT(findings_of(evidence->kernels.at(0)), testing::ElementsAre("amd-memory-waits"));
  }
}

TEST(Gather, ATraceJoinsTheCountersInItsFolder) {
  if (!fs::exists(fixture("att"))) GTEST_SKIP() << fixture("att");
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  std::error_code failed;
  fs::copy(fixture("att"), folder->path() / "trace", fs::copy_options::recursive, failed);
  ASSERT_FALSE(failed);
  ASSERT_TRUE(real_file_system().write(
      folder->path() / "7_counter_collection.csv",
      "\"Dispatch_Id\",\"Kernel_Name\",\"Grid_Size\",\"Workgroup_Size\",\"Counter_Name\","
      "\"Counter_Value\"\n1,\"__amd_rocclr_fillBufferAligned\",77824,256,\"SQ_WAVES\",1216\n"));
  const auto evidence = gathered({folder->path()});
  ASSERT_TRUE(evidence) << evidence.error().to_string();
  ASSERT_EQ(evidence->kernels.size(), 1u);
  EXPECT_EQ(evidence->kernels[0].metrics.value("SQ_WAVES"), 1216);
  EXPECT_EQ(evidence->kernels[0].metrics.value("trace.waves"), 4);
}

}  // namespace
}  // namespace burnish::evidence
