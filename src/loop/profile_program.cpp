#include "loop/profile_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "evidence/names.h"
#include "loop/counters.h"
#include "loop/program_code.h"

namespace burnish::loop {
namespace {

using Parts = ProgramProfile::Parts;
using evidence::KernelEvidence;

/// Written first into a folder that is ours, so that a later run may replace what it holds.
constexpr const char* kMarker = ".burnish-profile";
constexpr const char* kOurs[] = {"att",      "pmc",           "failed",      "triton",
                                 "kernel.s", "evidence.json", "summary.txt", "profile.ncu-rep",
                                 "ncu.log",  "run.log",       "code",        kMarker};
constexpr int kMostKernelsShown = 5;
/// Launches that ncu replays when nothing selects any: each takes some forty replays.
constexpr int kMostLaunches = 32;

Result<std::vector<std::string>> command_line(const ProgramProfile& request) {
  std::error_code failed;
  const fs::path program = fs::absolute(request.program, failed);
  const std::string shown = request.program.string();
  if (!fs::exists(program, failed)) return bad_input("there is no program " + shown);
  if (!fs::is_regular_file(program, failed))
    return bad_input(shown + " is no program: it is a folder or a device");
  std::vector<std::string> command;
  const std::string extension = program.extension().string();
  if (extension == ".py") {
    const auto python = find_program({"python3"});
    if (!python) return environment_error("no python3 is on the PATH to run " + shown);
    command = {python->string(), program.string()};
  } else if (::access(program.c_str(), X_OK) == 0) {
    command = {program.string()};
  } else if (extension == ".sh") {
    command = {"/bin/sh", program.string()};
  } else if (profile::recognises_profile(program)) {
    return bad_input(shown + " is no program: a profiler wrote it")
        .with_hint("burnish evidence " + shown);
  } else {
    return bad_input(shown + " is no program: it may not be executed")
        .with_hint("give a Python script (.py), a shell script (.sh) or an executable (chmod +x)");
  }
  command.insert(command.end(), request.arguments.begin(), request.arguments.end());
  return command;
}

Result<void> prepare_folder(const fs::path& folder, FileSystem& files) {
  std::error_code failed;
  if (fs::exists(folder, failed) && !fs::is_directory(folder, failed))
    return bad_input(folder.string() + " is a file, and the output goes into a folder");
  const auto names = files.list(folder);
  if (!names.empty()) {
    const bool marked = std::find(names.begin(), names.end(), kMarker) != names.end();
    for (const auto& name : names) {
      const bool ours = std::find(std::begin(kOurs), std::end(kOurs), name) != std::end(kOurs);
      if (marked && ours) continue;
      return bad_input(fmt::format("{} is not empty ({})", folder.string(), name))
          .with_hint("give a new folder; only an earlier profile of burnish's own is replaced");
    }
    for (const auto& name : names)
      if (name != kMarker) BURNISH_TRY(files.remove_all(folder / name));
  }
  const auto written = files.make_folder(folder);
  const auto marker =
      written ? files.write(folder / kMarker, "written by burnish profile\n") : written;
  if (!marker) {
    return bad_input("the output folder cannot be written to: " + marker.error().message)
        .at({folder.string(), 0, 0});
  }
  return {};
}

/// Time that the launches of one kernel took, all together.
struct KernelTime {
  std::string name;
  double seconds = 0;
  std::int64_t launches = 0;
};

std::vector<KernelTime> times_of(const std::vector<profile::KernelProfile>& kernels) {
  std::vector<KernelTime> times;
  for (const auto& kernel : kernels) {
    auto at = std::find_if(times.begin(), times.end(),
                           [&](const KernelTime& one) { return one.name == kernel.name; });
    if (at == times.end()) at = times.insert(times.end(), KernelTime{kernel.name, 0, 0});
    at->seconds += kernel.metrics.value("time.total")
                       .value_or(kernel.metrics.value("time.device").value_or(0));
    at->launches +=
        static_cast<std::int64_t>(kernel.metrics.value("launch.dispatches").value_or(1));
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const KernelTime& a, const KernelTime& b) { return a.seconds > b.seconds; });
  return times;
}

class ProgramRun {
 public:
  ProgramRun(const ProgramProfile& request, std::vector<std::string> command,
             const evidence::Rules& rules, Observer& observer, workspace::World world)
      : request_(request),
        command_(std::move(command)),
        rules_(rules),
        observer_(observer),
        world_(world) {
    std::error_code failed;
    dir_ = fs::absolute(request.output, failed).lexically_normal();
    if (!dir_.has_filename()) dir_ = dir_.parent_path();
  }

