// Any bytes as a file of AMD's profilers: CSV, JSON, code of a trace, a database. The first byte
// picks what they are taken for, so that the readers behind the headers are reached.

#include <cstddef>
#include <cstdint>
#include <string>

#include "profile/amd.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 1 << 20) return 0;
  const char* heads[] = {
      "",
      "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Process_Id\",\"Grid_Size\",\"Kernel_"
      "Name\","
      "\"Workgroup_Size\",\"LDS_Block_Size\",\"VGPR_Count\",\"Counter_Name\",\"Counter_Value\","
      "\"Start_Timestamp\",\"End_Timestamp\"\n",
      "\"Kind\",\"Agent_Id\",\"Dispatch_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\","
      "\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\","
      "\"Grid_Size_Y\",\"Grid_Size_Z\"\n",
      "\"Sample_Timestamp\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\","
      "\"Wave_Issued_Instruction\",\"Stall_Reason\"\n",
      "Dispatch_ID,Kernel_Name,Grid_Size,Workgroup_Size,SQ_WAVES,GRBM_GUI_ACTIVE,TCC_REQ[0],"
      "TCC_REQ[1],Start_Timestamp,End_Timestamp\n",
      "\"CodeObj\",\"Vaddr\",\"Instruction\",\"Hitcount\",\"Latency\",\"Stall\",\"Idle\","
      "\"Source\"\n",
      "{\"code\":[[",
      "{\"rocprofiler-sdk-tool\":[{",
      "gpu_arch,cu_per_gpu,num_xcd,max_sclk\n",
      "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n",
  };
  constexpr std::size_t kHeads = sizeof heads / sizeof *heads;
  const std::string text =
      heads[data[0] % kHeads] + std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto reading = burnish::profile::amd::read(text, "input");
  if (reading) {
    std::size_t metrics = 0;
    for (const auto& kernel : reading->kernels) metrics += kernel.metrics.all().size();
    if (metrics > (std::size_t{1} << 40)) __builtin_trap();
  }
  return 0;
}
