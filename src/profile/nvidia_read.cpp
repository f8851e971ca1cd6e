#include <cstddef>

#include "base/error.h"
#include "profile/ncu_csv.h"
#include "profile/ncu_report.h"
#include "profile/ncu_text.h"
#include "profile/nvidia.h"
#include "profile/ptxas.h"

namespace burnish::profile::nvidia {
namespace {

/// What tells a file's kind; a trace of another vendor may be one line of a gigabyte.
std::string_view start_of(std::string_view bytes) { return bytes.substr(0, std::size_t{2} << 20); }

}  // namespace

bool recognises(std::string_view bytes) {
  bytes = start_of(bytes);
  return is_report(bytes) || is_csv(bytes) || is_text_page(bytes) || is_resource_usage(bytes);
}

Result<Reading> read(std::string_view bytes, const fs::path& name) {
  const std::string_view start = start_of(bytes);
  if (is_report(start)) return read_report(bytes, name);
  if (is_csv(start)) return read_csv(bytes, name);
  if (is_text_page(start)) return read_text_page(bytes, name);
  if (is_resource_usage(start)) return read_resource_usage(bytes, name);
  return bad_input("no artefact of Nsight Compute, ptxas or cuobjdump").at({name.string()});
}

}  // namespace burnish::profile::nvidia
