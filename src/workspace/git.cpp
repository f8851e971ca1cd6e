#include "workspace/git.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/text.h"
#include "workspace/record.h"

namespace burnish::workspace {

namespace {

constexpr const char* kTrailer = "Burnish-Version";

/// NUL-separated, as `-z --stdin` and --pathspec-file-nul want it.
std::string joined(const std::vector<std::string>& paths) {
  std::string result;
  for (const std::string& path : paths) result.append(path).push_back('\0');
  return result;
}

/// `git status --porcelain=v2 -z` (git-status(1), "Porcelain Format Version 2").
std::vector<Git::Change> parse_status(std::string_view text) {
  std::vector<Git::Change> changes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (entry.size() < 3) continue;
    // The path follows this many fields; renames are switched off.
    const int fields = entry.front() == '1' ? 8 : entry.front() == 'u' ? 10 : 1;
    std::size_t at = 0;
    for (int i = 0; i < fields && at != std::string_view::npos; ++i) {
      at = entry.find(' ', at);
      if (at != std::string_view::npos) ++at;
    }
    if (at == std::string_view::npos) continue;
    changes.push_back({std::string(entry.substr(at)), entry.front() == '?'});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Git::Change& a, const Git::Change& b) { return a.path < b.path; });
  return changes;
}

/// A descriptor of .burnish/git.lock. Whoever runs git holds the lock shared and hands the
/// descriptor to it, so that it is free only when that git has ended too.
class SharedLock {
 public:
  explicit SharedLock(const fs::path& folder)
      : fd_(::open((folder / ".burnish/git.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {}
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;
  ~SharedLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  /// -1 where there is no such file to be had: a workspace in the making, a read-only disk.
  int fd() const { return fd_; }
  bool lock(int operation) const {
    int got;
    do {
      got = ::flock(fd_, operation);
    } while (got != 0 && errno == EINTR);
    return got == 0;
  }

 private:
  int fd_;
};

}  // namespace

Result<void> Git::settle(Clock& clock) const {
  const SharedLock lock(folder_);
  for (int waits = 0; lock.fd() >= 0 && !lock.lock(LOCK_EX | LOCK_NB); ++waits) {
    if (waits == 500) {
      return environment_error(fmt::format("a git still runs in {}", folder_.string()))
          .with_hint("wait for it to end, or stop it");
    }
    clock.sleep(std::chrono::milliseconds(20));
  }
  return {};
}

Git::Git(fs::path folder, ProcessRunner& processes)
    : folder_(std::move(folder)), processes_(processes) {
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view pair = *entry;
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.starts_with("GIT_")) continue;
    environment_[std::string(pair.substr(0, equals))] = pair.substr(equals + 1);
  }
  environment_["LC_ALL"] = "C";
  environment_["GIT_TERMINAL_PROMPT"] = "0";
  environment_["GIT_CONFIG_NOSYSTEM"] = "1";
  environment_["GIT_CONFIG_GLOBAL"] = "/dev/null";
  environment_["GIT_ATTR_NOSYSTEM"] = "1";
  environment_["GIT_NO_REPLACE_OBJECTS"] = "1";
}

Result<std::string> Git::run(const std::vector<std::string>& arguments, std::string input,
                             const std::map<std::string, std::string>& environment,
                             const fs::path& work_tree) const {
  ProcessSpec spec;
  spec.argv = {"git"};
  for (const char* setting :
       {"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null",
        "core.excludesFile=/dev/null", "core.autocrlf=false", "core.safecrlf=false",
        "core.fileMode=true", "core.symlinks=true", "core.ignoreCase=false", "core.quotePath=false",
        "core.untrackedCache=false", "core.bare=false", "commit.gpgSign=false", "user.name=burnish",
        "user.email=burnish@localhost", "gc.auto=0", "maintenance.auto=false",
        // A commit counts when it is on the disk.
        "core.fsync=all", "core.fsyncMethod=batch"}) {
    spec.argv.insert(spec.argv.end(), {"-c", setting});
  }
  const bool is_init = arguments.front() == "init";
  if (!is_init) {
    spec.argv.push_back("--git-dir=" + (folder_ / ".git").string());
    spec.argv.push_back("--work-tree=" + (work_tree.empty() ? folder_ : work_tree).string());
    spec.argv.push_back("--literal-pathspecs");
  }
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.folder = work_tree.empty() ? folder_ : work_tree;
  spec.environment = environment_;
  spec.extra_environment = environment;
  spec.input = std::move(input);
  const SharedLock lock(folder_);
  if (lock.fd() >= 0 && lock.lock(LOCK_SH)) spec.pass_fds = {{lock.fd(), 3}};
  auto result = processes_.run(spec);
  if (!result) {
    return std::move(result.error())
        .in(fmt::format("running git {} in {}", arguments.front(), folder_.string()));
  }
  if (result->ok()) return std::move(result->output);
  std::string why = to_valid_utf8(trim(result->errors));
  if (why.empty()) why = result->describe();
  return environment_error(
      fmt::format("git {} failed in {}: {}", arguments.front(), folder_.string(), why));
}

Result<void> Git::init() const {
  BURNISH_TRY(run({"init", "-q", "--template=", "--initial-branch=main", "."}));
  return {};
}

