#include "base/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"

namespace burnish {

namespace {

std::string kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return node.as_array()->is_array_of_tables() ? "an array of tables" : "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time";
    case toml::node_type::date_time:
      return "a date and time";
    default:
      return "nothing";
  }
}

/// Where a dotted key has more than kKeyParts parts. toml++ bounds the depth of values but not that
/// of keys, and destroys tables by recursion, so `a.a.a.…` could exhaust the stack. Counted are the
/// dots outside strings and comments since the last character that no key has.
std::optional<std::size_t> too_deep_key(std::string_view text) {
  constexpr int kKeyParts = 16;
  int dots = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      dots = 0;
    } else if (c == '"' || c == '\'') {
      const std::string triple(3, c);
      const bool is_long = text.substr(at, 3) == triple;
      at += is_long ? 3 : 1;
      while (at < text.size() &&
             (is_long ? text.substr(at, 3) != triple : text[at] != c && text[at] != '\n')) {
        at += c == '"' && text[at] == '\\' ? 2 : 1;
      }
      if (is_long) {
        at += 2;
        // Up to two quotes before the closing three belong to the text: """a"""" holds a".
        for (int extra = 0; extra < 2 && at + 1 < text.size() && text[at + 1] == c; ++extra) ++at;
      }
    } else if (c == '.') {
      if (++dots >= kKeyParts) return at;
    } else if (c == '=' || c == ',' || c == '{' || c == '}' || c == '[' || c == ']' || c == '\n') {
      dots = 0;
    }
  }
  return std::nullopt;
}

}  // namespace

/// One table of the file, however often it is asked for.
struct TomlFields::Node {
  const toml::table* table;
  Place place;
  Node* parent;
  std::set<std::string, std::less<>> known;
  std::set<std::string, std::less<>> missing;

  bool is_within(const Node* ancestor) const {
    for (const Node* node = this; node != nullptr; node = node->parent) {
      if (node == ancestor) return true;
    }
    return false;
  }
};

struct TomlFields::State {
  std::string file;
  std::string source;
  std::vector<std::string_view> lines;  ///< of `source`
  int first_line = 1;
  toml::table root;
  toml::table empty;  ///< stands for tables that are absent
  std::map<const toml::node*, std::shared_ptr<Node>> nodes;
  /// Nodes of absent tables, by their parent and key.
  std::map<std::pair<const Node*, std::string>, std::shared_ptr<Node>> absent;
  std::optional<Error> mistake;

  /// toml++ counts columns in code points, Place counts bytes.
  Place place(toml::source_position position) const {
    if (!position) return {file, 0, 0};
    Place result{file, static_cast<int>(position.line) + first_line - 1, 1};
    if (position.line > lines.size()) return result;
    const std::string_view line = lines[position.line - 1];
    std::size_t byte = 0;
    for (toml::source_index i = 1; i < position.column && byte < line.size(); ++i) {
      ++byte;
      while (byte < line.size() && (static_cast<unsigned char>(line[byte]) & 0xC0) == 0x80) ++byte;
    }
    result.column = static_cast<int>(byte) + 1;
    return result;
  }

  static auto order(const Place& place) { return std::make_tuple(place.line, place.column); }

  void record(Error error) {
    if (!mistake || order(*error.place) < order(*mistake->place)) mistake = std::move(error);
  }

  std::shared_ptr<Node> node_of(const toml::table& table, const Place& fallback, Node* parent) {
    std::shared_ptr<Node>& node = nodes[&table];
    if (node == nullptr) {
      Place where = place(table.source().begin);
      if (where.line == 0) where = fallback;
      node = std::make_shared<Node>(Node{&table, std::move(where), parent, {}, {}});
    }
    return node;
  }

  // What getters share. `node` is the table, `found` the value under the key.

  const toml::node* find(Node& node, const std::string& key) const {
    node.known.insert(key);
    return node.table->get(key);
  }

