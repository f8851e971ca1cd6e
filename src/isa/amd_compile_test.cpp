#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "isa/amd.h"
#include "isa/flow.h"

namespace burnish::isa::amd {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Small kernels that each show one thing; HIP without ROCm's headers.
constexpr std::string_view kSource = R"(
#define KERNEL(n) extern "C" __attribute__((global, amdgpu_flat_work_group_size(n, n))) void
#define SHARED __attribute__((shared))
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f8 __attribute__((ext_vector_type(8)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

KERNEL(256) saxpy(float a, const float* x, float* y, int n) {
  int i = GROUP * 256 + LANE;
  if (i < n) y[i] = a * x[i] + y[i];
}
KERNEL(256) tiled(const f4* x, float* y, int n) {
  SHARED static float s[1024];
  int t = LANE;
  float sum = 0;
  for (int i = 0; i < n; i++) {
    f4 v = x[i * 256 + t];
    s[t] = v.x + v.y + v.z + v.w;
    __builtin_amdgcn_s_barrier();
    for (int j = 0; j < n; j++) sum += s[(t + j * 3) & 255];
    __builtin_amdgcn_s_barrier();
  }
  y[t] = sum;
}
KERNEL(256) large_lds(float* y) {
  SHARED static float s[5120];
  s[LANE] = y[LANE];
  __builtin_amdgcn_s_barrier();
  y[LANE] = s[LANE ^ 1];
}
KERNEL(1024) __attribute__((amdgpu_num_vgpr(32))) spilled(const float* p, float* q, int n) {
  float a[64];
  int t = LANE;
#pragma unroll
  for (int i = 0; i < 64; i++) a[i] = p[i * 1024 + t];
  for (int k = 0; k < n; k++) {
#pragma unroll
    for (int i = 0; i < 64; i++) a[i] = a[i] * a[(i + 7) & 63] + p[k];
  }
#pragma unroll
  for (int i = 0; i < 64; i++) q[i * 1024 + t] = a[i];
}
KERNEL(64) local_array(const int* p, float* q, int n) {
  float a[64];
  for (int i = 0; i < 64; i++) a[i] = i * LANE;
  for (int i = 0; i < n; i++) a[p[i] & 63] += 1;
  q[LANE] = a[p[LANE] & 63];
}
KERNEL(64) lanes(const int* p, int* q) {
  int t = LANE, v = p[t];
#define STEP(c) { int o = __builtin_amdgcn_update_dpp(v, v, c, 0xf, 0xf, false); v = v > o ? v : o; }
  STEP(0xb1) STEP(0x4e) STEP(0x114) STEP(0x118)
#ifdef GFX9
  STEP(0x142) STEP(0x143)
#endif
  int a = 0;
  for (int i = 0; i < 8; i++) a += __builtin_amdgcn_readlane(v, i * 4);
  a += __builtin_amdgcn_ds_bpermute((t ^ 1) * 4, v);
  a += __builtin_amdgcn_ds_swizzle(v, 0x401f);
  q[t] = a + __builtin_amdgcn_readfirstlane(v);
}
KERNEL(256) histogram(int* h, const unsigned char* p, int n) {
  SHARED static int l[256];
  int t = LANE;
  l[t] = 0;
  __builtin_amdgcn_s_barrier();
  for (int i = t; i < n; i += 256) __atomic_fetch_add(&l[p[i]], 1, __ATOMIC_RELAXED);
  __builtin_amdgcn_s_barrier();
  __atomic_fetch_add(&h[t], l[t], __ATOMIC_RELAXED);
}
KERNEL(256) special(const float* p, unsigned char* q) {
  q[LANE] = (unsigned char)__builtin_amdgcn_exp2f(__builtin_amdgcn_rcpf(p[LANE]));
}
KERNEL(64) same_in_all_lanes(const float* w, const float* x, float* y, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) {
#pragma unroll
    for (int j = 0; j < 25; j++) {
      float v = ((volatile const float*)w)[GROUP * 25 + j];
      s = __builtin_fmaf(v, x[i * 64 + LANE + j], s);
    }
  }
  y[LANE] = s;
}
KERNEL(64) matrix(const h16* a, const h16* b, void* c, int k, int m) {
  int t = LANE;
#if defined(MFMA)
  f16v sum = 0;
  for (int i = 0; i < k; i++)
    sum = __builtin_amdgcn_mfma_f32_32x32x8f16(((const h4*)a)[i * 256 + t], ((const h4*)b)[i * 256 + t],
                                               sum, 0, 0, 0);
  ((f16v*)c)[t] = sum;
#elif defined(WMMA11)
  f8 sum = 0;
  for (int i = 0; i < k; i++)
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[i * 32 + t], b[i * 32 + t], sum);
  ((f8*)c)[t] = sum;
#elif defined(WMMA12)
  f8 sum = 0;
  for (int i = 0; i < k; i++)
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(((const h8*)a)[i * 32 + t],
                                                           ((const h8*)b)[i * 32 + t], sum);
  ((f8*)c)[t] = sum;
#endif
}
KERNEL(64) narrow_matrix(const _Float16* a, const _Float16* b, f16v* c, int k) {
#if defined(MFMA)
  int t = LANE;
  f16v sum = 0;
  for (int i = 0; i < k; i++) {
    h4 x, y;
    for (int j = 0; j < 4; j++) {
      x[j] = a[(i * 4 + j) * 333 + t];
      y[j] = b[(i * 4 + j) * 777 + t];
    }
    sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
  }
  c[t] = sum;
#endif
}
)";

