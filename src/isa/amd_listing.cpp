#include "isa/amd_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace burnish::isa::amd {
namespace {

/// More than the text of any real module; bounds the memory that a text of 1 GiB can ask for.
constexpr std::size_t kMostLines = 8'000'000;
/// Past this, registers are no registers.
constexpr int kMostRegisters = 1024;

/// Kinds of characters; a table, since every byte of the text is asked for.
enum CharacterKind : std::uint8_t { kDigit = 1, kBlank = 2, kLetter = 4, kWord = 8 };
constexpr std::array<std::uint8_t, 256> kCharacters = [] {
  std::array<std::uint8_t, 256> kinds{};
  for (unsigned c = '0'; c <= '9'; ++c) kinds[c] = kDigit | kWord;
  for (unsigned c = 'a'; c <= 'z'; ++c) kinds[c] = kLetter | kWord;
  for (unsigned c = 'A'; c <= 'Z'; ++c) kinds[c] = kLetter | kWord;
  kinds['_'] = kLetter | kWord;
  for (const unsigned char c : {'.', '$', '@'}) kinds[c] = kWord;
  for (const unsigned char c : {' ', '\t', '\r'}) kinds[c] = kBlank;
  return kinds;
}();

bool is(char c, CharacterKind kind) {
  return (kCharacters[static_cast<unsigned char>(c)] & kind) != 0;
}
bool is_digit(char c) { return is(c, kDigit); }
bool is_blank(char c) { return is(c, kBlank); }
bool is_letter(char c) { return is(c, kLetter); }
bool is_word(char c) { return is(c, kWord); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file, Listing& listing)
      : text_(text), file_(file), out_(listing) {}

  Result<void> read() {
    // A line of assembly is some 35 bytes. Pages that are not reached cost nothing; growing does.
    out_.lines.reserve(std::min(text_.size() / 32, kMostLines));
    const char* at = text_.data();
    const char* const end = at + text_.size();
    while (at < end) {
      const auto* newline =
          static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
      const char* const stop = newline ? newline : end;
      ++number_;
      line(std::string_view(at, static_cast<std::size_t>(stop - at)));
      if (out_.lines.size() > kMostLines) {
        return bad_input(fmt::format("more than {} instructions", kMostLines))
            .at({file_, number_, 1});
      }
      at = stop + 1;
    }
    finish();
    return {};
  }

 private:
  enum class Skip { none, macro, metadata, block_comment };

  void line(std::string_view raw) {
    std::size_t start = 0;
    while (start < raw.size() && is_blank(raw[start])) ++start;
    if (start == raw.size()) return;
    std::string_view rest = raw.substr(start);
    if (skip_ != Skip::none) {
      skipped(raw, rest);
      return;
    }
    // The name before it is any path: no label and no instruction.
    if (trim(rest).ends_with("file format elf64-amdgpu")) {
      out_.kind = Listing::Kind::disassembly;
      return;
    }
    const char first = rest[0];
    if (is_letter(first)) {
      statement(rest);
    } else if (first == '.') {
      directive_or_label(rest, raw);
    } else if (first == ';') {
      comment(trim(rest.substr(1)));
    } else if (is_digit(first)) {
      numbered(rest);
    } else if (first == '<') {
      const std::size_t close = rest.find(">:");
      if (close != std::string_view::npos) add_label(rest.substr(1, close - 1), 0);
    } else if (first == '/' && rest.starts_with("/*") &&
               rest.find("*/", 2) == std::string_view::npos) {
      skip_ = Skip::block_comment;
    }
  }

