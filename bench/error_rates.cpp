// How often the comparison is wrong, on real kernels on this machine's device:
//
//   bench_error_rates [--device D] [--aa N] [--slower N] [--percent P] [--copies C] [--seconds S]
//                     [--out FILE.jsonl]
//
// Comparisons of a kernel with itself (--aa) and with one made P percent (3) slower, by as many
// more steps of its loop as are measured first to do that on this device, until FILE holds N of
// each or S seconds (300) are over; called again it goes on where it stopped. C copies (12) are
// compared with the incumbent at a time, as `burnish bench v0 v1 v2 v3 v4` does; they share the
// incumbent's launches and the time of a workload. One line of JSON a comparison is added to FILE,
// with all samples. The rates of all that FILE holds are printed, and beside them what "ratio of
// the two medians > 1" says of the same samples.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
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

/// A kernel whose work-groups compute a row each: one work item in OpenCL, for processors; kThreads
/// in CUDA. `extra` more steps of its inner loop make it slower and change nothing.
struct Kernel {
  std::string name, opencl, cuda;
  std::int64_t rows = 0, columns = 0, inner = 0;
  std::function<Values(const Problem&, const Values&)> reference;
};
constexpr int kThreads = 128;

constexpr const char* kMatmul = R"(
__kernel void k(__global const float* A, __global const float* B, __global float* C, int R, int N, int K, int extra) {
  int r = get_group_id(0);
  for (int n = 0; n < N; n += 16) {
    float16 sum = 0;
    for (int k = 0; k < K + extra; ++k) {
      int at = k < K ? k : k - K;
      float a = k < K ? A[r * K + at] : 0;
      sum += a * vload16(0, B + at * N + n);
    }
    vstore16(sum, 0, C + r * N + n);
  }
})";

constexpr const char* kSoftmax = R"(
__kernel void k(__global const float* A, __global const float* B, __global float* C, int R, int N, int K, int extra) {
  int r = get_group_id(0);
  float most = -INFINITY, total = 0;
  for (int n = 0; n < N + extra; ++n) most = fmax(most, A[r * N + n % N] + B[n % N]);
  for (int n = 0; n < N + extra; ++n) total += (n < N ? 1 : 0) * exp(A[r * N + n % N] + B[n % N] - most);
  for (int n = 0; n < N + extra; ++n) C[r * N + n % N] = exp(A[r * N + n % N] + B[n % N] - most) / total;
})";

constexpr const char* kPowers = R"(
__kernel void k(__global const float* A, __global const float* B, __global float* C, int R, int N, int K, int extra) {
  int r = get_group_id(0);
  for (int n = 0; n < N; n += 16) {
    float16 x = vload16(0, A + r * N + n) * 0.25f, y = vload16(0, B + n);
    for (int i = 0; i < 200 + extra; ++i) y = i < 200 ? y * x + 0.5f : fmax(y, -1e30f);
    vstore16(y, 0, C + r * N + n);
  }
})";

constexpr const char* kMatmulInCuda = R"(
extern "C" __global__ void k(const float* A, const float* B, float* C, int R, int N, int K, int extra) {
  int r = blockIdx.x;
  for (int n = threadIdx.x; n < N; n += blockDim.x) {
    float sum = 0;
    for (int k = 0; k < K + extra; ++k) sum += (k < K ? A[r * K + k] : 0) * B[(k < K ? k : k - K) * N + n];
    C[r * N + n] = sum;
  }
})";

constexpr const char* kSoftmaxInCuda = R"(
__device__ float over_block(float mine, bool largest) {
  __shared__ float all[128];
  __syncthreads();
  all[threadIdx.x] = mine;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      float other = all[threadIdx.x + half];
      all[threadIdx.x] = largest ? fmaxf(all[threadIdx.x], other) : all[threadIdx.x] + other;
    }
  }
  __syncthreads();
  return all[0];
}
extern "C" __global__ void k(const float* A, const float* B, float* C, int R, int N, int K, int extra) {
  int r = blockIdx.x;
  float most = -3.4e38f, total = 0;
  for (int n = threadIdx.x; n < N; n += blockDim.x) most = fmaxf(most, A[r * N + n] + B[n]);
  most = over_block(most, true);
  for (int n = threadIdx.x; n < N; n += blockDim.x) total += expf(A[r * N + n] + B[n] - most);
  for (int i = 0; i < extra; ++i) total += 1e-30f * expf(-total);  // less than the last place
  total = over_block(total, false);
  for (int n = threadIdx.x; n < N; n += blockDim.x) C[r * N + n] = expf(A[r * N + n] + B[n] - most) / total;
})";

