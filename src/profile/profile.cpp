#include "profile/profile.h"

#include <fmt/format.h>

#include <system_error>

#include "base/text.h"
#include "profile/amd.h"
#include "profile/nvidia.h"

namespace burnish::profile {
namespace {

bool is_utf16(std::string_view bytes) {
  return bytes.substr(0, 2) == "\xFF\xFE" || bytes.substr(0, 2) == "\xFE\xFF";
}

Error unknown(const fs::path& path) {
  return bad_input("not a profiler artefact that burnish reads")
      .at({path.string()})
      .with_hint(
          "it reads reports, CSV and text of Nsight Compute (.ncu-rep), ptxas -v and cuobjdump "
          "--dump-resource-usage output, and what rocprofv3, rocpd and rocprof-compute write");
}

}  // namespace

std::optional<Error> known_trouble(std::string_view bytes, const fs::path& name) {
  if (is_utf16(bytes)) {
    return bad_input("the text is UTF-16, as PowerShell's \">\" writes it")
        .at({name.string()})
        .with_hint("convert it to UTF-8, or export with --log-file");
  }
  if (const std::size_t at = bytes.substr(0, 1 << 20).find("==ERROR==");
      at != std::string_view::npos) {
    return bad_input(fmt::format("the profiler failed: {}",
                                 to_valid_utf8(split_lines(bytes.substr(at, 1000))[0])))
        .at({name.string()});
  }
  return std::nullopt;
}

Result<Reading> read_bytes(std::string_view bytes, const fs::path& name) {
  if (bytes.empty()) {
    return bad_input("the file is empty").at({name.string()}).with_hint("profile again");
  }
  if (!is_utf16(bytes)) {
    if (nvidia::recognises(bytes)) return nvidia::read(bytes, name);
    if (amd::recognises(bytes)) return amd::read(bytes, name);
  }
  if (auto trouble = known_trouble(bytes, name)) return std::move(*trouble);
  return unknown(name);
}

Result<Reading> read_profile(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return amd::recognises(path) ? amd::read(path) : unknown(path);
  }
  BURNISH_TRY_ASSIGN(const MappedFile file, MappedFile::open(path));
  if (!is_utf16(file.bytes()) && !nvidia::recognises(file.bytes()) && amd::recognises(path)) {
    return amd::read(path);
  }
  return read_bytes(file.bytes(), path);
}

bool recognises_profile(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return amd::recognises(path);
  if (!fs::is_regular_file(path, error)) return false;
  const auto file = MappedFile::open(path);
  return file && (nvidia::recognises(file->bytes()) || amd::recognises(path));
}

}  // namespace burnish::profile
