#include "workspace/workspace.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "workspace/testing.h"

namespace burnish::workspace {
namespace {

using Access = Workspace::Access;

Record record_of(int number, const std::string& action = "an action") {
  Record record;
  record.number = number;
  record.version = "v" + std::to_string(number);
  record.optimization.action_description = action;
  record.performance.latency_us = 10.0 / (number + 1);
  record.quality_gate.result = "PASS";
  return record;
}

class WorkspaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    temporary_ = std::make_unique<TemporaryFolder>(TemporaryFolder::make("burnish ws").value());
    from_ = temporary_->path() / "from";
    folder_ = temporary_->path() / "work space";
    testing::write_source(from_);
  }

  Workspace make() {
    auto made = Workspace::create(folder_, from_, World{});
    EXPECT_TRUE(made) << made.error().to_string();
    return std::move(*made);
  }
  Workspace open(Access access) {
    auto opened = Workspace::open(folder_, access, World{});
    EXPECT_TRUE(opened) << opened.error().to_string();
    return std::move(*opened);
  }
  std::string git(const std::vector<std::string>& arguments) {
    ProcessSpec spec;
    spec.argv = {"git", "-c", "user.name=someone", "-c", "user.email=a@b"};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    spec.folder = folder_;
    const auto result = real_process_runner().run(spec);
    EXPECT_TRUE(result && result->ok()) << (result ? result->errors : result.error().to_string());
    return result ? result->output : "";
  }
  void put(const fs::path& name, const std::string& text) {
    ASSERT_TRUE(real_file_system().write(folder_ / name, text));
  }
  std::string get(const fs::path& name) {
    auto text = real_file_system().read(folder_ / name);
    return text ? *text : "<absent>";
  }

  std::unique_ptr<TemporaryFolder> temporary_;
  fs::path from_, folder_;
};

// --- Beginnings ---

TEST_F(WorkspaceTest, CreateMakesAWholeWorkspace) {
  {
    Workspace workspace = make();
    EXPECT_EQ(workspace.folder(), folder_);
    EXPECT_EQ(workspace.task().name, "copy");
    EXPECT_TRUE(workspace.clean().value());
    ASSERT_EQ(workspace.journal()->size(), 1u);
    EXPECT_EQ(workspace.journal()->front().event, "init");
    EXPECT_EQ(workspace.candidate()->at("kernel.cl"), testing::kKernel);
    EXPECT_FALSE(workspace.commit_of(0).value());
    EXPECT_TRUE(workspace.records()->empty());
  }
  EXPECT_EQ(git({"ls-files"}), ".gitignore\nburnish.toml\nkernel.cl\nlaunch.toml\nreference.cpp\n");
  EXPECT_EQ(git({"log", "--format=%an <%ae> %s"}), "burnish <burnish@localhost> Start copy\n");
  // Nothing else is left beside it.
  EXPECT_EQ(real_file_system().list(temporary_->path()),
            (std::vector<std::string>{"from", "work space"}));
}

TEST_F(WorkspaceTest, CreateRefusesWhatItCannotTake) {
  const auto expect_refused = [&](ErrorKind kind, const std::string& message) {
    const auto made = Workspace::create(folder_, from_, World{});
    ASSERT_FALSE(made) << message;
    EXPECT_EQ(made.error().kind, kind) << made.error().to_string();
    EXPECT_TRUE(contains(made.error().to_string(), message)) << made.error().to_string();
    EXPECT_EQ(real_file_system().list(temporary_->path()), std::vector<std::string>{"from"});
  };
  auto& files = real_file_system();
  ASSERT_TRUE(files.write(
      from_ / "launch.toml",
      testing::broken(testing::kLaunch, {"", "name = \"copy\"", "name = 3", 0, 0, ""})));
  expect_refused(ErrorKind::bad_input, "from/launch.toml:2:8: \"name\" must be a string");
  ASSERT_TRUE(files.write(from_ / "launch.toml", testing::kLaunch));
  ASSERT_TRUE(files.remove_all(from_ / "reference.cpp"));
  expect_refused(ErrorKind::bad_input, "reference.cpp is missing");
  ASSERT_TRUE(files.write(from_ / "reference.cpp", ""));
  ASSERT_TRUE(files.remove_all(from_ / "kernel.cl"));
  fs::create_symlink("/etc/hostname", from_ / "kernel.cl");
  expect_refused(ErrorKind::refused, "is a symbolic link");
  fs::remove(from_ / "kernel.cl");
  ASSERT_EQ(::mkfifo((from_ / "kernel.cl").c_str(), 0600), 0);
  expect_refused(ErrorKind::refused, "no regular file");
  ASSERT_TRUE(files.remove_all(from_ / "burnish.toml"));
  expect_refused(ErrorKind::bad_input, "burnish.toml is missing");

  fs::remove(from_ / "kernel.cl");
  testing::write_source(from_);
  fs::create_directory(folder_);
  const auto made = Workspace::create(folder_, from_, World{});
  ASSERT_FALSE(made);
  EXPECT_TRUE(contains(made.error().message, "exists already"));
}

