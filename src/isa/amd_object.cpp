#include "isa/amd_object.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <utility>

#include "isa/little_endian.h"

namespace burnish::isa::amd {
namespace {

constexpr std::uint16_t kMachineAmdGpu = 224;
constexpr std::uint8_t kAbiHsa = 0x40;
constexpr std::uint32_t kNoteMetadata = 32;    // NT_AMDGPU_METADATA
constexpr std::uint32_t kSymbolTable = 2;      // SHT_SYMTAB
constexpr std::uint32_t kDynamicSymbols = 11;  // SHT_DYNSYM
constexpr std::uint32_t kNotes = 7;            // SHT_NOTE
constexpr std::uint32_t kNoBits = 8;           // SHT_NOBITS
constexpr std::uint16_t kAbsolute = 0xfff1;    // SHN_ABS
constexpr std::size_t kDescriptorSize = 64;
/// A bundle holds one image for each target; the largest known have a few hundred.
constexpr std::uint64_t kMostEntries = 4096;
/// Of what a compressed bundle may claim to hold.
constexpr std::uint64_t kMostInflated = 1ull << 30;

/// Little-endian values at places that may lie outside.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    static_assert(std::is_unsigned_v<T>);
    return value_at<T>(bytes_, offset);
  }
  std::optional<std::string_view> slice(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) return {};
    return bytes_.substr(offset, size);
  }

 private:
  std::string_view bytes_;
};

struct Section {
  std::uint32_t name = 0, type = 0, link = 0;
  std::uint64_t address = 0, offset = 0, size = 0, entry = 0;
};

/// Processors by the low byte of e_flags (LLVM "User Guide for AMDGPU Backend", EF_AMDGPU_MACH).
std::string processor_by_machine(std::uint32_t flags) {
  static constexpr std::pair<std::uint8_t, const char*> kMachines[] = {
      {0x28, "gfx801"},        {0x29, "gfx802"},          {0x2a, "gfx803"},
      {0x2b, "gfx810"},        {0x2c, "gfx900"},          {0x2d, "gfx902"},
      {0x2e, "gfx904"},        {0x2f, "gfx906"},          {0x30, "gfx908"},
      {0x31, "gfx909"},        {0x32, "gfx90c"},          {0x33, "gfx1010"},
      {0x34, "gfx1011"},       {0x35, "gfx1012"},         {0x36, "gfx1030"},
      {0x37, "gfx1031"},       {0x38, "gfx1032"},         {0x39, "gfx1033"},
      {0x3a, "gfx602"},        {0x3b, "gfx705"},          {0x3c, "gfx805"},
      {0x3d, "gfx1035"},       {0x3e, "gfx1034"},         {0x3f, "gfx90a"},
      {0x40, "gfx940"},        {0x41, "gfx1100"},         {0x42, "gfx1013"},
      {0x43, "gfx1150"},       {0x44, "gfx1103"},         {0x45, "gfx1036"},
      {0x46, "gfx1101"},       {0x47, "gfx1102"},         {0x48, "gfx1200"},
      {0x49, "gfx1250"},       {0x4a, "gfx1151"},         {0x4b, "gfx941"},
      {0x4c, "gfx942"},        {0x4e, "gfx1201"},         {0x4f, "gfx950"},
      {0x51, "gfx9-generic"},  {0x52, "gfx10-1-generic"}, {0x53, "gfx10-3-generic"},
      {0x54, "gfx11-generic"}, {0x55, "gfx1152"},         {0x58, "gfx1153"},
      {0x59, "gfx12-generic"}, {0x5a, "gfx1251"},         {0x5f, "gfx9-4-generic"},
  };
  const auto* found = std::find_if(std::begin(kMachines), std::end(kMachines),
                                   [&](const auto& each) { return each.first == (flags & 0xff); });
  return found == std::end(kMachines) ? std::string() : found->second;
}

