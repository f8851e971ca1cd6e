#include "loop/outcomes.h"

#include <cstdlib>

#include "base/hash.h"

namespace burnish::loop {
namespace {

constexpr double kElsewhere = 0.5;
constexpr std::string_view kCard = "card:";

/// Travels with the records, so that a clone does not share what its origin has shared.
std::string identity(const std::string& task, const std::vector<workspace::Record>& records) {
  std::string text = task;
  for (const auto& record : records)
    if (record.number == 0) text += "\n" + record.timestamp + "\n" + record.artefact_hash;
  return content_hash(text);
}

}  // namespace

fs::path outcome_store(const workspace::Workspace& workspace) {
  if (const char* named = std::getenv("BURNISH_OUTCOMES"); named != nullptr && *named != '\0')
    return named;
  const std::string& file = workspace.task().outcomes;
  return file.empty() ? fs::path() : workspace.folder() / file;
}

bool awaits_gain(const workspace::Record& record) {
  return record.optimization.enabler && record.quality_gate.result == "PASS" &&
         record.performance.verdict != "improved";
}

std::vector<knowledge::Outcome> own_outcomes(const workspace::TaskSpec& task,
                                             const std::vector<workspace::Record>& records) {
  const std::string id = identity(task.name, records);
  std::vector<knowledge::Outcome> outcomes;
  for (const auto& record : records) {
    if (record.masked || record.quality_gate.result.empty()) continue;
    // It says nothing of its own: what follows it does, or it is undone.
    if (awaits_gain(record)) continue;
    for (const auto& search : record.search_log) {
      if (!search.source.starts_with(kCard)) continue;
      knowledge::Outcome outcome;
      outcome.card = search.source.substr(kCard.size());
      outcome.accepted = record.quality_gate.result == "PASS";
      outcome.gain = record.performance.speedup_over_previous.value_or(1);
      outcome.interval = record.performance.interval;
      outcome.device = record.performance.device;
      outcome.family = task.family;
      outcome.workspace = id;
      outcome.version = record.number;
      outcomes.push_back(std::move(outcome));
      break;
    }
  }
  return outcomes;
}

Result<std::vector<knowledge::Outcome>> past_outcomes(const workspace::Workspace& workspace,
                                                      const std::vector<workspace::Record>& records,
                                                      const std::string& device,
                                                      std::vector<std::string>& complaints) {
  auto outcomes = own_outcomes(workspace.task(), records);
  const fs::path file = outcome_store(workspace);
  if (file.empty()) return outcomes;
  BURNISH_TRY_ASSIGN(auto store, knowledge::read_outcomes(file, real_file_system()));
  complaints = std::move(store.complaints);
  const std::string id = identity(workspace.task().name, records);
  for (auto& outcome : store.outcomes) {
    // This workspace speaks through its records, of which masked ones are not read.
    if (outcome.workspace == id) continue;
    if (outcome.device != device) outcome.weight *= kElsewhere;
    if (outcome.family != workspace.task().family) outcome.weight *= kElsewhere;
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace burnish::loop
