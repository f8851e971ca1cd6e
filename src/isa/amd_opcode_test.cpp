#include "isa/amd_opcode.h"

#include <gtest/gtest.h>

#include <string>

#include "isa/amd_symbols.h"

namespace burnish::isa::amd {
namespace {

struct Known {
  const char* mnemonic;
  const char* instruction_class;
  int width = 0;
};

TEST(Opcodes, KnowTheirClassesAndWidths) {
  for (const Known& row : {
           Known{"v_add_f32_e32", "valu"},
           {"v_add_co_ci_u32_e64", "valu"},
           {"v_addc_co_u32_e32", "valu"},
           {"v_lshl_add_u64", "valu"},
           {"v_lshlrev_b32_sdwa", "valu"},
           {"v_cmp_gt_i32_e32", "valu"},
           {"v_cmpx_nlt_f64_e64", "valu"},
           {"v_cndmask_b32_e64", "valu"},
           {"v_maximumminimum_f16", "valu"},
           {"v_mad_u32_u24", "valu"},
           {"v_mad_u64_u32", "valu"},
           {"v_mbcnt_hi_u32_b32", "valu"},
           {"v_pk_mul_f32", "valu"},
           {"v_fma_f32", "fma"},
           {"v_fmac_f32_e32", "fma"},
           {"v_fmaak_f32", "fma"},
           {"v_mad_f32", "fma"},
           {"v_mad_mix_f32", "fma"},
           {"v_pk_fma_f32", "packed_fma"},
           {"v_pk_fmac_f16", "packed_fma"},
           {"v_dot2_f32_f16", "packed_fma"},
           {"v_dot4c_i32_i8_e32", "packed_fma"},
           {"v_dual_fmac_f32", "fma"},
           {"v_cvt_f32_f16_e32", "convert"},
           {"v_cvt_scalef32_pk32_f32_fp6", "convert"},
           {"v_cvt_pkrtz_f16_f32", "convert"},
           {"v_exp_f32_e32", "sfu"},
           {"v_rcp_iflag_f32_e32", "sfu"},
           {"v_s_rsq_f32", "sfu"},
           {"v_mfma_f32_32x32x8_f16", "matrix"},
           {"v_wmma_f32_16x16x16_f16", "matrix"},
           {"v_accvgpr_read_b32", "accum_move"},
           {"v_accvgpr_write_b32", "accum_move"},
           {"v_readlane_b32", "cross_lane"},
           {"v_readfirstlane_b32", "cross_lane"},
           {"v_writelane_b32", "cross_lane"},
           {"v_permlanex16_b32", "cross_lane"},
           {"v_permlane32_swap_b32_e32", "cross_lane"},
           {"v_mov_b32_dpp", "cross_lane"},
           {"v_max_u32_dpp", "cross_lane"},
           {"v_add_f32_e64_dpp", "cross_lane"},
           {"v_cmp_lt_f32_e64_dpp8", "cross_lane"},
           {"ds_bpermute_b32", "cross_lane"},
           {"ds_swizzle_b32", "cross_lane"},
           {"s_add_u32", "salu"},
           {"s_and_saveexec_b64", "salu"},
           {"s_and_not1_wrexec_b32", "salu"},
           {"s_cselect_b32", "salu"},
           {"s_fmac_f32", "salu"},
           {"s_getpc_b64", "salu"},
           {"s_load_dwordx16", "smem", 512},
           {"s_load_b96", "smem", 96},
           {"s_buffer_load_dwordx2", "smem", 64},
           {"s_memtime", "smem"},
           {"s_branch", "branch"},
           {"s_cbranch_scc1", "branch"},
           {"s_swappc_b64", "branch"},
           {"s_endpgm", "other"},
           {"s_delay_alu", "other"},
           {"s_clause", "other"},
           {"s_waitcnt", "wait"},
           {"s_waitcnt_vscnt", "wait"},
           {"s_wait_loadcnt_dscnt", "wait"},
           {"s_wait_alu", "wait"},
           {"s_nop", "nop"},
           {"v_nop", "nop"},
           {"s_barrier", "barrier"},
           {"s_barrier_wait", "barrier"},
           {"s_barrier_signal", "other"},
           {"global_load_dwordx4", "vmem_load", 128},
           {"global_load_b96", "vmem_load", 96},
           {"global_load_d16_hi_u8", "vmem_load", 8},
           {"global_load_ushort", "vmem_load", 16},
           {"global_load_tr_b128", "vmem_load", 128},
           {"buffer_load_short_d16_hi", "vmem_load", 16},
           {"buffer_load_format_xyz", "vmem_load", 96},
           {"buffer_load_format_d16_xy", "vmem_load", 32},
           {"flat_load_sbyte", "vmem_load", 8},
           {"image_sample_l", "vmem_load"},
           {"flat_store_dwordx3", "vmem_store", 96},
           {"global_store_d16_hi_b16", "vmem_store", 16},
           {"tbuffer_store_format_xyzw", "vmem_store", 128},
           {"global_atomic_add_f32", "atomic", 32},
           {"global_atomic_cmpswap_x2", "atomic", 64},
           {"buffer_atomic_pk_add_bf16", "atomic", 32},
           {"ds_add_rtn_u64", "atomic", 64},
           {"ds_cmpst_rtn_b32", "atomic", 32},
           {"ds_read_b32", "lds_load", 32},
           {"ds_read2_b64", "lds_load", 128},
           {"ds_read2st64_b32", "lds_load", 64},
           {"ds_read_b64_tr_b16", "lds_load", 64},
           {"ds_load_2addr_stride64_b64", "lds_load", 128},
           {"ds_load_u16_d16_hi", "lds_load", 16},
           {"ds_write_b96", "lds_store", 96},
           {"ds_write2_b32", "lds_store", 64},
           {"ds_store_b128", "lds_store", 128},
           {"global_load_lds_dwordx4", "async_copy", 128},
           {"global_load_async_to_lds_b64", "async_copy", 64},
           {"tensor_load_to_lds", "async_copy"},
           {"global_store_async_from_lds_b128", "async_copy"},
           {"buffer_wbl2", "other"},
           {"buffer_gl0_inv", "other"},
       }) {
    const Opcode found = classify(row.mnemonic);
    EXPECT_EQ(found.instruction_class, row.instruction_class) << row.mnemonic;
    EXPECT_EQ(found.width_bits, row.width) << row.mnemonic;
  }
}

TEST(Opcodes, NewWordsAreUnknown) {
  for (const char* mnemonic :
       {"v_frobnicate_f32", "v_add_frob_f32", "v_", "v", "", "s_frob_b32", "s_add_frob",
        "ds_frob_b32", "global_load_frob", "global_frob_b32", "buffer", "s_wait_frobcnt",
        "s_cbranch_frob", "hello", "v_pk_frob_f16", "tensor_frob", "__", "ds_read_frob_b32",
        "s_load_frob"}) {
    EXPECT_EQ(classify(mnemonic).instruction_class, "unknown") << mnemonic;
  }
}

TEST(Opcodes, MatrixShapes) {
  for (const auto& [mnemonic, shape] : std::initializer_list<std::pair<const char*, const char*>>{
           {"v_mfma_f32_32x32x8f16", "32x32x8 f16"},
           {"v_mfma_f32_32x32x8_f16", "32x32x8 f16"},
           {"v_mfma_f32_32x32x4_2b_f16", "32x32x4 f16"},
           {"v_mfma_f32_16x16x16bf16_1k", "16x16x16 bf16"},
           {"v_mfma_f32_16x16x8xf32", "16x16x8 xf32"},
           {"v_mfma_f32_4x4x1_16b_f32", "4x4x1 f32"},
           {"v_mfma_f64_16x16x4_f64", "16x16x4 f64"},
           {"v_mfma_i32_32x32x16_i8", "32x32x16 i8"},
           {"v_mfma_f32_16x16x32_bf8_fp8", "16x16x32 bf8_fp8"},
           {"v_mfma_scale_f32_16x16x128_f8f6f4", "16x16x128 f8f6f4"},
           {"v_smfmac_f32_16x16x64_bf16", "16x16x64 bf16"},
           {"v_wmma_i32_16x16x16_iu8", "16x16x16 iu8"},
           {"v_swmmac_f16_16x16x32_f16", "16x16x32 f16"},
           {"v_wmma_bf16f32_16x16x32_bf16", "16x16x32 bf16"}}) {
    EXPECT_EQ(classify(mnemonic).matrix_shape, shape) << mnemonic;
  }
  EXPECT_EQ(classify("v_mfma_ld_scale_b32").matrix_shape, "");
}

TEST(Opcodes, TheTableGrowsAndKeepsItsReferences) {
  std::vector<std::string> names;
  for (int i = 0; i < 20'000; ++i) names.push_back("v_made_up_" + std::to_string(i));
  names.push_back("v_add_f32");
  Opcodes opcodes;
  const Opcode& first = opcodes.find(names.front());
  for (const std::string& name : names) EXPECT_EQ(opcodes.find(name).mnemonic, name);
  EXPECT_EQ(&opcodes.find(names.front()), &first);
  EXPECT_EQ(opcodes.find("v_add_f32").instruction_class, "valu");
}

TEST(Symbols, EvaluateLikeAnAssembler) {
  Symbols symbols;
  symbols.set("tile", "32*32*4");
  symbols.set("twice", "tile * 2");
  symbols.set("tile", "7");  // what was defined by it keeps its value
  symbols.set("k.num_vgpr", "max(32, .Lcallee.num_vgpr)");
  for (const auto& [text, value] : std::initializer_list<std::pair<const char*, std::int64_t>>{
           {"twice", 8192},
           {"tile", 7},
           {"1 + 2 * 3", 7},
           {"(1 + 2) * 3", 9},
           {"10 - 4 - 3", 3},
           {"1 << 4 | 0xf & 3", 19},
           {"-5 / 2", -2},
           {"~0 & 0xff", 255},
           {"!3 + !0", 1},
           {"- -4", 4},
           {"3 > 2 && 2 >= 2 || 0", 1},
           {"0b101 + 010", 13},
           {"alignto(13, 8)", 16},
           {"max(totalnumvgprs(4, 61), 1, 0)", 68},
           {"totalnumvgprs(0, 61)", 61},
           {"or(1, 4)", 5}}) {
    EXPECT_EQ(symbols.evaluate(text), value) << text;
  }
  EXPECT_FALSE(symbols.evaluate("k.num_vgpr"));
  symbols.set(".Lcallee.num_vgpr", "40");
  EXPECT_EQ(symbols.value("k.num_vgpr"), 40);
}

TEST(Symbols, WhatHasNoValueIsAbsent) {
  Symbols symbols;
  symbols.set("a", "b + 1");
  symbols.set("b", "a + 1");
  std::vector<std::string> kept;  // the table's views point into it
  kept.reserve(200);
  for (int i = 0; i < 60; ++i) {
    const std::string next = "x" + std::to_string(i + 1);
    kept.push_back("x" + std::to_string(i));
    kept.push_back(next + " + " + next);
    symbols.set(kept[kept.size() - 2], kept.back());
  }
  const std::string deep = std::string(100'000, '(') + "1";
  const std::string signs = std::string(100'000, '-') + "1";
  EXPECT_EQ(symbols.evaluate(signs), 1);
  for (const std::string& text :
       {std::string("a"), std::string("x0"), std::string("1 / 0"), std::string("1 % 0"),
        std::string(""), std::string("1 +"), std::string("nobody"),
        std::string("9223372036854775807 + 1"), std::string("99999999999999999999"),
        std::string("1 << 63"), std::string("max()"), std::string("max(1"), std::string("foo(1)"),
        std::string("1 2"), deep}) {
    EXPECT_FALSE(symbols.evaluate(text)) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace burnish::isa::amd
