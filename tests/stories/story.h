#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "loop/story.h"

namespace burnish::stories {

/// The clang that the tables in docs/case-studies are made with; numbers are exact for this one.
constexpr int kTablesBy = 22;

/// A clang that compiles HIP for gfx950, which LLVM knows from version 20 on.
struct Compiler {
  fs::path path;
  int major = 0;

  /// Empty when there is one; otherwise what is missing.
  static std::string missing();
  static const Compiler& get();
};

/// A code object of a HIP source with the headers of data/hip; empty, or what the compiler says.
std::string compile(const fs::path& source, const std::string& arch,
                    const std::vector<std::string>& flags, const fs::path& object);

/// A step with what the tests ask of it.
struct Compiled : loop::CompiledStep {
  double metric(const std::string& name) const;  ///< throws when it is absent
  bool finds(const std::string& rule) const;
};

/// The steps of an example in HIP or CUDA, each compiled once.
class Story {
 public:
  /// `values` are tunables of the compiled versions.
  static Story read(const std::string& example, const std::string& backend,
                    const workspace::Configuration& values);

  std::vector<std::string> steps() const { return story_.steps(); }
  /// Throws when it does not compile or cannot be read.
  const Compiled& compiled(const std::string& step, const std::string& arch);
  /// Every step for these targets.
  std::vector<loop::CompiledStep> all(const std::vector<std::string>& targets);

 private:
  explicit Story(loop::Story story) : story_(std::move(story)) {}
  loop::Story story_;
  std::map<std::pair<std::string, std::string>, Compiled> compiled_;
};

/// Holds the part of a Markdown file between `<!-- begin: NAME -->` and `<!-- end: NAME -->`
/// against `text`, or writes it there when $BURNISH_UPDATE is set. Empty when they agree.
std::string differs(const fs::path& file, const std::string& name, const std::string& text);

}  // namespace burnish::stories
