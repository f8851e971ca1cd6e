#include "workspace/workspace.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "workspace/fields.h"
#include "workspace/git.h"
#include "workspace/journal.h"
#include "workspace/layout.h"

namespace burnish::workspace {

namespace {

constexpr std::uint64_t kTextLimit = 16u << 20;

/// Names of the candidate's files, in a fixed order.
std::vector<std::string> candidate_names(const TaskSpec& task) {
  std::vector<std::string> names = {task.kernel_file};
  if (!task.launch_file.empty()) names.push_back(task.launch_file);
  names.insert(names.end(), task.also.begin(), task.also.end());
  return names;
}

/// A file that shows what it was when a record was read.
struct Stamp {
  std::int64_t size = -1, seconds = 0, nanoseconds = 0;
  std::uint64_t inode = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const fs::path& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return {};
  return {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ino};
}

/// N of "v<N>.json", written as burnish writes it.
std::optional<int> record_file_number(const std::string& name) {
  if (!name.starts_with("v") || !name.ends_with(".json")) return std::nullopt;
  const auto number = version_number(std::string_view(name).substr(0, name.size() - 5));
  if (!number || name != fmt::format("v{}.json", *number)) return std::nullopt;
  return number;
}

/// ".NAME.PID.N.tmp", as FileSystem::write() calls a file that is not whole yet.
bool is_temporary(std::string_view name) {
  const std::vector<std::string_view> parts = split(name, '.');
  return parts.size() >= 5 && parts.front().empty() && parts.back() == "tmp" &&
         parse_integer(parts[parts.size() - 2]) && parse_integer(parts[parts.size() - 3]);
}

bool is_dead(std::int64_t pid) {
  return pid > 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

/// The lock, unless a living process holds it. A process that was killed while it started a program
/// leaves a copy of itself that holds the lock for an instant longer.
Result<FileLock> take_lock(const fs::path& path, World& world) {
  for (int waits = 0;; ++waits) {
    auto lock = FileLock::try_lock(path);
    if (lock || lock.error().kind != ErrorKind::environment || waits == 250) return lock;
    const auto holder = world.files.read(path, 64);
    const auto pid = holder ? parse_integer(trim(*holder)) : std::nullopt;
    if (!pid || !is_dead(*pid)) return lock;
    world.clock.sleep(std::chrono::milliseconds(20));
  }
}

/// Why a path cannot be a file in the workspace that callers may read and write.
std::string outside_problem(const fs::path& relative) {
  if (relative.empty()) return "it is empty";
  if (relative.is_absolute()) return "it is absolute";
  for (const fs::path& part : relative) {
    if (part == "..") return "it leaves the workspace";
    if (part == ".git") return "it is git's";
  }
  return "";
}

}  // namespace

fs::path plain_path(const fs::path& path) {
  return fs::absolute(path / "").lexically_normal().parent_path();
}

Result<void> check_no_links(const fs::path& root, const fs::path& relative) {
  fs::path at = root;
  for (const fs::path& part : relative.parent_path()) {
    at /= part;
    std::error_code ignored;
    const fs::file_status status = fs::symlink_status(at, ignored);
    if (fs::is_symlink(status)) {
      return refused(fmt::format("{} is a symbolic link", at.string()))
          .with_hint("put a folder in its place");
    }
    if (fs::exists(status) && !fs::is_directory(status)) {
      return refused(fmt::format("{} is no folder", at.string()));
    }
  }
  return {};
}

Result<std::string> read_plain_file(const FileSystem& files, const fs::path& root,
                                    const fs::path& relative) {
  BURNISH_TRY(check_no_links(root, relative));
  const fs::path path = root / relative;
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  if (!fs::exists(status)) {
    if (!fs::is_directory(root, ignored)) {
      return bad_input(fmt::format("there is no folder {}", root.string()))
          .with_hint("name one with burnish.toml, the kernel, launch.toml and the reference");
    }
    return bad_input(fmt::format("{} is missing in {}", relative.string(), root.string()))
        .with_hint("docs/workspace.md tells of the files of a task; examples/ has some");
  }
  if (!fs::is_regular_file(status)) {
    return refused(fmt::format("{} is {}", path.string(),
                               fs::is_symlink(status)     ? "a symbolic link"
                               : fs::is_directory(status) ? "a folder"
                                                          : "no regular file"))
        .with_hint("a candidate is made of regular files");
  }
  return files.read(path, kTextLimit);
}

Result<Files> read_candidate(const FileSystem& files, const TaskSpec& task, const fs::path& root) {
  Files result;
  for (const std::string& name : candidate_names(task)) {
    BURNISH_TRY_ASSIGN(result[name], read_plain_file(files, root, name));
  }
  return result;
}

Result<void> make_whole(const fs::path& folder, World& world,
                        const std::function<Result<void>(const fs::path&)>& fill) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(folder, ignored))) {
    return bad_input(fmt::format("{} exists already", folder.string()))
        .with_hint("choose another name, or remove it");
  }
  // Said of the name that was given, not of the temporary folder's.
  struct stat info{};
  if (::lstat(folder.c_str(), &info) != 0 && errno != ENOENT) {
    return bad_input(fmt::format("cannot make {}: {}", folder.string(), std::strerror(errno)))
        .with_hint("choose another name");
  }
  const fs::path parent = folder.parent_path();
  const std::string prefix = fmt::format(".{}.new-", folder.filename().string());
  for (const std::string& name : world.files.list(parent)) {
    if (!name.starts_with(prefix)) continue;  // of a process that was killed in this place
    const auto pid = parse_integer(std::string_view(name).substr(prefix.size()));
    if (pid && is_dead(*pid)) {
      BURNISH_TRY(world.files.remove_all(parent / name));
    }
  }
  const fs::path temporary = parent / fmt::format("{}{}", prefix, ::getpid());
  BURNISH_TRY(world.files.remove_all(temporary));
  BURNISH_TRY(world.files.make_folder(temporary));
  auto filled = fill(temporary);
  if (filled && ::rename(temporary.c_str(), folder.c_str()) != 0) {
    filled =
        environment_error(fmt::format("cannot make {}: {}", folder.string(), std::strerror(errno)));
  }
  if (!filled) {
    // The error that counts is the first one.
    (void)world.files.remove_all(temporary);
  }
  return filled;
}

