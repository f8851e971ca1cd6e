#include "isa/sass_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace burnish::isa::nvidia {
namespace {

/// Files with more are none that a compiler made.
constexpr std::size_t kMostInstructions = 8'000'000;
constexpr int kOldestSm = 50;
constexpr int kFirstWide = 70;  ///< from here on an instruction has 128 bits
/// Text is told by what its first lines hold.
constexpr std::size_t kProbe = 64u << 10;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Reads up to 16 hexadecimal digits from the front and drops them; absent when there is none.
std::optional<std::uint64_t> take_hex(std::string_view& text) {
  std::uint64_t value = 0;
  std::size_t at = 0;
  for (; at < text.size() && at < 16; ++at) {
    const int digit = hex_digit(text[at]);
    if (digit < 0) break;
    value = value << 4 | static_cast<std::uint64_t>(digit);
  }
  if (at == 0) return {};
  text.remove_prefix(at);
  return value;
}

std::string_view skip_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_space(text[at])) ++at;
  return text.substr(at);
}

std::string_view drop_space(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// The text between two quotation marks.
std::string_view quoted(std::string_view text) {
  const std::size_t open = text.find('"');
  if (open == std::string_view::npos) return {};
  const std::size_t close = text.find('"', open + 1);
  return close == std::string_view::npos ? std::string_view{}
                                         : text.substr(open + 1, close - open - 1);
}

std::string_view word_at(std::string_view text) {
  text = skip_space(text);
  std::size_t end = 0;
  while (end < text.size() && !is_space(text[end]) && text[end] != ',') ++end;
  return text.substr(0, end);
}

/// "sm_90a" wherever the text starts with it.
std::string_view arch_at(std::string_view text) {
  if (!text.starts_with("sm_")) return {};
  std::size_t end = 3;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  if (end == 3 || end > 6) return {};
  if (end < text.size() && (text[end] == 'a' || text[end] == 'f')) ++end;
  return text.substr(0, end);
}

/// "[B--2---:R-:W0:Y:S04]" as CuAssembler writes control codes.
std::optional<Control> written_control(std::string_view text) {
  if (text.size() < 20 || !text.starts_with("[B")) return {};
  Control control;
  text.remove_prefix(2);
  std::size_t at = 0;
  for (; at < text.size() && text[at] != ':'; ++at) {
    if (text[at] >= '0' && text[at] <= '5') {
      control.wait_mask = static_cast<std::uint8_t>(control.wait_mask | 1u << (text[at] - '0'));
    } else if (text[at] != '-') {
      return {};
    }
  }
  const auto barrier = [&](std::string_view tag, std::int8_t& to) {
    if (text.substr(at, tag.size()) != tag || at + tag.size() >= text.size()) return false;
    const char c = text[at + tag.size()];
    if (c >= '0' && c <= '5') to = static_cast<std::int8_t>(c - '0');
    at += tag.size() + 1;
    return c == '-' || (c >= '0' && c <= '5');
  };
  if (!barrier(":R", control.read_barrier) || !barrier(":W", control.write_barrier)) return {};
  if (text.substr(at, 1) != ":" || at + 1 >= text.size()) return {};
  control.yields = text[at + 1] == 'Y';
  at += 2;
  if (text.substr(at, 2) != ":S") return {};
  int stall = 0;
  for (at += 2; at < text.size() && text[at] >= '0' && text[at] <= '9' && stall < 100; ++at) {
    stall = stall * 10 + (text[at] - '0');
  }
  if (stall > 15) return {};
  control.stall = static_cast<std::uint8_t>(stall);
  return control;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file, Listing& listing)
      : text_(text), file_(file), listing_(listing) {}

  Result<void> run() {
    for (std::size_t at = 0; at < text_.size();) {
      const void* found = std::memchr(text_.data() + at, '\n', text_.size() - at);
      const std::size_t end =
          found == nullptr
              ? text_.size()
              : static_cast<std::size_t>(static_cast<const char*>(found) - text_.data());
      ++number_;
      BURNISH_TRY(line(text_.substr(at, end - at)));
      at = end + 1;
    }
    close_function();
    return {};
  }

 private:
  Result<void> line(std::string_view whole) {
    std::string_view text = skip_space(whole);
    if (text.empty()) return {};
    if (text.front() == '/') {
      if (text.size() > 3 && text[1] == '*') {
        std::string_view rest = text.substr(2);
        if (hex_digit(rest.front()) >= 0) return instruction(rest, {});
        if (rest.starts_with(" 0x")) encoding(rest.substr(3));
      } else if (text.starts_with("//## File")) {
        source_line(text);
      }
      return {};
    }
    if (text.front() == '[') {
      const auto control = written_control(text);
      const std::size_t comment = text.find("/*");
      if (control && comment != std::string_view::npos && comment + 2 < text.size()) {
        return instruction(text.substr(comment + 2), control);
      }
      return {};
    }
    text = drop_space(text);
    if (text.empty()) return {};
    // "nvdisasm -plr" draws life ranges behind everything: ".L_x_3:      // | 14 : :".
    const std::string_view first = word_at(text);
    if (first.size() > 1 && first.back() == ':') {
      const std::string_view rest = skip_space(text.substr(first.size()));
      if (rest.empty() || rest.starts_with("//")) label(first.substr(0, first.size() - 1));
      return {};
    }
    if (text.front() == '.') return directive(text);
    if (text.starts_with("Function : ")) {
      open_function(trim(text.substr(11)));
      return {};
    }
    if (text.starts_with("code for ")) return set_arch(arch_at(text.substr(9)));
    if (text.starts_with("arch = ")) {
      close_function();
      image_arch_ = arch_at(text.substr(7));
      arch_ = {};
      return {};
    }
    if (text.starts_with("Fatbin ") || text.starts_with("======")) close_function();
    return {};
  }

  Result<void> directive(std::string_view text) {
    if (text.starts_with(".section")) {
      if (text.starts_with(".sectioninfo")) {
        const std::size_t at = text.find("SHI_REGISTERS=");
        if (at != std::string_view::npos && open_) {
          std::string_view count = text.substr(at + 14);
          count = count.substr(0, count.find_first_not_of("0123456789"));
          listing_.functions.back().registers = parse_integer(count);
        }
        return {};
      }
      if (!text.starts_with(".section ") && !text.starts_with(".section\t")) return {};
      const std::string_view name = word_at(text.substr(8));
      close_function();
      if (name.starts_with(".text.")) open_function(name.substr(6));
      return {};
    }
    if (text.starts_with(".target")) {
      const std::string_view name = word_at(text.substr(7));
      return set_arch(arch_at(name));
    }
    if (text.starts_with(".headerflags")) {
      // EF_CUDA_SM52; EF_CUDA_VIRTUAL_SM(EF_CUDA_SM52) or EF_CUDA_PTX_SM(…) follow.
      const std::size_t at = text.find("EF_CUDA_SM");
      if (at == std::string_view::npos) return {};
      std::string_view digits = text.substr(at + 10);
      digits = digits.substr(0, digits.find_first_not_of("0123456789"));
      const auto number = parse_integer(digits);
      if (!number || sm_number(arch_) == static_cast<int>(*number)) return {};
      return set_arch(kept_arch(static_cast<int>(*number)));
    }
    if (text.starts_with(".other") && contains(text, "STO_CUDA_ENTRY")) {
      const std::string_view name = word_at(text.substr(6));
      if (open_ && listing_.functions.back().symbol == name) {
        listing_.functions.back().entry = true;
        listing_.names_entries = true;
      }
    }
    return {};
  }

  /// "sm_52" for a number, as a view that lasts.
  static std::string_view kept_arch(int number) {
    static constexpr auto kNames = std::to_array<std::string_view>(
        {"sm_50",  "sm_52",  "sm_53",  "sm_60",  "sm_61",  "sm_62",  "sm_70",
         "sm_72",  "sm_75",  "sm_80",  "sm_86",  "sm_87",  "sm_88",  "sm_89",
         "sm_90",  "sm_100", "sm_101", "sm_103", "sm_107", "sm_110", "sm_120",
         "sm_121", "sm_30",  "sm_32",  "sm_35",  "sm_37",  "sm_20",  "sm_21"});
    for (const std::string_view name : kNames) {
      if (sm_number(name) == number) return name;
    }
    return {};
  }

  Result<void> set_arch(std::string_view arch) {
    if (arch.empty()) return {};
    const auto number = sm_number(arch);
    if (number && *number < kOldestSm) {
      return bad_input(fmt::format("it holds code for {}; code for sm_50 and newer is read", arch))
          .at({file_, number_, 0})
          .with_hint("compile for a newer architecture");
    }
    // cuobjdump prints the number first and the exact name after it.
    arch_ = arch;
    if (sm_number(image_arch_) == number && image_arch_.size() > arch_.size()) arch_ = image_arch_;
    if (open_ && listing_.functions.back().begin == listing_.lines.size()) {
      listing_.functions.back().arch = arch_;
    }
    return {};
  }

  void open_function(std::string_view symbol) {
    close_function();
    Function function;
    function.symbol = symbol;
    function.arch = arch_;
    function.begin = function.end = listing_.lines.size();
    function.first_label = function.last_label = listing_.labels.size();
    function.line = number_;
    listing_.functions.push_back(function);
    open_ = true;
  }

  void close_function() {
    awaiting_high_ = false;
    group_ = {};
    fresh_place_ = false;
    place_ = -1;
    if (!open_) return;
    Function& function = listing_.functions.back();
    function.end = listing_.lines.size();
    function.last_label = listing_.labels.size();
    if (function.end == function.begin) listing_.functions.pop_back();
    open_ = false;
  }

  void label(std::string_view name) {
    if (!open_ || !name.starts_with(".L")) return;
    // The address is that of the next instruction, known when it comes.
    listing_.labels.push_back({name, std::numeric_limits<std::uint64_t>::max()});
    ++open_labels_;
  }

  void source_line(std::string_view text) {
    if (fresh_place_) return;  // the rest says where it was inlined
    const std::string_view name = quoted(text);
    const std::size_t at = text.find(", line ");
    if (name.empty() || at == std::string_view::npos) return;
    std::string_view digits = text.substr(at + 7);
    digits = digits.substr(0, digits.find_first_not_of("0123456789"));
    const auto number = parse_integer(digits);
    if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return;
    listing_.places.emplace_back(name, static_cast<int>(*number));
    place_ = static_cast<int>(listing_.places.size()) - 1;
    fresh_place_ = true;
  }

  /// `address` is that of an instruction of the function, for text that does not name its target:
  /// the first slot of a group of narrow instructions holds their control.
  bool is_wide(std::uint64_t address) const {
    if (const auto number = sm_number(arch_)) return *number >= kFirstWide;
    const std::size_t first = open_ ? listing_.functions.back().begin : listing_.lines.size();
    if (first < listing_.lines.size()) address = listing_.lines[first].address;
    return address % 16 == 0;
  }

  /// The hexadecimal words of an instruction, after "/* 0x".
  void encoding(std::string_view text) {
    const auto word = take_hex(text);
    if (!word) return;
    Line* last = open_ && listing_.lines.size() > listing_.functions.back().begin
                     ? &listing_.lines.back()
                     : nullptr;
    if (last != nullptr && !last->encoded) {  // it stood on a line of its own
      last->encoding = *word;
      last->encoded = true;
      awaiting_high_ = is_wide(last->address);
      return;
    }
    if (awaiting_high_) {
      if (!last->control) last->control = control_of_128(*word);
      awaiting_high_ = false;
      return;
    }
    if (last == nullptr || !is_wide(last->address)) group_ = *word;
  }

  Result<void> instruction(std::string_view text, std::optional<Control> control) {
    const auto address = take_hex(text);
    if (!address || !text.starts_with("*/")) return {};
    text = skip_space(text.substr(2));
    if (text.empty() || text.front() == '.') return {};  // data: "/*0010*/ .byte 0x04"
    Line line;
    line.address = *address;
    if (text.front() == '{') {
      line.paired = true;
      text = skip_space(text.substr(1));
    }
    std::size_t end = text.find(';');
    if (end == std::string_view::npos) end = std::min(text.find('}'), text.find("/*"));
    end = std::min(end, text.size());
    std::string_view rest = text.substr(end);
    text = drop_space(text.substr(0, end));
    // Annotations stand between the operands and the end: (*"BRANCH_TARGETS .L_x_0"*).
    if (const std::size_t mark = text.find("(*\""); mark != std::string_view::npos) {
      annotation(text.substr(mark), line);
      text = drop_space(text.substr(0, mark));
    }
    if (!text.empty() && text.back() == '}') text = drop_space(text.substr(0, text.size() - 1));
    if (text.empty()) return {};
    line.text = text;
    if (text.front() == '@') {
      const std::size_t space = std::min(text.find(' '), text.size());
      const std::string_view guard = text.substr(0, space);
      text = skip_space(text.substr(space));
      line.never = guard == "@!PT" || guard == "@!UPT";
      line.guarded = !line.never && guard != "@PT" && guard != "@UPT";
    }
    std::size_t name_end = 0;
    while (name_end < text.size() && !is_space(text[name_end])) ++name_end;
    const std::string_view name = text.substr(0, name_end);
    if (name.empty() || name.front() < 'A' || name.front() > 'Z') return {};
    line.opcode = &listing_.opcodes.find(name);
    if (const std::size_t tick = text.find("`("); tick != std::string_view::npos) {
      const std::size_t close = text.find(')', tick);
      if (close != std::string_view::npos) line.label = text.substr(tick + 2, close - tick - 2);
    }
    if (!open_) open_function({});
    if (listing_.lines.size() >= kMostInstructions) {
      return bad_input("more than 8,000,000 instructions").at({file_, number_, 0});
    }
    for (; open_labels_ > 0; --open_labels_) {
      listing_.labels[listing_.labels.size() - static_cast<std::size_t>(open_labels_)].address =
          line.address;
    }
    line.place = place_;
    fresh_place_ = false;
    awaiting_high_ = false;
    line.control = control;
    const std::size_t word = rest.find("/* 0x");
    if (word != std::string_view::npos) {
      rest.remove_prefix(word + 5);
      if (const auto bits = take_hex(rest)) {
        line.encoding = *bits;
        line.encoded = true;
      }
    }
    const auto slot = static_cast<int>(line.address / 8 % 4);
    if (group_ && slot > 0 && !line.control && !is_wide(line.address)) {
      line.control = control_of_group(*group_, slot - 1);
      if (slot == 3) group_ = {};
    }
    listing_.lines.push_back(line);
    if (line.encoded) awaiting_high_ = is_wide(line.address);
    return {};
  }

  void annotation(std::string_view text, Line& line) {
    constexpr std::string_view kTargets = "BRANCH_TARGETS ";
    if (contains(text, "SpillRefill")) {
      line.spill_marked = true;
      listing_.marks_spills = true;
    }
    const std::size_t at = text.find(kTargets);
    if (at == std::string_view::npos) return;
    line.targets = text.substr(at + kTargets.size());
    line.targets = line.targets.substr(0, line.targets.find('"'));
  }

  std::string_view text_;
  const std::string& file_;
  Listing& listing_;
  std::string_view arch_, image_arch_;
  std::optional<std::uint64_t> group_;  ///< control word of the current group
  int number_ = 0;
  int open_labels_ = 0;
  int place_ = -1;
  bool fresh_place_ = false;
  bool open_ = false;
  bool awaiting_high_ = false;
};

}  // namespace

