// Whether burnish's device times are right, on this machine's NVIDIA GPU:
//
//   bench_device_time [--out FILE.json] [--seconds S]
//
// Twelve kernels of some 2 µs to 5 ms are timed by measure::bench, and by two judges that share no
// code with it, in processes of their own: ncu's gpu__time_duration of single launches, with the
// caches as burnish left them, which must agree within 3 % above 20 µs; and, below, graphs of
// launches built here, where the difference between a long and a short graph leaves no fixed cost,
// within 5 %. Prints a table; the exit code is 1 if a bound is missed. S is what burnish may take
// for a kernel (1).

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "base/process.h"
#include "base/statistics.h"
#include "base/text.h"
#include "device/device.h"
#include "measure/compare.h"
#include "profile/profile.h"

namespace burnish {
namespace {

using measure::Problem;
using measure::Values;
using Role = device::Buffer::Role;

constexpr double kShort = 20e-6;
constexpr double kGraphBound = 0.05, kProfilerBound = 0.03;

constexpr const char* kSource = R"(
#define KERNEL extern "C" __global__ void __launch_bounds__(256)

KERNEL copy(const float4* in, float4* out, int n, int m, int rounds) {
  const int quads = n / 4 * m;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < quads; i += gridDim.x * 256) out[i] = in[i];
}

// A warp sums a row.
KERNEL row_sums(const float* in, float* out, int n, int m, int rounds) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  float sum = 0;
  for (int i = lane; i < m; i += 32) sum += in[(size_t)row * m + i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) out[row] = sum;
}

// A thread sums a row: no two lanes share a sector.
KERNEL far_sums(const float* in, float* out, int n, int m, int rounds) {
  const int row = blockIdx.x * 256 + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int i = 0; i < m; ++i) sum += in[(size_t)row * m + i];
  out[row] = sum;
}

KERNEL transpose(const float* in, float* out, int n, int m, int rounds) {
  __shared__ float tile[32][33];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32, tiles = m / 32;
  const int row = blockIdx.x / tiles * 32, col = blockIdx.x % tiles * 32;
  for (int i = y; i < 32; i += 8) tile[i][x] = in[(size_t)(row + i) * m + col + x];
  __syncthreads();
  for (int i = y; i < 32; i += 8) out[(size_t)(col + i) * n + row + x] = tile[x][i];
}

// The mean of an element and its four neighbours; what lies outside is the element itself.
KERNEL stencil(const float* in, float* out, int n, int m, int rounds) {
  const int across = m / 256, row = blockIdx.x / across, col = blockIdx.x % across * 256 + threadIdx.x;
  const float* at = in + (size_t)row * m + col;
  const float here = *at;
  float sum = here;
  sum += row > 0 ? at[-m] : here;
  sum += row + 1 < n ? at[m] : here;
  sum += col > 0 ? at[-1] : here;
  sum += col + 1 < m ? at[1] : here;
  out[(size_t)row * m + col] = sum * 0.2f;
}

// The product of an n by n matrix with itself, one element a thread.
KERNEL matmul(const float* in, float* out, int n, int m, int rounds) {
  const int across = n / 32, row = blockIdx.x / across * 8 + threadIdx.x / 32;
  const int col = blockIdx.x % across * 32 + threadIdx.x % 32;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum = fmaf(in[row * n + k], in[k * n + col], sum);
  out[row * n + col] = sum;
}

// Each block counts its n / gridDim.x elements in 64 bins between -1 and 1.
KERNEL histogram(const float* in, float* out, int n, int m, int rounds) {
  __shared__ int bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  const float* from = in + (size_t)blockIdx.x * m;
  for (int i = threadIdx.x; i < m; i += 256)
    atomicAdd(bins + min(max((int)((from[i] + 1) * 32), 0), 63), 1);
  __syncthreads();
  if (threadIdx.x < 64) out[blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
}

// Eight chains a thread that end at 2.
KERNEL chains(const float* in, float* out, int n, int m, int rounds) {
  const int at = blockIdx.x * 256 + threadIdx.x;
  float x[8];
  for (int k = 0; k < 8; ++k) x[k] = in[at] + k;
  for (int i = 0; i < rounds; ++i)
    for (int k = 0; k < 8; ++k) x[k] = fmaf(x[k], 0.5f, 1.0f);
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += x[k];
  out[at] = sum;
}

// Iterates x = exp(-x), which ends at 0.567143…
KERNEL exponentials(const float* in, float* out, int n, int m, int rounds) {
  const int at = blockIdx.x * 256 + threadIdx.x;
  float x = in[at];
  for (int i = 0; i < rounds; ++i) x = __expf(-x);
  out[at] = x;
}
)";

