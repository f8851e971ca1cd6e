#pragma once

#include <string>
#include <string_view>

namespace burnish::evidence {

/// A kernel's name as the tools write it in a form that can be compared: demangled, without the
/// descriptor's ".kd", a return type, parameters and needless spaces.
std::string plain_name(std::string_view name);

/// The function's own name: plain_name() without namespaces and template arguments.
std::string base_name(std::string_view name);

}  // namespace burnish::evidence
