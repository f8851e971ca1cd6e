#include "device/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace burnish::device {
namespace {

constexpr int kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC;
constexpr char kConfinementVariable[] = "BURNISH_WORKER_CONFINEMENT";
/// What a worker may leave in its /tmp: build products and compilers' temporaries.
constexpr char kTemporaryBytes[] = "1073741824";

/// Names of the environment that workers keep: how programs and drivers are found, nothing else, so
/// that no candidate sees a key and no stray POCL_* or CUDA_* variable changes what is measured.
constexpr const char* kKept[] = {
    "PATH",
    "LD_LIBRARY_PATH",
    "OCL_ICD_VENDORS",
    "OPENCL_VENDOR_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCM_PATH",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ASAN_OPTIONS",
    "UBSAN_OPTIONS",
};

std::vector<std::string> bubblewrap_arguments(DeviceFiles files) {
  std::vector<std::string> arguments = {"bwrap",
                                        "--die-with-parent",
                                        "--unshare-net",
                                        "--unshare-pid",
                                        "--unshare-ipc",
                                        "--cap-drop",
                                        "ALL",
                                        "--ro-bind",
                                        "/",
                                        "/"};
  if (files == DeviceFiles::all) {
    arguments.insert(arguments.end(), {"--dev-bind", "/dev", "/dev"});
  } else {
    arguments.insert(arguments.end(), {"--dev", "/dev"});
  }
  arguments.insert(arguments.end(),
                   {"--proc", "/proc", "--size", kTemporaryBytes, "--tmpfs", "/tmp"});
  return arguments;
}

/// Why bubblewrap cannot be used; empty when it can.
std::string bubblewrap_trouble() {
  if (!find_program({"bwrap"})) return "bubblewrap is not installed";
  ProcessSpec spec;
  spec.argv = bubblewrap_arguments(DeviceFiles::none);
  spec.argv.insert(spec.argv.end(), {"--", "true"});
  spec.deadline = std::chrono::seconds(5);
  const Result<ProcessResult> result = real_process_runner().run(spec);
  if (!result) return result.error().message;
  if (result->ok()) return "";
  return fmt::format("bubblewrap {}: {}", result->describe(), trim(result->errors.substr(0, 200)));
}

/// Why namespaces cannot be used; empty when they can.
std::string namespaces_trouble() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(kNamespaces) == 0 ? 0 : errno);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) < 0 || !WIFEXITED(status)) {
    return "namespaces could not be tried";
  }
  if (WEXITSTATUS(status) == 0) return "";
  return fmt::format("namespaces are not allowed ({})", std::strerror(WEXITSTATUS(status)));
}

Error cannot(std::string_view what) {
  return environment_error(
      fmt::format("cannot confine the worker: {}: {}", what, std::strerror(errno)));
}

bool write_file(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return done;
}

/// Passes the end of `child` on as a shell does, for the judge to read.
[[noreturn]] void wait_and_exit(pid_t child) {
  int status = 0;
  while (true) {
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) ::_exit(70);
  }
  ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/// Forks; the parent waits for the child's end and goes the same way.
bool continue_in_child() {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child > 0) wait_and_exit(child);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return true;
}

}  // namespace

const std::string& confinement_trouble(Confinement confinement) {
  static const std::string none;
  switch (confinement) {
    case Confinement::bubblewrap: {
      static const std::string bubblewrap = bubblewrap_trouble();
      return bubblewrap;
    }
    case Confinement::namespaces: {
      static const std::string namespaces = namespaces_trouble();
      return namespaces;
    }
    case Confinement::process_group:
      break;
  }
  return none;
}

const Sandbox& best_sandbox() {
  static const Sandbox best = [] {
    const std::string& no_bubblewrap = confinement_trouble(Confinement::bubblewrap);
    if (no_bubblewrap.empty()) return Sandbox{Confinement::bubblewrap, "bubblewrap"};
    const std::string& no_namespaces = confinement_trouble(Confinement::namespaces);
    if (no_namespaces.empty()) return Sandbox{Confinement::namespaces, "namespaces"};
    return Sandbox{Confinement::process_group,
                   fmt::format("process group only: {}; {}", no_bubblewrap, no_namespaces)};
  }();
  return best;
}

