#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace burnish::isa::nvidia {

/// One image of a fat binary.
struct FatbinEntry {
  enum class Kind { ptx, cubin, other };
  enum class Packing { none, lz4, zstd };
  Kind kind = Kind::other;
  Packing packing = Packing::none;
  int sm = 0;
  std::string_view packed;       ///< as it lies in the file
  std::uint64_t plain_size = 0;  ///< bytes when unpacked; as packed when not compressed
  std::string name() const;      ///< "sm_90 cubin (zstd)"
};

constexpr std::string_view kFatbinMagic = "\x50\xed\x55\xba";

/// The images of all fat binaries in the bytes, which may lie apart, with other bytes between.
/// Errors: one that is truncated or corrupt.
Result<std::vector<FatbinEntry>> read_fatbins(std::string_view bytes, const std::string& file);

/// The image itself. Errors: a corrupt stream.
Result<std::string> unpack(const FatbinEntry& entry, const std::string& file);

/// A block of the LZ4 format ("LZ4 Block Format Description"); absent when it is corrupt or would
/// give more than `limit` bytes.
Result<std::string> unpack_lz4(std::string_view block, std::size_t limit, const std::string& file);

}  // namespace burnish::isa::nvidia