/// A kernel at one size: `in` has n by m elements.
struct Case {
  const char* name;
  const char* kernel;
  std::int64_t n, m, outputs, blocks;
  int rounds = 0;
};

constexpr std::int64_t kThreads = 132 * 8 * 256;  // what an H200 holds at 256 threads a block

const Case kCases[] = {
    {"copy of 512 KiB", "copy", 512, 256, 512 * 256, 128},
    {"row sums of 4 MiB", "row_sums", 4096, 256, 4096, 512},
    {"transpose of 16 MiB", "transpose", 2048, 2048, 2048 * 2048, 64 * 64},
    {"short chains of fma", "chains", kThreads, 1, kThreads, kThreads / 256, 220},
    {"copy of 48 MiB", "copy", 12288, 1024, 12288 * 1024, 2112},
    {"stencil of 64 MiB", "stencil", 4096, 4096, 4096 * 4096, 4096 * 16},
    {"copy of 160 MiB", "copy", 10240, 4096, 10240 * 4096, 2112},
    {"matmul, 768", "matmul", 768, 768, 768 * 768, 24 * 96},
    {"histogram of 128 MiB", "histogram", 2112, 16384, 2112 * 64, 2112},
    {"far sums of 128 MiB", "far_sums", 32768, 1024, 32768, 128},
    {"exponentials", "exponentials", kThreads, 1, kThreads, kThreads / 256, 23000},
    {"long chains of fma", "chains", kThreads, 1, kThreads, kThreads / 256, 72000},
};

/// The truth of each kernel.
Values expected(const Case& what, const std::vector<double>& in) {
  const auto n = static_cast<std::size_t>(what.n), m = static_cast<std::size_t>(what.m);
  std::vector<double> out(static_cast<std::size_t>(what.outputs));
  const std::string kernel = what.kernel;
  if (kernel == "copy") {
    out = in;
  } else if (kernel == "row_sums" || kernel == "far_sums") {
    for (std::size_t i = 0; i < n * m; ++i) out[i / m] += in[i];
  } else if (kernel == "transpose") {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) out[j * n + i] = in[i * m + j];
  } else if (kernel == "stencil") {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) {
        const std::size_t at = i * m + j;
        out[at] = 0.2 * (in[at] + in[i > 0 ? at - m : at] + in[i + 1 < n ? at + m : at] +
                         in[j > 0 ? at - 1 : at] + in[j + 1 < m ? at + 1 : at]);
      }
  } else if (kernel == "matmul") {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j) out[i * n + j] += in[i * n + k] * in[k * n + j];
  } else if (kernel == "histogram") {
    for (std::size_t i = 0; i < n * m; ++i) {
      const float shifted = (static_cast<float>(in[i]) + 1) * 32;
      out[i / m * 64 + static_cast<std::size_t>(std::clamp(static_cast<int>(shifted), 0, 63))] += 1;
    }
  } else if (kernel == "chains") {
    std::fill(out.begin(), out.end(), 16);
  } else {
    double x = 0.5;
    for (int i = 0; i < 200; ++i) x = std::exp(-x);
    std::fill(out.begin(), out.end(), x);
  }
  return {{"out", std::move(out)}};
}

class CaseReference : public measure::Reference {
 public:
  Result<Values> compute(const Problem& problem, const Values& inputs) override {
    return expected(kCases[static_cast<std::size_t>(problem.dims.find("case")->second)],
                    inputs.at("in"));
  }
};