TEST_F(WorkspaceTest, CreateTidiesUpAfterAKilledOne) {
  const pid_t child = ::fork();  // a process id that belongs to nobody any more
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  fs::create_directories(temporary_->path() / (".work space.new-" + std::to_string(child)) / "x");
  fs::create_directories(temporary_->path() / ".work space.new-1");  // of a living one
  make();
  EXPECT_EQ(real_file_system().list(temporary_->path()),
            (std::vector<std::string>{".work space.new-1", "from", "work space"}));
}

TEST_F(WorkspaceTest, OpenRefusesWhatIsNoWorkspace) {
  const auto opened = Workspace::open(from_, Access::read, World{});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(contains(opened.error().message, "has no .git"));
  make();
  put("burnish.toml", "name = 1\n");
  const auto broken = Workspace::open(folder_, Access::read, World{});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().place->file, (folder_ / "burnish.toml").string());
  EXPECT_EQ(broken.error().place->line, 1);
}

TEST_F(WorkspaceTest, GitOfAnotherRepositoryIsNeverTouched) {
  // The workspace lies in a repository, and a hook's variables point there.
  fs::create_directories(temporary_->path() / "outer");
  folder_ = temporary_->path() / "outer";
  git({"init", "-q"});
  const fs::path outer = folder_;
  folder_ = outer / "inner";
  ::setenv("GIT_DIR", (outer / ".git").c_str(), 1);
  ::setenv("GIT_INDEX_FILE", (outer / ".git/index").c_str(), 1);
  {
    Workspace workspace = make();
    put("kernel.cl", "changed");
    EXPECT_TRUE(workspace.commit("V0: x", "", 0, {"kernel.cl"}));
    EXPECT_TRUE(workspace.commit_of(0).value());
  }
  ::unsetenv("GIT_DIR");
  ::unsetenv("GIT_INDEX_FILE");
  EXPECT_EQ(git({"log", "--format=%s"}), "V0: x\nStart copy\n");
  folder_ = outer;
  EXPECT_EQ(git({"ls-files"}), "");
}

// --- Locks ---

