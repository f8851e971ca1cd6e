#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "isa/isa.h"
#include "isa/sass_opcode.h"

namespace burnish::isa::nvidia {

/// One instruction of SASS text. Views point into the text.
struct Line {
  std::uint64_t address = 0;
  std::string_view text;  ///< guard included; without annotations and encoding
  const Opcode* opcode = nullptr;
  std::string_view label;    ///< of a branch: ".L_x_3"; empty when it names an address or nothing
  std::string_view targets;  ///< of an indirect branch: ".L_x_3,.L_x_4"
  std::optional<Control> control;
  std::uint64_t encoding = 0;  ///< first 64 bits
  int place = -1;              ///< index into Listing::places
  bool encoded : 1 = false;
  bool guarded : 1 = false;       ///< by a predicate that is not constant
  bool never : 1 = false;         ///< "@!PT": fills a slot
  bool spill_marked : 1 = false;  ///< nvdisasm says that it moves a spilled register
  bool paired : 1 = false;        ///< issues together with the next (before sm_70)
};

struct Label {
  std::string_view name;
  std::uint64_t address = 0;
};

/// The code of one function, or of one code section.
struct Function {
  std::string_view symbol;
  std::string_view arch;                        ///< "sm_90"; empty when the text does not say
  std::size_t begin = 0, end = 0;               ///< into Listing::lines
  std::size_t first_label = 0, last_label = 0;  ///< into Listing::labels
  std::optional<std::int64_t> registers;        ///< of .sectioninfo
  bool entry = false;                           ///< declared as a kernel
  int line = 0;                                 ///< of the text, where it starts
};

/// Text of cuobjdump -sass or nvdisasm, taken apart.
struct Listing {
  std::vector<Line> lines;
  std::vector<Label> labels;
  std::vector<Function> functions;
  std::vector<std::pair<std::string_view, int>> places;  ///< file, line
  std::vector<std::string> warnings;
  bool marks_spills = false;   ///< some instruction is marked as a spill's
  bool names_entries = false;  ///< some function is declared as a kernel
  Opcodes opcodes;
};

/// Errors: more instructions than any file has, or an architecture that is not read.
Result<void> read_listing(std::string_view text, const std::string& file, Listing& listing);

/// The control part of a 128-bit instruction (sm_70 and newer), from its upper 64 bits.
Control control_of_128(std::uint64_t high);
/// The control part of instruction `slot` (0 to 2) of a group of three (sm_50 to sm_62).
Control control_of_group(std::uint64_t word, int slot);

/// "sm_90a" → 90; absent when it is no such name.
std::optional<int> sm_number(std::string_view arch);

/// Whether the text looks like SASS.
bool is_sass(std::string_view text);

}  // namespace burnish::isa::nvidia
