#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace burnish {

/// The files of data/ (rules, cards, schemas, prompts, pages) and of examples/, compiled into the
/// program. The folders that $BURNISH_DATA names, with `:` between them, go before them file by
/// file, the first one before all.
struct DataFile {
  std::string name;  ///< "rules/cpu.toml", "examples/matmul/kernel.cl"
  std::string content;
  std::string origin;  ///< the path on disk, or the one in the sources when compiled in
};

/// Errors: bad_input when there is none of that name.
Result<DataFile> data_file(std::string_view name);
/// All whose name starts with `prefix`, sorted by name.
Result<std::vector<DataFile>> data_files(std::string_view prefix);

}  // namespace burnish
