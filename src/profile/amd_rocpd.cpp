// rocpd, what rocprofv3 writes by default since ROCm 7.0: an SQLite database whose tables end in
// the run's id. Columns are probed, since they moved between schemas 3.0.0 and 4 (agents and queues
// went to rocpd_track), and tables are joined here, on id and guid, because the database's own
// views drop launches that lack a queue or an event.

#include "profile/amd_rocpd.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "profile/json_walk.h"

namespace burnish::profile::amd {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
/// Longest value of a cell; a device's description takes 115 KB.
constexpr int kLongestValue = 16 << 20;
constexpr std::chrono::seconds kPatience{300};
constexpr std::size_t kMostDescriptions = 1'000'000;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

std::string identifier(std::string_view name) {
  std::string result = "\"";
  for (const char c : name) {
    result += c;
    if (c == '"') result += '"';
  }
  return result + '"';
}

class Reader {
 public:
  Reader(const Input& input, Run& run) : input_(input), run_(run) {}

  Result<void> read() {
    BURNISH_TRY(open());
    BURNISH_TRY(find_tables());
    std::int64_t launches = 0, counters = 0;
    for (const std::string& suffix : suffixes_) {
      suffix_ = suffix;
      BURNISH_TRY(read_metadata());
      if (source_ < 0) {
        source_ = run_.add_source(input_, "rocpd", version_.empty() ? "" : "schema " + version_);
      }
      BURNISH_TRY(read_agents());
      BURNISH_TRY(read_symbols());
      BURNISH_TRY(read_counters());
      BURNISH_TRY(read_launches(launches, counters));
    }
    if (launches == 0) {
      run_.warnings.push_back(input_.name.string() +
                              ": no kernel was launched while it was traced");
    } else if (counters == 0) {
      run_.warnings.push_back(input_.name.string() +
                              ": no counter was collected, which is not the same as counters that "
                              "are 0; profile with --pmc");
    }
    if (orphans_ > 0) {
      run_.warnings.push_back(
          fmt::format("{}: {} counter values belong to no launch", input_.name.string(), orphans_));
    }
    return {};
  }

 private:
  Error problem(std::string_view doing) const {
    const int code = database_ ? sqlite3_errcode(database_.get()) : SQLITE_NOMEM;
    std::string why = database_ ? sqlite3_errmsg(database_.get()) : "no memory";
    if (code == SQLITE_INTERRUPT) {
      why = fmt::format("it took longer than {} s", kPatience.count());
    }
    return bad_input(
               fmt::format("the database cannot be read while {}: {}", doing, to_valid_utf8(why)))
        .at({input_.name.string()})
        .with_hint("it may be cut off or damaged: profile again, or try `sqlite3 FILE .recover`");
  }

  static int on_progress(void* self) {
    return std::chrono::steady_clock::now() > static_cast<Reader*>(self)->deadline_ ? 1 : 0;
  }

