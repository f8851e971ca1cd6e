#include "knowledge/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/data.h"
#include "base/text.h"
#include "evidence/evidence.h"
#include "hardware/spec.h"
#include "knowledge/applicability.h"

namespace burnish::knowledge {
namespace {

constexpr std::uint64_t kLargestCard = 1u << 20;  // bytes

bool has(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::size_t kind_rank(const std::string& kind) {
  const auto& kinds = card_kinds();
  return static_cast<std::size_t>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
}

std::string source_text(const std::string& cited, const hardware::Sources& sources) {
  const std::size_t colon = cited.find(": ");
  const std::string key = cited.substr(0, colon);
  const std::string section = colon == std::string::npos ? "" : cited.substr(colon + 2);
  const hardware::Source* source = sources.find(key);
  return source ? source->text(section) : cited;
}

std::string list_line(const std::string& label, const std::vector<std::string>& items) {
  return items.empty() ? "" : fmt::format("{}: {}\n", label, join(items, ", "));
}

std::string text_line(const std::string& label, const std::string& text) {
  return text.empty() ? "" : fmt::format("{}: {}\n", label, text);
}

}  // namespace

Applicability applicability(const Applies& applies, const std::string& vendor,
                            const Target* target) {
  if (applies.vendor.empty() && applies.arch.empty()) return {1, "any target"};
  if (vendor.empty() && !target)
    return {0.5, "target unknown; holds on " + join(applies.vendor, ", ")};
  const std::string& known_vendor = target ? target->vendor : vendor;
  if (!applies.vendor.empty() && !has(applies.vendor, known_vendor)) return {0, ""};
  if (applies.arch.empty()) return {1, known_vendor};
  if (!target) return {0.5, "target unknown; holds on " + join(applies.arch, ", ")};
  for (const std::string& entry : applies.arch) {
    if (target->arch.empty()) {
      // Asked for a family: any target of the family will do.
      for (const Target& member : targets()) {
        if (member.family == target->family && covers(entry, member).value_or(false)) {
          return {1, target->family};
        }
      }
    } else if (covers(entry, *target).value_or(false)) {
      return {1, target->arch};
    }
  }
  return {0, ""};
}

Hit hit_of(const CardHead& card, const std::string& origin) {
  Hit hit;
  hit.id = card.id;
  hit.title = card.title;
  hit.category = card.category;
  hit.kind = card.kind;
  hit.origin = origin;
  return hit;
}

std::vector<Hit> first_of(std::vector<Hit> inside, std::vector<Hit> outside, int limit,
                          Widen widen) {
  std::vector<Hit>& chosen = inside.empty() && widen == Widen::when_empty ? outside : inside;
  if (limit > 0 && chosen.size() > static_cast<std::size_t>(limit)) {
    chosen.resize(static_cast<std::size_t>(limit));
  }
  return std::move(chosen);
}

struct Catalogue::State {
  std::vector<Page> pages;
  std::map<std::string, std::size_t, std::less<>> by_id;
  std::map<std::string, std::vector<std::string>, std::less<>> warnings;  ///< technique → pitfalls
  std::vector<DataFile> source_files;                                     ///< of the folders
  mutable std::unique_ptr<SearchIndex> search;  ///< made at the first question
};

Catalogue::Catalogue(std::unique_ptr<State> state) : state_(std::move(state)) {}
Catalogue::Catalogue(Catalogue&&) noexcept = default;
Catalogue& Catalogue::operator=(Catalogue&&) noexcept = default;
Catalogue::~Catalogue() = default;

Result<Catalogue> Catalogue::make(std::vector<Page> pages) {
  auto state = std::make_unique<State>();
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const auto [earlier, fresh] = last.insert({pages[i].head.id, i});
    if (fresh) continue;
    const Page& other = pages[earlier->second];
    if (other.origin == pages[i].origin) {
      return bad_input(fmt::format("the card '{}' is there twice", pages[i].head.id))
          .at({pages[i].file, 1, 0})
          .with_hint(fmt::format("the other one is {}", other.file));
    }
    earlier->second = i;
  }
  std::vector<std::size_t> order;
  for (const auto& [id, i] : last) order.push_back(i);
  std::vector<std::size_t> ranks;
  for (const Page& page : pages) ranks.push_back(kind_rank(page.head.kind));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      return std::make_tuple(ranks[i], std::cref(pages[i].head.category),
                             std::cref(pages[i].head.id));
    };
    return key(a) < key(b);
  });
  for (const std::size_t i : order) state->pages.push_back(std::move(pages[i]));
  for (std::size_t i = 0; i < state->pages.size(); ++i) {
    const CardHead& card = state->pages[i].head;
    state->by_id[card.id] = i;
    for (const std::string& id : card.against) state->warnings[id].push_back(card.id);
  }
  return Catalogue(std::move(state));
}

