#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "isa/isa.h"
#include "isa/nvidia.h"
#include "isa/sass_listing.h"

namespace burnish::isa::nvidia {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

fs::path testdata(const std::string& name) {
  return fs::path(BURNISH_SOURCE_DIR) / "src/isa/testdata" / name;
}

Reading read_file(const fs::path& path) {
  const auto text = real_file_system().read(path);
  EXPECT_TRUE(text) << text.error().to_string();
  if (!text) return {};
  EXPECT_TRUE(recognises_code(*text)) << path;
  auto reading = read_text(path, *text);
  EXPECT_TRUE(reading) << reading.error().to_string();
  return reading ? std::move(*reading) : Reading{};
}

Result<Reading> read_string(std::string_view text) { return read_text("a.sass", text); }

const Kernel& named(const Reading& reading, std::string_view name) {
  const auto found = std::find_if(reading.kernels.begin(), reading.kernels.end(),
                                  [&](const Kernel& kernel) { return kernel.name == name; });
  EXPECT_NE(found, reading.kernels.end()) << name;
  static const Kernel none;
  return found == reading.kernels.end() ? none : *found;
}

std::string counts(const std::map<std::string, std::int64_t>& from) {
  std::string text;
  for (const auto& [name, count] : from) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

std::string widths(const Widths& from) {
  std::string text;
  for (const auto& [kind, histogram] : from) {
    for (const auto& [bits, count] : histogram) {
      text += fmt::format("{}{} {}x{}", text.empty() ? "" : ", ", kind, count, bits);
    }
  }
  return text;
}

/// All that a golden test compares, in one text.
std::string golden(const Reading& reading) {
  std::string text;
  for (const Kernel& kernel : reading.kernels) {
    text += fmt::format("{} {} registers {} instructions {}: {}; {}; {}; spills {}/{}/{}\n",
                        kernel.name, kernel.arch, kernel.registers_used.value_or(-1),
                        kernel.instructions.size(), counts(kernel.classes), widths(kernel.widths),
                        counts(kernel.matrix_shapes), kernel.spill_loads.value_or(-1),
                        kernel.spill_stores.value_or(-1), kernel.spill_bytes.value_or(-1));
    for (const Loop& loop : kernel.loops) {
      text += fmt::format("  {}loop {} depth {} instructions {}: {}\n",
                          kernel.hot == loop.id ? "hot " : "", loop.id, loop.depth,
                          loop.instructions, counts(loop.classes));
    }
    EXPECT_TRUE(kernel.unknown_opcodes.empty()) << counts(kernel.unknown_opcodes);
  }
  return text;
}

struct Golden {
  const char* file;
  const char* text;
};

// Read off by hand against the files and kernels.cu once; ptxas -v agrees with the registers and
// the spills.
const std::vector<Golden> kGolden{
    {"sm_52.cuobjdump.sass",
     R"(indexed sm_52 registers 12 instructions 37: branch 3, local_load 2, local_store 3, other 1, valu 18, vmem_load 9, vmem_store 1; global_load 9x32, global_store 1x32; ; spills 0/0/0
  hot loop 0 depth 1 instructions 12: branch 1, local_load 1, local_store 1, valu 8, vmem_load 1
tile sm_52 registers 17 instructions 57: barrier 4, branch 4, fma 1, lds_load 2, lds_store 2, nop 2, other 2, valu 37, vmem_load 2, vmem_store 1; global_load 2x32, global_store 1x32, shared_load 2x32, shared_store 2x32; ; spills 0/0/0
  loop 0 depth 1 instructions 34: barrier 4, branch 2, fma 1, lds_load 2, lds_store 2, nop 1, valu 20, vmem_load 2
  hot loop 1 depth 2 instructions 8: branch 1, fma 1, lds_load 2, valu 4
axpy sm_52 registers 15 instructions 29: branch 3, fma 4, nop 1, other 2, valu 16, vmem_load 2, vmem_store 1; global_load 2x128, global_store 1x128; ; spills 0/0/0
  hot loop 0 depth 1 instructions 19: branch 1, fma 4, valu 11, vmem_load 2, vmem_store 1
)"},
    {"sm_61.nvdisasm-hex-gi.sass",
     R"(reduce sm_61 registers 9 instructions 49: atomic 1, branch 6, convert 2, cross_lane 4, fma 1, other 3, sfu 1, valu 29, vmem_load 1, vmem_store 1; global_load 1x64, global_store 1x64; ; spills 0/0/0
  hot loop 0 depth 1 instructions 9: branch 1, fma 1, valu 6, vmem_load 1
indexed sm_61 registers 12 instructions 37: branch 3, local_load 2, local_store 3, other 1, valu 18, vmem_load 9, vmem_store 1; global_load 9x32, global_store 1x32; ; spills 0/0/0
  hot loop 0 depth 1 instructions 12: branch 1, local_load 1, local_store 1, valu 8, vmem_load 1
)"},
    {"sm_70.nvdisasm.sass",
     R"(wmma_f16 sm_70 registers 38 instructions 80: branch 3, matrix 16, nop 1, other 6, valu 46, vmem_load 4, vmem_store 4; global_load 4x128, global_store 4x64; 8x8x4 f16 16; spills 0/0/0
  hot loop 0 depth 1 instructions 29: branch 1, matrix 16, valu 8, vmem_load 4
tile sm_70 registers 18 instructions 46: barrier 2, branch 4, fma 1, lds_load 2, lds_store 2, nop 3, other 2, valu 27, vmem_load 2, vmem_store 1; global_load 2x32, global_store 1x32, shared_load 2x32, shared_store 2x32; ; spills 0/0/0
  loop 0 depth 1 instructions 28: barrier 2, branch 2, fma 1, lds_load 2, lds_store 2, nop 2, valu 15, vmem_load 2
  hot loop 1 depth 2 instructions 8: branch 1, fma 1, lds_load 2, valu 4
)"},
    {"sm_75.cuobjdump.sass",
     R"(reduce sm_75 registers 10 instructions 48: atomic 1, branch 6, convert 2, cross_lane 4, fma 1, other 6, salu 3, sfu 1, smem 2, valu 20, vmem_load 1, vmem_store 1; global_load 1x64, global_store 1x64; ; spills 0/0/0
  hot loop 0 depth 1 instructions 9: branch 1, fma 1, valu 6, vmem_load 1
tile sm_75 registers 18 instructions 43: barrier 2, branch 4, fma 1, lds_load 2, lds_store 2, other 2, valu 27, vmem_load 2, vmem_store 1; global_load 2x32, global_store 1x32, shared_load 2x32, shared_store 2x32; ; spills 0/0/0
  loop 0 depth 1 instructions 26: barrier 2, branch 2, fma 1, lds_load 2, lds_store 2, valu 15, vmem_load 2
  hot loop 1 depth 2 instructions 8: branch 1, fma 1, lds_load 2, valu 4
)"},
    {"sm_80.nvdisasm-hex-g.sass",
     R"(mma sm_80 registers 24 instructions 52: branch 3, convert 1, cross_lane 1, matrix 2, nop 1, other 7, smem 1, valu 23, vmem_load 8, vmem_store 5; global_load 6x32, global_load 2x64, global_store 4x32, global_store 1x64; 16x8x8 tf32 1, 8x8x4 f64 1; spills 0/0/0
  hot loop 0 depth 1 instructions 11: branch 1, matrix 2, valu 6, vmem_load 2
pipeline sm_80 registers 22 instructions 42: async_copy 2, barrier 2, branch 3, fma 1, lds_load 1, nop 3, other 1, smem 1, valu 24, vmem_store 1, wait 3; global_load 2x128, global_store 1x32, shared_load 1x128; ; spills 0/0/0
  hot loop 0 depth 1 instructions 22: async_copy 1, barrier 2, branch 1, fma 1, lds_load 1, nop 3, valu 11, wait 2
)"},
    {"sm_86.cuobjdump.sass",
     R"(both sm_86 registers 24 instructions 281: branch 3, fma 20, other 2, salu 6, smem 3, spill_load 44, spill_store 57, valu 88, vmem_load 38, vmem_store 20; global_load 38x32, global_store 20x32; ; spills 44/57/404
  hot loop 0 depth 1 instructions 174: branch 1, fma 20, salu 4, spill_load 37, spill_store 35, valu 75, vmem_load 2
)"},
    {"sm_86.nvdisasm.sass",
     R"(both sm_86 registers 24 instructions 281: branch 3, fma 20, other 2, salu 6, smem 3, spill_load 44, spill_store 57, valu 88, vmem_load 38, vmem_store 20; global_load 38x32, global_store 20x32; ; spills 44/57/404
  hot loop 0 depth 1 instructions 174: branch 1, fma 20, salu 4, spill_load 37, spill_store 35, valu 75, vmem_load 2
)"},
    {"sm_89.cuobjdump.sass",
     R"(mma_fp8 sm_89 registers 18 instructions 35: branch 3, matrix 1, nop 1, other 3, smem 1, valu 16, vmem_load 6, vmem_store 4; global_load 6x32, global_store 4x32; 16x8x32 e4m3*e5m2 1; spills 0/0/0
  hot loop 0 depth 1 instructions 14: branch 1, matrix 1, valu 6, vmem_load 6
)"},
    {"sm_90a.nvdisasm-hex.sass",
     R"(wgmma sm_90a registers 34 instructions 36: branch 3, matrix 2, other 5, salu 6, smem 6, valu 4, vmem_store 8, wait 2; global_store 8x32; 64x16x16 bf16 1, 64x16x32 e4m3 1; spills 0/0/0
  hot loop 0 depth 1 instructions 11: branch 1, matrix 2, salu 5, valu 1, wait 2
tma sm_90a registers 10 instructions 90: async_copy 3, barrier 10, branch 14, cross_lane 4, fma 1, lds_load 1, lds_store 1, other 5, salu 24, smem 8, valu 16, vmem_store 1, wait 2; global_store 1x32, shared_load 1x32, shared_store 1x32; ; spills 0/0/0
  hot loop 0 depth 1 instructions 44: async_copy 2, barrier 4, branch 9, cross_lane 2, fma 1, lds_load 1, other 2, salu 12, smem 1, valu 10
  loop 1 depth 2 instructions 5: async_copy 1, branch 1, cross_lane 1, valu 2
  loop 2 depth 2 instructions 6: async_copy 1, branch 1, cross_lane 1, salu 1, valu 2
  loop 3 depth 2 instructions 2: barrier 1, branch 1
)"},
    {"sm_100a.nvdisasm-hex.sass",
     R"(tcgen05 sm_100a registers 10 instructions 106: accum_move 1, atomic 2, barrier 7, branch 18, call 1, cross_lane 3, lds_load 2, lds_store 2, matrix 1, nop 1, other 8, salu 21, smem 6, valu 29, vmem_store 1, wait 3; global_store 1x32, shared_load 1x8, shared_load 1x32, shared_store 2x32; utchmma 1; spills 0/0/0
  loop 0 depth 1 instructions 6: branch 1, other 1, salu 1, valu 1, wait 2
  hot loop 1 depth 1 instructions 42: barrier 3, branch 9, cross_lane 2, matrix 1, other 2, salu 16, valu 9
  loop 2 depth 2 instructions 5: branch 1, cross_lane 1, matrix 1, valu 2
  loop 3 depth 2 instructions 5: barrier 1, branch 1, cross_lane 1, valu 2
  loop 4 depth 2 instructions 2: barrier 1, branch 1
)"},
    {"sm_120a.nvdisasm.sass",
     R"(mma_fp8 sm_120a registers 18 instructions 35: branch 3, matrix 2, nop 2, other 3, salu 5, smem 5, valu 5, vmem_load 6, vmem_store 4; global_load 6x32, global_store 4x32; 16x8x32 e2m1 1, 16x8x32 e4m3*e5m2 1; spills 0/0/0
  hot loop 0 depth 1 instructions 14: branch 1, matrix 2, nop 2, salu 2, valu 1, vmem_load 6
)"},
};

class SassGolden : public testing::TestWithParam<Golden> {};
TEST_P(SassGolden, KernelsLoopsClassesWidthsShapesAndSpills) {
  const Reading reading = read_file(testdata(GetParam().file));
  EXPECT_EQ(reading.kind, "sass-text");
  EXPECT_EQ(golden(reading), GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(Files, SassGolden, testing::ValuesIn(kGolden), [](const auto& param) {
  std::string name = param.param.file;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
      '_');
  return name;
});

int instruction_at(const Kernel& kernel, std::uint64_t address) {
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    if (kernel.instructions[i].address == address) return static_cast<int>(i);
  }
  return -1;
}

/// Addresses of the instructions that the one at an address waits for.
std::vector<std::uint64_t> producers(const Kernel& kernel, std::uint64_t address) {
  std::vector<std::uint64_t> result;
  const int index = instruction_at(kernel, address);
  if (index < 0) return result;
  for (const int producer : kernel.instructions[static_cast<std::size_t>(index)].waits_for) {
    result.push_back(kernel.instructions[static_cast<std::size_t>(producer)].address);
  }
  return result;
}

TEST(SassText, ReportOfAnH200) {
  const fs::path path = fs::path(BURNISH_SHARED_DIR) / "fixtures/h200/k.sass";
  if (!fs::exists(path)) GTEST_SKIP() << path;
  const Reading reading = read_file(path);
  EXPECT_EQ(
      golden(reading),
      R"(void transpose_bank<32>(float const*, float*, int) sm_90 registers 14 instructions 30: barrier 1, branch 1, lds_load 1, lds_store 1, other 5, salu 2, smem 5, valu 12, vmem_load 1, vmem_store 1; global_load 1x32, global_store 1x32, shared_load 1x32, shared_store 1x32; ; spills 0/0/0
spill(float*, int) sm_90 registers 70 instructions 711: branch 3, fma 64, local_load 112, local_store 80, other 6, salu 220, smem 5, valu 156, vmem_load 64, vmem_store 1; global_load 64x32, global_store 1x32; ; spills 0/0/0
  hot loop 0 depth 1 instructions 478: branch 1, fma 64, local_load 96, local_store 64, salu 165, valu 88
saxpy(int, float, float const*, float*) sm_90 registers 10 instructions 19: branch 2, fma 1, other 2, smem 7, valu 4, vmem_load 2, vmem_store 1; global_load 2x32, global_store 1x32; ; spills 0/0/0
)") << "registers as k.resusage.txt has them: 14, 70 and 10";
  const Kernel& spill = named(reading, "spill(float*, int)");
  EXPECT_THAT(spill.notes, testing::Contains(HasSubstr("192 accesses to an array")));
  const MetricSet set = metrics(spill);
  EXPECT_EQ(set.value("spill.instructions"), 0) << "an indexed array is no register spill";
  EXPECT_EQ(set.value("isa.loop.scratch_loads"), 96);
  EXPECT_EQ(set.value("isa.loop.local_load"), 96);
  EXPECT_EQ(set.value("isa.loop.spill_load"), 0);
  const Kernel& transpose = named(reading, "void transpose_bank<32>(float const*, float*, int)");
  EXPECT_THAT(producers(transpose, 0x80), ElementsAre(0x10, 0x50));
  EXPECT_THAT(producers(transpose, 0x190), ElementsAre(0xc0)) << "STS waits for LDG";
  EXPECT_THAT(producers(transpose, 0x1c0), ElementsAre(0x1b0)) << "STG waits for LDS";
  EXPECT_FALSE(metrics(transpose).find("isa.loop.instructions")) << "it has no loop";
}

TEST(SassText, ControlOf128BitInstructions) {
  // From h200/k.sass: "LDG.E R0, …" and the STS that waits for it.
  const Control load = control_of_128(0x0000a2000c1e1900);
  EXPECT_EQ(load.stall, 1);
  EXPECT_EQ(load.write_barrier, 2);
  EXPECT_EQ(load.read_barrier, 0);
  EXPECT_EQ(load.wait_mask, 0);
  EXPECT_FALSE(load.yields);
  const Control consumer = control_of_128(0x001fc400078e28ff);
  EXPECT_EQ(consumer.wait_mask, 1);
  EXPECT_EQ(consumer.write_barrier, -1);
  EXPECT_EQ(consumer.read_barrier, -1);
  EXPECT_EQ(consumer.stall, 2);
  EXPECT_TRUE(consumer.yields);
  EXPECT_EQ(control_of_128(0x040fe20000000000).reuse, 1) << "VIADD R6, R7.reuse, …";
}

TEST(SassText, ControlOfGroupsOfThree) {
  const Reading reading = read_file(testdata("sm_61.nvdisasm-hex-gi.sass"));
  const Kernel& reduce = named(reading, "reduce");
  EXPECT_THAT(producers(reduce, 0xd0), ElementsAre(0x98, 0xd0))
      << "DFMA waits for LDG.E.64 and for itself, a turn ago";
  EXPECT_THAT(producers(reduce, 0x38), ElementsAre(0x18)) << "ISETP waits for S2R";
  const auto text = real_file_system().read(testdata("sm_61.nvdisasm-hex-gi.sass"));
  ASSERT_TRUE(text);
  const auto code = text->substr(text->find(".text.reduce:"),
                                 text->find(".text.indexed") - text->find(".text.reduce:"));
  EXPECT_EQ(reduce.extra.at("isa.dual_issue"),
            static_cast<double>(std::count(code.begin(), code.end(), '{')))
      << "pairs by their stall of 0 and pairs in braces";
  EXPECT_EQ(reduce.instructions[static_cast<std::size_t>(instruction_at(reduce, 0xd0))].source_line,
            76);
  EXPECT_EQ(metrics(reduce).value("isa.loop.exposed_waits"), 1);
  EXPECT_EQ(metrics(reduce).value("isa.loop.wait_distance"), 5);
  EXPECT_FALSE(metrics(reduce).find("isa.matrix")) << "sm_61 has no matrix instructions";
  EXPECT_FALSE(metrics(reduce).find("isa.salu"));
  EXPECT_FALSE(metrics(reduce).find("isa.async_copy"));
}

TEST(SassText, AsynchronousCopiesWaitForTheirGroups) {
  const Reading reading = read_file(testdata("sm_80.nvdisasm-hex-g.sass"));
  const Kernel& pipeline = named(reading, "pipeline");
  EXPECT_THAT(producers(pipeline, 0x200), ElementsAre(0xc0, 0x1f0))
      << "DEPBAR.LE SB0, 0x1 waits for the group before the last: the first one, then the loop's";
  const MetricSet set = metrics(pipeline);
  EXPECT_EQ(set.value("isa.loop.ldgsts"), 1);
  EXPECT_EQ(set.value("isa.loop.async_groups"), 1);
  EXPECT_EQ(set.value("isa.loop.nop"), 3) << "@!PT LDS fills slots and loads nothing";
  EXPECT_EQ(set.value("isa.lds_load"), 1);
  EXPECT_EQ(set.value("isa.loop.global_load_bits.128"), 1);
}

TEST(SassText, MatrixGenerations) {
  const Reading hopper = read_file(testdata("sm_90a.nvdisasm-hex.sass"));
  const MetricSet wgmma = metrics(named(hopper, "wgmma"));
  EXPECT_EQ(wgmma.value("isa.loop.wgmma"), 2);
  EXPECT_EQ(wgmma.value("isa.loop.mma"), 0);
  EXPECT_EQ(wgmma.value("isa.matrix.64x16x16_bf16"), 1);
  EXPECT_EQ(wgmma.value("isa.matrix.64x16x32_e4m3"), 1);
  EXPECT_FALSE(wgmma.find("isa.tcgen05"));
  EXPECT_THAT(producers(named(hopper, "wgmma"), 0x190), ElementsAre(0x140))
      << "WARPGROUP.DEPBAR waits for the group that ends with QGMMA";
  const MetricSet tma = metrics(named(hopper, "tma"));
  EXPECT_EQ(tma.value("isa.tma_loads"), 2) << "UTMALDG and UBLKCP";
  EXPECT_EQ(tma.value("isa.tma_stores"), 1) << "UTMASTG";
  EXPECT_EQ(tma.value("isa.loop.mbarrier_tries"), 2);
  const MetricSet blackwell =
      metrics(named(read_file(testdata("sm_100a.nvdisasm-hex.sass")), "tcgen05"));
  EXPECT_EQ(blackwell.value("isa.loop.tcgen05"), 1);
  EXPECT_EQ(blackwell.value("isa.accum_move"), 1) << "LDTM";
  EXPECT_FALSE(blackwell.find("isa.wgmma"));
}

TEST(SassText, ToolsAgreeAboutOneCode) {
  const Reading one = read_file(testdata("sm_86.cuobjdump.sass"));
  const Reading two = read_file(testdata("sm_86.nvdisasm.sass"));
  const Diff difference = diff(one, two);
  EXPECT_TRUE(difference.identical) << difference.kernels.at(0).summary;
  EXPECT_EQ(one.kernels.at(0).spill_bytes, 228 + 176) << "what ptxas -v printed";
  EXPECT_EQ(two.kernels.at(0).spill_bytes, 228 + 176);
  EXPECT_THAT(two.warnings, testing::Contains(HasSubstr("no encodings")));
  const MetricSet with = metrics(one.kernels.at(0));
  const MetricSet without = metrics(two.kernels.at(0));
  EXPECT_TRUE(with.find("isa.stall_cycles"));
  EXPECT_FALSE(without.find("isa.stall_cycles")) << "unknown is absent";
  EXPECT_TRUE(difference.kernels.at(0).changed.empty()) << "and unknown has not changed to 0";
  EXPECT_FALSE(without.find("isa.loop.exposed_waits"));
}

TEST(SassText, DiffSaysWhatChanged) {
  const Reading before = read_file(testdata("sm_75.cuobjdump.sass"));
  const Reading after = read_file(testdata("sm_52.cuobjdump.sass"));
  const Diff difference = diff(before, after);
  EXPECT_FALSE(difference.identical);
  EXPECT_THAT(difference.only_before, ElementsAre("reduce"));
  EXPECT_THAT(difference.only_after, testing::UnorderedElementsAre("indexed", "axpy"));
  ASSERT_EQ(difference.kernels.size(), 1u);
  EXPECT_EQ(difference.kernels[0].name, "tile");
  EXPECT_EQ(difference.kernels[0].changed.at("isa.barrier"), (std::pair{2.0, 4.0}));
  EXPECT_EQ(difference.kernels[0].changed.count("isa.loop.fma"), 0u);
}

/// A kernel of one loop, as nvdisasm prints it.
std::string loop_text(const std::string& body) {
  return "\t.target\tsm_90\n\t.section\t.text.k,\"ax\",@progbits\n"
         "        .other          k,@\"STO_CUDA_ENTRY STV_DEFAULT\"\n.text.k:\n"
         "        /*0000*/                   MOV R1, c[0x0][0x28] ;\n.L_x_0:\n" +
         body +
         "        /*0080*/               @P0 BRA `(.L_x_0) ;\n"
         "        /*0090*/                   EXIT ;\n.L_x_9:\n"
         "        /*00a0*/                   BRA `(.L_x_9);\n"
         "        /*00b0*/                   NOP;\n";
}

TEST(SassText, FormsOfBranches) {
  const auto reading = read_string(loop_text(
      "        /*0010*/                   BRX R4 -0x10 (*\"BRANCH_TARGETS .L_x_1,.L_x_2\"*);\n"
      ".L_x_1:\n"
      "        /*0020*/                   FADD R2, R2, R3 ;\n"
      "        /*0030*/                   BRA `(.L_x_3) ;\n"
      ".L_x_2:\n"
      "        /*0040*/                   FMUL R2, R2, R3 ;\n"
      ".L_x_3:\n"
      "        /*0050*/                   BRA.U !UP0, `(.L_x_4) ;\n"
      "        /*0060*/                   FMUL R2, R2, R2 ;\n"
      ".L_x_4:\n"
      "        /*0070*/                   CALL.REL.NOINC `($k$f) ;\n"));
  ASSERT_TRUE(reading) << reading.error().to_string();
  const Kernel& kernel = reading->kernels.at(0);
  EXPECT_EQ(kernel.instructions.size(), 10u) << "the branch to itself behind EXIT is padding";
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.loops[0].instructions, 8) << "both arms of the switch are in the loop";
  EXPECT_EQ(kernel.blocks.at(1).successors.size(), 2u);
  EXPECT_EQ(kernel.classes.at("call"), 1);
}

// A recursive function of nvcc 13.0: of its accesses ptxas marks none, and calls them spills.
TEST(SassText, WhatACalledFunctionSavesIsNoArrayForCertain) {
  const auto notes = [](const char* call) {
    const auto reading = read_string(loop_text(
        fmt::format("        /*0010*/                   {} ;\n"
                    "        /*0020*/                   STL [R1], R16 ;\n"
                    "        /*0030*/                   LDL R17, [R1+0x4] (*\"SpillRefill\"*);\n",
                    call)));
    return reading ? reading->kernels.at(0).notes : std::vector<std::string>{};
  };
  const auto says = testing::Contains(HasSubstr("that a called function saves"));
  EXPECT_THAT(notes("CALL.REL.NOINC `($k$fib)"), says);
  EXPECT_THAT(notes("MOV R2, R3"), testing::Not(says));
  EXPECT_THAT(notes("MOV R2, R3"), testing::Contains(HasSubstr("1 access to an array")));
}

TEST(SassText, LifeRangesBesideTheCode) {
  std::string text = loop_text(
      "        /*0010*/                   FADD R2, R2, R3 ;            // |  4   : v v ^\n");
  const std::size_t at = text.find(".L_x_0:\n");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 8, ".L_x_0:                       // +..............\n");
  const auto reading = read_string(text);
  ASSERT_TRUE(reading) << reading.error().to_string();
  ASSERT_EQ(reading->kernels.at(0).loops.size(), 1u) << "nvdisasm -plr";
  EXPECT_EQ(reading->kernels[0].loops[0].instructions, 2);
}

