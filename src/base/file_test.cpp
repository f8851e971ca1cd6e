#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/text.h"

namespace burnish {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::make("burnish-file-test");
    ASSERT_TRUE(made) << made.error().to_string();
    folder_.emplace(std::move(*made));
  }
  fs::path path(const std::string& name) const { return folder_->path() / name; }
  std::string text(const fs::path& path) const {
    auto content = files.read(path);
    return content ? *content : content.error().to_string();
  }
  FileSystem& files = real_file_system();
  std::optional<TemporaryFolder> folder_;
};

TEST_F(FileTest, WritesReadsAndReplaces) {
  const fs::path file = path("a/b/c.txt");
  ASSERT_TRUE(files.write(file, "one"));
  ASSERT_TRUE(files.write(file, std::string(200'000, 'x')));
  EXPECT_EQ(text(file), std::string(200'000, 'x'));
  ASSERT_TRUE(files.write(file, ""));
  EXPECT_EQ(text(file), "");
  EXPECT_EQ(files.list(path("a/b")), std::vector<std::string>{"c.txt"});
  EXPECT_TRUE(files.exists(file));
}

TEST_F(FileTest, AppendsAndLists) {
  ASSERT_TRUE(files.append(path("j/log"), "a\n"));
  ASSERT_TRUE(files.append(path("j/log"), "b\n"));
  EXPECT_EQ(text(path("j/log")), "a\nb\n");
  ASSERT_TRUE(files.make_folder(path("j/z/y")));
  ASSERT_TRUE(files.write(path("j/k"), ""));
  EXPECT_EQ(files.list(path("j")), (std::vector<std::string>{"k", "log", "z"}));
  EXPECT_EQ(files.list(path("absent")), std::vector<std::string>{});
  ASSERT_TRUE(files.remove_all(path("j")));
  EXPECT_FALSE(files.exists(path("j")));
  EXPECT_TRUE(files.remove_all(path("j")));
}

TEST_F(FileTest, ReplacingKeepsTheModeAndFollowsALink) {
  ASSERT_TRUE(files.write(path("real"), "old"));
  fs::permissions(path("real"), fs::perms(0750));
  fs::create_symlink("real", path("link"));
  ASSERT_TRUE(files.write(path("link"), "new"));
  EXPECT_EQ(text(path("real")), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(fs::status(path("real")).permissions(), fs::perms(0750));
}

TEST_F(FileTest, SaysWhatCannotBeReadAndWhy) {
  const auto absent = files.read(path("absent"));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(absent.error().message,
            "cannot read " + path("absent").string() + ": No such file or directory");
  EXPECT_TRUE(contains(files.read(folder_->path()).error().message, "Is a directory"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(contains(files.read(path("pipe")).error().message, "not a regular file"));
  EXPECT_TRUE(contains(files.write(path("pipe"), "x").error().message, "not a regular file"));
  ASSERT_TRUE(files.write(path("big"), std::string(1000, 'x')));
  EXPECT_TRUE(files.read(path("big"), 1000));
  EXPECT_TRUE(contains(files.read(path("big"), 999).error().message, "more than the 999 B"));
  // Files of /proc have no size; the limit still holds.
  EXPECT_GT(text("/proc/self/maps").size(), 100u);
  EXPECT_FALSE(files.read("/proc/self/maps", 10));
}

TEST_F(FileTest, AWriteThatFailsLeavesTheOldFileAndNoOther) {
  ASSERT_TRUE(files.write(path("f"), "old"));
  EXPECT_FALSE(files.write(path("f") / "below", "x"));
  // A limit on the file's size stands in for a full disk.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto written = files.write(path("f"), std::string(1000, 'n'));
    ::_exit(!written && contains(written.error().message, "File too large") ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text(path("f")), "old");
  EXPECT_EQ(files.list(folder_->path()), std::vector<std::string>{"f"});
}

TEST_F(FileTest, ReadersSeeOneOfTheContentsWhole) {
  ASSERT_TRUE(files.write(path("f"), std::string(50'000, '0')));
  std::jthread writer([this](const std::stop_token& stop) {
    for (char c = '1'; !stop.stop_requested(); c = c == '9' ? '1' : static_cast<char>(c + 1)) {
      ASSERT_TRUE(files.write(path("f"), std::string(50'000, c)));
    }
  });
  for (int i = 0; i < 200; ++i) {
    const std::string content = text(path("f"));
    ASSERT_EQ(content.size(), 50'000u);
    ASSERT_EQ(content.find_first_not_of(content[0]), std::string::npos);
  }
}

TEST_F(FileTest, MapsFiles) {
  ASSERT_TRUE(files.write(path("f"), "bytes"));
  ASSERT_TRUE(files.write(path("empty"), ""));
  auto mapped = MappedFile::open(path("f"));
  ASSERT_TRUE(mapped);
  MappedFile moved = std::move(*mapped);
  EXPECT_EQ(moved.bytes(), "bytes");
  EXPECT_EQ(MappedFile::open(path("empty"))->bytes(), "");
  EXPECT_FALSE(MappedFile::open(path("absent")));
  EXPECT_FALSE(MappedFile::open(folder_->path()));
}

TEST_F(FileTest, ATemporaryFolderGoesWithAllInIt) {
  fs::path where;
  {
    auto made = TemporaryFolder::make();
    ASSERT_TRUE(made);
    TemporaryFolder folder = std::move(*made);
    where = folder.path();
    ASSERT_TRUE(files.write(where / "locked/f", "x"));
    fs::permissions(where / "locked", fs::perms::none);
  }
  EXPECT_FALSE(fs::exists(where));
}

TEST_F(FileTest, TemporaryFoldersNeedAPlace) {
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nowhere", 1);
  const auto made = TemporaryFolder::make();
  ::setenv("TMPDIR", saved.c_str(), 1);
  if (before == nullptr) ::unsetenv("TMPDIR");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::environment);
  EXPECT_TRUE(contains(made.error().message, "/nowhere"));
}

TEST_F(FileTest, TemporaryFoldersOfAKilledProcessGoWithTheNext) {
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("TMPDIR", folder_->path().c_str(), 1);
  const fs::path parent = path("burnish-tmp-" + std::to_string(::geteuid()));
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto made = TemporaryFolder::make("killed");
    if (made && files.write(made->path() / "locked/f", "x")) {
      fs::permissions(made->path() / "locked", fs::perms::none);
    }
    if (::write(ready[1], made ? "y" : "n", 1) != 1) ::_exit(1);
    ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  {
    const auto beside = TemporaryFolder::make("beside");
    EXPECT_TRUE(beside);
    EXPECT_EQ(files.list(parent).size(), 2u) << "what a living process has stays";
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(files.list(parent).size(), 1u);
  {
    const auto next = TemporaryFolder::make("next");
    ASSERT_TRUE(next) << next.error().to_string();
    EXPECT_EQ(files.list(parent), std::vector<std::string>{next->path().filename().string()});
  }
  EXPECT_EQ(files.list(parent), std::vector<std::string>{});

  // Who could put a link there would choose what is removed.
  fs::remove(parent);
  fs::create_directory_symlink(path("."), parent);
  const auto refused = TemporaryFolder::make();
  ::setenv("TMPDIR", saved.c_str(), 1);
  if (before == nullptr) ::unsetenv("TMPDIR");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(contains(refused.error().message, parent.string()));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FileTest, ALockKeepsOthersOutAndNamesTheHolder) {
  std::optional<FileLock> lock;
  {
    auto taken = FileLock::try_lock(path("d/lock"));
    ASSERT_TRUE(taken) << taken.error().to_string();
    lock.emplace(std::move(*taken));
  }
  const auto second = FileLock::try_lock(path("d/lock"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::environment);
  EXPECT_TRUE(second.error().message.ends_with("locked by process " + std::to_string(::getpid())));
  lock.reset();
  EXPECT_TRUE(FileLock::try_lock(path("d/lock")));
}

TEST_F(FileTest, ALockGoesWithItsProcess) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileLock::try_lock(path("lock"));
    if (::write(ready[1], lock ? "y" : "n", 1) != 1) ::_exit(1);
    ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  const auto held = FileLock::try_lock(path("lock"));
  ASSERT_FALSE(held);
  EXPECT_TRUE(held.error().message.ends_with("process " + std::to_string(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(FileLock::try_lock(path("lock")));
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace burnish
