#pragma once

namespace burnish::cli {

inline constexpr char kVersion[] = BURNISH_VERSION;

}  // namespace burnish::cli
