#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "isa/cubin_object.h"
#include "isa/demangle.h"
#include "isa/fatbin.h"
#include "isa/nvidia.h"
#include "isa/sass_kernel.h"
#include "isa/sass_listing.h"

namespace burnish::isa::nvidia {
namespace {

/// Disassembly with encodings is some seventeen times as large as the code.
constexpr std::uint64_t kDisassemblyLimit = 1u << 30;
constexpr std::string_view kHostMagic =
    "\x7f"
    "ELF\x02\x01";

struct Tool {
  fs::path program;
  std::vector<int> version;
  std::string name;  ///< "nvdisasm 13.0.39"
};

/// "…, release 13.0, V13.0.39" → 13.0.39.
Tool described(const fs::path& program, const char* name, ProcessRunner& runner) {
  Tool tool{program, {}, name};
  ProcessSpec spec;
  spec.argv = {program.string(), "--version"};
  const auto ran = runner.run(spec);
  if (!ran) return tool;
  const std::size_t at = ran->output.find(", V");
  if (at == std::string::npos) return tool;
  const std::size_t start = at + 3;
  const std::size_t end = ran->output.find_first_not_of("0123456789.", start);
  const std::string version = ran->output.substr(start, end - start);
  for (const std::string_view part : split(version, '.')) {
    tool.version.push_back(static_cast<int>(parse_integer(part).value_or(0)));
  }
  tool.name += ' ' + version;
  return tool;
}

/// All programs of that name on PATH and where CUDA is installed, the newest first.
std::vector<Tool> tools(const char* name, ProcessRunner& runner) {
  std::vector<fs::path> folders;
  if (const char* path = std::getenv("PATH")) {
    for (const std::string_view folder : split(path, ':')) {
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable)) folders.push_back(fs::path(root) / "bin");
  }
  folders.emplace_back("/usr/local/cuda/bin");
  std::vector<fs::path> found;
  std::vector<Tool> result;
  for (const fs::path& folder : folders) {
    const auto program = find_program({(folder / name).string()});
    std::error_code ignored;
    if (!program || !fs::is_regular_file(*program, ignored)) continue;
    const fs::path real = fs::weakly_canonical(*program, ignored);
    if (std::find(found.begin(), found.end(), real) != found.end()) continue;
    found.push_back(real);
    result.push_back(described(*program, name, runner));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Tool& a, const Tool& b) { return a.version > b.version; });
  return result;
}

struct Disassembly {
  std::string text;
  std::string tool;
};

/// Errors: no program, or none that knows the architecture.
Result<Disassembly> disassemble(std::string_view bytes, int sm, ProcessRunner& runner) {
  const std::vector<Tool> nvdisasm = tools("nvdisasm", runner);
  const std::vector<Tool> cuobjdump = tools("cuobjdump", runner);
  if (nvdisasm.empty() && cuobjdump.empty()) {
    return environment_error(
               "neither nvdisasm nor cuobjdump was found, so the code is not disassembled")
        .with_hint(
            "put nvdisasm of the CUDA toolkit, or of the package nvidia-cuda-nvdisasm, on "
            "PATH");
  }
  BURNISH_TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make());
  const fs::path object = folder.path() / "object.cubin";
  BURNISH_TRY(real_file_system().write(object, bytes));
  std::string failures;
  const auto attempt = [&](const Tool& tool,
                           const std::vector<std::string>& options) -> std::optional<Disassembly> {
    ProcessSpec spec;
    spec.argv = {tool.program.string()};
    spec.argv.insert(spec.argv.end(), options.begin(), options.end());
    spec.argv.push_back(object.string());
    spec.output_limit = kDisassemblyLimit;
    spec.deadline = std::chrono::minutes(5);
    auto ran = runner.run(spec);
    if (ran && ran->ok() && is_sass(ran->output)) {
      return Disassembly{std::move(ran->output), tool.name};
    }
    const std::string words = ran ? ran->errors + ran->output : ran.error().message;
    const std::string_view first = trim(std::string_view(words).substr(0, words.find('\n')));
    failures += fmt::format("; {}: {}", tool.program.string(),
                            first.empty() && ran ? ran->describe() : std::string(first));
    return {};
  };
  for (const Tool& tool : nvdisasm) {
    if (auto done = attempt(tool, {"-c", "-hex", "-gi"})) return std::move(*done);
    // Line tables that it cannot read are no reason to go without the code.
    if (auto done = attempt(tool, {"-c", "-hex"})) return std::move(*done);
  }
  for (const Tool& tool : cuobjdump) {
    if (auto done = attempt(tool, {"-sass"})) return std::move(*done);
  }
  return environment_error(fmt::format("no disassembler here reads code for sm_{}{}", sm, failures))
      .with_hint("CUDA 12.9 is the last toolkit for sm_50 to sm_72; newer GPUs need newer ones");
}

