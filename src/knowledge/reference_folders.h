#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "knowledge/knowledge.h"

namespace burnish::knowledge {

/// Layer 2 of planning: folders with kernels and notes to learn from, searched as cards are. Text
/// files only; hidden, binary, large and linked files are passed over.
class ReferenceFolders {
 public:
  static constexpr std::size_t kMostFiles = 2000;            ///< of all folders together
  static constexpr std::uint64_t kLargestFile = 256u << 10;  ///< bytes
  static constexpr std::uint64_t kMostBytes = 32u << 20;
  static constexpr int kDeepest = 16;

  /// Errors: bad_input for a folder that is not there.
  static Result<ReferenceFolders> open(const std::vector<fs::path>& folders);
  ReferenceFolders(ReferenceFolders&&) noexcept;
  ReferenceFolders& operator=(ReferenceFolders&&) noexcept;
  ~ReferenceFolders();

  std::size_t size() const;
  /// "left out beyond 2000 files: /opt/x"; empty when everything was read.
  const std::vector<std::string>& left_out() const;
  /// Whether `source` ("reference:FOLDER/PATH", as the ids of hits) is a file that was read.
  bool contains(const std::string& source) const;
  /// Best first. `id` is "reference:FOLDER/PATH", `title` the line that holds most of the words,
  /// `why` where it stands; `layer` is L2 and `origin` the folder.
  Result<std::vector<Hit>> search(const std::string& text, int limit) const;

 private:
  struct State;
  explicit ReferenceFolders(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace burnish::knowledge
