// Every way of the catalogue (docs/judging.md) in which a device-code candidate can fool a judge,
// as a candidate that must be refused for the right reason, beside honest candidates with awkward
// habits that must pass.

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "measure/fake_device.h"
#include "tasks.h"

namespace burnish::cheats {
namespace {

/// Seeds of the whole suite; another number tries other inputs and shapes.
std::uint64_t seed() {
  const char* given = std::getenv("BURNISH_CHEATS_SEED");
  return given == nullptr ? 20 : static_cast<std::uint64_t>(parse_integer(given).value_or(20));
}

const Result<std::unique_ptr<device::Device>>& opencl() {
  static const auto opened = []() -> Result<std::unique_ptr<device::Device>> {
    static auto folder = TemporaryFolder::make("burnish-cheats");
    if (!folder) return folder.error();
    BURNISH_TRY_ASSIGN(const device::DeviceInfo info,
                       device::choose_device("opencl:portable", BURNISH_TEST_WORKER));
    return device::open_device(info, {folder->path() / "cache", BURNISH_TEST_WORKER});
  }();
  return opened;
}

measure::Verification judged(const Entry& entry) {
  measure::FixedRandom random(seed());
  device::Limits limits;
  limits.run = std::chrono::milliseconds(3000);
  const auto result =
      measure::verify(**opencl(), entry.task(), candidate(entry), limits, {}, random);
  EXPECT_TRUE(result) << result.error().to_string();
  if (result && std::getenv("BURNISH_CHEATS_TIMES") != nullptr) {
    std::printf("%.2f s: build %.2f, reference %.2f, runs %.2f; %zu checks\n", result->seconds,
                result->build_seconds, result->reference_seconds, result->run_seconds,
                result->checks.size());
  }
  return result ? *result : measure::Verification{};
}

class Suite : public testing::TestWithParam<Entry> {
 protected:
  void SetUp() override {
    if (!opencl()) GTEST_SKIP() << opencl().error().to_string();
  }
};

class Cheats : public Suite {};
class Honest : public Suite {};

TEST_P(Cheats, IsCaughtForTheRightReason) {
  const auto result = judged(GetParam());
  EXPECT_NE(result.verdict, measure::Verdict::pass);
  EXPECT_THAT(result.why, testing::ContainsRegex(GetParam().why));
}

TEST_P(Honest, Passes) {
  const auto result = judged(GetParam());
  EXPECT_EQ(result.verdict, measure::Verdict::pass) << result.why;
}

std::string test_name(const testing::TestParamInfo<Entry>& info) {
  return (info.param.catalogue.empty() ? "" : "C" + info.param.catalogue + "_") + info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Cheats, testing::ValuesIn(cheats()), test_name);
INSTANTIATE_TEST_SUITE_P(Awkward, Honest, testing::ValuesIn(honest()), test_name);

}  // namespace
}  // namespace burnish::cheats
