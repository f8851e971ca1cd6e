#include "isa/sass_opcode.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

namespace burnish::isa::nvidia {
namespace {

using Kind = Flow::Kind;

struct Entry {
  std::string_view name;
  std::string_view instruction_class;
  Special special = Special::none;
  Kind flow = Kind::next;
};

/// The opcodes of sm_50 to sm_12x (CUDA Binary Utilities, "Instruction Set Reference", and what the
/// disassemblers print), in alphabetic order.
constexpr auto kOpcodes = std::to_array<Entry>({
    {"ACQBULK", "barrier"},
    {"ACQSHMINIT", "barrier"},
    {"AL2P", "other"},
    {"ALD", "other"},
    {"ARRIVES", "barrier"},
    {"AST", "other"},
    {"ATOM", "atomic"},
    {"ATOMG", "atomic"},
    {"ATOMS", "atomic"},
    {"B2R", "barrier"},
    {"BAR", "barrier"},
    {"BFE", "valu"},
    {"BFI", "valu"},
    {"BGMMA", "matrix", Special::wgmma},
    {"BMMA", "matrix", Special::mma},
    {"BMOV", "other"},
    {"BMSK", "valu"},
    {"BPT", "other"},
    {"BRA", "branch", Special::none, Kind::branch},
    {"BREAK", "branch"},
    {"BREV", "valu"},
    {"BRK", "branch", Special::break_pop, Kind::branch},
    {"BRX", "branch", Special::none, Kind::branch},
    {"BRXU", "branch", Special::none, Kind::branch},
    {"BSSY", "branch"},
    {"BSYNC", "branch"},
    {"CAL", "call", Special::none, Kind::call},
    {"CALL", "call", Special::none, Kind::call},
    {"CCTL", "other"},
    {"CCTLL", "other"},
    {"CCTLT", "other"},
    {"CGAERRBAR", "barrier"},
    {"CLMAD", "valu"},
    {"CONT", "branch", Special::continue_pop, Kind::branch},
    {"CREDUX", "cross_lane"},
    {"CS2R", "other"},
    {"CS2UR", "other"},
    {"CSET", "valu"},
    {"CSETP", "valu"},
    {"DADD", "valu"},
    {"DEPBAR", "wait", Special::depbar},
    {"DFMA", "fma", Special::fma},
    {"DMMA", "matrix", Special::mma},
    {"DMNMX", "valu"},
    {"DMUL", "valu"},
    {"DSET", "valu"},
    {"DSETP", "valu"},
    {"ELECT", "cross_lane"},
    {"ENDCOLLECTIVE", "branch"},
    {"ERRBAR", "barrier"},
    {"EXIT", "branch", Special::none, Kind::end},
    {"F2F", "convert"},
    {"F2FP", "convert"},
    {"F2I", "convert"},
    {"F2IP", "convert"},
    {"FADD", "valu"},
    {"FADD2", "valu"},
    {"FADD32I", "valu"},
    {"FCHK", "valu"},
    {"FCMP", "valu"},
    {"FENCE", "barrier"},
    {"FFMA", "fma", Special::fma},
    {"FFMA2", "packed_fma", Special::fma},
    {"FFMA32I", "fma", Special::fma},
    {"FHADD", "valu"},
    {"FHFMA", "fma", Special::fma},
    {"FLO", "valu"},
    {"FMNMX", "valu"},
    {"FMNMX3", "valu"},
    {"FMUL", "valu"},
    {"FMUL2", "valu"},
    {"FMUL32I", "valu"},
    {"FRND", "convert"},
    {"FSEL", "valu"},
    {"FSET", "valu"},
    {"FSETP", "valu"},
    {"FSWZADD", "valu"},
    {"GENMETADATA", "other"},
    {"GETCRSPTR", "other"},
    {"GETLMEMBASE", "other"},
    {"HADD2", "valu"},
    {"HADD2_32I", "valu"},
    {"HFMA2", "packed_fma", Special::fma},
    {"HFMA2_32I", "packed_fma", Special::fma},
    {"HGMMA", "matrix", Special::wgmma},
    {"HMMA", "matrix", Special::mma},
    {"HMNMX2", "valu"},
    {"HMUL2", "valu"},
    {"HMUL2_32I", "valu"},
    {"HSET2", "valu"},
    {"HSETP2", "valu"},
    {"I2F", "convert"},
    {"I2FP", "convert"},
    {"I2I", "convert"},
    {"I2IP", "convert"},
    {"IABS", "valu"},
    {"IADD", "valu"},
    {"IADD3", "valu"},
    {"IADD32I", "valu"},
    {"ICMP", "valu"},
    {"IDE", "other"},
    {"IDP", "valu"},
    {"IDP4A", "valu"},
    {"IGMMA", "matrix", Special::wgmma},
    {"IMAD", "valu"},
    {"IMAD32I", "valu"},
    {"IMADSP", "valu"},
    {"IMMA", "matrix", Special::mma},
    {"IMNMX", "valu"},
    {"IMUL", "valu"},
    {"IMUL32I", "valu"},
    {"IPA", "other"},
    {"ISBERD", "other"},
    {"ISBEWR", "other"},
    {"ISCADD", "valu"},
    {"ISCADD32I", "valu"},
    {"ISET", "valu"},
    {"ISETP", "valu"},
    {"JCAL", "call", Special::none, Kind::call},
    {"JMP", "branch", Special::none, Kind::branch},
    {"JMX", "branch", Special::none, Kind::branch},
    {"JMXU", "branch", Special::none, Kind::branch},
    {"KIL", "branch", Special::none, Kind::end},
    {"KILL", "branch", Special::none, Kind::end},
    {"LD", "vmem_load", Special::global_load},
    {"LDC", "smem"},
    {"LDCU", "smem"},
    {"LDG", "vmem_load", Special::global_load},
    {"LDGDEPBAR", "wait", Special::async_group},
    {"LDGMC", "vmem_load", Special::global_load},
    {"LDGSTS", "async_copy", Special::async_copy},
    {"LDL", "local_load", Special::local_load},
    {"LDS", "lds_load"},
    {"LDSM", "lds_load"},
    {"LDT", "accum_move"},
    {"LDTM", "accum_move"},
    {"LDTRAM", "other"},
    {"LEA", "valu"},
    {"LEPC", "other"},
    {"LONGJMP", "branch", Special::none, Kind::branch},
    {"LOP", "valu"},
    {"LOP3", "valu"},
    {"LOP32I", "valu"},
    {"MAPA", "valu"},
    {"MATCH", "cross_lane"},
    {"MEMBAR", "barrier"},
    {"MOV", "valu"},
    {"MOV32I", "valu"},
    {"MOVM", "cross_lane"},
    {"MUFU", "sfu"},
    {"NANOSLEEP", "wait"},
    {"NANOTRAP", "other"},
    {"NOP", "nop", Special::nop},
    {"OMMA", "matrix", Special::mma},
    {"OUT", "other"},
    {"P2R", "valu"},
    {"PBK", "branch", Special::break_push},
    {"PCNT", "branch", Special::continue_push},
    {"PEXIT", "branch"},
    {"PIXLD", "other"},
    {"PLONGJMP", "branch"},
    {"PLOP3", "valu"},
    {"PMTRIG", "other"},
    {"POPC", "valu"},
    {"PREEXIT", "barrier"},
    {"PRET", "branch"},
    {"PRMT", "valu"},
    {"PSET", "valu"},
    {"PSETP", "valu"},
    {"QGMMA", "matrix", Special::wgmma},
    {"QMMA", "matrix", Special::mma},
    {"QSPC", "valu"},
    {"R2B", "barrier"},
    {"R2P", "valu"},
    {"R2UR", "salu"},
    {"RAM", "other"},
    {"RED", "atomic"},
    {"REDAS", "atomic"},
    {"REDG", "atomic"},
    {"REDUX", "cross_lane"},
    {"RET", "branch", Special::none, Kind::end},
    {"RPCMOV", "other"},
    {"RRO", "sfu"},
    {"RTT", "branch", Special::none, Kind::end},
    {"S2R", "other"},
    {"S2UR", "other"},
    {"SAM", "other"},
    {"SEL", "valu"},
    {"SETCTAID", "other"},
    {"SETLMEMBASE", "other"},
    {"SGXT", "valu"},
    {"SHF", "valu"},
    {"SHFL", "cross_lane"},
    {"SHL", "valu"},
    {"SHR", "valu"},
    {"SPMETADATA", "other"},
    {"SSY", "branch", Special::sync_push},
    {"ST", "vmem_store"},
    {"STAS", "lds_store"},
    {"STG", "vmem_store"},
    {"STL", "local_store", Special::local_store},
    {"STP", "other"},
    {"STS", "lds_store"},
    {"STSM", "lds_store"},
    {"STT", "accum_move"},
    {"STTM", "accum_move"},
    {"SUATOM", "atomic"},
    {"SULD", "vmem_load", Special::global_load},
    {"SUQUERY", "other"},
    {"SURED", "atomic"},
    {"SUST", "vmem_store"},
    {"SYNC", "branch", Special::sync_pop, Kind::branch},
    {"SYNCS", "barrier"},
    {"TEX", "vmem_load", Special::global_load},
    {"TEXS", "vmem_load", Special::global_load},
    {"TLD", "vmem_load", Special::global_load},
    {"TLD4", "vmem_load", Special::global_load},
    {"TLD4S", "vmem_load", Special::global_load},
    {"TLDS", "vmem_load", Special::global_load},
    {"TMML", "other"},
    {"TXA", "other"},
    {"TXD", "vmem_load", Special::global_load},
    {"TXQ", "other"},
    {"UBLKCP", "async_copy", Special::tma_load},
    {"UBLKPF", "async_copy"},
    {"UBLKRED", "async_copy", Special::tma_store},
    {"UBMSK", "salu"},
    {"UBREV", "salu"},
    {"UCGABAR_ARV", "barrier"},
    {"UCGABAR_WAIT", "barrier"},
    {"UCLEA", "salu"},
    {"UF2F", "salu"},
    {"UF2FP", "salu"},
    {"UF2I", "salu"},
    {"UF2IP", "salu"},
    {"UFADD", "salu"},
    {"UFFMA", "salu"},
    {"UFLO", "salu"},
    {"UFMNMX", "salu"},
    {"UFMUL", "salu"},
    {"UFRND", "salu"},
    {"UFSEL", "salu"},
    {"UFSET", "salu"},
    {"UFSETP", "salu"},
    {"UGETNEXTWORKID", "other"},
    {"UI2F", "salu"},
    {"UI2FP", "salu"},
    {"UI2I", "salu"},
    {"UI2IP", "salu"},
    {"UIABS", "salu"},
    {"UIADD3", "salu"},
    {"UIMAD", "salu"},
    {"UIMNMX", "salu"},
    {"UISETP", "salu"},
    {"ULDC", "smem"},
    {"ULEA", "salu"},
    {"ULEPC", "other"},
    {"ULOP", "salu"},
    {"ULOP3", "salu"},
    {"ULOP32I", "salu"},
    {"UMEMSETS", "lds_store"},
    {"UMOV", "salu"},
    {"UP2UR", "salu"},
    {"UPLOP3", "salu"},
    {"UPOPC", "salu"},
    {"UPRMT", "salu"},
    {"UPSETP", "salu"},
    {"UR2UP", "salu"},
    {"UREDGR", "atomic"},
    {"USEL", "salu"},
    {"USETMAXREG", "other"},
    {"USETSHMSZ", "other"},
    {"USGXT", "salu"},
    {"USHF", "salu"},
    {"USHL", "salu"},
    {"USHR", "salu"},
    {"USTGR", "vmem_store"},
    {"UTCATOMSWS", "other"},
    {"UTCBAR", "barrier"},
    {"UTCCP", "async_copy"},
    {"UTCHMMA", "matrix", Special::tcgen05},
    {"UTCIMMA", "matrix", Special::tcgen05},
    {"UTCMXQMMA", "matrix", Special::tcgen05},
    {"UTCOMMA", "matrix", Special::tcgen05},
    {"UTCQMMA", "matrix", Special::tcgen05},
    {"UTCSHIFT", "other"},
    {"UTMACCTL", "other"},
    {"UTMACMDFLUSH", "wait"},
    {"UTMALDG", "async_copy", Special::tma_load},
    {"UTMALST", "async_copy", Special::tma_store},
    {"UTMAPF", "async_copy"},
    {"UTMAREDG", "async_copy", Special::tma_store},
    {"UTMASTG", "async_copy", Special::tma_store},
    {"UVIADD", "salu"},
    {"UVIMNMX", "salu"},
    {"UVIRTCOUNT", "other"},
    {"VABSDIFF", "valu"},
    {"VABSDIFF4", "valu"},
    {"VADD", "valu"},
    {"VHMNMX", "valu"},
    {"VIADD", "valu"},
    {"VIADDMNMX", "valu"},
    {"VIMNMX", "valu"},
    {"VIMNMX3", "valu"},
    {"VMAD", "valu"},
    {"VMNMX", "valu"},
    {"VOTE", "cross_lane"},
    {"VOTEU", "cross_lane"},
    {"VOTE_VTG", "cross_lane"},
    {"VSET", "valu"},
    {"VSETP", "valu"},
    {"VSHL", "valu"},
    {"VSHR", "valu"},
    {"WARPGROUP", "wait"},
    {"WARPGROUPSET", "other"},
    {"WARPSYNC", "barrier"},
    {"XMAD", "valu"},
    {"YIELD", "other"},
});

constexpr bool ascending() {
  for (std::size_t i = 1; i < kOpcodes.size(); ++i) {
    if (!(kOpcodes[i - 1].name < kOpcodes[i].name)) return false;
  }
  return true;
}
static_assert(ascending());

std::string_view cross_lane_kind(std::string_view name) {
  if (name == "SHFL" || name == "MOVM") return "shuffle";
  if (name == "REDUX" || name == "CREDUX") return "redux";
  return "vote";
}

/// Shapes are written m, n, k without anything between.
std::string_view warp_shape(std::string_view digits) {
  struct Shape {
    std::string_view digits, shape;
  };
  static constexpr auto kShapes = std::to_array<Shape>({{"884", "8x8x4"},
                                                        {"8816", "8x8x16"},
                                                        {"8832", "8x8x32"},
                                                        {"88128", "8x8x128"},
                                                        {"1684", "16x8x4"},
                                                        {"1688", "16x8x8"},
                                                        {"16816", "16x8x16"},
                                                        {"16832", "16x8x32"},
                                                        {"16864", "16x8x64"},
                                                        {"168128", "16x8x128"},
                                                        {"168256", "16x8x256"}});
  for (const Shape& shape : kShapes) {
    if (shape.digits == digits) return shape.shape;
  }
  return {};
}

bool is_type(std::string_view word) {
  static constexpr auto kTypes =
      std::to_array<std::string_view>({"BF16", "TF32", "F64", "S8", "U8", "S4", "U4", "B1", "E4M3",
                                       "E5M2", "E3M2", "E2M3", "E2M1"});
  return std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end();
}

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string matrix_shape(std::string_view name, const std::vector<std::string_view>& modifiers) {
  // What these multiply is in a descriptor, not in the instruction.
  if (name.starts_with("UTC")) return lower(name);
  std::string shape;
  std::string first, second;
  bool sparse = false;
  for (const std::string_view word : modifiers) {
    if (word.empty()) continue;
    if (std::isdigit(static_cast<unsigned char>(word.front()))) {
      if (word.find('x') != std::string_view::npos) {
        shape = word;
      } else if (const std::string_view known = warp_shape(word); !known.empty()) {
        shape = known;
      }
    } else if (word == "SP") {
      sparse = true;
    } else if (is_type(word)) {
      (first.empty() ? first : second) = lower(word);
    }
  }
  if (shape.empty()) shape = "unknown";
  if (first.empty()) {
    switch (name.front()) {
      case 'D':
        first = "f64";
        break;
      case 'B':
        first = "b1";
        break;
      case 'H':
        first = "f16";
        break;
      default:
        break;
    }
  }
  if (!first.empty()) shape += ' ' + first;
  if (!second.empty() && second != first) shape += '*' + second;
  if (sparse) shape += " sparse";
  return shape;
}

/// Bits that a lane moves, by the modifiers of a load or store.
int width_of(std::string_view name, const std::vector<std::string_view>& modifiers) {
  if (name == "LDSM" || name == "STSM") {
    for (const std::string_view word : modifiers) {
      if (word == "2") return 64;
      if (word == "4") return 128;
    }
    return 32;
  }
  for (const std::string_view word : modifiers) {
    if (word == "U8" || word == "S8") return 8;
    if (word == "U16" || word == "S16") return 16;
    if (word == "64") return 64;
    if (word == "96") return 96;
    if (word == "128") return 128;
    if (word == "256") return 256;
  }
  return 32;
}

bool has_width(std::string_view name) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"LD", "LDC", "LDCU", "LDG", "LDGMC", "LDGSTS", "LDL", "LDS", "LDSM", "ST", "STAS", "STG",
       "STL", "STS", "STSM", "ULDC", "USTGR"});
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::size_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

