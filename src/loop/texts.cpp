#include "loop/texts.h"

#include <fmt/format.h>

#include "base/text.h"

namespace burnish::loop {
namespace {

using workspace::Record;

std::string value_or_unknown(const std::optional<double>& value, const char* format,
                             double scale = 1) {
  return value ? fmt::format(fmt::runtime(format), *value * scale) : "not measured";
}

std::string change(const std::optional<double>& before, const std::optional<double>& after) {
  if (!before || !after || *before == 0) return "";
  return fmt::format("{:+.1f} %", (*after / *before - 1) * 100);
}

std::string ceilings_table(const std::vector<hardware::Ceiling>& ceilings) {
  std::string out = "| ceiling | value | kind | source |\n|---|---|---|---|\n";
  for (const auto& ceiling : ceilings)
    out += fmt::format("| {} | {} | {} | {} |\n", ceiling.name,
                       with_prefix(ceiling.value, ceiling.unit), ceiling.kind, ceiling.source);
  return out;
}

std::string goals(const workspace::TaskSpec& task) {
  std::vector<std::string> parts;
  const auto& stop = task.stop;
  if (stop.utilization)
    parts.push_back(
        fmt::format("utilization of the roofline's ceiling ≥ {:.0f} %", *stop.utilization * 100));
  if (stop.speedup) parts.push_back(fmt::format("≥ {} times v0", number_text(*stop.speedup)));
  if (stop.seconds) parts.push_back("latency ≤ " + with_prefix(*stop.seconds, "s"));
  if (parts.empty()) parts.push_back("utilization of the roofline's ceiling ≥ 90 %");
  return join(parts, " and ") + fmt::format("; at most {} iterations", stop.max_iterations);
}

}  // namespace

std::string first_line(const std::string& text, std::size_t limit) {
  std::string line = text.substr(0, text.find('\n'));
  if (line.size() <= limit) return line;
  const std::size_t space = line.rfind(' ', limit);
  line.resize(space == std::string::npos ? limit : space);
  return to_valid_utf8(line) + " …";
}

std::string commit_subject(const Record& record, const std::string& what) {
  const auto& performance = record.performance;
  std::string subject = fmt::format("V{}: {} TFLOPS / {} GB/s | {}", record.number,
                                    value_or_unknown(performance.tflops, "{:.4g}"),
                                    value_or_unknown(performance.bandwidth_gbps, "{:.4g}"), what);
  if (!record.profile_evidence.findings.empty())
    subject += fmt::format(" (bottleneck: {})", record.profile_evidence.findings.front());
  return subject;
}

std::string baseline_report(const workspace::TaskSpec& task, const Record& record,
                            const measure::Verification& verification, const measure::Bench& bench,
                            const std::vector<hardware::Ceiling>& ceilings) {
  std::string out = fmt::format("# Baseline of {}: v{}\n\n", task.name, record.number);
  out += fmt::format(
      "- kernel: `{}`, launched by `{}`\n- reference: `{}`, in double precision\n"
      "- device: {}\n- timed by: {}\n\n## Correctness\n\n"
      "| workload | inputs | verdict | largest error | slice | global |\n"
      "|---|---|---|---|---|---|\n",
      task.kernel_file, task.launch_file, task.reference_file, bench.device, bench.method.text());
  for (const auto& check : verification.checks)
    out += fmt::format("| {} | {} | {} | {:.3g} | {:.3g} | {:.3g} |\n", check.name, check.inputs,
                       measure::to_string(check.verdict), check.errors.max_abs, check.errors.slice,
                       check.errors.global);
  out +=
      "\n## Performance\n\n| workload | p50 | p5 | p95 | warm p50 | rate | bandwidth |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const auto& timing : bench.results)
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", timing.workload,
                       with_prefix(timing.latency.p50, "s"), with_prefix(timing.latency.p5, "s"),
                       with_prefix(timing.latency.p95, "s"), with_prefix(timing.warm.p50, "s"),
                       with_prefix(timing.flops, "FLOP/s"), with_prefix(timing.bandwidth, "B/s"));
  out += fmt::format("\nA against A: [{:.4f}, {:.4f}].\n\n## Ceilings\n\n", bench.noise.low,
                     bench.noise.high);
  return out + ceilings_table(ceilings);
}

