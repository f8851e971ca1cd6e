#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace burnish {

using TomlValue = std::variant<std::int64_t, double, bool, std::string>;

/// Reads a TOML table field by field. The first mistake (by position in the file) sticks: getters
/// return fallbacks, and finish() reports it at file:line:column with what was expected, or an
/// unknown key with the nearest right name. Children share the state of their root.
class TomlFields {
 public:
  /// Errors: bad_input at the position where the text is not TOML.
  static Result<TomlFields> parse(std::string_view text, const std::string& file);
  /// The same for a part of a larger file (front matter), whose first line is `first_line`.
  static Result<TomlFields> parse(std::string_view text, const std::string& file, int first_line);

  bool has(const std::string& key) const;
  /// has(); the key is recorded as missing when it is not there.
  bool require(const std::string& key, std::string hint = "");
  bool is_array(const std::string& key) const;
  std::vector<std::string> keys() const;
  Place place() const;                        ///< of the table itself
  Place place(const std::string& key) const;  ///< of the key's value; the table's when absent
  std::vector<Place> places(const std::string& key) const;  ///< of the elements of an array

  // Without a fallback the key is required.
  std::string string(const std::string& key);
  std::string string(const std::string& key, std::string fallback);
  std::int64_t integer(const std::string& key);
  std::int64_t integer(const std::string& key, std::int64_t fallback);
  double number(const std::string& key);  ///< an integer is accepted
  double number(const std::string& key, double fallback);
  bool boolean(const std::string& key, bool fallback);
  std::string one_of(const std::string& key, const std::vector<std::string>& allowed);
  std::string one_of(const std::string& key, const std::vector<std::string>& allowed,
                     std::string fallback);
  /// An expression: a string, or a number, which becomes its text.
  std::string expression(const std::string& key);
  std::string expression(const std::string& key, std::string fallback);
  std::vector<std::string> expressions(const std::string& key);  ///< array; absent: empty
  std::vector<std::string> strings(const std::string& key);      ///< absent: empty
  std::vector<TomlValue> values(const std::string& key);         ///< array of scalars
  TomlValue value(const std::string& key);
  TomlFields table(const std::string& key);                ///< absent: an empty table
  std::vector<TomlFields> tables(const std::string& key);  ///< array of tables; absent: empty

  /// Records a mistake that the caller found in the value of `key`.
  void fail(const std::string& key, std::string message, std::string hint = "");
  void fail(Place place, std::string message, std::string hint = "");
  bool failed() const;  ///< whether a mistake is recorded
  /// The first mistake, or the first key that no getter asked for, in this table and its children.
  Result<void> finish();

 private:
  struct State;
  struct Node;
  TomlFields(std::shared_ptr<State> state, std::shared_ptr<Node> node);
  std::shared_ptr<State> state_;
  std::shared_ptr<Node> node_;
};

}  // namespace burnish
