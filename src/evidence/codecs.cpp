#include <nlohmann/json.hpp>

#include "base/json.h"
#include "evidence/evidence.h"

namespace burnish::evidence {
namespace {

void put(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

Json where_json(const Where& where) {
  Json json = Json::object();
  put(json, "file", where.file);
  put(json, "hash", where.hash);
  put(json, "locator", where.locator);
  put(json, "raw_name", where.raw_name);
  put(json, "pass", where.pass);
  return json;
}

Json launch_json(const profile::Launch& launch) {
  Json json = Json::object();
  if (launch.grid) json["grid"] = *launch.grid;
  if (launch.block) json["block"] = *launch.block;
  if (launch.shared_bytes) json["shared"] = *launch.shared_bytes;
  return json;
}

Json missing_json(const Missing& missing) {
  return {{"rule", missing.rule}, {"metrics", missing.metrics}, {"collect", missing.collect}};
}

Json vendor_rule_json(const profile::VendorRule& rule) {
  Json json{{"id", rule.id}, {"kind", rule.kind}, {"message", rule.message}};
  if (rule.speedup_pct) {
    json["speedup_pct"] = *rule.speedup_pct;
    json["speedup_of"] = rule.speedup_global ? "kernel" : "unit";
  }
  return json;
}

}  // namespace

Json to_json(const Metric& metric) {
  Json json = Json::object();
  if (metric.unit == "text") {
    json["value"] = metric.text;
  } else {
    json["value"] = metric.value;
  }
  json["unit"] = metric.unit;
  json["where"] = where_json(metric.where);
  return json;
}

Json to_json(const Finding& finding) {
  Json json{{"id", finding.id},
            {"category", finding.category},
            {"severity", finding.severity},
            {"headroom", finding.headroom},
            {"evidence", finding.evidence},
            {"because", finding.because},
            {"action", finding.action},
            {"cards", finding.cards}};
  put(json, "location", finding.location);
  put(json, "source", finding.source);
  put(json, "explained_by", finding.explained_by);
  put(json, "arithmetic", finding.arithmetic);
  return json;
}

Result<Finding> finding_from_json(const Json& json, const std::string& file) {
  JsonFields fields(json, file);
  Finding finding;
  finding.id = fields.string("id");
  finding.category = fields.one_of("category", categories());
  finding.severity = fields.one_of("severity", {"high", "medium", "low", "info"});
  finding.headroom = fields.number("headroom");
  finding.evidence = fields.strings("evidence");
  finding.because = fields.string("because");
  finding.action = fields.string("action");
  finding.cards = fields.strings("cards");
  finding.location = fields.string("location", "");
  finding.source = fields.string("source", "");
  finding.explained_by = fields.string("explained_by", "");
  finding.arithmetic = fields.string("arithmetic", "");
  if (!(finding.headroom >= 1)) fields.fail("headroom", "a bound is at least 1");
  BURNISH_TRY(fields.finish());
  return finding;
}

Json to_json(const KernelEvidence& kernel) {
  Json json{{"name", kernel.name}};
  put(json, "id", kernel.id);
  json["launch"] = launch_json(kernel.launch);
  json["device"] = Json::object();
  put(json["device"], "name", kernel.device.name);
  put(json["device"], "arch", kernel.device.arch);
  json["metrics"] = Json::object();
  for (const auto& [name, metric] : kernel.metrics.all()) json["metrics"][name] = to_json(metric);
  json["findings"] = Json::array();
  for (const Finding& finding : kernel.verdicts.findings)
    json["findings"].push_back(to_json(finding));
  json["missing"] = Json::array();
  for (const Missing& missing : kernel.verdicts.missing)
    json["missing"].push_back(missing_json(missing));
  if (!kernel.vendor_rules.empty()) {
    json["vendor_rules"] = Json::array();
    for (const auto& rule : kernel.vendor_rules)
      json["vendor_rules"].push_back(vendor_rule_json(rule));
  }
  if (!kernel.statements.empty()) json["statements"] = kernel.statements;
  return json;
}

Json to_json(const Evidence& evidence) {
  Json json{{"artefacts", Json::array()}, {"kernels", Json::array()}};
  for (const profile::Artefact& artefact : evidence.artefacts) {
    Json item{{"file", artefact.file.string()},
              {"kind", artefact.kind},
              {"tool", artefact.tool},
              {"version", artefact.version}};
    put(item, "hash", artefact.hash);
    json["artefacts"].push_back(std::move(item));
  }
  for (const KernelEvidence& kernel : evidence.kernels) json["kernels"].push_back(to_json(kernel));
  json["warnings"] = evidence.warnings;
  return json;
}

}  // namespace burnish::evidence