  const toml::node* require(Node& node, const std::string& key) {
    const toml::node* found = find(node, key);
    if (found == nullptr) {
      node.missing.insert(key);
      record(bad_input(fmt::format("the key \"{}\" is missing", key)).at(node.place));
    }
    return found;
  }

  void record_kind(const std::string& key, std::string_view expected, const toml::node& found) {
    record(bad_input(fmt::format("\"{}\" must be {}, not {}", key, expected, kind_of(found)))
               .at(place(found.source().begin)));
  }

  std::optional<std::string> text_of(const std::string& key, const toml::node& found,
                                     std::string_view expected) {
    if (const auto* value = found.as_string()) return value->get();
    record_kind(key, expected, found);
    return std::nullopt;
  }

  std::optional<std::string> expression_of(const std::string& key, const toml::node& found) {
    if (const auto* value = found.as_integer()) return std::to_string(value->get());
    if (const auto* value = found.as_floating_point(); value && std::isfinite(value->get())) {
      return number_text(value->get());
    }
    return text_of(key, found, "an expression (a string or a number)");
  }

  std::optional<TomlValue> value_of(const std::string& key, const toml::node& found) {
    if (const auto* value = found.as_integer()) return value->get();
    if (const auto* value = found.as_floating_point()) return value->get();
    if (const auto* value = found.as_boolean()) return value->get();
    if (const auto* value = found.as_string()) return value->get();
    record_kind(key, "a string, a number or a boolean", found);
    return std::nullopt;
  }

  /// Null when absent or no array, which is recorded.
  const toml::array* array(Node& node, const std::string& key, std::string_view expected) {
    const toml::node* found = find(node, key);
    if (found == nullptr) return nullptr;
    if (!found->is_array()) record_kind(key, expected, *found);
    return found->as_array();
  }

  std::string word_of(const std::string& key, const toml::node& found,
                      const std::vector<std::string>& allowed, std::string fallback) {
    const auto text = text_of(key, found, fmt::format("one of {}", join(allowed, ", ")));
    if (!text) return fallback;
    if (std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return *text;
    const auto near = nearest(*text, allowed);
    record(bad_input(
               fmt::format("\"{}\" must be one of {}, not \"{}\"", key, join(allowed, ", "), *text))
               .at(place(found.source().begin))
               .with_hint(near ? fmt::format("did you mean \"{}\"?", *near) : ""));
    return fallback;
  }
};

TomlFields::TomlFields(std::shared_ptr<State> state, std::shared_ptr<Node> node)
    : state_(std::move(state)), node_(std::move(node)) {}

Result<TomlFields> TomlFields::parse(std::string_view text, const std::string& file) {
  return parse(text, file, 1);
}

Result<TomlFields> TomlFields::parse(std::string_view text, const std::string& file,
                                     int first_line) {
  auto state = std::make_shared<State>();
  state->file = file;
  state->source = text;
  state->lines = split_lines(state->source);
  state->first_line = first_line;
  if (const auto at = too_deep_key(text)) {
    const auto before = text.substr(0, *at);
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    const auto line = std::count(before.begin(), before.end(), '\n') + first_line;
    return bad_input("a dotted key has too many parts")
        .at({file, static_cast<int>(line), static_cast<int>(*at - line_start) + 1});
  }
  try {
    state->root = toml::parse(std::string_view(state->source), std::string_view(file));
  } catch (const toml::parse_error& error) {
    Place where = state->place(error.source().begin);
    if (where.line == 0) where = {file, first_line, 1};
    return bad_input("not TOML: " + to_valid_utf8(error.description())).at(std::move(where));
  }
  auto node = std::make_shared<Node>(Node{&state->root, {file, first_line, 1}, nullptr, {}, {}});
  state->nodes[&state->root] = node;
  return TomlFields(std::move(state), std::move(node));
}

bool TomlFields::has(const std::string& key) const { return state_->find(*node_, key) != nullptr; }

bool TomlFields::require(const std::string& key, std::string hint) {
  if (has(key)) return true;
  node_->missing.insert(key);
  state_->record(bad_input(fmt::format("the key \"{}\" is missing", key))
                     .at(node_->place)
                     .with_hint(std::move(hint)));
  return false;
}

bool TomlFields::is_array(const std::string& key) const {
  const toml::node* found = node_->table->get(key);
  return found != nullptr && found->is_array();
}

std::vector<std::string> TomlFields::keys() const {
  std::vector<std::pair<toml::source_position, std::string>> found;
  for (const auto& [key, value] : *node_->table) {
    found.emplace_back(key.source().begin, std::string(key.str()));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first < b.first || (a.first == b.first && a.second < b.second);
  });
  std::vector<std::string> names;
  for (auto& entry : found) names.push_back(std::move(entry.second));
  return names;
}

