#include "hardware/occupancy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"

namespace burnish::hardware {
namespace {

const std::string kFixtures = std::string(BURNISH_SHARED_DIR) + "/fixtures/occupancy/";

/// Rows of a CSV without quotes, header first; empty when there is no such file.
std::vector<std::vector<std::string>> rows_of(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> row;
    for (std::string_view cell : split(line, ',')) row.emplace_back(trim(cell));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::set<std::string> limiters(const Occupancy& found) {
  std::set<std::string> result;
  if (found.limiter == "none") return result;
  for (const auto& [name, blocks] : found.limits) {
    if (blocks == found.blocks) result.insert(name == "warps" ? "blocks" : name);
  }
  return result;
}

TEST(NvidiaOccupancy, EqualsTheCalculatorOnEveryGoldenRow) {
  const std::string path = kFixtures + "nv_occupancy_golden_ncu2025.3.1.csv";
  auto rows = rows_of(path);
  if (rows.empty()) GTEST_SKIP() << path << " is absent";
  int compared = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto& row = rows[i];
    ASSERT_EQ(row.size(), 9u) << path << ":" << i + 1;
    KernelResources resources;
    resources.carveout_bytes = std::stoll(row[1]);
    resources.threads = std::stoi(row[2]);
    resources.registers = std::stoi(row[3]);
    resources.shared_bytes = std::stoll(row[4]);
    resources.barriers = std::stoi(row[5]);
    const std::string arch = "sm_" + replace_all(row[0], ".", "");
    auto found = occupancy(arch, resources);
    ++compared;
    if (row[6] == "0") {
      EXPECT_FALSE(found) << path << ":" << i + 1;
      continue;
    }
    ASSERT_TRUE(found) << path << ":" << i + 1 << ": " << found.error().to_string();
    EXPECT_EQ(found->blocks, std::stoi(row[6])) << path << ":" << i + 1;
    EXPECT_NEAR(found->pct, std::stod(row[7]), 5e-5) << path << ":" << i + 1;
    std::set<std::string> expected;
    for (std::string_view name : split(row[8], '|')) {
      if (name == "SHARED_MEMORY") expected.insert("shared");
      if (name == "REGISTERS" || name == "BLOCKS" || name == "BARRIERS")
        expected.insert(to_lower(name));
    }
    EXPECT_EQ(limiters(*found), expected) << path << ":" << i + 1;
  }
  EXPECT_GE(compared, 490);
}

void expect_llvm(const std::string& arch, const KernelResources& resources, int waves,
                 const std::string& row) {
  auto found = occupancy(arch, resources);
  ASSERT_TRUE(found) << row << ": " << found.error().to_string();
  EXPECT_EQ(found->waves_per_simd, waves) << row;
}

TEST(AmdOccupancy, EqualsLlvmOnEveryGoldenRow) {
  const std::string path = kFixtures + "amd_occupancy_golden_llvm22.csv";
  auto rows = rows_of(path);
  if (rows.empty()) GTEST_SKIP() << path << " is absent";
  int compared = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto& row = rows[i];
    ASSERT_EQ(row.size(), 12u) << path << ":" << i + 1;
    KernelResources resources;
    resources.registers = std::stoi(row[1]);
    resources.accum_registers = std::stoi(row[2]);
    resources.shared_bytes = std::stoll(row[3]);
    resources.threads = std::stoi(row[4]);
    expect_llvm(row[0], resources, std::stoi(row[5]), fmt::format("{}:{}", path, i + 1));
    ++compared;
  }
  EXPECT_GE(compared, 147);
}

KernelResources resources_of(int registers, std::int64_t shared, int threads) {
  KernelResources resources;
  resources.registers = registers;
  resources.shared_bytes = shared;
  resources.threads = threads;
  return resources;
}

struct CompilerTarget {
  std::string name;
  int wave;
  bool accumulators;
  std::int64_t most_shared;
};

// Rows that no fixture holds: kernels with random registers, LDS and workgroups, compiled here.
TEST(AmdOccupancy, EqualsClang22OnCompiledKernels) {
  auto clang = find_program({"clang++-22"});
  if (!clang) GTEST_SKIP() << "clang++-22 is absent";
  auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const std::vector<CompilerTarget> targets{
      {"gfx906", 64, false, 65536},  {"gfx90a", 64, true, 65536},   {"gfx942", 64, true, 65536},
      {"gfx950", 64, true, 163840},  {"gfx1030", 64, false, 65536}, {"gfx1100", 32, false, 65536},
      {"gfx1102", 32, false, 65536}, {"gfx1201", 64, false, 65536}, {"gfx1250", 32, false, 327680}};
  const int threads[] = {32, 64, 100, 128, 192, 256, 320, 512, 768, 1024};
  const int registers[] = {24, 32, 48, 61, 64, 72, 84, 96, 104, 128, 168, 200, 256};
  const int accumulators[] = {0, 0, 0, 1, 4, 16, 100};
  const int shared_sizes[] = {0,     0,     4,     1000,  4096,  13000,
                              16384, 20480, 32576, 43000, 65536, 163840};
  Generator random(20);
  int compared = 0;
  for (const CompilerTarget& target : targets) {
    std::string source;
    std::vector<KernelResources> asked;
    for (int i = 0; i < 40; ++i) {
      KernelResources each;
      each.threads = threads[random.below(std::size(threads))];
      each.registers = registers[random.below(std::size(registers))];
      each.accum_registers =
          target.accumulators ? accumulators[random.below(std::size(accumulators))] : 0;
      each.shared_bytes = shared_sizes[random.below(std::size(shared_sizes))];
      if (each.shared_bytes > target.most_shared) each.shared_bytes = 0;
      each.wave_size = target.wave;
      // The compiler refuses what cannot be launched; so does the model.
      if (!occupancy(target.name, each)) continue;
      source += fmt::format(
          "extern \"C\" __attribute__((global, amdgpu_flat_work_group_size({0},{0}),"
          "amdgpu_waves_per_eu(1))) void k{1}() {{\n",
          each.threads, asked.size());
      if (each.shared_bytes > 0) {
        source += fmt::format(
            "__attribute__((shared)) static char s[{}];"
            "asm volatile(\"; %0\" :: \"v\"(&s[0]));\n",
            each.shared_bytes);
      }
      source += fmt::format("asm volatile(\"\" ::: \"v{}\"", each.registers - 1);
      if (each.accum_registers > 0) source += fmt::format(", \"a{}\"", each.accum_registers - 1);
      source += ");\n}\n";
      asked.push_back(each);
    }
    const auto input = folder->path() / "k.hip";
    const auto output = folder->path() / "k.s";
    ASSERT_TRUE(real_file_system().write(input, source));
    ProcessSpec spec;
    spec.argv = {clang->string(),
                 "-x",
                 "hip",
                 "--cuda-device-only",
                 "--offload-arch=" + target.name,
                 "-nogpuinc",
                 "-nogpulib",
                 "-O1",
                 "-S",
                 input.string(),
                 "-o",
                 output.string()};
    if (target.wave == 64 && target.name.starts_with("gfx1"))
      spec.argv.push_back("-mwavefrontsize64");
    auto ran = real_process_runner().run(spec);
    ASSERT_TRUE(ran);
    ASSERT_TRUE(ran->ok()) << target.name << ": " << ran->errors.substr(0, 1000);
    auto text = real_file_system().read(output);
    ASSERT_TRUE(text);
    std::size_t kernel = 0;
    KernelResources used;
    for (std::string_view line : split_lines(*text)) {
      const auto number = [&](std::string_view label) -> std::optional<std::int64_t> {
        if (!line.starts_with(label)) return {};
        return parse_integer(trim(line.substr(label.size())));
      };
      if (auto value = number("; TotalNumSgprs:")) used.scalar_registers = static_cast<int>(*value);
      if (auto value = number("; NumVgprs:")) used.registers = static_cast<int>(*value);
      if (auto value = number("; NumAgprs:")) used.accum_registers = static_cast<int>(*value);
      if (auto value = number("; Occupancy:")) {
        ASSERT_LT(kernel, asked.size());
        used.threads = asked[kernel].threads;
        used.shared_bytes = asked[kernel].shared_bytes;
        used.wave_size = target.wave;
        expect_llvm(
            target.name, used, static_cast<int>(*value),
            fmt::format("{} k{}: {} threads, {}+{} VGPR, {} B", target.name, kernel, used.threads,
                        used.registers, used.accum_registers, used.shared_bytes));
        ++kernel;
        ++compared;
      }
    }
    EXPECT_EQ(kernel, asked.size()) << target.name;
  }
  EXPECT_GT(compared, 250);
}

struct Granule {
  const char* arch;
  int registers;
  std::int64_t shared;
  int threads;
  int compiler;
  int hardware;
  const char* limiter;
};

// Where the allocation granule of LDS costs a workgroup, the compiler's answer and the hardware's
// part. 182 registers in one-wave workgroups of 21,504 B: 7 workgroups are 1.75 waves a SIMD.
TEST(AmdOccupancy, TheHardwareRoundsLdsUp) {
  for (const Granule& row : {Granule{"gfx950", 155, 32576, 256, 3, 3, "registers"},
                             Granule{"gfx950", 86, 32576, 256, 5, 4, "shared"},
                             Granule{"gfx950", 86, 24704, 256, 5, 5, "registers"},
                             Granule{"gfx942", 86, 32576, 256, 2, 2, "shared"},
                             Granule{"gfx950", 44, 32576, 256, 5, 4, "shared"},
                             Granule{"gfx950", 182, 21504, 64, 2, 2, "shared"},
                             Granule{"gfx950", 24, 27304, 256, 6, 5, "shared"},
                             Granule{"gfx950", 24, 24696, 256, 6, 6, "shared"},
                             Granule{"gfx950", 24, 20480, 256, 8, 8, "none"},
                             Granule{"gfx942", 24, 33280, 256, 1, 1, "shared"}}) {
    auto found = occupancy(row.arch, resources_of(row.registers, row.shared, row.threads));
    ASSERT_TRUE(found);
    const auto label = fmt::format("{} {} {} {}", row.arch, row.registers, row.shared, row.threads);
    EXPECT_EQ(found->waves_per_simd, row.compiler) << label;
    EXPECT_EQ(found->hardware_waves_per_simd, row.hardware) << label;
    EXPECT_EQ(found->hardware_limiter, row.limiter) << label;
  }
  auto found = occupancy("gfx950", resources_of(182, 21504, 64));
  ASSERT_TRUE(found);
  EXPECT_NEAR(*found->hardware_pct, 100 * 1.75 / 8, 1e-12);
  // 320 threads are 5 waves: 6 workgroups fill 30 of 32 slots, and registers are not to blame.
  found = occupancy("gfx942", resources_of(64, 0, 320));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->hardware_limiter, "warps");
  EXPECT_EQ(found->blocks, 6);
}

