#include "device/testing/fixture.h"

#include <chrono>
#include <fstream>
#include <set>

#include "base/text.h"

namespace burnish::device {
namespace {

using namespace testing;
using ::testing::Test;

constexpr char kSaxpy[] = R"(
__kernel void saxpy(__global const float* x, __global float* y, float a, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

class Saxpy : public PoclTest {
 protected:
  static constexpr int kCount = 1000;
  void SetUp() override {
    PoclTest::SetUp();
    if (IsSkipped()) return;
    x_.resize(kCount);
    y_.resize(kCount);
    for (int i = 0; i < kCount; ++i) {
      x_[static_cast<std::size_t>(i)] = static_cast<float>(i);
      y_[static_cast<std::size_t>(i)] = 1000.0f - static_cast<float>(i);
    }
    plan_ =
        one_launch("saxpy", 16, 64,
                   {pointer("x"), pointer("y"), scalar(DType::f32, 3), scalar(DType::i32, kCount)});
    request_.plan = &plan_;
    request_.contents["x"] = std::as_bytes(std::span(x_));
    request_.contents["y"] = std::as_bytes(std::span(y_));
    request_.read_back = RunRequest::ReadBack::yes;
  }

  void start(const Source& source) {
    Result<std::unique_ptr<Session>> session = open(source);
    ASSERT_TRUE(session.has_value()) << session.error().to_string();
    session_ = std::move(*session);
    const std::uint64_t bytes = kCount * sizeof(float);
    const Result<void> prepared =
        session_->prepare({{"x", bytes, Buffer::Role::in}, {"y", bytes, Buffer::Role::inout}});
    ASSERT_TRUE(prepared.has_value()) << prepared.error().to_string();
  }

  void expect_right(const RunResult& result) {
    const std::vector<float> got = floats(result.buffers.at("y").content);
    ASSERT_EQ(got.size(), y_.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 3 * x_[i] + y_[i]) << i;
  }

  std::vector<float> x_, y_;
  LaunchPlan plan_;
  RunRequest request_;
};

TEST_F(Saxpy, IsRightInsideUnbrokenGuards) {
  start(opencl_source(kSaxpy));
  for (const std::uint32_t poison : {0x7fc0deadu, 0xffffffffu}) {
    request_.poison = poison;
    const Result<RunResult> result = session_->run(request_);
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    expect_right(*result);
    for (const auto& [name, state] : result->buffers) {
      EXPECT_GE(state.before.size(), 4096u);
      EXPECT_GE(state.after.size(), 4096u);
      EXPECT_EQ(broken_guard_bytes(state, poison), 0) << name;
    }
    EXPECT_EQ(floats(result->buffers.at("x").content), x_);
    EXPECT_GT(result->device_seconds, 0);
    EXPECT_GE(result->host_seconds, result->device_seconds);
    ASSERT_EQ(result->launch_seconds.size(), 1u);
    EXPECT_LE(result->launch_seconds[0], result->device_seconds);
    EXPECT_EQ(result->timer, "opencl event profiling");
    EXPECT_EQ(result->flushed_bytes, 0u);
  }
}

TEST_F(Saxpy, FreshAddressesMoveAndSameOnesStay) {
  start(opencl_source(kSaxpy));
  std::set<std::size_t> places;
  for (int i = 0; i < 8; ++i) {
    const Result<RunResult> result = session_->run(request_);
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    expect_right(*result);
    const std::size_t place = result->buffers.at("x").before.size();
    EXPECT_EQ(place % 128, 0u);
    places.insert(place);
  }
  EXPECT_GE(places.size(), 4u);
  request_.addresses = Addresses::same;
  const Result<RunResult> first = session_->run(request_);
  const Result<RunResult> second = session_->run(request_);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->buffers.at("x").before.size(), second->buffers.at("x").before.size());
}

TEST_F(Saxpy, RepetitionsAndColdCachesAreTimed) {
  start(opencl_source(kSaxpy));
  ASSERT_TRUE(session_->run(request_).has_value());
  request_.repetitions = 20;
  request_.read_back = RunRequest::ReadBack::no;
  const Result<RunResult> many = session_->run(request_);
  ASSERT_TRUE(many.has_value()) << many.error().to_string();
  EXPECT_TRUE(many->buffers.empty());
  EXPECT_GE(many->device_seconds, many->launch_seconds.at(0));
  request_.repetitions = 1;
  request_.caches = Caches::cold;
  const Result<RunResult> cold = session_->run(request_);
  ASSERT_TRUE(cold.has_value()) << cold.error().to_string();
  EXPECT_EQ(cold->flushed_bytes, std::min<std::uint64_t>(2 * info_.cache_bytes, 512u << 20));
}

TEST_F(Saxpy, MacrosAndFurtherFilesReachTheCompiler) {
  Source source = opencl_source(
      "#include \"parts/factor.h\"\n"
      "__kernel void saxpy(__global const float* x, __global float* y, float a, int n) {\n"
      "  int i = get_global_id(0);\n  if (i < n) y[i] = EXPRESSION;\n}\n");
  source.also["parts/factor.h"] = "#define EXPRESSION (a * x[i] MINUS (-y[i]))\n";
  source.macros["MINUS"] = "- 1.0f *";
  start(source);
  const Result<RunResult> result = session_->run(request_);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  expect_right(*result);
}

TEST_F(Saxpy, MachineCodeOfWhatWasLaunched) {
  start(opencl_source(std::string(kSaxpy) +
                      "__kernel void other(__global float* z) { z[get_global_id(0)] = 1; }\n"));
  const Result<std::vector<CodeObject>> none = session_->code();
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(none->empty());
  ASSERT_TRUE(session_->run(request_).has_value());
  const Result<std::vector<CodeObject>> code = session_->code();
  ASSERT_TRUE(code.has_value()) << code.error().to_string();
  ASSERT_EQ(code->size(), 1u);
  EXPECT_EQ(code->at(0).kernel, "saxpy");
  EXPECT_EQ(code->at(0).suffix, ".so");
  EXPECT_TRUE(
      code->at(0).bytes.starts_with("\x7f"
                                    "ELF"));
  EXPECT_TRUE(contains(code->at(0).bytes, "_pocl_kernel_saxpy_workgroup"));
}

TEST_F(Saxpy, ArgumentsThatDoNotFitAreNamed) {
  start(opencl_source(kSaxpy));
  plan_.launches[0].arguments.pop_back();
  Result<RunResult> result = session_->run(request_);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::refused);
  EXPECT_EQ(result.error().message, "kernel \"saxpy\" takes 4 arguments, the launch gives 3");

