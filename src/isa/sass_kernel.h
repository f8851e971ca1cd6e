#pragma once

#include <optional>

#include "isa/isa.h"
#include "isa/sass_listing.h"
#include "isa/sass_local.h"

namespace burnish::isa::nvidia {

/// Fills instructions, loops, counts, waits and the family's further metrics of a kernel whose
/// `arch` and resources are filled already; `told` as in local_accesses().
void fill_code(Kernel& kernel, const Listing& listing, const Function& function,
               const std::optional<SpillAddresses>& told);

}  // namespace burnish::isa::nvidia
