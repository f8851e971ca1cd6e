#include "base/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/text.h"

namespace burnish {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr milliseconds kGrace{1000};         // between SIGTERM and SIGKILL
constexpr milliseconds kUnkillable{10'000};  // a driver may hold a process in the kernel for good
constexpr milliseconds kMemoryPeriod{20};
constexpr int kPipeBytes = 1 << 20;  // tensors go through

constexpr char kTerminate = 'T';
constexpr char kKill = 'K';

enum class Stage : int { fork, session, folder, descriptor, exec };

struct StartFailure {
  Stage stage;
  int number;  ///< errno
};

/// What comes over the channel: before the exec the program's pid, from its own process, and from
/// the watcher how it ended.
struct Report {
  pid_t pid;
  int status;
  std::int64_t at_ns;  ///< monotonic clock; 0 in the first report
};

/// All that the child needs, made before the fork: after it, in a program with threads, only
/// async-signal-safe calls are allowed, and no allocation.
struct Launch {
  std::string path;
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::string folder;
  std::vector<std::pair<int, int>> descriptors;  ///< {ours, the child's}
  int first_free = 3;                            ///< above every number in the child
  int error_fd = -1;                             ///< closed by a successful exec
  int channel = -1;
};

[[noreturn]] void fail_start(int error_fd, Stage stage) {
  const StartFailure failure{stage, errno};
  if (::write(error_fd, &failure, sizeof failure) < 0) ::_exit(126);
  ::_exit(127);
}

[[noreturn]] void run_program(Launch& launch, pid_t watcher) {
  if (::setsid() < 0) fail_start(launch.error_fd, Stage::session);
  // Should somebody kill the watcher, the program at least goes with it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != watcher) ::_exit(127);
  // The kernel's own call and its struct (handler, flags, restorer, mask), all zero for the
  // default: glibc's sigaction refuses signals 32 and 33, which a parent may have left ignored.
  const unsigned long plain[4]{};
  for (int number = 1; number < NSIG; ++number) {
    ::syscall(SYS_rt_sigaction, number, plain, nullptr, sizeof(unsigned long));
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);

  if (!launch.folder.empty() && ::chdir(launch.folder.c_str()) != 0) {
    fail_start(launch.error_fd, Stage::folder);
  }
  // First out of the way of the numbers to come, then each to its own.
  const int error_fd = ::fcntl(launch.error_fd, F_DUPFD_CLOEXEC, launch.first_free);
  if (error_fd < 0) fail_start(launch.error_fd, Stage::descriptor);
  const int channel = ::fcntl(launch.channel, F_DUPFD_CLOEXEC, launch.first_free);
  if (channel < 0) fail_start(error_fd, Stage::descriptor);
  for (auto& descriptor : launch.descriptors) {
    descriptor.first = ::fcntl(descriptor.first, F_DUPFD_CLOEXEC, launch.first_free);
    if (descriptor.first < 0) fail_start(error_fd, Stage::descriptor);
  }
  if (::close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC) != 0) {
    fail_start(error_fd, Stage::descriptor);
  }
  for (const auto& [ours, theirs] : launch.descriptors) {
    if (::dup2(ours, theirs) < 0) fail_start(error_fd, Stage::descriptor);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // From here, not from the watcher, which the program may kill before it has said anything.
  const Report report{::getpid(), 0, 0};
  ::send(channel, &report, sizeof report, MSG_NOSIGNAL);
  ::execve(launch.path.c_str(), launch.argv.data(), launch.environment.data());
  fail_start(error_fd, Stage::exec);
}

std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// The parent of a process, or -1. `stat` begins "pid (any text) S ppid".
pid_t parent_of(const char* pid_text) {
  char path[64] = "/proc/";
  std::strncat(path, pid_text, 32);
  std::strcat(path, "/stat");
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[512];
  const ssize_t size = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (size <= 0) return -1;
  text[size] = '\0';
  const char* end = std::strrchr(text, ')');
  if (end == nullptr || std::strlen(end) < 5) return -1;
  return static_cast<pid_t>(std::strtol(end + 4, nullptr, 10));
}

/// SIGKILL to each child of this process. A child's own children become ours as it dies, so a few
/// rounds reach all. opendir() allocates, so the folder is read by the system call beneath.
void kill_children() {
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return;
  const pid_t self = ::getpid();
  alignas(std::uint64_t) char buffer[4096];
  for (long size; (size = ::syscall(SYS_getdents64, proc, buffer, sizeof buffer)) > 0;) {
    for (long at = 0; at < size;) {
      // struct linux_dirent64: ino 8, off 8, reclen 2, type 1, name.
      unsigned short length;
      std::memcpy(&length, buffer + at + 16, sizeof length);
      const char* name = buffer + at + 19;
      at += length;
      if (*name < '1' || *name > '9' || parent_of(name) != self) continue;
      ::kill(static_cast<pid_t>(std::strtol(name, nullptr, 10)), SIGKILL);
    }
  }
  ::close(proc);
}

void close_all_but(unsigned a, unsigned b) {
  const unsigned low = std::min(a, b), high = std::max(a, b);
  if (low > 0) ::close_range(0, low - 1, 0);
  if (high > low + 1) ::close_range(low + 1, high - 1, 0);
  ::close_range(high + 1, UINT_MAX, 0);
}

/// Gives back the watcher's copies of what burnish holds: they would keep gigabytes alive that
/// burnish itself frees meanwhile. Only large anonymous mappings matter; what lies round the stack
/// and the thread's own data is spared, which may have become one mapping with what is large, and
/// all else that the watcher touches is mapped from files.
void release_memory() {
  constexpr std::uintptr_t kLarge = 32u << 20;
  constexpr std::uintptr_t kSpared = 16u << 20;  // on both sides, and a multiple of pages
  const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto thread = reinterpret_cast<std::uintptr_t>(&errno);
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return;
  char line[128] = {};  // "begin-end perms offset device inode path"; the path may be cut off
  std::size_t length = 0;
  char chunk[1024];
  for (ssize_t size; (size = ::read(maps, chunk, sizeof chunk)) > 0;) {
    for (ssize_t i = 0; i < size; ++i) {
      if (chunk[i] != '\n') {
        if (length + 1 < sizeof line) line[length++] = chunk[i];
        continue;
      }
      line[std::exchange(length, 0)] = '\0';
      char* at = line;
      const std::uintptr_t begin = std::strtoull(at, &at, 16);
      const std::uintptr_t end = std::strtoull(at + 1, &at, 16);
      if (end - begin < kLarge || std::strncmp(at, " rw-p ", 6) != 0) continue;
      const char* device = std::strchr(at + 6, ' ');
      if (device == nullptr || std::strncmp(device, " 00:00 0", 8) != 0) continue;
      std::uintptr_t from = begin;
      for (const std::uintptr_t own : {std::min(stack, thread), std::max(stack, thread)}) {
        if (own < begin || own >= end) continue;
        const std::uintptr_t middle = own / kSpared * kSpared, low = middle - kSpared;
        if (low > from) ::madvise(reinterpret_cast<void*>(from), low - from, MADV_DONTNEED);
        from = std::max(from, middle + 2 * kSpared);
      }
      if (from < end) ::madvise(reinterpret_cast<void*>(from), end - from, MADV_DONTNEED);
    }
  }
  ::close(maps);
}

/// The watcher's whole life. All signals are blocked, so that a Ctrl-C for the terminal's group
/// does not end it before its tree.
[[noreturn]] void watch(Launch& launch) {
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "burnish-watcher");
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;  // ignored, children would vanish without a status
  ::sigaction(SIGCHLD, &plain, nullptr);
  sigset_t child_ended;
  ::sigemptyset(&child_ended);
  ::sigaddset(&child_ended, SIGCHLD);
  const int signals = ::signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK);
  const pid_t self = ::getpid();
  // The program's process borrows this memory until its exec; copying it once was enough.
  const pid_t child = signals < 0 ? -1 : ::vfork();
  if (child == 0) run_program(launch, self);
  if (child < 0) fail_start(launch.error_fd, Stage::fork);