Result<void> write_ignore_file(FileSystem& files, const fs::path& folder) {
  return files.write(folder / ".gitignore", "/.burnish/\n/profiles/\n.*.tmp\n");
}

std::string commit_message(const std::string& subject, const std::string& body, int version) {
  std::string message = to_valid_utf8(subject.substr(0, 1000));
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::replace(message.begin(), message.end(), '\0', ' ');
  message = std::string(trim(message)) + "\n";
  std::string text = to_valid_utf8(body);
  std::replace(text.begin(), text.end(), '\0', ' ');
  constexpr std::size_t kLongest = 32 * 1024;  // it travels on a command line
  if (text.size() > kLongest) text = to_valid_utf8(text.substr(0, kLongest));
  if (!trim(text).empty()) message += fmt::format("\n{}\n", trim(text));
  // The last paragraph alone holds trailers, so nothing in the body can pose as one.
  if (version >= 0) message += fmt::format("\nBurnish-Version: v{}\n", version);
  return message;
}

struct Workspace::State {
  State(fs::path path, Access how, World outside)
      : folder(std::move(path)),
        access(how),
        world(outside),
        git(folder, outside.processes),
        journal(folder / ".burnish/journal.jsonl", outside.files) {}

  fs::path folder;
  Access access;
  World world;
  TaskSpec task;
  Git git;
  Journal journal;
  std::optional<FileLock> lock;
  std::optional<std::map<int, std::string>> versions;  ///< commits by version, until one is made
  struct Cached {
    Stamp stamp;
    Record record;
  };
  std::map<int, Cached> records;
  /// The candidate at a commit, which never changes: the incumbent's is asked for at every stage.
  std::optional<std::pair<std::string, Files>> candidate_at;

  fs::path pending_file() const { return folder / ".burnish/pending.json"; }

  Result<void> require_write(std::string_view what) const {
    if (access == Access::write) return {};
    return bug(fmt::format("{} in a workspace that is open for reading", what));
  }

  Result<const std::map<int, std::string>*> commits() {
    if (!versions) {
      BURNISH_TRY_ASSIGN(versions, git.versions());
    }
    return &*versions;
  }

  Result<Record> read_record(int number) {
    const fs::path path = folder / record_path(number);
    const Stamp stamp = stamp_of(path);
    const auto cached = records.find(number);
    if (cached != records.end() && cached->second.stamp == stamp) return cached->second.record;
    BURNISH_TRY_ASSIGN(const std::string text,
                       read_plain_file(world.files, folder, record_path(number)));
    BURNISH_TRY_ASSIGN(Record record,
                       record_from_text(text, record_path(number), Tolerate::nothing));
    if (record.number != number) {
      return bad_input(fmt::format("/version: \"{}\" in the file of v{}", record.version, number))
          .at({record_path(number), 0, 0});
    }
    records[number] = {stamp, record};
    return record;
  }

