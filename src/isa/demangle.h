#pragma once

#include <string>

namespace burnish::isa {

/// "_Z5saxpyfPKfPf" → "saxpy(float, float const*, float*)"; other names as they are.
std::string demangled(const std::string& symbol);

}  // namespace burnish::isa