TEST(AmdOccupancy, UnifiedFilesCountAccumulators) {
  KernelResources resources = resources_of(5, 0, 256);
  resources.accum_registers = 128;
  auto found = occupancy("gfx942", resources);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->waves_per_simd, 3);
  EXPECT_DOUBLE_EQ(found->pct, 37.5);
  EXPECT_EQ(found->limiter, "registers");
  found = occupancy("gfx942:sramecc+:xnack-", resources);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->waves_per_simd, 3);
  resources.accum_registers = 0;
  resources.scalar_registers = 108;
  found = occupancy("gfx942", resources);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->waves_per_simd, 7);
  EXPECT_EQ(found->limits.at("scalar_registers"), 7);
}

TEST(Occupancy, RefusesWhatItCannotModel) {
  const KernelResources some = resources_of(32, 0, 256);
  const auto message = [](const Result<Occupancy>& result) {
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_THAT(message(occupancy("gfx1300", some)), testing::HasSubstr("cannot model"));
  EXPECT_THAT(message(occupancy("sm_130", some)), testing::HasSubstr("cannot model"));
  EXPECT_THAT(message(occupancy("sm_", some)), testing::HasSubstr("cannot model"));
  EXPECT_THAT(message(occupancy("gfx9-generic", some)), testing::HasSubstr("cannot model"));
  EXPECT_THAT(message(occupancy("x86-64", some)), testing::HasSubstr("cannot model"));
  EXPECT_THAT(message(occupancy("", some)), testing::HasSubstr("cannot model"));
  EXPECT_THAT(message(occupancy("sm_90", resources_of(32, 0, 0))), testing::HasSubstr("threads"));
  EXPECT_THAT(message(occupancy("sm_90", resources_of(32, 0, 1025))),
              testing::HasSubstr("threads"));
  EXPECT_THAT(message(occupancy("sm_90", resources_of(256, 0, 32))), testing::HasSubstr("255"));
  EXPECT_THAT(message(occupancy("sm_90", resources_of(128, 0, 1024))),
              testing::HasSubstr("too much of registers"));
  EXPECT_THAT(message(occupancy("sm_90", resources_of(32, 228 * 1024, 128))),
              testing::HasSubstr("too much of shared"));
  EXPECT_THAT(
      message(occupancy("sm_90", resources_of(32, std::numeric_limits<std::int64_t>::max(), 128))),
      testing::HasSubstr("too much of shared"));
  EXPECT_THAT(message(occupancy("sm_90", resources_of(-1, 0, 128))),
              testing::HasSubstr("negative"));
  EXPECT_THAT(message(occupancy("gfx942", resources_of(32, 65537, 128))),
              testing::HasSubstr("LDS"));
  EXPECT_THAT(message(occupancy("gfx942", resources_of(32, std::int64_t{1} << 62, 128))),
              testing::HasSubstr("LDS"));
  EXPECT_THAT(message(occupancy("gfx942", resources_of(257, 0, 128))), testing::HasSubstr("256"));
  EXPECT_THAT(message(occupancy("gfx942", resources_of(256, 0, 1024))),
              testing::HasSubstr("does not fit"));
  KernelResources odd = some;
  odd.accum_registers = 4;
  EXPECT_THAT(message(occupancy("gfx1100", odd)), testing::HasSubstr("accumulation"));
  odd = some;
  odd.wave_size = 32;
  EXPECT_THAT(message(occupancy("gfx942", odd)), testing::HasSubstr("32 lanes"));
  odd.wave_size = 48;
  EXPECT_THAT(message(occupancy("gfx1100", odd)), testing::HasSubstr("48 lanes"));
  odd = some;
  odd.carveout_bytes = 1 << 20;
  EXPECT_THAT(message(occupancy("sm_90", odd)), testing::HasSubstr("carve-out"));
}

// 16 KiB of carve-out is what the driver gave a 4 KiB kernel on an H200.
TEST(NvidiaOccupancy, TheCarveOutDecides) {
  KernelResources resources = resources_of(32, 4096, 64);
  resources.carveout_bytes = 16384;
  auto found = occupancy("sm_90a", resources);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->limits.at("shared"), 3);
  EXPECT_EQ(found->limiter, "shared");
  resources.carveout_bytes.reset();
  found = occupancy("sm_90a", resources);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->blocks, 32);
  EXPECT_THAT(found->model, testing::HasSubstr("228 KiB"));
}

