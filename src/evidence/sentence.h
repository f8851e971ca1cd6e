#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/metric.h"

namespace burnish::evidence {

/// A sentence with numbers in braces, taken apart (docs/rules.md).
class Sentence {
 public:
  /// Errors: an unknown format, an open brace, a name that cannot be a metric's; without a place.
  static Result<Sentence> parse(const std::string& text);

  std::vector<std::string> names() const;
  using Find = std::function<const Metric*(const std::string&)>;
  /// A number is that of the first name that `find` knows, else of what is `assumed` of the last;
  /// when neither has it, it prints as "unknown".
  std::string fill(const Find& find, const Find& assumed) const;

 private:
  enum class Format { literal, shortest, whole, fixed, per_cent, prefixed, plural };
  struct Part {
    Format format = Format::literal;
    std::string text;                ///< the literal
    std::vector<std::string> names;  ///< of metrics, the first choice first
    int digits = 0;
  };
  std::vector<Part> parts_;
};

/// Whether a name can be a metric's: letters, digits, `_`, and dots between them; a letter first.
bool is_metric_name(const std::string& name);

}  // namespace burnish::evidence
