#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"
#include "knowledge/catalogue.h"
#include "knowledge/lint.h"
#include "knowledge/reference_folders.h"
#include "loop/outcomes.h"
#include "loop/situation.h"

namespace burnish::cli {
namespace {

struct WikiOptions {
  std::string id;
  std::vector<std::string> words;
  std::vector<std::string> references;
  std::string layer = "L1", finding;
  knowledge::Scope scope;
  std::string profile;
  std::int64_t limit = 10;
  bool full = false, brief = false, counts = false;
};

void show_hits(const Common& common, const std::vector<knowledge::Hit>& hits) {
  if (common.json)
    print_json(knowledge::to_json(hits));
  else
    print(knowledge::to_text(hits));
}

/// The workspace that the verb stands in, whose cards, records and folders then count; absent
/// elsewhere.
Result<std::optional<workspace::Workspace>> here(const Common& common) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::path(common.folder) / "burnish.toml", ignored))
    return std::optional<workspace::Workspace>();
  BURNISH_TRY_ASSIGN(auto workspace, open_to_read(common.folder));
  return std::optional(std::move(workspace));
}

Result<knowledge::Catalogue> catalogue(const Common& common,
                                       const std::optional<workspace::Workspace>& workspace) {
  return knowledge::Catalogue::load(card_folders(common, workspace ? &*workspace : nullptr));
}

Result<knowledge::CardBase> all_cards(const Common& common,
                                      const std::optional<workspace::Workspace>& workspace) {
  return knowledge::CardBase::load(card_folders(common, workspace ? &*workspace : nullptr));
}

Result<std::vector<knowledge::Hit>> search_layers(const Common& common,
                                                  const WikiOptions& options) {
  const std::vector<std::string> layers = {"L1", "L2", "all"};
  if (options.layer == "L3")
    return bad_input("burnish does not search the web")
        .with_hint("an agent may; its plan cites `web:ADDRESS` beside a card or a reference file");
  if (std::find(layers.begin(), layers.end(), options.layer) == layers.end())
    return bad_input("there is no layer \"" + options.layer + "\"")
        .with_hint("L1: cards; L2: reference folders; all: one after the other");
  if (!options.finding.empty()) {
    if (!options.words.empty() || options.layer != "L1")
      return bad_input("--finding takes no words and looks at cards alone")
          .with_hint("search by text or by finding");
    BURNISH_TRY_ASSIGN(const auto workspace, here(common));
    BURNISH_TRY_ASSIGN(const auto base, all_cards(common, workspace));
    BURNISH_TRY_ASSIGN(const auto rules, evidence::Rules::load());
    BURNISH_TRY_ASSIGN(const auto finding, rules.finding(options.finding));
    return base.search(finding, options.scope, static_cast<int>(options.limit));
  }
  if (options.words.empty())
    return bad_input("there is nothing to search for")
        .with_hint("give words, or a finding with --finding");
  const std::string text = join(options.words, " ");
  const int limit = static_cast<int>(options.limit);
  BURNISH_TRY_ASSIGN(const auto workspace, here(common));
  std::vector<knowledge::Hit> hits;
  if (options.layer != "L2") {
    BURNISH_TRY_ASSIGN(const auto cards, catalogue(common, workspace));
    BURNISH_TRY_ASSIGN(hits, cards.search(text, options.scope, limit));
  }
  if (options.layer == "L1") return hits;
  std::vector<fs::path> folders(options.references.begin(), options.references.end());
  if (workspace)
    for (const auto& folder : workspace->task().reference_projects)
      folders.push_back(workspace->folder() / folder);
  if (folders.empty() && options.layer == "L2")
    return bad_input("there are no reference folders to search")
        .with_hint("name one with --reference, or list them in reference_projects of burnish.toml");
  BURNISH_TRY_ASSIGN(const auto references, knowledge::ReferenceFolders::open(folders));
  for (const auto& note : references.left_out()) say(common, note);
  BURNISH_TRY_ASSIGN(auto files, references.search(text, limit));
  hits.insert(hits.end(), std::make_move_iterator(files.begin()),
              std::make_move_iterator(files.end()));
  return hits;
}

struct Profiled {
  std::string kernel, device;
  evidence::Subject subject;
  evidence::Verdicts verdicts;
};

/// A profile folder or its evidence.json, or any artefact that `evidence` reads.
Result<std::vector<Profiled>> read_profile(const fs::path& profile) {
  std::error_code ignored;
  const fs::path file = fs::is_directory(profile, ignored) ? profile / "evidence.json" : profile;
  std::vector<Profiled> kernels;
  if (file.filename() == "evidence.json") {
    BURNISH_TRY_ASSIGN(const std::string text, real_file_system().read(file));
    BURNISH_TRY_ASSIGN(auto read, loop::read_evidence(text, file.string()));
    kernels.push_back({read.kernel,
                       read.device,
                       {std::move(read.metrics), evidence::vendor_of_arch(read.arch), read.arch},
                       {std::move(read.findings), {}}});
  } else {
    BURNISH_TRY_ASSIGN(const auto rules, evidence::Rules::load());
    BURNISH_TRY_ASSIGN(auto found, evidence::gather({file}, rules, real_process_runner()));
    for (auto& kernel : found.kernels)
      kernels.push_back({kernel.name, kernel.device.name, knowledge::subject_of(kernel),
                         std::move(kernel.verdicts)});
  }
  return kernels;
}

