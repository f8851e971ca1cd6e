#include "isa/x86_decode.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <initializer_list>

#include "base/text.h"

// Instruction names: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, in the
// AT&T spelling of llvm-objdump (operation suffix, sources before the destination).
namespace burnish::isa::x86 {
namespace {

bool one_of(std::string_view text, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}
bool starts_with(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

std::optional<std::int64_t> number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

Register parse_register(std::string_view text) {
  if (!text.starts_with('%')) return {};
  text.remove_prefix(1);
  const auto numbered = [&](std::string_view prefix, RegisterKind kind, int bits) -> Register {
    if (!text.starts_with(prefix)) return {};
    const auto n = number(text.substr(prefix.size()));
    return n && *n >= 0 && *n < 32 ? Register{kind, static_cast<int>(*n), bits} : Register{};
  };
  for (const auto& [prefix, bits] :
       {std::pair<std::string_view, int>{"zmm", 512}, {"ymm", 256}, {"xmm", 128}}) {
    const Register found = numbered(prefix, RegisterKind::vector, bits);
    if (found.kind != RegisterKind::none) return found;
  }
  if (const Register mask = numbered("k", RegisterKind::mask, 64); mask.number >= 0) return mask;
  if (one_of(text, {"rsp", "esp"})) return {RegisterKind::pointer, 4, 64};
  if (one_of(text, {"rip", "eip"})) return {RegisterKind::pointer, -2, 64};
  constexpr std::array<std::string_view, 8> kLegacy{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
  for (std::size_t i = 0; i < kLegacy.size(); ++i) {
    const auto number_of = static_cast<int>(i);
    if (text.size() == 3 && text.substr(1) == kLegacy[i]) {
      if (text[0] == 'r') return {RegisterKind::general, number_of, 64};
      if (text[0] == 'e') return {RegisterKind::general, number_of, 32};
    }
    if (text == kLegacy[i]) return {RegisterKind::general, number_of, 16};
    const bool low = text.size() == 2 && text[0] == kLegacy[i][0] && i < 4;
    if (low && (text[1] == 'l' || text[1] == 'h')) return {RegisterKind::general, number_of, 8};
    if (text.size() == 3 && text.substr(0, 2) == kLegacy[i] && text[2] == 'l') {
      return {RegisterKind::general, number_of, 8};
    }
  }
  if (text.starts_with('r') && text.size() > 1 &&
      std::isdigit(static_cast<unsigned char>(text[1]))) {
    int bits = 64;
    std::string_view digits = text.substr(1);
    if (digits.ends_with('d')) bits = 32;
    if (digits.ends_with('w')) bits = 16;
    if (digits.ends_with('b')) bits = 8;
    if (bits != 64) digits.remove_suffix(1);
    const auto n = number(digits);
    if (n && *n >= 8 && *n < 32) return {RegisterKind::general, static_cast<int>(*n), bits};
  }
  return {RegisterKind::other, -1, 0};
}

Operand parse_operand(std::string_view text) {
  Operand operand;
  // Decorations: {%k1}, {z}, {1to16}, {rn-sae}.
  const std::size_t brace = text.find('{');
  if (brace != std::string_view::npos) {
    const std::size_t spread = text.find("{1to", brace);
    if (spread != std::string_view::npos) {
      const auto lanes = number(text.substr(spread + 4, text.find('}', spread) - spread - 4));
      operand.memory.broadcast = lanes && *lanes <= 64 ? static_cast<int>(*lanes) : 0;
    }
    text = trim(text.substr(0, brace));
  }
  if (text.starts_with('*')) text.remove_prefix(1);
  if (text.starts_with('$')) {
    operand.kind = Operand::Kind::immediate;
    operand.immediate = number(text.substr(1)).value_or(0);
    return operand;
  }
  if (text.starts_with('%') && text.find('(') == std::string_view::npos &&
      text.find(':') == std::string_view::npos) {
    operand.kind = Operand::Kind::reg;
    operand.reg = parse_register(text);
    return operand;
  }
  if (const std::size_t segment = text.find(':'); segment != std::string_view::npos) {
    text.remove_prefix(segment + 1);
  }
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return operand;
  operand.kind = Operand::Kind::memory;
  // Displacements have 32 bits; what is larger is no disassembly.
  const std::int64_t displacement = number(text.substr(0, open)).value_or(0);
  if (displacement == static_cast<std::int32_t>(displacement)) {
    operand.memory.displacement = displacement;
  }
  const auto parts = split(text.substr(open + 1, text.size() - open - 2), ',');
  if (!parts.empty()) operand.memory.base = parse_register(trim(parts[0]));
  if (parts.size() > 1) operand.memory.index = parse_register(trim(parts[1]));
  if (parts.size() > 2) {
    operand.memory.scale = static_cast<int>(number(trim(parts[2])).value_or(1));
  }
  operand.memory.relative =
      operand.memory.base.kind == RegisterKind::pointer && operand.memory.base.number == -2;
  return operand;
}

std::vector<Operand> parse_operands(std::string_view text) {
  std::vector<Operand> operands;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(' || c == '{') ++depth;
    if (c == ')' || c == '}') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string_view part = trim(text.substr(begin, i - begin));
    // `vcvt… {rn-sae}, %zmm0`: a rounding mode is no operand.
    if (!part.empty() && !part.starts_with('{')) operands.push_back(parse_operand(part));
    begin = i + 1;
  }
  return operands;
}

/// A floating-point name's parts: "mul" and "ps".
struct FloatName {
  std::string_view base;
  int element_bits = 0;
  bool packed = false;
};
std::optional<FloatName> split_float(std::string_view stem) {
  if (stem.size() < 4) return {};
  const std::string_view suffix = stem.substr(stem.size() - 2);
  if (!one_of(suffix, {"ss", "sd", "sh", "ps", "pd", "ph"})) return {};
  FloatName name;
  name.base = stem.substr(0, stem.size() - 2);
  name.packed = suffix[0] == 'p';
  name.element_bits = suffix[1] == 's' ? 32 : suffix[1] == 'd' ? 64 : 16;
  return name;
}

Arithmetic float_arithmetic(std::string_view base) {
  if (starts_with(base, {"fmadd", "fmsub", "fnmadd", "fnmsub"})) return Arithmetic::fused;
  if (base == "mul") return Arithmetic::multiply;
  if (one_of(base, {"add", "sub", "addsub", "hadd", "hsub"})) return Arithmetic::add;
  if (starts_with(base, {"div", "sqrt", "rcp", "rsqrt"})) return Arithmetic::slow_fp;
  if (one_of(base, {"min", "max", "round", "dp", "ucomi", "comi"}) ||
      starts_with(base, {"cmp", "rndscale", "scalef", "getexp", "getmant", "reduce", "range",
                         "fixupimm", "fpclass"})) {
    return Arithmetic::other_fp;
  }
  return Arithmetic::none;
}

bool is_general_name(std::string_view m) {
  return starts_with(
      m, {"add",   "sub",   "imul",  "mul",  "and", "or",   "xor",  "not",  "neg", "sh",
          "sa",    "ro",    "rc",    "lea",  "inc", "dec",  "cmp",  "test", "mov", "cmov",
          "set",   "clt",   "cqt",   "cwt",  "clq", "cqo",  "push", "pop",  "bsf", "bsr",
          "tz",    "lz",    "bt",    "bext", "bl",  "bzhi", "pdep", "pext", "adc", "sbb",
          "xchg",  "bswap", "lahf",  "sahf", "clc", "stc",  "cmc",  "cld",  "std", "leave",
          "enter", "cpuid", "rdtsc", "cbt",  "cdq", "cwd",  "crc32"});
}

bool is_cross_lane(std::string_view stem) {
  return starts_with(stem,
                     {"shuf",      "pshuf",    "perm",      "unpck",      "punpck",   "insert",
                      "extract",   "palignr",  "align",     "movhlps",    "movlhps",  "movddup",
                      "movsldup",  "movshdup", "broadcast", "pbroadcast", "compress", "expand",
                      "pcompress", "pexpand",  "pinsr",     "pextr",      "pslldq",   "psrldq"});
}

/// Bits that a vector instruction moves from or to memory.
int vector_memory_bits(std::string_view stem, const Decoded& d, int widest) {
  const Operand* memory = d.memory();
  if (memory != nullptr && memory->memory.broadcast > 0 && widest > 0) {
    return widest / memory->memory.broadcast;
  }
  if (stem.find("gather") != std::string_view::npos ||
      stem.find("scatter") != std::string_view::npos) {
    return stem.ends_with('d') && !stem.ends_with("pd") ? 32 : stem.ends_with("ps") ? 32 : 64;
  }
  if (starts_with(stem, {"broadcast", "pbroadcast", "insert", "extract", "pinsr", "pextr"})) {
    if (stem.ends_with("128") || stem.ends_with("32x4") || stem.ends_with("64x2")) return 128;
    if (stem.ends_with("32x8") || stem.ends_with("64x4")) return 256;
    if (stem.ends_with("32x2")) return 64;
    if (stem.ends_with('b')) return 8;
    if (stem.ends_with('w')) return 16;
    if (stem.ends_with("sd") || stem.ends_with('q')) return 64;
    return 32;
  }
  if (one_of(stem, {"movss", "movd"})) return 32;
  if (one_of(stem, {"movsd", "movq", "movlps", "movlpd", "movhps", "movhpd"})) return 64;
  if (stem == "movsh" || stem == "movw") return 16;
  if (starts_with(stem, {"pmovzx", "pmovsx"})) {
    const std::string_view pair = stem.substr(6);
    const int ratio = pair == "bq" ? 8 : pair == "bd" || pair == "wq" ? 4 : 2;
    return widest / ratio;
  }
  if (starts_with(stem, {"cvt"})) {
    const bool widens = starts_with(stem, {"cvtps2pd", "cvtdq2pd", "cvtudq2pd", "cvtph2ps"});
    if (widens || stem == "cvtps2ph") return widest / 2;
    if (starts_with(stem, {"cvtss2", "cvttss2"})) return 32;
    if (starts_with(stem, {"cvtsd2", "cvttsd2"})) return 64;
    if (starts_with(stem, {"cvtsi2", "cvtusi2"})) return stem.ends_with('q') ? 64 : 32;
    return widest;
  }
  if (const auto name = split_float(stem); name && !name->packed) return name->element_bits;
  return widest;
}

void classify_vector(std::string_view stem, Decoded& d) {
  int widest = 0;
  bool to_general = false, touches_mask_only = true;
  for (const Operand& operand : d.operands) {
    if (operand.kind != Operand::Kind::reg) continue;
    if (operand.reg.kind == RegisterKind::vector) {
      widest = std::max(widest, operand.reg.bits);
      touches_mask_only = false;
    }
  }
  const Operand* to = d.destination();
  to_general =
      to != nullptr && to->kind == Operand::Kind::reg && to->reg.kind == RegisterKind::general;
  const bool stores = to != nullptr && to->kind == Operand::Kind::memory;
  const bool loads = !stores && d.memory() != nullptr;
  const int bits = vector_memory_bits(stem, d, widest);
  if (loads) d.read_bits = bits;
  if (stores) d.written_bits = bits;
  d.vector_bits = widest;
  d.broadcast = loads && (stem.find("broadcast") != std::string_view::npos ||
                          d.memory()->memory.broadcast > 0);

  if (starts_with(stem, {"gather", "pgather"})) {
    d.instruction_class = "vmem_load";
    d.gather = true;
    return;
  }
  if (starts_with(stem, {"scatter", "pscatter"})) {
    d.instruction_class = "vmem_store";
    d.scatter = true;
    return;
  }
  const bool moves = starts_with(stem, {"mov", "lddqu", "maskmov", "pmaskmov", "lddqu"}) &&
                     !starts_with(stem, {"movmsk", "movddup", "movs", "movhlps", "movlhps"});
  const bool scalar_move = one_of(stem, {"movss", "movsd", "movsh"});
  if (moves || scalar_move || stem.starts_with("kmov")) {
    d.element_access =
        scalar_move || one_of(stem, {"movd", "movq", "movlps", "movlpd", "movhps", "movhpd"});
    d.instruction_class = loads ? "vmem_load" : stores ? "vmem_store" : "other";
    // movhps and scalar moves between registers keep the rest of the destination.
    d.reads_destination = starts_with(stem, {"movh", "movl"}) && loads;
    d.element_access = d.element_access && (loads || stores);
    if (!loads && !stores && to_general) d.instruction_class = "salu";
    return;
  }
  if (touches_mask_only && widest == 0) {
    d.instruction_class = "salu";
    return;
  }
  if (starts_with(stem,
                  {"cvt", "pmovzx", "pmovsx", "pmovus", "pmovd", "pmovq", "pmovw", "pmovs"})) {
    d.instruction_class = "convert";
    return;
  }
  if (is_cross_lane(stem)) {
    const bool element = starts_with(stem, {"pinsr", "insertps"}) && loads;
    d.element_access = element || (starts_with(stem, {"pextr", "extractps"}) && stores);
    d.reads_destination = element && d.operands.size() < 4;
    d.instruction_class = stores        ? "vmem_store"
                          : d.broadcast ? "vmem_load"
                          : to_general  ? "salu"
                                        : "cross_lane";
    return;
  }
  if (const auto name = split_float(stem)) {
    d.arithmetic = float_arithmetic(name->base);
    if (d.arithmetic != Arithmetic::none) {
      d.element_bits = name->element_bits;
      d.packed = name->packed;
      if (!d.packed) d.vector_bits = d.element_bits;
      d.instruction_class = d.arithmetic == Arithmetic::fused ? (d.packed ? "packed_fma" : "fma")
                            : d.arithmetic == Arithmetic::slow_fp ? "sfu"
                            : d.packed                            ? "valu"
                                                                  : "scalar_fp";
      return;
    }
  }
  if (starts_with(stem, {"pdpb", "pdpw", "dpbf16", "pmaddubs", "pmaddwd"})) {
    d.arithmetic = Arithmetic::fused;
    d.packed = true;
    d.element_bits = stem.starts_with("dpbf16") ? 16 : 8;
    d.instruction_class = "packed_fma";
    d.reads_destination = true;
    return;
  }
  if (one_of(stem, {"zeroupper", "zeroall", "ldmxcsr", "stmxcsr"})) {
    d.instruction_class = "other";
    return;
  }
  d.instruction_class = "valu";
  d.packed = true;
  const bool integer =
      stem.starts_with('p') && !starts_with(stem, {"pand", "por", "pxor", "ptest"});
  if (integer) d.arithmetic = Arithmetic::integer;
}

/// Operand size from the mnemonic's suffix or from a register beside the memory operand.
int general_bits(const Decoded& d) {
  const std::string_view m = d.mnemonic;
  if (m.size() == 6 && (m.starts_with("movz") || m.starts_with("movs"))) {
    return m[4] == 'b' ? 8 : m[4] == 'w' ? 16 : 32;  // movzbl, movswq, movslq
  }
  for (const Operand& operand : d.operands) {
    if (operand.kind == Operand::Kind::reg && operand.reg.kind == RegisterKind::general) {
      return operand.reg.bits;
    }
  }
  return m.ends_with('b') ? 8 : m.ends_with('w') ? 16 : m.ends_with('l') ? 32 : 64;
}

void classify_general(Decoded& d, bool locked, bool repeated) {
  const std::string_view m = d.mnemonic;
  const Operand* memory = d.memory();
  const Operand* to = d.destination();
  const bool last_is_memory = to != nullptr && to->kind == Operand::Kind::memory;
  if (memory != nullptr && !starts_with(m, {"lea", "nop", "prefetch", "clflush", "clwb"})) {
    const int bits = general_bits(d);
    const bool only_read = starts_with(m, {"cmp", "test", "push", "jmp", "call", "div", "idiv"}) ||
                           (d.operands.size() == 1 && starts_with(m, {"mul", "imul"}));
    const bool only_written = starts_with(m, {"mov", "set", "pop"});
    if (!last_is_memory || only_read || !only_written) d.read_bits = bits;
    if (last_is_memory && !only_read) d.written_bits = bits;
  }
  const bool exchanges = memory != nullptr && m.starts_with("xchg");
  if (locked || exchanges || starts_with(m, {"cmpxchg", "xadd"})) {
    d.instruction_class = "atomic";
  } else if (repeated || starts_with(m, {"stos", "lods", "scas"})) {
    d.instruction_class = "vmem_store";
  } else if (starts_with(m, {"nop", "endbr", "data16", "xchgw"})) {
    d.instruction_class = "nop";
  } else if (starts_with(m, {"div", "idiv"})) {
    d.instruction_class = "sfu";
  } else if (starts_with(m, {"mov"}) && memory != nullptr) {
    d.instruction_class = last_is_memory ? "vmem_store" : "vmem_load";
  } else if (starts_with(m,
                         {"prefetch", "clflush", "clwb", "lfence", "mfence", "sfence", "pause"})) {
    d.instruction_class = "other";
  } else if (starts_with(m, {"tdp"})) {
    d.instruction_class = "matrix";
  } else if (starts_with(m, {"fld", "fst", "fild", "fist", "fxch", "fnst", "fninit", "fwait"})) {
    d.instruction_class = "other";
  } else if (starts_with(m, {"fsin", "fcos", "fptan", "fpatan", "fsqrt", "fdiv", "fidiv", "f2xm1",
                             "fyl2x", "fprem"})) {
    d.instruction_class = "sfu";
  } else if (starts_with(m,
                         {"fadd", "fiadd", "fsub", "fisub", "fmul", "fimul", "fabs", "fchs", "fcom",
                          "fucom", "fcmov", "ftst", "frndint", "fscale", "fxam", "fxtract"})) {
    d.instruction_class = "scalar_fp";
  } else {
    d.instruction_class = is_general_name(m) ? "salu" : "unknown";
  }
}

/// Jumps, calls and returns; whether it is one.
bool classify_flow(std::string_view operands, Decoded& d) {
  const std::string_view m = d.mnemonic;
  const auto target = [&]() -> std::optional<std::uint64_t> {
    const std::string_view address = operands.substr(0, operands.find(' '));
    const auto value = number(address);
    return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
  };
  if (m.starts_with("call")) {
    d.instruction_class = "call";
    d.flow = {Flow::Kind::call, target()};
  } else if (m.starts_with("jmp")) {
    d.instruction_class = "branch";
    d.flow = {Flow::Kind::branch, target()};
  } else if (m.starts_with('j') || m.starts_with("loop")) {
    d.instruction_class = "branch";
    d.flow = {Flow::Kind::conditional, target()};
  } else if (starts_with(m, {"ret", "ud2", "hlt", "int3", "iret", "syscall"})) {
    d.instruction_class = "branch";
    d.flow = {Flow::Kind::end, {}};
  } else {
    return false;
  }
  return true;
}

}  // namespace

const Operand* Decoded::memory() const {
  const auto found = std::find_if(operands.begin(), operands.end(), [](const Operand& operand) {
    return operand.kind == Operand::Kind::memory;
  });
  return found == operands.end() ? nullptr : &*found;
}

const Operand* Decoded::destination() const {
  return operands.empty() ? nullptr : &operands.back();
}

Decoded decode(std::string_view text, FramePointer frame) {
  Decoded d;
  if (const std::size_t comment = text.find('#'); comment != std::string_view::npos) {
    text = text.substr(0, comment);
  }
  text = trim(text);
  bool locked = false, repeated = false;
  while (true) {
    const std::size_t end = text.find_first_of(" \t");
    const std::string_view word = text.substr(0, end);
    if (!one_of(word,
                {"lock",     "rep",      "repe",  "repne",  "repz",   "repnz", "notrack", "bnd",
                 "data16",   "addr32",   "cs",    "ds",     "es",     "fs",    "gs",      "ss",
                 "xacquire", "xrelease", "{vex}", "{evex}", "{vex3}", "rex64"})) {
      d.mnemonic = word;
      text = end == std::string_view::npos ? std::string_view{} : trim(text.substr(end));
      break;
    }
    locked = locked || word == "lock";
    repeated = repeated || word.starts_with("rep");
    if (end == std::string_view::npos) {
      d.mnemonic = word;
      text = {};
      break;
    }
    text = trim(text.substr(end));
  }
  if (repeated && d.mnemonic.starts_with("ret")) repeated = false;
  if (classify_flow(text, d)) {
    d.operands = parse_operands(text);
    return d;
  }
  d.operands = parse_operands(text);
  const bool vector = std::any_of(d.operands.begin(), d.operands.end(), [](const Operand& operand) {
    return operand.kind == Operand::Kind::reg &&
           (operand.reg.kind == RegisterKind::vector || operand.reg.kind == RegisterKind::mask);
  });
  if (vector || d.mnemonic.starts_with("vzero") || d.mnemonic.ends_with("mxcsr")) {
    std::string_view stem = d.mnemonic;
    const bool three_operand = stem.starts_with('v');
    if (three_operand) stem.remove_prefix(1);
    d.reads_destination = !three_operand;
    classify_vector(stem, d);
    if (d.arithmetic == Arithmetic::fused) d.reads_destination = true;
  } else {
    d.reads_destination = !starts_with(d.mnemonic, {"mov", "lea", "set"});
    classify_general(d, locked, repeated);
  }
  const Operand* memory = d.memory();
  if (memory != nullptr && is_stack_slot(memory->memory, frame)) {
    if (d.instruction_class == "vmem_load") d.instruction_class = "spill_load";
    if (d.instruction_class == "vmem_store") d.instruction_class = "spill_store";
  }
  return d;
}

bool is_stack_slot(const Memory& memory, FramePointer frame) {
  if (memory.index.kind != RegisterKind::none) return false;
  if (memory.base.kind == RegisterKind::pointer) return memory.base.number == 4;
  // Arguments lie above the frame's address.
  return frame == FramePointer::yes && memory.base.kind == RegisterKind::general &&
         memory.base.number == 5 && memory.displacement < 0;
}

int extension(const Decoded& d) {
  if (starts_with(d.mnemonic, {"tdp", "tileload", "tilestore"})) return 4;
  bool vector = false, wide = false;
  for (const Operand& operand : d.operands) {
    if (operand.kind == Operand::Kind::memory && operand.memory.broadcast > 0) return 3;
    if (operand.kind != Operand::Kind::reg) continue;
    if (operand.reg.kind == RegisterKind::mask) return 3;
    if (operand.reg.kind != RegisterKind::vector) continue;
    if (operand.reg.bits == 512 || operand.reg.number >= 16) return 3;
    vector = true;
    wide = wide || operand.reg.bits == 256;
  }
  const std::string_view m = d.mnemonic;
  if (!vector || !m.starts_with('v')) return 0;
  if (starts_with(m, {"vpternlog",    "vpermt2",   "vpermi2",      "vrndscale",    "vgetexp",
                      "vgetmant",     "vscalef",   "vextractf32x", "vextractf64x", "vextracti32x",
                      "vextracti64x", "vpord",     "vporq",        "vpandd",       "vpandq",
                      "vpxord",       "vpxorq",    "vmovdqu8",     "vmovdqu16",    "vmovdqu32",
                      "vmovdqu64",    "vmovdqa32", "vmovdqa64"})) {
    return 3;
  }
  if (starts_with(
          m, {"vfm", "vfnm", "vgather", "vpgather", "vpbroadcast", "vpermd", "vpermq", "vpermps",
              "vpermpd", "vpsllv", "vpsrlv", "vpsrav", "vextracti128", "vinserti128"})) {
    return 2;
  }
  return wide && m.starts_with("vp") && !starts_with(m, {"vpermil", "vperm2f128"}) ? 2 : 1;
}

}  // namespace burnish::isa::x86
