#include "isa/x86.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>

#include "base/text.h"
#include "isa/pocl_fixture.h"
#include "isa/x86_decode.h"

namespace burnish::isa {
namespace {

using testing::HasSubstr;
using x86::decode;
using x86::FramePointer;

std::string class_of(std::string_view text) {
  return decode(text, FramePointer::yes).instruction_class;
}

TEST(X86Decode, Classes) {
  EXPECT_EQ(class_of("vfmadd231ps (%rdx,%rbp,4){1to16}, %zmm9, %zmm8 # zmm8 = …"), "packed_fma");
  EXPECT_EQ(class_of("vfmadd231ss (%rdi), %xmm1, %xmm0"), "fma");
  EXPECT_EQ(class_of("vaddps %ymm0, %ymm1, %ymm2"), "valu");
  EXPECT_EQ(class_of("addss %xmm0, %xmm1"), "scalar_fp");
  EXPECT_EQ(class_of("ucomiss %xmm0, %xmm1"), "scalar_fp");
  EXPECT_EQ(class_of("vdivps %zmm0, %zmm1, %zmm2"), "sfu");
  EXPECT_EQ(class_of("vsqrtsd %xmm0, %xmm1, %xmm2"), "sfu");
  EXPECT_EQ(class_of("idivl %ecx"), "sfu");
  EXPECT_EQ(class_of("vcvtdq2ps %ymm0, %ymm1"), "convert");
  EXPECT_EQ(class_of("vpmovzxwd (%rax), %ymm1"), "convert");
  EXPECT_EQ(class_of("vpermps %zmm0, %zmm1, %zmm2"), "cross_lane");
  EXPECT_EQ(class_of("vextracti128 $0x1, %ymm10, %xmm0"), "cross_lane");
  EXPECT_EQ(class_of("vpextrq $0x1, %xmm10, %rbx"), "salu");
  EXPECT_EQ(class_of("vmovups (%rsi,%rdx), %ymm0"), "vmem_load");
  EXPECT_EQ(class_of("vmovups %ymm0, (%rsi,%rdx)"), "vmem_store");
  EXPECT_EQ(class_of("vmovaps %ymm0, %ymm1"), "other");
  EXPECT_EQ(class_of("vgatherdps (%rdi,%zmm1,4), %zmm0 {%k1}"), "vmem_load");
  EXPECT_EQ(class_of("vscatterdps %zmm0, (%rdi,%zmm1,4) {%k1}"), "vmem_store");
  EXPECT_EQ(class_of("vextractf32x4 $0x1, %zmm0, 0x10(%r9,%r10,4)"), "vmem_store");
  EXPECT_EQ(class_of("movq 0x30(%rsp), %rsi"), "spill_load");
  EXPECT_EQ(class_of("vmovaps %zmm0, 0x40(%rsp)"), "spill_store");
  EXPECT_EQ(class_of("vmovaps %zmm0, 0x40(%rsp,%rax)"), "vmem_store") << "an array, not a slot";
  EXPECT_EQ(class_of("movq -0x28(%rbp), %rax"), "spill_load");
  EXPECT_EQ(class_of("movq 0x10(%rbp), %rax"), "vmem_load") << "an argument of the function";
  EXPECT_EQ(decode("movq -0x28(%rbp), %rax", FramePointer::no).instruction_class, "vmem_load");
  EXPECT_EQ(class_of("leaq (%rsi,%r10,4), %rdx"), "salu");
  EXPECT_EQ(class_of("kortestw %k0, %k0"), "salu");
  EXPECT_EQ(class_of("lock incl (%rax)"), "atomic");
  EXPECT_EQ(class_of("lock cmpxchgl %ecx, (%rdx)"), "atomic");
  EXPECT_EQ(class_of("nopw %cs:(%rax,%rax)"), "nop");
  EXPECT_EQ(class_of("jne 0x10e0 <f+0xe0>"), "branch");
  EXPECT_EQ(class_of("callq 0x1400 <sin>"), "call");
  EXPECT_EQ(class_of("vpaddd %ymm0, %ymm1, %ymm2"), "valu");
  EXPECT_EQ(class_of("rep stosq %rax, %es:(%rdi)"), "vmem_store");
  EXPECT_EQ(class_of("frobnicate %rax"), "unknown");
}

TEST(X86Decode, WidthsAreWhatMovesBetweenMemoryAndRegister) {
  const auto bits = [](std::string_view text) {
    const auto d = decode(text, FramePointer::no);
    return std::pair(d.read_bits, d.written_bits);
  };
  EXPECT_EQ(bits("vfmadd231ps -0x38(%rdi), %zmm1, %zmm0"), std::pair(512, 0));
  EXPECT_EQ(bits("vfmadd231ps (%rdx){1to16}, %zmm1, %zmm0"), std::pair(32, 0));
  EXPECT_EQ(bits("vbroadcastss (%r13,%r12), %zmm1"), std::pair(32, 0));
  EXPECT_EQ(bits("vbroadcastsd (%r13), %zmm1"), std::pair(64, 0));
  EXPECT_EQ(bits("vextractf64x4 $0x1, %zmm0, 0x20(%r9)"), std::pair(0, 256));
  EXPECT_EQ(bits("vmovss %xmm0, (%rdx)"), std::pair(0, 32));
  EXPECT_EQ(bits("vaddss 0x4(%rdx), %xmm1, %xmm0"), std::pair(32, 0));
  EXPECT_EQ(bits("vgatherqpd (%rdi,%zmm1,8), %zmm0 {%k1}"), std::pair(64, 0));
  EXPECT_EQ(bits("vpgatherdd (%rdi,%ymm1,4), %ymm0 {%k1}"), std::pair(32, 0));
  EXPECT_EQ(bits("vcvtph2ps (%rax), %zmm0"), std::pair(256, 0));
  EXPECT_EQ(bits("addl %eax, (%rdi)"), std::pair(32, 32));
  EXPECT_EQ(bits("movl $0x0, (%rdx,%rdi,4)"), std::pair(0, 32));
  EXPECT_EQ(bits("movzbl (%rdx), %eax"), std::pair(8, 0));
  EXPECT_EQ(bits("cmpq $0x3, (%rdx)"), std::pair(64, 0));
  EXPECT_EQ(bits("leaq 0x40(%rsp), %rdi"), std::pair(0, 0));
  EXPECT_EQ(bits("pushq %rbp"), std::pair(0, 0));
}

TEST(X86Decode, NonsenseDoesNoHarm) {
  for (const char* text :
       {"", " ", "#", "v", "(", "lock", "rep rep rep", "mov (((((", "vaddps {,},,{", "jne",
        "movq %zmm99, 0xffffffffffffffffffff(%rax,%rbx,99)", "call", "%", "vfmadd ,,,", "$$$"}) {
    decode(text, FramePointer::yes);
  }
}

class X86 : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_newest_program("llvm-objdump")) GTEST_SKIP() << "no llvm-objdump on PATH";
  }
};

