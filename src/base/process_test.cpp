#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/text.h"

namespace burnish {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using End = ProcessResult::End;

/// Bounds how long a failure takes; nothing that works comes near it, on a busy machine either.
constexpr seconds kSoon{60};

ProcessSpec program(std::vector<std::string> argv) {
  ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.deadline = kSoon;
  return spec;
}

ProcessSpec shell(const std::string& script) { return program({"/bin/sh", "-c", script}); }

ProcessResult run(const ProcessSpec& spec) {
  auto result = real_process_runner().run(spec);
  if (!result) ADD_FAILURE() << result.error().to_string();
  return result.value_or(ProcessResult{});
}

/// Zombies count as gone: in a container nobody may reap what this test's own children leave.
bool is_alive(std::int64_t pid) {
  const auto stat = real_file_system().read("/proc/" + std::to_string(pid) + "/stat");
  if (!stat) return false;
  const std::size_t end = stat->rfind(')');
  return end != std::string::npos && end + 2 < stat->size() && (*stat)[end + 2] != 'Z';
}

bool dies_soon(std::int64_t pid) {
  for (int i = 0; i < 2000 && is_alive(pid); ++i) std::this_thread::sleep_for(milliseconds(10));
  return !is_alive(pid);
}

std::vector<std::int64_t> pids_in(std::string_view text) {
  std::vector<std::int64_t> pids;
  for (const std::string_view line : split_lines(text)) {
    const auto pid = parse_integer(trim(line));
    EXPECT_TRUE(pid) << line;
    pids.push_back(pid.value_or(0));
  }
  return pids;
}

std::size_t open_descriptors() { return real_file_system().list("/proc/self/fd").size(); }

TEST(Process, TellsOutputErrorsAndTheEnd) {
  const ProcessResult good = run(shell("echo out; echo err >&2"));
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.output, "out\n");
  EXPECT_EQ(good.errors, "err\n");
  EXPECT_EQ(good.describe(), "exited with 0");
  const ProcessResult bad = run(shell("exit 3"));
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.describe(), "exited with 3");
  const ProcessResult crashed = run(shell("kill -SEGV $$"));
  EXPECT_EQ(crashed.end, End::signalled);
  EXPECT_EQ(crashed.code, SIGSEGV);
  EXPECT_EQ(crashed.describe(), "was killed by SIGSEGV (segmentation fault)");
}

TEST(Process, MeasuresTheWallTimeOfTheProgramItself) {
  const ProcessResult result = run(shell("sleep 0.2"));
  EXPECT_GE(result.wall, milliseconds(200));
}

TEST(Process, AMissingProgramIsNamed) {
  const auto error = [](ProcessSpec spec) {
    auto result = real_process_runner().run(spec);
    EXPECT_FALSE(result);
    return result ? Error{} : result.error();
  };
  const Error absent = error(program({"no-such-program", "x"}));
  EXPECT_EQ(absent.kind, ErrorKind::environment);
  EXPECT_EQ(absent.message, "cannot find the program `no-such-program` on PATH");
  EXPECT_EQ(error(program({"/no/such"})).message,
            "cannot run `/no/such`: No such file or directory");
  EXPECT_EQ(error(program({"/etc/passwd"})).message, "cannot run `/etc/passwd`: Permission denied");
  ProcessSpec nowhere = program({"true"});
  nowhere.folder = "/no/folder";
  EXPECT_EQ(error(nowhere).message,
            "cannot run `true` in the folder /no/folder: No such file or directory");
  EXPECT_EQ(error(program({})).kind, ErrorKind::bug);
  EXPECT_EQ(error(program({"echo", std::string("a\0b", 3)})).kind, ErrorKind::bad_input);

  const auto folder = TemporaryFolder::make();
  const fs::path script = folder->path() / "script";
  ASSERT_TRUE(real_file_system().write(script, "#!/no/interpreter\n"));
  fs::permissions(script, fs::perms(0755));
  EXPECT_EQ(error(program({script})).message,
            "cannot run `" + script.string() + "`: the interpreter that it names is not there");
  ASSERT_TRUE(real_file_system().write(script, "not a program"));
  EXPECT_TRUE(contains(error(program({script})).message, "Exec format error"));
}

