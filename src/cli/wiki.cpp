#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/front.h"
#include "cli/verbs.h"
#include "knowledge/lint.h"

namespace burnish::cli {
namespace {

struct WikiOptions {
  std::string id;
  std::vector<std::string> words;
  std::string metrics = "docs/metrics.md";
  std::vector<std::string> folders;
  knowledge::Scope scope;
  std::string profile;
  std::int64_t limit = 10;
  bool full = false, brief = false, counts = false;
};

Result<knowledge::CardBase> load(const WikiOptions& options) {
  return knowledge::CardBase::load({options.folders.begin(), options.folders.end()});
}

void show_hits(const Common& common, const std::vector<knowledge::Hit>& hits) {
  if (common.json) print_json(knowledge::to_json(hits));
  else print(knowledge::to_text(hits));
}

/// Cards for a profile folder, its evidence.json, or any artefacts that `evidence` reads.
Result<int> for_profile(const Common& common, const WikiOptions& options) {
  BURNISH_TRY_ASSIGN(const auto base, load(options));
  BURNISH_TRY_ASSIGN(const auto rules, evidence::Rules::load());
  BURNISH_TRY_ASSIGN(const auto found, evidence::gather({options.profile}, rules, real_process_runner()));
  std::vector<knowledge::Hit> hits;
  for (const auto& kernel : found.kernels) {
    const std::string& arch = kernel.device.arch;
    const std::string vendor = arch.starts_with("sm_") ? "nvidia" : arch.starts_with("gfx") ? "amd" : "cpu";
    auto ranked = base.for_evidence({kernel.metrics, vendor, arch}, kernel.verdicts, {},
                                    static_cast<int>(options.limit));
    if (!common.json) print(fmt::format("\n{}\n{}", kernel.name, knowledge::to_text(ranked)));
    hits.insert(hits.end(), ranked.begin(), ranked.end());
  }
  if (common.json) print_json(knowledge::to_json(hits));
  return 0;
}

}  // namespace

void add_wiki(CommandLine& line, Common& common) {
  auto options = std::make_shared<WikiOptions>();
  auto wiki = line.verb("wiki", "the knowledge base");

  auto index = wiki.verb("index", "a map of everything");
  index.options("--cards", options->folders, "further folders of cards");
  index.action([&common, options]() -> Result<int> {
    BURNISH_TRY_ASSIGN(const auto base, load(*options));
    if (!common.json) {
      print(base.index());
      return 0;
    }
    Json results = Json::array();
    for (const auto& card : base.cards())
      results.push_back({{"id", card.id}, {"title", card.title}, {"category", card.category}, {"kind", card.kind}});
    print_json({{"results", results}});
    return 0;
  });

  auto search = wiki.verb("search", "cards by text");
  search.positionals("WORD", options->words, "what to look for").required();
  search.option("--vendor", options->scope.vendor, "nvidia, amd or cpu");
  search.option("--arch", options->scope.arch, "a target, family or product");
  search.option("--language", options->scope.language, "cuda, hip, opencl or triton");
  search.option("--family", options->scope.family, "an operator family");
  search.option("--category", options->scope.category, "a category of change");
  search.option("--kind", options->scope.kind, "technique, pitfall, reference or architecture");
  search.option("--limit", options->limit, "results at most");
  search.options("--cards", options->folders, "further folders of cards");
  search.action([&common, options]() -> Result<int> {
    BURNISH_TRY_ASSIGN(const auto base, load(*options));
    std::string text;
    for (const auto& word : options->words) text += (text.empty() ? "" : " ") + word;
    BURNISH_TRY_ASSIGN(const auto hits, base.search(text, options->scope, static_cast<int>(options->limit)));
    show_hits(common, hits);
    return 0;
  });

  auto show = wiki.verb("show", "one card");
  show.positional("ID", options->id, "the card").required();
  show.flag("--brief", options->brief, "its first paragraph and its links (default)");
  show.flag("--full", options->full, "all of it");
  show.options("--cards", options->folders, "further folders of cards");
  show.action([&common, options]() -> Result<int> {
    BURNISH_TRY_ASSIGN(const auto base, load(*options));
    BURNISH_TRY_ASSIGN(const std::string text,
                       base.show(options->id, options->full ? knowledge::Detail::full : knowledge::Detail::brief));
    if (common.json) print_json({{"results", {{{"id", options->id}, {"text", text}}}}});
    else print(text);
    return 0;
  });

  auto fitting = wiki.verb("for", "cards for a profile, strongest first");
  fitting.positional("PROFILE", options->profile, "a profiler artefact, code, or profiles/v<N>/evidence.json").required();
  fitting.option("--limit", options->limit, "results at most");
  fitting.options("--cards", options->folders, "further folders of cards");
  fitting.action([&common, options] { return for_profile(common, *options); });

  auto lint = wiki.verb("lint", "hold every card to form and physics");
  lint.option("--metrics", options->metrics, "the page that lists the metric names");
  lint.flag("--counts", options->counts, "print how many cards there are instead");
  lint.options("--cards", options->folders, "further folders of cards");
  lint.action([&common, options]() -> Result<int> {
    BURNISH_TRY_ASSIGN(const auto base, load(*options));
    if (options->counts) {
      BURNISH_TRY_ASSIGN(const std::string text, knowledge::counts(base));
      print(text);
      return 0;
    }
    BURNISH_TRY_ASSIGN(const std::string table, real_file_system().read(options->metrics));
    BURNISH_TRY_ASSIGN(const auto complaints,
                       knowledge::lint(base, knowledge::MetricNames::of_table(table)));
    Json json = Json::array();
    for (const auto& complaint : complaints) {
      json.push_back({{"file", complaint.file}, {"line", complaint.line}, {"text", complaint.text}});
      if (!common.json) print(complaint.to_string() + "\n");
    }
    if (common.json) print_json({{"complaints", json}});
    return complaints.empty() ? 0 : exit_code(ErrorKind::refused);
  });
}

}  // namespace burnish::cli