/// The tables of an ELF64 file that this reader needs, whatever its machine.
class Elf {
 public:
  static Result<Elf> open(std::string_view bytes, const std::string& file) {
    Elf elf(bytes, file);
    BURNISH_TRY(elf.read_sections());
    return elf;
  }

  Error broken(const std::string& what) const {
    return bad_input("the ELF file is damaged: " + what).at({file_, 0, 0});
  }
  const std::vector<Section>& sections() const { return sections_; }
  std::optional<std::string_view> content(const Section& section) const {
    if (section.type == kNoBits) return std::string_view();
    return bytes_.slice(section.offset, section.size);
  }
  /// A string of a string table; empty when it lies outside.
  std::string_view text(std::uint32_t table, std::uint32_t offset) const {
    if (table >= sections_.size()) return {};
    const auto strings = content(sections_[table]);
    if (!strings || offset >= strings->size()) return {};
    const std::string_view rest = strings->substr(offset);
    return rest.substr(0, rest.find('\0'));
  }
  std::string_view name(const Section& section) const { return text(names_, section.name); }
  const Bytes& bytes() const { return bytes_; }

 private:
  Elf(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Result<void> read_sections() {
    const auto kind = bytes_.slice(0, 16);
    if (!kind) return broken("the header is cut off");
    if ((*kind)[4] != 2 || (*kind)[5] != 1) {
      return bad_input("an ELF file that is not 64-bit little-endian is no GPU code object")
          .at({file_, 0, 0});
    }
    const auto offset = bytes_.at<std::uint64_t>(40);
    const auto entry = bytes_.at<std::uint16_t>(58);
    const auto number = bytes_.at<std::uint16_t>(60);
    const auto names = bytes_.at<std::uint16_t>(62);
    if (!offset || !entry || !number || !names) return broken("the header is cut off");
    names_ = *names;
    if (*number == 0) return {};
    if (*entry < 64) return broken(fmt::format("section headers of {} bytes", *entry));
    for (std::uint32_t i = 0; i < *number; ++i) {
      const std::uint64_t at = *offset + std::uint64_t{i} * *entry;
      if (at < *offset || !bytes_.slice(at, 64)) {
        return broken(fmt::format("section header {} of {} lies outside the file", i, *number));
      }
      Section section;
      section.name = *bytes_.at<std::uint32_t>(at);
      section.type = *bytes_.at<std::uint32_t>(at + 4);
      section.address = *bytes_.at<std::uint64_t>(at + 16);
      section.offset = *bytes_.at<std::uint64_t>(at + 24);
      section.size = *bytes_.at<std::uint64_t>(at + 32);
      section.link = *bytes_.at<std::uint32_t>(at + 40);
      section.entry = *bytes_.at<std::uint64_t>(at + 56);
      sections_.push_back(section);
    }
    return {};
  }

  Bytes bytes_;
  std::string file_;
  std::vector<Section> sections_;
  std::uint32_t names_ = 0;
};

class ObjectReader {
 public:
  ObjectReader(const Elf& elf, std::string_view bytes, const std::string& file, CodeObject& object)
      : elf_(elf), bytes_(bytes), file_(file), object_(object) {}

  Result<void> read() {
    relocatable_ = *bytes_.at<std::uint16_t>(16) == 1;
    bool described = false;
    for (const Section& section : elf_.sections()) {
      if (section.type != kNotes) continue;
      BURNISH_TRY_ASSIGN(const bool found, notes(section));
      described = described || found;
    }
    for (const Section& section : elf_.sections()) {
      if (section.type == kSymbolTable || section.type == kDynamicSymbols)
        BURNISH_TRY(symbols(section));
    }
    if (!described) {
      object_.warnings.push_back(
          "the object has no metadata note: names, limits and spills of its "
          "kernels are not known");
    }
    return {};
  }

