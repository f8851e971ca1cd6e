#include "loop/program_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "evidence/names.h"

namespace burnish::loop {
namespace {

constexpr std::uintmax_t kLargestCode = std::uintmax_t{512} << 20;
/// Of a trace's code.json, which is parsed as a whole.
constexpr std::uintmax_t kLargestListing = std::uintmax_t{64} << 20;
constexpr std::size_t kMostFiles = 10'000;

/// A disassembly in the form of llvm-objdump, which `burnish isa` reads again.
std::string listing_of(const isa::Kernel& kernel, const std::string& from) {
  std::string out = fmt::format("; {}, {}, from {}\n", kernel.name, kernel.arch, from);
  const std::uint64_t begin = kernel.instructions.front().address;
  out += fmt::format("{:016x} <{}>:\n", begin, kernel.symbol);
  std::string last;
  for (const auto& instruction : kernel.instructions) {
    if (instruction.source_line > 0) {
      const std::string place =
          fmt::format("{}:{}", instruction.source_file, instruction.source_line);
      if (place != last) out += "; " + place + "\n";
      last = place;
    }
    out += fmt::format("\t{:<60} // {:012X}:\n", instruction.text, instruction.address);
  }
  return out + "\n";
}

/// The same from a decoded trace's code.json, whose rows are instruction, _, line, source, code
/// object, address, …; a row "; name" starts a kernel.
Result<std::string> listing_of_trace(const fs::path& file, FileSystem& files,
                                     std::vector<std::string>& kernels) {
  BURNISH_TRY_ASSIGN(const std::string text, files.read(file, kLargestListing));
  BURNISH_TRY_ASSIGN(const Json json, parse_json(text, file.string()));
  const auto code = json.find("code");
  if (code == json.end() || !code->is_array())
    return bad_input("the trace was not decoded: it has no code").at({file.string(), 0, 0});
  std::string out, last;
  for (const Json& row : *code) {
    if (!row.is_array() || row.size() < 6 || !row[0].is_string() || !row[5].is_number_integer())
      continue;
    const std::string instruction = row[0].get<std::string>();
    const auto address = row[5].get<std::int64_t>();
    if (instruction.starts_with(";")) {
      kernels.emplace_back(trim(std::string_view(instruction).substr(1)));
      out += fmt::format("\n; {}, from {}\n{:016x} <{}>:\n", kernels.back(),
                         file.filename().string(), address, kernels.back());
      continue;
    }
    const std::string place = row[3].is_string() ? row[3].get<std::string>() : "";
    if (!place.empty() && place != last) out += "; " + place + "\n";
    last = place;
    out += fmt::format("\t{:<60} // {:012X}:\n", instruction, address);
  }
  return out;
}

/// Files below a folder whose names end so, the deepest last.
std::vector<fs::path> files_below(const fs::path& folder, const std::vector<std::string>& endings) {
  std::vector<fs::path> found;
  std::error_code failed;
  std::size_t seen = 0;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (++seen > kMostFiles) break;
    const std::string name = at->path().filename().string();
    const bool fits = std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
      return name.ends_with(ending);
    });
    std::error_code ignored;
    if (fits && at->is_regular_file(ignored)) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void read_objects(const std::vector<fs::path>& sources, const fs::path& folder,
                  const std::function<bool(const isa::Kernel&)>& ran, workspace::World& world,
                  ProgramCode& code) {
  std::set<std::string> covered;
  for (const auto& source : sources) {
    std::error_code failed;
    const auto size = fs::file_size(source, failed);
    if (failed || size > kLargestCode) continue;
    const auto bytes = world.files.read(source, kLargestCode);
    if (!bytes || !isa::recognises_code(*bytes)) continue;
    const auto reading = isa::read_code(source, world.processes);
    const std::string from = source.lexically_proximate(folder).string();
    if (!reading) {
      code.problems.push_back(from + ": " + reading.error().message);
      continue;
    }
    bool used = false;
    for (const auto& kernel : reading->kernels) {
      if (!ran(kernel)) continue;
      used = true;
      if (kernel.instructions.empty()) {  // its resources are worth having all the same
        for (const auto& warning : reading->warnings) code.problems.push_back(warning);
        continue;
      }
      if (!covered.insert(evidence::plain_name(kernel.name)).second) continue;
      code.listing +=
          listing_of(kernel, reading->tool.empty() ? from : from + " by " + reading->tool);
      code.from.push_back(kernel.name + " from " + from);
    }
    if (used) code.files.push_back(source);
  }
}

}  // namespace

ProgramCode find_code(const fs::path& folder, const fs::path& program,
                      const std::function<bool(const isa::Kernel&)>& ran, workspace::World world) {
  std::vector<fs::path> sources = files_below(folder / "att", {".out"});
  for (auto& file : files_below(folder / "triton", {".amdgcn", ".cubin"}))
    sources.push_back(std::move(file));
  for (auto& file : files_below(folder / "code", {".cubin"})) sources.push_back(std::move(file));
  // A script may well hold words of assembly.
  const auto head = MappedFile::open(program);
  if (head && head->bytes().starts_with("\x7f"
                                        "ELF"))
    sources.push_back(program);
  ProgramCode code;
  read_objects(sources, folder, ran, world, code);
  if (!code.listing.empty()) return code;
  for (const auto& file : files_below(folder / "att", {"code.json"})) {
    std::vector<std::string> kernels;
    const auto listing = listing_of_trace(file, world.files, kernels);
    if (!listing) {
      code.problems.push_back(listing.error().to_string());
      continue;
    }
    code.listing += *listing;
    for (const auto& kernel : kernels)
      code.from.push_back(kernel + " from " + file.lexically_proximate(folder).string());
  }
  return code;
}

}  // namespace burnish::loop