class X86Pocl : public X86 {
 protected:
  void SetUp() override {
    X86::SetUp();
    if (!Pocl::get().missing().empty()) GTEST_SKIP() << Pocl::get().missing();
  }
  /// The first kernel of what PoCL makes of a source.
  static Kernel build(const std::string& source, const std::string& name, int n,
                      std::array<std::size_t, 2> global, std::array<std::size_t, 2> local,
                      const char* options = "") {
    const auto object = Pocl::get().build(source, name, n, global, local, options);
    if (!object) {
      ADD_FAILURE() << object.error().to_string();
      return {};
    }
    auto reading = read_code(*object, real_process_runner());
    if (!reading) {
      ADD_FAILURE() << reading.error().to_string();
      return {};
    }
    EXPECT_EQ(reading->kind, "x86-elf");
    EXPECT_THAT(reading->tool, HasSubstr("llvm-objdump"));
    EXPECT_EQ(reading->kernels.size(), 1u);
    EXPECT_TRUE(reading->warnings.empty());
    if (reading->kernels.empty()) return {};
    EXPECT_TRUE(reading->kernels.front().unknown_opcodes.empty());
    return std::move(reading->kernels.front());
  }
  static double value(const Kernel& kernel, const char* name) {
    const auto found = metrics(kernel).value(name);
    EXPECT_TRUE(found) << name;
    return found.value_or(-1);
  }
};

