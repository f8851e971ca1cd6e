#pragma once

#include <string>
#include <vector>

#include "base/process.h"
#include "device/device.h"

namespace burnish::device {

struct Tool {
  std::string name;     ///< "git", "llvm-objdump", "ncu"
  std::string purpose;  ///< what burnish uses it for
  std::string version, path;
  bool ok = false;
  std::string hint;  ///< the command that brings it, when missing
};

struct Diagnosis {
  std::vector<DeviceInfo> devices;
  std::vector<Tool> tools;
  std::vector<std::string> problems;  ///< permissions, drivers without devices, no isolation …
  std::string isolation;
};

/// What this machine can do. `program` serves `worker`, as in DeviceOptions.
Diagnosis diagnose(ProcessRunner& runner, const fs::path& program = {});
Json to_json(const Diagnosis& diagnosis);

}  // namespace burnish::device
