#include "isa/amd_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "isa/amd_features.h"
#include "isa/amd_waits.h"
#include "isa/flow.h"

namespace burnish::isa::amd {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

bool is_padding(const Line& line) { return line.opcode->padding; }

bool ends_function(const Line& line) {
  return line.opcode->flow == Flow::Kind::end || line.opcode->returns;
}

/// Where a function really ends: behind its last instruction that is no padding.
std::size_t without_padding(const Listing& listing, std::size_t begin, std::size_t end) {
  std::size_t last = end;
  while (last > begin && is_padding(listing.lines[last - 1])) --last;
  // NOPs that nothing ends before may be the function's own.
  if (last == begin) return end;
  const Line& before = listing.lines[last - 1];
  return ends_function(before) || before.opcode->flow == Flow::Kind::branch ? last : end;
}

/// Reads one function: its lines become the kernel's instructions.
class CodeReader {
 public:
  CodeReader(Kernel& kernel, const Target& target, const Declared& declared, const Listing& listing,
             const Function& function)
      : kernel_(kernel),
        target_(target),
        declared_(declared),
        listing_(listing),
        begin_(function.begin),
        lines_(listing.lines.data() + function.begin),
        count_(function.end - function.begin) {}

  void read() {
    code_.lines = lines_;
    code_.events.assign(count_, 0);
    code_.scratch.assign(count_, 0);
    index_labels(begin_, begin_ + count_);
    find_scratch_descriptors();
    find_spill_comments();
    seed();
    kernel_.instructions.resize(count_);
    flow_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) instruction(i);
    count_registers();
    count_classes(kernel_);
    find_loops(kernel_, flow_);
    const Predecessors predecessors(kernel_);
    find_producers(kernel_, predecessors, code_.events, code_.waits);
    spills();
    find_features(kernel_, predecessors, code_);
    notes();
  }

 private:
  /// Kinds and counts that could occur and do not are 0.
  void seed() {
    for (const char* kind : {"dpp_quad_perm", "dpp_row_shr", "dpp_other", "readlane",
                             "readfirstlane", "writelane", "bpermute", "permute", "swizzle"}) {
      kernel_.cross_lane[kind] = 0;
    }
    if (target_.generation == 9) kernel_.cross_lane["dpp_row_bcast"] = 0;
    if (target_.generation >= 10 || target_.processor == "gfx950")
      kernel_.cross_lane["permlane"] = 0;
  }

  void index_labels(std::size_t begin, std::size_t end) {
    auto at =
        std::lower_bound(listing_.labels.begin(), listing_.labels.end(), begin,
                         [](const Label& each, std::size_t line) { return each.line < line; });
    for (; at != listing_.labels.end() && at->line < end; ++at) {
      const Label& label = *at;
      labels_.try_emplace(label.name, label.line - begin);
      if (!label.name.empty() && label.name[0] >= '0' && label.name[0] <= '9') {
        numbered_.emplace_back(label.name, label.line - begin);
      }
    }
  }

  /// Before flat scratch, private memory is reached through a buffer descriptor that the kernel
  /// gets in s[0:3] and may copy.
  void find_scratch_descriptors() {
    if (kernel_.scratch_bytes.value_or(0) == 0) return;
    descriptors_ = {0};
    for (std::size_t i = 0; i < std::min<std::size_t>(count_, 64); ++i) {
      const Line& line = lines_[i];
      if (line.opcode->mnemonic != "s_mov_b64" || line.operand_count < 2) continue;
      const Operand& from = line.operands[1];
      if (from.kind == Operand::Kind::scalar && from.first == 0 && from.count == 2) {
        descriptors_.push_back(line.operands[0].first);
      }
    }
  }

  /// The compiler says "Folded Spill" behind an access, or behind the s_clause N of the N + 1
  /// accesses that come next.
  void find_spill_comments() {
    marked_.assign(count_, 0);
    for (std::size_t i = 0; i < count_; ++i) {
      if (!lines_[i].spill_comment) continue;
      compiler_marks_spills_ = true;
      marked_[i] = 1;
      if (lines_[i].opcode->mnemonic != "s_clause") continue;
      const auto more = listing_.symbols.evaluate(lines_[i].last_operand());
      if (!more || *more < 0 || *more > 63) continue;
      const std::size_t end = std::min(count_, i + 2 + static_cast<std::size_t>(*more));
      std::fill(marked_.begin() + static_cast<std::ptrdiff_t>(i),
                marked_.begin() + static_cast<std::ptrdiff_t>(end), 1);
    }
  }

