#include "loop/subject.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "device/ceilings.h"

namespace burnish::loop {
namespace {

using workspace::TaskSpec;

measure::Draw draw_of(const workspace::TensorDraw& spec) {
  measure::Draw draw;
  using Kind = measure::Draw::Kind;
  draw.kind = spec.kind == "uniform"    ? Kind::uniform
              : spec.kind == "integers" ? Kind::integers
              : spec.kind == "constant" ? Kind::constant
                                        : Kind::normal;
  draw.low = spec.low;
  draw.high = spec.high;
  draw.mean = spec.mean;
  draw.deviation = spec.deviation;
  draw.constant = spec.constant;
  return draw;
}

Result<measure::Problem> problem_at(const TaskSpec& task, const std::string& workload,
                                    const Variables& dims) {
  measure::Problem problem;
  problem.workload = workload;
  problem.dims = dims;
  for (const auto& spec : task.tensors) {
    measure::Tensor tensor;
    tensor.name = spec.name;
    tensor.dtype = spec.dtype;
    for (const auto& extent : spec.shape) {
      BURNISH_TRY_ASSIGN(const std::int64_t value, extent.evaluate_count(dims));
      tensor.shape.push_back(value);
    }
    tensor.role = spec.role == "in"    ? device::Buffer::Role::in
                  : spec.role == "out" ? device::Buffer::Role::out
                                       : device::Buffer::Role::inout;
    tensor.draw = draw_of(spec.draw);
    for (const auto& one : task.workloads)
      if (const auto own = one.draws.find(spec.name);
          one.name == workload && own != one.draws.end())
        tensor.draw = draw_of(own->second);
    problem.tensors.push_back(std::move(tensor));
  }
  const auto& tolerance = task.tolerance;
  if (tolerance.accumulation) {
    BURNISH_TRY_ASSIGN(problem.tolerance.accumulation, tolerance.accumulation->evaluate(dims));
  }
  problem.tolerance.relative = tolerance.relative;
  problem.tolerance.absolute = tolerance.absolute;
  problem.tolerance.non_finite = tolerance.non_finite == "as_reference"
                                     ? measure::Tolerance::NonFinite::as_reference
                                     : measure::Tolerance::NonFinite::forbidden;
  problem.tolerance.repeatable = tolerance.repeatable == "bitwise"
                                     ? measure::Tolerance::Repeatable::bitwise
                                     : measure::Tolerance::Repeatable::no;
  BURNISH_TRY_ASSIGN(problem.work.flops, task.flops.evaluate(dims));
  BURNISH_TRY_ASSIGN(problem.work.bytes, task.bytes.evaluate(dims));
  problem.work.math_path = task.math_path;
  return problem;
}

Json ceiling_json(const hardware::Ceiling& ceiling) {
  return {{"name", ceiling.name},
          {"unit", ceiling.unit},
          {"value", ceiling.value},
          {"kind", ceiling.kind},
          {"source", ceiling.source}};
}

/// A Python kernel is called with the task's tensors in their order.
measure::Candidate python_candidate(const TaskSpec& task, const workspace::Files& files,
                                    const std::string& label) {
  measure::Candidate candidate;
  candidate.label = label;
  candidate.source.language = task.language;
  candidate.source.file = task.kernel_file;
  candidate.source.text = files.at(task.kernel_file);
  for (const auto& name : task.also)
    if (const auto text = files.find(name); text != files.end())
      candidate.source.also[name] = text->second;
  candidate.plan = [task](const Variables& dims) -> Result<device::LaunchPlan> {
    BURNISH_TRY_ASSIGN(const auto problem, problem_at(task, "", dims));
    device::KernelLaunch launch;
    launch.kernel = "kernel";
    for (const auto& tensor : problem.tensors) {
      device::Argument::TensorMap array{};
      array.buffer = tensor.name;
      array.dtype = tensor.dtype;
      array.shape = tensor.shape;
      launch.arguments.push_back({std::move(array)});
    }
    device::LaunchPlan plan;
    plan.launches = {std::move(launch)};
    return plan;
  };
  return candidate;
}

}  // namespace

measure::Task judged_task(const TaskSpec& task, std::shared_ptr<measure::Reference> reference,
                          Workloads workloads) {
  measure::Task judged;
  judged.name = task.name;
  for (const auto& spec : task.workloads)
    if (spec.gate || workloads == Workloads::all)
      judged.workloads.push_back({spec.name, spec.dims, spec.weight, spec.hot});
  for (const auto& [name, range] : task.domain)
    judged.domain[name] = {range.low, range.high, range.multiple};
  judged.problem = [task](const std::string& workload, const Variables& dims) {
    return problem_at(task, workload, dims);
  };
  judged.reference = std::move(reference);
  return judged;
}

Result<std::shared_ptr<measure::Reference>> open_reference(workspace::Workspace& workspace) {
  return measure::open_reference(workspace.folder() / workspace.task().reference_file,
                                 workspace.cache_folder() / "reference",
                                 workspace.world().processes);
}

Result<measure::Candidate> judged_candidate(const TaskSpec& task, const workspace::Files& files,
                                            const std::string& label, const std::string& arch) {
  const auto launch_text = files.find(task.launch_file);
  const auto kernel_text = files.find(task.kernel_file);
  if (task.language == "python" && kernel_text != files.end())
    return python_candidate(task, files, label);
  if (launch_text == files.end() || kernel_text == files.end())
    return bad_input("the candidate lacks " +
                     (kernel_text == files.end() ? task.kernel_file : task.launch_file));
  BURNISH_TRY_ASSIGN(const workspace::LaunchSpec launch,
                     workspace::parse_launch(launch_text->second, task.launch_file, task));
  const workspace::Configuration configuration = workspace::configuration(task, launch);

  measure::Candidate candidate;
  candidate.label = label;
  candidate.source.language = task.language;
  candidate.source.file = task.kernel_file;
  candidate.source.text = kernel_text->second;
  for (const auto& name : task.also)
    if (const auto text = files.find(name); text != files.end())
      candidate.source.also[name] = text->second;
  candidate.source.macros = workspace::macros(configuration);
  candidate.source.macros.merge(workspace::macros(task.macros));
  candidate.source.options = task.options;
  candidate.plan = [task, launch, configuration, arch](const Variables& dims) {
    return workspace::resolve(task, launch, configuration, dims, arch);
  };
  return candidate;
}

Result<measure::Verification> verify_variants(device::Device& device, const TaskSpec& spec,
                                              const std::shared_ptr<measure::Reference>& reference,
                                              Workloads workloads, const workspace::Files& files,
                                              const std::string& label,
                                              const measure::VerifyOptions& options,
                                              Random& random) {
  const auto verify = [&](const TaskSpec& task,
                          const measure::VerifyOptions& chosen) -> Result<measure::Verification> {
    BURNISH_TRY_ASSIGN(const auto candidate,
                       judged_candidate(task, files, label, device.info().arch));
    return measure::verify(device, judged_task(task, reference, workloads), candidate, {}, chosen,
                           random);
  };
  BURNISH_TRY_ASSIGN(auto all, verify(spec, options));
  for (const auto& variant : spec.variants) {
    if (all.verdict != measure::Verdict::pass) break;
    measure::VerifyOptions chosen = options;
    chosen.baseline.clear();  // of other dtypes
    BURNISH_TRY_ASSIGN(auto more, verify(workspace::variant_of(spec, variant), chosen));
    all.verdict = more.verdict;
    if (!more.why.empty()) all.why = variant.name + ": " + more.why;
    for (auto& check : more.checks) {
      check.name = variant.name + ": " + check.name;
      all.checks.push_back(std::move(check));
    }
    all.device_problem = std::move(more.device_problem);
    all.seconds += more.seconds;
    all.reference_seconds += more.reference_seconds;
    all.build_seconds += more.build_seconds;
    all.run_seconds += more.run_seconds;
  }
  return all;
}

Result<int> version_number(const std::string& version) {
  const auto number = parse_integer(version.starts_with('v') ? version.substr(1) : version);
  if (!number || *number < 0 || *number > 1'000'000)
    return bad_input("a version is written v0, v1, …, and this is \"" + version + "\"");
  return static_cast<int>(*number);
}

Result<workspace::Files> files_of(workspace::Workspace& workspace, const std::string& version) {
  BURNISH_TRY_ASSIGN(const int n, version_number(version));
  BURNISH_TRY_ASSIGN(const auto commit, workspace.commit_of(n));
  if (!commit) return bad_input(fmt::format("there is no v{} in this workspace", n));
  BURNISH_TRY_ASSIGN(workspace::Files files, workspace.candidate_at(*commit));
  const fs::path tried = workspace.profile_folder(n) / "candidate";
  auto& system = workspace.world().files;
  // The commit of a version that was put back has the kernel that took its place.
  BURNISH_TRY_ASSIGN(const auto record, workspace.record(n));
  const std::string& gate = record.quality_gate.result;
  if (!gate.empty() && gate != "PASS" && !system.exists(tried))
    return bad_input(fmt::format("v{} was put back, and its files are gone", n))
        .at({tried.string()})
        .with_hint("they do not travel with git: take profiles/ from where the workspace was made");
  for (auto& [name, text] : files)
    if (system.exists(tried / name)) {
      BURNISH_TRY_ASSIGN(text, system.read(tried / name));
    }
  return files;
}

std::string dims_text(const Variables& dims) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : dims) parts.push_back(name + "=" + number_text(value));
  return join(parts, " ");
}

