#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace burnish::profile {

/// How a quoted field holds a quote: RFC 4180 doubles it; rocprofv3 writes it as it is, so there a
/// quote ends the field only in front of a separator or a line end.
enum class InnerQuotes { doubled, bare };

/// Walks the records of a CSV text (RFC 4180; "\n" or "\r\n"; a UTF-8 byte order mark is skipped;
/// blank lines are skipped). Rows may have any number of fields. Nothing is copied but fields with
/// doubled quotes. The text must outlive the reader.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string file, InnerQuotes inner = InnerQuotes::doubled);

  /// Goes to the next record; false at the end. Errors: a quoted field that never ends, or text
  /// between its closing quote and the separator, at line and column.
  Result<bool> next();

  /// Fields of the current record, valid until the next call of next() or skip_line().
  const std::vector<std::string_view>& fields() const { return fields_; }
  /// The field, or empty when the row is shorter.
  std::string_view field(std::size_t index) const {
    return index < fields_.size() ? fields_[index] : std::string_view{};
  }
  /// Whether that field was written in quotes.
  bool quoted(std::size_t index) const { return index < quoted_.size() && quoted_[index] != 0; }

  int line() const { return record_line_; }                ///< first line of the record, from 1
  std::uint64_t offset() const { return record_offset_; }  ///< byte where the record starts
  Place place(std::size_t index) const;                    ///< of a field of the record

  /// What next() would read; starts at a line start. For formats that mix CSV with other lines.
  std::string_view rest() const { return text_.substr(position_); }
  /// Steps over one line of rest() without looking at it.
  void skip_line();
  /// Steps over some bytes of rest().
  void skip(std::size_t bytes);
  /// Goes back to the start of the current record, or of the one that next() failed on.
  void rewind_record();

 private:
  std::string_view text_;
  std::string file_;
  InnerQuotes inner_;
  std::size_t position_ = 0;
  int line_ = 1;  ///< of position_
  std::size_t record_offset_ = 0;
  int record_line_ = 0;
  std::vector<std::string_view> fields_;
  std::vector<char> quoted_;
  std::vector<std::string> unescaped_;  ///< storage of fields with doubled quotes
  std::size_t unescaped_used_ = 0;

  Error failure(std::string message, std::size_t at) const;
  std::string_view undouble(std::string_view field);
};

/// Positions of columns by their header names.
class CsvColumns {
 public:
  explicit CsvColumns(const std::vector<std::string_view>& header);
  std::optional<std::size_t> find(std::string_view name) const;
  std::size_t size() const { return names_.size(); }
  const std::string& name(std::size_t index) const { return names_[index]; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::size_t> sorted_;  ///< indices in the order of the names
};

}  // namespace burnish::profile
