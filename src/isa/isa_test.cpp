#include "isa/isa.h"

#include <gmock/gmock.h>

#include <ctime>

#include "isa/flow.h"

namespace burnish::isa {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

struct Line {
  const char* text;
  const char* instruction_class;
  int width_bits = 0;
};

Kernel kernel_of(const std::string& name, const std::vector<Line>& lines, std::uint64_t base = 0,
                 std::string arch = "sm_90") {
  Kernel kernel;
  kernel.name = kernel.symbol = name;
  kernel.arch = std::move(arch);
  kernel.where.file = name + ".cubin";
  for (const Line& line : lines) {
    Instruction instruction;
    instruction.address = base + 16 * kernel.instructions.size();
    instruction.text = line.text;
    instruction.opcode = instruction.text.substr(0, instruction.text.find(' '));
    instruction.instruction_class = line.instruction_class;
    instruction.width_bits = line.width_bits;
    kernel.instructions.push_back(std::move(instruction));
  }
  std::vector<Flow> flow(lines.size());
  if (!flow.empty()) flow.back().kind = Flow::Kind::end;
  count_classes(kernel);
  find_loops(kernel, flow);
  return kernel;
}

const std::vector<Line> kCode{{"LDG.E.128 R4, [R2]", "vmem_load", 128},
                              {"FFMA R4, R5, R6, R7", "fma"},
                              {"BRA 0x40", "branch"},
                              {"STG.E [R2], R4", "vmem_store", 32}};

Reading reading_of(std::vector<Kernel> kernels) {
  Reading reading;
  reading.kernels = std::move(kernels);
  return reading;
}

TEST(Isa, MetricsOfAKernel) {
  Kernel kernel = kernel_of("k", kCode);
  kernel.registers_used = 40;
  kernel.shared_bytes = 1024;
  kernel.spill_loads = 2;
  kernel.cross_lane["shuffle"] = 3;
  kernel.matrix_shapes["16x8x16 bf16"] = 4;
  kernel.extra["isa.own"] = 0.5;
  const MetricSet found = metrics(kernel);
  EXPECT_EQ(found.value("registers.used"), 40);
  EXPECT_EQ(found.value("shared.static_bytes"), 1024);
  EXPECT_EQ(found.find("shared.static_bytes")->unit, "B");
  EXPECT_EQ(found.value("spill.instructions"), 2);
  EXPECT_FALSE(found.find("spill.bytes")) << "absent is not zero";
  EXPECT_FALSE(found.find("registers.accum"));
  EXPECT_EQ(found.value("isa.instructions"), 4);
  EXPECT_EQ(found.value("isa.fma"), 1);
  EXPECT_EQ(found.value("isa.lds_load"), 0);
  EXPECT_EQ(found.value("isa.global_load_bits.128"), 1);
  EXPECT_EQ(found.value("isa.global_load_bits.32"), 0);
  EXPECT_EQ(found.value("isa.global_load_mean_bits"), 128);
  EXPECT_FALSE(found.find("isa.lds_load_mean_bits"));
  EXPECT_EQ(found.value("isa.cross_lane.shuffle"), 3);
  EXPECT_EQ(found.value("isa.matrix.16x8x16_bf16"), 4);
  EXPECT_EQ(found.value("isa.own"), 0.5);
  EXPECT_FALSE(found.find("isa.loop.fma")) << "there is no loop";
  EXPECT_EQ(found.find("isa.fma")->where.file, "k.cubin");
}

TEST(Isa, ResourcesAloneGiveNoCounts) {
  Kernel kernel;
  kernel.registers_used = 8;
  const MetricSet found = metrics(kernel);
  EXPECT_EQ(found.value("registers.used"), 8);
  EXPECT_EQ(found.all().size(), 1u);
}

TEST(Isa, HotLoopIsTheDeepestThenTheLargest) {
  Kernel kernel;
  EXPECT_EQ(hot_loop(kernel), -1);
  const auto loop = [&](int depth, std::int64_t size) {
    Loop one;
    one.depth = depth;
    one.instructions = size;
    kernel.loops.push_back(one);
  };
  loop(1, 100);
  loop(2, 10);
  loop(2, 30);
  loop(2, 20);
  EXPECT_EQ(hot_loop(kernel), 2);
}

TEST(Isa, FilesThatAreNoCode) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const auto error = [&](std::string_view content) {
    const fs::path path = folder->path() / "file";
    EXPECT_TRUE(real_file_system().write(path, content));
    const auto reading = read_code(path, real_process_runner());
    return reading ? std::string("accepted") : reading.error().to_string();
  };
  EXPECT_THAT(error(""), HasSubstr("empty"));
  EXPECT_THAT(error("just text\n"), HasSubstr("no machine code"));
  EXPECT_THAT(error(std::string(1 << 16, '\0')), HasSubstr("no machine code"));
  EXPECT_FALSE(read_code(folder->path() / "absent", real_process_runner()));
  EXPECT_FALSE(read_code(folder->path(), real_process_runner()));
}

