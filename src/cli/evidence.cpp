#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"
#include "knowledge/knowledge.h"

namespace burnish::cli {
namespace {

std::string kernel_text(const evidence::KernelEvidence& kernel, const Common& common) {
  std::string out = fmt::format("\n{}", kernel.name);
  if (!kernel.device.name.empty()) out += " on " + kernel.device.name;
  if (!kernel.device.arch.empty()) out += " (" + kernel.device.arch + ")";
  if (!kernel.id.empty()) out += ", " + kernel.id;
  if (kernel.launch.grid && kernel.launch.block)
    out +=
        fmt::format(", grid {}x{}x{}, block {}x{}x{}", (*kernel.launch.grid)[0],
                    (*kernel.launch.grid)[1], (*kernel.launch.grid)[2], (*kernel.launch.block)[0],
                    (*kernel.launch.block)[1], (*kernel.launch.block)[2]);
  out += "\n";
  for (const auto& finding : kernel.verdicts.findings) {
    out += fmt::format("  {:<6} {} [{}], at most {:.2f}x\n", finding.severity, finding.id,
                       finding.category, finding.headroom);
    out += fmt::format("         {}\n         -> {}\n", finding.because, finding.action);
    if (!finding.location.empty()) out += fmt::format("         at {}\n", finding.location);
    if (!finding.cards.empty())
      out += fmt::format("         cards: {}\n", join(finding.cards, ", "));
  }
  if (kernel.verdicts.findings.empty()) out += "  no finding\n";
  for (const auto& statement : kernel.statements) out += "  note: " + statement + "\n";
  if (!kernel.verdicts.missing.empty()) {
    out += fmt::format("  {} rules could not be evaluated, which is not the same as no problem{}\n",
                       kernel.verdicts.missing.size(), common.verbose ? ":" : " (-v lists them)");
    if (common.verbose)
      for (const auto& missing : kernel.verdicts.missing)
        out += fmt::format("    {} needs {}{}\n", missing.rule, join(missing.metrics, ", "),
                           missing.collect.empty() ? "" : "; " + missing.collect);
  }
  if (common.verbose) {
    out += "  metrics:\n";
    for (const auto& [name, metric] : kernel.metrics.all())
      out += fmt::format("    {} = {} {}  ({}, {}{})\n", name,
                         metric.unit == "text" ? metric.text : number_text(metric.value),
                         metric.unit == "1" || metric.unit == "text" ? "" : metric.unit,
                         metric.where.file, metric.where.locator,
                         metric.where.raw_name.empty() ? "" : ", " + metric.where.raw_name);
  }
  return out;
}

}  // namespace

void add_evidence(CommandLine& line, Common& common) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto arguments =
      line.verb("evidence", "read profiler artefacts and code; say what is wrong and by how much");
  arguments
      .positionals("FILE", *files, "any profiler artefact, code object, assembly or disassembly")
      .required();
  arguments.action([&common, files]() -> Result<int> {
    BURNISH_TRY_ASSIGN(const auto rules, evidence::Rules::load());
    std::vector<fs::path> paths(files->begin(), files->end());
    BURNISH_TRY_ASSIGN(auto found, evidence::gather(paths, rules, real_process_runner()));
    BURNISH_TRY_ASSIGN(const auto catalogue, knowledge::Catalogue::load());
    for (auto& kernel : found.kernels) {
      const std::string& arch = kernel.device.arch;
      for (auto& finding : kernel.verdicts.findings)
        finding.cards = catalogue.holding_on(evidence::vendor_of_arch(arch), arch, finding.cards);
    }
    if (common.json) {
      print_json(evidence::to_json(found));
      return 0;
    }
    for (const auto& artefact : found.artefacts)
      print(fmt::format("{}: {}{}{}\n", artefact.file.string(), artefact.kind,
                        artefact.tool.empty() ? "" : ", " + artefact.tool,
                        artefact.version.empty() ? "" : " " + artefact.version));
    for (const auto& warning : found.warnings) print("warning: " + warning + "\n");
    for (const auto& kernel : found.kernels) print(kernel_text(kernel, common));
    return 0;
  });
}

}  // namespace burnish::cli
