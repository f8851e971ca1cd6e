#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "isa/amd.h"
#include "isa/amd_kernel.h"
#include "isa/amd_listing.h"
#include "isa/amd_object.h"
#include "isa/demangle.h"

namespace burnish::isa::amd {
namespace {

constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";
constexpr std::size_t kMachineOffset = 18;
constexpr unsigned char kMachineAmdGpu = 224;
/// Text is told by what its first lines hold; what comes later cannot change the answer.
constexpr std::size_t kTextProbe = 64u << 10;
/// Disassembly is some seven times as large as the code.
constexpr std::uint64_t kDisassemblyLimit = 1u << 30;
constexpr int kNewestLlvm = 40;
constexpr int kOldestLlvm = 11;

bool is_gpu_elf(std::string_view bytes) {
  return bytes.starts_with(kElfMagic) && bytes.size() > kMachineOffset + 1 &&
         static_cast<unsigned char>(bytes[kMachineOffset]) == kMachineAmdGpu &&
         bytes[kMachineOffset + 1] == 0;
}

bool is_bundle(std::string_view bytes) {
  return bytes.starts_with(kBundleMagic) || bytes.starts_with(kCompressedBundleMagic);
}

/// Programs that may disassemble, the newest first; ROCm's own before an unnumbered one.
std::vector<fs::path> disassemblers() {
  std::vector<fs::path> found;
  const auto add = [&](const std::vector<std::string>& names, const std::vector<fs::path>& extra) {
    auto program = find_program(names, extra);
    if (program && std::find(found.begin(), found.end(), *program) == found.end()) {
      found.push_back(std::move(*program));
    }
  };
  for (int version = kNewestLlvm; version >= kOldestLlvm; --version) {
    add({fmt::format("llvm-objdump-{}", version)}, {});
  }
  if (auto rocm = fs::path("/opt/rocm/llvm/bin/llvm-objdump"); fs::exists(rocm)) {
    found.push_back(std::move(rocm));
  }
  add({"llvm-objdump"}, {});
  return found;
}

struct Disassembly {
  std::string text;
  std::string tool;
};

/// "Debian LLVM version 22.1.8" → "22.1.8".
std::string version_of(const fs::path& program, ProcessRunner& runner) {
  ProcessSpec spec;
  spec.argv = {program.string(), "--version"};
  auto ran = runner.run(spec);
  if (!ran) return {};
  const std::size_t at = ran->output.find("LLVM version ");
  if (at == std::string::npos) return {};
  const std::size_t start = at + std::string_view("LLVM version ").size();
  return ran->output.substr(start, ran->output.find_first_of(" \n", start) - start);
}

/// Errors: no program, or none that knows the target.
Result<Disassembly> disassemble(std::string_view bytes, const std::string& processor,
                                ProcessRunner& runner) {
  const auto programs = disassemblers();
  if (programs.empty()) {
    return environment_error("no llvm-objdump was found, so the code is not disassembled")
        .with_hint("install LLVM 22 or newer, or ROCm, for llvm-objdump");
  }
  BURNISH_TRY_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  const fs::path object = folder.path() / "object.co";
  BURNISH_TRY(real_file_system().write(object, bytes));
  std::string failures;
  for (const fs::path& program : programs) {
    ProcessSpec spec;
    spec.argv = {program.string(), "-d", "-l"};
    if (!processor.empty()) spec.argv.push_back("--mcpu=" + processor);
    spec.argv.push_back(object.string());
    spec.output_limit = kDisassemblyLimit;
    spec.deadline = std::chrono::minutes(5);
    auto ran = runner.run(spec);
    if (!ran) return std::move(ran.error());
    // An LLVM that does not know the processor says so, and then decodes as for another one.
    const bool known = ran->errors.find("not a recognized processor") == std::string::npos &&
                       ran->errors.find("can't find target") == std::string::npos;
    if (ran->ok() && known && ran->output.find("Disassembly of section") != std::string::npos) {
      std::string tool = "llvm-objdump";
      if (const std::string version = version_of(program, runner); !version.empty()) {
        tool += ' ' + version;
      }
      return Disassembly{std::move(ran->output), std::move(tool)};
    }
    const std::string_view first =
        trim(std::string_view(ran->errors).substr(0, ran->errors.find('\n')));
    failures += fmt::format("; {}: {}", program.string(),
                            first.empty() ? ran->describe() : std::string(first));
  }
  return environment_error(fmt::format("no llvm-objdump here disassembles {}{}",
                                       processor.empty() ? "this object" : processor, failures))
      .with_hint("install a newer LLVM, or ROCm, for llvm-objdump");
}

std::optional<std::int64_t> constant(const CodeObject& object, const std::string& name) {
  const auto found = object.constants.find(name);
  return found == object.constants.end() ? std::nullopt : std::optional(found->second);
}

/// Reads one ELF object into `reading`. `entry` names it inside a bundle.
Result<void> read_object(std::string_view bytes, const std::string& file, const std::string& entry,
                         ProcessRunner& runner, Reading& reading) {
  BURNISH_TRY_ASSIGN(const CodeObject object, read_code_object(bytes, file));
  const std::string prefix = entry.empty() ? std::string() : entry + ": ";
  for (const std::string& warning : object.warnings) reading.warnings.push_back(prefix + warning);
  const Target target = target_of(object.processor);

  std::vector<std::string> names;
  std::unordered_map<std::string, const KernelMetadata*> described;
  for (const KernelMetadata& metadata : object.metadata.kernels) {
    // The descriptor's symbol names the code; a source-level name need not.
    std::string name = metadata.symbol.ends_with(".kd")
                           ? metadata.symbol.substr(0, metadata.symbol.size() - 3)
                           : metadata.name;
    if (name.empty() || !described.emplace(name, &metadata).second) continue;
    names.push_back(std::move(name));
  }
  for (const auto& [name, descriptor] : object.descriptors) {
    if (!described.contains(name)) names.push_back(name);
  }
  if (names.empty()) return bad_input(prefix + "the code object holds no kernels").at({file, 0, 0});

  auto disassembly = disassemble(bytes, object.processor, runner);
  Listing listing;
  std::unordered_map<std::string_view, Function> functions;
  if (disassembly) {
    reading.tool = disassembly->tool;
    BURNISH_TRY(read_listing(disassembly->text, file, listing));
    std::unordered_set<std::string_view> known(object.functions.begin(), object.functions.end());
    known.insert(names.begin(), names.end());
    for (const Function& function : functions_of(listing, known)) {
      functions.emplace(function.name, function);
    }
  } else {
    reading.warnings.push_back(prefix + disassembly.error().message +
                               "; registers, memory and limits are read all the same");
  }

  for (const std::string& name : names) {
    Kernel kernel;
    kernel.symbol = name;
    kernel.name = demangled(name);
    kernel.arch = object.processor;
    kernel.where.locator = prefix + "kernel " + kernel.name;
    Declared declared;
    declared.source = "the kernel descriptor";
    const auto metadata = described.find(name);
    if (metadata != described.end()) declared.metadata = metadata->second;
    declared.used_vgprs = constant(object, name + ".num_vgpr");
    if (target.accumulators) declared.used_agprs = constant(object, name + ".num_agpr");
    if (const auto found = object.descriptors.find(name); found != object.descriptors.end()) {
      const KernelDescriptor& descriptor = found->second;
      declared.shared_bytes = descriptor.shared_bytes;
      declared.scratch_bytes = descriptor.scratch_bytes;
      declared.wave_size = target.generation >= 10 && descriptor.wave32 ? 32 : 64;
      declared.allocated_vgprs =
          (std::int64_t{descriptor.vgpr_steps} + 1) * allocation_step(target, *declared.wave_size);
      if (target.unified_file) declared.accum_offset = descriptor.accum_offset;
    }
    fill_resources(kernel, target, declared);
    if (const auto found = functions.find(name); found != functions.end()) {
      fill_code(kernel, target, declared, listing, found->second);
    } else if (disassembly) {
      kernel.notes.push_back("the disassembly does not show its code");
    }
    reading.kernels.push_back(std::move(kernel));
  }
  return {};
}

/// Reads the objects of one bundle. One that cannot be read is a warning as long as another can.
Result<void> read_entries(const Bundle& bundle, const std::string& file, ProcessRunner& runner,
                          Reading& reading, std::optional<Error>& failure) {
  for (const BundleEntry& entry : bundle.entries) {
    auto read = read_object(entry.bytes, file, entry.id, runner, reading);
    if (read) continue;
    reading.warnings.push_back(fmt::format("{} is left out: {}", entry.id, read.error().message));
    if (!failure) failure = std::move(read.error());
  }
  return {};
}

Result<Reading> read_bundles(std::string_view bytes, const std::string& file, std::string kind,
                             ProcessRunner& runner) {
  Reading reading;
  reading.kind = std::move(kind);
  std::optional<Error> failure;
  int bundles = 0;
  // Linked programs hold one bundle for each translation unit, with zeros between.
  while (!bytes.empty()) {
    if (!is_bundle(bytes)) {
      const std::size_t next =
          std::min(bytes.find(kBundleMagic), bytes.find(kCompressedBundleMagic));
      if (next == std::string_view::npos) break;
      bytes.remove_prefix(next);
    }
    std::size_t size = 0;
    if (bytes.starts_with(kBundleMagic)) {
      BURNISH_TRY_ASSIGN(const Bundle bundle, read_bundle(bytes, file));
      BURNISH_TRY(read_entries(bundle, file, runner, reading, failure));
      size = bundle.size;
    } else {
      auto plain = inflate_bundle(bytes, file, size);
      // Four letters may stand anywhere between bundles.
      if (!plain && bundles > 0) break;
      if (!plain) return std::move(plain.error());
      if (!plain->starts_with(kBundleMagic)) {
        return bad_input("the compressed offload bundle holds no bundle").at({file, 0, 0});
      }
      BURNISH_TRY_ASSIGN(const Bundle bundle, read_bundle(*plain, file));
      BURNISH_TRY(read_entries(bundle, file, runner, reading, failure));
    }
    ++bundles;
    bytes.remove_prefix(std::min(std::max<std::size_t>(size, 1), bytes.size()));
  }
  if (reading.kernels.empty()) {
    if (failure) return std::move(*failure);
    return bad_input("it holds no code for AMD GPUs").at({file, 0, 0});
  }
  return reading;
}

Declared declared_in(const Listing& listing, std::string_view name, const Target& target) {
  Declared declared;
  declared.source = ".amdhsa_kernel";
  const auto in = [&](const auto& tables, std::string_view key) -> std::optional<std::int64_t> {
    const auto table = tables.find(name);
    if (table == tables.end()) return {};
    const auto found = table->second.find(key);
    if (found == table->second.end()) return {};
    return listing.symbols.evaluate(found->second);
  };
  const auto symbol = [&](const char* what) {
    return listing.symbols.value(std::string(name) + what);
  };
  const auto first = [](std::optional<std::int64_t> one, std::optional<std::int64_t> other) {
    return one ? one : other;
  };
  declared.used_vgprs = first(symbol(".num_vgpr"), in(listing.comments, "NumVgprs"));
  if (target.accumulators) {
    declared.used_agprs = first(symbol(".num_agpr"), in(listing.comments, "NumAgprs"));
  }
  declared.used_sgprs =
      first(in(listing.comments, "TotalNumSgprs"), in(listing.comments, "NumSgprs"));
  declared.next_free_vgpr = in(listing.directives, "next_free_vgpr");
  declared.accum_offset = in(listing.directives, "accum_offset");
  declared.shared_bytes = in(listing.directives, "group_segment_fixed_size");
  declared.scratch_bytes = in(listing.directives, "private_segment_fixed_size");
  if (const auto wave32 = in(listing.directives, "wavefront_size32")) {
    declared.wave_size = *wave32 != 0 ? 32 : 64;
  }
  return declared;
}

Result<Reading> read_text(std::string_view bytes, const std::string& file) {
  Listing listing;
  BURNISH_TRY(read_listing(bytes, file, listing));
  const bool any_known =
      std::any_of(listing.lines.begin(), listing.lines.end(),
                  [](const Line& line) { return line.opcode->instruction_class != "unknown"; });
  if (!any_known && listing.kernels.empty()) {
    return bad_input("the text holds no kernel: no instruction of AMD GPUs and no .amdhsa_kernel")
        .at({file, 0, 0});
  }
  Reading reading;
  const bool assembly = listing.kind == Listing::Kind::assembly;
  reading.kind = assembly ? "amdgcn-assembly" : "amdgcn-disassembly";
  Metadata metadata;
  if (listing.version2) {
    reading.warnings.push_back(
        "it describes its kernels as for code object version 2, which is not read: registers are "
        "counted "
        "from the instructions");
  } else if (!listing.metadata.empty()) {
    BURNISH_TRY_ASSIGN(metadata, metadata_from_yaml(listing.metadata, file, listing.metadata_line));
  }
  if (listing.macros > 0) {
    reading.warnings.push_back(fmt::format(
        "macros, repetitions and conditions are not expanded ({} definitions, {} calls), so "
        "counts are of what is written out; assemble it and give the object instead",
        listing.macros, listing.macro_calls));
  }
  std::string processor = processor_of(listing.target);
  const std::string stated = processor_of(metadata.target);
  if (processor.empty()) processor = stated;
  if (!stated.empty() && stated != processor) {
    reading.warnings.push_back(fmt::format(
        ".amdgcn_target says {}, the metadata {}; the first is believed", processor, stated));
  }
  Target target = target_of(processor);
  if (processor.empty()) {
    target.generation = generation_of(listing);
    reading.warnings.push_back(
        fmt::format("the text does not name its target; its instructions are of generation gfx{}",
                    target.generation));
  }

  std::unordered_map<std::string_view, const KernelMetadata*> described;
  for (const KernelMetadata& each : metadata.kernels) described.emplace(each.name, &each);
  for (const KernelMetadata& each : metadata.kernels) {
    if (each.symbol.ends_with(".kd")) {
      described.emplace(std::string_view(each.symbol).substr(0, each.symbol.size() - 3), &each);
    }
  }
  std::unordered_set<std::string_view> kernels(listing.kernels.begin(), listing.kernels.end());
  if (kernels.empty()) {
    for (const auto& [name, each] : described) kernels.insert(name);
  }
  std::unordered_set<std::string_view> known = listing.functions;
  if (!listing.kernels.empty() || !known.empty()) known.insert(kernels.begin(), kernels.end());
  std::size_t others = 0;
  std::unordered_set<std::string_view> found;
  for (const Function& function : functions_of(listing, known)) {
    if (!kernels.empty() && !kernels.contains(function.name)) {
      ++others;
      continue;
    }
    Kernel kernel;
    kernel.symbol =
        function.name.empty() ? fs::path(file).stem().string() : std::string(function.name);
    kernel.name = demangled(kernel.symbol);
    kernel.arch = processor;
    kernel.where.locator =
        fmt::format("kernel {} from line {}", kernel.name, listing.lines[function.begin].number);
    found.insert(function.name);
    Declared declared = declared_in(listing, function.name, target);
    if (const auto each = described.find(function.name); each != described.end()) {
      declared.metadata = each->second;
    }
    fill_resources(kernel, target, declared);
    fill_code(kernel, target, declared, listing, function);
    reading.kernels.push_back(std::move(kernel));
  }
  if (others > 0) {
    reading.warnings.push_back(fmt::format("{} function{} that {} no kernel {} not counted", others,
                                           others == 1 ? "" : "s", others == 1 ? "is" : "are",
                                           others == 1 ? "is" : "are"));
  }
  // Resources are worth having even when the code was cut out.
  for (std::string_view name : listing.kernels) {
    if (found.contains(name)) continue;
    Kernel kernel;
    kernel.symbol = name;
    kernel.name = demangled(kernel.symbol);
    kernel.arch = processor;
    kernel.notes.push_back("the text does not show its code");
    Declared declared = declared_in(listing, name, target);
    if (const auto each = described.find(name); each != described.end()) {
      declared.metadata = each->second;
    }
    fill_resources(kernel, target, declared);
    reading.kernels.push_back(std::move(kernel));
  }
  if (reading.kernels.empty()) {
    return bad_input("the text holds no kernel: none of its functions is one").at({file, 0, 0});
  }
  return reading;
}

}  // namespace

bool recognises(std::string_view bytes) {
  if (is_bundle(bytes) || is_gpu_elf(bytes)) return true;
  // The name of a section stands in a host object's string table.
  if (bytes.starts_with(kElfMagic)) return bytes.find(".hip_fatbin") != std::string_view::npos;
  const std::string_view head = bytes.substr(0, kTextProbe);
  for (const char* sign : {".amdgcn_target", ".amdhsa_kernel", "elf64-amdgpu", "amdgcn-amd-amdhsa",
                           ".amdgpu_metadata", "s_endpgm", ".amdgpu_hsa_kernel"}) {
    if (head.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

Result<Reading> read(const fs::path& path, std::string_view bytes, ProcessRunner& runner) {
  const std::string file = path.string();
  if (is_bundle(bytes)) return read_bundles(bytes, file, "offload-bundle", runner);
  if (is_gpu_elf(bytes)) {
    Reading reading;
    reading.kind = "amdgpu-elf";
    BURNISH_TRY(read_object(bytes, file, "", runner, reading));
    return reading;
  }
  if (bytes.starts_with(kElfMagic)) {
    BURNISH_TRY_ASSIGN(const std::string_view section, fat_binary_section(bytes, file));
    if (section.empty()) {
      return bad_input("the host object has no .hip_fatbin section with GPU code").at({file, 0, 0});
    }
    return read_bundles(section, file, "hip-fatbin", runner);
  }
  return read_text(bytes, file);
}

}  // namespace burnish::isa::amd
