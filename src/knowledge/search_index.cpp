#include "knowledge/search_index.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/text.h"

namespace burnish::knowledge {
namespace {

bool is_word_byte(unsigned char c) {
  return std::isalnum(c) != 0 || c >= 0x80 || c == '_' || c == '.' || c == '-';
}

bool is_separator(char c) { return c == '_' || c == '.' || c == '-'; }

/// Words, and the parts of identifiers after them, for the index.
std::string indexed(std::string_view text, std::unordered_set<std::string>& vocabulary) {
  std::string out;
  for (const std::string& word : words(text)) {
    out += word + ' ';
    for (const std::string& part : word_parts(word)) {
      out += part + ' ';
      vocabulary.insert(part);
    }
    vocabulary.insert(word);
  }
  return out;
}

std::string heading(const Card& card) {
  std::string out = card.kind + " " + card.category;
  for (const auto* list :
       {&card.applies.vendor, &card.applies.arch, &card.applies.language, &card.applies.family}) {
    out += " " + join(*list, " ");
  }
  for (const Trigger& trigger : card.triggers)
    out += " " + trigger.text + " " + trigger.when.text();
  for (const Signature& sign : card.signature) out += " " + sign.metric;
  return out;
}

std::string text_of(const Card& card) {
  return card.effect + "\n" + card.bound + "\n" + card.cost + "\n" + join(card.risks, "\n") + "\n" +
         card.lost + "\n" + card.body;
}

Error sqlite_error(sqlite3* database, const char* what) {
  return bug(fmt::format("the search index: {}: {}", what, sqlite3_errmsg(database)));
}

class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  explicit operator bool() const { return statement_ != nullptr; }
  void bind(int position, std::string_view text) {
    sqlite3_bind_text(statement_, position, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  void bind(int position, std::int64_t value) { sqlite3_bind_int64(statement_, position, value); }
  int step() { return sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }
  sqlite3_stmt* get() { return statement_; }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

/// As an FTS5 string: quoted, so that no word is an operator.
std::string quoted(std::string_view word) {
  return "\"" + replace_all(std::string(word), "\"", "\"\"") + "\"";
}

/// One word of the question: itself, what it begins, and for an identifier its parts together.
std::string query_of(const std::string& word) {
  std::string out = "(" + quoted(word);
  if (word.size() >= 3) out += " OR " + quoted(word) + " *";
  const std::vector<std::string> parts = word_parts(word);
  if (parts.size() > 1) {
    out += " OR (";
    for (std::size_t i = 0; i < parts.size(); ++i) out += (i ? " AND " : "") + quoted(parts[i]);
    out += ")";
  }
  return out + ")";
}

/// Words that say nothing about what is asked.
bool is_stop_word(const std::string& word) {
  static const std::set<std::string, std::less<>> stop = {
      "a",    "an",   "and", "are", "at",   "by",   "do",  "for", "from",
      "how",  "in",   "is",  "it",  "my",   "of",   "on",  "or",  "the",
      "this", "that", "to",  "too", "what", "when", "why", "with"};
  return stop.contains(word);
}

constexpr std::size_t kMostWords = 32;  // a pasted page is no question

}  // namespace

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  const auto finish = [&] {
    // Full stops, hyphens and dashes at the ends are punctuation, not part of a name.
    std::size_t begin = 0;
    while (begin < word.size() && (word[begin] == '.' || word[begin] == '-')) ++begin;
    std::size_t end = word.size();
    while (end > begin && (word[end - 1] == '.' || word[end - 1] == '-')) --end;
    if (end > begin) out.push_back(word.substr(begin, end - begin));
    word.clear();
  };
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (!is_word_byte(byte)) {
      finish();
    } else {
      word += byte < 0x80 ? static_cast<char>(std::tolower(byte)) : c;
    }
  }
  finish();
  return out;
}

std::vector<std::string> word_parts(const std::string& word) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : word) {
    if (!is_separator(c)) {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(std::move(part));
      part.clear();
    }
  }
  if (!part.empty()) parts.push_back(std::move(part));
  if (parts.size() == 1 && parts.front() == word) parts.clear();
  return parts;
}

struct SearchIndex::State {
  sqlite3* database = nullptr;
  std::vector<std::string> vocabulary;  ///< sorted
  std::vector<std::string> titles;      ///< id and title, lower-case, to say where a word was found
  bool has_trigrams = false;
  ~State() { sqlite3_close(database); }

