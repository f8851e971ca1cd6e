#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/number_format.h"
#include "profile/nvidia_model.h"

namespace burnish::profile::nvidia {

/// Puts together what the printed pages of ncu (CSV and text) say. They are read twice: first only
/// see() is called, so that the locale of the numbers is known, then the rest.
class PageBuilder {
 public:
  PageBuilder(std::string file, std::string hash);

  /// First reading: a number with the unit that stands beside it. `raw_name` may be empty.
  void see(std::string_view raw_name, std::string_view unit, std::string_view value);

  struct Identity {
    std::string name, id, process;
    std::string grid, block;  ///< "(256, 1, 1)"; empty when not said
    std::string capability;   ///< "9.0"
  };
  /// The launch of that key, made at its first mention.
  std::size_t launch(const std::string& key, const Identity& identity);
  void raw_metric(std::size_t launch, std::string_view raw_name, std::string_view unit,
                  std::string_view value, const std::string& locator);
  /// Where a labelled value stands: a section's own table, or one of its charts and tables
  /// ("item").
  struct Label {
    std::string_view section, item, label;
  };
  /// A value whose raw metric is not known is named "section/item/label".
  Result<void> labelled(std::size_t launch, const Label& label, std::string_view unit,
                        std::string_view value, const std::string& locator);
  /// What the vendor's rule says, also of numbers that the page does not hold otherwise.
  void rule(std::size_t launch, VendorRule rule, const std::string& locator);
  void warn(std::string text);
  void set_session(const std::string& key, std::string value);

  std::optional<double> number(std::string_view text) const;
  Result<Reading> finish(const std::string& kind);

 private:
  struct Launch {
    RawKernel raw;
    std::string process;
    /// Values by name; one that the page gives twice and differently is none.
    std::map<std::string, std::optional<Metric>> metrics;
  };
  void add(Launch& launch, std::string name, bool is_raw, std::string_view unit,
           std::string_view value, const std::string& locator);

  std::string file_, hash_;
  NumberFormat format_;
  std::vector<Launch> launches_;
  std::map<std::string, std::size_t> by_key_;
  std::vector<std::string> warnings_;
  std::map<std::string, std::string> session_;
  std::size_t unread_ = 0;  ///< numbers that could mean two things
};

/// "mean of 4 launches", for what a summary says.
std::string mean_of(const std::string& launches);

/// The line that ncu adds for itself: "==PROF== …", "==WARNING== …", "==ERROR== …".
bool is_profiler_line(std::string_view line);

}  // namespace burnish::profile::nvidia
