#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/text.h"
#include "base/toml.h"
#include "evidence/evidence.h"

namespace burnish::evidence {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Metric number(const std::string& name, double value, const std::string& unit = "1") {
  Metric metric;
  metric.name = name;
  metric.value = value;
  metric.unit = unit;
  metric.where.locator = "the place of " + name;
  return metric;
}
Metric word(const std::string& name, const std::string& text) {
  Metric metric = number(name, 0, "text");
  metric.text = text;
  return metric;
}

MetricSet set(std::initializer_list<std::pair<const char*, double>> values) {
  MetricSet metrics;
  for (const auto& [name, value] : values) metrics.add(number(name, value));
  return metrics;
}

std::string rule(const std::string& more = "", const std::string& id = "r") {
  return "[[rule]]\nid = \"" + id + R"("
category = "tiling"
severity = "high"
needs = ["a.b", "a.c"]
when = "a.b > 1"
headroom = "a.b * a.c"
because = "b is {a.b}"
action = "mend it"
source = "here"
)" + more;
}

Result<Rules> parse(const std::string& text) {
  return Rules::parse({{"rules/test.toml", text, "test.toml"}});
}
Rules parsed(const std::string& text) {
  auto rules = parse(text);
  if (!rules) throw std::runtime_error(rules.error().to_string());
  return std::move(*rules);
}
std::string error_of(const std::string& text) {
  const auto rules = parse(text);
  return rules ? "accepted" : rules.error().to_string();
}

TEST(Rules, AFindingCarriesItsRule) {
  const Rules rules = parsed(rule("cards = [\"x\", \"y\"]\nlocation = \"a.c\"\n"));
  const Verdicts verdicts = rules.evaluate({set({{"a.b", 2}, {"a.c", 1.5}}), "", ""});
  ASSERT_EQ(verdicts.findings.size(), 1u);
  const Finding& finding = verdicts.findings[0];
  EXPECT_EQ(finding.id, "r");
  EXPECT_EQ(finding.category, "tiling");
  EXPECT_EQ(finding.severity, "high");
  EXPECT_EQ(finding.headroom, 3);
  EXPECT_THAT(finding.evidence, ElementsAre("a.b", "a.c"));
  EXPECT_EQ(finding.because, "b is 2");
  EXPECT_THAT(finding.cards, ElementsAre("x", "y"));
  EXPECT_EQ(finding.location, "the place of a.c");
  EXPECT_EQ(finding.source, "here");
  EXPECT_THAT(verdicts.missing, IsEmpty());
  EXPECT_THAT(rules.evaluate({set({{"a.b", 1}, {"a.c", 1}}), "", ""}).findings, IsEmpty());
}

TEST(Rules, AbsentMetricsAreMissingNotFine) {
  const Rules rules = parsed(rule() + rule("collect = \"do this\"\n", "s"));
  const Verdicts verdicts = rules.evaluate({set({{"a.b", 2}}), "", ""});
  EXPECT_THAT(verdicts.findings, IsEmpty());
  ASSERT_EQ(verdicts.missing.size(), 2u);
  EXPECT_EQ(verdicts.missing[0].rule, "r");
  EXPECT_THAT(verdicts.missing[0].metrics, ElementsAre("a.c"));
  EXPECT_FALSE(verdicts.missing[0].collect.empty());
  EXPECT_EQ(verdicts.missing[1].collect, "do this");
}

TEST(Rules, HowToCollectIsToldFromTheNames) {
  const auto way = [](const char* name, const char* vendor) {
    const Rules rules = parsed(
        "[[rule]]\nid=\"r\"\ncategory=\"tiling\"\nseverity=\"low\"\nneeds=[\"" + std::string(name) +
        "\"]\nwhen=\"1\"\nheadroom=\"1\"\nbecause=\"x\"\naction=\"y\"\nsource=\"z\"\n");
    return rules.evaluate({{}, vendor, ""}).missing.at(0).collect;
  };
  EXPECT_THAT(way("isa.fma", "nvidia"), HasSubstr("code object"));
  EXPECT_THAT(way("dram.throughput_pct", "nvidia"), HasSubstr("ncu"));
  EXPECT_THAT(way("dram.throughput_pct", "amd"), HasSubstr("rocprof"));
  EXPECT_THAT(way("roofline.intensity", "cpu"), HasSubstr("workspace"));
}

