#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/flow.h"

namespace burnish::isa::x86 {

enum class RegisterKind { none, general, vector, mask, pointer /* rsp, rbp, rip */, other };

struct Register {
  RegisterKind kind = RegisterKind::none;
  int number = -1;  ///< within its kind; sub-registers share the number of the whole
  int bits = 0;
};

struct Memory {
  Register base, index;
  int scale = 1;
  std::int64_t displacement = 0;
  bool relative = false;  ///< to rip
  int broadcast = 0;      ///< N of {1toN}; 0: none
};

struct Operand {
  enum class Kind { reg, memory, immediate, other };
  Kind kind = Kind::other;
  Register reg;
  Memory memory;
  std::int64_t immediate = 0;
};

/// What an arithmetic instruction does to numbers that the kernel is about.
enum class Arithmetic { none, fused, multiply, add, other_fp, slow_fp, integer };

/// One instruction in AT&T syntax, as llvm-objdump prints it.
struct Decoded {
  std::string mnemonic;           ///< without prefixes
  std::vector<Operand> operands;  ///< sources first, destination last
  std::string instruction_class;
  Arithmetic arithmetic = Arithmetic::none;
  int element_bits = 0;  ///< of floating-point arithmetic
  int vector_bits = 0;   ///< width worked on: the element's for scalar arithmetic
  int read_bits = 0;     ///< from memory; 0: none
  int written_bits = 0;  ///< to memory
  bool packed = false;   ///< arithmetic on two lanes or more
  bool gather = false, scatter = false;
  bool element_access = false;  ///< moves one element between memory and a vector register
  bool broadcast = false;       ///< the value read is spread over all lanes
  bool reads_destination = false;
  Flow flow;

  const Operand* memory() const;       ///< the memory operand, or null
  const Operand* destination() const;  ///< the last operand, or null
};

/// Whether the function keeps its frame's address in rbp, so that rbp is no general register.
enum class FramePointer { no, yes };

Decoded decode(std::string_view text, FramePointer frame);

/// Whether an address is a fixed slot of the function's own stack frame: a spill, not an array and
/// not an incoming argument.
bool is_stack_slot(const Memory& memory, FramePointer frame);

/// The vector extension that an instruction needs: 0 none or SSE, 1 AVX, 2 AVX2 or FMA, 3 AVX-512,
/// 4 AMX.
int extension(const Decoded& decoded);

}  // namespace burnish::isa::x86
