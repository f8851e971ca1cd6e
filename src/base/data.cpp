#include "base/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/file.h"
#include "base/text.h"

// data.s defines the bytes of each file; the build writes the table of names from the same list.
#define X(index, name)                                  \
  extern "C" const char burnish_data_##index##_begin[]; \
  extern "C" const char burnish_data_##index##_end[];
#include "data_table.inc"
#undef X

namespace burnish {

namespace {

using Table = std::map<std::string, std::string_view, std::less<>>;

const Table& compiled() {
  static const Table table = {
#define X(index, name)            \
  {name,                          \
   {burnish_data_##index##_begin, \
    static_cast<std::size_t>(burnish_data_##index##_end - burnish_data_##index##_begin)}},
#include "data_table.inc"
#undef X
  };
  return table;
}

/// In order: the first one goes before all.
std::vector<fs::path> override_folders() {
  std::vector<fs::path> folders;
  const char* list = std::getenv("BURNISH_DATA");
  for (const std::string_view folder : split(list == nullptr ? "" : list, ':'))
    if (!folder.empty()) folders.emplace_back(folder);
  return folders;
}

Result<DataFile> from_disk(const fs::path& folder, std::string name) {
  const fs::path path = folder / name;
  BURNISH_TRY_ASSIGN(std::string content, real_file_system().read(path));
  return DataFile{std::move(name), std::move(content), path.string()};
}

DataFile from_program(const std::string& name, std::string_view content) {
  return {name, std::string(content), name.starts_with("examples/") ? name : "data/" + name};
}

/// Names, relative to the folder, of the files that start with `prefix`.
Result<std::vector<std::string>> names_on_disk(const fs::path& folder, std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::follow_directory_symlink,
                                      error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    std::string name = at->path().lexically_relative(folder).generic_string();
    if (name.starts_with(prefix)) names.push_back(std::move(name));
  }
  if (error) {
    return bad_input(
               fmt::format("cannot list the data folder {}: {}", folder.string(), error.message()))
        .with_hint("BURNISH_DATA names this folder; correct or unset it");
  }
  return names;
}

}  // namespace

Result<DataFile> data_file(std::string_view name) {
  const fs::path relative(name);
  if (relative.is_absolute() || std::count(relative.begin(), relative.end(), "..") > 0) {
    return bad_input(fmt::format("\"{}\" is not the name of a data file", name));
  }
  for (const fs::path& folder : override_folders()) {
    std::error_code ignored;
    if (fs::exists(folder / name, ignored)) return from_disk(folder, std::string(name));
  }
  const auto at = compiled().find(name);
  if (at != compiled().end()) return from_program(at->first, at->second);
  std::vector<std::string> names;
  for (const auto& entry : compiled()) names.push_back(entry.first);
  const auto near = nearest(name, names);
  return bad_input(fmt::format("there is no data file \"{}\"", name))
      .with_hint(near ? fmt::format("did you mean \"{}\"?", *near) : "");
}

Result<std::vector<DataFile>> data_files(std::string_view prefix) {
  std::map<std::string, DataFile> found;
  for (auto at = compiled().lower_bound(prefix);
       at != compiled().end() && at->first.starts_with(prefix); ++at) {
    found.emplace(at->first, from_program(at->first, at->second));
  }
  const std::vector<fs::path> folders = override_folders();
  for (auto at = folders.rbegin(); at != folders.rend(); ++at) {
    const fs::path& folder = *at;
    BURNISH_TRY_ASSIGN(const std::vector<std::string> names, names_on_disk(folder, prefix));
    for (const std::string& name : names) {
      BURNISH_TRY_ASSIGN(DataFile file, from_disk(folder, name));
      found.insert_or_assign(name, std::move(file));
    }
  }
  std::vector<DataFile> files;
  files.reserve(found.size());
  for (auto& entry : found) files.push_back(std::move(entry.second));
  return files;
}

}  // namespace burnish