TEST(Rules, TheBoundIsAtLeastOneAndFinite) {
  const Rules rules = parsed(rule());
  EXPECT_EQ(rules.evaluate({set({{"a.b", 2}, {"a.c", 0.1}}), "", ""}).findings.at(0).headroom, 1);
  const Rules divides = parsed(replace_all(rule(), "a.b * a.c", "a.b / a.c"));
  const Verdicts unbound = divides.evaluate({set({{"a.b", 2}, {"a.c", 0}}), "", ""});
  EXPECT_THAT(unbound.findings, IsEmpty());
  ASSERT_EQ(unbound.missing.size(), 1u);
  EXPECT_THAT(unbound.missing[0].collect, HasSubstr("no value"));
  // With a roofline there is always a bound.
  const Verdicts capped =
      divides.evaluate({set({{"a.b", 2}, {"a.c", 0}, {"roofline.utilization_pct", 25}}), "", ""});
  EXPECT_EQ(capped.findings.at(0).headroom, 4);
}

TEST(Rules, NoBoundExceedsTheRooflineGap) {
  const Rules rules = parsed(rule());
  const auto bound = [&](double utilization) {
    return rules
        .evaluate(
            {set({{"a.b", 10}, {"a.c", 10}, {"roofline.utilization_pct", utilization}}), "", ""})
        .findings.at(0)
        .headroom;
  };
  EXPECT_EQ(bound(50), 2);
  EXPECT_EQ(bound(0.5), 100);
  EXPECT_EQ(bound(120), 1) << "over the roof is an alarm, not a bound below 1";
  EXPECT_EQ(bound(0), 100) << "a utilisation of 0 says nothing";
}

TEST(Rules, TheArithmeticOfTheBoundIsShown) {
  const auto of = [](const std::string& headroom, MetricSet metrics) {
    const Rules rules = parsed(replace_all(rule(), "a.b * a.c", headroom));
    return rules.evaluate({std::move(metrics), "", ""}).findings.at(0).arithmetic;
  };
  EXPECT_EQ(of("a.b * a.c", set({{"a.b", 2}, {"a.c", 1.5}})), "a.b * a.c = 2 * 1.5 = 3");
  EXPECT_EQ(of("100 / a.c", set({{"a.b", 2}, {"a.c", 17.48203}})),
            "100 / a.c = 100 / 17.48 = 5.72");
  EXPECT_EQ(of("3", set({{"a.b", 2}, {"a.c", 1}})), "the rule's own bound is 3");
  EXPECT_EQ(
      of("a.b * a.c", set({{"a.b", 2}, {"a.c", 4}, {"roofline.utilization_pct", 50}})),
      "a.b * a.c = 2 * 4 = 8; the roofline leaves 100 / roofline.utilization_pct = 100 / 50 = 2");
}

TEST(Rules, RankedByBoundAndUnderTheCapByTheirOwn) {
  const Rules rules = parsed(replace_all(rule("", "small"), "a.b * a.c", "2") +
                             replace_all(rule("", "large"), "a.b * a.c", "50") +
                             replace_all(rule("", "middle"), "a.b * a.c", "20"));
  const auto order = [&](MetricSet metrics) {
    std::vector<std::string> ids;
    for (const auto& finding : rules.evaluate({std::move(metrics), "", ""}).findings) {
      ids.push_back(finding.id);
    }
    return ids;
  };
  EXPECT_THAT(order(set({{"a.b", 2}, {"a.c", 1}})), ElementsAre("large", "middle", "small"));
  EXPECT_THAT(order(set({{"a.b", 2}, {"a.c", 1}, {"roofline.utilization_pct", 10}})),
              ElementsAre("large", "middle", "small"));
}

TEST(Rules, ACeilingComesFirstAndMarksItsSymptoms) {
  const Rules rules = parsed(
      replace_all(rule("", "symptom"), "a.b * a.c", "9") +
      replace_all(rule("", "other"), "a.b * a.c", "3") +
      replace_all(rule("ceiling = true\nexplains = [\"symptom\"]\n", "top"), "a.b * a.c", "1.1"));
  const auto findings = rules.evaluate({set({{"a.b", 2}, {"a.c", 1}}), "", ""}).findings;
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].id, "top");
  EXPECT_EQ(findings[1].id, "other");
  EXPECT_EQ(findings[1].explained_by, "");
  EXPECT_EQ(findings[2].id, "symptom");
  EXPECT_EQ(findings[2].explained_by, "top");
}

TEST(Rules, ASymptomCanNameItsCause) {
  const Rules rules =
      parsed(replace_all(rule("explained_by = [\"cause\"]\n", "symptom"), "a.b * a.c", "9") +
             replace_all(rule("", "cause"), "a.b * a.c", "a.c"));
  const auto both = rules.evaluate({set({{"a.b", 2}, {"a.c", 3}}), "", ""}).findings;
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].id, "cause");
  EXPECT_EQ(both[1].explained_by, "cause");
}

