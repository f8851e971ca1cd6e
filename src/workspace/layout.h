#pragma once

#include <functional>
#include <string>

#include "workspace/workspace.h"

namespace burnish::workspace {

// How a workspace comes to be on disk; what create() and the import share.

/// Absolute, without dots and without a final slash.
fs::path plain_path(const fs::path& path);

/// Refused when a folder on the way to `relative` is a symbolic link.
Result<void> check_no_links(const fs::path& root, const fs::path& relative);
/// A regular file below `root`, reached without links.
Result<std::string> read_plain_file(const FileSystem& files, const fs::path& root,
                                    const fs::path& relative);
Result<Files> read_candidate(const FileSystem& files, const TaskSpec& task, const fs::path& root);

/// Has a folder filled under another name, then renames it. Errors: bad_input when it exists.
Result<void> make_whole(const fs::path& folder, World& world,
                        const std::function<Result<void>(const fs::path&)>& fill);
Result<void> write_ignore_file(FileSystem& files, const fs::path& folder);

/// One line of subject, the body, and the trailer when the version is not below 0.
std::string commit_message(const std::string& subject, const std::string& body, int version);

}  // namespace burnish::workspace
