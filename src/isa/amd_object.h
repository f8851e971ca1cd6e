#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "isa/amd_metadata.h"

namespace burnish::isa::amd {

/// A kernel descriptor, the 64 bytes of "<name>.kd" (LLVM "User Guide for AMDGPU Backend", Kernel
/// Descriptor).
struct KernelDescriptor {
  std::uint32_t shared_bytes = 0;
  std::uint32_t scratch_bytes = 0;
  std::uint32_t kernarg_bytes = 0;
  std::uint32_t vgpr_steps = 0;    ///< granulated count: registers / step - 1
  std::uint32_t accum_offset = 0;  ///< registers; meaningful with a unified file
  bool wave32 = false;
};

/// An amdgcn ELF object, linked or not.
struct CodeObject {
  int version = 0;        ///< 3 to 6; 0: the header does not say (not for HSA)
  std::string processor;  ///< by the header's flags; empty when the machine is not known
  Metadata metadata;
  std::map<std::string, KernelDescriptor> descriptors;      ///< by kernel name
  std::unordered_set<std::string> functions;                ///< by the symbol table
  std::unordered_map<std::string, std::int64_t> constants;  ///< absolute symbols: "k.num_vgpr" → 24
  std::vector<std::string> warnings;
};

/// Errors: not an AMD code object, truncated, or of version 2, which describes kernels otherwise.
Result<CodeObject> read_code_object(std::string_view bytes, const std::string& file);

/// A device image inside a bundle.
struct BundleEntry {
  std::string id;  ///< "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+"
  std::string_view bytes;
};
struct Bundle {
  std::vector<BundleEntry> entries;  ///< those with bytes, of AMD targets
  std::vector<std::string> other;    ///< ids of the rest
  std::size_t size = 0;              ///< bytes it takes, header included
};

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedBundleMagic = "CCOB";

/// A plain bundle at the start of `bytes` (Clang documentation, "Clang Offload Bundler").
Result<Bundle> read_bundle(std::string_view bytes, const std::string& file);

/// The plain bundle of a compressed one at the start of `bytes`; `size` is what it takes.
Result<std::string> inflate_bundle(std::string_view bytes, const std::string& file,
                                   std::size_t& size);

/// The content of .hip_fatbin of a host object; empty when there is none.
Result<std::string_view> fat_binary_section(std::string_view bytes, const std::string& file);

}  // namespace burnish::isa::amd
