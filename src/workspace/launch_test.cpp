#include <gtest/gtest.h>

#include <cstring>

#include "workspace/task.h"
#include "workspace/testing.h"

namespace burnish::workspace {
namespace {

using testing::broken;
using testing::documented;
using testing::expect_malformed;
using testing::kLaunch;
using testing::Malformed;
using testing::small_task;

TaskSpec documented_task() {
  auto task = parse_task(documented("burnish.toml"), "burnish.toml");
  EXPECT_TRUE(task) << task.error().to_string();
  return *task;
}

TEST(Launch, DocumentedExampleIsWorkedOut) {
  TaskSpec task = documented_task();
  const auto launch = parse_launch(documented("launch.toml"), "launch.toml", task);
  ASSERT_TRUE(launch) << launch.error().to_string();
  const Configuration values = configuration(task, *launch);
  EXPECT_EQ(std::get<std::int64_t>(values.at("ROWS")), 2);
  EXPECT_EQ(std::get<bool>(values.at("PREFETCH")), false);

  const auto plan = resolve(task, *launch, values, {{"M", 7}, {"N", 1000}, {"K", 4}}, "x86-64");
  ASSERT_TRUE(plan) << plan.error().to_string();
  ASSERT_EQ(plan->launches.size(), 2u);
  EXPECT_EQ(plan->launches[0].kernel, "matmul");
  EXPECT_EQ(plan->launches[0].grid, (std::array<std::int64_t, 3>{4, 4, 1}));
  EXPECT_EQ(plan->launches[0].block, (std::array<std::int64_t, 3>{64, 1, 1}));
  EXPECT_EQ(plan->launches[0].shared_bytes, 0u);
  ASSERT_EQ(plan->scratch.size(), 1u);
  EXPECT_EQ(plan->scratch[0].bytes, 28000u);
  EXPECT_EQ(plan->scratch[0].role, device::Buffer::Role::scratch);

  const auto& arguments = plan->launches[0].arguments;
  ASSERT_EQ(arguments.size(), 7u);
  EXPECT_EQ(std::get<device::Argument::Pointer>(arguments[2].value).buffer, "partial");
  EXPECT_EQ(std::get<device::Argument::Scalar>(arguments[3].value).dtype, DType::i32);
  EXPECT_EQ(std::get<device::Argument::Scalar>(arguments[3].value).value, 7);
  EXPECT_EQ(std::get<device::Argument::Scalar>(arguments[4].value).value, 0.25);
  EXPECT_EQ(std::get<device::Argument::Local>(arguments[5].value).bytes, 1024u);
  // struct { int32_t n; int64_t k; } has four bytes of padding in the middle.
  const auto& bytes = std::get<device::Argument::Bytes>(arguments[6].value).bytes;
  ASSERT_EQ(bytes.size(), 16u);
  std::int32_t n = 0;
  std::int64_t k = 0;
  std::memcpy(&n, bytes.data(), 4);
  std::memcpy(&k, bytes.data() + 8, 8);
  EXPECT_EQ(n, 1000);
  EXPECT_EQ(k, 4);

  // One row: `when` of the first kernel does not hold.
  const auto one_row = resolve(task, *launch, values, {{"M", 1}, {"N", 8}, {"K", 4}}, "x86-64");
  ASSERT_TRUE(one_row);
  ASSERT_EQ(one_row->launches.size(), 1u);
  EXPECT_EQ(one_row->launches[0].kernel, "finish");

  const auto outside = resolve(task, *launch, values, {{"M", 8}, {"N", 8}, {"K", 3}}, "x86-64");
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().kind, ErrorKind::refused);
  EXPECT_TRUE(contains(outside.error().message, "K % 4 == 0")) << outside.error().to_string();
  EXPECT_EQ(outside.error().place->line, 1);
}

TEST(Launch, ArchitecturesPickKernels) {
  const TaskSpec task = small_task();
  const auto launch =
      parse_launch(kLaunch + "arch = [\"sm_90\", \"sm_100\"]\n", "launch.toml", task);
  ASSERT_TRUE(launch) << launch.error().to_string();
  const Configuration values = configuration(task, *launch);
  EXPECT_TRUE(resolve(task, *launch, values, {{"N", 4}}, "sm_90a"));
  const auto other = resolve(task, *launch, values, {{"N", 4}}, "gfx942");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(contains(other.error().message, "gfx942"));
}

// Each kernel where its condition over dimensions, tunables, named values and the architecture
// holds.
TEST(Launch, ConditionsPickKernelsByShapeAndArchitecture) {
  const TaskSpec task = small_task();
  const auto kernel = [](const std::string& name, const std::string& when) {
    return "[[kernel]]\nname = \"" + name +
           "\"\ngrid = [\"N / chunk\"]\nblock = [\"chunk\"]\nwhen = \"" + when +
           "\"\narguments = [{tensor = \"x\"}]\n";
  };
  const std::string text = "[let]\nchunk = \"N % 8 == 0 ? 8 : 1\"\n" +
                           kernel("wide", "chunk == 8 and sm >= 90 and WIDTH == 1") +
                           kernel("narrow", "chunk == 8 and sm < 90") +
                           kernel("tail", "chunk == 1");
  const auto launch = parse_launch(text, "launch.toml", task);
  ASSERT_TRUE(launch) << launch.error().to_string();
  const Configuration values = configuration(task, *launch);
  const auto launched = [&](double n, const char* arch) {
    const auto plan = resolve(task, *launch, values, {{"N", n}}, arch);
    if (!plan) return plan.error().to_string();
    std::string names;
    for (const auto& one : plan->launches) names += one.kernel + " ";
    return names;
  };
  EXPECT_EQ(launched(1024, "sm_90a"), "wide ");
  EXPECT_EQ(launched(1024, "sm_100"), "wide ");
  EXPECT_EQ(launched(1024, "sm_86"), "narrow ");
  EXPECT_EQ(launched(1024, "gfx942"), "narrow ");
  EXPECT_EQ(launched(1001, "sm_90"), "tail ");

  // Where none is launched, that is an error at the last condition.
  const auto two = parse_launch(
      kernel("wide", "sm >= 90 and N > 1000").insert(0, "[let]\nchunk = 1\n"), "launch.toml", task);
  ASSERT_FALSE(two);  // at the workload of 1000
  EXPECT_TRUE(contains(two.error().message, "no [[kernel]] is launched anywhere at N = 1000"))
      << two.error().to_string();
  ASSERT_TRUE(two.error().place);
  EXPECT_EQ(two.error().place->line, 7);
  const auto new_only =
      parse_launch(kernel("wide", "sm >= 90").insert(0, "[let]\nchunk = 1\n"), "launch.toml", task);
  ASSERT_TRUE(new_only) << new_only.error().to_string();
  const auto nowhere = resolve(task, *new_only, values, {{"N", 4}}, "sm_80");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(contains(nowhere.error().message, "on sm_80 at N = 4"));
  EXPECT_EQ(nowhere.error().place->line, 7);
}

TEST(Launch, TensorMapsAreInnermostFirstAndInBytes) {
  TaskSpec task = documented_task();
  const std::string text = R"([[kernel]]
name = "f"
grid = [1]
block = [128]
arguments = [
  {tensor_map = "A", box = [64, 32], swizzle = "128B"},
  {tensor_map = "B", shape = ["K / 2", 2, "N"], strides = ["2 * N", "N", 1], box = [1, 2, 64]},
]
)";
  // K must be even for the second.
  task.workloads.resize(1);
  const auto launch = parse_launch(text, "launch.toml", task);
  ASSERT_TRUE(launch) << launch.error().to_string();
  const auto plan = resolve(task, *launch, configuration(task, *launch),
                            {{"M", 100}, {"N", 200}, {"K", 300}}, "sm_90");
  ASSERT_TRUE(plan) << plan.error().to_string();
  const auto& a = std::get<device::Argument::TensorMap>(plan->launches[0].arguments[0].value);
  EXPECT_EQ(a.shape, (std::vector<std::int64_t>{300, 100}));
  EXPECT_EQ(a.strides, (std::vector<std::int64_t>{4, 1200}));
  EXPECT_EQ(a.box, (std::vector<std::int64_t>{32, 64}));
  EXPECT_EQ(a.element_strides, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(a.swizzle, "128B");
  EXPECT_EQ(a.interleave, "none");
  const auto& b = std::get<device::Argument::TensorMap>(plan->launches[0].arguments[1].value);
  EXPECT_EQ(b.strides, (std::vector<std::int64_t>{4, 800, 1600}));

  const auto beyond =
      parse_launch(broken(text, {"", "[\"K / 2\", 2, \"N\"]", "[\"K\", 2, \"N\"]", 0, 0, ""}),
                   "launch.toml", task);
  ASSERT_FALSE(beyond);
  EXPECT_TRUE(contains(beyond.error().message, "reaches element")) << beyond.error().to_string();
  EXPECT_EQ(beyond.error().place->line, 7);
}

TEST(Launch, AForbiddenConfigurationIsReadAndNotWorkedOut) {
  const TaskSpec task = small_task();
  const auto launch = parse_launch(kLaunch + "[tunables]\nWIDTH = 8\n", "launch.toml", task);
  ASSERT_TRUE(launch) << launch.error().to_string();
  EXPECT_NE(violated_constraint(task, configuration(task, *launch)), "");
}

TEST(Launch, MalformedTextsAreLocated) {
  const std::vector<Malformed> cases = {
      {"not TOML", "name = \"copy\"", "name = copy", 2, 0, "not TOML"},
      {"empty", kLaunch, "", 1, 1, "\"kernel\" is missing"},
      {"kernel as a table", "[[kernel]]", "[kernel]", 1, 0, "an array of tables"},
      {"unknown key", "block = [64]", "blok = [64]", 4, 1, "did you mean \"block\"?"},
      {"no grid", "grid = [\"ceil_div(N, 64 * WIDTH)\"]\n", "", 1, 1, "\"grid\" is missing"},
      {"grid as a number", "[\"ceil_div(N, 64 * WIDTH)\"]", "16", 3, 8, "an array"},
      {"grid of four", "[64]", "[1, 1, 1, 1]", 4, 9, "1 to 3 extents"},
      {"grid of nothing", "[64]", "[]", 4, 9, "1 to 3 extents"},
      {"grid that does not parse", "ceil_div(N, 64 * WIDTH)", "ceil_div(N, 64 * ", 3, 9,
       "not closed"},
      {"unknown name", "WIDTH)", "WIDHT)", 3, 9, "did you mean \"WIDTH\"?"},
      {"text tunable", "64 * WIDTH", "64 * TYPE", 3, 9, "whose values are text"},
      {"unknown function", "ceil_div(N", "cdiv(N", 3, 9, "function"},
      {"negative grid", "ceil_div(N, 64 * WIDTH)", "N - 1001", 3, 9, "not a whole number"},
      {"grid of zero", "ceil_div(N, 64 * WIDTH)", "N - 1000", 3, 9, "not from 1"},
      {"broken grid", "ceil_div(N, 64 * WIDTH)", "N / 64", 3, 9, "not a whole number"},
      {"huge grid", "ceil_div(N, 64 * WIDTH)", "N * 2^30", 3, 9, "not from 1"},
      {"endless grid", "ceil_div(N, 64 * WIDTH)", "N / (N - 1024)", 3, 9, "not a finite number"},
      {"block of zero", "[64]", "[0]", 4, 10, "not from 1"},
      {"negative shared", "block = [64]", "block = [64]\nshared = -4", 5, 10, "not a whole number"},
      {"when", "block = [64]", "block = [64]\nwhen = \"M > 1\"", 5, 8, "which nothing defines"},
      {"architecture in a grid", "64 * WIDTH", "64 * sm", 3, 9, "which nothing defines"},
      {"let named as the architecture", "[[kernel]]", "[let]\nsm = 4\n[[kernel]]", 2, 6,
       "the architecture already"},
      {"arch", "block = [64]", "block = [64]\narch = \"sm_90\"", 5, 8, "an array of strings"},
      {"no arguments", "arguments = [{tensor = \"x\"}, {tensor = \"y\"}, {scalar = \"N\"}]\n", "",
       1, 1, "\"arguments\" is missing"},
      {"argument of no tensor", "{tensor = \"y\"}", "{tensor = \"Y\"}", 5, 40,
       "there is no tensor \"Y\""},
      {"argument of no scratch", "{tensor = \"y\"}", "{scratch = \"y\"}", 5, 41, "is a tensor"},
      {"argument of two kinds", "{scalar = \"N\"}", "{scalar = \"N\", local = 4}", 5, 0,
       "one thing"},
      {"argument of no kind", "{scalar = \"N\"}", "{scaler = \"N\"}", 5, 0,
       "did you mean \"scalar\"?"},
      {"argument as a string", "{scalar = \"N\"}", "\"N\"", 5, 0, "tables"},
      {"scalar dtype", "{scalar = \"N\"}", "{scalar = \"N\", dtype = \"int\"}", 5, 0, "one of f64"},
      {"scalar does not fit", "{scalar = \"N\"}", "{scalar = \"N\", dtype = \"i8\"}", 5, 56,
       "i8 cannot hold"},
      {"scalar is no whole number", "{scalar = \"N\"}", "{scalar = \"1 / N\"}", 5, 56,
       "i32 cannot hold"},
      {"local of nothing", "{scalar = \"N\"}", "{local = 0}", 5, 55, "not from 1"},
      {"empty struct", "{scalar = \"N\"}", "{struct = []}", 5, 0, "at least one field"},
      {"struct without dtype", "{scalar = \"N\"}", "{struct = [{value = 1}]}", 5, 0,
       "\"dtype\" is missing"},
      {"tensor map without box", "{scalar = \"N\"}", "{tensor_map = \"x\"}", 5, 0,
       "\"box\" is missing"},
      {"tensor map of another rank", "{scalar = \"N\"}", "{tensor_map = \"x\", box = [1, 1]}", 5, 0,
       "must have 1 extents"},
      {"scratch named as a tensor", "[[kernel]]",
       "[[scratch]]\nname = \"x\"\nbytes = 4\n[[kernel]]", 2, 8, "taken"},
      {"scratch without bytes", "[[kernel]]", "[[scratch]]\nname = \"s\"\n[[kernel]]", 1, 1,
       "\"bytes\" is missing"},
      {"scratch of nothing", "[[kernel]]", "[[scratch]]\nname = \"s\"\nbytes = 0\n[[kernel]]", 3, 9,
       "not from 1"},
      {"huge scratch", "[[kernel]]", "[[scratch]]\nname = \"s\"\nbytes = \"2^41\"\n[[kernel]]", 3,
       9, "not from 1"},
      {"let named as a dimension", "[[kernel]]", "[let]\nN = 4\n[[kernel]]", 2, 5,
       "is a dimension"},
      {"let of a later one", "[[kernel]]", "[let]\na = \"b\"\nb = 4\n[[kernel]]", 2, 5,
       "which nothing defines"},
      {"requires of a let", "[[kernel]]", "requires = \"a > 1\"\n[let]\na = 4\n[[kernel]]", 1, 12,
       "which nothing defines"},
      {"unknown tunable", "[[kernel]]", "[tunables]\nWIDE = 4\n[[kernel]]", 2, 8, "WIDTH"},
      {"value of no tunable", "[[kernel]]", "[tunables]\nWIDTH = 3\n[[kernel]]", 2, 9,
       "its values are 1, 2, 4, 8"},
      {"value of another type", "[[kernel]]", "[tunables]\nWIDTH = \"4\"\n[[kernel]]", 2, 9,
       "another type"},
      {"tunables as an array", "[[kernel]]", "tunables = [4]\n[[kernel]]", 1, 12, "a table"},
  };
  for (const Malformed& one : cases) {
    expect_malformed(parse_launch(broken(kLaunch, one), "launch.toml", small_task()), one,
                     "launch.toml");
  }
}

TEST(Launch, AnErrorAtAWorkloadNamesIt) {
  const auto launch =
      parse_launch(broken(kLaunch, {"", "ceil_div(N, 64 * WIDTH)", "N / 64", 0, 0, ""}),
                   "launch.toml", small_task());
  ASSERT_FALSE(launch);
  EXPECT_TRUE(contains(launch.error().to_string(), "workload \"ragged\" (N = 1000)"))
      << launch.error().to_string();
}

// --- with_tunables ---

const Configuration kValues = {
    {"WIDTH", std::int64_t{4}}, {"FAST", true}, {"TYPE", std::string("float4")}, {"SCALE", 0.5}};

TEST(WithTunables, AddsTheTableAtTheEnd) {
  const auto text = with_tunables(kLaunch, "launch.toml", kValues);
  ASSERT_TRUE(text) << text.error().to_string();
  EXPECT_EQ(*text,
            kLaunch + "\n[tunables]\nFAST = true\nSCALE = 0.5\nTYPE = \"float4\"\nWIDTH = 4\n");
  const auto launch = parse_launch(*text, "launch.toml", small_task());
  ASSERT_TRUE(launch) << launch.error().to_string();
  EXPECT_EQ(launch->tunables, kValues);
}

TEST(WithTunables, ChangesOnlyTheValues) {
  const std::string before =
      "# höhe\n[tunables] # all\nWIDTH   =  1# one\nSCALE=1.0   # ½\n  \"TYPE\" = 'float'\n\n" +
      kLaunch;
  const auto text = with_tunables(before, "launch.toml", kValues);
  ASSERT_TRUE(text) << text.error().to_string();
  EXPECT_EQ(*text,
            "# höhe\n[tunables] # all\nWIDTH   =  4# one\nSCALE=0.5   # ½\n  \"TYPE\" = "
            "\"float4\"\nFAST = true\n\n" +
                kLaunch);
  // Again with the same values: not a byte changes.
  EXPECT_EQ(with_tunables(*text, "launch.toml", kValues).value(), *text);
}

TEST(WithTunables, InlineTablesAndCarriageReturns) {
  const std::string inline_table = "tunables = {WIDTH = 1, TYPE = \"a}b\" } # x\n" + kLaunch;
  EXPECT_EQ(with_tunables(inline_table, "launch.toml", kValues).value(),
            "tunables = {WIDTH = 4, TYPE = \"float4\", FAST = true, SCALE = 0.5 } # x\n" + kLaunch);
  EXPECT_EQ(with_tunables("tunables = {}\n", "launch.toml", {{"A", std::int64_t{1}}}).value(),
            "tunables = {A = 1}\n");
  EXPECT_EQ(with_tunables("[tunables]\r\nWIDTH = 1\r\nFAST = true\r\n", "launch.toml",
                          {{"WIDTH", std::int64_t{2}}, {"SCALE", 0.5}})
                .value(),
            "[tunables]\r\nWIDTH = 2\r\nFAST = true\r\nSCALE = 0.5\r\n");
  EXPECT_EQ(with_tunables("[tunables]", "launch.toml", {{"A", std::int64_t{1}}}).value(),
            "[tunables]\nA = 1\n");
}

TEST(WithTunables, MultiLineStrings) {
  EXPECT_EQ(with_tunables("[tunables]\nTYPE = \"\"\"\na\\\"\"\"b\"\"\"\nWIDTH = 1\n", "launch.toml",
                          {{"TYPE", std::string("x\"\\y")}})
                .value(),
            "[tunables]\nTYPE = \"x\\\"\\\\y\"\nWIDTH = 1\n");
}

TEST(WithTunables, TextThatCannotBeEditedIsRefused) {
  for (const char* text : {"tunables = 3\n", "tunables.WIDTH = {a = 1}\n", "[tunables\n"}) {
    const auto result = with_tunables(text, "launch.toml", {{"WIDTH", std::int64_t{2}}});
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().kind, ErrorKind::bad_input) << text;
  }
}

}  // namespace
}  // namespace burnish::workspace