struct Compiled {
  Reading assembly, object;
  std::string text;  ///< of the assembly
};

std::string flags_of(const std::string& target) {
  std::string flags;
  if (target.starts_with("gfx9")) flags += "-DGFX9";
  return flags;
}

const char* matrix_flag(const std::string& target) {
  if (target == "gfx90a" || target == "gfx942" || target == "gfx950") return "-DMFMA";
  if (target == "gfx1100") return "-DWMMA11";
  if (target == "gfx1201") return "-DWMMA12";
  return "-DNO_MATRIX";
}

class Compilation : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    clang_ = find_program({"clang++-22"});
    linker_ = find_program({"ld.lld-22", "lld-22"});
    dump_ = find_program({"llvm-objdump-22"});
  }

  void SetUp() override {
    if (!clang_) GTEST_SKIP() << "clang++-22 is absent";
    if (!linker_) GTEST_SKIP() << "lld-22 is absent";
    if (!dump_) GTEST_SKIP() << "llvm-objdump-22 is absent";
    compile();
  }

  void compile() {
    const std::string target = GetParam();
    auto& cached = compiled_[target];
    if (!cached) {
      auto folder = TemporaryFolder::make();
      ASSERT_TRUE(folder);
      const fs::path source = folder->path() / "k.hip";
      ASSERT_TRUE(real_file_system().write(source, kSource));
      Compiled made;
      for (const char* what : {"s", "co"}) {
        const fs::path output = folder->path() / ("k." + std::string(what));
        ProcessSpec spec;
        spec.argv = {clang_->string(),
                     "-x",
                     "hip",
                     "--cuda-device-only",
                     "--offload-arch=" + target,
                     "-nogpuinc",
                     "-nogpulib",
                     "-O3",
                     matrix_flag(target),
                     source.string(),
                     "-o",
                     output.string()};
        if (const std::string flags = flags_of(target); !flags.empty()) spec.argv.push_back(flags);
        spec.argv.push_back(what == std::string("s") ? "-S" : "--no-gpu-bundle-output");
        auto ran = real_process_runner().run(spec);
        ASSERT_TRUE(ran);
        ASSERT_TRUE(ran->ok()) << ran->errors;
        auto bytes = real_file_system().read(output);
        ASSERT_TRUE(bytes);
        ASSERT_TRUE(recognises(*bytes));
        auto reading = read(output, *bytes, real_process_runner());
        ASSERT_TRUE(reading) << reading.error().to_string();
        (what == std::string("s") ? made.assembly : made.object) = std::move(*reading);
        if (what == std::string("s")) made.text = *bytes;
      }
      cached = std::move(made);
    }
    assembly_ = &cached->assembly;
    object_ = &cached->object;
    text_ = cached->text;
  }

  const Kernel& kernel(const char* name) const {
    for (const Kernel& each : object_->kernels) {
      if (each.symbol == name) return each;
    }
    ADD_FAILURE() << "no kernel " << name;
    static const Kernel none;
    return none;
  }
  std::string target() const { return GetParam(); }
  bool gfx9() const { return target().starts_with("gfx9"); }
  bool mfma() const { return std::string(matrix_flag(target())) == "-DMFMA"; }

  static std::int64_t count(const Kernel& kernel, const char* name) {
    const auto found = kernel.classes.find(name);
    return found == kernel.classes.end() ? -1 : found->second;
  }
  static const Loop& hot(const Kernel& kernel) {
    return kernel.loops.at(static_cast<std::size_t>(hot_loop(kernel)));
  }

  const Reading* assembly_ = nullptr;
  const Reading* object_ = nullptr;
  std::string text_;

 private:
  static std::optional<fs::path> clang_, linker_, dump_;
  static std::map<std::string, std::optional<Compiled>> compiled_;
};
std::optional<fs::path> Compilation::clang_, Compilation::linker_, Compilation::dump_;
std::map<std::string, std::optional<Compiled>> Compilation::compiled_;

