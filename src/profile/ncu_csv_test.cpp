#include "profile/ncu_csv.h"

#include <cmath>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "profile/testing.h"

namespace burnish::profile {
namespace {

using nvidia::read_csv;
using testing::bytes_of;
using testing::data;
using testing::fixture;
using testing::read;
using testing::rule;
using testing::value;

TEST(NcuCsv, RawPageAndReportAgreeOnEveryValue) {
  BURNISH_NEEDS_FIXTURE("h200/k.raw.csv");
  const Reading report = read(fixture("h200/k.ncu-rep"));
  const Reading page = read(fixture("h200/k.raw.csv"));
  ASSERT_EQ(page.kernels.size(), 3u);
  int equal = 0, numbers = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const KernelProfile& ours = page.kernels[i];
    const KernelProfile& theirs = report.kernels[i];
    EXPECT_EQ(ours.name, theirs.name);
    EXPECT_EQ(ours.id, theirs.id);
    EXPECT_EQ(ours.launch.grid, theirs.launch.grid);
    EXPECT_EQ(ours.launch.block, theirs.launch.block);
    EXPECT_EQ(ours.launch.shared_bytes, theirs.launch.shared_bytes);
    EXPECT_EQ(ours.device.arch, theirs.device.arch);
    EXPECT_EQ(ours.device.name, theirs.device.name);
    for (const auto& [name, metric] : ours.metrics.all()) {
      const Metric* other = theirs.metrics.find(name);
      if (other == nullptr) {
        // A metric of instances only has no number of its own in the report.
        EXPECT_TRUE(name.find("Triage") != std::string::npos) << name;
        continue;
      }
      EXPECT_EQ(metric.unit, other->unit) << name;
      if (metric.unit == "text") {
        EXPECT_EQ(metric.text, other->text) << name;
      } else {
        ++numbers;
        const double slack = metric.resolution + 1e-9 * std::fabs(other->value);
        EXPECT_NEAR(metric.value, other->value, slack) << name << " of " << ours.name;
        if (metric.value == other->value) ++equal;
      }
    }
    // Names without a number in one have none in the other.
    for (const auto& [name, reason] : theirs.not_measured) {
      EXPECT_TRUE(ours.not_measured.count(name)) << name;
    }
  }
  EXPECT_GT(numbers, 6500);
  EXPECT_GT(equal, 3000);
}

TEST(NcuCsv, DetailsPageAgreesWithTheReportWithinItsDigits) {
  BURNISH_NEEDS_FIXTURE("h200/k.details.csv");
  const Reading report = read(fixture("h200/k.ncu-rep"));
  const Reading page = read(fixture("h200/k.details.csv"));
  ASSERT_EQ(page.kernels.size(), 3u);
  // Where the page has the rules' sentences alone, and these the source counters, which leave out
  // what the hardware adds (0.8 % here).
  const std::set<std::string> by_source_counters{"shared.wavefronts", "shared.conflicts",
                                                 "shared.pipe_pct"};
  const KernelProfile& transpose = page.kernels[1];
  EXPECT_EQ(value(transpose, "shared.wavefronts"),
            value(report.kernels[1], "memory_l1_wavefronts_shared"));
  EXPECT_EQ(value(transpose, "shared.conflicts"),
            value(report.kernels[1], "derived__memory_l1_wavefronts_shared_excessive"));
  EXPECT_NEAR(value(transpose, "shared.pipe_pct"), value(report.kernels[1], "shared.pipe_pct"),
              0.5);
  EXPECT_FALSE(page.kernels[0].metrics.find("shared.wavefronts")) << "nothing is said of saxpy's";
  int numbers = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (const auto& [name, metric] : page.kernels[i].metrics.all()) {
      const Metric* other = report.kernels[i].metrics.find(name);
      if (other == nullptr || metric.unit == "text") continue;
      if (by_source_counters.contains(name)) continue;
      ++numbers;
      EXPECT_EQ(metric.unit, other->unit) << name;
      const double slack = metric.resolution * 1.000001 + 1e-9 * std::fabs(other->value);
      EXPECT_NEAR(metric.value, other->value, slack) << name << " of " << page.kernels[i].name;
    }
    // Each rule of the page is one of the report's.
    for (const VendorRule& one : page.kernels[i].vendor_rules) {
      const auto& rules = report.kernels[i].vendor_rules;
      const auto same = std::find_if(rules.begin(), rules.end(), [&](const VendorRule& other) {
        return other.id == one.id && other.message == one.message && other.kind == one.kind &&
               other.speedup_global == one.speedup_global;
      });
      EXPECT_NE(same, rules.end()) << one.id << ": " << one.message;
    }
  }
  EXPECT_GT(numbers, 250);
  // "4.10 Kbyte" is no exact size.
  EXPECT_FALSE(page.kernels[1].launch.shared_bytes);
}

