#include "isa/amd_opcode.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

namespace burnish::isa::amd {
namespace {

// Mnemonics are words joined by underscores: an operation, and then types and variants. A mnemonic
// is known when its first word is in the table of its unit and all others are in the vocabulary, so
// that new combinations of known words are still understood and new words are reported as unknown.
// Words from LLVM 22's assembler tables for gfx900 to gfx1251.

/// Words that follow an operation: types, widths, variants.
constexpr std::string_view kVariants =
    "b1 b4 b6 b8 b16 b32 b64 b96 b128 b256 b512 f4 f16 f32 f64 bf16 fp4 fp6 fp8 bf6 bf8 xf32 "
    "f8f6f4 "
    "i4 i8 i16 i24 i32 i64 u4 u8 u16 u24 u32 u64 iu4 iu8 bf16f32 ubyte0 ubyte1 ubyte2 ubyte3 "
    "pk pk4 pk8 pk16 pk32 2xpk16 sr scale scale16 scalef32 paired co ci nc hi lo hh hl lh ll "
    "legacy num "
    "dx9 zero rtz norm off rpi flr floor nearest pkaccum pknorm pkrtz clamp iflag fixup fmas exp "
    "mant "
    "preop id ma sc tc mix mixhi mixlo hadd "
    "f t lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru ne class "
    "add sub max min lshl or and xor mul shl mov "
    "fi swap var bcast down up idx gen p1 p2 p10 p1ll p1lv ld 1k saveexec wrexec not0 not1 "
    "2 pc vgpr barrier state named shader cycles waveid in workgroup partition 4se dp gfx1250 "
    "fake16 t16";

/// VALU operations by class.
constexpr std::string_view kVector =
    "add add3 addc alignbit alignbyte and ashr ashrrev bcnt bfe bfi bfm bfrev bitop2 bitop3 ceil "
    "clrexcp "
    "cls clz cmp cmpx cmps cmpsx cndmask ctz cubeid cubema cubesc cubetc div ffbh ffbl floor fract "
    "frexp ldexp lerp lshl lshlrev lshr lshrrev max max3 maximum maximum3 maximumminimum maxmin "
    "mbcnt "
    "med3 min min3 minimum minimum3 minimummaximum minmax mov movreld movrels movrelsd mqsad msad "
    "mul "
    "mullit not or or3 pack perm prng qsad rndne sad sub subb subbrev subrev swap swaprel trunc "
    "xad "
    "xnor xor xor3 screen interp";
constexpr std::string_view kFusedMultiply = "fma fmac fmaak fmamk mac madak madmk";
constexpr std::string_view kDotProducts = "dot2 dot2acc dot2c dot4 dot4c dot8 dot8c";
constexpr std::string_view kConversions = "cvt sat";
constexpr std::string_view kSpecialFunctions = "exp log rcp rsq sqrt sin cos tanh trig";
constexpr std::string_view kMatrix = "mfma smfmac wmma swmmac";
constexpr std::string_view kLanePermutes = "permlane permlane16 permlanex16 permlane32 permlane64";
/// Scalar operations.
constexpr std::string_view kScalarWords =
    "abs absdiff add addc addk and andn1 andn2 ashr bcnt0 bcnt1 bfe bfm bitcmp0 bitcmp1 "
    "bitreplicate "
    "bitset0 bitset1 brev ceil cls clz cmov cmovk cmp cmpk cselect ctz cvt ff0 ff1 flbit floor "
    "fmaak "
    "fmac fmamk getpc getreg lshl lshl1 lshl2 lshl3 lshl4 lshr max maximum min minimum mov movk "
    "movreld "
    "movrels movrelsd mul mulk nand nor not or orn1 orn2 pack quadmask rndne setreg sext sub subb "
    "trunc wqm xnor xor alloc get imm32";
/// Scalar instructions that compute nothing: hints, modes, messages, caches.
constexpr std::string_view kScalarControl =
    "delay clause sleep setprio sethalt setkill sendmsg sendmsghalt trap icache incperflevel "
    "decperflevel ttracedata inst set setvskip round denorm code version wakeup gl1 monitor dcache "
    "atc prefetch";

class Words {
 public:
  explicit Words(std::initializer_list<std::string_view> lists) {
    for (std::string_view list : lists) {
      while (!list.empty()) {
        const std::size_t end = list.find(' ');
        words_.insert(list.substr(0, end));
        list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
      }
    }
  }
  bool has(std::string_view word) const { return words_.contains(word); }

