#include "device/opencl_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

namespace burnish::device {
namespace {

template <class T>
bool load(void* library, const char* name, T& function) {
  function = reinterpret_cast<T>(::dlsym(library, name));
  return function != nullptr;
}

Result<OpenClApi> open_library() {
  void* library = nullptr;
  for (const char* name : {"libOpenCL.so.1", "libOpenCL.so"}) {
    if ((library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
  }
  if (library == nullptr) {
    return environment_error("the OpenCL loader (libOpenCL.so.1) is not installed")
        .with_hint("apt-get install ocl-icd-libopencl1 pocl-opencl-icd");
  }
  OpenClApi api{};
  const bool complete =
      load(library, "clGetPlatformIDs", api.get_platform_ids) &&
      load(library, "clGetPlatformInfo", api.get_platform_info) &&
      load(library, "clGetDeviceIDs", api.get_device_ids) &&
      load(library, "clGetDeviceInfo", api.get_device_info) &&
      load(library, "clCreateContext", api.create_context) &&
      load(library, "clReleaseContext", api.release_context) &&
      load(library, "clCreateCommandQueue", api.create_command_queue) &&
      load(library, "clReleaseCommandQueue", api.release_command_queue) &&
      load(library, "clCreateProgramWithSource", api.create_program_with_source) &&
      load(library, "clCreateProgramWithBinary", api.create_program_with_binary) &&
      load(library, "clBuildProgram", api.build_program) &&
      load(library, "clGetProgramInfo", api.get_program_info) &&
      load(library, "clGetProgramBuildInfo", api.get_program_build_info) &&
      load(library, "clReleaseProgram", api.release_program) &&
      load(library, "clCreateKernel", api.create_kernel) &&
      load(library, "clSetKernelArg", api.set_kernel_arg) &&
      load(library, "clGetKernelInfo", api.get_kernel_info) &&
      load(library, "clGetKernelArgInfo", api.get_kernel_arg_info) &&
      load(library, "clGetKernelWorkGroupInfo", api.get_kernel_work_group_info) &&
      load(library, "clReleaseKernel", api.release_kernel) &&
      load(library, "clCreateBuffer", api.create_buffer) &&
      load(library, "clCreateSubBuffer", api.create_sub_buffer) &&
      load(library, "clReleaseMemObject", api.release_mem_object) &&
      load(library, "clEnqueueFillBuffer", api.enqueue_fill_buffer) &&
      load(library, "clEnqueueReadBuffer", api.enqueue_read_buffer) &&
      load(library, "clEnqueueWriteBuffer", api.enqueue_write_buffer) &&
      load(library, "clEnqueueMapBuffer", api.enqueue_map_buffer) &&
      load(library, "clEnqueueUnmapMemObject", api.enqueue_unmap_mem_object) &&
      load(library, "clEnqueueNDRangeKernel", api.enqueue_ndrange_kernel) &&
      load(library, "clFlush", api.flush) && load(library, "clFinish", api.finish) &&
      load(library, "clWaitForEvents", api.wait_for_events) &&
      load(library, "clGetEventInfo", api.get_event_info) &&
      load(library, "clGetEventProfilingInfo", api.get_event_profiling_info) &&
      load(library, "clReleaseEvent", api.release_event);
  if (!complete) {
    return environment_error("the OpenCL loader is older than OpenCL 1.2")
        .with_hint("apt-get install ocl-icd-libopencl1");
  }
  return api;
}

struct Name {
  cl_int code;
  const char* text;
};
// CL/cl.h; causes from the error lists of the OpenCL specification, "The OpenCL Runtime".
constexpr Name kNames[] = {
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE,
     "CL_MEM_OBJECT_ALLOCATION_FAILURE: the device has no room for a buffer"},
    {CL_OUT_OF_RESOURCES,
     "CL_OUT_OF_RESOURCES: too many registers or too much local memory for this work-group, or a "
     "fault in an earlier kernel"},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    {CL_PROFILING_INFO_NOT_AVAILABLE, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    {CL_MISALIGNED_SUB_BUFFER_OFFSET, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
     "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: a kernel failed while it ran"},
    {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE: a buffer is larger than the device allows"},
    {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
    {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS: the compiler does not know an option"},
    {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME: the source has no kernel of this name"},
    {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX: the kernel takes fewer arguments"},
    {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
    {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE: the kernel wants another type here"},
    {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS: an argument was not given"},
    {CL_INVALID_WORK_DIMENSION, "CL_INVALID_WORK_DIMENSION"},
    {CL_INVALID_WORK_GROUP_SIZE,
     "CL_INVALID_WORK_GROUP_SIZE: larger than the kernel allows on this device, or not what its "
     "reqd_work_group_size demands"},
    {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE: one side of the block is too large"},
    {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE: the grid is empty or too large"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR: no OpenCL driver is installed"},
};

}  // namespace

Result<const OpenClApi*> opencl_api() {
  static const Result<OpenClApi> api = open_library();
  if (!api) return api.error();
  return &*api;
}

std::string opencl_error_text(cl_int code) {
  for (const Name& name : kNames) {
    if (name.code == code) return fmt::format("{} ({})", name.text, code);
  }
  return fmt::format("OpenCL error {}", code);
}

}  // namespace burnish::device
