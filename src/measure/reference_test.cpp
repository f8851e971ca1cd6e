#include <gmock/gmock.h>

#include <filesystem>

#include "base/clock.h"
#include "measure/problem.h"

namespace burnish::measure {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSum = R"(
#include "burnish_reference.h"
#include <cstdio>
void reference(const burnish::Dims& dims, const burnish::Inputs& in, burnish::Outputs& out) {
  std::printf("what is printed is no answer\n");
  for (long i = 0; i < dims["N"]; ++i) out["y"][i] = in["x"][i] * 2 + dims.real("scale");
}
)";

constexpr const char* kPython = R"(
import numpy as np
def reference(dims, inputs):
    print("what is printed is no answer")
    assert inputs["x"].shape == (dims["N"],)
    return {"y": inputs["x"] * 2 + dims["scale"]}
)";

Problem problem(std::int64_t n = 3) {
  Problem result;
  result.workload = "w";
  result.dims = {{"N", static_cast<double>(n)}, {"scale", 0.5}};
  result.tensors = {{"x", DType::f32, {n}, device::Buffer::Role::in, {}},
                    {"y", DType::f32, {n}, device::Buffer::Role::out, {}}};
  return result;
}

/// Counts the programs that it starts.
class CountingRunner : public ProcessRunner {
 public:
  Result<ProcessResult> run(const ProcessSpec& spec) override {
    ++runs;
    return real_process_runner().run(spec);
  }
  int runs = 0;
};

class ReferenceTest : public testing::Test {
 protected:
  Result<std::shared_ptr<Reference>> open(const std::string& name, std::string_view text) {
    EXPECT_TRUE(real_file_system().write(folder_->path() / name, text));
    return open_reference(folder_->path() / name, folder_->path() / "cache", runner_);
  }
  Result<Values> compute(const std::string& name, std::string_view text) {
    BURNISH_TRY_ASSIGN(const auto reference, open(name, text));
    return reference->compute(problem(), {{"x", {1, 2, 3}}});
  }
  Result<TemporaryFolder> folder_ = TemporaryFolder::make();
  CountingRunner runner_;
};

TEST_F(ReferenceTest, CppIsCompiledOnceAndAnswersManyTimes) {
  auto reference = open("reference.cpp", kSum);
  ASSERT_TRUE(reference) << reference.error().to_string();
  for (int i = 0; i < 3; ++i) {
    auto values = (*reference)->compute(problem(), {{"x", {1, 2, static_cast<double>(i)}}});
    ASSERT_TRUE(values) << values.error().to_string();
    EXPECT_EQ(values->at("y"), (std::vector<double>{2.5, 4.5, 2.0 * i + 0.5}));
  }
  EXPECT_EQ(runner_.runs, 1);
  ASSERT_TRUE(open("reference.cpp", kSum));
  EXPECT_EQ(runner_.runs, 1);
}

TEST_F(ReferenceTest, AChangedIncludeGivesANewProgram) {
  const std::string text =
      "#include \"factor.h\"\n#include \"burnish_reference.h\"\n"
      "void reference(const burnish::Dims&, const burnish::Inputs& in, burnish::Outputs& out) {\n"
      "  for (long i = 0; i < in.size(\"x\"); ++i) out[\"y\"][i] = kFactor * in[\"x\"][i]; }\n";
  ASSERT_TRUE(
      real_file_system().write(folder_->path() / "factor.h", "const double kFactor = 2;\n"));
  auto two = compute("reference.cpp", text);
  ASSERT_TRUE(two) << two.error().to_string();
  EXPECT_EQ(two->at("y")[2], 6);
  ASSERT_TRUE(
      real_file_system().write(folder_->path() / "factor.h", "const double kFactor = 3;\n"));
  auto three = compute("reference.cpp", text);
  ASSERT_TRUE(three) << three.error().to_string();
  EXPECT_EQ(three->at("y")[2], 9);
}

