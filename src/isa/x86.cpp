#include "isa/x86.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "isa/flow.h"
#include "isa/little_endian.h"
#include "isa/x86_decode.h"
#include "isa/x86_loop.h"

// Object format: System V ABI, "Object Files" (ELF-64). Function names: PoCL 3.1,
// lib/llvmopencl/Workgroup.cc: for each kernel the body for one work-group `_pocl_kernel_NAME`, and
// the functions that the runtime calls, `…_workgroup` and `…_workgroup_fast`, with the body
// inlined.
namespace burnish::isa::x86 {
namespace {

constexpr std::uint16_t kMachineX86 = 62, kMachineAarch64 = 183;
constexpr std::string_view kPrefix = "_pocl_kernel_";
constexpr std::string_view kLauncher = "_workgroup";
constexpr std::string_view kFastLauncher = "_workgroup_fast";
constexpr std::uint64_t kMostOutput = 1ull << 30;

/// A kernel often has a loop for the ragged edge beside the one for the bulk, and nested deeper.
/// The bulk is where a turn of the loop computes most: of the loops that compute and hold no other
/// that does, the one with the most bits of arithmetic. Integer arithmetic counts only in a kernel
/// without floating point, since every loop computes addresses. Absent when none computes, and -1
/// when what computes lies in no loop that was found: in a cycle that is entered in its middle.
std::optional<int> busiest_loop(const Kernel& kernel, const std::vector<Decoded>& code) {
  std::vector<std::int64_t> floating(kernel.loops.size(), 0), all(kernel.loops.size(), 0);
  for (const BasicBlock& block : kernel.blocks) {
    if (block.loop < 0) continue;
    const auto loop = static_cast<std::size_t>(block.loop);
    for (int k = block.first; k < block.first + block.count; ++k) {
      const Decoded& decoded = code[static_cast<std::size_t>(k)];
      if (decoded.arithmetic == Arithmetic::none) continue;
      all[loop] += decoded.vector_bits;
      if (decoded.arithmetic != Arithmetic::integer) floating[loop] += decoded.vector_bits;
    }
  }
  const auto computes = [](std::int64_t bits) { return bits > 0; };
  const bool is_found = std::any_of(floating.begin(), floating.end(), computes);
  const bool is_there = std::any_of(code.begin(), code.end(), [](const Decoded& decoded) {
    return decoded.arithmetic != Arithmetic::none && decoded.arithmetic != Arithmetic::integer;
  });
  if (is_there && !is_found && !kernel.loops.empty()) return -1;
  const auto& bits = is_found ? floating : all;
  std::vector<bool> holds_another(kernel.loops.size(), false);
  for (std::size_t i = 0; i < kernel.loops.size(); ++i) {
    if (bits[i] == 0) continue;
    for (int outer = kernel.loops[i].parent; outer >= 0;) {
      holds_another[static_cast<std::size_t>(outer)] = true;
      outer = kernel.loops[static_cast<std::size_t>(outer)].parent;
    }
  }
  std::optional<int> busiest;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < kernel.loops.size(); ++i) {
    if (holds_another[i] || bits[i] <= most) continue;
    most = bits[i];
    busiest = static_cast<int>(i);
  }
  return busiest;
}

/// The instructions of blocks that run instead of a loop: those that neither lead to it nor come
/// behind it within one turn of what is around it. Where buffers may overlap, compilers write work
/// twice, and the vectors of a small work-group are often unrolled until no loop is left. Empty
/// unless they compute more than a turn of the loop.
std::vector<int> busier_beside(const Kernel& kernel, const std::vector<Decoded>& code, int loop) {
  const Loop& at = kernel.loops[static_cast<std::size_t>(loop)];
  const int around =
      at.parent < 0 ? -1 : kernel.loops[static_cast<std::size_t>(at.parent)].blocks.front();
  const std::size_t count = kernel.blocks.size();
  std::vector<std::vector<int>> successors(count), predecessors(count);
  for (std::size_t b = 0; b < count; ++b) {
    for (const int next : kernel.blocks[b].successors) {
      if (next == around) continue;  // the next turn
      successors[b].push_back(next);
      predecessors[static_cast<std::size_t>(next)].push_back(static_cast<int>(b));
    }
  }
  std::vector<char> together(count, 0);
  for (const auto* edges : {&successors, &predecessors}) {
    std::vector<char> seen(count, 0);
    std::vector<int> work{at.blocks.front()};
    while (!work.empty()) {
      const auto block = static_cast<std::size_t>(work.back());
      work.pop_back();
      if (seen[block]) continue;
      seen[block] = together[block] = 1;
      work.insert(work.end(), (*edges)[block].begin(), (*edges)[block].end());
    }
  }
  const auto bits = [&](const BasicBlock& block) {
    std::int64_t sum = 0;
    for (int i = block.first; i < block.first + block.count; ++i) {
      const Decoded& decoded = code[static_cast<std::size_t>(i)];
      const bool floats =
          decoded.arithmetic != Arithmetic::none && decoded.arithmetic != Arithmetic::integer;
      sum += floats ? decoded.vector_bits : 0;
    }
    return sum;
  };
  std::vector<int> instructions;
  std::int64_t beside = 0, turn = 0;
  for (std::size_t b = 0; b < count; ++b) {
    const BasicBlock& block = kernel.blocks[b];
    if (block.loop == loop) turn += bits(block);
    if (together[b] || block.loop != at.parent) continue;
    beside += bits(block);
    for (int i = 0; i < block.count; ++i) instructions.push_back(block.first + i);
  }
  if (beside <= turn) instructions.clear();
  return instructions;
}

/// Bytes of a table that decide whether two codes read the same constants.
constexpr std::size_t kTableBytes = 1 << 16;

struct Section {
  std::uint32_t type = 0;
  std::uint64_t flags = 0, address = 0, offset = 0, size = 0, link = 0;
};

struct Symbol {
  std::string name;
  std::uint64_t address = 0, size = 0;
};

class Object {
 public:
  static Result<Object> parse(std::string_view bytes, const std::string& file) {
    Object object(bytes);
    const auto broken = [&](const std::string& what) {
      return bad_input("the ELF object is damaged: " + what).at({file, 0, 0});
    };
    const auto table = value_at<std::uint64_t>(bytes, 40);
    const auto entry_size = value_at<std::uint16_t>(bytes, 58);
    const auto count = value_at<std::uint16_t>(bytes, 60);
    if (!table || !entry_size || !count) return broken("its header is cut short");
    if (*count == 0 || *table == 0) return broken("it has no section table");
    if (*entry_size != 64) return broken(fmt::format("section headers of {} bytes", *entry_size));
    for (std::size_t i = 0; i < *count; ++i) {
      const std::uint64_t at = *table + i * 64;
      if (at < *table || at > bytes.size() || bytes.size() - at < 64) {
        return broken(fmt::format("section header {} lies past the end of the file", i));
      }
      Section section;
      section.type = *value_at<std::uint32_t>(bytes, at + 4);
      section.flags = *value_at<std::uint64_t>(bytes, at + 8);
      section.address = *value_at<std::uint64_t>(bytes, at + 16);
      section.offset = *value_at<std::uint64_t>(bytes, at + 24);
      section.size = *value_at<std::uint64_t>(bytes, at + 32);
      section.link = *value_at<std::uint32_t>(bytes, at + 40);
      const bool in_file = section.type != 0 && section.type != 8;
      if (in_file &&
          (section.offset > bytes.size() || section.size > bytes.size() - section.offset)) {
        return broken(fmt::format("section {} lies past the end of the file", i));
      }
      object.sections_.push_back(section);
    }
    object.read_symbols();
    return object;
  }