/// NOPs that align loops are in the object only.
Counts without_nops(Counts classes) {
  classes.erase("nop");
  return classes;
}

// Assembly and object are read by different ways, and must say the same.
TEST_P(Compilation, AssemblyAndObjectAgree) {
  EXPECT_EQ(assembly_->kind, "amdgcn-assembly");
  EXPECT_EQ(object_->kind, "amdgpu-elf");
  EXPECT_THAT(object_->tool, HasSubstr("llvm-objdump 22"));
  EXPECT_THAT(object_->warnings, IsEmpty());
  ASSERT_EQ(assembly_->kernels.size(), 11u);
  ASSERT_EQ(object_->kernels.size(), 11u);
  for (const Kernel& one : assembly_->kernels) {
    const Kernel& other = kernel(one.symbol.c_str());
    SCOPED_TRACE(one.symbol);
    EXPECT_EQ(one.arch, target());
    EXPECT_EQ(other.arch, target());
    EXPECT_EQ(one.registers_used, other.registers_used);
    EXPECT_EQ(one.registers_allocated, other.registers_allocated);
    EXPECT_EQ(one.registers_accum, other.registers_accum);
    EXPECT_EQ(one.registers_scalar, other.registers_scalar);
    EXPECT_EQ(one.shared_bytes, other.shared_bytes);
    EXPECT_EQ(one.scratch_bytes, other.scratch_bytes);
    EXPECT_EQ(one.spill_loads, other.spill_loads);
    EXPECT_EQ(one.spill_stores, other.spill_stores);
    EXPECT_EQ(one.spill_bytes, other.spill_bytes);
    EXPECT_EQ(one.workgroup_limit, other.workgroup_limit);
    EXPECT_EQ(one.arguments.size(), other.arguments.size());
    EXPECT_EQ(without_nops(one.classes), without_nops(other.classes));
    EXPECT_EQ(one.widths, other.widths);
    EXPECT_EQ(one.cross_lane, other.cross_lane);
    EXPECT_EQ(one.matrix_shapes, other.matrix_shapes);
    ASSERT_EQ(one.loops.size(), other.loops.size());
    for (std::size_t i = 0; i < one.loops.size(); ++i) {
      EXPECT_EQ(one.loops[i].classes, other.loops[i].classes);
      EXPECT_EQ(one.loops[i].depth, other.loops[i].depth);
    }
    EXPECT_THAT(other.unknown_opcodes, IsEmpty());
    for (const std::string& note : other.notes) EXPECT_THAT(note, HasSubstr("inflated"));
  }
}