 private:
  std::unordered_set<std::string_view> words_;
};

struct Vocabulary {
  Words vector{kVector};
  Words fused{kFusedMultiply};
  Words dot{kDotProducts};
  Words convert{kConversions};
  Words special{kSpecialFunctions};
  Words matrix{kMatrix};
  Words permute{kLanePermutes};
  Words scalar{kScalarWords};
  Words control{kScalarControl};
  Words variants{kVariants, kVector, kFusedMultiply, kScalarWords};
};

const Vocabulary& vocabulary() {
  static const Vocabulary words;
  return words;
}

/// Takes the next word off a mnemonic.
std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('_'), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

bool all_known(std::string_view rest, const Words& words) {
  while (!rest.empty()) {
    if (!words.has(next_word(rest))) return false;
  }
  return true;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool has_word(std::string_view rest, std::string_view word) {
  while (!rest.empty()) {
    if (next_word(rest) == word) return true;
  }
  return false;
}

/// Bits of a width word of memory instructions, old spelling and new; 0: it is none.
int width_of(std::string_view word) {
  struct Width {
    std::string_view word;
    int bits;
  };
  static constexpr std::array kWidths{
      Width{"byte", 8},      Width{"ubyte", 8},  Width{"sbyte", 8},      Width{"b8", 8},
      Width{"u8", 8},        Width{"i8", 8},     Width{"short", 16},     Width{"ushort", 16},
      Width{"sshort", 16},   Width{"b16", 16},   Width{"u16", 16},       Width{"i16", 16},
      Width{"dword", 32},    Width{"b32", 32},   Width{"dwordx2", 64},   Width{"b64", 64},
      Width{"dwordx3", 96},  Width{"b96", 96},   Width{"dwordx4", 128},  Width{"b128", 128},
      Width{"dwordx8", 256}, Width{"b256", 256}, Width{"dwordx16", 512}, Width{"b512", 512},
      Width{"x", 32},        Width{"xy", 64},    Width{"xyz", 96},       Width{"xyzw", 128},
      Width{"u32", 32},      Width{"u64", 64},   Width{"i32", 32},       Width{"i64", 64},
      Width{"f32", 32},      Width{"f64", 64},   Width{"f16", 32},       Width{"bf16", 32}};
  for (const Width& each : kWidths) {
    if (each.word == word) return each.bits;
  }
  return 0;
}

const Words& memory_words() {
  static const Words words{
      "lds dword dwordx2 dwordx3 dwordx4 dwordx8 dwordx16 byte ubyte sbyte short ushort sshort b8 "
      "b16 "
      "b32 b64 b96 b128 b256 b512 u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64 bf16 d16 hi format x "
      "xy xyz "
      "xyzw addtid tr tr4 tr6 tr8 tr16 b4 b6 b16 monitor block async to from tensor d2 "
      "add sub and or xor swap cmpswap inc dec smax smin umax umin max min fmax fmin fcmpswap csub "
      "num "
      "cond clamp pk x2 ordered data pc rel inst buffer 2addr stride64 rtn src2"};
  return words;
}

/// What follows "load", "store" or "atomic" of a memory instruction.
void memory_access(std::string_view rest, Opcode& opcode) {
  if (!all_known(rest, memory_words())) {
    opcode.instruction_class = "unknown";
    opcode.events = 0;
    return;
  }
  const bool d16 = has_word(rest, "d16");
  const bool format = has_word(rest, "format");
  while (!rest.empty()) {
    const std::string_view word = next_word(rest);
    if (word == "lds") {
      opcode.instruction_class = "async_copy";
      opcode.events = kVectorLoad;  // the vector counter, unlike the asynchronous ones of gfx125x
    }
    if (word == "async") {
      opcode.instruction_class = "async_copy";
      opcode.events = kAsync;
    }
    if (word == "x2" && opcode.access == Access::atomic) opcode.width_bits = 64;
    if (const int bits = width_of(word); bits > 0) opcode.width_bits = bits;
  }
  if (d16 && format) opcode.width_bits /= 2;
  if (opcode.access == Access::atomic && opcode.width_bits == 0) opcode.width_bits = 32;
}

void vector_memory(Space space, std::string_view rest, Opcode& opcode) {
  opcode.space = space;
  const std::string_view word = next_word(rest);
  if (word == "load") {
    opcode.access = Access::load;
    opcode.instruction_class = "vmem_load";
    opcode.events = kVectorLoad;
    memory_access(rest, opcode);
    opcode.writes_first = opcode.instruction_class == "vmem_load";
  } else if (word == "store") {
    opcode.access = Access::store;
    opcode.instruction_class = "vmem_store";
    opcode.events = kVectorStore;
    memory_access(rest, opcode);
    // A copy out of LDS is no load, and widths of class async_copy count as loads.
    if (opcode.instruction_class == "async_copy") opcode.width_bits = 0;
  } else if (word == "atomic") {
    opcode.access = Access::atomic;
    opcode.instruction_class = "atomic";
    opcode.events = kVectorStore;
    memory_access(rest, opcode);
  } else if (word == "wbl2" || word == "inv" || word == "invl2" || word == "wbinvl1" ||
             word == "wb" || word == "wbinv" || word == "gl0" || word == "gl1" ||
             word == "prefetch") {
    opcode.instruction_class = "other";
  }
  if (space == Space::flat && opcode.events != 0) opcode.events |= kShared;
}

void shared_memory(std::string_view rest, Opcode& opcode) {
  opcode.space = Space::shared;
  opcode.events = kShared;
  std::string_view word = next_word(rest);
  const auto sized = [&](Access access, std::string_view name, int times) {
    opcode.access = access;
    opcode.instruction_class = name;
    memory_access(rest, opcode);
    opcode.width_bits *= times;
    opcode.writes_first = access == Access::load;
  };
  const int times =
      word.ends_with('2') || word.ends_with("2st64") || has_word(rest, "2addr") ? 2 : 1;
  if (word == "read" || word == "read2" || word == "read2st64" || word == "load") {
    // ds_read_b64_tr_b16 moves 64 bits; the second type is what it transposes.
    const std::size_t transposed = rest.find("_tr_b");
    if (transposed != std::string_view::npos) rest = rest.substr(0, transposed);
    sized(Access::load, "lds_load", times);
  } else if (word == "write" || word == "write2" || word == "write2st64" || word == "store") {
    sized(Access::store, "lds_store", times);
  } else if (word == "bpermute" || word == "permute" || word == "swizzle") {
    opcode.instruction_class = "cross_lane";
    opcode.special = word == "bpermute"  ? Special::bpermute
                     : word == "permute" ? Special::permute
                                         : Special::swizzle;
    opcode.writes_first = true;
  } else if (word == "nop") {
    opcode.instruction_class = "nop";
    opcode.events = 0;
  } else if (word == "gws" || word == "ordered" || word == "bvh" || word == "param" ||
             word == "direct") {
    opcode.instruction_class = "other";
  } else {
    static const Words atomics{
        "add sub rsub inc dec min max and or xor mskor wrxchg wrxchg2 wrxchg2st64 cmpst cmpstore "
        "storexchg append consume pk cond wrap condxchg32 atomic"};
    static const Words variants{
        "add rtn num sub clamp u32 u64 i32 i64 b32 b64 f32 f64 f16 bf16 src2 gs reg 2addr stride64 "
        "async barrier arrive"};
    if (!atomics.has(word) || !all_known(rest, variants)) {
      opcode.events = 0;
      return;
    }
    opcode.access = Access::atomic;
    opcode.instruction_class = "atomic";
    opcode.writes_first = has_word(rest, "rtn") || word == "append" || word == "consume";
    while (!rest.empty()) {
      if (const int bits = width_of(next_word(rest)); bits > 0) opcode.width_bits = bits;
    }
  }
}

void image(std::string_view rest, Opcode& opcode) {
  opcode.space = Space::image;
  const std::string_view word = next_word(rest);
  if (word == "load" || word == "get" || word == "msaa") {
    opcode.instruction_class = "vmem_load";
    opcode.access = Access::load;
    opcode.events = kVectorLoad;
    opcode.writes_first = true;
  } else if (word == "sample" || word == "gather4" || word == "gather4h" || word == "bvh" ||
             word == "bvh64" || word == "bvh8" || word == "bvh8_intersect_ray") {
    opcode.instruction_class = "vmem_load";
    opcode.access = Access::load;
    opcode.events = kSample;
    opcode.writes_first = true;
  } else if (word == "store") {
    opcode.instruction_class = "vmem_store";
    opcode.access = Access::store;
    opcode.events = kVectorStore;
  } else if (word == "atomic") {
    opcode.instruction_class = "atomic";
    opcode.access = Access::atomic;
    opcode.events = kVectorStore;
  }
}

/// "f32_32x32x8f16", "f32_16x16x4_4b_f16", "scale_f32_16x16x128_f8f6f4" → "32x32x8 f16".
std::string shape_of(std::string_view rest) {
  std::string shape;
  std::string types;
  while (!rest.empty()) {
    const std::string_view word = next_word(rest);
    if (shape.empty()) {
      if (word.empty() || !is_digit(word[0]) || word.find('x') == std::string_view::npos) continue;
      // The old spelling joins the last size and the type: "32x32x8f16", "16x16x8xf32".
      std::size_t end = 0;
      while (end < word.size() &&
             (is_digit(word[end]) ||
              (word[end] == 'x' && end + 1 < word.size() && is_digit(word[end + 1])))) {
        ++end;
      }
      shape = word.substr(0, end);
      types = word.substr(end);
      continue;
    }
    // "_4b" is the number of blocks, "_1k" a version.
    if (word == "1k" || (word.size() >= 2 && is_digit(word[0]) && word.back() == 'b')) continue;
    if (!types.empty()) types += '_';
    types += word;
  }
  return types.empty() ? shape : shape + ' ' + types;
}

void vector_operation(std::string_view rest, Opcode& opcode) {
  const Vocabulary& words = vocabulary();
  opcode.vector = true;
  opcode.writes_first = true;
  std::string_view after = rest;
  std::string_view word = next_word(after);
  if (word == "dual") {
    opcode.dual = true;
    word = next_word(after);
  } else if (word == "pk") {
    opcode.packed = true;
    word = next_word(after);
  } else if (word == "s" && words.special.has(after.substr(0, after.find('_')))) {
    word = next_word(after);  // v_s_exp_f32: on a scalar
  }
  if (words.matrix.has(word)) {
    opcode.matrix_shape = shape_of(after);
    if (opcode.matrix_shape.empty()) {  // v_mfma_ld_scale_b32
      opcode.instruction_class = "valu";
    } else {
      opcode.instruction_class = "matrix";
      opcode.special = Special::matrix;
    }
    return;
  }
  if (word == "accvgpr") {
    opcode.instruction_class = "accum_move";
    const std::string_view what = next_word(after);
    opcode.special = what == "read" ? Special::accum_read : Special::accum_write;
    if (what == "mov") opcode.special = Special::move;
    return;
  }
  if (!all_known(after, words.variants)) {
    opcode.vector = false;
    return;
  }
  const bool floating = has_word(after, "f16") || has_word(after, "f32") ||
                        has_word(after, "f64") || has_word(after, "bf16");
  if (word == "readlane" || word == "readfirstlane" || word == "writelane") {
    opcode.instruction_class = "cross_lane";
    opcode.special = word == "readlane"        ? Special::readlane
                     : word == "readfirstlane" ? Special::readfirstlane
                                               : Special::writelane;
  } else if (words.permute.has(word)) {
    opcode.instruction_class = "cross_lane";
    opcode.special = Special::permlane;
  } else if (words.fused.has(word) || (word == "mad" && floating)) {
    opcode.instruction_class = opcode.packed ? "packed_fma" : "fma";
  } else if (words.dot.has(word)) {
    opcode.instruction_class = "packed_fma";
  } else if (words.convert.has(word)) {
    opcode.instruction_class = "convert";
  } else if (words.special.has(word)) {
    opcode.instruction_class = "sfu";
  } else if (word == "nop") {
    opcode.instruction_class = "nop";
    opcode.special = Special::nop;
    opcode.writes_first = false;
  } else if (word == "illegal" || word == "pipeflush") {
    opcode.instruction_class = "other";
    opcode.writes_first = false;
  } else if (words.vector.has(word) || word == "mad") {
    opcode.instruction_class = "valu";
    if (word == "mov" || word == "perm" || word == "pack" || word == "swap" || word == "and" ||
        word == "or" || word == "or3" || word == "lshlrev" || word == "lshrrev" ||
        word == "alignbit" || word == "alignbyte" || word == "bfi" || word == "bfe" ||
        (word == "lshl" && has_word(after, "or"))) {
      opcode.special = Special::move;
    }
    if (word == "mbcnt") opcode.special = Special::lane_id;
    if (word.starts_with("cmp")) opcode.special = Special::compare;
  } else {
    opcode.vector = false;
    opcode.writes_first = false;
  }
}

void scalar_branch(std::string_view word, std::string_view rest, Opcode& opcode) {
  opcode.instruction_class = "branch";
  if (word == "branch") {
    opcode.flow = Flow::Kind::branch;
  } else if (word == "cbranch" || word == "subvector") {
    opcode.flow = Flow::Kind::conditional;
  } else if (word == "setpc" || word == "set" || word == "rfe" || word == "add") {
    opcode.flow = Flow::Kind::branch;  // to where a register says
  } else if (word == "swappc" || word == "swap" || word == "call") {
    opcode.flow = Flow::Kind::call;
  }
  static const Words known{
      "scc0 scc1 vccz vccnz execz execnz cdbgsys cdbguser and or user i g fork join pad s nop b64 "
      "i64 pc "
      "restore loop begin end"};
  if (!all_known(rest, known)) opcode.instruction_class = "unknown";
}

void scalar_operation(std::string_view rest, Opcode& opcode) {
  const Vocabulary& words = vocabulary();
  std::string_view after = rest;
  const std::string_view word = next_word(after);
  if (word == "nop" || word == "nops") {
    opcode.instruction_class = "nop";
    opcode.special = Special::nop;
  } else if (word == "waitcnt" || word == "wait") {
    static const Words known{
        "alu asynccnt bvhcnt dscnt event export ready expcnt idle kmcnt loadcnt samplecnt storecnt "
        "tensorcnt xcnt depctr lgkmcnt vmcnt vscnt"};
    if (!all_known(after, known)) return;
    opcode.instruction_class = "wait";
    opcode.special = Special::wait;
  } else if (word == "barrier" || word == "cluster") {
    // A split barrier counts once, where it waits.
    const std::string_view what = next_word(after);
    opcode.instruction_class =
        what == "signal" || what == "init" || what == "join" || what == "leave" ? "other"
                                                                                : "barrier";
  } else if (word == "endpgm") {
    opcode.instruction_class = "other";
    opcode.flow = Flow::Kind::end;
  } else if (word == "branch" || word == "cbranch" || word == "setpc" || word == "swappc" ||
             word == "call" || word == "rfe" || word == "subvector" || rest.starts_with("set_pc") ||
             rest.starts_with("swap_pc") || rest.starts_with("add_pc")) {
    scalar_branch(word, after, opcode);
  } else if (word == "load" || word == "store" || word == "buffer" || word == "scratch" ||
             word == "atomic") {
    std::string_view what = word;
    if (word == "buffer" || word == "scratch") what = next_word(after);
    if (what == "prefetch") {
      opcode.instruction_class = "other";
      return;
    }
    if (what != "load" && what != "store" && what != "atomic") return;
    opcode.space = Space::scalar;
    opcode.access = what == "load"    ? Access::load
                    : what == "store" ? Access::store
                                      : Access::atomic;
    opcode.instruction_class = what == "atomic" ? "atomic" : "smem";
    opcode.events = kScalar;
    opcode.writes_first = what == "load";
    memory_access(after, opcode);
  } else if (word == "memtime" || word == "memrealtime") {
    opcode.instruction_class = "smem";
    opcode.events = kScalar;
    opcode.writes_first = true;
  } else if (words.control.has(word)) {
    opcode.instruction_class = "other";
  } else if (words.scalar.has(word) && all_known(after, words.variants)) {
    opcode.instruction_class = "salu";
    opcode.writes_first = word != "cmp" && word != "cmpk" && word != "setreg" &&
                          word != "bitcmp0" && word != "bitcmp1";
  }
}

}  // namespace

Opcode classify(std::string_view mnemonic) {
  Opcode opcode;
  opcode.mnemonic = mnemonic;
  opcode.instruction_class = "unknown";
  std::string_view rest = mnemonic;
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp", "_dpp8", "_dpp16"}) {
      if (!rest.ends_with(suffix)) continue;
      rest.remove_suffix(suffix.size());
      if (suffix.starts_with("_dpp")) opcode.dpp = true;
      more = true;
    }
  }
  opcode.indexes = rest.starts_with("v_movrel") || rest.starts_with("s_set_gpr_idx") ||
                   rest.starts_with("s_set_vgpr_msb");
  opcode.returns = rest == "s_setpc_b64" || rest == "s_set_pc_i64";
  opcode.padding = rest == "s_nop" || rest == "s_code_end" || rest == "v_illegal";
  const std::string_view unit = next_word(rest);
  if (unit == "v") {
    vector_operation(rest, opcode);
    // v_cndmask chooses by a mask that differs from lane to lane.
    opcode.lanewise = opcode.vector && !opcode.dpp &&
                      (opcode.special == Special::none || opcode.special == Special::move) &&
                      opcode.instruction_class != "accum_move" &&
                      mnemonic.find("cndmask") == std::string_view::npos &&
                      mnemonic.find("swap") == std::string_view::npos;
    if (opcode.dpp && opcode.vector) opcode.instruction_class = "cross_lane";
  } else if (unit == "s") {
    scalar_operation(rest, opcode);
  } else if (unit == "ds") {
    shared_memory(rest, opcode);
  } else if (unit == "global") {
    vector_memory(Space::global, rest, opcode);
  } else if (unit == "buffer" || unit == "tbuffer") {
    vector_memory(Space::buffer, rest, opcode);
  } else if (unit == "flat") {
    vector_memory(Space::flat, rest, opcode);
  } else if (unit == "scratch") {
    vector_memory(Space::scratch, rest, opcode);
  } else if (unit == "cluster") {
    vector_memory(Space::global, rest, opcode);
  } else if (unit == "image") {
    image(rest, opcode);
  } else if (unit == "tensor") {
    const std::string_view word = next_word(rest);
    if (word == "load" || word == "store") {
      opcode.instruction_class = "async_copy";
      opcode.events = kTensor;
    } else if (word == "save" || word == "stop") {
      opcode.instruction_class = "other";
    }
  } else if (unit == "exp" || unit == "export" || unit == "lds") {
    opcode.instruction_class = "other";
  }
  return opcode;
}

