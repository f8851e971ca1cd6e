#include "knowledge/knowledge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/data.h"
#include "base/text.h"
#include "hardware/spec.h"
#include "knowledge/search_index.h"

namespace burnish::knowledge {
namespace {

bool has(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::size_t kind_rank(const std::string& kind) {
  const auto& kinds = card_kinds();
  return static_cast<std::size_t>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
}

/// How far a card holds where the question was asked: 0 not at all, 0.5 when it cannot be known.
struct Applicability {
  double weight = 1;
  std::string scope;
};

/// `target` may be a family alone (arch empty).
Applicability applicability(const Card& card, const std::string& vendor, const Target* target) {
  const Applies& applies = card.applies;
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

std::optional<Target> target_of(const evidence::Subject& subject) {
  if (subject.vendor == "cpu") return Target{"cpu", "cpu", "cpu"};
  if (subject.arch.empty()) return std::nullopt;
  // Triton and HIP append features ("gfx942:sramecc+:xnack-").
  const std::string arch = subject.arch.substr(0, subject.arch.find(':'));
  if (auto target = find_target(arch)) return *target;
  return std::nullopt;
}

/// Absent when a variable is. A word is asked for as rules do: `occupancy.limiter.registers` is 1
/// when the word `occupancy.limiter` is `registers`, else 0.
std::optional<double> value_of(const Expression& expression, const MetricSet& metrics) {
  Variables values;
  for (const std::string& name : expression.variables()) {
    if (const auto value = metrics.value(name)) {
      values[name] = *value;
      continue;
    }
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) return std::nullopt;
    const Metric* word = metrics.find(std::string_view(name).substr(0, dot));
    if (word == nullptr || word->unit != "text") return std::nullopt;
    values[name] = word->text == std::string_view(name).substr(dot + 1) ? 1 : 0;
  }
  const Result<double> value = expression.evaluate(values);
  return value ? std::optional<double>(*value) : std::nullopt;
}

bool changes_the_work(const std::string& category) {
  return category == "algorithm" || category == "fusion" || category == "precision";
}

/// Laplace's rule of succession, scaled to 1 for a card that was never tried: 2 (s + 1) / (n + 2),
/// where a success counts between a half (no gain) and one (twice as fast or better). A gain whose
/// interval holds 1 is none.
double fared(const std::string& id, const std::vector<Outcome>& history, std::string& why) {
  double successes = 0;
  double weights = 0;
  int tried = 0;
  int accepted = 0;
  for (const Outcome& outcome : history) {
    if (outcome.card != id) continue;
    ++tried;
    weights += outcome.weight;
    if (!outcome.accepted) continue;
    ++accepted;
    const bool none = outcome.interval && outcome.interval->low <= 1;
    const double gain = none ? 1 : std::max(outcome.gain, 1.0);
    successes += outcome.weight * std::clamp(0.5 + 1 - 1 / gain, 0.5, 1.0);
  }
  if (tried > 0)
    why += fmt::format("; tried {}, accepted {}",
                       tried == 1 ? "once" : fmt::format("{} times", tried), accepted);
  return 2 * (successes + 1) / (weights + 2);
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

struct CardBase::State {
  std::vector<Card> cards;
  std::map<std::string, std::size_t, std::less<>> by_id;
  std::map<std::string, std::vector<std::string>> warnings;  ///< technique → pitfalls against it
  hardware::Sources sources;
  std::unique_ptr<SearchIndex> index;
};

CardBase::CardBase(std::unique_ptr<State> state) : state_(std::move(state)) {}
CardBase::CardBase(CardBase&&) noexcept = default;
CardBase& CardBase::operator=(CardBase&&) noexcept = default;
CardBase::~CardBase() = default;

Result<CardBase> CardBase::make(std::vector<Card> cards, hardware::Sources sources) {
  auto state = std::make_unique<State>();
  state->sources = std::move(sources);
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const Card& card = cards[i];
    const auto [earlier, fresh] = last.insert({card.id, i});
    if (fresh) continue;
    const Card& other = cards[earlier->second];
    if (other.origin == card.origin) {
      return bad_input(fmt::format("the card '{}' is there twice", card.id))
          .at({card.file, 1, 0})
          .with_hint(fmt::format("the other one is {}", other.file));
    }
    earlier->second = i;
  }
  for (const auto& [id, i] : last) state->cards.push_back(std::move(cards[i]));
  std::stable_sort(state->cards.begin(), state->cards.end(), [](const Card& a, const Card& b) {
    const auto key = [](const Card& card) {
      return std::make_tuple(kind_rank(card.kind), std::cref(card.category), std::cref(card.id));
    };
    return key(a) < key(b);
  });
  for (std::size_t i = 0; i < state->cards.size(); ++i) {
    state->by_id[state->cards[i].id] = i;
    for (const std::string& id : state->cards[i].against) {
      state->warnings[id].push_back(state->cards[i].id);
    }
  }
  return CardBase(std::move(state));
}

Result<CardBase> CardBase::load(const std::vector<fs::path>& extra_folders) {
  BURNISH_TRY_ASSIGN(hardware::Sources sources, hardware::Sources::load());
  BURNISH_TRY_ASSIGN(const std::vector<DataFile> files, data_files("knowledge/"));
  std::vector<Card> cards;
  for (const DataFile& file : files) {
    if (!file.name.ends_with(".md")) continue;
    BURNISH_TRY_ASSIGN(Card card, parse_card(file.content, file.origin));
    card.origin = "burnish";
    cards.push_back(std::move(card));
  }
  for (const fs::path& folder : extra_folders) {
    std::error_code failure;
    std::vector<fs::path> paths;
    for (fs::recursive_directory_iterator entry(folder, failure), end; !failure && entry != end;
         entry.increment(failure)) {
      if (entry->is_regular_file(failure)) paths.push_back(entry->path());
    }
    if (failure) {
      return bad_input(
                 fmt::format("cannot read the cards of {}: {}", folder.string(), failure.message()))
          .with_hint("knowledge folders are laid out like data/knowledge");
    }
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) {
      const bool is_sources = path.filename() == "sources.toml";
      if (!is_sources && path.extension() != ".md") continue;
      BURNISH_TRY_ASSIGN(const std::string text, real_file_system().read(path, 1u << 20));
      if (is_sources) {
        BURNISH_TRY(sources.add(text, path.string()));
        continue;
      }
      // Notes without front matter (a README) are no cards.
      if (!std::string_view(text).starts_with("+++")) continue;
      BURNISH_TRY_ASSIGN(Card card, parse_card(text, path.string()));
      card.origin = folder.string();
      cards.push_back(std::move(card));
    }
  }
  return make(std::move(cards), std::move(sources));
}

const std::vector<Card>& CardBase::cards() const { return state_->cards; }
const hardware::Sources& CardBase::sources() const { return state_->sources; }

const Card* CardBase::find(std::string_view id) const {
  const auto found = state_->by_id.find(id);
  return found == state_->by_id.end() ? nullptr : &state_->cards[found->second];
}

std::string CardBase::index() const {
  struct Group {
    std::string heading;
    std::vector<std::string> ids;
  };
  std::vector<Group> groups;
  for (const Card& card : state_->cards) {
    const std::string heading =
        fmt::format("{}{}{}", card.kind, card.category.empty() ? "" : " / ", card.category);
    if (groups.empty() || groups.back().heading != heading) groups.push_back({heading, {}});
    groups.back().ids.push_back(card.id);
  }
  const std::string head = fmt::format(
      "{} cards. `wiki show ID` prints one, `--full` all of it; `wiki search WORDS` and `wiki for` "
      "find.\n",
      state_->cards.size());
  // As many ids a group as fit: the largest cut-off that keeps the whole under the limit.
  const auto render = [&](std::size_t most) {
    std::string out = head;
    for (const Group& group : groups) {
      out += group.heading + ":";
      for (std::size_t i = 0; i < std::min(most, group.ids.size()); ++i) out += " " + group.ids[i];
      if (group.ids.size() > most) out += fmt::format(" … {} more", group.ids.size() - most);
      out += "\n";
    }
    return out;
  };
  std::size_t most = state_->cards.size();
  std::string out = render(most);
  while (out.size() > kIndexLimit && most > 0) {
    most = most > 8 ? most * 3 / 4 : most - 1;
    out = render(most);
  }
  return out;
}

Result<std::string> CardBase::show(const std::string& id, Detail detail) const {
  const Card* card = find(id);
  if (!card) {
    std::vector<std::string> ids;
    for (const Card& known : state_->cards) ids.push_back(known.id);
    const auto near = nearest(id, ids);
    return bad_input(fmt::format("there is no card '{}'", id))
        .with_hint(near ? fmt::format("did you mean '{}'?", *near) : "`wiki index` lists them");
  }
  std::string out = fmt::format("# {}\n\n", card->title);
  std::vector<std::string> facts = {"`" + card->id + "`", card->kind};
  if (!card->category.empty()) facts.push_back(card->category);
  std::vector<std::string> where = card->applies.vendor;
  where.insert(where.end(), card->applies.arch.begin(), card->applies.arch.end());
  facts.push_back(where.empty() ? "any target" : join(where, " "));
  if (!card->applies.language.empty()) facts.push_back(join(card->applies.language, " "));
  if (!card->applies.family.empty()) facts.push_back(join(card->applies.family, " "));
  if (card->origin != "burnish") facts.push_back("from " + card->origin);
  out += join(facts, " · ") + "\n\n";
  std::vector<std::string> cautions;
  if (const auto found = state_->warnings.find(id); found != state_->warnings.end()) {
    cautions = found->second;
  }
  if (detail == Detail::brief) {
    out += card->first_paragraph() + "\n\n";
  } else {
    out += card->body + "\n\n";
    for (const Trigger& trigger : card->triggers) {
      out += fmt::format("Trigger: `{}`{}{}\n", trigger.when.text(),
                         trigger.text.empty() ? "" : ": ", trigger.text);
    }
  }
  out += text_line("Effect", card->effect) + text_line("Bound", card->bound);
  if (detail == Detail::full) {
    out += text_line("Cost", card->cost) + text_line("Lost when", card->lost) +
           text_line("Retract when", card->retract);
    for (const std::string& risk : card->risks) out += text_line("Risk", risk);
    std::vector<std::string> signs;
    for (const Signature& sign : card->signature)
      signs.push_back(sign.metric + " " + sign.direction);
    out += list_line("Expected in the diff", signs);
  }
  out += list_line("Warns of", card->against) + list_line("Pitfalls", cautions) +
         list_line("See also", card->links);
  if (detail == Detail::full) {
    for (const std::string& cited : card->sources) {
      out += text_line("Source", source_text(cited, state_->sources));
    }
  }
  return out;
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

Result<Resolved> resolve(const Scope& scope, const std::vector<Card>& cards) {
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
    for (const Card& card : cards) {
      for (const std::string& family : card.applies.family) {
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
std::string scope_of(const Card& card, const Resolved& resolved) {
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
      applicability(card, scope.vendor, resolved.target ? &*resolved.target : nullptr);
  if (where.weight == 0) return "";
  return where.weight < 1 ? join(card.applies.arch, ", ") : where.scope;
}

Hit hit_of(const Card& card) {
  Hit hit;
  hit.id = card.id;
  hit.title = card.title;
  hit.category = card.category;
  hit.kind = card.kind;
  hit.origin = card.origin;
  return hit;
}

}  // namespace

Result<std::vector<Hit>> CardBase::list(const Scope& scope) const {
  BURNISH_TRY_ASSIGN(const Resolved resolved, resolve(scope, state_->cards));
  std::vector<Hit> out;
  for (const Card& card : state_->cards) {
    Hit hit = hit_of(card);
    hit.scope = scope_of(card, resolved);
    hit.why = card.first_paragraph();
    if (!hit.scope.empty()) out.push_back(std::move(hit));
  }
  return out;
}

Result<std::vector<Hit>> CardBase::search(const std::string& text, const Scope& scope, int limit,
                                          Widen widen) const {
  BURNISH_TRY_ASSIGN(const Resolved resolved, resolve(scope, state_->cards));
  if (!state_->index) {
    BURNISH_TRY_ASSIGN(SearchIndex index, SearchIndex::build(state_->cards));
    state_->index = std::make_unique<SearchIndex>(std::move(index));
  }
  BURNISH_TRY_ASSIGN(const std::vector<TextMatch> matches, state_->index->search(text));
  std::vector<Hit> inside;
  std::vector<Hit> outside;
  for (const TextMatch& match : matches) {
    const Card& card = state_->cards[match.card];
    Hit hit = hit_of(card);
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
  std::vector<Hit>& out = inside.empty() && widen == Widen::when_empty ? outside : inside;
  if (limit > 0 && out.size() > static_cast<std::size_t>(limit)) {
    out.resize(static_cast<std::size_t>(limit));
  }
  for (Hit& hit : out) {
    if (const auto found = state_->warnings.find(hit.id); found != state_->warnings.end()) {
      hit.cautions = found->second;
    }
  }
  return std::move(out);
}

namespace {

/// The trigger that speaks loudest, by strength × share of the time that could go.
struct Fired {
  const Trigger* trigger = nullptr;
  double strength = 0;
  double headroom = 1;
};

bool reads(const Trigger& trigger, const evidence::Finding& finding) {
  return std::any_of(
      finding.evidence.begin(), finding.evidence.end(),
      [&](const std::string& name) { return trigger.when.variables().contains(name); });
}

/// A rule's bound is made with more care than a card's: where a finding rests on the same evidence
/// or is of the same category, the trigger's headroom is capped by it. A trigger that no rule bears
/// out counts less.
constexpr double kUnconfirmed = 0.6;

std::optional<Fired> loudest(const Card& card, const MetricSet& metrics,
                             const std::vector<evidence::Finding>& findings) {
  std::optional<Fired> best;
  double best_score = -1;
  for (const Trigger& trigger : card.triggers) {
    const auto holds = value_of(trigger.when, metrics);
    if (!holds || *holds == 0) continue;
    Fired fired{&trigger, 1, 1};
    if (trigger.strength) {
      // A strength that cannot be known does not silence a trigger that holds.
      fired.strength = std::clamp(value_of(*trigger.strength, metrics).value_or(0.5), 0.0, 1.0);
    }
    std::optional<double> confirmed;
    for (const evidence::Finding& finding : findings) {
      if (finding.category != card.category && !reads(trigger, finding)) continue;
      confirmed = std::max(confirmed.value_or(1), finding.headroom);
    }
    std::optional<double> own;
    if (trigger.headroom) own = value_of(*trigger.headroom, metrics);
    fired.headroom = std::max(
        1.0, std::min(own.value_or(confirmed.value_or(1)), confirmed.value_or(own.value_or(1))));
    if (!confirmed && !findings.empty()) fired.strength *= kUnconfirmed;
    const double score = fired.strength * (1 - 1 / fired.headroom);
    if (score > best_score) {
      best_score = score;
      best = fired;
    }
  }
  return best;
}

/// Whether triggers of the card could be evaluated and none of them holds.
bool spoken_against(const Card& card, const MetricSet& metrics) {
  bool any = false;
  for (const Trigger& trigger : card.triggers) {
    const auto holds = value_of(trigger.when, metrics);
    if (!holds) continue;
    if (*holds != 0) return false;
    any = true;
  }
  return any;
}

std::string trigger_text(const Trigger& trigger) {
  return trigger.text.empty() ? trigger.when.text() : trigger.text;
}

}  // namespace

std::vector<Hit> CardBase::for_finding(const evidence::Finding& finding,
                                       const evidence::Subject& subject,
                                       const std::vector<Outcome>& history) const {
  const std::optional<Target> target = target_of(subject);
  const double share = 1 - 1 / std::max(1.0, finding.headroom);
  std::vector<Hit> named;
  std::vector<Hit> fitting;
  for (const std::string& id : finding.cards) {
    const Card* card = find(id);
    if (!card) continue;
    const Applicability where = applicability(*card, subject.vendor, target ? &*target : nullptr);
    if (where.weight == 0) continue;
    Hit hit = hit_of(*card);
    hit.scope = where.scope;
    hit.why = fmt::format("named by the rule {}", finding.id);
    hit.score = share * where.weight * fared(card->id, history, hit.why);
    named.push_back(std::move(hit));
  }
  for (const Card& card : state_->cards) {
    if (card.category != finding.category || has(finding.cards, card.id)) continue;
    if (card.kind != "technique" && card.kind != "pitfall") continue;
    const Applicability where = applicability(card, subject.vendor, target ? &*target : nullptr);
    if (where.weight == 0) continue;
    Hit hit = hit_of(card);
    hit.scope = where.scope;
    if (const auto fired = loudest(card, subject.metrics, {finding})) {
      hit.score = 0.9 * fired->strength * share * where.weight;
      hit.why = trigger_text(*fired->trigger);
    } else {
      // A trigger whose metrics are all there and does not hold speaks against the card.
      const auto reader =
          std::find_if(card.triggers.begin(), card.triggers.end(), [&](const Trigger& trigger) {
            return reads(trigger, finding) && !value_of(trigger.when, subject.metrics);
          });
      if (reader == card.triggers.end()) continue;
      hit.score = 0.3 * share * where.weight;
      hit.why = "reads the same evidence, but not all of its metrics are there";
    }
    hit.score *= fared(card.id, history, hit.why);
    fitting.push_back(std::move(hit));
  }
  for (auto* list : {&named, &fitting})
    std::stable_sort(list->begin(), list->end(),
                     [](const Hit& a, const Hit& b) { return a.score > b.score; });
  named.insert(named.end(), std::make_move_iterator(fitting.begin()),
               std::make_move_iterator(fitting.end()));
  for (Hit& hit : named) {
    const auto found = state_->warnings.find(hit.id);
    if (found == state_->warnings.end()) continue;
    for (const std::string& id : found->second) {
      const Card* pitfall = find(id);
      const Applicability there =
          applicability(*pitfall, subject.vendor, target ? &*target : nullptr);
      if (there.weight > 0 && !spoken_against(*pitfall, subject.metrics))
        hit.cautions.push_back(id);
    }
  }
  return named;
}

namespace {

double severity_weight(const std::string& severity) {
  if (severity == "high") return 1;
  if (severity == "medium") return 0.9;
  return severity == "low" ? 0.7 : 0.5;
}

/// What is left for changes that keep the work: below the roof, and above the time of a launch that
/// does nothing (profilers show about 2 µs for it on an H200; half of that is a bound).
std::optional<double> ceiling_of(const MetricSet& metrics) {
  constexpr double kLaunchFloor = 1e-6;
  std::optional<double> ceiling;
  if (const auto used = metrics.value("roofline.utilization_pct"); used && *used > 0) {
    ceiling = std::max(1.0, 100 / *used);
  }
  if (const auto time = metrics.value("time.device"); time && *time > 0) {
    const double left = std::max(1.0, *time / kLaunchFloor);
    ceiling = std::min(ceiling.value_or(left), left);
  }
  return ceiling;
}

bool keeps_the_launch(const std::string& category) {
  return !changes_the_work(category) && category != "launch-overhead";
}

constexpr double kSymptom = 0.4;        // of a finding that another one explains
constexpr double kSpokenAgainst = 0.4;  // of a card named by a rule whose own triggers do not hold
constexpr double kFamilyUnknown = 0.7;  // evidence does not tell the operator family

}  // namespace

std::vector<Hit> CardBase::for_evidence(const evidence::Subject& subject,
                                        const evidence::Verdicts& verdicts,
                                        const std::vector<Outcome>& history, int limit) const {
  const std::optional<Target> target = target_of(subject);
  const MetricSet& metrics = subject.metrics;
  const std::optional<double> ceiling = ceiling_of(metrics);
  std::vector<Hit> out;
  for (const Card& card : state_->cards) {
    if (card.kind != "technique") continue;
    const Applicability where = applicability(card, subject.vendor, target ? &*target : nullptr);
    if (where.weight == 0) continue;
    const bool capped = ceiling && keeps_the_launch(card.category);
    const double against = spoken_against(card, metrics) ? kSpokenAgainst : 1;
    double best = 0;
    std::string why;
    const auto consider = [&](double strength, double headroom, const std::string& reason) {
      headroom = std::max(1.0, capped ? std::min(headroom, *ceiling) : headroom);
      const double score = strength * (1 - 1 / headroom);
      if (score <= best) return;
      best = score;
      why = fmt::format("{}: up to {:.2f} times", reason, headroom);
    };
    for (const evidence::Finding& finding : verdicts.findings) {
      const auto named = std::find(finding.cards.begin(), finding.cards.end(), card.id);
      if (named == finding.cards.end()) continue;
      // A rule names its cards best first; they are alternatives, and no finding fills the list.
      const double order = std::pow(0.7, static_cast<double>(named - finding.cards.begin()));
      const double symptom = finding.explained_by.empty() ? 1 : kSymptom;
      consider(order * symptom * against * severity_weight(finding.severity), finding.headroom,
               finding.id);
    }
    if (const auto fired = loudest(card, metrics, verdicts.findings)) {
      consider(fired->strength, fired->headroom, trigger_text(*fired->trigger));
    }
    if (best <= 0) continue;
    Hit hit = hit_of(card);
    hit.scope = where.scope;
    hit.why = why;
    hit.score = best * where.weight * (card.applies.family.empty() ? 1 : kFamilyUnknown) *
                fared(card.id, history, hit.why);
    if (const auto found = state_->warnings.find(card.id); found != state_->warnings.end()) {
      for (const std::string& id : found->second) {
        const Card* pitfall = find(id);
        const Applicability there =
            applicability(*pitfall, subject.vendor, target ? &*target : nullptr);
        if (there.weight > 0 && !spoken_against(*pitfall, metrics)) hit.cautions.push_back(id);
      }
    }
    out.push_back(std::move(hit));
  }
  std::stable_sort(out.begin(), out.end(), [](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  if (limit > 0 && out.size() > static_cast<std::size_t>(limit)) {
    out.resize(static_cast<std::size_t>(limit));
  }
  return out;
}

evidence::Subject subject_of(const evidence::KernelEvidence& kernel) {
  const std::string& arch = kernel.device.arch;
  evidence::Subject subject{kernel.metrics, "", arch};
  if (arch.starts_with("sm_")) subject.vendor = "nvidia";
  if (arch.starts_with("gfx")) subject.vendor = "amd";
  if (arch.starts_with("x86-64") || arch.starts_with("aarch64")) subject.vendor = "cpu";
  return subject;
}

Json to_json(const std::vector<Hit>& hits) {
  Json results = Json::array();
  for (const Hit& hit : hits) {
    Json item = {{"id", hit.id},       {"title", hit.title}, {"category", hit.category},
                 {"score", hit.score}, {"scope", hit.scope}, {"why", hit.why},
                 {"kind", hit.kind},   {"layer", hit.layer}};
    if (!hit.cautions.empty()) item["cautions"] = hit.cautions;
    if (hit.origin != "burnish") item["origin"] = hit.origin;
    results.push_back(std::move(item));
  }
  Json out;
  out["results"] = std::move(results);
  return out;
}

std::string to_text(const std::vector<Hit>& hits) {
  std::string out;
  for (const Hit& hit : hits) {
    out += fmt::format("{:5.2f}  {}  {}{}\n", hit.score, hit.id, hit.title,
                       hit.category.empty() ? "" : " [" + hit.category + "]");
    out += fmt::format("       {} ({})\n", hit.why, hit.scope);
    if (!hit.cautions.empty()) out += fmt::format("       caution: {}\n", join(hit.cautions, ", "));
  }
  return out.empty() ? "nothing found\n" : out;
}

}  // namespace burnish::knowledge
