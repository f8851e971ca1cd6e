#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/expression.h"

namespace burnish::knowledge {

/// When a card deserves a look: an expression over normalised metrics, as rules write them.
struct Trigger {
  Expression when;
  std::optional<Expression> strength;  ///< how strongly it speaks, clipped to [0, 1]; absent: 1
  std::optional<Expression> headroom;  ///< upper bound on the speed-up; absent: the finding's
  std::string text;                    ///< what it means, for people
};

/// What the diff of the machine code or of the profile should show when the technique took hold.
struct Signature {
  std::string metric;
  std::string direction;  ///< "up", "down", "zero", "appears"
};

/// Where a card holds. An empty list holds everywhere.
struct Applies {
  std::vector<std::string> vendor;  ///< nvidia, amd, cpu
  std::vector<std::string> arch;    ///< targets (sm_90a, gfx942), ranges (sm_80+), families (cdna3)
  std::vector<std::string> language;  ///< cuda, hip, opencl, triton
  std::vector<std::string> family;    ///< operator families: gemm, attention, stencil, …
};

/// What search and listing read of a card.
struct CardHead {
  std::string id;    ///< kebab-case, the file's stem
  std::string kind;  ///< card_kinds()
  std::string title;
  std::string category;  ///< design §5; may be empty for references and architectures
  Applies applies;
  std::vector<std::string> against;  ///< pitfalls: the techniques that they warn of
};

/// The paragraph of a card's body that stands alone.
std::string first_paragraph(std::string_view body);

/// One page of the knowledge base: Markdown with TOML front matter between two lines of `+++`.
struct Card : CardHead {
  std::vector<Trigger> triggers;
  std::string effect, bound, cost;
  std::vector<std::string> risks;
  std::vector<Signature> signature;
  std::vector<std::string> links;  ///< ids of other cards
  std::string lost,
      retract;  ///< pitfalls: when it lost, and what evidence would take the card back
  std::vector<std::string> sources;  ///< keys of sources.toml, with " § section" when it has one
  std::string body;                  ///< Markdown
  std::string file;
  int body_line = 1;   ///< where the body begins in the file
  std::string origin;  ///< "burnish", or the folder that the card was read from

  std::string first_paragraph() const { return knowledge::first_paragraph(body); }
};

/// technique, pitfall, reference, architecture.
const std::vector<std::string>& card_kinds();

/// Errors are bad_input at file:line:column.
Result<Card> parse_card(std::string_view text, const std::string& file);

/// A compilation target that scopes name.
struct Target {
  std::string arch;    ///< sm_90a, gfx942, cpu
  std::string family;  ///< hopper, cdna3, cpu
  std::string vendor;  ///< nvidia, amd, cpu
};

/// The targets that cards can be scoped to. Suffix forms (sm_90a, sm_100f) are targets of their
/// own.
const std::vector<Target>& targets();

/// The target of this name. Errors: bad_input that says "unknown" and names the near ones.
Result<Target> find_target(const std::string& arch);

/// Whether a card's entry (target, "sm_80+" range, or family) covers the target. sm_90 code runs on
/// sm_90a, so an entry without suffix covers the suffixed target, never the other way round.
Result<bool> covers(const std::string& entry, const Target& target);

}  // namespace burnish::knowledge