TEST_F(WorkspaceTest, OneProcessHoldsItForWriting) {
  make();
  int to_parent[2], to_child[2];
  ASSERT_EQ(::pipe(to_parent), 0);
  ASSERT_EQ(::pipe(to_child), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(to_child[1]);
    auto held = Workspace::open(folder_, Access::write, World{});
    char byte = held ? 'y' : 'n';
    (void)!::write(to_parent[1], &byte, 1);
    (void)!::read(to_child[0], &byte, 1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(to_parent[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const auto second = Workspace::open(folder_, Access::write, World{});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::environment);
  EXPECT_TRUE(contains(second.error().message, std::to_string(child)))
      << second.error().to_string();
  EXPECT_TRUE(Workspace::open(folder_, Access::read, World{}));  // readers may look
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(Workspace::open(folder_, Access::write, World{}));
  for (const int end : {to_parent[0], to_parent[1], to_child[0], to_child[1]}) ::close(end);
}

TEST_F(WorkspaceTest, AReaderCannotWrite) {
  make();
  Workspace workspace = open(Access::read);
  for (const auto& result :
       {workspace.put_record(record_of(1)), workspace.put_text("plans/x.md", ""),
        workspace.append("gate", Entry::Phase::done, 1, Json::object()), workspace.restore(),
        workspace.put_candidate(*workspace.candidate()), workspace.commit("x", "", 1, {}),
        workspace.change_records({record_of(1)}, "x")}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::bug);
  }
  EXPECT_TRUE(workspace.clean().value());
}

// --- The candidate ---

TEST_F(WorkspaceTest, CandidateIsPutAndHashed) {
  Workspace workspace = make();
  Files files = *workspace.candidate();
  const std::string before = workspace.artefact_hash(files);
  EXPECT_EQ(before, workspace.artefact_hash(files));
  files["kernel.cl"] += "// more\n";
  EXPECT_NE(before, workspace.artefact_hash(files));
  ASSERT_TRUE(workspace.put_candidate(files));
  EXPECT_EQ(*workspace.candidate(), files);
  EXPECT_TRUE(workspace.launch(files));

  Files more = files;
  more["reference.cpp"] = "int main() {}";
  const auto refused_more = workspace.put_candidate(more);
  ASSERT_FALSE(refused_more);
  EXPECT_EQ(refused_more.error().kind, ErrorKind::refused);
  Files fewer = files;
  fewer.erase("launch.toml");
  EXPECT_FALSE(workspace.put_candidate(fewer));
  EXPECT_EQ(get("reference.cpp"), "// the truth\n");
}

TEST_F(WorkspaceTest, LinksAreNeitherReadNorWrittenThrough) {
  ASSERT_TRUE(real_file_system().write(
      from_ / "burnish.toml",
      testing::broken(testing::kTask, {"", "file = \"kernel.cl\"",
                                       "file = \"kernel.cl\"\nalso = [\"inc/a.h\"]", 0, 0, ""})));
  ASSERT_TRUE(real_file_system().write(from_ / "inc/a.h", "// a\n"));
  Workspace workspace = make();
  const Files files = *workspace.candidate();
  ASSERT_EQ(files.size(), 3u);
  const fs::path victim = temporary_->path() / "victim";
  ASSERT_TRUE(real_file_system().write(victim / "a.h", "precious"));

  fs::remove(folder_ / "kernel.cl");
  fs::create_symlink(victim / "a.h", folder_ / "kernel.cl");
  auto read = workspace.candidate();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::refused);
  EXPECT_TRUE(contains(read.error().message, "symbolic link"));
  ASSERT_TRUE(workspace.put_candidate(files));  // replaces the link, not what it points to
  EXPECT_FALSE(fs::is_symlink(folder_ / "kernel.cl"));
  EXPECT_EQ(real_file_system().read(victim / "a.h").value(), "precious");

  fs::remove_all(folder_ / "inc");
  fs::create_directory_symlink(victim, folder_ / "inc");
  read = workspace.candidate();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::refused);
  const auto put_through = workspace.put_candidate(files);
  ASSERT_FALSE(put_through);
  EXPECT_EQ(put_through.error().kind, ErrorKind::refused);
  EXPECT_EQ(real_file_system().read(victim / "a.h").value(), "precious");
}

TEST_F(WorkspaceTest, TextsStayInTheWorkspace) {
  Workspace workspace = make();
  ASSERT_TRUE(workspace.put_text("plans/v1_plan.md", "a plan\n"));
  EXPECT_EQ(workspace.text("plans/v1_plan.md").value(), "a plan\n");
  for (const char* path : {"../x", "/tmp/x", "plans/../../x", ".git/config", ""}) {
    EXPECT_FALSE(workspace.put_text(path, "x")) << path;
    EXPECT_FALSE(workspace.text(path)) << path;
  }
  EXPECT_FALSE(workspace.text("plans/v2_plan.md"));
}

// --- Git ---

