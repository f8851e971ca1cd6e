#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace burnish::profile {

/// The line table of a cubin (DWARF 2 to 4, section .debug_line, written with -lineinfo), by symbol
/// of the kernel. Empty when there is none or it cannot be understood: lines only help to point.
std::map<std::string, std::vector<CodeLine>, std::less<>> read_cubin_lines(std::string_view cubin);

}  // namespace burnish::profile
