#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "base/text.h"
#include "isa/amd.h"
#include "isa/amd_listing.h"
#include "isa/amd_waits.h"

namespace burnish::isa::amd {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

/// Text needs no program.
class NoRunner : public ProcessRunner {
 public:
  Result<ProcessResult> run(const ProcessSpec&) override {
    return environment_error("a test of text runs no program");
  }
};

Result<Reading> reading(std::string_view text) {
  NoRunner runner;
  return read("kernel.s", text, runner);
}

Kernel only_kernel(std::string_view text) {
  auto found = reading(text);
  EXPECT_TRUE(found) << found.error().to_string();
  if (!found) return {};
  EXPECT_EQ(found->kernels.size(), 1u);
  return found->kernels.empty() ? Kernel() : found->kernels.front();
}

/// One kernel around some instructions.
std::string around(std::string_view code, std::string_view target = "gfx942") {
  return fmt::format(
      "\t.amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n\t.text\nk:\n{}\n\ts_endpgm\n"
      "\t.amdhsa_kernel k\n\t.end_amdhsa_kernel\n",
      target, code);
}

std::int64_t count(const Kernel& kernel, const char* name) {
  const auto found = kernel.classes.find(name);
  return found == kernel.classes.end() ? -1 : found->second;
}

// Written by hand, as assembly kernels are: registers by symbol, sizes by expression, labels
// without dots, metadata that lies about the registers.
constexpr std::string_view kByHand = R"(
// a tile of 32 x 32 floats
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"
.set tile_bytes, 32*32*4
.set v_acc, 8
.set v_tmp, v_acc + 4
s_step = 12
.text
.globl copy_tile
.p2align 8
.type copy_tile,@function
copy_tile:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v0, 4, v0          // 16 bytes a lane
  s_mov_b32 s[s_step], 16
  s_waitcnt lgkmcnt(0)
label_loop:
  global_load_dwordx4 v[v_acc:v_acc+3], v0, s[4:5]
  global_load_dwordx4 v[v_tmp:v_tmp+3], v0, s[4:5] offset:16
  v_add_u32 v0, 0x1000, v0
  s_waitcnt vmcnt(1)
  ds_write_b128 v0, v[v_acc:v_acc+3]
  s_waitcnt vmcnt(0)
  ds_write_b128 v0, v[v_tmp:v_tmp+3] offset:16
  s_sub_u32 s[s_step], s[s_step], 1
  s_cmp_lg_u32 s[s_step], 0
  s_cbranch_scc1 label_loop
  s_waitcnt lgkmcnt(0) & vmcnt(0)
  s_barrier
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel copy_tile
  .amdhsa_group_segment_fixed_size tile_bytes
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr v_tmp + 4
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 16
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.kernels:
  - .name:            copy_tile
    .symbol:          'copy_tile.kd'
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 12
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [256, 1, 1]
    .args:
    - {.size: 8}
    - .name:        source
      .size:        8
      .offset:      0
      .value_kind:  global_buffer
    - .name:        count
      .size:        4
      .offset:      8
      .value_kind:  by_value
...
.end_amdgpu_metadata
)";

TEST(AmdText, ReadsHandWrittenAssembly) {
  auto found = reading(kByHand);
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->kind, "amdgcn-assembly");
  ASSERT_EQ(found->kernels.size(), 1u);
  const Kernel& kernel = found->kernels.front();
  EXPECT_EQ(kernel.name, "copy_tile");
  EXPECT_EQ(kernel.arch, "gfx90a");
  EXPECT_EQ(kernel.shared_bytes, 4096);
  EXPECT_EQ(kernel.scratch_bytes, 0);
  EXPECT_EQ(kernel.registers_allocated, 16);
  EXPECT_EQ(kernel.workgroup_limit, 256);
  EXPECT_EQ(kernel.extra.at("isa.wave_size"), 64);
  EXPECT_THAT(kernel.unknown_opcodes, IsEmpty());
  // The metadata says 12; v15 is written.
  EXPECT_EQ(kernel.registers_used, 16);
  EXPECT_THAT(kernel.notes,
              Contains(HasSubstr("12 vector registers are declared, but the code uses 16")));
  EXPECT_THAT(kernel.notes, Contains(HasSubstr("256 x 1 x 1")));
  ASSERT_EQ(kernel.arguments.size(), 3u);
  EXPECT_EQ(kernel.arguments[1].name, "source");
  EXPECT_EQ(kernel.arguments[1].kind, "global_buffer");
  EXPECT_EQ(kernel.arguments[2].name, "count");
  EXPECT_EQ(kernel.arguments[2].offset, 8);
  ASSERT_EQ(kernel.instructions.size(), 17u);
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.loops[0].instructions, 10);
  EXPECT_EQ(kernel.loops[0].classes.at("lds_store"), 2);
  EXPECT_EQ(kernel.loops[0].widths.at("global_load").at(128), 2);
  EXPECT_EQ(kernel.instructions[7].opcode, "s_waitcnt");
  EXPECT_THAT(kernel.instructions[3].waits_for, ElementsAre(0));
  EXPECT_THAT(kernel.instructions[7].waits_for, ElementsAre(4));
  EXPECT_THAT(kernel.instructions[9].waits_for, ElementsAre(5));
  EXPECT_EQ(kernel.extra.at("isa.loop.full_vector_waits"), 1);
  EXPECT_EQ(kernel.extra.at("isa.full_waits"), 3);
  EXPECT_EQ(kernel.extra.at("isa.loop.exposed_waits"), 1);
  EXPECT_EQ(kernel.extra.at("isa.loop.wait_distance"), 4);
}