  void skipped(std::string_view raw, std::string_view rest) {
    switch (skip_) {
      case Skip::none:
        break;
      case Skip::block_comment:
        if (rest.find("*/") != std::string_view::npos) skip_ = Skip::none;
        break;
      case Skip::macro:
        if (rest.starts_with(".macro") || rest.starts_with(".rept")) ++macro_depth_;
        if ((rest.starts_with(".endm") || rest.starts_with(".endr")) && --macro_depth_ == 0) {
          skip_ = Skip::none;
        }
        break;
      case Skip::metadata:
        if (rest.starts_with(".end_amdgpu_metadata") ||
            rest.starts_with(".end_amd_amdgpu_hsa_metadata")) {
          skip_ = Skip::none;
          const auto begin = static_cast<std::size_t>(metadata_ - text_.data());
          const auto end = static_cast<std::size_t>(raw.data() - text_.data());
          out_.metadata = text_.substr(begin, end - begin);
        }
        break;
    }
  }

  void add_label(std::string_view name, std::uint64_t address) {
    out_.labels.push_back({name, out_.lines.size(), address});
  }

  /// "0000000000001900 <saxpy>:" of a disassembly, or a local label "1:".
  void numbered(std::string_view rest) {
    std::uint64_t address = 0;
    std::size_t at = 0;
    for (; at < rest.size() && at < 16 && hex_digit(rest[at]) >= 0; ++at) {
      address = address * 16 + static_cast<std::uint64_t>(hex_digit(rest[at]));
    }
    if (at + 1 < rest.size() && rest.substr(at).starts_with(" <")) {
      const std::size_t close = rest.rfind(">:");
      if (close == std::string_view::npos || close < at + 2) return;
      out_.kind = Listing::Kind::disassembly;
      add_label(rest.substr(at + 2, close - at - 2), address);
      function_ = out_.labels.back().name;
      source_ = {-1, 0};
    } else if (at < rest.size() && rest[at] == ':') {
      add_label(rest.substr(0, at), 0);
    }
  }

  /// A label, an assignment, a call of a macro or an instruction.
  void statement(std::string_view rest) {
    std::size_t end = 1;
    while (end < rest.size() && is_word(rest[end])) ++end;
    const std::string_view word = rest.substr(0, end);
    if (end < rest.size() && rest[end] == ':') {
      label(word, rest.substr(end + 1));
      return;
    }
    std::size_t next = end;
    while (next < rest.size() && is_blank(rest[next])) ++next;
    if (next < rest.size() && rest[next] == '=' && !rest.substr(next).starts_with("==")) {
      out_.symbols.set(word, without_comment(rest.substr(next + 1)));
      return;
    }
    if (!macro_names_.empty() && macro_names_.contains(word)) {
      ++out_.macro_calls;
      return;
    }
    if (rest.starts_with("Disassembly of section")) {
      out_.kind = Listing::Kind::disassembly;
      return;
    }
    // A mnemonic stands alone; "my-kernel.o: file format" and prose do not look like one.
    const bool alone =
        end == rest.size() || is_blank(rest[end]) || rest[end] == ';' || rest[end] == '/';
    // Version 2 describes a kernel by assignments in a block.
    if (!alone || in_kernel_code_) return;
    instruction(word, rest, end);
  }

  void label(std::string_view name, std::string_view after) {
    add_label(name, 0);
    // A function's label; labels inside one usually start with a dot.
    if (out_.functions.contains(name)) function_ = name;
    after = trim(after);
    if (!after.empty() && is_letter(after[0])) statement(after);
  }