constexpr std::size_t kPage = 256;

}  // namespace

Opcode classify(std::string_view mnemonic) {
  Opcode opcode;
  opcode.mnemonic = mnemonic;
  std::vector<std::string_view> modifiers;
  std::string_view name = mnemonic.substr(0, mnemonic.find('.'));
  for (std::size_t at = name.size(); at < mnemonic.size() && modifiers.size() < 16;) {
    const std::size_t end = std::min(mnemonic.find('.', at + 1), mnemonic.size());
    modifiers.push_back(mnemonic.substr(at + 1, end - at - 1));
    at = end;
  }
  const auto has = [&](std::string_view word) {
    return std::find(modifiers.begin(), modifiers.end(), word) != modifiers.end();
  };
  const auto entry =
      std::lower_bound(kOpcodes.begin(), kOpcodes.end(), name,
                       [](const Entry& one, std::string_view wanted) { return one.name < wanted; });
  if (entry == kOpcodes.end() || entry->name != name) {
    opcode.instruction_class = "unknown";
    return opcode;
  }
  opcode.instruction_class = entry->instruction_class;
  opcode.special = entry->special;
  opcode.flow = entry->flow;
  if (opcode.instruction_class == "cross_lane") opcode.cross_lane = cross_lane_kind(name);
  if (opcode.instruction_class == "matrix") opcode.matrix_shape = matrix_shape(name, modifiers);
  if (has_width(name)) opcode.width_bits = width_of(name, modifiers);
  opcode.last_use = has("LU");
  if (name == "SYNCS" && has("PHASECHK")) opcode.special = Special::mbarrier_try;
  if (name == "WARPGROUP" && has("DEPBAR")) opcode.special = Special::wgmma_wait;
  // Copies in bulk say where to and where from: S is shared, G global memory.
  if (name == "UBLKCP" && has("G") && has("S") && !modifiers.empty() && modifiers.front() == "G") {
    opcode.special = Special::tma_store;
  }
  return opcode;
}

