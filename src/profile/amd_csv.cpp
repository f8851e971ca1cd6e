#include "profile/amd_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "profile/csv.h"

namespace burnish::profile::amd {
namespace {

/// Mapped files are given back in steps of this many bytes.
constexpr std::size_t kStep = std::size_t{32} << 20;

/// A CSV file with its header read; columns by name.
class Rows {
 public:
  static Result<Rows> open(const Input& input) {
    Rows rows(input);
    BURNISH_TRY_ASSIGN(const bool more, rows.reader_.next());
    if (!more) return bad_input("the file has no header").at({input.name.string()});
    rows.columns_ = CsvColumns(rows.reader_.fields());
    return rows;
  }

  /// The next record; false at the end. Errors: one that has not as many fields as the header.
  Result<bool> next() {
    BURNISH_TRY_ASSIGN(const bool more, reader_.next());
    if (!more) return false;
    if (reader_.fields().size() != columns_.size()) {
      return bad_input(fmt::format("the row has {} fields and the header {}: the file was cut off, "
                                   "or its columns do not belong to its header",
                                   reader_.fields().size(), columns_.size()))
          .at({input_->name.string(), reader_.line(), 0})
          .with_hint("profile again, or remove the row");
    }
    if (reader_.offset() >= released_ + kStep) {
      released_ = static_cast<std::size_t>(reader_.offset());
      input_->done_to(released_);
    }
    return true;
  }

  int column(std::string_view name) const {
    const auto found = columns_.find(name);
    return found ? static_cast<int>(*found) : -1;
  }
  int first_column(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      if (const int at = column(name); at >= 0) return at;
    }
    return -1;
  }
  std::string_view text(int column) const {
    return column < 0 ? std::string_view{} : reader_.field(static_cast<std::size_t>(column));
  }
  /// Absent when there is no such column or the field is blank.
  Result<std::optional<std::int64_t>> integer(int column) const {
    const std::string_view field = trim(text(column));
    if (field.empty()) return std::optional<std::int64_t>{};
    if (const auto value = parse_integer(field)) return value;
    // pandas writes integers with a fraction.
    if (const auto real = parse_number(field); real && *real >= -9e15 && *real <= 9e15) {
      return std::optional<std::int64_t>(static_cast<std::int64_t>(*real));
    }
    return mistake(column, fmt::format("\"{}\" is no number", to_valid_utf8(field.substr(0, 40))));
  }
  Error mistake(int column, std::string message) const {
    return bad_input(std::move(message))
        .at(column < 0 ? Place{input_->name.string(), reader_.line(), 0}
                       : reader_.place(static_cast<std::size_t>(column)));
  }
  int line() const { return reader_.line(); }
  const CsvColumns& columns() const { return columns_; }
  bool quoted(int column) const { return reader_.quoted(static_cast<std::size_t>(column)); }

 private:
  explicit Rows(const Input& input)
      : input_(&input),
        reader_(input.bytes, input.name.string(), InnerQuotes::bare),
        columns_(std::vector<std::string_view>{}) {}

  const Input* input_;
  CsvReader reader_;
  CsvColumns columns_;
  std::size_t released_ = 0;
};

/// "Agent 2" → "2".
std::string_view agent_id(std::string_view text) {
  text = trim(text);
  if (text.starts_with("Agent ")) text.remove_prefix(6);
  return text;
}

/// Columns that describe the launch, whatever the version calls them.
struct LaunchColumns {
  int kernel, agent, dispatch, grid_items, block_items, shared, scratch, registers, accum, scalar,
      start, end;
  std::array<int, 3> grid{}, block{};