  plan_.launches[0].arguments.push_back(scalar(DType::f64, 1000));
  result = session_->run(request_);
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(contains(result.error().message, "argument 4 of kernel \"saxpy\""))
      << result.error().message;

  plan_.launches[0].arguments.back() = scalar(DType::i32, kCount);
  plan_.launches[0].kernel = "saxpi";
  result = session_->run(request_);
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(contains(result.error().hint, "saxpy")) << result.error().to_string();

  plan_.launches[0].kernel = "saxpy";
  plan_.launches[0].block = {1 << 20, 1, 1};
  result = session_->run(request_);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::refused);

  // None of these killed the worker.
  plan_.launches[0].block = {64, 1, 1};
  result = session_->run(request_);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  expect_right(*result);
}

TEST_F(PoclTest, TooMuchScratchIsTheCandidatesFault) {
  auto session = open(opencl_source("__kernel void one(__global float* s) { s[0] = 1; }"));
  ASSERT_TRUE(session.has_value()) << session.error().to_string();
  ASSERT_TRUE((*session)->prepare({{"out", 256, Buffer::Role::out}}).has_value());
  LaunchPlan plan = one_launch("one", 1, 1, {pointer("tmp")});
  plan.scratch.push_back({"tmp", std::uint64_t{1} << 40, Buffer::Role::scratch});
  RunRequest request;
  request.plan = &plan;
  const Result<RunResult> result = (*session)->run(request);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::refused) << result.error().to_string();
  EXPECT_NE(result.error().message.find("scratch"), std::string::npos);
  // The session goes on.
  plan.scratch[0].bytes = 256;
  EXPECT_TRUE((*session)->run(request).has_value());
}