Result<std::vector<Git::Change>> Git::changes(const std::vector<std::string>& paths) const {
  std::vector<std::string> arguments = {
      "status",       "--porcelain=v2",           "-z", "--untracked-files=all",
      "--no-renames", "--ignore-submodules=none", "--"};
  arguments.insert(arguments.end(), paths.begin(), paths.end());
  BURNISH_TRY_ASSIGN(const std::string text, run(arguments, "", {{"GIT_OPTIONAL_LOCKS", "0"}}));
  return parse_status(text);
}

Result<std::vector<Git::Change>> Git::changes_in(const fs::path& checkout,
                                                 const fs::path& index) const {
  const std::map<std::string, std::string> environment = {{"GIT_INDEX_FILE", index.string()},
                                                          {"GIT_OPTIONAL_LOCKS", "0"}};
  BURNISH_TRY(run({"read-tree", "HEAD"}, "", environment, checkout));
  BURNISH_TRY_ASSIGN(const std::string text,
                     run({"status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames",
                          "--ignore-submodules=none"},
                         "", environment, checkout));
  return parse_status(text);
}

Result<void> Git::commit(const std::string& message, const std::vector<std::string>& paths) const {
  std::vector<std::string> present, gone;
  for (const std::string& path : paths) {
    std::error_code ignored;
    const bool is_there = fs::exists(fs::symlink_status(folder_ / path, ignored));
    (is_there ? present : gone).push_back(path);
  }
  if (!gone.empty()) {  // of those, the ones that git knows; it minds others
    std::vector<std::string> arguments = {"ls-files", "-z", "--"};
    arguments.insert(arguments.end(), gone.begin(), gone.end());
    BURNISH_TRY_ASSIGN(const std::string known, run(arguments));
    for (const std::string_view path : split(known, '\0')) {
      if (!path.empty()) present.emplace_back(path);
    }
  }
  // Unlike `git add`, update-index knows no ignore rules.
  BURNISH_TRY(run({"update-index", "-z", "--add", "--remove", "--stdin"}, joined(present)));
  // Of the index only these paths: what else somebody staged stays staged.
  BURNISH_TRY(run({"commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message, "--only",
                   "--pathspec-from-file=-", "--pathspec-file-nul"},
                  joined(present)));
  return {};
}

Result<void> Git::unstage() const {
  BURNISH_TRY(run({"reset", "--quiet", "--mixed"}));
  return {};
}

Result<void> Git::restore(const std::vector<std::string>& paths) const {
  if (paths.empty()) return {};
  BURNISH_TRY(run({"restore", "--source=HEAD", "--staged", "--worktree", "--pathspec-from-file=-",
                   "--pathspec-file-nul"},
                  joined(paths)));
  return {};
}

Result<std::map<int, std::string>> Git::versions() const {
  BURNISH_TRY_ASSIGN(
      const std::string text,
      run({"log", "-z", fmt::format("--format=%H%x00%(trailers:key={},valueonly)", kTrailer)}));
  std::map<int, std::string> versions;
  const std::vector<std::string_view> parts = split(text, '\0');
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    // The newest commit comes first and wins.
    if (const auto number = version_number(trim(parts[i + 1]))) {
      versions.try_emplace(*number, parts[i]);
    }
  }
  return versions;
}

Result<std::vector<std::optional<std::string>>> Git::contents(
    const std::string& commit, const std::vector<std::string>& paths) const {
  const bool is_hash = commit.size() >= 4 && commit.size() <= 64 &&
                       commit.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!is_hash) return bad_input(fmt::format("\"{}\" is not the hash of a commit", commit));
  std::string input;
  for (const std::string& path : paths) input += fmt::format("{}:{}\n", commit, path);
  BURNISH_TRY_ASSIGN(const std::string text, run({"cat-file", "--batch"}, input));
  // A header line "<hash> <type> <size>", the bytes, a newline; or "<what was asked> missing".
  std::vector<std::optional<std::string>> result;
  std::string_view rest = text;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return bug("git cat-file answered too little");
    const std::string_view header = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::vector<std::string_view> fields = split(header, ' ');
    const auto size = parse_integer(fields.back());
    if (header.ends_with(" missing") || fields.size() != 3 || fields[1] != "blob" || !size) {
      if (size && fields.size() == 3)
        rest.remove_prefix(std::min(rest.size(), static_cast<std::size_t>(*size) + 1));
      result.emplace_back();
      continue;
    }
    const auto bytes = static_cast<std::size_t>(*size);
    if (bytes + 1 > rest.size()) return bug("git cat-file answered too little");
    result.emplace_back(rest.substr(0, bytes));
    rest.remove_prefix(bytes + 1);
  }
  return result;
}

Result<void> Git::add_worktree(const fs::path& path) const {
  BURNISH_TRY(run({"worktree", "add", "--quiet", "--detach", "--force", path.string(), "HEAD"}));
  return {};
}

Result<void> Git::prune_worktrees() const {
  BURNISH_TRY(run({"worktree", "prune", "--expire=now"}));
  return {};
}

Result<void> Git::fetch_history(const fs::path& repository) const {
  BURNISH_TRY(run({"fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
                   fs::absolute(repository).string(), "+refs/heads/*:refs/imported/*"}));
  return {};
}

}  // namespace burnish::workspace