  bool is_scratch(std::size_t i) const {
    const Line& line = lines_[i];
    if (line.opcode->space == Space::scratch) return true;
    if (line.opcode->space != Space::buffer || line.to_lds) return false;
    if (marked_[i]) return true;
    for (std::uint8_t o = 0; o < line.operand_count; ++o) {
      const Operand& operand = line.operands[o];
      if (operand.kind != Operand::Kind::scalar || operand.count != 4) continue;
      return std::find(descriptors_.begin(), descriptors_.end(), operand.first) !=
             descriptors_.end();
    }
    return false;
  }

  /// A spill is at a place that the compiler fixed: no vector register is in its address.
  static bool fixed_place(const Line& line) {
    const bool load = line.opcode->access == Access::load;
    const bool buffer = line.opcode->space == Space::buffer;
    const std::size_t address = load || buffer ? 1 : 0;
    return line.operand_count <= address || line.operands[address].kind != Operand::Kind::vector;
  }

  bool is_spill(std::size_t i) {
    const Line& line = lines_[i];
    if (marked_[i]) return true;
    if (compiler_marks_spills_ || !fixed_place(line)) return false;
    if (!declared_.metadata || !declared_.metadata->vgpr_spills) {
      ++unclear_scratch_;
      return false;
    }
    return *declared_.metadata->vgpr_spills > 0;
  }

  void instruction(std::size_t i) {
    const Line& line = lines_[i];
    const Opcode& opcode = *line.opcode;
    Instruction& out = kernel_.instructions[i];
    out.address = line.address;
    out.text = line.text;
    out.opcode = opcode.mnemonic;
    if (line.file >= 0 && line.source_line > 0) {
      out.source_file = listing_.files[static_cast<std::size_t>(line.file)];
      out.source_line = line.source_line;
    }
    std::string_view instruction_class = opcode.instruction_class;
    std::uint8_t events = opcode.events;
    out.width_bits = opcode.width_bits;
    if (opcode.access == Access::atomic && events & kVectorStore &&
        (line.returns || (target_.generation < 10))) {
      events = static_cast<std::uint8_t>((events & ~kVectorStore) | kVectorLoad);
    }
    if (line.to_lds && opcode.access == Access::load) {
      instruction_class = "async_copy";
    } else if (opcode.space == Space::scratch || opcode.space == Space::buffer) {
      if (is_scratch(i)) {
        code_.scratch[i] = 1;
        if (is_spill(i)) {
          instruction_class = opcode.access == Access::load ? "spill_load" : "spill_store";
        } else {
          out.width_bits = 0;  // a local array; the histograms are of global memory
        }
      }
    } else if (opcode.vector) {
      instruction_class = vector_class(line);
      cross_lane(line);
    } else if (opcode.special != Special::none) {
      cross_lane(line);
    }
    if (opcode.special == Special::wait) {
      Wait wait{static_cast<int>(i), waits_of(line, target_.generation)};
      if (!wait.counters.empty()) code_.waits.push_back(std::move(wait));
    }
    if (opcode.special == Special::matrix) ++kernel_.matrix_shapes[opcode.matrix_shape];
    if (instruction_class == "unknown") ++kernel_.unknown_opcodes[std::string(opcode.mnemonic)];
    out.instruction_class = instruction_class;
    code_.events[i] = events;
    flow_[i].kind = opcode.flow;
    if (opcode.flow != Flow::Kind::next) branch(i);
  }

  static std::string_view vector_class(const Line& line) {
    const std::string_view first = line.opcode->instruction_class;
    if (line.dpp != Dpp::none) return "cross_lane";
    if (!line.second) return first;
    const std::string_view second = line.second->instruction_class;
    if (second == "unknown") return second;
    const bool both = first == "fma" && second == "fma";
    if (both || first == "packed_fma" || second == "packed_fma") return "packed_fma";
    return first == "fma" || second == "fma" ? std::string_view("fma") : first;
  }

