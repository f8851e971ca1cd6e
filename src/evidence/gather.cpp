#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "evidence/evidence.h"
#include "evidence/names.h"
#include "hardware/occupancy.h"
#include "hardware/spec.h"

namespace burnish::evidence {
namespace {

/// One kernel on its way to becoming evidence.
struct Draft {
  KernelEvidence kernel;
  std::string plain, plain_symbol;  ///< names to compare by
  std::string vendor;
  std::map<std::string, std::string> not_measured;
  std::set<std::string> files;                             ///< artefacts that it was read from
  std::vector<std::pair<std::uint64_t, double>> executed;  ///< times, by instruction
};

struct Code {
  isa::Kernel kernel;
  std::string file;
  std::string plain, plain_symbol;
  MetricSet metrics;
  bool embedded = false;  ///< in a profile, with kernels that were perhaps not launched
  bool used = false;
};

std::string vendor_of_artefact(std::string_view kind) {
  if (kind.starts_with("ncu")) return "nvidia";
  if (kind.starts_with("roc") || kind.starts_with("att")) return "amd";
  return {};
}

/// "sm_90a" is sm_90's code; "gfx942:sramecc+" is gfx942's.
bool same_arch(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return true;
  const auto core = [](std::string_view arch) {
    arch = arch.substr(0, arch.find(':'));
    if (arch.starts_with("sm_") && (arch.ends_with('a') || arch.ends_with('f'))) {
      arch.remove_suffix(1);
    }
    return arch;
  };
  return core(a) == core(b);
}

void merge(MetricSet& into, const MetricSet& from) {
  for (const auto& [name, metric] : from.all()) into.add(metric);
}

Metric made(const std::string& name, double value, const std::string& unit, const std::string& file,
            const std::string& how) {
  Metric metric;
  metric.name = name;
  metric.value = value;
  metric.unit = unit;
  metric.where.file = file;
  metric.where.raw_name = how;
  return metric;
}

/// A metric as the occupancy models take it; absent when it is no count that fits.
std::optional<int> small_count(const MetricSet& metrics, const char* name) {
  const auto value = metrics.value(name);
  if (!value || !(*value >= 0) || *value > 1 << 30) return {};
  return static_cast<int>(*value);
}

bool conflict(const profile::Launch& a, const profile::Launch& b) {
  return (a.grid && b.grid && *a.grid != *b.grid) || (a.block && b.block && *a.block != *b.block);
}

class Gatherer {
 public:
  Gatherer(const Rules& rules, ProcessRunner& runner) : rules_(rules), runner_(runner) {}

  Result<void> read(const fs::path& path) {
    if (profile::recognises_profile(path)) {
      BURNISH_TRY_ASSIGN(profile::Reading reading, profile::read_profile(path));
      return take_profile(path, std::move(reading));
    }
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      return bad_input("the folder holds no profile that burnish reads").at({path.string(), 0, 0});
    }
    BURNISH_TRY_ASSIGN(const std::string bytes, real_file_system().read(path));
    if (bytes.empty()) return bad_input("the file is empty").at({path.string(), 0, 0});
    if (!isa::recognises_code(bytes)) {
      if (auto trouble = profile::known_trouble(bytes, path)) return std::move(*trouble);
      return bad_input("the file is neither a profile nor machine code that burnish reads")
          .at({path.string(), 0, 0})
          .with_hint(
              "it reads .ncu-rep, ncu's CSV and text, rocprofv3's CSV, databases and traces, "
              "rocprof-compute's workloads, and code objects, assembly and disassembly");
    }
    BURNISH_TRY_ASSIGN(isa::Reading reading, isa::read_code(path, runner_));
    evidence_.artefacts.push_back({path, reading.kind, reading.tool, "", content_hash(bytes)});
    take_code(path.string(), std::move(reading), false);
    return {};
  }

  Evidence finish() {
    for (Draft& draft : drafts_) join_code(draft);
    for (Code& code : codes_) {
      if (!code.used && !code.embedded) add_code_alone(code);
    }
    number_launches();
    for (Draft& draft : drafts_) complete(draft);
    for (Draft& draft : drafts_) evidence_.kernels.push_back(std::move(draft.kernel));
    return std::move(evidence_);
  }