measure::Task task() {
  measure::Task task;
  task.name = "device time";
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    task.workloads.push_back({kCases[i].name, {{"case", static_cast<double>(i)}}});
  }
  task.problem = [](const std::string& workload, const Variables& dims) {
    const Case& what = kCases[static_cast<std::size_t>(dims.find("case")->second)];
    Problem problem;
    problem.workload = workload;
    problem.dims = dims;
    problem.tensors = {{"in", DType::f32, {what.n, what.m}, Role::in, {}},
                       {"out", DType::f32, {what.outputs}, Role::out, {}}};
    problem.tensors[0].draw.kind = measure::Draw::Kind::uniform;
    problem.tolerance.accumulation = static_cast<double>(std::max<std::int64_t>(what.m, 16));
    // The hardware's exponential is good to some units in the last place of its argument.
    if (std::string(what.kernel) == "exponentials") problem.tolerance.relative = 1e-4;
    return Result<Problem>(problem);
  };
  task.reference = std::make_shared<CaseReference>();
  return task;
}

measure::Candidate candidate() {
  measure::Candidate candidate;
  candidate.label = "v0";
  candidate.source.language = "cuda";
  candidate.source.file = "kernels.cu";
  candidate.source.text = kSource;
  candidate.plan = [](const Variables& dims) {
    const Case& what = kCases[static_cast<std::size_t>(dims.find("case")->second)];
    device::LaunchPlan plan;
    plan.launches.resize(1);
    device::KernelLaunch& launch = plan.launches[0];
    launch.kernel = what.kernel;
    launch.grid = {what.blocks, 1, 1};
    launch.block = {256, 1, 1};
    launch.arguments = {{device::Argument::Pointer{"in"}}, {device::Argument::Pointer{"out"}}};
    for (const auto value : {what.n, what.m, std::int64_t{what.rounds}}) {
      launch.arguments.push_back(
          {device::Argument::Scalar{DType::i32, static_cast<double>(value)}});
    }
    return Result<device::LaunchPlan>(std::move(plan));
  };
  return candidate;
}

/// The driver, opened anew; nothing of src/device is used on this side.
class Driver {
 public:
  using Status = int;
  using Handle = void*;
  using Pointer = unsigned long long;
  struct KernelNode {  // CUDA_KERNEL_NODE_PARAMS_v1
    Handle function;
    unsigned grid[3], block[3], shared_bytes;
    void** parameters;
    void** extra;
  };

