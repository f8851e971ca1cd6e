#include "profile/nvidia_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/data.h"
#include "base/text.h"
#include "base/toml.h"
#include "profile/aliases.h"
#include "profile/hot_spots.h"

namespace burnish::profile::nvidia {
namespace {

/// Multi-pass replay puts ratios a little over 100 %; beyond this the passes do not belong
/// together.
constexpr double kMostPercent = 105;

struct Tables {
  AliasTable aliases;
  std::unordered_set<std::string> wanted;
};

const Result<Tables>& tables() {
  static const Result<Tables> loaded = []() -> Result<Tables> {
    BURNISH_TRY_ASSIGN(AliasTable aliases, AliasTable::load("metrics/nvidia.toml"));
    std::unordered_set<std::string> wanted;
    for (std::string& name : aliases.raw_names()) wanted.insert(std::move(name));
    // What finish() itself reads.
    for (const char* name :
         {"device__attribute_display_name", "device__attribute_compute_capability_major",
          "device__attribute_compute_capability_minor", "launch__grid_dim_x", "launch__grid_dim_y",
          "launch__grid_dim_z", "launch__block_dim_x", "launch__block_dim_y", "launch__block_dim_z",
          "launch__occupancy_limit_registers", "launch__occupancy_limit_shared_mem",
          "launch__occupancy_limit_warps", "launch__occupancy_limit_blocks",
          "launch__occupancy_limit_barriers", "device__attribute_max_gpu_frequency_khz",
          "device__attribute_max_mem_frequency_khz", "device__attribute_fb_bus_width"}) {
      wanted.insert(name);
    }
    return Tables{std::move(aliases), std::move(wanted)};
  }();
  return loaded;
}

struct Labels {
  std::map<std::string, std::string, std::less<>> common, hopper;
};
using Pages = std::map<std::string, Labels, std::less<>>;

const Result<Pages>& pages() {
  static const Result<Pages> loaded = []() -> Result<Pages> {
    BURNISH_TRY_ASSIGN(const DataFile file, data_file("metrics/nvidia-pages.toml"));
    BURNISH_TRY_ASSIGN(TomlFields root, TomlFields::parse(file.content, file.origin));
    Pages result;
    for (TomlFields& section : root.tables("section")) {
      Labels& labels = result[section.string("name")];
      TomlFields common = section.table("labels");
      for (const std::string& key : common.keys()) labels.common[key] = common.string(key);
      TomlFields hopper = section.table("hopper");
      for (const std::string& key : hopper.keys()) labels.hopper[key] = hopper.string(key);
    }
    BURNISH_TRY(root.finish());
    return result;
  }();
  return loaded;
}

std::optional<std::int64_t> whole(const MetricSet& metrics, std::string_view name) {
  const auto value = metrics.value(name);
  if (!value || !(std::fabs(*value) < 9e15) || *value != std::floor(*value)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<std::array<std::int64_t, 3>> dimensions(const MetricSet& metrics,
                                                      const std::string& stem) {
  const auto x = whole(metrics, stem + "x");
  const auto y = whole(metrics, stem + "y");
  const auto z = whole(metrics, stem + "z");
  if (!x || !y || !z) return std::nullopt;
  return std::array<std::int64_t, 3>{*x, *y, *z};
}

void fill_identity(KernelProfile& kernel) {
  const MetricSet& metrics = kernel.metrics;
  if (kernel.device.name.empty()) {
    const Metric* name = metrics.find("device__attribute_display_name");
    if (name != nullptr) kernel.device.name = name->text;
  }
  if (kernel.device.arch.empty()) {
    const auto major = whole(metrics, "device__attribute_compute_capability_major");
    const auto minor = whole(metrics, "device__attribute_compute_capability_minor");
    if (major && minor) kernel.device.arch = fmt::format("sm_{}{}", *major, *minor);
  }
  if (!kernel.launch.grid) kernel.launch.grid = dimensions(metrics, "launch__grid_dim_");
  if (!kernel.launch.block) kernel.launch.block = dimensions(metrics, "launch__block_dim_");
  const Metric* fixed = metrics.find("launch__shared_mem_per_block_static");
  const Metric* dynamic = metrics.find("launch__shared_mem_per_block_dynamic");
  // "4.10 Kbyte" is no size.
  if (fixed != nullptr && dynamic != nullptr && fixed->resolution < 0.5 &&
      dynamic->resolution < 0.5) {
    const auto a = whole(metrics, fixed->name);
    const auto b = whole(metrics, dynamic->name);
    if (a && b) kernel.launch.shared_bytes = *a + *b;
  }
}

/// The launch as the artefact's own columns say it, where the metrics do not.
void fill_launch_metrics(KernelProfile& kernel) {
  const auto add = [&](const char* name, const std::optional<std::array<std::int64_t, 3>>& size) {
    if (!size || kernel.metrics.find(name) != nullptr) return;
    Metric metric;
    metric.name = name;
    metric.value = static_cast<double>((*size)[0]) * static_cast<double>((*size)[1]) *
                   static_cast<double>((*size)[2]);
    metric.unit = "1";
    // Every metric of a launch points at the same artefact.
    if (!kernel.metrics.all().empty()) metric.where = kernel.metrics.all().begin()->second.where;
    metric.where.locator = "launch " + kernel.id;
    metric.where.raw_name = name;
    kernel.metrics.add(std::move(metric));
  };
  add("launch__grid_size", kernel.launch.grid);
  add("launch__block_size", kernel.launch.block);
}

void add_limiter(KernelProfile& kernel) {
  const Metric* theoretical = kernel.metrics.find("occupancy.theoretical_pct");
  std::string limiter;
  const Metric* least = nullptr;
  for (const auto& [name, word] : {std::pair{"launch__occupancy_limit_registers", "registers"},
                                   std::pair{"launch__occupancy_limit_shared_mem", "shared"},
                                   std::pair{"launch__occupancy_limit_warps", "warps"},
                                   std::pair{"launch__occupancy_limit_blocks", "blocks"},
                                   std::pair{"launch__occupancy_limit_barriers", "barriers"}}) {
    const Metric* limit = kernel.metrics.find(name);
    if (limit == nullptr || limit->unit == "text") continue;
    if (least == nullptr || limit->value < least->value) {
      least = limit;
      limiter = word;
    }
  }
  if (least == nullptr || theoretical == nullptr) return;
  Metric metric;
  metric.name = "occupancy.limiter";
  metric.unit = "text";
  metric.text = theoretical->value >= 100 ? "none" : limiter;
  metric.where = theoretical->value >= 100 ? theoretical->where : least->where;
  metric.where.raw_name = "least of launch__occupancy_limit_*";
  kernel.metrics.add(std::move(metric));
}

/// The unit that a throughput stands for: the largest of what it is broken down into.
void add_bound_unit(KernelProfile& kernel, const std::string& throughput, const std::string& name) {
  const Metric* breakdown = kernel.metrics.find("breakdown:" + throughput);
  if (breakdown == nullptr || breakdown->unit != "text") return;
  const Metric* most = nullptr;
  for (const std::string_view part : split(breakdown->text, ',')) {
    const Metric* metric = kernel.metrics.find(trim(part));
    if (metric == nullptr || metric->unit != "%") continue;
    if (most == nullptr || metric->value > most->value) most = metric;
  }
  if (most == nullptr) return;
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kUnits = {{
      {"dram__", "device memory"},
      {"fbpa__", "device memory"},
      {"lts__", "L2"},
      {"ltc__", "L2"},
      {"l1tex__", "L1/TEX and shared memory"},
      {"idc__", "constant cache"},
      {"gcc__", "instruction and constant cache"},
      {"smsp__", "multiprocessor"},
      {"sm__", "multiprocessor"},
  }};
  const std::string raw = most->name;
  std::string unit = "other unit";
  for (const auto& [start, words] : kUnits) {
    if (raw.substr(0, start.size()) == start) {
      unit = words;
      break;
    }
  }
  Metric metric;
  metric.name = name;
  metric.unit = "text";
  metric.text = fmt::format("{} ({})", unit, raw.substr(0, raw.find('.')));
  metric.where = most->where;
  kernel.metrics.add(std::move(metric));
}

/// Takes what cannot be right out of the metrics, and says so.
void drop_implausible(KernelProfile& kernel) {
  std::set<std::string, std::less<>> dropped;
  const auto state = [&](const Metric& metric, const std::string& why) {
    kernel.implausible.push_back(
        fmt::format("{}: {} {} by {} {}", metric.name, number_text(metric.value), metric.unit,
                    metric.where.raw_name.empty() ? metric.name : metric.where.raw_name, why));
    dropped.insert(metric.name);
  };
  const MetricSet& metrics = kernel.metrics;
  for (const auto& [name, metric] : metrics.all()) {
    // Raw metrics, and labels without a known one, stay as they are.
    if (metric.unit != "%" || contains(name, "__") || contains(name, "/")) continue;
    if (metric.value > kMostPercent) {
      state(metric, "is more than there can be: the passes it was put together from do not agree");
    } else if (metric.value < -1e-6) {
      state(metric, "is less than nothing: the passes it was put together from do not agree");
    }
  }
  if (const Metric* time = metrics.find("time.device"); time != nullptr && time->value <= 0) {
    state(*time, "is no duration");
  }
  const Metric* achieved = metrics.find("occupancy.achieved_pct");
  const auto theoretical = metrics.value("occupancy.theoretical_pct");
  if (achieved != nullptr && theoretical && achieved->value > *theoretical + 5) {
    state(*achieved, fmt::format("is over the theoretical occupancy of {:.1f} %", *theoretical));
  }
  const auto clock = metrics.value("gpc__cycles_elapsed.avg.per_second");
  const auto most_clock = metrics.value("device__attribute_max_gpu_frequency_khz");
  if (clock && most_clock && *most_clock > 0 && *clock > 1.05 * *most_clock) {
    kernel.implausible.push_back(fmt::format(
        "gpc__cycles_elapsed.avg.per_second: {} is over the device's highest clock of {}: cycles "
        "and time come from different runs",
        with_prefix(*clock, "Hz"), with_prefix(*most_clock, "Hz")));
  }
  const Metric* bandwidth = metrics.find("dram.bandwidth");
  const auto bus = metrics.value("device__attribute_fb_bus_width");
  const auto memory_clock = metrics.value("device__attribute_max_mem_frequency_khz");
  if (bandwidth != nullptr && bus && memory_clock && *bus > 0 && *memory_clock > 0) {
    const double peak = *bus / 8 * *memory_clock * 2;  // two transfers a cycle
    if (bandwidth->value > 1.05 * peak) {
      state(*bandwidth, fmt::format("is over the device's peak of {}", with_prefix(peak, "B/s")));
    }
  }
  if (dropped.empty()) return;
  MetricSet kept;
  for (const auto& [name, metric] : metrics.all()) {
    if (dropped.count(name) == 0) kept.add(metric);
  }
  kernel.metrics = std::move(kept);
}

}  // namespace

Result<bool> is_wanted(std::string_view raw_name) {
  const auto& loaded = tables();
  if (!loaded) return loaded.error();
  return loaded->wanted.count(std::string(raw_name)) != 0 || raw_name.substr(0, 10) == "breakdown:";
}

Result<KernelProfile> finish(RawKernel raw, const std::string& tool_version) {
  const auto& loaded = tables();
  if (!loaded) return loaded.error();
  KernelProfile kernel = std::move(raw.profile);
  fill_identity(kernel);
  fill_launch_metrics(kernel);
  loaded->aliases.apply({kernel.device.arch, tool_version}, raw.unavailable, kernel);
  const auto registers = kernel.metrics.value("launch__registers_per_thread");
  if (registers && *registers <= 16 && kernel.metrics.find("registers.used") == nullptr) {
    kernel.not_measured["registers.used"] =
        "ncu reports at least 16 registers a thread whatever the kernel uses; read the code object";
  }
  add_limiter(kernel);
  add_bound_unit(kernel, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
                 "memory.bound_unit");
  add_bound_unit(kernel, "sm__throughput.avg.pct_of_peak_sustained_elapsed", "sm.bound_unit");
  add_hot_spots(kernel);
  drop_implausible(kernel);
  return kernel;
}

std::string without_markup(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t start = text.find('@');
    result += text.substr(0, start);
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::size_t end = text.find('@', 1);
    const std::string_view inner =
        end == std::string_view::npos ? std::string_view{} : text.substr(1, end - 1);
    const std::size_t first = inner.find(':');
    const std::size_t second = first == std::string_view::npos ? first : inner.find(':', first + 1);
    if (second == std::string_view::npos) {  // a plain "@"
      result += '@';
      text.remove_prefix(1);
      continue;
    }
    const std::string_view kind = inner.substr(0, first);
    const std::string_view middle = inner.substr(first + 1, second - first - 1);
    const std::string_view last = inner.substr(second + 1);
    if (kind == "url") {
      result += fmt::format("{} ({})", middle, last);
    } else {
      result += last;
    }
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string kind_of_rule(std::string_view short_name) {
  if (short_name == "OPT") return "optimization";
  if (short_name == "WRN") return "warning";
  if (short_name == "ERR") return "error";
  return "info";
}

Result<std::string> raw_name_of(std::string_view section, std::string_view label,
                                std::string_view arch) {
  // Tables print raw names as they are.
  if (contains(label, "__")) return std::string(label);
  const auto& loaded = pages();
  if (!loaded) return loaded.error();
  const auto at = loaded->find(section);
  if (at == loaded->end()) return std::string();
  if (arch == "sm_90" || arch == "sm_100" || arch == "sm_103") {
    const auto hopper = at->second.hopper.find(label);
    if (hopper != at->second.hopper.end()) return hopper->second;
  }
  const auto found = at->second.common.find(label);
  return found == at->second.common.end() ? std::string() : found->second;
}

std::optional<std::array<std::int64_t, 3>> parse_dimensions(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return std::nullopt;
  const auto parts = split(text.substr(1, text.size() - 2), ',');
  if (parts.size() != 3) return std::nullopt;
  std::array<std::int64_t, 3> result{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = parse_integer(trim(parts[i]));
    if (!value || *value < 0) return std::nullopt;
    result[i] = *value;
  }
  return result;
}

std::string arch_of_capability(std::string_view text) {
  text = trim(text);
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return {};
  const auto major = parse_integer(text.substr(0, dot));
  const auto minor = parse_integer(text.substr(dot + 1));
  if (!major || !minor || *major < 1 || *major > 99 || *minor < 0 || *minor > 9) return {};
  return fmt::format("sm_{}{}", *major, *minor);
}

}  // namespace burnish::profile::nvidia