Place TomlFields::place() const { return node_->place; }

Place TomlFields::place(const std::string& key) const {
  const toml::node* found = node_->table->get(key);
  if (found == nullptr) return node_->place;
  const Place where = state_->place(found->source().begin);
  return where.line == 0 ? node_->place : where;
}

std::vector<Place> TomlFields::places(const std::string& key) const {
  std::vector<Place> result;
  if (const auto* array = (*node_->table)[key].as_array()) {
    for (const toml::node& element : *array) {
      result.push_back(state_->place(element.source().begin));
    }
  }
  return result;
}

std::string TomlFields::string(const std::string& key) {
  return state_->require(*node_, key) == nullptr ? "" : string(key, "");
}

std::string TomlFields::string(const std::string& key, std::string fallback) {
  const toml::node* found = state_->find(*node_, key);
  if (found == nullptr) return fallback;
  return state_->text_of(key, *found, "a string").value_or(std::move(fallback));
}

std::int64_t TomlFields::integer(const std::string& key) {
  return state_->require(*node_, key) == nullptr ? 0 : integer(key, 0);
}

std::int64_t TomlFields::integer(const std::string& key, std::int64_t fallback) {
  const toml::node* found = state_->find(*node_, key);
  if (found == nullptr) return fallback;
  if (const auto* value = found->as_integer()) return value->get();
  state_->record_kind(key, "an integer", *found);
  return fallback;
}

double TomlFields::number(const std::string& key) {
  return state_->require(*node_, key) == nullptr ? 0 : number(key, 0.0);
}

double TomlFields::number(const std::string& key, double fallback) {
  const toml::node* found = state_->find(*node_, key);
  if (found == nullptr) return fallback;
  if (const auto* value = found->as_integer()) return static_cast<double>(value->get());
  if (const auto* value = found->as_floating_point()) {
    if (std::isfinite(value->get())) return value->get();
    state_->record(
        bad_input(fmt::format("\"{}\" must be finite, not {}", key, number_text(value->get())))
            .at(place(key)));
    return fallback;
  }
  state_->record_kind(key, "a number", *found);
  return fallback;
}

bool TomlFields::boolean(const std::string& key, bool fallback) {
  const toml::node* found = state_->find(*node_, key);
  if (found == nullptr) return fallback;
  if (const auto* value = found->as_boolean()) return value->get();
  state_->record_kind(key, "true or false", *found);
  return fallback;
}

std::string TomlFields::one_of(const std::string& key, const std::vector<std::string>& allowed) {
  const toml::node* found = state_->require(*node_, key);
  std::string fallback = allowed.empty() ? "" : allowed.front();
  if (found == nullptr) return fallback;
  return state_->word_of(key, *found, allowed, std::move(fallback));
}

std::string TomlFields::one_of(const std::string& key, const std::vector<std::string>& allowed,
                               std::string fallback) {
  const toml::node* found = state_->find(*node_, key);
  if (found == nullptr) return fallback;
  return state_->word_of(key, *found, allowed, std::move(fallback));
}

std::string TomlFields::expression(const std::string& key) {
  return state_->require(*node_, key) == nullptr ? "0" : expression(key, "0");
}