  Result<void> amd(const Rocprofv3& tool) {
    tool_ = "rocprofv3";
    has_decoder_ = tool.decoder.has_value();
    RocprofRun times;
    times.name = "times of kernels";
    times.folder = dir_ / "pmc" / "times";
    std::string arch;
    if (run(tool, times)) {
      BURNISH_TRY_ASSIGN(const auto reading, profile::read_profile(times.folder));
      times_ = times_of(reading.kernels);
      for (const auto& kernel : reading.kernels)
        if (arch.empty()) arch = kernel.device.arch;
      BURNISH_TRY(require_selected());
    }
    if (arch.empty()) arch = arch_of_kfd();

    if (request_.parts == Parts::all || request_.parts == Parts::counters) {
      auto runs = counter_runs(arch, dir_ / "pmc", request_.selection);
      if (runs) {
        for (const auto& one : *runs) run(tool, one);
      } else {
        RunReport report;
        report.name = "counters";
        report.why = runs.error().message;
        report.hint = runs.error().hint;
        reports_.push_back(std::move(report));
      }
    }
    // A traced kernel's code object lies beside its trace.
    if (request_.parts == Parts::all || request_.parts == Parts::trace ||
        (request_.parts == Parts::code && code().listing.empty()))
      trace(tool);
    return finish();
  }

  Result<void> nvidia(const fs::path& ncu) {
    tool_ = "ncu";
    observer_.note("ncu: counters, samples and code");
    RunReport report;
    report.name = "counters";
    report.command = {ncu.string(),         "--force-overwrite",
                      "--target-processes", "all",
                      "--log-file",         (dir_ / "ncu.log").string(),
                      "--export",           (dir_ / "profile").string()};
    const auto add = [&](std::initializer_list<std::string> words) {
      report.command.insert(report.command.end(), words);
    };
    if (request_.parts == Parts::code) {
      add({"--section", "LaunchStats"});
    } else {
      add({"--set", "full"});
    }
    if (!request_.selection.kernels.empty())
      add({"--kernel-name-base", "demangled", "--kernel-name",
           "regex:" + request_.selection.kernels});
    if (request_.selection.launches) {
      const auto& range = *request_.selection.launches;
      add({"--launch-skip", std::to_string(range.first - 1), "--launch-count",
           std::to_string(range.last - range.first + 1)});
    } else {
      add({"--launch-count", std::to_string(kMostLaunches)});
    }
    const fs::path file = dir_ / "profile.ncu-rep";
    const auto [failure, log] = execute(report, report.command, dir_ / "run.log");
    const std::string said = world_.files.read(dir_ / "ncu.log").value_or("") + log;
    const auto bad = [&](const std::string& why) {
      std::vector<std::string> words;
      for (const auto line : split_lines(said))
        if (line.starts_with("==ERROR==") && words.size() < 3) words.emplace_back(line);
      if (words.empty()) words = last_words(said);
      report.why = words.empty() ? why : why + ": " + join(words, " | ");
      if (contains(said, "ERR_NVGPUCTRPERM")) report.hint = kAllowNvidiaCounters;
    };
    if (!failure.empty()) {
      bad("ncu " + failure);
    } else if (!world_.files.exists(file)) {
      bad("ncu ended well and wrote no report: no launch was selected, or the program launched no "
          "kernel");
    } else if (const auto reading = profile::read_profile(file); !reading) {
      bad("ncu's report cannot be read: " + reading.error().to_string());
    } else if (reading->kernels.empty()) {
      bad("ncu's report holds no launch");
    } else {
      report.good = true;
      times_ = times_of(reading->kernels);
      int index = 0;
      for (const auto& code : reading->code) {
        const fs::path object = dir_ / "code" / fmt::format("{}.cubin", ++index);
        BURNISH_TRY(world_.files.write(object, code.bytes));
      }
      if (!request_.selection.launches && reading->kernels.size() >= kMostLaunches)
        report.notes.push_back(
            fmt::format("only the first {} launches were profiled: name others with --kernel-regex "
                        "or --iteration-range",
                        kMostLaunches));
    }
    if (!report.good && world_.files.exists(file)) {
      BURNISH_TRY(world_.files.make_folder(dir_ / "failed"));
      std::error_code ignored;
      fs::rename(file, dir_ / "failed" / "profile.ncu-rep", ignored);
    }
    tell(report);
    reports_.push_back(std::move(report));
    return finish();
  }