Opcodes::Opcodes() : slots_(1024, 0) {}

void Opcodes::grow() {
  std::vector<std::uint32_t> slots(slots_.size() * 2, 0);
  for (std::size_t i = 0; i < opcodes_.size(); ++i) {
    std::size_t slot = hash_of(opcodes_[i]->mnemonic) & (slots.size() - 1);
    while (slots[slot] != 0) slot = (slot + 1) & (slots.size() - 1);
    slots[slot] = static_cast<std::uint32_t>(i) + 1;
  }
  slots_ = std::move(slots);
}

const Opcode& Opcodes::find(std::string_view mnemonic) {
  std::size_t slot = hash_of(mnemonic) & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const Opcode& known = *opcodes_[slots_[slot] - 1];
    if (known.mnemonic == mnemonic) return known;
  }
  if (pages_.empty() || pages_.back().size() == kPage) {
    pages_.emplace_back();
    pages_.back().reserve(kPage);
  }
  pages_.back().push_back(classify(mnemonic));
  opcodes_.push_back(&pages_.back().back());
  slots_[slot] = static_cast<std::uint32_t>(opcodes_.size());
  if (opcodes_.size() * 2 > slots_.size()) grow();
  return *opcodes_.back();
}

}  // namespace burnish::isa::nvidia
