#include "loop/state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace burnish::loop {
namespace {

using workspace::Entry;

Error out_of_order(const Entry& entry, const std::string& expected) {
  return bad_input(fmt::format("the journal has `{}` of v{} where {} is due", entry.event,
                               entry.version, expected))
      .at({".burnish/journal.jsonl", static_cast<int>(entry.sequence) + 1, 1})
      .with_hint("the journal was edited; restore it from a copy, the git history is untouched");
}

/// What the entry says beside its event and version; an object whatever the journal holds.
Json detail_of(const Entry& entry) {
  Json detail = Json::parse(entry.detail_text, nullptr, false);
  return detail.is_object() ? detail : Json::object();
}

}  // namespace

const char* to_string(Stage stage) {
  switch (stage) {
    case Stage::baseline:
      return "baseline";
    case Stage::profile:
      return "profile";
    case Stage::plan:
      return "plan";
    case Stage::implement:
      return "implement";
    case Stage::gate:
      return "gate";
    case Stage::commit:
      return "commit";
    case Stage::stopped:
      return "stopped";
  }
  return "unknown";
}

Result<State> state_of(const std::vector<Entry>& journal) {
  State state;
  int highest = 0;
  for (const Entry& entry : journal) {
    if (entry.phase == Entry::Phase::begin) {
      if (state.unfinished)
        return out_of_order(entry, "the end of `" + state.unfinished->event + "`");
      state.unfinished = entry;
      continue;
    }
    if (entry.event == "undone") {
      // The begun transition left nothing behind; what was due stays due.
      state.unfinished.reset();
      continue;
    }
    if (state.unfinished && state.unfinished->event != entry.event)
      return out_of_order(entry, "the end of `" + state.unfinished->event + "`");
    state.unfinished.reset();

    if (entry.event == "init") {
      state.next = Stage::baseline;
    } else if (entry.event == "import") {
      // Versions that another tool made; the numbering goes on after them.
      highest = std::max(highest, entry.version);
      state.version = highest + 1;
      state.next = Stage::baseline;
    } else if (entry.event == "baseline") {
      if (state.next != Stage::baseline) return out_of_order(entry, to_string(state.next));
      state.incumbent = entry.version;
      highest = std::max(highest, entry.version);
      state.version = entry.version;
      state.next = Stage::profile;
    } else if (entry.event == "profile") {
      if (state.next != Stage::profile) return out_of_order(entry, to_string(state.next));
      state.version = highest + 1;
      state.next = Stage::plan;
    } else if (entry.event == "plan") {
      if (state.next != Stage::plan) return out_of_order(entry, to_string(state.next));
      state.version = entry.version;
      state.next = Stage::implement;
    } else if (entry.event == "implement") {
      if (state.next != Stage::implement) return out_of_order(entry, to_string(state.next));
      state.next = Stage::gate;
    } else if (entry.event == "gate") {
      if (state.next != Stage::gate) return out_of_order(entry, to_string(state.next));
      highest = std::max(highest, entry.version);
      ++state.iterations;
      if (state.enabler) ++state.enabler->judged;
      const Json detail = detail_of(entry);
      state.judged = detail.value("result", "");
      state.judged_hash = detail.value("hash", "");
      state.next = Stage::commit;
    } else if (entry.event == "commit") {
      if (state.next != Stage::commit) return out_of_order(entry, to_string(state.next));
      if (!detail_of(entry).value("enabler", false)) {
        state.enabler.reset();
      } else if (!state.enabler) {
        state.enabler = State::Enabler{entry.version, state.incumbent, 0};
      }
      state.incumbent = entry.version;
      state.version = entry.version;
      state.since_gain = 0;
      state.restarted = false;
      state.next = Stage::profile;
    } else if (entry.event == "restore") {
      if (state.next != Stage::commit) return out_of_order(entry, to_string(state.next));
      ++state.since_gain;
      state.version = highest + 1;
      state.next = Stage::plan;
    } else if (entry.event == "undo") {
      if (!state.enabler || state.enabler->version != entry.version)
        return out_of_order(entry, "an enabler's version");
      state.incumbent = state.enabler->parent;
      state.version = state.incumbent;
      state.enabler.reset();
      state.next = Stage::profile;
    } else if (entry.event == "mask") {
      state.restarted = true;
    } else if (entry.event == "stop") {
      state.stop_reason = detail_of(entry).value("reason", "");
      // A version in the making is not given up: the kernel in the working tree is its.
      if (state.next != Stage::stopped)
        state.resumes_at = state.next == Stage::plan ? Stage::profile : state.next;
      state.next = Stage::stopped;
    } else if (entry.event == "resume") {
      if (state.next != Stage::stopped) return out_of_order(entry, to_string(state.next));
      state.stop_reason.clear();
      state.next = state.resumes_at;
      if (state.next == Stage::profile) state.version = state.incumbent;
    } else {
      return out_of_order(entry, "a known event");
    }
  }
  return state;
}

std::vector<Todo> todo(const State& state, const workspace::TaskSpec& task) {
  const std::string plan = workspace::plan_path(state.version);
  const std::string evidence = fmt::format("profiles/v{}/evidence.json", state.incumbent);
  switch (state.next) {
    case Stage::baseline:
      return {
          {"burnish baseline",
           fmt::format("v{} must be judged and timed before anything is changed", state.version),
           {"burnish.toml", task.kernel_file, task.launch_file}}};
    case Stage::profile:
      return {{"burnish profile",
               fmt::format("v{} has no profile yet, and there is no edit without a "
                           "finding",
                           state.incumbent),
               {task.kernel_file}}};
    case Stage::plan:
      return {{"burnish plan",
               fmt::format("choose one action of one category from the findings of v{}",
                           state.incumbent),
               {evidence, plan}}};
    case Stage::implement:
      return {{"burnish implement",
               "make the change that the plan names, and no other",
               {plan, task.kernel_file, task.launch_file}}};
    case Stage::gate:
      return {{"burnish gate", fmt::format("v{} is not judged yet", state.version), {plan}}};
    case Stage::commit:
      return {{"burnish commit",
               fmt::format("v{} is judged; keep it or put the kernel back", state.version),
               {workspace::report_path(state.version)}}};
    case Stage::stopped:
      return {{"burnish run --resume", "stopped: " + state.stop_reason, {"README.md"}}};
  }
  return {};
}

Result<void> require(const State& state, Stage stage, const workspace::TaskSpec& task) {
  if (state.next == stage) return {};
  const auto due = todo(state, task).front();
  return bad_input(fmt::format("`{}` is not due now: {}", to_string(stage), due.why))
      .with_hint("next: " + due.verb);
}

}  // namespace burnish::loop
