#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace burnish::hardware {

struct SpecValue {
  std::string name;    ///< "dram.bandwidth", "fp32.flops", "sm.count", "shared.bytes_per_sm", …
  double value = 0;
  std::string unit;    ///< SI base
  std::string kind;    ///< "datasheet", "measured", "queried", "derived"
  std::string source;  ///< title, section, address, date
};

/// A hardware card: what is known of one product, each value with its source.
struct Spec {
  std::string id;      ///< "h200", "mi300x"
  std::string name;
  std::vector<std::string> aliases;  ///< names that drivers print
  std::string vendor;  ///< "nvidia", "amd", "generic"
  std::string arch;    ///< "sm_90", "gfx942"
  std::string family;  ///< "hopper", "cdna3"
  std::vector<SpecValue> values;
  std::string file;
  const SpecValue* find(const std::string& value_name) const;
};

/// All cards of data/knowledge/hardware/.
Result<std::vector<Spec>> load_specs();

/// The card whose id, name or alias is `gpu`, letter case aside. An unlisted name is a bad_input
/// error that says "unknown" and lists near names; it is never answered with the nearest card.
Result<Spec> find_spec(const std::string& gpu);

}  // namespace burnish::hardware