TEST(Rules, ApplyByVendorAndArchitecture) {
  const Rules rules = parsed(rule("applies = [\"nvidia\", \"gfx9\"]\n"));
  const auto fires = [&](const char* vendor, const char* arch) {
    return !rules.evaluate({set({{"a.b", 2}, {"a.c", 1}}), vendor, arch}).findings.empty();
  };
  EXPECT_TRUE(fires("nvidia", "sm_90"));
  EXPECT_TRUE(fires("amd", "gfx942"));
  EXPECT_FALSE(fires("amd", "gfx1100"));
  EXPECT_FALSE(fires("cpu", "x86-64"));
  EXPECT_FALSE(fires("", ""));
  EXPECT_THAT(rules.evaluate({{}, "cpu", "x86-64"}).missing, IsEmpty())
      << "what does not apply is not missing";
}

TEST(Rules, DefaultsStandInAndWordsAreAskedFor) {
  const Rules rules =
      parsed(replace_all(rule("defaults = { \"device.x\" = 8 }\n"), "a.b * a.c", "device.x * a.b") +
             R"([[rule]]
id = "limiter"
category = "occupancy"
severity = "low"
needs = ["occupancy.limiter"]
when = "occupancy.limiter.registers"
headroom = "2"
because = "limited by {occupancy.limiter}, {device.y} known"
action = "a"
source = "s"
)");
  MetricSet metrics = set({{"a.b", 2}, {"a.c", 1}});
  metrics.add(word("occupancy.limiter", "registers"));
  auto findings = rules.evaluate({metrics, "", ""}).findings;
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].headroom, 16);
  EXPECT_THAT(findings[0].evidence, ElementsAre("a.b", "a.c"));
  EXPECT_EQ(findings[1].because, "limited by registers, unknown known");
  metrics.add(number("device.x", 4));
  findings = rules.evaluate({metrics, "", ""}).findings;
  EXPECT_EQ(findings[0].headroom, 8);
  EXPECT_THAT(findings[0].evidence, ElementsAre("a.b", "a.c", "device.x"));
  MetricSet shared = set({{"a.b", 0}, {"a.c", 1}});
  shared.add(word("occupancy.limiter", "shared"));
  EXPECT_THAT(rules.evaluate({shared, "", ""}).findings, IsEmpty());
}

TEST(Rules, MistakesAreErrorsAtTheirPlace) {
  EXPECT_EQ(error_of(rule()), "accepted");
  EXPECT_THAT(error_of(replace_all(rule(), "tiling", "tilling")),
              testing::AllOf(HasSubstr("test.toml:3:12"), HasSubstr("tiling")));
  EXPECT_THAT(error_of(replace_all(rule(), "\"a.c\"]", "\"a c\"]")),
              testing::AllOf(HasSubstr("test.toml:5:17"), HasSubstr("\"a c\"")));
  EXPECT_THAT(error_of(replace_all(rule(), "a.b > 1", "a.b >")), HasSubstr("test.toml:6:8"));
  EXPECT_THAT(error_of(replace_all(rule(), "a.b > 1", "a.bb > 1")),
              testing::AllOf(HasSubstr("test.toml:6:8"), HasSubstr("a.bb"), HasSubstr("a.b")));
  EXPECT_THAT(error_of(replace_all(rule(), "{a.b}", "{a.b:q}")),
              testing::AllOf(HasSubstr("test.toml:8:11"), HasSubstr("unknown format")));
  EXPECT_THAT(error_of(replace_all(rule(), "{a.b}", "{a.b")), HasSubstr("test.toml:8:11"));
  EXPECT_THAT(error_of(replace_all(rule(), "high", "urgent")), HasSubstr("test.toml:4:12"));
  EXPECT_THAT(error_of(replace_all(rule(), "needs = [\"a.b\", \"a.c\"]", "needs = []")),
              HasSubstr("test.toml:5"));
  EXPECT_THAT(error_of(rule("headrooom = 1\n")), HasSubstr("test.toml:11:1"));
  EXPECT_THAT(error_of(rule("applies = [\"intel\"]\n")), HasSubstr("test.toml:11:12"));
  EXPECT_THAT(error_of(rule("explains = [\"rr\"]\n")),
              testing::AllOf(HasSubstr("test.toml:11:12"), HasSubstr("no rule \"rr\"")));
  EXPECT_THAT(error_of(rule() + rule()),
              testing::AllOf(HasSubstr("test.toml:12:6"), HasSubstr("test.toml:2:6")));
  EXPECT_THAT(error_of(replace_all(rule(), "action = \"mend it\"\n", "")), HasSubstr("action"));
  EXPECT_THAT(error_of("[[rule]\n"), HasSubstr("test.toml:1"));
  EXPECT_THAT(error_of("[[rules]]\n"), HasSubstr("test.toml:1"));
  EXPECT_EQ(error_of(""), "accepted");
}