TEST_F(PoclTest, SeveralLaunchesShareScratch) {
  const char* text = R"(
    __kernel void first(__global float* scratch) { scratch[get_global_id(0)] = get_global_id(0); }
    __kernel void second(__global const float* scratch, __global float* out) {
      out[get_global_id(0)] = 2 * scratch[get_global_id(0)];
    })";
  auto session = open(opencl_source(text));
  ASSERT_TRUE(session.has_value()) << session.error().to_string();
  ASSERT_TRUE((*session)->prepare({{"out", 256 * sizeof(float), Buffer::Role::out}}).has_value());
  LaunchPlan plan = one_launch("first", 4, 64, {pointer("tmp")});
  plan.launches.push_back(
      one_launch("second", 4, 64, {pointer("tmp"), pointer("out")}).launches[0]);
  plan.scratch.push_back({"tmp", 256 * sizeof(float), Buffer::Role::scratch});
  RunRequest request;
  request.plan = &plan;
  request.repetitions = 3;
  request.read_back = RunRequest::ReadBack::yes;
  const Result<RunResult> result = (*session)->run(request);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  EXPECT_EQ(result->launch_seconds.size(), 2u);
  ASSERT_EQ(result->buffers.size(), 2u);
  const std::vector<float> out = floats(result->buffers.at("out").content);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], 2.0f * static_cast<float>(i));
  // Compiling the second kernel takes tens of milliseconds, which the time must not hold.
  EXPECT_LT(result->device_seconds, 0.02);
}

TEST_F(PoclTest, UnwrittenElementsKeepThePoison) {
  const auto result = run_once(
      "__kernel void k(__global uint* out) { uint i = get_global_id(0); if (i != 7) out[i] = i; }",
      "k", 64 * 4, 1, 64);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  std::uint32_t seventh = 0;
  std::memcpy(&seventh, result->buffers.at("out").content.data() + 7 * 4, 4);
  EXPECT_EQ(seventh, RunRequest{}.poison);
}

TEST_F(PoclTest, WritesBesideABufferBreakItsGuards) {
  const auto result = run_once(
      "__kernel void k(__global uint* out) {\n"
      "  uint i = get_global_id(0);\n  out[i] = i;\n"
      "  if (i == 0) { out[-3] = 1; out[64 + 1000] = 2; }\n}",
      "k", 64 * 4, 1, 64);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  const BufferState& state = result->buffers.at("out");
  EXPECT_EQ(broken_guard_bytes(state, RunRequest{}.poison), 8);
  EXPECT_NE(state.before[state.before.size() - 12], std::byte{0xad});
  EXPECT_EQ(state.after[4000], std::byte{2});
}

TEST_F(PoclTest, OddSizesKeepThePoisonsPhase) {
  const auto result = run_once(
      "__kernel void k(__global uchar* out) { out[get_global_id(0)] = 1; }", "k", 13, 13, 1);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  EXPECT_EQ(result->buffers.at("out").content, std::vector<std::byte>(13, std::byte{1}));
  EXPECT_EQ(broken_guard_bytes(result->buffers.at("out"), RunRequest{}.poison), 0);
}

TEST_F(PoclTest, AHangIsATimeoutAndTheSessionStaysDead) {
  Limits limits;
  limits.run = std::chrono::milliseconds(700);
  const auto started = std::chrono::steady_clock::now();
  const auto result = run_once(
      "__kernel void spin(__global volatile uint* out) { while (out[0] != 1) out[1] += 1; }",
      "spin", 64, 1, 1, limits);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::timeout);
  EXPECT_TRUE(contains(result.error().message, "running kernel \"spin\" took longer than"))
      << result.error().to_string();
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(8));
  const Result<std::vector<CodeObject>> later = session_->code();
  ASSERT_FALSE(later.has_value());
  EXPECT_EQ(later.error().message, result.error().message);
  EXPECT_TRUE(device_->probe().has_value()) << "the device itself is well";
}

TEST_F(PoclTest, ACrashNamesTheSignalAndTheKernel) {
  for (const Confinement confinement :
       {Confinement::bubblewrap, Confinement::namespaces, Confinement::process_group}) {
    if (!confinement_trouble(confinement).empty()) continue;
    Result<std::unique_ptr<Device>> device =
        open_confined_device(info_, {{}, BURNISH_TEST_WORKER}, confinement);
    ASSERT_TRUE(device.has_value());
    device_ = std::move(*device);
    const auto result = run_once(
        "__kernel void wild(__global uint* out) { out[get_global_id(0) * 4000000000UL] = 1; }",
        "wild", 64, 16, 1);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind, ErrorKind::refused) << result.error().to_string();
    EXPECT_TRUE(contains(result.error().message, "running kernel \"wild\" crashed"))
        << result.error().to_string();
    EXPECT_TRUE(contains(result.error().message, "SIGSEGV")) << result.error().to_string();
  }
}

