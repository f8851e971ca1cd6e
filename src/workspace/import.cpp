#include "workspace/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "workspace/git.h"
#include "workspace/journal.h"
#include "workspace/layout.h"

namespace burnish::workspace {

namespace {

constexpr std::uint64_t kFileLimit = 256u << 20;

/// What the new workspace is made of, by relative path.
struct Content {
  std::map<std::string, std::string> tracked;
  std::map<std::string, fs::path> profiles;  ///< not in git; copied from where they are
};

/// The record with the number that its file has; what it says of itself that burnish does not store
/// is kept beside the other odd values.
Result<Record> record_of(Json json, const std::string& file, int number) {
  if (!json.is_object()) return record_from_json(json, file, Tolerate::odd_values);
  Json kept = Json::object();
  const auto give_up = [&](const char* key) {
    if (json.contains(key) && !json[key].is_null()) kept[fmt::format("/{}", key)] = json[key];
    json.erase(key);
  };
  const bool fits = json.contains("version") && json["version"].is_string() &&
                    version_number(json["version"].get<std::string>()) == number;
  if (!fits) {
    give_up("version");
    json["version"] = fmt::format("v{}", number);
  }
  give_up("git_commit_hash");  // of a commit in the history of the other repository
  if (number == 0 && json.contains("masked") && json["masked"] == true) give_up("masked");
  BURNISH_TRY_ASSIGN(Record record, record_from_json(json, file, Tolerate::odd_values));
  Json other = record.other();
  for (const auto& [pointer, value] : kept.items()) other[pointer] = value;
  record.set_other(other);
  return record;
}

class Importer {
 public:
  Importer(fs::path from, World& world) : from_(std::move(from)), world_(world) {}

  Result<void> read() {
    BURNISH_TRY(read_records());
    BURNISH_TRY(read_files());
    return read_task();
  }

  Result<void> write(const fs::path& folder) {
    std::vector<std::string> names = {".gitignore"};
    BURNISH_TRY(write_ignore_file(world_.files, folder));
    for (const auto& [name, text] : content_.tracked) {
      BURNISH_TRY(world_.files.write(folder / name, text));
      names.push_back(name);
    }
    for (const auto& [name, path] : content_.profiles) {
      std::error_code error;
      fs::create_directories((folder / name).parent_path(), error);
      if (!error) fs::copy_file(path, folder / name, error);
      if (error) {
        return environment_error(fmt::format("cannot copy {}: {}", path.string(), error.message()));
      }
    }
    const Git git(folder, world_.processes);
    BURNISH_TRY(git.init());
    if (world_.files.exists(from_ / ".git")) {
      if (auto fetched = git.fetch_history(from_); !fetched) {
        report_.skipped.push_back("the git history: " + fetched.error().message);
      }
    }
    BURNISH_TRY(git.commit(commit_message("Import " + from_.filename().string(), "", -1), names));
    Journal journal(folder / ".burnish/journal.jsonl", world_.files);
    Entry entry;
    entry.time = iso_time(world_.clock.now());
    entry.event = "init";
    entry.detail_text = dump_json_line({{"task", from_.filename().string()},
                                        {"hash", content_hash(content_.tracked["burnish.toml"])}});
    BURNISH_TRY(journal.append(entry));
    entry.event = "import";
    entry.version = report_.last;
    entry.detail_text = dump_json_line({{"from", from_.string()}, {"records", report_.records}});
    return journal.append(entry);
  }

  ImportReport& report() { return report_; }

 private:
  Result<void> read_records() {
    std::vector<std::string> names;
    for (const std::string& name : world_.files.list(from_ / "memory")) {
      if (name.ends_with(".json") && name.front() != '.') names.push_back(name);
    }
    std::error_code ignored;
    if (names.empty() && !fs::is_directory(from_, ignored)) {
      return bad_input(fmt::format("{} holds no records: it is no folder", from_.string()))
          .with_hint("name the workspace of a skill, or of burnish");
    }
    if (names.empty()) {
      return bad_input(fmt::format("{} holds no records", from_.string()))
          .with_hint("a workspace of a skill has memory/v0.json, memory/v1.json …");
    }
    // A file that is called v<N>.json has its number for sure; the others take what is left.
    const auto stem_number = [](const std::string& name) {
      return version_number(std::string_view(name).substr(0, name.size() - 5));
    };
    const auto is_exact = [&](const std::string& name) {
      const auto number = stem_number(name);
      return number && name == fmt::format("v{}.json", *number);
    };
    std::stable_partition(names.begin(), names.end(), is_exact);
    std::set<int> taken;
    for (const std::string& name : names) {
      if (const auto number = stem_number(name)) report_.last = std::max(report_.last, *number);
    }
    for (const std::string& name : names) {
      std::optional<int> number = stem_number(name);
      if (!number || !taken.insert(*number).second) {
        number = ++report_.last;
        taken.insert(*number);
      }
      if (!is_exact(name)) report_.renamed.push_back(fmt::format("{} is v{}", name, *number));
      BURNISH_TRY(read_record(name, *number));
    }
    return {};
  }

