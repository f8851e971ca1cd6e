#include "hardware/spec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/front.h"
#include "cli/verbs.h"
#include "device/ceilings.h"
#include "device/spec_check.h"
#include "report/table.h"

namespace burnish::cli {
namespace {

Json to_json(const hardware::SpecValue& value) {
  Json item = {{"name", value.name}};
  if (value.unit == "text")
    item["value"] = value.text;
  else
    item["value"] = value.value;
  item.update({{"unit", value.unit}, {"kind", value.kind}, {"source", value.source}});
  if (!value.note.empty()) item["note"] = value.note;
  return item;
}

/// Compares the card of the device at hand with the device; `gpu` may name the card to expect.
Result<int> verify(const Common& common, const std::string& gpu) {
  BURNISH_TRY_ASSIGN(const auto info, device::choose_device(common.device));
  BURNISH_TRY_ASSIGN(const auto spec, device::spec_of(info));
  if (!gpu.empty()) {
    BURNISH_TRY_ASSIGN(const auto wanted, hardware::find_spec(gpu));
    if (wanted.id != spec.id) {
      return bad_input(fmt::format("the device here is {} (card {}), not {}", info.name, spec.id,
                                   wanted.id))
          .with_hint("choose the device with --device; `burnish doctor` lists them");
    }
  }
  BURNISH_TRY_ASSIGN(const auto cache, TemporaryFolder::make("burnish-spec"));
  BURNISH_TRY_ASSIGN(auto device, device::open_device(info, {cache.path(), {}}));
  auto observer = make_observer(common);
  observer->progress("measuring this device's ceilings");
  BURNISH_TRY_ASSIGN(const auto ceilings, device::measure_ceilings(*device, {}));
  observer.reset();

  const auto checks = device::check_spec(spec, info, ceilings);
  report::TextTable table({"value", "card", "here", "agrees", "why", "found by"});
  Json values = Json::array();
  int contradictions = 0, found = 0;
  for (const auto& check : checks) {
    Json item = to_json(*check.card);
    if (check.found) {
      ++found;
      contradictions += *check.agrees ? 0 : 1;
      item.update({{"measured", *check.found}, {"agrees", *check.agrees}, {"how", check.how}});
      if (!check.why.empty()) item["why"] = check.why;
      hardware::SpecValue here = *check.card;
      here.value = *check.found;
      table.row({check.card->name, hardware::value_text(*check.card), hardware::value_text(here),
                 *check.agrees ? "yes" : "NO", check.why, check.how});
    }
    values.push_back(std::move(item));
  }
  if (common.json) {
    print_json({{"gpu", spec.id},
                {"name", spec.name},
                {"arch", spec.arch},
                {"device", info.name},
                {"driver", info.driver},
                {"values", values}});
  } else {
    print(fmt::format(
        "{} as {} ({}), {}\n\n{}\n{} of {} values could be asked for or measured, {} {}\n",
        info.name, spec.id, info.arch, info.driver, table.text(terminal_columns()), found,
        checks.size(), contradictions,
        contradictions == 1 ? "contradicts the card" : "contradict the card"));
  }
  return contradictions == 0 ? 0 : 1;
}

}  // namespace

void add_spec(CommandLine& line, Common& common) {
  auto gpu = std::make_shared<std::string>();
  auto arguments = line.verb("spec", "hardware cards: every value with its kind and source");
  arguments.positional("GPU", *gpu, "h200, mi300x, …; without one, the list of cards");
  auto check = std::make_shared<bool>(false);
  arguments.flag("--verify", *check, "compare the card with what this device answers and reaches");
  arguments.device_option(common);
  arguments.action([&common, gpu, check]() -> Result<int> {
    if (*check) return verify(common, *gpu);
    if (gpu->empty()) {
      BURNISH_TRY_ASSIGN(const auto specs, hardware::load_specs());
      report::TextTable table({"card", "vendor", "architecture", "family", "name"});
      Json json = Json::array();
      for (const auto& spec : specs) {
        table.row({spec.id, spec.vendor, spec.arch, spec.family, spec.name});
        json.push_back({{"gpu", spec.id}, {"name", spec.name}, {"arch", spec.arch}});
      }
      if (common.json)
        print_json({{"cards", json}});
      else
        print(table.text(terminal_columns()));
      return 0;
    }
    BURNISH_TRY_ASSIGN(const auto spec, hardware::find_spec(*gpu));
    if (!common.json) {
      print(hardware::to_text(spec));
      return 0;
    }
    Json values = Json::array();
    for (const auto& value : spec.values) values.push_back(to_json(value));
    print_json({{"gpu", spec.id}, {"name", spec.name}, {"arch", spec.arch}, {"values", values}});
    return 0;
  });
}

}  // namespace burnish::cli