std::string iteration_report(const workspace::Plan& plan, const Record& record,
                             const Record& parent, const Judgement& judgement) {
  std::string out = fmt::format(
      "# v{}: {}\n\n**{}**{}\n\n## Optimization action\n\n{}. Category `{}`, "
      "by {}.\n\n## Profile evidence\n\n{}\n\nFindings: {}. Plan: "
      "[plans/v{}_plan.md](../plans/v{}_plan.md).\n",
      record.number, plan.category, judgement.result,
      judgement.reason.empty() ? "" : ": " + judgement.reason, plan.action, plan.category,
      plan.agent,
      record.profile_evidence.evidence_summary.empty() ? "see the plan"
                                                       : record.profile_evidence.evidence_summary,
      join(plan.findings, ", "), record.number, record.number);
  out += "\n## What the gate saw\n\n";
  for (const auto& [part, text] : judgement.parts) out += fmt::format("- {}: {}\n", part, text);

  const auto& now = record.performance;
  const auto& before = parent.performance;
  out += fmt::format("\n## Performance\n\n| metric | v{} | v{} | change |\n|---|---|---|---|\n",
                     parent.number, record.number);
  const auto row = [&](const char* name, const std::optional<double>& a,
                       const std::optional<double>& b, const char* format) {
    out += fmt::format("| {} | {} | {} | {} |\n", name, value_or_unknown(a, format),
                       value_or_unknown(b, format), change(a, b));
  };
  row("latency, µs", before.latency_us, now.latency_us, "{:.5g}");
  row("TFLOPS", before.tflops, now.tflops, "{:.4g}");
  row("GB/s", before.bandwidth_gbps, now.bandwidth_gbps, "{:.4g}");
  row("compute utilization, %", before.tflops_peak_utilization_pct, now.tflops_peak_utilization_pct,
      "{:.1f}");
  row("bandwidth utilization, %", before.bandwidth_peak_utilization_pct,
      now.bandwidth_peak_utilization_pct, "{:.1f}");
  if (judgement.bench) {
    out += fmt::format(
        "\n| workload | v{} | v{} | times faster | interval | verdict |\n"
        "|---|---|---|---|---|---|\n",
        parent.number, record.number);
    for (const auto& compared : judgement.bench->comparisons) {
      const auto shape = [&](const std::string& version) -> std::string {
        for (const auto& timing : judgement.bench->results)
          if (timing.version == version && timing.workload == compared.workload)
            return with_prefix(timing.latency.p50, "s");
        return "";
      };
      out +=
          fmt::format("| {} | {} | {} | {:.3f} | [{:.3f}, {:.3f}] | {} |\n", compared.workload,
                      shape(compared.a), shape(compared.b), compared.ratio, compared.interval.low,
                      compared.interval.high, measure::to_string(compared.verdict));
    }
    out += fmt::format("\nMethod: {}. A against A: [{:.4f}, {:.4f}].\n",
                       judgement.bench->method.text(), judgement.bench->noise.low,
                       judgement.bench->noise.high);
  }
  if (judgement.verification) {
    out += "\n## Correctness\n\n";
    const auto& verification = *judgement.verification;
    out += fmt::format("{}, {} checks{}\n", measure::to_string(verification.verdict),
                       verification.checks.size(),
                       verification.why.empty() ? "." : ": " + verification.why);
    for (const auto& check : verification.checks) {
      if (check.verdict == measure::Verdict::pass) continue;
      out += fmt::format("\n- {} with {}: {}\n", check.name, check.inputs, check.why);
      for (const auto& worst : check.worst) {
        std::vector<std::string> index;
        for (const auto i : worst.index) index.push_back(std::to_string(i));
        out += fmt::format("  - {}[{}] is {:.9g}, should be {:.9g} ± {:.3g}\n", worst.tensor,
                           join(index, ", "), worst.got, worst.want, worst.bound);
      }
    }
  }
  if (!judgement.isa.empty()) {
    out += "\n## Machine code\n\n";
    for (const auto& kernel : judgement.isa) {
      out += fmt::format("- {}: {}\n", kernel.name, kernel.summary);
      for (const auto& [name, values] : kernel.changed)
        out += fmt::format("  - `{}`: {} → {}\n", name, number_text(values.first),
                           number_text(values.second));
    }
  }
  if (!record.isa_metric_progress.empty()) {
    out += "\n## ISA metric progress\n\n| metric | target | now | met |\n|---|---|---|---|\n";
    for (const auto& item : record.isa_metric_progress)
      out += fmt::format("| {} | {} | {} | {} |\n", item.metric, item.target, item.current,
                         item.met ? "yes" : "no");
  }
  return out;
}

std::string workspace_readme(const workspace::TaskSpec& task, const device::DeviceInfo& device,
                             const std::vector<hardware::Ceiling>& ceilings,
                             const std::vector<Record>& records) {
  std::string out = fmt::format(
      "# {}\n\n{}\n\nGenerated by burnish; do not edit.\n\n## Target\n\n"
      "- device: {} ({}, {})\n- language: {}\n- math path: {}\n\n"
      "## Workloads\n\n| workload | dimensions | weight | FLOP | bytes |\n"
      "|---|---|---|---|---|\n",
      task.name, task.description, device.name, device.id, device.arch, task.language,
      task.math_path);
  for (const auto& workload : task.workloads) {
    const auto flops = task.flops.evaluate(workload.dims),
               bytes = task.bytes.evaluate(workload.dims);
    out += fmt::format("| {} | {} | {} | {} | {} |\n", workload.name, dims_text(workload.dims),
                       number_text(workload.weight), flops ? with_prefix(*flops, "") : "unknown",
                       bytes ? with_prefix(*bytes, "B") : "unknown");
  }
  out += "\n## Hardware\n\n" + ceilings_table(ceilings);
  out += fmt::format("\n- compute units: {} (queried)\n- last-level cache: {} (queried)\n",
                     device.compute_units,
                     device.cache_bytes > 0 ? with_binary_prefix(device.cache_bytes) : "unknown");
  out += "\n## Stop condition\n\n" + goals(task) + ".\n";
  if (!task.isa_targets.empty()) {
    out += "\n## ISA optimization targets\n\n";
    for (const auto& target : task.isa_targets)
      out += fmt::format("- `{}` {} {}\n", target.metric, target.comparison,
                         number_text(target.value));
  }
  if (!records.empty()) {
    out +=
        "\n## History\n\n| version | category | gate | times faster | latency, µs | times v0 |\n"
        "|---|---|---|---|---|---|\n";
    for (const auto& record : records) {
      const auto& performance = record.performance;
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", record.version,
                         record.optimization.action_category, record.quality_gate.result,
                         performance.speedup_over_previous
                             ? fmt::format("{:.3f}", *performance.speedup_over_previous)
                             : "",
                         value_or_unknown(performance.latency_us, "{:.5g}"),
                         record.quality_gate.result == "PASS" && performance.speedup_over_baseline
                             ? fmt::format("{:.2f}", *performance.speedup_over_baseline)
                             : "");
    }
  }
  return out;
}

}  // namespace burnish::loop
