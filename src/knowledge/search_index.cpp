#include "knowledge/search_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <unordered_set>

#include "base/text.h"

namespace burnish::knowledge {
namespace {

constexpr std::size_t kMostWords = 32;  // a pasted page is no question
constexpr std::size_t kFields = 4;
constexpr std::array<std::string Words::*, kFields> kFieldsByWeight = {
    &Words::id, &Words::title, &Words::heading, &Words::text};
constexpr std::array<double, kFields> kWeights = {8, 6, 3, 1};
/// What a word that only begins with the one asked for counts, and an identifier of which only the
/// parts are there.
constexpr double kPrefix = 0.5, kParts = 0.5;
/// Saturation and length of BM25 (Robertson and Zaragoza, "The probabilistic relevance framework",
/// 2009, §3.4).
constexpr double kSaturation = 1.2, kLength = 0.75;

using ByteTable = std::array<bool, 256>;

constexpr ByteTable kWordBytes = [] {
  ByteTable table{};
  for (std::size_t c = 0; c < table.size(); ++c)
    table[c] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c >= 0x80 || c == '_' || c == '.' || c == '-';
  return table;
}();

bool is_word_byte(char c) { return kWordBytes[static_cast<unsigned char>(c)]; }
bool is_separator(char c) { return c == '_' || c == '.' || c == '-'; }

/// `take` hears each word, and whether it is known to have no parts.
template <class Take>
void for_each_word(std::string_view text, const Take& take) {
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && !is_word_byte(text[at])) ++at;
    std::size_t begin = at;
    bool whole = true;
    for (; at < text.size() && is_word_byte(text[at]); ++at)
      if (is_separator(text[at])) whole = false;
    // Full stops, hyphens and dashes at the ends are punctuation, not part of a name.
    std::size_t end = at;
    while (begin < end && (text[begin] == '.' || text[begin] == '-')) ++begin;
    while (end > begin && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
    if (end > begin) take(text.substr(begin, end - begin), whole);
  }
}

/// None for a plain word.
template <class Take>
void for_each_part(std::string_view word, const Take& take) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= word.size(); ++at) {
    if (at < word.size() && !is_separator(word[at])) continue;
    if (at > begin && at - begin < word.size()) take(word.substr(begin, at - begin));
    begin = at + 1;
  }
}

/// Step 1 of Porter's stemmer ("An algorithm for suffix stripping", 1980), plurals, -ed and -ing,
/// and the final e with it: "tile", "tiles" and "tiling" are one word. Identifiers stay.
std::string_view stem(std::string_view word, std::string& room) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (word.size() < 4 || !std::all_of(word.begin(), word.end(), letter)) return word;
  const auto without = [&](std::size_t count) { return word.substr(0, word.size() - count); };
  if (word.ends_with("ies")) {
    word = without(2);
  } else if (word.ends_with("sses")) {
    word = without(2);
  } else if (word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us")) {
    word = without(1);
  }
  for (const std::string_view ending : {"ing", "ed"}) {
    if (!word.ends_with(ending)) continue;
    const std::string_view rest = without(ending.size());
    if (rest.size() < 3 || rest.find_first_of("aeiouy") == std::string_view::npos) break;
    word = rest;
    const char last = word.back();
    if (word[word.size() - 2] == last && last != 'l' && last != 's' && last != 'z')
      word = without(1);
    break;
  }
  if (word.size() >= 4 && word.ends_with('e')) word = without(1);
  if (word.size() >= 4 && word.ends_with('y')) {
    room = std::string(without(1)) + "i";
    word = room;
  }
  return word;
}

/// Words that say nothing about what is asked.
bool is_stop_word(const std::string& word) {
  static const std::set<std::string, std::less<>> stop = {
      "a",    "an",   "and", "are", "at",   "by",   "do",  "for", "from",
      "how",  "in",   "is",  "it",  "my",   "of",   "on",  "or",  "the",
      "this", "that", "to",  "too", "what", "when", "why", "with"};
  return stop.contains(word);
}

/// One word of the question, and how often each text holds it.
struct Term {
  std::string word, stem;
  std::vector<std::string> parts;
  std::vector<double> part_counts;  ///< in the text at hand
  double count = 0;                 ///< in the text at hand
  std::vector<double> counts;       ///< weighted, by text
  int texts = 0;                    ///< that hold it

  explicit Term(std::string asked) : word(std::move(asked)), parts(word_parts(word)) {
    std::string room;
    stem = knowledge::stem(word, room);
    part_counts.resize(parts.size());
  }

  void look(std::string_view other, double weight) {
    const std::size_t same = std::min<std::size_t>(stem.size(), 3);
    if (other.substr(0, same) == std::string_view(stem).substr(0, same)) {
      std::string room;
      if (other == word || knowledge::stem(other, room) == stem)
        count += weight;
      else if (same == 3 && other.starts_with(stem))
        count += kPrefix * weight;
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (other == parts[i]) part_counts[i] += weight;
  }

  void finish_text() {
    double held = parts.size() > 1 ? HUGE_VAL : 0;
    for (double& part : part_counts) {
      held = std::min(held, part);
      part = 0;
    }
    count = std::max(count, kParts * held);
    counts.push_back(count);
    if (count > 0) ++texts;
    count = 0;
  }
};

}  // namespace

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for_each_word(text, [&](std::string_view word, bool) { out.push_back(to_lower(word)); });
  return out;
}