/// Reads one cubin into `reading`. `entry` names it inside a fat binary.
Result<void> read_object(std::string_view bytes, const std::string& file, const std::string& entry,
                         ProcessRunner& runner, Reading& reading) {
  BURNISH_TRY_ASSIGN(Cubin cubin, read_cubin(bytes, file, entry));
  const std::string prefix = entry.empty() ? std::string() : entry + ": ";
  if (cubin.kernels.empty()) {
    // nvcc puts empty images into every program.
    if (!entry.empty()) return {};
    return bad_input("the cubin holds no kernel").at({file, 0, 0});
  }
  auto disassembly = disassemble(bytes, cubin.sm, runner);
  Listing listing;
  std::unordered_map<std::string_view, const Function*> functions;
  if (disassembly) {
    reading.tool = disassembly->tool;
    BURNISH_TRY(read_listing(disassembly->text, file, listing));
    for (const Function& function : listing.functions) {
      functions.emplace(function.symbol, &function);
    }
  } else {
    reading.warnings.push_back(prefix + disassembly.error().message +
                               "; registers, memory and limits are read all the same");
  }
  for (CubinKernel& from : cubin.kernels) {
    Kernel kernel;
    kernel.symbol = from.symbol;
    kernel.name = demangled(from.symbol);
    kernel.arch = fmt::format("sm_{}{}", cubin.sm, cubin.accelerated ? "a" : "");
    kernel.where.locator = prefix + "kernel " + kernel.name;
    kernel.registers_used = from.registers;
    kernel.shared_bytes = from.shared_bytes;
    kernel.scratch_bytes = from.stack_bytes;
    kernel.workgroup_limit = from.required_threads ? from.required_threads : from.most_threads;
    std::sort(from.arguments.begin(), from.arguments.end(),
              [](const KernelArgument& a, const KernelArgument& b) { return a.offset < b.offset; });
    kernel.arguments = std::move(from.arguments);
    kernel.data = std::move(from.data);
    const auto put = [&](const char* name, const std::optional<std::int64_t>& value) {
      if (value) kernel.extra[name] = static_cast<double>(*value);
    };
    put("isa.constant_bytes", from.constant_bytes);
    put("isa.parameter_bytes", from.parameter_bytes);
    put("isa.named_barriers", from.barriers);
    const auto found = functions.find(from.symbol);
    if (found != functions.end()) {
      // The disassembler knows the exact name, "sm_90a", where the header does not tell it.
      const std::string_view exact = found->second->arch;
      if (sm_number(exact) == cubin.sm) kernel.arch = exact;
      fill_code(kernel, listing, *found->second, from.spills);
    } else if (disassembly) {
      kernel.notes.push_back("the disassembly does not show its code");
    }
    // Without code, what the compiler said of spills is still exact.
    if (kernel.instructions.empty() && from.spills && from.spills->empty()) {
      kernel.spill_loads = kernel.spill_stores = kernel.spill_bytes = 0;
    }
    reading.kernels.push_back(std::move(kernel));
  }
  return {};
}

/// Cubins of fat binaries. One that cannot be read is a warning as long as another can.
Result<Reading> read_fat(std::string_view bytes, const std::string& file, std::string kind,
                         ProcessRunner& runner) {
  BURNISH_TRY_ASSIGN(const auto entries, read_fatbins(bytes, file));
  Reading reading;
  reading.kind = std::move(kind);
  std::optional<Error> failure;
  std::vector<std::string> others;
  int number = 0;
  for (const FatbinEntry& entry : entries) {
    ++number;
    if (entry.kind != FatbinEntry::Kind::cubin) {
      others.push_back(entry.name());
      continue;
    }
    const std::string name = fmt::format("image {}, {}", number, entry.name());
    auto read = [&]() -> Result<void> {
      BURNISH_TRY_ASSIGN(const std::string plain, unpack(entry, file));
      return read_object(plain, file, name, runner, reading);
    }();
    if (read) continue;
    std::string_view why = read.error().message;
    if (why.starts_with(name + ": ")) why.remove_prefix(name.size() + 2);
    reading.warnings.push_back(fmt::format("{} is left out: {}", name, why));
    if (!failure) failure = std::move(read.error());
  }
  const bool no_code = others.size() == entries.size();
  if (!others.empty()) {
    if (others.size() > 8) {
      const std::size_t more = others.size() - 8;
      others.resize(8);
      others.push_back(fmt::format("{} more", more));
    }
    reading.warnings.push_back("not read, since it is no machine code: " + join(others, ", "));
  }
  if (reading.kernels.empty()) {
    if (failure) return std::move(*failure);
    return bad_input(entries.empty() ? "it holds no code for NVIDIA GPUs"
                     : no_code
                         ? "it holds no machine code for NVIDIA GPUs, only " + join(others, ", ")
                         : "its images for NVIDIA GPUs hold no kernel")
        .at({file, 0, 0})
        .with_hint("compile for the architecture of a GPU, for example with -arch=native");
  }
  return reading;
}

