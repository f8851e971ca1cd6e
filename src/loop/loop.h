#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/random.h"
#include "hardware/roofline.h"
#include "loop/state.h"
#include "measure/compare.h"
#include "measure/verify.h"

namespace burnish::loop {

/// Hears how the work goes on; the front doors print it.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void stage(Stage stage, int version) = 0;
  virtual void note(const std::string& text) = 0;      ///< one line that stays
  virtual void progress(const std::string& text) = 0;  ///< one that the next replaces
};

/// What the vendor's profiler collects, in its own words.
struct Profiling {
  std::string set = "full";
  std::vector<std::string> sections;  ///< besides those of the set
  bool source = false;                ///< keep the source text in the report
};

/// What the loop works with.
struct Tools {
  device::Device& device;
  const knowledge::CardBase& cards;
  const evidence::Rules& rules;
  Random& random;
  Observer& observer;
  /// Opens what the gate checks accesses with; empty: that is not done.
  std::function<Result<std::vector<measure::Sanitizer>>()> sanitizers = {};
  Profiling profiling = {};
  measure::BenchOptions timing = {};  ///< how long the stages time
};

enum class Shift { none, accepted, rejected };

/// One line of the history, for `run`, `status` and the report.
struct Iteration {
  int version = 0;
  std::string category, action, verdict, gate, reason;
  double ratio = 1;
  Interval interval;
  std::vector<std::string> findings;
};

struct Summary {
  std::string workspace, task, device;
  std::optional<double> baseline_seconds;
  int best_version = 0;
  std::optional<double> best_seconds, speedup;
  Interval speedup_interval{1, 1};
  std::vector<Iteration> iterations;
  std::optional<double> utilization;  ///< of the roofline's ceiling, 0..1
  std::string stop_reason;            ///< empty while it runs
};

/// A workspace driven through the stages. Each stage begins with an entry in the journal, and
/// counts when its end is there too; open() finishes or undoes what a dead process left (design
/// §3).
class Loop {
 public:
  /// Takes the workspace's lock and recovers. `report` gets a sentence when there was something to
  /// recover.
  static Result<std::unique_ptr<Loop>> open(const fs::path& folder, workspace::World world,
                                            std::string& report);

  Result<State> state() const;
  workspace::Workspace& workspace() { return workspace_; }

  // The stages. Errors: bad_input out of turn; refused when the answer is no (a weak task, a plan
  // that does not hold); what went wrong with a candidate is in its record, not an Error.
  enum class AllowWeak { no, yes };
  Result<void> baseline(Tools& tools, AllowWeak allow);
  Result<evidence::KernelEvidence> profile(Tools& tools);
  /// Profiles any version ("v3") at any time, which is no stage; the one that is to be profiled
  /// next is, by the stage. Returns the folder: profiles/v3, or profiles/v3.2, … where v3 has
  /// evidence already, since records point to it. Errors: bad_input for a version that there is
  /// not.
  Result<fs::path> profile_version(Tools& tools, const std::string& version);
  /// Absent: the agent sees no direction.
  Result<std::optional<workspace::Plan>> plan(Tools& tools, agent::Agent& agent);
  /// A plan that a person or a coding agent wrote into `file`; it is copied to plans/.
  Result<workspace::Plan> accept_plan(Tools& tools, const fs::path& file);
  Result<void> implement(Tools& tools, agent::Agent& agent);
  /// The change is in the working tree already, made by hand.
  Result<void> accept_change(Tools& tools);
  Result<workspace::Record> gate(Tools& tools);
  Result<Shift> commit(Tools& tools);

  /// Whether the task's stop condition or the budget holds now, in words; empty when not.
  Result<std::string> stop_condition(Tools& tools, int max_iterations) const;
  Result<void> stop(const std::string& reason);
  Result<void> resume();
  /// Masks half of the unmasked records, never v0 and never the best, at random.
  Result<std::vector<int>> partial_restart(Tools& tools);

  /// Goes on from where it stands until a stop condition holds or no direction is left; or, to
  /// replay a story, to its end, past every goal and without a partial restart.
  enum class Until { goal, end };
  Result<Summary> run(Tools& tools, agent::Agent& agent, int max_iterations,
                      Until until = Until::goal);

 private:
  explicit Loop(workspace::Workspace workspace);
  /// Finishes or undoes the transition that a dead process left, and undoes an enabler that it did
  /// not come to; in words, empty when there was nothing.
  Result<std::string> recover();
  Result<std::string> recover_transition(const State& state);
  /// Puts back the version that the enabler was accepted over. What was accepted since, all without
  /// gain, goes with it.
  Result<void> undo_enabler(const State::Enabler& enabler, const std::string& why);
  /// In words what was undone, because no gain came in the iterations that an enabler has.
  Result<std::string> undo_spent_enabler(const State& state);
  Result<agent::Situation> situation(Tools& tools, const State& state,
                                     const std::vector<workspace::Record>& records) const;
  Result<workspace::Files> incumbent_files(const State& state) const;
  /// Refused when the candidate in the working tree is not the incumbent: somebody's change that no
  /// plan covers would be taken for the agent's, or be lost.
  Result<void> require_incumbent(const State& state) const;
  /// With the reference folders, and with how cards fared here and in the shared store.
  Result<agent::Situation> planning_situation(Tools& tools, const State& state) const;
  /// What is due once a version is kept or put back.
  Result<void> settle(Tools& tools);
  void share_outcomes(Tools& tools) const;
  Result<void> write_readme(Tools& tools);

  workspace::Workspace workspace_;
  std::shared_ptr<measure::Reference> reference_;
  measure::TrialInputs trial_inputs_;
  friend class Evaluations;
};

/// From the records and the journal alone; needs no device.
Result<Summary> summarize(const workspace::Workspace& workspace);
Json to_json(const Summary& summary);

/// Why a plan does not hold for this state, each with what to do; empty when it holds.
std::vector<std::string> objections(const workspace::Plan& plan, const State& state,
                                    const agent::Situation& situation);

}  // namespace burnish::loop