TEST_F(ReferenceTest, MistakesInCppAreReported) {
  auto broken = compute("reference.cpp", "#include \"burnish_reference.h\"\nint x = ;\n");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(broken.error().message,
              AllOf(HasSubstr("does not compile"), HasSubstr("reference.cpp:2")));

  auto unknown = compute("reference.cpp", R"(#include "burnish_reference.h"
void reference(const burnish::Dims&, const burnish::Inputs& in, burnish::Outputs& out) { out["y"][0] = in["z"][0]; })");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::refused);
  EXPECT_THAT(unknown.error().message, HasSubstr("the task has no input named 'z'; it has: x"));

  auto partial = compute("reference.cpp", R"(#include "burnish_reference.h"
void reference(const burnish::Dims&, const burnish::Inputs&, burnish::Outputs& out) { out["y"][0] = 1; })");
  ASSERT_FALSE(partial);
  EXPECT_THAT(partial.error().message, HasSubstr("did not write element 1 of output 'y'"));

  auto crash = compute("reference.cpp", R"(#include "burnish_reference.h"
#include <csignal>
#include <cstdio>
void reference(const burnish::Dims&, const burnish::Inputs&, burnish::Outputs&) { std::fputs("about to go\n", stderr); std::raise(SIGSEGV); })");
  ASSERT_FALSE(crash);
  EXPECT_EQ(crash.error().kind, ErrorKind::refused);
  EXPECT_THAT(crash.error().to_string(), AllOf(HasSubstr("SIGSEGV"), HasSubstr("about to go")));
}

TEST_F(ReferenceTest, AReferenceThatFailedAnswersAgain) {
  auto reference = open("reference.cpp", R"(#include "burnish_reference.h"
#include <cstdlib>
void reference(const burnish::Dims&, const burnish::Inputs& in, burnish::Outputs& out) {
  if (in["x"][0] == 13) std::exit(3);
  if (in["x"][0] == 7) throw std::runtime_error("seven");
  for (long i = 0; i < out.size("y"); ++i) out["y"][i] = 1;
})");
  ASSERT_TRUE(reference);
  EXPECT_FALSE((*reference)->compute(problem(), {{"x", {13, 2, 3}}}));
  auto thrown = (*reference)->compute(problem(), {{"x", {7, 2, 3}}});
  ASSERT_FALSE(thrown);
  EXPECT_THAT(thrown.error().message, HasSubstr("seven"));
  EXPECT_TRUE((*reference)->compute(problem(), {{"x", {1, 2, 3}}}));
}

TEST_F(ReferenceTest, PythonAnswersThroughNumpy) {
  auto values = compute("reference.py", kPython);
  if (!values && values.error().kind == ErrorKind::environment) {
    GTEST_SKIP() << values.error().message;
  }
  ASSERT_TRUE(values) << values.error().to_string();
  EXPECT_EQ(values->at("y"), (std::vector<double>{2.5, 4.5, 6.5}));

  auto shape =
      compute("reference.py", "def reference(dims, inputs):\n  return {'y': inputs['x'][:2]}\n");
  ASSERT_FALSE(shape);
  EXPECT_THAT(shape.error().message, HasSubstr("output 'y' has shape (2,), the task says (3,)"));
  auto missing = compute("reference.py", "def reference(dims, inputs):\n  return {}\n");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("did not return output 'y'"));
  auto none = compute("reference.py", "x = 1\n");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("defines no function reference"));
  auto syntax = compute("reference.py", "def reference(:\n");
  ASSERT_FALSE(syntax);
  EXPECT_THAT(syntax.error().message, HasSubstr("SyntaxError"));
}

TEST_F(ReferenceTest, SlowResultsAreKeptByContent) {
  const std::string slow = R"(#include "burnish_reference.h"
#include <chrono>
#include <thread>
void reference(const burnish::Dims&, const burnish::Inputs& in, burnish::Outputs& out) {
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  for (long i = 0; i < out.size("y"); ++i) out["y"][i] = in["x"][i]; })";
  auto reference = open("reference.cpp", slow);
  ASSERT_TRUE(reference);
  const auto timed = [&](double x) {
    const auto start = real_clock().steady();
    auto values = (*reference)->compute(problem(), {{"x", {x, 2, 3}}});
    EXPECT_TRUE(values);
    EXPECT_EQ(values->at("y")[0], x);
    return std::chrono::duration<double>(real_clock().steady() - start).count();
  };
  EXPECT_GE(timed(1), 0.4);
  EXPECT_LT(timed(1), 0.4);
  EXPECT_GE(timed(2), 0.4);
}

TEST_F(ReferenceTest, OtherFilesAreRefused) {
  auto absent = open_reference(folder_->path() / "none.cpp", folder_->path() / "cache", runner_);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::bad_input);
  auto other = open("reference.rs", "fn main() {}");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace burnish::measure
