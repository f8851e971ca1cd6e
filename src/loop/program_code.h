#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "isa/isa.h"
#include "workspace/workspace.h"

namespace burnish::loop {

/// The machine code of the kernels of a program that was profiled into a folder.
struct ProgramCode {
  std::string listing;            ///< in the form of llvm-objdump; empty when none was found
  std::vector<std::string> from;  ///< "add_kernel from triton/…/add_kernel.amdgcn"
  std::vector<fs::path> files;    ///< code that the evidence can be joined with
  std::vector<std::string> problems;
};

/// Looks where most is known first: the code objects beside a thread trace, Triton's cache
/// (`folder`/triton), code that was taken out of ncu's report (`folder`/code), the program itself,
/// and, when none of them has a kernel that ran, the listing in the trace (code.json).
ProgramCode find_code(const fs::path& folder, const fs::path& program,
                      const std::function<bool(const isa::Kernel&)>& ran, workspace::World world);

}  // namespace burnish::loop