  Result<Record> resolved(Record record) {
    BURNISH_TRY_ASSIGN(const auto* known, commits());
    const auto at = known->find(record.number);
    record.git_commit_hash =
        at == known->end() ? std::nullopt : std::optional<std::string>(at->second);
    return record;
  }

  std::vector<int> record_numbers() const {
    std::vector<int> numbers;
    for (const std::string& name : world.files.list(folder / "memory")) {
      if (const auto number = record_file_number(name)) numbers.push_back(*number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  Result<void> write_file(const fs::path& relative, std::string_view text) {
    if (const std::string why = outside_problem(relative); !why.empty()) {
      return bug(fmt::format("cannot write {}: {}", relative.string(), why));
    }
    BURNISH_TRY(check_no_links(folder, relative));
    std::error_code ignored;
    const fs::file_status status = fs::symlink_status(folder / relative, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      // A link would be followed; whatever stands here is not the file that was put here.
      BURNISH_TRY(world.files.remove_all(folder / relative));
    }
    return world.files.write(folder / relative, text);
  }

  // --- What a killed process left ---

  Result<void> recover() {
    BURNISH_TRY(remove_temporary_files());
    BURNISH_TRY(remove_git_locks());
    BURNISH_TRY(journal.repair());
    return finish_pending();
  }

  Result<void> remove_temporary_files() {
    for (const char* part : {"", "memory", "plans", "reports", ".burnish"}) {
      for (const std::string& name : world.files.list(folder / part)) {
        if (!is_temporary(name)) continue;
        BURNISH_TRY(world.files.remove_all(folder / part / name));
      }
    }
    return {};
  }

  /// We hold the workspace, so a lock of git's belongs to a git that is dying with its parent, or
  /// to one that is dead.
  Result<void> remove_git_locks() {
    for (int waits = 0; waits < 20 && !git_locks().empty(); ++waits)
      world.clock.sleep(std::chrono::milliseconds(50));
    for (const fs::path& file : git_locks()) BURNISH_TRY(world.files.remove_all(file));
    return {};
  }

  /// The branch may have any name, and slashes in it.
  std::vector<fs::path> git_locks() const {
    std::vector<fs::path> locks;
    for (const char* name : {"index.lock", "HEAD.lock", "config.lock", "packed-refs.lock"})
      if (world.files.exists(folder / ".git" / name)) locks.push_back(folder / ".git" / name);
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder / ".git/refs/heads", error), end;
         !error && at != end; at.increment(error))
      if (at->path().extension() == ".lock") locks.push_back(at->path());
    return locks;
  }

  /// The pending file holds the whole change; its first appearance is what makes the change count.
  Result<void> finish_pending() {
    if (!world.files.exists(pending_file())) return {};
    const std::string name = ".burnish/pending.json";
    BURNISH_TRY_ASSIGN(const std::string text, world.files.read(pending_file(), kTextLimit));
    BURNISH_TRY_ASSIGN(const Json json, parse_json(text, name));
    JsonFields fields(json, name);
    const std::string subject = fields.string("subject");
    std::map<std::string, std::string> contents;
    const Json* records_json = fields.raw("files");
    if (records_json == nullptr || !records_json->is_object()) {
      return bad_input("/files: expected an object").at({name, 0, 0});
    }
    std::vector<std::string> settled;
    BURNISH_TRY_ASSIGN(const auto* known, commits());
    for (const auto& [path, content] : records_json->items()) {
      const auto number =
          path.starts_with("memory/") ? record_file_number(path.substr(7)) : std::nullopt;
      if (!number || !content.is_string()) {
        return bad_input(fmt::format("/files/{}: expected the text of a record", path))
            .at({name, 0, 0});
      }
      contents[path] = content.get<std::string>();
      if (known->contains(*number)) settled.push_back(path);
    }
    BURNISH_TRY(fields.finish());
    for (const auto& [path, content] : contents) BURNISH_TRY(write_file(path, content));
    if (!settled.empty()) {
      BURNISH_TRY_ASSIGN(const auto changes, git.changes(settled));
      if (!changes.empty()) {
        BURNISH_TRY(git.commit(commit_message(subject, "", -1), settled));
        versions.reset();
      }
    }
    return world.files.remove_all(pending_file());
  }
};

Workspace::Workspace(std::unique_ptr<State> state) : state_(std::move(state)) {}
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
Workspace::~Workspace() = default;

Result<Workspace> Workspace::create(const fs::path& folder, const fs::path& from, World world) {
  const fs::path target = plain_path(folder);
  const std::string task_file = (from / "burnish.toml").string();
  BURNISH_TRY_ASSIGN(const std::string task_text,
                     read_plain_file(world.files, from, "burnish.toml"));
  BURNISH_TRY_ASSIGN(const TaskSpec task, parse_task(task_text, task_file));
  BURNISH_TRY_ASSIGN(Files files, read_candidate(world.files, task, from));
  if (!task.launch_file.empty()) {
    BURNISH_TRY(parse_launch(files[task.launch_file], (from / task.launch_file).string(), task));
  }
  // Versions of a task in several languages share their reference, so a link to it is followed.
  std::error_code ignored;
  const fs::path reference = fs::weakly_canonical(from / task.reference_file, ignored);
  BURNISH_TRY_ASSIGN(files[task.reference_file],
                     read_plain_file(world.files, reference.parent_path(), reference.filename()));
  files["burnish.toml"] = task_text;

  const auto fill = [&](const fs::path& temporary) -> Result<void> {
    std::vector<std::string> names = {".gitignore"};
    BURNISH_TRY(write_ignore_file(world.files, temporary));
    for (const auto& [name, content] : files) {
      BURNISH_TRY(world.files.write(temporary / name, content));
      names.push_back(name);
    }
    const Git git(temporary, world.processes);
    BURNISH_TRY(git.init());
    BURNISH_TRY(git.commit(commit_message("Start " + task.name, "", -1), names));
    Journal journal(temporary / ".burnish/journal.jsonl", world.files);
    Entry entry;
    entry.time = iso_time(world.clock.now());
    entry.event = "init";
    entry.detail_text = dump_json_line({{"task", task.name}, {"hash", content_hash(task_text)}});
    return journal.append(entry);
  };
  BURNISH_TRY(make_whole(target, world, fill));
  return open(target, Access::write, world);
}

Result<Workspace> Workspace::open(const fs::path& folder, Access access, World world) {
  const fs::path path = plain_path(folder);
  for (const char* name : {"burnish.toml", ".git"}) {
    if (!world.files.exists(path / name)) {
      return bad_input(fmt::format("{} is no workspace: it has no {}", path.string(), name))
          .with_hint("make one with `burnish init`, or name one with -C");
    }
  }
  auto state = std::make_unique<State>(path, access, world);
  if (access == Access::write) {
    BURNISH_TRY_ASSIGN(state->lock, take_lock(path / ".burnish/lock", world));
    BURNISH_TRY(state->git.settle(world.clock));
    BURNISH_TRY(in_context(state->recover(), "recovering the workspace " + path.string()));
  }
  BURNISH_TRY_ASSIGN(const std::string text, read_plain_file(world.files, path, "burnish.toml"));
  BURNISH_TRY_ASSIGN(state->task, parse_task(text, (path / "burnish.toml").string()));
  return Workspace(std::move(state));
}

const fs::path& Workspace::folder() const { return state_->folder; }
const TaskSpec& Workspace::task() const { return state_->task; }
World& Workspace::world() { return state_->world; }

// --- The candidate ---

Result<Files> Workspace::candidate() const { return candidate_in(state_->folder); }

Result<Files> Workspace::candidate_in(const fs::path& root) const {
  return read_candidate(state_->world.files, state_->task, root);
}

Result<LaunchSpec> Workspace::launch(const Files& files) const {
  const auto text = files.find(state_->task.launch_file);
  if (text == files.end()) {
    return bad_input(fmt::format("the candidate has no {}", state_->task.launch_file));
  }
  return parse_launch(text->second, state_->task.launch_file, state_->task);
}

Result<void> Workspace::put_candidate(const Files& files) {
  BURNISH_TRY(state_->require_write("put_candidate()"));
  const std::vector<std::string> names = candidate_names(state_->task);
  for (const std::string& name : names) {
    if (!files.contains(name)) return bad_input(fmt::format("the candidate lacks {}", name));
  }
  for (const auto& [name, content] : files) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return refused(fmt::format("{} is no file of the candidate", name))
          .with_hint(fmt::format("its files are {}", join(names, ", ")));
    }
  }
  for (const auto& [name, content] : files) BURNISH_TRY(state_->write_file(name, content));
  return {};
}

