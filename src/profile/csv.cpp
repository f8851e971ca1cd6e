#include "profile/csv.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace burnish::profile {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The first position from `from` on where an unquoted field ends.
std::size_t end_of_plain(std::string_view text, std::size_t from) {
  const char* data = text.data();
  const std::size_t size = text.size();
  while (from < size && data[from] != ',' && data[from] != '\n') ++from;
  return from;
}

int lines_in(std::string_view text) {
  int count = 0;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

CsvReader::CsvReader(std::string_view text, std::string file, InnerQuotes inner)
    : text_(text), file_(std::move(file)), inner_(inner) {
  if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) position_ = kByteOrderMark.size();
}

Error CsvReader::failure(std::string message, std::size_t at) const {
  const std::size_t from = std::min(record_offset_, at);
  const std::string_view before = text_.substr(from, at - from);
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? at - from : at - from - newline - 1;
  return bad_input(std::move(message))
      .at({file_, record_line_ + lines_in(before), static_cast<int>(column) + 1});
}

Place CsvReader::place(std::size_t index) const {
  if (index >= fields_.size()) return {file_, record_line_, 0};
  const std::string_view field = fields_[index];
  // A field whose quotes were undone lies in storage of its own; only its row is known.
  if (field.data() < text_.data() || field.data() > text_.data() + text_.size()) {
    return {file_, record_line_, 0};
  }
  const auto at = static_cast<std::size_t>(field.data() - text_.data());
  const std::string_view before = text_.substr(record_offset_, at - record_offset_);
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return {file_, record_line_ + lines_in(before), static_cast<int>(column) + 1};
}

std::string_view CsvReader::undouble(std::string_view field) {
  if (unescaped_used_ == unescaped_.size()) unescaped_.emplace_back();
  std::string& out = unescaped_[unescaped_used_++];
  out.clear();
  for (std::size_t i = 0; i < field.size(); ++i) {
    out += field[i];
    if (field[i] == '"' && i + 1 < field.size() && field[i + 1] == '"') ++i;
  }
  return out;
}

Result<bool> CsvReader::next() {
  fields_.clear();
  quoted_.clear();
  unescaped_used_ = 0;
  const char* data = text_.data();
  const std::size_t size = text_.size();
  while (position_ < size &&
         (data[position_] == '\n' ||
          (data[position_] == '\r' && (position_ + 1 == size || data[position_ + 1] == '\n')))) {
    if (data[position_] == '\n') ++line_;
    ++position_;
  }
  record_offset_ = position_;
  record_line_ = line_;
  if (position_ >= size) return false;

  std::size_t at = position_;
  std::vector<std::pair<std::size_t, std::string_view>> doubled;
  for (;;) {
    if (at < size && data[at] == '"') {
      const std::size_t start = at + 1;
      std::size_t from = start;
      bool has_doubled = false;
      std::size_t close = 0;
      for (;;) {
        const void* found = from < size ? std::memchr(data + from, '"', size - from) : nullptr;
        if (found == nullptr) {
          return failure("a quoted field is not closed before the end of the file", at);
        }
        close = static_cast<std::size_t>(static_cast<const char*>(found) - data);
        const char after = close + 1 < size ? data[close + 1] : '\n';
        const bool ends = after == ',' || after == '\n' ||
                          (after == '\r' && (close + 2 >= size || data[close + 2] == '\n'));
        if (ends) break;
        if (inner_ == InnerQuotes::bare) {
          from = close + 1;
        } else if (after == '"') {
          has_doubled = true;
          from = close + 2;
        } else {
          return failure("text follows the closing quote of a field", close + 1);
        }
      }
      const std::string_view field = text_.substr(start, close - start);
      if (has_doubled) doubled.emplace_back(fields_.size(), field);
      fields_.push_back(field);
      quoted_.push_back(1);
      line_ += lines_in(field);
      at = close + 1;
      if (at < size && data[at] == '\r') ++at;
    } else {
      const std::size_t end = end_of_plain(text_, at);
      std::size_t length = end - at;
      if ((end == size || data[end] == '\n') && length > 0 && data[end - 1] == '\r') --length;
      fields_.push_back(text_.substr(at, length));
      quoted_.push_back(0);
      at = end;
    }
    if (at < size && data[at] == ',') {
      ++at;
      continue;
    }
    break;
  }
  if (at < size) {
    ++at;
    ++line_;
  }
  position_ = at;
  if (!doubled.empty()) {
    if (unescaped_.size() < doubled.size()) unescaped_.resize(doubled.size());
    for (const auto& [index, field] : doubled) fields_[index] = undouble(field);
  }
  return true;
}

void CsvReader::skip(std::size_t bytes) {
  const std::string_view skipped = text_.substr(position_, bytes);
  line_ += lines_in(skipped);
  position_ += skipped.size();
}

void CsvReader::skip_line() {
  const std::size_t newline = text_.find('\n', position_);
  if (newline == std::string_view::npos) {
    position_ = text_.size();
  } else {
    position_ = newline + 1;
    ++line_;
  }
}

void CsvReader::rewind_record() {
  position_ = record_offset_;
  line_ = record_line_;
}

CsvColumns::CsvColumns(const std::vector<std::string_view>& header)
    : names_(header.begin(), header.end()), sorted_(header.size()) {
  std::iota(sorted_.begin(), sorted_.end(), std::size_t{0});
  std::stable_sort(sorted_.begin(), sorted_.end(),
                   [&](std::size_t a, std::size_t b) { return names_[a] < names_[b]; });
}

std::optional<std::size_t> CsvColumns::find(std::string_view name) const {
  const auto it =
      std::lower_bound(sorted_.begin(), sorted_.end(), name,
                       [&](std::size_t a, std::string_view b) { return names_[a] < b; });
  if (it == sorted_.end() || names_[*it] != name) return std::nullopt;
  return *it;
}

}  // namespace burnish::profile
