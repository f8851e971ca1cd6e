#include "knowledge/knowledge.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "hardware/spec.h"
#include "knowledge/lint.h"
#include "knowledge/search_index.h"

namespace burnish::knowledge {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const CardBase& base() {
  static const CardBase* all = [] {
    Result<CardBase> loaded = CardBase::load();
    if (!loaded) ADD_FAILURE() << loaded.error().to_string();
    return loaded ? new CardBase(std::move(*loaded)) : nullptr;
  }();
  return *all;
}

std::vector<std::string> ids(const std::vector<Hit>& hits) {
  std::vector<std::string> out;
  for (const Hit& hit : hits) out.push_back(hit.id);
  return out;
}

const Hit& hit_of(const std::vector<Hit>& hits, const std::string& id) {
  for (const Hit& hit : hits) {
    if (hit.id == id) return hit;
  }
  static const Hit none;
  ADD_FAILURE() << id << " is not among the hits";
  return none;
}

evidence::Subject subject(const std::string& vendor, const std::string& arch,
                          const std::map<std::string, double>& values) {
  evidence::Subject out;
  out.vendor = vendor;
  out.arch = arch;
  for (const auto& [name, value] : values) {
    Metric metric;
    metric.name = name;
    metric.value = value;
    metric.unit = "1";
    out.metrics.add(std::move(metric));
  }
  return out;
}

constexpr const char* kCard =
    "+++\n"
    "id = \"a-card\"\n"
    "kind = \"technique\"\n"
    "title = \"A card\"\n"
    "category = \"tiling\"\n"
    "signature = [\"spill.bytes zero\"]\n"
    "[[trigger]]\n"
    "when = \"spill.bytes > 0\"\n"
    "headroom = 2\n"
    "+++\n"
    "\n"
    "# Heading\n"
    "\n"
    "First line\n"
    "and its second.\n"
    "\n"
    "More.\n";

TEST(Card, IsRead) {
  const auto card = parse_card(kCard, "a-card.md");
  ASSERT_TRUE(card) << card.error().to_string();
  EXPECT_EQ(card->id, "a-card");
  EXPECT_EQ(card->first_paragraph(), "First line and its second.");
  ASSERT_EQ(card->triggers.size(), 1u);
  EXPECT_EQ(card->triggers[0].when.text(), "spill.bytes > 0");
  EXPECT_EQ(card->signature[0].direction, "zero");
  EXPECT_EQ(card->body_line, 11);
}

TEST(Card, MistakesAreLocated) {
  const auto with = [](const std::string& from, const std::string& to) {
    return replace_all(kCard, from, to);
  };
  struct Case {
    std::string text;
    int line;
    std::string says;
  };
  const std::vector<Case> cases = {
      {"", 1, "+++"},
      {"# no front matter\n", 1, "+++"},
      {"+++\nid = \"x\"\n", 1, "never closed"},
      {with("id = \"a-card\"", "id = "), 2, ""},
      {with("kind = \"technique\"", "kind = \"trick\""), 3, "technique"},
      {with("title", "titel"), 0, "title"},
      {with("signature = [\"spill.bytes zero\"]", "signature = [\"spill.bytes lower\"]"), 6,
       "signature"},
      {with("when = \"spill.bytes > 0\"", "when = \"spill.bytes > \""), 8, ""},
      {with("headroom = 2", "headroom = \"2 +\""), 9, ""},
      {with("headroom = 2", "headrom = 2"), 9, "headroom"},
      {with("when =", "wen ="), 7, "when"},
  };
  for (const Case& one : cases) {
    const auto card = parse_card(one.text, "a-card.md");
    ASSERT_FALSE(card) << one.text;
    EXPECT_EQ(card.error().kind, ErrorKind::bad_input) << one.text;
    EXPECT_THAT(card.error().to_string(), HasSubstr(one.says)) << one.text;
    ASSERT_TRUE(card.error().place) << one.text;
    EXPECT_EQ(card.error().place->file, "a-card.md");
    if (one.line > 0) {
      EXPECT_EQ(card.error().place->line, one.line) << card.error().to_string();
    }
  }
}

TEST(Card, HostileBytesAreAnError) {
  std::string deep(100'000, '[');
  for (const std::string& text :
       {std::string("+++\n") + deep + "\n+++\n", std::string("+++\n\xff\xfe\n+++\nx\n"),
        std::string("+++\nid = \"") + std::string(1 << 20, 'x') + "\n+++\n",
        std::string("+++\n\0\n+++\n", 10)}) {
    EXPECT_FALSE(parse_card(text, "x.md"));
  }
}

TEST(Target, RangesAndFamilies) {
  const auto holds = [](const std::string& entry, const std::string& arch) {
    const auto target = find_target(arch);
    EXPECT_TRUE(target) << arch;
    const auto covered = covers(entry, *target);
    EXPECT_TRUE(covered) << entry;
    return covered.value_or(false);
  };
  EXPECT_TRUE(holds("sm_80+", "sm_90a"));
  EXPECT_TRUE(holds("sm_90", "sm_90a"));
  EXPECT_FALSE(holds("sm_90a", "sm_90"));
  EXPECT_FALSE(holds("sm_90a", "sm_100a"));
  EXPECT_FALSE(holds("sm_80+", "sm_75"));
  EXPECT_FALSE(holds("sm_80+", "gfx942"));
  EXPECT_TRUE(holds("cdna", "gfx942"));
  EXPECT_TRUE(holds("cdna3", "gfx942"));
  EXPECT_FALSE(holds("cdna3", "gfx950"));
  EXPECT_FALSE(holds("cdna", "gfx1100"));
  EXPECT_FALSE(holds("hopper", "sm_80"));
  EXPECT_FALSE(covers("sm_banana", *find_target("sm_90")));
  EXPECT_FALSE(covers("cdna9", *find_target("sm_90")));
}

TEST(Catalogue, OfARulesCardsThoseHoldThatTheDeviceCanDo) {
  const auto catalogue = Catalogue::load();
  ASSERT_TRUE(catalogue) << catalogue.error().to_string();
  const std::vector<std::string> ids = {"tma-mbarrier-ring", "split-k"};
  const auto holding = [&](const std::string& vendor, const std::string& arch) {
    return catalogue->holding_on(vendor, arch, ids);
  };
  EXPECT_EQ(holding("nvidia", "sm_90a"), ids);
  EXPECT_THAT(holding("nvidia", "sm_86"), ElementsAre("split-k"));
  EXPECT_THAT(holding("amd", "gfx942"), ElementsAre("split-k"));
  EXPECT_EQ(holding("nvidia", ""), ids);  // unknown is not a no
  EXPECT_EQ(holding("nvidia", "sm_9999"), ids);
}

TEST(Target, UnknownSaysSoAndNamesNearOnes) {
  const auto sm = find_target("sm_93");
  ASSERT_FALSE(sm);
  EXPECT_THAT(sm.error().message, HasSubstr("unknown"));
  EXPECT_THAT(sm.error().hint, HasSubstr("sm_90"));
  EXPECT_THAT(find_target("gfx943").error().hint, HasSubstr("gfx942"));
  EXPECT_FALSE(find_target(""));
}

TEST(Words, IdentifiersStayWhole) {
  EXPECT_THAT(words("Use ds_read_b128, not l1.hit_pct. The end-"),
              ElementsAre("use", "ds_read_b128", "not", "l1.hit_pct", "the", "end"));
  EXPECT_THAT(word_parts("ds_read_b128"), ElementsAre("ds", "read", "b128"));
  EXPECT_THAT(word_parts("plain"), IsEmpty());
}

TEST(Knowledge, LintIsClean) {
  const auto metrics = MetricNames::load();
  ASSERT_TRUE(metrics) << metrics.error().to_string();
  ASSERT_FALSE(metrics->empty());
  const auto complaints = lint(base(), *metrics);
  ASSERT_TRUE(complaints) << complaints.error().to_string();
  for (const Complaint& complaint : *complaints) ADD_FAILURE() << complaint.to_string();
}

TEST(Knowledge, CoversWhatItPromises) {
  std::map<std::string, int> kinds;
  std::set<std::string> families, architectures;
  for (const Card& card : base().cards()) {
    ++kinds[card.kind];
    if (card.kind == "reference")
      families.insert(card.applies.family.begin(), card.applies.family.end());
    if (card.kind == "architecture") architectures.insert(card.id);
  }
  EXPECT_GE(kinds["technique"], 90);
  EXPECT_GE(kinds["pitfall"], 30);
  for (const char* family :
       {"gemm", "attention", "normalisation", "softmax", "top-k", "convolution", "scan",
        "transpose", "reduction", "histogram", "quantised-gemm", "moe"})
    EXPECT_THAT(families, Contains(family));
  for (const char* architecture : {"ampere", "ada", "hopper", "blackwell", "cdna2", "cdna3",
                                   "cdna4", "rdna3", "rdna4", "opencl-cpu"})
    EXPECT_THAT(architectures, Contains(architecture));
  for (const char* product :
       {"a100-sxm4-40gb", "a100-sxm4-80gb", "h100-sxm",  "h100-pcie", "h200",   "h20",    "l4",
        "l40s",           "rtx-4090",       "rtx-5090",  "b200",      "b300",   "gb10",   "mi210",
        "mi250x",         "mi300x",         "mi300a",    "mi308x",    "mi325x", "mi350x", "mi355x",
        "rx-7900-xtx",    "rx-9070-xt",     "opencl-cpu"}) {
    const auto spec = hardware::find_spec(product);
    ASSERT_TRUE(spec) << spec.error().to_string();
    EXPECT_EQ(spec->id, product);
  }
}

TEST(Knowledge, IndexFitsASmallWindow) {
  const std::string index = base().catalogue().index();
  EXPECT_LE(index.size(), Catalogue::kIndexLimit);
  EXPECT_THAT(index, HasSubstr("swizzle-shared-memory"));
  EXPECT_THAT(index, HasSubstr("\ntechnique\n"));
  EXPECT_THAT(index, HasSubstr("\nbank-conflicts: lds-phase-table "));
  // However many there are.
  std::vector<Page> many;
  for (int i = 0; i < 5000; ++i) {
    Page page = *read_page(kCard, "a-card.md");
    page.head.id += std::to_string(i);
    page.file = page.head.id + ".md";
    many.push_back(std::move(page));
  }
  const auto crowd = Catalogue::make(std::move(many));
  ASSERT_TRUE(crowd);
  EXPECT_LE(crowd->index().size(), Catalogue::kIndexLimit);
  EXPECT_THAT(crowd->index(), HasSubstr(" more\n"));
}

TEST(Knowledge, ShowIsLayered) {
  const auto brief = base().catalogue().show("swizzle-shared-memory", Detail::brief);
  const auto full = base().catalogue().show("swizzle-shared-memory", Detail::full);
  ASSERT_TRUE(brief && full);
  EXPECT_LT(brief->size(), 2000u);
  EXPECT_THAT(*brief, Not(HasSubstr("```")));
  EXPECT_THAT(*full, HasSubstr("```"));
  EXPECT_THAT(*full, HasSubstr("https://"));
  const auto unknown = base().catalogue().show("swizzle-shared-memroy", Detail::brief);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().hint, HasSubstr("swizzle-shared-memory"));
}

TEST(Search, FindsByTextIdentifierPrefixAndSlip) {
  const auto first = [](const std::string& text) {
    const auto hits = base().catalogue().search(text, {}, 5);
    EXPECT_TRUE(hits) << hits.error().to_string();
    return hits ? ids(*hits) : std::vector<std::string>{};
  };
  EXPECT_THAT(first("bank conflicts swizzle"), Contains("swizzle-shared-memory"));
  EXPECT_THAT(first("ds_read_b128 conflicts"), Contains("lds-phase-table"));
  EXPECT_THAT(first("ldmatr"), Contains("matrix-fragment-loads"));
  EXPECT_THAT(first("ds_bpermute"), Contains("dpp-reductions"));
  const auto slip = base().catalogue().search("swizle", {}, 5);
  ASSERT_TRUE(slip);
  EXPECT_THAT(ids(*slip), Contains("swizzle-shared-memory"));
  EXPECT_THAT(slip->front().why, HasSubstr("read as"));
}

TEST(Search, NothingInTheQuestionIsSyntax) {
  for (const char* text :
       {"\"", "a\" OR \"b", "*", "NEAR(a b)", "title:x", "(((", "'; DROP TABLE cards", "-",
        "2×3 → 6", "\xff\xfe\xff", "", "the of and"}) {
    const auto hits = base().catalogue().search(text, {});
    EXPECT_TRUE(hits) << text << ": " << hits.error().to_string();
  }
  std::string page;
  for (int i = 0; i < 20'000; ++i) page += "word" + std::to_string(i) + " ";
  EXPECT_TRUE(base().catalogue().search(page, {}));
  EXPECT_TRUE(base().catalogue().search(std::string(1 << 20, 'x'), {}));
}

TEST(Search, ScopesFailClosed) {
  Scope scope;
  scope.arch = "gfx942";
  const auto cdna = base().catalogue().search("matrix", scope, 100);
  ASSERT_TRUE(cdna);
  EXPECT_THAT(ids(*cdna), Contains("mfma-shape"));
  EXPECT_THAT(ids(*cdna), Not(Contains("wgmma-warpgroup")));

  scope.arch = "gfx943";
  const auto unknown = base().catalogue().search("matrix", scope);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("unknown"));
  EXPECT_THAT(unknown.error().hint, HasSubstr("gfx942"));

  scope.arch = "mi300x";  // a product stands for its target
  EXPECT_THAT(ids(*base().catalogue().search("matrix", scope, 100)), Contains("mfma-shape"));
  scope.arch = "cdna3";
  EXPECT_THAT(ids(*base().catalogue().search("matrix", scope, 100)), Contains("mfma-shape"));

  for (Scope wrong :
       {Scope{"nvida", "", "", "", "", ""}, Scope{"", "", "opncl", "", "", ""},
        Scope{"", "", "", "gem", "", ""}, Scope{"", "", "", "", "tilling", ""},
        Scope{"", "", "", "", "", "techniqe"}, Scope{"amd", "sm_90", "", "", "", ""}}) {
    const auto hits = base().catalogue().search("matrix", wrong);
    ASSERT_FALSE(hits);
    EXPECT_EQ(hits.error().kind, ErrorKind::bad_input);
    EXPECT_FALSE(hits.error().hint.empty());
  }
}

TEST(Search, AWidenedAnswerIsLabelled) {
  Scope scope;
  scope.arch = "gfx942";
  const auto widened = base().catalogue().search("wgmma warpgroup HGMMA", scope, 5);
  ASSERT_TRUE(widened);
  for (const Hit& hit : *widened) {
    if (hit.id == "wgmma-warpgroup") {
      EXPECT_THAT(hit.scope, HasSubstr("outside the scope"));
    }
  }
  scope.category = "cache-policy";
  scope.vendor = "cpu";
  scope.arch = "";
  const auto none = base().catalogue().search("tcgen05", scope, 5, Widen::no);
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
  const auto wide = base().catalogue().search("tcgen05", scope, 5);
  ASSERT_TRUE(wide);
  ASSERT_FALSE(wide->empty());
  for (const Hit& hit : *wide) EXPECT_THAT(hit.scope, HasSubstr("outside the scope"));
}

TEST(ForFinding, NamedCardsFirstThenFittingOnesOfTheCategory) {
  evidence::Finding finding;
  finding.id = "shared-bank-conflicts";
  finding.category = "bank-conflicts";
  finding.headroom = 2;
  finding.cards = {"pad-shared-memory"};
  finding.evidence = {"shared.conflicts", "shared.wavefronts"};
  const auto hits = base().for_finding(
      finding,
      subject("nvidia", "sm_90",
              {{"shared.wavefronts", 100}, {"shared.conflicts", 50}, {"shared.pipe_pct", 80}}));
  ASSERT_GE(hits.size(), 2u);
  EXPECT_EQ(hits[0].id, "pad-shared-memory");
  EXPECT_THAT(hits[0].why, HasSubstr("shared-bank-conflicts"));
  EXPECT_THAT(ids(hits), Contains("swizzle-shared-memory"));
  EXPECT_THAT(ids(hits), Not(Contains("lds-phase-table")));  // another vendor's
}

TEST(Search, ByFindingWithinAScope) {
  const auto rules = evidence::Rules::load();
  ASSERT_TRUE(rules);
  const auto finding = rules->finding("shared-bank-conflicts");
  ASSERT_TRUE(finding) << finding.error().to_string();
  Scope scope;
  scope.arch = "sm_90a";
  const auto hits = base().search(*finding, scope);
  ASSERT_TRUE(hits);
  ASSERT_FALSE(hits->empty());
  EXPECT_EQ(hits->front().id, finding->cards.front());
  EXPECT_GT(hits->front().score, 0);
  EXPECT_THAT(ids(*hits), Not(Contains("lds-phase-table")));
  scope.arch = "sm_93";
  EXPECT_FALSE(base().search(*finding, scope));
  scope = {};
  scope.kind = "reference";
  EXPECT_THAT(*base().search(*finding, scope, 10, Widen::no), IsEmpty());
  const auto widened = base().search(*finding, scope);
  ASSERT_TRUE(widened && !widened->empty());
  for (const Hit& hit : *widened) EXPECT_THAT(hit.scope, HasSubstr("outside the scope"));
  const auto slip = rules->finding("shared-bank-conflict");
  ASSERT_FALSE(slip);
  EXPECT_THAT(slip.error().hint, HasSubstr("shared-bank-conflicts"));
}

TEST(ForEvidence, RanksByStrengthHeadroomApplicabilityAndHistory) {
  const evidence::Subject conflicts =
      subject("nvidia", "sm_80",
              {{"shared.wavefronts", 100}, {"shared.conflicts", 90}, {"shared.pipe_pct", 90}});
  const auto hits = base().for_evidence(conflicts, {}, {});
  ASSERT_FALSE(hits.empty());
  EXPECT_THAT((std::vector<std::string>{hits[0].id, hits[1].id}),
              Contains("swizzle-shared-memory"));
  for (const Hit& hit : hits) EXPECT_THAT(hit.why, Not(IsEmpty()));

  // What was tried in vain falls behind.
  const auto tired = base().for_evidence(
      conflicts, {}, {{"swizzle-shared-memory", false, 1}, {"swizzle-shared-memory", false, 1}});
  EXPECT_LT(hit_of(tired, "swizzle-shared-memory").score,
            hit_of(hits, "swizzle-shared-memory").score);
  EXPECT_THAT(hit_of(tired, "swizzle-shared-memory").why, HasSubstr("tried 2 times"));
  const auto proven = base().for_evidence(conflicts, {}, {{"swizzle-shared-memory", true, 2}});
  EXPECT_GT(hit_of(proven, "swizzle-shared-memory").score,
            hit_of(hits, "swizzle-shared-memory").score);

  // Another vendor's cards are not offered.
  EXPECT_THAT(ids(base().for_evidence(conflicts, {}, {}, 0)), Not(Contains("lds-phase-table")));
}

TEST(ForEvidence, TheRoofBoundsEveryChangeThatKeepsTheWork) {
  std::map<std::string, double> values = {
      {"shared.wavefronts", 100}, {"shared.conflicts", 90}, {"shared.pipe_pct", 90}};
  const double free_score = hit_of(base().for_evidence(subject("nvidia", "sm_80", values), {}, {}),
                                   "swizzle-shared-memory")
                                .score;
  values["roofline.utilization_pct"] = 95;
  const double bound_score =
      hit_of(base().for_evidence(subject("nvidia", "sm_80", values), {}, {}, 0),
             "swizzle-shared-memory")
          .score;
  EXPECT_LT(bound_score, 0.06);
  EXPECT_GT(free_score, 10 * bound_score);
}

TEST(ForEvidence, AbsentMetricsNeverFire) {
  EXPECT_THAT(base().for_evidence(subject("nvidia", "sm_80", {}), {}, {}), IsEmpty());
}

TEST(ForEvidence, ACpuLoopThatIsScalarWantsVectors) {
  const auto hits = base().for_evidence(subject("cpu", "x86-64-v4",
                                                {{"isa.loop.scalar_fp_share", 1},
                                                 {"isa.loop.element_bits", 32},
                                                 {"isa.loop.vector_bits", 32},
                                                 {"isa.loop.fp", 1},
                                                 {"isa.loop.loads_per_fma", 2},
                                                 {"isa.loop.accumulators", 1}}),
                                        {}, {}, 3);
  ASSERT_FALSE(hits.empty());
  EXPECT_EQ(hits[0].id, "explicit-vector-types");
  EXPECT_THAT(ids(hits), Contains("register-blocking-outputs"));
}

TEST(CardBase, FoldersOverrideAndAreLabelled) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const auto write = [&](const std::string& name, const std::string& text) {
    ASSERT_TRUE(real_file_system().write(folder->path() / name, text));
  };
  write("techniques/a-card.md", kCard);
  write(
      "techniques/swizzle-shared-memory.md",
      replace_all(replace_all(kCard, "a-card", "swizzle-shared-memory"), "A card", "Our swizzle"));
  write("README.md", "no card\n");
  const auto cards = CardBase::load({folder->path()});
  ASSERT_TRUE(cards) << cards.error().to_string();
  ASSERT_TRUE(cards->find("a-card"));
  EXPECT_EQ(cards->find("a-card")->origin, folder->path().string());
  EXPECT_EQ(cards->find("swizzle-shared-memory")->title, "Our swizzle");
  EXPECT_EQ(cards->find("pad-shared-memory")->origin, "burnish");
  EXPECT_THAT(*cards->catalogue().show("a-card", Detail::brief),
              HasSubstr("from " + folder->path().string()));

  write("techniques/broken.md", "+++\nid = 5\n+++\n");
  const auto broken = CardBase::load({folder->path()});
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().place->file, HasSubstr("broken.md"));

