#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/front.h"
#include "cli/verbs.h"

namespace burnish::cli {

void add_init(CommandLine& line, Common& common) {
  struct Options {
    std::string name, from;
  };
  auto options = std::make_shared<Options>();
  auto arguments =
      line.verb("init", "make a workspace from a folder with a task, a kernel and a reference");
  arguments.positional("NAME", options->name, "the workspace to make").required();
  arguments
      .option("--from", options->from,
              "folder with burnish.toml, the kernel, launch.toml and the reference")
      .required();
  arguments.action([&common, options]() -> Result<int> {
    BURNISH_TRY_ASSIGN(
        const auto workspace,
        workspace::Workspace::create(fs::path(common.folder) / options->name, options->from, {}));
    if (common.json)
      print_json({{"workspace", workspace.folder().string()}});
    else
      print(fmt::format("{}: ready; next: burnish -C {} run\n", workspace.folder().string(),
                        shell_word(workspace.folder().string())));
    return 0;
  });
}

}  // namespace burnish::cli
