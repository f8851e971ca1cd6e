#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "isa/amd_opcode.h"
#include "isa/amd_symbols.h"

namespace burnish::isa::amd {

/// Registers or a constant that an instruction names; no operand is longer than 32 registers.
struct Operand {
  enum class Kind : std::uint8_t { none, vector, accum, scalar, constant, other };
  Kind kind = Kind::none;
  std::uint8_t count = 0;
  std::uint16_t first = 0;
};

/// How a DPP instruction moves data between lanes.
enum class Dpp : std::uint8_t { none, quad_perm, row_shr, row_bcast, other };

/// One instruction of the text, with what its operands say. There is one for every line, so it is
/// kept small.
struct Line {
  static constexpr int kMostOperands = 8;
  static constexpr int kNoOffset = -(1 << 30);

  const Opcode* opcode = nullptr;
  const Opcode* second = nullptr;  ///< of a dual pair
  std::string_view text;           ///< without its comment
  std::uint64_t address = 0;       ///< in assembly: its ordinal times 4
  int number = 0;                  ///< of the line in the text, from 1
  int file = -1;                   ///< index into Listing::files
  int source_line = 0;
  int offset = kNoOffset;  ///< "offset:" of a memory access
  std::array<Operand, kMostOperands> operands;
  std::uint32_t last_start = 0;  ///< where the last operand starts in `text`
  std::uint8_t operand_count = 0;
  std::uint8_t second_first = 0;  ///< the operand at which the second of a dual pair starts
  Dpp dpp = Dpp::none;
  bool to_lds : 1 = false;         ///< "lds": past the registers
  bool returns : 1 = false;        ///< an atomic that gives the old value
  bool spill_comment : 1 = false;  ///< the compiler says "Folded Spill" or "Folded Reload"

  /// Of a branch: the label, or words to go on from the next instruction.
  std::string_view last_operand() const;
};

/// A place that has a name.
struct Label {
  std::string_view name;
  std::size_t line = 0;  ///< index of the next instruction
  std::uint64_t address = 0;
};

/// Text of assembly or disassembly, taken apart. Views point into the text.
struct Listing {
  enum class Kind { assembly, disassembly };
  Kind kind = Kind::assembly;
  std::string target;  ///< of .amdgcn_target: "amdgcn-amd-amdhsa--gfx942"
  std::vector<Line> lines;
  std::vector<Label> labels;
  std::unordered_set<std::string_view> functions;  ///< typed @function
  std::vector<std::string_view> kernels;           ///< in the order of their .amdhsa_kernel
  /// Directives of .amdhsa_kernel blocks and numbers of the compiler's comments: kernel → key →
  /// text.
  std::unordered_map<std::string_view, std::unordered_map<std::string_view, std::string_view>>
      directives, comments;
  Symbols symbols;
  std::vector<std::string> files;
  std::string_view metadata;  ///< YAML
  int metadata_line = 0;
  int macros = 0;  ///< macro definitions, repetitions and conditions, which are not expanded
  int macro_calls = 0;
  bool version2 = false;  ///< written for code object v2
  Opcodes opcodes;
};

/// Errors: more instructions than any kernel has.
Result<void> read_listing(std::string_view text, const std::string& file, Listing& listing);

}  // namespace burnish::isa::amd