std::string Workspace::artefact_hash(const Files& files) const {
  const TaskSpec& task = state_->task;
  Hasher hasher;
  hasher.add("language", task.language);
  for (const std::string& option : task.options) hasher.add("option", option);
  for (const auto& [name, content] : files) hasher.add("file:" + name, content);
  // The candidate's own tunables stand in its launch spec; the others come from the task.
  for (const Tunable& tunable : task.tunables) {
    hasher.add("tunable:" + tunable.name, to_text(tunable.initial));
  }
  return hasher.digest();
}

// --- Records and texts ---

Result<std::vector<Record>> Workspace::records() const {
  std::vector<Record> result;
  for (const int number : state_->record_numbers()) {
    BURNISH_TRY_ASSIGN(Record record, state_->read_record(number));
    BURNISH_TRY_ASSIGN(record, state_->resolved(std::move(record)));
    result.push_back(std::move(record));
  }
  return result;
}

Result<Record> Workspace::record(int number) const {
  const std::vector<int> known = state_->record_numbers();
  if (std::find(known.begin(), known.end(), number) == known.end()) {
    std::vector<std::string> names;
    for (const int one : known) names.push_back(fmt::format("v{}", one));
    return bad_input(fmt::format("there is no record of v{}", number))
        .with_hint(names.empty() ? "there are no records yet"
                                 : fmt::format("there are {}", join(names, ", ")));
  }
  BURNISH_TRY_ASSIGN(Record record, state_->read_record(number));
  return state_->resolved(std::move(record));
}