 private:
  Result<void> take_profile(const fs::path& path, profile::Reading reading) {
    const std::string vendor =
        reading.artefacts.empty() ? "" : vendor_of_artefact(reading.artefacts.front().kind);
    for (auto& artefact : reading.artefacts) evidence_.artefacts.push_back(std::move(artefact));
    for (auto& warning : reading.warnings) evidence_.warnings.push_back(std::move(warning));
    // Launches of one kernel are told apart by their id, or by their order within a file.
    std::map<std::string, int> seen;
    for (profile::KernelProfile& kernel : reading.kernels) {
      const std::string plain = plain_name(kernel.name);
      // A folder holds a thread trace beside the counters of the same kernel.
      const Metric* traced = kernel.metrics.find("trace.cycles");
      const std::string file = traced != nullptr ? traced->where.file : path.string();
      const int ordinal = seen[plain + (traced != nullptr ? "\n" : "")]++;
      if (Draft* known = find_launch(file, kernel, plain, ordinal)) {
        merge(known->kernel.metrics, kernel.metrics);
        fill_gaps(*known, kernel);
        known->files.insert(file);
        continue;
      }
      Draft draft;
      draft.vendor = vendor;
      draft.plain = plain;
      draft.kernel.name = kernel.name;
      draft.kernel.id = kernel.id;
      draft.kernel.metrics = std::move(kernel.metrics);
      fill_gaps(draft, kernel);
      draft.files.insert(file);
      by_ordinal_.emplace(std::pair(plain, ordinal), drafts_.size());
      if (!kernel.id.empty()) by_id_.emplace(std::pair(plain, kernel.id), drafts_.size());
      drafts_.push_back(std::move(draft));
    }
    for (profile::EmbeddedCode& code : reading.code) {
      if (!isa::recognises_code(code.bytes)) continue;
      auto read = read_embedded(path, code);
      if (read) {
        take_code(path.string(), std::move(*read), true);
      } else {
        evidence_.warnings.push_back(fmt::format("{}: the code object {} inside: {}", path.string(),
                                                 code.name, read.error().message));
      }
    }
    return {};
  }

  void fill_gaps(Draft& draft, profile::KernelProfile& kernel) {
    KernelEvidence& to = draft.kernel;
    if (!to.launch.grid) to.launch.grid = kernel.launch.grid;
    if (!to.launch.block) to.launch.block = kernel.launch.block;
    if (!to.launch.shared_bytes) to.launch.shared_bytes = kernel.launch.shared_bytes;
    if (to.device.name.empty()) to.device.name = kernel.device.name;
    if (to.device.arch.empty()) to.device.arch = kernel.device.arch;
    if (draft.plain_symbol.empty()) draft.plain_symbol = plain_name(kernel.symbol);
    for (auto& values : kernel.instances) {
      if (values.metric == "inst_executed" && draft.executed.empty()) {
        draft.executed = std::move(values.by_address);
      }
    }
    for (auto& rule : kernel.vendor_rules) to.vendor_rules.push_back(std::move(rule));
    for (auto& statement : kernel.implausible) to.statements.push_back(std::move(statement));
    draft.not_measured.merge(kernel.not_measured);
  }

  /// The same launch in another artefact: its name and id agree, or, where one side has no ids, its
  /// name and its place in the order of launches; and nothing speaks against it.
  Draft* find_launch(const std::string& file, const profile::KernelProfile& kernel,
                     const std::string& plain, int ordinal) {
    Draft* found = nullptr;
    if (const auto at = by_id_.find({plain, kernel.id}); at != by_id_.end()) {
      found = &drafts_[at->second];
    } else if (const auto place = by_ordinal_.find({plain, ordinal}); place != by_ordinal_.end()) {
      found = &drafts_[place->second];
      if (!found->kernel.id.empty() && !kernel.id.empty()) return nullptr;
    }
    if (found == nullptr || found->files.count(file) > 0) return nullptr;
    if (conflict(found->kernel.launch, kernel.launch)) return nullptr;
    return same_arch(found->kernel.device.arch, kernel.device.arch) ? found : nullptr;
  }

