#include "workspace/journal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"

namespace burnish::workspace {
namespace {

Entry entry(const std::string& event, int version, Entry::Phase phase = Entry::Phase::done) {
  Entry result;
  result.time = "2026-11-29T20:15:00Z";
  result.event = event;
  result.phase = phase;
  result.version = version;
  result.detail_text = "{\"note\":\"line\\nbreak\"}";
  return result;
}

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::make_unique<TemporaryFolder>(TemporaryFolder::make().value());
    file_ = folder_->path() / "journal.jsonl";
  }
  Journal journal() { return Journal(file_, files_); }
  std::string text() { return files_.read(file_).value(); }
  void put(const std::string& text) { ASSERT_TRUE(files_.write(file_, text)); }
  /// Three entries, as lines.
  std::vector<std::string> three() {
    Journal one = journal();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(one.append(entry("gate", i)));
    const std::string whole = text();
    std::vector<std::string> lines;
    for (const std::string_view line : split_lines(whole))
      lines.emplace_back(std::string(line) + "\n");
    return lines;
  }

  FileSystem& files_ = real_file_system();
  std::unique_ptr<TemporaryFolder> folder_;
  fs::path file_;
};

TEST_F(JournalTest, EntriesComeBackAsTheyWere) {
  Journal one = journal();
  EXPECT_EQ(one.entries()->size(), 0u);
  ASSERT_TRUE(one.append(entry("init", 0)));
  ASSERT_TRUE(one.append(entry("baseline", 0, Entry::Phase::begin)));
  for (const auto& entries : {*one.entries(), *journal().entries()}) {
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].event, "init");
    EXPECT_EQ(entries[1].sequence, 1);
    EXPECT_EQ(entries[1].phase, Entry::Phase::begin);
    EXPECT_EQ(entries[1].time, "2026-11-29T20:15:00Z");
    EXPECT_EQ(entries[1].detail_text, "{\"note\":\"line\\nbreak\"}");
  }
  EXPECT_EQ(split_lines(text()).size(), 2u);
}

TEST_F(JournalTest, ATornLineDoesNotCountAndIsTakenAway) {
  const auto lines = three();
  const std::string whole = lines[0] + lines[1];
  for (std::size_t cut = 1; cut < lines[2].size(); cut += 11) {
    put(whole + lines[2].substr(0, cut));
    Journal one = journal();
    ASSERT_EQ(one.entries()->size(), 2u) << cut;
    ASSERT_TRUE(one.repair());
    EXPECT_EQ(text(), whole) << cut;
    ASSERT_TRUE(one.append(entry("plan", 9)));
    EXPECT_EQ(journal().entries()->back().event, "plan") << cut;
  }
  // The file had grown, and its data were not on the disk yet.
  put(whole + std::string(300, '\0'));
  EXPECT_EQ(journal().entries()->size(), 2u);
  put(lines[0].substr(0, 20));
  EXPECT_EQ(journal().entries()->size(), 0u);
}

TEST_F(JournalTest, AnAppendAfterAFailedOneDoesNotBuildOnItsRest) {
  Journal one = journal();
  ASSERT_TRUE(one.append(entry("init", 0)));
  ASSERT_TRUE(files_.append(file_, "{\"sequence\":1,\"ti"));
  ASSERT_TRUE(one.append(entry("baseline", 0)));
  const auto entries = journal().entries();
  ASSERT_TRUE(entries) << entries.error().to_string();
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ(entries->back().event, "baseline");
}

