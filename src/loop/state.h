#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "workspace/workspace.h"

namespace burnish::loop {

/// What comes next. `profile`, `plan`, `implement`, `gate`, `commit` are the stages of an
/// iteration; each verb does exactly one and is refused out of turn.
enum class Stage { baseline, profile, plan, implement, gate, commit, stopped };
const char* to_string(Stage stage);

/// Where a workspace stands; a function of its journal alone.
struct State {
  Stage next = Stage::baseline;
  int incumbent = 0;       ///< the accepted version in the working tree
  int version = 0;         ///< what `next` is about: the incumbent, or the version in the making
  int iterations = 0;      ///< versions that were judged
  int since_gain = 0;      ///< versions judged since the last accepted one
  bool restarted = false;  ///< records were masked since the last accepted version
  /// An accepted version without a gain of its own, that no gain has followed yet; the earliest
  /// when several follow each other.
  struct Enabler {
    int version = 0;
    int parent = 0;  ///< the version that it was accepted over
    int judged = 0;  ///< versions judged since
  };
  std::optional<Enabler> enabler;
  std::string stop_reason;
  /// What the gate said of `version` and of which artefacts, while its commit is due. The record
  /// says so too, but anybody may write there.
  std::string judged, judged_hash;
  /// While stopped: where it goes on.
  Stage resumes_at = Stage::profile;
  /// A transition that was begun and neither done nor undone: the process died in it.
  std::optional<workspace::Entry> unfinished;
};

/// Errors: bad_input at the journal's line when the entries do not make a history.
Result<State> state_of(const std::vector<workspace::Entry>& journal);

/// What to do next, for `burnish next`, `status` and refusals.
struct Todo {
  std::string verb;  ///< "burnish profile"
  std::string why;
  std::vector<std::string> files;  ///< to read or to write
};
std::vector<Todo> todo(const State& state, const workspace::TaskSpec& task);

/// Refuses a verb that is out of turn, saying what is due.
Result<void> require(const State& state, Stage stage, const workspace::TaskSpec& task);

}  // namespace burnish::loop
