#include "profile/ncu_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "profile/csv.h"
#include "profile/ncu_page.h"

namespace burnish::profile::nvidia {
namespace {

enum class Page { raw, details, summary };

/// A header line and what follows from it.
struct Table {
  Table(const std::vector<std::string_view>& header, int number) : columns(header), index(number) {
    for (std::size_t i = 0; i < columns.size(); ++i) fixed.push_back(is_fixed(columns.name(i)));
  }

  static bool is_fixed(std::string_view name) {
    static constexpr std::array<std::string_view, 13> kFixed = {
        "ID",          "Process ID", "Process Name", "Host Name",  "Kernel Name",
        "Kernel Time", "Context",    "Stream",       "Block Size", "Grid Size",
        "Device",      "CC",         "Invocations"};
    if (std::find(kFixed.begin(), kFixed.end(), name) != kFixed.end()) return true;
    // Columns of --nvtx: "Id:Domain:Push/Pop_Range:…"
    return contains(name, ":") && name.substr(0, 10) != "breakdown:" && !contains(name, "__");
  }

  CsvColumns columns;
  int index;  ///< which header of the file
  Page page = Page::raw;
  std::vector<bool> fixed;  ///< columns that are no metric
  bool has_units = false;
  std::vector<std::string> units;  ///< of a raw page, by column