  explicit LaunchColumns(const Rows& rows)
      : kernel(rows.column("Kernel_Name")),
        agent(rows.first_column({"Agent_Id", "GPU_ID"})),
        dispatch(rows.first_column({"Dispatch_Id", "Dispatch_ID"})),
        grid_items(rows.column("Grid_Size")),
        block_items(rows.column("Workgroup_Size")),
        shared(rows.first_column({"LDS_Block_Size", "Group_Segment_Size", "LDS_Per_Workgroup"})),
        scratch(
            rows.first_column({"Scratch_Size", "Private_Segment_Size", "Scratch_Per_Workitem"})),
        registers(rows.first_column({"VGPR_Count", "Arch_VGPR"})),
        accum(rows.first_column({"Accum_VGPR_Count", "Accum_VGPR"})),
        scalar(rows.first_column({"SGPR_Count", "SGPR"})),
        start(rows.column("Start_Timestamp")),
        end(rows.column("End_Timestamp")) {
    for (std::size_t i = 0; i < 3; ++i) {
      const char axis = "XYZ"[i];
      grid[i] = rows.column(std::string("Grid_Size_") + axis);
      block[i] = rows.column(std::string("Workgroup_Size_") + axis);
    }
  }

  Result<LaunchRow> read(const Rows& rows) const {
    LaunchRow row;
    row.kernel = rows.text(kernel);
    row.agent = agent_id(rows.text(agent));
    BURNISH_TRY_ASSIGN(row.dispatch, rows.integer(dispatch));
    BURNISH_TRY_ASSIGN(row.grid_items, rows.integer(grid_items));
    BURNISH_TRY_ASSIGN(row.block_items, rows.integer(block_items));
    BURNISH_TRY_ASSIGN(row.shared_bytes, rows.integer(shared));
    BURNISH_TRY_ASSIGN(row.scratch_bytes, rows.integer(scratch));
    BURNISH_TRY_ASSIGN(row.registers, rows.integer(registers));
    BURNISH_TRY_ASSIGN(row.accum, rows.integer(accum));
    BURNISH_TRY_ASSIGN(row.scalar, rows.integer(scalar));
    BURNISH_TRY_ASSIGN(row.start, rows.integer(start));
    BURNISH_TRY_ASSIGN(row.end, rows.integer(end));
    BURNISH_TRY_ASSIGN(row.grid, axes(rows, grid));
    BURNISH_TRY_ASSIGN(row.block, axes(rows, block));
    return row;
  }

