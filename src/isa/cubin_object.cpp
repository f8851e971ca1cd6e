#include "isa/cubin_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "isa/little_endian.h"

namespace burnish::isa::nvidia {
namespace {

constexpr std::string_view kElf64 =
    "\x7f"
    "ELF\x02\x01";
constexpr std::size_t kHeaderSize = 64;
constexpr std::size_t kSectionHeaderSize = 64;
constexpr std::size_t kSymbolSize = 24;
constexpr std::uint16_t kMachineCuda = 190;
constexpr int kOldestSm = 50;
constexpr int kNewestSm = 129;
/// The driver keeps so much of each block's shared memory from sm_90 on; linked cubins count it,
/// relocatable ones do not.
constexpr std::int64_t kDriverShared = 1024;
constexpr int kDriverSharedFrom = 90;
/// From this CUDA version on ptxas marks the instructions that move spilled registers.
constexpr int kMarksSpillsFrom = 129;
constexpr unsigned char kEntry = 0x10;  ///< STO_CUDA_ENTRY in st_other
constexpr std::uint16_t kLinked = 2;    ///< ET_EXEC in e_type

enum SectionType : std::uint32_t { kSymbols = 2, kNoBits = 8, kCudaInfo = 0x70000000 };

/// Attributes of .nv.info (names as nvdisasm prints them, EIATTR_…).
enum Attribute : std::uint8_t {
  kMaxThreads = 0x05,
  kParamCbank = 0x0a,
  kReqNtid = 0x10,
  kFrameSize = 0x11,
  kKparamInfo = 0x17,
  kCbankParamSize = 0x19,
  kRegCount = 0x2f,
  kApiVersion = 0x37,
  kNumBarriers = 0x4c,
  kAnnotations = 0x55,
};
constexpr std::uint32_t kAnnotationSpill = 1;

std::string_view string_at(std::string_view table, std::uint64_t at) {
  if (at >= table.size()) return {};
  const std::string_view rest = table.substr(static_cast<std::size_t>(at));
  return rest.substr(0, rest.find('\0'));
}

std::uint16_t machine_of(std::string_view bytes) { return read_at<std::uint16_t>(bytes, 18); }

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& file, std::string prefix)
      : bytes_(bytes), file_(file), prefix_(std::move(prefix)) {}

  Result<Cubin> run() {
    BURNISH_TRY(header());
    auto sections = elf_sections(bytes_, file_);
    if (!sections) {
      sections.error().message = prefix_ + sections.error().message;
      return std::move(sections.error());
    }
    sections_ = std::move(*sections);
    find_kernels();
    for (const ElfSection& section : sections_) {
      if (section.type == kCudaInfo) BURNISH_TRY(info(section));
    }
    for (const ElfSection& section : sections_) memory(section);
    hash_data();
    for (CubinKernel& kernel : cubin_.kernels) {
      const bool says = cubin_.api_version.value_or(0) >= kMarksSpillsFrom;
      if (!kernel.spills && says) kernel.spills.emplace();
    }
    return std::move(cubin_);
  }

 private:
  Error fail(std::string message) const {
    return bad_input(prefix_ + std::move(message)).at({file_, 0, 0});
  }

  /// The flags' layout goes by the ABI version, not by the architecture: 7 has the SM in the low
  /// byte and the virtual one in the third, 8 has the SM in the second.
  Result<void> header() {
    if (bytes_.size() < kHeaderSize) {
      return fail(fmt::format("the cubin ends after {} bytes, within its header", bytes_.size()));
    }
    linked_ = read_at<std::uint16_t>(bytes_, 16) == kLinked;
    const auto flags = read_at<std::uint32_t>(bytes_, 48);
    cubin_.abi = static_cast<unsigned char>(bytes_[8]);
    if (cubin_.abi >= 8) {
      cubin_.sm = static_cast<int>(flags >> 8 & 0xff);
    } else {
      cubin_.sm = static_cast<int>(flags & 0xff);
      cubin_.virtual_sm = static_cast<int>(flags >> 16 & 0xff);
      cubin_.accelerated = (flags >> 11 & 1) != 0;
    }
    if (cubin_.sm < kOldestSm || cubin_.sm > kNewestSm) {
      return fail(
          fmt::format("the cubin is for sm_{} (flags {:#x}, ABI {}); sm_50 to sm_12x are "
                      "read",
                      cubin_.sm, flags, cubin_.abi));
    }
    return {};
  }

  void find_kernels() {
    for (const ElfSection& section : sections_) {
      if (section.type != kSymbols || section.link >= sections_.size()) continue;
      const std::string_view names = sections_[section.link].bytes;
      for (std::size_t at = 0; at + kSymbolSize <= section.bytes.size(); at += kSymbolSize) {
        const auto index = static_cast<std::uint32_t>(at / kSymbolSize);
        const auto name = string_at(names, read_at<std::uint32_t>(section.bytes, at));
        const auto kind = static_cast<unsigned char>(section.bytes[at + 4]) & 15;
        const auto other = static_cast<unsigned char>(section.bytes[at + 5]);
        if (kind != 2 || (other & kEntry) == 0 || name.empty()) continue;
        if (!by_symbol_.emplace(index, cubin_.kernels.size()).second) continue;
        by_name_.emplace(name, cubin_.kernels.size());
        CubinKernel kernel;
        kernel.symbol = name;
        cubin_.kernels.push_back(std::move(kernel));
      }
    }
  }