  std::string cell(const CsvReader& reader, std::string_view name) const {
    const auto column = columns.find(name);
    return column ? std::string(reader.field(*column)) : std::string();
  }
};

constexpr std::string_view kHeaders[] = {"\"ID\",\"Process ID\"", "\"Process ID\",\"Process Name\"",
                                         "ID,Process ID,", "Process ID,Process Name,"};

/// Where a header or a row stands in a line that begins with something else: a program that wrote
/// without a newline. npos when there is none.
std::size_t glued(std::string_view line) {
  for (const std::string_view header : {kHeaders[0], kHeaders[1]}) {
    const std::size_t at = line.find(header);
    if (at != std::string_view::npos) return at;
  }
  // "12","3456","
  for (std::size_t at = line.find('"'); at != std::string_view::npos; at = line.find('"', at + 1)) {
    std::size_t end = at + 1;
    int groups = 0;
    while (groups < 2) {
      const std::size_t start = end;
      while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
      if (end == start || line.substr(end, 3) != "\",\"") break;
      end += 3;
      ++groups;
    }
    if (groups == 2) return at;
  }
  return std::string_view::npos;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

bool is_number_id(std::string_view field) {
  return !field.empty() && field.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Walks the rows of all tables of the file.
class Walker {
 public:
  Walker(std::string_view bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

  using RowFunction = std::function<Result<void>(const Table&, const CsvReader&)>;
  using LineFunction = std::function<void(std::string_view)>;

  Result<void> run(const RowFunction& row, const LineFunction& profiler_line) {
    CsvReader reader(bytes_, file_);
    std::optional<Table> table;
    int tables = 0;
    while (!reader.rest().empty()) {
      const std::string_view line = first_line(reader.rest());
      const bool starts_table = is_header(line);
      if (!starts_table && (line.empty() || line.front() != '"')) {
        if (is_profiler_line(line)) {
          if (profiler_line) profiler_line(trim(line));
        } else if (const std::size_t at = glued(line); at != std::string_view::npos) {
          reader.skip(at);
          continue;
        }
        reader.skip_line();
        continue;
      }
      const auto more = reader.next();
      if (!more) {
        // Quotes that do not pair belong to the program's own output, or to a row that is cut off.
        if (table && is_cut_row(line)) return more.error();
        reader.rewind_record();
        reader.skip_line();
        continue;
      }
      if (!*more) break;
      if (starts_table) {
        table.emplace(reader.fields(), tables++);
        BURNISH_TRY(check_header(*table, reader));
        continue;
      }
      if (!table) continue;
      BURNISH_TRY_ASSIGN(const bool is_row, belongs(*table, reader));
      if (is_row) BURNISH_TRY(row(*table, reader));
    }
    if (tables == 0) {
      return bad_input("no header line of ncu in it")
          .at({file_})
          .with_hint("export with `ncu --import REPORT --page raw --csv`");
    }
    return {};
  }

  static bool is_header(std::string_view line) {
    return std::any_of(std::begin(kHeaders), std::end(kHeaders), [&](std::string_view header) {
      return line.substr(0, header.size()) == header;
    });
  }

 private:
  static bool is_cut_row(std::string_view line) {
    const std::size_t end = line.find('"', 1);
    return end != std::string_view::npos && line.size() > end + 1 && line[end + 1] == ',' &&
           is_number_id(line.substr(1, end - 1));
  }

  Result<void> check_header(Table& table, const CsvReader& reader) const {
    if (!table.columns.find("Kernel Name")) {
      return bad_input("a header of ncu without a column \"Kernel Name\"")
          .at({file_, reader.line(), 1});
    }
    if (table.columns.find("Metric Name")) {
      if (table.columns.find("Metric Value")) {
        table.page = Page::details;
      } else if (table.columns.find("Average")) {
        table.page = Page::summary;
      } else {
        return bad_input("a header of ncu without a column \"Metric Value\" or \"Average\"")
            .at({file_, reader.line(), 1});
      }
    }
    return {};
  }

  /// Whether the record is a row of the table, and not the unit row or the program's output.
  Result<bool> belongs(Table& table, const CsvReader& reader) const {
    const std::size_t count = reader.fields().size();
    const std::string_view id = reader.field(0);
    if (table.page == Page::raw && id.empty() && !table.has_units) {
      if (count != table.columns.size()) {
        return bad_input(fmt::format("the row of units has {} fields, the header {}", count,
                                     table.columns.size()))
            .at({file_, reader.line(), 1});
      }
      table.has_units = true;
      table.units.assign(reader.fields().begin(), reader.fields().end());
      return false;
    }
    if (!is_number_id(id)) return false;
    // A section may print a table of its own: "GPU ID","GPU Name",…
    if (table.page != Page::summary && !is_number_id(reader.field(1))) return false;
    // Rows of the details page leave out what they do not need at the end, with a comma or without.
    const bool fits = table.page == Page::details
                          ? count <= table.columns.size() + 1 && count + 6 >= table.columns.size()
                          : count == table.columns.size();
    if (!fits) {
      return bad_input(
                 fmt::format("a row has {} fields, its header has {}", count, table.columns.size()))
          .at({file_, reader.line(), 1})
          .with_hint("export again with --log-file, so that no other output comes between");
    }
    return true;
  }

  std::string_view bytes_;
  std::string file_;
};

PageBuilder::Identity identity_of(const Table& table, const CsvReader& reader) {
  PageBuilder::Identity identity;
  identity.name = table.cell(reader, "Kernel Name");
  identity.id = table.cell(reader, "ID");
  identity.process = table.cell(reader, "Process ID");
  identity.grid = table.cell(reader, "Grid Size");
  identity.block = table.cell(reader, "Block Size");
  identity.capability = table.cell(reader, "CC");
  if (table.page == Page::summary) {
    identity.id = mean_of(table.cell(reader, "Invocations"));
  }
  return identity;
}

std::string key_of(const Table& table, const CsvReader& reader) {
  std::string key = fmt::format("{}\n{}", table.index, table.cell(reader, "Process ID"));
  if (table.page != Page::summary) return key + "\n" + table.cell(reader, "ID");
  for (const char* column : {"Kernel Name", "Block Size", "Grid Size", "Device"}) {
    key += "\n" + table.cell(reader, column);
  }
  return key;
}

const char* kind_of(Page page) {
  switch (page) {
    case Page::raw:
      return "ncu-csv-raw";
    case Page::details:
      return "ncu-csv-details";
    case Page::summary:
      return "ncu-csv-summary";
  }
  return "";
}

/// Calls `cell(column index, raw name, unit, value)` for every metric of a row of the raw page.
template <class Function>
void each_raw_cell(const Table& table, const CsvReader& reader, Function&& cell) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.fixed[i]) continue;
    cell(i, std::string_view(table.columns.name(i)),
         i < table.units.size() ? std::string_view(table.units[i]) : std::string_view(),
         reader.field(i));
  }
}

bool is_source_page(std::string_view bytes) { return bytes.substr(0, 14) == "\"Kernel Name\","; }

}  // namespace

bool is_csv(std::string_view bytes) {
  if (is_source_page(bytes)) return true;
  // The header may stand behind pages of the program's output.
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string_view line = first_line(bytes.substr(at));
    if (Walker::is_header(line) ||
        (at == 0 && Walker::is_header(line.substr(std::min<std::size_t>(3, line.size()))))) {
      return contains(line, "Kernel Name");
    }
    if (contains(line, kHeaders[0]) || contains(line, kHeaders[1])) return true;
    at += line.size() + 1;
    if (at > (std::size_t{1} << 20)) break;
  }
  return false;
}