TEST_F(X86Pocl, OneOutputAWorkItemIsScalarAndStrided) {
  const Kernel kernel = build(kProducts, "one_output", 64, {64, 64}, {16, 16});
  EXPECT_EQ(kernel.name, "one_output");
  EXPECT_EQ(kernel.symbol, "_pocl_kernel_one_output_workgroup");
  EXPECT_THAT(kernel.arch, HasSubstr("x86-64"));
  EXPECT_EQ(value(kernel, "isa.loop.scalar_fp_share"), 1);
  EXPECT_EQ(value(kernel, "isa.loop.vector_bits"), 32);
  EXPECT_EQ(value(kernel, "isa.loop.element_bits"), 32);
  EXPECT_EQ(value(kernel, "isa.loop.strided_loads"), 1) << "the column of b, not the row of a";
  EXPECT_EQ(value(kernel, "isa.loop.load_line_use"), 1.0 / 16);
  EXPECT_EQ(value(kernel, "isa.loop.accumulators"), 1);
  EXPECT_GT(value(kernel, "isa.loop.overhead_share"), 0.3);
  EXPECT_THAT(metrics(kernel).find("isa.loop.instructions")->where.locator, HasSubstr("loop "));
}

TEST_F(X86Pocl, VectorsAreFullWidthWithOneChain) {
  const Kernel kernel = build(kProducts, "vectors", 64, {4, 64}, {4, 4});
  EXPECT_EQ(value(kernel, "isa.loop.scalar_fp_share"), 0);
  EXPECT_GE(value(kernel, "isa.loop.vector_bits"), 128);
  EXPECT_EQ(value(kernel, "isa.loop.vector_bits"), value(kernel, "isa.target_vector_bits"));
  EXPECT_EQ(value(kernel, "isa.loop.strided_loads"), 0) << "whole lines of b; a is broadcast";
  EXPECT_EQ(value(kernel, "isa.loop.broadcasts"), 1);
  EXPECT_EQ(value(kernel, "isa.loop.accumulators"), 512 / value(kernel, "isa.loop.vector_bits"));
}

TEST_F(X86Pocl, ArrayOfSumsStaysInMemory) {
  const Kernel kernel = build(kProducts, "array_of_rows", 64, {4, 8}, {4, 4});
  EXPECT_GE(value(kernel, "isa.loop.accumulators_in_memory"), 1);
  EXPECT_EQ(value(kernel, "isa.loop.accumulators"), 0);
  EXPECT_GT(value(kernel, "isa.loop.private_accesses"), 0);
  EXPECT_GT(value(kernel, "isa.stack_bytes"), 0);
}

TEST_F(X86Pocl, UnrolledRowsAreInRegisters) {
  const Kernel kernel = build(kProducts, "rows", 64, {4, 8}, {4, 1});
  EXPECT_EQ(value(kernel, "isa.loop.accumulators_in_memory"), 0);
  EXPECT_EQ(value(kernel, "isa.loop.accumulators"),
            8 * 512 / value(kernel, "isa.loop.vector_bits"));
  EXPECT_EQ(value(kernel, "isa.loop.fma_share"), 1);
  EXPECT_LT(value(kernel, "isa.loop.loads_per_fma"), 1.5);
}

TEST_F(X86Pocl, FunctionWithoutALoopIsARegionOfItsOwn) {
  const std::string source = R"(
__kernel void saxpy(__global const float* a, __global const float* b, __global float* c, int n) {
  int i = get_global_id(0) + get_global_id(1) * get_global_size(0);
  c[i] = 2.0f * a[i] + b[i];
})";
  // PoCL unrolls a loop over few work-items before it could vectorise it.
  EXPECT_EQ(value(build(source, "saxpy", 64, {64, 4}, {8, 1}), "isa.loop.scalar_fp_share"), 1);
  const Kernel kernel = build(source, "saxpy", 64, {64, 4}, {64, 1});
  EXPECT_EQ(value(kernel, "isa.loop.scalar_fp_share"), 0);
  if (hot_loop(kernel) < 0) {
    ASSERT_EQ(kernel.notes.size(), 1u);
    EXPECT_THAT(kernel.notes[0], HasSubstr("no loop"));
    EXPECT_EQ(value(kernel, "isa.loop.instructions"), value(kernel, "isa.instructions"));
    EXPECT_FALSE(metrics(kernel).find("isa.loop.accumulators"));
  }
}

