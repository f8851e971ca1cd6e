#include "report/table.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace burnish::report {
namespace {

bool numeric(const std::string& cell) {
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell[0])) != 0 ||
                           ((cell[0] == '-' || cell[0] == '+') && cell.size() > 1));
}

/// Lines of at most `columns`, broken at blanks; a word that is longer (an address) stays whole.
std::vector<std::string> wrapped(const std::string& cell, int columns) {
  if (display_width(cell) <= columns) return {cell};
  std::vector<std::string> lines(1);
  for (const std::string_view word : split(cell, ' ')) {
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (display_width(line) + 1 + display_width(word) <= columns) {
      line.append(" ").append(word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

}  // namespace

TextTable::TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

void TextTable::row(std::vector<std::string> cells) {
  cells.resize(rows_.front().size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(int columns) const {
  const std::size_t count = rows_.front().size();
  std::vector<int> widths(count, 0);
  std::vector<bool> right(count, rows_.size() > 1);
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (std::size_t c = 0; c < count; ++c) {
      widths[c] = std::max(widths[c], display_width(rows_[r][c]));
      if (r > 0 && !rows_[r][c].empty() && !numeric(rows_[r][c])) right[c] = false;
    }
  if (columns > 0) {
    int before = 0;
    for (std::size_t c = 0; c + 1 < count; ++c) before += widths[c] + 2;
    widths.back() = std::clamp(columns - before, std::min(20, widths.back()), widths.back());
  }
  std::string out;
  for (const auto& cells : rows_) {
    const std::vector<std::string> last = wrapped(cells.back(), widths.back());
    for (std::size_t part = 0; part < last.size(); ++part) {
      std::string line;
      for (std::size_t c = 0; c < count; ++c) {
        const std::string cell = c + 1 == count ? last[part] : part == 0 ? cells[c] : "";
        const std::string pad(
            static_cast<std::size_t>(std::max(0, widths[c] - display_width(cell))), ' ');
        line += (c > 0 ? "  " : "") + (right[c] ? pad + cell : cell + pad);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  }
  return out;
}

}  // namespace burnish::report