  Report report{child, 0, 0};
  int channel = launch.channel;
  close_all_but(static_cast<unsigned>(channel), static_cast<unsigned>(signals));
  release_memory();  // and `launch` with it

  bool is_child_alive = true;
  bool is_killing = false;
  std::int64_t kill_at = INT64_MAX;
  int pause = 1;
  while (true) {
    int status = 0;
    pid_t reaped;
    while ((reaped = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (reaped != child) continue;
      is_child_alive = false;
      is_killing = true;
      report.status = status;
      report.at_ns = monotonic_ns();
      ::send(channel, &report, sizeof report, MSG_NOSIGNAL);
    }
    if (reaped < 0 && errno == ECHILD) ::_exit(0);

    int timeout = -1;
    if (!is_killing && kill_at != INT64_MAX) {
      const std::int64_t left = kill_at - monotonic_ns();
      if (left <= 0) {
        is_killing = true;
      } else {
        timeout = static_cast<int>(left / 1'000'000) + 1;
      }
    }
    if (is_killing) {
      if (is_child_alive) {
        ::kill(-child, SIGKILL);
        ::kill(child, SIGKILL);
      }
      kill_children();
      timeout = pause;
      pause = std::min(2 * pause, 50);
    }

    pollfd events[2] = {{signals, POLLIN, 0}, {channel, POLLIN, 0}};
    ::poll(events, channel < 0 ? 1 : 2, timeout);
    if (events[0].revents != 0) {
      signalfd_siginfo ignored;
      while (::read(signals, &ignored, sizeof ignored) > 0) {
      }
    }
    if (channel >= 0 && events[1].revents != 0) {
      char letter = 0;
      const ssize_t got = ::recv(channel, &letter, 1, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {  // burnish is gone
        ::close(channel);
        channel = -1;
        is_killing = true;
      } else if (got > 0 && letter == kKill) {
        is_killing = true;
      } else if (got > 0 && letter == kTerminate && is_child_alive && kill_at == INT64_MAX) {
        ::kill(-child, SIGTERM);
        kill_at = monotonic_ns() + nanoseconds(kGrace).count();
      }
    }
  }
}

/// Descriptors that close unless they are let go.
class Pair {
 public:
  Pair() = default;
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    close(0);
    close(1);
  }
  bool open_pipe() { return ::pipe2(fds_, O_CLOEXEC) == 0; }
  void widen_pipe(int bytes) { ::fcntl(fds_[1], F_SETPIPE_SZ, bytes); }  // a smaller one serves too
  bool open_channel() { return ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds_) == 0; }
  int get(int end) const { return fds_[end]; }
  int release(int end) { return std::exchange(fds_[end], -1); }
  void close(int end) {
    if (fds_[end] >= 0) ::close(std::exchange(fds_[end], -1));
  }

