#pragma once

#include <string_view>

#include "profile/profile.h"

namespace burnish::profile::nvidia {

/// What `ncu` prints for people: the details page and the pages of --print-summary.
bool is_text_page(std::string_view bytes);
Result<Reading> read_text_page(std::string_view bytes, const fs::path& name);

}  // namespace burnish::profile::nvidia
