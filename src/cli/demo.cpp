#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/data.h"
#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"

namespace burnish::cli {
namespace {

/// Names of the examples that are compiled in.
Result<std::set<std::string>> examples() {
  BURNISH_TRY_ASSIGN(const auto files, data_files("examples/"));
  std::set<std::string> names;
  for (const auto& file : files)
    if (file.name.ends_with("/burnish.toml")) {
      const std::string rest = file.name.substr(9);
      names.insert(rest.substr(0, rest.find('/')));
    }
  return names;
}

/// HIP takes CUDA's examples as they are, but for their names, its header, and masks of lanes,
/// which have 64 bits there.
DataFile for_hip(DataFile file) {
  if (file.name.ends_with("/kernel.cu")) {
    file.name = file.name.substr(0, file.name.size() - 2) + "hip";
    std::string head = "#include <hip/hip_runtime.h>\n";
    if (contains(file.content, "__shfl_xor_sync")) {
      head += "#define __shfl_xor_sync(mask, ...) __shfl_xor(__VA_ARGS__)\n";
    }
    file.content = head + "\n" + file.content;
  } else if (file.name.ends_with("/burnish.toml")) {
    file.content =
        replace_all(std::move(file.content), "language = \"cuda\"", "language = \"hip\"");
    file.content = replace_all(std::move(file.content), "\"kernel.cu\"", "\"kernel.hip\"");
  }
  return file;
}

/// Makes the workspace from the example of that name: from its folder for OpenCL, and from the
/// folder in it that is named after the backend for others; HIP takes CUDA's where it has none.
Result<void> make_workspace(const std::string& name, const std::string& backend,
                            const fs::path& folder) {
  BURNISH_TRY_ASSIGN(const auto names, examples());
  if (!names.contains(name)) {
    std::string list;
    for (const auto& item : names) list += (list.empty() ? "" : ", ") + item;
    return bad_input("there is no example \"" + name + "\"").with_hint("one of " + list);
  }
  std::string root = "examples/" + name + "/" + (backend == "opencl" ? "" : backend + "/");
  BURNISH_TRY_ASSIGN(auto files, data_files(root));
  const bool from_cuda = files.empty() && backend == "hip";
  if (from_cuda) {
    root = "examples/" + name + "/cuda/";
    BURNISH_TRY_ASSIGN(files, data_files(root));
  }
  if (files.empty()) {
    return bad_input(fmt::format("the example {} has no {} version", name, backend))
        .with_hint("choose another device with --device opencl");
  }
  BURNISH_TRY_ASSIGN(const TemporaryFolder from, TemporaryFolder::make("burnish-demo"));
  for (auto& file : files) {
    if (from_cuda) file = for_hip(std::move(file));
    const std::string name_here = file.name.substr(root.size());
    if (name_here.find('/') != std::string::npos) continue;  // of another backend
    BURNISH_TRY(real_file_system().write(from.path() / name_here, file.content));
  }
  BURNISH_TRY(workspace::Workspace::create(folder, from.path(), {}));
  return {};
}

}  // namespace

void add_demo(CommandLine& line, Common& common) {
  struct Options {
    std::string name = "matmul", output;
  };
  auto options = std::make_shared<Options>();
  auto arguments = line.verb("demo", "show itself: optimise an example on this machine");
  arguments.positional("NAME", options->name, "the example (default: matmul)");
  arguments.option("--output", options->output, "the workspace (default: burnish-demo-NAME)");
  arguments.device_option(common);
  arguments.action([&common, options]() -> Result<int> {
    const fs::path folder =
        fs::path(common.folder) /
        (options->output.empty() ? "burnish-demo-" + options->name : options->output);
    if (!fs::exists(folder)) {
      BURNISH_TRY_ASSIGN(const auto info, device::choose_device(common.device));
      BURNISH_TRY(make_workspace(options->name, info.backend, folder));
    }
    BURNISH_TRY_ASSIGN(auto loop, open_loop(common, folder));
    BURNISH_TRY_ASSIGN(const auto state, loop->state());
    if (state.next != loop::Stage::stopped) {
      BURNISH_TRY_ASSIGN(auto bench, open_bench(common, loop->workspace()));
      auto tools = bench.tools();
      say(common, fmt::format("optimising {} on {} in {}", options->name, bench.device->info().name,
                              folder.string()));
      auto tuner = agent::make_tuner();
      BURNISH_TRY(loop->run(tools, *tuner, 0));
    }
    BURNISH_TRY_ASSIGN(const auto summary, loop::summarize(loop->workspace()));
    print_summary(common, summary);
    if (!common.json)
      print(fmt::format(
          "\nthe history is a git repository: git -C {0} log\nplans, reports and records: {0}/\n",
          folder.string()));
    return 0;
  });
}

}  // namespace burnish::cli