 private:
  /// Runs the program below a tool; how it ended when that was not well, and what was printed.
  std::pair<std::string, std::string> execute(RunReport& report, std::vector<std::string> argv,
                                              const fs::path& log) {
    argv.insert(argv.end(), command_.begin(), command_.end());
    report.command = argv;
    ProcessSpec spec;
    spec.argv = argv;
    spec.deadline = request_.deadline;
    // Triton's code objects are wanted, and only those of this program.
    spec.extra_environment["TRITON_CACHE_DIR"] = (dir_ / "triton").string();
    if (const auto colon = request_.device.find(':'); colon != std::string::npos)
      spec.extra_environment[tool_ == "ncu" ? "CUDA_VISIBLE_DEVICES" : "HIP_VISIBLE_DEVICES"] =
          request_.device.substr(colon + 1);
    const auto result = world_.processes.run(spec);
    if (!result) return {"could not be started: " + result.error().message, ""};
    report.timed_out = result->end == ProcessResult::End::timed_out;
    const std::string text =
        fmt::format("$ {}\n{}\n--- standard error\n{}\n--- {}\n", join(argv, " "), result->output,
                    result->errors, result->describe());
    (void)world_.files.write(log, text);  // for people; its lack changes nothing
    const std::string& said = trim(result->errors).empty() ? result->output : result->errors;
    return {result->ok() ? "" : result->describe(), said};
  }

  void tell(const RunReport& report) {
    if (report.good) return;
    observer_.note(report.name + (report.command.empty() ? ": " : " FAILED: ") + report.why);
    if (!report.hint.empty()) observer_.note("-> " + report.hint);
  }

  /// Whether it gave a result; the report says the rest.
  bool run(const Rocprofv3& tool, const RocprofRun& what) {
    RunReport report;
    const auto hung =
        std::count_if(reports_.end() - std::min<std::ptrdiff_t>(kMostHangs, std::ssize(reports_)),
                      reports_.end(), [](const RunReport& one) { return one.timed_out; });
    if (hung == kMostHangs) {
      report.name = what.name;
      report.counters = what.counters;
      report.why = fmt::format("not run, since {} runs before it hung", kMostHangs);
      report.timed_out = true;
      reports_.push_back(std::move(report));
      return false;
    }
    observer_.note("rocprofv3: " + what.name);
    if (auto made = world_.files.make_folder(what.folder); !made) {
      report.name = what.name;
      report.why = made.error().message;
    } else {
      RunReport process;
      const auto [failure, log] = execute(process, command_of(tool, what), what.folder / "run.log");
      report = judge_run(what, failure, log);
      report.command = process.command;
      report.timed_out = process.timed_out;
    }
    if (!report.good) {
      if (const auto aside = set_aside(what.folder, dir_ / "failed", world_.files))
        report.folder = *aside;
    }
    tell(report);
    reports_.push_back(std::move(report));
    return reports_.back().good;
  }