  const std::vector<Symbol>& functions() const { return functions_; }

  /// The constant data at an address, at most `limit` bytes; empty when there is none.
  std::string_view constant(std::uint64_t address, std::size_t limit) const {
    for (const Section& section : sections_) {
      constexpr std::uint64_t kWritable = 1, kAllocated = 2, kExecutable = 4;
      if (section.type != 1 ||
          (section.flags & (kWritable | kAllocated | kExecutable)) != kAllocated)
        continue;
      if (address < section.address || address - section.address >= section.size) continue;
      const std::uint64_t skip = address - section.address;
      return bytes_.substr(section.offset + skip,
                           std::min<std::uint64_t>(limit, section.size - skip));
    }
    return {};
  }

 private:
  explicit Object(std::string_view bytes) : bytes_(bytes) {}

  void read_symbols() {
    std::set<std::string> seen;
    for (const Section& table : sections_) {
      if ((table.type != 2 && table.type != 11) || table.link >= sections_.size()) continue;
      const Section& names = sections_[table.link];
      if (names.type != 3) continue;
      for (std::uint64_t at = 0; at + 24 <= table.size; at += 24) {
        const std::uint64_t entry = table.offset + at;
        const auto name = *value_at<std::uint32_t>(bytes_, entry);
        const auto info = *value_at<std::uint8_t>(bytes_, entry + 4);
        const auto section = *value_at<std::uint16_t>(bytes_, entry + 6);
        if ((info & 15) != 2 || section == 0 || name >= names.size) continue;
        std::string_view text = bytes_.substr(names.offset + name, names.size - name);
        text = text.substr(0, text.find('\0'));
        if (!seen.insert(std::string(text)).second) continue;
        functions_.push_back({std::string(text), *value_at<std::uint64_t>(bytes_, entry + 8),
                              *value_at<std::uint64_t>(bytes_, entry + 16)});
      }
    }
  }

