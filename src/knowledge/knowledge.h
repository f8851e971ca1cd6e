#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/statistics.h"
#include "evidence/evidence.h"
#include "knowledge/catalogue.h"

namespace burnish::knowledge {

/// How a card fared when it was tried: one record of a workspace or of a shared store.
struct Outcome {
  std::string card;
  bool accepted = false;
  double gain = 1;                        ///< measured speed-up
  std::optional<Interval> interval = {};  ///< of the gain
  std::string device = {}, family = {};   ///< where, and on what kind of task
  std::string workspace = {};             ///< a hash that tells workspaces apart
  int version = 0;
  /// How much it says about the task at hand: 1, less for another device or another kind of task.
  double weight = 1;
};

/// The cards, each parsed and checked, and ranked by what a profile shows. Not thread-safe.
class CardBase {
 public:
  /// As Catalogue::load(); every card is parsed.
  static Result<CardBase> load(const std::vector<fs::path>& extra_folders = {});
  /// The cards of the pages. Errors: the first that does not parse.
  static Result<CardBase> make(Catalogue catalogue, hardware::Sources sources);
  CardBase(CardBase&&) noexcept;
  CardBase& operator=(CardBase&&) noexcept;
  ~CardBase();

  const std::vector<Card>& cards() const;  ///< sorted by kind, then category, then id
  const hardware::Sources& sources() const;
  const Card* find(std::string_view id) const;

  /// The same cards, to be listed, shown and searched by text.
  const Catalogue& catalogue() const;

  /// Those for a finding that no profile bounds yet, best first.
  Result<std::vector<Hit>> search(const evidence::Finding& finding, const Scope& scope,
                                  int limit = 10, Widen widen = Widen::when_empty) const;

  /// The cards that the finding's rule names, in its order; then those of the same category with a
  /// trigger that holds on the subject or reads the finding's evidence. Cards that fared badly
  /// before go behind their equals.
  std::vector<Hit> for_finding(const evidence::Finding& finding, const evidence::Subject& subject,
                               const std::vector<Outcome>& history = {}) const;

  /// Technique cards ranked by trigger strength × share of the time that could go × applicability ×
  /// how they fared, each with the pitfalls that warn of it. The share is 1 - 1/headroom.
  std::vector<Hit> for_evidence(const evidence::Subject& subject,
                                const evidence::Verdicts& verdicts,
                                const std::vector<Outcome>& history, int limit = 10) const;

 private:
  struct State;
  explicit CardBase(std::unique_ptr<State> state);
  /// The pitfalls that warn of a card, hold on the target and are not spoken against.
  std::vector<std::string> cautions(const std::string& id, const evidence::Subject& subject,
                                    const Target* target) const;
  std::unique_ptr<State> state_;
};

/// What for_finding() and for_evidence() look at, for a kernel of gathered evidence.
evidence::Subject subject_of(const evidence::KernelEvidence& kernel);

/// The shape of docs/cli.md: `{results: [{id, title, category, score, scope, why, …}]}`.
Json to_json(const std::vector<Hit>& hits);
/// One line a hit and one for why.
std::string to_text(const std::vector<Hit>& hits);

}  // namespace burnish::knowledge