/// The fat binaries inside a host object; empty when there are none.
std::string_view fatbin_section(std::string_view bytes) {
  if (!bytes.starts_with(kHostMagic) || is_cubin(bytes)) return {};
  const auto sections = elf_sections(bytes, {});
  if (!sections) return {};
  for (const char* name : {".nv_fatbin", "__nv_relfatbin"}) {
    for (const ElfSection& section : *sections) {
      if (section.name == name && !section.bytes.empty()) return section.bytes;
    }
  }
  return {};
}

}  // namespace

bool recognises(std::string_view bytes) {
  if (is_cubin(bytes) || bytes.starts_with(kFatbinMagic)) return true;
  if (bytes.starts_with(kHostMagic)) return !fatbin_section(bytes).empty();
  return is_sass(bytes);
}

Result<Reading> read_text(const fs::path& path, std::string_view text) {
  const std::string file = path.string();
  Listing listing;
  BURNISH_TRY(read_listing(text, file, listing));
  if (listing.functions.empty()) {
    return bad_input("the text holds no SASS instruction")
        .at({file, 0, 0})
        .with_hint("write it with cuobjdump -sass or nvdisasm -c -hex -gi");
  }
  Reading reading;
  reading.kind = "sass-text";
  std::size_t others = 0;
  bool nameless = false;
  for (const Function& function : listing.functions) {
    if (listing.names_entries && !function.entry) {
      ++others;
      continue;
    }
    Kernel kernel;
    kernel.symbol = function.symbol;
    kernel.name = kernel.symbol.empty() ? "code" : demangled(kernel.symbol);
    kernel.arch = function.arch;
    nameless = nameless || function.arch.empty();
    kernel.registers_used = function.registers;
    kernel.where.locator = fmt::format("kernel {}, line {}", kernel.name, function.line);
    std::optional<SpillAddresses> told;
    if (listing.marks_spills) {
      told.emplace();
      for (std::size_t i = function.begin; i < function.end; ++i) {
        if (listing.lines[i].spill_marked) told->insert(listing.lines[i].address);
      }
    }
    fill_code(kernel, listing, function, told);
    reading.kernels.push_back(std::move(kernel));
  }
  if (nameless) reading.warnings.push_back("the text does not name its architecture");
  if (others > 0) {
    reading.warnings.push_back(fmt::format("{} function{} that no host launches {} left out",
                                           others, others == 1 ? "" : "s",
                                           others == 1 ? "is" : "are"));
  }
  const bool encoded = std::any_of(listing.lines.begin(), listing.lines.end(),
                                   [](const Line& line) { return line.control.has_value(); });
  if (!encoded) {
    reading.warnings.push_back(
        "the text holds no encodings, so stalls and waits are not known (nvdisasm -hex prints "
        "them)");
  }
  return reading;
}

Result<Reading> read(const fs::path& path, std::string_view bytes, ProcessRunner& runner) {
  const std::string file = path.string();
  if (is_cubin(bytes)) {
    Reading reading;
    reading.kind = "cubin";
    BURNISH_TRY(read_object(bytes, file, {}, runner, reading));
    return reading;
  }
  if (bytes.starts_with(kFatbinMagic)) return read_fat(bytes, file, "fatbin", runner);
  if (bytes.starts_with(kHostMagic)) {
    return read_fat(fatbin_section(bytes), file, "host-fatbin", runner);
  }
  return read_text(path, bytes);
}

}  // namespace burnish::isa::nvidia
