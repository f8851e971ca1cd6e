#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/file.h"
#include "profile/profile.h"

namespace burnish::profile::testing {

/// A file that the repository holds.
inline fs::path data(const std::string& name) {
  return fs::path(BURNISH_SOURCE_DIR) / "src/profile/testdata" / name;
}

/// A fixture shared beside the repository.
inline fs::path fixture(const std::string& name) {
  return fs::path(BURNISH_SHARED_DIR) / "fixtures" / name;
}

inline std::string bytes_of(const fs::path& path) {
  auto bytes = real_file_system().read(path);
  EXPECT_TRUE(bytes) << path;
  return bytes ? *bytes : std::string();
}

inline Reading read(const fs::path& path) {
  auto reading = read_profile(path);
  EXPECT_TRUE(reading) << (reading ? "" : reading.error().to_string());
  return reading ? std::move(*reading) : Reading();
}

inline double value(const KernelProfile& kernel, std::string_view name) {
  const auto found = kernel.metrics.value(name);
  EXPECT_TRUE(found) << kernel.name << " has no " << name;
  return found.value_or(-1);
}

inline std::string text(const KernelProfile& kernel, std::string_view name) {
  const Metric* metric = kernel.metrics.find(name);
  EXPECT_NE(metric, nullptr) << kernel.name << " has no " << name;
  return metric == nullptr ? "" : metric->text;
}

inline const VendorRule* rule(const KernelProfile& kernel, std::string_view id) {
  for (const VendorRule& rule : kernel.vendor_rules) {
    if (rule.id == id && rule.kind != "ok") return &rule;
  }
  return nullptr;
}

}  // namespace burnish::profile::testing

#define BURNISH_NEEDS_FIXTURE(name)                                       \
  if (!::burnish::fs::exists(::burnish::profile::testing::fixture(name))) \
  GTEST_SKIP() << "no fixture " << ::burnish::profile::testing::fixture(name)