  void directive_or_label(std::string_view rest, std::string_view raw) {
    std::size_t end = 1;
    while (end < rest.size() && is_word(rest[end])) ++end;
    std::string_view word = rest.substr(0, end);
    if (end < rest.size() && rest[end] == ':') {
      label(word, rest.substr(end + 1));
      return;
    }
    const std::string_view after = trim(rest.substr(end));
    if (after.starts_with('=')) {
      out_.symbols.set(word, without_comment(after.substr(1)));
      return;
    }
    if (word == ".loc") {
      loc(after);
    } else if (word == ".set") {
      const std::size_t comma = after.find(',');
      if (comma != std::string_view::npos) {
        out_.symbols.set(trim(after.substr(0, comma)), without_comment(after.substr(comma + 1)));
      }
    } else if (word.starts_with(".amdhsa_")) {
      word.remove_prefix(std::strlen(".amdhsa_"));
      if (word == "kernel") {
        out_.kernels.push_back(without_comment(after));
        block_ = &out_.directives[out_.kernels.back()];
      } else if (block_ && (word == "next_free_vgpr" || word == "accum_offset" ||
                            word == "group_segment_fixed_size" ||
                            word == "private_segment_fixed_size" || word == "wavefront_size32")) {
        (*block_)[word] = without_comment(after);
      }
    } else if (word == ".end_amdhsa_kernel") {
      block_ = nullptr;
    } else if (word == ".type") {
      const std::size_t comma = after.find(',');
      if (comma != std::string_view::npos &&
          after.find("@function", comma) != std::string_view::npos) {
        out_.functions.insert(trim(after.substr(0, comma)));
      }
    } else if (word == ".file") {
      file(after);
    } else if (word == ".amdgcn_target") {
      out_.target = quoted(after);
    } else if (word == ".amdgpu_metadata" || word == ".amd_amdgpu_hsa_metadata") {
      skip_ = Skip::metadata;
      metadata_ = raw.data() + raw.size();
      out_.metadata_line = number_;
      if (word != ".amdgpu_metadata") out_.version2 = true;
    } else if (word == ".macro" || word == ".rept") {
      ++out_.macros;
      macro_depth_ = 1;
      skip_ = Skip::macro;
      if (word == ".macro") macro_names_.insert(after.substr(0, after.find_first_of(" \t,")));
    } else if (word == ".if" || word == ".ifdef" || word == ".ifndef" || word == ".include") {
      ++out_.macros;
    } else if (word == ".amdgpu_hsa_kernel" || word == ".hsa_code_object_version") {
      out_.version2 = true;
      if (word == ".amdgpu_hsa_kernel") out_.functions.insert(without_comment(after));
    } else if (word == ".amd_kernel_code_t") {
      out_.version2 = true;
      in_kernel_code_ = true;
    } else if (word == ".end_amd_kernel_code_t") {
      in_kernel_code_ = false;
    }
  }

  static std::string_view without_comment(std::string_view text) {
    const std::size_t end = std::min(text.find(';'), text.find("//"));
    return trim(text.substr(0, end));
  }
  static std::string_view quoted(std::string_view text) {
    const std::size_t open = text.find('"');
    if (open == std::string_view::npos) return trim(text);
    return text.substr(open + 1, text.find('"', open + 1) - open - 1);
  }

  /// `.loc FILE LINE COLUMN`.
  void loc(std::string_view after) {
    const auto number = [&]() {
      int value = 0;
      std::size_t at = 0;
      for (; at < after.size() && is_digit(after[at]) && value < 100'000'000; ++at) {
        value = value * 10 + (after[at] - '0');
      }
      after = trim(after.substr(at));
      return value;
    };
    const int file = number();
    const int line = number();
    const auto found = file_index_.find(file);
    source_ = {found == file_index_.end() ? -1 : found->second, line};
  }

  /// `.file 1 "folder" "name"` or `.file 1 "name"`.
  void file(std::string_view after) {
    int number = 0;
    std::size_t at = 0;
    for (; at < after.size() && is_digit(after[at]) && number < 100'000'000; ++at) {
      number = number * 10 + (after[at] - '0');
    }
    if (at == 0) return;
    std::string name;
    std::string_view rest = trim(after.substr(at));
    while (rest.starts_with('"')) {
      const std::string_view part = quoted(rest);
      name = name.empty() || part.starts_with('/') ? std::string(part)
                                                   : name + '/' + std::string(part);
      rest = trim(rest.substr(std::min(part.size() + 2, rest.size())));
    }
    file_index_[number] = intern(std::move(name));
  }

