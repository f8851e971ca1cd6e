#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "knowledge/knowledge.h"

namespace burnish::knowledge {

/// Something in the knowledge base that is not as it must be.
struct Complaint {
  std::string file;
  int line = 0;
  std::string text;
  std::string to_string() const;  ///< "file:line: text"
};

/// The metric names that readers produce, as docs/metrics.md lists them: names, and patterns with
/// one
/// `<part>` or `*` that stands for anything but a dot.
class MetricNames {
 public:
  /// The names of docs/metrics.md and of the readers' alias tables (data/metrics/*.toml).
  static Result<MetricNames> load();
  /// The back-quoted names of the first column of every table in the Markdown text.
  static MetricNames of_table(std::string_view markdown);
  void add(std::string name) { names_.insert(std::move(name)); }
  bool contains(std::string_view name) const;
  std::string near(const std::string& name) const;  ///< empty when nothing is near
  bool empty() const { return names_.empty(); }

 private:
  std::set<std::string, std::less<>> names_;
};

/// Form: categories, links, sources, first paragraphs, triggers over metrics that nobody produces,
/// cards that rules name and nobody wrote, the size of the index. Physics: check_physics of every
/// hardware card. An error only when something cannot be read at all.
Result<std::vector<Complaint>> lint(const CardBase& base, const MetricNames& metrics);

/// Markdown tables of how many cards there are by category and vendor, and of the hardware cards.
Result<std::string> counts(const CardBase& base);

}  // namespace burnish::knowledge
