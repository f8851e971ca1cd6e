#pragma once

#include <map>
#include <string>
#include <vector>

#include "evidence/evidence.h"
#include "hardware/occupancy.h"
#include "loop/example.h"

namespace burnish::loop {

/// One version of a story, compiled for one GPU and read: no GPU is needed for that.
struct CompiledStep {
  std::string step;  ///< "05-row-interleave"; v0 is "00"
  std::string arch;
  isa::Reading reading;
  isa::Kernel kernel;  ///< the one that does the work
  MetricSet metrics;
  std::vector<evidence::Finding> findings;
  std::int64_t shared_bytes = 0;  ///< a block, static and dynamic
  hardware::Occupancy occupancy;
};

/// The kernel of an example and its steps, as the replay agent goes through them.
class Story {
 public:
  /// `values` go before those of the task and of the steps.
  static Result<Story> read(const Example& example, const workspace::Configuration& values,
                            workspace::World world);

  const Example& example() const { return example_; }
  const workspace::TaskSpec& task() const { return task_; }
  /// "00" and the names of the steps, in order.
  std::vector<std::string> steps() const;
  const workspace::Files& files(const std::string& step) const { return versions_.at(step); }
  /// Every value that the step is compiled with.
  Result<workspace::Configuration> configuration(const std::string& step) const;
  /// Errors: environment when no compiler here knows the architecture.
  Result<CompiledStep> compile(const std::string& step, const std::string& arch,
                               const evidence::Rules& rules) const;

 private:
  explicit Story(workspace::World world) : world_(world) {}
  Example example_;
  workspace::TaskSpec task_;
  workspace::Configuration values_;
  std::map<std::string, workspace::Files> versions_;
  mutable workspace::World world_;
};

/// The architectures that the story of a backend is told for.
std::vector<std::string> story_architectures(const std::string& backend);
/// Which compiler Story::compile() takes; empty when there is none.
std::string story_compiler(const std::string& backend);

}  // namespace burnish::loop