TEST(Process, GivesFolderEnvironmentAndArguments) {
  const auto folder = TemporaryFolder::make();
  ProcessSpec spec = shell("pwd; echo \"$A-$B-$HOME\"; echo \"$1\"");
  spec.argv.insert(spec.argv.end(), {"name", "two words"});
  spec.folder = folder->path();
  spec.environment = {{"A", "1"}, {"B", "2"}};
  spec.extra_environment = {{"B", "3"}};
  EXPECT_EQ(run(spec).output, fs::canonical(folder->path()).string() + "\n1-3-\ntwo words\n");
  ProcessSpec inherits = shell("echo $BURNISH_TEST_X $Y");
  ::setenv("BURNISH_TEST_X", "x", 1);
  inherits.extra_environment = {{"Y", "y"}};
  EXPECT_EQ(run(inherits).output, "x y\n");
  ::unsetenv("BURNISH_TEST_X");
}

TEST(Process, IsLookedUpOnThePathThatItGets) {
  const auto folder = TemporaryFolder::make();
  const fs::path tool = folder->path() / "burnish-test-tool";
  ASSERT_TRUE(real_file_system().write(tool, "#!/bin/sh\necho found\n"));
  fs::permissions(tool, fs::perms(0755));
  ProcessSpec spec = program({"burnish-test-tool"});
  EXPECT_FALSE(real_process_runner().run(spec));
  spec.extra_environment = {{"PATH", "/nowhere:" + folder->path().string()}};
  EXPECT_EQ(run(spec).output, "found\n");
  ProcessSpec relative = program({"./burnish-test-tool"});
  relative.folder = folder->path();
  EXPECT_EQ(run(relative).output, "found\n");
}

TEST(Process, TakesAndGivesMuchAtOnce) {
  std::string big;
  for (int i = 0; i < 1'000'000; ++i) big += std::to_string(i % 97);
  ProcessSpec spec = program({"cat"});
  spec.input = big;
  EXPECT_EQ(run(spec).output, big);
  EXPECT_EQ(run(program({"cat"})).output, "");  // no input is an end of input
}

TEST(Process, AProgramThatDoesNotReadItsInputHarmsNobody) {
  ProcessSpec spec = shell("exec <&-; echo done; sleep 0.1");
  spec.input = std::string(10'000'000, 'x');
  const ProcessResult result = run(spec);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.output, "done\n");
}

TEST(Process, ADeadlineEndsATreeThatIgnoresSigterm) {
  ProcessSpec spec = shell("trap '' TERM; sleep 300 & echo $$; echo $!; while :; do sleep 1; done");
  spec.deadline = milliseconds(1000);
  const ProcessResult result = run(spec);
  EXPECT_EQ(result.end, End::timed_out);
  EXPECT_EQ(result.code, SIGKILL);
  EXPECT_GE(result.wall, milliseconds(1900));  // a second to tidy up in
  EXPECT_LT(result.wall, seconds(30));
  EXPECT_TRUE(result.describe().starts_with("was stopped after ")) << result.describe();
  const auto pids = pids_in(result.output);
  EXPECT_EQ(pids.size(), 2u);
  for (const std::int64_t pid : pids) EXPECT_FALSE(is_alive(pid));
}

TEST(Process, ADeadlineLetsAProgramTidyUp) {
  ProcessSpec spec = shell("trap 'echo tidy; exit 7' TERM; echo up; while :; do sleep 0.02; done");
  spec.deadline = milliseconds(1000);
  const ProcessResult result = run(spec);
  EXPECT_EQ(result.end, End::timed_out);
  EXPECT_EQ(result.code, 7);
  EXPECT_EQ(result.output, "up\ntidy\n");
}

/// Starts what escapes: into a session of its own, through a double fork, without the environment,
/// and with the pipes let go; then waits until each has written its pid to the file `pids`.
constexpr const char* kEscapes = R"(
sleep 300 & echo $! >> pids
setsid sleep 300 & echo $! >> pids
(setsid sh -c 'echo $$ >> pids; exec sleep 300' &)
(env -i setsid sh -c 'sh -c "echo \$\$ >> pids; exec sleep 300 >/dev/null 2>&1 </dev/null" &' &)
until [ $(wc -l < pids) = 4 ]; do sleep 0.01; done
)";