TEST_F(PoclTest, AKernelThatCallsTheSystemFindsItReadOnly) {
  if (best_sandbox().confinement == Confinement::process_group) GTEST_SKIP() << isolation();
  for (const Confinement confinement : {Confinement::bubblewrap, Confinement::namespaces}) {
    if (!confinement_trouble(confinement).empty()) continue;
    Result<std::unique_ptr<Device>> device =
        open_confined_device(info_, {{}, BURNISH_TEST_WORKER}, confinement);
    ASSERT_TRUE(device.has_value());
    device_ = std::move(*device);
    // openat(AT_FDCWD, "/usr/…", O_CREAT | O_WRONLY): -EROFS. What it prints tells of its
    // processes.
    const auto result = run_once(
        "__constant char kPath[] = \"/usr/burnish-was-here\";\n"
        "__kernel void k(__global int* out) {\n"
        "  long got;\n"
        "  __asm__ volatile(\"movq $0600, %%r10; syscall\" : \"=a\"(got)\n"
        "      : \"a\"(257L), \"D\"(-100L), \"S\"(kPath), \"d\"(0101L) : \"rcx\", \"r10\", "
        "\"r11\", \"memory\");\n"
        "  out[0] = (int)got;\n"
        "  __asm__ volatile(\"syscall\" : \"=a\"(got) : \"a\"(39L) : \"rcx\", \"r11\", "
        "\"memory\");\n"
        "  out[1] = (int)got;\n}",
        "k", 8, 1, 1);
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    int got[2] = {};
    std::memcpy(got, result->buffers.at("out").content.data(), sizeof got);
    EXPECT_EQ(got[0], -30) << "EROFS";
    EXPECT_LT(got[1], 10) << "its number in a process space of its own";
    EXPECT_FALSE(fs::exists("/usr/burnish-was-here"));
  }
}

TEST_F(PoclTest, AGigabyteOfPrintingIsStopped) {
  const auto result = run_once(
      "__kernel void chatter(__global uint* out) {\n"
      "  for (int i = 0; i < 20000000; ++i)\n"
      "    printf(\"fifty characters of nothing to fill up somebody's disk %d\\n\", i);\n}",
      "chatter", 64, 1, 1);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::refused);
  EXPECT_TRUE(contains(result.error().message, "printed more than 8 MiB"))
      << result.error().to_string();
}

TEST_F(PoclTest, WhatAKernelPrintsIsNoMessage) {
  const auto result = run_once(
      "__kernel void k(__global uint* out) { printf(\"{\\\"device_seconds\\\": 0}\\n\"); *out = 7; "
      "}",
      "k", 4, 1, 1);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  EXPECT_EQ(result->buffers.at("out").content[0], std::byte{7});
  EXPECT_TRUE(contains(session_->messages(), "device_seconds"));
}

TEST_F(PoclTest, AMemoryHogIsStopped) {
  Limits limits;
  limits.memory_bytes = 700u << 20;
  // mmap(2) from the kernel itself, since OpenCL C has no allocation; then every page is touched.
  const auto result = run_once(
      "__kernel void hog(__global ulong* out) {\n"
      "  for (int round = 0; round < 64; ++round) {\n"
      "    long got;\n"
      "    __asm__ volatile(\"movq $0x22, %%r10; movq $-1, %%r8; movq $0, %%r9; syscall\"\n"
      "                     : \"=a\"(got) : \"a\"(9L), \"D\"(0L), \"S\"(1L << 26), \"d\"(3L)\n"
      "                     : \"rcx\", \"r8\", \"r9\", \"r10\", \"r11\", \"memory\");\n"
      "    for (long i = 0; i < (1L << 26); i += 4096)\n"
      "      __asm__ volatile(\"movb $1, (%0)\" : : \"r\"(got + i) : \"memory\");\n"
      "  }\n  *out = 1;\n}",
      "hog", 8, 1, 1, limits);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::refused) << result.error().to_string();
  EXPECT_TRUE(contains(result.error().message, "took more than 700 MiB of memory"))
      << result.error().to_string();
}

