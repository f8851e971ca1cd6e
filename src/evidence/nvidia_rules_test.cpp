// data/rules/nvidia.toml over real profiles: what is found first, with which bound, and what is
// not.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "evidence/evidence.h"
#include "profile/aliases.h"
#include "profile/profile.h"

namespace burnish::evidence {
namespace {

const Rules& rules() {
  static const Result<Rules> loaded = Rules::load();
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().to_string());
  return *loaded;
}

profile::Reading read(const fs::path& path) {
  auto reading = profile::read_profile(path);
  EXPECT_TRUE(reading) << (reading ? "" : reading.error().to_string());
  return reading ? std::move(*reading) : profile::Reading();
}

/// `bandwidth`: a measured copy rate in B/s, 0 when none is known.
Verdicts judge(const profile::KernelProfile& kernel, double bandwidth = 0) {
  MetricSet metrics = kernel.metrics;
  if (bandwidth > 0) {
    Metric ceiling;
    ceiling.name = "roofline.ceiling_bandwidth";
    ceiling.value = bandwidth;
    ceiling.unit = "B/s";
    metrics.add(std::move(ceiling));
  }
  return rules().evaluate({metrics, "nvidia", kernel.device.arch});
}

const Finding* find(const Verdicts& verdicts, std::string_view id) {
  const auto& all = verdicts.findings;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Finding& one) { return one.id == id; });
  return found == all.end() ? nullptr : &*found;
}

#define NEEDS_H200()                                                              \
  const fs::path path = fs::path(BURNISH_SHARED_DIR) / "fixtures/h200/k.ncu-rep"; \
  if (!fs::exists(path)) GTEST_SKIP() << "no fixture " << path

TEST(NvidiaRules, SaxpyIsMemoryBoundAndNothingElse) {
  NEEDS_H200();
  const profile::KernelProfile saxpy = read(path).kernels.at(0);
  const Verdicts measured = judge(saxpy, 4.26e12);
  ASSERT_FALSE(measured.findings.empty());
  EXPECT_EQ(measured.findings[0].id, "dram-bound");
  EXPECT_NEAR(measured.findings[0].headroom, 1.25, 0.005);
  EXPECT_TRUE(
      measured.findings[0].because.starts_with("memory-bound: device memory moves 3.42 TB/s"));
  const Verdicts datasheet = judge(saxpy);
  EXPECT_EQ(datasheet.findings.at(0).id, "dram-bound");
  EXPECT_NEAR(datasheet.findings[0].headroom, 1.41, 0.005);
  for (const Finding& finding : datasheet.findings) {
    // No shared memory, so no conflicts; memory is busy, so no bubbles.
    EXPECT_NE(finding.category, "bank-conflicts");
    EXPECT_NE(finding.category, "software-pipelining");
    EXPECT_NE(finding.category, "coalescing");
    if (finding.id != "dram-bound") {
      EXPECT_EQ(finding.explained_by, "dram-bound") << finding.id;
    }
  }
}

TEST(NvidiaRules, TransposeHasBankConflictsFirst) {
  NEEDS_H200();
  const Verdicts verdicts = judge(read(path).kernels.at(1));
  ASSERT_FALSE(verdicts.findings.empty());
  const Finding& first = verdicts.findings[0];
  EXPECT_EQ(first.id, "shared-bank-conflicts");
  EXPECT_TRUE(first.because.starts_with("32.2-way bank conflicts: 65,541,137 of 69,735,441"));
  EXPECT_EQ(first.location, "k.cu:4 (+0x1b0)");
  // The other units' work is 27.5 % of the time at most, whatever shared memory does.
  EXPECT_NEAR(first.headroom, 100 / 27.516, 0.01);
  EXPECT_EQ(first.cards.at(0), "swizzle-shared-memory");
}

TEST(NvidiaRules, TransposeHasBankConflictsFirstInPagesToo) {
  NEEDS_H200();
  for (const char* page : {"k.details.csv", "k.details.txt"}) {
    SCOPED_TRACE(page);
    const Verdicts verdicts = judge(read(path.parent_path() / page).kernels.at(1));
    ASSERT_FALSE(verdicts.findings.empty());
    const Finding& first = verdicts.findings[0];
    EXPECT_EQ(first.id, "shared-bank-conflicts");
    EXPECT_TRUE(first.because.starts_with("32.2-way bank conflicts: 65,011,712 of 69,206,016"))
        << first.because;
    EXPECT_NEAR(first.headroom, 100 / 27.52, 0.01);
  }
}