namespace {

/// The record's text as it is stored, when its own reader takes it.
Result<std::string> stored_text(const Record& record) {
  Record stored = record;
  stored.git_commit_hash.reset();
  if (stored.version.empty()) stored.version = fmt::format("v{}", stored.number);
  if (version_number(stored.version) != stored.number) {
    return bug(fmt::format("record {} calls itself \"{}\"", stored.number, stored.version));
  }
  if (stored.number == 0 && stored.masked) {
    return bad_input("v0 cannot be masked")
        .with_hint("it is the baseline that all is compared with");
  }
  std::string text = dump_json(to_json(stored));
  auto read = record_from_text(text, record_path(stored.number), Tolerate::nothing);
  if (!read)
    return bug("a record that is about to be written is wrong: " + read.error().to_string());
  return text;
}

}  // namespace

Result<void> Workspace::put_record(const Record& record) {
  BURNISH_TRY(state_->require_write("put_record()"));
  BURNISH_TRY_ASSIGN(const std::string text, stored_text(record));
  return state_->write_file(record_path(record.number), text);
}

Result<void> Workspace::change_records(const std::vector<Record>& records,
                                       const std::string& subject) {
  BURNISH_TRY(state_->require_write("change_records()"));
  Json contents = Json::object();
  for (const Record& record : records) {
    BURNISH_TRY_ASSIGN(contents[record_path(record.number)], stored_text(record));
  }
  if (contents.empty()) return {};
  const Json pending = {{"subject", subject}, {"files", contents}};
  BURNISH_TRY(state_->world.files.write(state_->pending_file(), dump_json(pending)));
  return state_->finish_pending();
}

Result<void> Workspace::put_text(const fs::path& relative, std::string_view text) {
  BURNISH_TRY(state_->require_write("put_text()"));
  return state_->write_file(relative, text);
}

Result<std::string> Workspace::text(const fs::path& relative) const {
  if (const std::string why = outside_problem(relative); !why.empty()) {
    return bad_input(fmt::format("cannot read {}: {}", relative.string(), why));
  }
  return read_plain_file(state_->world.files, state_->folder, relative);
}

std::string record_path(int version) { return fmt::format("memory/v{}.json", version); }
std::string plan_path(int version) { return fmt::format("plans/v{}_plan.md", version); }
std::string report_path(int version) { return fmt::format("reports/v{}.md", version); }

fs::path Workspace::profile_folder(int version) const {
  return state_->folder / "profiles" / fmt::format("v{}", version);
}

fs::path Workspace::cache_folder() const { return state_->folder / ".burnish/cache"; }

// --- The journal ---

Result<std::vector<Entry>> Workspace::journal() const {
  BURNISH_TRY_ASSIGN(std::vector<Entry> entries, state_->journal.entries());
  if (entries.empty() && !state_->record_numbers().empty()) {
    return bad_input("the journal is missing, but there are records")
        .at({".burnish/journal.jsonl", 0, 0})
        .with_hint(
            "it does not travel with git: copy it from where the workspace was made, or go on "
            "from the records in a new workspace with `burnish import`");
  }
  return entries;
}

