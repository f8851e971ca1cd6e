#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/process.h"
#include "base/text.h"
#include "device/ceiling_kernels.h"
#include "device/hip_api.h"
#include "device/hip_clocks.h"
#include "device/hip_compile.h"
#include "device/hip_executor.h"
#include "device/spec_check.h"
#include "device/testing/fixture.h"
#include "isa/amd_object.h"

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#define BURNISH_HAS_HIP_H
#endif

namespace burnish::device {
namespace {

#ifdef BURNISH_HAS_HIP_H
TEST(HipDeclarations, AgreeWithRocmsHeader) {
  const std::pair<int, int> values[] = {
      {hip::clock_rate, hipDeviceAttributeClockRate},
      {hip::l2_cache_size, hipDeviceAttributeL2CacheSize},
      {hip::max_threads_per_block, hipDeviceAttributeMaxThreadsPerBlock},
      {hip::max_threads_per_multiprocessor, hipDeviceAttributeMaxThreadsPerMultiProcessor},
      {hip::memory_bus_width, hipDeviceAttributeMemoryBusWidth},
      {hip::memory_clock_rate, hipDeviceAttributeMemoryClockRate},
      {hip::multiprocessor_count, hipDeviceAttributeMultiprocessorCount},
      {hip::max_shared_memory_per_block, hipDeviceAttributeMaxSharedMemoryPerBlock},
      {hip::warp_size, hipDeviceAttributeWarpSize},
      {hip::physical_multiprocessor_count, hipDeviceAttributePhysicalMultiProcessorCount},
      {hip::max_shared_memory_per_multiprocessor,
       hipDeviceAttributeMaxSharedMemoryPerMultiprocessor},
      {gpu::function_max_threads_per_block, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
      {gpu::shared_size_bytes, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
      {gpu::local_size_bytes, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
      {gpu::num_regs, HIP_FUNC_ATTRIBUTE_NUM_REGS},
      {static_cast<int>(gpu::kStreamNonBlocking), hipStreamNonBlocking},
      {gpu::kCaptureModeThreadLocal, hipStreamCaptureModeThreadLocal},
      {gpu::kOutOfMemory, hipErrorOutOfMemory},
      {gpu::kNoDevice, hipErrorNoDevice},
      {gpu::kEccError, hipErrorECCNotCorrectable},
  };
  for (const auto& [ours, theirs] : values) EXPECT_EQ(ours, theirs);
  EXPECT_EQ(hip::kArgumentsPointer, HIP_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(hip::kArgumentsSize, HIP_LAUNCH_PARAM_BUFFER_SIZE);
  EXPECT_EQ(hip::kArgumentsEnd, HIP_LAUNCH_PARAM_END);
  EXPECT_EQ(sizeof(gpu::Pointer), sizeof(hipDeviceptr_t));
  EXPECT_TRUE(is_hip_sticky(hipErrorIllegalAddress));
  EXPECT_TRUE(is_hip_sticky(hipErrorLaunchFailure));
  EXPECT_FALSE(is_hip_sticky(hipErrorInvalidValue));
}
#endif

TEST(HipArch, IsFoundInTheDevicesProperties) {
  std::string properties(2000, '\0');
  properties.replace(0, 19, "AMD Instinct MI300X");
  EXPECT_EQ(arch_in(properties), "");
  properties.replace(1160, 22, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(arch_in(properties), "gfx942");
  EXPECT_EQ(arch_in(std::string("a\0gfx90a\0b", 10)), "gfx90a");
  EXPECT_EQ(arch_in(std::string("my gfx942\0", 10)), "");  // a product's name
  EXPECT_EQ(arch_in("gfx"), "");
  EXPECT_EQ(arch_in(std::string("gfx942")), "");  // cut off
  EXPECT_TRUE(has_several_l2("gfx942"));
  EXPECT_FALSE(has_several_l2("gfx90a"));
}

TEST(HipClocks, AreReadFromTheKernelDriversFiles) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.has_value());
  const fs::path monitor = folder->path() / "0000:c1:00.0" / "hwmon" / "hwmon4";
  fs::create_directories(monitor);
  std::ofstream(monitor / "freq1_input") << "1325000000\n";
  std::ofstream(monitor / "freq2_input") << "900000000\n";
  std::ofstream(monitor / "temp2_input") << "47000\n";
  const MetricSet metrics = amd_clocks("0000:C1:00.0", folder->path());
  ASSERT_NE(metrics.find("clock.sm"), nullptr);
  EXPECT_EQ(metrics.find("clock.sm")->value, 1.325e9);
  EXPECT_EQ(metrics.find("clock.memory")->value, 9e8);
  EXPECT_EQ(metrics.find("temperature")->value, 47);
  EXPECT_TRUE(amd_clocks("0000:c2:00.0", folder->path()).all().empty());
}

Source hip_source(std::string text) {
  Source source;
  source.language = "hip";
  source.file = "kernel.hip";
  source.text = std::move(text);
  return source;
}

/// clang as it compiles where ROCm is not installed.
class HipClang : public ::testing::Test {
 protected:
  void SetUp() override {
    clang_ = find_program({"clang-22"});
    if (!clang_) GTEST_SKIP() << "clang-22 is not installed";
    if (!clang_trouble(*clang_).empty()) GTEST_SKIP() << clang_trouble(*clang_);
    Result<TemporaryFolder> folder = TemporaryFolder::make();
    ASSERT_TRUE(folder.has_value());
    folder_ = std::make_unique<TemporaryFolder>(std::move(*folder));
  }
  Result<GpuBuild> compile(const Source& source, const std::string& arch) {
    return compile_with_clang(source, arch, folder_->path(), *clang_);
  }
  std::unique_ptr<TemporaryFolder> folder_;
  std::optional<fs::path> clang_;
};

TEST_F(HipClang, MakesACodeObjectWithItsKernels) {
  Source source = hip_source(
      "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n#include \"parts/factor.h\"\n"
      "namespace deep { template <int N> __global__ void scaled(float* x) { x[0] *= N; } }\n"
      "template __global__ void deep::scaled<2>(float*);\n"
      "template __global__ void deep::scaled<4>(float*);\n"
      "__global__ void plain(__half* x) { x[threadIdx.x] = __float2half(FACTOR * TILE); }\n");
  source.also["parts/factor.h"] = "#define FACTOR 0.5f\n";
  source.macros["TILE"] = "16";
  const Result<GpuBuild> build = compile(source, "gfx942");
  ASSERT_TRUE(build.has_value()) << build.error().to_string();
  ASSERT_TRUE(build->outcome.built) << build->outcome.log;
  const auto object = isa::amd::read_code_object(build->code, "built");
  ASSERT_TRUE(object.has_value()) << object.error().to_string();
  EXPECT_EQ(object->processor, "gfx942");
  std::vector<std::string> names;
  for (const auto& kernel : object->metadata.kernels) names.push_back(kernel.name);
  EXPECT_EQ(names.size(), 3u);
  EXPECT_TRUE(kernel_symbol(names, "plain").has_value());
  EXPECT_TRUE(kernel_symbol(names, "deep::scaled<2>").has_value());
  EXPECT_FALSE(kernel_symbol(names, "deep::scaled").has_value());  // which?
}

TEST_F(HipClang, ErrorsAndWarningsAreAtTheUsersPlaces) {
  Source source = hip_source(
      "#include <hip/hip_runtime.h>\n__global__ void k(float* x) {\n  x[0] = undeclared;\n}\n");
  source.macros["TILE"] = "16";
  const Result<GpuBuild> failed = compile(source, "gfx942");
  ASSERT_TRUE(failed.has_value()) << failed.error().to_string();
  EXPECT_FALSE(failed->outcome.built);
  ASSERT_FALSE(failed->outcome.diagnostics.empty()) << failed->outcome.log;
  EXPECT_EQ(failed->outcome.diagnostics[0].severity, "error");
  EXPECT_EQ(failed->outcome.diagnostics[0].place.to_string(), "kernel.hip:3:10");

  const Result<GpuBuild> warned = compile(
      hip_source("#include <hip/hip_runtime.h>\n__global__ void k(float* x) { x[0] = 1 << 40; }\n"),
      "gfx942");
  ASSERT_TRUE(warned.has_value() && warned->outcome.built);
  ASSERT_FALSE(warned->outcome.diagnostics.empty()) << warned->outcome.log;
  EXPECT_EQ(warned->outcome.diagnostics[0].severity, "warning");
  EXPECT_TRUE(warned->outcome.diagnostics[0].place.to_string().starts_with("kernel.hip:2:"));

  const Result<GpuBuild> unknown = compile(hip_source("\n"), "gfx9999");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().kind, ErrorKind::environment);
  EXPECT_EQ(unknown.error().message, "clang-22 does not know gfx9999");
}

/// On every architecture the kernels that the roofs are measured with are there, and none spills.
TEST_F(HipClang, BuildsTheCeilingKernelsOfEveryFamily) {
  for (const char* arch : {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"}) {
    DeviceInfo info;
    info.backend = "hip";
    info.vendor = "amd";
    info.arch = arch;
    const CeilingKernels kernels = ceiling_kernels(info);
    const Result<GpuBuild> build = compile(kernels.source, arch);
    ASSERT_TRUE(build.has_value()) << build.error().to_string();
    ASSERT_TRUE(build->outcome.built) << arch << build->outcome.log;
    const auto object = isa::amd::read_code_object(build->code, arch);
    ASSERT_TRUE(object.has_value()) << object.error().to_string();
    for (const auto& [name, descriptor] : object->descriptors) {
      EXPECT_EQ(descriptor.scratch_bytes, 0u) << arch << " " << name;
    }
    std::size_t matrices = 0;
    for (const MathKernel& math : kernels.math) {
      const bool is_there = object->descriptors.contains(math.kernel);
      // Only CDNA has packed arithmetic in f32.
      EXPECT_EQ(is_there, math.kernel != "fma_f32_packed" || arch[3] == '9') << math.kernel;
      matrices += math.ceiling.starts_with("tensor") ? 1 : 0;
    }
    EXPECT_GE(matrices, 3u) << arch;
  }
}

/// The compilers of ROCm, each where it is installed.
class Rocm : public ::testing::TestWithParam<const char*> {
 protected:
  Result<GpuBuild> compile(const Source& source, const fs::path& folder) {
    if (std::string_view(GetParam()) == "hiprtc") {
      return compile_with_hiprtc(source, "gfx90a", folder);
    }
    const auto hipcc = find_program({"hipcc"}, {"/opt/rocm/bin"});
    if (!hipcc) return environment_error("hipcc is not installed");
    return compile_with_hipcc(source, "gfx90a", folder, *hipcc);
  }
};

TEST_P(Rocm, CompilesWithItsOwnHeaders) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.has_value());
  Source source = hip_source(
      "#include <hip/hip_runtime.h>\n#include \"factor.h\"\n"
      "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] *= FACTOR * sinf(TILE); }\n");
  source.also["factor.h"] = "#define FACTOR 0.5f\n";
  source.macros["TILE"] = "16";
  const Result<GpuBuild> build = compile(source, folder->path());
  if (!build) GTEST_SKIP() << build.error().to_string();
  ASSERT_TRUE(build->outcome.built) << build->outcome.log;
  const auto object = isa::amd::read_code_object(build->code, "built");
  ASSERT_TRUE(object.has_value()) << object.error().to_string();
  EXPECT_TRUE(object->descriptors.contains("k"));
  const Result<GpuBuild> failed = compile(
      hip_source("#include <hip/hip_runtime.h>\n__global__ void k(float* x) { x[0] = nothing; }\n"),
      folder->path());
  ASSERT_TRUE(failed.has_value()) << failed.error().to_string();
  ASSERT_FALSE(failed->outcome.diagnostics.empty()) << failed->outcome.log;
  EXPECT_EQ(failed->outcome.diagnostics[0].place.line, 2) << failed->outcome.log;
  EXPECT_EQ(failed->outcome.diagnostics[0].place.file, "kernel.hip") << failed->outcome.log;
}

INSTANTIATE_TEST_SUITE_P(Installed, Rocm, ::testing::Values("hipcc", "hiprtc"),
                         [](const auto& one) { return std::string(one.param); });

constexpr char kKernels[] = R"(#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(256) vector_add(const float* a, const float* b,
                                                            float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
extern "C" __global__ void scale(float* x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
extern "C" __global__ void write_beyond(float* out, int n) { out[n] = 1; }
struct Parameters { float a; int b; double c; };
extern "C" __global__ void take_struct(Parameters p, double* out) {
  out[0] = p.a; out[1] = p.b; out[2] = p.c;
}
extern "C" __global__ void fail_address(float* out) { *(float*)0 = out[0]; }
extern "C" __global__ void fault(float* out) { *(float*)0 = out[0]; }
extern "C" __global__ void hang(float* out) { while (out[0] == 0) {} }
extern "C" __global__ void tile(float* out) {
  __shared__ float values[4096];
  values[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[(threadIdx.x + 1) % blockDim.x];
}
)";

/// burnish's worker with the fake of the HIP runtime (device/testing/fake_hip.cpp): what is shown
/// here is what burnish asks of the runtime and makes of its answers, not what a GPU does.
class FakeHip : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* path = std::getenv("LD_LIBRARY_PATH")) old_path_ = path;
    ::setenv("LD_LIBRARY_PATH", BURNISH_FAKE_HIP, 1);
    ::unsetenv("HIP_VISIBLE_DEVICES");
  }
  void TearDown() override {
    ::unsetenv("HIP_VISIBLE_DEVICES");
    old_path_ ? ::setenv("LD_LIBRARY_PATH", old_path_->c_str(), 1) : ::unsetenv("LD_LIBRARY_PATH");
  }
  std::optional<std::string> old_path_;
};

TEST_F(FakeHip, DevicesAreDescribedByWhatTheRuntimeAnswers) {
  const Result<DeviceInfo> mi210 = choose_device("hip:0", BURNISH_TEST_WORKER);
  ASSERT_TRUE(mi210.has_value()) << mi210.error().to_string();
  EXPECT_EQ(mi210->name, "AMD Instinct MI210");
  EXPECT_EQ(mi210->vendor, "amd");
  EXPECT_EQ(mi210->arch, "gfx90a");
  EXPECT_EQ(mi210->driver, "HIP 6.4.43483");
  EXPECT_EQ(mi210->compute_units, 104);
  EXPECT_EQ(mi210->shared_bytes, 65536u);
  EXPECT_EQ(mi210->cache_bytes, 8u << 20);
  EXPECT_EQ(mi210->queried.at("wave.size"), 64);
  const Result<DeviceInfo> mi300x = choose_device("hip:mi300x", BURNISH_TEST_WORKER);
  ASSERT_TRUE(mi300x.has_value()) << mi300x.error().to_string();
  EXPECT_EQ(mi300x->id, "hip:1");
  EXPECT_EQ(mi300x->arch, "gfx942");
  EXPECT_EQ(mi300x->cache_bytes, 256u << 20);          // of the card: HIP tells one die's L2
  EXPECT_FALSE(mi300x->queried.contains("l2.bytes"));  // which is not the device's
  // What the runtime answers goes by the cards' names, so that `spec --verify` compares it.
  for (const DeviceInfo& info : {*mi210, *mi300x}) {
    const auto spec = spec_of(info);
    ASSERT_TRUE(spec.has_value()) << spec.error().to_string();
    int agreeing = 0;
    for (const SpecCheck& check : check_spec(*spec, info, {})) {
      if (!check.agrees || check.card->name == "dram.bytes_visible") continue;
      EXPECT_TRUE(*check.agrees) << info.name << " " << check.card->name << ": " << check.why;
      ++agreeing;
    }
    EXPECT_GE(agreeing, 6) << info.name;
  }
  ::setenv("HIP_VISIBLE_DEVICES", "2", 1);
  const Result<DeviceInfo> radeon = choose_device("hip", BURNISH_TEST_WORKER);
  ASSERT_TRUE(radeon.has_value()) << radeon.error().to_string();
  EXPECT_EQ(radeon->arch, "gfx1100");
  EXPECT_EQ(radeon->queried.at("wave.size"), 32);
  EXPECT_FALSE(radeon->queried.contains("waves.per_simd"));
  EXPECT_EQ(radeon->compute_units, 48);           // pairs, as HIP counts them
  EXPECT_EQ(radeon->queried.at("sm.count"), 96);  // as the card does
}

TEST_F(FakeHip, NoDeviceAndNoRuntimeAreNoErrorsOfListing) {
  ::setenv("HIP_VISIBLE_DEVICES", "-1", 1);
  const Result<DeviceInfo> hidden = choose_device("hip:0", BURNISH_TEST_WORKER);
  ASSERT_FALSE(hidden.has_value());
  EXPECT_EQ(hidden.error().kind, ErrorKind::environment);
  EXPECT_EQ(hidden.error().message, "no device fits \"hip:0\": there is no device");
  ::unsetenv("LD_LIBRARY_PATH");
  const Result<DeviceInfo> absent = choose_device("hip:0", BURNISH_TEST_WORKER);
  if (absent) GTEST_SKIP() << "there is an AMD GPU here: " << absent->name;
  EXPECT_EQ(absent.error().message, "no device fits \"hip:0\": there is no device");
}

/// With kernels that were compiled for the fake.
class FakeHipRuns : public FakeHip {
 protected:
  void SetUp() override {
    FakeHip::SetUp();
    if (hip_compiler_identity().empty()) GTEST_SKIP() << "there is no HIP compiler";
    const auto clang = find_newest_program("clang");
    if (clang && version_of(*clang) < 19) GTEST_SKIP() << "clang is too old for the headers";
    Result<TemporaryFolder> folder = TemporaryFolder::make();
    ASSERT_TRUE(folder.has_value());
    cache_ = std::make_unique<TemporaryFolder>(std::move(*folder));
    use("hip:0");
  }
  static std::int64_t version_of(const fs::path& clang) {
    const std::string name = clang.filename().string();
    return parse_integer(name.substr(name.rfind('-') + 1)).value_or(0);
  }
  void use(const std::string& device) {
    const Result<DeviceInfo> info = choose_device(device, BURNISH_TEST_WORKER);
    ASSERT_TRUE(info.has_value()) << info.error().to_string();
    info_ = *info;
    reopen();
  }
  void reopen() {
    Result<std::unique_ptr<Device>> device =
        open_device(info_, {cache_->path(), BURNISH_TEST_WORKER, {}});
    ASSERT_TRUE(device.has_value()) << device.error().to_string();
    device_ = std::move(*device);
  }
  void start(const std::vector<Buffer>& buffers, Limits limits = {}) {
    Result<std::unique_ptr<Session>> session = device_->open(hip_source(kKernels), limits);
    ASSERT_TRUE(session.has_value()) << session.error().to_string();
    session_ = std::move(*session);
    const Result<void> prepared = session_->prepare(buffers);
    ASSERT_TRUE(prepared.has_value()) << prepared.error().to_string();
  }
  Result<RunResult> run(const LaunchPlan& plan) {
    RunRequest request;
    request.plan = &plan;
    request.contents = contents_;
    request.repetitions = repetitions_;
    request.caches = caches_;
    request.read_back = RunRequest::ReadBack::yes;
    return session_->run(request);
  }
  /// The error of launching `kernel` on one output.
  Error error_of(KernelLaunch launch) {
    LaunchPlan plan;
    plan.launches.push_back(std::move(launch));
    const Result<RunResult> result = run(plan);
    EXPECT_FALSE(result.has_value());
    return result ? bug("it ran") : result.error();
  }
  static KernelLaunch launch_of(const std::string& kernel, std::vector<Argument> arguments) {
    return testing::one_launch(kernel, 1, 64, std::move(arguments)).launches.front();
  }