TEST_F(WorkspaceTest, CommitsHoldWhatTheyNameAndNothingElse) {
  Workspace workspace = make();
  ASSERT_TRUE(workspace.put_record(record_of(0)));
  put("notes.txt", "mine");
  put("kernel.cl", "edited meanwhile");
  git({"add", "notes.txt"});
  ASSERT_TRUE(workspace.commit("V0: baseline\nkernel", "why", 0,
                               {"memory/v0.json", "plans/v0_plan.md", "reports/none.md"}));
  EXPECT_EQ(git({"show", "--format=%s|%b", "--name-status", "HEAD"}),
            "V0: baseline kernel|why\n\nBurnish-Version: v0\n\n\nA\tmemory/v0.json\n");
  EXPECT_FALSE(workspace.clean().value());
  EXPECT_EQ(git({"status", "--porcelain"}), " M kernel.cl\nA  notes.txt\n");

  // Gone files, a file that git ignores, and no change at all.
  fs::remove(folder_ / "memory/v0.json");
  ASSERT_TRUE(workspace.put_text("profiles/v0/keep.txt", "x"));
  ASSERT_TRUE(workspace.commit("second", "", 1, {"memory/v0.json", "profiles/v0/keep.txt"}));
  EXPECT_EQ(git({"show", "--format=", "--name-status", "HEAD"}),
            "D\tmemory/v0.json\nA\tprofiles/v0/keep.txt\n");
  ASSERT_TRUE(workspace.commit("third", "", 2, {"memory/v0.json"}));
  EXPECT_NE(*workspace.commit_of(1).value(), *workspace.commit_of(2).value());
}

TEST_F(WorkspaceTest, HostileMessagesCannotPoseAsVersions) {
  Workspace workspace = make();
  const std::string body = "Burnish-Version: v7\n---\nBurnish-Version: v8\n# a comment\n" +
                           std::string(200'000, 'x') + "\n\nBurnish-Version: v9";
  ASSERT_TRUE(workspace.commit("-m V3: \xff\"$(touch x)\"\n\nBurnish-Version: v6", body, 3, {}));
  EXPECT_TRUE(workspace.commit_of(3).value());
  for (const int version : {6, 7, 8, 9})
    EXPECT_FALSE(workspace.commit_of(version).value()) << version;
  ASSERT_TRUE(workspace.commit("Mask v3", "\n\nBurnish-Version: v5\n\nend", -1, {}));
  EXPECT_FALSE(workspace.commit_of(5).value());
  EXPECT_FALSE(fs::exists(folder_ / "x"));
}

TEST_F(WorkspaceTest, HooksAndConfigurationOfTheUserStayOut) {
  make();
  fs::create_directories(folder_ / ".git/hooks");
  for (const char* hook : {"pre-commit", "commit-msg", "post-commit", "post-checkout"}) {
    put(fs::path(".git/hooks") / hook, "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\nexit 1\n");
    fs::permissions(folder_ / ".git/hooks" / hook, fs::perms::owner_all);
  }
  git({"config", "commit.gpgSign", "true"});
  git({"config", "core.autocrlf", "true"});
  git({"config", "core.fileMode", "false"});
  git({"config", "core.fsmonitor", (folder_ / ".git/hooks/pre-commit").string()});
  Workspace workspace = open(Access::write);
  put("kernel.cl", "a\r\nb\n");
  ASSERT_TRUE(workspace.commit("V1", "", 1, {"kernel.cl"}));
  EXPECT_TRUE(workspace.clean().value());
  EXPECT_EQ(workspace.candidate_at(*workspace.commit_of(1).value())->at("kernel.cl"), "a\r\nb\n");
  ASSERT_TRUE(workspace.make_worktree("w"));
  EXPECT_FALSE(fs::exists(folder_ / ".git/hooks/ran"));
}

TEST_F(WorkspaceTest, CandidatesComeBackFromCommits) {
  Workspace workspace = make();
  Files files = *workspace.candidate();
  files["kernel.cl"] = std::string("binary \0 and \n lines\n\n", 22);
  ASSERT_TRUE(workspace.put_candidate(files));
  ASSERT_TRUE(workspace.commit("V1", "", 1, {"kernel.cl", "launch.toml"}));
  const std::string commit = *workspace.commit_of(1).value();
  ASSERT_TRUE(workspace.put_candidate({{"kernel.cl", "x"}, {"launch.toml", testing::kLaunch}}));
  EXPECT_EQ(*workspace.candidate_at(commit), files);
  for (const char* hostile : {"", "HEAD", "--help", "HEAD:kernel.cl", "zzzz"}) {
    const auto result = workspace.candidate_at(hostile);
    ASSERT_FALSE(result) << hostile;
    EXPECT_EQ(result.error().kind, ErrorKind::bad_input) << hostile;
  }
  EXPECT_FALSE(workspace.candidate_at(std::string(40, '0')));
}

TEST_F(WorkspaceTest, RestoreGoesBackToTheLastCommit) {
  Workspace workspace = make();
  ASSERT_TRUE(workspace.put_record(record_of(0)));
  ASSERT_TRUE(workspace.commit("V0", "", 0, {"memory/v0.json"}));
  const auto scramble = [&](const std::string& name) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(workspace.restore());
    EXPECT_TRUE(workspace.clean().value()) << git({"status", "--porcelain"});
    EXPECT_EQ(get("kernel.cl"), testing::kKernel);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / "kernel.cl")));
    EXPECT_TRUE(fs::exists(folder_ / "memory/v0.json"));
  };
  put("kernel.cl", "x");
  scramble("changed");
  fs::remove(folder_ / "kernel.cl");
  fs::remove_all(folder_ / "memory");
  scramble("gone");
  put("memory/v1.json", "{}");
  put("plans/v1_plan.md", "x");
  put("reports/a/b c\n\xff.md", "x");
  scramble("added");
  put("memory/v1.json", "{}");
  git({"add", "memory/v1.json"});
  git({"rm", "-q", "--cached", "launch.toml"});
  scramble("staged");
  fs::remove(folder_ / "kernel.cl");
  fs::create_symlink("/etc/passwd", folder_ / "kernel.cl");
  scramble("a link");
  fs::remove(folder_ / "kernel.cl");
  put("kernel.cl/deep/file", "x");
  scramble("a folder");
  fs::permissions(folder_ / "kernel.cl", fs::perms::owner_all);
  scramble("a mode");
  put("mine.txt", "of the user");
  ASSERT_TRUE(workspace.restore());
  EXPECT_EQ(get("mine.txt"), "of the user");
}