// What LLVM 22 prints, cut down: resources that depend on a callee, and a descriptor that it
// inflated to what LDS allows.
constexpr std::string_view kByCompiler = R"(	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.type	.L_Z1gfi,@function
.L_Z1gfi:                               ; @_Z1gfi
	v_add_f32_e32 v23, v0, v1
	s_setpc_b64 s[30:31]
	.set .L_Z1gfi.num_vgpr, 24
	.set .L_Z1gfi.num_agpr, 0
	.file	1 "/home/someone" "k.hip"
	.globl	_Z4callPf
	.type	_Z4callPf,@function
_Z4callPf:                              ; @_Z4callPf
	.loc	1 12 7 prologue_end             ; k.hip:12:7
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, _Z1gfi@rel32@lo+4
	s_addc_u32 s1, s1, _Z1gfi@rel32@hi+12
	.loc	1 13 3 is_stmt 1
	s_swappc_b64 s[30:31], s[0:1]
	scratch_store_dwordx2 off, v[2:3], off offset:168 ; 8-byte Folded Spill
	scratch_load_dword v2, off, off offset:168 ; 4-byte Folded Reload
	scratch_load_dword v4, v1, off
	s_endpgm
	.amdhsa_kernel _Z4callPf
		.amdhsa_group_segment_fixed_size 20480
		.amdhsa_private_segment_fixed_size 16+max(.L_Z1gfi.private_seg_size, 160)
		.amdhsa_next_free_vgpr 129
		.amdhsa_accum_offset 24
	.end_amdhsa_kernel
	.set .L_Z1gfi.private_seg_size, 0
	.set _Z4callPf.num_vgpr, max(6, .L_Z1gfi.num_vgpr)
	.set _Z4callPf.num_agpr, max(0, .L_Z1gfi.num_agpr)
; Kernel info:
; TotalNumSgprs: 39
; NumVgprs: 24
; Occupancy: 3
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .name:           not_the_kernel
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 20480
    .max_flat_workgroup_size: 256
    .name:           _Z4callPf
    .private_segment_fixed_size: 176
    .sgpr_spill_count: 2
    .symbol:         _Z4callPf.kd
    .vgpr_count:     24
    .vgpr_spill_count: 2
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...
	.end_amdgpu_metadata
)";

TEST(AmdText, ReadsCompilerAssembly) {
  auto found = reading(kByCompiler);
  ASSERT_TRUE(found) << found.error().to_string();
  ASSERT_EQ(found->kernels.size(), 1u);
  EXPECT_THAT(found->warnings, ElementsAre(HasSubstr("1 function that is no kernel")));
  const Kernel& kernel = found->kernels.front();
  EXPECT_EQ(kernel.name, "call(float*)");
  EXPECT_EQ(kernel.symbol, "_Z4callPf");
  EXPECT_EQ(kernel.registers_used, 24);
  EXPECT_EQ(kernel.registers_accum, 0);
  EXPECT_EQ(kernel.registers_scalar, 39);
  EXPECT_EQ(kernel.registers_allocated, 136);
  EXPECT_THAT(kernel.notes,
              Contains(HasSubstr("next_free_vgpr 129: inflated; the kernel uses 24")));
  EXPECT_THAT(kernel.notes, Contains(HasSubstr("1 call of functions")));
  EXPECT_THAT(kernel.notes, Not(Contains(HasSubstr("metadata"))));
  EXPECT_EQ(kernel.shared_bytes, 20480);
  EXPECT_EQ(kernel.scratch_bytes, 176);
  EXPECT_EQ(kernel.spill_loads, 1);
  EXPECT_EQ(kernel.spill_stores, 1);
  EXPECT_EQ(kernel.spill_bytes, 8);
  EXPECT_EQ(kernel.extra.at("isa.scratch_loads"), 2);
  EXPECT_EQ(kernel.extra.at("isa.spilled_scalar_registers"), 2);
  EXPECT_EQ(count(kernel, "vmem_load"), 1);  // the local array
  EXPECT_THAT(kernel.widths, IsEmpty());
  EXPECT_EQ(kernel.arguments.size(), 1u);
  EXPECT_EQ(kernel.instructions.at(0).source_line, 12);
  EXPECT_EQ(kernel.instructions.at(3).source_line, 13);
  EXPECT_EQ(kernel.instructions.at(3).source_file, "/home/someone/k.hip");
}