TEST(Rules, TellsTheNumberThatItWentBy) {
  const Rules rules = Rules::load().value();
  const auto told = [&](std::initializer_list<std::pair<const char*, double>> code) {
    MetricSet metrics = set(code);
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, double>>{{"isa.global_load_mean_bits", 40},
                                                               {"pipe.lsu_pct", 30},
                                                               {"dram.throughput_pct", 20},
                                                               {"l2.throughput_pct", 20},
                                                               {"pipe.fma_pct", 10},
                                                               {"pipe.tensor_pct", 0}})
      metrics.add(number(name, value));
    for (const auto& finding : rules.evaluate({metrics, "nvidia", "sm_90"}).findings)
      if (finding.id == "narrow-global-loads") return finding.because;
    return std::string("none");
  };
  EXPECT_THAT(told({{"isa.loop.instructions", 50}, {"isa.loop.global_load_mean_bits", 32}}),
              HasSubstr("fetch 32 bits"));
  EXPECT_THAT(told({}), HasSubstr("fetch 40 bits")) << "there is no loop";
  EXPECT_EQ(told({{"isa.loop.instructions", 50}}), "none") << "the loop loads nothing";
}

TEST(Fill, Plurals) {
  EXPECT_EQ(*fill("{a.b:n} load{a.b:s} and {a.c:n} store{a.c:s}", set({{"a.b", 1}, {"a.c", 2}})),
            "1 load and 2 stores");
}

TEST(Fill, Formats) {
  MetricSet metrics = set({{"n", 1234567.4}, {"r", 0.1234}, {"big", 1e300}, {"nan", std::nan("")}});
  metrics.add(number("t", 1.23e-4, "s"));
  metrics.add(word("w", "registers"));
  const auto filled = [&](const std::string& text) {
    const auto done = fill(text, metrics);
    return done ? *done : "error: " + done.error().message;
  };
  EXPECT_EQ(filled("{n:n} of {n:.1f}"), "1,234,567 of 1234567.4");
  EXPECT_EQ(filled("{r:%} {r} {t:p} {w} {gone}"), "12.3 % 0.123 123 µs registers unknown");
  EXPECT_EQ(filled("{gone|r|n:%} {gone|lost}"), "12.3 % unknown");
  EXPECT_THAT(filled("{r|}"), HasSubstr("does not name"));
  EXPECT_EQ(filled("{{{r:.2f}}}"), "{0.12}");
  EXPECT_EQ(filled("no braces"), "no braces");
  EXPECT_THAT(filled("{nan:n} {big:n}"), HasSubstr("nan"));
  EXPECT_THAT(filled("{r:x}"), HasSubstr("unknown format \"x\""));
  EXPECT_THAT(filled("{r"), HasSubstr("without"));
  EXPECT_THAT(filled("r}"), HasSubstr("without"));
  EXPECT_THAT(filled("{}"), HasSubstr("does not name"));
  EXPECT_THAT(filled("{a b}"), HasSubstr("does not name"));
  EXPECT_THAT(filled("{r:.10f}"), HasSubstr("unknown format"));
}

// ---- the rules that burnish ships