  /// Errors: bad_input when kernels are known and none is selected.
  Result<void> require_selected() const {
    if (times_.empty() || std::any_of(times_.begin(), times_.end(), [&](const KernelTime& one) {
          return selects(request_.selection, one.name);
        }))
      return {};
    std::vector<std::string> names;
    for (const auto& one : times_) {
      if (names.size() == 8) {
        names.emplace_back("…");
        break;
      }
      names.push_back(one.name);
    }
    return bad_input(fmt::format("none of the kernels that {} launches matches \"{}\"",
                                 request_.program.string(), request_.selection.kernels))
        .with_hint("it launches " + join(names, "; "));
  }

  /// The thread trace of the kernel that takes most of the time among those selected.
  void trace(const Rocprofv3& tool) {
    RocprofRun what;
    what.name = "thread trace";
    what.collect = RocprofRun::Collect::trace;
    what.folder = dir_ / "att";
    what.selection = request_.selection;
    const auto hottest = std::find_if(times_.begin(), times_.end(), [&](const KernelTime& one) {
      return selects(request_.selection, one.name);
    });
    if (hottest != times_.end()) {
      what.name += " of " + hottest->name;
      what.selection.kernels = expression_of({hottest->name});
    }
    // A trace of every launch would fill the disk. The second one finds code and pages in place.
    if (!what.selection.launches) {
      const std::int64_t launch = hottest != times_.end() && hottest->launches > 1 ? 2 : 1;
      what.selection.launches = LaunchRange{launch, launch};
    }
    if (!tool.decoder) {
      RunReport report;
      report.name = what.name;
      report.why = "not run: librocprof-trace-decoder.so, which decodes traces, was not found";
      report.hint = kInstallDecoder;
      tell(report);
      reports_.push_back(std::move(report));
      return;
    }
    run(tool, what);
  }

  bool ran(const isa::Kernel& kernel) const {
    if (times_.empty()) return selects(request_.selection, kernel.name);
    const std::string name = evidence::plain_name(kernel.name),
                      symbol = evidence::plain_name(kernel.symbol);
    return std::any_of(times_.begin(), times_.end(), [&](const KernelTime& one) {
      const std::string plain = evidence::plain_name(one.name);
      return selects(request_.selection, one.name) && (plain == name || plain == symbol);
    });
  }

  ProgramCode code() const {
    std::error_code failed;
    return find_code(
        dir_, fs::absolute(request_.program, failed),
        [this](const isa::Kernel& kernel) { return ran(kernel); }, world_);
  }

  /// Writes kernel.s; `files` gets what the code was read from.
  Result<void> write_code(std::vector<fs::path>& files) {
    auto code = this->code();
    files = std::move(code.files);
    code_from_ = std::move(code.from);
    if (!code.listing.empty()) return world_.files.write(dir_ / "kernel.s", code.listing);
    RunReport report;
    report.name = "machine code (kernel.s)";
    report.why = code.problems.empty()
                     ? "no code of the kernels that ran was found: neither beside a thread trace, "
                       "nor in Triton's cache, nor in the program itself"
                     : code.problems.front();
    if (!code.problems.empty()) {
      report.hint = tool_ == "ncu" ? "install nvdisasm (CUDA toolkit)"
                                   : "install LLVM's llvm-objdump, or ROCm, for the disassembler";
    } else if (tool_ != "ncu" && !has_decoder_) {
      report.hint = kInstallDecoder;
    }
    tell(report);
    reports_.push_back(std::move(report));
    return {};
  }

