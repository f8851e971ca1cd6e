// What SASS and cubins add to a profile of an NVIDIA GPU.

#include <gmock/gmock.h>

#include <algorithm>

#include "evidence/evidence.h"

namespace burnish::evidence {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string fixture(const std::string& name) {
  return std::string(BURNISH_SHARED_DIR) + "/fixtures/" + name;
}

class NvidiaCode : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"h200/k.ncu-rep", "h200/k.sass"}) {
      if (!fs::exists(fixture(name))) GTEST_SKIP() << fixture(name);
    }
  }
  static Evidence gathered(const std::vector<fs::path>& files) {
    auto rules = Rules::load();
    EXPECT_TRUE(rules) << rules.error().to_string();
    auto evidence = gather(files, *rules, real_process_runner());
    EXPECT_TRUE(evidence) << evidence.error().to_string();
    return evidence ? std::move(*evidence) : Evidence{};
  }
  static const KernelEvidence& of(const Evidence& evidence, const std::string& name) {
    const auto found = std::find_if(
        evidence.kernels.begin(), evidence.kernels.end(),
        [&](const KernelEvidence& kernel) { return kernel.name.find(name) != std::string::npos; });
    EXPECT_NE(found, evidence.kernels.end()) << name;
    static const KernelEvidence none;
    return found == evidence.kernels.end() ? none : *found;
  }
  static std::vector<std::string> findings(const KernelEvidence& kernel) {
    std::vector<std::string> ids;
    for (const Finding& finding : kernel.verdicts.findings) ids.push_back(finding.id);
    return ids;
  }
};

TEST_F(NvidiaCode, TextBesideAReportIsJoinedAndAgrees) {
  const Evidence evidence = gathered({fixture("h200/k.ncu-rep"), fixture("h200/k.sass")});
  ASSERT_EQ(evidence.kernels.size(), 3u) << "the report's launches, not doubled";
  for (const KernelEvidence& kernel : evidence.kernels) {
    EXPECT_TRUE(kernel.metrics.find("isa.instructions")) << kernel.name;
    EXPECT_TRUE(kernel.metrics.find("time.device")) << kernel.name;
    EXPECT_THAT(kernel.metrics.disagreements(), testing::IsEmpty()) << kernel.name;
  }
  EXPECT_EQ(of(evidence, "transpose").metrics.value("registers.used"), 14)
      << "the profiler reports 16 for whatever is below";
  EXPECT_EQ(of(evidence, "spill").metrics.value("registers.used"), 70);
}

TEST_F(NvidiaCode, AnIndexedArrayIsNoRegisterSpill) {
  const Evidence evidence = gathered({fixture("h200/k.ncu-rep"), fixture("h200/k.sass")});
  const KernelEvidence& spill = of(evidence, "spill");
  EXPECT_THAT(findings(spill), Contains("indexed-local-array"));
  EXPECT_THAT(findings(spill), Not(Contains("register-spill")));
  EXPECT_EQ(spill.metrics.value("spill.instructions"), 0);
  EXPECT_EQ(spill.metrics.value("isa.loop.scratch_loads"), 96);
  EXPECT_THAT(spill.statements, Contains(HasSubstr("192 accesses to an array")));
}

TEST_F(NvidiaCode, AStallIsTracedToTheInstructionThatCausesIt) {
  const Evidence evidence = gathered({fixture("h200/k.ncu-rep"), fixture("h200/k.sass")});
  EXPECT_THAT(of(evidence, "transpose").statements,
              Contains(testing::AllOf(HasSubstr("most stalls are at +0x1c0 STG.E"),
                                      HasSubstr("waits for +0x1b0 LDS R9"))));
}

TEST_F(NvidiaCode, CodeAloneSaysWhatItCan) {
  const Evidence evidence = gathered({fixture("h200/k.sass")});
  ASSERT_EQ(evidence.kernels.size(), 3u);
  const KernelEvidence& spill = of(evidence, "spill");
  EXPECT_THAT(findings(spill), Contains("local-accesses-in-loop"));
  const auto finding =
      std::find_if(spill.verdicts.findings.begin(), spill.verdicts.findings.end(),
                   [](const Finding& one) { return one.id == "local-accesses-in-loop"; });
  ASSERT_NE(finding, spill.verdicts.findings.end());
  EXPECT_THAT(finding->because, HasSubstr("0 and 0 of these move spilled registers"));
  EXPECT_THAT(findings(of(evidence, "saxpy")), Not(Contains("local-accesses-in-loop")));
}