  EXPECT_FALSE(CardBase::load({folder->path() / "absent"}));
}

TEST(CardBase, TwoCardsOfOneIdInOneFolderAreAMistake) {
  const auto made = Catalogue::make({*read_page(kCard, "one.md"), *read_page(kCard, "two.md")});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("a-card"));
  EXPECT_THAT(made.error().hint, HasSubstr("one.md"));
}

std::vector<Complaint> complaints_of(const std::string& text) {
  auto page = read_page(text, "a-card.md");
  EXPECT_TRUE(page) << page.error().to_string();
  hardware::Sources sources;
  EXPECT_TRUE(sources.add("[sheet]\ntitle = \"S\"\ndate = \"2025\"\n", "sources.toml"));
  const auto one = CardBase::make(Catalogue::make({*page}).value(), std::move(sources));
  EXPECT_TRUE(one) << one.error().to_string();
  MetricNames metrics;
  metrics.add("spill.bytes");
  const auto complaints = lint(*one, metrics);
  EXPECT_TRUE(complaints);
  return complaints ? *complaints : std::vector<Complaint>{};
}

TEST(Lint, SaysWhatIsWrong) {
  const std::string good = replace_all(
      replace_all(kCard, "category = \"tiling\"\n",
                  "category = \"tiling\"\neffect = \"e\"\nbound = \"b\"\nrisks = [\"r\"]\n"
                  "sources = [\"sheet: page 1\"]\n"),
      "More.", "```\ncode\n```");
  const auto all = [&](const std::string& from, const std::string& to) {
    std::string out;
    for (const Complaint& complaint : complaints_of(replace_all(good, from, to))) {
      if (complaint.file == "a-card.md") out += complaint.to_string() + "\n";
    }
    return out;
  };
  EXPECT_EQ(all("x-nothing", ""), "");
  EXPECT_THAT(all("tiling", "tilings"), HasSubstr("'tilings' is no category"));
  EXPECT_THAT(all("spill.bytes > 0", "spill.byts > 0"), HasSubstr("near: 'spill.bytes'"));
  EXPECT_THAT(all("\"spill.bytes zero\"", "\"spil.bytes zero\""), HasSubstr("'spil.bytes'"));
  EXPECT_THAT(all("\"sheet: page 1\"", "\"shet\""), HasSubstr("cites 'shet'"));
  EXPECT_THAT(all("[\"sheet: page 1\"]", "[]"), HasSubstr("has no source"));
  EXPECT_THAT(all("risks = [\"r\"]", "links = [\"nowhere\"]"), HasSubstr("nowhere"));
  EXPECT_THAT(all("risks = [\"r\"]\n", ""), HasSubstr("needs `risks`"));
  EXPECT_THAT(all("```", ""), HasSubstr("code sketch"));
  EXPECT_THAT(all("First line", std::string(800, 'x')), HasSubstr("first paragraph"));
  EXPECT_THAT(all("a-card", "b-card"), HasSubstr("another name"));
}

