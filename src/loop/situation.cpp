#include "loop/situation.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace burnish::loop {

Result<RecordedEvidence> read_evidence(const std::string& text, const std::string& file) {
  RecordedEvidence recorded;
  BURNISH_TRY_ASSIGN(const Json json, parse_json(text, file));
  const auto odd = [&](const char* what) {
    return bad_input(what).at({file}).with_hint("profile again");
  };
  const auto word = [](const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!json.is_object()) return odd("the evidence is no JSON object");
  if (const auto kernels = json.find("kernels"); kernels != json.end() && !kernels->empty()) {
    if (!kernels->is_array() || !kernels->front().is_object())
      return odd("/kernels is no list of objects");
    const Json& kernel = kernels->front();
    recorded.kernel = word(kernel, "name");
    if (const auto device = kernel.find("device"); device != kernel.end() && device->is_object()) {
      recorded.device = word(*device, "name");
      recorded.arch = word(*device, "arch");
    }
    const Json findings = kernel.value("findings", Json::array());
    for (const auto& item : findings) {
      BURNISH_TRY_ASSIGN(auto finding, evidence::finding_from_json(item, file));
      recorded.findings.push_back(std::move(finding));
    }
    const Json metrics = kernel.value("metrics", Json::object());
    for (const auto& [name, item] : metrics.items()) {
      if (!item.is_object()) return odd("/kernels/0/metrics holds what is no metric");
      Metric metric;
      metric.name = name;
      if (const auto value = item.find("value"); value != item.end()) {
        if (value->is_number()) metric.value = value->get<double>();
        if (value->is_string()) metric.text = value->get<std::string>();
      }
      metric.unit = word(item, "unit");
      if (const auto where = item.find("where"); where != item.end() && where->is_object()) {
        metric.where.file = word(*where, "file");
        metric.where.locator = word(*where, "locator");
        metric.where.hash = word(*where, "hash");
      }
      recorded.metrics.add(std::move(metric));
    }
  }
  return recorded;
}

std::vector<fs::path> card_folders(const workspace::Workspace& workspace) {
  std::vector<fs::path> folders;
  for (const auto& folder : workspace.task().cards) folders.push_back(workspace.folder() / folder);
  return folders;
}

}  // namespace burnish::loop