Result<Catalogue> Catalogue::load(const std::vector<fs::path>& extra_folders) {
  std::vector<Page> pages;
  std::vector<DataFile> source_files;
  BURNISH_TRY_ASSIGN(std::vector<DataFile> files, data_files("knowledge/"));
  for (DataFile& file : files) {
    if (!file.name.ends_with(".md")) continue;
    BURNISH_TRY_ASSIGN(Page page, read_page(std::move(file.content), file.origin));
    if (!file.origin.starts_with("data/"))  // a folder of $BURNISH_DATA
      page.origin = file.origin.substr(0, file.origin.size() - file.name.size() - 1);
    pages.push_back(std::move(page));
  }
  for (const fs::path& folder : extra_folders) {
    std::error_code failure;
    std::vector<std::string> paths;
    for (fs::recursive_directory_iterator entry(folder, failure), end; !failure && entry != end;
         entry.increment(failure)) {
      const bool is_page = entry->path().extension() == ".md";
      if ((is_page || entry->path().filename() == "sources.toml") &&
          entry->is_regular_file(failure))
        paths.push_back(entry->path().string());
    }
    if (failure) {
      return bad_input(
                 fmt::format("cannot read the cards of {}: {}", folder.string(), failure.message()))
          .with_hint("knowledge folders are laid out like data/knowledge");
    }
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) {
      BURNISH_TRY_ASSIGN(std::string text, real_file_system().read(path, kLargestCard));
      if (path.ends_with("/sources.toml")) {
        source_files.push_back({"sources.toml", std::move(text), path});
        continue;
      }
      // Notes without front matter (a README) are no cards.
      if (!std::string_view(text).starts_with("+++")) continue;
      BURNISH_TRY_ASSIGN(Page page, read_page(std::move(text), path));
      page.origin = folder.string();
      pages.push_back(std::move(page));
    }
  }
  BURNISH_TRY_ASSIGN(Catalogue catalogue, make(std::move(pages)));
  catalogue.state_->source_files = std::move(source_files);
  return catalogue;
}

const std::vector<Page>& Catalogue::pages() const { return state_->pages; }

std::optional<std::size_t> Catalogue::find(std::string_view id) const {
  const auto found = state_->by_id.find(id);
  return found == state_->by_id.end() ? std::nullopt : std::optional(found->second);
}

Result<std::size_t> Catalogue::require(const std::string& id) const {
  const auto found = find(id);
  if (!found) {
    std::vector<std::string> ids;
    for (const Page& known : state_->pages) ids.push_back(known.head.id);
    const auto near = nearest(id, ids);
    return bad_input(fmt::format("there is no card '{}'", id))
        .with_hint(near ? fmt::format("did you mean '{}'?", *near) : "`wiki index` lists them");
  }
  return *found;
}

const std::vector<std::string>& Catalogue::warnings(std::string_view id) const {
  static const std::vector<std::string> none;
  const auto found = state_->warnings.find(id);
  return found == state_->warnings.end() ? none : found->second;
}

Result<hardware::Sources> Catalogue::sources() const {
  BURNISH_TRY_ASSIGN(hardware::Sources sources, hardware::Sources::load());
  for (const DataFile& file : state_->source_files)
    BURNISH_TRY(sources.add(file.content, file.origin));
  return sources;
}

std::string Catalogue::index() const {
  struct Group {
    std::string kind, category;
    std::vector<std::string> ids;
  };
  std::vector<Group> groups;
  std::size_t most = 0;  // ids of the largest group
  for (const Page& page : state_->pages) {
    const CardHead& card = page.head;
    if (groups.empty() || groups.back().kind != card.kind ||
        groups.back().category != card.category)
      groups.push_back({card.kind, card.category, {}});
    groups.back().ids.push_back(card.id);
    most = std::max(most, groups.back().ids.size());
  }
  const std::string head = fmt::format(
      "{} cards. `wiki show ID` prints one, `--full` all of it; `wiki search WORDS` and `wiki for` "
      "find.\n",
      state_->pages.size());
  // As many ids a group as fit: the largest cut-off that keeps the whole under the limit.
  const auto render = [&] {
    std::string out = head;
    std::string kind;
    for (const Group& group : groups) {
      if (group.kind != kind) out += "\n" + group.kind + "\n";
      kind = group.kind;
      if (!group.category.empty()) out += group.category + ":";
      for (std::size_t i = 0; i < std::min(most, group.ids.size()); ++i) out += " " + group.ids[i];
      if (group.ids.size() > most) out += fmt::format(" … {} more", group.ids.size() - most);
      out += "\n";
    }
    return out;
  };
  std::string out = render();
  while (out.size() > kIndexLimit && most > 0) {
    --most;
    out = render();
  }
  return out;
}