double weighted_geometric_mean(const std::vector<std::pair<double, double>>& value_and_weight) {
  double sum = 0, weights = 0;
  for (const auto& [value, weight] : value_and_weight) {
    sum += weight * std::log(value);
    weights += weight;
  }
  return weights > 0 ? std::exp(sum / weights) : std::nan("");
}

namespace {

/// Sizes whose copies move as many bytes as the workloads do: a copy of n bytes moves 2n.
Result<std::vector<std::uint64_t>> copy_sizes(const workspace::TaskSpec& task) {
  std::vector<std::uint64_t> sizes;
  for (const auto& workload : task.workloads) {
    if (!workload.timed()) continue;
    BURNISH_TRY_ASSIGN(const double bytes, task.bytes.evaluate(workload.dims));
    sizes.push_back(std::max<std::uint64_t>(4096, static_cast<std::uint64_t>(bytes / 2)));
  }
  return sizes;
}

}  // namespace

Result<fs::path> ceilings_file(const workspace::Workspace& workspace,
                               const device::DeviceInfo& info) {
  BURNISH_TRY_ASSIGN(const auto sizes, copy_sizes(workspace.task()));
  std::string key = info.name + "\n" + info.driver;
  for (const auto size : sizes) key += "\n" + std::to_string(size);
  return workspace.cache_folder() / ("ceilings-" + content_hash(key) + ".json");
}

