#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"

namespace burnish::cli {
namespace {

enum class History { no, yes };

Result<int> show(const Common& common, History history) {
  BURNISH_TRY_ASSIGN(const auto workspace, open_to_read(common.folder));
  BURNISH_TRY_ASSIGN(const auto journal, workspace.journal());
  BURNISH_TRY_ASSIGN(const auto state, loop::state_of(journal));
  const auto due = loop::todo(state, workspace.task());
  if (common.json) {
    Json json = {{"stage", loop::to_string(state.next)},
                 {"version", fmt::format("v{}", state.version)},
                 {"incumbent", fmt::format("v{}", state.incumbent)},
                 {"iterations", state.iterations},
                 {"todo", Json::array()}};
    for (const auto& item : due)
      json["todo"].push_back({{"verb", item.verb}, {"why", item.why}, {"files", item.files}});
    if (state.unfinished) json["interrupted"] = state.unfinished->event;
    if (history == History::yes) {
      BURNISH_TRY_ASSIGN(const auto summary, loop::summarize(workspace));
      json["summary"] = loop::to_json(summary);
    }
    print_json(json);
    return 0;
  }
  if (state.unfinished)
    print(fmt::format("`{}` of v{} was cut off; the next command recovers\n",
                      state.unfinished->event, state.unfinished->version));
  for (const auto& item : due)
    print(fmt::format("next   {}\nwhy    {}\nfiles  {}\n", item.verb, item.why,
                      join(item.files, ", ")));
  if (history == History::yes) {
    BURNISH_TRY_ASSIGN(const auto summary, loop::summarize(workspace));
    print_summary(common, summary);
  }
  return 0;
}

}  // namespace

void add_status(CommandLine& line, Common& common) {
  line.verb("next", "what to do now, and why").action([&common] {
    return show(common, History::no);
  });
  line.verb("status", "where things are").action([&common] { return show(common, History::yes); });
}

}  // namespace burnish::cli