TEST(SassText, SectionsOfDataBeforeTheCode) {
  std::string text =
      "\t.target\tsm_90\n\n\t.elftype\t@\"ET_EXEC\"\n\n\t.section\t.debug_frame,\"\",@progbits\n";
  while (text.size() < 200'000) text += "        /*0010*/ \t.byte\t0xff, 0xff, 0x03, 0x00\n";
  text += loop_text("        /*0010*/                   FADD R2, R2, R3 ;\n");
  EXPECT_TRUE(is_sass(text)) << "nvdisasm without -c";
  const auto reading = read_string(text);
  ASSERT_TRUE(reading) << reading.error().to_string();
  ASSERT_EQ(reading->kernels.size(), 1u);
  EXPECT_EQ(reading->kernels[0].loops.size(), 1u);
}

TEST(SassText, TwoGroupsOfRegistersInOneAccess) {
  const auto registers = [](const char* instruction) {
    const auto reading =
        read_string(fmt::format("\tcode for sm_100\n\t\tFunction : k\n"
                                "        /*0000*/                   {} ;   /* 0x1 */\n"
                                "        /*0010*/                   EXIT ;   /* 0x1 */\n",
                                instruction));
    return reading ? reading->kernels.at(0).registers_used.value_or(-1) : -2;
  };
  // v256 of nvcc 13.0 for sm_103a: ptxas counts 18.
  EXPECT_EQ(registers("LDG.E.ENL2.256 R12, R8, desc[UR4][R2.64]"), 18);
  EXPECT_EQ(registers("STG.E.ENL2.256 desc[UR4][R4.64], R8, R12"), 18);
}

TEST(SassText, UnknownOpcodesAreCountedAsUnknown) {
  const auto reading =
      read_string(loop_text("        /*0010*/                   FROB.X2 R2, R3 ;\n"
                            "        /*0020*/              @!P1 FROB R2, R3 ;\n"));
  ASSERT_TRUE(reading);
  const Kernel& kernel = reading->kernels.at(0);
  EXPECT_EQ(kernel.classes.at("unknown"), 2);
  EXPECT_EQ(kernel.unknown_opcodes, (std::map<std::string, std::int64_t>{{"FROB", 2}}));
  EXPECT_EQ(metrics(kernel).value("isa.unknown"), 2);
}

TEST(SassText, ControlAsCuAssemblerWritesIt) {
  const auto reading = read_string(
      "code for sm_80\n\tFunction : k\n"
      "    [B------:R-:W2:-:S04]         /*0000*/                   LDG.E R2, [R4.64] ;\n"
      "    [B--2---:R-:W-:Y:S06]         /*0010*/                   FADD R2, R2, 1 ;\n"
      "    [nonsense]         /*0020*/                   EXIT ;\n");
  ASSERT_TRUE(reading) << reading.error().to_string();
  const Kernel& kernel = reading->kernels.at(0);
  ASSERT_EQ(kernel.instructions.size(), 2u);
  EXPECT_THAT(kernel.instructions[1].waits_for, ElementsAre(0));
  EXPECT_EQ(kernel.instructions[1].control->stall, 6);
  EXPECT_TRUE(kernel.instructions[1].control->yields);
}

TEST(SassText, HotLoopIsTheOneThatWorks) {
  const auto loop = [](const char* head, int at, const std::string& body) {
    return fmt::format("{}:\n{}        /*{:04x}*/               @P0 BRA `({}) ;\n", head, body, at,
                       head);
  };
  const std::string text =
      "\t.target\tsm_90\n\t.section\t.text.k,\"ax\",@progbits\n.text.k:\n" +
      loop(".L_x_0", 0x80,
           "        /*0000*/                   HMMA.16816.F32 R4, R8, R12, R4 ;\n" +
               loop(".L_x_1", 0x20,
                    "        /*0010*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], "
                    "R2 ;\n")) +
      loop(".L_x_2", 0x100,
           "        /*0090*/                   LDG.E R2, [R4.64] ;\n"
           "        /*00a0*/                   FADD R6, R6, R2 ;\n") +
      "        /*0110*/                   EXIT ;\n";
  auto reading = read_string(text);
  ASSERT_TRUE(reading) << reading.error().to_string();
  Kernel& kernel = reading->kernels.at(0);
  ASSERT_EQ(kernel.loops.size(), 3u);
  EXPECT_EQ(hot_loop(kernel), 0) << "the deepest one only waits";
  choose_hot_loop(kernel, {{0x0, 100}, {0x90, 5000}, {0xa0, 5000}});
  EXPECT_EQ(hot_loop(kernel), 2) << "what a profile counted goes before what code suggests";
  EXPECT_EQ(metrics(kernel).value("isa.loop.vmem_load"), 1);
  choose_hot_loop(kernel, {{0x110, 1e9}});
  EXPECT_EQ(hot_loop(kernel), 2) << "not in a loop";
}

TEST(SassText, LoopThatServesLanesInTurnIsNotHot) {
  // What a copy by TMA becomes whose operands ptxas does not know to be the same in all lanes.
  const std::string text =
      "\t.target\tsm_90\n\t.section\t.text.k,\"ax\",@progbits\n.text.k:\n.L_x_0:\n"
      "        /*0000*/                   HMMA.16816.F32 R4, R8, R12, R4 ;\n.L_x_1:\n"
      "        /*0010*/               @P1 R2UR P0, UR11, R99 ;\n"
      "        /*0020*/               @P1 PLOP3.LUT P1, PT, P0, PT, PT, 0x80, 0x0 ;\n"
      "        /*0030*/                   UTMASTG.3D [UR8], [UR6] ;\n"
      "        /*0040*/               @P1 BRA.U.ANY `(.L_x_1) ;\n"
      "        /*0050*/               @P2 BRA `(.L_x_0) ;\n"
      "        /*0060*/                   EXIT ;\n";
  auto reading = read_string(text);
  ASSERT_TRUE(reading) << reading.error().to_string();
  const Kernel& kernel = reading->kernels.at(0);
  ASSERT_EQ(kernel.loops.size(), 2u);
  EXPECT_EQ(kernel.loops[static_cast<std::size_t>(hot_loop(kernel))].depth, 1);
}

TEST(SassText, DamagedTextGivesLocatedErrors) {
  const auto error = [](std::string_view text) {
    const auto reading = read_string(text);
    return reading ? std::string("accepted") : reading.error().to_string();
  };
  EXPECT_THAT(error(""), HasSubstr("a.sass"));
  EXPECT_THAT(error("hello\n"), HasSubstr("no SASS instruction"));
  EXPECT_THAT(error("\n\n\tcode for sm_35\n\t\tFunction : k\n"), HasSubstr("a.sass:3"));
  EXPECT_THAT(error("\tcode for sm_90\n\t\tFunction : k\n"), HasSubstr("no SASS instruction"));
  for (const char* text :
       {"/*0000*/", "/*0000*/ ;", "/*ffffffffffffffffff*/ MOV R1, R2 ;", "/*0000*/ @P0 ;",
        "/*0000*/ @P0", "/*0000*/ { ;", "/* 0x", "//## File \"", ".section .text.", "[B",
        "[B------:R-:W", "/*0000*/ BRA `( ;", "/*0000*/ LDL R1, [R1+ ;", "/*0000*/ DEPBAR.LE SB ;",
        ".headerflags @\"EF_CUDA_SM\"", ".sectioninfo @\"SHI_REGISTERS=99999999999999999999\""}) {
    (void)error(text);  // neither crashes nor hangs
  }
  EXPECT_THAT(error("\t\tFunction : k\n  /* 0x0000000000000000 */\n"),
              HasSubstr("no SASS instruction"));
  // Every prefix and every single damaged byte of a real file.
  const auto whole = real_file_system().read(testdata("sm_61.nvdisasm-hex-gi.sass"));
  ASSERT_TRUE(whole);
  for (std::size_t size = 0; size < whole->size(); size += 97) {
    (void)error(std::string_view(*whole).substr(0, size));
  }
  for (std::size_t at = 0; at < whole->size(); at += 53) {
    std::string damaged = *whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    (void)error(damaged);
  }
}

TEST(SassText, HostileControlFlowIsBounded) {
  // 20,000 instructions that all wait and set the same scoreboard, and branch back to the start.
  std::string text = "\tcode for sm_80\n\t\tFunction : k\n";
  for (int i = 0; i < 20000; ++i) {
    text += fmt::format(
        "        /*{:04x}*/              @P0 BRA 0x{:x} ;   /* 0x0000000000000947 */\n"
        "                                /* 0x001e220000000000 */\n",
        16 * i, 16 * (i / 2));
  }
  const auto reading = read_string(text);
  ASSERT_TRUE(reading) << reading.error().to_string();
  EXPECT_EQ(reading->kernels.at(0).instructions.size(), 20000u);
}

}  // namespace
}  // namespace burnish::isa::nvidia
