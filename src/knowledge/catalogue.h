#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "hardware/sources.h"
#include "knowledge/page.h"

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

enum class Detail { brief, full };
enum class Widen { no, when_empty };

/// The cards as a reader finds them: listed, searched, shown. Only what is shown is parsed, so that
/// a command answers over a thousand cards in milliseconds; ranking by triggers needs a CardBase.
/// Not thread-safe.
class Catalogue {
 public:
  /// The compiled-in cards ($BURNISH_DATA before them), then the folders in order, each laid out
  /// like data/knowledge (any *.md below it that begins with +++, and its sources.toml). A later
  /// card of the same id wins and carries its folder as origin. Errors are located.
  static Result<Catalogue> load(const std::vector<fs::path>& extra_folders = {});
  static Result<Catalogue> make(std::vector<Page> pages);
  Catalogue(Catalogue&&) noexcept;
  Catalogue& operator=(Catalogue&&) noexcept;
  ~Catalogue();

  const std::vector<Page>& pages() const;  ///< sorted by kind, then category, then id
  std::optional<std::size_t> find(std::string_view id) const;
  /// Errors: bad_input for an unknown id, with near ones.
  Result<std::size_t> require(const std::string& id) const;
  /// These cards without those that are known not to hold on such a device.
  std::vector<std::string> holding_on(const std::string& vendor, const std::string& arch,
                                      const std::vector<std::string>& ids) const;
  /// The pitfalls that warn of a card.
  const std::vector<std::string>& warnings(std::string_view id) const;
  /// Of the program and of the folders, which go before it.
  Result<hardware::Sources> sources() const;

  /// A map of everything by kind and category, at most kIndexLimit bytes: when there are too many
  /// cards, categories show how many more they hold.
  std::string index() const;
  /// 2,000 tokens of three bytes: what the tokenizer of GPT-2 makes of hyphenated names (3.08;
  /// newer vocabularies make fewer tokens).
  static constexpr std::size_t kIndexLimit = 6000;

  /// Every card in the scope, in the order of pages().
  Result<std::vector<Hit>> list(const Scope& scope) const;
  Result<std::string> show(const std::string& id, Detail detail) const;

  /// Full-text search, best first (BM25 over title, triggers and text; whole identifiers, their
  /// parts and prefixes; a word that no card holds is read as the nearest one, and the answer says
  /// so).
  Result<std::vector<Hit>> search(const std::string& text, const Scope& scope, int limit = 10,
                                  Widen widen = Widen::when_empty) const;

 private:
  struct State;
  explicit Catalogue(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace burnish::knowledge
