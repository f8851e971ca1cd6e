#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "knowledge/card.h"

namespace burnish::knowledge {

struct TextMatch {
  std::size_t card = 0;  ///< index into the cards given to build()
  double score = 0;      ///< larger is better
  std::string why;
};

/// The words of a text as the index holds them: lower-case, identifiers whole (ds_read_b128,
/// bank-conflicts, l1.hit_pct).
std::vector<std::string> words(std::string_view text);
/// The parts of an identifier at its separators; empty for a plain word.
std::vector<std::string> word_parts(const std::string& word);

/// Full-text index over cards in SQLite FTS5, in memory.
class SearchIndex {
 public:
  static Result<SearchIndex> build(const std::vector<Card>& cards);
  SearchIndex(SearchIndex&&) noexcept;
  SearchIndex& operator=(SearchIndex&&) noexcept;
  ~SearchIndex();

  /// Best first. Nothing in `text` is syntax: every word is quoted.
  Result<std::vector<TextMatch>> search(std::string_view text) const;

 private:
  struct State;
  explicit SearchIndex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace burnish::knowledge
