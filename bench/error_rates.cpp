// How often the comparison is wrong, on real kernels on this machine's OpenCL device:
//
//   burnish_error_rates [--aa N] [--slower N] [--percent P] [--out FILE.jsonl]
//
// N comparisons of a kernel with itself, and N with a kernel that does P percent (3) more work.
// Beside each verdict stands what "ratio of the two medians > 1" says of the same samples. One JSON
// line a comparison goes to FILE; the rates are printed.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "device/device.h"
#include "measure/compare.h"

namespace burnish {
namespace {

using measure::Problem;
using measure::Task;
using measure::Values;
using Role = device::Buffer::Role;

class FunctionReference : public measure::Reference {
 public:
  using Function = std::function<Values(const Problem&, const Values&)>;
  explicit FunctionReference(Function function) : function_(std::move(function)) {}
  Result<Values> compute(const Problem& problem, const Values& inputs) override {
    return function_(problem, inputs);
  }

 private:
  Function function_;
};

/// A kernel that works on `rows` rows by work-groups of one item; `groups` may be more than the
/// rows, and then the first rows are computed twice.
struct Kernel {
  std::string name, source;
  std::int64_t rows = 0, columns = 0, inner = 0;
  std::function<Values(const Problem&, const Values&)> reference;
};

constexpr const char* kMatmul = R"(
__kernel void k(__global const float* A, __global const float* B, __global float* C, int R, int N, int K) {
  int r = get_group_id(0) % R;
  for (int n = 0; n < N; n += 16) {
    float16 sum = 0;
    for (int k = 0; k < K; ++k) sum += A[r * K + k] * vload16(0, B + k * N + n);
    vstore16(sum, 0, C + r * N + n);
  }
})";

constexpr const char* kSoftmax = R"(
__kernel void k(__global const float* A, __global const float* B, __global float* C, int R, int N, int K) {
  int r = get_group_id(0) % R;
  float most = -INFINITY, total = 0;
  for (int n = 0; n < N; ++n) most = fmax(most, A[r * N + n] + B[n]);
  for (int n = 0; n < N; ++n) total += exp(A[r * N + n] + B[n] - most);
  for (int n = 0; n < N; ++n) C[r * N + n] = exp(A[r * N + n] + B[n] - most) / total;
})";

constexpr const char* kAdd = R"(
__kernel void k(__global const float* A, __global const float* B, __global float* C, int R, int N, int K) {
  int r = get_group_id(0) % R;
  for (int n = 0; n < N; n += 16) vstore16(vload16(0, A + r * N + n) + vload16(0, B + n), 0, C + r * N + n);
})";

std::vector<Kernel> kernels() {
  std::vector<Kernel> all;
  all.push_back({"matmul", kMatmul, 200, 256, 128, [](const Problem& problem, const Values& in) {
                   const auto k = problem.tensors[0].shape[1], n = problem.tensors[1].shape[1];
                   const auto &a = in.at("A"), &b = in.at("B");
                   std::vector<double> c;
                   std::vector<double> row(static_cast<std::size_t>(n));
                   for (std::size_t i = 0; i < a.size(); i += static_cast<std::size_t>(k)) {
                     std::fill(row.begin(), row.end(), 0);
                     for (std::size_t l = 0; l < static_cast<std::size_t>(k); ++l) {
                       const double* other = b.data() + l * row.size();
                       for (std::size_t j = 0; j < row.size(); ++j) row[j] += a[i + l] * other[j];
                     }
                     c.insert(c.end(), row.begin(), row.end());
                   }
                   return Values{{"C", c}};
                 }});
  all.push_back({"softmax", kSoftmax, 200, 400, 0, [](const Problem& problem, const Values& in) {
                   const auto n = problem.tensors[0].shape[1];
                   std::vector<double> c = in.at("A");
                   const auto& b = in.at("B");
                   for (auto row = c.begin(); row != c.end(); row += n) {
                     double most = -INFINITY, total = 0;
                     for (std::int64_t j = 0; j < n; ++j) {
                       row[j] += b[static_cast<std::size_t>(j)];
                       most = std::max(most, row[j]);
                     }
                     for (std::int64_t j = 0; j < n; ++j) total += row[j] = std::exp(row[j] - most);
                     for (std::int64_t j = 0; j < n; ++j) row[j] /= total;
                   }
                   return Values{{"C", c}};
                 }});
  all.push_back({"add", kAdd, 400, 2048, 0, [](const Problem& problem, const Values& in) {
                   const auto n = static_cast<std::size_t>(problem.tensors[0].shape[1]);
                   std::vector<double> c = in.at("A");
                   const auto& b = in.at("B");
                   for (std::size_t i = 0; i < c.size(); ++i) c[i] += b[i % n];
                   return Values{{"C", c}};
                 }});
  return all;
}

Task task_of(const Kernel& kernel) {
  Task task;
  task.name = kernel.name;
  task.workloads = {{kernel.name,
                     {{"R", static_cast<double>(kernel.rows)},
                      {"N", static_cast<double>(kernel.columns)},
                      {"K", static_cast<double>(kernel.inner)}}}};
  task.problem = [kernel](const std::string& workload, const Variables& dims) {
    Problem problem;
    problem.workload = workload;
    problem.dims = dims;
    const bool product = kernel.inner > 0;
    problem.tensors = {
        {"A", DType::f32, {kernel.rows, product ? kernel.inner : kernel.columns}, Role::in, {}},
        {"B", DType::f32, {product ? kernel.inner : 1, kernel.columns}, Role::in, {}},
        {"C", DType::f32, {kernel.rows, kernel.columns}, Role::out, {}}};
    problem.tolerance.accumulation = static_cast<double>(product ? kernel.inner : kernel.columns);
    return Result<Problem>(problem);
  };
  task.reference = std::make_shared<FunctionReference>(kernel.reference);
  return task;
}

