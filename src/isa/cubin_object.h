#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "isa/isa.h"
#include "isa/sass_local.h"

namespace burnish::isa::nvidia {

/// What a cubin says of one kernel, its code apart.
struct CubinKernel {
  std::string symbol;
  std::optional<std::int64_t> registers;
  std::optional<std::int64_t> shared_bytes;    ///< without what the driver takes for itself
  std::optional<std::int64_t> stack_bytes;     ///< frame of a thread: spills and local arrays
  std::optional<std::int64_t> constant_bytes;  ///< bank 0, arguments included
  std::optional<std::int64_t> parameter_bytes;
  std::optional<std::int64_t> barriers;          ///< named barriers
  std::optional<std::int64_t> most_threads;      ///< a block, of __launch_bounds__
  std::optional<std::int64_t> required_threads;  ///< a block, of .reqntid
  std::vector<KernelArgument> arguments;
  std::int64_t code_bytes = 0;
  std::string data;  ///< hash of the constants and initialised variables that it can read
  std::optional<SpillAddresses> spills;  ///< absent: the compiler was too old to say
};

/// An ELF object for an NVIDIA GPU.
struct Cubin {
  int sm = 0;                      ///< 90
  int abi = 0;                     ///< of the ELF header: 7 (up to CUDA 12), 8 (from CUDA 13 on)
  std::optional<int> virtual_sm;   ///< what it was compiled from; ABI 7 only
  bool accelerated = false;        ///< "a"; only where the header tells (ABI 7)
  std::optional<int> api_version;  ///< CUDA 12.9 is 129
  std::string tool;                ///< "release 13.0, V13.0.88", when the object says
  std::vector<CubinKernel> kernels;
  std::vector<std::string> warnings;
};

bool is_cubin(std::string_view bytes);

/// Errors: truncated or corrupt, or an architecture that is not read. `entry` names it inside a fat
/// binary, in errors.
Result<Cubin> read_cubin(std::string_view bytes, const std::string& file, const std::string& entry);

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0, link = 0, info = 0;
  std::uint64_t flags = 0;
  std::uint64_t size = 0;  ///< as the header says, also where the file holds nothing
  std::string_view bytes;  ///< empty for sections without content in the file
};

/// Sections of a 64-bit little-endian ELF file. Errors: truncated or corrupt.
Result<std::vector<ElfSection>> elf_sections(std::string_view bytes, const std::string& file);

}  // namespace burnish::isa::nvidia
