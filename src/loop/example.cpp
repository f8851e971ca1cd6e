#include "loop/example.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"

namespace burnish::loop {
namespace {

/// What the case studies are called for short.
const std::map<std::string, std::string>& short_names() {
  static const std::map<std::string, std::string> names = {{"conv3d", "depthwise_conv3d"},
                                                           {"topk", "topk_sigmoid"}};
  return names;
}

/// HIP takes CUDA's examples as they are, but for their names, its header, and masks of lanes,
/// which have 64 bits there.
void for_hip(std::map<std::string, std::string>& files) {
  std::map<std::string, std::string> result;
  for (auto& [name, content] : files) {
    if (name == "kernel.cu") {
      std::string head = "#include <hip/hip_runtime.h>\n";
      if (contains(content, "__shfl_xor_sync")) {
        head += "#define __shfl_xor_sync(mask, ...) __shfl_xor(__VA_ARGS__)\n";
      }
      result["kernel.hip"] = head + "\n" + content;
    } else if (name == "burnish.toml") {
      result[name] = replace_all(replace_all(content, "language = \"cuda\"", "language = \"hip\""),
                                 "\"kernel.cu\"", "\"kernel.hip\"");
    } else if (name.find('/') == std::string::npos) {  // its steps and peers are CUDA's own
      result[name] = std::move(content);
    }
  }
  files = std::move(result);
}

const std::vector<std::string>& backends() {
  static const std::vector<std::string> names = {"cuda", "hip", "opencl"};
  return names;
}

/// Files below examples/NAME/, by the rest of their names; those of other backends left out.
Result<std::map<std::string, std::string>> files_of_example(const std::string& name,
                                                            const std::string& backend) {
  const std::string root = "examples/" + name + "/" + (backend == "opencl" ? "" : backend + "/");
  BURNISH_TRY_ASSIGN(auto found, data_files(root));
  std::map<std::string, std::string> files;
  for (DataFile& file : found) {
    std::string rest = file.name.substr(root.size());
    if (rest.starts_with("cuda/") || rest.starts_with("hip/")) continue;
    files[std::move(rest)] = std::move(file.content);
  }
  return files;
}

}  // namespace

bool Example::has_story() const {
  for (const auto& [path, content] : files)
    if (path.starts_with("steps/") && path.ends_with("/plan.md")) return true;
  return false;
}

std::vector<std::string> Example::folders(const std::string& folder) const {
  std::set<std::string> names;
  for (const auto& [path, content] : files) {
    if (!path.starts_with(folder + "/")) continue;
    const std::string rest = path.substr(folder.size() + 1);
    if (const auto end = rest.find('/'); end != std::string::npos)
      names.insert(rest.substr(0, end));
  }
  return {names.begin(), names.end()};
}

workspace::Files Example::task_files() const {
  workspace::Files own;
  for (const auto& [path, content] : files)
    if (path.find('/') == std::string::npos) own[path] = content;
  return own;
}

Result<std::string> example_name(const std::string& name) {
  const auto full = short_names().find(name);
  const std::string& wanted = full == short_names().end() ? name : full->second;
  BURNISH_TRY_ASSIGN(const auto files, data_files("examples/"));
  std::set<std::string> names;
  for (const auto& file : files)
    if (file.name.ends_with("/burnish.toml")) {
      const std::string rest = file.name.substr(9);
      names.insert(rest.substr(0, rest.find('/')));
    }
  if (names.contains(wanted)) return wanted;
  std::vector<std::string> list(names.begin(), names.end());
  for (const auto& entry : short_names()) list.push_back(entry.first);
  return bad_input("there is no example \"" + name + "\"").with_hint("one of " + join(list, ", "));
}

Result<Example> find_example(const std::string& name, const std::string& backend) {
  Example example{name, backend, {}};
  BURNISH_TRY_ASSIGN(example.files, files_of_example(name, backend));
  if (!example.files.contains("burnish.toml") && backend == "hip") {
    BURNISH_TRY_ASSIGN(example.files, files_of_example(name, "cuda"));
    for_hip(example.files);
  }
  if (!example.files.contains("burnish.toml")) {
    return bad_input(fmt::format("the example {} has no {} version", name, backend))
        .with_hint("choose another device with --device opencl");
  }
  return example;
}

Result<std::vector<Example>> stories_of(const std::string& name) {
  std::vector<Example> stories;
  for (const auto& backend : backends()) {
    Example example{name, backend, {}};
    BURNISH_TRY_ASSIGN(example.files, files_of_example(name, backend));
    if (example.has_story()) stories.push_back(std::move(example));
  }
  return stories;
}

Result<void> write_example(const Example& example, const std::string& prefix,
                           const fs::path& folder) {
  for (const auto& [name, content] : example.files)
    if (name.starts_with(prefix)) BURNISH_TRY(real_file_system().write(folder / name, content));
  return {};
}

}  // namespace burnish::loop
