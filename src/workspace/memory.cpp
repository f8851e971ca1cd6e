#include "workspace/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace burnish::workspace {

namespace {

using Kind = RecordField::Kind;

bool is_index(std::string_view part) {
  return !part.empty() && part.size() <= 6 &&
         part.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A place in a record: the keys and indices to it, and what may stand there.
struct Target {
  std::vector<std::string> parts;
  Kind kind = Kind::text;
  std::vector<std::string> allowed;
};

/// Finds what a dotted path means. Errors: unknown, with the nearest path.
Result<Target> target_of(const std::string& path) {
  Target target;
  std::vector<std::string> pattern;  // indices as *
  for (const std::string_view part : split(path, '.')) {
    target.parts.emplace_back(part);
    pattern.emplace_back(is_index(part) ? "*" : part);
  }
  const std::string wanted = join(pattern, ".");
  std::vector<std::string> known, inner;
  for (const RecordField& field : record_fields()) {
    if (field.path == path || field.path == wanted) {
      target.kind = field.kind;
      target.allowed = field.allowed;
      return target;
    }
    if ((field.kind == Kind::numbers || field.kind == Kind::words) &&
        path.starts_with(field.path + ".") && path.size() > field.path.size() + 1) {
      // The rest is one key, dots and all.
      const auto depth =
          static_cast<std::size_t>(std::count(field.path.begin(), field.path.end(), '.') + 1);
      target.parts.resize(depth);
      target.parts.push_back(path.substr(field.path.size() + 1));
      target.kind = field.kind == Kind::numbers ? Kind::number : Kind::text;
      return target;
    }
    if (!contains(field.path, "*")) known.push_back(field.path);
    if (field.path.starts_with(path + ".") && !contains(field.path, "*"))
      inner.push_back(field.path);
  }
  if (!inner.empty()) {
    return bad_input(fmt::format("\"{}\" has fields of its own", path))
        .with_hint(fmt::format("they are {}", join(inner, ", ")));
  }
  // A slip in the last part is nearer to the right path than the whole text suggests.
  auto near = nearest(path, known);
  if (!near) {
    const std::string last = std::string(split(path, '.').back());
    for (const std::string& one : known) {
      if (split(one, '.').back() == last) near = one;
    }
  }
  return bad_input(fmt::format("a record has no field \"{}\"", path))
      .with_hint(near ? fmt::format("did you mean \"{}\"?", *near)
                      : "docs/workspace.md lists the fields");
}

/// The value as the field's kind, from the text of a command line.
Result<Json> value_of(const std::string& path, const Target& target, const std::string& text) {
  const auto wrong = [&](std::string_view expected) {
    return bad_input(fmt::format("{} must be {}, not \"{}\"", path, expected, to_valid_utf8(text)));
  };
  if (text == "null" && target.kind != Kind::flag) return Json();
  switch (target.kind) {
    case Kind::text:
    case Kind::loose:
      return Json(to_valid_utf8(text));
    case Kind::choice: {
      const auto& allowed = target.allowed;
      if (text.empty() || std::find(allowed.begin(), allowed.end(), text) != allowed.end()) {
        return Json(text);
      }
      const auto near = nearest(text, allowed);
      return wrong("one of " + join(allowed, ", "))
          .with_hint(near ? fmt::format("did you mean \"{}\"?", *near) : "");
    }
    case Kind::number: {
      const auto number = parse_number(text);
      if (!number || !std::isfinite(*number)) return wrong("a number or null");
      return Json(*number);
    }
    case Kind::integer: {
      const auto number = parse_integer(text);
      if (!number) return wrong("a whole number or null");
      return Json(*number);
    }
    case Kind::flag:
      if (text != "true" && text != "false") return wrong("true or false");
      return Json(text == "true");
    case Kind::texts:
    case Kind::list: {
      auto json = parse_json(text, path);
      if (!json || !json->is_array()) return wrong("a JSON array");
      return std::move(*json);
    }
    case Kind::numbers:
    case Kind::words:
    case Kind::interval: {
      auto json = parse_json(text, path);
      if (!json || !json->is_object()) return wrong("a JSON object");
      return std::move(*json);
    }
  }
  return bug("a field of no kind");
}

Result<void> set(Json& record, const std::string& path, const Target& target, Json value) {
  Json* at = &record;
  for (const std::string& part : target.parts) {
    if (at->is_array()) {
      const auto index = is_index(part) ? parse_integer(part) : std::nullopt;
      if (!index || static_cast<std::size_t>(*index) >= at->size()) {
        return bad_input(fmt::format("there is no {}: the list has {} elements", path, at->size()))
            .with_hint("set the whole list as a JSON array");
      }
      at = &(*at)[static_cast<std::size_t>(*index)];
    } else {
      at = &(*at)[part];
    }
  }
  *at = std::move(value);
  return {};
}

/// Fields that have verbs or owners of their own.
std::string guard(const std::string& path) {
  if (path == "version") return "a record keeps its version";
  if (path == "masked") return "use `burnish memory mask` and `unmask`";
  if (path == "git_commit_hash") return "it is taken from git whenever the record is read";
  return "";
}

}  // namespace

Result<void> memory_init(Workspace& workspace) {
  return workspace.world().files.make_folder(workspace.folder() / "memory");
}

Result<Record> memory_create(Workspace& workspace, int version, Overwrite overwrite) {
  if (overwrite == Overwrite::no &&
      workspace.world().files.exists(workspace.folder() / record_path(version))) {
    return bad_input(fmt::format("there is a record of v{} already", version))
        .with_hint("update it, or create it anew with --force");
  }
  Record record;
  record.number = version;
  record.version = fmt::format("v{}", version);
  record.timestamp = iso_time(workspace.world().clock.now());
  BURNISH_TRY(workspace.change_records({record}, fmt::format("Create the record of v{}", version)));
  return workspace.record(version);
}

Result<Json> memory_read(const Workspace& workspace, int version, const std::string& field,
                         Masked masked) {
  BURNISH_TRY_ASSIGN(const Record record, workspace.record(version));
  if (record.masked && masked == Masked::refuse) {
    return refused(fmt::format("v{} is masked", version))
        .with_hint("masked records are not for planning: unmask it, or read it with --masked");
  }
  const Json json = to_json(record);
  if (field.empty()) return json;
  const Json* at = &json;
  for (const std::string_view part : split(field, '.')) {
    if (at->is_object() && at->contains(std::string(part))) {
      at = &(*at)[std::string(part)];
      continue;
    }
    const auto index = at->is_array() && is_index(part) ? parse_integer(part) : std::nullopt;
    if (index && static_cast<std::size_t>(*index) < at->size()) {
      at = &(*at)[static_cast<std::size_t>(*index)];
      continue;
    }
    BURNISH_TRY(target_of(field));  // an unknown path is told with the nearest
    return refused(fmt::format("v{} has no value at {}", version, field));
  }
  return *at;
}

Result<std::vector<Record>> memory_list(const Workspace& workspace, Masked masked) {
  BURNISH_TRY_ASSIGN(std::vector<Record> records, workspace.records());
  if (masked == Masked::refuse)
    std::erase_if(records, [](const Record& one) { return one.masked; });
  return records;
}

Result<Record> memory_update(Workspace& workspace, int version,
                             const std::vector<std::string>& assignments) {
  BURNISH_TRY_ASSIGN(const Record record, workspace.record(version));
  Json json = to_json(record);
  std::vector<std::string> paths;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      return bad_input(fmt::format("\"{}\" is not path=value", to_valid_utf8(assignment)))
          .with_hint("write quality_gate.result=PASS");
    }
    const std::string path = to_valid_utf8(assignment.substr(0, equals));
    if (const std::string why = guard(path); !why.empty()) {
      return bad_input(fmt::format("{} cannot be set", path)).with_hint(why);
    }
    BURNISH_TRY_ASSIGN(const Target target, target_of(path));
    BURNISH_TRY_ASSIGN(Json value, value_of(path, target, assignment.substr(equals + 1)));
    BURNISH_TRY(set(json, path, target, std::move(value)));
    paths.push_back(path);
  }
  BURNISH_TRY_ASSIGN(const Record changed,
                     record_from_json(json, record_path(version), Tolerate::nothing));
  BURNISH_TRY(workspace.change_records(
      {changed}, fmt::format("Update the record of v{}: {}", version, join(paths, ", "))));
  return workspace.record(version);
}