TEST(IsaDiff, AddressesAndLabelsDoNotCount) {
  const auto same = [](const char* a, const char* b, const char* instruction_class = "branch") {
    return diff(reading_of({kernel_of("k", {{a, instruction_class}})}),
                reading_of({kernel_of("k", {{b, instruction_class}}, 0x4000)}))
        .identical;
  };
  EXPECT_TRUE(same("jne 0x10e0 <f+0xe0>", "jne 0x30f0 <g+0x1e0>"));
  EXPECT_FALSE(same("jne 0x10e0 <f+0xe0>", "je 0x10e0 <f+0xe0>"));
  EXPECT_TRUE(same("@P0 BRA `(.L_x_3)", "@P0 BRA `(.L_x_17)"));
  EXPECT_FALSE(same("@P0 BRA `(.L_x_3)", "@P1 BRA `(.L_x_3)"));
  EXPECT_TRUE(same("s_cbranch_scc1 .LBB0_3", "s_cbranch_scc1 .LBB1_4"));
  EXPECT_TRUE(same("s_cbranch_scc1 65510 // 000000001C38: BF85FFE6", "s_cbranch_scc1 12"));
  EXPECT_TRUE(same("vmovss 0xe52(%rip), %xmm1 # 0x2000", "vmovss 0xf00(%rip), %xmm1 # 0x3000",
                   "vmem_load"));
  EXPECT_FALSE(same("vmovss 0xe52(%rip), %xmm1 # constant 0x3f800000",
                    "vmovss 0xe52(%rip), %xmm1 # constant 0x40000000", "vmem_load"));
  EXPECT_FALSE(same("addq $0x10, %rax", "addq $0x20, %rax", "salu"));
  EXPECT_FALSE(same("s_add_u32 s0, s0, 16", "s_add_u32 s0, s0, 32", "salu"));
  EXPECT_FALSE(same("ds_read_b32 v0, v1 offset:16", "ds_read_b32 v0, v1 offset:32", "lds_load"));
  EXPECT_TRUE(same("v_add_f32   v0,  v1, v2", "v_add_f32 v0, v1, v2 ; comment", "valu"));
  EXPECT_TRUE(same("s_load_b64 s[0:1], s[2:3], null", "s_load_b64 s[0:1], s[2:3], 0x0", "smem"));
  EXPECT_FALSE(same("s_load_b64 s[0:1], s[2:3], null", "s_load_b64 s[0:1], s[2:3], 0x8", "smem"));
}

TEST(IsaDiff, TheSameInstructionsCanStillBeAnotherKernel) {
  const Kernel before = kernel_of("k", kCode);
  const auto changed = [&](const auto& change) {
    Kernel after = before;
    change(after);
    return diff(reading_of({before}), reading_of({after}));
  };
  EXPECT_TRUE(changed([](Kernel&) {}).identical);
  // What the code was built for, and how many arguments it ignores, is not what it does.
  EXPECT_TRUE(changed([](Kernel& kernel) { kernel.workgroup_limit = 128; }).identical);
  EXPECT_TRUE(
      changed([](Kernel& kernel) { kernel.workgroup_limit = 128; }).kernels[0].changed.empty())
      << "a limit that one side does not name is not 0 there";

  Kernel small = before;
  small.shared_bytes = 512;
  Kernel large = before;
  large.shared_bytes = 16384;
  const Diff shared = diff(reading_of({small}), reading_of({large}));
  EXPECT_FALSE(shared.identical);
  EXPECT_EQ(shared.kernels[0].summary,
            "the instructions are the same, but registers or memory differ: shared.static_bytes "
            "512 -> 16384");

  // The target of the branch, whose text is a label, moves.
  const auto jumping = [](std::uint64_t target) {
    std::vector<Line> lines = kCode;
    lines[2].text = "@P0 BRA `(.L_x_1)";
    Kernel kernel = kernel_of("k", lines);
    std::vector<Flow> flow(lines.size());
    flow[2] = {Flow::Kind::conditional, target, {}};
    flow[3].kind = Flow::Kind::end;
    find_loops(kernel, flow);
    return kernel;
  };
  const Diff moved = diff(reading_of({jumping(0)}), reading_of({jumping(16)}));
  EXPECT_FALSE(moved.identical);
  EXPECT_THAT(moved.kernels[0].summary, HasSubstr("branches go elsewhere"));
  EXPECT_TRUE(diff(reading_of({jumping(16)}), reading_of({jumping(16)})).identical);

  const auto stalling = [&](std::uint8_t cycles) {
    Kernel kernel = before;
    kernel.instructions[1].control = Control{};
    kernel.instructions[1].control->stall = cycles;
    return kernel;
  };
  const Diff slower = diff(reading_of({stalling(1)}), reading_of({stalling(4)}));
  EXPECT_FALSE(slower.identical);
  EXPECT_THAT(slower.kernels[0].summary, HasSubstr("stalls, waits or operand reuse differ"));
  EXPECT_TRUE(diff(reading_of({before}), reading_of({stalling(4)})).identical)
      << "text without encodings says nothing of them";

  Kernel table = before;
  table.data = "a";
  Kernel other = before;
  other.data = "b";
  const Diff data = diff(reading_of({table}), reading_of({other}));
  EXPECT_FALSE(data.identical);
  EXPECT_THAT(data.kernels[0].summary, HasSubstr("constants or initialised variables differ"));
}

