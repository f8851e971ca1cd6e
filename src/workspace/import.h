#pragma once

#include <string>
#include <vector>

#include "workspace/workspace.h"

namespace burnish::workspace {

/// What an import brought, and what it could not take as it was.
struct ImportReport {
  struct Odd {
    int version = 0;
    std::string pointer;  ///< "/correctness/status"
    std::string value;    ///< as JSON
  };
  fs::path folder;
  int records = 0;
  int last = -1;                     ///< highest version; numbering goes on after it
  std::vector<std::string> renamed;  ///< "v22_swiglu.json is v22"
  std::vector<Odd> odd;              ///< kept in the record under their pointers
  std::vector<std::string> skipped;  ///< files that were not copied, each with the reason
  std::vector<std::string> todo;     ///< what burnish must be told before it can judge
};

/// Makes the workspace `to` from a workspace of an agent skill (kernel_opt_<name>/: kernel,
/// reference, README.md, memory/, plans/, profiles/; docs/workspace.md) or of burnish. Every field
/// of every record is kept; the journal begins with `init` and `import`. Without a burnish.toml in
/// `from` one is begun, and `todo` says what it lacks; until then Workspace::open() reports that.
/// Errors: bad_input when `to` exists, `from` has no records, or a record is not JSON.
Result<ImportReport> import_skill_workspace(const fs::path& from, const fs::path& to, World world);
Json to_json(const ImportReport& report);

}  // namespace burnish::workspace
