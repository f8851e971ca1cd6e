#pragma once

#include <string>
#include <vector>

namespace burnish::report {

/// A table of text for the terminal: columns as wide as their widest cell by display width, numbers
/// right-aligned, no trailing blanks. The last column is wrapped to fit `columns`.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  void row(std::vector<std::string> cells);
  std::string text(int columns = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace burnish::report
