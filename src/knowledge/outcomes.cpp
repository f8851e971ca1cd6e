#include "knowledge/outcomes.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/json.h"
#include "base/text.h"

namespace burnish::knowledge {
namespace {

constexpr std::uint64_t kLimit = 64u << 20;
constexpr int kLockTries = 100;  // of 50 ms

Result<Outcome> outcome_of(std::string_view line, const Place& place) {
  auto json = parse_json(line, place.file);
  if (!json) return bad_input(json.error().message).at(place);
  JsonFields fields(*json, place.file);
  Outcome outcome;
  outcome.card = fields.string("card");
  outcome.accepted = fields.boolean("accepted", false);
  if (!fields.has("accepted")) fields.fail("accepted", "it is missing");
  outcome.gain = fields.number("gain");
  outcome.device = fields.string("device", "");
  outcome.family = fields.string("family", "");
  outcome.workspace = fields.string("workspace", "");
  outcome.version = static_cast<int>(fields.integer("version", 0));
  if (fields.has("interval")) {
    JsonFields interval = fields.object("interval");
    outcome.interval = Interval{interval.number("low"), interval.number("high")};
  }
  fields.ignore_unknown();  // a newer burnish may write more
  if (outcome.card.empty()) fields.fail("card", "it is empty");
  if (!(outcome.gain > 0) || !std::isfinite(outcome.gain))
    fields.fail("gain", "a speed-up is a number above 0");
  if (auto finished = fields.finish(); !finished)
    return bad_input(finished.error().message).at(place);
  return outcome;
}

std::string line_of(const Outcome& outcome) {
  Json json = {{"card", outcome.card},
               {"device", outcome.device},
               {"family", outcome.family},
               {"gain", outcome.gain}};
  if (outcome.interval)
    json["interval"] = {{"low", outcome.interval->low}, {"high", outcome.interval->high}};
  json["accepted"] = outcome.accepted;
  json["workspace"] = outcome.workspace;
  json["version"] = outcome.version;
  return dump_json_line(json) + "\n";
}

OutcomeStore parse(std::string_view text, const fs::path& file) {
  OutcomeStore store;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (trim(line).empty()) continue;
    auto outcome = outcome_of(line, {file.string(), number, 0});
    if (outcome)
      store.outcomes.push_back(std::move(*outcome));
    else
      store.complaints.push_back(
          fmt::format("{}:{}: {}", file.string(), number, outcome.error().message));
  }
  return store;
}

Result<FileLock> lock(const fs::path& path) {
  for (int i = 0;; ++i) {
    auto held = FileLock::try_lock(path);
    if (held || i == kLockTries) return held;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

Result<OutcomeStore> read_outcomes(const fs::path& file, const FileSystem& files) {
  if (!files.exists(file)) return OutcomeStore{};
  BURNISH_TRY_ASSIGN(const std::string text, files.read(file, kLimit));
  return parse(text, file);
}

Result<void> share_outcomes(const fs::path& file, const std::vector<Outcome>& outcomes,
                            FileSystem& files) {
  if (file.has_parent_path()) BURNISH_TRY(files.make_folder(file.parent_path()));
  BURNISH_TRY_ASSIGN(const FileLock held, lock(file.string() + ".lock"));
  std::string text;
  if (files.exists(file)) {
    BURNISH_TRY_ASSIGN(text, files.read(file, kLimit));
  }
  const OutcomeStore store = parse(text, file);
  std::set<std::pair<std::string, int>> there;
  for (const Outcome& outcome : store.outcomes) there.emplace(outcome.workspace, outcome.version);
  std::string lines;
  for (const Outcome& outcome : outcomes)
    if (!there.contains({outcome.workspace, outcome.version})) lines += line_of(outcome);
  if (lines.empty()) return {};
  // A writer that was killed may have left half a line; it must not swallow the next one.
  if (!text.empty() && text.back() != '\n') lines.insert(0, "\n");
  return files.append(file, lines);
}

}  // namespace burnish::knowledge
