#include "profile/cubin_lines.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace burnish::profile {
namespace {

/// A cursor over little-endian bytes; once it ran over the end every read gives 0 and ok() is
/// false.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T read() {
    T value{};
    if (bytes_.size() - at_ < sizeof(T)) {
      fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = read<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    int shift = 0;
    std::uint8_t byte = 0;
    do {
      byte = read<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      shift += 7;
    } while (byte >= 0x80 && ok_);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }
  std::string_view text() {
    const std::size_t end = bytes_.find('\0', at_);
    if (end == std::string_view::npos) {
      fail();
      return {};
    }
    const std::string_view result = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }
  void seek(std::size_t at) {
    if (at > bytes_.size()) {
      fail();
    } else {
      at_ = at;
    }
  }
  void skip(std::uint64_t count) {
    if (count > bytes_.size() - at_) {
      fail();
    } else {
      at_ += static_cast<std::size_t>(count);
    }
  }
  std::size_t at() const { return at_; }
  bool ok() const { return ok_; }
  bool more() const { return ok_ && at_ < bytes_.size(); }

 private:
  void fail() {
    ok_ = false;
    at_ = bytes_.size();
  }
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::string_view bytes;
};

std::string_view string_at(std::string_view table, std::uint64_t at) {
  if (at >= table.size()) return {};
  const std::string_view rest = table.substr(static_cast<std::size_t>(at));
  return rest.substr(0, rest.find('\0'));
}

/// ELF-64 section headers (System V ABI, chapter 4).
std::vector<Section> sections_of(std::string_view elf) {
  constexpr std::uint32_t kNoBits = 8;
  if (elf.size() < 64 || elf.substr(0, 5) !=
                             "\x7f"
                             "ELF\x02")
    return {};
  Bytes header(elf);
  header.seek(0x28);
  const auto table = header.read<std::uint64_t>();
  header.seek(0x3a);
  const auto entry_size = header.read<std::uint16_t>();
  const auto count = header.read<std::uint16_t>();
  const auto names_index = header.read<std::uint16_t>();
  if (entry_size < 64 || table > elf.size() || (elf.size() - table) / entry_size < count) {
    return {};
  }
  std::vector<Section> sections;
  std::vector<std::uint32_t> names;
  for (std::uint16_t i = 0; i < count; ++i) {
    Bytes at(elf.substr(static_cast<std::size_t>(table) + std::size_t{i} * entry_size, entry_size));
    Section section;
    names.push_back(at.read<std::uint32_t>());
    section.type = at.read<std::uint32_t>();
    at.skip(16);  // flags, address
    const auto offset = at.read<std::uint64_t>();
    const auto size = at.read<std::uint64_t>();
    section.link = at.read<std::uint32_t>();
    section.info = at.read<std::uint32_t>();
    if (section.type != kNoBits && offset <= elf.size() && size <= elf.size() - offset) {
      section.bytes = elf.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    }
    sections.push_back(section);
  }
  if (names_index < sections.size()) {
    for (std::size_t i = 0; i < sections.size(); ++i) {
      sections[i].name = string_at(sections[names_index].bytes, names[i]);
    }
  }
  return sections;
}

/// Offsets in .debug_line at which the address of a symbol stands.
std::map<std::uint64_t, std::string_view> relocations(const std::vector<Section>& sections,
                                                      std::size_t target) {
  constexpr std::uint32_t kRela = 4;
  constexpr std::uint32_t kRel = 9;
  std::map<std::uint64_t, std::string_view> result;
  for (const Section& section : sections) {
    if ((section.type != kRela && section.type != kRel) || section.info != target) continue;
    if (section.link >= sections.size()) continue;
    const Section& symbols = sections[section.link];
    if (symbols.link >= sections.size()) continue;
    const std::string_view names = sections[symbols.link].bytes;
    Bytes at(section.bytes);
    while (at.more()) {
      const auto offset = at.read<std::uint64_t>();
      const auto info = at.read<std::uint64_t>();
      if (section.type == kRela) at.skip(8);
      if (!at.ok()) break;
      const std::uint64_t symbol = info >> 32;
      if (symbol >= symbols.bytes.size() / 24) continue;
      Bytes entry(symbols.bytes.substr(static_cast<std::size_t>(symbol) * 24, 24));
      result[offset] = string_at(names, entry.read<std::uint32_t>());
    }
  }
  return result;
}

// Real tables hold thousands of rows and short paths; a hostile one must not multiply them.
constexpr std::size_t kMostRows = 200'000;
constexpr std::size_t kLongestPath = 512;

std::string joined(std::string_view folder, std::string_view name) {
  std::string path;
  if (!folder.empty() && name.substr(0, 1) != "/") path = std::string(folder) + "/";
  path += name;
  if (path.size() > kLongestPath) path.resize(kLongestPath);
  return path;
}

using Lines = std::map<std::string, std::vector<CodeLine>, std::less<>>;