Rules shipped() {
  auto rules = Rules::load();
  if (!rules) throw std::runtime_error(rules.error().to_string());
  return std::move(*rules);
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The names of docs/metrics.md: in each row the first column's code words, where a `<placeholder>`
/// stands for any code word of the second column, here or in the row that gives them.
class Documented {
 public:
  Documented() {
    const std::string text = read_text(BURNISH_SOURCE_DIR "/docs/metrics.md");
    for (const auto line : split_lines(text)) {
      const auto cells = split(line, '|');
      if (cells.size() < 4) continue;
      auto values = words(cells[2]);
      std::erase_if(values, [](const std::string& word) { return contains(word, "<"); });
      for (const std::string& name : words(cells[1])) {
        names_.push_back(name);
        for (std::size_t at = name.find('<'); at != std::string::npos;
             at = name.find('<', at + 1)) {
          auto& known = values_[name.substr(at, name.find('>', at) - at + 1)];
          known.insert(known.end(), values.begin(), values.end());
        }
      }
    }
  }
  bool has(const std::string& metric) const {
    return std::any_of(names_.begin(), names_.end(),
                       [&](const std::string& name) { return matches(name, metric); });
  }

 private:
  static std::vector<std::string> words(std::string_view cell) {
    std::vector<std::string> found;
    const auto parts = split(cell, '`');
    for (std::size_t i = 1; i < parts.size(); i += 2) found.emplace_back(parts[i]);
    return found;
  }
  bool matches(const std::string& name, const std::string& metric) const {
    const std::size_t open = name.find('<');
    if (open == std::string::npos) return name == metric;
    const std::size_t close = name.find('>', open);
    const auto& values = values_.at(name.substr(open, close - open + 1));
    return std::any_of(values.begin(), values.end(), [&](const std::string& value) {
      return matches(name.substr(0, open) + value + name.substr(close + 1), metric);
    });
  }
  std::vector<std::string> names_;
  std::map<std::string, std::vector<std::string>> values_;
};

TEST(ShippedRules, EveryMetricIsDocumented) {
  const Documented documented;
  EXPECT_TRUE(documented.has("time.device"));
  EXPECT_TRUE(documented.has("isa.loop.packed_fma"));
  EXPECT_TRUE(documented.has("stall.long_scoreboard_pct"));
  EXPECT_FALSE(documented.has("stall.nonsense_pct"));
  EXPECT_FALSE(documented.has("isa.loop.nonsense"));
  for (const std::string& metric : shipped().metrics()) {
    EXPECT_TRUE(documented.has(metric)) << metric << " is not in docs/metrics.md";
  }
}

TEST(ShippedRules, EveryNameThatReadersGiveIsDocumented) {
  const Documented documented;
  const auto files = data_files("metrics/");
  ASSERT_TRUE(files);
  for (const auto& file : *files) {
    auto document = TomlFields::parse(file.content, file.origin);
    ASSERT_TRUE(document) << document.error().to_string();
    if (!document->has("metric")) continue;
    for (auto& one : document->tables("metric")) {
      const std::string name = one.string("name");
      EXPECT_TRUE(documented.has(name)) << name << " of " << file.name;
    }
  }
}

TEST(ShippedRules, EveryCardExists) {
  const auto cards = data_files("knowledge/");
  const auto files = data_files("rules/");
  ASSERT_TRUE(cards && files);
  std::set<std::string> known;
  for (const auto& card : *cards) known.insert(fs::path(card.name).stem().string());
  for (const auto& file : *files) {
    auto document = TomlFields::parse(file.content, file.origin);
    ASSERT_TRUE(document);
    for (auto& one : document->tables("rule")) {
      for (const std::string& card : one.strings("cards")) {
        EXPECT_TRUE(known.count(card))
            << file.name << ": " << one.string("id") << " names " << card;
      }
    }
  }
}

MetricSet step(double gflops, std::initializer_list<std::pair<const char*, double>> code) {
  // A product of two 1024 × 1024 matrices on two cores that reach 300 GFLOP/s.
  MetricSet metrics = set(code);
  const double seconds = 2.0 * 1024 * 1024 * 1024 / (gflops * 1e9);
  metrics.add(number("time.device", seconds, "s"));
  metrics.add(number("device.compute_units", 2));
  metrics.add(number("roofline.utilization_pct", 100 * gflops / 300, "%"));
  metrics.add(number("roofline.compute_utilization_pct", 100 * gflops / 300, "%"));
  metrics.add(number("roofline.bandwidth_utilization_pct", 1, "%"));
  metrics.add(word("roofline.bound", "compute"));
  return metrics;
}

/// What the reader says of the hot loops that PoCL 3.1 makes for AVX-512, and of the rest 0.
MetricSet with_zeros(MetricSet metrics) {
  for (const char* name :
       {"isa.loop.gathers", "isa.loop.scatters", "isa.loop.spills", "isa.loop.calls",
        "isa.loop.divides", "isa.loop.integer_divides", "isa.loop.fusable", "isa.loop.convert",
        "isa.loop.element_accesses", "isa.loop.strided_loads", "isa.loop.strided_stores",
        "isa.loop.accumulators_in_memory", "isa.loop.private_accesses"}) {
    if (!metrics.find(name)) metrics.add(number(name, 0));
  }
  for (const char* name : {"isa.loop.load_line_use", "isa.loop.store_line_use"}) {
    if (!metrics.find(name)) metrics.add(number(name, 1));
  }
  metrics.add(number("isa.target_vector_bits", 512));
  metrics.add(number("isa.instructions", 100));
  metrics.add(number("isa.vmem_store", 10));
  metrics.add(number("isa.atomic", 0));
  for (const char* name : {"workloads.best_utilization_pct", "workloads.worst_utilization_pct"}) {
    metrics.add(number(name, metrics.value("roofline.utilization_pct").value_or(50), "%"));
  }
  return metrics;
}

Verdicts judged(MetricSet metrics) {
  return shipped().evaluate({with_zeros(std::move(metrics)), "cpu", "x86-64 avx512"});
}

void expect_sound(const Verdicts& verdicts, double gap) {
  for (const Finding& finding : verdicts.findings) {
    EXPECT_GE(finding.headroom, 1) << finding.id;
    EXPECT_LE(finding.headroom, gap * (1 + 1e-9)) << finding.id;
  }
  EXPECT_THAT(verdicts.missing, IsEmpty())
      << verdicts.missing.front().rule << " needs " << join(verdicts.missing.front().metrics, ", ");
}

TEST(CpuRules, OneOutputAWorkItemAsksForVectors) {
  const Verdicts verdicts = judged(step(1.3, {{"isa.loop.instructions", 6},
                                              {"isa.loop.fp", 1},
                                              {"isa.loop.scalar_fp_share", 1},
                                              {"isa.loop.vector_bits", 32},
                                              {"isa.loop.element_bits", 32},
                                              {"isa.loop.instructions_per_fp", 6},
                                              {"isa.loop.accumulators", 1},
                                              {"isa.loop.loads_per_fma", 2},
                                              {"isa.loop.overhead_share", 0.667},
                                              {"isa.loop.strided_loads", 1},
                                              {"isa.loop.load_line_use", 1.0 / 16},
                                              {"launch.grid_blocks", 4096},
                                              {"launch.block_threads", 256}}));
  expect_sound(verdicts, 300 / 1.3);
  EXPECT_EQ(verdicts.findings.at(0).category, "vectorized-access");
  EXPECT_GE(verdicts.findings[0].headroom, 23 / 1.3) << "the bound holds what was gained";
  bool coalescing = false;
  for (const auto& finding : verdicts.findings) coalescing |= finding.category == "coalescing";
  EXPECT_TRUE(coalescing);
}

TEST(CpuRules, VectorsAskForRegisterBlocking) {
  const Verdicts verdicts = judged(step(23, {{"isa.loop.instructions", 6},
                                             {"isa.loop.fp", 1},
                                             {"isa.loop.scalar_fp_share", 0},
                                             {"isa.loop.vector_bits", 512},
                                             {"isa.loop.element_bits", 32},
                                             {"isa.loop.instructions_per_fp", 6},
                                             {"isa.loop.accumulators", 1},
                                             {"isa.loop.loads_per_fma", 2},
                                             {"isa.loop.overhead_share", 0.667},
                                             {"launch.grid_blocks", 4096},
                                             {"launch.block_threads", 16}}));
  expect_sound(verdicts, 300 / 23.0);
  EXPECT_EQ(verdicts.findings.at(0).category, "register-blocking");
  EXPECT_GE(verdicts.findings[0].headroom, 159 / 23.0);
}

TEST(CpuRules, RowsAskForUnrollingOrAnotherPartition) {
  const auto launch = {std::pair("launch.grid_blocks", 512.0),
                       std::pair("launch.block_threads", 16.0)};
  const MetricSet in_registers = step(159, {{"isa.loop.instructions", 21},
                                            {"isa.loop.fp", 8},
                                            {"isa.loop.scalar_fp_share", 0},
                                            {"isa.loop.vector_bits", 512},
                                            {"isa.loop.element_bits", 32},
                                            {"isa.loop.instructions_per_fp", 2.6},
                                            {"isa.loop.accumulators", 8},
                                            {"isa.loop.loads_per_fma", 1.125},
                                            {"isa.loop.overhead_share", 0.57}});
  const MetricSet in_memory = step(159, {{"isa.loop.instructions", 7},
                                         {"isa.loop.fp", 1},
                                         {"isa.loop.scalar_fp_share", 0},
                                         {"isa.loop.vector_bits", 512},
                                         {"isa.loop.element_bits", 32},
                                         {"isa.loop.instructions_per_fp", 7},
                                         {"isa.loop.accumulators", 0},
                                         {"isa.loop.loads_per_fma", 2},
                                         {"isa.loop.overhead_share", 0.57},
                                         {"isa.loop.accumulators_in_memory", 1},
                                         {"isa.loop.private_accesses", 2}});
  for (MetricSet metrics : {in_registers, in_memory}) {
    for (const auto& [name, value] : launch) metrics.add(number(name, value));
    const Verdicts verdicts = judged(metrics);
    expect_sound(verdicts, 300 / 159.0);
    EXPECT_THAT(verdicts.findings.at(0).category, testing::AnyOf("unrolling", "work-partition"));
    EXPECT_GE(verdicts.findings[0].headroom, 237 / 159.0);
    bool partition = false;
    for (const auto& finding : verdicts.findings) partition |= finding.category == "work-partition";
    EXPECT_TRUE(partition) << "a tuner needs a reason to try other work-group shapes";
  }
}

TEST(CpuRules, AtTheCeilingEverythingElseIsASymptom) {
  const Verdicts verdicts = judged(step(285, {{"isa.loop.instructions", 21},
                                              {"isa.loop.fp", 8},
                                              {"isa.loop.scalar_fp_share", 0},
                                              {"isa.loop.vector_bits", 512},
                                              {"isa.loop.element_bits", 32},
                                              {"isa.loop.instructions_per_fp", 2.6},
                                              {"isa.loop.accumulators", 4},
                                              {"isa.loop.loads_per_fma", 1.25},
                                              {"isa.loop.overhead_share", 0.57},
                                              {"launch.grid_blocks", 1024},
                                              {"launch.block_threads", 8}}));
  expect_sound(verdicts, 300 / 285.0);
  ASSERT_GE(verdicts.findings.size(), 2u);
  EXPECT_EQ(verdicts.findings[0].id, "at-ceiling");
  for (std::size_t i = 1; i < verdicts.findings.size(); ++i) {
    EXPECT_EQ(verdicts.findings[i].explained_by, "at-ceiling") << verdicts.findings[i].id;
  }
}

/// One rule on the metrics that it is about.
struct Case {
  const char* rule;
  std::vector<std::pair<const char*, double>> metrics;
  double least_bound;  ///< what such a mend can really give
  double most_bound;   ///< what it surely cannot
};
class OneCpuRule : public testing::TestWithParam<Case> {};

TEST_P(OneCpuRule, Fires) {
  MetricSet metrics;
  for (const auto& [name, value] : GetParam().metrics) metrics.add(number(name, value));
  const auto findings = shipped().evaluate({metrics, "cpu", "x86-64 avx512"}).findings;
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& one) { return one.id == GetParam().rule; });
  ASSERT_NE(found, findings.end());
  EXPECT_GE(found->headroom, GetParam().least_bound);
  EXPECT_LE(found->headroom, GetParam().most_bound);
  EXPECT_THAT(found->because, testing::Not(HasSubstr("unknown")));
}