 private:
  int fds_[2] = {-1, -1};
};

void unblock(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

/// Watchers whose tree the kernel would not kill; reaped whenever they end after all.
class Abandoned {
 public:
  void add(pid_t pid) {
    const std::lock_guard lock(mutex_);
    pids_.push_back(pid);
  }
  void reap() {
    const std::lock_guard lock(mutex_);
    std::erase_if(pids_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> pids_;
};

Abandoned& abandoned() {
  static Abandoned list;
  return list;
}

using Environment = std::map<std::string, std::string>;

Environment environment_of(const ProcessSpec& spec) {
  Environment result;
  if (spec.environment) {
    result = *spec.environment;
  } else {
    for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
      const std::string_view entry = *at;
      const std::size_t equals = entry.find('=');
      if (equals == std::string_view::npos) continue;
      result.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  for (const auto& [name, value] : spec.extra_environment) result.insert_or_assign(name, value);
  return result;
}

Error start_error(const ProcessSpec& spec, const StartFailure& failure) {
  const std::string why = std::strerror(failure.number);
  const std::string& name = spec.argv[0];
  switch (failure.stage) {
    case Stage::folder:
      return environment_error(
          fmt::format("cannot run `{}` in the folder {}: {}", name, spec.folder.string(), why));
    case Stage::exec:
      if (failure.number == ENOENT && fs::exists(spec.folder / name)) {
        return environment_error(
            fmt::format("cannot run `{}`: the interpreter that it names is not there", name));
      }
      return environment_error(fmt::format("cannot run `{}`: {}", name, why));
    case Stage::descriptor:
      return environment_error(fmt::format("cannot pass the descriptors to `{}`: {}", name, why));
    case Stage::fork:
    case Stage::session:
      break;
  }
  return environment_error(fmt::format("cannot start a process for `{}`: {}", name, why));
}

ssize_t write_without_sigpipe(int fd, const char* data, std::size_t size) {
  sigset_t only_pipe, before, pending;
  ::sigemptyset(&only_pipe);
  ::sigaddset(&only_pipe, SIGPIPE);
  ::sigpending(&pending);
  ::pthread_sigmask(SIG_BLOCK, &only_pipe, &before);
  const ssize_t written = ::write(fd, data, size);
  const int number = errno;
  if (written < 0 && number == EPIPE && ::sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    while (::sigtimedwait(&only_pipe, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = number;
  return written;
}

std::string read_small(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = ::read(fd, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

std::vector<std::string> numbers_in(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* opened = ::opendir(folder.c_str())) {
    while (const dirent* entry = ::readdir(opened)) {
      if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') names.emplace_back(entry->d_name);
    }
    ::closedir(opened);
  }
  return names;
}

/// The pids below `root`, itself not among them.
std::vector<std::string> descendants(pid_t root) {
  static const bool lists_children =
      ::access(fmt::format("/proc/self/task/{}/children", ::getpid()).c_str(), R_OK) == 0;
  std::multimap<std::string, std::string> children;  // only where the kernel keeps no such lists
  if (!lists_children) {
    for (const std::string& pid : numbers_in("/proc")) {
      children.emplace(std::to_string(parent_of(pid.c_str())), pid);
    }
  }
  std::vector<std::string> found = {std::to_string(root)};
  for (std::size_t at = 0; at < found.size(); ++at) {
    const std::string parent = found[at];
    if (!lists_children) {
      const auto range = children.equal_range(parent);
      for (auto child = range.first; child != range.second; ++child) found.push_back(child->second);
      continue;
    }
    for (const std::string& thread : numbers_in("/proc/" + parent + "/task")) {
      const std::string list = read_small(fmt::format("/proc/{}/task/{}/children", parent, thread));
      for (const std::string_view pid : split(list, ' ')) {
        if (!pid.empty()) found.emplace_back(pid);
      }
    }
  }
  found.erase(found.begin());
  return found;
}

}  // namespace

ProcessTree::ProcessTree(const ProcessSpec& spec, Overflow overflow)
    : name_(spec.argv[0]),
      overflow_(overflow),
      output_limit_(spec.output_limit),
      error_limit_(spec.error_limit),
      memory_limit_(spec.memory_limit),
      input_(spec.input) {}

Result<std::unique_ptr<ProcessTree>> ProcessTree::start(const ProcessSpec& spec,
                                                        Overflow overflow) {
  if (spec.argv.empty() || spec.argv[0].empty()) return bug("a process needs a program's name");
  abandoned().reap();

  Launch launch;
  const Environment environment = environment_of(spec);
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  std::vector<std::string> arguments = spec.argv;
  for (const std::vector<std::string>* texts : {&entries, &arguments}) {
    for (const std::string& text : *texts) {
      if (contains(text, std::string_view("\0", 1))) {
        return bad_input(
            fmt::format("cannot run `{}`: an argument or an environment variable "
                        "holds a zero byte",
                        spec.argv[0]));
      }
    }
  }
  for (std::string& entry : entries) launch.environment.push_back(entry.data());
  for (std::string& argument : arguments) launch.argv.push_back(argument.data());
  launch.environment.push_back(nullptr);
  launch.argv.push_back(nullptr);
  launch.folder = spec.folder.string();
  launch.path = spec.argv[0];
  if (!contains(launch.path, "/")) {
    const auto path = environment.find("PATH");
    const auto found =
        find_program_in(path == environment.end() ? "/usr/bin:/bin" : path->second, spec.argv[0]);
    if (!found) {
      return environment_error(fmt::format("cannot find the program `{}` on PATH", spec.argv[0]))
          .with_hint(fmt::format("install {} or put its folder on PATH", spec.argv[0]));
    }
    launch.path = fs::absolute(*found).string();
  }

  Pair in, out, err, start_pipe, channel;
  if (!in.open_pipe() || !out.open_pipe() || !err.open_pipe() || !start_pipe.open_pipe() ||
      !channel.open_channel()) {
    return environment_error(
        fmt::format("cannot make the pipes for `{}`: {}", spec.argv[0], std::strerror(errno)));
  }
  in.widen_pipe(kPipeBytes);
  // It shall not hold much more than may come out.
  if (spec.output_limit >= kPipeBytes) out.widen_pipe(kPipeBytes);
  launch.descriptors = {{in.get(0), 0}, {out.get(1), 1}, {err.get(1), 2}};
  for (const auto& [ours, theirs] : spec.pass_fds) {
    launch.descriptors.emplace_back(ours, theirs);
    launch.first_free = std::max(launch.first_free, theirs + 1);
  }
  launch.error_fd = start_pipe.get(1);
  launch.channel = channel.get(1);

  std::unique_ptr<ProcessTree> tree(new ProcessTree(spec, overflow));
  tree->started_ = steady_clock::now();
  tree->next_memory_check_ = tree->started_;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t watcher = ::_Fork();
  if (watcher == 0) watch(launch);
  const int fork_number = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (watcher < 0) return start_error(spec, {Stage::fork, fork_number});
  tree->watcher_ = watcher;
  tree->channel_ = channel.release(0);
  tree->in_ = in.release(1);
  tree->out_ = out.release(0);
  tree->err_ = err.release(0);
  for (const int fd : {tree->in_, tree->out_, tree->err_}) unblock(fd);
  in.close(0);
  out.close(1);
  err.close(1);
  start_pipe.close(1);
  channel.close(1);

  StartFailure failure{};
  ssize_t got;
  do {
    got = ::read(start_pipe.get(0), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof failure) return start_error(spec, failure);  // the tree's end reaps

  Report report{};
  do {
    got = ::recv(tree->channel_, &report, sizeof report, 0);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof report) tree->child_ = report.pid;  // otherwise result() tells
  return tree;
}

ProcessTree::~ProcessTree() {
  kill(why_);
  wait_until_gone();
  for (const int fd : {in_, out_, err_, channel_}) {
    if (fd >= 0) ::close(fd);
  }
  // Without a channel it is a zombie already or just about to be one.
  if (watcher_ > 0 && (channel_ >= 0 || ::waitpid(watcher_, nullptr, 0) < 0)) {
    abandoned().add(watcher_);
  }
}

void ProcessTree::close_input() {
  if (in_ >= 0) ::close(std::exchange(in_, -1));
}

void ProcessTree::command(char letter) {
  if (channel_ >= 0) ::send(channel_, &letter, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ProcessTree::terminate(ProcessResult::End why) {
  if (!stopping_ && !ended_) why_ = why;
  stopping_ = true;
  command(kTerminate);
}

void ProcessTree::kill(ProcessResult::End why) {
  if (!stopping_ && !ended_) why_ = why;
  stopping_ = true;
  command(kKill);
}

void ProcessTree::read_from(int& fd, std::string& kept, bool is_output) {
  static constexpr std::size_t kChunk = 256 * 1024;
  std::array<char, kChunk> chunk;
  ssize_t got;
  do {
    got = ::read(fd, chunk.data(), chunk.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    ::close(std::exchange(fd, -1));
    return;
  }
  kept.append(chunk.data(), static_cast<std::size_t>(got));
  if (overflow_ == Overflow::waits && !is_output && error_limit_ > 0 &&
      kept.size() > error_limit_) {
    kept.resize(static_cast<std::size_t>(error_limit_));
    kill(ProcessResult::End::output_limit);
  }
  if (kept.size() <= output_limit_) return;
  if (overflow_ == Overflow::ends) {
    kept.resize(static_cast<std::size_t>(output_limit_));
    // What is cut off must not pass for the whole, even when the program has ended by itself.
    if (!stopping_) why_ = ProcessResult::End::output_limit;
    kill(ProcessResult::End::output_limit);
  } else if (!is_output && kept.size() > 2 * output_limit_ + kChunk) {
    kept.erase(0, kept.size() - static_cast<std::size_t>(output_limit_));
  }
}

void ProcessTree::write_input() {
  const ssize_t written =
      write_without_sigpipe(in_, input_.data() + input_at_, input_.size() - input_at_);
  if (written < 0) {
    // A program that reads no further may still do its work.
    if (errno != EAGAIN && errno != EINTR) close_input();
    return;
  }
  input_at_ += static_cast<std::size_t>(written);
  if (input_at_ == input_.size()) {
    input_.clear();
    input_at_ = 0;
  }
}

void ProcessTree::read_channel() {
  Report report{};
  ssize_t got = ::recv(channel_, &report, sizeof report, MSG_DONTWAIT);
  // The watcher may end with a command of ours unread; that error comes before what it has sent.
  if (got < 0 && errno == ECONNRESET) got = ::recv(channel_, &report, sizeof report, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got == sizeof report && report.at_ns == 0) return;  // of an exec that then failed
  if (got == sizeof report) {
    ended_ = true;
    status_ = report.status;
    wall_ = nanoseconds(report.at_ns) - started_.time_since_epoch();
    return;
  }
  ::close(std::exchange(channel_, -1));
  // The watcher was killed. Nothing is sure any more, but whoever stayed in the group can go.
  if (!ended_ && child_ > 0) ::kill(-child_, SIGKILL);
  drain();
}

/// All writers are dead: what they wrote is in the pipes.
void ProcessTree::drain() {
  // A descriptor that left the tree (over a socket) may keep a pipe open; two pipes' worth at most
  // was written by the dead, unless somebody has made them larger.
  for (int* fd : {&out_, &err_}) {
    std::string& kept = fd == &out_ ? output_ : errors_;
    for (int chunks = 0; *fd >= 0 && chunks < 1024; ++chunks) {
      pollfd event{*fd, POLLIN, 0};
      if (::poll(&event, 1, 0) <= 0) break;
      read_from(*fd, kept, fd == &out_);
    }
  }
}

void ProcessTree::pump(Time until) {
  if (gone()) return;
  const Time now = steady_clock::now();
  if (memory_limit_ > 0 && !stopping_ && !ended_) {
    if (now >= next_memory_check_) {
      if (resident_bytes() > memory_limit_) kill(ProcessResult::End::memory_limit);
      next_memory_check_ = now + kMemoryPeriod;
    }
    until = std::min(until, next_memory_check_);
  }
  std::array<pollfd, 4> events;
  std::size_t count = 0;
  const auto want = [&](int fd, short what) { events[count++] = {fd, what, 0}; };
  want(channel_, POLLIN);
  if (input_pending()) want(in_, POLLOUT);
  if (out_ >= 0 && (overflow_ == Overflow::ends || output_.size() < output_limit_)) {
    want(out_, POLLIN);
  }
  if (err_ >= 0) want(err_, POLLIN);
  const auto left = std::chrono::ceil<milliseconds>(until - now).count();
  const int timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
  if (::poll(events.data(), count, timeout) <= 0) return;
  // The channel comes last: once it closes, the pipes are drained for good.
  for (std::size_t i = 1; i < count; ++i) {
    if (events[i].revents == 0) continue;
    if (events[i].fd == in_) {
      write_input();
    } else if (events[i].fd == out_) {
      read_from(out_, output_, true);
    } else if (events[i].fd == err_) {
      read_from(err_, errors_, false);
    }
  }
  if (events[0].revents != 0) read_channel();
}

void ProcessTree::wait_until_gone() {
  const Time limit = steady_clock::now() + kUnkillable;
  while (!gone() && steady_clock::now() < limit) {
    // With backpressure nobody may be left to read; the dead do not mind.
    pump(limit);
  }
}

std::uint64_t ProcessTree::resident_bytes() const {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t pages = 0;
  for (const std::string& pid : descendants(watcher_)) {
    const std::string statm = read_small("/proc/" + pid + "/statm");  // size resident shared …
    const auto fields = split(statm, ' ');
    if (fields.size() > 1) {
      pages += static_cast<std::uint64_t>(parse_integer(fields[1]).value_or(0));
    }
  }
  return pages * page;
}

Result<ProcessResult> ProcessTree::result() {
  if (!ended_ && gone()) {
    return environment_error(
               fmt::format("cannot tell how `{}` ended: the process that watched it was killed",
                           name_))
        .with_hint("look for the out-of-memory killer in the kernel's log");
  }
  ProcessResult result;
  result.end = why_;
  result.wall = ended_ ? wall_ : steady_clock::now() - started_;
  if (WIFSIGNALED(status_)) {
    result.code = WTERMSIG(status_);
    if (why_ == ProcessResult::End::exited) result.end = ProcessResult::End::signalled;
  } else {
    result.code = WEXITSTATUS(status_);
  }
  if (!ended_) result.code = SIGKILL;
  if (overflow_ == Overflow::waits && errors_.size() > output_limit_) {
    errors_.erase(0, errors_.size() - static_cast<std::size_t>(output_limit_));
  }
  result.output = std::move(output_);
  result.errors = std::move(errors_);
  return result;
}

}  // namespace burnish
