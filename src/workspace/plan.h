#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "workspace/record.h"

namespace burnish::workspace {

/// plans/v<N>_plan.md: the one action of an iteration. TOML front matter between two lines of `+++`
/// holds what is checked; the Markdown below it is for people (docs/workspace.md).
struct Plan {
  struct Signature {
    std::string metric;
    std::string direction;  ///< "up", "down", "zero", "appears"
  };

  int version = 0;          ///< the version that it will make
  int parent = 0;           ///< the version whose profile it rests on
  std::string parent_hash;  ///< artefact hash of that version
  std::string agent;
  std::string category;               ///< exactly one of design §5
  std::string action;                 ///< one sentence: the one change
  std::vector<std::string> findings;  ///< ids of findings of the parent's profile
  double bound = 1;                   ///< upper bound on the speed-up, from the findings
  std::string expected;               ///< expected effect with its arithmetic
  std::vector<Signature> signature;   ///< what the ISA diff should show
  std::vector<std::string> risks;
  std::string rollback;
  bool enabler = false;  ///< may pass without a gain, and is undone when none follows
  std::map<std::string, std::vector<std::string>> parameters;  ///< tunable → values to try
  std::vector<Record::Search> search_log;
  std::string notes;  ///< Markdown body
};

/// Errors: bad_input at file:line:column.
Result<Plan> parse_plan(std::string_view text, const std::string& file);
std::string to_markdown(const Plan& plan);

}  // namespace burnish::workspace