TEST(NvidiaRules, SeveralOutputsAThreadAreProposedWhereLoadsFeedFewMultiplyAdds) {
  MetricSet metrics;
  for (const auto& [name, value] : std::map<std::string, double>{{"isa.loop.fma", 8},
                                                                 {"isa.loop.vmem_load", 0},
                                                                 {"isa.loop.lds_load", 16},
                                                                 {"pipe.fma_pct", 20},
                                                                 {"dram.throughput_pct", 5}}) {
    metrics.add(number(name, value));
  }
  const auto findings = shipped().evaluate({metrics, "nvidia", "sm_90"}).findings;
  const auto found = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.id == "loads-per-fma";
  });
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->category, "register-blocking");
  EXPECT_EQ(found->headroom, 5);
}

TEST(NvidiaRules, NarrowLoadsAreSeenInCodeWithoutALoopToo) {
  const auto narrow = [](std::map<std::string, double> code) {
    code.insert({{"pipe.lsu_pct", 20},
                 {"dram.throughput_pct", 48},
                 {"l2.throughput_pct", 78},
                 {"pipe.fma_pct", 5},
                 {"pipe.tensor_pct", 0}});
    MetricSet metrics;
    for (const auto& [name, value] : code) metrics.add(number(name, value));
    const auto findings = shipped().evaluate({metrics, "nvidia", "sm_90"}).findings;
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& one) { return one.id == "narrow-global-loads"; });
  };
  EXPECT_TRUE(narrow({{"isa.global_load_mean_bits", 32}}));
  EXPECT_FALSE(narrow({{"isa.global_load_mean_bits", 128}}));
  // What is loaded once before a loop says nothing about the loop.
  EXPECT_FALSE(narrow({{"isa.global_load_mean_bits", 32},
                       {"isa.loop.instructions", 40},
                       {"isa.loop.global_load_mean_bits", 128}}));
}