  void cross_lane(const Line& line) {
    const char* kind = nullptr;
    switch (line.opcode->special) {
      case Special::readlane:
        kind = "readlane";
        break;
      case Special::readfirstlane:
        kind = "readfirstlane";
        break;
      case Special::writelane:
        kind = "writelane";
        break;
      case Special::bpermute:
        kind = "bpermute";
        break;
      case Special::permute:
        kind = "permute";
        break;
      case Special::swizzle:
        kind = "swizzle";
        break;
      case Special::permlane:
        kind = "permlane";
        break;
      default:
        switch (line.dpp) {
          case Dpp::none:
            if (!line.opcode->dpp) return;
            kind = "dpp_other";
            break;
          case Dpp::quad_perm:
            kind = "dpp_quad_perm";
            break;
          case Dpp::row_shr:
            kind = "dpp_row_shr";
            break;
          case Dpp::row_bcast:
            kind = "dpp_row_bcast";
            break;
          case Dpp::other:
            kind = "dpp_other";
            break;
        }
    }
    ++kernel_.cross_lane[kind];
  }

  void branch(std::size_t i) {
    const Line& line = lines_[i];
    Flow& flow = flow_[i];
    if (flow.kind == Flow::Kind::end) return;
    if (flow.kind == Flow::Kind::call) {
      ++calls_;
      return;
    }
    if (line.opcode->returns) {
      const auto to = far_target(i);
      if (to) {
        flow.target = lines_[*to].address;
      } else if (line.operands[0].kind == Operand::Kind::scalar && line.operands[0].first == 30) {
        flow.kind = Flow::Kind::end;  // the return address
      }
      return;
    }
    if (const auto to = target(i)) {
      flow.target = *to;
    } else {
      ++lost_branches_;
    }
  }

  std::optional<std::uint64_t> target(std::size_t i) const {
    const Line& line = lines_[i];
    const std::string_view operand = line.last_operand();
    if (operand.empty()) return {};
    const bool number = operand[0] >= '0' && operand[0] <= '9';
    if (!number) {
      const auto found = labels_.find(operand);
      if (found == labels_.end()) return {};
      return lines_[found->second].address;
    }
    if (operand.back() == 'b' || operand.back() == 'f') {
      const bool back = operand.back() == 'b';
      const std::string_view name = operand.substr(0, operand.size() - 1);
      std::optional<std::uint64_t> found;
      for (const auto& [label, at] : numbered_) {
        if (label != name) continue;
        if (back && at <= i) found = lines_[at].address;
        if (!back && at > i && !found) found = lines_[at].address;
      }
      if (found) return found;
    }
    // Words to go on from the next instruction. In assembly the sizes of what is between are
    // unknown.
    if (listing_.kind != Listing::Kind::disassembly) return {};
    const auto words =
        operand.starts_with("0x") ? listing_.symbols.evaluate(operand) : parse_integer(operand);
    if (!words || *words < -32768 || *words > 65535) return {};
    const auto offset = static_cast<std::int16_t>(static_cast<std::uint16_t>(*words));
    return line.address + 4 + static_cast<std::uint64_t>(std::int64_t{offset} * 4);
  }