TEST(NvidiaRules, SpillIsAnIndexedArrayOnATinyGrid) {
  NEEDS_H200();
  const Verdicts verdicts = judge(read(path).kernels.at(2));
  ASSERT_FALSE(verdicts.findings.empty());
  EXPECT_EQ(verdicts.findings[0].id, "indexed-local-array");
  EXPECT_TRUE(verdicts.findings[0].location.starts_with("k.cu:5 "));
  EXPECT_EQ(find(verdicts, "register-spill"), nullptr);
  const Finding* grid = find(verdicts, "small-grid");
  ASSERT_NE(grid, nullptr);
  EXPECT_EQ(grid->because,
            "the grid is too small: 132 blocks fill 0.14 of one wave on 132 multiprocessors");
  EXPECT_TRUE(grid->explained_by.empty());
  ASSERT_NE(find(verdicts, "local-memory-traffic"), nullptr);
  EXPECT_EQ(find(verdicts, "local-memory-traffic")->explained_by, "indexed-local-array");
}

TEST(NvidiaRules, EachFaultIsFoundFirst) {
  const profile::Reading reading =
      read(fs::path(BURNISH_SOURCE_DIR) / "src/profile/testdata/faults.ncu-repz");
  ASSERT_EQ(reading.kernels.size(), 6u);
  const char* first[] = {
      "uncoalesced-global-access", "divergent-warps", "atomic-contention",
      "type-conversions",          "register-spill",  "uncoalesced-global-access"};
  const char* place[] = {"p.cu:11 ", "p.cu:18 ", "p.cu:25 ", "p.cu:31 ", "p.cu:43 ", "mma.hpp:91 "};
  for (std::size_t i = 0; i < 6; ++i) {
    const Verdicts verdicts = judge(reading.kernels[i]);
    ASSERT_FALSE(verdicts.findings.empty()) << reading.kernels[i].name;
    EXPECT_EQ(verdicts.findings[0].id, first[i]) << reading.kernels[i].name;
    EXPECT_TRUE(verdicts.findings[0].location.starts_with(place[i]))
        << verdicts.findings[0].location;
  }
  // Bounds that were reached: a coalesced copy of the same bytes takes 32 µs instead of 815, and
  // the same histogram with block-private bins about 0.03 ms instead of 12.3.
  EXPECT_GT(judge(reading.kernels[0]).findings[0].headroom, 815.0 / 32);
  EXPECT_GT(judge(reading.kernels[2]).findings[0].headroom, 100);
}

TEST(NvidiaRules, BoundsAreFiniteAndNothingIsClaimedWithoutEvidence) {
  for (const char* name : {"faults.ncu-repz", "range.ncu-repz", "graph.ncu-repz", "details_all.csv",
                           "summary_per_gpu.csv", "application_output_raw.csv"}) {
    for (const auto& kernel :
         read(fs::path(BURNISH_SOURCE_DIR) / "src/profile/testdata" / name).kernels) {
      const Verdicts verdicts = judge(kernel);
      for (const Finding& finding : verdicts.findings) {
        EXPECT_GE(finding.headroom, 1) << finding.id;
        EXPECT_LT(finding.headroom, 1e5) << finding.id;
        EXPECT_FALSE(contains(finding.because, "unknown")) << finding.id << ": " << finding.because;
        for (const std::string& metric : finding.evidence) {
          EXPECT_NE(kernel.metrics.find(metric), nullptr) << finding.id << " on " << metric;
        }
      }
      for (const Missing& missing : verdicts.missing) EXPECT_FALSE(missing.collect.empty());
    }
  }
}

TEST(NvidiaRules, ReadOnlyWhatTheReadersFill) {
  const auto table = profile::AliasTable::load("metrics/nvidia.toml");
  ASSERT_TRUE(table) << table.error().to_string();
  std::set<std::string> filled = {"occupancy.limiter", "memory.bound_unit", "sm.bound_unit",
                                  "device__attribute_single_to_double_precision_perf_ratio"};
  for (const std::string& name : table->names()) filled.insert(name);
  for (const std::string& name : table->raw_names()) filled.insert(name);
  const auto file = data_file("rules/nvidia.toml");
  ASSERT_TRUE(file);
  const auto only_nvidia = Rules::parse({*file});
  ASSERT_TRUE(only_nvidia) << only_nvidia.error().to_string();
  for (const std::string& name : only_nvidia->metrics()) {
    if (name.starts_with("isa.") || name.starts_with("hotspot.") || name.starts_with("roofline.")) {
      continue;
    }
    EXPECT_TRUE(filled.count(name)) << name;
  }
}

}  // namespace
}  // namespace burnish::evidence