 private:
  static Result<std::optional<std::array<std::int64_t, 3>>> axes(const Rows& rows,
                                                                 const std::array<int, 3>& from) {
    std::array<std::int64_t, 3> result{};
    for (std::size_t i = 0; i < 3; ++i) {
      BURNISH_TRY_ASSIGN(const auto value, rows.integer(from[i]));
      if (!value || *value < 0) return std::optional<std::array<std::int64_t, 3>>{};
      result[i] = *value;
    }
    return std::optional(result);
  }
};

Result<void> read_counters(const Input& input, Run& run) {
  const int source = run.add_source(input, kind_of(Table::counters), "");
  BURNISH_TRY_ASSIGN(Rows rows, Rows::open(input));
  const LaunchColumns launch(rows);
  const int name = rows.column("Counter_Name"), value = rows.column("Counter_Value");
  const int process = rows.column("Process_Id");
  const std::string value_place = fmt::format("column {}", value + 1);
  const std::string_view locator = run.keep(value_place);
  Run::Group* group = nullptr;
  std::string last_dispatch, last_kernel, last_process;
  // Each process counts its dispatches from 1; databases that were merged give one table of
  // several.
  std::string first_process;
  std::string process_name = input.process;
  // Counters come in the same order launch after launch.
  std::vector<std::pair<std::string, int>> order;
  std::size_t next = 0;
  std::int64_t rows_read = 0;
  bool fresh = true;
  for (;;) {
    BURNISH_TRY_ASSIGN(const bool more, rows.next());
    if (!more) break;
    ++rows_read;
    const std::string_view dispatch = rows.text(launch.dispatch), kernel = rows.text(launch.kernel);
    const std::string_view own_process = rows.text(process);
    if (fresh || dispatch != last_dispatch || kernel != last_kernel ||
        own_process != last_process) {
      if (fresh) first_process = own_process;
      if (own_process != last_process) {
        process_name = input.process;
        if (own_process != first_process) {
          process_name += fmt::format("{}process {}", process_name.empty() ? "" : ", ",
                                      to_valid_utf8(trim(own_process)));
        }
      }
      fresh = false;
      BURNISH_TRY_ASSIGN(const LaunchRow row, launch.read(rows));
      group = run.group(row, source, rows.line(), process_name);
      if (group != nullptr) run.time_launch(*group, row, source, rows.line());
      last_dispatch = dispatch;
      last_kernel = kernel;
      last_process = own_process;
    }
    const std::string_view counter = rows.text(name);
    if (next >= order.size() || order[next].first != counter) {
      const auto known = std::find_if(order.begin(), order.end(),
                                      [&](const auto& one) { return one.first == counter; });
      next = static_cast<std::size_t>(known - order.begin());
      if (known == order.end()) {
        const int index = counter.empty() ? -1 : run.counter_index(counter);
        if (index < 0) return rows.mistake(name, "the row names no counter, or there are too many");
        order.emplace_back(counter, index);
      }
    }
    const int index = order[next].second;
    if (++next == order.size()) next = 0;
    const std::string_view field = trim(rows.text(value));
    if (field.empty() || group == nullptr) continue;  // not measured
    const auto number = parse_number(field);
    if (!number) {
      return rows.mistake(value,
                          fmt::format("\"{}\" is no number", to_valid_utf8(field.substr(0, 40))));
    }
    run.add_value(*group, index, *number, source, rows.line(), locator);
  }
  if (rows_read == 0) {
    run.warnings.push_back(
        fmt::format("{}: no counter was collected, which is not the same as "
                    "counters that are 0",
                    input.name.string()));
  }
  return {};
}

Result<void> read_kernel_trace(const Input& input, Run& run) {
  const int source = run.add_source(input, kind_of(Table::kernel_trace), "");
  BURNISH_TRY_ASSIGN(Rows rows, Rows::open(input));
  const LaunchColumns launch(rows);
  const int kind = rows.column("Kind");
  std::int64_t launches = 0;
  for (;;) {
    BURNISH_TRY_ASSIGN(const bool more, rows.next());
    if (!more) break;
    if (kind >= 0 && rows.text(kind) != "KERNEL_DISPATCH") continue;
    BURNISH_TRY_ASSIGN(const LaunchRow row, launch.read(rows));
    if (!row.start || !row.end) return rows.mistake(launch.start, "the launch has no times");
    ++launches;
    Run::Group* group = run.group(row, source, rows.line(), input.process);
    if (group != nullptr) run.time_launch(*group, row, source, rows.line());
  }
  if (launches == 0) {
    run.warnings.push_back(input.name.string() + ": no kernel was launched while it was traced");
  }
  return {};
}

Result<void> read_stats(const Input& input, Run& run) {
  const int source = run.add_source(input, kind_of(Table::stats), "");
  BURNISH_TRY_ASSIGN(Rows rows, Rows::open(input));
  const int name = rows.column("Name"), calls = rows.column("Calls"),
            total = rows.column("TotalDurationNs"), mean = rows.column("AverageNs"),
            share = rows.column("Percentage");
  bool others = false;
  for (;;) {
    BURNISH_TRY_ASSIGN(const bool more, rows.next());
    if (!more) break;
    const std::string_view kernel = rows.text(name);
    const bool call = kernel.starts_with("hip") || kernel.starts_with("hsa_") ||
                      kernel.starts_with("__hip") || kernel.starts_with("MEMORY_") ||
                      kernel.starts_with("SCRATCH_") || kernel.starts_with("roctx") ||
                      kernel == "KERNEL_DISPATCH" || kernel.ends_with("_API") ||
                      kernel.ends_with("_API_EXT");
    if (call) {
      others = true;
      continue;
    }
    LaunchRow row;
    row.kernel = kernel;
    Run::Group* group = run.group(row, source, rows.line(), input.process);
    if (group == nullptr || group->timed > 0) continue;
    BURNISH_TRY_ASSIGN(const auto count, rows.integer(calls));
    BURNISH_TRY_ASSIGN(const auto sum, rows.integer(total));
    const auto average = parse_number(trim(rows.text(mean)));
    if (!count || !sum || !average || *count < 1) {
      return rows.mistake(calls, "calls and durations were expected");
    }
    group->timed = *count;
    group->launches = *count;
    group->total_time = static_cast<double>(*sum) * 1e-9;
    group->durations = {*average * 1e-9};
    group->time_source = source;
    group->time_line = rows.line();
    group->mean_time = true;
    if (const auto percent = parse_number(trim(rows.text(share)))) {
      run.add_value(*group, run.counter_index("Percentage"), *percent, source, rows.line(),
                    run.keep(fmt::format("column {}", share + 1)));
    }
  }
  if (others) {
    run.warnings.push_back(input.name.string() +
                           ": statistics of calls and copies say nothing of kernels");
  }
  return {};
}

std::string stall_reason(std::string_view reason, std::string_view instruction) {
  constexpr std::string_view kStart = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_";
  if (reason.starts_with(kStart)) reason.remove_prefix(kStart.size());
  if (reason == "WAITCNT") {
    const std::string stall = stall_of(instruction);
    return stall.starts_with("waitcnt") ? stall : "waitcnt_vector";
  }
  if (reason == "BARRIER_WAIT") return "barrier";
  if (reason == "ALU_DEPENDENCY") return "alu_dependency";
  if (reason == "ARBITER_NOT_WIN" || reason == "ARBITER_WIN_EX_STALL") return "arbiter";
  if (reason == "NO_INSTRUCTION_AVAILABLE") return "no_instruction";
  if (reason == "SLEEP_WAIT") return "sleep";
  if (reason == "INTERNAL_INSTRUCTION") return "internal";
  return "other";
}

Result<void> read_samples(const Input& input, Table table, Run& run) {
  const int source = run.add_source(input, kind_of(table), "");
  BURNISH_TRY_ASSIGN(Rows rows, Rows::open(input));
  const int dispatch = rows.column("Dispatch_Id"), instruction = rows.column("Instruction"),
            comment = rows.column("Instruction_Comment"),
            issued = rows.column("Wave_Issued_Instruction"), reason = rows.column("Stall_Reason");
  constexpr std::size_t kMostSites = 100'000;
  std::set<std::int64_t> seen;
  bool unnamed = false, elsewhen = false;
  const int stamp = rows.column("Sample_Timestamp");
  constexpr double kSecond = 1e9;  // ns
  std::string site;
  for (;;) {
    BURNISH_TRY_ASSIGN(const bool more, rows.next());
    if (!more) break;
    BURNISH_TRY_ASSIGN(const auto id, rows.integer(dispatch));
    BURNISH_TRY_ASSIGN(const auto time, rows.integer(stamp));
    // Dispatches count from 1 in every run: the times tell whether it is the same one.
    const auto span = run.span();
    const bool other = span && time &&
                       (static_cast<double>(*time) < static_cast<double>(span->first) - kSecond ||
                        static_cast<double>(*time) > static_cast<double>(span->second) + kSecond);
    elsewhen = elsewhen || other;
    Run::Group* group = id && !other ? run.of_dispatch(*id, input.process) : nullptr;
    if (group == nullptr) {
      unnamed = true;
      LaunchRow row;
      row.kernel = "(kernels that the samples do not name)";
      group = run.group(row, source, rows.line(), input.process);
      if (group == nullptr) continue;
    }
    if (id && seen.size() < kMostSites) seen.insert(*id);
    group->sample_source = source;
    group->stochastic = table == Table::stochastic;
    ++group->sample_count;
    const std::string_view text = rows.text(instruction), where = rows.text(comment);
    site.clear();
    if (!where.empty()) {
      site.append(where);
      site += ": ";
    }
    site.append(text);
    if (group->samples.size() >= kMostSites && group->samples.count(site) == 0) site = "elsewhere";
    auto [at, fresh] = group->samples.try_emplace(to_valid_utf8(site));
    if (fresh) at->second.first_row = fmt::format("row {}", rows.line());
    ++at->second.samples;
    if (table != Table::stochastic) continue;
    const std::string_view flag = trim(rows.text(issued));
    if (flag == "1") {
      // What the row says of a stall means nothing then.
      ++at->second.issued;
    } else if (flag == "0") {
      ++at->second.reasons[stall_reason(trim(rows.text(reason)), text)];
    } else {
      return rows.mistake(issued, "0 or 1 was expected");
    }
  }
  if (elsewhen) {
    run.warnings.push_back(input.name.string() +
                           ": the samples were taken at another time than the launches beside "
                           "them, and so in another run; they are not put together");
  } else if (unnamed) {
    run.warnings.push_back(fmt::format(
        "{}: the samples of {} launches name no kernels; give the folder with the kernel trace or "
        "the counters of the same run",
        input.name.string(), seen.size()));
  }
  return {};
}

/// The numbers of this row, by column and by the fact that it states.
void add_facts(const Rows& rows, const Input& input, Agent& agent,
               std::initializer_list<std::pair<const char*, const char*>> columns) {
  for (const auto& [column, fact] : columns) {
    const int at = rows.column(column);
    const auto value = parse_number(trim(rows.text(at)));
    if (!value) continue;
    Where where;
    where.file = input.name.string();
    where.hash = input.hash;
    where.locator = fmt::format("row {}, column {}", rows.line(), at + 1);
    agent.fact(fact, *value, where);
  }
}

Result<void> read_agents(const Input& input, Run& run) {
  run.add_source(input, kind_of(Table::agents), "");
  BURNISH_TRY_ASSIGN(Rows rows, Rows::open(input));
  const int type = rows.column("Agent_Type"), node = rows.column("Node_Id"),
            name = rows.column("Name"), product = rows.column("Product_Name"),
            version = rows.column("Gfx_Target_Version");
  for (;;) {
    BURNISH_TRY_ASSIGN(const bool more, rows.next());
    if (!more) break;
    Agent agent;
    agent.gpu = rows.text(type) == "GPU";
    agent.name = to_valid_utf8(rows.text(product));
    agent.arch = arch_of_name(rows.text(name));
    if (agent.arch.empty()) {
      BURNISH_TRY_ASSIGN(const auto number, rows.integer(version));
      if (number) agent.arch = arch_of_version(*number);
    }
    add_facts(rows, input, agent,
              {{"Num_Xcc", "num_xcd"},
               {"Cu_Count", "cu_per_gpu"},
               {"Max_Engine_Clk_Fcompute", "max_sclk"},
               {"Max_Waves_Per_Cu", "max_waves_per_cu"},
               {"Simd_Per_Cu", "simd_per_cu"}});
    run.add_agent(std::string(rows.text(node)), std::move(agent));
  }
  return {};
}

/// "L2 channel 17 of XCD 3", "Wave_Size_4" and their like describe passes, not counters.
bool is_description(std::string_view column) {
  static const std::set<std::string_view> titles = {"Dispatch_ID",
                                                    "GPU_ID",
                                                    "Queue_ID",
                                                    "Queue_Id",
                                                    "PID",
                                                    "TID",
                                                    "Process_Id",
                                                    "Thread_Id",
                                                    "Grid_Size",
                                                    "Workgroup_Size",
                                                    "LDS_Per_Workgroup",
                                                    "Scratch_Per_Workitem",
                                                    "Arch_VGPR",
                                                    "Accum_VGPR",
                                                    "SGPR",
                                                    "Wave_Size",
                                                    "wave_size",
                                                    "obj",
                                                    "sig",
                                                    "Kernel_Name",
                                                    "Start_Timestamp",
                                                    "End_Timestamp",
                                                    "Correlation_ID",
                                                    "XCC_Index",
                                                    "Node",
                                                    "Kernel_ID",
                                                    "Dispatch_Id",
                                                    "Agent_Id",
                                                    "Kernel_Id",
                                                    "Correlation_Id",
                                                    "Index"};
  if (titles.count(column) > 0) return true;
  // Of further passes: the same names with a number behind.
  const std::size_t line = column.rfind('_');
  if (line == std::string_view::npos || line + 1 == column.size()) return false;
  const std::string_view tail = column.substr(line + 1);
  const bool number =
      std::all_of(tail.begin(), tail.end(), [](char c) { return c >= '0' && c <= '9'; });
  return number && titles.count(column.substr(0, line)) > 0;
}

Result<void> read_wide(const Input& input, Run& run) {
  const int source = run.add_source(input, kind_of(Table::wide_counters), "");
  BURNISH_TRY_ASSIGN(Rows rows, Rows::open(input));
  const LaunchColumns launch(rows);
  // The accumulator of a pass counts what the pass is for, which its file is named after.
  std::string of_pass;
  if (rows.column("SQ_ACCUM_PREV_HIRES") >= 0) {
    of_pass = input.name.stem().string();
    if (const std::size_t at = of_pass.find("SQ_"); at != std::string::npos) {
      of_pass = of_pass.substr(at);
    }
    of_pass += ".";
  }
  struct Column {
    int at, counter;
    std::string_view locator;
  };
  std::vector<Column> counters;
  for (std::size_t i = 0; i < rows.columns().size(); ++i) {
    const std::string& column = rows.columns().name(i);
    if (column.empty() || is_description(column)) continue;
    const int index = run.counter_index(of_pass + column);
    if (index < 0) return rows.mistake(static_cast<int>(i), "there are too many counters");
    counters.push_back({static_cast<int>(i), index, run.keep(fmt::format("column {}", i + 1))});
  }
  for (;;) {
    BURNISH_TRY_ASSIGN(const bool more, rows.next());
    if (!more) break;
    BURNISH_TRY_ASSIGN(LaunchRow row, launch.read(rows));
    // rocprof-compute's passes count dispatches from 0 or 1: rows are joined by their order.
    row.dispatch = run.ordinal_in(source, row.kernel);
    Run::Group* group = run.group(row, source, rows.line(), input.process);
    if (group == nullptr) continue;
    run.time_launch(*group, row, source, rows.line());
    for (const Column& column : counters) {
      const std::string_view field = trim(rows.text(column.at));
      if (field.empty() || field == "nan" || field == "NaN") continue;  // not measured
      const auto number = parse_number(field);
      if (!number) {
        return rows.mistake(column.at,
                            fmt::format("\"{}\" is no number", to_valid_utf8(field.substr(0, 40))));
      }
      run.add_value(*group, column.counter, *number, source, rows.line(), column.locator);
    }
  }
  return {};
}

Result<void> read_sysinfo(const Input& input, Run& run) {
  run.add_source(input, kind_of(Table::sysinfo), "");
  BURNISH_TRY_ASSIGN(Rows rows, Rows::open(input));
  BURNISH_TRY_ASSIGN(const bool more, rows.next());
  if (!more) return bad_input("the file describes no system").at({input.name.string(), 2, 0});
  Agent agent;
  agent.arch = arch_of_name(rows.text(rows.column("gpu_arch")));
  agent.name = to_valid_utf8(rows.text(rows.column("gpu_model")));
  if (!agent.name.empty() && agent.name.starts_with("MI")) {
    // "MI300X_A1": the model with its stepping.
    agent.name = "AMD Instinct " + agent.name.substr(0, agent.name.find('_'));
  }
  add_facts(rows, input, agent,
            {{"num_xcd", "num_xcd"},
             {"cu_per_gpu", "cu_per_gpu"},
             {"max_sclk", "max_sclk"},
             {"max_mclk", "max_mclk"},
             {"max_waves_per_cu", "max_waves_per_cu"},
             {"simd_per_cu", "simd_per_cu"},
             {"num_hbm_channels", "num_hbm_channels"},
             {"num_memory_channels", "num_hbm_channels"}});
  for (const char* key :
       {"command", "rocm_version", "workload_name", "compute_partition", "memory_partition"}) {
    const std::string_view text = rows.text(rows.column(key));
    if (!text.empty()) run.session.emplace(key, to_valid_utf8(text));
  }
  run.add_agent("sysinfo", std::move(agent));
  return {};
}

}  // namespace