  /// Branches too far for 16 bits add a distance to the program counter: s_getpc, s_add_u32 of the
  /// low half, s_addc_u32, s_setpc. The index of the instruction that they go to.
  std::optional<std::size_t> far_target(std::size_t i) const {
    for (std::size_t back = 1; back <= 5 && back <= i; ++back) {
      const Line& add = lines_[i - back];
      const std::string_view name = add.opcode->mnemonic;
      if (name != "s_add_u32" && name != "s_add_co_u32") continue;
      if (listing_.kind == Listing::Kind::assembly) {
        // (.LBB0_4-.Lpost_getpc0)&4294967295
        std::string_view text = add.last_operand();
        const std::size_t open = text.find('(');
        if (open == std::string_view::npos) return {};
        text.remove_prefix(open + 1);
        const auto found = labels_.find(trim(text.substr(0, text.find('-'))));
        if (found == labels_.end()) return {};
        return found->second;
      }
      for (std::size_t more = back + 1; more <= back + 3 && more <= i; ++more) {
        const Line& from = lines_[i - more];
        if (from.opcode->mnemonic != "s_getpc_b64" && from.opcode->mnemonic != "s_get_pc_i64")
          continue;
        const auto distance = listing_.symbols.evaluate(add.last_operand());
        if (!distance || *distance < 0 || *distance > 0xffffffffll) return {};
        const std::uint64_t to =
            from.address + 4 +
            static_cast<std::uint64_t>(
                std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(*distance))});
        const auto* found = std::lower_bound(
            lines_, lines_ + count_, to,
            [](const Line& line, std::uint64_t address) { return line.address < address; });
        if (found == lines_ + count_ || found->address != to) return {};
        return static_cast<std::size_t>(found - lines_);
      }
      return {};
    }
    return {};
  }

  /// Holds what is declared against the registers that the code names.
  void count_registers() {
    std::int64_t vectors = 0;
    std::int64_t accums = 0;
    bool indexed = false;  // registers may be reached that no operand names
    for (std::size_t i = 0; i < count_; ++i) {
      const Line& line = lines_[i];
      for (std::uint8_t o = 0; o < line.operand_count; ++o) {
        const Operand& operand = line.operands[o];
        const std::int64_t end = operand.first + operand.count;
        if (operand.kind == Operand::Kind::vector) vectors = std::max(vectors, end);
        if (operand.kind == Operand::Kind::accum) accums = std::max(accums, end);
      }
      indexed = indexed || line.opcode->indexes;
    }
    const bool exact = !indexed && calls_ == 0;
    if (!kernel_.registers_used) {
      if (!exact || vectors == 0) return;
      kernel_.registers_used = vectors;
      if (target_.accumulators) kernel_.registers_accum = accums;
      kernel_.notes.push_back("registers are counted from the instructions");
      return;
    }
    if (vectors > *kernel_.registers_used) {
      kernel_.notes.push_back(fmt::format("{} vector registers are declared, but the code uses {}",
                                          *kernel_.registers_used, vectors));
      kernel_.registers_used = vectors;
    }
    if (accums > kernel_.registers_accum.value_or(0)) {
      kernel_.notes.push_back(
          fmt::format("{} accumulation registers are declared, but the code uses {}",
                      kernel_.registers_accum.value_or(0), accums));
      kernel_.registers_accum = accums;
    }
    // What a compiler counts is exact; metadata written by hand may ask for more than the code
    // needs.
    if (exact && !declared_.used_vgprs && vectors > 0 &&
        round_up(vectors, 8) < round_up(*kernel_.registers_used, 8)) {
      kernel_.notes.push_back(fmt::format("{} vector registers are declared, the code names {}",
                                          *kernel_.registers_used, vectors));
    }
  }

  void spills() {
    const auto counted = [&](const char* name) {
      const auto found = kernel_.classes.find(name);
      return found == kernel_.classes.end() ? std::int64_t{0} : found->second;
    };
    const bool known = compiler_marks_spills_ || unclear_scratch_ == 0;
    if (known) {
      kernel_.spill_loads = counted("spill_load");
      kernel_.spill_stores = counted("spill_store");
      if (*kernel_.spill_loads + *kernel_.spill_stores == 0 && !kernel_.spill_bytes) {
        kernel_.spill_bytes = 0;
      }
    }
  }

  void notes() {
    if (unclear_scratch_ > 0) {
      kernel_.notes.push_back(
          fmt::format("{} accesses to scratch memory: spilled registers or local arrays, which the "
                      "text does not "
                      "tell",
                      unclear_scratch_));
    }
    if (calls_ > 0) {
      kernel_.notes.push_back(
          fmt::format("{} call{} of functions, whose instructions are not counted here", calls_,
                      calls_ == 1 ? "" : "s"));
    }
    if (lost_branches_ > 0) {
      kernel_.notes.push_back(fmt::format("the target of {} branch{} is not known", lost_branches_,
                                          lost_branches_ == 1 ? "" : "es"));
    }
    std::int64_t unknown = 0;
    for (const auto& [name, number] : kernel_.unknown_opcodes) unknown += number;
    if (unknown > 0) {
      kernel_.notes.push_back(
          fmt::format("{} instruction{} with an opcode that is not listed: {}{}", unknown,
                      unknown == 1 ? "" : "s", kernel_.unknown_opcodes.begin()->first,
                      kernel_.unknown_opcodes.size() > 1 ? ", …" : ""));
    }
  }

  Kernel& kernel_;
  const Target& target_;
  const Declared& declared_;
  const Listing& listing_;
  const std::size_t begin_;
  const Line* lines_;
  const std::size_t count_;
  Code code_;
  std::vector<Flow> flow_;
  std::unordered_map<std::string_view, std::size_t> labels_;
  std::vector<std::pair<std::string_view, std::size_t>> numbered_;
  std::vector<std::uint16_t> descriptors_;
  std::vector<char> marked_;
  bool compiler_marks_spills_ = false;
  std::int64_t unclear_scratch_ = 0;
  std::int64_t calls_ = 0;
  std::int64_t lost_branches_ = 0;
};

}  // namespace

