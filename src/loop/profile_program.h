#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "loop/loop.h"
#include "loop/rocprofv3.h"

namespace burnish::loop {

/// A program to run under the vendor's profiler, outside any workspace.
struct ProgramProfile {
  enum class Parts { all, counters, trace, code };
  fs::path program;  ///< a Python or shell script, or an executable
  std::vector<std::string> arguments;
  fs::path output;  ///< a new or empty folder, or one that this left earlier
  /// "hip" or "cuda" where both profilers are installed; "hip:1" shows the program that one only.
  std::string device = "auto";
  Parts parts = Parts::all;
  Selection selection;
  std::chrono::milliseconds deadline{600'000};  ///< of each run
};

/// Leaves {att,pmc,kernel.s,evidence.json,summary.txt} on an AMD machine and
/// {profile.ncu-rep,kernel.s,evidence.json,summary.txt} on an NVIDIA one, or what of it could be
/// had; what failed is in the last two, and its files in failed/. Errors: bad_input before anything
/// ran; environment, or timeout, when no run gave a result.
Result<void> profile_program(const ProgramProfile& request, const evidence::Rules& rules,
                             Observer& observer, workspace::World world);

}  // namespace burnish::loop