TEST(NcuCsv, NotAvailableIsNotZero) {
  BURNISH_NEEDS_FIXTURE("ncu-csv/fixture_gb10_na_thousands_cc12.1.csv");
  const Reading reading = read(fixture("ncu-csv/fixture_gb10_na_thousands_cc12.1.csv"));
  ASSERT_EQ(reading.kernels.size(), 3u);
  const double microseconds[] = {211.94, 203.02, 1205.00};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(value(reading.kernels[i], "time.device"), microseconds[i] * 1e-6, 1e-12);
    EXPECT_FALSE(reading.kernels[i].metrics.find("dram.throughput_pct"));
    EXPECT_EQ(reading.kernels[i].device.arch, "sm_121");
  }
  EXPECT_EQ(reading.kernels[0].not_measured.at("dram.throughput_pct"),
            "dram__throughput.avg.pct_of_peak_sustained_elapsed is n/a");
}

TEST(NcuCsv, RawPageWithOldUnits) {
  BURNISH_NEEDS_FIXTURE("ncu-csv/fixture_raw_units_row_nsecond_cc8.0.csv");
  const Reading reading = read(fixture("ncu-csv/fixture_raw_units_row_nsecond_cc8.0.csv"));
  ASSERT_EQ(reading.kernels.size(), 2u);
  double bytes = 0, seconds = 0;
  for (const KernelProfile& kernel : reading.kernels) {
    bytes += value(kernel, "dram.bytes_read") + value(kernel, "dram.bytes_written");
    seconds += value(kernel, "time.device");
  }
  EXPECT_EQ(bytes, 2001012288);
  EXPECT_NEAR(seconds, 2.003e-3, 1e-12);
}

TEST(NcuCsv, DetailsPageOf2023) {
  BURNISH_NEEDS_FIXTURE("ncu-csv/nsightful_copy_blocked_details.csv");
  const Reading reading = read(fixture("ncu-csv/nsightful_copy_blocked_details.csv"));
  ASSERT_EQ(reading.kernels.size(), 1u);
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_EQ(kernel.device.arch, "sm_75");
  EXPECT_NEAR(value(kernel, "time.device"), 21058944e-9, 1e-12);
  // The label "Memory Throughput" stands there twice.
  EXPECT_NEAR(value(kernel, "memory.throughput_pct"), 61.84, 1e-9);
  EXPECT_NEAR(value(kernel, "dram.bandwidth"), 196456177859.63, 1);
  EXPECT_EQ(kernel.vendor_rules.size(), 11u);
  const VendorRule* uncoalesced = rule(kernel, "UncoalescedGlobalAccess");
  ASSERT_NE(uncoalesced, nullptr);
  EXPECT_EQ(uncoalesced->kind, "optimization");
  EXPECT_TRUE(uncoalesced->speedup_global);
  EXPECT_NEAR(*uncoalesced->speedup_pct, 74.14, 1e-9);
  // The source counters are in its sentence only: 25165824 of 33554432 sectors.
  EXPECT_EQ(value(kernel, "global.excess_sectors_pct"), 75);
  EXPECT_TRUE(contains(uncoalesced->message, "25165824 excessive sectors"));
  EXPECT_EQ(kernel.metrics.find("global.excess_sectors_pct")->where.locator.substr(0, 4), "row ");
}