TEST_F(X86Pocl, CallsAndDivisionsAreSeen) {
  const std::string source = R"(
__kernel void slow(__global const float* a, __global const float* b, __global float* c, int n) {
  int i = get_global_id(0) + get_global_id(1) * get_global_size(0);
  float s = 0;
  for (int k = 1; k < n; ++k) s += sqrt(a[i] + k) / (b[i] + k);
  c[i] = s;
})";
  const Kernel kernel = build(source, "slow", 64, {64, 4}, {16, 1});
  EXPECT_GE(value(kernel, "isa.loop.divides"), 2);
  EXPECT_GT(kernel.classes.at("sfu"), 0);
}

TEST_F(X86Pocl, SourceLinesComeWithDebugInformation) {
  const Kernel kernel = build(kProducts, "one_output", 64, {64, 64}, {8, 8}, "-g");
  const Metric* hot = metrics(kernel).find("isa.loop.instructions");
  ASSERT_TRUE(hot);
  EXPECT_THAT(metrics(kernel).find("isa.loop.instructions")->where.locator,
              HasSubstr("(source:5)"));
}

TEST_F(X86Pocl, SameSourceIsIdenticalAndAChangedConstantIsNot) {
  const auto source = [](const char* factor) {
    return std::string(R"(
__kernel void scale(__global const float* a, __global const float* b, __global float* c, int n) {
  int i = get_global_id(0) + get_global_id(1) * get_global_size(0);
  c[i] = a[i] * )") +
           factor + "f; }";
  };
  const auto reading = [&](const char* factor, const char* comment) {
    Reading one;
    one.kernels.push_back(build(source(factor) + comment, "scale", 64, {64, 4}, {16, 1}));
    return one;
  };
  const Reading half = reading("0.37", "// a"), same = reading("0.37", "// b"),
                other = reading("0.38", "");
  const Diff equal = diff(half, same);
  EXPECT_TRUE(equal.identical);
  EXPECT_EQ(equal.kernels.at(0).summary, "the instructions are the same");
  EXPECT_FALSE(diff(half, other).identical) << "the constants differ";
}

TEST_F(X86Pocl, DiffTellsWhatRowsChanged) {
  Reading before, after;
  before.kernels.push_back(build(kProducts, "vectors", 64, {4, 64}, {4, 4}));
  after.kernels.push_back(build(kProducts, "rows", 64, {4, 8}, {4, 1}));
  const Diff changed = diff(before, after);
  ASSERT_EQ(changed.kernels.size(), 1u) << "one kernel each is a pair whatever the names";
  EXPECT_FALSE(changed.identical);
  const auto& loads = changed.kernels[0].changed.at("isa.loop.loads_per_fma");
  EXPECT_GT(loads.first, loads.second);
  EXPECT_THAT(changed.kernels[0].summary, HasSubstr("removed"));
}

/// An object with a kernel's functions from C, for what PoCL does not make by itself.
class X86Gcc : public X86 {
 protected:
  void SetUp() override {
    X86::SetUp();
    if (!find_program({"gcc"})) GTEST_SKIP() << "no gcc on PATH";
    auto folder = TemporaryFolder::make();
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
  }
  fs::path compile(const std::string& source, std::vector<std::string> flags = {}) {
    const fs::path in = folder_->path() / "k.c", out = folder_->path() / "k.so";
    EXPECT_TRUE(real_file_system().write(in, source));
    ProcessSpec spec;
    spec.argv = {"gcc", "-O2", "-shared", "-fPIC", "-o", out.string(), in.string()};
    spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
    const auto done = real_process_runner().run(spec);
    EXPECT_TRUE(done && done->ok()) << (done ? done->errors : done.error().to_string());
    return out;
  }
  /// C around assembly.
  static std::string function(const std::string& assembly) {
    return "asm(\"" + replace_all(assembly, "\n", "\\n") + "\");\n";
  }
  std::optional<TemporaryFolder> folder_;
};

TEST_F(X86Gcc, LauncherThatCallsTheBodyGivesTheBody) {
  const auto object = compile(R"(
__attribute__((noinline)) void _pocl_kernel_f(float* p, int n) { for (int i = 0; i < n; ++i) p[i * 16] = 0; }
void _pocl_kernel_f_workgroup(void** a) { _pocl_kernel_f((float*)a[0], *(int*)a[1]); __asm__(""); }
void _pocl_kernel_f_workgroup_fast(void** a) { _pocl_kernel_f((float*)a[0], *(int*)a[1]); __asm__(""); }
void _pocl_kernel_g_workgroup(void** a) { *(int*)a[0] = 1; }
void helper(int* p) { *p = 2; })",
                              {"-fno-tree-vectorize"});
  const auto reading = read_code(object, real_process_runner());
  ASSERT_TRUE(reading) << reading.error().to_string();
  ASSERT_EQ(reading->kernels.size(), 2u);
  const Kernel& f = reading->kernels[0];
  EXPECT_EQ(f.name, "f");
  EXPECT_EQ(f.symbol, "_pocl_kernel_f");
  EXPECT_EQ(f.loops.size(), 1u);
  EXPECT_EQ(metrics(f).value("isa.loop.strided_stores"), 1);
  EXPECT_EQ(metrics(f).value("isa.loop.store_line_use"), 1.0 / 16);
  EXPECT_EQ(reading->kernels[1].name, "g");
}