  int intern(std::string name) {
    const auto [found, fresh] = file_names_.try_emplace(name, static_cast<int>(out_.files.size()));
    if (fresh) out_.files.push_back(std::move(name));
    return found->second;
  }

  /// What compilers and disassemblers say in comments: "NumVgprs: 6", "/path/k.hip:12".
  void comment(std::string_view text) {
    if (out_.kind == Listing::Kind::disassembly) {
      const std::size_t colon = text.rfind(':');
      if (colon == std::string_view::npos || colon == 0) return;
      const std::string_view value = trim(text.substr(colon + 1));
      // Interleaved source may hold colons too; paths of source files hold no blank there.
      const bool path = text.starts_with('/') || text.find(' ') == std::string_view::npos;
      if (!path || value.empty() || !is_digit(value[0])) return;
      const auto line = parse_integer(value);
      if (line && *line < 100'000'000) {
        source_ = {intern(std::string(trim(text.substr(0, colon)))), static_cast<int>(*line)};
      }
      return;
    }
    if (function_.empty()) return;
    for (const std::string_view key :
         {"TotalNumSgprs", "NumSgprs", "NumVgprs", "NumAgprs", "ScratchSize", "LDSByteSize"}) {
      if (!text.starts_with(key) || text.size() == key.size() || text[key.size()] != ':') continue;
      const std::string_view number = trim(text.substr(key.size() + 1));
      out_.comments[function_][key] = number.substr(0, number.find(" bytes"));
    }
  }

  void instruction(std::string_view word, std::string_view rest, std::size_t at) {
    Line& line = out_.lines.emplace_back();
    line.opcode = &out_.opcodes.find(word);
    line.number = number_;
    line.file = source_.first;
    line.source_line = source_.second;
    line.address = (out_.lines.size() - 1) * 4;
    operands(line, rest, at);
  }

  void comment_of(Line& line, std::string_view comment) {
    if (comment.starts_with("//")) {
      std::uint64_t address = 0;
      std::size_t at = 2;
      while (at < comment.size() && is_blank(comment[at])) ++at;
      const std::size_t start = at;
      for (; at < comment.size() && at < start + 16 && hex_digit(comment[at]) >= 0; ++at) {
        address = address * 16 + static_cast<std::uint64_t>(hex_digit(comment[at]));
      }
      if (at > start && at < comment.size() && comment[at] == ':') line.address = address;
      return;
    }
    line.spill_comment = comment.find("Folded ") != std::string_view::npos;
  }

  /// Reads operands and modifiers from `at` to the comment or the end of the line.
  void operands(Line& line, std::string_view rest, std::size_t at) {
    std::size_t slot = 0;
    bool filled = false;
    std::size_t slot_start = at;
    const auto put = [&](Operand operand) {
      if (filled || slot >= Line::kMostOperands) return;
      filled = true;
      line.operands[slot] = operand;
      line.operand_count = static_cast<std::uint8_t>(slot + 1);
    };
    while (at < rest.size()) {
      const char c = rest[at];
      if (c == ',') {
        ++slot;
        filled = false;
        slot_start = ++at;
      } else if (c == ';') {
        break;
      } else if (c == '/' && at + 1 < rest.size() && (rest[at + 1] == '/' || rest[at + 1] == '*')) {
        if (rest[at + 1] == '/') break;
        at = block_comment(line, rest, at, slot, filled);
      } else if (is_letter(c) || c == '.') {
        at = word_operand(line, rest, at, put);
      } else if (is_digit(c)) {
        put({Operand::Kind::constant, 0, 0});
        while (at < rest.size() && is_word(rest[at])) ++at;
      } else if (c == ':' && rest.substr(at).starts_with("::")) {
        at += 2;
        while (at < rest.size() && is_blank(rest[at])) ++at;
        std::size_t end = at;
        while (end < rest.size() && is_word(rest[end])) ++end;
        line.second = &out_.opcodes.find(rest.substr(at, end - at));
        at = end;
        ++slot;
        filled = false;
        slot_start = at;
        line.second_first = static_cast<std::uint8_t>(
            std::min<std::size_t>(slot, static_cast<std::size_t>(Line::kMostOperands)));
      } else {
        ++at;
      }
    }
    std::size_t end = std::min(at, rest.size());
    if (end < rest.size()) comment_of(line, rest.substr(end));
    while (end > 0 && is_blank(rest[end - 1])) --end;
    line.text = rest.substr(0, end);
    line.last_start =
        static_cast<std::uint32_t>(std::min({slot_start, end, std::size_t{0xffffffff}}));
  }