Result<void> Workspace::append(const std::string& event, Entry::Phase phase, int version,
                               const Json& detail) {
  BURNISH_TRY(state_->require_write("append()"));
  Entry entry;
  entry.time = iso_time(state_->world.clock.now());
  entry.event = event;
  entry.phase = phase;
  entry.version = version;
  entry.detail_text = dump_json_line(detail);
  return state_->journal.append(entry);
}

// --- Git ---

Result<void> Workspace::commit(const std::string& subject, const std::string& body, int version,
                               const std::vector<std::string>& paths) {
  BURNISH_TRY(state_->require_write("commit()"));
  state_->versions.reset();
  return state_->git.commit(commit_message(subject, body, version), paths);
}

Result<std::optional<std::string>> Workspace::commit_of(int version) const {
  BURNISH_TRY_ASSIGN(const auto* known, state_->commits());
  const auto at = known->find(version);
  if (at == known->end()) return std::optional<std::string>();
  return std::optional<std::string>(at->second);
}

Result<std::optional<int>> Workspace::newest_commit() const {
  BURNISH_TRY_ASSIGN(const auto* known, state_->commits());
  return known->empty() ? std::optional<int>() : std::optional<int>(known->rbegin()->first);
}

Result<Files> Workspace::candidate_at(const std::string& commit) const {
  if (state_->candidate_at && state_->candidate_at->first == commit)
    return state_->candidate_at->second;
  const std::vector<std::string> names = candidate_names(state_->task);
  BURNISH_TRY_ASSIGN(auto contents, state_->git.contents(commit, names));
  Files files;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!contents[i]) {
      return bad_input(fmt::format("the commit {} has no file {}", commit, names[i]));
    }
    files[names[i]] = std::move(*contents[i]);
  }
  state_->candidate_at.emplace(commit, files);
  return files;
}

Result<void> Workspace::restore(Restore what) {
  BURNISH_TRY(state_->require_write("restore()"));
  std::vector<std::string> paths;
  if (what == Restore::all) paths = candidate_names(state_->task);
  paths.insert(paths.end(), {"memory", "plans", "reports", "README.md", "baseline_report.md"});
  BURNISH_TRY_ASSIGN(const auto changes, state_->git.changes(paths));
  std::vector<std::string> tracked;
  for (const Git::Change& change : changes) {
    if (change.untracked) {  // first, since such a file may lie where a tracked one belongs
      BURNISH_TRY(state_->world.files.remove_all(state_->folder / change.path));
    } else {
      tracked.push_back(change.path);
    }
  }
  return state_->git.restore(tracked);
}

Result<void> Workspace::unstage() {
  BURNISH_TRY(state_->require_write("unstage()"));
  return state_->git.unstage();
}

Result<bool> Workspace::clean() const {
  BURNISH_TRY_ASSIGN(const auto changes, state_->git.changes({}));
  return changes.empty();
}

Result<fs::path> Workspace::make_worktree(const std::string& name) {
  BURNISH_TRY(state_->require_write("make_worktree()"));
  if (const std::string why = path_problem(name); !why.empty()) {
    return bug(fmt::format("\"{}\" cannot be the name of a worktree: {}", name, why));
  }
  const fs::path path = state_->folder / ".burnish/worktrees" / name;
  BURNISH_TRY(drop_worktree(path));  // what a killed process left
  BURNISH_TRY(state_->git.add_worktree(path));
  return path;
}

Result<void> Workspace::drop_worktree(const fs::path& path) {
  BURNISH_TRY(state_->require_write("drop_worktree()"));
  if (path.parent_path() != state_->folder / ".burnish/worktrees") {
    return bug(fmt::format("{} is no worktree of {}", path.string(), state_->folder.string()));
  }
  BURNISH_TRY(state_->world.files.remove_all(path));
  return state_->git.prune_worktrees();
}

Result<std::vector<std::string>> Workspace::changed_files(const fs::path& worktree) const {
  const fs::path index =
      state_->folder / ".burnish" / fmt::format("index-{}", worktree.filename().string());
  auto changes = state_->git.changes_in(worktree, index);
  BURNISH_TRY(state_->world.files.remove_all(index));
  if (!changes) return std::move(changes.error());
  std::vector<std::string> paths;
  for (const Git::Change& change : *changes) paths.push_back(change.path);
  return paths;
}

}  // namespace burnish::workspace