TEST(AmdText, NotesWhereTheSourcesDisagree) {
  const Kernel kernel = only_kernel(R"(
	.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
k:
	v_mov_b32 v3, 0
	s_endpgm
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 1024
		.amdhsa_private_segment_fixed_size 16
		.amdhsa_wavefront_size32 1
		.amdhsa_next_free_vgpr 4
	.end_amdhsa_kernel
	.amdgpu_metadata
amdhsa.kernels:
- .name: k
  .group_segment_fixed_size: 2048
  .private_segment_fixed_size: 0
  .vgpr_count: 40
  .wavefront_size: 64
amdhsa.target: amdgcn-amd-amdhsa--gfx1100
	.end_amdgpu_metadata
)");
  EXPECT_THAT(kernel.notes,
              Contains(HasSubstr("LDS bytes: 1024 by .amdhsa_kernel, 2048 by the metadata")));
  EXPECT_THAT(kernel.notes, Contains(HasSubstr("scratch bytes: 16 by .amdhsa_kernel, 0")));
  EXPECT_THAT(kernel.notes, Contains(HasSubstr("lanes a wave: 32")));
  EXPECT_THAT(kernel.notes,
              Contains(HasSubstr("40 vector registers are declared, the code names 4")));
  EXPECT_THAT(kernel.notes,
              Contains(HasSubstr("8 vector registers are allocated, but 40 are used")));
}

// llvm-objdump without and with --symbolize-operands; the two say the same.
constexpr std::string_view kDisassembly = R"(
loop.co:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001600 <f>:
; f():
; /src/loop.hip:2
	s_load_dword s4, s[0:1], 0x8                               // 000000001600: C0020100 00000008
	s_waitcnt lgkmcnt(0)                                       // 000000001608: BF8CC07F
	s_cbranch_scc1 6                                           // 00000000160C: BF850006 <f+0x28>
; /src/loop.hip:3
	global_load_dword v1, v0, s[2:3]                           // 000000001610: DC508000 01020000
	s_waitcnt vmcnt(0)                                         // 000000001618: BF8C0F70
	v_add_f32_e32 v2, v2, v1                                   // 00000000161C: 04040302
	s_add_i32 s4, s4, -1                                       // 000000001620: 8104C104
	s_cbranch_scc0 65530                                       // 000000001624: BF84FFFA <f+0x10>
	s_endpgm                                                   // 000000001628: BF810000
	s_nop 0                                                    // 00000000162C: BF800000
	s_code_end                                                 // 000000001630: BF9F0000
	s_code_end                                                 // 000000001634: BF9F0000
)";
constexpr std::string_view kSymbolized = R"(
loop.co:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001600 <f>:
	s_load_dword s4, s[0:1], 0x8                               // 000000001600: C0020100 00000008
	s_waitcnt lgkmcnt(0)                                       // 000000001608: BF8CC07F
	s_cbranch_scc1 L1                                          // 00000000160C: BF850006
0000000000001610 <L0>:
	global_load_dword v1, v0, s[2:3]                           // 000000001610: DC508000 01020000
	s_waitcnt vmcnt(0)                                         // 000000001618: BF8C0F70
	v_add_f32_e32 v2, v2, v1                                   // 00000000161C: 04040302
	s_add_i32 s4, s4, -1                                       // 000000001620: 8104C104
	s_cbranch_scc0 L0                                          // 000000001624: BF84FFFA
0000000000001628 <L1>:
	s_endpgm                                                   // 000000001628: BF810000
)";

TEST(AmdText, ReadsDisassembly) {
  for (const std::string_view text : {kDisassembly, kSymbolized}) {
    auto found = reading(text);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->kind, "amdgcn-disassembly");
    EXPECT_THAT(found->warnings, Contains(HasSubstr("does not name its target")));
    ASSERT_EQ(found->kernels.size(), 1u);
    const Kernel& kernel = found->kernels.front();
    EXPECT_EQ(kernel.name, "f");
    EXPECT_EQ(kernel.arch, "");
    ASSERT_EQ(kernel.instructions.size(), 9u);  // the padding behind s_endpgm is none of it
    EXPECT_EQ(kernel.instructions[3].address, 0x1610u);
    EXPECT_EQ(kernel.instructions[3].text, "global_load_dword v1, v0, s[2:3]");
    ASSERT_EQ(kernel.loops.size(), 1u);
    EXPECT_EQ(kernel.loops[0].instructions, 5);
    EXPECT_THAT(kernel.instructions[4].waits_for, ElementsAre(3));
    EXPECT_EQ(kernel.registers_used, 3);
    EXPECT_EQ(kernel.registers_allocated, std::nullopt);
    EXPECT_EQ(kernel.shared_bytes, std::nullopt);
  }
  const Kernel kernel = only_kernel(kDisassembly);
  EXPECT_EQ(kernel.instructions[0].source_file, "/src/loop.hip");
  EXPECT_EQ(kernel.instructions[4].source_line, 3);
}