  Result<isa::Reading> read_embedded(const fs::path& path, const profile::EmbeddedCode& code) {
    BURNISH_TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make("burnish-code"));
    const fs::path file = folder.path() / "object";
    BURNISH_TRY(real_file_system().write(file, code.bytes));
    BURNISH_TRY_ASSIGN(isa::Reading reading, isa::read_code(file, runner_));
    for (isa::Kernel& kernel : reading.kernels) kernel.where.file = path.string();
    for (std::string& warning : reading.warnings) {
      warning =
          replace_all(std::move(warning), file.string(), path.string() + " (" + code.name + ")");
    }
    return reading;
  }

  void take_code(const std::string& file, isa::Reading reading, bool embedded) {
    for (std::string& warning : reading.warnings) evidence_.warnings.push_back(std::move(warning));
    for (isa::Kernel& kernel : reading.kernels) {
      Code code;
      code.file = file;
      code.plain = plain_name(kernel.name);
      code.plain_symbol = plain_name(kernel.symbol);
      code.metrics = isa::metrics(kernel);
      code.embedded = embedded;
      code.kernel = std::move(kernel);
      codes_.push_back(std::move(code));
    }
  }

  void join_code(Draft& draft) {
    const KernelEvidence& kernel = draft.kernel;
    std::vector<Code*> fits;
    bool other_arch = false;
    const auto collect = [&](const auto& matches) {
      for (Code& code : codes_) {
        if (!matches(code)) continue;
        const std::string& vendor = code.kernel.vendor;
        const bool foreign = !vendor.empty() && !draft.vendor.empty() && vendor != draft.vendor;
        if (!foreign && same_arch(kernel.device.arch, code.kernel.arch)) {
          fits.push_back(&code);
        } else {
          other_arch = true;
        }
      }
    };
    collect([&](const Code& code) {
      return code.plain == draft.plain || code.plain_symbol == draft.plain ||
             (!draft.plain_symbol.empty() && code.plain_symbol == draft.plain_symbol);
    });
    // Profilers can be told to print the function's own name only.
    if (fits.empty() && kernel.name.find('<') == std::string::npos) {
      const std::string own = base_name(kernel.name);
      collect([&](const Code& code) { return base_name(code.kernel.name) == own; });
      if (fits.size() > 1) fits.clear();
    }
    if (fits.empty()) {
      if (other_arch) {
        evidence_.warnings.push_back(
            fmt::format("{}: the code given is for another architecture "
                        "than {}",
                        kernel.name, kernel.device.arch));
      }
      return;
    }
    for (Code* code : fits) code->used = true;
    if (fits.size() > 1) {
      fits = narrowed(fits, kernel);
      if (fits.size() > 1) {
        evidence_.warnings.push_back(
            fmt::format("{}: {} codes have this name; none is used", kernel.name, fits.size()));
        return;
      }
    }
    add_code(draft, *fits.front());
  }

  /// PoCL compiles a kernel anew for each work-group size and writes the size into the path.
  static std::vector<Code*> narrowed(std::vector<Code*> fits, const KernelEvidence& kernel) {
    // What was given goes before what a profile holds.
    if (std::any_of(fits.begin(), fits.end(), [](const Code* code) { return !code->embedded; })) {
      std::erase_if(fits, [](const Code* code) { return code->embedded; });
    }
    if (kernel.launch.block) {
      const auto& block = *kernel.launch.block;
      const std::string part = fmt::format("/{}-{}-{}-", block[0], block[1], block[2]);
      std::vector<Code*> sized;
      for (Code* code : fits) {
        if (contains(code->file, part)) sized.push_back(code);
      }
      if (!sized.empty()) fits = std::move(sized);
    }
    // The same code twice is no choice.
    const bool same = std::all_of(fits.begin(), fits.end(), [&](const Code* code) {
      return code->kernel.where.hash == fits.front()->kernel.where.hash &&
             code->kernel.symbol == fits.front()->kernel.symbol;
    });
    if (same) fits.resize(1);
    return fits;
  }

