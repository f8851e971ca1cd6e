#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace burnish {

/// Keeps the order of keys, since people diff the files.
using Json = nlohmann::ordered_json;

/// Errors are bad_input at file:line:column. Depth is bounded (512), so hostile nesting cannot
/// exhaust the stack. Duplicate keys are an error.
Result<Json> parse_json(std::string_view text, const std::string& file);

/// Pretty (two spaces) with a final newline; invalid UTF-8 is replaced, never thrown on.
std::string dump_json(const Json& value);
/// One line, no newline.
std::string dump_json_line(const Json& value);

/// The Error as `{"error": {kind, message, file?, line?, column?, hint?, context?}}`.
Json error_json(const Error& error);

/// Reads an object field by field. The first mistake sticks: later getters return fallbacks, and
/// finish() reports the mistake with its JSON pointer, or the first key that nobody asked for, with
/// the nearest known one.
class JsonFields {
 public:
  JsonFields(const Json& object, std::string file, std::string pointer = "");

  bool has(const std::string& key) const;  ///< present and not null
  std::string string(const std::string& key);
  std::string string(const std::string& key, std::string fallback);
  double number(const std::string& key);
  double number(const std::string& key, double fallback);
  std::int64_t integer(const std::string& key);
  std::int64_t integer(const std::string& key, std::int64_t fallback);
  bool boolean(const std::string& key, bool fallback);
  std::string one_of(const std::string& key, const std::vector<std::string>& allowed);
  std::vector<std::string> strings(const std::string& key);       ///< absent: empty
  std::map<std::string, double> numbers(const std::string& key);  ///< absent: empty
  JsonFields object(const std::string& key);                      ///< absent: empty object
  std::vector<JsonFields> objects(const std::string& key);        ///< absent: empty
  const Json* raw(const std::string& key);                        ///< any value; null if absent
  void ignore(const std::string& key);                            ///< known, not read
  void ignore_unknown();                                          ///< accept any other key

  void fail(const std::string& key, std::string message);  ///< a mistake the caller found
  Result<void> finish();                                   ///< also of all children
  const std::string& pointer() const { return pointer_; }

 private:
  struct State;
  JsonFields(const Json* object, std::string pointer, std::shared_ptr<State> state);
  const Json* find(const std::string& key);
  const Json* require(const std::string& key);
  const Json* object_;
  std::string pointer_;
  std::shared_ptr<State> state_;
};

}  // namespace burnish