TEST_F(X86Gcc, UnrolledWalkOverWholeLinesIsNotStrided) {
  const auto object = compile(R"(
#include <immintrin.h>
__attribute__((target("avx2"))) void _pocl_kernel_f_workgroup(float* p, float* q, long n) {
  for (long i = 0; i < n; i += 32)
    for (int j = 0; j < 32; j += 8)
      _mm256_storeu_ps(q + i + j, _mm256_add_ps(_mm256_loadu_ps(p + i + j), _mm256_loadu_ps(q + i + j)));
})",
                              {"-funroll-loops", "-fpeel-loops", "-O3"});
  const auto reading = read_code(object, real_process_runner());
  ASSERT_TRUE(reading) << reading.error().to_string();
  const MetricSet found = metrics(reading->kernels.at(0));
  EXPECT_EQ(found.value("isa.loop.strided_loads"), 0);
  EXPECT_EQ(found.value("isa.loop.strided_stores"), 0);
  EXPECT_EQ(found.value("isa.loop.vector_bits"), 256);
  EXPECT_EQ(reading->kernels[0].arch, "x86-64 avx");
}

// PoCL's index of an element is 32 bits wide and may wrap, so that the compiler forms each one
// anew.
TEST_F(X86Gcc, UnrolledWalkWithAnIndexForEachElementIsNotStrided) {
  const auto walk = [](int distance) {
    return function(fmt::format(R"(
.globl _pocl_kernel_f_workgroup
.type _pocl_kernel_f_workgroup, @function
_pocl_kernel_f_workgroup:
  mov $-64, %rdi
1:
  leal (%r10,%rdi), %esi
  addl $64, %esi
  movslq %esi, %rsi
  vmovss (%r8,%rsi,4), %xmm1
  vfmadd132ss (%r11,%rsi,4), %xmm0, %xmm1
  vmovss %xmm1, (%rax,%rsi,4)
  leal {}(%r10,%rdi), %esi
  movslq %esi, %rsi
  vmovss (%r8,%rsi,4), %xmm1
  vfmadd132ss (%r11,%rsi,4), %xmm0, %xmm1
  vmovss %xmm1, (%rax,%rsi,4)
  addq $2, %rdi
  jne 1b
  ret
.size _pocl_kernel_f_workgroup, .-_pocl_kernel_f_workgroup
)",
                                64 + distance));
  };
  for (const int distance : {1, 0}) {
    const auto reading = read_code(compile(walk(distance)), real_process_runner());
    ASSERT_TRUE(reading) << reading.error().to_string();
    const MetricSet found = metrics(reading->kernels.at(0));
    EXPECT_EQ(found.value("isa.loop.strided_loads"), distance == 1 ? 0 : 4);
    EXPECT_EQ(found.value("isa.loop.strided_stores"), distance == 1 ? 0 : 2);
    EXPECT_EQ(found.value("isa.loop.store_line_use"), distance == 1 ? 1 : 0.5);
  }
}