// The compiler's own comments: registers, and a remark at every loop header.
TEST_P(Compilation, AgreesWithTheCompiler) {
  std::map<std::string, std::map<std::string, std::int64_t>> said;
  std::map<std::string, int> loops;
  std::map<std::string, int> deepest;
  std::string current;
  for (std::string_view line : split_lines(text_)) {
    for (const Kernel& each : object_->kernels) {
      if (line.starts_with(each.symbol + ":")) current = each.symbol;
    }
    if (current.empty()) continue;
    const std::size_t header = line.find("Loop Header: Depth=");
    if (header != std::string_view::npos && line.find("Parent") == std::string_view::npos) {
      ++loops[current];
      deepest[current] = std::max(
          deepest[current], line[header + std::string_view("Loop Header: Depth=").size()] - '0');
    }
    if (!line.starts_with("; ")) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto number = parse_integer(trim(line.substr(colon + 1)));
    if (number) said[current][std::string(trim(line.substr(2, colon - 2)))] = *number;
  }
  for (const Kernel& each : object_->kernels) {
    SCOPED_TRACE(each.symbol);
    EXPECT_EQ(each.registers_used, said[each.symbol].at("NumVgprs"));
    EXPECT_EQ(each.registers_scalar, said[each.symbol].at("TotalNumSgprs"));
    EXPECT_EQ(each.scratch_bytes, said[each.symbol].at("ScratchSize"));
    if (each.registers_accum) {
      EXPECT_EQ(each.registers_accum, said[each.symbol].at("NumAgprs"));
    }
    EXPECT_EQ(each.loops.size(), static_cast<std::size_t>(loops[each.symbol]));
    int depth = 0;
    for (const Loop& loop : each.loops) depth = std::max(depth, loop.depth);
    EXPECT_EQ(depth, deepest[each.symbol]);
  }
}

TEST_P(Compilation, ResourcesAndLimits) {
  const Kernel& saxpy = kernel("saxpy");
  EXPECT_EQ(saxpy.workgroup_limit, 256);
  EXPECT_EQ(saxpy.shared_bytes, 0);
  EXPECT_EQ(saxpy.spill_bytes, 0);
  EXPECT_EQ(saxpy.spill_loads, 0);
  EXPECT_EQ(saxpy.extra.at("isa.wave_size"), gfx9() ? 64 : 32);
  ASSERT_GE(saxpy.arguments.size(), 4u);
  EXPECT_EQ(saxpy.arguments[1].kind, "global_buffer");
  EXPECT_EQ(saxpy.arguments[1].offset, 8);
  EXPECT_EQ(saxpy.arguments[3].size, 4);
  EXPECT_EQ(kernel("tiled").shared_bytes, 4096);
  // 20 KiB of LDS leave fewer waves than the registers would; LLVM writes those into the
  // descriptor.
  const Kernel& large = kernel("large_lds");
  EXPECT_EQ(large.shared_bytes, 20480);
  if (target() == "gfx942" || target() == "gfx90a") {
    EXPECT_THAT(large.notes, Contains(HasSubstr("inflated")));
    EXPECT_EQ(large.registers_allocated, 136);
  }
  EXPECT_LT(*large.registers_used, 16);
}

TEST_P(Compilation, SpillsAreToldFromLocalArrays) {
  const Kernel& spilled = kernel("spilled");
  EXPECT_GT(*spilled.spill_loads, 10);
  EXPECT_GT(*spilled.spill_stores, 10);
  EXPECT_GT(*spilled.spill_bytes, 40);
  EXPECT_EQ(count(spilled, "vmem_load"), 64);
  EXPECT_EQ(count(spilled, "vmem_store"), 64);
  EXPECT_GT(hot(spilled).classes.at("spill_load"), 0);
  const Kernel& array = kernel("local_array");
  EXPECT_GE(*array.scratch_bytes, 256);
  EXPECT_EQ(array.spill_loads, 0);
  EXPECT_EQ(array.spill_stores, 0);
  EXPECT_GT(array.extra.at("isa.loop.scratch_loads"), 0);
}

