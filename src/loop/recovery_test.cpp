// kill -9 before and after every write, append, removal and program that a run makes: the next open
// recovers, nothing accepted is lost, nothing half-made is accepted, and git is whole.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "loop/fuse.h"
#include "loop/loop.h"
#include "loop/testing.h"

namespace burnish::loop {
namespace {

std::string git(const fs::path& folder, std::vector<std::string> arguments) {
  ProcessSpec spec;
  spec.argv = {"git", "-C", folder.string()};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  const auto result = real_process_runner().run(spec);
  EXPECT_TRUE(result && result->ok())
      << arguments.front() << ": " << (result ? result->errors : result.error().to_string());
  return result ? result->output : "";
}

/// The run that is killed: two accepted versions and a rejected one, in a copy of the template.
void work(Scene& scene, const fs::path& folder, Fuse& fuse) {
  FusedFiles files(fuse);
  FusedProcesses processes(fuse);
  std::string report;
  auto loop = Loop::open(folder, {files, processes, real_clock()}, report);
  if (!loop) _exit(3);
  auto tools = scene.tools();
  auto tuner = agent::make_tuner();
  auto summary = (*loop)->run(tools, *tuner, 3);
  _exit(summary ? 0 : 4);
}

TEST(Recovery, SurvivesKillAtEveryStep) {
  Scene scene;
  scene.create();
  {
    // The baseline once, so that the sweep is about the stages; its own steps come below.
    std::string report;
    auto loop = Loop::open(scene.workspace(), {}, report);
    ASSERT_TRUE(loop) << loop.error().to_string();
    auto tools = scene.tools();
    ASSERT_TRUE((*loop)->baseline(tools, Loop::AllowWeak::no));
  }
  int killed = 0;
  for (int fatal = 0;; ++fatal) {
    SCOPED_TRACE("killed at step " + std::to_string(fatal));
    const fs::path folder = scene.folder() / "copy";
    fs::remove_all(folder);
    fs::copy(scene.workspace(), folder,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Fuse fuse{0, fatal};
      work(scene, folder, fuse);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      break;  // it ran to its end: every step was tried
    }
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
    ++killed;

    const std::string accepted_before = git(folder, {"log", "--format=%H %s"});
    std::string report;
    auto loop = Loop::open(folder, {}, report);
    ASSERT_TRUE(loop) << loop.error().to_string();
    const auto state = (*loop)->state();
    ASSERT_TRUE(state) << state.error().to_string();
    EXPECT_FALSE(state->unfinished) << state->unfinished->event;

    // What git holds is what it held, and nothing is staged or locked.
    EXPECT_EQ(git(folder, {"log", "--format=%H %s"}), accepted_before);
    EXPECT_EQ(git(folder, {"diff", "--cached", "--name-only"}), "");
    EXPECT_FALSE(fs::exists(folder / ".git/index.lock"));
    git(folder, {"fsck", "--no-progress"});
    // Every accepted version has its record, and the incumbent is one that the gate passed.
    const auto records = (*loop)->workspace().records();
    ASSERT_TRUE(records) << records.error().to_string();
    bool incumbent = false;
    for (const auto& record : *records)
      incumbent =
          incumbent || (record.number == state->incumbent && record.quality_gate.result == "PASS");
    EXPECT_TRUE(incumbent) << "v" << state->incumbent;
    ASSERT_TRUE((*loop)->workspace().commit_of(state->incumbent).value());

    // And it goes on to the same end; every fifth time, for it takes a while.
    if (fatal % 5 != 0) continue;
    auto tools = scene.tools();
    auto tuner = agent::make_tuner();
    const auto summary = (*loop)->run(tools, *tuner, 3);
    ASSERT_TRUE(summary) << summary.error().to_string();
    EXPECT_NEAR(*summary->speedup, 6, 0.1);
    EXPECT_TRUE((*loop)->workspace().clean().value());
  }
  EXPECT_GT(killed, 60);
}

/// First on PATH, a C++ compiler that compiles once and gives that program again: every copy of the
/// workspace compiles the same reference, from nothing.
class CompilesOnce {
 public:
  explicit CompilesOnce(const fs::path& folder) : path_(std::getenv("PATH")) {
    const fs::path compiler = folder / "bin/c++";
    const std::string kept = (folder / "bin/kept").string();
    const auto written = real_file_system().write(
        compiler, "#!/bin/sh -e\nfor made; do :; done  # the last argument\n" +
                      fmt::format("if [ ! -e '{0}' ]; then\n  PATH='{1}' c++ \"$@\"\n"
                                  "  cp \"$made\" '{0}.new'\n  mv '{0}.new' '{0}'\nelse\n"
                                  "  cp '{0}' \"$made\"\nfi\n",
                                  kept, path_));
    EXPECT_TRUE(written);
    fs::permissions(compiler, fs::perms::owner_all);
    setenv("PATH", ((folder / "bin").string() + ":" + path_).c_str(), 1);
  }
  ~CompilesOnce() { setenv("PATH", path_.c_str(), 1); }

 private:
  std::string path_;
};

TEST(Recovery, SurvivesKillInTheBaseline) {
  Scene scene;
  scene.create();
  CompilesOnce compiler(scene.folder());
  int killed = 0;
  for (int fatal = 0;; ++fatal) {
    SCOPED_TRACE("killed at step " + std::to_string(fatal));
    const fs::path folder = scene.folder() / "copy";
    fs::remove_all(folder);
    fs::copy(scene.workspace(), folder,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const pid_t child = fork();
    if (child == 0) {
      Fuse fuse{0, fatal};
      FusedFiles files(fuse);
      FusedProcesses processes(fuse);
      std::string report;
      auto loop = Loop::open(folder, {files, processes, real_clock()}, report);
      auto tools = scene.tools();
      _exit(loop && (*loop)->baseline(tools, Loop::AllowWeak::no) ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    ++killed;
    std::string report;
    auto loop = Loop::open(folder, {}, report);
    ASSERT_TRUE(loop) << loop.error().to_string();
    auto tools = scene.tools();
    if ((*loop)->state()->next == Stage::baseline) {
      ASSERT_TRUE((*loop)->baseline(tools, Loop::AllowWeak::no));
    }
    EXPECT_EQ((*loop)->state()->next, Stage::profile);
    EXPECT_TRUE((*loop)->workspace().clean().value());
  }
  EXPECT_GT(killed, 15);
}

}  // namespace
}  // namespace burnish::loop
