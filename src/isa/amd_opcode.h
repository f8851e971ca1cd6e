#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/flow.h"

namespace burnish::isa::amd {

/// What an instruction puts in flight and a later wait can wait for; bits of Opcode::events and of
/// the masks that waits watch. Which counter holds which of them depends on the generation.
enum Event : std::uint8_t {
  kVectorLoad = 1,
  kVectorStore = 2,
  kSample = 4,  ///< image sampling and ray tracing
  kShared = 8,  ///< LDS
  kScalar = 16,
  kAsync = 32,  ///< between memory and LDS past the registers
  kTensor = 64,
};

enum class Space : std::uint8_t { none, global, flat, buffer, scratch, shared, scalar, image };
enum class Access : std::uint8_t { none, load, store, atomic };

/// What the analyses treat apart.
enum class Special : std::uint8_t {
  none,
  nop,
  wait,
  readlane,
  readfirstlane,
  writelane,
  bpermute,
  permute,
  swizzle,
  permlane,
  matrix,
  accum_read,
  accum_write,
  move,  ///< copies or only rearranges bits between registers
  lane_id,
  compare,
};

/// What a mnemonic says, whatever its operands.
struct Opcode {
  std::string_view mnemonic;           ///< points into the text that was read
  std::string_view instruction_class;  ///< docs/metrics.md; "unknown" when it is not listed
  std::string matrix_shape;            ///< "32x32x8 f16"; empty: no matrix instruction
  int width_bits = 0;                  ///< that a lane moves to or from memory
  std::uint8_t events = 0;
  Space space = Space::none;
  Access access = Access::none;
  Special special = Special::none;
  Flow::Kind flow = Flow::Kind::next;
  bool vector = false;  ///< a VALU operation, one of a dual pair included
  bool dual = false;    ///< v_dual_*: two operations
  bool packed = false;  ///< two operations a lane
  bool dpp = false;     ///< the mnemonic says so; hand-written code may say it by operands only
  bool writes_first = false;  ///< the first operand is written
  bool indexes = false;       ///< reaches registers that its operands do not name
  bool returns = false;       ///< goes on at an address in registers
  bool padding = false;       ///< what fills the space behind functions
  bool lanewise = false;      ///< a VALU operation whose result is uniform when its operands are
};

/// Classifies mnemonics of gfx9 to gfx12; each distinct one is looked at once.
class Opcodes {
 public:
  Opcodes();
  /// The reference holds until the table goes; so must the text that `mnemonic` points into.
  const Opcode& find(std::string_view mnemonic);

 private:
  std::vector<std::uint32_t> slots_;  ///< index + 1 into opcodes_; open addressing
  std::vector<Opcode*> opcodes_;
  std::vector<std::vector<Opcode>> pages_;  ///< so that references stay
};

Opcode classify(std::string_view mnemonic);

}  // namespace burnish::isa::amd
