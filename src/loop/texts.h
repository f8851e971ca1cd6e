#pragma once

#include <string>
#include <vector>

#include "loop/gate.h"

namespace burnish::loop {

// The files and lines that the loop writes for people; their form is that of existing agent skills
// (docs/workspace.md).

/// "V3: 0.15 TFLOPS / 12 GB/s | action (bottleneck: …)".
std::string commit_subject(const workspace::Record& record, const std::string& what);
/// The first line of a text, at most `limit` bytes, cut at a word.
std::string first_line(const std::string& text, std::size_t limit);

std::string baseline_report(const workspace::TaskSpec& task, const workspace::Record& record,
                            const measure::Verification& verification, const measure::Bench& bench,
                            const std::vector<hardware::Ceiling>& ceilings);
std::string iteration_report(const workspace::Plan& plan, const workspace::Record& record,
                             const workspace::Record& parent, const Judgement& judgement);
std::string workspace_readme(const workspace::TaskSpec& task, const device::DeviceInfo& device,
                             const std::vector<hardware::Ceiling>& ceilings,
                             const std::vector<workspace::Record>& records);

}  // namespace burnish::loop
