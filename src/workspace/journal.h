#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "workspace/workspace.h"

namespace burnish::workspace {

/// .burnish/journal.jsonl. A line is a JSON object whose last member, `hash`, is the content hash
/// of the line before that member, and whose member `previous` is the `hash` of the line before. An
/// entry counts when its line, newline included, is on the disk.
class Journal {
 public:
  Journal(fs::path file, FileSystem& files) : file_(std::move(file)), files_(&files) {}

  /// All entries. A last line without its newline is what a killed process left: it does not count.
  /// Errors: bad_input at the line that was edited, moved, or written by something else.
  Result<std::vector<Entry>> entries();
  /// Takes such a torn line away. Only for who holds the workspace's lock.
  Result<void> repair();
  Result<void> append(const Entry& entry);

 private:
  Result<void> refresh();

  fs::path file_;
  FileSystem* files_;
  std::string text_;  ///< as it was read or written last, torn line aside
  std::vector<Entry> entries_;
  std::string last_hash_;
  bool torn_ = false;
};

}  // namespace burnish::workspace