  std::string_view bytes_;
  std::vector<Section> sections_;
  std::vector<Symbol> functions_;
};

/// One OpenCL kernel's functions in the object.
struct Entry {
  std::string kernel, launcher, body;  ///< either function can be absent
};

std::vector<Entry> entries(const std::vector<Symbol>& functions) {
  std::set<std::string_view> names;
  for (const Symbol& symbol : functions) {
    if (symbol.name.starts_with(kPrefix) && symbol.name.size() > kPrefix.size()) {
      names.insert(symbol.name);
    }
  }
  std::vector<Entry> result;
  std::set<std::string> used;
  for (const std::string_view body : names) {
    const std::string launcher = std::string(body) + std::string(kLauncher);
    if (!names.contains(launcher) || used.contains(std::string(body))) continue;
    result.push_back({std::string(body.substr(kPrefix.size())), launcher, std::string(body)});
    used.insert({std::string(body), launcher, std::string(body) + std::string(kFastLauncher)});
  }
  for (const std::string_view name : names) {
    if (used.contains(std::string(name))) continue;
    std::string_view kernel = name.substr(kPrefix.size());
    const bool launches = kernel.ends_with(kLauncher) && kernel.size() > kLauncher.size();
    if (launches) kernel.remove_suffix(kLauncher.size());
    Entry entry;
    entry.kernel = kernel;
    (launches ? entry.launcher : entry.body) = name;
    result.push_back(std::move(entry));
  }
  return result;
}

struct Line {
  std::uint64_t address = 0;
  std::string text;
  std::string source_file;
  int source_line = 0;
};

/// "; /tmp/tempfile_a1b2c3.cl:12": the source line of what follows. PoCL compiles a copy under a
/// random name, which says nothing.
void read_source_line(std::string_view line, Line& next) {
  line = line.substr(0, line.find(" (discriminator"));
  const std::size_t colon = line.rfind(':');
  if (colon == std::string_view::npos || colon < 3) return;
  const auto number = parse_integer(line.substr(colon + 1));
  if (!number || *number < 0 || *number > 1 << 30) return;
  const std::string name = fs::path(line.substr(2, colon - 2)).filename().string();
  next.source_file = name.starts_with("tempfile_") ? "source" : name;
  next.source_line = static_cast<int>(*number);
}

/// Reads `llvm-objdump -d -l --no-show-raw-insn`: "<hex> <name>:" starts a function, "; file:line"
/// gives the source, "  <hex>: text" is an instruction.
std::map<std::string, std::vector<Line>> parse_disassembly(std::string_view text) {
  std::map<std::string, std::vector<Line>> functions;
  std::vector<Line>* current = nullptr;
  Line next;
  for (const std::string_view line : split_lines(text)) {
    if (line.ends_with(">:")) {
      const std::size_t open = line.find('<');
      if (open == std::string_view::npos) continue;
      current = &functions[std::string(line.substr(open + 1, line.size() - open - 3))];
      next = {};
      continue;
    }
    if (line.starts_with("; ")) {
      read_source_line(line, next);
      continue;
    }
    const std::size_t colon = line.find(':');
    if (current == nullptr || colon == std::string_view::npos || !line.starts_with(' ')) continue;
    const std::string_view digits = trim(line.substr(0, colon));
    std::uint64_t address = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), address, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) continue;
    const std::string_view body = trim(line.substr(colon + 1));
    if (body.empty()) continue;
    next.address = address;
    next.text.clear();
    for (const char c : body) {
      const char shown = c == '\t' ? ' ' : c;
      if (shown != ' ' || next.text.empty() || next.text.back() != ' ') next.text += shown;
    }
    current->push_back(next);
  }
  return functions;
}

