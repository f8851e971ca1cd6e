// The logic of every step of examples/*/hip, run on the host and held against the task's reference.
// It shows that the algorithm, its indices and its exchanges are right under AMD's documented
// semantics; not what a GPU's rounding, memory model or compiler makes of it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "base/dtype.h"
#include "base/file.h"
#include "emulation/device.h"
#include "emulation/steps.h"
#include "workspace/task.h"

namespace burnish::stories {
namespace {

using Bytes = std::map<std::string, std::vector<std::byte>>;

struct Language {
  const char* name;  ///< of the folder
  unsigned lanes;    ///< of a wave
  const char* arch;
};
constexpr std::int64_t kAllBlocks = std::numeric_limits<std::int64_t>::max();
constexpr Language kHip{"hip", 64, "gfx942"}, kCuda{"cuda", 32, "sm_90"};

/// The launches of a step at these dimensions, each with the function of its name;
/// `depthwise_planes`, whose blocks take equal parts of the planes however many there are, with
/// `most_blocks` along x.
void run(const std::string& example, const Language& language, const std::string& step,
         const workspace::Configuration& values, const Variables& dims,
         const std::map<std::string, emulation::Kernel>& kernels, Bytes& buffers,
         std::int64_t most_blocks = kAllBlocks) {
  const fs::path folder = fs::path(BURNISH_SOURCE_DIR) / "examples" / example / language.name;
  auto& files = real_file_system();
  const auto task = workspace::parse_task(files.read(folder / "burnish.toml").value(), example);
  ASSERT_TRUE(task) << task.error().to_string();
  const fs::path launch_file = (step == "00" ? folder : folder / "steps" / step) / "launch.toml";
  const auto launch = workspace::parse_launch(files.read(launch_file).value(), step, *task);
  ASSERT_TRUE(launch) << launch.error().to_string();
  workspace::Configuration configuration = workspace::configuration(*task, *launch);
  for (const auto& [name, value] : values) configuration[name] = value;
  const auto plan = workspace::resolve(*task, *launch, configuration, dims, language.arch);
  ASSERT_TRUE(plan) << plan.error().to_string();
  for (const auto& scratch : plan->scratch)
    buffers[scratch.name].assign(scratch.bytes, std::byte{0xab});
  for (const auto& each : plan->launches) {
    std::vector<emulation::Argument> arguments;
    std::deque<emulation::TensorMap> maps;
    for (const auto& argument : each.arguments) {
      if (const auto* pointer = std::get_if<device::Argument::Pointer>(&argument.value)) {
        arguments.push_back({buffers.at(pointer->buffer).data(), 0});
      } else if (const auto* map = std::get_if<device::Argument::TensorMap>(&argument.value)) {
        ASSERT_EQ(map->shape.size(), 3u);
        auto& copy = maps.emplace_back();
        copy.data = reinterpret_cast<unsigned short*>(buffers.at(map->buffer).data());
        std::ranges::copy(map->shape, copy.shape.begin());
        std::ranges::copy(map->box, copy.box.begin());
        arguments.push_back({&copy, 0});
      } else {
        arguments.push_back({nullptr, std::get<device::Argument::Scalar>(argument.value).value});
      }
    }
    const auto found = kernels.find(each.kernel);
    ASSERT_NE(found, kernels.end()) << each.kernel;
    const auto blocks =
        each.kernel == "depthwise_planes" ? std::min(each.grid[0], most_blocks) : each.grid[0];
    const emulation::Index grid{static_cast<unsigned>(blocks), static_cast<unsigned>(each.grid[1]),
                                static_cast<unsigned>(each.grid[2])};
    emulation::launch(grid, static_cast<unsigned>(each.block[0]), language.lanes,
                      [&] { found->second(arguments); });
  }
}

std::vector<std::byte> poisoned(std::size_t elements, DType dtype) {
  return std::vector<std::byte>(elements * size_of(dtype), std::byte{0xab});
}

/// Drawn values as they are in bf16.
std::vector<double> drawn(std::size_t elements, std::mt19937& generator, Bytes& buffers,
                          const std::string& name) {
  std::normal_distribution<double> normal;
  std::vector<double> values(elements);
  for (double& value : values) value = normal(generator);
  buffers[name] = from_doubles(DType::bf16, values);
  return to_doubles(DType::bf16, buffers[name]);
}

TEST(Emulation, DepthwiseSteps) {
  std::mt19937 generator(7);
  struct Case {
    Variables dims;
    std::vector<std::int64_t> blocks = {};  // of the kernels whose blocks stay, besides all
  };
  // Channels that fill no group; more than one tile each way, rows of an odd length; one whole
  // tile; short rows and rows of 80, in planes that come round the rings of the last steps more
  // than once where blocks are few, across channels in step 7.
  for (const auto& [dims, blocks] :
       {Case{{{"N", 1}, {"C", 9}, {"D", 6}, {"H", 6}, {"L", 11}}},
        Case{{{"N", 2}, {"C", 1}, {"D", 3}, {"H", 47}, {"L", 83}}},
        Case{{{"N", 1}, {"C", 1}, {"D", 3}, {"H", 45}, {"L", 80}}},
        Case{{{"N", 2}, {"C", 3}, {"D", 10}, {"H", 2}, {"L", 8}}, {20, 5}},
        Case{{{"N", 1}, {"C", 2}, {"D", 15}, {"H", 3}, {"L", 80}}, {1}}}) {
    const auto size = [&](const char* name) { return static_cast<std::size_t>(dims.at(name)); };
    const std::size_t channels = size("N") * size("C"), plane = size("H") * size("L");
    Bytes inputs;
    emulation::Values in, out;
    in["X"] = drawn(channels * size("D") * plane, generator, inputs, "X");
    in["W"] = drawn(size("C") * 75, generator, inputs, "W");
    in["B"] = drawn(size("C"), generator, inputs, "B");
    out["Y"].resize(channels * (size("D") - 2) * plane);
    emulation::reference_depthwise({dims.begin(), dims.end()}, in, out);
    const auto check = [&](const Language& language, const emulation::Steps& steps) {
      const auto check_step = [&](const auto& step, const auto& kernels, std::int64_t most_blocks) {
        SCOPED_TRACE(fmt::format("{} {} in {} blocks", language.name, step, most_blocks));
        Bytes buffers = inputs;
        buffers["Y"] = poisoned(out["Y"].size(), DType::bf16);
        workspace::Configuration values;
        if (language.lanes == kCuda.lanes) values["DEPTHS"] = TomlValue(std::int64_t{2});
        run("depthwise_conv3d", language, step, values, dims, kernels, buffers, most_blocks);
        const auto got = to_doubles(DType::bf16, buffers["Y"]);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
          // Half a bf16 unit, and the rounding of 75 sums of about 1 in single precision.
          const double allowed = std::abs(out["Y"][i]) / 256 + 1e-4;
          if (!(std::abs(got[i] - out["Y"][i]) <= allowed)) ++wrong;
        }
        EXPECT_EQ(wrong, 0u) << "of " << got.size();
      };
      for (const auto& [step, kernels] : steps) {
        check_step(step, kernels, kAllBlocks);
        if (!kernels.contains("depthwise_planes")) continue;
        for (const std::int64_t most_blocks : blocks) check_step(step, kernels, most_blocks);
      }
    };
    check(kHip, emulation::depthwise_conv3d_hip(256));
    check(kCuda, emulation::depthwise_conv3d_cuda(256));
  }
}

/// Every step from `from` on against what the reference says.
void check_topk(const Language& language, const emulation::Steps& steps, int experts,
                const Variables& dims, const Bytes& inputs, const emulation::Values& want,
                std::string_view from = "") {
  for (const auto& [step, kernels] : steps) {
    if (step < from) continue;
    std::string trace = fmt::format("{} {} with room for {} at", language.name, step, experts);
    for (const auto& [name, value] : dims) trace += fmt::format(" {}={}", name, value);
    SCOPED_TRACE(trace);
    Bytes buffers = inputs;
    buffers["P"] = poisoned(want.at("P").size(), DType::f32);
    buffers["I"] = poisoned(want.at("I").size(), DType::i32);
    run("topk_sigmoid", language, step, {{"EXPERTS", TomlValue(std::int64_t{experts})}}, dims,
        kernels, buffers);
    EXPECT_EQ(to_doubles(DType::i32, buffers["I"]), want.at("I"));
    const auto weights = to_doubles(DType::f32, buffers["P"]);
    for (std::size_t i = 0; i < weights.size(); ++i)
      EXPECT_NEAR(weights[i], want.at("P")[i], 1e-6 * want.at("P")[i] + 1e-37) << i;
  }
}

TEST(Emulation, TopKSteps) {
  std::mt19937 generator(7);
  struct Case {
    int experts, E, K;
    int rows = 19;
    std::string_view from = "";  // the first step with something of its own there, all in CUDA
  };
  // 259 rows are more than a block of any step has; of 4096 on some steps have kernels for them.
  for (const Case& each : {Case{64, 64, 8},
                           Case{64, 64, 4, 259},
                           Case{64, 40, 4},
                           Case{128, 100, 5},
                           Case{128, 128, 8, 259},
                           Case{128, 128, 4},
                           Case{128, 256, 4},
                           Case{128, 256, 8},
                           Case{128, 512, 4},
                           Case{128, 512, 8},
                           Case{64, 64, 3},
                           Case{128, 128, 6},
                           Case{128, 301, 33},
                           Case{128, 700, 33, 19, "06"},
                           Case{128, 64, 4, 4096, "07"},
                           Case{128, 64, 8, 4096, "07"},
                           Case{128, 128, 4, 4101, "07"},
                           Case{128, 128, 8, 4101, "07"},
                           Case{128, 256, 8, 4096, "07"},
                           Case{128, 512, 4, 4096, "07"},
                           Case{128, 128, 7, 4096, "07"}}) {
    const Variables dims{{"T", static_cast<double>(each.rows)},
                         {"E", static_cast<double>(each.E)},
                         {"K", static_cast<double>(each.K)},
                         {"BIAS", 0},
                         {"RENORM", 0}};
    const std::size_t rows = static_cast<std::size_t>(each.rows);
    Bytes inputs;
    emulation::Values in, out;
    in["B"];  // of no use here
    const std::size_t E = static_cast<std::size_t>(each.E), K = static_cast<std::size_t>(each.K);
    in["G"] = drawn(rows * E, generator, inputs, "G");
    // Rows of ties, of zeros of both signs, of infinities, of NaN with three numbers between, of
    // NaN.
    for (std::size_t e = 0; e < E; ++e) {
      in["G"][e] = e % 3 == 0 ? 1 : 0.5;
      in["G"][E + e] = e % 2 == 0 ? -0.0 : 0.0;
      in["G"][2 * E + e] = e % 5 == 0 ? HUGE_VAL : -HUGE_VAL;
      in["G"][3 * E + e] = e % 16 == 3 ? -1.0 * static_cast<double>(e) : std::nan("");
      in["G"][4 * E + e] = std::nan("");
      in["G"][5 * E + e] = 20 + static_cast<double>(e % 7);  // the sigmoids of all of these are 1
    }
    inputs["G"] = from_doubles(DType::bf16, in["G"]);
    in["G"] = to_doubles(DType::bf16, inputs["G"]);
    out["P"].resize(rows * K);
    out["I"].resize(rows * K);
    emulation::reference_topk({dims.begin(), dims.end()}, in, out);
    if (each.E <= each.experts && each.from.empty())
      check_topk(kHip, emulation::topk_sigmoid_hip(each.experts), each.experts, dims, inputs, out);
    check_topk(kCuda, emulation::topk_sigmoid_cuda(each.experts), each.experts, dims, inputs, out,
               each.from);
  }
}

// With a bias and with renormalised weights.
TEST(Emulation, TopKOptions) {
  std::mt19937 generator(11);
  std::uniform_int_distribution<int> logit(-8, 8), bias(-2, 2);
  struct Case {
    int experts, E, K, bias, renorm;
  };
  for (const Case& each : {Case{64, 64, 8, 1, 1}, Case{64, 40, 5, 1, 0}, Case{128, 128, 8, 1, 1},
                           Case{128, 100, 4, 0, 1}, Case{128, 128, 70, 1, 1},
                           Case{128, 512, 8, 1, 1}, Case{128, 301, 33, 1, 0}}) {
    constexpr std::size_t rows = 19;
    const std::size_t E = static_cast<std::size_t>(each.E), K = static_cast<std::size_t>(each.K);
    const Variables dims{{"T", static_cast<double>(rows)},
                         {"E", static_cast<double>(each.E)},
                         {"K", static_cast<double>(each.K)},
                         {"BIAS", static_cast<double>(each.bias)},
                         {"RENORM", static_cast<double>(each.renorm)}};
    emulation::Values in, out;
    in["G"].resize(rows * E);
    in["B"].resize(E);
    for (double& value : in["G"]) value = logit(generator);
    for (double& value : in["B"]) value = bias(generator);
    in["B"][5] = HUGE_VAL, in["B"][6] = -HUGE_VAL, in["B"][7] = std::nan("");
    // Rows of ties, of zeros of both signs, of infinities, of NaN with three numbers between, of
    // NaN, and of sigmoids that sum to 0.
    for (std::size_t e = 0; e < E; ++e) {
      in["G"][e] = 1;
      in["G"][E + e] = e % 2 == 0 ? -0.0 : 0.0;
      in["G"][2 * E + e] = e % 5 == 0 ? HUGE_VAL : -HUGE_VAL;
      in["G"][3 * E + e] = e % 16 == 3 ? -1.0 * static_cast<double>(e % 8) : std::nan("");
      in["G"][4 * E + e] = std::nan("");
      in["G"][5 * E + e] = -HUGE_VAL;
    }
    Bytes inputs{{"G", from_doubles(DType::bf16, in["G"])},
                 {"B", from_doubles(DType::f32, in["B"])}};
    out["P"].resize(rows * K);
    out["I"].resize(rows * K);
    emulation::reference_topk({dims.begin(), dims.end()}, in, out);
    if (each.E <= each.experts)
      check_topk(kHip, emulation::topk_sigmoid_hip(each.experts), each.experts, dims, inputs, out);
    check_topk(kCuda, emulation::topk_sigmoid_cuda(each.experts), each.experts, dims, inputs, out);
  }
}

}  // namespace
}  // namespace burnish::stories