  static void add_code(Draft& draft, Code& code) {
    if (code.kernel.arch.starts_with("sm_") && !draft.executed.empty()) {
      isa::choose_hot_loop(code.kernel, draft.executed);
      code.metrics = isa::metrics(code.kernel);
    }
    const bool calls = code.metrics.value("isa.call").value_or(0) > 0;
    for (const auto& [name, metric] : code.metrics.all()) {
      // A profile counts executions, code counts instructions; and a launch has the registers that
      // called functions need as well.
      const bool other = name.starts_with("spill.") || (calls && name == "registers.used");
      if (other && draft.kernel.metrics.find(name)) continue;
      draft.kernel.metrics.add(metric);
    }
    add_places(draft, code.kernel);
    if (draft.kernel.device.arch.empty()) draft.kernel.device.arch = code.kernel.arch;
    for (const std::string& note : code.kernel.notes) {
      draft.kernel.statements.push_back("code: " + note);
    }
  }

  /// What the profile points at by address, in the words of the code.
  static void add_places(Draft& draft, const isa::Kernel& code) {
    constexpr std::string_view kOffset = "+0x";
    const Metric* stall = draft.kernel.metrics.find("hotspot.stall");
    MetricSet with_lines;
    for (auto [name, metric] : draft.kernel.metrics.all()) {
      // Without line information a place is an offset.
      if (name.starts_with("hotspot.") && metric.text.starts_with(kOffset)) {
        if (const isa::Instruction* at = instruction_at(code, metric.text);
            at != nullptr && at->source_line > 0) {
          metric.text = fmt::format("{} ({})", at->source_place(), metric.text);
        }
      }
      with_lines.add(std::move(metric));
    }
    if (stall != nullptr) {
      const isa::Instruction* at = instruction_at(code, stall->text);
      if (at != nullptr && !at->waits_for.empty()) {
        std::vector<std::string> producers;
        for (const int index : at->waits_for) {
          const isa::Instruction& producer = code.instructions[static_cast<std::size_t>(index)];
          producers.push_back(fmt::format("+{:#x} {}", producer.address, producer.text));
          if (producers.size() == 4) break;
        }
        draft.kernel.statements.push_back(
            fmt::format("code: most stalls are at +{:#x} {}, which "
                        "waits for {}",
                        at->address, at->text, join(producers, "; ")));
      }
    }
    if (draft.kernel.metrics.disagreements().empty()) {
      draft.kernel.metrics = std::move(with_lines);
    }
  }

  /// The instruction that a place such as "k.cu:4 (+0x1b0)" names.
  static const isa::Instruction* instruction_at(const isa::Kernel& code, std::string_view place) {
    const std::size_t at = place.rfind("+0x");
    if (at == std::string_view::npos) return nullptr;
    std::uint64_t address = 0;
    const char* first = place.data() + at + 3;
    if (std::from_chars(first, place.data() + place.size(), address, 16).ec != std::errc()) {
      return nullptr;
    }
    for (const isa::Instruction& instruction : code.instructions) {
      if (instruction.address == address) return &instruction;
    }
    return nullptr;
  }

  void add_code_alone(Code& code) {
    Draft draft;
    draft.kernel.name = code.kernel.name;
    draft.vendor = code.kernel.vendor;
    add_code(draft, code);
    drafts_.push_back(std::move(draft));
  }

  /// An id says nothing when a kernel was launched once.
  void number_launches() {
    std::map<std::string, int> launches;
    for (const Draft& draft : drafts_) ++launches[draft.kernel.name];
    for (Draft& draft : drafts_) {
      if (launches[draft.kernel.name] == 1) draft.kernel.id.clear();
    }
  }

