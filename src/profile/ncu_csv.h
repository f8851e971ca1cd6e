#pragma once

#include <string_view>

#include "profile/profile.h"

namespace burnish::profile::nvidia {

/// The raw, details and summary pages of `ncu --csv`, application output in between or not.
bool is_csv(std::string_view bytes);
Result<Reading> read_csv(std::string_view bytes, const fs::path& name);

}  // namespace burnish::profile::nvidia
