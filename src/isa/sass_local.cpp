#include "isa/sass_local.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "base/text.h"

namespace burnish::isa::nvidia {
namespace {

/// "[R1+0x10]" taken apart.
struct Address {
  bool frame = false;  ///< the base is the stack pointer and nothing that varies is added
  std::int64_t offset = 0;
};

Address address_in(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  std::string_view inside = text.substr(open + 1, close - open - 1);
  if (!inside.starts_with("R1")) return {};
  inside.remove_prefix(2);
  Address address;
  if (inside.empty()) {
    address.frame = true;
    return address;
  }
  if (inside.front() != '+') return {};
  inside.remove_prefix(1);
  const bool negative = inside.starts_with('-');
  if (negative) inside.remove_prefix(1);
  if (!inside.starts_with("0x")) return {};
  inside.remove_prefix(2);
  std::uint32_t offset = 0;
  const auto [end, error] =
      std::from_chars(inside.data(), inside.data() + inside.size(), offset, 16);
  if (error != std::errc() || end != inside.data() + inside.size()) return {};
  address.frame = true;
  address.offset = negative ? -std::int64_t{offset} : std::int64_t{offset};
  return address;
}

/// Whether the text names the register R1, the stack pointer, from `at` on.
bool names_stack_pointer(std::string_view text, std::size_t at) {
  const auto is_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  for (at = text.find("R1", at); at != std::string_view::npos; at = text.find("R1", at + 2)) {
    const bool starts = at == 0 || !is_word(text[at - 1]);
    const bool ends = at + 2 >= text.size() || !is_word(text[at + 2]);
    if (starts && ends) return true;
  }
  return false;
}

/// Whether the frame's address goes where it can be indexed: the stack pointer is an operand of
/// anything but an access or its own adjustment.
bool takes_frame_address(const Line& line) {
  if (line.opcode->special == Special::local_load || line.opcode->special == Special::local_store) {
    return false;
  }
  const std::string_view text = line.text;
  std::size_t at = 0;
  if (text.front() == '@') at = std::min(text.find(' '), text.size());
  const std::size_t name = text.find_first_not_of(' ', at);
  if (name == std::string_view::npos) return false;
  const std::size_t operands = text.find(' ', name);
  if (operands == std::string_view::npos) return false;
  const std::string_view first = trim(text.substr(operands, text.find(',', operands) - operands));
  if (first == "R1") return false;
  const std::size_t comma = text.find(',', operands);
  return comma != std::string_view::npos && names_stack_pointer(text, comma);
}

}  // namespace

LocalAccesses local_accesses(const Line* lines, std::size_t count,
                             const std::optional<SpillAddresses>& told) {
  LocalAccesses result;
  result.of.assign(count, LocalAccess::none);
  const auto is_local = [&](const Line& line) {
    return !line.never && (line.opcode->special == Special::local_load ||
                           line.opcode->special == Special::local_store);
  };
  bool any = false;
  for (std::size_t i = 0; i < count && !any; ++i) any = is_local(lines[i]);
  if (!any) return result;
  if (told && !told->empty()) {
    // ptxas leaves out some reloads; what touches the slot of a spill is one.
    std::unordered_set<std::int64_t> slots;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_local(lines[i]) || !told->contains(lines[i].address)) continue;
      if (const Address address = address_in(lines[i].text); address.frame) {
        slots.insert(address.offset);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_local(lines[i])) continue;
      const Address address = address_in(lines[i].text);
      const bool spill =
          told->contains(lines[i].address) || (address.frame && slots.contains(address.offset));
      result.of[i] = spill ? LocalAccess::spill : LocalAccess::array;
    }
    return result;
  }
  if (told) {
    for (std::size_t i = 0; i < count; ++i) {
      if (is_local(lines[i])) result.of[i] = LocalAccess::array;
    }
    return result;
  }
  // An array stays in memory because its address is computed. Without such an address the frame
  // holds spilled registers only; with one, arrays lie below the spills, and what is loaded for the
  // last time (".LU") is a spill.
  bool indexed = false;
  std::int64_t first_spill = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < count; ++i) {
    const Line& line = lines[i];
    if (!is_local(line)) {
      indexed = indexed || takes_frame_address(line);
      continue;
    }
    const Address address = address_in(line.text);
    indexed = indexed || !address.frame;
    if (address.frame && line.opcode->last_use) {
      first_spill = std::min(first_spill, address.offset);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_local(lines[i])) continue;
    const Address address = address_in(lines[i].text);
    const bool spill = address.frame && (!indexed || address.offset >= first_spill);
    result.of[i] = spill ? LocalAccess::spill : LocalAccess::array;
  }
  result.guessed = indexed && first_spill != std::numeric_limits<std::int64_t>::max();
  return result;
}

}  // namespace burnish::isa::nvidia