std::optional<Table> table_of(std::string_view bytes) {
  // The widest header of rocprof-compute takes 60 KB.
  const std::size_t end = bytes.substr(0, 1 << 20).find('\n');
  CsvReader reader(bytes.substr(0, end == std::string_view::npos ? 1 << 20 : end), "",
                   InnerQuotes::bare);
  const auto more = reader.next();
  if (!more || !*more) return std::nullopt;
  const CsvColumns columns(reader.fields());
  const auto has = [&](std::string_view name) { return columns.find(name).has_value(); };
  if (has("Counter_Name") && has("Counter_Value") && has("Kernel_Name")) return Table::counters;
  if (has("Kind") && has("Kernel_Name") && has("Start_Timestamp") && has("End_Timestamp")) {
    return Table::kernel_trace;
  }
  if (has("Sample_Timestamp") && has("Instruction")) {
    return has("Wave_Issued_Instruction") ? Table::stochastic : Table::host_trap;
  }
  if (has("Node_Id") && has("Agent_Type")) return Table::agents;
  if (has("Name") && has("Calls") && has("TotalDurationNs") && has("AverageNs")) {
    return Table::stats;
  }
  if (has("Vaddr") && has("Instruction") && has("Hitcount")) return Table::instruction_stats;
  if (has("gpu_arch") && has("cu_per_gpu")) return Table::sysinfo;
  if (has("Dispatch_ID") && has("Kernel_Name")) return Table::wide_counters;
  if ((has("Kind") || has("Domain") || has("Function")) && has("Start_Timestamp") &&
      has("End_Timestamp")) {
    return Table::other_trace;
  }
  return std::nullopt;
}