  CubinKernel* named(std::string_view section, std::string_view prefix) {
    if (!section.starts_with(prefix)) return nullptr;
    const auto found = by_name_.find(section.substr(prefix.size()));
    return found == by_name_.end() ? nullptr : &cubin_.kernels[found->second];
  }
  CubinKernel* numbered(std::uint32_t symbol) {
    const auto found = by_symbol_.find(symbol);
    return found == by_symbol_.end() ? nullptr : &cubin_.kernels[found->second];
  }

  /// .nv.info is of the object, .nv.info.<kernel> of a kernel. A record is a format, an attribute
  /// and either two bytes of value or (format 4) their number and so many bytes.
  Result<void> info(const ElfSection& section) {
    CubinKernel* kernel = named(section.name, ".nv.info.");
    const std::string_view bytes = section.bytes;
    for (std::size_t at = 0; at + 4 <= bytes.size();) {
      const auto format = static_cast<unsigned char>(bytes[at]);
      const auto attribute = static_cast<unsigned char>(bytes[at + 1]);
      const auto small = read_at<std::uint16_t>(bytes, at + 2);
      at += 4;
      if (format != 4) {
        if (format == 0 || format > 4) break;  // padding
        value(kernel, attribute, small);
        continue;
      }
      if (small > bytes.size() - at) {
        return fail(fmt::format("{} has an attribute {:#x} of {} bytes, {} past the section's end",
                                section.name, attribute, small, small - (bytes.size() - at)));
      }
      record(kernel, attribute, bytes.substr(at, small));
      at += small;
    }
    return {};
  }

  static void value(CubinKernel* kernel, unsigned attribute, std::uint16_t number) {
    if (kernel == nullptr) return;
    if (attribute == kCbankParamSize) kernel->parameter_bytes = number;
    if (attribute == kNumBarriers) kernel->barriers = number;
  }

  void record(CubinKernel* kernel, unsigned attribute, std::string_view payload) {
    const auto word = [&](std::size_t i) { return read_at<std::uint32_t>(payload, 4 * i); };
    switch (attribute) {
      case kRegCount:
      case kFrameSize: {
        if (payload.size() < 8) return;
        CubinKernel* of = numbered(word(0));
        if (of == nullptr) return;
        (attribute == kRegCount ? of->registers : of->stack_bytes) = word(1);
        return;
      }
      case kApiVersion:
        if (payload.size() >= 4) cubin_.api_version = static_cast<int>(word(0) & 0xffff);
        return;
      default:
        break;
    }
    if (kernel == nullptr) return;
    switch (attribute) {
      case kMaxThreads:
      case kReqNtid: {
        if (payload.size() < 12) return;
        std::int64_t threads = 1;
        for (std::size_t i = 0; i < 3; ++i) {
          threads *= std::min<std::int64_t>(std::max<std::uint32_t>(word(i), 1), 1 << 20);
        }
        (attribute == kMaxThreads ? kernel->most_threads : kernel->required_threads) = threads;
        return;
      }
      case kKparamInfo: {
        if (payload.size() < 12) return;
        KernelArgument argument;
        argument.kind = "by_value";
        argument.offset = read_at<std::uint16_t>(payload, 6);
        argument.size = read_at<std::uint32_t>(payload, 8) >> 18;
        kernel->arguments.push_back(std::move(argument));
        return;
      }
      case kAnnotations:
        // A version, then pairs of an address and what is said of it.
        if (payload.size() < 4 || word(0) != 1) return;
        if (!kernel->spills) kernel->spills.emplace();
        for (std::size_t at = 4; at + 8 <= payload.size(); at += 8) {
          if (read_at<std::uint32_t>(payload, at + 4) == kAnnotationSpill) {
            kernel->spills->insert(read_at<std::uint32_t>(payload, at));
          }
        }
        return;
      default:
        return;
    }
  }

