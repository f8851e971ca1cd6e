#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/process.h"

namespace burnish {

/// A running program with all that it starts, and the pipes to it.
///
/// Between this process and the program stands a watcher: a fork of this process that is the
/// child subreaper (prctl(2)) of everything below it. Whatever a descendant does (setsid, double
/// fork, a cleaned environment), it stays below the watcher, so the watcher alone knows when the
/// tree is empty, may wait for any child without taking those of others, and cannot mistake a
/// stranger for a descendant. Several trees, from several threads, do not know of each other. When
/// this process dies in any way, the watcher sees its end of the channel close and kills the tree.
/// A program that kills its watcher on purpose dies with its group, but what left the group before
/// gets away; programs that are not trusted belong in a PID namespace.
class ProcessTree {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Overflow {
    ends,   ///< output beyond the limit ends the program
    waits,  ///< standard output is not read beyond the limit; of standard error the end is kept
  };

  static Result<std::unique_ptr<ProcessTree>> start(const ProcessSpec& spec, Overflow overflow);
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;
  ~ProcessTree();

  /// Moves what is there to be moved, or waits for that until `until` at the most. Ends the tree
  /// when it has outgrown a limit.
  void pump(Time until);
  void queue_input(std::string_view bytes) { input_.append(bytes); }
  void close_input();
  bool input_pending() const { return in_ >= 0 && input_at_ < input_.size(); }
  bool input_open() const { return in_ >= 0; }
  bool output_open() const { return out_ >= 0; }

  /// SIGTERM to the program's group, and SIGKILL to all a second later; `why` is what is told
  /// later.
  void terminate(ProcessResult::End why);
  /// SIGKILL to all.
  void kill(ProcessResult::End why);
  /// Pumps until nothing of the tree is left, or until the kernel has failed to kill it for 10 s.
  void wait_until_gone();

  bool ended() const { return ended_; }  ///< the program itself has, its descendants are dying
  bool gone() const { return channel_ < 0; }
  pid_t pid() const { return child_; }
  std::string& output() { return output_; }
  std::string& errors() { return errors_; }
  /// Once it is gone. Errors: somebody killed the watcher, so that nothing is known of the end.
  Result<ProcessResult> result();

 private:
  explicit ProcessTree(const ProcessSpec& spec, Overflow overflow);
  void read_from(int& fd, std::string& kept, bool is_output);
  void write_input();
  void read_channel();
  void drain();
  void command(char letter);
  std::uint64_t resident_bytes() const;

  std::string name_;
  Overflow overflow_;
  std::uint64_t output_limit_;
  std::uint64_t error_limit_;
  std::uint64_t memory_limit_;
  Time started_;
  Time next_memory_check_;
  pid_t watcher_ = -1;
  pid_t child_ = -1;
  int channel_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::string input_;
  std::size_t input_at_ = 0;
  std::string output_;
  std::string errors_;
  bool stopping_ = false;
  ProcessResult::End why_ = ProcessResult::End::exited;
  bool ended_ = false;
  int status_ = 0;
  std::chrono::nanoseconds wall_{0};
};

/// The first program of that name in a list of folders as PATH holds it.
std::optional<fs::path> find_program_in(std::string_view path_list, std::string_view name);

}  // namespace burnish
