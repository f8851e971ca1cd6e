#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/data.h"
#include "workspace/workspace.h"

namespace burnish::loop {

/// An example that is compiled in (examples/NAME), as one backend has it.
struct Example {
  std::string name;     ///< "depthwise_conv3d"
  std::string backend;  ///< opencl, cuda, hip
  /// By name below the backend's folder: "kernel.cu", "steps/01-shared/plan.md",
  /// "peers/torch.py".
  std::map<std::string, std::string> files;

  /// Whether it has a story to replay: steps/NN-*/{plan.md, …}.
  bool has_story() const;
  /// The folders below `folder` ("steps", "peers"), sorted.
  std::vector<std::string> folders(const std::string& folder) const;
  /// The files of the task itself; a folder of them is what a workspace is made from.
  workspace::Files task_files() const;
};

/// The full name of an example, also for the short ones that the case studies go by ("conv3d").
/// Errors: bad_input, with what there is.
Result<std::string> example_name(const std::string& name);

/// From the example's own folder for OpenCL, from the folder in it that is named after the backend
/// for others; HIP takes CUDA's where it has none. Errors: bad_input when it has no such version.
Result<Example> find_example(const std::string& name, const std::string& backend);

/// Those of its versions that have a story to replay.
Result<std::vector<Example>> stories_of(const std::string& name);

/// Writes the files whose names start with `prefix` to a folder.
Result<void> write_example(const Example& example, const std::string& prefix,
                           const fs::path& folder);

}  // namespace burnish::loop