// The file's name is as the disassembler was told.
TEST(AmdText, TheDisassembledFilesNameIsNoInstruction) {
  for (const char* name : {"build/loop.co", "/a/loop.co", "./loop.co", "lib.a(loop.o)",
                           "my kernels/loop.co", "9/loop.co", "a-b.co"}) {
    auto found = reading(replace_all(std::string(kDisassembly), "loop.co", name));
    ASSERT_TRUE(found) << name;
    ASSERT_EQ(found->kernels.size(), 1u) << name;
    EXPECT_EQ(found->kernels[0].name, "f") << name;
    EXPECT_EQ(found->kernels[0].instructions.size(), 9u) << name;
  }
}

// Labels of hand-written code are symbols of the object, and a disassembly gives each a header.
TEST(AmdText, LabelsInsideAFunctionAreNoFunctions) {
  auto found = reading(R"(
x.o:	file format elf64-amdgpu
0000000000000000 <first>:
	v_mov_b32_e32 v0, 0        // 000000000000: 7E000280
0000000000000004 <label_0004>:
	v_add_u32_e32 v0, 1, v0    // 000000000004: 68000081
	s_cbranch_scc1 65534       // 000000000008: BF85FFFE <label_0004>
	s_endpgm                   // 00000000000C: BF810000
	s_nop 0                    // 000000000010: BF800000
0000000000000014 <second>:
	s_endpgm                   // 000000000014: BF810000
)");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->kernels.size(), 2u);
  EXPECT_EQ(found->kernels[0].name, "first");
  EXPECT_EQ(found->kernels[0].loops.size(), 1u);
  EXPECT_EQ(found->kernels[1].name, "second");
}

TEST(AmdText, CrossLaneKinds) {
  const Kernel kernel = only_kernel(around(R"(
	v_mov_b32_dpp v3, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
	v_max_f32_dpp v1, v2, v3 row_shr:4 row_mask:0xf bank_mask:0xf
	v_max_f32 v1, v2, v3 row_shr:8        // by hand: no suffix
	v_mov_b32_dpp v3, v3 row_bcast:15 row_mask:0xa bank_mask:0xf
	v_mov_b32_dpp v3, v3 row_bcast:31 row_mask:0xc bank_mask:0xf
	v_mov_b32_dpp v3, v3 row_newbcast:3 row_mask:0xf bank_mask:0xf
	v_mov_b32_dpp v3, v3 row_half_mirror row_mask:0xf bank_mask:0xf
	v_mov_b32_dpp v3, v3 wave_shr:1
	v_readlane_b32 s0, v1, 63
	v_readfirstlane_b32 s1, v1
	v_writelane_b32 v9, s0, 3
	ds_bpermute_b32 v2, v2, v1
	ds_permute_b32 v2, v2, v1
	ds_swizzle_b32 v3, v1 offset:swizzle(SWAP,16))"));
  EXPECT_THAT(kernel.cross_lane,
              testing::UnorderedElementsAre(Pair("dpp_quad_perm", 1), Pair("dpp_row_shr", 2),
                                            Pair("dpp_row_bcast", 2), Pair("dpp_other", 3),
                                            Pair("readlane", 1), Pair("readfirstlane", 1),
                                            Pair("writelane", 1), Pair("bpermute", 1),
                                            Pair("permute", 1), Pair("swizzle", 1)));
  EXPECT_EQ(count(kernel, "cross_lane"), 14);
  EXPECT_EQ(kernel.extra.at("isa.bpermutes"), 2);
}

TEST(AmdText, ReadlaneChains) {
  const Kernel kernel = only_kernel(around(R"(
	v_readlane_b32 s0, v1, 0
	v_readlane_b32 s1, v1, 8
	s_add_i32 s0, s0, s1
	v_readlane_b32 s1, v1, 16
	v_readlane_b32 s2, v2, 16
	v_writelane_b32 v40, s30, 0
	v_writelane_b32 v40, s31, 1
	v_readlane_b32 s30, v40, 0
	v_readlane_b32 s31, v40, 1
	v_readlane_b32 s31, v40, 2
	v_readlane_b32 s31, v40, 3)"));
  EXPECT_EQ(kernel.extra.at("isa.readlanes"), 8);
  EXPECT_EQ(kernel.extra.at("isa.readlane_chain"), 3);  // v40 holds spilled scalars
}

TEST(AmdText, CopiesPastTheRegisters) {
  const Kernel kernel = only_kernel(around(R"(
	buffer_load_dword v0, s[8:11], 0 offen lds
	global_load_lds_dword v0, s[2:3]
	s_waitcnt vmcnt(1)
	global_load_lds_dwordx4 v[0:1], off offset:64
	s_waitcnt vmcnt(0))",
                                           "gfx950"));
  EXPECT_EQ(count(kernel, "async_copy"), 3);
  EXPECT_EQ(count(kernel, "vmem_load"), 0);
  EXPECT_THAT(kernel.instructions[2].waits_for, ElementsAre(0));
  EXPECT_THAT(kernel.instructions[4].waits_for, ElementsAre(1, 3));
  EXPECT_EQ(kernel.widths.at("global_load").at(32), 2);
  EXPECT_EQ(kernel.widths.at("global_load").at(128), 1);
}

TEST(AmdText, StoresCountOnTheirOwnSinceGfx10) {
  constexpr std::string_view kCode = R"(
	global_load_dword v1, v0, s[2:3]
	global_store_dword v0, v2, s[2:3]
	s_waitcnt vmcnt(0))";
  EXPECT_THAT(only_kernel(around(kCode, "gfx90a")).instructions[2].waits_for, ElementsAre(0, 1));
  EXPECT_THAT(only_kernel(around(kCode, "gfx1030")).instructions[2].waits_for, ElementsAre(0));
  EXPECT_THAT(only_kernel(around(R"(
	global_load_dword v1, v0, s[2:3]
	global_store_dword v0, v2, s[2:3]
	global_atomic_add v0, v2, s[2:3]
	global_atomic_add v3, v0, v2, s[2:3] glc
	s_waitcnt_vscnt null, 0x0)",
                                 "gfx1030"))
                  .instructions[4]
                  .waits_for,
              ElementsAre(1, 2));
}