  Result<void> execute(const char* sql) {
    if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
      return sqlite_error(database, sql);
    }
    return {};
  }

  bool knows(const std::string& word) const {
    const auto found = std::lower_bound(vocabulary.begin(), vocabulary.end(), word);
    return found != vocabulary.end() && found->starts_with(word);
  }

  /// The vocabulary by trigrams; built at the first word that no card holds.
  Result<void> build_trigrams() {
    if (has_trigrams) return {};
    BURNISH_TRY(execute("CREATE VIRTUAL TABLE grams USING fts5(word, tokenize='trigram')"));
    Statement insert(database, "INSERT INTO grams(word) VALUES (?)");
    if (!insert) return sqlite_error(database, "grams");
    BURNISH_TRY(execute("BEGIN"));
    for (const std::string& word : vocabulary) {
      insert.bind(1, word);
      if (insert.step() != SQLITE_DONE) return sqlite_error(database, "grams");
      insert.reset();
    }
    BURNISH_TRY(execute("COMMIT"));
    has_trigrams = true;
    return {};
  }

  /// The word of the vocabulary that is nearest to a slip; empty when none is near.
  Result<std::string> mended(const std::string& word) {
    if (word.size() < 4 || word.size() > 64) return std::string();
    BURNISH_TRY(build_trigrams());
    std::string query;
    for (std::size_t i = 0; i + 3 <= word.size(); ++i) {
      query += (i ? " OR " : "") + quoted(word.substr(i, 3));
    }
    Statement select(database, "SELECT word FROM grams WHERE grams MATCH ? ORDER BY rank LIMIT 40");
    if (!select) return sqlite_error(database, "grams");
    select.bind(1, query);
    std::vector<std::string> candidates;
    int state = 0;
    while ((state = select.step()) == SQLITE_ROW) {
      candidates.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(select.get(), 0)));
    }
    if (state != SQLITE_DONE) return sqlite_error(database, "grams");
    return nearest(word, candidates).value_or("");
  }
};

SearchIndex::SearchIndex(std::unique_ptr<State> state) : state_(std::move(state)) {}
SearchIndex::SearchIndex(SearchIndex&&) noexcept = default;
SearchIndex& SearchIndex::operator=(SearchIndex&&) noexcept = default;
SearchIndex::~SearchIndex() = default;

Result<SearchIndex> SearchIndex::build(const std::vector<Card>& cards) {
  auto state = std::make_unique<State>();
  if (sqlite3_open(":memory:", &state->database) != SQLITE_OK) {
    return sqlite_error(state->database, "open");
  }
  BURNISH_TRY(state->execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF"));
  BURNISH_TRY(
      state->execute("CREATE VIRTUAL TABLE cards USING fts5(id, title, heading, text, content='', "
                     "tokenize=\"porter unicode61 remove_diacritics 2 tokenchars '_.-'\")"));
  Statement insert(state->database,
                   "INSERT INTO cards(rowid, id, title, heading, text) VALUES (?, ?, ?, ?, ?)");
  if (!insert) return sqlite_error(state->database, "insert");
  BURNISH_TRY(state->execute("BEGIN"));
  std::unordered_set<std::string> vocabulary;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const Card& card = cards[i];
    insert.bind(1, static_cast<std::int64_t>(i));
    insert.bind(2, indexed(card.id, vocabulary));
    insert.bind(3, indexed(card.title, vocabulary));
    insert.bind(4, indexed(heading(card), vocabulary));
    insert.bind(5, indexed(text_of(card), vocabulary));
    if (insert.step() != SQLITE_DONE) return sqlite_error(state->database, "insert");
    insert.reset();
    state->titles.push_back(to_lower(card.id + " " + card.title));
  }
  BURNISH_TRY(state->execute("COMMIT"));
  state->vocabulary.assign(vocabulary.begin(), vocabulary.end());
  std::sort(state->vocabulary.begin(), state->vocabulary.end());
  return SearchIndex(std::move(state));
}

Result<std::vector<TextMatch>> SearchIndex::search(std::string_view text) const {
  std::vector<std::string> asked = words(to_valid_utf8(text));
  std::erase_if(asked, is_stop_word);
  if (asked.size() > kMostWords) asked.resize(kMostWords);
  std::string query;
  std::string readings;
  for (std::string& word : asked) {
    if (!state_->knows(word)) {
      BURNISH_TRY_ASSIGN(const std::string mended, state_->mended(word));
      if (!mended.empty()) {
        readings += fmt::format("; '{}' read as '{}'", word, mended);
        word = mended;
      }
    }
    query += (query.empty() ? "" : " OR ") + query_of(word);
  }
  if (query.empty()) return std::vector<TextMatch>();

  // Weights of id, title, heading and text.
  Statement select(state_->database,
                   "SELECT rowid, bm25(cards, 8.0, 6.0, 3.0, 1.0) AS score FROM cards "
                   "WHERE cards MATCH ? ORDER BY score, rowid");
  if (!select) return sqlite_error(state_->database, "search");
  select.bind(1, query);
  std::vector<TextMatch> matches;
  int step = 0;
  while ((step = select.step()) == SQLITE_ROW) {
    TextMatch match;
    match.card = static_cast<std::size_t>(sqlite3_column_int64(select.get(), 0));
    match.score = -sqlite3_column_double(select.get(), 1);
    std::vector<std::string> in_title;
    for (const std::string& word : asked) {
      if (contains(state_->titles[match.card], word)) in_title.push_back(word);
    }
    match.why = in_title.empty() ? "in the text" : "in the title: " + join(in_title, ", ");
    match.why += readings;
    matches.push_back(std::move(match));
  }
  if (step != SQLITE_DONE) return sqlite_error(state_->database, "search");
  return matches;
}

}  // namespace burnish::knowledge