TEST_F(NvidiaCode, TheReportsOwnObjectIsRead) {
  const Evidence evidence = gathered({fixture("h200/k.ncu-rep")});
  const KernelEvidence& spill = of(evidence, "spill");
  EXPECT_EQ(spill.metrics.value("scratch.bytes"), 256) << "STACK of k.resusage.txt";
  EXPECT_EQ(of(evidence, "transpose").metrics.value("shared.static_bytes"), 4096)
      << "5,120 less what the driver keeps";
  if (!spill.metrics.find("isa.instructions")) {
    GTEST_SKIP() << "no nvdisasm or cuobjdump for sm_90: the code itself is not shown";
  }
  EXPECT_EQ(spill.metrics.value("isa.loop.scratch_loads"), 96);
  EXPECT_EQ(spill.metrics.value("isa.loop.spill_load"), 0);
  const Metric* loop = spill.metrics.find("isa.loop.instructions");
  ASSERT_TRUE(loop);
  EXPECT_THAT(loop->where.locator, HasSubstr("(k.cu:5)"));
}

TEST_F(NvidiaCode, ALoopThatIsNotThereIsNotAskedFor) {
  const Evidence evidence = gathered({fixture("h200/k.ncu-rep"), fixture("h200/k.sass")});
  const auto& missing = of(evidence, "saxpy").verdicts.missing;
  const auto rule = std::find_if(missing.begin(), missing.end(), [](const Missing& one) {
    return one.rule == "local-accesses-in-loop";
  });
  ASSERT_NE(rule, missing.end());
  EXPECT_EQ(rule->collect, "its code has no loop");
}

struct Embedded {
  const char* file;
  const char* kernel;
  int registers;  ///< REGCOUNT of the cubin inside; the profiler's own number is 16 or more
};

void PrintTo(const Embedded& embedded, std::ostream* out) {
  *out << embedded.kernel << " in " << embedded.file;
}

class NvidiaReport : public NvidiaCode, public testing::WithParamInterface<Embedded> {};

TEST_P(NvidiaReport, ObjectsInsideReportsAreRead) {
  const std::string path = fixture(GetParam().file);
  if (!fs::exists(path)) GTEST_SKIP() << path;
  const Evidence evidence = gathered({path});
  const KernelEvidence& kernel = of(evidence, GetParam().kernel);
  EXPECT_EQ(kernel.metrics.value("registers.used"), GetParam().registers);
  if (!kernel.metrics.find("isa.instructions")) {
    GTEST_SKIP() << "no nvdisasm or cuobjdump: the code itself is not shown";
  }
  EXPECT_EQ(kernel.metrics.value("isa.unknown").value_or(0), 0);
  EXPECT_EQ(kernel.metrics.value("spill.instructions"), 0);
  EXPECT_THAT(kernel.metrics.disagreements(), testing::IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(
    Fixtures, NvidiaReport,
    testing::Values(Embedded{"ncu-rep/CuVectorAddDrv.ncu-rep", "VecAdd_kernel", 12},
                    Embedded{"ncu-rep/manual_nvtx.ncu-rep", "init_data_kernel", 8},
                    Embedded{"ncu-rep/manual_nvtx.ncu-rep", "daxpy_kernel", 10},
                    Embedded{"ncu-rep/manual_nvtx.ncu-rep", "check_results_kernel", 32},
                    Embedded{"ncu-rep/LakshyaSingh354_vec_add.ncu-rep", "vec_add", 12},
                    Embedded{"ncu-rep/armleth_report.ncu-rep", "matrix_addition2D", 12},
                    Embedded{"ncu-rep/thedavidchu_profile.ncu-rep", "kernel", 18}));

}  // namespace
}  // namespace burnish::evidence