void expect_all_dead(const fs::path& folder) {
  const auto pids = pids_in(*real_file_system().read(folder / "pids"));
  EXPECT_EQ(pids.size(), 4u);
  for (const std::int64_t pid : pids) EXPECT_FALSE(is_alive(pid)) << pid;
}

TEST(Process, NoDescendantOutlivesTheProgram) {
  const auto folder = TemporaryFolder::make();
  ProcessSpec spec = shell(kEscapes);
  spec.folder = folder->path();
  EXPECT_TRUE(run(spec).ok());
  expect_all_dead(folder->path());
}

TEST(Process, NoDescendantOutlivesALimit) {
  const auto folder = TemporaryFolder::make();
  ProcessSpec spec = shell(std::string(kEscapes) + "exec yes");
  spec.folder = folder->path();
  spec.output_limit = 1000;
  EXPECT_EQ(run(spec).end, End::output_limit);
  expect_all_dead(folder->path());
}

TEST(Process, AForkingChainIsCaught) {
  // Each link starts the next in a new session and ends.
  ProcessSpec spec = shell(
      "cat > link; chmod +x link; touch count; ./link &\n"
      "until [ $(wc -l < count) -gt 10 ]; do sleep 0.01; done");
  const auto folder = TemporaryFolder::make();
  spec.folder = folder->path();
  spec.input = "#!/bin/sh\necho x >> count\nsetsid ./link &\n";
  EXPECT_TRUE(run(spec).ok());
  const auto links = [&] { return fs::file_size(folder->path() / "count"); };
  const auto before = links();
  EXPECT_GT(before, 20u);
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(links(), before);
}

TEST(Process, TheTreeDiesWithThisProcess) {
  const auto folder = TemporaryFolder::make();
  const fs::path file = folder->path() / "pids";
  const pid_t burnish = ::fork();
  if (burnish == 0) {
    ProcessSpec spec = shell(
        "setsid sleep 300 & echo $! > pids.new; echo $$ >> pids.new;"
        "mv pids.new pids; sleep 300");
    spec.folder = folder->path();
    (void)real_process_runner().run(spec);
    ::_exit(0);
  }
  for (int i = 0; i < 6000 && !fs::exists(file); ++i) std::this_thread::sleep_for(milliseconds(10));
  const auto pids = pids_in(*real_file_system().read(file));
  ASSERT_EQ(pids.size(), 2u);
  for (const std::int64_t pid : pids) EXPECT_TRUE(is_alive(pid));
  ::kill(burnish, SIGKILL);
  ::waitpid(burnish, nullptr, 0);
  for (const std::int64_t pid : pids) EXPECT_TRUE(dies_soon(pid)) << pid;
}

