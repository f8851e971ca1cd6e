#include "hardware/spec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/front.h"
#include "cli/verbs.h"
#include "report/table.h"

namespace burnish::cli {

void add_spec(CommandLine& line, Common& common) {
  auto gpu = std::make_shared<std::string>();
  auto arguments = line.verb("spec", "hardware cards: every value with its kind and source");
  arguments.positional("GPU", *gpu, "h200, mi300x, …; without one, the list of cards");
  arguments.action([&common, gpu]() -> Result<int> {
    if (gpu->empty()) {
      BURNISH_TRY_ASSIGN(const auto specs, hardware::load_specs());
      report::TextTable table({"card", "vendor", "architecture", "family", "name"});
      Json json = Json::array();
      for (const auto& spec : specs) {
        table.row({spec.id, spec.vendor, spec.arch, spec.family, spec.name});
        json.push_back({{"gpu", spec.id}, {"name", spec.name}, {"arch", spec.arch}});
      }
      if (common.json) print_json({{"cards", json}});
      else print(table.text(terminal_columns()));
      return 0;
    }
    BURNISH_TRY_ASSIGN(const auto spec, hardware::find_spec(*gpu));
    if (!common.json) {
      print(hardware::to_text(spec));
      return 0;
    }
    Json values = Json::array();
    for (const auto& value : spec.values) {
      Json item = {{"name", value.name}};
      if (value.unit == "text") item["value"] = value.text;
      else item["value"] = value.value;
      item.update({{"unit", value.unit}, {"kind", value.kind}, {"source", value.source}});
      if (!value.note.empty()) item["note"] = value.note;
      values.push_back(item);
    }
    print_json({{"gpu", spec.id}, {"name", spec.name}, {"arch", spec.arch}, {"values", values}});
    return 0;
  });
}

}  // namespace burnish::cli
