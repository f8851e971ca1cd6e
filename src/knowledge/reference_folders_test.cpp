#include "knowledge/reference_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace burnish::knowledge {
namespace {

using testing::HasSubstr;

struct Folder {
  TemporaryFolder folder = TemporaryFolder::make("burnish-references").value();
  fs::path path = folder.path() / "kernels";
  void put(const fs::path& name, std::string_view text) {
    ASSERT_TRUE(real_file_system().write(path / name, text));
  }
};

TEST(ReferenceFolders, FindTheFileAndTheLineThatSayIt) {
  Folder at;
  at.put("gemm/tiled.cu",
         "// a tiled gemm\n__shared__ float tile[32][33];  // padded against bank conflicts\n");
  at.put("notes.md", "Softmax in one pass keeps a running maximum.\n");
  const auto folders = ReferenceFolders::open({at.path});
  ASSERT_TRUE(folders) << folders.error().to_string();
  EXPECT_EQ(folders->size(), 2u);
  const auto hits = folders->search("bank conflicts of a padded tile", 5);
  ASSERT_TRUE(hits);
  ASSERT_FALSE(hits->empty());
  const Hit& hit = hits->front();
  EXPECT_EQ(hit.id, "reference:kernels/gemm/tiled.cu");
  EXPECT_EQ(hit.layer, "L2");
  EXPECT_THAT(hit.title, HasSubstr("tile[32][33]"));
  EXPECT_THAT(hit.why, HasSubstr("line 2"));
  EXPECT_TRUE(folders->contains(hit.id));
  EXPECT_FALSE(folders->contains("reference:kernels/gemm/other.cu"));
}

TEST(ReferenceFolders, PassOverWhatIsHiddenBinaryLargeOrLinked) {
  Folder at;
  at.put("good.cl", "kernel void transpose() {}\n");
  at.put(".git/config", "transpose\n");
  at.put(".hidden.cl", "transpose\n");
  at.put("binary.o", std::string_view("transpose\0\1\2", 12));
  at.put("large.txt", std::string(ReferenceFolders::kLargestFile + 1, 'x'));
  at.put("odd.txt", "transpose \xff\xfe\n");
  fs::create_symlink("good.cl", at.path / "link.cl");
  fs::create_directory_symlink(at.path, at.path / "loop");
  const auto folders = ReferenceFolders::open({at.path});
  ASSERT_TRUE(folders) << folders.error().to_string();
  EXPECT_EQ(folders->size(), 2u);  // odd bytes are read as what they are not
  EXPECT_TRUE(folders->left_out().empty());
}

TEST(ReferenceFolders, AreBoundedInNumberAndSaySo) {
  Folder at;
  fs::create_directories(at.path);
  for (std::size_t i = 0; i < ReferenceFolders::kMostFiles + 5; ++i)
    std::ofstream(at.path / ("f" + std::to_string(i) + ".cl")) << "kernel " << i << "\n";
  const auto folders = ReferenceFolders::open({at.path});
  ASSERT_TRUE(folders);
  EXPECT_EQ(folders->size(), ReferenceFolders::kMostFiles);
  ASSERT_EQ(folders->left_out().size(), 1u);
  EXPECT_THAT(folders->left_out()[0], HasSubstr("left out"));
}

TEST(ReferenceFolders, AFolderThatIsNotThereIsSaid) {
  const auto folders = ReferenceFolders::open({"/nowhere/at/all"});
  ASSERT_FALSE(folders);
  EXPECT_EQ(folders.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(folders.error().to_string(), HasSubstr("reference_projects"));
}

}  // namespace
}  // namespace burnish::knowledge