  std::unique_ptr<TemporaryFolder> cache_;
  DeviceInfo info_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Session> session_;
  std::map<std::string, std::span<const std::byte>> contents_;
  int repetitions_ = 1;
  Caches caches_ = Caches::warm;
};

using testing::broken_guard_bytes;
using testing::floats;
using testing::one_launch;
using testing::pointer;
using testing::scalar;

TEST_F(FakeHipRuns, KernelsGetTheirArgumentsInsideGuardBands) {
  constexpr int kCount = 1000;
  constexpr std::uint64_t kBytes = kCount * sizeof(float);
  start({{"a", kBytes, Buffer::Role::in},
         {"b", kBytes, Buffer::Role::in},
         {"out", kBytes, Buffer::Role::out},
         {"fields", 3 * sizeof(double), Buffer::Role::out}});
  std::vector<float> a(kCount), b(kCount);
  for (int i = 0; i < kCount; ++i) {
    a[static_cast<std::size_t>(i)] = static_cast<float>(i);
    b[static_cast<std::size_t>(i)] = 0.5f;
  }
  contents_["a"] = std::as_bytes(std::span(a));
  contents_["b"] = std::as_bytes(std::span(b));
  LaunchPlan plan =
      one_launch("vector_add", 4, 256,
                 {pointer("a"), pointer("b"), pointer("out"), scalar(DType::i32, kCount)});
  Argument::Bytes parameters;
  parameters.bytes.resize(16);
  const float first = 1.5f;
  const std::int32_t second = -7;
  const double third = 1e300;
  std::memcpy(parameters.bytes.data(), &first, 4);
  std::memcpy(parameters.bytes.data() + 4, &second, 4);
  std::memcpy(parameters.bytes.data() + 8, &third, 8);
  plan.launches.push_back(launch_of("take_struct", {{parameters}, pointer("fields")}));
  caches_ = Caches::cold;
  const Result<RunResult> result = run(plan);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  const std::vector<float> out = floats(result->buffers.at("out").content);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], a[i] + b[i]) << i;
  std::vector<double> fields(3);
  std::memcpy(fields.data(), result->buffers.at("fields").content.data(), 24);
  EXPECT_EQ(fields, (std::vector<double>{1.5, -7, 1e300}));
  for (const auto& [name, state] : result->buffers) {
    EXPECT_EQ(broken_guard_bytes(state, RunRequest{}.poison), 0) << name;
  }
  EXPECT_EQ(result->timer, "hip kernel time stamps");
  EXPECT_EQ(result->flushed_bytes, 2 * info_.cache_bytes);
  EXPECT_EQ(result->launch_seconds.size(), 2u);
  EXPECT_GE(result->device_seconds, result->launch_seconds[0] + result->launch_seconds[1]);

  caches_ = Caches::warm;
  repetitions_ = 20;
  const Result<RunResult> several = run(plan);
  ASSERT_TRUE(several.has_value()) << several.error().to_string();
  EXPECT_EQ(several->timer, "hip graph of 19 + 1");
  plan.launches.pop_back();
  const Result<RunResult> alone = run(plan);
  ASSERT_TRUE(alone.has_value()) << alone.error().to_string();
  EXPECT_EQ(alone->timer, "hip graph of 20");
  EXPECT_NEAR(alone->device_seconds, 20 * alone->launch_seconds[0], 1e-9);
  EXPECT_EQ(floats(alone->buffers.at("out").content), out);

  plan = one_launch("write_beyond", 1, 64, {pointer("out"), scalar(DType::i32, kCount)});
  repetitions_ = 1;
  const Result<RunResult> beyond = run(plan);
  ASSERT_TRUE(beyond.has_value()) << beyond.error().to_string();
  EXPECT_EQ(broken_guard_bytes(beyond->buffers.at("out"), RunRequest{}.poison), 4);

  const std::string calls = session_->messages();
  EXPECT_TRUE(contains(calls,
                       "hipExtModuleLaunchKernel vector_add blocks 4 of 256 shared 0 "
                       "arguments 28"))
      << calls;
  EXPECT_TRUE(contains(calls, "hipGraphLaunch of 38")) << calls;
  EXPECT_TRUE(contains(calls, "hipGraphLaunch of 20")) << calls;
}

