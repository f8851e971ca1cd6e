#include "device/worker_process.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "device/device.h"
#include "device/sandbox.h"
#include "device/worker_reply.h"

namespace burnish::device {
namespace {

using std::chrono::milliseconds;

// The sandbox's empty /tmp hid it: "bwrap: execvp /tmp/burnish: No such file or directory".
TEST(ConfinedCommand, FindsAProgramThatLiesInTmpItself) {
  if (const std::string& trouble = confinement_trouble(Confinement::bubblewrap); !trouble.empty()) {
    GTEST_SKIP() << trouble;
  }
  const fs::path program = "/tmp/burnish-test-" + std::to_string(::getpid());
  fs::copy_file("/bin/true", program);
  ProcessSpec spec;
  spec.argv = confined_command(Confinement::bubblewrap, DeviceFiles::none, program);
  const Result<ProcessResult> result = real_process_runner().run(spec);
  fs::remove(program);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->ok()) << result->errors;
}

/// Programs that stand in for a worker that has been taken over.
class FakeWorker : public ::testing::TestWithParam<Confinement> {
 protected:
  void SetUp() override {
    if (const std::string& trouble = confinement_trouble(GetParam()); !trouble.empty()) {
      GTEST_SKIP() << trouble;
    }
    Result<TemporaryFolder> folder = TemporaryFolder::make();
    ASSERT_TRUE(folder.has_value());
    folder_ = std::make_unique<TemporaryFolder>(std::move(*folder));
  }

  Result<std::unique_ptr<WorkerProcess>> start(const std::string& script) {
    const fs::path program = folder_->path() / "worker.sh";
    std::ofstream(program) << "#!/bin/sh\n" << script;
    fs::permissions(program, fs::perms::owner_all);
    WorkerStart start;
    start.program = program;
    start.confinement = GetParam();
    return WorkerProcess::start(start);
  }

  Result<WorkerReply> ask(const std::string& script, milliseconds deadline = milliseconds(5000)) {
    BURNISH_TRY_ASSIGN(worker_, start(script));
    return worker_->ask(Json::object(), {}, deadline, "testing");
  }

  std::unique_ptr<TemporaryFolder> folder_;
  std::unique_ptr<WorkerProcess> worker_;
};

TEST_P(FakeWorker, ThatTalksNonsenseIsNotBelieved) {
  const Result<WorkerReply> huge =
      ask("printf '\\377\\377\\377\\377\\377\\377\\377\\377'; sleep 9");
  ASSERT_FALSE(huge.has_value());
  EXPECT_EQ(huge.error().kind, ErrorKind::refused);
  EXPECT_TRUE(contains(huge.error().message, "makes no sense")) << huge.error().to_string();

  const Result<WorkerReply> broken =
      ask("printf '\\003\\000\\000\\000\\000\\000\\000\\000{]}'; sleep 9");
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().kind, ErrorKind::refused) << broken.error().to_string();

  const Result<WorkerReply> list =
      ask("printf '\\002\\000\\000\\000\\000\\000\\000\\000[]'; sleep 9");
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().kind, ErrorKind::refused) << list.error().to_string();
}

TEST_P(FakeWorker, ThatEndsIsExplainedOnceAndForAll) {
  const Result<WorkerReply> ended = ask("echo 'driver: no such thing' >&2; exit 7");
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().kind, ErrorKind::environment);
  EXPECT_TRUE(contains(ended.error().message, "exited with 7 while testing"))
      << ended.error().to_string();
  EXPECT_TRUE(contains(ended.error().to_string(), "driver: no such thing"));
  const Result<WorkerReply> again = worker_->ask(Json::object(), {}, milliseconds(1000), "more");
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().to_string(), ended.error().to_string());
  EXPECT_TRUE(contains(worker_->messages(), "no such thing"));
}

TEST_P(FakeWorker, ThatIsKilledByASignalIsRefused) {
  const Result<WorkerReply> killed = ask("kill -ABRT $$");
  ASSERT_FALSE(killed.has_value());
  EXPECT_EQ(killed.error().kind, ErrorKind::refused) << killed.error().to_string();
  EXPECT_TRUE(contains(killed.error().message, "SIGABRT")) << killed.error().to_string();
}

