#include "isa/isa.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"
#include "hardware/occupancy.h"

namespace burnish::cli {
namespace {

struct IsaOptions {
  std::vector<std::string> files, diff;
  std::string kernel;
};

Json widths_json(const isa::Widths& widths) {
  Json json = Json::object();
  for (const auto& [kind, histogram] : widths) {
    json[kind] = Json::object();
    for (const auto& [bits, count] : histogram) json[kind][std::to_string(bits)] = count;
  }
  return json;
}

/// Occupancy of a kernel by the vendor's model, when its block size is known from the code.
std::optional<hardware::Occupancy> occupancy_of(const isa::Kernel& kernel) {
  if (!kernel.workgroup_limit || !kernel.registers_used) return std::nullopt;
  hardware::KernelResources resources;
  resources.threads = static_cast<int>(*kernel.workgroup_limit);
  resources.registers = static_cast<int>(*kernel.registers_used);
  resources.accum_registers = static_cast<int>(kernel.registers_accum.value_or(0));
  resources.scalar_registers = static_cast<int>(kernel.registers_scalar.value_or(0));
  resources.shared_bytes = kernel.shared_bytes.value_or(0);
  if (const auto wave = kernel.extra.find("isa.wave_size"); wave != kernel.extra.end())
    resources.wave_size = static_cast<int>(wave->second);
  auto occupancy = hardware::occupancy(kernel.arch, resources);
  if (!occupancy) return std::nullopt;
  return *occupancy;
}

Json kernel_json(const isa::Kernel& kernel, const evidence::Rules& rules) {
  Json json = {{"name", kernel.name}, {"arch", kernel.arch}};
  Json registers = Json::object();
  const auto put = [](Json& into, const char* name, const std::optional<std::int64_t>& value) {
    if (value) into[name] = *value;
  };
  put(registers, "used", kernel.registers_used);
  put(registers, "allocated", kernel.registers_allocated);
  put(registers, "accum", kernel.registers_accum);
  put(registers, "scalar", kernel.registers_scalar);
  json["registers"] = registers;
  put(json, "shared_bytes", kernel.shared_bytes);
  put(json, "scratch_bytes", kernel.scratch_bytes);
  Json spills = Json::object();
  put(spills, "loads", kernel.spill_loads);
  put(spills, "stores", kernel.spill_stores);
  put(spills, "bytes", kernel.spill_bytes);
  json["spills"] = spills;
  if (!kernel.instructions.empty()) json["instructions"] = kernel.instructions.size();
  json["classes"] = kernel.classes;
  json["widths"] = widths_json(kernel.widths);
  json["cross_lane"] = kernel.cross_lane;
  if (!kernel.matrix_shapes.empty()) json["matrix"] = kernel.matrix_shapes;
  if (!kernel.unknown_opcodes.empty()) json["unknown_opcodes"] = kernel.unknown_opcodes;
  json["loops"] = Json::array();
  const int hot = isa::hot_loop(kernel);
  for (const auto& loop : kernel.loops)
    json["loops"].push_back({{"id", loop.id},
                             {"depth", loop.depth},
                             {"hot", loop.id == hot},
                             {"blocks", loop.blocks.size()},
                             {"instructions", loop.instructions},
                             {"classes", loop.classes},
                             {"widths", widths_json(loop.widths)},
                             {"extra", loop.extra}});
  if (!kernel.extra.empty()) json["extra"] = kernel.extra;
  if (const auto occupancy = occupancy_of(kernel))
    json["occupancy"] = {{"limiter", occupancy->limiter},
                         {"waves", occupancy->waves_per_simd},
                         {"pct", occupancy->pct},
                         {"model", occupancy->model}};
  json["findings"] = Json::array();
  for (const auto& finding :
       rules.evaluate({isa::metrics(kernel), kernel.vendor, kernel.arch}).findings)
    json["findings"].push_back(evidence::to_json(finding));
  if (!kernel.notes.empty()) json["notes"] = kernel.notes;
  return json;
}

std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts)
    if (count != 0) parts.push_back(fmt::format("{} {}", name, count));
  return join(parts, ", ");
}

std::string widths_text(const isa::Widths& widths) {
  std::vector<std::string> parts;
  for (const auto& [kind, histogram] : widths)
    for (const auto& [bits, count] : histogram)
      parts.push_back(fmt::format("{} {} b × {}", kind, bits, count));
  return join(parts, ", ");
}