TEST(NcuCsv, ApplicationOutputInBetween) {
  const Reading raw = read(data("application_output_raw.csv"));
  ASSERT_EQ(raw.kernels.size(), 2u);
  EXPECT_NEAR(value(raw.kernels[0], "time.device"), 814560e-9, 1e-12);
  EXPECT_NEAR(value(raw.kernels[1], "time.device"), 23744e-9, 1e-12);
  ASSERT_EQ(raw.warnings.size(), 1u);
  EXPECT_TRUE(contains(raw.warnings[0], "unmodified GPU clocks"));
  const Reading metrics = read(data("application_output_metrics.csv"));
  ASSERT_EQ(metrics.kernels.size(), 6u);
  EXPECT_NEAR(value(metrics.kernels[0], "time.device"), 817472e-9, 1e-12);
}

TEST(NcuCsv, SectionsThatPrintTablesOfTheirOwn) {
  const Reading reading = read(data("details_all.csv"));
  ASSERT_EQ(reading.kernels.size(), 1u);
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_NEAR(value(kernel, "time.device"), 815.20e-6, 1e-12);
  EXPECT_NEAR(value(kernel, "stall.long_scoreboard_pct"), 52.23, 0.01);
  EXPECT_NEAR(value(kernel, "stall.drain_pct"), 31.46, 0.01);
  EXPECT_EQ(kernel.launch.grid, (std::array<std::int64_t, 3>{65536, 1, 1}));
}

TEST(NcuCsv, Summaries) {
  const Reading reading = read(data("summary_per_gpu.csv"));
  ASSERT_GE(reading.kernels.size(), 2u);
  EXPECT_EQ(reading.artefacts[0].kind, "ncu-csv-summary");
  EXPECT_EQ(reading.kernels[0].name, "accidental_double(const float *, float *, int)");
  EXPECT_EQ(reading.kernels[0].id, "1 launch");
  EXPECT_NEAR(value(reading.kernels[0], "time.device"), 550.14e-6, 1e-12);
  EXPECT_NEAR(reading.kernels[0].metrics.find("time.device")->resolution, 5e-9, 1e-15);
}

TEST(NcuCsv, Ranges) {
  const Reading reading = read(data("range_details.csv"));
  ASSERT_EQ(reading.kernels.size(), 1u);
  EXPECT_EQ(reading.kernels[0].name, "range");
  EXPECT_FALSE(reading.kernels[0].launch.grid);
  EXPECT_NEAR(value(reading.kernels[0], "time.device"), 1.07e-3, 1e-12);
}

constexpr std::string_view kHeader =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Block Size\",\"Grid "
    "Size\",\"CC\",";

std::string raw_page(const std::string& duration, const std::string& rate) {
  return std::string(kHeader) +
         "\"gpu__time_duration.sum\",\"sm__throughput.avg.pct_of_peak_sustained_elapsed\"\n"
         "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"ns\",\"%\"\n"
         "\"0\",\"1\",\"a\",\"h\",\"k<int, 3>(float)\",\"(32, 1, 1)\",\"(1, 1, 1)\",\"9.0\",\"" +
         duration + "\",\"" + rate + "\"\n";
}

TEST(NcuCsv, GermanNumbers) {
  const auto reading = read_csv(raw_page("117.344", "65,77"), "de.csv");
  ASSERT_TRUE(reading) << reading.error().to_string();
  EXPECT_NEAR(value(reading->kernels[0], "time.device"), 117344e-9, 1e-15);
  EXPECT_NEAR(value(reading->kernels[0], "sm.throughput_pct"), 65.77, 1e-12);
  EXPECT_EQ(reading->kernels[0].name, "k<int, 3>(float)");
}

