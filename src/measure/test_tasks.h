#pragma once

// For tests: small tasks with references, and the candidates that go with them on a FakeDevice.

#include "measure/fake_device.h"

namespace burnish::measure {

/// C[M,N] = A[M,K] B[K,N] + bias[N] in `dtype`.
inline Problem matmul_problem(const std::string& workload, const Variables& dims,
                              DType dtype = DType::f32) {
  const auto size = [&](const char* name) {
    return static_cast<std::int64_t>(dims.find(name)->second);
  };
  Problem problem;
  problem.workload = workload;
  problem.dims = dims;
  using Role = device::Buffer::Role;
  problem.tensors = {{"A", dtype, {size("M"), size("K")}, Role::in, {}},
                     {"B", dtype, {size("K"), size("N")}, Role::in, {}},
                     {"bias", dtype, {size("N")}, Role::in, {}},
                     {"C", dtype, {size("M"), size("N")}, Role::out, {}}};
  problem.tolerance.accumulation = dims.find("K")->second;
  const double flops = 2 * dims.find("M")->second * dims.find("N")->second * dims.find("K")->second;
  double bytes = 0;
  for (const Tensor& tensor : problem.tensors) bytes += static_cast<double>(tensor.bytes());
  problem.work = {flops, bytes, "f32"};
  return problem;
}

inline Values matmul_reference(const Problem& problem, const Values& in) {
  const auto m = problem.tensors[0].shape[0], k = problem.tensors[0].shape[1];
  const auto n = problem.tensors[1].shape[1];
  const auto &a = in.at("A"), &b = in.at("B"), &bias = in.at("bias");
  std::vector<double> c(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    double* row = c.data() + i * n;
    for (std::int64_t j = 0; j < n; ++j) row[j] = bias[static_cast<std::size_t>(j)];
    for (std::int64_t l = 0; l < k; ++l) {
      const double x = a[static_cast<std::size_t>(i * k + l)];
      const double* other = b.data() + l * n;
      for (std::int64_t j = 0; j < n; ++j) row[j] += x * other[j];
    }
  }
  return {{"C", std::move(c)}};
}

inline Task matmul_task(std::vector<Workload> workloads = {
                            {"square", {{"M", 24}, {"N", 32}, {"K", 48}}},
                            {"wide", {{"M", 8}, {"N", 96}, {"K", 64}}}}) {
  Task task;
  task.name = "matmul";
  task.workloads = std::move(workloads);
  task.domain = {{"M", {1, 4096, 1}}, {"N", {1, 4096, 1}}, {"K", {1, 4096, 1}}};
  task.problem = [](const std::string& workload, const Variables& dims) {
    return Result<Problem>(matmul_problem(workload, dims));
  };
  task.reference =
      std::make_shared<FunctionReference>([](const Problem& problem, const Values& inputs) {
        return matmul_reference(problem, inputs);
      });
  return task;
}

/// A candidate for matmul_task whose one kernel `k` gets A, B, bias, C, M, N, K.
inline Candidate matmul_candidate(const std::string& program) {
  Candidate candidate;
  candidate.label = program;
  candidate.source.language = "opencl";
  candidate.source.file = "kernel.cl";
  candidate.source.text = program;
  candidate.plan = [](const Variables& dims) {
    device::KernelLaunch launch;
    launch.kernel = "k";
    using device::Argument;
    for (const char* name : {"A", "B", "bias", "C"}) {
      launch.arguments.push_back({Argument::Pointer{name}});
    }
    for (const char* name : {"M", "N", "K"}) {
      launch.arguments.push_back({Argument::Scalar{DType::i32, dims.find(name)->second}});
    }
    device::LaunchPlan plan;
    plan.launches = {std::move(launch)};
    return Result<device::LaunchPlan>(std::move(plan));
  };
  return candidate;
}

struct Matrices {
  const float *a, *b, *bias;
  float* c;
  std::int64_t m, n, k;
  explicit Matrices(const FakeCall& call)
      : a(call.pointer<float>(0)),
        b(call.pointer<float>(1)),
        bias(call.pointer<float>(2)),
        c(call.pointer<float>(3)),
        m(call.integer(4)),
        n(call.integer(5)),
        k(call.integer(6)) {}
};

/// A right kernel, and the place where wrong ones differ: what is added for one product, which
/// products are added, and what is stored.
struct MatmulParts {
  std::function<float(float, float)> product = [](float x, float y) { return x * y; };
  std::function<std::int64_t(std::int64_t)> terms = [](std::int64_t k) { return k; };
  std::function<float(float sum, float bias)> finish = [](float sum, float bias) {
    return sum + bias;
  };
};

inline FakeKernel matmul_kernel(MatmulParts parts = {}) {
  return [parts](const FakeCall& call) -> Result<void> {
    const Matrices x(call);
    for (std::int64_t i = 0; i < x.m; ++i) {
      for (std::int64_t j = 0; j < x.n; ++j) {
        float sum = 0;
        for (std::int64_t l = 0; l < parts.terms(x.k); ++l) {
          sum += parts.product(x.a[i * x.k + l], x.b[l * x.n + j]);
        }
        x.c[i * x.n + j] = parts.finish(sum, x.bias[j]);
      }
    }
    return {};
  };
}

}  // namespace burnish::measure
