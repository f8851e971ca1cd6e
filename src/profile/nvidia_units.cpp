#include "profile/nvidia_units.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace burnish::profile::nvidia {
namespace {

struct Part {
  std::string_view name;  ///< base unit, or "1"
  double factor;
};

/// SI prefixes, decimal also for bytes: ncu's Kbyte is 1,000 bytes.
std::optional<double> prefix(char letter) {
  switch (letter) {
    case 'K':
    case 'k':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    case 'T':
      return 1e12;
    case 'P':
      return 1e15;
    default:
      return std::nullopt;
  }
}

std::optional<Part> parse_part(std::string_view text) {
  struct Named {
    std::string_view text;
    Part part;
  };
  // "nsecond" and "cycle/nsecond" are the spellings before 2022.
  static constexpr std::array<Named, 28> kNames = {{
      {"%", {"%", 1}},          {"s", {"s", 1}},          {"second", {"s", 1}},
      {"ms", {"s", 1e-3}},      {"msecond", {"s", 1e-3}}, {"us", {"s", 1e-6}},
      {"usecond", {"s", 1e-6}}, {"ns", {"s", 1e-9}},      {"nsecond", {"s", 1e-9}},
      {"min", {"s", 60}},       {"minute", {"s", 60}},    {"h", {"s", 3600}},
      {"hour", {"s", 3600}},    {"cycle", {"cycle", 1}},  {"cycles", {"cycle", 1}},
      {"hz", {"Hz", 1}},        {"Hz", {"Hz", 1}},        {"byte", {"B", 1}},
      {"bytes", {"B", 1}},      {"inst", {"1", 1}},       {"sector", {"1", 1}},
      {"sectors", {"1", 1}},    {"warp", {"1", 1}},       {"SM", {"1", 1}},
      {"thread", {"1", 1}},     {"register", {"1", 1}},   {"request", {"1", 1}},
      {"block", {"1", 1}},
  }};
  for (const Named& named : kNames) {
    if (named.text == text) return named.part;
  }
  if (text.size() > 2) {
    if (const auto scale = prefix(text[0])) {
      const std::string_view rest = text.substr(1);
      if (rest == "byte" || rest == "bytes") return Part{"B", *scale};
      if (rest == "hz" || rest == "Hz") return Part{"Hz", *scale};
      if (rest == "inst" || rest == "sector" || rest == "request" || rest == "thread" ||
          rest == "warp") {
        return Part{"1", *scale};
      }
      if (rest == "cycle") return Part{"cycle", *scale};
    }
  }
  // Other counted things: branches, pass, sample, cluster, …
  for (const char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return std::nullopt;
  }
  return Part{"1", 1};
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

Unit per(const Part& over, const Part& under) {
  const double factor = over.factor / under.factor;
  if (under.name == "s") {
    if (over.name == "cycle") return {"Hz", factor};
    if (over.name == "s" || over.name == "%") return {std::string(over.name), factor};
    return {std::string(over.name) + "/s", factor};
  }
  if (under.name == "cycle" && over.name != "%") {
    if (over.name == "cycle") return {"1", factor};
    return {std::string(over.name) + "/cycle", factor};
  }
  // bytes a block, registers a thread, bytes a sector
  return {std::string(over.name), factor};
}

/// What one count of the metric is, its rollup and sub-metric aside.
Part quantity(std::string_view name) {
  if (contains(name, "time_duration") || ends_with(name, "interval_time")) return {"s", 1e-9};
  if (ends_with(name, "_khz") || ends_with(name, "__attribute_clock_rate") ||
      ends_with(name, "memory_clock_rate")) {
    return {"Hz", 1e3};
  }
  static constexpr std::array<std::string_view, 12> kBytes = {
      "launch__shared_mem_config_size",
      "launch__shared_mem_per_block",
      "launch__persisting_l2_cache_size",
      "launch__stack_size",
      "device__attribute_total_memory",
      "device__attribute_l2_cache_size",
      "device__attribute_max_shared_memory_per_",
      "device__attribute_reserved_shared_memory_per_block",
      "device__attribute_total_constant_memory",
      "device__attribute_max_persisting_l2_cache_size",
      "device__attribute_max_access_policy_window_size",
      "smsp__pcsamp_buffer_size",
  };
  for (const std::string_view start : kBytes) {
    if (starts_with(name, start)) return {"B", 1};
  }
  if (contains(name, "_bytes")) return {"B", 1};
  if (contains(name, "cycles") || contains(name, "writeback_active") ||
      contains(name, "__imc_requests") || contains(name, "__icc_requests")) {
    return {"cycle", 1};
  }
  return {"1", 1};
}

}  // namespace

std::optional<Unit> parse_unit(std::string_view text) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  const std::size_t slash = text.find('/');
  const auto over = parse_part(text.substr(0, slash));
  if (!over) return std::nullopt;
  if (slash == std::string_view::npos) return Unit{std::string(over->name), over->factor};
  const auto under = parse_part(text.substr(slash + 1));
  if (!under) return std::nullopt;
  return per(*over, *under);
}

Unit unit_of_metric(std::string_view name) {
  if (contains(name, ".pct_of_peak_") || ends_with(name, ".pct") || ends_with(name, "_pct")) {
    return {"%", 1};
  }
  if (starts_with(name, "derived__pct_occupancy_")) return {"%", 1};
  if (contains(name, "bytes_per_sector")) return {"B", 1};
  if (name == "smsp__average_warp_latency_per_inst_issued.ratio" ||
      name == "smsp__average_warps_active_per_inst_executed.ratio") {
    return {"cycle", 1};
  }
  if (ends_with(name, ".ratio") || ends_with(name, ".max_rate")) return {"1", 1};
  const Part what = quantity(name);
  if (ends_with(name, ".per_second")) return per(what, {"s", 1});
  if (ends_with(name, ".per_cycle_active") || ends_with(name, ".per_cycle_elapsed") ||
      ends_with(name, ".peak_sustained")) {
    // Warps and issue slots a cycle are plain averages.
    if (contains(name, "warps_") || contains(name, "issue_")) return {"1", 1};
    return per(what, {"cycle", 1});
  }
  return {std::string(what.name), what.factor};
}

bool is_whole(std::string_view name) {
  return ends_with(name, ".sum") || ends_with(name, ".max") || ends_with(name, ".min") ||
         starts_with(name, "launch__grid") || starts_with(name, "launch__block") ||
         starts_with(name, "launch__thread") || starts_with(name, "device__attribute_");
}

}  // namespace burnish::profile::nvidia
