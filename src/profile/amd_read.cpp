#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "profile/amd.h"
#include "profile/amd_att.h"
#include "profile/amd_csv.h"
#include "profile/amd_json.h"
#include "profile/amd_model.h"
#include "profile/amd_rocpd.h"

namespace burnish::profile::amd {
namespace {

constexpr int kDeepest = 6;
constexpr std::size_t kMostFiles = 100'000;

Error raw_trace(const fs::path& path) {
  return bad_input("a raw thread trace (.att): it has not been decoded")
      .at({path.string()})
      .with_hint(
          "run rocprofv3 --att with rocprof-trace-decoder (--att-library-path), and give the "
          "folder with ui_output_*");
}

/// What one file of a folder is.
struct File {
  fs::path path;
  enum class Kind { table, database, tool_json } kind = Kind::table;
  Table table = Table::counters;
  std::string pass;    ///< "pmc_1", "pass_2"
  std::string prefix;  ///< its name without what it holds: "123", "vcopy_MI300X_"
};

struct Folder {
  std::vector<File> files;
  std::vector<TraceFiles> traces;
  std::vector<fs::path> raw_traces;
  bool empty() const { return files.empty() && traces.empty() && raw_traces.empty(); }
};

bool numbered(std::string_view name, std::string_view stem) {
  return name.starts_with(stem) && name.size() > stem.size() &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(stem.size()), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string prefix_of(const fs::path& path, Table table) {
  const std::string name = path.stem().string();
  const auto before = [&](std::string_view part) -> std::optional<std::string> {
    const std::size_t at = name.rfind(part);
    if (at == std::string::npos) return {};
    return name.substr(0, at);
  };
  std::vector<std::string_view> parts;
  switch (table) {
    case Table::counters:
      parts = {"counter_collection"};
      break;
    case Table::kernel_trace:
      parts = {"kernel_trace"};
      break;
    case Table::agents:
      parts = {"agent_info"};
      break;
    case Table::host_trap:
    case Table::stochastic:
      parts = {"pc_sampling"};
      break;
    case Table::wide_counters:
      parts = {"pmc_perf", "timestamps", "SQ_", "SQC_"};
      break;
    case Table::sysinfo:
      parts = {"sysinfo"};
      break;
    default:
      break;
  }
  for (const std::string_view part : parts) {
    if (auto prefix = before(part)) return *prefix;
  }
  return table == Table::wide_counters || table == Table::sysinfo ? "" : name;
}

std::optional<File> file_of(const fs::path& path, const fs::path& root) {
  const auto mapped = MappedFile::open(path);
  if (!mapped || mapped->bytes().empty()) return {};
  const std::string_view bytes = mapped->bytes();
  File file;
  file.path = path;
  const std::string extension = to_lower(path.extension().string());
  if (extension == ".csv") {
    const auto table = table_of(bytes);
    if (!table) return {};
    file.table = *table;
    file.prefix = prefix_of(path, *table);
  } else if (is_rocpd(bytes)) {
    file.kind = File::Kind::database;
  } else if (is_tool_json(bytes)) {
    file.kind = File::Kind::tool_json;
  } else {
    return {};
  }
  for (const fs::path& part : path.lexically_relative(root)) {
    const std::string name = part.string();
    if (numbered(name, "pmc_") || numbered(name, "pass_")) file.pass = name;
  }
  return file;
}

bool is_trace_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path / "code.json", ignored) || fs::exists(path / "filenames.json", ignored);
}

Folder scan(const fs::path& root) {
  Folder found;
  std::vector<fs::path> statistics, objects;
  std::size_t seen = 0;
  std::vector<std::pair<fs::path, int>> pending{{root, 0}};
  while (!pending.empty()) {
    const auto [folder, depth] = pending.back();
    pending.pop_back();
    if (is_trace_folder(folder)) {
      TraceFiles trace;
      trace.folder = folder;
      found.traces.push_back(std::move(trace));
      if (depth > 0) continue;
    }
    for (const std::string& name : real_file_system().list(folder)) {
      if (++seen > kMostFiles) break;
      const fs::path path = folder / name;
      std::error_code ignored;
      if (fs::is_symlink(path, ignored)) continue;
      if (fs::is_directory(path, ignored)) {
        if (depth < kDeepest) pending.emplace_back(path, depth + 1);
        continue;
      }
      if (!fs::is_regular_file(path, ignored)) continue;
      const std::string extension = to_lower(path.extension().string());
      if (extension == ".att") {
        found.raw_traces.push_back(path);
      } else if (extension == ".out" && contains(name, "_code_object_id_")) {
        objects.push_back(path);
      } else if (extension == ".csv" || extension == ".db" || extension == ".json") {
        auto file = file_of(path, root);
        if (!file) continue;
        if (file->kind == File::Kind::table && file->table == Table::instruction_stats) {
          statistics.push_back(path);
        } else {
          found.files.push_back(std::move(*file));
        }
      }
    }
  }
  for (const fs::path& path : statistics) {
    const auto of = std::find_if(found.traces.begin(), found.traces.end(), [&](const auto& trace) {
      return path.stem().string() == "stats_" + trace.folder.filename().string();
    });
    if (of != found.traces.end()) {
      of->stats = path;
    } else {
      TraceFiles trace;
      trace.stats = path;
      found.traces.push_back(std::move(trace));
    }
  }
  for (TraceFiles& trace : found.traces) trace.code_objects = objects;
  const auto name_of = [](const TraceFiles& trace) {
    return trace.folder.empty() ? trace.stats : trace.folder;
  };
  std::sort(found.traces.begin(), found.traces.end(),
            [&](const auto& a, const auto& b) { return name_of(a) < name_of(b); });
  std::sort(found.files.begin(), found.files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return found;
}

void append(Reading& to, Reading from) {
  const auto move_all = [](auto& into, auto& source) {
    for (auto& one : source) into.push_back(std::move(one));
  };
  move_all(to.artefacts, from.artefacts);
  move_all(to.kernels, from.kernels);
  move_all(to.code, from.code);
  move_all(to.warnings, from.warnings);
  to.session.merge(from.session);
}

/// Descriptions come first, then times, counters, and samples, which refer to launches.
int order_of(const File& file) {
  if (file.kind != File::Kind::table) return 3;
  switch (file.table) {
    case Table::agents:
    case Table::sysinfo:
      return 0;
    case Table::kernel_trace:
      return 1;
    case Table::wide_counters:
      return contains(file.path.stem().string(), "pmc_perf") ? 2 : 3;
    case Table::counters:
      return 3;
    case Table::stats:
      return 4;
    default:
      return 5;
  }
}

Result<void> read_file(const File& file, const std::string& process, Run& run) {
  BURNISH_TRY_ASSIGN(const MappedFile mapped, MappedFile::open(file.path));
  Input input;
  input.bytes = mapped.bytes();
  input.name = file.path;
  input.pass = file.pass;
  input.process = process;
  input.mapped = true;
  input.hash = content_hash(input.bytes);
  input.done_to(input.bytes.size());
  if (file.kind == File::Kind::database) return read_rocpd(input, run);
  if (file.kind == File::Kind::tool_json) return read_tool_json(input, run);
  return read_table(input, file.table, run);
}

enum class Keep { all, sampled };

/// The files of one run, which share launches and devices.
Result<Reading> read_run(std::vector<File> files, Keep keep = Keep::all) {
  std::stable_sort(files.begin(), files.end(),
                   [](const File& a, const File& b) { return order_of(a) < order_of(b); });
  const auto has = [&](auto&& is) { return std::any_of(files.begin(), files.end(), is); };
  const auto is_table = [](const File& file, std::initializer_list<Table> tables) {
    return file.kind == File::Kind::table &&
           std::find(tables.begin(), tables.end(), file.table) != tables.end();
  };
  const bool tables =
      has([&](const File& file) { return is_table(file, {Table::counters, Table::kernel_trace}); });
  const bool databases = has([](const File& file) { return file.kind == File::Kind::database; });
  const bool traced = has([&](const File& file) { return is_table(file, {Table::kernel_trace}); });
  const bool sampled =
      has([&](const File& file) { return is_table(file, {Table::host_trap, Table::stochastic}); });
  const bool workload =
      has([&](const File& file) { return is_table(file, {Table::wide_counters, Table::sysinfo}); });

  Run run(sampled ? Run::Grouping::always : Run::Grouping::when_many);
  run.only_sampled = keep == Keep::sampled;
  if (workload) run.tool = "rocprof-compute";
  // Processes count their launches from 1 each, and so must be told apart; passes must not.
  std::map<std::pair<std::string, int>, std::set<std::string>> prefixes;
  for (const File& file : files) {
    if (is_table(file, {Table::counters, Table::kernel_trace})) {
      prefixes[{file.pass, static_cast<int>(file.table)}].insert(file.prefix);
    }
  }
  const bool several = std::any_of(prefixes.begin(), prefixes.end(),
                                   [](const auto& entry) { return entry.second.size() > 1; });
  for (const File& file : files) {
    // The same run in several formats is read once.
    const bool again = (file.kind == File::Kind::database && tables) ||
                       (file.kind == File::Kind::tool_json && (tables || databases)) ||
                       (is_table(file, {Table::stats}) && (traced || databases || tables));
    if (again) {
      if (file.kind != File::Kind::table) {
        run.warnings.push_back(file.path.string() +
                               ": not read, since the CSV or the database beside it says the same");
      }
      continue;
    }
    // Traces of calls and copies stand beside most profiles.
    if (files.size() > 1 && is_table(file, {Table::other_trace})) continue;
    BURNISH_TRY(read_file(file, several && !workload ? file.prefix : "", run));
  }
  return run.finish();
}

Result<Reading> read_folder(const fs::path& path) {
  Folder found = scan(path);
  if (found.empty()) {
    return bad_input("the folder holds nothing that AMD's profilers write").at({path.string()});
  }
  if (found.files.empty() && found.traces.empty()) return raw_trace(found.raw_traces.front());
  Reading reading;
  // rocprof-compute's workloads are runs of their own; several may lie in one folder.
  std::map<std::string, std::vector<File>> workloads;
  std::vector<File> others;
  for (File& file : found.files) {
    if (file.kind == File::Kind::table &&
        (file.table == Table::wide_counters || file.table == Table::sysinfo)) {
      workloads[(file.path.parent_path() / file.prefix).string()].push_back(std::move(file));
    } else {
      others.push_back(std::move(file));
    }
  }
  for (auto& [name, files] : workloads) {
    BURNISH_TRY_ASSIGN(Reading one, read_run(std::move(files)));
    append(reading, std::move(one));
  }
  if (!others.empty()) {
    BURNISH_TRY_ASSIGN(Reading one, read_run(std::move(others)));
    append(reading, std::move(one));
  }
  for (const TraceFiles& trace : found.traces) {
    BURNISH_TRY_ASSIGN(Reading one, read_trace(trace));
    if (found.traces.size() > 1) {
      const fs::path name = trace.folder.empty() ? trace.stats.stem() : trace.folder.filename();
      const std::string text = name.string();
      const std::size_t at = text.rfind("dispatch_");
      for (KernelProfile& kernel : one.kernels) {
        kernel.id = at == std::string::npos ? text : "dispatch " + text.substr(at + 9);
      }
      if (&trace != &found.traces.front()) one.code.clear();
    }
    append(reading, std::move(one));
  }
  if (!found.raw_traces.empty() && found.traces.empty()) {
    reading.warnings.push_back(found.raw_traces.front().string() +
                               ": a raw thread trace, which has not been decoded, is left out");
  }
  return reading;
}

bool is_lz4(std::string_view bytes) { return bytes.starts_with("\x04\x22\x4D\x18"); }

/// Binary, and no database: what an .att file holds has no mark of its own.
bool is_raw_trace(const fs::path& path) { return to_lower(path.extension().string()) == ".att"; }

/// What describes the run of a file and lies beside it.
std::vector<File> with_companions(File file) {
  std::vector<File> files;
  const fs::path folder = file.path.parent_path();
  const bool workload = file.table == Table::wide_counters;
  const bool rocprofv3 = file.table == Table::counters || file.table == Table::kernel_trace ||
                         file.table == Table::host_trap || file.table == Table::stochastic;
  std::vector<std::string> names;
  if (workload) {
    for (const char* name : {"sysinfo", "SQ_LEVEL_WAVES"}) names.push_back(file.prefix + name);
  } else if (rocprofv3) {
    names.push_back(file.prefix + "agent_info");
    if (file.table == Table::host_trap || file.table == Table::stochastic) {
      names.push_back(file.prefix + "kernel_trace");
    }
  }
  for (const std::string& name : names) {
    const fs::path path = folder / (name + ".csv");
    std::error_code ignored;
    if (path == file.path || !fs::is_regular_file(path, ignored)) continue;
    if (auto companion = file_of(path, folder)) files.push_back(std::move(*companion));
  }
  files.push_back(std::move(file));
  return files;
}

}  // namespace

bool recognises(std::string_view bytes) {
  if (bytes.empty()) return false;
  return is_rocpd(bytes) || is_tool_json(bytes) || is_trace_code(bytes) || is_trace_part(bytes) ||
         table_of(bytes).has_value();
}

bool recognises(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return !scan(path).empty();
  if (!fs::is_regular_file(path, ignored)) return false;
  if (is_raw_trace(path)) return true;
  const auto mapped = MappedFile::open(path);
  return mapped && (recognises(mapped->bytes()) || is_lz4(mapped->bytes()));
}

Result<Reading> read(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return read_folder(path);
  if (is_raw_trace(path)) return raw_trace(path);
  {
    BURNISH_TRY_ASSIGN(const MappedFile mapped, MappedFile::open(path));
    const std::string_view bytes = mapped.bytes();
    if (bytes.empty()) return bad_input("the file is empty").at({path.string()});
    if (is_lz4(bytes)) {
      return bad_input("the file is compressed with lz4")
          .at({path.string()})
          .with_hint("decompress it: lz4 -d FILE");
    }
    if (is_trace_part(bytes) && !is_trace_code(bytes)) return read(bytes, path);
    if (is_trace_code(bytes)) {
      TraceFiles trace;
      if (path.filename() != "code.json") return read(bytes, path);
      trace.folder = path.parent_path();
      return read_trace(trace);
    }
  }
  File file;
  file.path = path;
  {
    BURNISH_TRY_ASSIGN(const MappedFile mapped, MappedFile::open(path));
    if (is_rocpd(mapped.bytes())) {
      file.kind = File::Kind::database;
      return read_run({file});
    }
    if (is_tool_json(mapped.bytes())) {
      file.kind = File::Kind::tool_json;
      return read_run({file});
    }
    const auto table = table_of(mapped.bytes());
    if (!table) return read(mapped.bytes(), path);
    file.table = *table;
    file.prefix = prefix_of(path, *table);
  }
  if (file.table == Table::instruction_stats) {
    TraceFiles trace;
    trace.stats = path;
    const std::string stem = path.stem().string();
    if (stem.starts_with("stats_") && is_trace_folder(path.parent_path() / stem.substr(6))) {
      trace.folder = path.parent_path() / stem.substr(6);
    }
    return read_trace(trace);
  }
  const bool samples = file.table == Table::host_trap || file.table == Table::stochastic;
  return read_run(with_companions(std::move(file)), samples ? Keep::sampled : Keep::all);
}

Result<Reading> read(std::string_view bytes, const fs::path& name) {
  Run run;
  Input input;
  input.bytes = bytes;
  input.name = name;
  input.hash = content_hash(bytes);
  if (is_trace_code(bytes)) return read_trace_code(input);
  if (is_trace_part(bytes)) {
    return bad_input("a part of a thread trace, which means nothing without its code.json")
        .at({name.string()})
        .with_hint("give the folder that it lies in");
  }
  if (is_rocpd(bytes)) {
    BURNISH_TRY(read_rocpd(input, run));
    return run.finish();
  }
  if (is_tool_json(bytes)) {
    BURNISH_TRY(read_tool_json(input, run));
    return run.finish();
  }
  const auto table = table_of(bytes);
  if (!table) {
    return bad_input("no artefact of rocprofv3, rocpd or rocprof-compute").at({name.string()});
  }
  if (*table == Table::instruction_stats) return read_trace_stats(input);
  if (*table == Table::wide_counters || *table == Table::sysinfo) run.tool = "rocprof-compute";
  BURNISH_TRY(read_table(input, *table, run));
  return run.finish();
}

}  // namespace burnish::profile::amd
