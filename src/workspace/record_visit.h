#pragma once

#include <string>
#include <vector>

#include "workspace/record.h"

namespace burnish::workspace {

// The fields of a record, written down once. A visitor has one member function a kind of field
// (RecordField::Kind) plus object(key, function); reader, writer and list of fields are visitors.

inline const std::vector<std::string>& gate_results() {
  static const std::vector<std::string> names = {"PASS", "FAIL", "TIMEOUT_FAIL"};
  return names;
}

template <class Visitor, class R>
void visit_record(Visitor& v, R& r) {
  static const std::vector<std::string> verdicts = {"baseline", "improved", "regressed",
                                                    "inconclusive"};
  static const std::vector<std::string> error_types = {
      "compilation", "runtime", "accuracy", "performance", "isa", "attribution", "timeout"};
  v.text("version", r.version);
  v.version("parent", r.parent);
  v.flag("masked", r.masked);
  v.text("timestamp", r.timestamp);
  v.text("artefact_hash", r.artefact_hash);
  v.object("performance", [&](auto& p) {
    auto& f = r.performance;
    p.number("latency_us", f.latency_us);
    p.numbers("latency_us_by_shape", f.latency_us_by_shape);
    p.number("tflops", f.tflops);
    p.number("bandwidth_gbps", f.bandwidth_gbps);
    p.number("tflops_peak_utilization_pct", f.tflops_peak_utilization_pct);
    p.number("bandwidth_peak_utilization_pct", f.bandwidth_peak_utilization_pct);
    p.object("comparison_with_previous", [&](auto& c) {
      c.loose("latency_delta", f.latency_delta);
      c.loose("tflops_delta", f.tflops_delta);
      c.loose("bandwidth_delta", f.bandwidth_delta);
    });
    p.number("speedup_over_previous", f.speedup_over_previous);
    p.number("speedup_over_baseline", f.speedup_over_baseline);
    p.interval("interval", f.interval);
    p.choice("verdict", f.verdict, verdicts);
    p.text("method", f.method);
    p.text("device", f.device);
  });
  v.object("optimization", [&](auto& o) {
    auto& f = r.optimization;
    o.text("action_category", f.action_category);
    o.text("action_description", f.action_description);
    o.text("expected_impact", f.expected_impact);
    o.text("risks_and_rollback", f.risks_and_rollback);
    o.words("parameters", f.parameters);
    o.text("agent", f.agent);
    o.flag("enabler", f.enabler);
  });
  v.object("profile_evidence", [&](auto& o) {
    auto& f = r.profile_evidence;
    o.text("tool_used", f.tool_used);
    o.text("evidence_summary", f.evidence_summary);
    o.text("bottleneck_type", f.bottleneck_type);
    o.text("evidence_chain", f.evidence_chain);
    o.texts("findings", f.findings);
    o.text("pointer", f.pointer);
  });
  v.object("experience", [&](auto& o) {
    auto& f = r.experience;
    o.integer("experiment_count", f.experiment_count);
    o.integer("recorded_experiment_count", f.recorded_experiment_count);
    o.list("experiments", f.experiments, [](auto& e, auto& x) {
      e.integer("index", x.index);
      e.text("name", x.name);
      e.text("hypothesis", x.hypothesis);
      e.text("change", x.change);
      e.text("evidence", x.evidence);
      e.text("result", x.result);
      e.text("decision", x.decision);
    });
  });
  v.object("correctness", [&](auto& o) {
    auto& f = r.correctness;
    o.number("rel_err", f.rel_err);
    o.choice("status", f.status, gate_results());
    o.text("why", f.why);
  });
  v.list("isa_metric_progress", r.isa_metric_progress, [](auto& e, auto& x) {
    e.text("metric", x.metric);
    e.loose("target", x.target);
    e.loose("current", x.current);
    e.flag("met", x.met);
  });
  v.list("search_log", r.search_log, [](auto& e, auto& x) {
    e.text("source", x.source);
    e.text("layer", x.layer);
    e.text("query", x.query);
    e.text("finding", x.finding);
    e.text("actionability", x.actionability);
    e.flag("new", x.is_new);
  });
  v.list("pitfalls_and_fixes", r.pitfalls_and_fixes, [](auto& e, auto& x) {
    e.choice("error_type", x.error_type, error_types);
    e.text("error_message", x.error_message);
    e.text("root_cause", x.root_cause);
    e.text("fix_applied", x.fix_applied);
    e.text("lesson", x.lesson);
  });
  v.list("references", r.references, [](auto& e, auto& x) {
    e.text("source_type", x.source_type);
    e.text("path_or_url", x.path_or_url);
    e.text("description", x.description);
  });
  v.object("quality_gate", [&](auto& o) {
    auto& f = r.quality_gate;
    o.choice("result", f.result, gate_results());
    o.text("failure_reason", f.failure_reason);
    o.words("parts", f.parts);
  });
  v.list("open_directions", r.open_directions, [](auto& e, auto& x) {
    e.text("direction", x.direction);
    e.text("rationale", x.rationale);
  });
  v.optional_text("git_commit_hash", r.git_commit_hash);
}

}  // namespace burnish::workspace