std::string kind_of(Table table) {
  switch (table) {
    case Table::counters:
      return "rocprofv3-counters";
    case Table::kernel_trace:
      return "rocprofv3-kernel-trace";
    case Table::stats:
      return "rocprofv3-stats";
    case Table::host_trap:
      return "rocprofv3-pc-sampling-host-trap";
    case Table::stochastic:
      return "rocprofv3-pc-sampling-stochastic";
    case Table::agents:
      return "rocprofv3-agent-info";
    case Table::other_trace:
      return "rocprofv3-trace";
    case Table::wide_counters:
      return "rocprof-compute-counters";
    case Table::sysinfo:
      return "rocprof-compute-sysinfo";
    case Table::instruction_stats:
      return "att-stats";
  }
  return "rocprofv3";
}

Result<void> read_table(const Input& input, Table table, Run& run) {
  switch (table) {
    case Table::counters:
      return read_counters(input, run);
    case Table::kernel_trace:
      return read_kernel_trace(input, run);
    case Table::stats:
      return read_stats(input, run);
    case Table::host_trap:
    case Table::stochastic:
      return read_samples(input, table, run);
    case Table::agents:
      return read_agents(input, run);
    case Table::wide_counters:
      return read_wide(input, run);
    case Table::sysinfo:
      return read_sysinfo(input, run);
    case Table::other_trace:
      run.add_source(input, kind_of(table), "");
      run.warnings.push_back(input.name.string() +
                             ": a trace of calls, copies or allocations says nothing of kernels");
      return {};
    case Table::instruction_stats:
      break;
  }
  return bug("a table was given to the wrong reader");
}

}  // namespace burnish::profile::amd
