#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hardware/sources.h"

namespace burnish::hardware {

struct SpecValue {
  std::string name;  ///< "dram.bandwidth", "fp32.flops", "sm.count", …: docs/knowledge.md
  double value = 0;
  std::string unit;    ///< SI base; "text" when `text` is the value
  std::string text;    ///< for what is no number: "HBM3e", or "not supported"
  std::string kind;    ///< spec_kinds()
  std::string source;  ///< title, section, address, date
  std::string note;    ///< the conditions of a measurement, or how it was derived
  int line = 0;        ///< in the card's file
};

/// "datasheet" (a document of the vendor), "queried" (what the device or driver answers),
/// "measured", "threshold" (what a vendor's own test demands at least), "derived" (arithmetic over
/// other values), "transcribed" (a vendor's figure read in somebody else's copy).
const std::vector<std::string>& spec_kinds();

/// A hardware card: what is known of one product, each value with its source.
struct Spec {
  std::string id;  ///< "h200", "mi300x"
  std::string name;
  std::vector<std::string> aliases;  ///< names that drivers print
  std::string vendor;                ///< "nvidia", "amd", "generic"
  std::string arch;                  ///< "sm_90", "gfx942"
  std::string family;                ///< "hopper", "cdna3"
  std::vector<SpecValue> values;
  std::string file;
  const SpecValue* find(const std::string& value_name) const;
  /// The value as a number; absent when the card does not know it, or knows that there is none.
  std::optional<double> number(const std::string& value_name) const;
};

/// All cards of data/knowledge/hardware/.
Result<std::vector<Spec>> load_specs();

/// One card. `sources` resolves the keys that its values cite.
Result<Spec> parse_spec(std::string_view text, const std::string& file, const Sources& sources);

/// What contradicts physics or itself in a card, one sentence each: a peak that is not units ×
/// clock × operations, a bandwidth that is not clock × width, sparse rates out of proportion, a
/// missing limit. A value whose note names an erratum ("erratum: …") is excused from the peak
/// check.
std::vector<std::string> check_physics(const Spec& spec);

/// A value with its unit, as tables print it: "4.8 TB/s", "48 KiB".
std::string value_text(const SpecValue& value);

/// The table that `burnish spec` prints.
std::string to_text(const Spec& spec);

/// The card whose id, name or alias is `gpu`, letter case aside. An unlisted name is a bad_input
/// error that says "unknown" and lists near names; it is never answered with the nearest card.
Result<Spec> find_spec(const std::string& gpu);

}  // namespace burnish::hardware