TEST(Process, LimitsOutput) {
  ProcessSpec spec = program({"yes"});
  spec.output_limit = 100'000;
  const ProcessResult result = run(spec);
  EXPECT_EQ(result.end, End::output_limit);
  EXPECT_EQ(result.output.size(), 100'000u);
  EXPECT_EQ(result.describe(), "was stopped because it printed more than is allowed");
  spec = shell("head -c 2000 /dev/zero >&2");
  spec.output_limit = 2000;
  EXPECT_TRUE(run(spec).ok());
  spec.output_limit = 1999;  // cut off, though the program may have ended by itself
  EXPECT_EQ(run(spec).end, End::output_limit);
}

TEST(Process, LimitsTheMemoryOfTheWholeTree) {
  // tail keeps what has no line end: 300 MB, in a grandchild.
  ProcessSpec spec = shell("(head -c 300000000 /dev/zero | tail; true) >/dev/null; sleep 300");
  spec.memory_limit = 100u << 20;
  const ProcessResult result = run(spec);
  EXPECT_EQ(result.end, End::memory_limit);
  spec = shell("head -c 30000000 /dev/zero | tail | wc -c");
  spec.memory_limit = 100u << 20;
  EXPECT_EQ(trim(run(spec).output), "30000000");
}

TEST(Process, StartsWithoutOurDescriptorsSignalsAndCores) {
  const int leaky = ::open("/dev/null", O_RDONLY);  // not O_CLOEXEC
  ASSERT_GE(leaky, 3);
  struct sigaction ignore{}, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  // glibc's own signal, which its sigaction refuses; the kernel's struct starts with the handler.
  unsigned long kernel_ignore[4]{1}, kernel_before[4]{};
  ASSERT_EQ(::syscall(SYS_rt_sigaction, 32, kernel_ignore, kernel_before, sizeof(unsigned long)),
            0);
  sigset_t usr1, old;
  ::sigemptyset(&usr1);
  ::sigaddset(&usr1, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &usr1, &old);
  const ProcessResult result = run(program(
      {"sh", "-c", "ls /proc/self/fd; grep -E 'Sig(Blk|Ign)' /proc/self/status; ulimit -c"}));
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
  ::syscall(SYS_rt_sigaction, 32, kernel_before, nullptr, sizeof(unsigned long));
  ::close(leaky);
  EXPECT_EQ(result.output,  // 3 is ls's own
            "0\n1\n2\n3\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n");
}

TEST(Process, PassesDescriptorsUnderTheNumbersAsked) {
  int one[2], two[2];
  ASSERT_EQ(::pipe2(one, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(two, O_CLOEXEC), 0);
  // Swapped on purpose: neither may overwrite the other.
  ProcessSpec spec =
      program({"bash", "-c", "echo one >&$A; echo two >&$B; ls /proc/$$/fd | wc -l"});
  spec.pass_fds = {{one[1], two[1]}, {two[1], one[1]}};
  spec.extra_environment = {{"A", std::to_string(two[1])}, {"B", std::to_string(one[1])}};
  const ProcessResult result = run(spec);
  EXPECT_TRUE(result.ok()) << result.errors;
  char text[5] = {};
  EXPECT_EQ(::read(one[0], text, 4), 4);
  EXPECT_STREQ(text, "one\n");
  EXPECT_EQ(::read(two[0], text, 4), 4);
  EXPECT_STREQ(text, "two\n");
  ProcessSpec closed = program({"true"});
  closed.pass_fds = {{12345, 5}};
  EXPECT_FALSE(real_process_runner().run(closed));
  for (const int fd : {one[0], one[1], two[0], two[1]}) ::close(fd);
}

TEST(Process, LeavesNeitherDescriptorsNorZombies) {
  (void)run(program({"true"}));
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 10; ++i) {
    (void)run(shell("sleep 300 & exit 0"));
    (void)real_process_runner().run(program({"/no/such"}));
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Process, LeavesTheChildrenOfOthersAlone) {
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::usleep(300'000);
    ::_exit(42);
  }
  auto child = ChildProcess::start(program({"cat"}));
  ASSERT_TRUE(child);
  ProcessSpec spec = shell("sleep 300");
  spec.deadline = milliseconds(50);
  (void)run(spec);
  EXPECT_TRUE(child->write("alive", kSoon));
  EXPECT_EQ(*child->read(5, kSoon), "alive");
  int status = 0;
  EXPECT_EQ(::waitpid(stranger, &status, 0), stranger);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(Process, ManyThreadsRunAtOnce) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 10; ++i) {
        const std::string text = std::to_string(thread * 100 + i);
        ProcessSpec spec = shell("sleep 300 & setsid sleep 300 & cat; echo " + text);
        spec.input = text + "-";
        const ProcessResult result = run(spec);
        ASSERT_TRUE(result.ok());
        ASSERT_EQ(result.output, text + "-" + text + "\n");
      }
    });
  }
  threads.clear();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Process, AProgramThatKillsItsWatcherGoesWithItAndIsReported) {
  const auto folder = TemporaryFolder::make();
  ProcessSpec spec = shell("sleep 300 & echo $! > pids; echo $$ >> pids; kill -9 $PPID; wait");
  spec.folder = folder->path();
  auto result = real_process_runner().run(spec);
  for (const std::int64_t pid : pids_in(*real_file_system().read(folder->path() / "pids"))) {
    EXPECT_TRUE(dies_soon(pid)) << pid;
  }
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::environment);
  EXPECT_TRUE(contains(result.error().message, "the process that watched it was killed"));
}