/// One line-number program (DWARF 4, section 6.2). `offset` is where it starts in .debug_line.
void run_program(std::string_view program, std::uint64_t offset,
                 const std::map<std::uint64_t, std::string_view>& symbols, Lines& lines,
                 std::size_t& row_count) {
  Bytes at(program);
  const auto version = at.read<std::uint16_t>();
  if (version < 2 || version > 4) return;
  const auto header_length = at.read<std::uint32_t>();
  const std::size_t header_start = at.at();
  const std::uint64_t step = at.read<std::uint8_t>();
  if (version == 4) at.skip(1);  // operations a VLIW instruction: 1
  at.skip(1);                    // default_is_stmt
  const auto line_base = static_cast<int>(at.read<std::int8_t>());
  const int line_range = at.read<std::uint8_t>();
  const int opcode_base = at.read<std::uint8_t>();
  if (!at.ok() || line_range == 0 || opcode_base == 0) return;
  std::vector<std::uint8_t> arguments(static_cast<std::size_t>(opcode_base), 0);
  for (int i = 1; i < opcode_base; ++i)
    arguments[static_cast<std::size_t>(i)] = at.read<std::uint8_t>();
  std::vector<std::string_view> folders{""};
  while (at.more()) {
    const std::string_view folder = at.text();
    if (folder.empty()) break;
    folders.push_back(folder);
  }
  std::vector<std::string> files{""};
  while (at.more()) {
    const std::string_view name = at.text();
    if (name.empty()) break;
    const std::uint64_t folder = at.uleb();
    at.uleb();  // time
    at.uleb();  // size
    files.push_back(joined(folder < folders.size() ? folders[folder] : "", name));
  }
  if (!at.ok() || header_length > program.size() - header_start) return;
  at.seek(header_start + header_length);

  std::uint64_t address = 0;
  std::uint64_t file = 1;
  std::uint64_t line = 1;  // wraps where a hostile table would overflow
  std::string_view symbol;
  std::vector<CodeLine>* rows = nullptr;
  const auto emit = [&] {
    if (rows == nullptr) return;
    CodeLine row;
    row.address = address;
    if (file < files.size() && line < (1u << 30)) {
      row.file = files[file];
      row.line = static_cast<int>(line);
    }
    if (!rows->empty() && rows->back().line == row.line && rows->back().file == row.file) return;
    if (row_count >= kMostRows) return;
    ++row_count;
    rows->push_back(std::move(row));
  };
  while (at.more()) {
    const int opcode = at.read<std::uint8_t>();
    if (opcode >= opcode_base) {
      const int special = opcode - opcode_base;
      address += step * static_cast<std::uint64_t>(special / line_range);
      line += static_cast<std::uint64_t>(line_base + special % line_range);
      emit();
      continue;
    }
    switch (opcode) {
      case 0: {
        const std::uint64_t length = at.uleb();
        const std::size_t start = at.at();
        if (length == 0 || length > program.size() - start) return;
        const auto extended = at.read<std::uint8_t>();
        if (extended == 1) {  // end of a sequence
          address = 0;
          file = 1;
          line = 1;
          rows = nullptr;
        } else if (extended == 2) {  // set address
          const auto found = symbols.find(offset + at.at());
          address = at.read<std::uint64_t>();
          symbol = found == symbols.end() ? std::string_view{} : found->second;
          rows = symbol.empty() ? nullptr : &lines[std::string(symbol)];
        }
        at.seek(start + static_cast<std::size_t>(length));  // NVIDIA has some of its own
        break;
      }
      case 1:
        emit();
        break;
      case 2:
        address += step * at.uleb();
        break;
      case 3:
        line += static_cast<std::uint64_t>(at.sleb());
        break;
      case 4:
        file = at.uleb();
        break;
      case 8:
        address += step * static_cast<std::uint64_t>((255 - opcode_base) / line_range);
        break;
      case 9:
        address += at.read<std::uint16_t>();
        break;
      default:
        for (int i = 0; i < arguments[static_cast<std::size_t>(opcode)]; ++i) at.uleb();
    }
  }
}

}  // namespace

Lines read_cubin_lines(std::string_view cubin) {
  Lines lines;
  const std::vector<Section> sections = sections_of(cubin);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].name != ".debug_line") continue;
    const auto symbols = relocations(sections, i);
    const std::string_view bytes = sections[i].bytes;
    Bytes at(bytes);
    std::size_t row_count = 0;
    while (at.more()) {
      const auto length = at.read<std::uint32_t>();
      if (!at.ok() || length > bytes.size() - at.at()) break;
      run_program(bytes.substr(at.at(), length), at.at(), symbols, lines, row_count);
      at.skip(length);
    }
  }
  for (auto& [symbol, rows] : lines) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const CodeLine& a, const CodeLine& b) { return a.address < b.address; });
  }
  return lines;
}

}  // namespace burnish::profile
