#include "tasks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/text.h"
#include "measure/fake_device.h"

namespace burnish::cheats {
namespace {

using measure::Draw;
using measure::FunctionReference;
using measure::Problem;
using measure::Task;
using measure::Tensor;
using measure::Tolerance;
using measure::Values;
using Role = device::Buffer::Role;

Task make(const std::string& name, std::vector<measure::Workload> workloads,
          std::map<std::string, measure::DimensionRange> domain,
          std::function<void(Problem&, const Variables&)> shape,
          std::function<Values(const Problem&, const Values&)> reference) {
  Task task;
  task.name = name;
  task.workloads = std::move(workloads);
  task.domain = std::move(domain);
  task.problem = [shape](const std::string& workload, const Variables& dims) {
    Problem problem;
    problem.workload = workload;
    problem.dims = dims;
    problem.work.math_path = "f32";
    shape(problem, dims);
    for (const Tensor& tensor : problem.tensors) {
      problem.work.bytes += static_cast<double>(tensor.bytes());
    }
    return Result<Problem>(problem);
  };
  task.reference = std::make_shared<FunctionReference>(
      [reference](const Problem& problem, const Values& inputs) {
        return Result<Values>(reference(problem, inputs));
      });
  return task;
}

Draw uniform(double low, double high) { return {Draw::Kind::uniform, low, high}; }

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

Task sum_task(Tolerance::Repeatable repeatable) {
  return make(
      "sum", {{"long", {{"N", 20000}}}, {"short", {{"N", 1000}}}}, {{"N", {1, 1 << 20, 1}}},
      [repeatable](Problem& problem, const Variables& dims) {
        problem.tensors = {{"x", DType::f32, {dim(dims, "N")}, Role::in, {}},
                           {"s", DType::f32, {1}, Role::out, {}}};
        problem.tolerance.accumulation = static_cast<double>(dim(dims, "N"));
        problem.tolerance.repeatable = repeatable;
      },
      [](const Problem&, const Values& in) {
        double total = 0;
        for (const double value : in.at("x")) total += value;
        return Values{{"s", {total}}};
      });
}

}  // namespace

std::int64_t dim(const Variables& dims, const char* name) {
  return static_cast<std::int64_t>(dims.find(name)->second);
}

Extent groups(const char* name, std::int64_t per) {
  return [name, per](const Variables& dims) { return (dim(dims, name) + per - 1) / per; };
}

std::function<bool(const Variables&)> below(const char* name, std::int64_t limit) {
  return [name, limit](const Variables& dims) { return dim(dims, name) < limit; };
}

std::function<bool(const Variables&)> from(const char* name, std::int64_t limit) {
  return [name, limit](const Variables& dims) { return dim(dims, name) >= limit; };
}

Extent fixed(std::int64_t count) {
  return [count](const Variables&) { return count; };
}

Task matmul() {
  return make(
      "matmul",
      {{"square", {{"M", 48}, {"N", 48}, {"K", 64}}}, {"wide", {{"M", 40}, {"N", 128}, {"K", 96}}}},
      {{"M", {1, 1024, 1}}, {"N", {1, 1024, 1}}, {"K", {1, 1024, 1}}},
      [](Problem& problem, const Variables& dims) {
        const auto m = dim(dims, "M"), n = dim(dims, "N"), k = dim(dims, "K");
        problem.tensors = {{"A", DType::f32, {m, k}, Role::in, {}},
                           {"B", DType::f32, {k, n}, Role::in, {}},
                           {"bias", DType::f32, {n}, Role::in, {}},
                           {"C", DType::f32, {m, n}, Role::out, {}}};
        problem.tolerance.accumulation = static_cast<double>(k);
        problem.work.flops = 2 * static_cast<double>(m * n * k);
      },
      [](const Problem& problem, const Values& in) {
        const auto m = problem.tensors[0].shape[0], k = problem.tensors[0].shape[1];
        const auto n = problem.tensors[1].shape[1];
        const auto &a = in.at("A"), &b = in.at("B"), &bias = in.at("bias");
        std::vector<double> c;
        for (std::int64_t i = 0; i < m; ++i) {
          std::vector<double> row = bias;
          for (std::int64_t l = 0; l < k; ++l) {
            for (std::int64_t j = 0; j < n; ++j) {
              row[index(j)] += a[index(i * k + l)] * b[index(l * n + j)];
            }
          }
          c.insert(c.end(), row.begin(), row.end());
        }
        return Values{{"C", c}};
      });
}

Task softmax() {
  return make(
      "softmax", {{"rows", {{"R", 24}, {"C", 200}}}, {"long", {{"R", 6}, {"C", 1000}}}},
      {{"R", {1, 4096, 1}}, {"C", {1, 4096, 1}}},
      [](Problem& problem, const Variables& dims) {
        const auto r = dim(dims, "R"), c = dim(dims, "C");
        problem.tensors = {{"X", DType::f32, {r, c}, Role::in, {}},
                           {"Y", DType::f32, {r, c}, Role::out, {}}};
        problem.tolerance.accumulation = static_cast<double>(c);
        problem.work.flops = 5 * static_cast<double>(r * c);
      },
      [](const Problem& problem, const Values& in) {
        const auto columns = problem.tensors[0].shape[1];
        std::vector<double> y = in.at("X");
        for (auto row = y.begin(); row != y.end(); row += columns) {
          const double most = *std::max_element(row, row + columns);
          double total = 0;
          for (auto at = row; at != row + columns; ++at) total += * at = std::exp(*at - most);
          for (auto at = row; at != row + columns; ++at) *at /= total;
        }
        return Values{{"Y", y}};
      });
}

Task sum() { return sum_task(Tolerance::Repeatable::no); }

Task repeatable_sum() { return sum_task(Tolerance::Repeatable::bitwise); }

Task gather() {
  return make(
      "gather",
      {{"some", {{"N", 100}, {"D", 24}, {"V", 300}}}, {"many", {{"N", 500}, {"D", 8}, {"V", 50}}}},
      {{"N", {1, 1000, 1}}, {"D", {1, 64, 1}}},
      [](Problem& problem, const Variables& dims) {
        const auto n = dim(dims, "N"), d = dim(dims, "D"), v = dim(dims, "V");
        problem.tensors = {
            {"T", DType::f32, {v, d}, Role::in, {}},
            {"I", DType::i32, {n}, Role::in, {Draw::Kind::integers, 0, static_cast<double>(v - 1)}},
            {"Y", DType::f32, {n, d}, Role::out, {}}};
      },
      [](const Problem& problem, const Values& in) {
        const auto d = problem.tensors[0].shape[1];
        std::vector<double> y;
        for (const double row : in.at("I")) {
          const auto from = in.at("T").begin() + static_cast<std::int64_t>(row) * d;
          y.insert(y.end(), from, from + d);
        }
        return Values{{"Y", y}};
      });
}

Task sparse_gather() {
  Task task = gather();
  task.workloads = {{"sparse", {{"N", 40}, {"D", 4}, {"V", 20000}}}};
  return task;
}

Task scale() {
  return make(
      "scale", {{"all", {{"N", 3000}}}, {"few", {{"N", 300}}}}, {{"N", {1, 1 << 20, 1}}},
      [](Problem& problem, const Variables& dims) {
        problem.tensors = {{"X", DType::f32, {dim(dims, "N")}, Role::inout, {}},
                           {"f", DType::f32, {1}, Role::in, {}}};
      },
      [](const Problem&, const Values& in) {
        std::vector<double> x = in.at("X");
        for (double& value : x) value = value * in.at("f")[0] + 1;
        return Values{{"X", x}};
      });
}

Task axpy_bf16() {
  return make(
      "axpy", {{"all", {{"N", 5000}}}, {"few", {{"N", 700}}}}, {{"N", {1, 1 << 20, 1}}},
      [](Problem& problem, const Variables& dims) {
        const auto n = dim(dims, "N");
        problem.tensors = {{"X", DType::bf16, {n}, Role::in, {}},
                           {"Y0", DType::bf16, {n}, Role::in, {}},
                           {"a", DType::f32, {1}, Role::in, {}},
                           {"Y", DType::bf16, {n}, Role::out, {}}};
      },
      [](const Problem&, const Values& in) {
        std::vector<double> y = in.at("Y0");
        for (std::size_t i = 0; i < y.size(); ++i) y[i] += in.at("a")[0] * in.at("X")[i];
        return Values{{"Y", y}};
      });
}

Task dot_i8() {
  return make(
      "dot",
      {{"square", {{"M", 32}, {"N", 40}, {"K", 64}}}, {"deep", {{"M", 16}, {"N", 16}, {"K", 500}}}},
      {{"M", {1, 512, 1}}, {"N", {1, 512, 1}}, {"K", {1, 1024, 1}}},
      [](Problem& problem, const Variables& dims) {
        const auto m = dim(dims, "M"), n = dim(dims, "N"), k = dim(dims, "K");
        const Draw draw{Draw::Kind::integers, -128, 127};
        problem.tensors = {{"A", DType::i8, {m, k}, Role::in, draw},
                           {"B", DType::i8, {n, k}, Role::in, draw},
                           {"C", DType::i32, {m, n}, Role::out, {}}};
        problem.tolerance.accumulation = static_cast<double>(k);
      },
      [](const Problem& problem, const Values& in) {
        const auto m = problem.tensors[0].shape[0], k = problem.tensors[0].shape[1];
        const auto n = problem.tensors[1].shape[0];
        const auto &a = in.at("A"), &b = in.at("B");
        std::vector<double> c;
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            double total = 0;
            for (std::int64_t l = 0; l < k; ++l) {
              total += a[index(i * k + l)] * b[index(j * k + l)];
            }
            c.push_back(total);
          }
        }
        return Values{{"C", c}};
      });
}

