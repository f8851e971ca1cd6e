#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "workspace/record.h"
#include "workspace/task.h"

namespace burnish::workspace {

/// The outside world of a workspace; tests replace each.
struct World {
  FileSystem& files = real_file_system();
  ProcessRunner& processes = real_process_runner();
  Clock& clock = real_clock();
};

/// All files of a candidate by relative name: the kernel, `also`, launch.toml.
using Files = std::map<std::string, std::string>;

/// A transition of the state machine, as it stands in .burnish/journal.jsonl: one JSON object a
/// line, each with the hash of the line before it, so that a torn or edited journal is noticed.
struct Entry {
  std::int64_t sequence = 0;  ///< 0 for the first line
  std::string time;
  /// init, import, baseline, profile, plan, implement, gate, commit, restore, mask, stop, …
  std::string event;
  enum class Phase { begin, done } phase = Phase::done;
  int version = 0;
  std::string detail_text;  ///< JSON object as one line
};

/// Where a version's files are in a workspace: "memory/v3.json", "plans/v3_plan.md" and
/// "reports/v3.md".
std::string record_path(int version);
std::string plan_path(int version);
std::string report_path(int version);

/// What Workspace::restore() puts back: all, or all but the candidate's files.
enum class Restore { all, texts };

/// A folder and git repository that holds one task, its kernel and its history. One process at a
/// time holds it open for writing (`Access::write` takes the lock).
class Workspace {
 public:
  enum class Access { read, write };

  /// Makes a workspace from a folder that holds burnish.toml, kernel, launch spec and reference:
  /// copies them, writes .gitignore, starts the git repository, makes the first commit and the
  /// journal's first entry (`init`, done). It appears under its name whole or not at all. Errors:
  /// the target exists, the task is malformed, git is missing.
  static Result<Workspace> create(const fs::path& folder, const fs::path& from, World world);
  /// Errors: bad_input when the folder is no workspace; environment when another process holds it.
  /// With `Access::write` a torn last line of the journal is dropped, a half-done change of settled
  /// records is undone, and what a killed process left behind (temporary files, git's locks)
  /// removed.
  static Result<Workspace> open(const fs::path& folder, Access access, World world);

  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  ~Workspace();

  const fs::path& folder() const;
  const TaskSpec& task() const;
  World& world();

  // The candidate.
  // A file that is a symbolic link or no regular file is refused.
  Result<Files> candidate() const;                         ///< in the working tree
  Result<Files> candidate_in(const fs::path& root) const;  ///< in a worktree
  Result<LaunchSpec> launch(const Files& files) const;
  Result<void> put_candidate(const Files& files);  ///< all its files, each atomic
  std::string artefact_hash(const Files& files) const;

  // Records (memory/), plans, reports.
  Result<std::vector<Record>> records() const;  ///< sorted by number; commit hashes resolved
  Result<Record> record(int number) const;
  /// Errors: bug when the record contradicts itself or its reader would refuse it; v0 is never
  /// masked.
  Result<void> put_record(const Record& record);
  /// Writes several records as one change: after a kill all of them are changed, or none. Those of
  /// versions that have a commit are committed with the subject; the others wait for theirs.
  Result<void> change_records(const std::vector<Record>& records, const std::string& subject);
  Result<void> put_text(const fs::path& relative, std::string_view text);
  Result<std::string> text(const fs::path& relative) const;
  fs::path profile_folder(int version) const;
  fs::path cache_folder() const;

  // The journal.
  Result<std::vector<Entry>> journal() const;
  Result<void> append(const std::string& event, Entry::Phase phase, int version,
                      const Json& detail);

  // Git. Hooks, signing and the user's configuration are off; the user is burnish's own.
  /// Commits `paths` (files that are new, changed or gone) and nothing else. A version below 0 gets
  /// no trailer.
  Result<void> commit(const std::string& subject, const std::string& body, int version,
                      const std::vector<std::string>& paths);
  /// The newest commit with the trailer `Burnish-Version: v<N>`, absent when there is none.
  Result<std::optional<std::string>> commit_of(int version) const;
  /// The highest version that has one.
  Result<std::optional<int>> newest_commit() const;
  Result<Files> candidate_at(const std::string& commit) const;
  /// Working tree and index back to HEAD, for the candidate's files, memory, plans, reports,
  /// README.md and baseline_report.md; files that HEAD lacks are removed. Nothing else is touched.
  Result<void> restore(Restore what = Restore::all);
  /// The index back to HEAD, the working tree as it is: after a commit that was cut off.
  Result<void> unstage();
  Result<bool> clean() const;  ///< nothing uncommitted among tracked and trackable files
  /// A git worktree at HEAD for an agent to work in; removed by drop_worktree().
  Result<fs::path> make_worktree(const std::string& name);
  Result<void> drop_worktree(const fs::path& path);
  /// Files that differ in a worktree from this workspace's HEAD, whatever was committed there:
  /// contents, modes and kinds, untracked files included, ignored ones not. Sorted.
  Result<std::vector<std::string>> changed_files(const fs::path& worktree) const;

 private:
  struct State;
  explicit Workspace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace burnish::workspace
