#include "base/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/process_tree.h"
#include "base/text.h"

namespace burnish {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What a program that has closed its pipe, or was told to end, may take to do so.
constexpr milliseconds kGrace{1000};

ProcessTree::Time after(milliseconds duration) {
  // Far enough for anybody, and it cannot overflow the clock.
  return steady_clock::now() + std::min<milliseconds>(duration, std::chrono::hours(24 * 365));
}

std::string described_signal(int number) {
  const char* name = ::sigabbrev_np(number);
  const char* meaning = ::sigdescr_np(number);
  if (name == nullptr || meaning == nullptr) return fmt::format("signal {}", number);
  return fmt::format("SIG{} ({})", name, to_lower(meaning));
}

class RealProcessRunner : public ProcessRunner {
 public:
  Result<ProcessResult> run(const ProcessSpec& spec) override {
    BURNISH_TRY_ASSIGN(const auto tree, ProcessTree::start(spec, ProcessTree::Overflow::ends));
    const ProcessTree::Time deadline = after(spec.deadline);
    while (!tree->ended() && !tree->gone()) {
      if (!tree->input_pending()) tree->close_input();
      if (steady_clock::now() >= deadline) {
        tree->terminate(ProcessResult::End::timed_out);
        tree->wait_until_gone();
        break;
      }
      tree->pump(deadline);
    }
    tree->wait_until_gone();
    return tree->result();
  }
};

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::vector<fs::path> folders_of(std::string_view path_list) {
  std::vector<fs::path> folders;
  for (const std::string_view folder : split(path_list, ':')) {
    folders.emplace_back(folder.empty() ? "." : folder);  // POSIX: empty is the current folder
  }
  return folders;
}

std::vector<fs::path> path_folders() {
  const char* list = std::getenv("PATH");
  return list == nullptr ? std::vector<fs::path>{} : folders_of(list);
}

}  // namespace

std::string ProcessResult::describe() const {
  switch (end) {
    case End::exited:
      return fmt::format("exited with {}", code);
    case End::signalled:
      return "was killed by " + described_signal(code);
    case End::timed_out:
      return "was stopped after " + with_prefix(std::chrono::duration<double>(wall).count(), "s");
    case End::output_limit:
      return "was stopped because it printed more than is allowed";
    case End::memory_limit:
      return "was stopped because it used more memory than is allowed";
  }
  return "ended";
}

ProcessRunner& real_process_runner() {
  static RealProcessRunner runner;
  return runner;
}

struct ChildProcess::State {
  std::unique_ptr<ProcessTree> tree;
  std::string name;
  std::uint64_t output_limit;

  Error ended(std::string_view doing) {
    // It may have closed its pipes a moment before its end.
    const ProcessTree::Time soon = after(kGrace);
    while (!tree->ended() && !tree->gone() && steady_clock::now() < soon) tree->pump(soon);
    std::string how = "closed its pipe";
    if (tree->ended()) {
      tree->wait_until_gone();
      // Only how it ended is wanted; what it said stays where it is.
      std::string output = std::move(tree->output()), errors = std::move(tree->errors());
      if (const auto result = tree->result()) how = result->describe();
      tree->output() = std::move(output);
      tree->errors() = std::move(errors);
    } else if (tree->gone()) {
      how = "was lost";
    }
    std::string_view last_words;
    for (const std::string_view line : split_lines(tree->errors())) {
      if (!trim(line).empty()) last_words = trim(line);
    }
    std::string message = fmt::format("`{}` {} {}", name, how, doing);
    if (!last_words.empty()) {
      message += fmt::format("; its last words: {}", to_valid_utf8(last_words.substr(0, 500)));
    }
    return environment_error(std::move(message));
  }

  Error late(std::string_view doing, milliseconds deadline) {
    tree->kill(ProcessResult::End::timed_out);
    tree->wait_until_gone();
    return timed_out(fmt::format("`{}` was stopped: it took longer than {} {}", name,
                                 with_prefix(std::chrono::duration<double>(deadline).count(), "s"),
                                 doing));
  }
};