  void memory(const ElfSection& section) {
    if (CubinKernel* kernel = named(section.name, ".text.")) {
      kernel->code_bytes = static_cast<std::int64_t>(section.bytes.size());
      // Where .nv.info does not count registers, the section's header does.
      if (!kernel->registers && section.info >> 24 != 0) kernel->registers = section.info >> 24;
      if (!kernel->shared_bytes) kernel->shared_bytes = 0;
    }
    if (CubinKernel* kernel = named(section.name, ".nv.shared.")) {
      if (section.size <= std::uint64_t{1} << 30) {
        const auto size = static_cast<std::int64_t>(section.size);
        const bool counted = linked_ && cubin_.sm >= kDriverSharedFrom;
        const std::int64_t reserved = counted ? kDriverShared : 0;
        kernel->shared_bytes = std::max<std::int64_t>(0, size - reserved);
      }
    }
    if (CubinKernel* kernel = named(section.name, ".nv.constant0.")) {
      kernel->constant_bytes = static_cast<std::int64_t>(section.bytes.size());
    }
    if (section.name == ".note.nv.tkinfo") {
      constexpr std::string_view kRelease = "tools, ";
      const std::size_t at = section.bytes.find(kRelease);
      if (at == std::string_view::npos) return;
      const std::string_view rest = section.bytes.substr(at + kRelease.size());
      cubin_.tool = rest.substr(0, std::min<std::size_t>(rest.find('\0'), 64));
    }
  }

  /// Initialised variables, and constant banks but the parameters' (0): of the object, or of the
  /// kernel whose name stands behind (".nv.constant2.axpy").
  void hash_data() {
    constexpr std::string_view kBank = ".nv.constant";
    std::string shared;
    for (const ElfSection& section : sections_) {
      const bool bank =
          section.name.starts_with(kBank) && !section.name.starts_with(".nv.constant0");
      if (!bank && section.name != ".nv.global.init") continue;
      CubinKernel* kernel = nullptr;
      if (const std::size_t dot = section.name.find('.', kBank.size());
          bank && dot != std::string_view::npos) {
        kernel = named(section.name, section.name.substr(0, dot + 1));
      }
      (kernel == nullptr ? shared : kernel->data) += content_hash(section.bytes);
    }
    for (CubinKernel& kernel : cubin_.kernels) kernel.data = content_hash(shared + kernel.data);
  }

  std::string_view bytes_;
  const std::string& file_;
  std::string prefix_;
  bool linked_ = false;
  Cubin cubin_;
  std::vector<ElfSection> sections_;
  std::unordered_map<std::uint32_t, std::size_t> by_symbol_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace

bool is_cubin(std::string_view bytes) {
  return bytes.starts_with(kElf64) && bytes.size() > 20 && machine_of(bytes) == kMachineCuda;
}

Result<std::vector<ElfSection>> elf_sections(std::string_view bytes, const std::string& file) {
  const auto fail = [&](std::string message) {
    return Error(bad_input(std::move(message)).at({file, 0, 0}));
  };
  if (bytes.size() < kHeaderSize || !bytes.starts_with(kElf64)) {
    return fail("no 64-bit little-endian ELF file");
  }
  const auto table = read_at<std::uint64_t>(bytes, 40);
  const auto entry = read_at<std::uint16_t>(bytes, 58);
  const auto count = read_at<std::uint16_t>(bytes, 60);
  const auto names_index = read_at<std::uint16_t>(bytes, 62);
  if (count == 0) return std::vector<ElfSection>{};
  if (entry < kSectionHeaderSize || table > bytes.size() ||
      (bytes.size() - table) / entry < count) {
    return fail(fmt::format("the ELF file ends after {} bytes; its {} section headers start at {}",
                            bytes.size(), count, table));
  }
  const auto segments = read_at<std::uint64_t>(bytes, 32);
  const std::size_t segment_bytes =
      std::size_t{read_at<std::uint16_t>(bytes, 54)} * read_at<std::uint16_t>(bytes, 56);
  if (segment_bytes > 0 && (segments > bytes.size() || bytes.size() - segments < segment_bytes)) {
    return fail(fmt::format("the ELF file ends after {} bytes; its program headers start at {}",
                            bytes.size(), segments));
  }
  std::vector<ElfSection> sections(count);
  std::vector<std::uint32_t> names(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = static_cast<std::size_t>(table) + i * entry;
    ElfSection& section = sections[i];
    names[i] = read_at<std::uint32_t>(bytes, at);
    section.type = read_at<std::uint32_t>(bytes, at + 4);
    section.flags = read_at<std::uint64_t>(bytes, at + 8);
    const auto offset = read_at<std::uint64_t>(bytes, at + 24);
    section.size = read_at<std::uint64_t>(bytes, at + 32);
    section.link = read_at<std::uint32_t>(bytes, at + 40);
    section.info = read_at<std::uint32_t>(bytes, at + 44);
    if (section.type == kNoBits || section.size == 0) continue;
    if (offset > bytes.size() || section.size > bytes.size() - offset) {
      return fail(fmt::format("the ELF file ends after {} bytes; section {} needs {} from {} on",
                              bytes.size(), i, section.size, offset));
    }
    section.bytes =
        bytes.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(section.size));
  }
  if (names_index < sections.size()) {
    for (std::size_t i = 0; i < count; ++i) {
      sections[i].name = string_at(sections[names_index].bytes, names[i]);
    }
  }
  return sections;
}

Result<Cubin> read_cubin(std::string_view bytes, const std::string& file,
                         const std::string& entry) {
  return Reader(bytes, file, entry.empty() ? std::string() : entry + ": ").run();
}

}  // namespace burnish::isa::nvidia
