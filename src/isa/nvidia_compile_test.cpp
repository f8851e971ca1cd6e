// Cubins compiled here, held against what ptxas says of them. Needs nvcc, and nvdisasm or
// cuobjdump.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "isa/isa.h"

namespace burnish::isa {
namespace {

using testing::HasSubstr;

/// "… 228 bytes spill stores …" → 228.
std::int64_t number_before(std::string_view text, std::string_view words) {
  std::size_t end = text.find(words);
  if (end == std::string_view::npos) return -1;
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t start = end;
  while (start > 0 && text[start - 1] >= '0' && text[start - 1] <= '9') --start;
  return parse_integer(text.substr(start, end - start)).value_or(-1);
}

class NvidiaCompile : public testing::TestWithParam<const char*> {
 protected:
  struct Compiled {
    Reading reading;
    std::int64_t registers = 0, spill_bytes = 0, stack = 0;
  };

  void SetUp() override {
    nvcc_ = find_program({"nvcc"}, {"/usr/local/cuda/bin"});
    if (!nvcc_) GTEST_SKIP() << "no nvcc on PATH";
    if (!find_program({"nvdisasm", "cuobjdump"}, {"/usr/local/cuda/bin"})) {
      GTEST_SKIP() << "neither nvdisasm nor cuobjdump on PATH";
    }
    auto folder = TemporaryFolder::make("burnish-nvcc");
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
  }

  void compile(const std::string& name, const std::vector<std::string>& options, Compiled& to) {
    const fs::path cubin = folder_->path() / (name + ".cubin");
    ProcessSpec spec;
    spec.argv = {nvcc_->string(), "-std=c++17", "-cubin", "-lineinfo", "-Xptxas", "-v"};
    spec.argv.insert(spec.argv.end(), options.begin(), options.end());
    spec.argv.push_back(std::string(BURNISH_SOURCE_DIR) + "/src/isa/testdata/kernels.cu");
    spec.argv.insert(spec.argv.end(), {"-o", cubin.string()});
    spec.deadline = std::chrono::minutes(2);
    const auto ran = real_process_runner().run(spec);
    ASSERT_TRUE(ran) << ran.error().to_string();
    if (!ran->ok()) GTEST_SKIP() << "this nvcc does not compile it: " << ran->errors;
    const std::string log = ran->output + ran->errors;
    to.registers = number_before(log, " registers");
    to.spill_bytes =
        number_before(log, "bytes spill stores") + number_before(log, "bytes spill loads");
    to.stack = number_before(log, "bytes stack frame");
    auto reading = read_code(cubin, real_process_runner());
    ASSERT_TRUE(reading) << reading.error().to_string();
    to.reading = std::move(*reading);
    ASSERT_EQ(to.reading.kernels.size(), 1u);
    if (to.reading.kernels[0].instructions.empty()) {
      GTEST_SKIP() << "the disassembler here does not know the architecture";
    }
  }

  std::optional<fs::path> nvcc_;
  std::optional<TemporaryFolder> folder_;
};

TEST_P(NvidiaCompile, RegistersStackAndSpillsAreThoseOfPtxas) {
  const std::string arch = std::string("-arch=") + GetParam();
  Compiled few;
  compile("few", {arch, "-DSPILLS", "-maxrregcount", "24"}, few);
  if (IsSkipped() || HasFatalFailure()) return;
  const Kernel& kernel = few.reading.kernels[0];
  EXPECT_EQ(kernel.registers_used, few.registers);
  EXPECT_EQ(kernel.scratch_bytes, few.stack);
  EXPECT_EQ(kernel.spill_bytes, few.spill_bytes);
  EXPECT_GT(few.spill_bytes, 0);
  EXPECT_EQ(kernel.extra.at("isa.register_peak") + 2, static_cast<double>(few.registers));
  EXPECT_TRUE(kernel.unknown_opcodes.empty());
  ASSERT_EQ(kernel.loops.size(), 1u);
  EXPECT_EQ(kernel.loops[0].classes.at("fma"), 20);
  EXPECT_THAT(few.reading.tool, testing::AnyOf(HasSubstr("nvdisasm"), HasSubstr("cuobjdump")));

  Compiled many;
  compile("many", {arch, "-DSPILLS"}, many);
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(many.reading.kernels[0].spill_loads, 0);
  const Diff better = diff(few.reading, many.reading);
  EXPECT_FALSE(better.identical);
  EXPECT_THAT(better.kernels.at(0).summary, HasSubstr("spill"));
  EXPECT_EQ(better.kernels.at(0).changed.at("spill.instructions").second, 0);

  Compiled again;
  compile("again", {arch, "-DSPILLS", "-maxrregcount", "24"}, again);
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_TRUE(diff(few.reading, again.reading).identical);
}

TEST_P(NvidiaCompile, AnArrayStaysAnArray) {
  Compiled array;
  compile("array", {std::string("-arch=") + GetParam(), "-DARRAY"}, array);
  if (IsSkipped() || HasFatalFailure()) return;
  const Kernel& kernel = array.reading.kernels[0];
  EXPECT_EQ(kernel.spill_bytes, 0);
  EXPECT_EQ(array.spill_bytes, 0);
  EXPECT_EQ(kernel.scratch_bytes, 32);
  EXPECT_GT(kernel.classes.at("local_load"), 0);
  const int line = kernel.instructions.front().source_line;
  EXPECT_GT(line, 0) << "lines of -lineinfo";
  EXPECT_EQ(kernel.arguments.size(), 3u);
}

class NvidiaHostObject : public NvidiaCompile {};
TEST_P(NvidiaHostObject, HoldsCompressedImagesForTwoArchitectures) {
  const fs::path object = folder_->path() / "host.o";
  ProcessSpec spec;
  spec.argv = {nvcc_->string(),
               "-std=c++17",
               "-c",
               "-DTILE",
               "-gencode=arch=compute_80,code=sm_80",
               "-gencode=arch=compute_90,code=sm_90",
               "-Xfatbin=-compress-all",
               std::string("--compress-mode=") + GetParam(),
               std::string(BURNISH_SOURCE_DIR) + "/src/isa/testdata/kernels.cu",
               "-o",
               object.string()};
  spec.deadline = std::chrono::minutes(2);
  const auto ran = real_process_runner().run(spec);
  ASSERT_TRUE(ran) << ran.error().to_string();
  if (!ran->ok()) GTEST_SKIP() << "this nvcc does not compile it: " << ran->errors;
  const auto reading = read_code(object, real_process_runner());
  ASSERT_TRUE(reading) << reading.error().to_string();
  EXPECT_EQ(reading->kind, "host-fatbin");
  ASSERT_EQ(reading->kernels.size(), 2u);
  EXPECT_EQ(reading->kernels[0].arch, "sm_80");
  EXPECT_EQ(reading->kernels[1].arch, "sm_90");
  for (const Kernel& kernel : reading->kernels) EXPECT_EQ(kernel.shared_bytes, 2048);
}
// LZ4 is what "speed" takes, zstd the others.
INSTANTIATE_TEST_SUITE_P(Compression, NvidiaHostObject, testing::Values("speed", "size", "none"),
                         [](const auto& param) { return std::string(param.param); });

INSTANTIATE_TEST_SUITE_P(Architectures, NvidiaCompile, testing::Values("sm_75", "sm_90a", "sm_120"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace burnish::isa
