#include "device/spec_check.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace burnish::device {
namespace {

SpecCheck one(const std::vector<SpecCheck>& checks, const std::string& name) {
  const auto found = std::find_if(checks.begin(), checks.end(),
                                  [&](const SpecCheck& check) { return check.card->name == name; });
  return found == checks.end() ? SpecCheck{} : *found;
}

DeviceInfo h200() {
  DeviceInfo info;
  info.name = "NVIDIA H200";
  info.vendor = "nvidia";
  info.arch = "sm_90";
  return info;
}

TEST(SpecCheck, ADriversAnswerIsTheCardsOrContradictsIt) {
  DeviceInfo info = h200();
  info.queried = {{"sm.count", 132}, {"l2.bytes", 50e6}, {"clock.max", 1.9805e9}};
  const auto spec = spec_of(info);
  ASSERT_TRUE(spec.has_value());
  const auto checks = check_spec(*spec, info, {});
  EXPECT_EQ(one(checks, "sm.count").agrees, true);
  EXPECT_EQ(one(checks, "clock.max").agrees, true);
  EXPECT_EQ(one(checks, "l2.bytes").agrees, false);
  EXPECT_EQ(one(checks, "l2.bytes").why, "0.7947 times the card's value");
  EXPECT_FALSE(one(checks, "warps.per_sm").found.has_value());
  EXPECT_FALSE(one(checks, "warps.per_sm").agrees.has_value());
}

TEST(SpecCheck, APeakIsNotExceeded) {
  const DeviceInfo info = h200();
  const auto spec = spec_of(info).value();
  const auto with = [&](double rate) {
    return one(check_spec(spec, info, {{"fma f32", "FLOP/s", rate, "measured", ""}}), "fp32.flops");
  };
  EXPECT_EQ(with(60e12).agrees, true);
  EXPECT_EQ(with(70e12).agrees, false);
  EXPECT_THAT(with(70e12).why, testing::HasSubstr("which therefore is none"));
  EXPECT_EQ(with(30e12).agrees, false);
}

TEST(SpecCheck, MemoryIsJudgedByTheLargestCopy) {
  const DeviceInfo info = h200();
  const auto spec = spec_of(info).value();
  const auto check = one(check_spec(spec, info,
                                    {{"copy 8 MiB", "B/s", 7e12, "measured", ""},
                                     {"copy 256 MiB", "B/s", 4.2e12, "measured", ""},
                                     {"copy 256 MiB cold", "B/s", 1e12, "measured", ""}}),
                         "dram.bandwidth");
  EXPECT_EQ(check.found, 4.2e12);
  EXPECT_EQ(check.agrees, true);
}

TEST(SpecCheck, AnUnknownDeviceHasNoCard) {
  DeviceInfo info = h200();
  info.name = "NVIDIA H2000";
  const auto spec = spec_of(info);
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace burnish::device