/// The text with the value behind a rip-relative operand, which counts from the next instruction.
/// (llvm-objdump comments on the address, but not where it comments on a shuffle: LLVM 14.)
std::string with_constant(const Object& object, const std::string& text, const Decoded& decoded,
                          std::uint64_t next) {
  const Operand* memory = decoded.memory();
  if (memory == nullptr || !memory->memory.relative) return text;
  const std::uint64_t address = next + static_cast<std::uint64_t>(memory->memory.displacement);
  const bool table = decoded.read_bits == 0;
  const std::string_view value = object.constant(
      address, table ? kTableBytes : static_cast<std::size_t>(decoded.read_bits / 8));
  if (value.empty()) return text;
  std::string shown;
  if (table) {
    shown = content_hash(value);
  } else {
    for (auto byte = value.rbegin(); byte != value.rend(); ++byte) {
      shown += fmt::format("{:02x}", static_cast<unsigned char>(*byte));
    }
  }
  return std::string(trim(text.substr(0, text.find('#')))) + " " + std::string(kConstantComment) +
         "0x" + shown;
}

const char* arch_name(int extension) {
  constexpr std::array<const char*, 5> kNames{"x86-64", "x86-64 avx", "x86-64 avx2",
                                              "x86-64 avx512", "x86-64 amx"};
  return kNames[static_cast<std::size_t>(extension)];
}

FramePointer frame_of(const std::vector<Line>& lines) {
  const std::size_t prologue = std::min<std::size_t>(lines.size(), 16);
  for (std::size_t i = 0; i < prologue; ++i) {
    if (lines[i].text == "movq %rsp, %rbp") return FramePointer::yes;
  }
  return FramePointer::no;
}

/// Whether the function calls or jumps to another, directly or through the linkage table.
bool calls(const std::vector<Line>& lines, const std::string& function) {
  if (function.empty()) return false;
  return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
    return contains(line.text, "<" + function + ">") ||
           contains(line.text, "<" + function + "@plt>");
  });
}

bool has_source_lines(const std::vector<Line>& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [](const Line& line) { return line.source_line > 0; });
}

/// Only what a loop repeats counts: every function keeps some of its arguments in its frame.
void count_spills(Kernel& kernel, const std::vector<Decoded>& code) {
  std::int64_t loads = 0, stores = 0, bits = 0;
  for (const BasicBlock& block : kernel.blocks) {
    if (block.loop < 0) continue;
    for (int i = block.first; i < block.first + block.count; ++i) {
      const Decoded& decoded = code[static_cast<std::size_t>(i)];
      if (decoded.instruction_class == "spill_load") ++loads;
      if (decoded.instruction_class != "spill_store") continue;
      ++stores;
      bits += decoded.written_bits;
    }
  }
  kernel.spill_loads = loads;
  kernel.spill_stores = stores;
  kernel.spill_bytes = bits / 8;
}

