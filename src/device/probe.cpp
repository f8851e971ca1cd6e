#include "device/probe.h"

#include <fmt/format.h>

#include <cstring>

namespace burnish::device {
namespace {

constexpr std::uint32_t kBlock = 64, kBlocks = 64, kCount = kBlock * kBlocks;

constexpr char kOpenClText[] = R"(
__kernel void probe(__global const uint* in, __global uint* out, __local uint* shared) {
  uint i = get_global_id(0), t = get_local_id(0), n = get_local_size(0);
  shared[t] = in[i] * 2654435761u + i;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint other = shared[(t + 1) % n];
  out[i] = shared[t] ^ (other >> 7);
}
)";

constexpr char kGpuText[] = R"(
extern "C" __global__ void probe(const unsigned* in, unsigned* out) {
  extern __shared__ unsigned shared[];
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x, n = blockDim.x;
  shared[t] = in[i] * 2654435761u + i;
  __syncthreads();
  unsigned other = shared[(t + 1) % n];
  out[i] = shared[t] ^ (other >> 7);
}
)";

}  // namespace

Result<void> probe_device(Device& device) {
  const std::string& backend = device.info().backend;
  const bool is_opencl = backend != "cuda" && backend != "hip";
  Source source;
  source.language = is_opencl ? "opencl" : backend;
  source.file = is_opencl ? "probe.cl" : backend == "hip" ? "probe.hip" : "probe.cu";
  source.text = is_opencl ? kOpenClText : kGpuText;
  if (backend == "hip") source.text = "#include <hip/hip_runtime.h>\n" + source.text;

  KernelLaunch launch;
  launch.kernel = "probe";
  launch.grid = {kBlocks, 1, 1};
  launch.block = {kBlock, 1, 1};
  launch.arguments = {{Argument::Pointer{"in"}}, {Argument::Pointer{"out"}}};
  constexpr std::uint64_t kSharedBytes = kBlock * sizeof(std::uint32_t);
  if (is_opencl) {
    launch.arguments.push_back({Argument::Local{kSharedBytes}});
  } else {
    launch.shared_bytes = kSharedBytes;
  }
  LaunchPlan plan;
  plan.launches.push_back(std::move(launch));

  std::vector<std::uint32_t> input(kCount), expected(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) input[i] = i * i + 12345;
  const auto mixed = [&](std::uint32_t i) { return input[i] * 2654435761u + i; };
  for (std::uint32_t i = 0; i < kCount; ++i) {
    expected[i] = mixed(i) ^ (mixed(i / kBlock * kBlock + (i + 1) % kBlock) >> 7);
  }

  const auto sick = [&](std::string why) {
    return environment_error(fmt::format("{} ({}) fails a kernel that is known to be right: {}",
                                         device.info().id, device.info().name, why))
        .with_hint("do not use it before it has been reset");
  };
  Limits limits;
  limits.build = std::chrono::seconds(60);
  Result<std::unique_ptr<Session>> session = device.open(source, limits);
  if (!session) return sick(session.error().message);
  const std::uint64_t bytes = kCount * sizeof(std::uint32_t);
  const Result<void> prepared =
      (*session)->prepare({{"in", bytes, Buffer::Role::in}, {"out", bytes, Buffer::Role::out}});
  if (!prepared) return sick(prepared.error().message);
  RunRequest request;
  request.plan = &plan;
  request.contents["in"] = std::as_bytes(std::span(input));
  request.read_back = RunRequest::ReadBack::yes;
  const Result<RunResult> result = (*session)->run(request);
  if (!result) return sick(result.error().message);
  const std::vector<std::byte>& content = result->buffers.at("out").content;
  if (content.size() != bytes || std::memcmp(content.data(), expected.data(), bytes) != 0) {
    return sick("its result is wrong");
  }
  return {};
}

}  // namespace burnish::device