TEST_F(WorkspaceTest, WorktreesShowWhatWasChanged) {
  Workspace workspace = make();
  ASSERT_TRUE(workspace.commit("V0", "", 0, {}));
  auto made = workspace.make_worktree("v1");
  ASSERT_TRUE(made) << made.error().to_string();
  const fs::path tree = *made;
  EXPECT_EQ(workspace.candidate_in(tree)->at("kernel.cl"), testing::kKernel);
  EXPECT_TRUE(workspace.changed_files(tree)->empty());

  auto& files = real_file_system();
  const std::string hostile = "sub/\"a\n\xe2\x82\xac -> b\\";
  ASSERT_TRUE(files.write(tree / "kernel.cl", "faster"));
  ASSERT_TRUE(files.write(tree / hostile, "x"));
  ASSERT_TRUE(files.write(tree / "-rf", "x"));
  fs::permissions(tree / "launch.toml", fs::perms::owner_all);
  fs::remove(tree / "reference.cpp");
  fs::create_symlink("kernel.cl", tree / "reference.cpp");
  const std::vector<std::string> expected = {"-rf", "kernel.cl", "launch.toml", "reference.cpp",
                                             hostile};
  EXPECT_EQ(*workspace.changed_files(tree), expected);
  EXPECT_EQ(workspace.candidate_in(tree)->at("kernel.cl"), "faster");
  EXPECT_TRUE(workspace.clean().value());

  // What the agent does to git there hides nothing.
  const fs::path main = folder_;
  folder_ = tree;
  git({"add", "-A"});
  git({"commit", "-q", "-m", "mine"});
  folder_ = main;
  EXPECT_EQ(*workspace.changed_files(tree), expected);
  folder_ = tree;
  git({"update-index", "--assume-unchanged", "kernel.cl"});
  folder_ = main;
  ASSERT_TRUE(files.remove_all(tree / ".git"));
  EXPECT_EQ(*workspace.changed_files(tree), expected);

  ASSERT_TRUE(workspace.drop_worktree(tree));
  EXPECT_FALSE(fs::exists(tree));
  EXPECT_TRUE(workspace.clean().value());
  EXPECT_EQ(split_lines(git({"worktree", "list"})).size(), 1u);
  EXPECT_TRUE(workspace.make_worktree("v1"));  // once more, and over a forgotten one
  EXPECT_TRUE(workspace.make_worktree("v1"));
  EXPECT_FALSE(workspace.drop_worktree(folder_));
  EXPECT_FALSE(workspace.make_worktree("../x"));
}

