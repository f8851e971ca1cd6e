#include "base/data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/text.h"

namespace burnish {
namespace {

class DataTest : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("BURNISH_DATA"); }
  void TearDown() override { ::unsetenv("BURNISH_DATA"); }
};

TEST_F(DataTest, EveryFileOfTheFolderIsInTheProgram) {
  const fs::path sources = BURNISH_SOURCE_DIR;
  std::size_t count = 0;
  for (const char* folder : {"data", "examples"}) {
    if (!fs::exists(sources / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(sources / folder)) {
      if (!entry.is_regular_file()) continue;
      ++count;
      const std::string origin = entry.path().lexically_relative(sources).generic_string();
      const auto file = data_file(origin.starts_with("data/") ? origin.substr(5) : origin);
      ASSERT_TRUE(file) << file.error().to_string();
      EXPECT_EQ(file->content, *real_file_system().read(entry.path())) << origin;
      EXPECT_EQ(file->origin, origin);
    }
  }
  EXPECT_GT(count, 0u);
  const auto all = data_files("");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), count);
  EXPECT_TRUE(std::is_sorted(all->begin(), all->end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
}

TEST_F(DataTest, AFolderGoesBeforeFileByFile) {
  const auto compiled = data_files("");
  ASSERT_TRUE(compiled && !compiled->empty());
  const std::string known = compiled->front().name;
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(real_file_system().write(folder->path() / known, "mine"));
  ASSERT_TRUE(real_file_system().write(folder->path() / "own/new.toml", "new"));
  ::setenv("BURNISH_DATA", folder->path().c_str(), 1);
  EXPECT_EQ(data_file(known)->content, "mine");
  EXPECT_EQ(data_file(known)->origin, (folder->path() / known).string());
  EXPECT_EQ(data_file("own/new.toml")->content, "new");
  EXPECT_EQ(data_file(compiled->back().name)->content, compiled->back().content);
  EXPECT_EQ(data_files("")->size(), compiled->size() + 1);
  EXPECT_EQ(data_files("own/")->size(), 1u);

  const auto team = TemporaryFolder::make();
  ASSERT_TRUE(real_file_system().write(team->path() / "own/new.toml", "the team's"));
  ASSERT_TRUE(real_file_system().write(team->path() / "own/other.toml", "other"));
  ::setenv("BURNISH_DATA", (folder->path().string() + ":" + team->path().string()).c_str(), 1);
  EXPECT_EQ(data_file("own/new.toml")->content, "new");
  EXPECT_EQ(data_file("own/other.toml")->content, "other");
  EXPECT_EQ(data_files("own/")->size(), 2u);
  EXPECT_EQ(data_files("own/")->front().content, "new");
}

TEST_F(DataTest, NamesThatAreNone) {
  const auto absent = data_file("no/such");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().message, "there is no data file \"no/such\"");
  EXPECT_TRUE(data_files("no/such")->empty());
  ::setenv("BURNISH_DATA", "/nowhere", 1);
  EXPECT_TRUE(contains(data_files("").error().message, "/nowhere"));
  ::setenv("BURNISH_DATA", "/etc", 1);
  EXPECT_FALSE(data_file("../etc/passwd"));
  EXPECT_FALSE(data_file("/etc/passwd"));
}

}  // namespace
}  // namespace burnish