TEST(ChildProcess, AnswersAndEnds) {
  auto child = ChildProcess::start(program({"cat"}));
  ASSERT_TRUE(child) << child.error().to_string();
  EXPECT_TRUE(is_alive(child->pid()));
  const std::string big(1'000'000, 'y');
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(child->write(big, kSoon));  // more than two pipes hold
    ASSERT_EQ(*child->read(big.size(), kSoon), big);
  }
  EXPECT_TRUE(child->write("rest", kSoon));
  ChildProcess moved = std::move(*child);
  const ProcessResult result = moved.finish();
  EXPECT_EQ(result.describe(), "exited with 0");  // the end of its input
  EXPECT_EQ(result.output, "rest");
}

TEST(ChildProcess, ADeadlineKillsIt) {
  auto child = ChildProcess::start(shell("trap '' TERM; setsid sleep 300 & echo $!; wait"));
  ASSERT_TRUE(child);
  std::string line;
  while (!line.ends_with('\n')) line += *child->read(1, kSoon);
  const auto silent = child->read(1, milliseconds(50));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().kind, ErrorKind::timeout);
  EXPECT_FALSE(is_alive(child->pid()));
  for (const std::int64_t pid : pids_in(line)) EXPECT_FALSE(is_alive(pid));
  EXPECT_EQ(child->finish().end, End::timed_out);
}

TEST(ChildProcess, AWriteThatNobodyReadsTimesOut) {
  auto child = ChildProcess::start(shell("sleep 300"));
  const auto written = child->write(std::string(3'000'000, 'x'), milliseconds(100));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::timeout);
}

TEST(ChildProcess, AnEndIsToldWithItsLastWords) {
  auto child = ChildProcess::start(shell("echo part; echo 'device lost' >&2; exit 5"));
  ASSERT_TRUE(child);
  const auto answer = child->read(100, kSoon);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::environment);
  EXPECT_EQ(answer.error().message,
            "`/bin/sh` exited with 5 before it had answered; its last words: device lost");
  EXPECT_FALSE(child->write("x", kSoon));
  EXPECT_EQ(*child->read(5, kSoon), "part\n");
  EXPECT_EQ(child->errors(), "device lost\n");
  const ProcessResult result = child->finish();
  EXPECT_EQ(result.end, End::exited);
  EXPECT_EQ(result.code, 5);
  auto crashed = ChildProcess::start(shell("kill -ABRT $$"));
  EXPECT_TRUE(contains(crashed->read(1, kSoon).error().message, "was killed by SIGABRT"));
}

