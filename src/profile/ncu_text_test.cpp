#include "profile/ncu_text.h"

#include <cmath>

#include "base/text.h"
#include "profile/testing.h"

namespace burnish::profile {
namespace {

using nvidia::read_text_page;
using testing::bytes_of;
using testing::data;
using testing::fixture;
using testing::read;
using testing::value;

TEST(NcuText, DetailsTextAndDetailsCsvAreTheSame) {
  BURNISH_NEEDS_FIXTURE("h200/k.details.txt");
  const Reading page = read(fixture("h200/k.details.csv"));
  const Reading printed = read(fixture("h200/k.details.txt"));
  EXPECT_EQ(printed.artefacts[0].kind, "ncu-text-details");
  ASSERT_EQ(printed.kernels.size(), page.kernels.size());
  for (std::size_t i = 0; i < page.kernels.size(); ++i) {
    const KernelProfile& a = page.kernels[i];
    const KernelProfile& b = printed.kernels[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.launch.grid, b.launch.grid);
    EXPECT_EQ(a.launch.block, b.launch.block);
    EXPECT_EQ(a.device.arch, b.device.arch);
    ASSERT_EQ(a.metrics.all().size(), b.metrics.all().size());
    for (const auto& [name, metric] : a.metrics.all()) {
      const Metric* other = b.metrics.find(name);
      ASSERT_NE(other, nullptr) << name;
      EXPECT_EQ(metric.value, other->value) << name;
      EXPECT_EQ(metric.unit, other->unit) << name;
      EXPECT_EQ(metric.text, other->text) << name;
    }
    ASSERT_EQ(a.vendor_rules.size(), b.vendor_rules.size());
    for (std::size_t r = 0; r < a.vendor_rules.size(); ++r) {
      EXPECT_EQ(a.vendor_rules[r].kind, b.vendor_rules[r].kind);
      EXPECT_EQ(a.vendor_rules[r].speedup_pct, b.vendor_rules[r].speedup_pct);
      EXPECT_EQ(a.vendor_rules[r].speedup_global, b.vendor_rules[r].speedup_global);
      // Lines are wrapped in the text.
      EXPECT_EQ(replace_all(a.vendor_rules[r].message, " ", ""),
                replace_all(b.vendor_rules[r].message, " ", ""));
    }
  }
  EXPECT_TRUE(contains(printed.warnings.at(0), "without fixed GPU frequencies"));
}

TEST(NcuText, SummaryWithMinimumMaximumAverage) {
  const char* name = "ncu-text/ishana23g_heat3d_summary_RTX40_print-summary.txt";
  BURNISH_NEEDS_FIXTURE(name);
  const Reading reading = read(fixture(name));
  EXPECT_EQ(reading.artefacts[0].kind, "ncu-text-summary");
  ASSERT_EQ(reading.kernels.size(), 3u);
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_EQ(kernel.name, "add_heat_kernel_3d(float *, int, int, int)");
  EXPECT_EQ(kernel.id, "mean of 4 launches");
  EXPECT_EQ(kernel.device.arch, "sm_89");
  EXPECT_EQ(kernel.launch.grid, (std::array<std::int64_t, 3>{2, 2, 2}));
  EXPECT_EQ(kernel.launch.block, (std::array<std::int64_t, 3>{8, 8, 8}));
  EXPECT_NEAR(value(kernel, "time.device"), 2.07e-6, 1e-15);
  EXPECT_NEAR(value(kernel, "memory.throughput_pct"), 11.00, 1e-12);
}

TEST(NcuText, SummaryByGpu) {
  const Reading reading = read(data("summary_per_gpu.txt"));
  ASSERT_EQ(reading.kernels.size(), 2u);
  EXPECT_EQ(reading.kernels[0].name, "accidental_double(const float *, float *, int)");
  EXPECT_EQ(reading.kernels[0].device.arch, "sm_90");
  EXPECT_NEAR(value(reading.kernels[0], "time.device"), 550.14e-6, 1e-12);
}

TEST(NcuText, LaunchLinesOfEachVersion) {
  const std::string section =
      "    Section: GPU Speed Of Light Throughput\n"
      "    ----------- ----------- ------------\n"
      "    Metric Name Metric Unit Metric Value\n"
      "    ----------- ----------- ------------\n"
      "    Duration             us         3.23\n"
      "    ----------- ----------- ------------\n";
  const auto one = read_text_page(
      "[7] a@h\n  f(int, g<1, 2>), 2020-Oct-01 05:00:00, Context 1, Stream 7\n" + section, "a.txt");
  ASSERT_TRUE(one) << one.error().to_string();
  EXPECT_EQ(one->kernels.at(0).name, "f(int, g<1, 2>)");
  EXPECT_NEAR(value(one->kernels[0], "time.device"), 3.23e-6, 1e-15);
  const auto range = read_text_page("  range, Context 1, Device 0, CC 9.0\n" + section, "b.txt");
  ASSERT_TRUE(range) << range.error().to_string();
  EXPECT_EQ(range->kernels.at(0).name, "range");
  EXPECT_EQ(range->kernels[0].device.arch, "sm_90");
}

TEST(NcuText, TruncatedNeverCrashes) {
  const std::string whole = bytes_of(data("summary_per_gpu.txt"));
  for (int part = 0; part < 64; ++part) {
    const auto reading =
        read_text_page(std::string_view(whole).substr(0, whole.size() * part / 64), "cut.txt");
    if (!reading) {
      EXPECT_EQ(reading.error().kind, ErrorKind::bad_input);
    }
  }
}

}  // namespace
}  // namespace burnish::profile