  Result<void> finish() {
    const auto runs = std::count_if(reports_.begin(), reports_.end(),
                                    [](const RunReport& one) { return one.good; });
    std::vector<fs::path> files;
    if (tool_ == "ncu") {
      if (runs > 0) files.push_back(dir_ / "profile.ncu-rep");
    } else {
      for (const char* part : {"pmc", "att"})
        if (profile::recognises_profile(dir_ / part)) files.push_back(dir_ / part);
    }
    std::vector<fs::path> code;
    if (request_.parts == Parts::all || request_.parts == Parts::code)
      BURNISH_TRY(write_code(code));
    files.insert(files.end(), code.begin(), code.end());
    evidence::Evidence document;
    std::vector<std::string> unread;
    while (!files.empty()) {
      auto gathered = evidence::gather(files, rules_, world_.processes);
      if (gathered) {
        document = std::move(*gathered);
        break;
      }
      // The code comes last, and is what the rest can do without.
      unread.push_back(files.back().lexically_proximate(dir_).string() +
                       " is left out: " + gathered.error().to_string());
      files.pop_back();
    }
    for (auto& text : unread) document.warnings.push_back(std::move(text));
    select(document, runs > 0);
    make_relative(document);
    for (const auto& report : reports_) {
      if (!report.good)
        document.warnings.push_back(report.name + (report.command.empty() ? ": " : " failed: ") +
                                    report.why);
      for (const auto& note : report.notes) document.warnings.push_back(report.name + ": " + note);
    }
    Json json = evidence::to_json(document);
    json["runs"] = Json::array();
    for (const auto& report : reports_) json["runs"].push_back(run_json(report));
    BURNISH_TRY(world_.files.write(dir_ / "evidence.json", dump_json(json)));
    BURNISH_TRY(world_.files.write(dir_ / "summary.txt", summary(document)));
    return outcome(runs);
  }

  Result<void> outcome(std::ptrdiff_t good_runs) const {
    const std::string hint = "see " + (dir_ / "summary.txt").string();
    if (request_.parts == Parts::code && !world_.files.exists(dir_ / "kernel.s"))
      return environment_error("no machine code of " + request_.program.string() +
                               " could be had: " + reports_.back().why)
          .with_hint(reports_.back().hint.empty() ? hint : reports_.back().hint);
    const auto wanted = [&](const RunReport& report) {
      if (!report.good) return false;
      return request_.parts == Parts::counters ? !report.counters.empty() || tool_ == "ncu"
             : request_.parts == Parts::trace  ? report.folder.filename() == "att"
                                               : true;
    };
    if (request_.parts == Parts::code ||
        (good_runs > 0 && std::any_of(reports_.begin(), reports_.end(), wanted)))
      return {};
    std::string message = fmt::format("no run of {} under {} gave what was asked for",
                                      request_.program.string(), tool_);
    const auto failed = std::find_if(reports_.begin(), reports_.end(),
                                     [](const RunReport& report) { return !report.good; });
    if (failed == reports_.end()) return environment_error(message).with_hint(hint);
    message += fmt::format("; {}: {}", failed->name, failed->why);
    return (failed->timed_out ? timed_out(message) : environment_error(message))
        .with_hint(failed->hint.empty() ? hint : failed->hint + "; " + hint);
  }

  /// Keeps the selected kernels, those that took most time first. Code of kernels that did not run
  /// is of no interest when something is known of those that did.
  void select(evidence::Evidence& document, bool has_profile) const {
    const auto is_profiled = [](const KernelEvidence& kernel) {
      return kernel.metrics.find("time.device") != nullptr ||
             kernel.metrics.find("trace.cycles") != nullptr ||
             kernel.metrics.find("launch.block_threads") != nullptr;
    };
    std::erase_if(document.kernels, [&](const KernelEvidence& kernel) {
      return !selects(request_.selection, kernel.name) || (has_profile && !is_profiled(kernel));
    });
    const auto rank = [&](const KernelEvidence& kernel) {
      const auto at = std::find_if(times_.begin(), times_.end(),
                                   [&](const KernelTime& one) { return one.name == kernel.name; });
      return at - times_.begin();
    };
    std::stable_sort(
        document.kernels.begin(), document.kernels.end(),
        [&](const KernelEvidence& a, const KernelEvidence& b) { return rank(a) < rank(b); });
  }

  void make_relative(evidence::Evidence& document) const {
    for (auto& artefact : document.artefacts)
      artefact.file = artefact.file.lexically_proximate(dir_);
    for (auto& warning : document.warnings) warning = replace_all(warning, dir_.string() + "/", "");
    for (auto& kernel : document.kernels) {
      MetricSet metrics;
      for (const auto& [name, metric] : kernel.metrics.all())
        metrics.add(relative_to(metric, dir_));
      kernel.metrics = std::move(metrics);
      for (auto& text : kernel.statements) text = replace_all(text, dir_.string() + "/", "");
    }
  }