TEST_P(Compilation, ClassesWidthsAndLanes) {
  const Kernel& tiled = kernel("tiled");
  EXPECT_EQ(tiled.widths.at("global_load").at(128), 1);
  EXPECT_EQ(count(tiled, "lds_store"), 1);
  EXPECT_EQ(count(tiled, "barrier"), 2);
  int depth = 0;
  for (const Loop& loop : tiled.loops) depth = std::max(depth, loop.depth);
  EXPECT_EQ(depth, 2);
  const Kernel& lanes = kernel("lanes");
  EXPECT_EQ(lanes.cross_lane.at("dpp_quad_perm"), 2);
  EXPECT_EQ(lanes.cross_lane.at("dpp_row_shr"), 2);
  EXPECT_EQ(lanes.cross_lane.contains("dpp_row_bcast"), gfx9());
  if (gfx9()) {
    EXPECT_EQ(lanes.cross_lane.at("dpp_row_bcast"), 2);
  }
  EXPECT_GE(lanes.cross_lane.at("readlane"), 7);
  EXPECT_GE(lanes.extra.at("isa.readlane_chain"), 7);
  EXPECT_EQ(lanes.cross_lane.at("bpermute"), 1);
  EXPECT_EQ(lanes.cross_lane.at("swizzle"), 1);
  EXPECT_EQ(lanes.cross_lane.at("readfirstlane"), 1);
  const Kernel& histogram = kernel("histogram");
  EXPECT_EQ(count(histogram, "atomic"), 2);
  EXPECT_EQ(histogram.widths.at("global_load").at(8), 1);
  const Kernel& special = kernel("special");
  EXPECT_EQ(count(special, "sfu"), 2);
  EXPECT_EQ(count(special, "convert"), 1);
  EXPECT_EQ(special.widths.at("global_store").at(8), 1);
}

TEST_P(Compilation, WaitsNameTheirLoads) {
  const Kernel& saxpy = kernel("saxpy");
  // The last wait before the store needs both loads.
  std::vector<int> loads;
  std::vector<int> waited;
  for (std::size_t i = 0; i < saxpy.instructions.size(); ++i) {
    const Instruction& each = saxpy.instructions[i];
    if (each.instruction_class == "vmem_load") loads.push_back(static_cast<int>(i));
    for (const int producer : each.waits_for) {
      const std::string& of =
          saxpy.instructions[static_cast<std::size_t>(producer)].instruction_class;
      EXPECT_TRUE(of == "vmem_load" || of == "smem") << of;
      if (of == "vmem_load") waited.push_back(producer);
    }
  }
  EXPECT_EQ(loads.size(), 2u);
  EXPECT_EQ(waited, loads);
  EXPECT_GE(kernel("tiled").extra.at("isa.full_waits"), 2);
}

TEST_P(Compilation, MatrixInstructions) {
  const Kernel& matrix = kernel("matrix");
  if (mfma()) {
    EXPECT_EQ(matrix.matrix_shapes.at("32x32x8 f16"), 1);
    EXPECT_EQ(hot(matrix).classes.at("matrix"), 1);
    EXPECT_EQ(matrix.extra.at("isa.matrix_narrow_fed"), 0);
    EXPECT_EQ(kernel("narrow_matrix").extra.at("isa.loop.matrix_narrow_fed"), 1);
  } else {
    EXPECT_EQ(matrix.matrix_shapes.at("16x16x16 f16"), 1);
  }
}

TEST_P(Compilation, ValuesThatAllLanesShare) {
  // 25 weights a turn that are loaded by address of the workgroup alone.
  const Kernel& shared = kernel("same_in_all_lanes");
  EXPECT_GE(shared.extra.at("isa.loop.uniform_vector_ops"), 25);
  EXPECT_LE(kernel("special").extra.at("isa.uniform_vector_registers"), 2);
}

INSTANTIATE_TEST_SUITE_P(Targets, Compilation,
                         testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace burnish::isa::amd
