#include "workspace/journal.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

namespace burnish::workspace {

namespace {

constexpr std::string_view kName = ".burnish/journal.jsonl";
constexpr std::string_view kHashKey = ",\"hash\":\"";
constexpr std::size_t kHashSize = 32;
constexpr std::uint64_t kLimit = 256u << 20;

std::string line_of(const Entry& entry, const std::string& previous) {
  const Json detail = Json::parse(entry.detail_text, nullptr, false);
  const Json json = {{"sequence", entry.sequence},
                     {"time", entry.time},
                     {"event", entry.event},
                     {"phase", entry.phase == Entry::Phase::begin ? "begin" : "done"},
                     {"version", entry.version},
                     {"detail", detail.is_object() ? detail : Json::object()},
                     {"previous", previous}};
  std::string line = dump_json_line(json);
  line.pop_back();  // the brace that closes the object comes behind the hash
  return line + std::string(kHashKey) + content_hash(line) + "\"}\n";
}

/// The hash that the line ends with, when it is the line's own.
std::optional<std::string> hash_of(std::string_view line) {
  const std::size_t tail = kHashKey.size() + kHashSize + 2;
  if (line.size() < tail || !line.ends_with("\"}")) return std::nullopt;
  const std::string_view body = line.substr(0, line.size() - tail);
  if (line.substr(body.size(), kHashKey.size()) != kHashKey) return std::nullopt;
  std::string hash(line.substr(body.size() + kHashKey.size(), kHashSize));
  if (content_hash(body) != hash) return std::nullopt;
  return hash;
}

Result<Entry> entry_of(std::string_view line, const std::string& previous, const Place& place) {
  auto json = parse_json(line, place.file);
  if (!json) return bad_input(json.error().message).at(place);
  JsonFields fields(*json, place.file);
  Entry entry;
  entry.sequence = fields.integer("sequence");
  entry.time = fields.string("time");
  entry.event = fields.string("event");
  entry.phase = fields.one_of("phase", {"begin", "done"}) == "begin" ? Entry::Phase::begin
                                                                     : Entry::Phase::done;
  const std::int64_t version = fields.integer("version");
  const Json* detail = fields.raw("detail");
  const std::string stated = fields.string("previous");
  fields.ignore("hash");
  if (auto finished = fields.finish(); !finished) {
    return bad_input(finished.error().message).at(place).with_hint(finished.error().hint);
  }
  if (version < -1 || version > 999'999'999) {
    return bad_input(fmt::format("/version: {} is no version", version)).at(place);
  }
  entry.version = static_cast<int>(version);
  entry.detail_text = detail != nullptr && detail->is_object() ? dump_json_line(*detail) : "{}";
  if (stated != previous || entry.sequence != place.line - 1) {
    return bad_input("the line does not follow the one before it")
        .at(place)
        .with_hint("lines were removed, added or moved; restore the journal from a copy");
  }
  return entry;
}

}  // namespace

Result<void> Journal::refresh() {
  std::string text;
  if (files_->exists(file_)) {
    BURNISH_TRY_ASSIGN(text, files_->read(file_, kLimit));
  }
  torn_ = !text.empty() && text.back() != '\n';
  if (torn_) text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  // What was read before is verified already; a journal only grows.
  std::string_view rest = text;
  if (text.starts_with(text_)) {
    rest.remove_prefix(text_.size());
  } else {
    entries_.clear();
    last_hash_.clear();
  }
  const auto discard = [this](Error error) {
    text_.clear();
    entries_.clear();
    last_hash_.clear();
    return error;
  };
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const Place place{std::string(kName), static_cast<int>(entries_.size()) + 1, 1};
    const auto hash = hash_of(line);
    if (!hash) {
      return discard(
          bad_input("the line was changed: its hash does not fit")
              .at(place)
              .with_hint("restore the journal from a copy; the git history is untouched"));
    }
    auto entry = entry_of(line, last_hash_, place);
    if (!entry) return discard(std::move(entry.error()));
    entries_.push_back(std::move(*entry));
    last_hash_ = *hash;
  }
  text_ = std::move(text);
  return {};
}

Result<std::vector<Entry>> Journal::entries() {
  BURNISH_TRY(refresh());
  return entries_;
}

Result<void> Journal::repair() {
  BURNISH_TRY(refresh());
  if (!torn_) return {};
  BURNISH_TRY(files_->write(file_, text_));
  torn_ = false;
  return {};
}

Result<void> Journal::append(const Entry& entry) {
  // An append that failed half-way may have left a part of a line.
  BURNISH_TRY(repair());
  Entry numbered = entry;
  numbered.sequence = static_cast<std::int64_t>(entries_.size());
  const std::string line = line_of(numbered, last_hash_);
  BURNISH_TRY(files_->append(file_, line));
  return refresh();
}

}  // namespace burnish::workspace