namespace {

/// As `wiki show` prints it.
std::string show_text(const Card& card, const std::vector<std::string>& cautions,
                      const hardware::Sources& sources, Detail detail) {
  std::string out = fmt::format("# {}\n\n", card.title);
  std::vector<std::string> facts = {"`" + card.id + "`", card.kind};
  if (!card.category.empty()) facts.push_back(card.category);
  std::vector<std::string> where = card.applies.vendor;
  where.insert(where.end(), card.applies.arch.begin(), card.applies.arch.end());
  facts.push_back(where.empty() ? "any target" : join(where, " "));
  if (!card.applies.language.empty()) facts.push_back(join(card.applies.language, " "));
  if (!card.applies.family.empty()) facts.push_back(join(card.applies.family, " "));
  if (card.origin != "burnish") facts.push_back("from " + card.origin);
  out += join(facts, " · ") + "\n\n";
  if (detail == Detail::brief) {
    out += card.first_paragraph() + "\n\n";
  } else {
    out += card.body + "\n\n";
    for (const Trigger& trigger : card.triggers) {
      out += fmt::format("Trigger: `{}`{}{}\n", trigger.when.text(),
                         trigger.text.empty() ? "" : ": ", trigger.text);
    }
  }
  out += text_line("Effect", card.effect) + text_line("Bound", card.bound);
  if (detail == Detail::full) {
    out += text_line("Cost", card.cost) + text_line("Lost when", card.lost) +
           text_line("Retract when", card.retract);
    for (const std::string& risk : card.risks) out += text_line("Risk", risk);
    std::vector<std::string> signs;
    for (const Signature& sign : card.signature)
      signs.push_back(sign.metric + " " + sign.direction);
    out += list_line("Expected in the diff", signs);
  }
  out += list_line("Warns of", card.against) + list_line("Pitfalls", cautions) +
         list_line("See also", card.links);
  if (detail == Detail::full) {
    for (const std::string& cited : card.sources) {
      out += text_line("Source", source_text(cited, sources));
    }
  }
  return out;
}

}  // namespace

Result<std::string> Catalogue::show(const std::string& id, Detail detail) const {
  BURNISH_TRY_ASSIGN(const std::size_t at, require(id));
  const Page& page = state_->pages[at];
  BURNISH_TRY_ASSIGN(Card card, parse_card(page.text, page.file));
  card.origin = page.origin;
  BURNISH_TRY_ASSIGN(const hardware::Sources sources, this->sources());
  return show_text(card, warnings(id), sources, detail);
}

