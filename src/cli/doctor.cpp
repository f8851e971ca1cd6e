#include "device/doctor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"
#include "report/table.h"

namespace burnish::cli {

void add_doctor(CommandLine& line, Common& common) {
  auto arguments = line.verb("doctor", "what this machine can do, and what would bring the rest");
  arguments.action([&common]() -> Result<int> {
    const auto diagnosis = device::diagnose(real_process_runner());
    if (common.json) {
      print_json(device::to_json(diagnosis));
      return 0;
    }
    report::TextTable devices({"device", "backend", "architecture", "memory", "name"});
    for (const auto& device : diagnosis.devices)
      devices.row({device.id, device.backend, device.arch, with_binary_prefix(device.memory_bytes),
                   device.name});
    print(diagnosis.devices.empty() ? "no device\n" : devices.text(terminal_columns()));
    report::TextTable tools({"tool", "for", "version or how to get it"});
    for (const auto& tool : diagnosis.tools)
      tools.row(
          {(tool.ok ? "✓ " : "✗ ") + tool.name, tool.purpose, tool.ok ? tool.version : tool.hint});
    print("\n" + tools.text(terminal_columns()));
    print("\nisolation of candidates: " + diagnosis.isolation + "\n");
    for (const auto& problem : diagnosis.problems) print("problem: " + problem + "\n");
    return diagnosis.devices.empty() ? exit_code(ErrorKind::environment) : 0;
  });
}

}  // namespace burnish::cli