Result<std::vector<hardware::Ceiling>> ceilings(workspace::Workspace& workspace,
                                                device::Device& device) {
  // The kernels that measure them are device code, which host code's times are no match for.
  if (device.info().backend == "python") return std::vector<hardware::Ceiling>{};
  BURNISH_TRY_ASSIGN(const auto sizes, copy_sizes(workspace.task()));
  BURNISH_TRY_ASSIGN(const fs::path file, ceilings_file(workspace, device.info()));
  auto& files = workspace.world().files;
  if (files.exists(file)) {
    BURNISH_TRY_ASSIGN(const std::string text, files.read(file));
    BURNISH_TRY_ASSIGN(const Json json, parse_json(text, file.string()));
    std::vector<hardware::Ceiling> found;
    for (const auto& item : json) {
      JsonFields fields(item, file.string());
      found.push_back({fields.string("name"), fields.string("unit"), fields.number("value"),
                       fields.string("kind"), fields.string("source")});
      BURNISH_TRY(fields.finish());
    }
    if (!found.empty()) return found;
  }
  BURNISH_TRY_ASSIGN(auto measured, device::measure_ceilings(device, sizes));
  Json json = Json::array();
  for (const auto& ceiling : measured) json.push_back(ceiling_json(ceiling));
  BURNISH_TRY(files.write(file, dump_json(json)));
  return measured;
}

