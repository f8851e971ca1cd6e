#include "base/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>

#include "base/text.h"

namespace burnish {

namespace {

constexpr std::size_t kDepth = 512;

/// Walks the text and tells outside how far it came, since SAX events carry no position.
class Cursor {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor() = default;
  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }

 private:
  const char* at_ = nullptr;
  const char** reached_ = nullptr;
};

Place place_of(std::string_view text, std::size_t offset, const std::string& file) {
  Place place{file, 1, 1};
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++place.line;
      place.column = 1;
    } else {
      ++place.column;
    }
  }
  return place;
}

/// Builds the document, and refuses what nlohmann would let pass.
class Builder {
 public:
  Builder(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<Json> build() {
    reached_ = text_.data();
    const char* end = text_.data() + text_.size();
    Json::sax_parse(Cursor(text_.data(), &reached_), Cursor(end, &reached_), this);
    if (error_) return std::move(*error_);
    return std::move(root_);
  }

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // never in text
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second) {
      // reached_ is behind the closing quote; the opening one is the last that no backslash hides.
      std::size_t at = offset() - 1;
      const auto is_hidden = [this](std::size_t quote) {
        std::size_t first = quote;
        while (first > 0 && text_[first - 1] == '\\') --first;
        return (quote - first) % 2 == 1;
      };
      do {
        --at;
      } while (at > 0 && (text_[at] != '"' || is_hidden(at)));
      error_ = bad_input(fmt::format("the key \"{}\" occurs twice in one object", shown(name)))
                   .at(place_of(text_, at, file_));
      return false;
    }
    open_.back().key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& exception) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while …"
    std::string_view why = exception.what();
    if (const std::size_t end = why.find("] "); end != std::string_view::npos) {
      why.remove_prefix(end + 2);
    }
    if (why.starts_with("parse error")) {
      const std::size_t colon = why.find(": ");
      if (colon != std::string_view::npos) why.remove_prefix(colon + 2);
    }
    const std::size_t at = position > 0 ? std::min(position, text_.size() + 1) - 1 : 0;
    error_ = bad_input(trim(text_).empty() ? std::string("not JSON: the text is empty")
                                           : "not JSON: " + shown(why))
                 .at(place_of(text_, at, file_));
    return false;
  }

 private:
  struct Level {
    Json* value;
    std::string key;  ///< of the member that comes next
    std::unordered_set<std::string> keys;
  };

  /// An unclosed string makes a message as long as the file.
  static std::string shown(std::string_view text) {
    constexpr std::size_t kLongest = 240;
    std::string valid = to_valid_utf8(text.substr(0, kLongest));
    return text.size() > kLongest ? valid + "…" : valid;
  }

  std::size_t offset() const { return static_cast<std::size_t>(reached_ - text_.data()); }

  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = open_.back();
    if (level.value->is_array()) {
      auto& array = level.value->get_ref<Json::array_t&>();
      array.push_back(std::move(value));
      return &array.back();
    }
    // Appended to the vector beneath, since the map's own insert looks through all keys again.
    Json::object_t::Container& members = level.value->get_ref<Json::object_t&>();
    members.emplace_back(std::move(level.key), std::move(value));
    return &members.back().second;
  }

  template <class T>
  bool put(T&& value) {
    place(Json(std::forward<T>(value)));
    return true;
  }

  bool open(Json value) {
    if (open_.size() == kDepth) {
      error_ = bad_input(fmt::format("nested deeper than {} levels", kDepth))
                   .at(place_of(text_, offset() > 0 ? offset() - 1 : 0, file_));
      return false;
    }
    Json* placed = place(std::move(value));
    open_.push_back({placed, {}, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  const char* reached_ = nullptr;
  Json root_;
  std::vector<Level> open_;
  std::optional<Error> error_;
};

std::string escaped_token(const std::string& key) {
  return replace_all(replace_all(key, "~", "~0"), "/", "~1");
}

std::string described(const Json& value) {
  constexpr std::size_t kLongest = 60;
  if (value.is_object() || value.is_array()) return value.type_name();
  std::string text = dump_json_line(value);
  if (text.size() > kLongest) text = to_valid_utf8(text.substr(0, kLongest)) + "…";
  return value.is_null() ? text : std::string(value.type_name()) + " " + text;
}

std::optional<std::int64_t> whole_number(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {  // JSON has one kind of number: other writers print 3 as 3.0
    const double number = value.get<double>();
    if (std::fabs(number) <= 0x1p53 && number == std::floor(number)) {
      return static_cast<std::int64_t>(number);
    }
  }
  return std::nullopt;
}

const Json& empty_object() {
  static const Json empty = Json::object();
  return empty;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& file) {
  return Builder(text, file).build();
}

std::string dump_json(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string dump_json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json error_json(const Error& error) {
  Json inner = {{"kind", to_string(error.kind)}, {"message", error.message}};
  if (error.place) {
    inner["file"] = error.place->file;
    if (error.place->line > 0) inner["line"] = error.place->line;
    if (error.place->column > 0) inner["column"] = error.place->column;
  }
  if (!error.hint.empty()) inner["hint"] = error.hint;
  if (!error.context.empty()) inner["context"] = error.context;
  Json outer = Json::object();
  outer["error"] = std::move(inner);
  return outer;
}

struct JsonFields::State {
  struct Object {
    const Json* value;
    std::string pointer;
    std::set<std::string, std::less<>> known;
    bool accepts_all = false;
  };
  std::string file;
  std::vector<Object> objects;  ///< as they were asked for, the root first
  std::map<std::string, std::size_t, std::less<>> index;
  std::optional<Error> mistake;

  void enter(const Json* value, const std::string& pointer) {
    if (index.try_emplace(pointer, objects.size()).second) {
      objects.push_back({value, pointer, {}, false});
    }
  }
  Object& at(const std::string& pointer) { return objects[index.find(pointer)->second]; }

  void record(const std::string& pointer, const std::string& message, std::string hint = "") {
    if (mistake) return;
    mistake = bad_input((pointer.empty() ? "the top level" : pointer) + ": " + message)
                  .at({file, 0, 0})
                  .with_hint(std::move(hint));
  }
};

JsonFields::JsonFields(const Json& object, std::string file, std::string pointer)
    : object_(&object), pointer_(std::move(pointer)), state_(std::make_shared<State>()) {
  state_->file = std::move(file);
  if (!object.is_object()) {
    state_->record(pointer_, "expected an object, found " + described(object));
    object_ = &empty_object();
  }
  state_->enter(object_, pointer_);
}

JsonFields::JsonFields(const Json* object, std::string pointer, std::shared_ptr<State> state)
    : object_(object), pointer_(std::move(pointer)), state_(std::move(state)) {
  state_->enter(object_, pointer_);
}

const Json* JsonFields::find(const std::string& key) {
  state_->at(pointer_).known.insert(key);
  const auto at = object_->find(key);
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

const Json* JsonFields::require(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) {
    const bool is_null = object_->contains(key);
    fail(key, is_null ? "is null, but a value is required" : "is missing");
  }
  return value;
}

bool JsonFields::has(const std::string& key) const {
  state_->at(pointer_).known.insert(key);
  const auto at = object_->find(key);
  return at != object_->end() && !at->is_null();
}

std::string JsonFields::string(const std::string& key) {
  return require(key) == nullptr ? "" : string(key, "");
}

std::string JsonFields::string(const std::string& key, std::string fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  fail(key, "expected a string, found " + described(*value));
  return fallback;
}

double JsonFields::number(const std::string& key) {
  return require(key) == nullptr ? 0 : number(key, 0.0);
}

double JsonFields::number(const std::string& key, double fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) return value->get<double>();
  fail(key, "expected a number, found " + described(*value));
  return fallback;
}

std::int64_t JsonFields::integer(const std::string& key) {
  return require(key) == nullptr ? 0 : integer(key, 0);
}

std::int64_t JsonFields::integer(const std::string& key, std::int64_t fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto number = whole_number(*value)) return *number;
  fail(key, "expected a whole number, found " + described(*value));
  return fallback;
}

bool JsonFields::boolean(const std::string& key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  fail(key, "expected true or false, found " + described(*value));
  return fallback;
}

std::string JsonFields::one_of(const std::string& key, const std::vector<std::string>& allowed) {
  const Json* value = require(key);
  const std::string fallback = allowed.empty() ? "" : allowed.front();
  if (value == nullptr) return fallback;
  if (value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    for (const std::string& word : allowed) {
      if (word == text) return text;
    }
    const auto near = nearest(text, allowed);
    state_->record(
        pointer_ + "/" + escaped_token(key),
        fmt::format("expected one of {}, found {}", join(allowed, ", "), described(*value)),
        near ? fmt::format("did you mean \"{}\"?", *near) : "");
    return fallback;
  }
  fail(key, fmt::format("expected one of {}, found {}", join(allowed, ", "), described(*value)));
  return fallback;
}

std::vector<std::string> JsonFields::strings(const std::string& key) {
  std::vector<std::string> result;
  const Json* value = find(key);
  if (value == nullptr) return result;
  if (!value->is_array()) {
    fail(key, "expected an array of strings, found " + described(*value));
    return result;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    if (!element.is_string()) {
      state_->record(fmt::format("{}/{}/{}", pointer_, escaped_token(key), i),
                     "expected a string, found " + described(element));
      return {};
    }
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::map<std::string, double> JsonFields::numbers(const std::string& key) {
  std::map<std::string, double> result;
  const Json* value = find(key);
  if (value == nullptr) return result;
  if (!value->is_object()) {
    fail(key, "expected an object of numbers, found " + described(*value));
    return result;
  }
  for (const auto& [name, element] : value->items()) {
    if (!element.is_number()) {
      state_->record(fmt::format("{}/{}/{}", pointer_, escaped_token(key), escaped_token(name)),
                     "expected a number, found " + described(element));
      return {};
    }
    result.emplace(name, element.get<double>());
  }
  return result;
}

JsonFields JsonFields::object(const std::string& key) {
  const std::string pointer = pointer_ + "/" + escaped_token(key);
  const Json* value = find(key);
  if (value != nullptr && !value->is_object()) {
    fail(key, "expected an object, found " + described(*value));
    value = nullptr;
  }
  return {value == nullptr ? &empty_object() : value, pointer, state_};
}

std::vector<JsonFields> JsonFields::objects(const std::string& key) {
  std::vector<JsonFields> result;
  const Json* value = find(key);
  if (value == nullptr) return result;
  if (!value->is_array()) {
    fail(key, "expected an array of objects, found " + described(*value));
    return result;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    std::string pointer = fmt::format("{}/{}/{}", pointer_, escaped_token(key), i);
    if (!element.is_object()) {
      state_->record(pointer, "expected an object, found " + described(element));
      return {};
    }
    result.push_back(JsonFields(&element, std::move(pointer), state_));
  }
  return result;
}

const Json* JsonFields::raw(const std::string& key) {
  state_->at(pointer_).known.insert(key);
  const auto at = object_->find(key);
  return at == object_->end() ? nullptr : &*at;
}

void JsonFields::ignore(const std::string& key) { state_->at(pointer_).known.insert(key); }

void JsonFields::ignore_unknown() { state_->at(pointer_).accepts_all = true; }

void JsonFields::fail(const std::string& key, std::string message) {
  state_->record(pointer_ + "/" + escaped_token(key), message);
}

Result<void> JsonFields::finish() {
  if (state_->mistake) return *state_->mistake;
  for (const State::Object& object : state_->objects) {
    const bool is_below = object.pointer.starts_with(pointer_ + "/");
    if (object.accepts_all || (object.pointer != pointer_ && !is_below)) continue;
    for (const auto& [key, value] : object.value->items()) {
      if (object.known.contains(key)) continue;
      const auto near = nearest(key, {object.known.begin(), object.known.end()});
      state_->record(object.pointer + "/" + escaped_token(key), "is not a known key",
                     near ? fmt::format("did you mean \"{}\"?", *near) : "");
      return *state_->mistake;
    }
  }
  return {};
}

}  // namespace burnish