void analyse(Kernel& kernel, const std::vector<Line>& lines, const Object& object) {
  const FramePointer frame = frame_of(lines);
  std::vector<Decoded> code;
  std::vector<Flow> flow;
  std::set<int> vector_registers;
  std::int64_t stack_bytes = 0;
  int highest = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    Decoded decoded = decode(line.text, frame);
    Instruction instruction;
    instruction.address = line.address;
    instruction.text = i + 1 < lines.size()
                           ? with_constant(object, line.text, decoded, lines[i + 1].address)
                           : line.text;
    instruction.opcode = decoded.mnemonic;
    instruction.instruction_class = decoded.instruction_class;
    instruction.source_file = line.source_file;
    instruction.source_line = line.source_line;
    instruction.width_bits = std::max(decoded.read_bits, decoded.written_bits);
    if (decoded.instruction_class == "unknown") ++kernel.unknown_opcodes[decoded.mnemonic];
    for (const Operand& operand : decoded.operands) {
      if (operand.kind == Operand::Kind::reg && operand.reg.kind == RegisterKind::vector) {
        vector_registers.insert(operand.reg.number);
      }
    }
    const Operand* to = decoded.destination();
    if (stack_bytes == 0 && decoded.mnemonic.starts_with("sub") && decoded.operands.size() == 2 &&
        decoded.operands[0].kind == Operand::Kind::immediate && to->kind == Operand::Kind::reg &&
        to->reg.kind == RegisterKind::pointer) {
      stack_bytes = decoded.operands[0].immediate;
    }
    highest = std::max(highest, extension(decoded));
    flow.push_back(decoded.flow);
    code.push_back(std::move(decoded));
    kernel.instructions.push_back(std::move(instruction));
  }
  // A jump out of the function is the tail call of another one.
  if (!lines.empty()) {
    for (Flow& at : flow) {
      const bool outside =
          at.target && (*at.target < lines.front().address || *at.target > lines.back().address);
      if (at.kind == Flow::Kind::branch && outside) at.kind = Flow::Kind::end;
    }
  }
  kernel.arch = arch_name(highest);
  kernel.registers_used = static_cast<std::int64_t>(vector_registers.size());
  count_classes(kernel);
  find_loops(kernel, flow);
  count_spills(kernel, code);

  kernel.hot = busiest_loop(kernel, code);
  std::vector<int> region;
  int hot = hot_loop(kernel);
  if (hot >= 0) region = busier_beside(kernel, code, hot);
  if (!region.empty()) {
    kernel.hot = hot = -1;
    kernel.notes.emplace_back(
        "the loop that computes most runs instead of straight code that computes more, which "
        "isa.loop.* describes");
  } else if (hot >= 0) {
    for (const int block : kernel.loops[static_cast<std::size_t>(hot)].blocks) {
      const BasicBlock& at = kernel.blocks[static_cast<std::size_t>(block)];
      for (int i = 0; i < at.count; ++i) region.push_back(at.first + i);
    }
    std::sort(region.begin(), region.end());
  } else {
    region.resize(code.size());
    std::iota(region.begin(), region.end(), 0);
    kernel.notes.emplace_back(
        kernel.loops.empty()
            ? "the function has no loop, so isa.loop.* describes all of it: the runtime calls it "
              "once a work-group"
            : "no loop that was found computes in floating point, so isa.loop.* describes all of "
              "the function");
  }
  kernel.extra =
      region_metrics(code, region, hot >= 0 ? Region::loop : Region::straight_line, frame);
  kernel.extra["isa.stack_bytes"] = static_cast<double>(stack_bytes);
  kernel.extra["isa.target_vector_bits"] = highest >= 3 ? 512 : highest >= 1 ? 256 : 128;
  std::set<std::string> called;
  for (const int i : region) {
    const Instruction& instruction = kernel.instructions[static_cast<std::size_t>(i)];
    if (instruction.instruction_class != "call") continue;
    const std::size_t open = instruction.text.find('<');
    if (open == std::string::npos) continue;
    called.insert(instruction.text.substr(open + 1, instruction.text.find('>', open) - open - 1));
  }
  if (!called.empty()) {
    kernel.notes.push_back("the hot loop calls " +
                           join(std::vector<std::string>(called.begin(), called.end()), ", "));
  }
}