Task layernorm() {
  return make(
      "layernorm", {{"rows", {{"R", 20}, {"C", 256}}}, {"wide", {{"R", 4}, {"C", 1500}}}},
      {{"R", {1, 1024, 1}}, {"C", {2, 4096, 1}}},
      [](Problem& problem, const Variables& dims) {
        const auto r = dim(dims, "R"), c = dim(dims, "C");
        problem.tensors = {{"X", DType::f32, {r, c}, Role::in, uniform(-2, 4)},
                           {"Y", DType::f32, {r, c}, Role::out, {}}};
        problem.tolerance.accumulation = static_cast<double>(c);
      },
      [](const Problem& problem, const Values& in) {
        const auto columns = problem.tensors[0].shape[1];
        std::vector<double> y = in.at("X");
        for (auto row = y.begin(); row != y.end(); row += columns) {
          double mean = 0, variance = 0;
          for (auto at = row; at != row + columns; ++at) mean += *at / static_cast<double>(columns);
          for (auto at = row; at != row + columns; ++at) {
            variance += (*at - mean) * (*at - mean) / static_cast<double>(columns);
          }
          for (auto at = row; at != row + columns; ++at) {
            *at = (*at - mean) / std::sqrt(variance + 1e-5);
          }
        }
        return Values{{"Y", y}};
      });
}