  Result<void> open() {
    sqlite3* opened = nullptr;
    int code = SQLITE_OK;
    if (input_.mapped) {
      std::string address = "file:";
      for (const char c : fs::absolute(input_.name).string()) {
        if (c == '%' || c == '?' || c == '#') {
          address += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        } else {
          address += c;
        }
      }
      // Without a log beside it nothing else writes to the file, and no lock is needed.
      std::error_code ignored;
      const bool log = fs::exists(input_.name.string() + "-wal", ignored);
      address += log ? "?mode=ro" : "?mode=ro&immutable=1";
      code = sqlite3_open_v2(address.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                             nullptr);
      database_.reset(opened);
    } else {
      code = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE, nullptr);
      database_.reset(opened);
      if (code == SQLITE_OK) {
        code = sqlite3_deserialize(
            opened, "main",
            const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(input_.bytes.data())),
            static_cast<sqlite3_int64>(input_.bytes.size()),
            static_cast<sqlite3_int64>(input_.bytes.size()), SQLITE_DESERIALIZE_READONLY);
      }
    }
    if (code != SQLITE_OK) return problem("opening it");
    sqlite3* database = database_.get();
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kLongestValue);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(database, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_exec(database, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;", nullptr, nullptr,
                 nullptr);
    deadline_ = std::chrono::steady_clock::now() + kPatience;
    sqlite3_progress_handler(database, 100'000, &on_progress, this);
    return {};
  }

  Result<Statement> prepare(const std::string& sql, std::string_view doing) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &made, nullptr) != SQLITE_OK) {
      return problem(doing);
    }
    return Statement(made);
  }

  /// The next row; false at the end.
  Result<bool> step(const Statement& statement, std::string_view doing) {
    const int code = sqlite3_step(statement.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return problem(doing);
  }

  static std::string text(const Statement& row, int column) {
    const unsigned char* bytes = sqlite3_column_text(row.get(), column);
    if (bytes == nullptr) return {};
    return std::string(reinterpret_cast<const char*>(bytes),
                       static_cast<std::size_t>(sqlite3_column_bytes(row.get(), column)));
  }
  static std::optional<std::int64_t> integer(const Statement& row, int column) {
    if (sqlite3_column_type(row.get(), column) != SQLITE_INTEGER) return std::nullopt;
    return sqlite3_column_int64(row.get(), column);
  }

  Result<void> find_tables() {
    BURNISH_TRY_ASSIGN(
        const Statement rows,
        prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table'", "listing its tables"));
    constexpr std::string_view kStem = "rocpd_kernel_dispatch";
    for (;;) {
      BURNISH_TRY_ASSIGN(const bool more, step(rows, "listing its tables"));
      if (!more) break;
      const std::string name = text(rows, 0), sql = to_lower(text(rows, 1));
      if (contains(sql, "virtual")) continue;  // code of somebody else's would run
      if (tables_.size() < 10'000) tables_.insert(name);
      if (name.starts_with(kStem)) suffixes_.push_back(name.substr(kStem.size()));
    }
    if (suffixes_.empty()) {
      return bad_input("the database has no table rocpd_kernel_dispatch")
          .at({input_.name.string()})
          .with_hint("burnish reads what rocprofv3 --output-format rocpd writes");
    }
    if (suffixes_.size() > 1000) {
      return bad_input("the database holds more than 1,000 runs").at({input_.name.string()});
    }
    std::sort(suffixes_.begin(), suffixes_.end());
    return {};
  }

  std::string table(std::string_view stem) const { return std::string(stem) + suffix_; }
  bool has_table(std::string_view stem) const { return tables_.count(table(stem)) > 0; }

  Result<std::set<std::string>> columns(std::string_view stem) {
    std::set<std::string> names;
    if (!has_table(stem)) return names;
    BURNISH_TRY_ASSIGN(
        const Statement rows,
        prepare("PRAGMA table_info(" + identifier(table(stem)) + ")", "listing its columns"));
    for (;;) {
      BURNISH_TRY_ASSIGN(const bool more, step(rows, "listing its columns"));
      if (!more) return names;
      names.insert(text(rows, 1));
    }
  }

  /// "T.name", or NULL where the schema has no such column.
  static std::string column(const std::set<std::string>& names, std::string_view prefix,
                            std::initializer_list<std::string_view> candidates) {
    for (const std::string_view name : candidates) {
      if (names.count(std::string(name)) > 0) return fmt::format("{}.{}", prefix, identifier(name));
    }
    return "NULL";
  }

  Result<void> read_metadata() {
    if (!has_table("rocpd_metadata")) return {};
    BURNISH_TRY_ASSIGN(const Statement rows,
                       prepare("SELECT tag, value FROM " + identifier(table("rocpd_metadata")),
                               "reading rocpd_metadata"));
    for (;;) {
      BURNISH_TRY_ASSIGN(const bool more, step(rows, "reading rocpd_metadata"));
      if (!more) return {};
      if (text(rows, 0) != "schema_version") continue;
      version_ = to_valid_utf8(text(rows, 1).substr(0, 20));
      const auto major = parse_integer(std::string_view(version_).substr(0, version_.find('.')));
      if (!major || *major < 3 || *major > 4) {
        return bad_input(
                   fmt::format("rocpd_metadata: schema_version \"{}\" is not one that burnish "
                               "knows (3 to 4)",
                               version_))
            .at({input_.name.string()})
            .with_hint("export CSV instead: rocprofv3 --output-format csv, or rocpd convert");
      }
    }
  }

  Result<void> read_agents() {
    BURNISH_TRY_ASSIGN(const auto names, columns("rocpd_info_agent"));
    if (names.count("id") == 0) return {};
    BURNISH_TRY_ASSIGN(
        const Statement rows,
        prepare(
            fmt::format("SELECT A.id, {}, {}, {}, {}, {} FROM {} A", column(names, "A", {"guid"}),
                        column(names, "A", {"type"}), column(names, "A", {"name"}),
                        column(names, "A", {"product_name", "model_name"}),
                        column(names, "A", {"extdata"}), identifier(table("rocpd_info_agent"))),
            "reading rocpd_info_agent"));
    for (std::size_t count = 0; count < 10'000; ++count) {
      BURNISH_TRY_ASSIGN(const bool more, step(rows, "reading rocpd_info_agent"));
      if (!more) break;
      const auto id = integer(rows, 0);
      if (!id) continue;
      Agent agent;
      agent.gpu = text(rows, 2) == "GPU";
      agent.arch = arch_of_name(text(rows, 3));
      agent.name = to_valid_utf8(text(rows, 4));
      Where where;
      where.file = input_.name.string();
      where.hash = input_.hash;
      where.locator = fmt::format("rocpd_info_agent {}, extdata", *id);
      const std::string description = text(rows, 5);
      JsonWalk walk(description, where.locator);
      std::int64_t simds = 0, slots = 0, version = 0;
      walk.object([&](std::string_view key) {
        if (key == "num_xcc") {
          agent.fact("num_xcd", walk.number().value_or(0), where);
        } else if (key == "cu_count") {
          agent.fact("cu_per_gpu", walk.number().value_or(0), where);
        } else if (key == "max_engine_clk_fcompute") {
          agent.fact("max_sclk", walk.number().value_or(0), where);
        } else if (key == "simd_per_cu") {
          simds = walk.integer().value_or(0);
        } else if (key == "max_waves_per_simd") {
          slots = walk.integer().value_or(0);
        } else if (key == "gfx_target_version") {
          version = walk.integer().value_or(0);
        }
      });
      if (simds > 0 && slots > 0 && simds < 1000 && slots < 1000) {
        agent.fact("max_waves_per_cu", static_cast<double>(simds * slots), where);
      }
      if (agent.arch.empty()) agent.arch = arch_of_version(version);
      run_.add_agent(agent_key(text(rows, 1), *id), std::move(agent));
    }
    return {};
  }

  static std::string agent_key(const std::string& guid, std::int64_t id) {
    return fmt::format("{} {}", guid, id);
  }

  struct Symbol {
    std::string display, symbol;
    std::optional<std::int64_t> registers, accum, scalar;
  };

  Result<void> read_symbols() {
    symbols_.clear();
    BURNISH_TRY_ASSIGN(const auto names, columns("rocpd_info_kernel_symbol"));
    if (names.count("id") == 0) return {};
    BURNISH_TRY_ASSIGN(
        const Statement rows,
        prepare(
            fmt::format(
                "SELECT S.id, {}, {}, {}, {}, {}, {} FROM {} S", column(names, "S", {"guid"}),
                column(names, "S", {"kernel_name"}), column(names, "S", {"display_name"}),
                column(names, "S", {"arch_vgpr_count"}), column(names, "S", {"accum_vgpr_count"}),
                column(names, "S", {"sgpr_count"}), identifier(table("rocpd_info_kernel_symbol"))),
            "reading rocpd_info_kernel_symbol"));
    while (symbols_.size() < kMostDescriptions) {
      BURNISH_TRY_ASSIGN(const bool more, step(rows, "reading rocpd_info_kernel_symbol"));
      if (!more) break;
      const auto id = integer(rows, 0);
      if (!id) continue;
      Symbol symbol;
      symbol.symbol = text(rows, 2);
      symbol.display = text(rows, 3);
      symbol.registers = integer(rows, 4);
      symbol.accum = integer(rows, 5);
      symbol.scalar = integer(rows, 6);
      symbols_[agent_key(text(rows, 1), *id)] = std::move(symbol);
    }
    return {};
  }

  Result<void> read_counters() {
    counters_.clear();
    BURNISH_TRY_ASSIGN(const auto names, columns("rocpd_info_pmc"));
    if (names.count("id") == 0) return {};
    BURNISH_TRY_ASSIGN(
        const Statement rows,
        prepare(fmt::format("SELECT P.id, {}, {} FROM {} P", column(names, "P", {"guid"}),
                            column(names, "P", {"symbol", "name"}),
                            identifier(table("rocpd_info_pmc"))),
                "reading rocpd_info_pmc"));
    while (counters_.size() < kMostDescriptions) {
      BURNISH_TRY_ASSIGN(const bool more, step(rows, "reading rocpd_info_pmc"));
      if (!more) break;
      if (const auto id = integer(rows, 0)) {
        counters_[agent_key(text(rows, 1), *id)] = to_valid_utf8(text(rows, 2));
      }
    }
    return {};
  }

  Result<void> read_launches(std::int64_t& launches, std::int64_t& values) {
    BURNISH_TRY_ASSIGN(const auto names, columns("rocpd_kernel_dispatch"));
    for (const char* needed : {"id", "kernel_id", "start", "end"}) {
      if (names.count(needed) == 0) {
        return bad_input(fmt::format("the table {} has no column \"{}\": it is of a schema that "
                                     "burnish does not know",
                                     to_valid_utf8(table("rocpd_kernel_dispatch")), needed))
            .at({input_.name.string()});
      }
    }
    // Schema 4 keeps the agent with the track.
    BURNISH_TRY_ASSIGN(const auto track, columns("rocpd_track"));
    std::string agent = column(names, "K", {"agent_id"}), join;
    const std::string guid = column(names, "K", {"guid"});
    if (agent == "NULL" && names.count("track_id") > 0 && track.count("agent_id") > 0 &&
        track.count("id") > 0) {
      agent = "T.agent_id";
      join = fmt::format(" LEFT JOIN {} T ON T.id = K.track_id", identifier(table("rocpd_track")));
      if (guid != "NULL" && track.count("guid") > 0) join += " AND T.guid = K.guid";
    }
    const std::string event = column(names, "K", {"event_id"});
    std::string sql =
        fmt::format("SELECT K.id, {}, K.kernel_id, K.start, K.\"end\", {}, {}", guid, agent, event);
    for (const char* name :
         {"dispatch_id", "private_segment_size", "group_segment_size", "workgroup_size_x",
          "workgroup_size_y", "workgroup_size_z", "grid_size_x", "grid_size_y", "grid_size_z"}) {
      sql += ", " + column(names, "K", {name});
    }
    sql += fmt::format(" FROM {} K{} ORDER BY {}, {}, K.id",
                       identifier(table("rocpd_kernel_dispatch")), join, guid, event);
    BURNISH_TRY_ASSIGN(const Statement rows, prepare(sql, "reading rocpd_kernel_dispatch"));

    // Both cursors go by guid and event.
    BURNISH_TRY_ASSIGN(const auto pmc, columns("rocpd_pmc_event"));
    Statement values_of;
    bool more_values = false;
    if (pmc.count("event_id") > 0 && pmc.count("pmc_id") > 0 && pmc.count("value") > 0 &&
        event != "NULL") {
      // Samples of the streaming monitor are no sums of a launch.
      const std::string own = pmc.count("sample_id") > 0 ? " WHERE P.sample_id IS NULL" : "";
      const std::string pmc_guid = column(pmc, "P", {"guid"});
      BURNISH_TRY_ASSIGN(
          values_of,
          prepare(fmt::format("SELECT {}, P.event_id, P.pmc_id, P.value FROM {} P{} ORDER BY {}, "
                              "P.event_id",
                              pmc_guid, identifier(table("rocpd_pmc_event")), own, pmc_guid),
                  "reading rocpd_pmc_event"));
      BURNISH_TRY_ASSIGN(more_values, step(values_of, "reading rocpd_pmc_event"));
    }

    std::vector<std::pair<int, double>> sums;
    for (;;) {
      BURNISH_TRY_ASSIGN(const bool more, step(rows, "reading rocpd_kernel_dispatch"));
      if (!more) break;
      ++launches;
      const std::string run_id = text(rows, 1);
      LaunchRow row;
      const auto kernel = integer(rows, 2);
      row.start = integer(rows, 3);
      row.end = integer(rows, 4);
      const auto agent_id = integer(rows, 5);
      const auto event_id = integer(rows, 6);
      row.dispatch = integer(rows, 7);
      row.scratch_bytes = integer(rows, 8);
      row.shared_bytes = integer(rows, 9);
      row.block = extent(rows, 10);
      row.grid = extent(rows, 13);
      std::string name = "(kernel without a name)";
      if (kernel) {
        const auto symbol = symbols_.find(agent_key(run_id, *kernel));
        if (symbol != symbols_.end()) {
          name = symbol->second.display.empty() ? symbol->second.symbol : symbol->second.display;
          row.symbol = symbol->second.symbol;
          row.registers = symbol->second.registers;
          row.accum = symbol->second.accum;
          row.scalar = symbol->second.scalar;
        } else {
          name = fmt::format("(kernel {})", *kernel);
        }
      }
      row.kernel = name;
      const std::string key = agent_id ? agent_key(run_id, *agent_id) : std::string();
      row.agent = key;
      std::string process = input_.process;
      if (suffixes_.size() > 1) process += to_valid_utf8(run_id.substr(0, 8));
      Run::Group* group = run_.group(row, source_, 0, process);
      if (group != nullptr) {
        if (group->launch_place.empty()) {
          group->launch_place =
              fmt::format("rocpd_kernel_dispatch {}", integer(rows, 0).value_or(0));
        }
        run_.time_launch(*group, row, source_, 0);
      }

      sums.clear();
      while (more_values) {
        const std::string value_run = text(values_of, 0);
        const auto value_event = integer(values_of, 1);
        const bool before =
            value_run < run_id ||
            (value_run == run_id && (!value_event || (event_id && *value_event < *event_id)));
        const bool same =
            value_run == run_id && value_event && event_id && *value_event == *event_id;
        if (!before && !same) break;
        if (same) {
          const auto id = integer(values_of, 2);
          const auto counter = id ? counters_.find(agent_key(value_run, *id)) : counters_.end();
          const std::string counter_name = counter != counters_.end() ? counter->second
                                           : id ? fmt::format("counter {}", *id)
                                                : std::string("counter");
          const int index = run_.counter_index(counter_name);
          if (sqlite3_column_type(values_of.get(), 3) != SQLITE_NULL) {
            const double value = sqlite3_column_double(values_of.get(), 3);
            const auto known = std::find_if(sums.begin(), sums.end(),
                                            [&](const auto& one) { return one.first == index; });
            if (known != sums.end()) {
              known->second += value;
            } else if (sums.size() < 10'000) {
              sums.emplace_back(index, value);
            }
          }
        } else {
          ++orphans_;
        }
        BURNISH_TRY_ASSIGN(more_values, step(values_of, "reading rocpd_pmc_event"));
      }
      if (group == nullptr) continue;
      for (const auto& [index, sum] : sums) {
        ++values;
        std::string_view locator;
        if (kept_ < 100'000) {
          ++kept_;
          locator = run_.keep(fmt::format("rocpd_pmc_event of event {}", event_id.value_or(0)));
        }
        run_.add_value(*group, index, sum, source_, 0, locator);
      }
    }
    while (more_values) {
      ++orphans_;
      BURNISH_TRY_ASSIGN(more_values, step(values_of, "reading rocpd_pmc_event"));
    }
    return {};
  }

  static std::optional<std::array<std::int64_t, 3>> extent(const Statement& row, int first) {
    std::array<std::int64_t, 3> result{};
    for (int i = 0; i < 3; ++i) {
      const auto value = integer(row, first + i);
      if (!value || *value < 0) return std::nullopt;
      result[static_cast<std::size_t>(i)] = *value;
    }
    return result;
  }

  const Input& input_;
  Run& run_;
  Database database_;
  std::chrono::steady_clock::time_point deadline_;
  std::set<std::string> tables_;
  std::vector<std::string> suffixes_;
  std::string suffix_, version_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::unordered_map<std::string, std::string> counters_;
  int source_ = -1;
  std::int64_t orphans_ = 0;
  int kept_ = 0;
};

}  // namespace

bool is_rocpd(std::string_view bytes) {
  // The tables' names stand in the schema, which starts on the first page.
  return bytes.starts_with(kMagic) && contains(bytes.substr(0, 1 << 20), "rocpd_");
}

Result<void> read_rocpd(const Input& input, Run& run) { return Reader(input, run).read(); }

}  // namespace burnish::profile::amd