Result<std::string> disassemble(std::string_view bytes, const std::vector<Entry>& kernels,
                                const fs::path& program, ProcessRunner& runner,
                                const std::string& file) {
  BURNISH_TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make("burnish-isa"));
  const fs::path object = folder.path() / "object";
  // FileSystem::write() waits for the disk; this file lives for the length of one call.
  std::ofstream out(object, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) return environment_error("cannot write " + object.string());
  std::vector<std::string> names;
  for (const Entry& entry : kernels) {
    if (!entry.launcher.empty()) names.push_back(entry.launcher);
    if (!entry.body.empty()) names.push_back(entry.body);
  }
  ProcessSpec spec;
  spec.argv = {program.string(),
               "-d",
               "-l",
               "--no-show-raw-insn",
               "--disassemble-symbols=" + join(names, ","),
               object.string()};
  spec.output_limit = kMostOutput;
  BURNISH_TRY_ASSIGN(ProcessResult result, runner.run(spec));
  if (!result.ok()) {
    return environment_error(fmt::format("{} {}: {}", program.filename().string(),
                                         result.describe(), trim(result.errors)))
        .at({file, 0, 0});
  }
  return std::move(result.output);
}

}  // namespace

bool recognises(std::string_view bytes) {
  // 64-bit, little-endian.
  if (!bytes.starts_with("\x7f"
                         "ELF\x02\x01"))
    return false;
  const auto machine = value_at<std::uint16_t>(bytes, 18);
  return machine && (*machine == kMachineX86 || *machine == kMachineAarch64);
}

Result<Reading> read(const fs::path& path, std::string_view bytes, ProcessRunner& runner) {
  const std::string file = path.string();
  Reading reading;
  const auto machine = value_at<std::uint16_t>(bytes, 18);
  if (!recognises(bytes)) return bad_input("not an ELF object for x86-64").at({file, 0, 0});
  BURNISH_TRY_ASSIGN(const Object object, Object::parse(bytes, file));
  const std::vector<Entry> kernels = entries(object.functions());
  if (kernels.empty()) {
    return bad_input("the object has no function of an OpenCL kernel (`_pocl_kernel_…`)")
        .at({file, 0, 0})
        .with_hint("give the shared object that PoCL leaves under $POCL_CACHE_DIR");
  }
  const bool analysed = machine == kMachineX86;
  reading.kind = analysed ? "x86-elf" : "aarch64-elf";
  std::map<std::string, std::vector<Line>> functions;
  if (!analysed) {
    reading.warnings.push_back(file + ": AArch64 code is not analysed; only kernel names are read");
  } else if (const auto program = find_newest_program("llvm-objdump")) {
    reading.tool = program->filename().string();
    BURNISH_TRY_ASSIGN(const std::string text, disassemble(bytes, kernels, *program, runner, file));
    functions = parse_disassembly(text);
  } else {
    reading.warnings.push_back(file +
                               ": no llvm-objdump on PATH, so the instructions are not analysed; "
                               "install LLVM");
  }
  const std::vector<Line> none;
  const auto lines_of = [&](const std::string& function) {
    const auto found = functions.find(function);
    return found == functions.end() ? &none : &found->second;
  };
  for (const Entry& entry : kernels) {
    Kernel kernel;
    kernel.name = entry.kernel;
    kernel.symbol = entry.launcher.empty() ? entry.body : entry.launcher;
    kernel.arch = analysed ? "x86-64" : "aarch64";
    kernel.where.file = file;
    const std::vector<Line>* lines = lines_of(kernel.symbol);
    // The launcher of a large kernel calls the body instead of holding it; and only the body has
    // line information.
    const std::vector<Line>* body = lines_of(entry.body);
    const bool prefers_body =
        calls(*lines, entry.body) || (has_source_lines(*body) && !has_source_lines(*lines));
    if (prefers_body && !body->empty()) {
      kernel.symbol = entry.body;
      lines = body;
    }
    kernel.where.locator = "kernel " + kernel.name + ", function " + kernel.symbol;
    if (!lines->empty()) {
      analyse(kernel, *lines, object);
    } else if (!reading.tool.empty()) {
      reading.warnings.push_back(file + ": no instructions of " + kernel.symbol +
                                 " in the disassembly");
    }
    reading.kernels.push_back(std::move(kernel));
  }
  return reading;
}

}  // namespace burnish::isa::x86