  Driver() : library_(::dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ == nullptr) fail("libcuda.so.1 is not there");
    Handle context = nullptr;
    call<unsigned>("cuInit", 0u);
    call<Handle*, int>("cuDevicePrimaryCtxRetain", &context, 0);
    call<Handle>("cuCtxSetCurrent", context);
    call<Handle*, unsigned>("cuStreamCreate", &stream_, 1u);
    for (Handle& event : events_) call<Handle*, unsigned>("cuEventCreate", &event, 0u);
  }

  void load(const std::string& code) {
    call<Handle*, const void*>("cuModuleLoadData", &module_, code.data());
  }
  Handle stream() const { return stream_; }

  /// One kernel with its buffers.
  struct Bound {
    Handle function = nullptr;
    Pointer in = 0, out = 0;
    int numbers[3] = {};
    void* parameters[5] = {};
    KernelNode node{};
  };
  void bind(const Case& what, Bound& bound) {
    call<Handle*, Handle, const char*>("cuModuleGetFunction", &bound.function, module_,
                                       what.kernel);
    std::vector<float> values(static_cast<std::size_t>(what.n * what.m));
    std::uint32_t state = 12345;
    for (float& value : values) {
      state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator
      value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1;
    }
    const std::size_t in = values.size() * 4, out = static_cast<std::size_t>(what.outputs) * 4;
    call<Pointer*, std::size_t>("cuMemAlloc_v2", &bound.in, in);
    call<Pointer*, std::size_t>("cuMemAlloc_v2", &bound.out, out);
    call<Pointer, const void*, std::size_t>("cuMemcpyHtoD_v2", bound.in, values.data(), in);
    bound.numbers[0] = static_cast<int>(what.n);
    bound.numbers[1] = static_cast<int>(what.m);
    bound.numbers[2] = what.rounds;
    bound.parameters[0] = &bound.in;
    bound.parameters[1] = &bound.out;
    for (int i = 0; i < 3; ++i) bound.parameters[2 + i] = &bound.numbers[i];
    bound.node = {bound.function,   {static_cast<unsigned>(what.blocks), 1, 1},
                  {256, 1, 1},      0,
                  bound.parameters, nullptr};
  }
  void release(const Bound& bound) {
    call<Pointer>("cuMemFree_v2", bound.in);
    call<Pointer>("cuMemFree_v2", bound.out);
  }

  void launch(Bound& bound) {
    const KernelNode& node = bound.node;
    call<Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
         void**, void**>("cuLaunchKernel", node.function, node.grid[0], 1u, 1u, node.block[0], 1u,
                         1u, 0u, stream_, bound.parameters, nullptr);
    synchronize();
  }

  /// Leaves `bytes` of other data in the caches.
  void flush(std::size_t bytes) {
    if (flushed_ == 0) call<Pointer*, std::size_t>("cuMemAlloc_v2", &flushed_, bytes);
    call<Pointer, unsigned, std::size_t>("cuMemsetD32_v2", flushed_, ++pattern_, bytes / 4);
    call<>("cuCtxSynchronize");
  }

  /// An executable graph of `count` launches one after the other.
  Handle chain(Bound& bound, int count) {
    Handle graph = nullptr, executable = nullptr, node = nullptr;
    call<Handle*, unsigned>("cuGraphCreate", &graph, 0u);
    for (int i = 0; i < count; ++i) {
      const Handle before = node;
      call<Handle*, Handle, const Handle*, std::size_t, const KernelNode*>(
          "cuGraphAddKernelNode", &node, graph, &before, i == 0 ? 0u : 1u, &bound.node);
    }
    call<Handle*, Handle, unsigned long long>("cuGraphInstantiateWithFlags", &executable, graph,
                                              0ull);
    call<Handle>("cuGraphDestroy", graph);
    return executable;
  }
  double seconds_of(Handle executable) {
    call<Handle, Handle>("cuEventRecord", events_[0], stream_);
    call<Handle, Handle>("cuGraphLaunch", executable, stream_);
    call<Handle, Handle>("cuEventRecord", events_[1], stream_);
    synchronize();
    float milliseconds = 0;
    call<float*, Handle, Handle>("cuEventElapsedTime", &milliseconds, events_[0], events_[1]);
    return 1e-3 * static_cast<double>(milliseconds);
  }
  void destroy(Handle executable) { call<Handle>("cuGraphExecDestroy", executable); }
  void synchronize() { call<Handle>("cuStreamSynchronize", stream_); }

 private:
  [[noreturn]] static void fail(const std::string& why) {
    fmt::print(stderr, "the reference: {}\n", why);
    std::_Exit(3);
  }
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<Status (*)(Arguments...)>(::dlsym(library_, name));
    if (function == nullptr) fail(fmt::format("the driver has no {}", name));
    if (const Status status = function(arguments...); status != 0) {
      fail(fmt::format("{} gave error {}", name, status));
    }
  }

  void* library_;
  Handle stream_ = nullptr, module_ = nullptr, events_[2] = {};
  Pointer flushed_ = 0;
  unsigned pattern_ = 0;
};

constexpr int kSkipped = 3, kProfiled = 12;  ///< launches of each kernel under ncu
constexpr int kGraphRuns = 15;
constexpr double kShortGraph = 300e-6;

/// `bench_device_time launches CUBIN 0,67108864,…`: what ncu profiles, for each kernel the bytes
/// that are written before each launch.
int launches_main(const std::string& code, const std::string& flushed) {
  Driver driver;
  driver.load(code);
  const auto bytes = split(flushed, ',');
  for (std::size_t i = 0; i < std::size(kCases) && i < bytes.size(); ++i) {
    Driver::Bound bound;
    driver.bind(kCases[i], bound);
    const auto flush = static_cast<std::size_t>(parse_integer(bytes[i]).value_or(0));
    for (int run = 0; run < kSkipped + kProfiled; ++run) {
      if (flush > 0) driver.flush(flush);
      driver.launch(bound);
    }
    driver.release(bound);
  }
  return 0;
}