std::vector<std::string> word_parts(const std::string& word) {
  std::vector<std::string> parts;
  for_each_part(word, [&](std::string_view part) { parts.emplace_back(part); });
  return parts;
}

struct SearchIndex::State {
  std::vector<const Words*> texts;

  /// Counts the terms in every text; returns how many words each has.
  std::vector<double> count(std::vector<Term>& terms) const {
    // Most words begin as no term does.
    std::array<std::vector<Term*>, 256> by_first;
    for (Term& term : terms) {
      std::set<unsigned char> firsts = {static_cast<unsigned char>(term.word.front())};
      for (const std::string& part : term.parts)
        firsts.insert(static_cast<unsigned char>(part.front()));
      for (const unsigned char first : firsts) by_first[first].push_back(&term);
    }
    std::vector<double> lengths;
    lengths.reserve(texts.size());
    for (const Words* text : texts) {
      std::size_t length = 0;
      for (std::size_t i = 0; i < kFields; ++i) {
        const auto look = [&](std::string_view word) {
          ++length;
          for (Term* term : by_first[static_cast<unsigned char>(word.front())])
            term->look(word, kWeights[i]);
        };
        for_each_word(text->*kFieldsByWeight[i], [&](std::string_view word, bool whole) {
          look(word);
          if (!whole) for_each_part(word, look);
        });
      }
      for (Term& term : terms) term.finish_text();
      lengths.push_back(static_cast<double>(length));
    }
    return lengths;
  }

  /// The word of the texts that is nearest to a slip; empty when none is near.
  std::string mended(const std::string& slip) const {
    if (slip.size() < 4 || slip.size() > 64) return "";
    std::unordered_set<std::string_view> seen;
    std::vector<std::string> near_in_length;
    const std::size_t most = slip.size() / 3 + 1;
    const auto letters = [](std::string_view word) {
      std::uint32_t set = 0;
      for (const char c : word) set |= 1u << (static_cast<unsigned char>(c) % 32);
      return set;
    };
    const std::uint32_t own = letters(slip);
    const auto take = [&](std::string_view word) {
      if (word.size() + most < slip.size() || word.size() > slip.size() + most) return;
      // Fingers slip within a word; one that is wrong at both ends is another word.
      if (word.front() != slip.front() && word.back() != slip.back()) return;
      // An edit brings one letter at most and takes one away.
      if (static_cast<std::size_t>(std::popcount(letters(word) ^ own)) > 2 * most) return;
      if (seen.insert(word).second) near_in_length.emplace_back(word);
    };
    for (const Words* text : texts)
      for (const auto field : kFieldsByWeight)
        for_each_word(text->*field, [&](std::string_view word, bool whole) {
          take(word);
          if (!whole) for_each_part(word, take);
        });
    return nearest(slip, near_in_length).value_or("");
  }
};

SearchIndex::SearchIndex(SearchIndex&&) noexcept = default;
SearchIndex& SearchIndex::operator=(SearchIndex&&) noexcept = default;
SearchIndex::~SearchIndex() = default;

SearchIndex::SearchIndex(std::vector<const Words*> texts)
    : state_(std::make_unique<State>(State{std::move(texts)})) {}

std::vector<TextMatch> SearchIndex::search(std::string_view question) const {
  std::vector<std::string> asked = words(to_valid_utf8(question));
  std::erase_if(asked, is_stop_word);
  if (asked.size() > kMostWords) asked.resize(kMostWords);
  if (asked.empty() || state_->texts.empty()) return {};

  std::vector<Term> terms(asked.begin(), asked.end());
  std::vector<double> lengths = state_->count(terms);
  std::string readings;
  bool mended = false;
  for (Term& term : terms) {
    const std::string slip = term.word;
    if (term.texts == 0)
      if (const std::string word = state_->mended(slip); !word.empty()) {
        readings += fmt::format("; '{}' read as '{}'", slip, word);
        term = Term(word);
        mended = true;
      }
  }
  if (mended) {
    for (Term& term : terms) term = Term(term.word);
    lengths = state_->count(terms);
  }

  double total = 0;
  for (const double length : lengths) total += length;
  const double mean = std::max(1.0, total / static_cast<double>(lengths.size()));
  std::vector<TextMatch> matches;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    TextMatch match{i, 0, ""};
    std::vector<std::string> in_title;
    for (const Term& term : terms) {
      const double count = term.counts[i];
      if (count == 0) continue;
      const double texts = term.texts;
      const double rarity =
          std::log(1 + (static_cast<double>(lengths.size()) - texts + 0.5) / (texts + 0.5));
      match.score += rarity * count * (kSaturation + 1) /
                     (count + kSaturation * (1 - kLength + kLength * lengths[i] / mean));
      const Words& text = *state_->texts[i];
      if (contains(text.id, term.word) || contains(text.title, term.word))
        in_title.push_back(term.word);
    }
    if (match.score == 0) continue;
    match.why = in_title.empty() ? "in the text" : "in the title: " + join(in_title, ", ");
    match.why += readings;
    matches.push_back(std::move(match));
  }
  std::stable_sort(matches.begin(), matches.end(),
                   [](const TextMatch& a, const TextMatch& b) { return a.score > b.score; });
  return matches;
}

}  // namespace burnish::knowledge