// Where two buffers may overlap the compiler writes the work twice, and unrolls the fast one
// wholly.
TEST_F(X86Gcc, ALoopBesideTheStraightWayIsNotHot) {
  const auto kernel = [](const char* between) {
    return function(fmt::format(R"(
.globl _pocl_kernel_f_workgroup
.type _pocl_kernel_f_workgroup, @function
_pocl_kernel_f_workgroup:
  cmp %rax, %rcx
  jne 2f
  xor %edx, %edx
1:
  vmovss (%rcx,%rdx,4), %xmm1
  vfmadd213ss (%rax,%rdx,4), %xmm0, %xmm1
  vmovss %xmm1, (%rax,%rdx,4)
  inc %rdx
  cmp $16, %rdx
  jne 1b
  {}
2:
  vmovups (%rcx), %ymm1
  vfmadd213ps (%rax), %ymm0, %ymm1
  vmovups %ymm1, (%rax)
  vmovups 32(%rcx), %ymm1
  vfmadd213ps 32(%rax), %ymm0, %ymm1
  vmovups %ymm1, 32(%rax)
  ret
.size _pocl_kernel_f_workgroup, .-_pocl_kernel_f_workgroup
)",
                                between));
  };
  const auto beside = read_code(compile(kernel("ret")), real_process_runner());
  ASSERT_TRUE(beside) << beside.error().to_string();
  const MetricSet found = metrics(beside->kernels.at(0));
  EXPECT_EQ(found.value("isa.loops"), 1);
  EXPECT_EQ(found.value("isa.loop.scalar_fp_share"), 0);
  EXPECT_EQ(found.value("isa.loop.vector_bits"), 256);
  EXPECT_EQ(found.value("isa.loop.instructions"), 7);
  EXPECT_THAT(beside->kernels[0].notes,
              testing::Contains(testing::HasSubstr("instead of straight code")));
  // Behind one another both run, and a loop runs more often.
  const auto behind = read_code(compile(kernel("nop")), real_process_runner());
  ASSERT_TRUE(behind) << behind.error().to_string();
  EXPECT_EQ(metrics(behind->kernels.at(0)).value("isa.loop.scalar_fp_share"), 1);
}

TEST_F(X86Gcc, SpillsInALoopAreCounted) {
  const auto object = compile(R"(
void _pocl_kernel_f_workgroup(volatile double* p, long n) {
  double a[24];
  for (int i = 0; i < 24; ++i) a[i] = p[i];
  for (long k = 0; k < n; ++k) {
    double x = p[k];
#define S(i) a[i] = a[i] * x + a[(i + 7) % 24];
    S(0) S(1) S(2) S(3) S(4) S(5) S(6) S(7) S(8) S(9) S(10) S(11)
    S(12) S(13) S(14) S(15) S(16) S(17) S(18) S(19) S(20) S(21) S(22) S(23)
  }
  for (int i = 0; i < 24; ++i) p[i] = a[i];
})",
                              {"-O3", "-fno-tree-slp-vectorize", "-funroll-all-loops"});
  const auto reading = read_code(object, real_process_runner());
  ASSERT_TRUE(reading) << reading.error().to_string();
  const MetricSet found = metrics(reading->kernels.at(0));
  EXPECT_GT(found.value("isa.loop.spills").value_or(0), 0) << "24 values do not fit 16 registers";
  EXPECT_GT(found.value("spill.instructions").value_or(0), 0);
  EXPECT_EQ(found.value("isa.loop.scalar_fp_share"), 1);
  EXPECT_EQ(found.value("isa.loop.element_bits"), 64);
}