Result<hardware::Roofline> workload_roofline(const measure::Task& task,
                                             const measure::Workload& workload, double seconds,
                                             device::Caches caches,
                                             const std::vector<hardware::Ceiling>& ceilings) {
  BURNISH_TRY_ASSIGN(const measure::Problem problem, task.problem(workload.name, workload.dims));
  BURNISH_TRY_ASSIGN(const auto compute, device::compute_ceiling(ceilings, problem.work.math_path));
  // A copy of n bytes moves 2n.
  BURNISH_TRY_ASSIGN(const auto bandwidth,
                     device::copy_ceiling(ceilings, problem.work.bytes / 2, caches));
  return hardware::roofline(problem.work, seconds, compute, bandwidth);
}

Result<std::unique_ptr<device::Session>> warm_session(device::Device& device,
                                                      const measure::Task& task,
                                                      const measure::Candidate& candidate,
                                                      const measure::Workload& workload) {
  BURNISH_TRY_ASSIGN(const measure::Problem problem, task.problem(workload.name, workload.dims));
  BURNISH_TRY_ASSIGN(const device::LaunchPlan plan, candidate.plan(workload.dims));
  BURNISH_TRY_ASSIGN(auto session, device.open(candidate.source, {}));
  std::vector<device::Buffer> buffers;
  std::vector<std::vector<std::byte>> contents;
  device::RunRequest request;
  request.plan = &plan;
  for (const auto& tensor : problem.tensors) {
    buffers.push_back({tensor.name, tensor.bytes(), tensor.role});
    if (tensor.role == device::Buffer::Role::out) continue;
    // Any valid values will do: nothing is judged here.
    contents.push_back(from_doubles(
        tensor.dtype, std::vector<double>(static_cast<std::size_t>(tensor.elements()), 1.0)));
  }
  std::size_t next = 0;
  for (const auto& tensor : problem.tensors)
    if (tensor.role != device::Buffer::Role::out) request.contents[tensor.name] = contents[next++];
  BURNISH_TRY(session->prepare(buffers));
  BURNISH_TRY(session->run(request));
  return session;
}

Result<isa::Reading> read_session_code(workspace::Workspace& workspace, device::Session& session,
                                       const fs::path& folder, std::vector<fs::path>& files) {
  isa::Reading all;
  BURNISH_TRY_ASSIGN(const auto objects, session.code());
  int index = 0;
  for (const auto& object : objects) {
    const std::string name = (object.kernel.empty() ? "code" : object.kernel) +
                             (index++ > 0 ? fmt::format("-{}", index) : "") + object.suffix;
    BURNISH_TRY(workspace.world().files.write(folder / name, object.bytes));
    files.push_back(folder / name);
    auto reading = isa::read_code(folder / name, workspace.world().processes);
    if (!reading) {
      all.warnings.push_back(reading.error().to_string());
      continue;
    }
    all.kind = reading->kind;
    all.tool = reading->tool;
    for (auto& kernel : reading->kernels) all.kernels.push_back(std::move(kernel));
    for (auto& warning : reading->warnings) all.warnings.push_back(std::move(warning));
  }
  return all;
}

}  // namespace burnish::loop