Result<Reading> read_csv(std::string_view bytes, const fs::path& name) {
  const std::string file = name.string();
  if (is_source_page(bytes)) {
    return bad_input("the source page of ncu: it says nothing of the launch as a whole")
        .at({file, 1, 1})
        .with_hint("read the report itself, or export it with --page raw --csv");
  }
  PageBuilder builder(file, content_hash(bytes));
  Walker walker(bytes, file);

  const auto label_cells = [](const Table& table, const CsvReader& reader) {
    struct {
      std::string section, item, label, unit, value;
    } cells;
    cells.section = table.cell(reader, "Section Name");
    cells.item = table.cell(reader, "Body Item Label");
    cells.label = table.cell(reader, "Metric Name");
    cells.unit = table.cell(reader, "Metric Unit");
    cells.value = table.cell(reader, table.page == Page::summary ? "Average" : "Metric Value");
    return cells;
  };
  const auto see = [&](const Table& table, const CsvReader& reader) -> Result<void> {
    if (table.page == Page::raw) {
      each_raw_cell(table, reader,
                    [&](std::size_t, std::string_view raw, std::string_view unit,
                        std::string_view value) { builder.see(raw, unit, value); });
      return {};
    }
    const auto cells = label_cells(table, reader);
    BURNISH_TRY_ASSIGN(const std::string raw, raw_name_of(cells.section, cells.label, ""));
    builder.see(raw, cells.unit, cells.value);
    if (table.page == Page::summary) {
      builder.see(raw, cells.unit, table.cell(reader, "Minimum"));
      builder.see(raw, cells.unit, table.cell(reader, "Maximum"));
    }
    return {};
  };
  BURNISH_TRY(walker.run(see, nullptr));

  std::string kind;
  const auto take = [&](const Table& table, const CsvReader& reader) -> Result<void> {
    if (kind.empty()) kind = kind_of(table.page);
    const std::size_t launch = builder.launch(key_of(table, reader), identity_of(table, reader));
    if (table.page == Page::raw) {
      each_raw_cell(table, reader,
                    [&](std::size_t column, std::string_view raw, std::string_view unit,
                        std::string_view value) {
                      if (value.empty()) return;
                      builder.raw_metric(
                          launch, raw, unit, value,
                          fmt::format("row {}, column {}", reader.line(), column + 1));
                    });
      return {};
    }
    const std::string rule = table.cell(reader, "Rule Name");
    if (!rule.empty()) {
      VendorRule vendor;
      vendor.id = to_valid_utf8(rule);
      vendor.kind = kind_of_rule(table.cell(reader, "Rule Type"));
      vendor.message = to_valid_utf8(table.cell(reader, "Rule Description"));
      vendor.speedup_global = table.cell(reader, "Estimated Speedup Type") == "global";
      vendor.speedup_pct = builder.number(table.cell(reader, "Estimated Speedup"));
      builder.rule(launch, std::move(vendor), fmt::format("row {}", reader.line()));
      return {};
    }
    const auto cells = label_cells(table, reader);
    if (cells.label.empty()) return {};
    std::string locator = fmt::format("row {}", reader.line());
    if (table.page == Page::summary) {
      locator += ", " + mean_of(table.cell(reader, "Invocations"));
    }
    return builder.labelled(launch, {cells.section, cells.item, cells.label}, cells.unit,
                            cells.value, locator);
  };
  BURNISH_TRY(walker.run(take, [&](std::string_view line) {
    if (line.substr(0, 8) != "==PROF==") {
      builder.warn(fmt::format("{}: {}", file, line));
    }
  }));
  return builder.finish(kind.empty() ? "ncu-csv-raw" : kind);
}

}  // namespace burnish::profile::nvidia