measure::Candidate version(const Kernel& kernel, const std::string& label, double work) {
  measure::Candidate candidate;
  candidate.label = label;
  candidate.source.language = "opencl";
  candidate.source.file = "kernel.cl";
  candidate.source.text = kernel.source;
  const auto groups = std::llround(static_cast<double>(kernel.rows) * work);
  candidate.plan = [groups](const Variables& dims) {
    device::LaunchPlan plan;
    plan.launches.resize(1);
    plan.launches[0].kernel = "k";
    plan.launches[0].grid = {groups, 1, 1};
    for (const char* name : {"A", "B", "C"}) {
      plan.launches[0].arguments.push_back({device::Argument::Pointer{name}});
    }
    for (const char* name : {"R", "N", "K"}) {
      plan.launches[0].arguments.push_back(
          {device::Argument::Scalar{DType::i32, dims.find(name)->second}});
    }
    return Result<device::LaunchPlan>(std::move(plan));
  };
  return candidate;
}

struct Rates {
  int runs = 0, improved = 0, regressed = 0, median_faster = 0, failed = 0;
  double seconds = 0, blocks = 0;
  void print(const std::string& what) const {
    fmt::print(
        "{}: {} comparisons, improved {} ({:.2f} %), regressed {} ({:.2f} %), inconclusive {}; "
        "\"ratio of medians > 1\" says faster {} times ({:.1f} %); {} failed; {:.2f} s and {:.0f} "
        "blocks each\n",
        what, runs, improved, 100.0 * improved / runs, regressed, 100.0 * regressed / runs,
        runs - improved - regressed, median_faster, 100.0 * median_faster / runs, failed,
        seconds / runs, blocks / runs);
  }
};

Result<void> measure_rates(device::Device& device, int runs, double work, const std::string& what,
                           std::ofstream& out) {
  const auto all = kernels();
  std::map<std::string, Rates> rates;
  for (int run = 0; run < runs; ++run) {
    const Kernel& kernel = all[static_cast<std::size_t>(run) % all.size()];
    const Task task = task_of(kernel);
    const std::vector<measure::Candidate> candidates{version(kernel, "v0", 1),
                                                     version(kernel, "v1", work)};
    BURNISH_TRY_ASSIGN(const auto bench, measure::bench(device, task, candidates, {}, {}, {},
                                                        real_random(), real_clock()));
    const measure::Compared& verdict = bench.comparisons.at(0);
    const bool faster = bench.results[1].latency.p50 < bench.results[0].latency.p50;
    for (const std::string& name : {kernel.name, std::string("all")}) {
      Rates& rate = rates[name];
      ++rate.runs;
      rate.improved += verdict.verdict == measure::Comparison::improved ? 1 : 0;
      rate.regressed += verdict.verdict == measure::Comparison::regressed ? 1 : 0;
      rate.median_faster += faster ? 1 : 0;
      rate.failed += bench.failed_launches.empty() ? 0 : 1;
      rate.seconds += bench.seconds;
      rate.blocks += verdict.blocks;
    }
    Json line = {{"what", what},
                 {"kernel", kernel.name},
                 {"ratio", verdict.ratio},
                 {"low", verdict.interval.low},
                 {"high", verdict.interval.high},
                 {"noise", verdict.noise},
                 {"blocks", verdict.blocks},
                 {"verdict", to_string(verdict.verdict)},
                 {"medians", bench.results[0].latency.p50 / bench.results[1].latency.p50},
                 {"p50", bench.results[0].latency.p50},
                 {"warm", bench.results[0].warm.p50},
                 {"method", bench.method.text()},
                 {"seconds", bench.seconds},
                 {"time", bench.time}};
    out << dump_json_line(line) << std::endl;
  }
  for (const auto& [name, rate] : rates) rate.print(what + ", " + name);
  return {};
}

Result<void> run(int argc, char** argv) {
  int same = 30, slower = 30;
  double percent = 3;
  std::string path = "error_rates.jsonl", choice = "auto";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--aa") same = static_cast<int>(parse_integer(argv[i + 1]).value_or(same));
    if (option == "--slower")
      slower = static_cast<int>(parse_integer(argv[i + 1]).value_or(slower));
    if (option == "--percent") percent = parse_number(argv[i + 1]).value_or(percent);
    if (option == "--out") path = argv[i + 1];
    if (option == "--device") choice = argv[i + 1];
  }
  std::ofstream out(path, std::ios::app);
  BURNISH_TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make("burnish-rates"));
  BURNISH_TRY_ASSIGN(const auto info, device::choose_device(choice));
  BURNISH_TRY_ASSIGN(const auto opened, device::open_device(info, {folder.path(), {}}));
  if (same > 0) BURNISH_TRY(measure_rates(*opened, same, 1, "same", out));
  if (slower > 0) {
    BURNISH_TRY(measure_rates(*opened, slower, 1 + percent / 100,
                              fmt::format("{} % more work", percent), out));
  }
  return {};
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "worker") return burnish::device::worker_main();
  const auto done = burnish::run(argc, argv);
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().to_string());
  return burnish::exit_code(done.error().kind);
}