TEST(NcuCsv, NumbersThatCouldMeanTwoThingsAreLeftOut) {
  std::string page =
      std::string(kHeader) +
      "\"gpu__time_duration.avg\",\"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed\"\n"
      "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"us\",\"%\"\n"
      "\"0\",\"1\",\"a\",\"h\",\"k\",\"(32, 1, 1)\",\"(1, 1, 1)\",\"9.0\",\"117.344\",\"66\"\n";
  const auto reading = read_csv(page, "odd.csv");
  ASSERT_TRUE(reading) << reading.error().to_string();
  const KernelProfile& kernel = reading->kernels[0];
  EXPECT_FALSE(kernel.metrics.find("time.device"));
  EXPECT_TRUE(contains(kernel.not_measured.at("time.device"), "could mean two numbers"));
  EXPECT_EQ(value(kernel, "dram.throughput_pct"), 66);
  ASSERT_EQ(reading->warnings.size(), 1u);
  EXPECT_TRUE(contains(reading->warnings[0], "117.344"));
}

TEST(NcuCsv, OutputWithoutANewlineAndRepeatedHeaders) {
  const std::string page = raw_page("1,000", "1.5");
  const std::string rows = page.substr(page.find("\"0\",\"1\""));
  const std::string header = page.substr(0, page.find("\"0\",\"1\""));
  const std::string text = "step 1: \"loss\"\nno newline here: " + header + "\"quoted output\"\n" +
                           "and before a row " + rows + "\"0\",\"x\",\"not a row\"\n" +
                           "an odd \" quote\n" + page;
  const auto reading = read_csv(text, "mixed.csv");
  ASSERT_TRUE(reading) << reading.error().to_string();
  ASSERT_EQ(reading->kernels.size(), 2u);
  for (const KernelProfile& kernel : reading->kernels) {
    EXPECT_NEAR(value(kernel, "time.device"), 1e-6, 1e-15);
  }
}

TEST(NcuCsv, RefusesRowsThatDoNotFit) {
  std::string page = raw_page("1,000", "1.5");
  page.insert(page.size() - 1, ",\"one more\"");
  const auto reading = read_csv(page, "wide.csv");
  ASSERT_FALSE(reading);
  EXPECT_EQ(reading.error().place->to_string(), "wide.csv:3:1");
  EXPECT_TRUE(contains(reading.error().message, "11 fields"));
}

TEST(NcuCsv, HeaderWithoutRowsIsNoLaunch) {
  const std::string page = raw_page("1", "1");
  const auto reading = read_csv(page.substr(0, page.find('\n') + 1), "none.csv");
  ASSERT_TRUE(reading);
  EXPECT_TRUE(reading->kernels.empty());
  ASSERT_EQ(reading->warnings.size(), 1u);
  EXPECT_TRUE(contains(reading->warnings[0], "no launch in it"));
}

TEST(NcuCsv, SourcePageIsRefusedWithTheWayOut) {
  const auto reading =
      read_csv("\"Kernel Name\",\"k(int)\",\n\"Address\",\"Source\"\n", "source.csv");
  ASSERT_FALSE(reading);
  EXPECT_TRUE(contains(reading.error().hint, "--page raw"));
}

TEST(NcuCsv, TruncatedAndFlippedNeverCrash) {
  const std::string whole = bytes_of(data("application_output_raw.csv"));
  for (int part = 0; part < 64; ++part) {
    const auto reading =
        read_csv(std::string_view(whole).substr(0, whole.size() * part / 64), "cut.csv");
    if (!reading) {
      EXPECT_EQ(reading.error().kind, ErrorKind::bad_input);
    }
  }
  Generator generator(7);
  for (int round = 0; round < 100; ++round) {
    std::string flipped = whole;
    for (int i = 0; i < 20; ++i) {
      flipped[generator.below(flipped.size())] ^= static_cast<char>(1 << generator.below(8));
    }
    const auto reading = read_csv(flipped, "flipped.csv");
    if (!reading) {
      EXPECT_EQ(reading.error().kind, ErrorKind::bad_input);
    }
  }
}

}  // namespace
}  // namespace burnish::profile