  Json run_json(const RunReport& report) const {
    Json json = {{"run", report.name}, {"good", report.good}};
    if (!report.command.empty()) json["command"] = report.command;
    if (!report.counters.empty()) json["counters"] = report.counters;
    if (!report.folder.empty()) json["folder"] = report.folder.lexically_proximate(dir_).string();
    if (!report.why.empty()) json["why"] = report.why;
    if (!report.hint.empty()) json["hint"] = report.hint;
    return json;
  }

  std::string summary(const evidence::Evidence& document) const {
    std::string out = fmt::format("{} under {}", join(command_, " "), tool_);
    if (!document.kernels.empty()) {
      const auto& device = document.kernels.front().device;
      if (!device.name.empty()) out += " on " + device.name;
      if (!device.arch.empty()) out += " (" + device.arch + ")";
    }
    out += "\n";
    double total = 0;
    for (const auto& one : times_) total += one.seconds;
    if (!times_.empty()) {
      out += "\nKERNELS, by the time of all their launches (under the profiler, not a benchmark)\n";
      int shown = 0;
      for (const auto& one : times_) {
        if (++shown > 2 * kMostKernelsShown) {
          out += fmt::format("  and {} more\n", times_.size() - 2 * kMostKernelsShown);
          break;
        }
        out += fmt::format("  {:>5.1f} %  {:>9} in {} launch{}  {}\n",
                           total > 0 ? 100 * one.seconds / total : 0, with_prefix(one.seconds, "s"),
                           one.launches, one.launches == 1 ? "" : "es", one.name);
      }
    }
    // One launch stands for a kernel: the one of which most is known.
    std::vector<const KernelEvidence*> kernels;
    for (const auto& kernel : document.kernels) {
      const auto at = std::find_if(kernels.begin(), kernels.end(), [&](const KernelEvidence* one) {
        return evidence::plain_name(one->name) == evidence::plain_name(kernel.name);
      });
      if (at == kernels.end()) {
        kernels.push_back(&kernel);
      } else if (kernel.metrics.all().size() > (*at)->metrics.all().size()) {
        *at = &kernel;
      }
    }
    int shown = 0;
    for (const auto* kernel : kernels) {
      if (++shown > kMostKernelsShown) {
        out += fmt::format("\n{} more kernels are in evidence.json\n",
                           kernels.size() - kMostKernelsShown);
        break;
      }
      out += kernel_text(*kernel);
    }
    if (document.kernels.empty()) out += "\nNOTHING IS KNOWN OF ANY KERNEL\n";
    out += "\nRUNS\n";
    for (const auto& report : reports_) {
      const char* const state = report.good ? "ok" : report.command.empty() ? "none" : "FAILED";
      out += fmt::format("  {:<6} {}\n", state, report.name);
      if (!report.good && !report.counters.empty())
        out += fmt::format("         of {}\n", join(report.counters, " "));
      if (!report.why.empty()) out += fmt::format("         {}\n", report.why);
      if (!report.hint.empty()) out += fmt::format("         -> {}\n", report.hint);
      for (const auto& note : report.notes) out += fmt::format("         note: {}\n", note);
    }
    if (!code_from_.empty()) {
      out += "\nCODE in kernel.s\n";
      for (const auto& from : code_from_) out += "  " + from + "\n";
    }
    return out;
  }