TEST_F(FakeHipRuns, WhatCannotBeLaunchedIsRefusedWithItsReason) {
  start({{"out", 4096, Buffer::Role::out}});
  const auto says = [](const Error& error, const char* words) {
    EXPECT_EQ(error.kind, ErrorKind::refused);
    EXPECT_TRUE(contains(error.to_string(), words)) << error.to_string();
  };
  says(error_of(launch_of("write_beyond", {pointer("out")})),
       "takes 2 arguments, the launch gives 1");
  says(error_of(launch_of("write_beyond", {pointer("out"), scalar(DType::i32, 1), pointer("out")})),
       "takes 2 arguments, the launch gives 3");
  says(error_of(launch_of("write_beyond", {pointer("out"), scalar(DType::f64, 1)})),
       "argument 2 of kernel \"write_beyond\" has 4 bytes, it was given 8");
  says(error_of(launch_of("write_beyond", {pointer("out"), {Argument::Local{64}}})),
       "HIP have dynamic shared memory");
  Argument::TensorMap map;
  map.buffer = "out";
  map.dtype = DType::f32;
  says(error_of(launch_of("write_beyond", {{map}, scalar(DType::i32, 1)})), "TMA descriptor");
  KernelLaunch clustered = launch_of("write_beyond", {pointer("out"), scalar(DType::i32, 1)});
  clustered.grid = clustered.cluster = {2, 1, 1};
  says(error_of(clustered), "clusters of 2×1×1");
  KernelLaunch large = launch_of("vector_add", {});
  large.block = {512, 1, 1};
  says(error_of(large), "compiled for at most 256 threads");
  KernelLaunch much = launch_of("tile", {pointer("out")});
  much.shared_bytes = 60 << 10;
  says(error_of(much), "wants 77824 bytes of shared memory (16384 static, 61440 dynamic)");
  says(error_of(launch_of("absent", {})), "it has: vector_add, scale, ");
  says(error_of(launch_of("tile", {pointer("out")})), "hipErrorNotSupported (801)");  // of the fake

  const auto resources = session_->resources("tile");
  ASSERT_TRUE(resources.has_value()) << resources.error().to_string();
  EXPECT_EQ(resources->find("shared.static_bytes")->value, 16384);
  EXPECT_EQ(resources->find("HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK")->value, 1024);
  const auto code = session_->code();
  ASSERT_TRUE(code.has_value() && code->size() == 1);
  EXPECT_EQ(code->front().suffix, ".co");
  EXPECT_TRUE(isa::amd::read_code_object(code->front().bytes, "code").has_value());

  const Result<void> too_much =
      session_->prepare({{"out", std::uint64_t{1100} << 20, Buffer::Role::out}});
  ASSERT_FALSE(too_much.has_value());
  EXPECT_EQ(too_much.error().kind, ErrorKind::environment);

  EXPECT_FALSE(session_->build().from_cache);
  start({{"out", 4096, Buffer::Role::out}});
  EXPECT_TRUE(session_->build().from_cache);
}