/// `bench_device_time graphs CUBIN`: seconds a launch, one line a kernel.
int graphs_main(const std::string& code) {
  Driver driver;
  driver.load(code);
  for (const Case& what : kCases) {
    Driver::Bound bound;
    driver.bind(what, bound);
    Driver::Handle probe = driver.chain(bound, 8);
    double one = 0;
    for (int run = 0; run < 3; ++run) one = driver.seconds_of(probe) / 8;
    driver.destroy(probe);
    const int count = std::clamp(static_cast<int>(kShortGraph / one), 2, 200);
    Driver::Handle few = driver.chain(bound, count), many = driver.chain(bound, 4 * count);
    std::vector<double> times;
    for (int run = 0; run < kGraphRuns + 2 && (one < 1e-4 || run < 5); ++run) {
      const double shorter = driver.seconds_of(few), longer = driver.seconds_of(many);
      if (run >= 2) times.push_back((longer - shorter) / (3 * count));
    }
    fmt::print("{:.9e}\n", median(times));
    driver.destroy(few);
    driver.destroy(many);
    driver.release(bound);
  }
  return 0;
}

Result<std::string> run_program(ProcessSpec spec) {
  const std::string name = fs::path(spec.argv[0]).filename().string();
  spec.deadline = std::chrono::seconds(120);
  BURNISH_TRY_ASSIGN(const ProcessResult result, real_process_runner().run(spec));
  if (!result.ok()) {
    return environment_error(
        fmt::format("{} {}: {}", name, result.describe(), trim(result.output + result.errors)));
  }
  return result.output;
}

/// Of each kernel, the median of ncu's durations.
Result<std::vector<double>> profiled_times(const std::string& self, const fs::path& folder,
                                           const std::string& flushed) {
  const auto ncu = find_program({"ncu"}, {"/usr/local/cuda/bin"});
  if (!ncu) {
    return environment_error("ncu (Nsight Compute) is not on the PATH")
        .with_hint("put the folder of the CUDA toolkit's programs on it");
  }
  ProcessSpec spec;
  spec.argv = {ncu->string(),
               "--metrics",
               "gpu__time_duration.sum",
               "--clock-control",
               "none",
               "--cache-control",
               "none",
               "--force-overwrite",
               "--export",
               (folder / "times").string(),
               self,
               "launches",
               (folder / "kernels.cubin").string(),
               flushed};
  BURNISH_TRY(run_program(spec));
  BURNISH_TRY_ASSIGN(const auto reading, profile::read_profile(folder / "times.ncu-rep"));
  const std::size_t each = kSkipped + kProfiled;
  if (reading.kernels.size() != each * std::size(kCases)) {
    return environment_error(fmt::format("ncu reports {} launches, {} were made",
                                         reading.kernels.size(), each * std::size(kCases)));
  }
  std::vector<double> medians;
  for (std::size_t i = 0; i < reading.kernels.size(); i += each) {
    std::vector<double> times;
    for (std::size_t k = i + kSkipped; k < i + each; ++k) {
      const auto seconds = reading.kernels[k].metrics.value("time.device");
      if (!seconds) return environment_error("ncu's report has no gpu__time_duration.sum");
      if (!contains(reading.kernels[k].name, kCases[i / each].kernel)) {
        return bug(fmt::format("launch {} of ncu's report is of {}", k, reading.kernels[k].name));
      }
      times.push_back(*seconds);
    }
    medians.push_back(median(times));
  }
  return medians;
}

Result<std::vector<double>> graph_times(const std::string& self, const fs::path& folder) {
  ProcessSpec spec;
  spec.argv = {self, "graphs", (folder / "kernels.cubin").string()};
  BURNISH_TRY_ASSIGN(const std::string output, run_program(spec));
  std::vector<double> times;
  for (const auto line : split_lines(output)) {
    if (const auto seconds = parse_number(trim(line))) times.push_back(*seconds);
  }
  if (times.size() != std::size(kCases)) return environment_error("a graph was not timed");
  return times;
}