TEST_F(X86Gcc, NoKernelIsAnError) {
  const auto object = compile("int f(void) { return 1; }");
  const auto reading = read_code(object, real_process_runner());
  ASSERT_FALSE(reading);
  EXPECT_EQ(reading.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(reading.error().to_string(), HasSubstr("_pocl_kernel_"));
}

TEST_F(X86Gcc, DamagedObjectsAreErrorsAndNothingElse) {
  const auto object = compile("void _pocl_kernel_f_workgroup(int* p) { *p = 1; }");
  const std::string good = *real_file_system().read(object);
  ASSERT_TRUE(x86::recognises(good));
  const auto read = [&](const std::string& bytes) {
    return x86::read("object", bytes, real_process_runner());
  };
  ASSERT_TRUE(read(good));
  for (const std::size_t size : {0u, 3u, 16u, 19u, 20u, 40u, 63u, 64u, 100u, 500u}) {
    const auto cut = read(good.substr(0, size));
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().place->file, "object");
  }
  EXPECT_FALSE(read(good.substr(0, good.size() - 10)));
  // Hostile offsets, sizes and counts in the header and in the section table.
  class NoOutput : public ProcessRunner {
    Result<ProcessResult> run(const ProcessSpec&) override { return ProcessResult{}; }
  } no_output;
  std::uint64_t table = 0;
  std::memcpy(&table, good.data() + 40, sizeof table);
  std::vector<std::pair<std::size_t, std::size_t>> fields{{40, 8}, {58, 2}, {60, 2}, {62, 2}};
  for (std::size_t section = 0; section < 30; ++section) {
    for (const std::size_t field : {4u, 16u, 24u, 32u, 40u}) {
      fields.emplace_back(static_cast<std::size_t>(table) + section * 64 + field, 8);
    }
  }
  int refused = 0;
  for (const auto& [at, size] : fields) {
    for (const char byte : {'\xff', '\x7f', '\x01'}) {
      std::string bad = good;
      for (std::size_t i = at; i < at + size && i < bad.size(); ++i) bad[i] = byte;
      const auto reading = x86::read("object", bad, no_output);
      if (reading) continue;
      ++refused;
      EXPECT_EQ(reading.error().place->file, "object");
    }
  }
  EXPECT_GT(refused, 30);
}

TEST(X86Other, Aarch64IsNamedAndNotAnalysed) {
  // The smallest object: a header, a symbol table with one function, and its strings.
  std::string bytes(64 + 4 * 64, '\0');
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::memcpy(bytes.data() + at, &value, size);
  };
  bytes.replace(0, 6,
                std::string("\x7f"
                            "ELF\x02\x01"));
  put(18, 183, 2);
  put(40, 64, 8);
  put(58, 64, 2);
  put(60, 4, 2);
  const std::string names =
      std::string(1, '\0') + "_pocl_kernel_f_workgroup" + std::string(1, '\0');
  const std::size_t symbols = bytes.size(), strings = symbols + 48;
  const auto section = [&](std::size_t i, int type, std::size_t offset, std::size_t size,
                           int link) {
    put(64 + i * 64 + 4, static_cast<std::uint64_t>(type), 4);
    put(64 + i * 64 + 24, offset, 8);
    put(64 + i * 64 + 32, size, 8);
    put(64 + i * 64 + 40, static_cast<std::uint64_t>(link), 4);
  };
  section(1, 2, symbols, 48, 2);
  section(2, 3, strings, names.size(), 0);
  section(3, 1, 0, 64, 0);
  bytes.resize(strings);
  bytes += names;
  put(symbols + 24, 1, 4);
  bytes[symbols + 24 + 4] = 0x12;
  put(symbols + 24 + 6, 3, 2);
  const auto reading = x86::read("object", bytes, real_process_runner());
  ASSERT_TRUE(reading) << reading.error().to_string();
  EXPECT_EQ(reading->kind, "aarch64-elf");
  ASSERT_EQ(reading->kernels.size(), 1u);
  EXPECT_EQ(reading->kernels[0].name, "f");
  EXPECT_TRUE(reading->kernels[0].instructions.empty());
  ASSERT_EQ(reading->warnings.size(), 1u);
  EXPECT_THAT(reading->warnings[0], HasSubstr("not analysed"));
}

}  // namespace
}  // namespace burnish::isa
