#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/metric.h"
#include "base/process.h"

namespace burnish::isa {

/// Static counts by class name (docs/metrics.md, `isa.<class>`); a class that cannot occur on the
/// target is absent, one that could and does not is 0.
using Counts = std::map<std::string, std::int64_t>;

/// Access widths in bits → number of instructions, by kind of access: "global_load",
/// "global_store", "shared_load", "shared_store".
using Widths = std::map<std::string, std::map<int, std::int64_t>>;

/// What an NVIDIA instruction says to the scheduler. Barriers are scoreboards 0 to 5, -1 none.
struct Control {
  std::uint8_t stall = 0;          ///< cycles before the next instruction of the warp
  bool yields = false;             ///< hints to switch to another warp
  std::int8_t write_barrier = -1;  ///< freed when the result is there
  std::int8_t read_barrier = -1;   ///< freed when the operands have been read
  std::uint8_t wait_mask = 0;      ///< barriers that it waits for, a bit each
  std::uint8_t reuse = 0;          ///< operands that stay in the reuse cache, a bit each
  bool operator==(const Control&) const = default;
};

struct Instruction {
  std::uint64_t address = 0;
  std::string text;    ///< as disassembled, without encoding
  std::string opcode;  ///< mnemonic with modifiers
  std::string
      instruction_class;  ///< one of docs/metrics.md, "other", or "unknown" for an unlisted opcode
  int width_bits = 0;     ///< bits a lane moves, for memory accesses; 0 otherwise
  std::string source_file;  ///< empty when the artefact has no line information
  int source_line = 0;
  /// "kernel.cu:12", without the folder that it was compiled in; empty without line information.
  std::string source_place() const;
  std::vector<int> waits_for;      ///< indices of the instructions whose result it waits for
  std::optional<Control> control;  ///< NVIDIA code with its encoding only
};

struct Loop {
  int id = 0;
  int depth = 1;  ///< 1 is outermost
  int parent = -1;
  std::vector<int> blocks;  ///< indices of basic blocks, header first
  std::int64_t instructions = 0;
  Counts classes;
  Widths widths;
  /// Further counts that rules of this family use; metrics() names them `isa.loop.…`.
  std::map<std::string, double> extra{};
};

struct BasicBlock {
  int first = 0;  ///< index of its first instruction
  int count = 0;
  std::vector<int> successors;
  int loop = -1;  ///< innermost loop, or -1
};

/// One argument of a kernel, as the artefact describes it.
struct KernelArgument {
  std::string name;         ///< empty when the artefact does not name it
  std::string kind;         ///< "by_value", "global_buffer", "hidden_block_count_x", …
  std::int64_t offset = 0;  ///< bytes into the argument block
  std::int64_t size = 0;    ///< bytes
};

/// One kernel of a code object. What the artefact does not say is absent.
struct Kernel {
  std::string name;    ///< demangled when possible
  std::string symbol;  ///< as in the artefact
  std::string arch;    ///< "sm_90", "gfx942", "x86-64-v4"; empty where the artefact names none
  std::string vendor;  ///< "nvidia", "amd" or "cpu", also where `arch` is empty
  std::optional<std::int64_t> registers_used, registers_allocated, registers_accum,
      registers_scalar;
  std::optional<std::int64_t> shared_bytes, scratch_bytes;
  std::optional<std::int64_t> spill_loads, spill_stores, spill_bytes;
  std::optional<std::int64_t> workgroup_limit;  ///< largest block the code was built for, threads
  std::vector<KernelArgument> arguments;        ///< empty when the artefact does not list them
  std::string data;  ///< hash of constants and variables beside the code; empty when not known
  std::vector<Instruction> instructions;  ///< empty for resource-only artefacts
  std::vector<BasicBlock> blocks;
  std::vector<Loop> loops;
  std::optional<int> hot;  ///< the loop that takes the time, where the reader knows better
  Counts classes;
  Widths widths;
  std::map<std::string, std::int64_t> cross_lane;     ///< kind → instructions
  std::map<std::string, std::int64_t> matrix_shapes;  ///< e.g. "16x16x32 bf16" → instructions
  std::map<std::string, std::int64_t> unknown_opcodes;
  /// Further counts and ratios that rules of this family use, by metric name (`isa.…`).
  std::map<std::string, double> extra;
  std::vector<std::string> notes;  ///< "next_free_vgpr 257 is inflated by the LDS limit", …
  Where where;
};

struct Reading {
  std::string kind;  ///< "cubin", "amdgpu-elf", "sass-text", "amdgcn-assembly", "x86-elf", …
  std::string tool;  ///< the disassembler that was used, with version; empty when none
  std::vector<Kernel> kernels;
  std::vector<std::string> warnings;
};

/// Whether the bytes look like something read_code() reads.
bool recognises_code(std::string_view bytes);

/// Reads any code object, assembly or disassembly. `path` names the artefact in errors and
/// pointers. Binary code is disassembled by the newest tool found (nvdisasm, cuobjdump,
/// llvm-objdump) through `runner`; when none is there, resources are read all the same and a
/// warning says what is missing.
Result<Reading> read_code(const fs::path& path, ProcessRunner& runner);

/// The index of the loop that most likely takes the time: Kernel::hot, else the deepest, then the
/// largest; -1 if none.
int hot_loop(const Kernel& kernel);

/// Takes the loop whose own instructions, those of loops inside it aside, ran most often for the
/// hot one. `executed` are how often instructions ran, by address, as a profile counts them;
/// nothing changes when none of them lies in a loop.
void choose_hot_loop(Kernel& kernel, const std::vector<std::pair<std::uint64_t, double>>& executed);

/// `isa.*`, `registers.*`, `spill.*`, `shared.static_bytes`, `scratch.bytes` of one kernel.
MetricSet metrics(const Kernel& kernel);

/// What changed from one kernel to another.
struct KernelDiff {
  std::string name;
  /// Same instructions in the same order, addresses aside, with the same targets, control words and
  /// constants, and the same registers and memory.
  bool identical = false;
  std::map<std::string, std::pair<double, double>> changed;  ///< metric name → before, after
  std::string summary;                                       ///< one sentence
};
struct Diff {
  bool identical = false;
  std::vector<KernelDiff> kernels;
  std::vector<std::string> only_before, only_after;
};
/// Kernels are paired by name, or, when each side has one, with each other.
Diff diff(const Reading& before, const Reading& after);

}  // namespace burnish::isa