TEST_P(FakeWorker, ThatHangsIsKilledWithWhatItStarted) {
  // The grandchild leaves the process group and the session, and ignores what can be ignored.
  // The lengths of the sleeps tell them from those of a test that runs beside this one.
  const auto started = std::chrono::steady_clock::now();
  const std::string grandchild = std::to_string(10'000'000 + ::getpid());
  const std::string child = std::to_string(20'000'000 + ::getpid());
  const Result<WorkerReply> late = ask(
      "(setsid sh -c 'trap \"\" TERM HUP; exec sleep " + grandchild + "' &)\nexec sleep " + child,
      milliseconds(700));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().kind, ErrorKind::timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(6));
  for (const std::string& name : real_file_system().list("/proc")) {
    if (!parse_integer(name)) continue;
    const std::string command =
        real_file_system().read(fs::path("/proc") / name / "cmdline").value_or("");
    EXPECT_FALSE(contains(command, grandchild) || contains(command, child))
        << name << " " << command;
  }
}

TEST_P(FakeWorker, CannotShrinkOrGrowTheSharedMemory) {
  const Result<WorkerReply> reply =
      ask("truncate -s 0 /proc/self/fd/3 2>/dev/null && echo shrunk >&2\n"
          "truncate -s 1T /proc/self/fd/3 2>/dev/null && echo grown >&2\necho tried >&2; exit 1");
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(contains(worker_->messages(), "tried"));
  EXPECT_FALSE(contains(worker_->messages(), "shrunk"));
  EXPECT_FALSE(contains(worker_->messages(), "grown"));
  std::vector<std::byte> bytes(16);
  EXPECT_TRUE(worker_->shared().get(0, bytes).has_value());
}

TEST_P(FakeWorker, SeesNoSecretsOfTheEnvironment) {
  ::setenv("BURNISH_TEST_SECRET", "hunter2", 1);
  const Result<WorkerReply> reply = ask("env >&2; exit 1");
  ::unsetenv("BURNISH_TEST_SECRET");
  ASSERT_FALSE(reply.has_value());
  EXPECT_FALSE(contains(worker_->messages(), "hunter2"));
  EXPECT_TRUE(contains(worker_->messages(), "LC_ALL=C"));
}

TEST(WorkerEnvironment, PinsPoclsThreadsOnlyWhereProcessorsAreAllowedFromZero) {
  cpu_set_t all, last;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  int most = CPU_SETSIZE - 1;
  while (!CPU_ISSET(most, &all)) --most;
  if (most == 0 || CPU_COUNT(&all) != most + 1) GTEST_SKIP() << "one processor, or a cpuset";
  EXPECT_TRUE(worker_environment(Confinement::process_group, "/tmp").contains("POCL_AFFINITY"));
  CPU_ZERO(&last);
  CPU_SET(most, &last);
  ASSERT_EQ(sched_setaffinity(0, sizeof last, &last), 0);
  const bool pinned =
      worker_environment(Confinement::process_group, "/tmp").contains("POCL_AFFINITY");
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_FALSE(pinned);
}

INSTANTIATE_TEST_SUITE_P(Confined, FakeWorker,
                         ::testing::Values(Confinement::bubblewrap, Confinement::process_group),
                         [](const auto& one) {
                           return one.param == Confinement::bubblewrap ? "Bubblewrap" : "Group";
                         });

class Confined : public FakeWorker {};

TEST_P(Confined, NeitherNetworkNorFilesNorOthers) {
  const std::string mine = "/tmp/burnish-" + std::to_string(::getpid());
  const Result<WorkerReply> reply =
      ask("touch /usr/burnish-was-here 2>/dev/null && echo wrote /usr >&2\n"
          "touch " BURNISH_SOURCE_DIR
          "/burnish-was-here 2>/dev/null && echo wrote the tree >&2\n"
          "touch " +
          mine +
          " && echo wrote the private folder >&2\n"
          "grep -v lo: /proc/net/dev | grep : && echo has a network >&2\n"
          "echo sees $(ls -d /proc/[0-9]* | wc -l) processes >&2\nexit 1");
  ASSERT_FALSE(reply.has_value());
  const std::string said = worker_->messages();
  EXPECT_FALSE(contains(said, "wrote /usr")) << said;
  EXPECT_FALSE(contains(said, "wrote the tree")) << said;
  EXPECT_TRUE(contains(said, "wrote the private folder")) << said;
  EXPECT_FALSE(contains(said, "has a network")) << said;
  EXPECT_FALSE(fs::exists(mine));
  const std::size_t at = said.find("sees ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(std::stoi(said.substr(at + 5)), 10) << said;
}

INSTANTIATE_TEST_SUITE_P(All, Confined, ::testing::Values(Confinement::bubblewrap),
                         [](const auto&) { return "Bubblewrap"; });

TEST(Isolation, IsToldInWords) {
  const std::string words = isolation();
  EXPECT_TRUE(words == "bubblewrap" || words == "namespaces" ||
              words.starts_with("process group only: "))
      << words;
}

}  // namespace
}  // namespace burnish::device
