#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "knowledge/knowledge.h"

namespace burnish::knowledge {

/// A shared store of outcomes: a JSON-lines file that many workspaces append to (docs/knowledge.md
/// lists the keys).
struct OutcomeStore {
  std::vector<Outcome> outcomes;
  /// Lines that are none, each as "file:line: what is wrong"; they are passed over, since one
  /// writer's mistake must not stop everybody's planning.
  std::vector<std::string> complaints;
};

/// A file that is not there yet is empty.
Result<OutcomeStore> read_outcomes(const fs::path& file, const FileSystem& files);

/// Appends those that the store does not hold yet (by workspace and version), in one write under a
/// lock beside the file. Errors: environment when another process keeps the lock for seconds.
Result<void> share_outcomes(const fs::path& file, const std::vector<Outcome>& outcomes,
                            FileSystem& files);

}  // namespace burnish::knowledge
