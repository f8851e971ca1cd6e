#include "workspace/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "workspace/record_visit.h"

namespace burnish::workspace {

namespace {

std::string token(std::string_view key) {
  return replace_all(replace_all(std::string(key), "~", "~0"), "/", "~1");
}

std::string described(const Json& value) {
  if (value.is_object() || value.is_array()) return fmt::format("an {}", value.type_name());
  std::string text = dump_json_line(value);
  if (text.size() > 60) text = to_valid_utf8(text.substr(0, 60)) + "…";
  return text;
}

// --- Reader ---

/// What all readers of one record share.
struct Reading {
  Tolerate tolerate;
  std::string file;
  std::optional<Error> mistake;
  Json odd = Json::object();  ///< pointer → value that fits no field

  void refuse(const std::string& pointer, const Json& value, const std::string& message,
              std::string hint = "") {
    if (tolerate == Tolerate::odd_values) {
      odd[pointer] = value;
    } else if (!mistake) {
      mistake =
          bad_input(fmt::format("{}: {}", pointer.empty() ? "the top level" : pointer, message))
              .at({file, 0, 0})
              .with_hint(std::move(hint));
    }
  }
};

class Reader {
 public:
  Reader(const Json& object, std::string pointer, Reading& reading)
      : object_(object), pointer_(std::move(pointer)), reading_(reading) {}