TEST(AmdText, SplitWaitsOfGfx12) {
  const Kernel kernel = only_kernel(around(R"(
	s_load_b128 s[4:7], s[0:1], 0x0
	global_load_b128 v[4:7], v0, s[2:3]
	ds_load_b32 v1, v0
	s_wait_kmcnt 0x0
	global_load_b128 v[8:11], v0, s[2:3] offset:16
	s_wait_loadcnt_dscnt 0x100
	global_store_b32 v0, v1, s[2:3]
	s_wait_storecnt 0x0
	s_wait_alu depctr_va_vcc(0)
	s_wait_idle)",
                                           "gfx1201"));
  EXPECT_THAT(kernel.instructions[3].waits_for, ElementsAre(0));
  EXPECT_THAT(kernel.instructions[5].waits_for, ElementsAre(1, 2));
  EXPECT_THAT(kernel.instructions[7].waits_for, ElementsAre(6));
  EXPECT_THAT(kernel.instructions[8].waits_for, IsEmpty());
  EXPECT_EQ(count(kernel, "wait"), 5);
}

TEST(AmdText, WaitsAsNumbers) {
  const auto mask_and_count = [](std::string_view code, int generation) {
    Listing listing;
    EXPECT_TRUE(read_listing(code, "k.s", listing));
    std::vector<std::pair<int, int>> found;
    for (const WaitFor& wait : waits_of(listing.lines.at(0), generation)) {
      found.emplace_back(wait.mask & (kVectorLoad | kShared), wait.count);
    }
    return found;
  };
  const int vector = kVectorLoad;
  const int shared = kShared;
  // By llvm-mc: s_waitcnt lgkmcnt(0) is 0xc07f, vmcnt(0) 0x0f70, both 0x0070 on gfx9.
  EXPECT_THAT(mask_and_count("s_waitcnt 0xc07f", 9), ElementsAre(Pair(shared, 0)));
  EXPECT_THAT(mask_and_count("s_waitcnt 0x0f70", 9), ElementsAre(Pair(vector, 0)));
  EXPECT_THAT(mask_and_count("s_waitcnt 112", 9), ElementsAre(Pair(vector, 0), Pair(shared, 0)));
  EXPECT_THAT(mask_and_count("s_waitcnt 0x4f72", 9), ElementsAre(Pair(vector, 18)));
  EXPECT_THAT(mask_and_count("s_waitcnt 0x3f70", 10), ElementsAre(Pair(vector, 0)));
  EXPECT_THAT(mask_and_count("s_waitcnt 0xc07f", 10), ElementsAre(Pair(shared, 0)));
  EXPECT_THAT(mask_and_count("s_waitcnt 0xfc07", 11), ElementsAre(Pair(shared, 0)));
  EXPECT_THAT(mask_and_count("s_waitcnt 0x03f7", 11), ElementsAre(Pair(vector, 0)));
  EXPECT_THAT(mask_and_count("s_waitcnt vmcnt(2) lgkmcnt(3) expcnt(0)", 9),
              ElementsAre(Pair(vector, 2), Pair(shared, 3)));
  EXPECT_THAT(mask_and_count("s_waitcnt expcnt(0)", 9), IsEmpty());
  EXPECT_THAT(mask_and_count("s_waitcnt vmcnt(", 9), IsEmpty());
  EXPECT_THAT(mask_and_count("s_waitcnt", 9), IsEmpty());
  EXPECT_THAT(mask_and_count("s_wait_loadcnt 0x99999999999", 12), IsEmpty());
}

