#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "isa/isa.h"

namespace burnish::isa::amd {

/// What the metadata of a code object says of one kernel (LLVM "User Guide for AMDGPU Backend",
/// Code Object V3 to V6 Metadata).
struct KernelMetadata {
  std::string name;
  std::string symbol;                 ///< of the kernel descriptor, "<name>.kd"
  std::optional<std::int64_t> vgprs;  ///< with a unified register file, accumulators included
  std::optional<std::int64_t> agprs, sgprs, vgpr_spills, sgpr_spills;
  std::optional<std::int64_t> shared_bytes, scratch_bytes, kernarg_bytes;
  std::optional<std::int64_t> workgroup_limit, wave_size;
  std::vector<std::int64_t> required_workgroup;
  std::vector<KernelArgument> arguments;
};

struct Metadata {
  std::string target;  ///< "amdgcn-amd-amdhsa--gfx942:xnack-"
  std::vector<std::int64_t> version;
  std::vector<KernelMetadata> kernels;
};

/// The description of an NT_AMDGPU_METADATA note. Errors name the byte.
Result<Metadata> metadata_from_msgpack(std::string_view bytes, const std::string& file);
/// What stands between .amdgpu_metadata and .end_amdgpu_metadata; `first_line` is its line in the
/// file. Keys that are not known are passed over.
Result<Metadata> metadata_from_yaml(std::string_view text, const std::string& file, int first_line);

/// "gfx942" of "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"; empty when there is none.
std::string processor_of(std::string_view target);

}  // namespace burnish::isa::amd