TEST(MetricNames, PlaceholdersStandForOnePart) {
  const MetricNames names = MetricNames::of_table(
      "| name | meaning |\n|---|---|\n| `stall.<reason>_pct`, `isa.<class>` | x `no.name` |\n");
  EXPECT_TRUE(names.contains("stall.wait_pct"));
  EXPECT_FALSE(names.contains("stall.wait"));
  EXPECT_TRUE(names.contains("isa.fma"));
  EXPECT_FALSE(names.contains("isa.loop.fma"));
  EXPECT_FALSE(names.contains("no.name"));
}

TEST(Knowledge, CountsNameCategoriesAndHardware) {
  const auto text = counts(base());
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("| bank-conflicts |"));
  EXPECT_THAT(*text, HasSubstr("`h200`"));
}

// What stands between the marks of docs/knowledge.md is generated: run with BURNISH_UPDATE=1 in the
// environment to write it anew (`burnish wiki lint --counts` prints it).
TEST(Knowledge, DocumentedCountsAreCurrent) {
  const fs::path page = fs::path(BURNISH_SOURCE_DIR) / "docs/knowledge.md";
  const auto text = real_file_system().read(page);
  ASSERT_TRUE(text) << text.error().to_string();
  const std::string begin = "<!-- counts -->\n";
  const std::string end = "<!-- /counts -->";
  const std::size_t from = text->find(begin) + begin.size();
  const std::size_t to = text->find(end);
  ASSERT_NE(to, std::string::npos);
  ASSERT_LE(from, to);
  const auto expected = counts(base());
  ASSERT_TRUE(expected);
  if (std::getenv("BURNISH_UPDATE") != nullptr) {
    ASSERT_TRUE(
        real_file_system().write(page, text->substr(0, from) + *expected + text->substr(to)));
    return;
  }
  EXPECT_EQ(text->substr(from, to - from), *expected) << "run this test with BURNISH_UPDATE=1";
}

TEST(Json, HasTheShapeOfTheCommandLine) {
  const auto hits = base().catalogue().search("swizzle", {}, 1);
  ASSERT_TRUE(hits);
  const Json json = to_json(*hits);
  for (const char* key : {"id", "title", "category", "score", "scope", "why"}) {
    EXPECT_TRUE(json["results"][0].contains(key)) << key;
  }
}

}  // namespace
}  // namespace burnish::knowledge