 private:
  /// Whether the section holds the metadata.
  Result<bool> notes(const Section& section) {
    const auto content = elf_.content(section);
    if (!content) return elf_.broken("the note section lies outside the file");
    const Bytes notes(*content);
    bool found = false;
    for (std::uint64_t at = 0; at + 12 <= content->size();) {
      const std::uint64_t name_size = *notes.at<std::uint32_t>(at);
      const std::uint64_t size = *notes.at<std::uint32_t>(at + 4);
      const std::uint32_t type = *notes.at<std::uint32_t>(at + 8);
      const std::uint64_t name_at = at + 12;
      const std::uint64_t at_description = name_at + (name_size + 3) / 4 * 4;
      const auto name = notes.slice(name_at, name_size);
      const auto description = notes.slice(at_description, size);
      if (!name || !description) {
        return elf_.broken(
            fmt::format("the note at byte {} of its section is longer than the section", at));
      }
      if (type == kNoteMetadata && name->starts_with("AMDGPU")) {
        BURNISH_TRY_ASSIGN(object_.metadata, metadata_from_msgpack(*description, file_));
        found = true;
      }
      at = at_description + (size + 3) / 4 * 4;
    }
    return found;
  }

  Result<void> symbols(const Section& section) {
    const auto content = elf_.content(section);
    if (!content) return elf_.broken("the symbol table lies outside the file");
    constexpr std::uint64_t kSymbolSize = 24;
    const Bytes table(*content);
    for (std::uint64_t at = 0; at + kSymbolSize <= content->size(); at += kSymbolSize) {
      const auto name_offset = *table.at<std::uint32_t>(at);
      const auto info = *table.at<std::uint8_t>(at + 4);
      const auto where = *table.at<std::uint16_t>(at + 6);
      const auto value = *table.at<std::uint64_t>(at + 8);
      const std::string_view name = elf_.text(section.link, name_offset);
      if (name.empty()) continue;
      const int type = info & 15;
      if (where == kAbsolute) {
        if (value <= 1u << 24) {
          object_.constants[std::string(name)] = static_cast<std::int64_t>(value);
        }
      } else if (type == 2) {  // STT_FUNC
        object_.functions.emplace(name);
      } else if (name.ends_with(".kd")) {
        descriptor(name.substr(0, name.size() - 3), where, value);
      }
    }
    return {};
  }

  void descriptor(std::string_view name, std::uint16_t where, std::uint64_t value) {
    if (where >= elf_.sections().size()) return;
    const Section& section = elf_.sections()[where];
    const std::uint64_t inside = relocatable_ ? value : value - section.address;
    const auto content = elf_.content(section);
    if (!content || inside > content->size() || content->size() - inside < kDescriptorSize) {
      object_.warnings.push_back(
          fmt::format("the descriptor of kernel {} lies outside its section", name));
      return;
    }
    const Bytes bytes(content->substr(inside, kDescriptorSize));
    KernelDescriptor descriptor;
    descriptor.shared_bytes = *bytes.at<std::uint32_t>(0);
    descriptor.scratch_bytes = *bytes.at<std::uint32_t>(4);
    descriptor.kernarg_bytes = *bytes.at<std::uint32_t>(8);
    descriptor.accum_offset = ((*bytes.at<std::uint32_t>(44) & 0x3f) + 1) * 4;
    descriptor.vgpr_steps = *bytes.at<std::uint32_t>(48) & 0x3f;
    descriptor.wave32 = (*bytes.at<std::uint16_t>(56) >> 10 & 1) != 0;
    object_.descriptors[std::string(name)] = descriptor;
  }

  const Elf& elf_;
  const Bytes bytes_;
  const std::string& file_;
  CodeObject& object_;
  bool relocatable_ = false;
};

}  // namespace

