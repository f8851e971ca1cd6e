#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "base/process.h"
#include "base/text.h"
#include "device/cuda_api.h"
#include "device/cuda_clocks.h"
#include "device/cuda_compile.h"
#include "device/cuda_tensor_map.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#define BURNISH_HAS_CUDA_H
#endif

namespace burnish::device {
namespace {

#ifdef BURNISH_HAS_CUDA_H
TEST(CudaDeclarations, AgreeWithTheToolkitsHeader) {
  EXPECT_EQ(sizeof(cu::LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(cu::LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(cu::LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(cu::LaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(sizeof(cu::LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(cu::LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(cu::TensorMap), sizeof(CUtensorMap));
  EXPECT_GE(alignof(cu::TensorMap), alignof(CUtensorMap));
  EXPECT_EQ(sizeof(cu::Pointer), sizeof(CUdeviceptr));
  const std::pair<int, int> values[] = {
      {cu::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
      {cu::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {cu::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
      {cu::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {cu::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {cu::max_shared_memory_per_block_optin,
       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
      {cu::tensor_map_access_supported, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED},
      {gpu::function_max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
      {gpu::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
      {gpu::local_size_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
      {gpu::num_regs, CU_FUNC_ATTRIBUTE_NUM_REGS},
      {cu::max_dynamic_shared_size_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
      {cu::non_portable_cluster_size_allowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED},
      {cu::kLaunchAttributeClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION},
      {static_cast<int>(cu::kEventRecordExternal), CU_EVENT_RECORD_EXTERNAL},
      {static_cast<int>(gpu::kStreamNonBlocking), CU_STREAM_NON_BLOCKING},
      {gpu::kCaptureModeThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
      {gpu::kNoDevice, CUDA_ERROR_NO_DEVICE},
  };
  for (const auto& [ours, theirs] : values) EXPECT_EQ(ours, theirs);
  for (const CUresult sticky :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_ASSERT, CUDA_ERROR_ECC_UNCORRECTABLE}) {
    EXPECT_TRUE(is_sticky(sticky)) << sticky;
  }
  for (const CUresult harmless : {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY,
                                  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES}) {
    EXPECT_FALSE(is_sticky(harmless)) << harmless;
  }
}
#endif

Source cuda_source(std::string text) {
  Source source;
  source.language = "cuda";
  source.file = "kernel.cu";
  source.text = std::move(text);
  return source;
}

/// Both compilers, each where it is installed.
class CudaCompilers : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<TemporaryFolder> folder = TemporaryFolder::make();
    ASSERT_TRUE(folder.has_value());
    folder_ = std::make_unique<TemporaryFolder>(std::move(*folder));
    nvcc_ = find_program({"nvcc"}, {"/usr/local/cuda/bin"});
    const Result<GpuBuild> tried = compile(cuda_source("__global__ void k() {}\n"));
    if (!tried) GTEST_SKIP() << tried.error().to_string();
    ASSERT_TRUE(tried->outcome.built) << tried->outcome.log;
  }
  Result<GpuBuild> compile(const Source& source, const std::string& target = "sm_90a") {
    if (std::string_view(GetParam()) == "nvrtc") {
      return compile_with_nvrtc(source, target, folder_->path());
    }
    if (!nvcc_) return environment_error("nvcc is not installed");
    return compile_with_nvcc(source, target, folder_->path(), *nvcc_);
  }
  std::unique_ptr<TemporaryFolder> folder_;
  std::optional<fs::path> nvcc_;
};

TEST_P(CudaCompilers, MakeACubinWithItsKernels) {
  Source source = cuda_source(
      "#include <cuda_bf16.h>\n#include \"parts/factor.h\"\n"
      "namespace deep { template <int N> __global__ void scaled(float* x) { x[0] *= N; } }\n"
      "template __global__ void deep::scaled<2>(float*);\n"
      "template __global__ void deep::scaled<4>(float*);\n"
      "__global__ void plain(__nv_bfloat16* x) { x[threadIdx.x] = __float2bfloat16(FACTOR * TILE); "
      "}\n"
      "extern \"C\" __global__ void bare(float* x) { x[0] = 1; }\n"
      "__global__ __cluster_dims__(2, 1, 1) void newest(float* x) {\n"
      "  asm volatile(\"wgmma.fence.sync.aligned;\\n\");\n  x[0] = 1;\n}\n");
  source.also["parts/factor.h"] = "#define FACTOR 0.5f\n";
  source.macros["TILE"] = "16";
  const Result<GpuBuild> build = compile(source);
  ASSERT_TRUE(build.has_value()) << build.error().to_string();
  ASSERT_TRUE(build->outcome.built) << build->outcome.log;
  EXPECT_TRUE(
      build->code.starts_with("\x7f"
                              "ELF"));
  EXPECT_EQ(cubin_kernels(build->code).size(), 5u);
  EXPECT_EQ(kernel_symbol(cubin_kernels(build->code), "bare").value_or(""), "bare");
  EXPECT_EQ(kernel_symbol(cubin_kernels(build->code), "plain").value_or(""),
            "_Z5plainP13__nv_bfloat16");
  EXPECT_TRUE(kernel_symbol(cubin_kernels(build->code), "deep::scaled<2>").has_value() ||
              kernel_symbol(cubin_kernels(build->code), "deep::scaled<(int)2>").has_value());
  const Result<std::string> ambiguous = kernel_symbol(cubin_kernels(build->code), "deep::scaled");
  ASSERT_FALSE(ambiguous.has_value());
  EXPECT_EQ(ambiguous.error().kind, ErrorKind::refused);
  const Result<std::string> absent = kernel_symbol(cubin_kernels(build->code), "absent");
  ASSERT_FALSE(absent.has_value());
  EXPECT_TRUE(contains(absent.error().hint, "plain")) << absent.error().hint;
}

TEST_P(CudaCompilers, ErrorsAndWarningsAreAtTheUsersPlaces) {
  Source source = cuda_source("__global__ void k(float* x) {\n  x[0] = undeclared;\n}\n");
  source.macros["TILE"] = "16";
  const Result<GpuBuild> failed = compile(source);
  ASSERT_TRUE(failed.has_value()) << failed.error().to_string();
  EXPECT_FALSE(failed->outcome.built);
  ASSERT_FALSE(failed->outcome.diagnostics.empty()) << failed->outcome.log;
  EXPECT_EQ(failed->outcome.diagnostics[0].severity, "error");
  EXPECT_EQ(failed->outcome.diagnostics[0].place.to_string(), "kernel.cu:2");

  const Result<GpuBuild> warned = compile(
      cuda_source("__global__ void k(float* x) {\n  int unused_here = 3;\n  x[0] = 1;\n}\n"));
  ASSERT_TRUE(warned.has_value() && warned->outcome.built);
  ASSERT_FALSE(warned->outcome.diagnostics.empty()) << warned->outcome.log;
  EXPECT_EQ(warned->outcome.diagnostics[0].severity, "warning");
  EXPECT_EQ(warned->outcome.diagnostics[0].place.to_string(), "kernel.cu:2");

  const Result<GpuBuild> too_much = compile(cuda_source(
      "__global__ void k(float* x) {\n  __shared__ float tile[100000];\n"
      "  tile[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n  x[0] = tile[(int)x[1]];\n}\n"));
  ASSERT_TRUE(too_much.has_value());
  EXPECT_FALSE(too_much->outcome.built);
  ASSERT_FALSE(too_much->outcome.diagnostics.empty()) << too_much->outcome.log;
  EXPECT_TRUE(contains(too_much->outcome.diagnostics[0].message, "too much shared data"))
      << too_much->outcome.log;
}

INSTANTIATE_TEST_SUITE_P(Installed, CudaCompilers, ::testing::Values("nvcc", "nvrtc"),
                         [](const auto& one) { return std::string(one.param); });

TEST(CudaTargets, CarryTheArchitecturesOwnFeatures) {
  EXPECT_EQ(cuda_target(7, 5), "sm_75");
  EXPECT_EQ(cuda_target(8, 9), "sm_89");
  EXPECT_EQ(cuda_target(9, 0), "sm_90a");
  EXPECT_EQ(cuda_target(12, 0), "sm_120a");
}

TEST(CubinKernels, OfForeignBytesAreNone) {
  EXPECT_TRUE(cubin_kernels("").empty());
  EXPECT_TRUE(cubin_kernels(".text.k").empty());
  EXPECT_TRUE(cubin_kernels(std::string("\0.text.", 7)).empty());
  EXPECT_TRUE(cubin_kernels(std::string("\0.text.k", 8)).empty());
  EXPECT_EQ(cubin_kernels(std::string("\0.text.k\0", 9)), std::vector<std::string>{"k"});
}

Argument::TensorMap good_map() {
  Argument::TensorMap map;
  map.buffer = "x";
  map.dtype = DType::bf16;
  map.shape = {80, 45, 61, 512};
  map.strides = {2, 160, 7200, 439200};
  map.box = {64, 8, 1, 1};
  map.element_strides = {1, 1, 1, 1};
  map.swizzle = "128B";
  map.interleave = "none";
  map.l2_promotion = "256B";
  map.fill = "zero";
  return map;
}

TEST(TensorMaps, BrokenRulesAreNamed) {
  EXPECT_TRUE(check_tensor_map(good_map()).has_value());
  struct Case {
    std::function<void(Argument::TensorMap&)> change;
    const char* says;
  };
  const Case cases[] = {
      {[](auto& map) { map.strides[1] = 162; }, "multiple of 16"},
      {[](auto& map) { map.strides[0] = 4; }, "innermost stride is 4 bytes"},
      {[](auto& map) {
         map.box[0] = 12;
         map.swizzle = "none";
       },
       "24 bytes wide"},
      {[](auto& map) { map.box[0] = 128; }, "a swizzle of 128B takes at most 128"},
      {[](auto& map) { map.box[1] = 257; }, "257 elements in dimension 1"},
      {[](auto& map) { map.box[1] = 0; }, "0 elements in dimension 1"},
      {[](auto& map) { map.shape[2] = 0; }, "dimension 2 has 0 elements"},
      {[](auto& map) { map.element_strides[0] = 9; }, "element stride of 9"},
      {[](auto& map) { map.box.pop_back(); }, "3 box for 4 dimensions"},
      {[](auto& map) { map.shape.assign(6, 1); }, "6 dimensions"},
      {[](auto& map) { map.shape.clear(); }, "0 dimensions"},
      {[](auto& map) { map.swizzle = "256B"; }, "no swizzle \"256B\""},
      {[](auto& map) {
         map.dtype = DType::i16;
         map.fill = "nan";
       },
       "floating-point"},
      {[](auto& map) { map.interleave = "32B"; }, "a swizzle of 32B"},
  };
  for (const Case& one : cases) {
    Argument::TensorMap map = good_map();
    one.change(map);
    const Result<void> result = check_tensor_map(map);
    ASSERT_FALSE(result.has_value()) << one.says;
    EXPECT_EQ(result.error().kind, ErrorKind::refused);
    EXPECT_TRUE(contains(result.error().message, one.says)) << result.error().message;
  }
}

TEST(Throttling, IsToldInWords) {
  EXPECT_EQ(throttle_reasons(0), "none");
  EXPECT_EQ(throttle_reasons(1 | 2), "none");
  EXPECT_EQ(throttle_reasons(4 | 0x40), "power cap, thermal slowdown (hardware)");
}

}  // namespace
}  // namespace burnish::device