// --- Records ---

TEST_F(WorkspaceTest, RecordsAreSortedAndKnowTheirCommits) {
  Workspace workspace = make();
  for (const int number : {10, 2, 0}) ASSERT_TRUE(workspace.put_record(record_of(number)));
  Record with_hash = record_of(3);
  with_hash.git_commit_hash = "feedbeef";  // never stored
  ASSERT_TRUE(workspace.put_record(with_hash));
  EXPECT_FALSE(contains(get("memory/v3.json"), "feedbeef"));
  put("memory/notes.md", "x");
  put("memory/v03.json", "x");
  ASSERT_TRUE(workspace.commit("V2", "", 2, {"memory/v2.json"}));
  const auto records = workspace.records();
  ASSERT_TRUE(records) << records.error().to_string();
  std::vector<int> numbers;
  for (const Record& record : *records) numbers.push_back(record.number);
  EXPECT_EQ(numbers, (std::vector<int>{0, 2, 3, 10}));
  EXPECT_EQ((*records)[1].git_commit_hash, workspace.commit_of(2).value());
  EXPECT_EQ(*(*records)[1].git_commit_hash + "\n", git({"rev-parse", "HEAD"}));
  EXPECT_FALSE((*records)[2].git_commit_hash);

  // A change from outside is seen.
  put("memory/v2.json", dump_json(to_json(record_of(2, "another action"))));
  EXPECT_EQ(workspace.record(2)->optimization.action_description, "another action");
  const auto absent = workspace.record(7);
  ASSERT_FALSE(absent);
  EXPECT_TRUE(contains(absent.error().hint, "v0, v2, v3, v10")) << absent.error().to_string();
  put("memory/v2.json", dump_json(to_json(record_of(4))));
  ASSERT_FALSE(workspace.records());
  EXPECT_EQ(workspace.records().error().place->file, "memory/v2.json");
}

TEST_F(WorkspaceTest, WrongRecordsAreNotWritten) {
  Workspace workspace = make();
  Record record = record_of(1);
  record.quality_gate.result = "GOOD";
  EXPECT_FALSE(workspace.put_record(record));
  record = record_of(1);
  record.version = "v2";
  EXPECT_FALSE(workspace.put_record(record));
  record = record_of(0);
  record.masked = true;
  EXPECT_FALSE(workspace.put_record(record));
  EXPECT_TRUE(workspace.records()->empty());
}

TEST_F(WorkspaceTest, ALostJournalIsNotAFreshStart) {
  {
    Workspace workspace = make();
    ASSERT_TRUE(workspace.put_record(record_of(0)));
  }
  fs::remove(folder_ / ".burnish/journal.jsonl");
  Workspace workspace = open(Access::write);
  const auto entries = workspace.journal();
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(contains(entries.error().to_string(), "burnish import"));
}

// --- Killed processes ---