std::vector<std::string> confined_command(Confinement confinement, DeviceFiles files,
                                          const fs::path& program) {
  std::vector<std::string> command;
  if (confinement == Confinement::bubblewrap) {
    command = bubblewrap_arguments(files);
    command.insert(command.end(), {"--dir", kPrivateFolder});
    // A program that lives under /tmp would vanish beneath the empty one.
    const fs::path folder = program.parent_path();
    if (folder == "/tmp") {
      command.insert(command.end(), {"--ro-bind", program.string(), program.string()});
    }
    if (program.string().starts_with("/tmp/")) {
      for (const fs::path& needed : {folder, folder.parent_path() / "lib"}) {
        std::error_code ignored;
        if (needed == "/tmp" || !fs::is_directory(needed, ignored)) continue;
        command.insert(command.end(), {"--ro-bind", needed.string(), needed.string()});
      }
    }
    command.emplace_back("--");
  }
  command.insert(command.end(), {program.string(), "worker"});
  return command;
}

namespace {

/// The folders with the system's own C++ library, when this program brings one (`make dist`):
/// drivers are built against the system's, which may be newer, and only one can be loaded.
std::string system_library_path() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path name = "libstdc++.so.6";
  if (error || !fs::exists(program.parent_path().parent_path() / "lib" / name, error)) return "";
  std::string path;
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"}) {
    if (!fs::exists(folder / name, error)) continue;
    if (!path.empty()) path += ':';
    path += folder;
  }
  return path;
}

/// PoCL pins its thread i to processor i, and newer ones abort where that one is not allowed: in
/// the cpuset of a container or a batch job.
bool may_pin_from_zero() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  for (int cpu = 0; cpu < CPU_COUNT(&allowed); ++cpu)
    if (!CPU_ISSET(cpu, &allowed)) return false;
  return true;
}

}  // namespace

std::map<std::string, std::string> worker_environment(Confinement confinement,
                                                      const fs::path& folder) {
  std::map<std::string, std::string> environment;
  for (const char* name : kKept) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  if (const std::string path = system_library_path(); !path.empty()) {
    std::string& folders = environment["LD_LIBRARY_PATH"];
    folders += (folders.empty() ? "" : ":") + path;
  }
  environment["LC_ALL"] = "C";
  for (const char* name : {"HOME", "TMPDIR", "XDG_CACHE_HOME", "CUDA_CACHE_PATH"}) {
    environment[name] = folder.string();
  }
  // A cache of the session's own: a shared one would hide what compiling costs and mix candidates.
  environment["POCL_CACHE_DIR"] = (folder / "pocl").string();
  if (may_pin_from_zero()) environment["POCL_AFFINITY"] = "1";
#ifdef __SANITIZE_ADDRESS__
  environment["ASAN_OPTIONS"] += ":handle_segv=0:handle_sigbus=0:handle_abort=0:detect_leaks=0";
#endif
  environment["BURNISH_WORKER_FOLDER"] = folder.string();
  environment[kConfinementVariable] =
      confinement == Confinement::namespaces ? "namespaces" : "outside";
  return environment;
}

Result<void> enter_confinement() {
  const char* wanted = std::getenv(kConfinementVariable);
  if (wanted == nullptr || std::string_view(wanted) != "namespaces") return {};

  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  if (::unshare(kNamespaces) != 0) return cannot("unshare");
  write_file("/proc/self/setgroups", "deny");
  if (!write_file("/proc/self/uid_map", fmt::format("{0} {0} 1", user)) ||
      !write_file("/proc/self/gid_map", fmt::format("{0} {0} 1", group))) {
    return cannot("mapping the user");
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return cannot("mounts");
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes) !=
      0) {
    return cannot("making the file system read-only");
  }
  const std::string options = fmt::format("mode=0700,size={}", kTemporaryBytes);
  if (::mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return cannot("mounting /tmp");
  }
  // Drivers expect it to be writable; without it they say so themselves.
  ::mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options.c_str());
  if (::mkdir(kPrivateFolder, 0700) != 0) return cannot("making the private folder");

  // The first child is process 1 of the new space. It only waits, since signals that process 1
  // raises against itself are lost, abort() among them.
  if (!continue_in_child()) return cannot("fork");
  ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);  // or the outer one
  if (!continue_in_child()) return cannot("fork");
  return {};
}

}  // namespace burnish::device
