#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/flow.h"

namespace burnish::isa::nvidia {

/// What the analyses treat apart.
enum class Special : std::uint8_t {
  none,
  nop,
  local_load,
  local_store,
  global_load,    ///< into registers
  sync_push,      ///< SSY: where threads meet again (before sm_70)
  sync_pop,       ///< SYNC
  break_push,     ///< PBK
  break_pop,      ///< BRK
  continue_push,  ///< PCNT
  continue_pop,   ///< CONT
  depbar,         ///< waits until a scoreboard has few enough operations in flight
  async_copy,     ///< LDGSTS
  async_group,    ///< LDGDEPBAR
  tma_load,
  tma_store,
  mbarrier_try,  ///< looks whether a phase of an mbarrier is over
  mma,           ///< matrix instruction of one warp, in registers
  wgmma,         ///< of a warp group (sm_90a)
  tcgen05,       ///< in tensor memory (sm_100 and sm_110 families)
  wgmma_wait,
  fma,  ///< may be a move of a constant
};

/// What a mnemonic says, whatever its operands.
struct Opcode {
  std::string_view mnemonic;           ///< with modifiers; points into the text that was read
  std::string_view instruction_class;  ///< docs/metrics.md; "unknown" when it is not listed
  std::string_view cross_lane;         ///< kind; empty: none
  std::string matrix_shape;            ///< "16x8x16 bf16"; empty: no matrix instruction
  int width_bits = 0;                  ///< that a lane moves to or from memory
  Special special = Special::none;
  Flow::Kind flow = Flow::Kind::next;
  bool last_use = false;  ///< ".LU": the line may be dropped; how spilled registers come back
};

/// "LDG.E.128" → what it is. `mnemonic` must outlive the result.
Opcode classify(std::string_view mnemonic);

/// Classifies each distinct mnemonic once.
class Opcodes {
 public:
  Opcodes();
  /// The reference holds until the table goes; so must the text that `mnemonic` points into.
  const Opcode& find(std::string_view mnemonic);

 private:
  void grow();
  std::vector<std::uint32_t> slots_;  ///< index + 1 into opcodes_; open addressing
  std::vector<const Opcode*> opcodes_;
  std::vector<std::vector<Opcode>> pages_;  ///< so that references stay
};

}  // namespace burnish::isa::nvidia