ChildProcess::ChildProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChildProcess::ChildProcess(ChildProcess&&) noexcept = default;
ChildProcess& ChildProcess::operator=(ChildProcess&&) noexcept = default;
ChildProcess::~ChildProcess() = default;

Result<ChildProcess> ChildProcess::start(const ProcessSpec& spec) {
  auto state = std::make_unique<State>();
  BURNISH_TRY_ASSIGN(state->tree, ProcessTree::start(spec, ProcessTree::Overflow::waits));
  state->name = spec.argv[0];
  state->output_limit = spec.output_limit;
  return ChildProcess(std::move(state));
}

Result<void> ChildProcess::write(std::string_view bytes, milliseconds deadline) {
  ProcessTree& tree = *state_->tree;
  const ProcessTree::Time until = after(deadline);
  tree.queue_input(bytes);
  while (tree.input_pending() && !tree.ended() && !tree.gone()) {
    if (steady_clock::now() >= until) return state_->late("to read what it was sent", deadline);
    tree.pump(until);
  }
  if (tree.ended() || tree.gone() || !tree.input_open()) {
    return state_->ended("before it had read what it was sent");
  }
  return {};
}

Result<std::string> ChildProcess::read(std::size_t size, milliseconds deadline) {
  ProcessTree& tree = *state_->tree;
  if (size > state_->output_limit) {
    return bad_input(fmt::format("{} from `{}` are more than the {} allowed",
                                 with_binary_prefix(size), state_->name,
                                 with_binary_prefix(state_->output_limit)));
  }
  const ProcessTree::Time until = after(deadline);
  tree.output().reserve(size);
  while (tree.output().size() < size) {
    if (!tree.output_open() || tree.gone()) return state_->ended("before it had answered");
    if (steady_clock::now() >= until) return state_->late("to answer", deadline);
    tree.pump(until);
  }
  if (tree.output().size() == size) return std::exchange(tree.output(), {});
  std::string result = tree.output().substr(0, size);
  tree.output().erase(0, size);
  return result;
}

std::string ChildProcess::errors() const {
  ProcessTree& tree = *state_->tree;
  tree.pump(steady_clock::now());
  const std::string& all = tree.errors();
  return all.size() <= state_->output_limit
             ? all
             : all.substr(all.size() - static_cast<std::size_t>(state_->output_limit));
}

ProcessResult ChildProcess::finish() {
  ProcessTree& tree = *state_->tree;
  tree.close_input();
  const ProcessTree::Time soon = after(kGrace);
  while (!tree.ended() && !tree.gone() && steady_clock::now() < soon) tree.pump(soon);
  tree.kill(ProcessResult::End::exited);
  tree.wait_until_gone();
  if (auto result = tree.result()) return std::move(*result);
  ProcessResult lost;
  lost.end = ProcessResult::End::signalled;
  lost.code = SIGKILL;
  return lost;
}

int ChildProcess::pid() const { return state_->tree->pid(); }

std::optional<fs::path> find_program_in(std::string_view path_list, std::string_view name) {
  for (const fs::path& folder : folders_of(path_list)) {
    if (is_program(folder / name)) return folder / name;
  }
  return std::nullopt;
}

std::optional<fs::path> find_program(const std::vector<std::string>& names,
                                     const std::vector<fs::path>& extra) {
  std::vector<fs::path> folders = path_folders();
  folders.insert(folders.end(), extra.begin(), extra.end());
  for (const std::string& name : names) {
    for (const fs::path& folder : folders) {
      if (is_program(folder / name)) return folder / name;
    }
  }
  return std::nullopt;
}

std::optional<fs::path> find_newest_program(std::string_view name) {
  std::optional<fs::path> newest;
  std::int64_t newest_major = -1;
  const std::string prefix = std::string(name) + "-";
  for (const fs::path& folder : path_folders()) {
    for (const std::string& entry : real_file_system().list(folder)) {
      if (!entry.starts_with(prefix)) continue;
      const auto major = parse_integer(std::string_view(entry).substr(prefix.size()));
      if (!major || *major <= newest_major || !is_program(folder / entry)) continue;
      newest_major = *major;
      newest = folder / entry;
    }
  }
  return newest ? newest : find_program({std::string(name)});
}

}  // namespace burnish