namespace {

/// The scope with everything that it names known, and its target resolved.
struct Resolved {
  Scope scope;
  std::optional<Target> target;
};

Error unknown_of(const std::string& what, const std::string& value,
                 const std::vector<std::string>& known) {
  const auto near = nearest(value, known);
  return bad_input(fmt::format("'{}' is an unknown {}", value, what))
      .with_hint(near ? fmt::format("did you mean '{}'?", *near) : "known: " + join(known, ", "));
}

Result<Resolved> resolve(const Scope& scope, const std::vector<Page>& pages) {
  Resolved out{scope, std::nullopt};
  static const std::vector<std::string> vendors = {"nvidia", "amd", "cpu"};
  static const std::vector<std::string> languages = {"cuda", "hip", "opencl", "triton"};
  if (!scope.vendor.empty() && !has(vendors, scope.vendor)) {
    return unknown_of("vendor", scope.vendor, vendors);
  }
  if (!scope.language.empty() && !has(languages, scope.language)) {
    return unknown_of("language", scope.language, languages);
  }
  if (!scope.kind.empty() && !has(card_kinds(), scope.kind)) {
    return unknown_of("kind of card", scope.kind, card_kinds());
  }
  if (!scope.category.empty() && !has(evidence::categories(), scope.category)) {
    return unknown_of("category", scope.category, evidence::categories());
  }
  if (!scope.family.empty()) {
    std::vector<std::string> families;
    for (const Page& page : pages) {
      for (const std::string& family : page.head.applies.family) {
        if (!has(families, family)) families.push_back(family);
      }
    }
    if (!has(families, scope.family)) return unknown_of("operator family", scope.family, families);
  }
  if (!scope.arch.empty()) {
    const std::string arch = to_lower(scope.arch);
    for (const Target& target : targets()) {
      if (target.family == arch && target.arch != arch)
        out.target = Target{"", arch, target.vendor};
    }
    if (!out.target) {
      Result<Target> target = find_target(arch);
      if (!target) {
        // A product name is as good as its target.
        const Result<hardware::Spec> spec = hardware::find_spec(scope.arch);
        if (!spec) return std::move(target.error());
        target = find_target(spec->arch);
        if (!target) return std::move(target.error());
      }
      out.target = *target;
    }
    if (!scope.vendor.empty() && scope.vendor != out.target->vendor) {
      return bad_input(fmt::format("'{}' is no target of {}", scope.arch, scope.vendor))
          .with_hint(fmt::format("it is one of {}", out.target->vendor));
    }
  }
  return out;
}

/// Empty when the card is outside.
std::string scope_of(const CardHead& card, const Resolved& resolved) {
  const Scope& scope = resolved.scope;
  if (!scope.kind.empty() && card.kind != scope.kind) return "";
  if (!scope.category.empty() && card.category != scope.category) return "";
  if (!scope.language.empty() && !card.applies.language.empty() &&
      !has(card.applies.language, scope.language)) {
    return "";
  }
  if (!scope.family.empty() && !card.applies.family.empty() &&
      !has(card.applies.family, scope.family)) {
    return "";
  }
  if (scope.vendor.empty() && !resolved.target) {
    std::vector<std::string> where =
        card.applies.arch.empty() ? card.applies.vendor : card.applies.arch;
    return where.empty() ? "any target" : join(where, ", ");
  }
  const Applicability where =
      applicability(card.applies, scope.vendor, resolved.target ? &*resolved.target : nullptr);
  if (where.weight == 0) return "";
  return where.weight < 1 ? join(card.applies.arch, ", ") : where.scope;
}

}  // namespace

std::vector<std::string> Catalogue::holding_on(const std::string& vendor, const std::string& arch,
                                               const std::vector<std::string>& ids) const {
  const auto target = find_target(arch);
  std::vector<std::string> holding;
  for (const std::string& id : ids) {
    const auto page = find(id);
    if (!page ||
        applicability(state_->pages[*page].head.applies, vendor, target ? &*target : nullptr)
                .weight > 0)
      holding.push_back(id);
  }
  return holding;
}

Result<std::vector<Hit>> Catalogue::list(const Scope& scope) const {
  BURNISH_TRY_ASSIGN(const Resolved resolved, resolve(scope, state_->pages));
  std::vector<Hit> out;
  for (const Page& page : state_->pages) {
    Hit hit = hit_of(page.head, page.origin);
    hit.scope = scope_of(page.head, resolved);
    hit.why = page.first_paragraph();
    if (!hit.scope.empty()) out.push_back(std::move(hit));
  }
  return out;
}

Result<std::vector<Hit>> Catalogue::search(const std::string& text, const Scope& scope, int limit,
                                           Widen widen) const {
  BURNISH_TRY_ASSIGN(const Resolved resolved, resolve(scope, state_->pages));
  if (!state_->search) {
    std::vector<const Words*> texts;
    for (const Page& page : state_->pages) texts.push_back(&page.words);
    state_->search = std::make_unique<SearchIndex>(std::move(texts));
  }
  std::vector<Hit> inside;
  std::vector<Hit> outside;
  for (const TextMatch& match : state_->search->search(text)) {
    const Page& page = state_->pages[match.card];
    const CardHead& card = page.head;
    Hit hit = hit_of(card, page.origin);
    hit.score = match.score;
    hit.why = match.why;
    hit.scope = scope_of(card, resolved);
    if (!hit.scope.empty()) {
      inside.push_back(std::move(hit));
    } else {
      std::vector<std::string> where =
          card.applies.arch.empty() ? card.applies.vendor : card.applies.arch;
      hit.scope = "outside the scope: " +
                  (where.empty() ? card.kind + " / " + card.category : join(where, ", "));
      outside.push_back(std::move(hit));
    }
  }
  std::vector<Hit> out = first_of(std::move(inside), std::move(outside), limit, widen);
  for (Hit& hit : out) hit.cautions = warnings(hit.id);
  return out;
}

}  // namespace burnish::knowledge