  /// gfx1250 names registers past v255 in a comment: "v[66:73] /*v[322:329]*/".
  std::size_t block_comment(Line& line, std::string_view rest, std::size_t at, std::size_t slot,
                            bool filled) {
    const std::size_t close = rest.find("*/", at + 2);
    if (close == std::string_view::npos) {
      skip_ = Skip::block_comment;
      return rest.size();
    }
    const std::string_view inside = rest.substr(at + 2, close - at - 2);
    if (filled && slot < Line::kMostOperands && inside.starts_with('v')) {
      std::size_t end = 0;
      if (const auto found = registers(inside, 0, end)) line.operands[slot] = *found;
    }
    return close + 2;
  }

  /// v12, a[0:3], s[4:5], v[base+1]; `end` is where it ends.
  std::optional<Operand> registers(std::string_view text, std::size_t at, std::size_t& end) const {
    const Operand::Kind kind = text[at] == 'v'   ? Operand::Kind::vector
                               : text[at] == 'a' ? Operand::Kind::accum
                                                 : Operand::Kind::scalar;
    std::size_t next = at + 1;
    int first = 0;
    if (next < text.size() && is_digit(text[next])) {
      for (; next < text.size() && is_digit(text[next]) && first < kMostRegisters; ++next) {
        first = first * 10 + (text[next] - '0');
      }
      // v0.l and v0.h are halves; anything else that goes on is another word.
      if (next < text.size() && is_word(text[next])) {
        if (text[next] != '.') return {};
        while (next < text.size() && is_word(text[next])) ++next;
      }
      if (first >= kMostRegisters) return {};
      end = next;
      return Operand{kind, 1, static_cast<std::uint16_t>(first)};
    }
    if (next >= text.size() || text[next] != '[') return {};
    const std::size_t close = text.find(']', ++next);
    if (close == std::string_view::npos) return {};
    const std::string_view inside = text.substr(next, close - next);
    const std::size_t colon = inside.find(':');
    const auto from = index(inside.substr(0, colon));
    const auto to = colon == std::string_view::npos ? from : index(inside.substr(colon + 1));
    end = close + 1;
    if (!from || !to || *from < 0 || *to < *from || *to >= kMostRegisters || *to - *from >= 64) {
      return Operand{Operand::Kind::other, 0, 0};
    }
    return Operand{kind, static_cast<std::uint8_t>(*to - *from + 1),
                   static_cast<std::uint16_t>(*from)};
  }

  std::optional<std::int64_t> index(std::string_view text) const {
    int value = 0;
    std::size_t at = 0;
    for (; at < text.size() && is_digit(text[at]) && value < kMostRegisters; ++at) {
      value = value * 10 + (text[at] - '0');
    }
    if (at == text.size() && at > 0) return value;
    return out_.symbols.evaluate(trim(text));
  }