  void text(std::string_view key, std::string& value) {
    if (const Json* found = find(key)) read_text(*found, at(key), value);
  }
  void optional_text(std::string_view key, std::optional<std::string>& value) {
    const Json* found = find(key);
    if (found == nullptr) return;
    std::string text;
    if (read_text(*found, at(key), text)) value = std::move(text);
  }
  void loose(std::string_view key, std::string& value) {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (found->is_number()) {
      value = dump_json_line(*found);
    } else {
      read_text(*found, at(key), value);
    }
  }
  void choice(std::string_view key, std::string& value, const std::vector<std::string>& allowed) {
    const Json* found = find(key);
    if (found == nullptr) return;
    const std::string word = found->is_string() ? found->get<std::string>() : "";
    if (found->is_string() &&
        (word.empty() || std::find(allowed.begin(), allowed.end(), word) != allowed.end())) {
      value = word;
      return;
    }
    const auto near = nearest(word, allowed);
    reading_.refuse(
        at(key), *found,
        fmt::format("expected one of {}, found {}", join(allowed, ", "), described(*found)),
        near ? fmt::format("did you mean \"{}\"?", *near) : "");
  }
  void number(std::string_view key, std::optional<double>& value) {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (found->is_number()) {
      value = found->get<double>();
    } else {
      expect("a number", at(key), *found);
    }
  }
  void integer(std::string_view key, std::optional<std::int64_t>& value) {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (found->is_number_integer() &&
        !(found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX)) {
      value = found->get<std::int64_t>();
    } else {
      expect("a whole number", at(key), *found);
    }
  }
  void flag(std::string_view key, bool& value) {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (found->is_boolean()) {
      value = found->get<bool>();
    } else {
      expect("true or false", at(key), *found);
    }
  }
  void version(std::string_view key, int& value) {
    const Json* found = find(key);
    if (found == nullptr) return;
    const auto number =
        found->is_string() ? version_number(found->get<std::string>()) : std::nullopt;
    if (number) {
      value = *number;
    } else {
      expect("a version such as \"v3\"", at(key), *found);
    }
  }
  void texts(std::string_view key, std::vector<std::string>& value) {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_array()) return expect("an array of strings", at(key), *found);
    for (std::size_t i = 0; i < found->size(); ++i) {
      std::string element;
      if (read_text((*found)[i], fmt::format("{}/{}", at(key), i), element)) {
        value.push_back(std::move(element));
      }
    }
  }
  void numbers(std::string_view key, std::map<std::string, double>& value) {
    each_member(key, "an object of numbers", [&](const std::string& name, const Json& element) {
      if (element.is_number()) {
        value[name] = element.get<double>();
      } else {
        expect("a number", at(key) + "/" + token(name), element);
      }
    });
  }
  void words(std::string_view key, std::map<std::string, std::string>& value) {
    each_member(key, "an object of strings", [&](const std::string& name, const Json& element) {
      std::string text;
      if (read_text(element, at(key) + "/" + token(name), text)) value[name] = std::move(text);
    });
  }
  void interval(std::string_view key, std::optional<Interval>& value) {
    const Json* found = find(key);
    if (found == nullptr) return;
    const auto bound = [&](const char* name) -> std::optional<double> {
      if (!found->is_object() || found->size() != 2 || !found->contains(name)) return std::nullopt;
      const Json& number = (*found)[name];
      return number.is_number() ? std::optional(number.get<double>()) : std::nullopt;
    };
    const auto low = bound("low"), high = bound("high");
    if (low && high) {
      value = Interval{*low, *high};
    } else {
      expect("{\"low\": number, \"high\": number}", at(key), *found);
    }
  }
  template <class F>
  void object(std::string_view key, F&& fields) {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_object()) return expect("an object", at(key), *found);
    Reader inner(*found, at(key), reading_);
    fields(inner);
    inner.refuse_unknown();
  }
  template <class T, class F>
  void list(std::string_view key, std::vector<T>& value, F&& fields) {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_array()) return expect("an array of objects", at(key), *found);
    for (std::size_t i = 0; i < found->size(); ++i) {
      const std::string pointer = fmt::format("{}/{}", at(key), i);
      if (!(*found)[i].is_object()) {
        expect("an object", pointer, (*found)[i]);
        continue;
      }
      Reader inner((*found)[i], pointer, reading_);
      fields(inner, value.emplace_back());
      inner.refuse_unknown();
    }
  }

  void refuse_unknown() {
    if (found_ == object_.size()) return;
    for (const auto& [key, value] : object_.items()) {
      if (knows(key)) continue;
      const auto near = nearest(key, {known_.begin(), known_.end()});
      reading_.refuse(at(key), value, "is not a known key",
                      near ? fmt::format("did you mean \"{}\"?", *near) : "");
    }
  }
  bool knows(std::string_view key) const {
    return std::find(known_.begin(), known_.end(), key) != known_.end();
  }

 private:
  /// Null stands for a value that is not known, like an absent one.
  const Json* find(std::string_view key) {
    known_.push_back(key);
    const auto found = object_.find(key);
    if (found == object_.end()) return nullptr;
    ++found_;
    return found->is_null() ? nullptr : &*found;
  }
  std::string at(std::string_view key) const { return pointer_ + "/" + token(key); }
  void expect(std::string_view what, const std::string& pointer, const Json& value) {
    reading_.refuse(pointer, value, fmt::format("expected {}, found {}", what, described(value)));
  }
  bool read_text(const Json& found, const std::string& pointer, std::string& value) {
    if (found.is_string()) {
      value = found.get<std::string>();
      return true;
    }
    expect("a string", pointer, found);
    return false;
  }
  template <class F>
  void each_member(std::string_view key, std::string_view what, F&& read) {
    const Json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_object()) return expect(what, at(key), *found);
    for (const auto& [name, element] : found->items()) read(name, element);
  }

  const Json& object_;
  std::string pointer_;
  Reading& reading_;
  std::vector<std::string_view> known_;  ///< literals of visit_record()
  std::size_t found_ = 0;                ///< how many of them the object has
};

// --- Writer ---

class Writer {
 public:
  explicit Writer(Json& object) : object_(object) {}