TEST_F(PoclTest, BuffersBeyondTheLimitAreRefusedBeforeTheyAreMade) {
  auto session = open(opencl_source(kSaxpy));
  ASSERT_TRUE(session.has_value());
  const Result<void> prepared =
      (*session)->prepare({{"x", std::uint64_t{1} << 60, Buffer::Role::in}});
  ASSERT_FALSE(prepared.has_value());
  EXPECT_EQ(prepared.error().kind, ErrorKind::environment);
  Limits limits;
  limits.memory_bytes = 512u << 20;
  const auto small = open(opencl_source(kSaxpy), limits);
  ASSERT_TRUE(small.has_value());
  const Result<void> many = (*small)->prepare({{"x", 200u << 20, Buffer::Role::in},
                                               {"y", 200u << 20, Buffer::Role::in},
                                               {"z", 200u << 20, Buffer::Role::in}});
  ASSERT_FALSE(many.has_value());
  EXPECT_TRUE(contains(many.error().message, "512 MiB")) << many.error().message;
  EXPECT_TRUE((*session)->prepare({{"x", 64, Buffer::Role::in}}).has_value());
}

TEST_F(PoclTest, BuildErrorsAreAtTheUsersPlaces) {
  Source source = opencl_source(
      "#include \"half.h\"\n"
      "__kernel void k(__global float* out) {\n"
      "  out[0] = undeclared;\n}\n");
  source.also["half.h"] = "#define HALF 0.5f\n";
  source.macros["TILE"] = "16";
  auto session = open(source);
  ASSERT_FALSE(session.has_value());
  const Error& error = session.error();
  EXPECT_EQ(error.kind, ErrorKind::refused);
  ASSERT_TRUE(error.place.has_value());
  EXPECT_EQ(error.place->to_string(), "kernel.cl:3:12");
  EXPECT_TRUE(contains(error.message, "undeclared")) << error.to_string();

  source.text = "#include \"half.h\"\n__kernel void k(__global float* out) { out[0] = HALF; }\n";
  source.also["half.h"] = "\n#define HALF 0.5f\nfloat twice(float x) { return 2 * y; }\n";
  session = open(source);
  ASSERT_FALSE(session.has_value());
  ASSERT_TRUE(session.error().place.has_value());
  EXPECT_EQ(session.error().place->to_string(), "half.h:3:35") << session.error().to_string();

  session =
      open(opencl_source("__kernel void k(__global char* out) { char c = 300; out[0] = c; }\n"));
  ASSERT_TRUE(session.has_value()) << session.error().to_string();
  ASSERT_EQ((*session)->build().diagnostics.size(), 1u) << (*session)->build().log;
  EXPECT_EQ((*session)->build().diagnostics[0].severity, "warning");
  EXPECT_EQ((*session)->build().diagnostics[0].place.to_string(), "kernel.cl:1:48");
}

TEST_F(PoclTest, BinariesAreCachedByContent) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.has_value());
  open_device_with(folder->path());
  Source source = opencl_source(kSaxpy);
  source.text += "__kernel void warned(__global char* out) { char c = 300; out[0] = c; }\n";
  const auto first = open(source);
  ASSERT_TRUE(first.has_value()) << first.error().to_string();
  EXPECT_FALSE((*first)->build().from_cache);
  const auto second = open(source);
  ASSERT_TRUE(second.has_value()) << second.error().to_string();
  EXPECT_TRUE((*second)->build().from_cache);
  EXPECT_EQ((*second)->build().hash, (*first)->build().hash);
  EXPECT_EQ((*second)->build().diagnostics.size(), 1u);
  EXPECT_LT((*second)->build().seconds, 0.5 * (*first)->build().seconds);

  source.macros["TILE"] = "4";
  const auto other = open(source);
  ASSERT_TRUE(other.has_value());
  EXPECT_FALSE((*other)->build().from_cache);
  EXPECT_NE((*other)->build().hash, (*first)->build().hash);

  // An entry that was tampered with is compiled anew.
  source.macros.clear();
  const fs::path entry = folder->path() / (*first)->build().hash;
  std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('#');
  file.close();
  const auto third = open(source);
  ASSERT_TRUE(third.has_value()) << third.error().to_string();
  EXPECT_FALSE((*third)->build().from_cache);
}

