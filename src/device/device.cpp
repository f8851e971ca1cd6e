#include "device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "device/executor.h"
#include "device/opencl_devices.h"
#include "device/probe.h"
#include "device/protocol.h"
#include "device/python_device.h"
#include "device/session.h"
#include "device/worker_process.h"
#include "device/worker_reply.h"

namespace burnish::device {
namespace {

constexpr std::chrono::milliseconds kListDeadline{15'000};

class WorkerDevice : public Device {
 public:
  WorkerDevice(DeviceInfo info, WorkerOptions worker, const fs::path& cache)
      : info_(std::move(info)), worker_(std::move(worker)), cache_(cache) {}
  const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Session>> open(const Source& source, const Limits& limits) override {
    return open_session(info_, worker_, cache_, source, limits);
  }
  Result<void> probe() override { return probe_device(*this); }

 private:
  DeviceInfo info_;
  WorkerOptions worker_;
  BinaryCache cache_;
};

/// The devices of one backend; `id` asks for one that is not listed.
Result<std::vector<DeviceInfo>> ask_backend(const std::string& backend, const std::string& id,
                                            const fs::path& program) {
  BURNISH_TRY_ASSIGN(const fs::path file, worker_program(program));
  WorkerStart start;
  start.program = file;
  start.confinement = best_sandbox().confinement;
  start.files = DeviceFiles::all;
  BURNISH_TRY_ASSIGN(const std::unique_ptr<WorkerProcess> worker, WorkerProcess::start(start));
  const Json message = {{"do", "list"}, {"backend", backend}, {"id", id}};
  BURNISH_TRY_ASSIGN(const WorkerReply reply, worker->ask(message, {}, kListDeadline,
                                                          "listing the " + backend + " devices"));
  const auto list = reply.json.find("devices");
  if (list == reply.json.end() || !list->is_array()) return bug("a worker lists no devices");
  std::vector<DeviceInfo> devices;
  for (const Json& item : *list) {
    BURNISH_TRY_ASSIGN(DeviceInfo info, device_info_from(item));
    devices.push_back(std::move(info));
  }
  return devices;
}

std::string what_there_is(const std::vector<DeviceInfo>& devices,
                          const std::vector<std::string>& problems) {
  std::vector<std::string> lines;
  for (const DeviceInfo& info : devices) {
    lines.push_back(fmt::format("{} ({}, {})", info.id, info.name, info.platform));
  }
  std::string text = lines.empty() ? "there is no device" : "there are: " + join(lines, "; ");
  for (const std::string& problem : problems) text += "; " + problem;
  return text;
}

/// PoCL calls its platform "Portable Computing Language", and itself by name in its version only.
bool is_called(const DeviceInfo& info, std::string_view part) {
  return contains(to_lower(info.platform), part) || contains(to_lower(info.name), part) ||
         contains(to_lower(info.driver), part);
}

}  // namespace

Result<fs::path> worker_program(const fs::path& program) {
  if (!program.empty()) return fs::absolute(program);
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return environment_error("cannot find this program's own file in /proc");
  return self;
}

std::vector<DeviceInfo> list_devices(std::vector<std::string>& problems, const fs::path& program) {
  std::vector<DeviceInfo> devices;
  for (const Backend& backend : backends()) {
    Result<std::vector<DeviceInfo>> found = ask_backend(std::string(backend.name), "", program);
    if (found) {
      // A simulator that the loader's folder names is slower than any device and no device at all.
      std::erase_if(*found, [](const DeviceInfo& info) { return info.id == kSimulatorId; });
      devices.insert(devices.end(), found->begin(), found->end());
      continue;
    }
    std::string problem = fmt::format("{}: {}", backend.name, found.error().message);
    if (!found.error().hint.empty()) problem += fmt::format(" ({})", found.error().hint);
    problems.push_back(std::move(problem));
  }
  return devices;
}

Result<DeviceInfo> choose_device(const std::string& choice, const fs::path& program) {
  std::vector<DeviceInfo> devices;
  std::vector<std::string> problems;
  if (choice == "auto" || choice.empty()) {
    devices = list_devices(problems, program);
    for (const DeviceInfo& info : devices) {
      if (info.vendor != "cpu") return info;
    }
    if (!devices.empty()) return devices.front();
    return environment_error("no device can run kernels here: " + what_there_is(devices, problems))
        .with_hint(
            "`burnish doctor` shows what is missing; a CPU serves with "
            "apt-get install pocl-opencl-icd");
  }
  if (choice == "python" || choice == kPythonId) return python_device_info();
  const std::size_t colon = choice.find(':');
  const std::string backend = choice.substr(0, colon);
  const std::string which = colon == std::string::npos ? "" : to_lower(choice.substr(colon + 1));
  if (find_backend(backend) == nullptr) {
    std::vector<std::string> names;
    for (const Backend& known : backends()) names.emplace_back(known.name);
    names.emplace_back("auto");
    Error error = bad_input(fmt::format("no backend is called \"{}\"", backend));
    const std::optional<std::string> near = nearest(backend, names);
    return std::move(error).with_hint(near ? fmt::format("did you mean \"{}\"?", *near)
                                           : "one of " + join(names, ", "));
  }
  const bool wants_simulator = choice == kSimulatorId;
  BURNISH_TRY_ASSIGN(devices, ask_backend(backend, wants_simulator ? kSimulatorId : "", program));
  for (const DeviceInfo& info : devices) {
    if (which.empty() ? info.vendor != "cpu" : info.id == backend + ":" + which) return info;
  }
  if (which.empty() && !devices.empty()) return devices.front();
  const bool is_number = parse_integer(which).has_value();
  for (const DeviceInfo& info : devices) {
    if (!is_number && is_called(info, which)) return info;
  }
  return environment_error(
      fmt::format("no device fits \"{}\": {}", choice, what_there_is(devices, problems)));
}

Result<std::unique_ptr<Device>> open_confined_device(const DeviceInfo& info,
                                                     const DeviceOptions& options,
                                                     Confinement confinement) {
  if (info.backend == "python") return open_python_device(info);
  if (find_backend(info.backend) == nullptr) {
    return environment_error(fmt::format("this burnish cannot run {} devices", info.backend));
  }
  WorkerOptions worker;
  BURNISH_TRY_ASSIGN(worker.program, worker_program(options.program));
  worker.wrapper = options.wrapper;
  worker.guards = info.id == kSimulatorId ? DeviceOptions::Guards::none : options.guards;
  worker.confinement = options.wrapper.empty() ? confinement : Confinement::process_group;
  return std::unique_ptr<Device>(
      std::make_unique<WorkerDevice>(info, std::move(worker), options.cache_folder));
}

Result<std::unique_ptr<Device>> open_device(const DeviceInfo& info, const DeviceOptions& options) {
  return open_confined_device(info, options, best_sandbox().confinement);
}

std::string isolation() { return best_sandbox().words; }

}  // namespace burnish::device