  Result<void> read_record(const std::string& name, int number) {
    const std::string file = "memory/" + name;
    BURNISH_TRY_ASSIGN(const std::string text, read_plain_file(world_.files, from_, file));
    BURNISH_TRY_ASSIGN(Json json, parse_python_json(text, (from_ / file).string()));
    BURNISH_TRY_ASSIGN(const Record record,
                       record_of(std::move(json), (from_ / file).string(), number));
    const Json other = record.other();
    for (const auto& [pointer, value] : other.items()) {
      if (pointer.starts_with("/")) {
        report_.odd.push_back({number, pointer, dump_json_line(value)});
      }
    }
    content_.tracked[record_path(number)] = dump_json(to_json(record));
    ++report_.records;
    return {};
  }

  /// Everything else that is a regular file: at the top, plans and reports for git, profiles beside
  /// it.
  Result<void> read_files() {
    std::error_code error;
    fs::recursive_directory_iterator at(from_, error), end;
    for (; !error && at != end; at.increment(error)) {
      const std::string name = at->path().lexically_relative(from_).generic_string();
      const std::string top = name.substr(0, name.find('/'));
      const bool is_folder = at->is_directory(error) && !at->is_symlink(error);
      if (is_folder && (top.front() == '.' || top == "memory" || top == "__pycache__")) {
        at.disable_recursion_pending();
        continue;
      }
      if (is_folder) {
        if (top == "plans" || top == "reports" || top == "profiles") continue;
        report_.skipped.push_back(name + "/: not a folder of such a workspace");
        at.disable_recursion_pending();
        continue;
      }
      if (top.front() == '.') continue;
      if (at->is_symlink(error) || !at->is_regular_file(error)) {
        report_.skipped.push_back(name + ": not a regular file");
      } else if (at->file_size(error) > kFileLimit) {
        report_.skipped.push_back(name + ": larger than 256 MiB");
      } else if (top == "profiles") {
        content_.profiles[name] = at->path();
      } else {
        BURNISH_TRY_ASSIGN(content_.tracked[name], world_.files.read(at->path(), kFileLimit));
      }
    }
    if (error) {
      return environment_error(fmt::format("cannot read {}: {}", from_.string(), error.message()));
    }
    std::sort(report_.skipped.begin(), report_.skipped.end());
    return {};
  }

  Result<void> read_task() {
    if (const auto text = content_.tracked.find("burnish.toml"); text != content_.tracked.end()) {
      BURNISH_TRY(parse_task(text->second, (from_ / "burnish.toml").string()));
      return {};
    }
    static const std::vector<std::pair<std::string, std::string>> kernels = {
        {"kernel.py", "python"},
        {"kernel.cu", "cuda"},
        {"kernel.hip", "hip"},
        {"kernel.cl", "opencl"}};
    std::string file = "kernel.py", language = "python", reference = "reference.py";
    for (const auto& [name, kind] : kernels) {
      if (!content_.tracked.contains(name)) continue;
      file = name;
      language = kind;
      break;
    }
    if (content_.tracked.contains("reference.cpp")) reference = "reference.cpp";
    std::string name = from_.filename().string();
    if (name.starts_with("kernel_opt_")) name = name.substr(11);
    Json quoted = name;
    content_.tracked["burnish.toml"] = fmt::format(
        "# Begun by `burnish import`. docs/workspace.md describes what is still to be said here:\n"
        "# [[tensor]], [[workload]] and [work], and [tolerance] where the default is not right.\n"
        "name = {}\n\n[kernel]\nlanguage = \"{}\"\nfile = \"{}\"\n\n[reference]\nfile = \"{}\"\n",
        dump_json_line(quoted), language, file, reference);
    report_.todo.push_back("burnish.toml: say the tensors, the workloads and the work");
    for (const std::string& needed : {file, reference}) {
      if (!content_.tracked.contains(needed)) {
        report_.todo.push_back(fmt::format("{}: there is none yet", needed));
      }
    }
    if (language != "python" && !content_.tracked.contains("launch.toml")) {
      report_.todo.push_back("launch.toml: say how the kernel is launched");
    }
    return {};
  }

  fs::path from_;
  World& world_;
  Content content_;
  ImportReport report_;
};

}  // namespace

Result<ImportReport> import_skill_workspace(const fs::path& from, const fs::path& to, World world) {
  const fs::path source = plain_path(from);
  const fs::path target = plain_path(to);
  Importer importer(source, world);
  BURNISH_TRY(importer.read());
  BURNISH_TRY(
      make_whole(target, world, [&](const fs::path& folder) { return importer.write(folder); }));
  importer.report().folder = target;
  return std::move(importer.report());
}

Json to_json(const ImportReport& report) {
  Json odd = Json::array();
  for (const ImportReport::Odd& one : report.odd) {
    odd.push_back({{"version", fmt::format("v{}", one.version)},
                   {"pointer", one.pointer},
                   {"value", one.value}});
  }
  return {{"workspace", report.folder.string()},
          {"records", report.records},
          {"last", report.last},
          {"renamed", report.renamed},
          {"odd", std::move(odd)},
          {"skipped", report.skipped},
          {"todo", report.todo}};
}

}  // namespace burnish::workspace