TEST_F(JournalTest, EditedJournalsAreErrorsAtTheLine) {
  const auto lines = three();
  // A line that is well-formed by itself, with a hash of its own, but which nobody appended.
  const auto forged = [&](const std::string& body) {
    return body + ",\"hash\":\"" + content_hash(body) + "\"}\n";
  };
  const std::string head = "{\"sequence\":3,\"time\":\"t\",\"event\":\"stop\",\"phase\":\"done\",";
  const std::string last = lines[2].substr(lines[2].rfind("\"hash\":\"") + 8, 32);
  struct Case {
    const char* name;
    std::string text;
    int line;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"a word in the first line", replace_all(lines[0], "gate", "stop") + lines[1] + lines[2], 1,
       "hash does not fit"},
      {"a word in the last line", lines[0] + lines[1] + replace_all(lines[2], "gate", "stop"), 3,
       "hash does not fit"},
      {"a hash", lines[0] + lines[1].substr(0, lines[1].size() - 10) + "0000000\"}\n", 2,
       "hash does not fit"},
      {"a line removed", lines[0] + lines[2], 2, "does not follow"},
      {"the first line removed", lines[1] + lines[2], 1, "does not follow"},
      {"lines swapped", lines[1] + lines[0] + lines[2], 1, "does not follow"},
      {"a line twice", lines[0] + lines[0], 2, "does not follow"},
      {"a torn line in the middle", lines[0].substr(0, 40) + "\n" + lines[1], 1,
       "hash does not fit"},
      {"an empty line", lines[0] + "\n" + lines[1], 2, "hash does not fit"},
      {"not JSON", "hello\n", 1, "hash does not fit"},
      {"carriage returns", replace_all(lines[0], "\n", "\r\n"), 1, "hash does not fit"},
      {"binary", std::string("\0\xff\x01\n", 4), 1, "hash does not fit"},
      {"forged: no object", forged("[1"), 1, "not JSON"},
      {"forged: no version",
       lines[0] + lines[1] + lines[2] +
           forged(head + "\"detail\":{},\"previous\":\"" + last + "\""),
       4, "/version: is missing"},
      {"forged: a phase",
       lines[0] + lines[1] + lines[2] +
           forged(replace_all(head, "done", "half") +
                  "\"version\":0,\"detail\":{},\"previous\":\"" + last + "\""),
       4, "one of begin, done"},
      {"forged: a version out of range",
       lines[0] + lines[1] + lines[2] +
           forged(head + "\"version\":1e12,\"detail\":{},\"previous\":\"" + last + "\""),
       4, "no version"},
      {"forged: a key",
       lines[0] + lines[1] + lines[2] +
           forged(head + "\"version\":0,\"detail\":{},\"extra\":1,\"previous\":\"" + last + "\""),
       4, "not a known key"},
      {"forged: an order",
       lines[0] + lines[1] + lines[2] +
           forged(replace_all(head, ":3", ":7") + "\"version\":0,\"detail\":{},\"previous\":\"" +
                  last + "\""),
       4, "does not follow"},
  };
  for (const Case& one : cases) {
    put(one.text);
    const auto entries = journal().entries();
    ASSERT_FALSE(entries) << one.name;
    EXPECT_EQ(entries.error().kind, ErrorKind::bad_input) << one.name;
    ASSERT_TRUE(entries.error().place) << one.name;
    EXPECT_EQ(entries.error().place->file, ".burnish/journal.jsonl") << one.name;
    EXPECT_EQ(entries.error().place->line, one.line) << one.name << entries.error().to_string();
    EXPECT_TRUE(contains(entries.error().to_string(), one.message))
        << one.name << ": " << entries.error().to_string();
    EXPECT_FALSE(journal().append(entry("gate", 1))) << one.name;
    EXPECT_EQ(text(), one.text) << one.name;  // evidence is not overwritten
  }
}

TEST_F(JournalTest, AnEditUnderAnOpenJournalIsNoticed) {
  const auto lines = three();
  Journal one = journal();
  ASSERT_TRUE(one.entries());
  put(replace_all(lines[0], "gate", "stop") + lines[1] + lines[2]);
  ASSERT_FALSE(one.entries());
  EXPECT_EQ(one.entries().error().place->line, 1);
  put(lines[0] + lines[1]);  // a journal that got shorter is read anew
  EXPECT_EQ(one.entries()->size(), 2u);
}

TEST_F(JournalTest, KilledWritersLoseAtMostTheLastLine) {
  for (int round = 0; round < 12; ++round) {
    const std::size_t before = journal().entries()->size();
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Appends until it is killed, and says after each append that it counts.
      Journal mine(file_, files_);
      for (;;) {
        if (!mine.append(entry("gate", round))) ::_exit(1);
        if (::write(pipe_ends[1], "x", 1) != 1) ::_exit(1);
      }
    }
    ::close(pipe_ends[1]);
    ::usleep(3000 + 1700 * static_cast<useconds_t>(round));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
    std::size_t counted = 0;
    char buffer[256];
    for (ssize_t got; (got = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
      counted += static_cast<std::size_t>(got);
    }
    ::close(pipe_ends[0]);
    Journal one = journal();
    ASSERT_TRUE(one.repair());
    const auto entries = one.entries();
    ASSERT_TRUE(entries) << entries.error().to_string();
    // What was said to count is there; one more may have reached the disk unannounced.
    EXPECT_GE(entries->size(), before + counted);
    EXPECT_LE(entries->size(), before + counted + 1);
  }
}

}  // namespace
}  // namespace burnish::workspace