std::optional<int> sm_number(std::string_view arch) {
  if (!arch.starts_with("sm_")) return {};
  arch.remove_prefix(3);
  if (!arch.empty() && (arch.back() == 'a' || arch.back() == 'f')) arch.remove_suffix(1);
  if (arch.empty() || arch.size() > 3) return {};
  const auto number = parse_integer(arch);
  if (!number || *number <= 0) return {};
  return static_cast<int>(*number);
}

// The layout is the same in all generations; only where the 21 bits lie differs (J. Jia et al.,
// "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, chapter 2).
static Control decode(std::uint64_t bits) {
  const auto barrier = [](std::uint64_t value) {
    return static_cast<std::int8_t>(value >= 6 ? -1 : static_cast<int>(value));
  };
  Control control;
  control.stall = static_cast<std::uint8_t>(bits & 15);
  control.yields = (bits >> 4 & 1) == 0;
  control.write_barrier = barrier(bits >> 5 & 7);
  control.read_barrier = barrier(bits >> 8 & 7);
  control.wait_mask = static_cast<std::uint8_t>(bits >> 11 & 63);
  control.reuse = static_cast<std::uint8_t>(bits >> 17 & 15);
  return control;
}

Control control_of_128(std::uint64_t high) { return decode(high >> 41); }

