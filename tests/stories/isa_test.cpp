// What the machine code of the two stories says, step by step: examples/depthwise_conv3d/hip and
// examples/topk_sigmoid/hip. No GPU is needed, and no time is claimed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/text.h"
#include "device/hip_compile.h"
#include "report/demo.h"
#include "story.h"

namespace burnish::stories {
namespace {

using testing::ElementsAre;

constexpr std::array kTargets{"gfx942", "gfx950"};

/// Instructions of these classes, in order, with their registers.
std::vector<std::string> only(const isa::Kernel& kernel, const std::set<std::string>& classes) {
  std::vector<std::string> texts;
  for (const auto& each : kernel.instructions)
    if (classes.contains(each.instruction_class)) texts.push_back(each.text);
  return texts;
}

class StoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = Compiler::missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
  /// Numbers are those of one compiler; another may differ in any.
  static bool exact() {
    const std::string compiler = device::hip_compiler_identity();
    return contains(compiler, fmt::format(" {}.", kTablesBy)) && contains(compiler, "clang");
  }
  static void hold_table(const char* page, const std::string& text) {
    if (!exact()) return;
    EXPECT_EQ(
        differs(fs::path(BURNISH_SOURCE_DIR) / "docs/case-studies" / page, "machine code", text),
        "");
  }
};

using Headers = StoryTest;

TEST_F(Headers, LowerWithoutADeviceLibrary) {
  const fs::path source = fs::path(BURNISH_SOURCE_DIR) / "tests/stories/headers.hip";
  const auto folder = TemporaryFolder::make("burnish-headers");
  ASSERT_TRUE(folder);
  const fs::path object = folder->path() / "headers.co";
  for (const char* arch : {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"}) {
    SCOPED_TRACE(arch);
    const bool before = std::string(arch) == "gfx942";  // either order of the standard headers
    ASSERT_EQ(compile(source, arch, {before ? "-DBEFORE" : "-DAFTER"}, object), "");
    const auto reading = isa::read_code(object, real_process_runner());
    ASSERT_TRUE(reading) << reading.error().to_string();
    EXPECT_EQ(reading->kernels.size(), 3u);
    for (const isa::Kernel& kernel : reading->kernels)
      EXPECT_EQ(kernel.workgroup_limit, kernel.name == "mathematics" ? 256 : 1024) << kernel.name;
  }
}

class Depthwise : public StoryTest {
 protected:
  static Story& story() {
    static Story story = Story::read("depthwise_conv3d", "hip", {});
    return story;
  }
  static const Compiled& step(const std::string& name, const std::string& arch) {
    return story().compiled(name, arch);
  }
};

TEST_F(Depthwise, LoadsAndMatrixInstructions) {
  EXPECT_THAT(story().steps(), ElementsAre("00", "01-channels-last", "02-lds-tile",
                                           "03-matrix-cores", "04-matrix-fragments",
                                           "05-row-interleave", "06-hints", "07-scalar-weights"));
  for (const char* arch : kTargets) {
    SCOPED_TRACE(arch);
    // A tap of the naive kernel loads an input and a weight, 16 bits each; then 8 channels at once.
    EXPECT_EQ(step("00", arch).metric("isa.loop.global_load_mean_bits"), 16);
    EXPECT_TRUE(step("00", arch).finds("amd-narrow-global-loads"));
    EXPECT_EQ(step("01-channels-last", arch).metric("isa.loop.global_load_mean_bits"), 128);
    EXPECT_FALSE(step("01-channels-last", arch).finds("amd-narrow-global-loads"));
    EXPECT_TRUE(step("01-channels-last", arch).finds("amd-exposed-loads"));
    for (const char* tiled : {"02-lds-tile", "05-row-interleave", "06-hints"}) {
      SCOPED_TRACE(tiled);
      EXPECT_EQ(step(tiled, arch).metric("isa.loop.vmem_load"), 0);
      EXPECT_EQ(step(tiled, arch).metric("isa.loop.fma"), 150);  // 75 taps of two results
      EXPECT_EQ(step(tiled, arch).metric("shared.static_bytes"), 3 * 49 * 84 * 2);
      EXPECT_EQ(step(tiled, arch).metric("scratch.bytes"), 0);
    }
    for (const char* matrix : {"03-matrix-cores", "04-matrix-fragments"}) {
      SCOPED_TRACE(matrix);
      const auto& shapes = step(matrix, arch).kernel.matrix_shapes;
      ASSERT_EQ(shapes.size(), 1u);
      EXPECT_EQ(shapes.begin()->first, "16x16x16 bf16");
      EXPECT_EQ(shapes.begin()->second, 15);
      EXPECT_EQ(step(matrix, arch).metric("isa.loop.matrix"), 15);
    }
  }
}

// Operands that are gathered by 16 bits are found, and turning the product round ends it.
TEST_F(Depthwise, MatrixOperandsInPieces) {
  for (const char* arch : kTargets) {
    SCOPED_TRACE(arch);
    const auto& pieces = step("03-matrix-cores", arch);
    EXPECT_GT(pieces.metric("isa.loop.lds_load_bits.16"), 0);
    EXPECT_GT(pieces.metric("isa.loop.matrix_narrow_fed"), 0);
    ASSERT_FALSE(pieces.findings.empty());
    EXPECT_EQ(pieces.findings.front().id, "amd-scalar-loads-for-matrix-cores");
    const auto& whole = step("04-matrix-fragments", arch);
    EXPECT_EQ(whole.metric("isa.loop.lds_load_bits.16"), 0);
    EXPECT_GE(whole.metric("isa.loop.lds_load_mean_bits"), 64);
    EXPECT_EQ(whole.metric("isa.loop.matrix_narrow_fed"), 0);
    EXPECT_FALSE(whole.finds("amd-scalar-loads-for-matrix-cores"));
    EXPECT_LT(whole.metric("isa.loop.instructions"), pieces.metric("isa.loop.instructions"));
  }
}

// One row at a time: fewer registers and fewer NOPs. On gfx950 that is two more waves; on gfx942
// the tile leaves room for two either way.
TEST_F(Depthwise, RowsInterleaved) {
  for (const char* arch : kTargets) {
    SCOPED_TRACE(arch);
    const auto& batch = step("02-lds-tile", arch);
    const auto& rows = step("05-row-interleave", arch);
    EXPECT_TRUE(batch.finds("amd-hazard-nops"));
    EXPECT_FALSE(rows.finds("amd-hazard-nops"));
    EXPECT_LT(rows.metric("registers.used"), batch.metric("registers.used") - 24);
    EXPECT_LT(rows.metric("isa.loop.nop"), batch.metric("isa.loop.nop") / 1.5);
    EXPECT_GT(rows.metric("isa.loop.wait"), batch.metric("isa.loop.wait"));
  }
  EXPECT_EQ(step("02-lds-tile", "gfx942").occupancy.waves_per_simd, 2);
  EXPECT_EQ(step("05-row-interleave", "gfx942").occupancy.waves_per_simd, 2);
  EXPECT_EQ(step("05-row-interleave", "gfx942").occupancy.limiter, "shared");
  if (!exact()) return;
  EXPECT_EQ(step("02-lds-tile", "gfx950").occupancy.waves_per_simd, 3);
  EXPECT_EQ(step("02-lds-tile", "gfx950").occupancy.limiter, "registers");
  EXPECT_EQ(step("05-row-interleave", "gfx950").occupancy.waves_per_simd, 5);
}

// The hints group nothing: inline assembly has no class that their masks could name. Every read of
// LDS, every multiply-add, every wait and every store is the same instruction in the same order.
TEST_F(Depthwise, HintsAlone) {
  for (const char* arch : kTargets) {
    SCOPED_TRACE(arch);
    const auto& before = step("05-row-interleave", arch);
    const auto& after = step("06-hints", arch);
    const auto diff = isa::diff(before.reading, after.reading);
    ASSERT_EQ(diff.kernels.size(), 1u);
    const auto& kernel = diff.kernels.front();
    for (const auto& [metric, values] : kernel.changed)
      EXPECT_TRUE(contains(metric, "nop") || contains(metric, "instructions"))
          << metric << " " << values.first << " -> " << values.second;
    EXPECT_TRUE(diff.identical || contains(kernel.summary, "(NOPs")) << kernel.summary;
    const std::set<std::string> work{"fma",       "lds_load",   "lds_store",
                                     "vmem_load", "vmem_store", "wait"};
    EXPECT_EQ(only(before.kernel, work), only(after.kernel, work));
    EXPECT_EQ(before.metric("registers.used"), after.metric("registers.used"));
    EXPECT_EQ(before.occupancy.waves_per_simd, after.occupancy.waves_per_simd);
    // A change of the code, in contrast, is one.
    const auto real =
        isa::diff(step("02-lds-tile", arch).reading, before.reading).kernels.front().changed;
    EXPECT_TRUE(real.contains("registers.used"));
    EXPECT_TRUE(real.contains("isa.loop.lds_load"));
  }
}

TEST_F(Depthwise, WeightsInScalarRegisters) {
  for (const char* arch : kTargets) {
    SCOPED_TRACE(arch);
    const auto& before = step("05-row-interleave", arch);
    const auto& after = step("07-scalar-weights", arch);
    ASSERT_FALSE(before.findings.empty());
    EXPECT_EQ(before.findings.front().id, "amd-uniform-values-in-vector-registers");
    EXPECT_GE(before.metric("isa.loop.uniform_vector_registers"), 75);
    EXPECT_FALSE(after.finds("amd-uniform-values-in-vector-registers"));
    EXPECT_GE(after.metric("registers.scalar"), 75);
    EXPECT_LE(after.metric("registers.used"), 48);
    EXPECT_EQ(after.occupancy.limiter, "shared");
    // What is left to say is that no two multiply-adds are one instruction.
    EXPECT_TRUE(after.finds("amd-unpacked-fp32"));
  }
}

// The tile that was published as an "over-allocation that does not matter": with 86 registers, the
// compiler's model says 5 waves either way; what the hardware allocates says that it costs one.
TEST_F(Depthwise, OverAllocatedTile) {
  const auto waves = [](std::int64_t bytes) {
    hardware::KernelResources resources;
    resources.threads = 256;
    resources.registers = 86;
    resources.shared_bytes = bytes;
    const auto occupancy = hardware::occupancy("gfx950", resources).value();
    return std::pair(occupancy.waves_per_simd, occupancy.hardware_waves_per_simd.value());
  };
  EXPECT_EQ(waves(32576), std::pair(5, 4));
  EXPECT_EQ(waves(24696), std::pair(5, 5));
}

TEST_F(Depthwise, Table) {
  std::string text =
      fmt::format(
          "clang {}, `-O3`, 256 threads a workgroup. Registers are used / allocated; waves are "
          "those of a SIMD by LLVM's model / with the granules that the hardware allocates "
          "LDS in. Where LDS allows two waves only, LLVM allocates the registers that no third "
          "could have. From `instructions` on one turn of the hot loop is counted, but for what "
          "moves between lanes.\n\n",
          kTablesBy) +
      report::markdown(report::machine_code(story().all({"gfx942", "gfx950"}))) +
      "\nFrom 05 to 06, which differ in scheduling hints alone, `burnish isa --diff` says:\n\n";
  for (const char* arch : kTargets)
    text += fmt::format(
        "- {}: {}\n", arch,
        isa::diff(step("05-row-interleave", arch).reading, step("06-hints", arch).reading)
            .kernels.front()
            .summary);
  hold_table("depthwise_conv3d.md", text);
}

class TopK : public StoryTest {
 protected:
  static Story& story() {
    static Story story =
        Story::read("topk_sigmoid", "hip", {{"EXPERTS", TomlValue(std::int64_t{64})}});
    return story;
  }
  static const Compiled& step(const std::string& name, const std::string& arch) {
    return story().compiled(name, arch);
  }
  static std::int64_t lanes(const Compiled& at, const char* kind) {
    return at.kernel.cross_lane.at(kind);
  }
};

// Each variant is proposed by a finding of the one before it, and its counts show what it does.
TEST_F(TopK, EachStepIsProposedByTheOneBefore) {
  EXPECT_THAT(story().steps(), ElementsAre("00", "01-lds", "02-shuffle", "03-dpp", "04-packed-key",
                                           "05-rows-a-wave"));
  for (const char* arch : kTargets) {
    SCOPED_TRACE(arch);
    const auto& naive = step("00", arch);
    EXPECT_TRUE(naive.finds("amd-exposed-loads"));
    EXPECT_GT(naive.metric("isa.loop.vmem_load"), 0);

    const auto& lds = step("01-lds", arch);
    EXPECT_EQ(lds.metric("isa.loop.vmem_load"), 0);
    EXPECT_GE(lds.metric("isa.loop.lds_store"), 4);
    ASSERT_FALSE(lds.findings.empty());
    EXPECT_EQ(lds.findings.front().id, "amd-exchange-through-lds");

    const auto& shuffle = step("02-shuffle", arch);
    EXPECT_EQ(shuffle.metric("isa.lds_store"), 0);
    EXPECT_EQ(lanes(shuffle, "bpermute"), 12);  // six steps of value and index
    ASSERT_FALSE(shuffle.findings.empty());
    EXPECT_EQ(shuffle.findings.front().id, "amd-bpermute-shuffles");

    const auto& dpp = step("03-dpp", arch);
    EXPECT_EQ(lanes(dpp, "bpermute"), 0);
    EXPECT_EQ(lanes(dpp, "dpp_quad_perm"), 4);
    EXPECT_EQ(lanes(dpp, "dpp_row_shr"), 4);
    EXPECT_EQ(lanes(dpp, "dpp_row_bcast"), 4);
    EXPECT_EQ(lanes(dpp, "readlane"), 2);
    EXPECT_EQ(dpp.metric("isa.dpp_moves"), 12);
    EXPECT_TRUE(dpp.finds("amd-selects-between-lanes"));
    EXPECT_LT(dpp.metric("isa.loop.wait"), shuffle.metric("isa.loop.wait"));

    const auto& packed = step("04-packed-key", arch);
    EXPECT_EQ(lanes(packed, "dpp_quad_perm"), 2);
    EXPECT_EQ(lanes(packed, "dpp_row_shr"), 2);
    EXPECT_EQ(lanes(packed, "dpp_row_bcast"), 2);
    EXPECT_EQ(lanes(packed, "readlane"), 1);
    EXPECT_EQ(packed.metric("isa.dpp_moves"), 0);  // part of v_max_u32
    EXPECT_FALSE(packed.finds("amd-selects-between-lanes"));
    EXPECT_LT(packed.metric("isa.loop.instructions"), 0.6 * dpp.metric("isa.loop.instructions"));
    EXPECT_TRUE(packed.finds("amd-one-element-a-lane"));

    const auto& rows = step("05-rows-a-wave", arch);
    EXPECT_EQ(lanes(rows, "dpp_quad_perm"), 2);
    EXPECT_EQ(lanes(rows, "dpp_row_bcast") + lanes(rows, "readlane"), 0);
    EXPECT_EQ(rows.metric("isa.global_load_bits.128"), 1);
    EXPECT_FALSE(rows.finds("amd-one-element-a-lane"));
    // Eight rows at once for less than one and a half times the instructions of one.
    EXPECT_LT(rows.metric("isa.loop.instructions"), 1.5 * packed.metric("isa.loop.instructions"));
  }
}

TEST_F(TopK, Table) {
  const std::string text =
      fmt::format(
          "clang {}, `-O3`, 64 experts. Registers are used / allocated; waves are those of a SIMD "
          "by LLVM's model / with the granules that the hardware allocates LDS in. The loop finds "
          "one winner and writes it; the last step serves 8 rows a wave in it, the others one.\n\n",
          kTablesBy) +
      report::markdown(report::machine_code(story().all({"gfx942", "gfx950"})));
  hold_table("topk_sigmoid.md", text);
}

}  // namespace
}  // namespace burnish::stories
