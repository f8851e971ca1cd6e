#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "profile/profile.h"

namespace burnish::profile {

/// Whether an architecture is what a pattern says, "gfx94*" or "gfx942".
bool arch_matches(std::string_view pattern, std::string_view arch);

/// Normalised names and where they come from, as data (data/metrics/*.toml):
///
///     [[metric]]
///     name = "registers.allocated"
///     unit = "1"
///     sources = [                        # the first that can be had counts
///       { raw = "launch__registers_per_thread_allocated", tool_from = "2025.1" },
///       { formula = "launch__registers_per_thread_allocated / launch__block_size",
///         tool_before = "2025.1" },
///     ]
///
/// A source is a raw name or an Expression over raw and earlier normalised names. Its conditions,
/// all optional: `tool_from` (inclusive), `tool_before` (exclusive) compare dotted versions; `arch`
/// lists architectures, "gfx94*" allowed; `sm_from`, `sm_to` bound the number of "sm_90"
/// (inclusive).
class AliasTable {
 public:
  struct Context {
    std::string arch;          ///< "sm_90", "gfx942"; empty: conditions on it do not hold
    std::string tool_version;  ///< "2025.3.1"; empty likewise
  };

  /// `name` is under data/, e.g. "metrics/nvidia.toml". Errors are located in the file.
  static Result<AliasTable> load(std::string_view name);
  static Result<AliasTable> parse(std::string_view text, const std::string& file);
  AliasTable(AliasTable&&) noexcept;
  AliasTable& operator=(AliasTable&&) noexcept;
  ~AliasTable();

  /// Adds to kernel.metrics every normalised metric that its raw metrics give, each with the
  /// pointer of the raw one (the first of a formula). One that they could give and do not goes to
  /// kernel.not_measured, with the reason that `unavailable` (raw name → "n/a", "no data", …) holds
  /// or "not in the artefact".
  void apply(const Context& context,
             const std::map<std::string, std::string, std::less<>>& unavailable,
             KernelProfile& kernel) const;

  /// Every normalised name of the table.
  std::vector<std::string> names() const;
  /// Every raw name that it reads.
  std::vector<std::string> raw_names() const;
  /// For each metric the names that each of its sources reads whose conditions hold, in order.
  std::vector<std::vector<std::vector<std::string>>> sources(const Context& context) const;

 private:
  struct State;
  explicit AliasTable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace burnish::profile