Result<int> for_profile(const Common& common, const WikiOptions& options) {
  BURNISH_TRY_ASSIGN(const auto workspace, here(common));
  BURNISH_TRY_ASSIGN(const auto base, all_cards(common, workspace));
  BURNISH_TRY_ASSIGN(const auto kernels, read_profile(options.profile));
  std::vector<knowledge::Outcome> history;
  if (workspace) {
    std::vector<std::string> complaints;
    BURNISH_TRY_ASSIGN(const auto records, workspace->records());
    BURNISH_TRY_ASSIGN(
        history, loop::past_outcomes(*workspace, records,
                                     kernels.empty() ? "" : kernels.front().device, complaints));
    for (const auto& complaint : complaints) say(common, complaint);
  }
  std::vector<knowledge::Hit> hits;
  for (const auto& kernel : kernels) {
    auto ranked = base.for_evidence(kernel.subject, kernel.verdicts, history,
                                    static_cast<int>(options.limit));
    if (!common.json) print(fmt::format("\n{}\n{}", kernel.kernel, knowledge::to_text(ranked)));
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
  index.action([&common]() -> Result<int> {
    BURNISH_TRY_ASSIGN(const auto workspace, here(common));
    BURNISH_TRY_ASSIGN(const auto cards, catalogue(common, workspace));
    if (!common.json) {
      print(cards.index());
      return 0;
    }
    Json results = Json::array();
    for (const auto& page : cards.pages())
      results.push_back({{"id", page.head.id},
                         {"title", page.head.title},
                         {"category", page.head.category},
                         {"kind", page.head.kind}});
    print_json({{"results", results}});
    return 0;
  });

  auto search = wiki.verb("search", "cards and reference folders by text");
  search.positionals("WORD", options->words, "what to look for");
  search.option("--finding", options->finding, "what answers a finding of this id");
  search.option("--vendor", options->scope.vendor, "nvidia, amd or cpu");
  search.option("--arch", options->scope.arch, "a target, family or product");
  search.option("--language", options->scope.language, "cuda, hip, opencl or triton");
  search.option("--family", options->scope.family, "an operator family");
  search.option("--category", options->scope.category, "a category of change");
  search.option("--kind", options->scope.kind, "technique, pitfall, reference or architecture");
  search.option("--layer", options->layer, "L1: cards (default); L2: reference folders; all");
  search.options("--reference", options->references, "a folder of kernels to learn from (L2)");
  search.option("--limit", options->limit, "results at most");
  search.action([&common, options]() -> Result<int> {
    BURNISH_TRY_ASSIGN(const auto hits, search_layers(common, *options));
    show_hits(common, hits);
    return 0;
  });

  auto show = wiki.verb("show", "one card");
  show.positional("ID", options->id, "the card").required();
  show.flag("--brief", options->brief, "its first paragraph and its links (default)");
  show.flag("--full", options->full, "all of it");
  show.action([&common, options]() -> Result<int> {
    BURNISH_TRY_ASSIGN(const auto workspace, here(common));
    BURNISH_TRY_ASSIGN(const auto cards, catalogue(common, workspace));
    BURNISH_TRY_ASSIGN(const std::string text,
                       cards.show(options->id, options->full ? knowledge::Detail::full
                                                             : knowledge::Detail::brief));
    if (common.json)
      print_json({{"results", {{{"id", options->id}, {"text", text}}}}});
    else
      print(text);
    return 0;
  });

  auto fitting = wiki.verb("for", "cards for a profile, strongest first");
  fitting.positional("PROFILE", options->profile, "profiles/v<N>, a profiler artefact, or code")
      .required();
  fitting.option("--limit", options->limit, "results at most");
  fitting.action([&common, options] { return for_profile(common, *options); });

  auto lint = wiki.verb("lint", "hold every card to form and physics");
  lint.flag("--counts", options->counts, "print how many cards there are instead");
  lint.action([&common, options]() -> Result<int> {
    BURNISH_TRY_ASSIGN(const auto workspace, here(common));
    BURNISH_TRY_ASSIGN(const auto base, all_cards(common, workspace));
    if (options->counts) {
      BURNISH_TRY_ASSIGN(const std::string text, knowledge::counts(base));
      print(text);
      return 0;
    }
    BURNISH_TRY_ASSIGN(const auto metrics, knowledge::MetricNames::load());
    BURNISH_TRY_ASSIGN(const auto complaints, knowledge::lint(base, metrics));
    Json json = Json::array();
    for (const auto& complaint : complaints) {
      json.push_back(
          {{"file", complaint.file}, {"line", complaint.line}, {"text", complaint.text}});
      if (!common.json) print(complaint.to_string() + "\n");
    }
    if (common.json) print_json({{"complaints", json}});
    return complaints.empty() ? 0 : exit_code(ErrorKind::refused);
  });
}

}  // namespace burnish::cli
