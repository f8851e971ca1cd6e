#include "knowledge/page.h"

#include <gmock/gmock.h>

#include "base/data.h"
#include "base/text.h"

namespace burnish::knowledge {
namespace {

using ::testing::ElementsAre;

constexpr const char* kPlain =
    "+++\n"
    "id = \"a-card\"\n"
    "kind = \"pitfall\"\n"
    "title = \"A card\"\n"
    "category = \"tiling\"  # of loops\n"
    "effect = \"the effect\"\n"
    "against = [\"one\", \"two\",]\n"
    "[applies]\n"
    "vendor = [\"amd\"]\n"
    "[[trigger]]\n"
    "when = \"spill.bytes > 0\"\n"
    "headroom = 2\n"
    "+++\n"
    "\n"
    "First.\n";

void expect_same(const Page& page, const Card& card) {
  const Page parsed = page_of(card);
  EXPECT_EQ(page.head.id, card.id);
  EXPECT_EQ(page.head.kind, card.kind) << card.id;
  EXPECT_EQ(page.head.title, card.title) << card.id;
  EXPECT_EQ(page.head.category, card.category) << card.id;
  EXPECT_EQ(page.head.against, card.against) << card.id;
  EXPECT_EQ(page.head.applies.vendor, card.applies.vendor) << card.id;
  EXPECT_EQ(page.head.applies.arch, card.applies.arch) << card.id;
  EXPECT_EQ(page.head.applies.language, card.applies.language) << card.id;
  EXPECT_EQ(page.head.applies.family, card.applies.family) << card.id;
  EXPECT_EQ(page.first_paragraph(), card.first_paragraph()) << card.id;
  const auto bag = [](const std::string& text) {
    std::vector<std::string> list = words(text);
    std::sort(list.begin(), list.end());
    return list;
  };
  EXPECT_EQ(bag(page.words.heading), bag(parsed.words.heading)) << card.id;
  EXPECT_EQ(bag(page.words.text), bag(parsed.words.text)) << card.id;
}

TEST(Page, IsReadAsTheCardIsParsed) {
  const auto files = data_files("knowledge/");
  ASSERT_TRUE(files);
  std::size_t cards = 0;
  for (const DataFile& file : *files) {
    if (!file.name.ends_with(".md")) continue;
    ++cards;
    const auto page = read_page(file.content, file.origin);
    const auto card = parse_card(file.content, file.origin);
    ASSERT_TRUE(page) << page.error().to_string();
    ASSERT_TRUE(card) << card.error().to_string();
    expect_same(*page, *card);
  }
  EXPECT_GT(cards, 200u);
}

TEST(Page, WhateverTomlAllowsIsReadWithTheSameOutcome) {
  const auto with = [](const std::string& from, const std::string& to) {
    return replace_all(kPlain, from, to);
  };
  for (const std::string& text :
       {std::string(kPlain), with("\n", "\r\n"), with("+++\n", "+++ \n"),
        with("title = \"A card\"", "title = \"A \\\"card\\\"\""),
        with("title = \"A card\"", "\"title\" = 'A card'"),
        with("title = \"A card\"", "title = \"\"\"\nA\ncard\"\"\""),
        with("[\"one\", \"two\",]", "[\n  \"one\",\n  \"two\"\n]"),
        with("[\"one\", \"two\",]", "[]"),
        with("[applies]\nvendor = [\"amd\"]", "applies = {vendor = [\"amd\"]}"),
        with("[applies]\nvendor = [\"amd\"]", "applies.vendor = [\"amd\"]"),
        with("[applies]", "[ applies ]"),
        with("effect = \"the effect\"", "effect = \"\"\"\ntitle = \"no title\"\n\"\"\""),
        with("\n\nFirst.\n", "")}) {
    const auto page = read_page(text, "a-card.md");
    const auto card = parse_card(text, "a-card.md");
    ASSERT_TRUE(card) << text << card.error().to_string();
    ASSERT_TRUE(page) << text << page.error().to_string();
    expect_same(*page, *card);
  }
}

TEST(Page, WhatIsNoCardIsALocatedError) {
  for (const std::string& text :
       {std::string(), std::string("+++\n"), std::string("+++\nid = \"x\"\n"),
        std::string("+++\nid = \"x\"\n+++\nBody"), replace_all(kPlain, "\"pitfall\"", "\"pit\""),
        replace_all(kPlain, "\"A card\"", "\"A card"),
        replace_all(kPlain, "[\"one\"", "[\"one\" ,, ")}) {
    const auto page = read_page(text, "a-card.md");
    ASSERT_FALSE(page) << text;
    EXPECT_EQ(page.error().kind, ErrorKind::bad_input);
    ASSERT_TRUE(page.error().place) << text;
  }
}

TEST(SearchIndex, EndingsPrefixesIdentifiersAndSlips) {
  const std::vector<Words> texts = {{"a", "tiling for caches", "", "one tile after another"},
                                    {"b", "banks", "", "ds_read_b128 meets conflicts"},
                                    {"c", "other", "", "read 128 bytes; nothing of note"}};
  const SearchIndex index({&texts[0], &texts[1], &texts[2]});
  const auto found = [&](const std::string& text) {
    std::vector<std::size_t> out;
    for (const TextMatch& match : index.search(text)) out.push_back(match.card);
    return out;
  };
  EXPECT_THAT(found("tiles"), ElementsAre(0));
  EXPECT_THAT(found("conflict"), ElementsAre(1));
  EXPECT_THAT(found("ds_read_b128"), ElementsAre(1));
  EXPECT_THAT(found("ds_re"), ElementsAre(1));
  EXPECT_THAT(found("DS-READ"), ElementsAre(1));  // the parts, however they are joined
  EXPECT_THAT(found("read"), testing::UnorderedElementsAre(1, 2));
  EXPECT_THAT(found("confilcts"), ElementsAre(1));
  EXPECT_THAT(index.search("confilcts").front().why, testing::HasSubstr("read as 'conflicts'"));
  EXPECT_THAT(found("zzzzzz"), ElementsAre());
  EXPECT_THAT(found("the of"), ElementsAre());
  EXPECT_THAT(SearchIndex({}).search("tile"), ElementsAre());
}

}  // namespace
}  // namespace burnish::knowledge