Task clamp() {
  return make(
      "clamp", {{"all", {{"N", 4000}}}, {"few", {{"N", 500}}}}, {{"N", {1, 1 << 20, 1}}},
      [](Problem& problem, const Variables& dims) {
        const auto n = dim(dims, "N");
        problem.tensors = {{"X", DType::f32, {n}, Role::in, {}},
                           {"Y", DType::f32, {n}, Role::out, {}}};
        problem.tolerance.non_finite = Tolerance::NonFinite::as_reference;
      },
      [](const Problem&, const Values& in) {
        std::vector<double> y = in.at("X");
        for (double& value : y) value = value < 0 ? 0 : value;
        return Values{{"Y", y}};
      });
}

measure::Candidate candidate(const Entry& entry) {
  measure::Candidate result;
  result.label = entry.name;
  result.source.language = "opencl";
  result.source.file = "kernel.cl";
  result.source.text = entry.source;
  result.source.options = entry.options;
  result.plan = [launches = entry.launches, scratch = entry.scratch](const Variables& dims) {
    device::LaunchPlan plan;
    std::set<std::string> scratch_names;
    for (const auto& [name, bytes] : scratch) {
      plan.scratch.push_back({name, static_cast<std::uint64_t>(bytes(dims)), Role::scratch});
    }
    for (const Launch& launch : launches) {
      if (launch.when && !launch.when(dims)) continue;
      device::KernelLaunch made;
      made.kernel = launch.kernel;
      for (std::size_t axis = 0; axis < launch.grid.size(); ++axis) {
        made.grid[axis] = launch.grid[axis](dims);
        made.block[axis] = launch.block[axis];
      }
      for (const std::string_view word : split(launch.arguments, ' ')) {
        const auto value = dims.find(word);
        if (value != dims.end()) {
          made.arguments.push_back({device::Argument::Scalar{DType::i32, value->second}});
        } else {
          made.arguments.push_back({device::Argument::Pointer{std::string(word)}});
        }
      }
      plan.launches.push_back(std::move(made));
    }
    return Result<device::LaunchPlan>(std::move(plan));
  };
  return result;
}

std::uint64_t seed() {
  const char* given = std::getenv("BURNISH_CHEATS_SEED");
  return given == nullptr ? 20 : static_cast<std::uint64_t>(parse_integer(given).value_or(20));
}

const Result<std::unique_ptr<device::Device>>& opencl() {
  static const auto opened = []() -> Result<std::unique_ptr<device::Device>> {
    static auto folder = TemporaryFolder::make("burnish-cheats");
    if (!folder) return folder.error();
    BURNISH_TRY_ASSIGN(const device::DeviceInfo info,
                       device::choose_device("opencl:portable", BURNISH_TEST_WORKER));
    return device::open_device(info, {folder->path() / "cache", BURNISH_TEST_WORKER});
  }();
  return opened;
}

}  // namespace burnish::cheats
