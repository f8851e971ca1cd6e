#include "device/binary_cache.h"

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "device/protocol.h"

namespace burnish::device {

std::string build_key(const Source& source, const DeviceInfo& info, std::string_view compiler) {
  Hasher hasher;
  hasher.add("burnish", BURNISH_VERSION).add("language", source.language);
  hasher.add("file", source.file).add("text", source.text);
  for (const auto& [name, content] : source.also) hasher.add("also", name).add("content", content);
  for (const auto& [name, value] : source.macros) hasher.add("macro", name).add("value", value);
  for (const std::string& option : source.options) hasher.add("option", option);
  hasher.add("backend", info.backend).add("device", info.name).add("arch", info.arch);
  hasher.add("platform", info.platform).add("driver", info.driver).add("compiler", compiler);
  return hasher.digest();
}

std::optional<CachedBuild> BinaryCache::find(const std::string& key) const {
  if (folder_.empty() || !real_file_system().exists(folder_ / key)) return std::nullopt;
  const Result<std::string> file = real_file_system().read(folder_ / key);
  if (!file) return std::nullopt;
  const std::size_t end = file->find('\n');
  if (end == std::string::npos) return std::nullopt;
  const Result<Json> head = parse_json(std::string_view(*file).substr(0, end), "a cached build");
  if (!head) return std::nullopt;
  JsonFields fields(*head, "a cached build");
  const std::string stored_key = fields.string("key");
  const std::string binary_hash = fields.string("binary");
  const Json* outcome = fields.raw("outcome");
  if (!fields.finish() || outcome == nullptr || stored_key != key) return std::nullopt;
  Result<BuildOutcome> decoded = outcome_from(*outcome);
  std::string binary = file->substr(end + 1);
  if (!decoded || content_hash(binary) != binary_hash) return std::nullopt;
  return CachedBuild{std::move(*decoded), std::move(binary)};
}

Result<void> BinaryCache::store(const std::string& key, const CachedBuild& build) const {
  if (folder_.empty()) return {};
  const Json head = {
      {"key", key}, {"binary", content_hash(build.binary)}, {"outcome", to_json(build.outcome)}};
  return real_file_system().write(folder_ / key, dump_json_line(head) + "\n" + build.binary);
}

}  // namespace burnish::device
