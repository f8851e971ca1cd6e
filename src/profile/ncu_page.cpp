#include "profile/ncu_page.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "profile/nvidia_units.h"

namespace burnish::profile::nvidia {
namespace {

bool is_absent(std::string_view value) {
  return value == "n/a" || value == "no data" || value == "nan" || value == "-nan" ||
         value == "inf" || value == "-inf" || value == "N/A";
}

/// "5504 (64; 64; …)" without the instances.
std::string_view without_instances(std::string_view value) {
  const std::size_t open = value.find(" (");
  if (open == std::string_view::npos || value.empty() || value.back() != ')') return value;
  return value.substr(0, open);
}

std::optional<std::int64_t> number_between(std::string_view message, std::string_view before,
                                           std::string_view after) {
  const std::size_t at = message.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = message.substr(at + before.size());
  const std::size_t end = rest.find(after);
  return end == std::string_view::npos ? std::nullopt : parse_integer(rest.substr(0, end));
}

/// Counters that no table of the page holds, but the sentence of a rule: UncoalescedGlobalAccess
/// ("… uncoalesced global accesses resulting in a total of 25165824 excessive sectors (75% of the
/// total 33554432 sectors). …"), UncoalescedSharedAccess (the same of wavefronts) and
/// SharedMemoryConflicts ("… This results in 65359228 bank conflicts, which represent 96.89% of the
/// overall 67456380 wavefronts for shared loads. …").
std::map<std::string, std::int64_t> counters_in(std::string_view message) {
  const auto excess_of = [&](const char* accesses, const std::string& what,
                             const std::string& name) -> std::map<std::string, std::int64_t> {
    if (!contains(message, accesses)) return {};
    const auto excess = number_between(message, "resulting in a total of ", " excessive " + what);
    const auto total = number_between(message, "% of the total ", " " + what + ")");
    if (!excess || !total || *excess < 0 || *excess > *total) return {};
    return {{name, *total}, {name + "_ideal", *total - *excess}};
  };
  auto counters =
      excess_of("uncoalesced global accesses", "sectors", "memory_l2_theoretical_sectors_global");
  counters.merge(
      excess_of("uncoalesced shared accesses", "wavefronts", "memory_l1_wavefronts_shared"));
  const auto conflicts = number_between(message, "This results in ", " bank conflicts");
  for (const auto& [what, operation] : {std::pair("loads", "ld"), std::pair("stores", "st")}) {
    const auto wavefronts = number_between(message, "% of the overall ",
                                           fmt::format(" wavefronts for shared {}", what));
    if (!conflicts || !wavefronts || *conflicts < 0 || *conflicts > *wavefronts) continue;
    const auto name = [&](const char* counter) {
      return fmt::format("l1tex__data_{}_mem_shared_op_{}.sum", counter, operation);
    };
    counters[name("bank_conflicts_pipe_lsu")] = *conflicts;
    counters[name("pipe_lsu_wavefronts")] = *wavefronts;
  }
  return counters;
}

/// ncu scales this one the wrong way round ("%/Kbyte": 2.614 where the report holds 2614).
constexpr std::string_view kWronglyScaled = "derived__pct_occupancy_per_shared_mem_size";

}  // namespace

bool is_profiler_line(std::string_view line) {
  return line.substr(0, 8) == "==PROF==" || line.substr(0, 11) == "==WARNING==" ||
         line.substr(0, 9) == "==ERROR==";
}

std::string mean_of(const std::string& launches) {
  return launches == "1" ? "1 launch" : fmt::format("mean of {} launches", launches);
}

PageBuilder::PageBuilder(std::string file, std::string hash)
    : file_(std::move(file)), hash_(std::move(hash)) {}

void PageBuilder::see(std::string_view raw_name, std::string_view unit, std::string_view value) {
  using Kind = NumberFormat::Kind;
  const Kind kind = unit == "%" && raw_name.substr(0, 9) != "derived__" ? Kind::percentage
                    : unit.find_first_of("KMGT/") == std::string_view::npos && is_whole(raw_name)
                        ? Kind::whole
                        : Kind::number;
  format_.see(without_instances(value), kind);
}

std::size_t PageBuilder::launch(const std::string& key, const Identity& identity) {
  const auto [at, is_new] = by_key_.try_emplace(key, launches_.size());
  if (is_new) {
    Launch launch;
    KernelProfile& kernel = launch.raw.profile;
    kernel.name = to_valid_utf8(identity.name);
    kernel.id = to_valid_utf8(identity.id);
    kernel.launch.grid = parse_dimensions(identity.grid);
    kernel.launch.block = parse_dimensions(identity.block);
    kernel.device.arch = arch_of_capability(identity.capability);
    launch.process = to_valid_utf8(identity.process);
    launches_.push_back(std::move(launch));
  }
  return at->second;
}

void PageBuilder::add(Launch& launch, std::string name, bool is_raw, std::string_view unit,
                      std::string_view value, const std::string& locator) {
  value = trim(value);
  if (value.empty() || name == kWronglyScaled) return;
  if (is_absent(value)) {
    launch.raw.unavailable.emplace(std::move(name), std::string(value));
    return;
  }
  Metric metric;
  metric.name = std::move(name);
  metric.where = {file_, hash_, locator, metric.name, ""};
  const std::string_view digits = without_instances(value);
  if (const auto number = format_.read(digits)) {
    Unit by_name = is_raw ? unit_of_metric(metric.name) : Unit{"1", 1};
    Unit printed = parse_unit(unit).value_or(by_name);
    // Some derived rates are printed without their "/s" or "/cycle".
    if (printed.name + "/s" == by_name.name || printed.name + "/cycle" == by_name.name) {
      printed.name = by_name.name;
    }
    metric.value = number->value * printed.factor;
    metric.resolution = number->resolution * printed.factor;
    metric.unit = std::move(printed.name);
  } else if (digits.find_first_not_of("0123456789.,+- '") == std::string_view::npos &&
             digits.find_first_of("0123456789") != std::string_view::npos) {
    ++unread_;
    launch.raw.unavailable.emplace(std::move(metric.name),
                                   fmt::format("\"{}\", which could mean two numbers", digits));
    return;
  } else {
    metric.unit = "text";
    metric.text = to_valid_utf8(value);
  }
  const auto [at, is_new] = launch.metrics.try_emplace(metric.name, metric);
  if (!is_new && at->second &&
      (at->second->value != metric.value || at->second->text != metric.text)) {
    at->second.reset();
  }
}

void PageBuilder::raw_metric(std::size_t launch, std::string_view raw_name, std::string_view unit,
                             std::string_view value, const std::string& locator) {
  add(launches_[launch], to_valid_utf8(raw_name), true, unit, value, locator);
}

Result<void> PageBuilder::labelled(std::size_t launch, const Label& label, std::string_view unit,
                                   std::string_view value, const std::string& locator) {
  Launch& entry = launches_[launch];
  std::string raw;
  // Charts repeat labels with other meanings, but for the warp states and what has a raw name.
  if (label.item.empty() || label.section == "Warp State Statistics" ||
      contains(label.label, "__")) {
    BURNISH_TRY_ASSIGN(raw, raw_name_of(label.section, label.label, entry.raw.profile.device.arch));
  }
  const bool is_raw = !raw.empty();
  if (!is_raw) {
    raw = to_valid_utf8(label.item.empty()
                            ? fmt::format("{}/{}", label.section, label.label)
                            : fmt::format("{}/{}/{}", label.section, label.item, label.label));
  }
  add(entry, std::move(raw), is_raw, unit, value, locator);
  return {};
}

void PageBuilder::rule(std::size_t launch, VendorRule rule, const std::string& locator) {
  Launch& entry = launches_[launch];
  for (const auto& [name, value] : counters_in(rule.message)) {
    Metric metric;
    metric.name = name;
    metric.value = static_cast<double>(value);
    metric.unit = "1";
    metric.where = {file_, hash_, locator, name, ""};
    entry.metrics.try_emplace(metric.name, metric);
  }
  entry.raw.profile.vendor_rules.push_back(std::move(rule));
}

void PageBuilder::warn(std::string text) {
  if (warnings_.size() < 100) warnings_.push_back(to_valid_utf8(text));
}

void PageBuilder::set_session(const std::string& key, std::string value) {
  session_.emplace(key, to_valid_utf8(value));
}

std::optional<double> PageBuilder::number(std::string_view text) const {
  const auto read = format_.read(text);
  return read ? std::optional(read->value) : std::nullopt;
}

Result<Reading> PageBuilder::finish(const std::string& kind) {
  Reading reading;
  if (unread_ > 0) {
    warn(fmt::format("{}: {} numbers are left out: {}. Export with LC_ALL=C and --print-units base",
                     file_, unread_, format_.why_undecided()));
  }
  std::map<std::string, int> ids;
  for (const Launch& launch : launches_) ++ids[launch.raw.profile.id];
  const bool is_summary = kind.substr(kind.rfind('-') + 1) == "summary";
  for (Launch& launch : launches_) {
    KernelProfile& kernel = launch.raw.profile;
    if (ids[kernel.id] > 1 && !launch.process.empty() && !is_summary) {
      kernel.id += " of process " + launch.process;
    }
    for (auto& [name, metric] : launch.metrics) {
      if (metric) kernel.metrics.add(std::move(*metric));
    }
    BURNISH_TRY_ASSIGN(KernelProfile finished, nvidia::finish(std::move(launch.raw), ""));
    reading.kernels.push_back(std::move(finished));
  }
  if (reading.kernels.empty()) {
    warn(
        fmt::format("{}: no launch in it: the kernel filter matched nothing, or the program "
                    "launched nothing",
                    file_));
  }
  reading.warnings = std::move(warnings_);
  reading.session = std::move(session_);
  reading.artefacts.push_back({fs::path(file_), kind, "Nsight Compute", "", hash_});
  return reading;
}

}  // namespace burnish::profile::nvidia
