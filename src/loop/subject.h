#pragma once

#include <memory>
#include <string>

#include "loop/loop.h"
#include "measure/problem.h"

namespace burnish::loop {

/// A workspace's task as the judge wants it: functions of the dimensions. The gate's workloads, or
/// all that there are.
enum class Workloads { of_the_gate, all };
measure::Task judged_task(const workspace::TaskSpec& task,
                          std::shared_ptr<measure::Reference> reference,
                          Workloads workloads = Workloads::of_the_gate);

Result<std::shared_ptr<measure::Reference>> open_reference(workspace::Workspace& workspace);

/// Candidate files as the judge wants them. Errors: bad_input in launch.toml.
Result<measure::Candidate> judged_candidate(const workspace::TaskSpec& task,
                                            const workspace::Files& files, const std::string& label,
                                            const std::string& arch);

/// The checks of the task and, when they passed, of its variants, which carry the variant's name.
Result<measure::Verification> verify_variants(device::Device& device,
                                              const workspace::TaskSpec& spec,
                                              const std::shared_ptr<measure::Reference>& reference,
                                              Workloads workloads, const workspace::Files& files,
                                              const std::string& label,
                                              const measure::VerifyOptions& options,
                                              Random& random);

/// 3 of "v3" or "3". Errors: bad_input.
Result<int> version_number(const std::string& version);

/// The candidate's files as "v3" had them: its commit's when it was accepted, what was kept beside
/// its profile when it was not. Errors: bad_input for a version that there is not.
Result<workspace::Files> files_of(workspace::Workspace& workspace, const std::string& version);

/// "K=512 M=1024 N=1024".
std::string dims_text(const Variables& dims);

/// This device's ceilings: measured once, kept in the workspace's cache by device and driver.
Result<std::vector<hardware::Ceiling>> ceilings(workspace::Workspace& workspace,
                                                device::Device& device);

/// Where ceilings() keeps what it measured.
Result<fs::path> ceilings_file(const workspace::Workspace& workspace,
                               const device::DeviceInfo& info);

/// Roofline of one workload at a time that was taken with such caches: its copies had them too.
Result<hardware::Roofline> workload_roofline(const measure::Task& task,
                                             const measure::Workload& workload, double seconds,
                                             device::Caches caches,
                                             const std::vector<hardware::Ceiling>& ceilings);

/// Profile of one version: metrics of the workload that is furthest from its ceiling, with the
/// machine code's, evaluated. Raw artefacts, evidence.json and summary.txt are written to `folder`.
Result<evidence::KernelEvidence> profile_candidate(workspace::Workspace& workspace, Tools& tools,
                                                   const measure::Task& task,
                                                   const measure::Candidate& candidate,
                                                   const fs::path& folder);

/// Writes the session's code objects to `folder` and reads them.
Result<isa::Reading> read_session_code(workspace::Workspace& workspace, device::Session& session,
                                       const fs::path& folder, std::vector<fs::path>& files);

/// Runs the candidate once at a workload, so that its machine code exists.
Result<std::unique_ptr<device::Session>> warm_session(device::Device& device,
                                                      const measure::Task& task,
                                                      const measure::Candidate& candidate,
                                                      const measure::Workload& workload);

double weighted_geometric_mean(const std::vector<std::pair<double, double>>& value_and_weight);

}  // namespace burnish::loop