TEST(IsaDiff, WhatChangedIsNamed) {
  std::vector<Line> more = kCode;
  more.insert(more.begin(), {"STL [R1], R8", "spill_store", 32});
  more.insert(more.begin(), {"FFMA R8, R5, R6, R7", "fma"});
  Kernel before = kernel_of("k", kCode), after = kernel_of("k", more);
  before.registers_used = 40;
  after.registers_used = 64;
  const Diff changed = diff(reading_of({before}), reading_of({after}));
  EXPECT_FALSE(changed.identical);
  ASSERT_EQ(changed.kernels.size(), 1u);
  const KernelDiff& kernel = changed.kernels[0];
  EXPECT_EQ(kernel.changed.at("isa.fma"), std::pair(1.0, 2.0));
  EXPECT_EQ(kernel.changed.at("isa.spill_store"), std::pair(0.0, 1.0));
  EXPECT_EQ(kernel.changed.at("registers.used"), std::pair(40.0, 64.0));
  EXPECT_EQ(kernel.changed.count("isa.vmem_load"), 0u);
  EXPECT_EQ(kernel.summary,
            "0 instructions removed and 2 added: isa.spill_store 0 -> 1, registers.used 40 -> 64, "
            "isa.fma 1 -> 2 and 1 more");
}

TEST(IsaDiff, NopsAloneAreSaid) {
  const Line read{"ds_read_b32 v0, v1", "lds_load"}, wait{"s_nop 0", "nop"};
  const Line sum{"v_add_f32 v2, v2, v0", "valu"}, mask{"v_and_b32 v3, v0, v1", "valu"};
  const auto said = [](const std::vector<Line>& before, const std::vector<Line>& after) {
    return diff(reading_of({kernel_of("k", before)}), reading_of({kernel_of("k", after)}))
        .kernels.at(0)
        .summary;
  };
  EXPECT_THAT(said({read, wait, sum, mask}, {read, sum, mask}),
              StartsWith("1 instruction removed and 0 added (NOPs only): isa.nop 1 -> 0"));
  EXPECT_THAT(said({read, mask, wait, sum}, {read, sum, mask}),
              StartsWith("2 instructions removed and 1 added (NOPs, and 1 that stand elsewhere)"));
  EXPECT_EQ(said({read, sum, mask}, {read, mask, sum}),
            "1 instruction removed and 1 added (the same ones in other places)");
  EXPECT_THAT(said({read, wait, sum}, {read, sum, mask}),
              StartsWith("1 instruction removed and 1 added:"));
}

TEST(IsaDiff, PairsByName) {
  const Diff found = diff(reading_of({kernel_of("a", kCode), kernel_of("b", kCode)}),
                          reading_of({kernel_of("b", kCode), kernel_of("c", kCode)}));
  ASSERT_EQ(found.kernels.size(), 1u);
  EXPECT_EQ(found.kernels[0].name, "b");
  EXPECT_TRUE(found.kernels[0].identical);
  EXPECT_THAT(found.only_before, ElementsAre("a"));
  EXPECT_THAT(found.only_after, ElementsAre("c"));
  EXPECT_FALSE(found.identical);
  EXPECT_TRUE(
      diff(reading_of({kernel_of("a", kCode)}), reading_of({kernel_of("z", kCode)})).identical)
      << "one kernel on each side is a pair";
  EXPECT_FALSE(diff(Reading{}, Reading{}).identical) << "nothing was compared";
}

TEST(IsaDiff, WithoutInstructionsNothingIsIdentical) {
  Kernel before, after;
  before.name = after.name = "k";
  before.registers_used = after.registers_used = 8;
  const Diff same = diff(reading_of({before}), reading_of({after}));
  EXPECT_FALSE(same.identical);
  EXPECT_THAT(same.kernels.at(0).summary, HasSubstr("no instructions"));
}

TEST(IsaDiff, LargeCodesThatHaveNothingInCommonStillEnd) {
  constexpr int kSize = 150'000;
  const auto large = [](int step) {
    Kernel kernel;
    kernel.name = "k";
    kernel.arch = "sm_90";
    for (int i = 0; i < kSize; ++i) {
      Instruction instruction;
      instruction.address = static_cast<std::uint64_t>(i);
      instruction.text = "OP R" + std::to_string((i * step) % 977);
      instruction.instruction_class = "valu";
      kernel.instructions.push_back(instruction);
    }
    return kernel;
  };
  const std::clock_t start = std::clock();
  const Diff found = diff(reading_of({large(1)}), reading_of({large(3)}));
  EXPECT_FALSE(found.identical);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 30.0);
}

}  // namespace
}  // namespace burnish::isa
