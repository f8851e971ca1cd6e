#include "isa/sass_opcode.h"

#include <gtest/gtest.h>

#include <deque>

namespace burnish::isa::nvidia {
namespace {

std::string_view class_of(std::string_view mnemonic) {
  return classify(mnemonic).instruction_class;
}

TEST(SassOpcode, ClassesByGeneration) {
  for (const auto& [mnemonic, expected] : std::vector<std::pair<const char*, const char*>>{
           {"XMAD.MRG", "valu"},
           {"IADD3", "valu"},
           {"UIADD3", "salu"},
           {"R2UR", "salu"},
           {"FFMA", "fma"},
           {"FFMA2", "packed_fma"},
           {"HFMA2.BF16_V2", "packed_fma"},
           {"DFMA", "fma"},
           {"LDG.E.128.CONSTANT", "vmem_load"},
           {"LD.E", "vmem_load"},
           {"TEX.SCR.LL", "vmem_load"},
           {"STG.E.EF.64", "vmem_store"},
           {"LDS.U.64", "lds_load"},
           {"LDSM.16.M88.4", "lds_load"},
           {"STS.128", "lds_store"},
           {"STSM.16.M88.4", "lds_store"},
           {"LDC.64", "smem"},
           {"ULDC", "smem"},
           {"LDCU.128", "smem"},
           {"LDL.LU", "local_load"},
           {"STL.64", "local_store"},
           {"SHFL.BFLY", "cross_lane"},
           {"VOTEU.ANY", "cross_lane"},
           {"REDUX.SUM", "cross_lane"},
           {"F2FP.BF16.F32.PACK_AB", "convert"},
           {"I2F.U32.RP", "convert"},
           {"MUFU.EX2", "sfu"},
           {"ATOMG.E.ADD.STRONG.GPU", "atomic"},
           {"RED.E.ADD.STRONG.GPU", "atomic"},
           {"REDG.E.ADD.F32", "atomic"},
           {"LDGSTS.E.BYPASS.128", "async_copy"},
           {"UBLKCP.S.G", "async_copy"},
           {"UTMALDG.2D", "async_copy"},
           {"UTMASTG.4D", "async_copy"},
           {"BAR.SYNC.DEFER_BLOCKING", "barrier"},
           {"SYNCS.ARRIVE.TRANS64", "barrier"},
           {"LDGDEPBAR", "wait"},
           {"DEPBAR.LE", "wait"},
           {"WARPGROUP.DEPBAR.LE", "wait"},
           {"BRA.U", "branch"},
           {"BSSY.RECONVERGENT", "branch"},
           {"CALL.REL.NOINC", "call"},
           {"NOP", "nop"},
           {"S2R", "other"},
           {"LDTM.x4", "accum_move"},
           {"FROBNICATE.X", "unknown"},
           {"", "unknown"},
           {".", "unknown"},
           {"LDGX", "unknown"},
       }) {
    EXPECT_EQ(class_of(mnemonic), expected) << mnemonic;
  }
}

TEST(SassOpcode, MatrixShapesByTheirRealMnemonics) {
  const auto shape = [](std::string_view mnemonic) { return classify(mnemonic).matrix_shape; };
  EXPECT_EQ(shape("HMMA.884.F32.F32.STEP0"), "8x8x4 f16");
  EXPECT_EQ(shape("HMMA.1688.F32.TF32"), "16x8x8 tf32");
  EXPECT_EQ(shape("HMMA.16816.F32.BF16"), "16x8x16 bf16");
  EXPECT_EQ(shape("HMMA.16816.F16"), "16x8x16 f16");
  EXPECT_EQ(shape("HMMA.SP.16832.F32"), "16x8x32 f16 sparse");
  EXPECT_EQ(shape("IMMA.8816.S8.S8"), "8x8x16 s8");
  EXPECT_EQ(shape("IMMA.16832.U8.S8.SAT"), "16x8x32 u8*s8");
  EXPECT_EQ(shape("IMMA.16864.S4.S4"), "16x8x64 s4");
  EXPECT_EQ(shape("BMMA.168256.AND.POPC"), "16x8x256 b1");
  EXPECT_EQ(shape("DMMA.884"), "8x8x4 f64");
  EXPECT_EQ(shape("DMMA.8x8x4"), "8x8x4 f64");
  EXPECT_EQ(shape("HGMMA.64x128x16.F32.BF16"), "64x128x16 bf16");
  EXPECT_EQ(shape("QGMMA.64x16x32.F32.E4M3.E5M2"), "64x16x32 e4m3*e5m2");
  EXPECT_EQ(shape("IGMMA.64x64x32.S8.S8"), "64x64x32 s8");
  EXPECT_EQ(shape("QMMA.16832.F32.E2M1.E2M1"), "16x8x32 e2m1");
  EXPECT_EQ(shape("UTCQMMA.2CTA"), "utcqmma");
  EXPECT_EQ(shape("FFMA"), "");
  EXPECT_EQ(classify("HMMA.16816.F32").special, Special::mma);
  EXPECT_EQ(classify("HGMMA.64x8x16.F32").special, Special::wgmma);
  EXPECT_EQ(classify("UTCHMMA").special, Special::tcgen05);
}

TEST(SassOpcode, WidthsAreOfALane) {
  const auto bits = [](std::string_view mnemonic) { return classify(mnemonic).width_bits; };
  EXPECT_EQ(bits("LDG.E"), 32);
  EXPECT_EQ(bits("LDG.E.U8.CONSTANT"), 8);
  EXPECT_EQ(bits("LDG.E.S16"), 16);
  EXPECT_EQ(bits("LDG.E.64"), 64);
  EXPECT_EQ(bits("LDG.E.LTC128B.128"), 128);
  EXPECT_EQ(bits("LDG.E.LTC128B"), 32) << "how much the cache fetches is not the access";
  EXPECT_EQ(bits("LDG.E.ENL2.256"), 256);
  EXPECT_EQ(bits("LDS.96"), 96);
  EXPECT_EQ(bits("LDSM.16.M88"), 32);
  EXPECT_EQ(bits("LDSM.16.MT88.2"), 64);
  EXPECT_EQ(bits("LDSM.16.M88.4"), 128);
  EXPECT_EQ(bits("LDGSTS.E.BYPASS.LTC128B.128"), 128);
  EXPECT_EQ(bits("UTMALDG.2D"), 0);
  EXPECT_EQ(bits("ATOMG.E.ADD.64"), 0);
  EXPECT_EQ(bits("IMAD.WIDE"), 0);
}

TEST(SassOpcode, TheTableFindsEachOnceAndKeepsReferences) {
  std::deque<std::string> names;  // views into it stay
  Opcodes opcodes;
  std::vector<const Opcode*> found;
  for (int i = 0; i < 5000; ++i) {
    names.push_back("LDG.X" + std::to_string(i));
    found.push_back(&opcodes.find(names.back()));
  }
  for (int i = 0; i < 5000; ++i) {
    const std::string again = "LDG.X" + std::to_string(i);
    EXPECT_EQ(&opcodes.find(again), found[static_cast<std::size_t>(i)]);
    EXPECT_EQ(found[static_cast<std::size_t>(i)]->mnemonic, again);
  }
}

}  // namespace
}  // namespace burnish::isa::nvidia