std::string TomlFields::expression(const std::string& key, std::string fallback) {
  const toml::node* found = state_->find(*node_, key);
  if (found == nullptr) return fallback;
  return state_->expression_of(key, *found).value_or(std::move(fallback));
}

std::vector<std::string> TomlFields::expressions(const std::string& key) {
  std::vector<std::string> result;
  if (const auto* array = state_->array(*node_, key, "an array of expressions")) {
    for (const toml::node& element : *array) {
      if (auto text = state_->expression_of(key, element)) result.push_back(std::move(*text));
    }
  }
  return result;
}

std::vector<std::string> TomlFields::strings(const std::string& key) {
  std::vector<std::string> result;
  if (const auto* array = state_->array(*node_, key, "an array of strings")) {
    for (const toml::node& element : *array) {
      if (auto text = state_->text_of(key, element, "an array of strings only")) {
        result.push_back(std::move(*text));
      }
    }
  }
  return result;
}

std::vector<TomlValue> TomlFields::values(const std::string& key) {
  std::vector<TomlValue> result;
  if (const auto* array = state_->array(*node_, key, "an array")) {
    for (const toml::node& element : *array) {
      if (auto value = state_->value_of(key, element)) result.push_back(std::move(*value));
    }
  }
  return result;
}

TomlValue TomlFields::value(const std::string& key) {
  const toml::node* found = state_->require(*node_, key);
  if (found == nullptr) return std::int64_t{0};
  return state_->value_of(key, *found).value_or(std::int64_t{0});
}

TomlFields TomlFields::table(const std::string& key) {
  const toml::node* found = state_->find(*node_, key);
  if (found != nullptr && found->is_table()) {
    return {state_, state_->node_of(*found->as_table(), place(key), node_.get())};
  }
  if (found != nullptr) state_->record_kind(key, "a table", *found);
  std::shared_ptr<Node>& node = state_->absent[{node_.get(), key}];
  if (node == nullptr) {
    node = std::make_shared<Node>(Node{&state_->empty, place(key), node_.get(), {}, {}});
  }
  return {state_, node};
}

std::vector<TomlFields> TomlFields::tables(const std::string& key) {
  std::vector<TomlFields> result;
  if (const auto* array = state_->array(*node_, key, "an array of tables")) {
    for (const toml::node& element : *array) {
      if (const auto* table = element.as_table()) {
        result.push_back(TomlFields(state_, state_->node_of(*table, place(key), node_.get())));
      } else {
        state_->record_kind(key, "an array of tables only", element);
      }
    }
  }
  return result;
}

void TomlFields::fail(const std::string& key, std::string message, std::string hint) {
  state_->record(bad_input(std::move(message)).at(place(key)).with_hint(std::move(hint)));
}

void TomlFields::fail(Place place, std::string message, std::string hint) {
  state_->record(bad_input(std::move(message)).at(std::move(place)).with_hint(std::move(hint)));
}

bool TomlFields::failed() const { return state_->mistake.has_value(); }

Result<void> TomlFields::finish() {
  for (const auto& entry : state_->nodes) {
    const Node& node = *entry.second;
    if (!node.is_within(node_.get())) continue;
    for (const auto& [key, value] : *node.table) {
      const std::string name(key.str());
      if (node.known.contains(name)) continue;
      Place where = state_->place(key.source().begin);
      if (where.line == 0) where = node.place;
      Error error = bad_input(fmt::format("unknown key \"{}\"", name)).at(std::move(where));
      const auto near = nearest(name, {node.known.begin(), node.known.end()});
      if (near) error = std::move(error).with_hint(fmt::format("did you mean \"{}\"?", *near));
      // A misspelt key explains why the right one is missing.
      if (near && node.missing.contains(*near)) return error;
      state_->record(std::move(error));
    }
  }
  if (state_->mistake) return *state_->mistake;
  return {};
}

}  // namespace burnish