Control control_of_group(std::uint64_t word, int slot) { return decode(word >> (21 * slot)); }

bool is_sass(std::string_view text) {
  text = text.substr(0, kProbe);
  if (text.find('\0') != std::string_view::npos) return false;
  if (contains(text, "code for sm_") || contains(text, "EF_CUDA_SM")) return true;
  // nvdisasm of raw code has no header: "/*0000*/   MOV R1, c[0x0][0x28] ;".
  for (std::size_t at = text.find("/*"); at != std::string_view::npos;
       at = text.find("/*", at + 2)) {
    std::string_view rest = text.substr(at + 2);
    const std::size_t before = rest.size();
    if (!take_hex(rest) || before - rest.size() < 4 || !rest.starts_with("*/")) continue;
    rest = rest.substr(2, rest.find('\n'));
    if (!rest.starts_with("  ") && !rest.starts_with('\t')) continue;
    rest = skip_space(rest);
    if (!rest.empty() && (rest.front() == '@' || (rest.front() >= 'A' && rest.front() <= 'Z')) &&
        rest.find(';') != std::string_view::npos) {
      return true;
    }
  }
  // Without -c, sections of data may fill what is looked at.
  return contains(text, ".target\tsm_") &&
         (contains(text, "\n.section\t.text.") || contains(text, ".elftype\t@\"ET_"));
}

Result<void> read_listing(std::string_view text, const std::string& file, Listing& listing) {
  return Reader(text, file, listing).run();
}

}  // namespace burnish::isa::nvidia
