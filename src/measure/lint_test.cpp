#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "measure/test_tasks.h"
#include "measure/verify.h"

namespace burnish::measure {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;

Lint linted(const Task& task) {
  FixedRandom random(4);
  auto result = lint(task, random);
  EXPECT_TRUE(result) << result.error().to_string();
  return result ? *result : Lint{};
}

/// matmul with one thing about it changed.
Task changed(std::function<void(Problem&)> change,
             std::function<Values(const Problem&, const Values&)> reference = matmul_reference) {
  Task task = matmul_task();
  task.problem = [change](const std::string& workload, const Variables& dims) {
    Problem problem = matmul_problem(workload, dims);
    change(problem);
    return Result<Problem>(problem);
  };
  task.reference = std::make_shared<FunctionReference>(
      [reference](const Problem& problem, const Values& inputs) {
        return reference(problem, inputs);
      });
  return task;
}

TEST(Lint, ASoundTaskHasNoWeakness) {
  const Lint lint = linted(matmul_task());
  for (const Weakness& weakness : lint.weaknesses) ADD_FAILURE() << weakness.what;
  EXPECT_THAT(lint.tried,
              testing::IsSupersetOf({"zeros", "ones", "outputs for other inputs (a stale buffer)",
                                     "input bias redrawn"}));
}

// KernelBench issue 165: max|out| 4e-6 against an absolute tolerance of 1e-2, so zeros pass.
TEST(Lint, ZerosPassUnderAnAbsoluteToleranceAboveTheOutputs) {
  const Lint lint = linted(changed([](Problem& problem) {
    problem.tolerance.absolute = 1e-2;
    for (Tensor& tensor : problem.tensors) tensor.draw.deviation = 1e-4;
  }));
  EXPECT_THAT(lint.weaknesses, Contains(Field(&Weakness::what, "zeros pass")));
  EXPECT_THAT(lint.weaknesses,
              Contains(Field(&Weakness::tighten, HasSubstr("tolerance.absolute is 0.01"))));
}

// The first output has all the attention: an absolute tolerance that suits it lets anything pass
// for the second.
TEST(Lint, AnOutputThatMayBeZeroBesideASoundOneIsNamed) {
  const Lint lint = linted(changed(
      [](Problem& problem) {
        Tensor second = problem.tensors[3];
        second.name = "D";
        problem.tensors.push_back(second);
        problem.tolerance.absolute = 1e-4;
      },
      [](const Problem& problem, const Values& inputs) {
        Values outputs = matmul_reference(problem, inputs);
        outputs["D"] = outputs["C"];
        for (double& value : outputs["D"]) value *= 1e-7;
        return outputs;
      }));
  EXPECT_THAT(lint.weaknesses, Contains(Field(&Weakness::what, "zeros in output D alone pass")));
}

// What rounding makes of such inputs is larger than the outputs, so that the judge allows as much.
TEST(Lint, ZerosPassWhereCancellationLeavesNothing) {
  const auto change = [](Problem& problem) {
    problem.tensors.resize(1);
    problem.tensors[0].draw.mean = 1e7;
    Tensor output = problem.tensors[0];
    output.name = "C";
    output.role = device::Buffer::Role::out;
    problem.tensors.push_back(output);
    problem.tolerance.accumulation = 48;
  };
  const auto centred = [](const Problem&, const Values& inputs) {
    std::vector<double> values = inputs.at("A");
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (double& value : values) value -= mean;
    return Values{{"C", values}};
  };
  EXPECT_THAT(linted(changed(change, centred)).weaknesses,
              Contains(Field(&Weakness::what, "zeros pass")));
}

// accelerator-agents pull 50: weights drawn as zeros make the operation trivial.
TEST(Lint, ConstantInputsAreAWeakness) {
  const Lint lint =
      linted(changed([](Problem& problem) { problem.tensors[1].draw = {Draw::Kind::constant}; }));
  EXPECT_THAT(lint.weaknesses,
              Contains(Field(&Weakness::what, HasSubstr("input B is always drawn as 0"))));
  // With nothing but the bias left, A no longer matters.
  EXPECT_THAT(lint.weaknesses,
              Contains(Field(&Weakness::what, "input A does not influence any output")));
}

TEST(Lint, AnInputThatTheReferenceIgnoresIsNamed) {
  const Lint lint = linted(changed([](Problem&) {},
                                   [](const Problem& problem, const Values& inputs) {
                                     Values without = inputs;
                                     std::fill(without["bias"].begin(), without["bias"].end(), 0);
                                     return matmul_reference(problem, without);
                                   }));
  ASSERT_EQ(lint.weaknesses.size(), 1u);
  EXPECT_EQ(lint.weaknesses[0].what, "input bias does not influence any output");
}

// An option that dimensions switch on is of use at some workload.
TEST(Lint, AnInputMayServeOneWorkloadOnly) {
  Task task = matmul_task();
  Workload with = task.workloads.front();
  with.name = "with bias";
  with.dims["M"] += 1;  // not the smallest
  const double rows = with.dims["M"];
  task.workloads = {task.workloads.front(), with};
  task.reference =
      std::make_shared<FunctionReference>([rows](const Problem& problem, const Values& inputs) {
        Values used = inputs;
        if (problem.dims.at("M") != rows) std::fill(used["bias"].begin(), used["bias"].end(), 0);
        return matmul_reference(problem, used);
      });
  for (const Weakness& weakness : linted(task).weaknesses) ADD_FAILURE() << weakness.what;
}

TEST(Lint, ATruncatedReductionThatPassesIsAWeakness) {
  const Lint lint = linted(changed([](Problem& problem) {
    problem.tolerance.relative = 0.5;
    problem.tolerance.absolute = 8;
  }));
  EXPECT_THAT(lint.weaknesses,
              Contains(Field(&Weakness::what, HasSubstr("of dimension 0 of input B pass"))));
}

TEST(Lint, ACopyOfTheInputMustNotPass) {
  Task task = matmul_task();
  task.problem = [](const std::string& workload, const Variables& dims) {
    Problem problem = matmul_problem(workload, dims);
    problem.tensors = {{"X", DType::f32, {16}, device::Buffer::Role::in, {}},
                       {"Y", DType::f32, {16}, device::Buffer::Role::out, {}}};
    problem.tensors[0].draw = {Draw::Kind::uniform, 0, 1};
    return Result<Problem>(problem);
  };
  // relu of inputs that are never negative.
  task.reference = std::make_shared<FunctionReference>([](const Problem&, const Values& inputs) {
    Values outputs{{"Y", inputs.at("X")}};
    for (double& value : outputs["Y"]) value = std::max(value, 0.0);
    return Result<Values>(outputs);
  });
  EXPECT_THAT(linted(task).weaknesses,
              Contains(Field(&Weakness::what, "outputs copied from input X pass")));
}

TEST(Lint, AReferenceThatIsNotFiniteIsRefused) {
  const Task task = changed([](Problem&) {},
                            [](const Problem&, const Values&) {
                              return Values{{"C", std::vector<double>(8 * 96, std::nan(""))}};
                            });
  FixedRandom random(1);
  Task only = task;
  only.workloads.erase(only.workloads.begin());
  const auto result = lint(only, random);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("not finite for ordinary inputs"));
}

TEST(Lint, JsonNamesWeaknesses) {
  Lint lint;
  lint.weaknesses = {{"zeros pass", "w", "less"}};
  lint.tried = {"zeros"};
  const Json json = to_json(lint);
  EXPECT_EQ(json["verdict"], "FAIL");
  EXPECT_EQ(json["weaknesses"][0]["what"], "zeros pass");
  EXPECT_EQ(to_json(Lint{})["verdict"], "PASS");
}

}  // namespace
}  // namespace burnish::measure