const std::vector<std::string> kTargets{
    "sm_70",  "sm_75",  "sm_80",   "sm_86",   "sm_90",   "sm_120",  "gfx906",  "gfx908", "gfx90a",
    "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1102", "gfx1201", "gfx1250"};

// More of a resource never raises occupancy, and the limits explain the answer.
TEST(Occupancy, IsMonotoneAndItsLimiterBinds) {
  Generator random(7);
  int launched = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string& arch = kTargets[random.below(kTargets.size())];
    KernelResources less = resources_of(static_cast<int>(random.below(256)),
                                        static_cast<std::int64_t>(random.below(70000)),
                                        1 + static_cast<int>(random.below(1024)));
    KernelResources more = less;
    more.registers += static_cast<int>(random.below(64));
    more.shared_bytes += static_cast<std::int64_t>(random.below(20000));
    more.barriers += static_cast<int>(random.below(4));
    auto light = occupancy(arch, less);
    auto heavy = occupancy(arch, more);
    const auto label = fmt::format("{} {}+{} registers, {}+{} B, {} threads", arch, less.registers,
                                   more.registers - less.registers, less.shared_bytes,
                                   more.shared_bytes - less.shared_bytes, less.threads);
    if (!light) {
      EXPECT_FALSE(heavy) << label;
      continue;
    }
    ++launched;
    ASSERT_GE(light->blocks, 1) << label;
    ASSERT_GT(light->pct, 0) << label;
    ASSERT_LE(light->pct, 100) << label;
    if (heavy) {
      EXPECT_LE(heavy->blocks, light->blocks) << label;
      EXPECT_LE(heavy->pct, light->pct) << label;
    }
    const bool amd = arch.starts_with("gfx");
    const int reached = amd ? light->waves_per_simd : light->blocks;
    for (const auto& [name, limit] : light->limits) EXPECT_GE(limit, reached) << label << name;
    if (light->limiter == "none") {
      EXPECT_DOUBLE_EQ(light->pct, 100) << label;
    } else {
      EXPECT_EQ(light->limits.at(light->limiter), reached) << label;
    }
    ASSERT_EQ(light->hardware_pct.has_value(), amd) << label;
    if (amd) {
      EXPECT_LE(*light->hardware_waves_per_simd, light->waves_per_simd) << label;
      EXPECT_LE(*light->hardware_pct, light->pct + 1e-9) << label;
      EXPECT_EQ(*light->hardware_limiter == "none", *light->hardware_pct == 100) << label;
      if (heavy) {
        EXPECT_LE(*heavy->hardware_pct, *light->hardware_pct) << label;
      }
    }
  }
  EXPECT_GT(launched, 5000);
}

// What `limits` says would be reached without the limiter is reached when it is lifted.
TEST(Occupancy, LiftingTheLimiterReachesTheNextLimit) {
  Generator random(8);
  int lifted = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string& arch = kTargets[random.below(kTargets.size())];
    KernelResources resources = resources_of(16 + static_cast<int>(random.below(200)),
                                             static_cast<std::int64_t>(random.below(60000)),
                                             32 * (1 + static_cast<int>(random.below(16))));
    auto found = occupancy(arch, resources);
    if (!found || (found->limiter != "registers" && found->limiter != "shared")) continue;
    int next = 1 << 20;
    for (const auto& [name, limit] : found->limits) {
      if (name != found->limiter) next = std::min(next, limit);
    }
    // On NVIDIA the system's own 1 KiB a block stays.
    if (found->limiter == "shared") resources.shared_bytes = 0;
    if (found->limiter == "registers") resources.registers = 1;
    auto after = occupancy(arch, resources);
    ASSERT_TRUE(after);
    const bool amd = arch.starts_with("gfx");
    EXPECT_EQ(amd ? after->waves_per_simd : after->blocks, next) << arch;
    ++lifted;
  }
  EXPECT_GT(lifted, 1000);
}

}  // namespace
}  // namespace burnish::hardware