  void complete(Draft& draft) {
    KernelEvidence& kernel = draft.kernel;
    if (const std::string vendor = vendor_of_arch(kernel.device.arch); !vendor.empty()) {
      draft.vendor = vendor;
    }
    const std::string file = draft.files.empty() ? "" : *draft.files.begin();
    const auto volume = [](const std::array<std::int64_t, 3>& extent) {
      return static_cast<double>(extent[0]) * static_cast<double>(extent[1]) *
             static_cast<double>(extent[2]);
    };
    if (kernel.launch.grid && !kernel.metrics.find("launch.grid_blocks")) {
      kernel.metrics.add(made("launch.grid_blocks", volume(*kernel.launch.grid), "1", file,
                              "x * y * z of the grid"));
    }
    if (kernel.launch.block && !kernel.metrics.find("launch.block_threads")) {
      kernel.metrics.add(made("launch.block_threads", volume(*kernel.launch.block), "1", file,
                              "x * y * z of the block"));
    }
    add_device(kernel);
    add_shared(kernel);
    add_occupancy(kernel);
    Subject subject{std::move(kernel.metrics), draft.vendor, kernel.device.arch};
    kernel.verdicts = rules_.evaluate(subject);
    kernel.metrics = std::move(subject.metrics);
    const bool no_loop = kernel.metrics.value("isa.loops") == 0;
    for (Missing& missing : kernel.verdicts.missing) {
      const bool of_loop =
          std::all_of(missing.metrics.begin(), missing.metrics.end(),
                      [](const std::string& name) { return name.starts_with("isa.loop."); });
      if (no_loop && of_loop) {
        missing.collect = "its code has no loop";
        continue;
      }
      for (const std::string& name : missing.metrics) {
        const auto reason = draft.not_measured.find(name);
        if (reason == draft.not_measured.end()) continue;
        missing.collect += fmt::format(" ({}: {})", name, reason->second);
        break;
      }
    }
    for (const std::string& sentence : kernel.metrics.disagreements()) {
      kernel.statements.push_back(sentence);
    }
  }

  void add_device(KernelEvidence& kernel) {
    MetricSet& metrics = kernel.metrics;
    const auto bandwidth = metrics.value("dram.bandwidth");
    const bool rated = metrics.find("dram.throughput_pct") || !bandwidth;
    if (kernel.device.name.empty() || (metrics.find("device.compute_units") && rated)) return;
    auto [card, fresh] = cards_.try_emplace(kernel.device.name);
    if (fresh) {
      if (auto spec = hardware::find_spec(kernel.device.name)) card->second = std::move(*spec);
    }
    if (!card->second) return;
    const std::string& file = card->second->file;
    if (const auto count = card->second->number("sm.count");
        count && !metrics.find("device.compute_units")) {
      metrics.add(made("device.compute_units", *count, "1", file, "sm.count"));
    }
    const auto peak = card->second->number("dram.bandwidth");
    if (rated || !peak || !(*peak > 0)) return;
    const double share = 100 * *bandwidth / *peak;
    if (share > 105) {
      kernel.statements.push_back(fmt::format(
          "dram.bandwidth: {} is over the peak of {} of {}: bytes and time do not "
          "belong together",
          with_prefix(*bandwidth, "B/s"), with_prefix(*peak, "B/s"), kernel.device.name));
      return;
    }
    metrics.add(made("dram.throughput_pct", share, "%", file, "dram.bandwidth / its peak"));
    const auto l1 = metrics.value("l1.throughput_pct"), l2 = metrics.value("l2.throughput_pct");
    if (l1 && l2 && !metrics.find("memory.throughput_pct")) {
      metrics.add(made("memory.throughput_pct", std::max({*l1, *l2, share}), "%", file,
                       "the most of l1, l2 and dram"));
    }
  }

  /// What a block takes of shared memory, when its parts are known.
  static void add_shared(KernelEvidence& kernel) {
    MetricSet& metrics = kernel.metrics;
    const auto fixed = metrics.value("shared.static_bytes");
    if (metrics.find("shared.bytes") || !fixed) return;
    Metric metric = *metrics.find("shared.static_bytes");
    metric.name = "shared.bytes";
    metric.value = *fixed + metrics.value("shared.dynamic_bytes").value_or(0);
    metrics.add(std::move(metric));
  }

