#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"

namespace burnish::workspace {

/// One repository, by running git. What could make git do something else than it is told is off:
/// hooks, signing, file system monitors, line-end conversion, the configuration of the system and
/// of the user, and every GIT_* variable of our own environment. The repository is named, never
/// searched for, so that one further up the tree is not touched by mistake.
class Git {
 public:
  Git(fs::path folder, ProcessRunner& processes);

  /// Waits until every git that another burnish started here has ended. A killed burnish takes its
  /// git with it, but not at the same instant. Errors: environment when one still runs after 10 s.
  Result<void> settle(Clock& clock) const;
  /// `git init` in the folder, with the branch main and no template. Errors: git is missing.
  Result<void> init() const;

  struct Change {
    std::string path;
    bool untracked = false;
  };
  /// Differences from HEAD under `paths` (everything when empty), untracked files one by one.
  Result<std::vector<Change>> changes(const std::vector<std::string>& paths) const;
  /// The same between HEAD and another folder with a checkout, whatever git knows of that folder.
  /// `index` is a scratch file.
  Result<std::vector<Change>> changes_in(const fs::path& checkout, const fs::path& index) const;

  /// Commits exactly these files: new, changed or gone. The commit is made even if nothing changed.
  Result<void> commit(const std::string& message, const std::vector<std::string>& paths) const;
  /// Index and files back to HEAD; a file that HEAD lacks goes from the index only.
  Result<void> restore(const std::vector<std::string>& paths) const;
  /// The whole index back to HEAD; files stay as they are.
  Result<void> unstage() const;
  /// Version → newest commit with the trailer `Burnish-Version: v<N>`.
  Result<std::map<int, std::string>> versions() const;
  /// Contents at a commit, of the files in order; absent files are absent.
  Result<std::vector<std::optional<std::string>>> contents(
      const std::string& commit, const std::vector<std::string>& paths) const;

  Result<void> add_worktree(const fs::path& path) const;
  Result<void> prune_worktrees() const;
  /// Brings the history of another repository here, under refs/imported/.
  Result<void> fetch_history(const fs::path& repository) const;

 private:
  Result<std::string> run(const std::vector<std::string>& arguments, std::string input = "",
                          const std::map<std::string, std::string>& environment = {},
                          const fs::path& work_tree = {}) const;

  fs::path folder_;
  ProcessRunner& processes_;
  std::map<std::string, std::string> environment_;
};

}  // namespace burnish::workspace
