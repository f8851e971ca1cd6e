#pragma once

#include <string>
#include <vector>

#include "loop/subject.h"
#include "measure/compare.h"
#include "measure/verify.h"

namespace burnish::loop {

/// The judgement of a candidate against the incumbent: PASS, FAIL or TIMEOUT_FAIL with the reason,
/// and what each part saw.
struct Judgement {
  std::string result;
  std::string reason;                        ///< empty when it passed
  std::map<std::string, std::string> parts;  ///< attribution, correctness, isa, performance
  std::optional<measure::Verification> verification;
  std::optional<measure::Bench> bench;
  std::vector<isa::KernelDiff> isa;
  std::vector<workspace::Record::IsaProgress> isa_targets;
};

struct GateInput {
  const workspace::Plan& plan;
  const workspace::Files& incumbent;
  const workspace::Files& candidate;
  std::string incumbent_label, candidate_label;
  std::vector<measure::Check> baseline_checks;  ///< the baseline's errors, to bound the candidate's
};

/// Judges: attribution and no-op first, since they cost nothing; then correctness; then the machine
/// code; then time. An Error means that judging was not possible.
Result<Judgement> judge(workspace::Workspace& workspace, Tools& tools, const measure::Task& task,
                        const GateInput& input, const fs::path& folder);

/// Which categories a change touches, as far as tunables tell; empty when none changed.
std::vector<std::string> changed_categories(const workspace::TaskSpec& task,
                                            const workspace::Configuration& before,
                                            const workspace::Configuration& after);

}  // namespace burnish::loop
