#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "cli/front.h"
#include "cli/verbs.h"

namespace burnish::cli {
namespace {

int report(const Common& common, const Error& error) {
  if (common.json) print_json(error_json(error));
  std::fprintf(stderr, "burnish: %s\n", error.to_string().c_str());
  return exit_code(error.kind);
}

/// What ^C prints: the signal finds it ready, since a handler may format nothing.
struct Farewell {
  std::string errors, output;
};
const Farewell* farewell = nullptr;

/// Leaves at once, as a kill would: the workspace stands that, and workers end with this process.
void on_interrupt(int /*signal*/) {
  if (farewell != nullptr) {
    (void)!::write(STDERR_FILENO, farewell->errors.data(), farewell->errors.size());
    (void)!::write(STDOUT_FILENO, farewell->output.data(), farewell->output.size());
  }
  ::_exit(exit_code(ErrorKind::interrupted));
}

void await_interrupts(const Common& common) {
  struct sigaction before{};
  // In the background of a shell ^C is not for this process.
  if (::sigaction(SIGINT, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  Error error;
  error.kind = ErrorKind::interrupted;
  error.message = "interrupted";
  error.hint = "in a workspace nothing that was accepted is lost: `burnish next` says how to go on";
  static Farewell words;
  words.errors = fmt::format("{}burnish: {}\n", ::isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "",
                             error.to_string());
  if (common.json) words.output = dump_json(error_json(error));
  farewell = &words;
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
}

int run(int argc, char** argv) {
  Common common;
  CommandLine line(common);
  add_init(line, common);
  add_run(line, common);
  add_status(line, common);
  add_stages(line, common);
  add_profile(line, common);
  add_check(line, common);
  add_bench(line, common);
  add_memory(line, common);
  add_evidence(line, common);
  add_isa(line, common);
  add_occupancy(line, common);
  add_spec(line, common);
  add_wiki(line, common);
  add_doctor(line, common);
  add_demo(line, common);
  const auto action = line.parse(argc, argv);
  if (!action) {
    // The flag may stand anywhere, also on a line that could not be parsed.
    for (int i = 1; i < argc; ++i) common.json = common.json || std::strcmp(argv[i], "--json") == 0;
    return report(common, action.error());
  }
  if (!*action) return 0;
  await_interrupts(common);
  auto code = (**action)();
  // A result that could not be written is none: a script must not take half a file for it.
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    const Error error =
        environment_error(fmt::format("standard output could not be written whole{}{}",
                                      errno != 0 ? ": " : "",
                                      errno != 0 ? std::strerror(errno) : ""))
            .with_hint("give the command again where its output can be kept");
    std::fprintf(stderr, "burnish: %s\n", error.to_string().c_str());
    return exit_code(error.kind);
  }
  return code ? *code : report(common, code.error());
}

}  // namespace
}  // namespace burnish::cli

int main(int argc, char** argv) {
  try {
    // The program runs itself for what a candidate may break (design §2).
    if (argc >= 2 && std::strcmp(argv[1], "worker") == 0) return burnish::device::worker_main();
    return burnish::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "burnish: %s\nthis is a bug in burnish; please report it\n", error.what());
    return burnish::exit_code(burnish::ErrorKind::bug);
  }
}