Target target_of(std::string_view processor) {
  Target target;
  target.processor = processor;
  if (processor.starts_with("gfx10")) target.generation = 10;
  if (processor.starts_with("gfx11")) target.generation = 11;
  if (processor.starts_with("gfx12")) target.generation = 12;
  target.unified_file = processor == "gfx90a" || processor.starts_with("gfx94") ||
                        processor.starts_with("gfx95") || processor == "gfx9-4-generic";
  target.accumulators = target.unified_file || processor == "gfx908";
  target.default_wave = target.generation >= 10 ? 32 : 64;
  return target;
}

int allocation_step(const Target& target, int wave_size) {
  if (target.processor.starts_with("gfx125")) return 16;
  if (target.unified_file) return 8;
  if (target.generation >= 10) return wave_size == 32 ? 8 : 4;
  return 4;
}

std::vector<Function> functions_of(const Listing& listing,
                                   const std::unordered_set<std::string_view>& known) {
  std::vector<Function> functions;
  const std::size_t count = listing.lines.size();
  if (count == 0) return functions;
  const std::unordered_set<std::string_view>* names = nullptr;
  if (!known.empty()) names = &known;
  if (known.empty() && !listing.functions.empty()) names = &listing.functions;

  // A disassembly has a header for every symbol; in hand-written code that is every label. One that
  // a branch goes to, or that code runs into, is inside a function.
  std::unordered_set<std::string_view> aims;
  if (!names) {
    for (const Line& line : listing.lines) {
      if (line.opcode->flow == Flow::Kind::branch || line.opcode->flow == Flow::Kind::conditional) {
        aims.insert(line.last_operand());
      }
    }
  }
  const auto starts = [&](const Label& label) {
    if (names) return names->contains(label.name);
    if (label.line == 0) return true;
    if (label.name.empty() || label.name[0] == '.' ||
        (label.name[0] >= '0' && label.name[0] <= '9') || aims.contains(label.name)) {
      return false;
    }
    std::size_t before = label.line;
    while (before > 0 && is_padding(listing.lines[before - 1])) --before;
    return before > 0 && ends_function(listing.lines[before - 1]);
  };
  for (const Label& label : listing.labels) {
    if (label.line >= count || !starts(label)) continue;
    if (!functions.empty() && functions.back().begin == label.line) {
      functions.back().name = label.name;  // an alias; the later name is the nearer one
      continue;
    }
    if (!functions.empty()) functions.back().end = label.line;
    functions.push_back({label.name, label.line, count});
  }
  if (functions.empty() && !names) functions.push_back({{}, 0, count});
  for (Function& function : functions) {
    function.end = without_padding(listing, function.begin, function.end);
  }
  return functions;
}

