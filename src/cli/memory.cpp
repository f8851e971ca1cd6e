#include "workspace/memory.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/front.h"
#include "cli/verbs.h"
#include "report/table.h"
#include "workspace/import.h"

namespace burnish::cli {
namespace {

using workspace::Masked;
using workspace::Workspace;

struct MemoryOptions {
  std::string version, field;
  std::vector<std::string> versions, assignments;
  bool force = false, masked = false;
};

Result<Workspace> open_to_write(const Common& common) {
  return Workspace::open(common.folder, Workspace::Access::write, {});
}

/// "v3" or "3" → 3.
Result<int> parse_version(const std::string& text) {
  const auto number = parse_integer(text.starts_with('v') ? text.substr(1) : text);
  if (!number || *number < 0 || *number > 1'000'000)
    return bad_input("a version is written v0, v1, …, and this is \"" + text + "\"");
  return static_cast<int>(*number);
}

Result<int> read(const Common& common, const MemoryOptions& options) {
  BURNISH_TRY_ASSIGN(const auto workspace, open_to_read(common.folder));
  BURNISH_TRY_ASSIGN(const int version, parse_version(options.version));
  BURNISH_TRY_ASSIGN(const Json value,
                     workspace::memory_read(workspace, version, options.field,
                                            options.masked ? Masked::show : Masked::refuse));
  print_json(value);
  return 0;
}

Result<int> mask(const Common& common, const MemoryOptions& options, workspace::Masking masking) {
  BURNISH_TRY_ASSIGN(auto workspace, open_to_write(common));
  std::vector<int> versions;
  for (const auto& text : options.versions) {
    BURNISH_TRY_ASSIGN(const int version, parse_version(text));
    versions.push_back(version);
  }
  BURNISH_TRY_ASSIGN(const auto records, workspace::memory_mask(workspace, versions, masking));
  Json json = Json::array();
  for (const auto& record : records)
    json.push_back({{"version", record.version}, {"masked", record.masked}});
  if (common.json)
    print_json(json);
  else
    print(join(options.versions, ", ") +
          (masking == workspace::Masking::mask ? " masked\n" : " unmasked\n"));
  return 0;
}

Result<int> summary(const Common& common) {
  BURNISH_TRY_ASSIGN(const auto workspace, open_to_read(common.folder));
  BURNISH_TRY_ASSIGN(const auto rows, workspace::memory_summary(workspace));
  if (common.json) {
    print_json(workspace::to_json(rows));
    return 0;
  }
  const auto number = [](const std::optional<double>& value, const char* format) {
    return value ? fmt::format(fmt::runtime(format), *value) : std::string();
  };
  report::TextTable table({"version", "category", "gate", "verdict", "latency, µs", "TFLOPS",
                           "GB/s", "times v0", "commit"});
  for (const auto& row : rows)
    table.row({row.version + (row.masked ? " (masked)" : ""), row.category, row.gate, row.verdict,
               number(row.latency_us, "{:.5g}"), number(row.tflops, "{:.4g}"),
               number(row.bandwidth_gbps, "{:.4g}"), number(row.speedup_over_baseline, "{:.2f}"),
               row.commit.substr(0, 10)});
  print(table.text(terminal_columns()));
  return 0;
}

void add_import(CommandLine& line, Common& common) {
  struct Options {
    std::string from, to;
  };
  auto options = std::make_shared<Options>();
  auto arguments =
      line.verb("import", "make a workspace from one of an agent skill, or of burnish");
  arguments.positional("DIR", options->from, "the workspace to read").required();
  arguments.option("--to", options->to, "the workspace to make (default: the name of DIR, here)");
  arguments.action([&common, options]() -> Result<int> {
    const fs::path from = fs::path(options->from).lexically_normal();
    const fs::path to =
        fs::path(common.folder) / (options->to.empty() ? from.filename() : fs::path(options->to));
    BURNISH_TRY_ASSIGN(const auto report, workspace::import_skill_workspace(from, to, {}));
    if (common.json) {
      print_json(workspace::to_json(report));
      return 0;
    }
    print(fmt::format("{}: {} records, up to v{}\n", report.folder.string(), report.records,
                      report.last));
    for (const auto& name : report.renamed) print("  " + name + "\n");
    for (const auto& odd : report.odd)
      print(fmt::format("  odd value kept: v{} {} = {}\n", odd.version, odd.pointer, odd.value));
    for (const auto& name : report.skipped) print("  not copied: " + name + "\n");
    for (const auto& item : report.todo) print("  to do: " + item + "\n");
    return 0;
  });
}

}  // namespace

void add_memory(CommandLine& line, Common& common) {
  auto options = std::make_shared<MemoryOptions>();
  auto memory = line.verb("memory", "the records of the versions");
  memory.verb("init", "make memory/").action([&common]() -> Result<int> {
    BURNISH_TRY_ASSIGN(auto workspace, open_to_write(common));
    BURNISH_TRY(workspace::memory_init(workspace));
    return 0;
  });

  auto create = memory.verb("create", "a record with nothing but its version");
  create.positional("VERSION", options->version, "v3").required();
  create.flag("--force", options->force, "replace one that exists");
  create.action([&common, options]() -> Result<int> {
    BURNISH_TRY_ASSIGN(auto workspace, open_to_write(common));
    BURNISH_TRY_ASSIGN(const int version, parse_version(options->version));
    BURNISH_TRY_ASSIGN(const auto record,
                       workspace::memory_create(
                           workspace, version,
                           options->force ? workspace::Overwrite::yes : workspace::Overwrite::no));
    print_json(workspace::to_json(record));
    return 0;
  });

  auto reading = memory.verb("read", "a record, or one of its values");
  reading.positional("VERSION", options->version, "v3").required();
  reading.option("--field", options->field, "a dotted path: performance.latency_us");
  reading.flag("--masked", options->masked, "a masked record too");
  reading.action([&common, options] { return read(common, *options); });

  auto update = memory.verb("update", "set values of a record");
  update.positional("VERSION", options->version, "v3").required();
  update.positionals("FIELD=VALUE", options->assignments, "dotted paths: quality_gate.result=PASS")
      .required();
  update.action([&common, options]() -> Result<int> {
    BURNISH_TRY_ASSIGN(auto workspace, open_to_write(common));
    BURNISH_TRY_ASSIGN(const int version, parse_version(options->version));
    BURNISH_TRY_ASSIGN(const auto record,
                       workspace::memory_update(workspace, version, options->assignments));
    print_json(workspace::to_json(record));
    return 0;
  });

  auto masking = memory.verb("mask", "hide records from planning");
  masking.positionals("VERSION", options->versions, "v3 v5").required();
  masking.action([&common, options] { return mask(common, *options, workspace::Masking::mask); });
  auto unmasking = memory.verb("unmask", "show records to planning again");
  unmasking.positionals("VERSION", options->versions, "v3 v5").required();
  unmasking.action(
      [&common, options] { return mask(common, *options, workspace::Masking::unmask); });

  memory.verb("summary", "all records, a line each").action([&common] { return summary(common); });
  memory.verb("latest", "the newest unmasked record").action([&common]() -> Result<int> {
    BURNISH_TRY_ASSIGN(const auto workspace, open_to_read(common.folder));
    BURNISH_TRY_ASSIGN(const auto record, workspace::memory_latest(workspace));
    print_json(workspace::to_json(record));
    return 0;
  });
  memory.verb("list", "which versions there are, and which are masked")
      .action([&common]() -> Result<int> {
        BURNISH_TRY_ASSIGN(const auto workspace, open_to_read(common.folder));
        BURNISH_TRY_ASSIGN(const auto records, workspace::memory_list(workspace, Masked::show));
        Json json = Json::array();
        for (const auto& record : records) {
          json.push_back({{"version", record.version}, {"masked", record.masked}});
          if (!common.json) print(record.version + (record.masked ? " (masked)\n" : "\n"));
        }
        if (common.json) print_json(json);
        return 0;
      });
  add_import(line, common);
}

}  // namespace burnish::cli
