#pragma once

#include <string>
#include <vector>

#include "knowledge/outcomes.h"
#include "workspace/workspace.h"

namespace burnish::loop {

/// The shared store that $BURNISH_OUTCOMES, or else `knowledge.outcomes` of burnish.toml, names;
/// empty: none. A relative path of the task is relative to the workspace.
fs::path outcome_store(const workspace::Workspace& workspace);

/// Whether a version is an enabler that was accepted without a gain of its own.
bool awaits_gain(const workspace::Record& record);

/// How the cards that a workspace's unmasked records rest on fared: one outcome a judged
/// version, of the card that its plan cites first.
std::vector<knowledge::Outcome> own_outcomes(const workspace::TaskSpec& task,
                                             const std::vector<workspace::Record>& records);

/// own_outcomes(), and what other workspaces wrote into the shared store. What comes from another
/// device, or from another kind of task, counts half as much. `complaints` gets the store's lines
/// that are none.
Result<std::vector<knowledge::Outcome>> past_outcomes(const workspace::Workspace& workspace,
                                                      const std::vector<workspace::Record>& records,
                                                      const std::string& device,
                                                      std::vector<std::string>& complaints);

}  // namespace burnish::loop
