// The tables of docs/ that tell a demo's run are what its record says: docs/results/NAME/demo.json,
// and the records of its versions beside it. In a page such a table stands between
// `<!-- begin: TABLE of NAME/demo.json -->` and `<!-- end: … -->`, the file named as the page links
// to it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/demo.h"
#include "story.h"
#include "workspace/record.h"

namespace burnish::stories {
namespace {

const fs::path kDocs = fs::path(BURNISH_SOURCE_DIR) / "docs";

Result<loop::Demo> read_demo(const fs::path& file) {
  BURNISH_TRY_ASSIGN(const std::string text, real_file_system().read(file));
  BURNISH_TRY_ASSIGN(const Json json, parse_json(text, file.string()));
  return loop::demo_from_json(json, file.string());
}

TEST(Results, TablesAreThoseOfTheirRecords) {
  int tables = 0;
  for (const char* folder : {"case-studies", "results"}) {
    for (const auto& name : real_file_system().list(kDocs / folder)) {
      if (!name.ends_with(".md")) continue;
      const fs::path page = kDocs / folder / name;
      const std::string text = real_file_system().read(page).value();
      for (const auto line : split_lines(text)) {
        // <!-- begin: results of ../results/NAME/demo.json -->
        const std::string_view begin = "<!-- begin: ", of = " of ", end = " -->";
        const auto middle = line.find(of);
        if (!line.starts_with(begin) || !line.ends_with(end) || middle == std::string_view::npos)
          continue;
        const std::string part(line.substr(begin.size(), line.size() - begin.size() - end.size()));
        const std::string table(line.substr(begin.size(), middle - begin.size()));
        const fs::path file = part.substr(table.size() + of.size());
        SCOPED_TRACE(page.string() + ": " + part);
        const auto demo = read_demo(page.parent_path() / file);
        ASSERT_TRUE(demo) << demo.error().to_string();
        const auto written = report::page_table(*demo, table, file.parent_path().generic_string());
        ASSERT_TRUE(written) << written.error().to_string();
        EXPECT_EQ(differs(page, part, *written), "");
        ++tables;
      }
    }
  }
  EXPECT_GE(tables, 4);
}

// What demo.json says of a version is in the records beside it.
TEST(Results, RecordsAreKeptAndAgree) {
  auto& files = real_file_system();
  int demos = 0;
  for (const auto& name : files.list(kDocs / "results")) {
    const fs::path folder = kDocs / "results" / name;
    if (!files.exists(folder / "demo.json")) continue;
    SCOPED_TRACE(name);
    ++demos;
    const auto demo = read_demo(folder / "demo.json");
    ASSERT_TRUE(demo) << demo.error().to_string();
    for (const auto& one : demo->contenders) {
      if (!one.recorded) continue;
      const loop::Recorded& kept = *one.recorded;
      SCOPED_TRACE(one.label);
      for (const std::string& file :
           {kept.file, kept.plan, kept.report, kept.evidence, kept.profile})
        EXPECT_TRUE(file.empty() || files.exists(folder / file) ||
                    files.exists(folder / (file + ".xz")))
            << file;
      const auto record = workspace::record_from_text(files.read(folder / kept.file).value(),
                                                      kept.file, workspace::Tolerate::nothing);
      ASSERT_TRUE(record) << record.error().to_string();
      EXPECT_EQ(record->version, one.label);
      EXPECT_EQ(record->quality_gate.result, one.gate);
      EXPECT_EQ(record->performance.verdict, kept.verdict);
      EXPECT_EQ(record->optimization.action_category, kept.category);
      EXPECT_EQ(record->profile_evidence.findings, kept.findings);
    }
  }
  EXPECT_GE(demos, 2);
}

}  // namespace
}  // namespace burnish::stories
