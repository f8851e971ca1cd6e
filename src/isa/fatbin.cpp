#include "isa/fatbin.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>

#include "isa/little_endian.h"

namespace burnish::isa::nvidia {
namespace {

constexpr std::size_t kHeaderSize = 16;
constexpr std::size_t kEntrySize = 64;
/// No image of a kernel library is larger; what a hostile header says is not believed.
constexpr std::uint64_t kMostPlain = 1u << 30;
constexpr std::size_t kMostEntries = 1u << 16;
/// A zstd block of 128 KiB takes four bytes at least (RFC 8878): a table of zeros packs so well.
constexpr std::size_t kMostRatio = (128u << 10) / 4;
constexpr std::uint64_t kFlagLz4 = 0x2000;
constexpr std::uint64_t kFlagZstd = 0x8000;

/// The entries of one fat binary. An entry: kind (u16), version (u16), size of its header (u32),
/// size of the image (u64), of the compressed image (u32), …, SM (u32 at 28), …, flags (u64 at 40),
/// …, size when unpacked (u64 at 56). Seen in files of nvcc 11 to 13.
Result<void> read_entries(std::string_view body, const std::string& file, std::size_t offset,
                          std::vector<FatbinEntry>& entries) {
  for (std::size_t at = 0; body.size() - at >= kEntrySize;) {
    const std::string_view header = body.substr(at);
    const auto kind = read_at<std::uint16_t>(header, 0);
    const auto header_size = read_at<std::uint32_t>(header, 4);
    const auto size = read_at<std::uint64_t>(header, 8);
    const auto packed_size = read_at<std::uint32_t>(header, 16);
    const auto flags = read_at<std::uint64_t>(header, 40);
    if (header_size < kEntrySize || header_size > header.size() ||
        size > header.size() - header_size) {
      return bad_input(fmt::format("the fat binary's image at byte {} is said to be {} bytes long, "
                                   "but {} follow",
                                   offset + at, size, header.size()))
          .at({file, 0, 0});
    }
    FatbinEntry entry;
    entry.kind = kind == 2   ? FatbinEntry::Kind::cubin
                 : kind == 1 ? FatbinEntry::Kind::ptx
                             : FatbinEntry::Kind::other;
    entry.sm = static_cast<int>(std::min<std::uint32_t>(read_at<std::uint32_t>(header, 28), 9999));
    entry.packed = header.substr(header_size, static_cast<std::size_t>(size));
    entry.plain_size = size;
    if ((flags & (kFlagLz4 | kFlagZstd)) != 0) {
      entry.packing =
          (flags & kFlagZstd) != 0 ? FatbinEntry::Packing::zstd : FatbinEntry::Packing::lz4;
      entry.plain_size = read_at<std::uint64_t>(header, 56);
      if (packed_size <= entry.packed.size()) entry.packed = entry.packed.substr(0, packed_size);
    }
    if (entries.size() >= kMostEntries) {
      return bad_input("the fat binary holds more than 65,536 images").at({file, 0, 0});
    }
    entries.push_back(entry);
    at += header_size + static_cast<std::size_t>(size);
  }
  return {};
}

}  // namespace

std::string FatbinEntry::name() const {
  const char* what = kind == Kind::cubin ? "cubin" : kind == Kind::ptx ? "PTX" : "image";
  const char* how = packing == Packing::zstd ? " (zstd)" : packing == Packing::lz4 ? " (LZ4)" : "";
  return fmt::format("sm_{} {}{}", sm, what, how);
}

Result<std::vector<FatbinEntry>> read_fatbins(std::string_view bytes, const std::string& file) {
  std::vector<FatbinEntry> entries;
  for (std::size_t at = bytes.find(kFatbinMagic); at != std::string_view::npos;
       at = bytes.find(kFatbinMagic, at)) {
    const std::string_view rest = bytes.substr(at);
    const auto header_size = read_at<std::uint16_t>(rest, 6);
    const auto size = read_at<std::uint64_t>(rest, 8);
    if (rest.size() < kHeaderSize || header_size < kHeaderSize || header_size > rest.size() ||
        size > rest.size() - header_size) {
      return bad_input(fmt::format("the fat binary at byte {} is said to be {} bytes long, but {} "
                                   "follow",
                                   at, size, rest.size()))
          .at({file, 0, 0})
          .with_hint("the file may be truncated");
    }
    BURNISH_TRY(read_entries(rest.substr(header_size, static_cast<std::size_t>(size)), file,
                             at + header_size, entries));
    at += header_size + static_cast<std::size_t>(size);
  }
  return entries;
}

Result<std::string> unpack_lz4(std::string_view block, std::size_t limit, const std::string& file) {
  const auto corrupt = [&](const char* what) {
    return Error(bad_input(fmt::format("the LZ4 image is corrupt: {}", what)).at({file, 0, 0}));
  };
  std::string out;
  out.reserve(std::min<std::size_t>(limit, block.size() * 4));
  std::size_t at = 0;
  const auto length = [&](std::size_t value) {
    if (value != 15) return value;
    while (at < block.size()) {
      const auto byte = static_cast<unsigned char>(block[at++]);
      value += byte;
      if (byte != 255 || value > limit) break;
    }
    return value;
  };
  while (at < block.size()) {
    const auto token = static_cast<unsigned char>(block[at++]);
    const std::size_t literals = length(token >> 4);
    if (literals > block.size() - at) return corrupt("it ends within literals");
    if (literals > limit - out.size()) return corrupt("it is longer than its header says");
    out.append(block, at, literals);
    at += literals;
    if (at == block.size()) break;  // the last sequence has no match
    if (block.size() - at < 2) return corrupt("it ends within an offset");
    const std::size_t offset = static_cast<unsigned char>(block[at]) |
                               static_cast<std::size_t>(static_cast<unsigned char>(block[at + 1]))
                                   << 8;
    at += 2;
    if (offset == 0 || offset > out.size()) return corrupt("a match lies before its start");
    const std::size_t match = length(token & 15) + 4;
    if (match > limit - out.size()) return corrupt("it is longer than its header says");
    for (std::size_t i = 0; i < match; ++i) out += out[out.size() - offset];
  }
  return out;
}

Result<std::string> unpack(const FatbinEntry& entry, const std::string& file) {
  if (entry.packing == FatbinEntry::Packing::none) return std::string(entry.packed);
  if (entry.plain_size > kMostPlain) {
    return bad_input(fmt::format("{} is said to unpack to {} bytes, which no image has",
                                 entry.name(), entry.plain_size))
        .at({file, 0, 0});
  }
  const auto size = static_cast<std::size_t>(entry.plain_size);
  std::string plain;
  if (entry.packing == FatbinEntry::Packing::lz4) {
    BURNISH_TRY_ASSIGN(plain, unpack_lz4(entry.packed, size, file));
  } else {
    // The frame's own word is checked before anything of that size is allocated.
    const auto stated = ZSTD_getFrameContentSize(entry.packed.data(), entry.packed.size());
    if (stated == ZSTD_CONTENTSIZE_ERROR ||
        (stated != ZSTD_CONTENTSIZE_UNKNOWN && stated != size) ||
        size / kMostRatio > entry.packed.size()) {
      return bad_input(fmt::format("{} is no zstd stream of {} bytes", entry.name(), size))
          .at({file, 0, 0});
    }
    plain.resize(size);
    const std::size_t got =
        ZSTD_decompress(plain.data(), size, entry.packed.data(), entry.packed.size());
    if (ZSTD_isError(got) != 0) {
      return bad_input(fmt::format("{} is corrupt: {}", entry.name(), ZSTD_getErrorName(got)))
          .at({file, 0, 0});
    }
    plain.resize(got);
  }
  if (plain.size() != size) {
    return bad_input(fmt::format("{} unpacks to {} bytes instead of {}", entry.name(), plain.size(),
                                 size))
        .at({file, 0, 0});
  }
  return plain;
}

}  // namespace burnish::isa::nvidia