TEST_F(WorkspaceTest, OpeningForWritingTidiesUp) {
  make();
  put(".git/index.lock", "");
  put(".git/refs/heads/main.lock", "");
  put(".git/refs/heads/try/wide.lock", "");
  put(".kernel.cl.4711.3.tmp", "half");
  put("memory/.v1.json.4711.4.tmp", "half");
  put(".notes.tmp", "of the user");
  const std::string journal = get(".burnish/journal.jsonl");
  put(".burnish/journal.jsonl", journal + "{\"sequence\":1,\"time\":\"20");
  {
    Workspace reader = open(Access::read);
    EXPECT_EQ(reader.journal()->size(), 1u);
    EXPECT_TRUE(fs::exists(folder_ / ".kernel.cl.4711.3.tmp"));
  }
  Workspace workspace = open(Access::write);
  EXPECT_EQ(get(".burnish/journal.jsonl"), journal);
  EXPECT_FALSE(fs::exists(folder_ / ".git/index.lock"));
  EXPECT_FALSE(fs::exists(folder_ / ".git/refs/heads/try/wide.lock"));
  EXPECT_FALSE(fs::exists(folder_ / ".kernel.cl.4711.3.tmp"));
  EXPECT_FALSE(fs::exists(folder_ / "memory/.v1.json.4711.4.tmp"));
  EXPECT_EQ(get(".notes.tmp"), "of the user");
  EXPECT_TRUE(workspace.clean().value());
  EXPECT_TRUE(workspace.commit("V1", "", 1, {}));
}

TEST_F(WorkspaceTest, AnEditedJournalIsNotTidiedAway) {
  make();
  put(".burnish/journal.jsonl", "{}\n");
  const auto opened = Workspace::open(folder_, Access::write, World{});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().place->line, 1);
  EXPECT_EQ(get(".burnish/journal.jsonl"), "{}\n");
}

/// Dies, as by kill -9, at the n-th change of the file system.
class DyingFileSystem : public FileSystem {
 public:
  explicit DyingFileSystem(int until) : left_(until) {}
  Result<std::string> read(const fs::path& path, std::uint64_t limit) const override {
    return real_file_system().read(path, limit);
  }
  Result<void> write(const fs::path& path, std::string_view content) override {
    step();
    return real_file_system().write(path, content);
  }
  Result<void> append(const fs::path& path, std::string_view content) override {
    step();
    return real_file_system().append(path, content);
  }
  bool exists(const fs::path& path) const override { return real_file_system().exists(path); }
  std::vector<std::string> list(const fs::path& folder) const override {
    return real_file_system().list(folder);
  }
  Result<void> remove_all(const fs::path& path) override {
    step();
    return real_file_system().remove_all(path);
  }
  Result<void> make_folder(const fs::path& path) override {
    step();
    return real_file_system().make_folder(path);
  }

 private:
  void step() {
    if (left_-- == 0) ::kill(::getpid(), SIGKILL);
  }
  int left_;
};

TEST_F(WorkspaceTest, ChangesOfRecordsAreAllOrNothingWhereverTheProcessDies) {
  {
    Workspace workspace = make();
    for (const int number : {0, 1, 2}) ASSERT_TRUE(workspace.put_record(record_of(number)));
    ASSERT_TRUE(workspace.commit("V1", "", 1, {"memory/v0.json", "memory/v1.json"}));
    ASSERT_TRUE(workspace.commit("V2", "", 2, {"memory/v2.json"}));
  }
  int finished = 0, undone = 0;
  for (int step = 0;; ++step) {
    ASSERT_LT(step, 50);
    const std::string action = "action of step " + std::to_string(step);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DyingFileSystem files(step);
      auto workspace = Workspace::open(folder_, Access::write, World{files});
      if (!workspace) ::_exit(2);
      const auto changed =
          workspace->change_records({record_of(1, action), record_of(2, action)}, action);
      ::_exit(changed ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const bool died = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!died) {
      ASSERT_EQ(WEXITSTATUS(status), 0) << "step " << step;
    }

    Workspace workspace = open(Access::write);
    const std::string one = workspace.record(1)->optimization.action_description;
    const std::string two = workspace.record(2)->optimization.action_description;
    EXPECT_EQ(one, two) << "step " << step;
    EXPECT_TRUE(workspace.clean().value()) << "step " << step;
    (one == action ? finished : undone) += 1;
    if (!died) {
      EXPECT_EQ(one, action);
      break;
    }
  }
  EXPECT_GE(finished, 4);
  EXPECT_GE(undone, 1);
}