namespace {

/// FNV-1a, folded; mnemonics are short.
std::size_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash ^ (hash >> 29);
}

}  // namespace

Opcodes::Opcodes() : slots_(4096, 0) {}

const Opcode& Opcodes::find(std::string_view mnemonic) {
  std::size_t at = hash_of(mnemonic) & (slots_.size() - 1);
  while (slots_[at] != 0) {
    const Opcode& found = *opcodes_[slots_[at] - 1];
    if (found.mnemonic == mnemonic) return found;
    at = (at + 1) & (slots_.size() - 1);
  }
  if (pages_.empty() || pages_.back().size() == pages_.back().capacity()) {
    pages_.emplace_back().reserve(256);
  }
  Opcode& opcode = pages_.back().emplace_back(classify(mnemonic));
  opcodes_.push_back(&opcode);
  slots_[at] = static_cast<std::uint32_t>(opcodes_.size());
  if (opcodes_.size() * 2 > slots_.size()) {
    std::vector<std::uint32_t> larger(slots_.size() * 2, 0);
    for (std::size_t i = 0; i < opcodes_.size(); ++i) {
      std::size_t slot = hash_of(opcodes_[i]->mnemonic) & (larger.size() - 1);
      while (larger[slot] != 0) slot = (slot + 1) & (larger.size() - 1);
      larger[slot] = static_cast<std::uint32_t>(i + 1);
    }
    slots_ = std::move(larger);
  }
  return opcode;
}

}  // namespace burnish::isa::amd