constexpr const char* kPowersInCuda = R"(
extern "C" __global__ void k(const float* A, const float* B, float* C, int R, int N, int K, int extra) {
  int r = blockIdx.x;
  for (int n = threadIdx.x; n < N; n += blockDim.x) {
    float x = A[r * N + n] * 0.25f, y = B[n];
    for (int i = 0; i < 200 + extra; ++i) y = i < 200 ? y * x + 0.5f : fmaxf(y, -1e30f);
    C[r * N + n] = y;
  }
})";

std::vector<Kernel> kernels(const std::string& language) {
  const bool cuda = language == "cuda";
  std::vector<Kernel> all;
  all.push_back({"matmul", kMatmul, kMatmulInCuda, cuda ? 2000 : 400, cuda ? 256 : 64, 256,
                 [](const Problem& problem, const Values& in) {
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
  all.push_back({"softmax", kSoftmax, kSoftmaxInCuda, cuda ? 1000 : 100, cuda ? 1000 : 500, 0,
                 [](const Problem& problem, const Values& in) {
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
  all.push_back({"powers", kPowers, kPowersInCuda, cuda ? 500 : 100, 512, 0,
                 [](const Problem& problem, const Values& in) {
                   const auto n = static_cast<std::size_t>(problem.tensors[0].shape[1]);
                   std::vector<double> c = in.at("A");
                   const auto& b = in.at("B");
                   for (std::size_t i = 0; i < c.size(); ++i) {
                     const double x = c[i] * 0.25;
                     double y = b[i % n];
                     for (int j = 0; j < 200; ++j) y = y * x + 0.5;
                     c[i] = y;
                   }
                   return Values{{"C", c}};
                 }});
  // Longer, on cold caches, and sensitive to the pages that its buffers get.
  Kernel large = all[0];
  large.name = "large matmul";
  large.rows = cuda ? 2000 : 200;
  large.columns = 256;
  large.inner = 512;
  all.push_back(std::move(large));
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

measure::Candidate version(const Kernel& kernel, const std::string& label, double extra,
                           const std::string& language) {
  measure::Candidate candidate;
  candidate.label = label;
  candidate.source.language = language;
  candidate.source.file = "kernel";
  candidate.source.text = language == "cuda" ? kernel.cuda : kernel.opencl;
  const std::int64_t groups = kernel.rows, threads = language == "cuda" ? kThreads : 1;
  candidate.plan = [groups, threads, extra](const Variables& dims) {
    device::LaunchPlan plan;
    plan.launches.resize(1);
    plan.launches[0].kernel = "k";
    plan.launches[0].grid = {groups, 1, 1};
    plan.launches[0].block = {threads, 1, 1};
    for (const char* name : {"A", "B", "C"}) {
      plan.launches[0].arguments.push_back({device::Argument::Pointer{name}});
    }
    for (const char* name : {"R", "N", "K"}) {
      plan.launches[0].arguments.push_back(
          {device::Argument::Scalar{DType::i32, dims.find(name)->second}});
    }
    plan.launches[0].arguments.push_back({device::Argument::Scalar{DType::i32, extra}});
    return Result<device::LaunchPlan>(std::move(plan));
  };
  return candidate;
}

double seconds_now() { return std::chrono::duration<double>(real_clock().steady()).count(); }

/// Sums over the lines of the file.
struct Rates {
  int runs = 0, improved = 0, regressed = 0, median_faster = 0, failed = 0;
  double seconds = 0, blocks = 0, log_ratios = 0;

  void add(const Json& line) {
    ++runs;
    improved += line.at("verdict") == "improved" ? 1 : 0;
    regressed += line.at("verdict") == "regressed" ? 1 : 0;
    median_faster += line.at("medians").get<double>() > 1 ? 1 : 0;
    failed += line.at("failed").get<int>();
    seconds += line.at("seconds").get<double>();
    blocks += line.at("blocks").get<double>();
    log_ratios += std::log(line.at("ratio").get<double>());
  }
  void print(const std::string& what) const {
    const auto share = [this](int count) {
      return fmt::format("{} ({:.1f} %)", count, 100. * count / runs);
    };
    fmt::print(
        "{:26} {:5} comparisons: improved {}, regressed {}, inconclusive {}; \"ratio of "
        "medians > 1\" {}; wrong outputs {}; mean ratio "
        "{:.4f}; {:.2f} s and {:.0f} blocks each\n",
        what, runs, share(improved), share(regressed), share(runs - improved - regressed),
        share(median_faster), failed, std::exp(log_ratios / runs), seconds / runs, blocks / runs);
  }
};

class File {
 public:
  explicit File(std::string path) : path_(std::move(path)) {
    std::ifstream in(path_);
    for (std::string text; std::getline(in, text);) {
      // A run that was killed leaves half a line.
      if (const auto line = parse_json(text, path_)) add(*line);
    }
  }
  void add(const Json& line) {
    const std::string what = line.at("what").get<std::string>();
    rates_[what + ", all"].add(line);
    const std::string kernel = what + ", " + line.at("kernel").get<std::string>();
    rates_[kernel].add(line);
    steps_[kernel] = line.at("steps").get<double>();
  }
  Result<void> append(const Json& line) {
    std::ofstream out(path_, std::ios::app);
    out << dump_json_line(line) << std::endl;
    if (!out) return environment_error("cannot write " + path_);
    add(line);
    return {};
  }
  int runs(const std::string& what) { return rates_[what + ", all"].runs; }
  /// The steps more of the last comparison with such a version of the kernel.
  std::optional<double> steps(const std::string& what, const std::string& kernel) const {
    const auto known = steps_.find(what + ", " + kernel);
    if (known == steps_.end()) return std::nullopt;
    return known->second;
  }
  void print() const {
    for (const auto& [name, rate] : rates_) {
      if (rate.runs > 0) rate.print(name);
    }
  }

 private:
  std::string path_;
  std::map<std::string, Rates> rates_;
  std::map<std::string, double> steps_;
};

/// The incumbent and `copies` versions that take `extra` steps more, timed as always.
Result<measure::Bench> compare(device::Device& device, const Kernel& kernel, double extra,
                               int copies) {
  const std::string language = device.info().backend;
  std::vector<measure::Candidate> candidates{version(kernel, "v0", 0, language)};
  for (int copy = 1; copy <= copies; ++copy) {
    candidates.push_back(version(kernel, fmt::format("v{}", copy), extra, language));
  }
  return measure::bench(device, task_of(kernel), candidates, {}, {}, {}, real_random(),
                        real_clock());
}

/// Steps that make the kernel `percent` slower on this device, within a tenth of it: a guess,
/// corrected by what it was measured to do.
Result<double> steps_for(device::Device& device, const Kernel& kernel, double percent) {
  constexpr int kCopies = 4, kCorrections = 8;
  double extra = 16, off = 0;
  for (int i = 0; i < kCorrections; ++i) {
    BURNISH_TRY_ASSIGN(const auto bench, compare(device, kernel, extra, kCopies));
    double log_ratios = 0;
    for (int copy = 0; copy < kCopies; ++copy) {
      log_ratios += std::log(bench.comparisons.at(static_cast<std::size_t>(copy)).ratio);
    }
    const double slower = 100 * std::expm1(-log_ratios / kCopies);
    off = std::abs(slower / percent - 1);
    const double next = std::round(extra * std::clamp(percent / slower, 0.25, 4.0));
    // Below some share the steps drown in noise, and the ratio says nothing.
    if (off < 0.1 || next == extra) return extra;
    extra = slower < percent / 4 ? extra * 4 : std::max(1.0, next);
  }
  return environment_error(fmt::format("no number of steps makes {} {} % slower; the last try of "
                                       "{} was off by {:.0f} % of that",
                                       kernel.name, percent, extra, 100 * off))
      .with_hint("leave the machine to this program alone");
}

/// Of versions `percent` slower, or of copies of the kernel itself where it is 0.
Result<void> compare_until(device::Device& device, File& file, double percent, int runs, int copies,
                           double until) {
  const std::string what = percent > 0 ? fmt::format("{} % slower", percent) : "same";
  const auto all = kernels(device.info().backend);
  for (int run = (file.runs(what) + copies - 1) / copies;
       run * copies < runs && seconds_now() < until; ++run) {
    // The long one costs much, and so is rare.
    const auto turn = static_cast<std::size_t>(run);
    const Kernel& kernel = turn % 32 == 31 ? all.back() : all[turn % (all.size() - 1)];
    double extra = 0;
    if (const auto known = file.steps(what, kernel.name)) {
      extra = *known;
    } else if (percent > 0) {
      BURNISH_TRY_ASSIGN(extra, steps_for(device, kernel, percent));
      fmt::print("{}: {} steps more for {} %\n", kernel.name, extra, percent);
      std::fflush(stdout);
    }
    BURNISH_TRY_ASSIGN(const auto bench, compare(device, kernel, extra, copies));
    for (std::size_t i = 1; i < bench.results.size(); ++i) {
      const measure::Compared& verdict = bench.comparisons.at(i - 1);
      const double a = bench.results[0].latency.p50, b = bench.results[i].latency.p50;
      const Json line = {{"what", what},
                         {"kernel", kernel.name},
                         {"steps", extra},
                         {"ratio", verdict.ratio},
                         {"low", verdict.interval.low},
                         {"high", verdict.interval.high},
                         {"noise", verdict.noise},
                         {"blocks", verdict.blocks},
                         {"verdict", to_string(verdict.verdict)},
                         {"medians", a / b},
                         {"p50", a},
                         {"method", bench.method.text()},
                         {"failed", i == 1 ? bench.failed_launches.size() : 0},
                         {"samples", {bench.results[0].samples, bench.results[i].samples}},
                         {"seconds", bench.seconds / copies},
                         {"copies", copies},
                         {"time", bench.time}};
      BURNISH_TRY(file.append(line));
    }
  }
  return {};
}

Result<void> run(int argc, char** argv) {
  int same = 1000, slower = 200, copies = 12;
  double percent = 3, seconds = 300;
  std::string path = "error_rates.jsonl", choice = "auto";
  const std::map<std::string, int*> counts = {
      {"--aa", &same}, {"--slower", &slower}, {"--copies", &copies}};
  const std::map<std::string, double*> numbers = {{"--percent", &percent}, {"--seconds", &seconds}};
  const std::map<std::string, std::string*> texts = {{"--out", &path}, {"--device", &choice}};
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    const auto number = parse_number(value);
    if (const auto count = counts.find(option); count != counts.end() && number) {
      *count->second = static_cast<int>(*number);
    } else if (const auto found = numbers.find(option); found != numbers.end() && number) {
      *found->second = *number;
    } else if (const auto text = texts.find(option); text != texts.end() && !value.empty()) {
      *text->second = value;
    } else {
      return bad_input(fmt::format("{} {} is no option of this program", option, value))
          .with_hint("bench/error_rates.cpp begins with what there is");
    }
  }
  const double until = seconds_now() + seconds;
  File file(path);
  BURNISH_TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make("burnish-rates"));
  BURNISH_TRY_ASSIGN(const auto info, device::choose_device(choice));
  BURNISH_TRY_ASSIGN(const auto opened, device::open_device(info, {folder.path(), {}}));
  // In turns, so that a file of an unfinished run has some of both.
  for (int part = 1; part <= 20; ++part) {
    BURNISH_TRY(compare_until(*opened, file, 0, same * part / 20, copies, until));
    BURNISH_TRY(compare_until(*opened, file, percent, slower * part / 20, copies, until));
  }
  file.print();
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
