#include "device/doctor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"
#include "loop/rocprofv3.h"
#include "report/table.h"

namespace burnish::cli {
namespace {

device::Tool examine_trace_decoder() {
  const auto profiler = loop::find_rocprofv3();
  device::Tool tool{"rocprof-trace-decoder", "decodes thread traces of AMD GPUs", "", "", false,
                    loop::kInstallDecoder};
  if (const auto folder = loop::find_trace_decoder(profiler ? profiler->program : fs::path())) {
    tool.path = folder->string();
    tool.ok = true;
  }
  return tool;
}

}  // namespace

void add_doctor(CommandLine& line, Common& common) {
  auto arguments = line.verb("doctor", "what this machine can do, and what would bring the rest");
  arguments.action([&common]() -> Result<int> {
    auto diagnosis = device::diagnose(real_process_runner());
    diagnosis.tools.push_back(examine_trace_decoder());
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
      tools.row({(tool.ok ? "✓ " : "✗ ") + tool.name, tool.purpose,
                 !tool.ok               ? tool.hint
                 : tool.version.empty() ? tool.path
                                        : tool.version});
    print("\n" + tools.text(terminal_columns()));
    print("\nisolation of candidates: " + diagnosis.isolation + "\n");
    for (const auto& problem : diagnosis.problems) print("problem: " + problem + "\n");
    return diagnosis.devices.empty() ? exit_code(ErrorKind::environment) : 0;
  });
}

}  // namespace burnish::cli