TEST(ChildProcess, KeepsNoMoreThanItsLimit) {
  ProcessSpec spec = shell("yes >&2 & exec yes");
  spec.output_limit = 100'000;
  auto child = ChildProcess::start(spec);
  ASSERT_TRUE(child);
  EXPECT_EQ(child->read(100'001, kSoon).error().kind, ErrorKind::bad_input);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(child->read(100'000, kSoon));
  EXPECT_LE(child->errors().size(), 100'000u);
  const ProcessResult result = child->finish();
  EXPECT_EQ(result.end, End::signalled);
  EXPECT_EQ(result.code, SIGKILL);
  EXPECT_LT(result.output.size(), 300'000u);  // and what was in the pipe
  EXPECT_LE(result.errors.size(), 100'000u);
}

TEST(ChildProcess, TooManyErrorsEndItWhenThatIsAsked) {
  ProcessSpec spec = shell("yes >&2");
  spec.error_limit = 1000;
  auto child = ChildProcess::start(spec);
  ASSERT_TRUE(child);
  EXPECT_TRUE(contains(child->read(1, kSoon).error().message, "printed more than is allowed"));
  EXPECT_EQ(child->errors().size(), 1000u);
  EXPECT_EQ(child->finish().end, End::output_limit);
}

TEST(ChildProcess, OutgrowingItsMemoryEndsIt) {
  ProcessSpec spec = shell("head -c 300000000 /dev/zero | tail >/dev/null; sleep 300");
  spec.memory_limit = 100u << 20;
  auto child = ChildProcess::start(spec);
  const auto answer = child->read(1, kSoon);
  ASSERT_FALSE(answer);
  EXPECT_TRUE(contains(answer.error().message, "more memory than is allowed"))
      << answer.error().message;
  EXPECT_EQ(child->finish().end, End::memory_limit);
}

/// A child is started; its watcher must soon hold less than 100 MiB, and serve the child all the
/// same.
void expect_small_watcher() {
  auto child = ChildProcess::start(program({"cat"}));
  ASSERT_TRUE(child);
  const auto field = [](std::int64_t pid, const char* file, std::size_t index) {
    const std::string text = *real_file_system().read("/proc/" + std::to_string(pid) + "/" + file);
    return *parse_integer(trim(split(text, ' ').at(index)));
  };
  const std::int64_t watcher = field(child->pid(), "stat", 3);
  EXPECT_NE(watcher, ::getpid());
  std::int64_t pages = INT64_MAX;
  for (int i = 0; i < 200 && pages > (100 << 20) / ::sysconf(_SC_PAGESIZE); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    pages = field(watcher, "statm", 1);
  }
  EXPECT_LT(pages * ::sysconf(_SC_PAGESIZE), 100 << 20);
  ASSERT_TRUE(child->write("still there", kSoon));
  EXPECT_EQ(*child->read(11, kSoon), "still there");
  EXPECT_EQ(child->finish().describe(), "exited with 0");
}

TEST(ChildProcess, ItsWatcherKeepsNoCopyOfOurMemory) {
  std::vector<char> large(300u << 20, 'x');
  expect_small_watcher();
  EXPECT_EQ(large.back(), 'x');
}

// The kernel makes one mapping of what lies side by side; here one holds 300 MiB and, above them,
// a thread's stack and its own data.
TEST(ChildProcess, ItsWatcherKeepsNoCopyThatIsOneMappingWithItsOwnData) {
  constexpr std::size_t kLarge = 300u << 20, kStack = 8u << 20;
  void* const memory = ::mmap(nullptr, kLarge + kStack, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 'x', kLarge);
  pthread_attr_t attributes;
  ASSERT_EQ(::pthread_attr_init(&attributes), 0);
  ASSERT_EQ(::pthread_attr_setstack(&attributes, memory, kLarge + kStack), 0);
  pthread_t thread{};
  const auto body = [](void*) -> void* {
    expect_small_watcher();
    return nullptr;
  };
  ASSERT_EQ(::pthread_create(&thread, &attributes, body, nullptr), 0);
  ASSERT_EQ(::pthread_join(thread, nullptr), 0);
  ::pthread_attr_destroy(&attributes);
  EXPECT_EQ(static_cast<const char*>(memory)[kLarge - 1], 'x');
  ::munmap(memory, kLarge + kStack);
}

TEST(ChildProcess, GoesWithTheObject) {
  pid_t pid = 0;
  {
    auto child = ChildProcess::start(program({"sleep", "300"}));
    pid = child->pid();
    EXPECT_TRUE(is_alive(pid));
    auto other = ChildProcess::start(program({"cat"}));
    *child = std::move(*other);
    EXPECT_FALSE(is_alive(pid));
    pid = child->pid();
  }
  EXPECT_FALSE(is_alive(pid));
}

TEST(FindProgram, TakesTheFirstNameAndTheNewestVersion) {
  const auto folder = TemporaryFolder::make();
  for (const char* name : {"tool", "tool-9", "tool-19", "tool-14", "tool-99", "tool-x", "other"}) {
    const fs::path file = folder->path() / name;
    ASSERT_TRUE(real_file_system().write(file, "#!/bin/sh\n"));
    if (std::string_view(name) != "tool-99") fs::permissions(file, fs::perms(0755));
  }
  fs::create_directory(folder->path() / "folder");
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", ("/nowhere:" + folder->path().string()).c_str(), 1);
  const auto newest = find_newest_program("tool");
  const auto only = find_newest_program("other");
  const auto first = find_program({"absent", "other", "tool"});
  const auto none = find_program({"absent", "folder"});
  ::setenv("PATH", "/nowhere", 1);
  const auto extra = find_program({"tool"}, {folder->path()});
  const auto gone = find_newest_program("tool");
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(newest, folder->path() / "tool-19");
  EXPECT_EQ(only, folder->path() / "other");
  EXPECT_EQ(first, folder->path() / "other");
  EXPECT_EQ(none, std::nullopt);
  EXPECT_EQ(extra, folder->path() / "tool");
  EXPECT_EQ(gone, std::nullopt);
}

}  // namespace
}  // namespace burnish