Result<int> run(const std::string& out, double seconds) {
  BURNISH_TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make("burnish-times"));
  BURNISH_TRY_ASSIGN(const auto info, device::choose_device("cuda"));
  BURNISH_TRY_ASSIGN(const auto device, device::open_device(info, {folder.path() / "cache", {}}));
  BURNISH_TRY_ASSIGN(const auto session, device->open(candidate().source, {}));
  BURNISH_TRY_ASSIGN(const auto code, session->code());
  if (code.size() != 1) return bug("one source gave several code objects");
  BURNISH_TRY(real_file_system().write(folder.path() / "kernels.cubin", code[0].bytes));

  measure::BenchOptions options;
  options.largest_seconds = seconds;
  options.verified_launches = 0;
  BURNISH_TRY_ASSIGN(const auto bench, measure::bench(*device, task(), {candidate()}, {}, options,
                                                      {}, real_random(), real_clock()));
  for (const auto& check : bench.failed_launches) {
    return environment_error(fmt::format("{}: {}", check.name, check.why));
  }
  std::vector<std::string> flushed;
  for (const auto& timing : bench.results) {
    flushed.push_back(timing.method.repetitions > 1 ? "0" : std::to_string(2 * info.cache_bytes));
  }
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  BURNISH_TRY_ASSIGN(const auto graphs, graph_times(self, folder.path()));
  BURNISH_TRY_ASSIGN(const auto profiled, profiled_times(self, folder.path(), join(flushed, ",")));

  Json json = {
      {"device", info.name}, {"driver", info.driver}, {"launch_floor", bench.launch_floor}};
  int missed = 0;
  fmt::print("{}, {}; launch floor {}\n", info.name, info.driver,
             with_prefix(bench.launch_floor, "s"));
  fmt::print("{:22} {:38} {:>10} {:>10} {:>7} {:>10} {:>7}  {}\n", "kernel", "burnish's method",
             "burnish", "ncu", "differs", "graphs", "differs", "bound");
  for (std::size_t i = 0; i < bench.results.size(); ++i) {
    const auto& timing = bench.results[i];
    const double own = timing.latency.p50;
    const double to_ncu = own / profiled[i] - 1, to_graph = own / graphs[i] - 1;
    const bool is_short = own < kShort;
    const bool held =
        is_short ? std::abs(to_graph) <= kGraphBound : std::abs(to_ncu) <= kProfilerBound;
    missed += held ? 0 : 1;
    fmt::print("{:22} {:38} {:>10} {:>10} {:>+6.1f}% {:>10} {:>+6.1f}%  {}\n", timing.workload,
               timing.method.text(), with_prefix(own, "s"), with_prefix(profiled[i], "s"),
               100 * to_ncu, with_prefix(graphs[i], "s"), 100 * to_graph,
               fmt::format("{} % of {}: {}", is_short ? 5 : 3, is_short ? "graphs" : "ncu",
                           held ? "held" : "MISSED"));
    json["kernels"].push_back({{"name", timing.workload},
                               {"method", timing.method.text()},
                               {"burnish", own},
                               {"p5", timing.latency.p5},
                               {"p95", timing.latency.p95},
                               {"samples", timing.samples},
                               {"ncu", profiled[i]},
                               {"graphs", graphs[i]},
                               {"held", held}});
  }
  fmt::print("{} of {} within their bounds\n",
             bench.results.size() - static_cast<std::size_t>(missed), bench.results.size());
  if (!out.empty()) BURNISH_TRY(real_file_system().write(out, dump_json(json)));
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) {
  using namespace burnish;
  if (argc == 2 && std::string(argv[1]) == "worker") return device::worker_main();
  if (argc >= 3) {
    const std::string mode = argv[1];
    if (mode == "launches" || mode == "graphs") {
      const auto code = real_file_system().read(argv[2]);
      if (!code) return 3;
      return mode == "graphs" ? graphs_main(*code) : launches_main(*code, argc > 3 ? argv[3] : "");
    }
  }
  std::string out;
  double seconds = 1;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    const auto number = parse_number(value);
    if (option == "--out" && !value.empty()) {
      out = value;
    } else if (option == "--seconds" && number) {
      seconds = *number;
    } else {
      fmt::print(stderr, "{} {} is no option; there are --out FILE and --seconds N\n", option,
                 value);
      return exit_code(ErrorKind::bad_input);
    }
  }
  const auto done = run(out, seconds);
  if (done) return *done;
  fmt::print(stderr, "{}\n", done.error().to_string());
  return exit_code(done.error().kind);
}
