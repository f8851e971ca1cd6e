#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace burnish {

/// One program to run. It starts in its own session and process group, and is killed with every
/// descendant, those that escaped with setsid() too, when it ends, times out or outgrows a limit.
struct ProcessSpec {
  std::vector<std::string> argv;  ///< argv[0]: on the PATH it gets, or with a '/' in `folder`
  fs::path folder;                ///< working folder; empty: this process's
  std::optional<std::map<std::string, std::string>> environment;  ///< whole; absent: inherited
  std::map<std::string, std::string> extra_environment;           ///< added on top
  std::string input;                                              ///< written to its standard input
  std::vector<std::pair<int, int>> pass_fds;   ///< {our descriptor, its number in the child}
  std::chrono::milliseconds deadline{60'000};  ///< of run(): SIGTERM, and SIGKILL a second later
  std::uint64_t output_limit = 64u << 20;      ///< bytes kept of stdout and of stderr; more ends it
  std::uint64_t error_limit = 0;               ///< bytes of stderr that end a ChildProcess; 0: none
  std::uint64_t memory_limit = 0;              ///< resident bytes of the whole tree; 0: none
};

struct ProcessResult {
  enum class End { exited, signalled, timed_out, output_limit, memory_limit };
  End end = End::exited;
  int code = 0;  ///< exit status, or the signal's number
  std::string output;
  std::string errors;
  std::chrono::nanoseconds wall{0};
  bool ok() const { return end == End::exited && code == 0; }
  /// "exited with 2", "was killed by SIGSEGV (segmentation fault)", "was stopped after 60 s" …
  std::string describe() const;
};

/// Runs programs; a seam for tests.
class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  /// An Error only when the program could not be started (environment: not found, not executable).
  virtual Result<ProcessResult> run(const ProcessSpec& spec) = 0;
};

ProcessRunner& real_process_runner();

/// A program that stays alive and is talked to over its standard input and output; the worker.
/// Not thread-safe. ProcessSpec::deadline does not count here: each call has its own. A limit of
/// memory is held while a call waits.
class ChildProcess {
 public:
  static Result<ChildProcess> start(const ProcessSpec& spec);
  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) noexcept;
  ~ChildProcess();  ///< kills the whole tree

  /// Errors: timeout (the tree is then killed), or environment when the child has ended.
  Result<void> write(std::string_view bytes, std::chrono::milliseconds deadline);
  /// Exactly `size` bytes of its standard output.
  Result<std::string> read(std::size_t size, std::chrono::milliseconds deadline);
  /// What it wrote to standard error so far, the last `output_limit` bytes.
  std::string errors() const;
  /// Closes its standard input, gives it a second to end by itself, kills the tree and says how the
  /// child ended. `output` is what was never read.
  ProcessResult finish();
  int pid() const;

 private:
  struct State;
  explicit ChildProcess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The first program of these names on PATH (or in `extra` folders), absent when none is there.
std::optional<fs::path> find_program(const std::vector<std::string>& names,
                                     const std::vector<fs::path>& extra = {});

/// The newest `name-<major>` or `name` on PATH, e.g. llvm-objdump-19 before llvm-objdump-14.
std::optional<fs::path> find_newest_program(std::string_view name);

}  // namespace burnish