TEST(CpuRules, WiderVectorsMayReachScalarArithmeticOutsideTheHotLoop) {
  MetricSet metrics;
  for (const auto& [name, value] : std::map<std::string, double>{{"isa.loop.vector_bits", 256},
                                                                 {"isa.loop.scalar_fp_share", 0},
                                                                 {"isa.target_vector_bits", 512},
                                                                 {"isa.loop.element_bits", 32},
                                                                 {"isa.loop.scalar_fp", 0}}) {
    metrics.add(number(name, value));
  }
  const auto bound = [&] {
    for (const Finding& finding : shipped().evaluate({metrics, "cpu", "x86-64 avx512"}).findings) {
      if (finding.id == "cpu-narrow-vectors") return finding.headroom;
    }
    return 0.0;
  };
  EXPECT_EQ(bound(), 2);
  metrics.add(number("isa.scalar_fp", 10));
  EXPECT_EQ(bound(), 16);
}

INSTANTIATE_TEST_SUITE_P(
    All, OneCpuRule,
    testing::Values(
        Case{"cpu-narrow-vectors",
             {{"isa.loop.vector_bits", 128},
              {"isa.loop.scalar_fp_share", 0},
              {"isa.target_vector_bits", 256}},
             2,
             4},
        Case{"cpu-small-group-scalar",
             {{"isa.loop.scalar_fp_share", 1},
              {"isa.loop.element_bits", 64},
              {"launch.block_threads", 16}},
             4,
             8},
        Case{"cpu-strided-stores",
             {{"isa.loop.strided_stores", 1}, {"isa.loop.store_line_use", 0.125}},
             8,
             8},
        Case{"cpu-partial-line-stores",
             {{"isa.loop.strided_stores", 1}, {"isa.loop.store_line_use", 0.5}},
             2,
             2},
        Case{"cpu-gathers", {{"isa.loop.gathers", 2}, {"isa.loop.scatters", 0}}, 2, 16},
        Case{"cpu-element-moves",
             {{"isa.loop.element_accesses", 4}, {"isa.loop.instructions", 20}},
             2,
             16},
        Case{"cpu-private-array",
             {{"isa.loop.private_accesses", 4},
              {"isa.loop.accumulators_in_memory", 0},
              {"isa.loop.instructions", 20}},
             1.25,
             2.25},
        Case{"cpu-spills", {{"isa.loop.spills", 8}, {"isa.loop.instructions", 20}}, 1.6, 2.25},
        Case{"cpu-calls", {{"isa.loop.calls", 1}}, 4, 16},
        Case{"cpu-divides", {{"isa.loop.divides", 1}, {"isa.loop.instructions", 8}}, 2, 32},
        Case{"cpu-integer-divides",
             {{"isa.loop.integer_divides", 1}, {"isa.loop.instructions", 10}},
             5,
             90},
        Case{"cpu-unfused", {{"isa.loop.fusable", 4}, {"isa.loop.fp", 8}}, 2, 2},
        Case{"cpu-converts", {{"isa.loop.convert", 2}, {"isa.loop.instructions", 10}}, 1.25, 7},
        Case{"cpu-group-overhead",
             {{"time.device", 8e-3},
              {"launch.grid_blocks", 1e6},
              {"launch.block_threads", 1},
              {"device.compute_units", 2}},
             2,
             10.1},
        Case{"cpu-uneven-groups",
             {{"launch.grid_blocks", 3}, {"device.compute_units", 2}},
             1.33,
             1.34},
        Case{"launch-too-small", {{"launch.grid_blocks", 1}, {"device.compute_units", 2}}, 2, 2},
        Case{"writes-nothing",
             {{"isa.instructions", 5}, {"isa.vmem_store", 0}, {"isa.atomic", 0}},
             1,
             1},
        Case{"below-both-ceilings",
             {{"roofline.utilization_pct", 20},
              {"roofline.compute_utilization_pct", 20},
              {"roofline.bandwidth_utilization_pct", 3}},
             5,
             5}),
    [](const auto& one) { return replace_all(one.param.rule, "-", "_"); });

TEST(CommonRules, TailAndShortLaunchesOnGpus) {
  const auto ids = [](MetricSet metrics) {
    std::vector<std::string> found;
    for (const auto& finding :
         shipped().evaluate({std::move(metrics), "nvidia", "sm_90"}).findings) {
      found.push_back(finding.id);
    }
    return found;
  };
  EXPECT_THAT(ids(set({{"launch.waves", 1.05}})), testing::Contains("tail-wave"));
  EXPECT_THAT(ids(set({{"launch.waves", 12.9}})), testing::Not(testing::Contains("tail-wave")));
  EXPECT_THAT(ids(set({{"time.device", 4e-6}})), testing::Contains("short-kernel"));
  EXPECT_THAT(ids(set({{"dram.throughput_pct", 92}})), testing::Contains("at-ceiling-dram"));
}

}  // namespace
}  // namespace burnish::evidence
