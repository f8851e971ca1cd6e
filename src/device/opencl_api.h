#pragma once

#include "base/error.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

namespace burnish::device {

/// The functions of libOpenCL, opened at run time so that burnish starts without it.
struct OpenClApi {
  decltype(&::clGetPlatformIDs) get_platform_ids;
  decltype(&::clGetPlatformInfo) get_platform_info;
  decltype(&::clGetDeviceIDs) get_device_ids;
  decltype(&::clGetDeviceInfo) get_device_info;
  decltype(&::clCreateContext) create_context;
  decltype(&::clReleaseContext) release_context;
  decltype(&::clCreateCommandQueue) create_command_queue;
  decltype(&::clReleaseCommandQueue) release_command_queue;
  decltype(&::clCreateProgramWithSource) create_program_with_source;
  decltype(&::clCreateProgramWithBinary) create_program_with_binary;
  decltype(&::clBuildProgram) build_program;
  decltype(&::clGetProgramInfo) get_program_info;
  decltype(&::clGetProgramBuildInfo) get_program_build_info;
  decltype(&::clReleaseProgram) release_program;
  decltype(&::clCreateKernel) create_kernel;
  decltype(&::clSetKernelArg) set_kernel_arg;
  decltype(&::clGetKernelInfo) get_kernel_info;
  decltype(&::clGetKernelArgInfo) get_kernel_arg_info;
  decltype(&::clGetKernelWorkGroupInfo) get_kernel_work_group_info;
  decltype(&::clReleaseKernel) release_kernel;
  decltype(&::clCreateBuffer) create_buffer;
  decltype(&::clCreateSubBuffer) create_sub_buffer;
  decltype(&::clReleaseMemObject) release_mem_object;
  decltype(&::clEnqueueFillBuffer) enqueue_fill_buffer;
  decltype(&::clEnqueueReadBuffer) enqueue_read_buffer;
  decltype(&::clEnqueueWriteBuffer) enqueue_write_buffer;
  decltype(&::clEnqueueMapBuffer) enqueue_map_buffer;
  decltype(&::clEnqueueUnmapMemObject) enqueue_unmap_mem_object;
  decltype(&::clEnqueueNDRangeKernel) enqueue_ndrange_kernel;
  decltype(&::clFlush) flush;
  decltype(&::clFinish) finish;
  decltype(&::clWaitForEvents) wait_for_events;
  decltype(&::clGetEventInfo) get_event_info;
  decltype(&::clGetEventProfilingInfo) get_event_profiling_info;
  decltype(&::clReleaseEvent) release_event;
};

/// Errors: environment when the library is absent or lacks a function. Opened once and never
/// closed, since drivers keep threads in it.
Result<const OpenClApi*> opencl_api();

/// "CL_OUT_OF_RESOURCES (-5)", with the likely cause where there is one.
std::string opencl_error_text(cl_int code);

}  // namespace burnish::device
