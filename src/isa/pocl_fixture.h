#pragma once

// For tests: compiles OpenCL C through PoCL, whichever is installed, and finds the shared objects
// that it leaves in its cache.

#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <dlfcn.h>

#include "base/file.h"

namespace burnish::isa {

class Pocl {
 public:
  /// The one of this process, since PoCL reads its cache folder once.
  static Pocl& get() {
    static Pocl pocl;
    return pocl;
  }
  /// Why this machine has no PoCL; empty when it has.
  const std::string& missing() const { return why_; }

  /// Launches a kernel whose arguments are three buffers of n × n floats and n, and gives the
  /// object of its work-group function.
  Result<fs::path> build(const std::string& source, const std::string& kernel, int n,
                         std::array<std::size_t, 2> global, std::array<std::size_t, 2> local,
                         const char* options = "") {
    const char* text = source.c_str();
    int rc = 0;
    cl_program program = create_program_(context_, 1, &text, nullptr, &rc);
    rc = build_program_(program, 1, &device_, options, nullptr, nullptr);
    if (rc != 0) {
      std::string log(1 << 14, '\0');
      build_info_(program, device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
      return bad_input("PoCL: " + std::string(log.c_str()));
    }
    cl_kernel made = create_kernel_(program, kernel.c_str(), &rc);
    if (rc != 0) return bad_input("PoCL: no kernel " + kernel);
    const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * 4 + 4096;
    std::array<cl_mem, 3> buffers{};
    for (cl_uint i = 0; i < 3; ++i) {
      buffers[i] = create_buffer_(context_, CL_MEM_READ_WRITE, bytes, nullptr, &rc);
      set_argument_(made, i, sizeof(cl_mem), &buffers[i]);
    }
    set_argument_(made, 3, sizeof(int), &n);
    rc = enqueue_(queue_, made, 2, nullptr, global.data(), local.data(), 0, nullptr, nullptr);
    if (rc != 0) return bad_input("PoCL: the launch failed with " + std::to_string(rc));
    finish_(queue_);
    const std::string size =
        "/" + std::to_string(local[0]) + "-" + std::to_string(local[1]) + "-1-";
    // What was not there before: times of files are too coarse to tell builds apart. What PoCL has
    // built already, but for comments, leaves nothing new; then the last one of that name is it.
    fs::path& object = objects_[kernel + size];
    for (const auto& entry : fs::recursive_directory_iterator(folder_->path())) {
      if (entry.path().filename() != kernel + ".so") continue;
      if (entry.path().string().find(size) == std::string::npos) continue;
      if (seen_.insert(entry.path()).second) object = entry.path();
    }
    if (object.empty()) return bad_input("PoCL left no object of " + kernel);
    return object;
  }

 private:
  Pocl() {
    auto folder = TemporaryFolder::make("burnish-pocl");
    if (!folder) {
      why_ = folder.error().message;
      return;
    }
    folder_.emplace(std::move(*folder));
    setenv("POCL_CACHE_DIR", folder_->path().c_str(), 1);
    void* library = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (library == nullptr) {
      why_ = "no libOpenCL.so.1";
      return;
    }
    const auto load = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    decltype(&clGetPlatformIDs) platforms;
    decltype(&clGetPlatformInfo) platform_info;
    decltype(&clGetDeviceIDs) devices;
    decltype(&clCreateContext) create_context;
    decltype(&clCreateCommandQueue) create_queue;
    load(platforms, "clGetPlatformIDs");
    load(platform_info, "clGetPlatformInfo");
    load(devices, "clGetDeviceIDs");
    load(create_context, "clCreateContext");
    load(create_queue, "clCreateCommandQueue");
    load(create_program_, "clCreateProgramWithSource");
    load(build_program_, "clBuildProgram");
    load(build_info_, "clGetProgramBuildInfo");
    load(create_kernel_, "clCreateKernel");
    load(create_buffer_, "clCreateBuffer");
    load(set_argument_, "clSetKernelArg");
    load(enqueue_, "clEnqueueNDRangeKernel");
    load(finish_, "clFinish");
    std::array<cl_platform_id, 16> found{};
    cl_uint count = 0;
    platforms(static_cast<cl_uint>(found.size()), found.data(), &count);
    why_ = "no platform of PoCL";
    for (cl_uint i = 0; i < count && i < found.size(); ++i) {
      std::array<char, 256> name{};
      platform_info(found[i], CL_PLATFORM_NAME, name.size() - 1, name.data(), nullptr);
      if (std::string(name.data()) != "Portable Computing Language") continue;
      if (devices(found[i], CL_DEVICE_TYPE_CPU, 1, &device_, nullptr) != 0) continue;
      int rc = 0;
      context_ = create_context(nullptr, 1, &device_, nullptr, nullptr, &rc);
      queue_ = create_queue(context_, device_, 0, &rc);
      why_ = rc == 0 ? "" : "PoCL gives no queue";
      return;
    }
  }

  std::string why_;
  std::optional<TemporaryFolder> folder_;
  std::set<fs::path> seen_;
  std::map<std::string, fs::path> objects_;  ///< the last one, by kernel and work-group
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  decltype(&clCreateProgramWithSource) create_program_ = nullptr;
  decltype(&clBuildProgram) build_program_ = nullptr;
  decltype(&clGetProgramBuildInfo) build_info_ = nullptr;
  decltype(&clCreateKernel) create_kernel_ = nullptr;
  decltype(&clCreateBuffer) create_buffer_ = nullptr;
  decltype(&clSetKernelArg) set_argument_ = nullptr;
  decltype(&clEnqueueNDRangeKernel) enqueue_ = nullptr;
  decltype(&clFinish) finish_ = nullptr;
};

/// Four steps of making a matrix product fast; arguments as Pocl::build() sets them.
inline const std::string kProducts = R"(
__kernel void one_output(__global const float* a, __global const float* b, __global float* c, int n) {
  int col = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
  c[row * n + col] = sum;
}
__kernel void vectors(__global const float* a, __global const float* b, __global float* c, int n) {
  int col = get_global_id(0) * 16, row = get_global_id(1);
  float16 sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * vload16(0, b + k * n + col);
  vstore16(sum, 0, c + row * n + col);
}
__kernel void array_of_rows(__global const float* a, __global const float* b, __global float* c, int n) {
  int col = get_global_id(0) * 16, row = get_global_id(1) * 8;
  float16 sum[8];
  for (int r = 0; r < 8; ++r) sum[r] = 0.0f;
  for (int k = 0; k < n; ++k) {
    float16 v = vload16(0, b + k * n + col);
    for (int r = 0; r < 8; ++r) sum[r] += a[(row + r) * n + k] * v;
  }
  for (int r = 0; r < 8; ++r) vstore16(sum[r], 0, c + (row + r) * n + col);
}
__kernel void rows(__global const float* a, __global const float* b, __global float* c, int n) {
  int col = get_global_id(0) * 16, row = get_global_id(1) * 8;
  float16 sum[8];
  #pragma unroll
  for (int r = 0; r < 8; ++r) sum[r] = 0.0f;
  for (int k = 0; k < n; ++k) {
    float16 v = vload16(0, b + k * n + col);
    #pragma unroll
    for (int r = 0; r < 8; ++r) sum[r] += a[(row + r) * n + k] * v;
  }
  #pragma unroll
  for (int r = 0; r < 8; ++r) vstore16(sum[r], 0, c + (row + r) * n + col);
}
)";

}  // namespace burnish::isa