std::string kernel_text(const isa::Kernel& kernel, const evidence::Rules& rules) {
  std::string out = fmt::format(
      "\n{} ({}), {}\n", kernel.name, kernel.arch.empty() ? "unknown target" : kernel.arch,
      kernel.instructions.empty() ? "not disassembled"
                                  : fmt::format("{} instructions", kernel.instructions.size()));
  std::vector<std::string> resources;
  const auto put = [&](const char* name, const std::optional<std::int64_t>& value) {
    if (value) resources.push_back(fmt::format("{} {}", name, *value));
  };
  put("registers", kernel.registers_used);
  put("allocated", kernel.registers_allocated);
  put("accumulation", kernel.registers_accum);
  put("scalar", kernel.registers_scalar);
  put("shared bytes", kernel.shared_bytes);
  put("scratch bytes", kernel.scratch_bytes);
  put("spill loads", kernel.spill_loads);
  put("spill stores", kernel.spill_stores);
  if (!resources.empty()) out += "  resources   " + join(resources, ", ") + "\n";
  if (const auto occupancy = occupancy_of(kernel))
    out += fmt::format("  occupancy   {} waves a SIMD, {:.1f} %, limited by {} ({})\n",
                       occupancy->waves_per_simd, occupancy->pct, occupancy->limiter,
                       occupancy->model);
  if (!kernel.classes.empty()) out += "  classes     " + counts_text(kernel.classes) + "\n";
  if (!kernel.widths.empty()) out += "  widths      " + widths_text(kernel.widths) + "\n";
  if (const std::string kinds = counts_text(kernel.cross_lane); !kinds.empty())
    out += "  cross lane  " + kinds + "\n";
  if (!kernel.matrix_shapes.empty())
    out += "  matrix      " + counts_text(kernel.matrix_shapes) + "\n";
  const int hot = isa::hot_loop(kernel);
  for (const auto& loop : kernel.loops) {
    out += fmt::format("  {} {:<3} depth {}, {} instructions: {}\n",
                       loop.id == hot ? "hot loop" : "loop    ", loop.id, loop.depth,
                       loop.instructions, counts_text(loop.classes));
    if (loop.id != hot) continue;
    std::vector<std::string> parts;
    for (const auto& [name, value] : loop.extra)
      if (value != 0) parts.push_back(fmt::format("{} {}", name, number_text(value)));
    if (!parts.empty()) out += "              " + join(parts, ", ") + "\n";
  }
  if (!kernel.unknown_opcodes.empty())
    out += "  unknown     " + counts_text(kernel.unknown_opcodes) + "\n";
  for (const auto& note : kernel.notes) out += "  note: " + note + "\n";
  for (const auto& finding :
       rules.evaluate({isa::metrics(kernel), kernel.vendor, kernel.arch}).findings)
    out += fmt::format("  finding     {} [{}], at most {:.2f}x: {}\n", finding.id, finding.category,
                       finding.headroom, finding.because);
  return out;
}

Result<isa::Reading> read(const std::string& file, const IsaOptions& options) {
  BURNISH_TRY_ASSIGN(auto reading, isa::read_code(file, real_process_runner()));
  if (options.kernel.empty()) return reading;
  std::regex pattern;
  try {
    pattern = std::regex(options.kernel);
  } catch (const std::regex_error& error) {
    return bad_input("--kernel is no regular expression: " + std::string(error.what()));
  }
  const std::size_t before = reading.kernels.size();
  std::erase_if(reading.kernels, [&](const isa::Kernel& kernel) {
    return !std::regex_search(kernel.name, pattern) && !std::regex_search(kernel.symbol, pattern);
  });
  if (reading.kernels.empty())
    return bad_input(fmt::format("none of the {} kernels matches \"{}\"", before, options.kernel))
        .at({file});
  return reading;
}

Result<int> show_diff(const Common& common, const IsaOptions& options) {
  // "isa A --diff B" and "isa --diff A B" say the same.
  std::vector<std::string> files = options.files;
  files.insert(files.end(), options.diff.begin(), options.diff.end());
  if (files.size() != 2) return bad_input("--diff compares two files: isa A --diff B");
  BURNISH_TRY_ASSIGN(const auto before, read(files[0], options));
  BURNISH_TRY_ASSIGN(const auto after, read(files[1], options));
  const auto diff = isa::diff(before, after);
  if (common.json) {
    Json json = {{"identical", diff.identical}, {"kernels", Json::array()}};
    for (const auto& kernel : diff.kernels) {
      Json changed = Json::object();
      for (const auto& [name, values] : kernel.changed)
        changed[name] = {values.first, values.second};
      json["kernels"].push_back({{"name", kernel.name},
                                 {"identical", kernel.identical},
                                 {"changed", changed},
                                 {"summary", kernel.summary}});
    }
    json["only_before"] = diff.only_before;
    json["only_after"] = diff.only_after;
    print_json(json);
    return 0;
  }
  if (diff.identical) print("identical\n");
  for (const auto& kernel : diff.kernels) {
    print(fmt::format("{}: {}\n", kernel.name, kernel.summary));
    for (const auto& [name, values] : kernel.changed)
      print(fmt::format("  {:<32} {} -> {}\n", name, number_text(values.first),
                        number_text(values.second)));
  }
  for (const auto& name : diff.only_before) print("only before: " + name + "\n");
  for (const auto& name : diff.only_after) print("only after: " + name + "\n");
  return 0;
}

}  // namespace

void add_isa(CommandLine& line, Common& common) {
  auto options = std::make_shared<IsaOptions>();
  auto arguments = line.verb("isa", "read any code object, assembly or disassembly");
  arguments.positionals("FILE", options->files, "code objects, assembly or disassembly");
  arguments.options("--diff", options->diff, "what changed from the first file to the second");
  arguments.option("--kernel", options->kernel, "only kernels that match this regular expression");
  arguments.action([&common, options]() -> Result<int> {
    if (!options->diff.empty()) return show_diff(common, *options);
    if (options->files.empty()) return bad_input("isa needs a FILE or --diff A B");
    BURNISH_TRY_ASSIGN(const auto rules, evidence::Rules::load());
    Json json = {{"kernels", Json::array()}, {"warnings", Json::array()}};
    for (const auto& file : options->files) {
      BURNISH_TRY_ASSIGN(const auto reading, read(file, *options));
      for (const auto& warning : reading.warnings) {
        json["warnings"].push_back(warning);
        if (!common.json) say(common, "warning: " + warning);
      }
      for (const auto& kernel : reading.kernels) {
        if (common.json)
          json["kernels"].push_back(kernel_json(kernel, rules));
        else
          print(kernel_text(kernel, rules));
      }
    }
    if (common.json) print_json(json);
    return 0;
  });
}

}  // namespace burnish::cli