TEST_F(FakeHipRuns, FailuresOfKernelsAreToldByTheirCause) {
  start({{"out", 4096, Buffer::Role::out}});
  const Error address = error_of(launch_of("fail_address", {pointer("out")}));
  EXPECT_EQ(address.message,
            "running \"fail_address\": hipErrorIllegalAddress (700): an illegal memory access was "
            "encountered; the kernel read or wrote outside its buffers");
  // The device is lost to this process, and every later call says why.
  EXPECT_EQ(
      error_of(launch_of("scale", {pointer("out"), scalar(DType::f32, 1), scalar(DType::i32, 1)}))
          .message,
      address.message);

  start({{"out", 4096, Buffer::Role::out}});
  const Error fault = error_of(launch_of("fault", {pointer("out")}));
  EXPECT_EQ(fault.kind, ErrorKind::refused);
  EXPECT_TRUE(contains(fault.to_string(), "outside its buffers")) << fault.to_string();
  EXPECT_TRUE(contains(fault.to_string(), "Page not present")) << fault.to_string();

  Limits limits;
  limits.run = std::chrono::milliseconds(300);
  start({{"out", 4096, Buffer::Role::out}}, limits);
  EXPECT_EQ(error_of(launch_of("hang", {pointer("out")})).kind, ErrorKind::timeout);

  // Code for another architecture, as after a change of devices.
  info_.arch = "gfx942";
  reopen();
  const auto session = device_->open(hip_source(kKernels), {});
  ASSERT_FALSE(session.has_value());
  EXPECT_TRUE(contains(session.error().message, "hipErrorNoBinaryForGpu (209)") &&
              contains(session.error().message, "compiled for another architecture"))
      << session.error().message;
}

TEST_F(FakeHipRuns, TheProbeKnowsAHealthyDevice) {
  const Result<void> probed = device_->probe();
  EXPECT_TRUE(probed.has_value()) << probed.error().to_string();
}

}  // namespace
}  // namespace burnish::device
