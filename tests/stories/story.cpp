#include "story.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "base/text.h"

namespace burnish::stories {
namespace {

const fs::path kSource = BURNISH_SOURCE_DIR;

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_string());
  return std::move(*result);
}

std::string output_of(const std::vector<std::string>& command) {
  ProcessSpec spec;
  spec.argv = command;
  const auto ran = real_process_runner().run(spec);
  return ran && ran->ok() ? ran->output + ran->errors : "";  // the list of CPUs goes to stderr
}

/// The number in "Debian clang version 22.1.8" or "Debian LLVM version 22.1.8".
int major_of(const std::string& version) {
  constexpr std::string_view kBefore = " version ";
  const auto at = version.find(kBefore);
  return at == std::string::npos ? 0 : std::atoi(version.c_str() + at + kBefore.size());
}

/// The one that the tables in docs/case-studies are made with, or the newest; absent when none
/// knows gfx950.
std::optional<Compiler> find_compiler() {
  std::vector<std::optional<fs::path>> candidates{
      find_program({"clang++-" + std::to_string(kTablesBy)}), find_newest_program("clang++")};
  for (const auto& path : candidates) {
    if (!path) continue;
    const int major = major_of(output_of({path->string(), "--version"}));
    const std::string known =
        output_of({path->string(), "--print-supported-cpus", "--target=amdgcn-amd-amdhsa"});
    if (contains(known, "gfx950")) return Compiler{*path, major};
  }
  return std::nullopt;
}

const std::optional<Compiler>& found() {
  static const std::optional<Compiler> compiler = find_compiler();
  return compiler;
}

}  // namespace

std::string Compiler::missing() {
  if (!found()) return "no clang++ that compiles for gfx950 (LLVM 20 or newer) on PATH";
  const std::string version = std::to_string(found()->major);
  // clang calls lld of its own version; llvm-objdump may be newer.
  if (!find_program({"ld.lld-" + version, "ld.lld", "lld-" + version})) return "no lld on PATH";
  const auto disassembler = find_newest_program("llvm-objdump");
  if (!disassembler || major_of(output_of({disassembler->string(), "--version"})) < 20)
    return "no llvm-objdump that reads gfx950 (LLVM 20 or newer) on PATH";
  return "";
}

const Compiler& Compiler::get() { return *found(); }

double Compiled::metric(const std::string& name) const {
  const auto value = metrics.value(name);
  if (!value) throw std::runtime_error(step + " has no metric " + name);
  return *value;
}

bool Compiled::finds(const std::string& rule) const {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const auto& finding) { return finding.id == rule; });
}

Story Story::read(const std::string& example, const std::string& backend,
                  const workspace::Configuration& values) {
  const auto files = or_throw(loop::find_example(example, backend));
  return Story(or_throw(loop::Story::read(files, values, {})));
}

std::string compile(const fs::path& source, const std::string& arch,
                    const std::vector<std::string>& flags, const fs::path& object) {
  ProcessSpec spec;
  spec.argv = {Compiler::get().path.string(),
               "-x",
               "hip",
               "--cuda-device-only",
               "--no-gpu-bundle-output",
               "--offload-arch=" + arch,
               "-nogpuinc",
               "-nogpulib",
               "-O3",
               "-Wall",
               "-Werror",
               "-I" + (kSource / "data/hip/include").string(),
               source.string(),
               "-o",
               object.string()};
  spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
  const auto ran = real_process_runner().run(spec);
  if (!ran) return ran.error().to_string();
  return ran->ok() ? "" : ran->errors;
}

const Compiled& Story::compiled(const std::string& step, const std::string& arch) {
  const auto known = compiled_.find({step, arch});
  if (known != compiled_.end()) return known->second;
  static const evidence::Rules rules = or_throw(evidence::Rules::load());
  Compiled result{or_throw(story_.compile(step, arch, rules))};
  return compiled_.emplace(std::pair(step, arch), std::move(result)).first->second;
}

std::vector<loop::CompiledStep> Story::all(const std::vector<std::string>& targets) {
  std::vector<loop::CompiledStep> all;
  for (const std::string& step : steps())
    for (const std::string& target : targets) all.push_back(compiled(step, target));
  return all;
}

std::string differs(const fs::path& file, const std::string& name, const std::string& text) {
  const std::string begin = "<!-- begin: " + name + " -->\n", end = "<!-- end: " + name + " -->\n";
  const std::string page = or_throw(real_file_system().read(file));
  const auto first = page.find(begin), last = page.find(end);
  if (first == std::string::npos || last == std::string::npos || last < first)
    return "there is no part \"" + name + "\" in " + file.string();
  const auto start = first + begin.size();
  if (page.substr(start, last - start) == text) return "";
  if (std::getenv("BURNISH_UPDATE") == nullptr)
    return "run this test with BURNISH_UPDATE=1 to write what is so now:\n" + text;
  const auto written =
      real_file_system().write(file, page.substr(0, start) + text + page.substr(last));
  return written ? "" : written.error().to_string();
}

}  // namespace burnish::stories