  void text(std::string_view key, const std::string& value) { put(key, value); }
  void optional_text(std::string_view key, const std::optional<std::string>& value) {
    put(key, value ? Json(*value) : Json());
  }
  void loose(std::string_view key, const std::string& value) { put(key, value); }
  void choice(std::string_view key, const std::string& value, const std::vector<std::string>&) {
    put(key, value);
  }
  void number(std::string_view key, const std::optional<double>& value) {
    put(key, number_of(value));
  }
  void integer(std::string_view key, const std::optional<std::int64_t>& value) {
    put(key, value ? Json(*value) : Json());
  }
  void flag(std::string_view key, bool value) { put(key, value); }
  void version(std::string_view key, int value) {
    put(key, value < 0 ? Json() : Json(fmt::format("v{}", value)));
  }
  void texts(std::string_view key, const std::vector<std::string>& value) { put(key, value); }
  void numbers(std::string_view key, const std::map<std::string, double>& value) {
    Json object = Json::object();
    for (const auto& [name, number] : value) append(object, name, number_of(number));
    put(key, std::move(object));
  }
  void words(std::string_view key, const std::map<std::string, std::string>& value) {
    Json object = Json::object();
    for (const auto& [name, word] : value) append(object, name, word);
    put(key, std::move(object));
  }
  void interval(std::string_view key, const std::optional<Interval>& value) {
    Json object;
    if (value) object = {{"low", number_of(value->low)}, {"high", number_of(value->high)}};
    put(key, std::move(object));
  }
  template <class F>
  void object(std::string_view key, F&& fields) {
    Json object = Json::object();
    Writer inner(object);
    fields(inner);
    put(key, std::move(object));
  }
  template <class T, class F>
  void list(std::string_view key, const std::vector<T>& value, F&& fields) {
    Json array = Json::array();
    for (const T& element : value) {
      Json object = Json::object();
      Writer inner(object);
      fields(inner, element);
      array.push_back(std::move(object));
    }
    put(key, std::move(array));
  }

 private:
  /// JSON has no NaN and no infinity; a number that is none is not known.
  static Json number_of(std::optional<double> value) {
    return value && std::isfinite(*value) ? Json(*value) : Json();
  }
  /// Behind the others, without the search that ordered_json makes for the key.
  static void append(Json& object, std::string_view key, Json value) {
    static_cast<Json::object_t::Container&>(object.get_ref<Json::object_t&>())
        .emplace_back(key, std::move(value));
  }
  void put(std::string_view key, Json value) { append(object_, key, std::move(value)); }

  Json& object_;
};

// --- List of fields ---

class Lister {
 public:
  Lister(std::vector<RecordField>& fields, std::string prefix)
      : fields_(fields), prefix_(std::move(prefix)) {}

  using Kind = RecordField::Kind;
  template <class T>
  void text(std::string_view key, T&) {
    put(key, Kind::text);
  }
  template <class T>
  void optional_text(std::string_view key, T&) {
    put(key, Kind::text);
  }
  template <class T>
  void version(std::string_view key, T&) {
    put(key, Kind::text);
  }
  template <class T>
  void loose(std::string_view key, T&) {
    put(key, Kind::loose);
  }
  template <class T>
  void number(std::string_view key, T&) {
    put(key, Kind::number);
  }
  template <class T>
  void integer(std::string_view key, T&) {
    put(key, Kind::integer);
  }
  template <class T>
  void flag(std::string_view key, T&) {
    put(key, Kind::flag);
  }
  template <class T>
  void texts(std::string_view key, T&) {
    put(key, Kind::texts);
  }
  template <class T>
  void numbers(std::string_view key, T&) {
    put(key, Kind::numbers);
  }
  template <class T>
  void words(std::string_view key, T&) {
    put(key, Kind::words);
  }
  template <class T>
  void interval(std::string_view key, T&) {
    put(key, Kind::interval);
  }
  template <class T>
  void choice(std::string_view key, T&, const std::vector<std::string>& allowed) {
    put(key, Kind::choice, allowed);
  }
  template <class F>
  void object(std::string_view key, F&& fields) {
    Lister inner(fields_, prefix_ + std::string(key) + ".");
    fields(inner);
  }
  template <class T, class F>
  void list(std::string_view key, std::vector<T>&, F&& fields) {
    put(key, Kind::list);
    T element;
    Lister inner(fields_, prefix_ + std::string(key) + ".*.");
    fields(inner, element);
  }

