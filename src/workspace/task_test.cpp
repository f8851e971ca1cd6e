#include "workspace/task.h"

#include <gtest/gtest.h>

#include "evidence/evidence.h"
#include "workspace/testing.h"

namespace burnish::workspace {
namespace {

using testing::broken;
using testing::documented;
using testing::expect_malformed;
using testing::kTask;
using testing::Malformed;

TEST(Task, DocumentedExampleIsRead) {
  const auto task = parse_task(documented("burnish.toml"), "burnish.toml");
  ASSERT_TRUE(task) << task.error().to_string();
  EXPECT_EQ(task->name, "matmul");
  EXPECT_EQ(task->family, "gemm");
  EXPECT_EQ(task->cards, std::vector<std::string>{"../cards"});
  EXPECT_EQ(task->outcomes, "../outcomes.jsonl");
  EXPECT_EQ(task->also, std::vector<std::string>{"tile.h"});
  EXPECT_EQ(task->options, std::vector<std::string>{"-cl-std=CL1.2"});
  ASSERT_EQ(task->tensors.size(), 3u);
  EXPECT_EQ(task->tensors[0].draw.kind, "uniform");
  EXPECT_EQ(task->tensors[1].draw.kind, "normal");
  EXPECT_EQ(task->tensors[2].role, "out");
  EXPECT_EQ(task->tensors[1].shape[0].text(), "K");
  ASSERT_EQ(task->workloads.size(), 2u);
  EXPECT_EQ(task->workloads[0].weight, 2);
  EXPECT_TRUE(task->workloads[0].hot);
  EXPECT_FALSE(task->workloads[1].hot);
  EXPECT_EQ(task->domain.at("K").multiple, 4);
  EXPECT_EQ(task->flops.evaluate(task->workloads[0].dims).value(), 2.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(task->tolerance.relative, 1e-5);
  EXPECT_EQ(task->tolerance.accumulation->text(), "K");
  EXPECT_EQ(task->agent_budget_seconds, 600);
  EXPECT_EQ(task->stop.utilization, 0.9);
  ASSERT_EQ(task->tunables.size(), 3u);
  EXPECT_EQ(task->tunables[0].why, "rows of C that a work-item computes");
  EXPECT_EQ(std::get<bool>(task->tunables[2].initial), false);
  EXPECT_EQ(task->isa_targets[0].comparison, "==");
  EXPECT_EQ(task->launch_file, "launch.toml");
}

TEST(Task, AWorkloadHasSwitchesAndDrawsOfItsOwn) {
  const auto task = parse_task(
      broken(broken(kTask, {"", "dims = {N = 1024}", "dims = {N = 1024, S = 0}", 0, 0, ""}),
             {"", "dims = {N = 1000}",
              "dims = {N = [1000, 10], S = 1}\ndraw = {x = {kind = \"integers\", low = "
              "-8, high = 8}}",
              0, 0, ""}),
      "burnish.toml");
  ASSERT_TRUE(task) << task.error().to_string();
  ASSERT_EQ(task->workloads.size(), 3u);
  EXPECT_TRUE(task->workloads[0].draws.empty());
  EXPECT_EQ(task->workloads[0].dims.at("S"), 0);
  for (const std::size_t i : {1, 2}) {
    EXPECT_EQ(task->workloads[i].draws.at("x").kind, "integers");
    EXPECT_EQ(task->workloads[i].draws.at("x").low, -8);
  }
  EXPECT_EQ(task->tensors[0].draw.kind, "normal");
}

TEST(Task, DefaultsOfDrawsAndGoals) {
  const auto task =
      parse_task(broken(broken(kTask, {"", "dtype = \"f32\"", "dtype = \"u8\"", 0, 0, ""}),
                        {"", "[work]", "[stop]\nspeedup = 2\n[work]", 0, 0, ""}),
                 "burnish.toml");
  ASSERT_TRUE(task) << task.error().to_string();
  EXPECT_EQ(task->tensors[0].draw.kind, "integers");
  EXPECT_EQ(task->tensors[0].draw.low, 0);
  EXPECT_EQ(task->stop.speedup, 2);
  EXPECT_FALSE(task->stop.utilization);
  EXPECT_EQ(testing::small_task().stop.utilization, 0.9);
}

// Lists of dimensions stand for a workload each; what is not the gate's is only timed.
TEST(Task, WorkloadsOfLists) {
  const auto task = parse_task(
      broken(kTask, {"", "[work]",
                     "[[workload]]\nname = \"many\"\ndims = {N = [256, 512]}\ngate = false\n[work]",
                     0, 0, ""}),
      "burnish.toml");
  ASSERT_TRUE(task) << task.error().to_string();
  ASSERT_EQ(task->workloads.size(), 4u);
  EXPECT_TRUE(task->workloads[0].gate);
  EXPECT_EQ(task->workloads[0].set, "");
  EXPECT_EQ(task->workloads[3].name, "many.N=512");
  EXPECT_EQ(task->workloads[3].set, "many");
  EXPECT_EQ(task->workloads[3].dims.at("N"), 512);
  EXPECT_FALSE(task->workloads[3].gate);
}

TEST(Task, VariantsChangeDtypes) {
  const auto task = parse_task(
      broken(kTask, {"", "[work]",
                     "[[variant]]\nname = \"half\"\ndtype = {x = \"f16\"}\nmacros = {HALF = "
                     "1}\n[work]",
                     0, 0, ""}),
      "burnish.toml");
  ASSERT_TRUE(task) << task.error().to_string();
  ASSERT_EQ(task->variants.size(), 1u);
  const TaskSpec half = variant_of(*task, task->variants[0]);
  EXPECT_EQ(half.name, "copy half");
  EXPECT_EQ(half.tensors[0].dtype, DType::f16);
  EXPECT_EQ(half.tensors[1].dtype, DType::f32);
  EXPECT_EQ(macros(half.macros), (std::map<std::string, std::string>{{"HALF", "1"}}));
  EXPECT_TRUE(half.variants.empty());
}

TEST(Task, PythonKernelsNeedNoLaunchSpec) {
  const auto task =
      parse_task(broken(kTask, {"", "language = \"opencl\"\nfile = \"kernel.cl\"",
                                "language = \"python\"\nfile = \"kernel.py\"", 0, 0, ""}),
                 "burnish.toml");
  ASSERT_TRUE(task) << task.error().to_string();
  EXPECT_EQ(task->launch_file, "");
}

TEST(Task, ExamplesAreRead) {
  auto& files = real_file_system();
  const fs::path examples = fs::path(BURNISH_SOURCE_DIR) / "examples";
  int read = 0;
  for (const std::string& name : files.list(examples)) {
    const fs::path folder = examples / name;
    if (!files.exists(folder / "burnish.toml")) continue;
    const auto task = parse_task(files.read(folder / "burnish.toml").value(), name);
    ASSERT_TRUE(task) << task.error().to_string();
    const auto launch = parse_launch(files.read(folder / task->launch_file).value(), name, *task);
    ASSERT_TRUE(launch) << launch.error().to_string();
    ++read;
  }
  EXPECT_GE(read, 4);
}

TEST(Task, CategoriesAreWrittenDown) {
  const std::string page =
      real_file_system().read(fs::path(BURNISH_SOURCE_DIR) / "docs/workspace.md").value();
  for (const std::string& category : evidence::categories()) {
    EXPECT_TRUE(contains(page, "`" + category + "`")) << category;
  }
}

/// 1001 numbers.
std::string many() {
  std::string numbers;
  for (int i = 1; i <= 1001; ++i) numbers += (i > 1 ? ", " : "") + std::to_string(i);
  return numbers;
}

TEST(Task, MalformedTextsAreLocated) {
  // Lines and columns are those of the text with the replacement in it.
  const std::vector<Malformed> cases = {
      {"not TOML", "name = \"copy\"", "name = \"copy", 1, 0, "not TOML"},
      {"empty", kTask, "", 1, 1, "\"name\" is missing"},
      {"binary", "name = \"copy\"", std::string("\0\x01\xff", 3), 1, 0, "not TOML"},
      {"unknown key", "[work]\n", "[work]\nflosp = 1\n", 24, 1, "flops"},
      {"list with a text", "N = 1024", "N = [1, \"x\"]", 19, 0, "whole number"},
      {"empty list", "N = 1024", "N = []", 19, 0, "at least one value"},
      {"endless lists", "N = 1024", "N = [" + many() + "]", 19, 0, "more than 1000 workloads"},
      {"nothing for the gate", "dims = {N = 1024}\n[[workload]]\nname = \"ragged\"\n",
       "gate = false\n", 0, 0, "the gate has no workload"},
      {"variant of no tensor", "[work]\n",
       "[[variant]]\nname = \"v\"\ndtype = {z = \"f16\"}\n[work]\n", 25, 0, "no tensor \"z\""},
      {"unknown table", "[work]\n", "[wrok]\n", 23, 2, "did you mean \"work\"?"},
      {"name of a wrong type", "name = \"copy\"", "name = 3", 1, 8, "a string"},
      {"blank name", "name = \"copy\"", "name = \"  \"", 1, 8, "1 to 100 bytes"},
      {"no kernel", "[kernel]\nlanguage = \"opencl\"\nfile = \"kernel.cl\"\n", "", 1, 1,
       "[kernel]"},
      {"language", "\"opencl\"", "\"openlc\"", 3, 12, "did you mean \"opencl\"?"},
      {"absolute kernel", "\"kernel.cl\"", "\"/etc/passwd\"", 4, 8, "absolute"},
      {"kernel elsewhere", "\"kernel.cl\"", "\"../kernel.cl\"", 4, 8, "leaves its folder"},
      {"kernel within git", "\"kernel.cl\"", "\".git/config\"", 4, 8, "starts with a dot"},
      {"kernel with a newline", "\"kernel.cl\"", "\"a\\nb\"", 4, 8, "control character"},
      {"kernel that is a record", "\"kernel.cl\"", "\"memory/v0.json\"", 4, 8, "belongs to"},
      {"also as an option", "file = \"kernel.cl\"",
       "file = \"kernel.cl\"\nalso = [\"a.h\", \"-rf\"]", 5, 16, "starts with a dash"},
      {"one file twice", "file = \"reference.cpp\"", "file = \"kernel.cl\"", 6, 8, "twice"},
      {"reference in Rust", "reference.cpp", "reference.rs", 6, 8, "neither .cpp nor .py"},
      {"no tensor",
       kTask.substr(kTask.find("[[tensor]]"),
                    kTask.find("[[workload]]") - kTask.find("[[tensor]]")),
       "", 1, 1, "\"tensor\" is missing"},
      {"tensor as a table", "[[tensor]]\nname = \"x\"", "[tensor]\nname = \"x\"", 0, 0, "tensor"},
      {"tensor twice", "name = \"y\"", "name = \"x\"", 13, 8, "taken"},
      {"tensor named as a function", "name = \"x\"", "name = \"min\"", 8, 8, "name of a tensor"},
      {"dtype", "\"f32\"", "\"float\"", 9, 9, "one of f64, f32"},
      {"role", "role = \"in\"", "role = \"input\"", 11, 8, "one of in, out, inout"},
      {"no output", "role = \"out\"", "role = \"in\"", 7, 0, "must compute something"},
      {"shape is absent", "shape = [\"N\"]\nrole = \"in\"", "role = \"in\"", 7, 1,
       "\"shape\" is missing"},
      {"empty shape", "[\"N\"]", "[]", 10, 9, "1 to 8 extents"},
      {"extent of a wrong type", "[\"N\"]", "[\"N\", true]", 10, 15, "an expression"},
      {"extent does not parse", "[\"N\"]", "[\"N\", \"N +\"]", 10, 15,
       "cannot read the expression"},
      {"unknown dimension", "[\"N\"]", "[\"N\", \"NN\"]", 10, 15, "the names here are N"},
      {"tunable in a shape", "[\"N\"]", "[\"WIDTH\"]", 10, 10, "which nothing defines"},
      {"extent of zero", "[\"N\"]", "[\"N - 1024\"]", 10, 10, "is 0 at workload \"main\""},
      {"negative extent", "[\"N\"]", "[\"N - 2000\"]", 10, 10, "not a whole number"},
      {"broken extent", "[\"N\"]", "[\"N / 3\"]", 10, 10, "not a whole number"},
      {"huge shape", "[\"N\"]", "[\"N\", \"2^40\"]", 10, 9, "more than 2^40 elements"},
      {"draw of an output", "role = \"out\"", "role = \"out\"\ndraw = {kind = \"normal\"}", 17, 8,
       "not drawn"},
      {"draw kind", "role = \"in\"", "role = \"in\"\ndraw = {kind = \"unifrom\"}", 12, 16,
       "uniform"},
      {"draw key of another kind", "role = \"in\"",
       "role = \"in\"\ndraw = {kind = \"normal\", low = 1}", 12, 26, "unknown key \"low\""},
      {"empty range", "role = \"in\"",
       "role = \"in\"\ndraw = {kind = \"uniform\", low = 1, high = 1}", 12, 43, "above low"},
      {"draw beyond the dtype", "dtype = \"f32\"\nshape = [\"N\"]\nrole = \"in\"",
       "dtype = \"i8\"\nshape = [\"N\"]\nrole = \"in\"\ndraw = {kind = \"integers\", low = 0, high "
       "= 300}",
       12, 8, "does not fit the dtype i8"},
      {"no workload",
       "[[workload]]\nname = \"main\"\ndims = {N = 1024}\n[[workload]]\nname = "
       "\"ragged\"\ndims = {N = 1000}\n",
       "", 1, 1, "\"workload\" is missing"},
      {"workload twice", "name = \"ragged\"", "name = \"main\"", 21, 8, "taken"},
      {"workload with a slash", "name = \"ragged\"", "name = \"a/b\"", 21, 8, "name of a workload"},
      {"no dims", "dims = {N = 1000}", "", 20, 1, "\"dims\" is missing"},
      {"empty dims", "dims = {N = 1024}", "dims = {}", 19, 8, "at least one dimension"},
      {"extent of zero", "N = 1024", "N = 0", 10, 10, "is 0 at workload"},
      {"negative dimension", "N = 1024", "N = -4", 19, 13, "from 0 to 2^40, not -4"},
      {"draw of no tensor", "N = 1024}", "N = 1024}\ndraw = {Q = {kind = \"normal\"}}", 20, 13,
       "no tensor \"Q\""},
      {"broken dimension", "N = 1024", "N = 1.5", 19, 13, "an integer"},
      {"missing dimension", "dims = {N = 1000}", "dims = {M = 1000}", 22, 0, "workload \"main\""},
      {"weight", "dims = {N = 1000}", "dims = {N = 1000}\nweight = -1", 23, 10, "0 or above"},
      {"no weight at all", "dims = {N = 1024}\n[[workload]]\nname = \"ragged\"\ndims = {N = 1000}",
       "dims = {N = 1024}\nweight = 0\n[[workload]]\nname = \"ragged\"\ndims = {N = "
       "1000}\nweight = 0",
       0, 0, "no workload has a weight above 0"},
      {"endless weight", "dims = {N = 1000}", "dims = {N = 1000}\nweight = inf", 23, 10, "finite"},
      {"hot as a word", "dims = {N = 1000}", "dims = {N = 1000}\nhot = \"yes\"", 23, 7,
       "true or false"},
      {"domain of no dimension", "[work]", "[domain]\nM = {high = 4}\n[work]", 24, 5,
       "no workload has a dimension \"M\""},
      {"domain without multiples", "[work]",
       "[domain]\nN = {low = 5, high = 7, multiple = 4}\n[work]", 24, 36, "no multiple of 4"},
      {"domain upside down", "[work]", "[domain]\nN = {low = 5, high = 4}\n[work]", 24, 22,
       "from low (5)"},
      {"no work", "[work]\nflops = 0\nbytes = \"8 * N\"\n", "", 1, 1, "[work] says"},
      {"negative work", "flops = 0", "flops = \"N - 1025\"", 24, 9, "-1 operations"},
      {"no bytes", "bytes = \"8 * N\"", "bytes = 0", 25, 9, "0 bytes"},
      {"work of an unknown name", "8 * N", "8 * n", 25, 9, "which nothing defines"},
      {"division by zero", "8 * N", "8 / (N - 1000)", 25, 9, "not a finite number"},
      {"math path", "bytes = \"8 * N\"", "bytes = \"8 * N\"\nmath = \"fp32\"", 26, 8, "one of f64"},
      {"tolerance without reason", "[work]", "[tolerance]\nabsolute = 0.1\n[work]", 24, 12,
       "a reason"},
      {"negative tolerance", "[work]", "[tolerance]\nrelative = -1\nreason = \"x\"\n[work]", 24, 12,
       "not be negative"},
      {"no terms", "[work]", "[tolerance]\naccumulation = \"N - 1000\"\n[work]", 24, 16,
       "accumulation length"},
      {"non_finite", "[work]", "[tolerance]\nnon_finite = \"allowed\"\n[work]", 24, 14,
       "as_reference"},
      {"utilization in per cent", "[work]", "[stop]\nutilization = 90\n[work]", 24, 15, "a share"},
      {"no iterations", "[work]", "[stop]\nmax_iterations = 0\n[work]", 24, 18, "from 1 to"},
      {"gain", "[work]", "[judge]\nminimum_gain = 2\n[work]", 24, 16, "below 1"},
      {"budget", "[work]", "[agent]\nbudget_seconds = -1\n[work]", 24, 18, "negative"},
      {"tunable named as a dimension", "name = \"WIDTH\"", "name = \"N\"", 27, 8, "taken"},
      {"tunable that is no name", "name = \"WIDTH\"", "name = \"2X\"", 27, 8, "name of a tunable"},
      {"no values", "values = [1, 2, 4, 8]", "values = []", 28, 10, "at least one value"},
      {"values of two types", "[1, 2, 4, 8]", "[1, 2.0]", 28, 14, "different types"},
      {"value twice", "[1, 2, 4, 8]", "[1, 2, 1]", 28, 17, "twice"},
      {"value of two lines", "[\"float\", \"float4\"]", "[\"float\", \"a\\nb\"]", 38, 20,
       "one line"},
      {"initial value", "initial = 1\n", "initial = 3\n", 29, 11, "not among its values"},
      {"category", "category = \"vectorized-access\"", "category = \"vectorised-access\"", 30, 12,
       "did you mean \"vectorized-access\"?"},
      {"constraint of text", "when = \"WIDTH <= 4", "when = \"TYPE == 4", 47, 8,
       "whose values are text"},
      {"constraint without why", "why = \"wide copies need the fast path\"", "", 46, 1,
       "\"why\" is missing"},
      {"forbidden v0", "WIDTH <= 4 or FAST", "WIDTH > 1", 47, 8, "initial values"},
      {"isa target", "[work]", "[isa_targets]\n\"isa.fma\" = \"about 3\"\n[work]", 24, 13,
       "not a comparison"},
  };
  EXPECT_GE(cases.size(), 60u);
  for (const Malformed& one : cases) {
    expect_malformed(parse_task(broken(kTask, one), "burnish.toml"), one, "burnish.toml");
  }
}

TEST(Task, EveryPrefixOfATaskIsAnErrorOrATask) {
  const std::string text = documented("burnish.toml");
  for (std::size_t size = 0; size < text.size(); size += 7) {
    const auto task = parse_task(text.substr(0, size), "burnish.toml");
    if (!task) {
      EXPECT_EQ(task.error().kind, ErrorKind::bad_input);
      EXPECT_TRUE(task.error().place);
    }
  }
}

TEST(Configuration, ConstraintsHoldAtEveryWorkload) {
  const TaskSpec task = testing::small_task();
  Configuration values = configuration(task, LaunchSpec{});
  EXPECT_EQ(violated_constraint(task, values), "");
  values["WIDTH"] = std::int64_t{8};
  const std::string why = violated_constraint(task, values);
  EXPECT_TRUE(contains(why, "wide copies need the fast path")) << why;
  EXPECT_TRUE(contains(why, "FAST = 0, WIDTH = 8")) << why;
  values["FAST"] = true;
  EXPECT_EQ(violated_constraint(task, values), "");
}

TEST(Configuration, MacrosKeepTheirTypes) {
  const auto text = macros(
      {{"A", std::int64_t{4}}, {"B", true}, {"C", 1.0}, {"D", 1e-7}, {"E", std::string("float4")}});
  EXPECT_EQ(text.at("A"), "4");
  EXPECT_EQ(text.at("B"), "1");
  EXPECT_EQ(text.at("C"), "1.0");  // 1 / C must not become a division of integers
  EXPECT_EQ(text.at("D"), "1e-07");
  EXPECT_EQ(text.at("E"), "float4");
}

}  // namespace
}  // namespace burnish::workspace
