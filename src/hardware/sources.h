#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace burnish::hardware {

/// A document, measurement or program output that figures and advice rest on.
struct Source {
  std::string key;
  std::string title;
  std::string address;  ///< where anybody can read it; empty only for what this project ran itself
  std::string date;     ///< of the document; "undated, read 2026-11" when it has none
  /// "Title, section, address, date", as a value or a card prints it.
  std::string text(std::string_view section = {}) const;
};

/// The register of sources, data/knowledge/sources.toml: cards cite its keys.
class Sources {
 public:
  static Result<Sources> load();
  /// Adds the tables of `text`; a key that is already there is replaced.
  Result<void> add(std::string_view text, const std::string& file);
  const Source* find(std::string_view key) const;
  const std::map<std::string, Source, std::less<>>& all() const { return sources_; }

 private:
  std::map<std::string, Source, std::less<>> sources_;
};

}  // namespace burnish::hardware
