#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace burnish::knowledge {

/// What is searched of one card or file, lower-case, by weight: a word of the id counts eight times
/// one of the text, one of the title six times, one of the heading (kind, category, targets,
/// triggers) three.
struct Words {
  std::string id, title, heading, text;
};

struct TextMatch {
  std::size_t card = 0;  ///< index into what was given to the constructor
  double score = 0;      ///< larger is better
  std::string why;
};

/// The words of a text as the index holds them: lower-case, identifiers whole (ds_read_b128,
/// bank-conflicts, l1.hit_pct).
std::vector<std::string> words(std::string_view text);
/// The parts of an identifier at its separators; empty for a plain word.
std::vector<std::string> word_parts(const std::string& word);

/// Full-text search by BM25. There are no postings: a question reads all texts once, a megabyte in
/// a few milliseconds, which costs a command less than to build postings for it.
class SearchIndex {
 public:
  /// The texts must outlive it.
  explicit SearchIndex(std::vector<const Words*> texts);
  SearchIndex(SearchIndex&&) noexcept;
  SearchIndex& operator=(SearchIndex&&) noexcept;
  ~SearchIndex();

  /// Best first. Nothing in the question is syntax.
  std::vector<TextMatch> search(std::string_view question) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace burnish::knowledge