Result<std::vector<Record>> memory_mask(Workspace& workspace, const std::vector<int>& versions,
                                        Masking masking) {
  std::vector<Record> changed;
  std::vector<std::string> names;
  for (const int version : versions) {
    BURNISH_TRY_ASSIGN(Record record, workspace.record(version));
    if (version == 0 && masking == Masking::mask) {
      return refused("v0 cannot be masked")
          .with_hint("it is the baseline that all is compared with");
    }
    record.masked = masking == Masking::mask;
    names.push_back(fmt::format("v{}", version));
    changed.push_back(std::move(record));
  }
  BURNISH_TRY(workspace.change_records(
      changed,
      fmt::format("{} {}", masking == Masking::mask ? "Mask" : "Unmask", join(names, ", "))));
  std::vector<Record> result;
  for (const int version : versions) {
    BURNISH_TRY_ASSIGN(Record record, workspace.record(version));
    result.push_back(std::move(record));
  }
  return result;
}

Result<Record> memory_latest(const Workspace& workspace) {
  BURNISH_TRY_ASSIGN(std::vector<Record> records, memory_list(workspace, Masked::refuse));
  if (records.empty()) return refused("there is no unmasked record");
  return std::move(records.back());
}

Result<std::vector<MemoryRow>> memory_summary(const Workspace& workspace) {
  BURNISH_TRY_ASSIGN(const std::vector<Record> records, workspace.records());
  std::vector<MemoryRow> rows;
  for (const Record& record : records) {
    MemoryRow row;
    row.version = record.version;
    row.category = record.optimization.action_category;
    row.gate = record.quality_gate.result;
    row.verdict = record.performance.verdict;
    row.commit = record.git_commit_hash.value_or("");
    row.masked = record.masked;
    row.latency_us = record.performance.latency_us;
    row.tflops = record.performance.tflops;
    row.bandwidth_gbps = record.performance.bandwidth_gbps;
    row.speedup_over_baseline = record.performance.speedup_over_baseline;
    rows.push_back(std::move(row));
  }
  return rows;
}

Json to_json(const std::vector<MemoryRow>& rows) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  Json result = Json::array();
  for (const MemoryRow& row : rows) {
    result.push_back({{"version", row.version},
                      {"masked", row.masked},
                      {"category", row.category},
                      {"gate", row.gate},
                      {"verdict", row.verdict},
                      {"latency_us", number(row.latency_us)},
                      {"tflops", number(row.tflops)},
                      {"bandwidth_gbps", number(row.bandwidth_gbps)},
                      {"speedup_over_baseline", number(row.speedup_over_baseline)},
                      {"commit", row.commit}});
  }
  return result;
}

}  // namespace burnish::workspace
