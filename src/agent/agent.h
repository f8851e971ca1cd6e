#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "device/device.h"
#include "evidence/evidence.h"
#include "knowledge/knowledge.h"
#include "knowledge/reference_folders.h"
#include "workspace/plan.h"
#include "workspace/workspace.h"

namespace burnish::agent {

/// What planning may look at: this version's findings and the unmasked history. Masked records are
/// not in it.
struct Situation {
  const workspace::TaskSpec& task;
  const device::DeviceInfo& device;
  const knowledge::CardBase& cards;
  int version = 0;  ///< to be made
  int parent = 0;   ///< the incumbent
  std::string parent_hash;
  workspace::Files candidate;                     ///< the incumbent's files
  workspace::Configuration configuration;         ///< the incumbent's
  evidence::Subject subject;                      ///< the incumbent's metrics
  std::vector<evidence::Finding> findings;        ///< ranked
  std::string evidence_pointer;                   ///< profiles/v3/evidence.json
  std::vector<workspace::Record> history;         ///< unmasked, sorted
  std::vector<knowledge::Outcome> outcomes = {};  ///< how cards fared, here and in the shared store
  std::shared_ptr<const knowledge::ReferenceFolders> references =
      {};  ///< null: none are configured
};

/// Whether no unmasked record had the same from this source: source, query and finding together.
bool is_new(const workspace::Record::Search& search, const std::vector<workspace::Record>& history);

/// A cheap measurement of one configuration, for searching; never a verdict.
struct Trial {
  workspace::Configuration configuration;
  std::optional<double> seconds;  ///< absent: invalid, `status` says why
  std::string status;             ///< "ok", "constraint: …", "does not build: …", "wrong: …", …
};

/// Evaluations, as the loop hands them to an agent. Every trial is recorded before it returns.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// Errors only when evaluating is not possible at all; an unfit configuration is a Trial.
  virtual Result<Trial> evaluate(const workspace::Files& files,
                                 const workspace::Configuration& configuration) = 0;
};

/// Whoever plans and makes the change.
class Agent {
 public:
  virtual ~Agent() = default;
  /// Whether it finds other directions once records are masked. Who follows a script only loses its
  /// place in it.
  virtual bool can_restart() const { return true; }
  virtual std::string name() const = 0;
  /// Absent: no direction is left.
  virtual Result<std::optional<workspace::Plan>> plan(const Situation& situation) = 0;
  /// The candidate's files after the change. The loop refuses files that are not the candidate's.
  virtual Result<workspace::Files> implement(const Situation& situation,
                                             const workspace::Plan& plan, Evaluator& evaluator) = 0;
};

/// burnish's own: searches the tunables of the category with the largest bound.
std::unique_ptr<Agent> make_tuner();

/// Goes through the steps of a recorded story, one an iteration, so that it can be run and judged
/// again. A step is NAME.patch, a plan's front matter before a diff, or a folder with plan.md and
/// the files that it leaves, whole, those of its parent in the story if it lacks them; these fit
/// whichever version the gate kept. Sorted by name.
Result<std::unique_ptr<Agent>> make_replay(const fs::path& folder, workspace::World world);

}  // namespace burnish::agent