Result<CodeObject> read_code_object(std::string_view bytes, const std::string& file) {
  const Bytes header(bytes);
  const auto machine = header.at<std::uint16_t>(18);
  if (!bytes.starts_with("\x7f"
                         "ELF") ||
      !machine) {
    return bad_input("the code object is cut off before the end of its header").at({file, 0, 0});
  }
  if (*machine != kMachineAmdGpu) {
    return bad_input(fmt::format("the ELF file is for machine {}, not for AMD GPUs ({})", *machine,
                                 kMachineAmdGpu))
        .at({file, 0, 0});
  }
  BURNISH_TRY_ASSIGN(const Elf elf, Elf::open(bytes, file));
  CodeObject object;
  const auto abi = static_cast<unsigned char>(bytes[7]);
  const auto abi_version = static_cast<unsigned char>(bytes[8]);
  if (abi == kAbiHsa) {
    if (abi_version == 0) {
      return bad_input(
                 "a code object of version 2, whose kernels are described by amd_kernel_code_t and "
                 "not "
                 "by metadata that burnish reads")
          .at({file, 0, 0})
          .with_hint("compile it again; compilers since ROCm 3.0 write version 3 or newer");
    }
    object.version = abi_version + 2;
    if (object.version > 6) {
      object.warnings.push_back(fmt::format(
          "code object version {} is newer than what burnish knows (6); it is read as 6",
          object.version));
    }
  } else {
    object.warnings.push_back(
        fmt::format("the object is for OS ABI {:#x} and not for HSA ({:#x}), so its resources may "
                    "be described in "
                    "another way",
                    abi, kAbiHsa));
  }
  object.processor = processor_by_machine(*header.at<std::uint32_t>(48));
  BURNISH_TRY(ObjectReader(elf, bytes, file, object).read());
  const std::string stated = processor_of(object.metadata.target);
  if (object.processor.empty()) {
    object.processor = stated;
  } else if (!stated.empty() && stated != object.processor) {
    object.warnings.push_back(fmt::format(
        "the header says {}, the metadata {}; the header is believed", object.processor, stated));
  }
  return object;
}

Result<Bundle> read_bundle(std::string_view bytes, const std::string& file) {
  const Bytes data(bytes);
  const auto broken = [&](const std::string& what) {
    return bad_input("the offload bundle is damaged: " + what).at({file, 0, 0});
  };
  const auto number = data.at<std::uint64_t>(kBundleMagic.size());
  if (!number) return broken("it is cut off before its number of entries");
  if (*number > kMostEntries) return broken(fmt::format("it claims {} entries", *number));
  Bundle bundle;
  std::uint64_t at = kBundleMagic.size() + 8;
  for (std::uint64_t i = 0; i < *number; ++i) {
    const auto offset = data.at<std::uint64_t>(at);
    const auto size = data.at<std::uint64_t>(at + 8);
    const auto id_size = data.at<std::uint64_t>(at + 16);
    if (!offset || !size || !id_size) return broken(fmt::format("entry {} is cut off", i));
    const auto id = data.slice(at + 24, *id_size);
    if (!id) return broken(fmt::format("the name of entry {} is {} bytes long", i, *id_size));
    at += 24 + *id_size;
    const auto content = data.slice(*offset, *size);
    if (!content) {
      return broken(fmt::format("entry {} ({}) has {} bytes at {}, which is outside the file", i,
                                *id, *size, *offset));
    }
    bundle.size = std::max<std::size_t>(bundle.size, *offset + *size);
    if (!content->empty() && id->find("amdgcn") != std::string_view::npos) {
      bundle.entries.push_back({std::string(*id), *content});
    } else if (!content->empty()) {
      bundle.other.emplace_back(*id);
    }
  }
  bundle.size = std::max<std::size_t>(bundle.size, at);
  return bundle;
}

