#include "isa/amd.h"

namespace burnish::isa::amd {
namespace {

constexpr std::string_view kElfMagic = "\x7f" "ELF";
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedBundleMagic = "CCOB";
constexpr std::size_t kMachineOffset = 18;
constexpr unsigned char kMachineAmdGpu = 224;
/// Text is told by what its first lines hold; what comes later cannot change the answer.
constexpr std::size_t kTextProbe = 64u << 10;

}  // namespace

bool recognises(std::string_view bytes) {
  if (bytes.starts_with(kBundleMagic) || bytes.starts_with(kCompressedBundleMagic)) return true;
  if (bytes.starts_with(kElfMagic)) {
    if (bytes.size() > kMachineOffset + 1 &&
        static_cast<unsigned char>(bytes[kMachineOffset]) == kMachineAmdGpu &&
        bytes[kMachineOffset + 1] == 0) {
      return true;
    }
    return bytes.find(".hip_fatbin") != std::string_view::npos;
  }
  const std::string_view head = bytes.substr(0, kTextProbe);
  for (const char* sign : {".amdgcn_target", ".amdhsa_kernel", "elf64-amdgpu", "amdgcn-amd-amdhsa",
                           ".amdgpu_metadata", "s_endpgm", ".amdgpu_hsa_kernel"}) {
    if (head.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

Result<Reading> read(const fs::path& path, std::string_view, ProcessRunner&) {
  return bad_input("cannot read AMD code yet").at({path.string(), 0, 0});
}

}  // namespace burnish::isa::amd
