#include "hardware/sources.h"

#include <fmt/format.h>

#include "base/data.h"
#include "base/toml.h"

namespace burnish::hardware {

std::string Source::text(std::string_view section) const {
  std::string out = title;
  for (std::string_view part : {section, std::string_view(address), std::string_view(date)}) {
    if (!part.empty()) out += fmt::format(", {}", part);
  }
  return out;
}

Result<Sources> Sources::load() {
  BURNISH_TRY_ASSIGN(const DataFile file, data_file("knowledge/sources.toml"));
  Sources sources;
  BURNISH_TRY(sources.add(file.content, file.origin));
  return sources;
}

Result<void> Sources::add(std::string_view text, const std::string& file) {
  BURNISH_TRY_ASSIGN(TomlFields fields, TomlFields::parse(text, file));
  for (const std::string& key : fields.keys()) {
    TomlFields table = fields.table(key);
    Source source{key, table.string("title"), table.string("address", ""), table.string("date")};
    if (source.title.empty()) table.fail("title", "a source needs a title");
    sources_[key] = std::move(source);
  }
  return fields.finish();
}

const Source* Sources::find(std::string_view key) const {
  const auto found = sources_.find(key);
  return found == sources_.end() ? nullptr : &found->second;
}

}  // namespace burnish::hardware