void fill_resources(Kernel& kernel, const Target& target, const Declared& declared) {
  const KernelMetadata* metadata = declared.metadata;
  const auto disagree = [&](const char* what, const std::optional<std::int64_t>& one,
                            const std::optional<std::int64_t>& other) {
    if (one && other && *one != *other) {
      kernel.notes.push_back(
          fmt::format("{}: {} by {}, {} by the metadata", what, *one, declared.source, *other));
    }
  };
  kernel.shared_bytes = declared.shared_bytes;
  kernel.scratch_bytes = declared.scratch_bytes;
  kernel.registers_scalar = declared.used_sgprs;
  kernel.registers_used = declared.used_vgprs;
  kernel.registers_accum = declared.used_agprs;
  if (metadata) {
    disagree("LDS bytes", declared.shared_bytes, metadata->shared_bytes);
    disagree("scratch bytes", declared.scratch_bytes, metadata->scratch_bytes);
    if (declared.wave_size) {
      disagree("lanes a wave", std::int64_t{*declared.wave_size}, metadata->wave_size);
    }
    if (!kernel.shared_bytes) kernel.shared_bytes = metadata->shared_bytes;
    if (!kernel.scratch_bytes) kernel.scratch_bytes = metadata->scratch_bytes;
    if (!kernel.registers_scalar) kernel.registers_scalar = metadata->sgprs;
    kernel.workgroup_limit = metadata->workgroup_limit;
    kernel.arguments = metadata->arguments;
    if (!kernel.registers_accum && target.accumulators) {
      kernel.registers_accum = metadata->agprs;
      // Old metadata counts the two kinds together; the descriptor says where the second starts.
      if (!metadata->agprs && target.unified_file && metadata->vgprs && declared.accum_offset) {
        kernel.registers_accum =
            std::max<std::int64_t>(0, *metadata->vgprs - *declared.accum_offset);
      }
    }
    if (!kernel.registers_used && metadata->vgprs) {
      kernel.registers_used = metadata->vgprs;
      const std::int64_t accum = kernel.registers_accum.value_or(0);
      if (target.unified_file && accum > 0 && accum <= *metadata->vgprs) {
        kernel.registers_used = *metadata->vgprs - accum;
      }
    }
    if (metadata->vgpr_spills) {
      kernel.spill_bytes = *metadata->vgpr_spills * 4;
      kernel.extra["isa.spilled_vector_registers"] = static_cast<double>(*metadata->vgpr_spills);
      if (*metadata->vgpr_spills == 0) kernel.spill_loads = kernel.spill_stores = 0;
    }
    if (metadata->sgpr_spills) {
      kernel.extra["isa.spilled_scalar_registers"] = static_cast<double>(*metadata->sgpr_spills);
    }
    if (metadata->kernarg_bytes) {
      kernel.extra["isa.kernarg_bytes"] = static_cast<double>(*metadata->kernarg_bytes);
    }
    if (metadata->required_workgroup.size() == 3) {
      kernel.notes.push_back(fmt::format(
          "built for workgroups of exactly {} x {} x {} threads", metadata->required_workgroup[0],
          metadata->required_workgroup[1], metadata->required_workgroup[2]));
    }
  }
  const int wave = declared.wave_size.value_or(
      static_cast<int>(metadata && metadata->wave_size.value_or(0) == 64   ? 64
                       : metadata && metadata->wave_size.value_or(0) == 32 ? 32
                                                                           : target.default_wave));
  if (!target.processor.empty() || declared.wave_size || (metadata && metadata->wave_size)) {
    kernel.extra["isa.wave_size"] = wave;
  }

  kernel.registers_allocated = declared.allocated_vgprs;
  const int step = allocation_step(target, wave);
  if (!kernel.registers_allocated && declared.next_free_vgpr && *declared.next_free_vgpr >= 0 &&
      *declared.next_free_vgpr <= 4096) {
    kernel.registers_allocated =
        round_up(std::max<std::int64_t>(1, *declared.next_free_vgpr), step);
  }
  if (!kernel.registers_used || !kernel.registers_allocated) return;
  const std::int64_t accum = kernel.registers_accum.value_or(0);
  const std::int64_t plain = *kernel.registers_used;
  const std::int64_t needed = std::max<std::int64_t>(
      1, target.unified_file ? (accum > 0 ? round_up(plain, 4) + accum : plain)
                             : std::max(plain, accum));
  if (*kernel.registers_allocated > round_up(needed, step)) {
    const std::string count =
        declared.next_free_vgpr
            ? fmt::format("next_free_vgpr {}", *declared.next_free_vgpr)
            : fmt::format("{} allocated vector registers", *kernel.registers_allocated);
    kernel.notes.push_back(
        fmt::format("{}: inflated; the kernel uses {}. LLVM raises the number to the least that "
                    "fits the occupancy "
                    "that LDS or the workgroup size allows, so registers are not what limits it",
                    count, needed));
  } else if (*kernel.registers_allocated < needed) {
    kernel.notes.push_back(fmt::format("{} vector registers are allocated, but {} are used",
                                       *kernel.registers_allocated, needed));
  }
}

void fill_code(Kernel& kernel, const Target& target, const Declared& declared,
               const Listing& listing, const Function& function) {
  CodeReader(kernel, target, declared, listing, function).read();
}

int generation_of(const Listing& listing) {
  int generation = 9;
  for (const Line& line : listing.lines) {
    const std::string_view name = line.opcode->mnemonic;
    if (name.starts_with("s_wait_") && name != "s_wait_idle" && name != "s_wait_event") return 12;
    if (name.starts_with("s_delay_alu") || name.starts_with("global_load_b") ||
        name.starts_with("s_load_b")) {
      generation = std::max(generation, 11);
    }
    if (name == "s_waitcnt_vscnt" || name == "s_clause" || name == "s_inst_prefetch") {
      generation = std::max(generation, 10);
    }
  }
  return generation;
}

}  // namespace burnish::isa::amd