TEST_F(Saxpy, RunsUnderAWrapper) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.has_value());
  const fs::path told = folder->path() / "told";
  Result<std::unique_ptr<Device>> device =
      open_device(info_, {{},
                          BURNISH_TEST_WORKER,
                          {"sh", "-c", "$1 $2; sleep 0.5; echo $2 > " + told.string(), "sh"}});
  ASSERT_TRUE(device.has_value());
  device_ = std::move(*device);
  start(opencl_source(kSaxpy));
  const Result<RunResult> result = session_->run(request_);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  expect_right(*result);
  EXPECT_FALSE(fs::exists(told));
  session_.reset();  // waits for what the wrapper has to do afterwards
  EXPECT_EQ(real_file_system().read(told).value_or(""), "worker\n");
}

TEST_F(PoclTest, ProbeAndDescription) {
  EXPECT_TRUE(device_->probe().has_value());
  EXPECT_EQ(info_.backend, "opencl");
  EXPECT_EQ(info_.vendor, "cpu");
  EXPECT_TRUE(info_.arch.starts_with("x86-64 ") || info_.arch.starts_with("aarch64 "))
      << info_.arch;
  EXPECT_GT(info_.compute_units, 0);
  EXPECT_GT(info_.cache_bytes, 1u << 20);
  EXPECT_GT(info_.timer_resolution, 0);
  EXPECT_LT(info_.timer_resolution, 1e-3);
}

TEST_F(PoclTest, ResourcesAreOnlyWhatCanBeTrusted) {
  auto session = open(
      opencl_source("__kernel void k(__global float* out) {\n"
                    "  __local float tile[256];\n  tile[get_local_id(0)] = out[get_global_id(0)];\n"
                    "  barrier(CLK_LOCAL_MEM_FENCE);\n  out[get_global_id(0)] = tile[255 - "
                    "get_local_id(0)];\n}"));
  ASSERT_TRUE(session.has_value()) << session.error().to_string();
  const Result<MetricSet> metrics = (*session)->resources("k");
  ASSERT_TRUE(metrics.has_value()) << metrics.error().to_string();
  EXPECT_EQ(metrics->value("shared.static_bytes"), 1024.0);
  EXPECT_FALSE(metrics->value("scratch.bytes").has_value());
}

TEST(Simulator, FindsWhatIsReadOutsideABuffer) {
  const Result<DeviceInfo> info = choose_device("opencl:oclgrind", BURNISH_TEST_WORKER);
  if (!info) GTEST_SKIP() << info.error().to_string();
  const auto device = open_device(*info, {{}, BURNISH_TEST_WORKER});
  ASSERT_TRUE(device.has_value());
  const auto session = (*device)->open(
      opencl_source("__kernel void k(__global uint* out) { out[get_global_id(0) + 1] = 1; }"), {});
  ASSERT_TRUE(session.has_value()) << session.error().to_string();
  ASSERT_TRUE((*session)->prepare({{"out", 64 * 4, Buffer::Role::out}}).has_value());
  const LaunchPlan plan = one_launch("k", 1, 64, {pointer("out")});
  RunRequest request;
  request.plan = &plan;
  request.read_back = RunRequest::ReadBack::yes;
  const Result<RunResult> result = (*session)->run(request);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  EXPECT_TRUE(contains((*session)->messages(), "Invalid write of size 4"));
  std::vector<std::string> problems;
  for (const DeviceInfo& listed : list_devices(problems, BURNISH_TEST_WORKER)) {
    EXPECT_NE(listed.platform, "Oclgrind");
  }
}

TEST(ChooseDevice, SaysWhatThereIs) {
  const Result<DeviceInfo> slip = choose_device("opencll:0", BURNISH_TEST_WORKER);
  ASSERT_FALSE(slip.has_value());
  EXPECT_EQ(slip.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(contains(slip.error().hint, "opencl")) << slip.error().hint;
  const Result<DeviceInfo> none = choose_device("opencl:99", BURNISH_TEST_WORKER);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, ErrorKind::environment);
}

}  // namespace
}  // namespace burnish::device
