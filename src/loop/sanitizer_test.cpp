#include <gtest/gtest.h>

#include "loop/subject.h"

namespace burnish::loop {
namespace {

// A finding refuses a candidate, so there must be none in kernels that are right.
TEST(Sanitizer, FindsNothingInTheExamples) {
  const auto sanitizers = [] {
    device::DeviceInfo info;
    info.backend = "opencl";
    return measure::open_sanitizers(info, {{}, BURNISH_TEST_WORKER});
  }();
  if (!sanitizers) GTEST_SKIP() << sanitizers.error().to_string();
  const fs::path examples = fs::path(BURNISH_SOURCE_DIR) / "examples";
  auto& system = real_file_system();
  const auto folder = TemporaryFolder::make("burnish-examples");
  ASSERT_TRUE(folder);
  int judged = 0;
  for (const std::string& name : system.list(examples)) {
    const auto text = [&](const std::string& file) {
      return system.read(examples / name / file).value_or("");
    };
    const auto spec = workspace::parse_task(text("burnish.toml"), name + "/burnish.toml");
    ASSERT_TRUE(spec) << spec.error().to_string();
    const workspace::Files files{{spec->kernel_file, text(spec->kernel_file)},
                                 {spec->launch_file, text(spec->launch_file)}};
    const auto candidate = judged_candidate(*spec, files, name, "");
    ASSERT_TRUE(candidate) << candidate.error().to_string();
    auto reference = measure::open_reference(examples / name / spec->reference_file, folder->path(),
                                             real_process_runner());
    ASSERT_TRUE(reference) << reference.error().to_string();
    const auto check = measure::sanitize(sanitizers->front(), judged_task(*spec, *reference),
                                         *candidate, {}, real_random());
    ASSERT_TRUE(check) << name << ": " << check.error().to_string();
    EXPECT_EQ(check->why, "") << name;
    ++judged;
  }
  EXPECT_GE(judged, 4);
}

}  // namespace
}  // namespace burnish::loop