  static std::string kernel_text(const KernelEvidence& kernel) {
    std::string out = fmt::format("\n{}", kernel.name);
    if (!kernel.id.empty()) out += ", " + kernel.id;
    out += "\n  FINDINGS, strongest first\n";
    for (const auto& finding : kernel.verdicts.findings) {
      out += fmt::format("  {:<28} {:<20} at most {:.2f}x\n      {}\n      -> {}\n", finding.id,
                         finding.category, finding.headroom, finding.because, finding.action);
      if (!finding.location.empty()) out += fmt::format("      at {}\n", finding.location);
    }
    if (kernel.verdicts.findings.empty()) out += "  none\n";
    if (!kernel.verdicts.missing.empty())
      out += fmt::format(
          "  {} rules could not be evaluated, which is not the same as no problem (evidence.json "
          "names what each lacks)\n",
          kernel.verdicts.missing.size());
    for (const auto& statement : kernel.statements) out += "  note: " + statement + "\n";
    return out;
  }

  const ProgramProfile& request_;
  std::vector<std::string> command_;
  const evidence::Rules& rules_;
  Observer& observer_;
  workspace::World world_;
  fs::path dir_;
  std::string tool_;
  bool has_decoder_ = false;
  std::vector<KernelTime> times_;
  std::vector<RunReport> reports_;
  std::vector<std::string> code_from_;
};

enum class Vendor { amd, nvidia };

/// Which profiler is for this machine.
Result<Vendor> vendor_of(const std::string& device, bool has_rocprofv3, bool has_ncu) {
  if (device.starts_with("hip") || device.starts_with("amd")) {
    if (has_rocprofv3) return Vendor::amd;
    return environment_error("rocprofv3 is not on the PATH").with_hint(kInstallRocprofv3);
  }
  if (device.starts_with("cuda") || device.starts_with("nvidia")) {
    if (has_ncu) return Vendor::nvidia;
    return environment_error("ncu is not on the PATH").with_hint("install Nsight Compute");
  }
  if (device != "auto") {
    return bad_input("no profiler is known for the device " + device)
        .with_hint("--device hip or --device cuda");
  }
  std::error_code ignored;
  const bool amd_driver = fs::exists("/dev/kfd", ignored);
  const bool nvidia_driver = fs::exists("/dev/nvidiactl", ignored);
  if (has_rocprofv3 && has_ncu) {
    if (amd_driver != nvidia_driver) return amd_driver ? Vendor::amd : Vendor::nvidia;
    return bad_input("both rocprofv3 and ncu are here, and it is not plain whose GPU is meant")
        .with_hint("--device hip or --device cuda");
  }
  if (has_rocprofv3) return Vendor::amd;
  if (has_ncu) return Vendor::nvidia;
  return environment_error(
             amd_driver ? "rocprofv3, the profiler of this machine's AMD GPU, is not on the PATH"
             : nvidia_driver
                 ? "ncu, the profiler of this machine's NVIDIA GPU, is not on the PATH"
                 : "neither rocprofv3 nor ncu is on the PATH, and there is no AMD or NVIDIA GPU")
      .with_hint(nvidia_driver && !amd_driver
                     ? "install Nsight Compute (developer.nvidia.com/nsight-compute)"
                     : std::string(kInstallRocprofv3) +
                           "; for NVIDIA install Nsight Compute. Profiles made elsewhere are read "
                           "by `burnish evidence`");
}

}  // namespace

Result<void> profile_program(const ProgramProfile& request, const evidence::Rules& rules,
                             Observer& observer, workspace::World world) {
  BURNISH_TRY(check(request.selection));
  BURNISH_TRY_ASSIGN(auto command, command_line(request));
  const auto rocprofv3 = find_rocprofv3();
  const auto ncu = find_program({"ncu"});
  BURNISH_TRY_ASSIGN(const Vendor vendor,
                     vendor_of(request.device, rocprofv3.has_value(), ncu.has_value()));
  if (vendor == Vendor::nvidia && request.parts == Parts::trace) {
    return bad_input("ncu collects no thread trace, so --att-only is for AMD GPUs")
        .with_hint("leave it out: ncu samples what warps wait for");
  }
  BURNISH_TRY(prepare_folder(request.output, world.files));
  ProgramRun run(request, std::move(command), rules, observer, world);
  return vendor == Vendor::amd ? run.amd(*rocprofv3) : run.nvidia(*ncu);
}

}  // namespace burnish::loop
