#include "base/error.h"
#include "profile/ncu_csv.h"
#include "profile/ncu_report.h"
#include "profile/ncu_text.h"
#include "profile/nvidia.h"
#include "profile/ptxas.h"

namespace burnish::profile::nvidia {

bool recognises(std::string_view bytes) {
  return is_report(bytes) || is_csv(bytes) || is_text_page(bytes) || is_resource_usage(bytes);
}

Result<Reading> read(std::string_view bytes, const fs::path& name) {
  if (is_report(bytes)) return read_report(bytes, name);
  if (is_csv(bytes)) return read_csv(bytes, name);
  if (is_text_page(bytes)) return read_text_page(bytes, name);
  if (is_resource_usage(bytes)) return read_resource_usage(bytes, name);
  return bad_input("no artefact of Nsight Compute, ptxas or cuobjdump").at({name.string()});
}

}  // namespace burnish::profile::nvidia
