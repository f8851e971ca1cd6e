#include "profile/hot_spots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"

namespace burnish::profile {
namespace {

using Values = std::vector<std::pair<std::uint64_t, double>>;

const CodeLine* line_of(const KernelProfile& kernel, std::uint64_t address) {
  auto after = std::upper_bound(
      kernel.lines.begin(), kernel.lines.end(), address,
      [](std::uint64_t value, const CodeLine& line) { return value < line.address; });
  if (after == kernel.lines.begin()) return nullptr;
  const CodeLine& line = *(after - 1);
  return line.line > 0 ? &line : nullptr;  // 0: code that no line stands for
}

std::string base_name(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

const InstanceValues* find(const KernelProfile& kernel, std::string_view metric) {
  for (const InstanceValues& values : kernel.instances) {
    if (values.metric == metric && !values.by_address.empty()) return &values;
  }
  return nullptr;
}

/// a − b by address; where b has none, a.
Values difference(const Values& a, const Values& b, double a_factor) {
  std::map<std::uint64_t, double> subtract(b.begin(), b.end());
  Values result;
  result.reserve(a.size());
  for (const auto& [address, value] : a) {
    const auto at = subtract.find(address);
    result.emplace_back(address, a_factor * value - (at == subtract.end() ? 0 : at->second));
  }
  return result;
}

struct Spot {
  std::uint64_t address = 0;  ///< the instruction with most
  double share_pct = 0;       ///< of the line, or of the instruction without lines
  const CodeLine* line = nullptr;
};

/// The line (or instruction) with most of the values' sum.
std::optional<Spot> hottest(const KernelProfile& kernel, const Values& values) {
  struct Group {
    double sum = 0;
    double most = 0;
    std::uint64_t address = 0;
    const CodeLine* line = nullptr;
  };
  // A line that holds the whole kernel points at nothing.
  const auto stands = [](const CodeLine& line) { return line.line > 0; };
  const bool by_line = std::count_if(kernel.lines.begin(), kernel.lines.end(), stands) > 1;
  std::map<std::pair<std::string_view, std::int64_t>, Group> groups;
  double total = 0;
  for (const auto& [address, value] : values) {
    if (!(value > 0)) continue;
    const CodeLine* line = by_line ? line_of(kernel, address) : nullptr;
    const auto key =
        line != nullptr
            ? std::pair<std::string_view, std::int64_t>(line->file, line->line)
            : std::pair<std::string_view, std::int64_t>({}, static_cast<std::int64_t>(address));
    Group& group = groups[key];
    group.sum += value;
    group.line = line;
    if (value > group.most) {
      group.most = value;
      group.address = address;
    }
    total += value;
  }
  if (!(total > 0)) return std::nullopt;
  const auto most =
      std::max_element(groups.begin(), groups.end(),
                       [](const auto& a, const auto& b) { return a.second.sum < b.second.sum; });
  return Spot{most->second.address, 100 * most->second.sum / total, most->second.line};
}

void add(KernelProfile& kernel, const std::string& topic, const Spot& spot,
         const std::string& raw_name) {
  Metric place;
  place.name = "hotspot." + topic;
  place.unit = "text";
  place.text = place_in_code(kernel, spot.address);
  if (!kernel.metrics.all().empty()) place.where = kernel.metrics.all().begin()->second.where;
  place.where.locator = fmt::format("kernel {}, instruction +{:#x}", kernel.id, spot.address);
  place.where.raw_name = raw_name;
  Metric share = place;
  share.name += "_pct";
  share.unit = "%";
  share.text.clear();
  share.value = spot.share_pct;
  kernel.metrics.add(std::move(place));
  kernel.metrics.add(std::move(share));
}

/// A topic whose values are one metric's, or one metric's over another's.
void add_excess(KernelProfile& kernel, const std::string& topic, std::string_view metric,
                std::string_view less, double factor = 1) {
  const InstanceValues* a = find(kernel, metric);
  if (a == nullptr) return;
  std::string raw_name(metric);
  Values values = a->by_address;
  if (!less.empty()) {
    const InstanceValues* b = find(kernel, less);
    if (b == nullptr) return;
    values = difference(a->by_address, b->by_address, factor);
    raw_name = factor == 1 ? fmt::format("{} - {}", metric, less)
                           : fmt::format("{} * {} - {}", number_text(factor), metric, less);
  }
  if (const auto spot = hottest(kernel, values)) add(kernel, topic, *spot, raw_name);
}

/// Accesses to global memory by what they do: what `memory_access_type` counts them as.
constexpr std::array<std::pair<const char*, double>, 2> kAccesses{{{"load", 2}, {"store", 4}}};

/// Excess sectors of loads and of stores apart, in reports that say which instruction is which.
void add_global_accesses(KernelProfile& kernel, const std::string& sectors) {
  const InstanceValues* types = find(kernel, "memory_access_type");
  const InstanceValues* all = find(kernel, sectors);
  const InstanceValues* ideal = find(kernel, sectors + "_ideal");
  if (types == nullptr || all == nullptr || ideal == nullptr) return;
  const std::map<std::uint64_t, double> type_of(types->by_address.begin(), types->by_address.end());
  const Values excess = difference(all->by_address, ideal->by_address, 1);
  for (const auto& [word, type] : kAccesses) {
    Values values;
    for (const auto& [address, value] : excess) {
      const auto at = type_of.find(address);
      if (at != type_of.end() && at->second == type) values.emplace_back(address, value);
    }
    if (const auto spot = hottest(kernel, values)) {
      add(kernel, std::string("global_") + word, *spot,
          fmt::format("{0} - {0}_ideal where memory_access_type is {1:.0f}", sectors, type));
    }
  }
}

constexpr std::string_view kSamples = "smsp__pcsamp_warps_issue_stalled_";

/// The state's name in docs/metrics.md.
std::string reason_of(std::string_view state) {
  if (state == "math_pipe_throttle") return "math_pipe";
  if (state == "branch_resolving") return "branch";
  if (state == "dispatch_stall") return "dispatch";
  if (state == "no_instructions") return "no_instruction";
  if (state == "warpgroup_arrive") return "gmma";
  return std::string(state);
}

void add_stalls(KernelProfile& kernel) {
  std::map<std::string, const InstanceValues*> reasons;
  for (const InstanceValues& values : kernel.instances) {
    const std::string_view name = values.metric;
    if (name.substr(0, kSamples.size()) != kSamples || values.by_address.empty()) continue;
    const std::string_view state = name.substr(kSamples.size());
    if (state == "selected" || contains(state, "_not_issued")) continue;
    reasons.emplace(reason_of(state), &values);
  }
  Values all;
  std::map<std::uint64_t, double> sums;
  for (const auto& [reason, values] : reasons) {
    for (const auto& [address, value] : values->by_address) sums[address] += value;
    if (const auto spot = hottest(kernel, values->by_address)) {
      add(kernel, "stall_" + reason, *spot, values->metric);
    }
  }
  all.assign(sums.begin(), sums.end());
  const auto spot = hottest(kernel, all);
  if (!spot) return;
  add(kernel, "stall", *spot, std::string(kSamples) + "*");

  // Which reason the warps at that place wait for.
  const auto is_there = [&](std::uint64_t address) {
    if (spot->line == nullptr) return address == spot->address;
    const CodeLine* line = line_of(kernel, address);
    return line != nullptr && line->file == spot->line->file && line->line == spot->line->line;
  };
  double there = 0;
  double most = 0;
  std::string most_reason;
  for (const auto& [reason, values] : reasons) {
    double sum = 0;
    for (const auto& [address, value] : values->by_address) {
      if (is_there(address)) sum += value;
    }
    there += sum;
    if (sum > most) {
      most = sum;
      most_reason = reason;
    }
  }
  if (!(there > 0)) return;
  Metric reason = *kernel.metrics.find("hotspot.stall");
  reason.name = "hotspot.stall_reason";
  reason.text = most_reason;
  Metric share = reason;
  share.name = "hotspot.stall_reason_pct";
  share.unit = "%";
  share.text.clear();
  share.value = 100 * most / there;
  kernel.metrics.add(std::move(reason));
  kernel.metrics.add(std::move(share));
}

}  // namespace

std::string place_in_code(const KernelProfile& kernel, std::uint64_t address) {
  const CodeLine* line = line_of(kernel, address);
  if (line == nullptr) return fmt::format("+{:#x}", address);
  return fmt::format("{}:{} (+{:#x})", base_name(line->file), line->line, address);
}

void add_hot_spots(KernelProfile& kernel) {
  if (kernel.instances.empty()) return;
  add_excess(kernel, "shared", "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal");
  add_excess(kernel, "shared", "memory_l1_sectors_shared", "memory_l1_sectors_shared_ideal");
  add_excess(kernel, "global", "memory_l2_theoretical_sectors_global",
             "memory_l2_theoretical_sectors_global_ideal");
  add_excess(kernel, "global", "memory_l2_sectors_global", "memory_l2_sectors_global_ideal");
  add_global_accesses(kernel, "memory_l2_theoretical_sectors_global");
  add_excess(kernel, "local", "memory_l2_theoretical_sectors_local", "");
  add_excess(kernel, "local", "memory_l2_sectors_local", "");
  add_excess(kernel, "spill", "sass__inst_executed_register_spilling", "");
  add_excess(kernel, "divergence", "inst_executed", "thread_inst_executed", 32);
  add_stalls(kernel);
}

}  // namespace burnish::profile