 private:
  void put(std::string_view key, Kind kind, std::vector<std::string> allowed = {}) {
    fields_.push_back({prefix_ + std::string(key), kind, std::move(allowed)});
  }

  std::vector<RecordField>& fields_;
  std::string prefix_;
};

/// Quotes the bare words that Python's json module writes for values which JSON does not have.
std::string with_quoted_words(std::string_view text) {
  std::string result;
  result.reserve(text.size() + 16);
  bool in_string = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\' && at + 1 < text.size()) result += text[at++];
      if (c == '"') in_string = false;
      result += text[at++];
      continue;
    }
    bool replaced = false;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (!text.substr(at).starts_with(word)) continue;
      result += fmt::format("\"{}\"", word);
      at += word.size();
      replaced = true;
      break;
    }
    if (replaced) continue;
    if (c == '"') in_string = true;
    result += text[at++];
  }
  return result;
}

}  // namespace

std::optional<int> version_number(std::string_view version) {
  if (version.empty() || (version.front() != 'v' && version.front() != 'V')) return std::nullopt;
  std::size_t end = 1;
  while (end < version.size() && version[end] >= '0' && version[end] <= '9') ++end;
  if (end == 1 || end > 9) return std::nullopt;
  if (end < version.size() && !contains("_-. ", version.substr(end, 1))) return std::nullopt;
  return static_cast<int>(*parse_integer(version.substr(1, end - 1)));
}

Json Record::other() const {
  return other_text_.empty() ? Json::object() : Json::parse(other_text_, nullptr, false);
}

void Record::set_other(const Json& fields) {
  other_text_ = fields.is_object() && !fields.empty() ? dump_json_line(fields) : "";
}

Result<Record> record_from_json(const Json& json, const std::string& file, Tolerate tolerate) {
  if (!json.is_object()) {
    return bad_input(fmt::format("a record is a JSON object, not {}", described(json)))
        .at({file, 0, 0});
  }
  Reading reading{tolerate, file, std::nullopt, Json::object()};
  Reader reader(json, "", reading);
  Record record;
  visit_record(reader, record);
  if (reading.mistake) return std::move(*reading.mistake);
  const auto number = version_number(record.version);
  if (!number) {
    return bad_input(fmt::format("/version: expected \"v<N>\", found \"{}\"", record.version))
        .at({file, 0, 0});
  }
  record.number = *number;
  Json other = Json::object();
  for (const auto& [key, value] : json.items()) {
    if (!reader.knows(key)) other[key] = value;
  }
  for (const auto& [pointer, value] : reading.odd.items()) other[pointer] = value;
  record.set_other(other);
  return record;
}

Result<Json> parse_python_json(std::string_view text, const std::string& file) {
  return parse_json(with_quoted_words(text), file);
}

Result<Record> record_from_text(std::string_view text, const std::string& file, Tolerate tolerate) {
  BURNISH_TRY_ASSIGN(const Json json, tolerate == Tolerate::odd_values
                                          ? parse_python_json(text, file)
                                          : parse_json(text, file));
  return record_from_json(json, file, tolerate);
}

Json to_json(const Record& record) {
  Json json = Json::object();
  Writer writer(json);
  visit_record(writer, record);
  if (record.version.empty()) json["version"] = fmt::format("v{}", record.number);
  const Json other = record.other();
  for (const auto& [key, value] : other.items()) {
    if (!json.contains(key)) json[key] = value;
  }
  return json;
}

const std::vector<RecordField>& record_fields() {
  static const std::vector<RecordField> fields = [] {
    std::vector<RecordField> result;
    Lister lister(result, "");
    Record record;
    visit_record(lister, record);
    return result;
  }();
  return fields;
}

}  // namespace burnish::workspace
