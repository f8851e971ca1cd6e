#pragma once

#include <optional>
#include <string>

#include "base/file.h"
#include "device/device.h"
#include "device/executor.h"

namespace burnish::device {

/// The hash of everything that a build depends on: the source with its name, further files, macros
/// and options; the device, its driver and the compiler; burnish's own version.
std::string build_key(const Source& source, const DeviceInfo& info, std::string_view compiler);

struct CachedBuild {
  BuildOutcome outcome;
  std::string binary;
};

/// Built binaries by key, written by the judge alone. An entry holds its key and the hash of its
/// binary; one that does not fit them (a torn write, a hand's edit) counts as absent.
class BinaryCache {
 public:
  explicit BinaryCache(fs::path folder) : folder_(std::move(folder)) {}
  std::optional<CachedBuild> find(const std::string& key) const;
  Result<void> store(const std::string& key, const CachedBuild& build) const;

 private:
  fs::path folder_;  ///< empty: no cache
};

}  // namespace burnish::device
