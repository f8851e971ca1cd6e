#include "knowledge/knowledge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "knowledge/applicability.h"

namespace burnish::knowledge {
namespace {

bool has(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
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

}  // namespace

struct CardBase::State {
  Catalogue catalogue;
  std::vector<Card> cards;  ///< in the order of the catalogue's pages
  hardware::Sources sources;
};

CardBase::CardBase(std::unique_ptr<State> state) : state_(std::move(state)) {}
CardBase::CardBase(CardBase&&) noexcept = default;
CardBase& CardBase::operator=(CardBase&&) noexcept = default;
CardBase::~CardBase() = default;

Result<CardBase> CardBase::make(Catalogue catalogue, hardware::Sources sources) {
  std::vector<Card> cards;
  for (const Page& page : catalogue.pages()) {
    BURNISH_TRY_ASSIGN(Card card, parse_card(page.text, page.file));
    card.origin = page.origin;
    cards.push_back(std::move(card));
  }
  return CardBase(
      std::make_unique<State>(State{std::move(catalogue), std::move(cards), std::move(sources)}));
}

Result<CardBase> CardBase::load(const std::vector<fs::path>& extra_folders) {
  BURNISH_TRY_ASSIGN(Catalogue catalogue, Catalogue::load(extra_folders));
  BURNISH_TRY_ASSIGN(hardware::Sources sources, catalogue.sources());
  return make(std::move(catalogue), std::move(sources));
}

const std::vector<Card>& CardBase::cards() const { return state_->cards; }
const hardware::Sources& CardBase::sources() const { return state_->sources; }

const Card* CardBase::find(std::string_view id) const {
  const auto at = state_->catalogue.find(id);
  return at ? &state_->cards[*at] : nullptr;
}

const Catalogue& CardBase::catalogue() const { return state_->catalogue; }

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

std::vector<std::string> CardBase::cautions(const std::string& id, const evidence::Subject& subject,
                                            const Target* target) const {
  std::vector<std::string> ids;
  for (const std::string& pitfall : state_->catalogue.warnings(id)) {
    const Card* card = find(pitfall);
    if (applicability(card->applies, subject.vendor, target).weight > 0 &&
        !spoken_against(*card, subject.metrics))
      ids.push_back(pitfall);
  }
  return ids;
}

std::vector<Hit> CardBase::for_finding(const evidence::Finding& finding,
                                       const evidence::Subject& subject,
                                       const std::vector<Outcome>& history) const {
  const std::optional<Target> target = target_of(subject);
  const Target* const known = target ? &*target : nullptr;
  const double share = 1 - 1 / std::max(1.0, finding.headroom);
  std::vector<Hit> named;
  std::vector<Hit> fitting;
  for (const std::string& id : finding.cards) {
    const Card* card = find(id);
    if (!card) continue;
    const Applicability where = applicability(card->applies, subject.vendor, known);
    if (where.weight == 0) continue;
    Hit hit = hit_of(*card, card->origin);
    hit.scope = where.scope;
    hit.why = fmt::format("named by the rule {}", finding.id);
    hit.score = share * where.weight * fared(card->id, history, hit.why);
    named.push_back(std::move(hit));
  }
  for (const Card& card : state_->cards) {
    if (card.category != finding.category || has(finding.cards, card.id)) continue;
    if (card.kind != "technique" && card.kind != "pitfall") continue;
    const Applicability where = applicability(card.applies, subject.vendor, known);
    if (where.weight == 0) continue;
    Hit hit = hit_of(card, card.origin);
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
  for (Hit& hit : named) hit.cautions = cautions(hit.id, subject, known);
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

Result<std::vector<Hit>> CardBase::search(const evidence::Finding& finding, const Scope& scope,
                                          int limit, Widen widen) const {
  BURNISH_TRY_ASSIGN(const std::vector<Hit> listed, state_->catalogue.list(scope));
  evidence::Finding unbounded = finding;
  unbounded.headroom = HUGE_VAL;
  std::vector<Hit> inside, outside;
  for (Hit& hit : for_finding(unbounded, {{}, scope.vendor, scope.arch})) {
    const auto same = std::find_if(listed.begin(), listed.end(),
                                   [&](const Hit& one) { return one.id == hit.id; });
    const bool in = same != listed.end();
    hit.scope = in ? same->scope : "outside the scope: " + hit.scope;
    (in ? inside : outside).push_back(std::move(hit));
  }
  return first_of(std::move(inside), std::move(outside), limit, widen);
}

std::vector<Hit> CardBase::for_evidence(const evidence::Subject& subject,
                                        const evidence::Verdicts& verdicts,
                                        const std::vector<Outcome>& history, int limit) const {
  const std::optional<Target> target = target_of(subject);
  const Target* const known = target ? &*target : nullptr;
  const MetricSet& metrics = subject.metrics;
  const std::optional<double> ceiling = ceiling_of(metrics);
  std::vector<Hit> out;
  for (const Card& card : state_->cards) {
    if (card.kind != "technique") continue;
    const Applicability where = applicability(card.applies, subject.vendor, known);
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
    Hit hit = hit_of(card, card.origin);
    hit.scope = where.scope;
    hit.why = why;
    hit.score = best * where.weight * (card.applies.family.empty() ? 1 : kFamilyUnknown) *
                fared(card.id, history, hit.why);
    hit.cautions = cautions(card.id, subject, known);
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
  return {kernel.metrics, evidence::vendor_of_arch(arch), arch};
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
