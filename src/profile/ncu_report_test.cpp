#include "profile/ncu_report.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/random.h"
#include "base/text.h"
#include "profile/hot_spots.h"
#include "profile/testing.h"

namespace burnish::profile {
namespace {

using nvidia::read_report;
using testing::bytes_of;
using testing::data;
using testing::fixture;
using testing::read;
using testing::rule;
using testing::text;
using testing::value;

using Size = std::array<std::int64_t, 3>;

std::size_t fired(const KernelProfile& kernel) {
  return static_cast<std::size_t>(
      std::count_if(kernel.vendor_rules.begin(), kernel.vendor_rules.end(),
                    [](const VendorRule& one) { return one.kind != "ok"; }));
}

std::size_t raw_metrics(const KernelProfile& kernel) {
  return static_cast<std::size_t>(std::count_if(
      kernel.metrics.all().begin(), kernel.metrics.all().end(), [](const auto& entry) {
        return entry.second.where.locator.find("metric") != std::string::npos &&
               entry.first == entry.second.where.raw_name;
      }));
}

// What fixtures/manifest.tsv says of each report.

TEST(NcuReport, CuVectorAddDrv2022) {
  BURNISH_NEEDS_FIXTURE("ncu-rep/CuVectorAddDrv.ncu-rep");
  const Reading reading = read(fixture("ncu-rep/CuVectorAddDrv.ncu-rep"));
  ASSERT_EQ(reading.kernels.size(), 1u);
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_EQ(kernel.name, "VecAdd_kernel");  // no demangled name: a driver-API launch
  EXPECT_EQ(kernel.device.arch, "sm_86");
  EXPECT_EQ(kernel.device.name, "NVIDIA GeForce RTX 3070");
  EXPECT_EQ(kernel.launch.grid, (Size{196, 1, 1}));
  EXPECT_EQ(kernel.launch.block, (Size{256, 1, 1}));
  EXPECT_EQ(raw_metrics(kernel), 268u - 3);  // three NVLink metrics have no value
  EXPECT_DOUBLE_EQ(value(kernel, "time.device"), 3232e-9);
  EXPECT_NEAR(value(kernel, "sm.throughput_pct"), 5.94, 0.005);
  EXPECT_NEAR(value(kernel, "memory.throughput_pct"), 31.28, 0.005);
  EXPECT_NEAR(value(kernel, "dram.throughput_pct"), 31.28, 0.005);
  EXPECT_NEAR(value(kernel, "launch.waves"), 0.71, 0.005);
  EXPECT_NEAR(value(kernel, "occupancy.achieved_pct"), 54.31, 0.005);
  EXPECT_EQ(value(kernel, "occupancy.theoretical_pct"), 100);
  EXPECT_EQ(text(kernel, "occupancy.limiter"), "none");
  EXPECT_EQ(value(kernel, "registers.allocated"), 16);
  // The cubin has REGCOUNT 12; 16 is only what ncu reports at least.
  EXPECT_FALSE(kernel.metrics.find("registers.used"));
  EXPECT_TRUE(kernel.not_measured.count("registers.used"));
  // Advice came as warnings in 2022.3.
  ASSERT_NE(rule(kernel, "Occupancy"), nullptr);
  EXPECT_EQ(rule(kernel, "Occupancy")->kind, "optimization");
  ASSERT_NE(rule(kernel, "SOLBottleneck"), nullptr);
  EXPECT_FALSE(contains(rule(kernel, "SOLBottleneck")->message, "@"));
  EXPECT_EQ(rule(kernel, "LaunchConfiguration"), nullptr);
  EXPECT_EQ(kernel.vendor_rules.size(), 3u);
  EXPECT_EQ(reading.session.at("clock_control"), "base");
  EXPECT_EQ(reading.session.at("driver"), "515.43.04");
  EXPECT_EQ(reading.artefacts[0].version, "2022.3.0.0");
  ASSERT_EQ(reading.code.size(), 1u);
  EXPECT_EQ(reading.code[0].bytes.substr(0, 4),
            "\x7f"
            "ELF");
}

TEST(NcuReport, ManualNvtx2022) {
  BURNISH_NEEDS_FIXTURE("ncu-rep/manual_nvtx.ncu-rep");
  const Reading reading = read(fixture("ncu-rep/manual_nvtx.ncu-rep"));
  ASSERT_EQ(reading.kernels.size(), 3u);
  const char* names[] = {"init_data_kernel(int, double *)",
                         "daxpy_kernel(int, double, double *, double *)",
                         "check_results_kernel(int, double, double *)"};
  const double nanoseconds[] = {84480, 249216, 88512};
  const double dram[] = {88.20, 90.72, 94.74};
  const double registers[] = {16, 16, 32};
  for (std::size_t i = 0; i < 3; ++i) {
    const KernelProfile& kernel = reading.kernels[i];
    EXPECT_EQ(kernel.name, names[i]);
    EXPECT_EQ(kernel.id, std::to_string(i));
    EXPECT_EQ(kernel.launch.grid, (Size{16384, 1, 1}));
    EXPECT_EQ(kernel.launch.block, (Size{256, 1, 1}));
    EXPECT_DOUBLE_EQ(value(kernel, "time.device"), nanoseconds[i] * 1e-9);
    EXPECT_NEAR(value(kernel, "dram.throughput_pct"), dram[i], 0.005);
    EXPECT_EQ(value(kernel, "registers.allocated"), registers[i]);
    EXPECT_FALSE(kernel.lines.empty());
  }
  EXPECT_EQ(value(reading.kernels[2], "registers.used"), 32);
  EXPECT_TRUE(text(reading.kernels[1], "hotspot.stall").starts_with("manual_nvtx.cu:69 "));
}

TEST(NcuReport, VecAdd2024) {
  BURNISH_NEEDS_FIXTURE("ncu-rep/LakshyaSingh354_vec_add.ncu-rep");
  const Reading reading = read(fixture("ncu-rep/LakshyaSingh354_vec_add.ncu-rep"));
  ASSERT_EQ(reading.kernels.size(), 1u);
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_EQ(kernel.device.arch, "sm_75");
  EXPECT_EQ(kernel.device.name, "NVIDIA GeForce GTX 1660 SUPER");
  EXPECT_EQ(kernel.launch.grid, (Size{4096, 1, 1}));
  EXPECT_DOUBLE_EQ(value(kernel, "time.device"), 41696e-9);
  EXPECT_NEAR(value(kernel, "dram.throughput_pct"), 91.68, 0.005);
  EXPECT_NEAR(value(kernel, "sm.throughput_pct"), 19.50, 0.005);
  EXPECT_NEAR(value(kernel, "occupancy.achieved_pct"), 89.18, 0.005);
  EXPECT_NEAR(value(kernel, "l2.hit_pct"), 33.48, 0.005);
  EXPECT_NEAR(value(kernel, "launch.waves"), 46.55, 0.005);
  EXPECT_TRUE(text(kernel, "memory.bound_unit").starts_with("device memory"));
  // ncu counts some "shared" wavefronts here, though the kernel has no shared memory.
  EXPECT_GT(value(kernel, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"), 0);
  EXPECT_EQ(value(kernel, "shared.wavefronts"), 0);
  EXPECT_FALSE(kernel.metrics.find("shared.conflict_ways"));
  EXPECT_EQ(reading.session.at("driver"), "570.133.20");
}

TEST(NcuReport, MatrixAddition2024) {
  BURNISH_NEEDS_FIXTURE("ncu-rep/armleth_report.ncu-rep");
  const Reading reading = read(fixture("ncu-rep/armleth_report.ncu-rep"));
  ASSERT_EQ(reading.kernels.size(), 1u);
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_EQ(kernel.name, "matrix_addition2D(float *, float *, float *, int, int)");
  EXPECT_EQ(kernel.symbol, "_Z17matrix_addition2DPfS_S_ii");
  EXPECT_EQ(kernel.device.name, "Tesla T4");
  EXPECT_EQ(kernel.launch.grid, (Size{63, 63, 1}));
  EXPECT_EQ(kernel.launch.block, (Size{16, 16, 1}));
  EXPECT_DOUBLE_EQ(value(kernel, "time.device"), 52576e-9);
  EXPECT_NEAR(value(kernel, "dram.throughput_pct"), 88.39, 0.005);
}

TEST(NcuReport, OldSchema2020) {
  BURNISH_NEEDS_FIXTURE("ncu-rep/thedavidchu_profile.ncu-rep");
  const Reading reading = read(fixture("ncu-rep/thedavidchu_profile.ncu-rep"));
  ASSERT_EQ(reading.kernels.size(), 1u);
  const KernelProfile& kernel = reading.kernels[0];
  EXPECT_TRUE(kernel.name.starts_with("kernel(int const*, "));
  EXPECT_EQ(kernel.launch.grid, (Size{19532, 1, 1}));
  EXPECT_EQ(kernel.launch.block, (Size{512, 1, 1}));
  EXPECT_DOUBLE_EQ(value(kernel, "time.device"), 336704e-9);
  EXPECT_NEAR(value(kernel, "dram.throughput_pct"), 53.42, 0.005);
  EXPECT_NEAR(value(kernel, "sm.throughput_pct"), 49.01, 0.005);
  EXPECT_EQ(kernel.vendor_rules.size(), 27u);
  EXPECT_EQ(fired(kernel), 5u);
  EXPECT_NE(rule(kernel, "CPIStallBarrier"), nullptr);
  // A block's registers in those days: 12,288 over 16 warps.
  EXPECT_EQ(value(kernel, "registers.allocated"), 24);
  EXPECT_EQ(value(kernel, "registers.used"), 18);
}

TEST(NcuReport, H200) {
  BURNISH_NEEDS_FIXTURE("h200/k.ncu-rep");
  const Reading reading = read(fixture("h200/k.ncu-rep"));
  ASSERT_EQ(reading.kernels.size(), 3u);
  const KernelProfile& saxpy = reading.kernels[0];
  const KernelProfile& transpose = reading.kernels[1];
  const KernelProfile& spill = reading.kernels[2];

  EXPECT_EQ(saxpy.name, "saxpy(int, float, const float *, float *)");
  EXPECT_EQ(saxpy.device.arch, "sm_90");
  EXPECT_EQ(saxpy.launch.shared_bytes, 0);
  EXPECT_NEAR(value(saxpy, "dram.bandwidth"), 3.4163e12, 1e8);
  EXPECT_NEAR(value(saxpy, "dram.throughput_pct"), 71.01, 0.005);
  EXPECT_DOUBLE_EQ(value(saxpy, "flops.fp32"), 2 * 67108864.0);
  EXPECT_EQ(value(saxpy, "global.load_bytes_per_sector_pct"), 100);
  EXPECT_EQ(value(saxpy, "shared.wavefronts"), 0);
  EXPECT_EQ(value(saxpy, "device.compute_units"), 132);

  // ncu prints template arguments without their casts; the report has "(int)32".
  EXPECT_EQ(transpose.name, "void transpose_bank<32>(const float *, float *, int)");
  EXPECT_EQ(transpose.launch.shared_bytes, 4096);  // not the driver's 1,024 too
  EXPECT_NEAR(value(transpose, "shared.conflict_ways"), 32.2, 0.05);
  EXPECT_EQ(value(transpose, "shared.conflicts"), 65359228 + 181909);
  EXPECT_EQ(text(transpose, "hotspot.shared"), "k.cu:4 (+0x1b0)");
  EXPECT_EQ(value(transpose, "hotspot.shared_pct"), 100);
  const VendorRule* conflicts = rule(transpose, "SharedMemoryConflicts");
  ASSERT_NE(conflicts, nullptr);
  EXPECT_EQ(conflicts->kind, "optimization");
  EXPECT_TRUE(conflicts->speedup_global);
  EXPECT_NEAR(*conflicts->speedup_pct, 61.0, 0.05);
  EXPECT_TRUE(contains(conflicts->message, "32.2 - way bank conflict"));

  // Heavy local traffic of an indexed array, and not one spilled register.
  EXPECT_EQ(value(spill, "spill.instructions"), 0);
  EXPECT_EQ(value(spill, "local.instructions"), 5077248 + 3387648);
  EXPECT_GT(value(spill, "local.bytes"), 1e9);
  EXPECT_EQ(value(spill, "registers.used"), 70);
  EXPECT_EQ(value(spill, "registers.allocated"), 72);
  EXPECT_EQ(value(spill, "occupancy.theoretical_pct"), 43.75);
  EXPECT_EQ(text(spill, "occupancy.limiter"), "registers");
  EXPECT_TRUE(text(spill, "hotspot.local").starts_with("k.cu:5 "));

  EXPECT_EQ(reading.session.at("clock_control"), "none");
  EXPECT_EQ(reading.session.at("driver"), "580.159");
  EXPECT_EQ(reading.session.at("cuda"), "13.0");
  EXPECT_TRUE(contains(reading.session.at("command_line"), "--set full"));
  EXPECT_EQ(reading.artefacts[0].kind, "ncu-rep");
  EXPECT_EQ(reading.artefacts[0].hash.size(), 32u);
  EXPECT_TRUE(reading.warnings.empty());
}

TEST(NcuReport, EveryNumberPointsIntoTheArtefact) {
  BURNISH_NEEDS_FIXTURE("h200/k.ncu-rep");
  const Reading reading = read(fixture("h200/k.ncu-rep"));
  for (const KernelProfile& kernel : reading.kernels) {
    EXPECT_TRUE(kernel.metrics.disagreements().empty());
    for (const auto& [name, metric] : kernel.metrics.all()) {
      EXPECT_EQ(metric.where.file, fixture("h200/k.ncu-rep").string()) << name;
      EXPECT_EQ(metric.where.hash, reading.artefacts[0].hash) << name;
      EXPECT_FALSE(metric.where.locator.empty()) << name;
      EXPECT_FALSE(metric.where.raw_name.empty()) << name;
      EXPECT_FALSE(metric.unit.empty()) << name;
      EXPECT_TRUE(std::isfinite(metric.value)) << name;
    }
  }
}

TEST(NcuReport, StallSharesAddUp) {
  BURNISH_NEEDS_FIXTURE("h200/k.ncu-rep");
  for (const KernelProfile& kernel : read(fixture("h200/k.ncu-rep")).kernels) {
    double sum = 0;
    for (const auto& [name, metric] : kernel.metrics.all()) {
      if (name.starts_with("stall.")) sum += metric.value;
    }
    EXPECT_NEAR(sum, 100, 1) << kernel.name;
  }
}

// The worst access of all is a load; the worst store lies elsewhere.
TEST(HotSpots, LoadsAndStoresHaveTheirOwn) {
  KernelProfile kernel;
  kernel.id = "0";
  kernel.instances = {
      {"memory_access_type", {{0x10, 2}, {0x20, 2}, {0x30, 4}, {0x40, 4}, {0x50, 0}}, {}},
      {"memory_l2_theoretical_sectors_global",
       {{0x10, 80}, {0x20, 20}, {0x30, 30}, {0x40, 40}, {0x50, 99}},
       {}},
      {"memory_l2_theoretical_sectors_global_ideal",
       {{0x10, 10}, {0x20, 20}, {0x30, 10}, {0x40, 10}, {0x50, 99}},
       {}}};
  add_hot_spots(kernel);
  EXPECT_EQ(text(kernel, "hotspot.global"), "+0x10");
  EXPECT_EQ(text(kernel, "hotspot.global_load"), "+0x10");
  EXPECT_EQ(value(kernel, "hotspot.global_load_pct"), 100);
  EXPECT_EQ(text(kernel, "hotspot.global_store"), "+0x40");
  EXPECT_EQ(value(kernel, "hotspot.global_store_pct"), 60);
  EXPECT_EQ(kernel.metrics.find("hotspot.global_store")->where.locator,
            "kernel 0, instruction +0x40");

  kernel.metrics = {};
  kernel.instances.erase(kernel.instances.begin());
  add_hot_spots(kernel);
  EXPECT_EQ(text(kernel, "hotspot.global"), "+0x10");
  EXPECT_EQ(kernel.metrics.find("hotspot.global_store"), nullptr)
      << "nothing says which of them stores";
}

// Our own run of kernels with known faults; see testdata/README.md.

TEST(NcuReport, CompressedReport) {
  const Reading reading = read(data("faults.ncu-repz"));
  ASSERT_EQ(reading.kernels.size(), 6u);
  const KernelProfile& strided = reading.kernels[0];
  EXPECT_NEAR(value(strided, "global.excess_sectors_pct"), 87.5, 1e-9);
  EXPECT_NEAR(value(strided, "global.load_bytes_per_sector_pct"), 12.5, 1e-9);
  EXPECT_TRUE(text(strided, "hotspot.global").starts_with("p.cu:11 "));
  EXPECT_EQ(text(strided, "hotspot.global_load"), "p.cu:11 (+0x2b0)");
  EXPECT_EQ(text(strided, "hotspot.global_store"), "p.cu:11 (+0x2f0)");
  EXPECT_NEAR(value(reading.kernels[1], "threads.per_instruction_ratio"), 0.5015, 1e-4);
  EXPECT_EQ(text(reading.kernels[1], "hotspot.divergence").substr(0, 8), "p.cu:18 ");
  EXPECT_EQ(value(reading.kernels[2], "atomics.requests"), 524288);
  EXPECT_EQ(value(reading.kernels[3], "flops.fp64"), 2.0 * 64 * (1 << 24));
  EXPECT_GT(value(reading.kernels[4], "spill.instructions"), 4e7);
  EXPECT_TRUE(text(reading.kernels[4], "hotspot.local").starts_with("p.cu:43 "));
  EXPECT_EQ(value(reading.kernels[5], "flops.tensor"), 1024.0 * 4 * 64 * 2 * 16 * 16 * 16);
  EXPECT_EQ(reading.artefacts[0].kind, "ncu-rep");
}

TEST(NcuReport, ValuesByInstruction) {
  const Reading reading = read(data("faults.ncu-repz"));
  const KernelProfile& kernel = reading.kernels[2];
  const auto executed =
      std::find_if(kernel.instances.begin(), kernel.instances.end(),
                   [](const InstanceValues& values) { return values.metric == "inst_executed"; });
  ASSERT_NE(executed, kernel.instances.end());
  EXPECT_EQ(executed->by_address.front().first, 0u);
  EXPECT_EQ(executed->by_address[1].first, 16u);
  const double sum =
      std::accumulate(executed->by_address.begin(), executed->by_address.end(), 0.0,
                      [](double total, const auto& entry) { return total + entry.second; });
  EXPECT_EQ(sum, value(kernel, "inst_executed"));
  const KernelProfile& converting = reading.kernels[3];
  const auto opcodes = std::find_if(converting.instances.begin(), converting.instances.end(),
                                    [](const InstanceValues& values) {
                                      return values.metric == "sass__inst_executed_per_opcode";
                                    });
  ASSERT_NE(opcodes, converting.instances.end());
  EXPECT_EQ(opcodes->by_name.front(), (std::pair<std::string, double>("F2F", 67108864)));
}

TEST(NcuReport, RangesAndGraphs) {
  const Reading range = read(data("range.ncu-repz"));
  ASSERT_EQ(range.kernels.size(), 1u);
  EXPECT_EQ(range.kernels[0].name, "range");
  EXPECT_DOUBLE_EQ(value(range.kernels[0], "time.device"), 1072960e-9);
  EXPECT_EQ(range.session.at("replay_mode"), "range");
  EXPECT_NE(rule(range.kernels[0], "SOLBottleneck"), nullptr);
  const Reading graph = read(data("graph.ncu-repz"));
  ASSERT_EQ(graph.kernels.size(), 1u);
  EXPECT_EQ(graph.kernels[0].name, "graph");
  EXPECT_DOUBLE_EQ(value(graph.kernels[0], "time.device"), 1328800e-9);
}

// The formats must not depend on luck.

std::string varint(std::uint64_t value) {
  std::string out;
  while (value >= 0x80) {
    out += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  return out + static_cast<char>(value);
}
std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
std::string bytes(int field, const std::string& content) {
  return varint((static_cast<std::uint64_t>(field) << 3) | 2) + varint(content.size()) + content;
}
std::string sized(const std::string& content) {
  std::string size(4, '\0');
  const auto count = static_cast<std::uint32_t>(content.size());
  std::memcpy(size.data(), &count, 4);
  return size + content;
}
std::string report(const std::string& blocks) {
  return std::string("NVR\0", 4) + sized(number(1, 7)) + blocks;
}
std::string block(const std::string& header, const std::string& payload) {
  return sized(header + number(5, payload.size())) + payload;
}

TEST(NcuReport, NamesAppendOverBlocks) {
  const auto metric = [](std::uint64_t name, std::uint64_t duration) {
    return bytes(13, number(1, name) + bytes(2, number(5, duration)));
  };
  const std::string first = sized(bytes(6, "one") + metric(1, 1000));
  const std::string second = sized(bytes(6, "two") + metric(2, 3) + metric(1, 2000));
  const std::string made =
      report(block(number(2, 1) + bytes(4, bytes(1, "launch__context_id") +
                                               bytes(1, "gpu__time_duration.sum")),
                   first) +
             block(number(2, 1) + bytes(4, bytes(1, "launch__stream_id")), second));
  const auto reading = read_report(made, "made.ncu-rep");
  ASSERT_TRUE(reading) << reading.error().to_string();
  ASSERT_EQ(reading->kernels.size(), 2u);
  EXPECT_DOUBLE_EQ(value(reading->kernels[0], "time.device"), 1e-6);
  EXPECT_DOUBLE_EQ(value(reading->kernels[1], "time.device"), 2e-6);
  EXPECT_EQ(value(reading->kernels[1], "launch__stream_id"), 3);
}

TEST(NcuReport, PercentagesThatCannotBeAreTakenOut) {
  std::string hundred(8, '\0');
  const double odd = 131;
  std::memcpy(hundred.data(), &odd, 8);
  const std::string made = report(block(
      number(2, 1) +
          bytes(4, bytes(1, "lts__t_sector_hit_rate.pct") + bytes(1, "gpu__time_duration.sum")),
      sized(bytes(6, "k") + bytes(13, number(1, 0) + bytes(2, varint(3 << 3 | 1) + hundred)) +
            bytes(13, number(1, 1) + bytes(2, number(5, 0))))));
  const auto reading = read_report(made, "made.ncu-rep");
  ASSERT_TRUE(reading) << reading.error().to_string();
  const KernelProfile& kernel = reading->kernels[0];
  EXPECT_FALSE(kernel.metrics.find("l2.hit_pct"));
  EXPECT_EQ(value(kernel, "lts__t_sector_hit_rate.pct"), 131);  // as the report has it
  EXPECT_FALSE(kernel.metrics.find("time.device"));
  ASSERT_EQ(kernel.implausible.size(), 2u);
  EXPECT_TRUE(contains(kernel.implausible[0], "l2.hit_pct: 131 %"));
}

TEST(NcuReport, RefusesHostileLengths) {
  const std::string hostile[] = {
      std::string("NVR\0", 4),
      std::string("NVR\0\xff\xff\xff\xff", 8),
      report("\xff\xff\xff\x7f"),
      report(sized(number(1, 1) + number(5, 0xffffffffffull))),
      // Four billion results in ten bytes.
      report(block(number(2, 0xffffffffu), std::string(10, '\0'))),
      report(block(number(2, 1), "\xff\xff\xff\xff")),
      report(block(number(2, 1), sized(varint(13 << 3 | 2) + varint(1ull << 60)))),
      report(block(number(2, 1), sized(bytes(13, number(1, 99) + bytes(2, number(5, 1)))))),
      report(block(number(2, 1), sized(std::string(20, '\xff')))),
      report(sized(bytes(4, "\x0a\xff\xff\xff\xff\x0f"))),
  };
  for (const std::string& one : hostile) {
    const auto reading = read_report(one, "hostile.ncu-rep");
    ASSERT_FALSE(reading) << one.size();
    EXPECT_EQ(reading.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(contains(reading.error().to_string(), "hostile.ncu-rep: "))
        << reading.error().message;
    EXPECT_TRUE(contains(reading.error().message, " at byte ")) << reading.error().message;
  }
}

TEST(NcuReport, TruncatedAnywhereIsAnErrorOrAWholeReport) {
  BURNISH_NEEDS_FIXTURE("ncu-rep/manual_nvtx.ncu-rep");
  const std::string whole = bytes_of(fixture("ncu-rep/manual_nvtx.ncu-rep"));
  int errors = 0;
  for (int part = 0; part < 64; ++part) {
    const auto reading =
        read_report(std::string_view(whole).substr(0, whole.size() * part / 64), "cut.ncu-rep");
    if (!reading) {
      ++errors;
      EXPECT_EQ(reading.error().kind, ErrorKind::bad_input);
      EXPECT_TRUE(contains(reading.error().message, "byte ")) << reading.error().message;
    }
  }
  EXPECT_EQ(errors, 64);
}

TEST(NcuReport, TruncatedCompressedReport) {
  const std::string whole = bytes_of(data("range.ncu-repz"));
  for (int part = 1; part < 64; ++part) {
    const auto reading =
        read_report(std::string_view(whole).substr(0, whole.size() * part / 64), "cut.ncu-repz");
    ASSERT_FALSE(reading) << part;
    EXPECT_TRUE(contains(reading.error().message, "cut off at byte ")) << reading.error().message;
  }
  std::string other = whole;
  other[0] = '\x29';
  EXPECT_FALSE(nvidia::is_report(other));
}

TEST(NcuReport, FlippedBitsNeverCrash) {
  BURNISH_NEEDS_FIXTURE("ncu-rep/LakshyaSingh354_vec_add.ncu-rep");
  const std::string whole = bytes_of(fixture("ncu-rep/LakshyaSingh354_vec_add.ncu-rep"));
  Generator generator(20261129);
  for (int round = 0; round < 150; ++round) {
    std::string flipped = whole;
    for (int i = 0; i < 8; ++i) {
      flipped[generator.below(flipped.size())] ^= static_cast<char>(1 << generator.below(8));
    }
    const auto reading = read_report(flipped, "flipped.ncu-rep");
    if (!reading) {
      EXPECT_NE(reading.error().kind, ErrorKind::bug);
    }
  }
}

}  // namespace
}  // namespace burnish::profile
