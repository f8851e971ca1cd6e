#pragma once

#include <map>
#include <string>
#include <string_view>

#include "profile/profile.h"

namespace burnish::profile::nvidia {

/// What one artefact says of one launch, before it is normalised.
struct RawKernel {
  KernelProfile profile;  ///< raw metrics under their own names, SI base units
  /// Raw metrics that the artefact names without a number, and what stands there: "n/a", "no data".
  std::map<std::string, std::string, std::less<>> unavailable;
};

/// Whether a raw metric feeds a normalised one; the rest may be dropped from large artefacts.
Result<bool> is_wanted(std::string_view raw_name);

/// A launch is allowed this many raw metrics over all launches of an artefact; beyond it only those
/// that feed a normalised one are kept (about 150 MB).
constexpr std::size_t kRawMetricBudget = 300'000;

/// Fills in what raw metrics and per-instruction values imply: device, launch, normalised metrics,
/// hot spots (`hotspot.*`), implausible numbers, what was not measured.
Result<KernelProfile> finish(RawKernel raw, const std::string& tool_version);

/// A rule's text without `@section:ID:Label@` and `@url:Label:address@` markup.
std::string without_markup(std::string_view text);

/// "OPT", "INF", "WRN", "ERR" of the command line's pages as VendorRule kinds.
std::string kind_of_rule(std::string_view short_name);

/// The raw metric that a section of the details page shows under a label, on a device of that
/// architecture; empty when not known. `section` is the display name.
Result<std::string> raw_name_of(std::string_view section, std::string_view label,
                                std::string_view arch);

/// "(256, 1, 1)".
std::optional<std::array<std::int64_t, 3>> parse_dimensions(std::string_view text);
/// "9.0" → "sm_90"; empty for anything else.
std::string arch_of_capability(std::string_view text);

}  // namespace burnish::profile::nvidia
