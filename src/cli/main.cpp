#include <fmt/format.h>

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
  const auto code = (**action)();
  std::fflush(stdout);
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