Result<std::string> inflate_bundle(std::string_view bytes, const std::string& file,
                                   std::size_t& size) {
  const Bytes data(bytes);
  const auto broken = [&](const std::string& what) {
    return bad_input("the compressed offload bundle is damaged: " + what).at({file, 0, 0});
  };
  const auto version = data.at<std::uint16_t>(4);
  const auto method = data.at<std::uint16_t>(6);
  if (!version || !method) return broken("it is cut off in its header");
  // Version 1: sizes of 4 bytes, the inflated one only; 2: both sizes; 3: both, of 8 bytes. A hash
  // of 8 bytes ends the header.
  std::optional<std::uint64_t> whole;
  std::optional<std::uint64_t> inflated;
  std::size_t header = 0;
  if (*version == 1) {
    inflated = data.at<std::uint32_t>(8);
    header = 20;
  } else if (*version == 2) {
    whole = data.at<std::uint32_t>(8);
    inflated = data.at<std::uint32_t>(12);
    header = 24;
  } else if (*version == 3) {
    whole = data.at<std::uint64_t>(8);
    inflated = data.at<std::uint64_t>(16);
    header = 32;
  } else {
    return broken(fmt::format("version {} is not known (1, 2, 3 are)", *version));
  }
  if (!inflated || bytes.size() < header || (*version > 1 && !whole)) {
    return broken("it is cut off in its header");
  }
  const std::uint64_t taken = whole.value_or(bytes.size());
  if (taken < header || taken > bytes.size()) {
    return broken(fmt::format("it claims {} bytes, and {} are there", taken, bytes.size()));
  }
  if (*inflated > kMostInflated)
    return broken(fmt::format("it claims to inflate to {} bytes", *inflated));
  size = taken;
  const std::string_view packed = bytes.substr(header, taken - header);

  // The claim is not allocated in advance: the output grows with what really comes out.
  std::string out;
  constexpr std::size_t kChunk = 1 << 20;
  std::vector<char> chunk(std::min<std::size_t>(kChunk, *inflated + 1));
  if (*method == 1) {
    const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                               ZSTD_freeDStream);
    if (!stream) return bug("no memory for zstd");
    ZSTD_inBuffer input{packed.data(), packed.size(), 0};
    for (std::size_t left = 1; left != 0;) {
      ZSTD_outBuffer output{chunk.data(), chunk.size(), 0};
      left = ZSTD_decompressStream(stream.get(), &output, &input);
      if (ZSTD_isError(left)) return broken(fmt::format("zstd: {}", ZSTD_getErrorName(left)));
      out.append(chunk.data(), output.pos);
      if (out.size() > *inflated) break;
      if (left != 0 && output.pos == 0 && input.pos == input.size) return broken("zstd: cut off");
    }
  } else if (*method == 0) {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return bug("no memory for zlib");
    const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
    std::string_view rest = packed;
    for (int state = Z_OK; state != Z_STREAM_END;) {
      if (stream.avail_in == 0) {
        const std::string_view part = rest.substr(0, 1u << 30);
        rest.remove_prefix(part.size());
        // zlib does not write through next_in.
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
        stream.avail_in = static_cast<uInt>(part.size());
      }
      stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
      stream.avail_out = static_cast<uInt>(chunk.size());
      state = inflate(&stream, Z_NO_FLUSH);
      if (state != Z_OK && state != Z_STREAM_END) {
        return broken(fmt::format("zlib: {}", stream.msg ? stream.msg : "cut off"));
      }
      out.append(chunk.data(), chunk.size() - stream.avail_out);
      if (out.size() > *inflated) break;
    }
  } else {
    return broken(
        fmt::format("compression method {} is not known (0 is zlib, 1 is zstd)", *method));
  }
  if (out.size() != *inflated) {
    return broken(fmt::format("it inflates to {} bytes{}, {} were promised", out.size(),
                              out.size() > *inflated ? " or more" : "", *inflated));
  }
  return out;
}

Result<std::string_view> fat_binary_section(std::string_view bytes, const std::string& file) {
  BURNISH_TRY_ASSIGN(const Elf elf, Elf::open(bytes, file));
  for (const Section& section : elf.sections()) {
    if (elf.name(section) != ".hip_fatbin") continue;
    const auto content = elf.content(section);
    if (!content) return elf.broken("the section .hip_fatbin lies outside the file");
    return *content;
  }
  return std::string_view();
}

}  // namespace burnish::isa::amd
