#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/expression.h"
#include "base/toml.h"
#include "workspace/task.h"

namespace burnish::workspace {

// What the readers of burnish.toml and launch.toml share.

/// Tensors, scratch and local memory beyond this are a slip of the pen, not a workload.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

/// What the expressions of a file may read.
struct Names {
  std::set<std::string> dims;
  std::set<std::string> tunables;  ///< numbers and booleans
  std::set<std::string> texts;     ///< tunables that are strings, which no expression can read
  std::set<std::string> lets;
};
Names names_of(const TaskSpec& task);

/// The key's expression, which is required. A mistake is recorded in `fields`.
Expression read_expression(TomlFields& fields, const std::string& key);
std::optional<Expression> read_optional_expression(TomlFields& fields, const std::string& key);
/// An array of expressions, each with the place of its element.
std::vector<Expression> read_expressions(TomlFields& fields, const std::string& key);

/// Records a mistake at the expression for each name that it reads and `names` lacks.
void check_names(TomlFields& fields, const Expression& expression, const Names& names);

/// Whether expressions and macros can use the text as a name.
bool is_name(std::string_view text);

/// Why a relative file name of the workspace cannot be used as `a file of the candidate`; empty
/// when it can.
std::string path_problem(std::string_view path);

const std::vector<std::string>& dtype_names();
/// "i32" of `key` as a dtype, which is required.
DType read_dtype(TomlFields& fields, const std::string& key);

/// "M = 4, N = 8", for messages.
std::string describe(const Variables& values);

/// Records the error at its place, or at the key's when it has none.
void record_error(TomlFields& fields, const std::string& key, const Error& error);

}  // namespace burnish::workspace