  static void add_occupancy(KernelEvidence& kernel) {
    const auto count = [&](const char* name) {
      return std::int64_t{small_count(kernel.metrics, name).value_or(0)};
    };
    model_occupancy(kernel, kernel.launch.shared_bytes.value_or(count("shared.static_bytes") +
                                                                count("shared.dynamic_bytes")));
  }

  const Rules& rules_;
  ProcessRunner& runner_;
  Evidence evidence_;
  std::vector<Draft> drafts_;
  std::vector<Code> codes_;
  std::map<std::pair<std::string, std::string>, std::size_t> by_id_;  ///< name and id → draft
  std::map<std::pair<std::string, int>, std::size_t> by_ordinal_;     ///< name and order → draft
  std::map<std::string, std::optional<hardware::Spec>> cards_;        ///< by device name
};

}  // namespace

void model_occupancy(KernelEvidence& kernel, std::int64_t shared_bytes) {
  const MetricSet& metrics = kernel.metrics;
  const auto threads = small_count(metrics, "launch.block_threads");
  auto registers = small_count(metrics, "registers.used");
  const bool allocated = !registers;
  if (allocated) registers = small_count(metrics, "registers.allocated");
  const std::string& arch = kernel.device.arch;
  if (!threads || !registers || (!arch.starts_with("sm_") && !arch.starts_with("gfx"))) return;
  const auto count = [&](const char* name) { return small_count(metrics, name).value_or(0); };
  hardware::KernelResources resources;
  resources.threads = *threads;
  resources.registers = *registers;
  resources.accum_registers = count("registers.accum");
  // What AMD allocates is the sum of both kinds, of which no more than 256 can be plain ones.
  if (allocated && arch.starts_with("gfx9") && *registers > 256) {
    resources.registers = 256;
    resources.accum_registers = *registers - 256;
  }
  resources.scalar_registers = count("registers.scalar");
  if (arch.starts_with("gfx")) resources.wave_size = count("isa.wave_size");
  resources.shared_bytes = shared_bytes;
  const auto found = hardware::occupancy(arch, resources);
  if (!found) {
    kernel.statements.push_back("no occupancy: " + found.error().message);
    return;
  }
  const std::string how = found->model;
  MetricSet& to = kernel.metrics;
  to.add(made("occupancy.theoretical_pct", found->pct, "%", "model", how));
  to.add(made("occupancy.waves_per_simd", found->waves_per_simd, "1", "model", how));
  Metric limiter = made("occupancy.limiter", 0, "text", "model", how);
  limiter.text = found->limiter;
  // LLVM allocates registers up to what LDS lets run, so that a tie is LDS's.
  const auto limit = [&](const char* name) {
    const auto at = found->limits.find(name);
    return at == found->limits.end() ? -1 : at->second;
  };
  if (allocated && arch.starts_with("gfx") && found->limiter == "registers" &&
      limit("shared") == limit("registers")) {
    limiter.text = "shared";
  }
  to.add(std::move(limiter));
  const auto blocks = to.value("launch.grid_blocks"), units = to.value("device.compute_units");
  if (arch.starts_with("gfx9") && found->blocks > 0 && blocks && units && *units > 0) {
    to.add(made("launch.waves", *blocks / (found->blocks * *units), "1", "model",
                "workgroups over those that the device holds at once"));
  }
}

std::string vendor_of_arch(std::string_view arch) {
  if (arch.starts_with("sm_")) return "nvidia";
  if (arch.starts_with("gfx")) return "amd";
  if (arch.starts_with("x86") || arch.starts_with("aarch64")) return "cpu";
  return {};
}

Result<Evidence> gather(const std::vector<fs::path>& files, const Rules& rules,
                        ProcessRunner& runner) {
  if (files.empty()) return bad_input("no files were given");
  Gatherer gatherer(rules, runner);
  for (const fs::path& file : files) BURNISH_TRY(gatherer.read(file));
  return gatherer.finish();
}

}  // namespace burnish::evidence