TEST_F(WorkspaceTest, ProcessesKilledAmidCommitsLeaveAHistoryThatCanBeTold) {
  make();
  int next = 0;
  for (int round = 0; round < 8; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::setpgid(0, 0);
      auto workspace = Workspace::open(folder_, Access::write, World{});
      if (!workspace) ::_exit(2);
      for (int number = next;; ++number) {
        const std::string path = "memory/v" + std::to_string(number) + ".json";
        Files files{{"kernel.cl", "// v" + std::to_string(number)},
                    {"launch.toml", testing::kLaunch}};
        if (!workspace->put_candidate(files) || !workspace->put_record(record_of(number)) ||
            !workspace->commit("V", "", number, {"kernel.cl", path})) {
          ::_exit(3);
        }
      }
    }
    ::usleep(150'000 + 37'000 * static_cast<useconds_t>(round));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "ended with " << WEXITSTATUS(status);

    Workspace workspace = open(Access::write);
    ASSERT_TRUE(workspace.restore());
    EXPECT_TRUE(workspace.clean().value());
    const auto records = workspace.records();
    ASSERT_TRUE(records) << records.error().to_string();
    ASSERT_GE(records->size(), static_cast<std::size_t>(next));  // nothing is lost
    next = static_cast<int>(records->size());
    for (const Record& record : *records) EXPECT_TRUE(record.git_commit_hash) << record.version;
    if (next > 0) {
      EXPECT_EQ(workspace.candidate()->at("kernel.cl"), "// v" + std::to_string(next - 1));
    }
    EXPECT_FALSE(workspace.commit_of(next).value());
    ASSERT_TRUE(workspace.commit("Check", "", -1, {}));
  }
  EXPECT_GE(next, 1);
}

TEST_F(WorkspaceTest, APendingChangeOfAnotherKindIsRefused) {
  make();
  for (const char* text : {"{", "{}", "{\"subject\": \"s\", \"files\": {\"../x\": \"y\"}}",
                           "{\"subject\": \"s\", \"files\": {\"memory/v1.json\": 3}}",
                           "{\"subject\": \"s\", \"files\": {\"kernel.cl\": \"y\"}}"}) {
    put(".burnish/pending.json", text);
    const auto opened = Workspace::open(folder_, Access::write, World{});
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().kind, ErrorKind::bad_input) << text;
    EXPECT_EQ(opened.error().place->file, ".burnish/pending.json") << text;
    EXPECT_EQ(get("kernel.cl"), testing::kKernel);
  }
}

// --- Missing programs and failing disks ---

class NoGit : public ProcessRunner {
 public:
  Result<ProcessResult> run(const ProcessSpec&) override {
    return environment_error("git is not on PATH").with_hint("install git");
  }
};

TEST_F(WorkspaceTest, WithoutGitNothingIsMade) {
  NoGit processes;
  const auto made = Workspace::create(folder_, from_, World{real_file_system(), processes});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::environment);
  EXPECT_EQ(real_file_system().list(temporary_->path()), std::vector<std::string>{"from"});
}

/// Counts the programs that are run.
class Counting : public ProcessRunner {
 public:
  Result<ProcessResult> run(const ProcessSpec& spec) override {
    ++count;
    return real_process_runner().run(spec);
  }
  int count = 0;
};

TEST_F(WorkspaceTest, ARecordCostsNoProgramOfItsOwn) {
  {
    Workspace workspace = make();
    for (int number = 0; number < 30; ++number) {
      ASSERT_TRUE(workspace.put_record(record_of(number)));
      ASSERT_TRUE(workspace.commit("V" + std::to_string(number), "", number,
                                   {"memory/v" + std::to_string(number) + ".json"}));
    }
  }
  Counting counting;
  auto opened = Workspace::open(folder_, Access::write, World{real_file_system(), counting});
  ASSERT_TRUE(opened);
  EXPECT_EQ(counting.count, 0);
  ASSERT_EQ(opened->records()->size(), 30u);
  ASSERT_EQ(opened->records()->size(), 30u);
  EXPECT_TRUE(opened->commit_of(20).value());
  EXPECT_EQ(counting.count, 1);  // one `git log` for all of them
  ASSERT_TRUE(opened->commit("V30", "", 30, {"kernel.cl"}));
  EXPECT_TRUE(opened->commit_of(30).value());
  EXPECT_EQ(counting.count, 4);
}

}  // namespace
}  // namespace burnish::workspace
