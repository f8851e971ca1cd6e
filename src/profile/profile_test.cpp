#include "profile/profile.h"

#include "base/text.h"
#include "profile/testing.h"

namespace burnish::profile {
namespace {

using testing::data;
using testing::fixture;

TEST(Profile, TellsTheKindByContent) {
  auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const fs::path renamed = folder->path() / "notes.txt";
  ASSERT_TRUE(real_file_system().write(renamed, testing::bytes_of(data("range.ncu-repz"))));
  EXPECT_TRUE(recognises_profile(renamed));
  const auto reading = read_profile(renamed);
  ASSERT_TRUE(reading) << reading.error().to_string();
  EXPECT_EQ(reading->artefacts[0].kind, "ncu-rep");
  EXPECT_FALSE(recognises_profile(data("p.cu")));
  EXPECT_FALSE(recognises_profile(folder->path() / "absent"));
}

TEST(Profile, SaysWhatIsWrongWithOtherFiles) {
  const auto empty = read_bytes("", "empty.ncu-rep");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(contains(empty.error().to_string(), "empty.ncu-rep: the file is empty"));

  const auto wide = read_bytes(std::string_view("\xFF\xFE\"\0I\0", 6), "ps.csv");
  ASSERT_FALSE(wide);
  EXPECT_TRUE(contains(wide.error().message, "UTF-16"));

  const auto other = read_bytes("just words\n", "words.txt");
  ASSERT_FALSE(other);
  EXPECT_TRUE(contains(other.error().message, "not a profiler artefact"));

  const auto failed = read_bytes(
      "==PROF== Connected to process 12\n==ERROR== ERR_NVGPUCTRPERM - The user does not have "
      "permission "
      "to access NVIDIA GPU Performance Counters\n",
      "log.txt");
  ASSERT_FALSE(failed);
  EXPECT_TRUE(contains(failed.error().message, "ERR_NVGPUCTRPERM"));

  const auto absent = read_profile("/nonexistent/x.ncu-rep");
  ASSERT_FALSE(absent);
}

}  // namespace
}  // namespace burnish::profile
