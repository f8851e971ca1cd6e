#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"

namespace burnish::loop {

/// What an evidence.json says of its first kernel.
struct RecordedEvidence {
  std::string kernel, device, arch;
  MetricSet metrics;
  std::vector<evidence::Finding> findings;
};

/// Errors: bad_input naming the file.
Result<RecordedEvidence> read_evidence(const std::string& text, const std::string& file);

/// The folders of a team's own cards that burnish.toml names; the last one goes before all.
std::vector<fs::path> card_folders(const workspace::Workspace& workspace);

}  // namespace burnish::loop
