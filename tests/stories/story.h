#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "evidence/evidence.h"
#include "hardware/occupancy.h"
#include "isa/isa.h"

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

/// One step of a story, compiled for one GPU and read.
struct Compiled {
  std::string step;  ///< "05-row-interleave"; v0 is "00"
  std::string arch;
  isa::Reading reading;
  isa::Kernel kernel;  ///< the one of the story
  MetricSet metrics;
  std::vector<evidence::Finding> findings;
  hardware::Occupancy occupancy;

  double metric(const std::string& name) const;  ///< throws when it is absent
  bool finds(const std::string& rule) const;
  /// One line of what the rules say, in their order.
  std::string said() const;
};

/// The steps of an example, as the replay agent goes through them.
class Story {
 public:
  /// `macros` are the tunables of the compiled versions.
  static Result<Story> read(const std::string& example, const std::string& kernel,
                            const std::map<std::string, std::string>& macros);

  /// "00" and the names of the steps, in order.
  std::vector<std::string> steps() const;
  /// Compiled once and kept. Throws when it does not compile or cannot be read.
  const Compiled& compiled(const std::string& step, const std::string& arch);
  const std::string& source(const std::string& step) const { return sources_.at(step); }

 private:
  std::string kernel_;
  std::vector<std::string> flags_;
  std::map<std::string, std::string> sources_;  ///< step → text of kernel.hip
  std::map<std::pair<std::string, std::string>, Compiled> compiled_;
};

/// Holds the part of a Markdown file between `<!-- begin: NAME -->` and `<!-- end: NAME -->`
/// against `text`, or writes it there when $BURNISH_UPDATE is set. Empty when they agree.
std::string differs(const fs::path& file, const std::string& name, const std::string& text);

}  // namespace burnish::stories
