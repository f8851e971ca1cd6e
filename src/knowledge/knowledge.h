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
#include "hardware/sources.h"
#include "knowledge/card.h"

namespace burnish::knowledge {

/// What to look at. Empty fields are open; a value that nothing is known of is an error that names
/// near ones, so that a slip never answers with everything.
struct Scope {
  std::string vendor;    ///< nvidia, amd, cpu
  std::string arch;      ///< a target (gfx942), a family (cdna3), or a product with a hardware card
  std::string language;  ///< cuda, hip, opencl, triton
  std::string family;    ///< an operator family
  std::string category;
  std::string kind;
};

/// One answer. `scope` says how the card stands to what was asked: "gfx942", "any target", or
/// "outside the scope: …" for a widened answer.
struct Hit {
  std::string id, title, category, kind;
  double score = 0;
  std::string scope;
  std::string why;
  std::vector<std::string> cautions;  ///< pitfalls that warn of this card
  std::string origin;
  std::string layer = "L1";  ///< L1 cards, L2 files of reference folders
};

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

enum class Detail { brief, full };
enum class Widen { no, when_empty };

/// The cards, and search over them. Search needs an index in memory that is built at the first
/// search. Not thread-safe.
class CardBase {
 public:
  /// The compiled-in cards ($BURNISH_DATA before them), then the folders in order, each laid out
  /// like data/knowledge (any *.md below it, and its sources.toml). A later card of the same id
  /// wins and carries its folder as origin. Errors are located.
  static Result<CardBase> load(const std::vector<fs::path>& extra_folders = {});
  static Result<CardBase> make(std::vector<Card> cards, hardware::Sources sources);
  CardBase(CardBase&&) noexcept;
  CardBase& operator=(CardBase&&) noexcept;
  ~CardBase();

  const std::vector<Card>& cards() const;  ///< sorted by kind, then category, then id
  const hardware::Sources& sources() const;
  const Card* find(std::string_view id) const;

  /// A map of everything by kind and category, at most kIndexLimit bytes (about 2,000 tokens): when
  /// there are too many cards, categories show how many more they hold.
  std::string index() const;
  static constexpr std::size_t kIndexLimit = 8000;

  /// Every card in the scope, in the order of cards(); what `wiki index --json` prints.
  Result<std::vector<Hit>> list(const Scope& scope) const;

  /// Errors: bad_input for an unknown id, with near ones.
  Result<std::string> show(const std::string& id, Detail detail) const;

  /// Full-text search, best first (BM25 over title, triggers and text; whole identifiers, their
  /// parts and prefixes; a word that no card holds is read as the nearest one, and the answer says
  /// so).
  Result<std::vector<Hit>> search(const std::string& text, const Scope& scope, int limit = 10,
                                  Widen widen = Widen::when_empty) const;

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
  std::unique_ptr<State> state_;
};

/// What for_finding() and for_evidence() look at, for a kernel of gathered evidence.
evidence::Subject subject_of(const evidence::KernelEvidence& kernel);

/// The shape of docs/cli.md: `{results: [{id, title, category, score, scope, why, …}]}`.
Json to_json(const std::vector<Hit>& hits);
/// One line a hit and one for why.
std::string to_text(const std::vector<Hit>& hits);

}  // namespace burnish::knowledge