// The load of the next turn is in flight while this turn works: the wait needs the one before.
TEST(AmdText, ProducersAreFoundAcrossTheBackEdge) {
  const Kernel kernel = only_kernel(around(R"(
	global_load_dword v1, v0, s[2:3]
.LBB0_1:
	global_load_dword v2, v0, s[2:3] offset:4
	s_waitcnt vmcnt(1)
	v_add_f32 v3, v3, v1
	v_mov_b32 v1, v2
	s_cbranch_scc0 .LBB0_1)"));
  EXPECT_THAT(kernel.instructions[2].waits_for, ElementsAre(0, 1));
  EXPECT_EQ(kernel.extra.at("isa.loop.exposed_waits"), 0);
}

TEST(AmdText, NopsCountTheirCycles) {
  const Kernel kernel = only_kernel(around("\ts_nop 1\n\ts_nop 7\n\tv_nop\n\tv_mov_b32 v0, 0"));
  EXPECT_EQ(count(kernel, "nop"), 3);
  EXPECT_EQ(kernel.extra.at("isa.nop_cycles"), 2 + 8 + 1);
}

TEST(AmdText, MatrixInstructionsFedByNarrowLoads) {
  const Kernel kernel = only_kernel(around(R"(
	ds_read_u16 v4, v0
	ds_read_u16 v5, v0 offset:2
	ds_read_u16 v6, v0 offset:4
	ds_read_b64 v[8:9], v0
	v_perm_b32 v10, v4, v5, s2
	v_lshl_or_b32 v11, v6, 16, v4
	v_mfma_f32_32x32x8_f16 a[0:15], v[10:11], v[8:9], a[0:15]
	v_mfma_f32_32x32x8_f16 a[0:15], v[8:9], v[8:9], a[0:15]
	v_accvgpr_read_b32 v20, a3
	v_accvgpr_write_b32 a3, v20)"));
  EXPECT_EQ(kernel.matrix_shapes.at("32x32x8 f16"), 2);
  EXPECT_EQ(kernel.extra.at("isa.matrix_narrow_fed"), 1);
  EXPECT_EQ(count(kernel, "accum_move"), 2);
  EXPECT_EQ(kernel.registers_used, 21);
  EXPECT_EQ(kernel.registers_accum, 16);
}

// What Triton's compiler hands out, with line information of its Python source.
TEST(AmdText, TritonAssembly) {
  const auto read_text = [](const std::string& name) {
    const fs::path file = fs::path(BURNISH_SOURCE_DIR) / "src/isa/testdata" / name;
    return only_kernel(real_file_system().read(file).value());
  };
  const Kernel softmax = read_text("triton_softmax.gfx942.amdgcn");
  EXPECT_EQ(softmax.name, "softmax");
  EXPECT_EQ(softmax.arch, "gfx942");
  EXPECT_EQ(softmax.registers_used, 20);
  EXPECT_EQ(softmax.registers_scalar, 21);
  EXPECT_EQ(softmax.cross_lane.at("dpp_row_bcast"), 4);  // a maximum and a sum, two steps of each
  EXPECT_EQ(softmax.extra.at("isa.lane_selects"), 0);
  EXPECT_TRUE(softmax.loops.empty());
  const Kernel matmul = read_text("triton_matmul.gfx942.amdgcn");
  EXPECT_EQ(matmul.registers_used, 85);
  EXPECT_EQ(matmul.matrix_shapes.size(), 1u);
  EXPECT_EQ(matmul.classes.at("matrix"), 8);
  ASSERT_EQ(matmul.loops.size(), 1u);
  EXPECT_EQ(matmul.loops[0].classes.at("matrix"), 8);
  int placed = 0;
  for (const Instruction& each : matmul.instructions)
    if (each.source_file.ends_with("triton_test.py") && each.source_line > 0) ++placed;
  EXPECT_GT(placed, 100);
}

TEST(AmdText, NarrowLoadsBeforeTheLoopFeedItOnce) {
  const Kernel kernel = only_kernel(around(R"(
	ds_read_u16 v4, v0
	ds_read_u16 v5, v0 offset:2
	v_perm_b32 v10, v4, v5, s2
.LBB0_1:
	ds_read_b64 v[8:9], v0
	v_mfma_f32_32x32x8_f16 a[0:15], v[10:11], v[8:9], a[0:15]
	ds_read_u16 v6, v0
	v_lshl_or_b32 v8, v6, 16, v6
	v_mfma_f32_32x32x8_f16 a[0:15], v[8:9], v[8:9], a[0:15]
	s_cbranch_scc0 .LBB0_1)"));
  EXPECT_EQ(kernel.extra.at("isa.matrix_narrow_fed"), 1);
  EXPECT_EQ(kernel.extra.at("isa.loop.matrix_narrow_fed"), 1);
}

TEST(AmdText, ValuesThatAllLanesShare) {
  const Kernel kernel = only_kernel(around(R"(
	v_mov_b32 v1, 0
	v_mov_b32 v2, s4
	global_load_dword v3, v1, s[2:3]
	global_load_dword v4, v0, s[2:3]
.LBB0_1:
	v_lshlrev_b32 v5, 16, v3
	v_mul_f32 v6, v5, v2
	v_fmac_f32 v7, v6, v4
	v_cndmask_b32 v8, v5, v6, vcc
	v_add_u32 v2, v2, v0
	s_cbranch_scc0 .LBB0_1)"));
  // v2 (before the loop), v3 and v5. In the loop v2 takes the lane's number in, so v6 differs.
  EXPECT_EQ(kernel.extra.at("isa.uniform_vector_registers"), 3);
  EXPECT_EQ(kernel.extra.at("isa.loop.uniform_vector_ops"), 1);
  // The loop reads v3 and v5.
  EXPECT_EQ(kernel.extra.at("isa.loop.uniform_vector_registers"), 2);
}

TEST(AmdText, LoadsThatCouldBeOne) {
  const Kernel kernel = only_kernel(around(R"(
	global_load_dword v4, v0, s[2:3]
	global_load_dword v5, v0, s[2:3] offset:4
	global_load_dword v6, v0, s[2:3] offset:64
	global_load_dword v7, v1, s[2:3] offset:68
	global_load_dwordx2 v[8:9], v0, s[2:3] offset:72)"));
  EXPECT_EQ(kernel.extra.at("isa.mergeable_loads"), 1);
}

TEST(AmdText, DualAndPackedMath) {
  const Kernel kernel = only_kernel(around(R"(
	v_dual_fmac_f32 v2, v11, v15 :: v_dual_fmac_f32 v3, v12, v16
	v_dual_mov_b32 v5, 0 :: v_dual_fmac_f32 v41, v1, v2
	v_dual_mov_b32 v5, 0 :: v_dual_mov_b32 v4, 0
	v_pk_fma_f16 v1, v2, v3, v4 op_sel_hi:[1,0,1] neg_lo:[0,0,1]
	v_pk_add_f16 v1, v2, v3
	v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], v[8:15]
	v_add_f16_e32 v1.l, v2.h, v3.l)",
                                           "gfx1100"));
  EXPECT_EQ(count(kernel, "packed_fma"), 2);
  EXPECT_EQ(count(kernel, "fma"), 1);
  EXPECT_EQ(count(kernel, "valu"), 3);
  EXPECT_EQ(kernel.extra.at("isa.dual_issue"), 3);
  EXPECT_EQ(kernel.extra.at("isa.packed_math"), 2);
  EXPECT_EQ(kernel.matrix_shapes.at("16x16x16 f16"), 1);
  EXPECT_EQ(kernel.registers_used, 42);
  EXPECT_THAT(kernel.unknown_opcodes, IsEmpty());
}

TEST(AmdText, RegistersPast255OfGfx1250) {
  const Kernel kernel = only_kernel(around("\tv_mov_b64 v[66:67] /*v[322:323]*/, 0\n", "gfx1250"));
  EXPECT_EQ(kernel.registers_used, 324);
}

// A branch too far for 16 bits: the distance is added to the program counter.
TEST(AmdText, FarBranches) {
  const Kernel kernel = only_kernel(around(R"(
.LBB0_1:
	v_add_u32 v0, 1, v0
	s_cbranch_scc1 .LBB0_3
	s_getpc_b64 s[4:5]
.Lpost_getpc0:
	s_add_u32 s4, s4, (.LBB0_1-.Lpost_getpc0)&4294967295
	s_addc_u32 s5, s5, (.LBB0_1-.Lpost_getpc0)>>32
	s_setpc_b64 s[4:5]
.LBB0_3:)"));
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.loops[0].instructions, 6);
  auto found = reading(R"(
x.o:	file format elf64-amdgpu
0000000000000000 <f>:
	v_add_u32_e32 v0, 1, v0      // 000000000000: 68000081
	s_cbranch_scc1 6             // 000000000004: BF850006
	s_getpc_b64 s[4:5]           // 000000000008: BE841C00
	s_add_u32 s4, s4, 0xfffffff4 // 00000000000C: 8004FF04 FFFFFFF4
	s_addc_u32 s5, s5, -1        // 000000000014: 8205C105
	s_setpc_b64 s[4:5]           // 000000000018: BE801D04
	s_endpgm                     // 00000000001C: BF810000
)");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->kernels.at(0).loops.size(), 1u);
  EXPECT_EQ(found->kernels[0].loops[0].instructions, 6);
}

// Long lines leave no blank before the address.
TEST(AmdText, CommentsMayTouchTheLastOperand) {
  auto found = reading(R"(
x.o:	file format elf64-amdgpu
0000000000000000 <f>:
	v_lshlrev_b32_sdwa v2, v8, v4 dst_sel:DWORD src0_sel:DWORD src1_sel:BYTE_0// 000000000000: 240408F9
	s_delay_alu instid0(VALU_DEP_1) | instid1(VALU_DEP_2)// 000000000008: BF8704B9
	s_cbranch_scc1 65532// 00000000000C: BF85FFFC
	s_endpgm // 000000000010: BF810000
)");
  ASSERT_TRUE(found);
  const Kernel& kernel = found->kernels.at(0);
  EXPECT_EQ(kernel.instructions.at(1).address, 8u);
  EXPECT_EQ(kernel.instructions.at(1).text,
            "s_delay_alu instid0(VALU_DEP_1) | instid1(VALU_DEP_2)");
  EXPECT_EQ(kernel.loops.size(), 1u);
}

TEST(AmdText, NumberedLabels) {
  const Kernel kernel = only_kernel(around(R"(
1:
	s_cbranch_scc0 2f
	v_add_u32 v0, 1, v0
	s_branch 1b
2:
	s_nop 0)"));
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.loops[0].instructions, 3);
}

TEST(AmdText, UnknownOpcodesAreCounted) {
  const Kernel kernel =
      only_kernel(around("\tv_frobnicate_f32 v1, v2\n\tv_frobnicate_f32 v1, v3\n"));
  EXPECT_THAT(kernel.unknown_opcodes, ElementsAre(Pair("v_frobnicate_f32", 2)));
  EXPECT_EQ(count(kernel, "unknown"), 2);
  EXPECT_THAT(kernel.notes, Contains(HasSubstr("v_frobnicate_f32")));
}

TEST(AmdText, ScratchThatNobodyExplains) {
  const Kernel kernel = only_kernel(around("\tscratch_store_dword off, v1, off offset:8\n"));
  EXPECT_EQ(kernel.spill_stores, std::nullopt);
  EXPECT_THAT(kernel.notes, Contains(HasSubstr("spilled registers or local arrays")));
}

TEST(AmdText, MacrosAreSaidToBeLeftOut) {
  auto found = reading(around(R"(
.macro step reg
	v_add_f32 \reg, \reg, v0
.endm
	step v1
	step v2
	v_mov_b32 v0, 0)"));
  ASSERT_TRUE(found);
  EXPECT_THAT(found->warnings, Contains(HasSubstr("not expanded (1 definitions, 2 calls)")));
  EXPECT_EQ(found->kernels.at(0).instructions.size(), 2u);
}

TEST(AmdText, Version2AssemblyKeepsItsCode) {
  auto found = reading(R"(
.hsa_code_object_version 2,1
.amdgpu_hsa_kernel old
old:
  .amd_kernel_code_t
    workitem_vgpr_count = 10
    wavefront_sgpr_count = 16
  .end_amd_kernel_code_t
  v_mov_b32 v7, 0
  s_endpgm
)");
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_THAT(found->warnings, Contains(HasSubstr("version 2")));
  EXPECT_EQ(found->kernels.at(0).name, "old");
  EXPECT_EQ(found->kernels[0].registers_used, 8);
  EXPECT_EQ(found->kernels[0].instructions.size(), 2u);
}

TEST(AmdText, BadTextGivesErrorsOrWarnings) {
  const auto message = [](std::string_view text) {
    auto found = reading(text);
    return found ? std::string("read") : found.error().to_string();
  };
  EXPECT_THAT(message(""), HasSubstr("kernel.s: the text holds no kernel"));
  EXPECT_THAT(message("; s_endpgm was here\n"), HasSubstr("holds no kernel"));
  EXPECT_THAT(message(around("\tv_nop") +
                      "\t.amdgpu_metadata\namdhsa.kernels: 7\n\t.end_amdgpu_metadata\n"),
              HasSubstr("kernel.s:9:1: amdhsa.kernels must be a list"));
  EXPECT_THAT(message(around("\tv_nop") +
                      "\t.amdgpu_metadata\namdhsa.kernels:\n  .name: k\n\t.end_amdgpu_metadata\n"),
              HasSubstr("kernel.s:10:3: a kernel of amdhsa.kernels must start with a dash"));
  // A block that never ends, a comment that never ends, a descriptor without code.
  EXPECT_EQ(message(around("\tv_nop") + "\t.amdgpu_metadata\namdhsa.kernels:\n"), "read");
  EXPECT_EQ(message(around("\tv_nop\n\ts_nop 0 /* and so on")), "read");
  auto found = reading("\t.amdhsa_kernel lost\n\t.amdhsa_next_free_vgpr 8\n\t.end_amdhsa_kernel\n");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->kernels.at(0).notes, Contains(HasSubstr("does not show its code")));
}

// Whatever is cut off or garbled, reading ends with a result or an error.
TEST(AmdText, CutAndGarbledTextIsSafe) {
  const std::string whole =
      std::string(kByHand) + std::string(kByCompiler) + std::string(kDisassembly);
  for (std::size_t size = 0; size < whole.size(); size += 7) (void)reading(whole.substr(0, size));
  Generator random(11);
  for (int i = 0; i < 300; ++i) {
    std::string text = whole;
    for (int j = 0; j < 60; ++j) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    (void)reading(text);
  }
  (void)reading("s_endpgm\n" + std::string(2'000'000, 'v'));
  (void)reading("s_endpgm\nv_add_f32 " + std::string(2'000'000, ','));
  (void)reading("s_endpgm\nv_add_f32 " + std::string(500'000, '(') + "v[" +
                std::string(500'000, '['));
  std::string branches = "s_endpgm\n";
  for (int i = 0; i < 20'000; ++i)
    branches += fmt::format("l{}:\n\ts_cbranch_scc0 l{}\n", i, 19'999 - i);
  (void)reading(branches);
}

}  // namespace
}  // namespace burnish::isa::amd