  template <class Put>
  std::size_t word_operand(Line& line, std::string_view rest, std::size_t at, const Put& put) {
    const char c = rest[at];
    if (c == 'v' || c == 's' || c == 'a') {
      std::size_t end = 0;
      if (const auto found = registers(rest, at, end)) {
        put(*found);
        return end;
      }
    }
    std::size_t end = at;
    while (end < rest.size() && is_word(rest[end])) ++end;
    const std::string_view word = rest.substr(at, end - at);
    const bool valued = end < rest.size() && rest[end] == ':';
    if (end < rest.size() && rest[end] == '(') {
      // neg(v1), abs(s2): the register inside counts. A name such as hwreg(…) or vmcnt(…) does not.
      if (word == "neg" || word == "abs" || word == "sext") return end + 1;
      put({Operand::Kind::other, 0, 0});
      const std::size_t close = rest.find(')', end);
      return close == std::string_view::npos ? rest.size() : close + 1;
    }
    if (valued && !rest.substr(end).starts_with("::")) {
      return modifier(line, word, rest, end + 1);
    }
    if (word.starts_with("row_") || word.starts_with("wave_")) {
      line.dpp = Dpp::other;  // row_mirror, row_half_mirror
    } else if (word == "lds") {
      line.to_lds = true;
    } else if (word == "glc" || word == "sc0") {
      line.returns = true;
    } else {
      put({Operand::Kind::other, 0, 0});
    }
    return end;
  }

  /// A modifier with a value, after its colon.
  std::size_t modifier(Line& line, std::string_view word, std::string_view rest, std::size_t at) {
    const std::size_t start = at;
    if (at < rest.size() && rest[at] == '[') {
      at = std::min(rest.find(']', at), rest.size() - 1) + 1;
    } else {
      // A disassembler puts its comment right behind a long line: "src1_sel:BYTE_0// 0032CC: …".
      while (at < rest.size() && rest[at] != ',' && !is_blank(rest[at]) && rest[at] != ';' &&
             rest[at] != '/') {
        if (rest[at] == '(') at = std::min(rest.find(')', at), rest.size() - 1);
        ++at;
      }
    }
    if (word == "quad_perm") {
      line.dpp = Dpp::quad_perm;
    } else if (word == "row_shr") {
      line.dpp = Dpp::row_shr;
    } else if (word == "row_bcast") {
      line.dpp = Dpp::row_bcast;
    } else if (word == "dpp8" || word == "row_shl" || word == "row_ror" || word == "row_share" ||
               word == "row_xmask" || word == "row_newbcast" || word.starts_with("wave_")) {
      line.dpp = Dpp::other;
    } else if (word == "offset") {
      const std::string_view value = rest.substr(start, at - start);
      if (!value.empty() && (is_digit(value[0]) || value[0] == '-')) {
        const auto number =
            value.starts_with("0x") ? out_.symbols.evaluate(value) : parse_integer(value);
        if (number && *number > -(1 << 24) && *number < (1 << 24)) {
          line.offset = static_cast<int>(*number);
        }
      }
    } else if (word == "th") {
      line.returns = rest.substr(start, at - start).find("ATOMIC_RETURN") != std::string_view::npos;
    }
    return at;
  }

  void finish() {
    // A typed name may come after its label, and .amdhsa_kernel always does.
    for (std::string_view kernel : out_.kernels) out_.functions.insert(kernel);
  }

  std::string_view text_;
  const std::string& file_;
  Listing& out_;
  int number_ = 0;
  Skip skip_ = Skip::none;
  int macro_depth_ = 0;
  bool in_kernel_code_ = false;
  const char* metadata_ = nullptr;
  std::unordered_map<std::string_view, std::string_view>* block_ = nullptr;  ///< .amdhsa_kernel
  std::string_view function_;  ///< the function that comments speak of
  std::pair<int, int> source_{-1, 0};
  std::unordered_map<int, int> file_index_;
  std::unordered_map<std::string, int> file_names_;
  std::unordered_set<std::string_view> macro_names_;
};

}  // namespace

std::string_view Line::last_operand() const { return trim(text.substr(last_start)); }

Result<void> read_listing(std::string_view text, const std::string& file, Listing& listing) {
  return Reader(text, file, listing).read();
}

}  // namespace burnish::isa::amd
