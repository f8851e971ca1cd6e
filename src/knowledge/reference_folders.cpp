#include "knowledge/reference_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "knowledge/search_index.h"

namespace burnish::knowledge {
namespace {

constexpr std::size_t kLongestLine = 120;

bool hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// A name that a reader can tell from the folders of the same name elsewhere is the folder's last
/// part.
std::string folder_name(const fs::path& folder) {
  const fs::path plain = folder.lexically_normal();
  return (plain.has_filename() ? plain.filename() : plain.parent_path().filename()).string();
}

struct Line {
  int number = 0;
  std::string text;
};

/// The line that holds most of the words that were asked for; the first of equals.
Line telling_line(const std::string& body, const std::set<std::string>& asked) {
  Line best;
  std::size_t most = 0;
  int number = 0;
  for (const std::string_view line : split_lines(body)) {
    ++number;
    std::set<std::string> held;
    for (const std::string& word : words(line)) {
      if (asked.contains(word)) held.insert(word);
      for (const std::string& part : word_parts(word))
        if (asked.contains(part)) held.insert(part);
    }
    if (held.size() <= most) continue;
    most = held.size();
    best = {number, std::string(trim(line))};
  }
  if (best.text.size() > kLongestLine)
    best.text = to_valid_utf8(best.text.substr(0, kLongestLine)) + " …";
  return best;
}

}  // namespace

struct ReferenceFolders::State {
  std::vector<Card> files;   ///< id, title and body of a file as the index reads a card's
  std::vector<Words> words;  ///< of the files
  std::set<std::string> sources;
  std::vector<std::string> left_out;
  std::unique_ptr<SearchIndex> index;
};

ReferenceFolders::ReferenceFolders(std::unique_ptr<State> state) : state_(std::move(state)) {}
ReferenceFolders::ReferenceFolders(ReferenceFolders&&) noexcept = default;
ReferenceFolders& ReferenceFolders::operator=(ReferenceFolders&&) noexcept = default;
ReferenceFolders::~ReferenceFolders() = default;

Result<ReferenceFolders> ReferenceFolders::open(const std::vector<fs::path>& folders) {
  auto state = std::make_unique<State>();
  std::uint64_t bytes = 0;
  for (const fs::path& folder : folders) {
    std::error_code failure;
    if (!fs::is_directory(folder, failure))
      return bad_input(fmt::format("the reference folder {} is not there", folder.string()))
          .with_hint("mend reference_projects in burnish.toml, or take the folder out");
    std::vector<fs::path> paths;
    // Ten times what is kept: a folder of binaries must not take minutes to walk.
    std::size_t seen = 0;
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator entry(folder, options, failure), end;
         !failure && entry != end && seen < 10 * kMostFiles; entry.increment(failure), ++seen) {
      std::error_code ignored;
      if (hidden(entry->path()) || entry.depth() >= kDeepest) {
        entry.disable_recursion_pending();
        if (hidden(entry->path())) continue;
      }
      if (entry->is_symlink(ignored) || !entry->is_regular_file(ignored)) continue;
      const auto size = entry->file_size(ignored);
      if (!ignored && size > 0 && size <= kLargestFile) paths.push_back(entry->path());
    }
    if (failure)
      return bad_input(fmt::format("cannot read the reference folder {}: {}", folder.string(),
                                   failure.message()));
    std::sort(paths.begin(), paths.end());
    bool whole = seen < 10 * kMostFiles;
    for (const fs::path& path : paths) {
      if (state->files.size() == kMostFiles || bytes > kMostBytes) {
        whole = false;
        break;
      }
      auto text = real_file_system().read(path, kLargestFile);
      if (!text || text->find('\0') != std::string::npos) continue;
      bytes += text->size();
      Card file;
      file.kind = "file";
      file.id = fmt::format("reference:{}/{}", folder_name(folder),
                            path.lexically_relative(folder).generic_string());
      if (!state->sources.insert(file.id).second) continue;  // two folders of one name
      file.title = path.stem().string();
      file.body = to_valid_utf8(*text);
      file.origin = folder.string();
      state->files.push_back(std::move(file));
    }
    if (!whole)
      state->left_out.push_back(fmt::format("more than {} files or {}: the rest of {} was left out",
                                            kMostFiles, with_binary_prefix(kMostBytes),
                                            folder.string()));
  }
  std::vector<const Words*> texts;
  for (const Card& file : state->files)
    state->words.push_back({file.id, file.title, "", file.body});
  for (Words& one : state->words) {
    for (std::string* text : {&one.id, &one.title, &one.text}) *text = to_lower(*text);
    texts.push_back(&one);
  }
  state->index = std::make_unique<SearchIndex>(std::move(texts));
  return ReferenceFolders(std::move(state));
}

std::size_t ReferenceFolders::size() const { return state_->files.size(); }
const std::vector<std::string>& ReferenceFolders::left_out() const { return state_->left_out; }
bool ReferenceFolders::contains(const std::string& source) const {
  return state_->sources.contains(source);
}

Result<std::vector<Hit>> ReferenceFolders::search(const std::string& text, int limit) const {
  const auto list = words(text);
  const std::set<std::string> asked(list.begin(), list.end());
  std::vector<Hit> hits;
  for (const TextMatch& match : state_->index->search(text)) {
    if (limit > 0 && hits.size() == static_cast<std::size_t>(limit)) break;
    const Card& file = state_->files[match.card];
    const Line line = telling_line(file.body, asked);
    Hit hit;
    hit.id = file.id;
    hit.kind = file.kind;
    hit.title = line.number > 0 ? line.text : file.title;
    hit.why = line.number > 0 ? fmt::format("line {}, {}", line.number, match.why) : match.why;
    hit.score = match.score;
    hit.scope = "not judged";
    hit.origin = file.origin;
    hit.layer = "L2";
    hits.push_back(std::move(hit));
  }
  return hits;
}

}  // namespace burnish::knowledge
