#include "profile/amd_model.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>

#include "base/text.h"
#include "profile/aliases.h"

namespace burnish::profile::amd {
namespace {

constexpr std::size_t kMostDurations = 65'536;
constexpr std::size_t kMostRemembered = 1'000'000;
constexpr double kMostPercent = 105;
/// MHz; no AMD device is clocked higher.
constexpr double kHighestClock = 3500;

const Result<AliasTable>& aliases() {
  static const Result<AliasTable> loaded = AliasTable::load("metrics/amd.toml");
  return loaded;
}

std::int64_t product(const std::array<std::int64_t, 3>& extent) {
  double size = 1;
  for (const std::int64_t value : extent) size *= static_cast<double>(value);
  if (!(std::fabs(size) < 9e15)) return -1;
  return extent[0] * extent[1] * extent[2];
}

/// Workgroups that hold so many work-items; sizes may be any that a file claims.
std::int64_t blocks_of(std::int64_t items, std::int64_t size) {
  return items <= 0 ? 0 : (items - 1) / std::max<std::int64_t>(1, size) + 1;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double upper = *middle;
  if (values.size() % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), middle)) / 2;
}

bool unified_file(std::string_view arch) {
  return arch == "gfx90a" || arch.starts_with("gfx94") || arch.starts_with("gfx95");
}

/// Counters that cannot be 0 when a kernel ran.
bool never_zero(std::string_view counter) {
  return counter == "SQ_WAVES" || counter == "GRBM_COUNT" || counter == "GRBM_GUI_ACTIVE" ||
         counter == "SQ_CYCLES" || counter == "SQ_BUSY_CYCLES" || counter == "SQ_WAVE_CYCLES" ||
         counter == "SQ_INSTS";
}

void erase(KernelProfile& kernel, const std::set<std::string, std::less<>>& names) {
  if (names.empty()) return;
  MetricSet kept;
  for (const auto& [name, metric] : kernel.metrics.all()) {
    if (names.count(name) == 0) kept.add(metric);
  }
  kernel.metrics = std::move(kept);
}

/// (1 - mean / max) over the channels "TCC_REQ[0]", …
void add_channel_balance(KernelProfile& kernel) {
  double sum = 0, most = 0;
  int count = 0;
  const Metric* busiest = nullptr;
  const auto& all = kernel.metrics.all();
  for (auto it = all.lower_bound("TCC_REQ["); it != all.end(); ++it) {
    if (!it->first.starts_with("TCC_REQ[")) break;
    sum += it->second.value;
    ++count;
    if (busiest == nullptr || it->second.value > most) {
      busiest = &it->second;
      most = it->second.value;
    }
  }
  if (count < 2 || !(most > 0)) return;
  const Where where = busiest->where;
  kernel.metrics.add(derived("balance.l2_pct", 100 * (1 - sum / count / most), "%", where,
                             fmt::format("TCC_REQ of {} channels", count)));
}

}  // namespace

void Input::done_to(std::size_t position) const {
  if (!mapped) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t whole = std::min(position, bytes.size()) / page * page;
  // A read-only mapping of a file: what is looked at again is read again.
  if (whole > 0) madvise(const_cast<char*>(bytes.data()), whole, MADV_DONTNEED);
}

void Agent::fact(const std::string& fact_name, double value, const Where& where) {
  if (!std::isfinite(value) || value <= 0) return;
  facts.push_back(derived(fact_name, value, "1", where, fact_name));
}

std::string arch_of_version(std::int64_t version) {
  if (version < 60000 || version > 999999) return {};
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

std::string arch_of_name(std::string_view name) {
  name = trim(name);
  name = name.substr(0, name.find(':'));
  if (!name.starts_with("gfx") || name.size() < 6 || name.size() > 8) return {};
  for (const char c : name.substr(3)) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return {};
  }
  return std::string(name);
}

Metric derived(std::string name, double value, std::string unit, Where where,
               std::string raw_name) {
  Metric metric;
  metric.name = std::move(name);
  metric.value = value;
  metric.unit = std::move(unit);
  metric.where = std::move(where);
  if (!raw_name.empty()) metric.where.raw_name = std::move(raw_name);
  return metric;
}

Metric derived_text(std::string name, std::string text, Where where, std::string raw_name) {
  Metric metric = derived(std::move(name), 0, "text", std::move(where), std::move(raw_name));
  metric.text = std::move(text);
  return metric;
}

std::string without_descriptor(std::string_view name) {
  name = trim(name);
  for (const std::string_view suffix : {" [clone .kd]", " (.kd)", ".kd"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return to_valid_utf8(name);
}

namespace {

std::string vector_class(std::string_view instruction, std::string_view op) {
  const auto is = [&](std::initializer_list<std::string_view> starts) {
    return std::any_of(starts.begin(), starts.end(),
                       [&](std::string_view start) { return op.starts_with(start); });
  };
  if (is({"v_mfma", "v_smfmac", "v_wmma", "v_swmmac"})) return "matrix";
  if (is({"v_accvgpr"})) return "accum_move";
  if (is({"v_readlane", "v_readfirstlane", "v_writelane", "v_permlane"}) || contains(op, "_dpp") ||
      contains(instruction, " row_") || contains(instruction, "quad_perm")) {
    return "cross_lane";
  }
  if (is({"v_cvt"})) return "convert";
  if (is({"v_fma", "v_mad_f", "v_mac_f", "v_dot"})) return "fma";
  if (is({"v_pk_fma"})) return "packed_fma";
  if (is({"v_exp", "v_log", "v_rcp", "v_rsq", "v_sqrt", "v_sin", "v_cos"})) return "sfu";
  return is({"v_nop"}) ? "nop" : "valu";
}

std::string scalar_class(std::string_view op) {
  const auto is = [&](std::initializer_list<std::string_view> starts) {
    return std::any_of(starts.begin(), starts.end(),
                       [&](std::string_view start) { return op.starts_with(start); });
  };
  if (is({"s_nop"})) return "nop";
  if (is({"s_waitcnt", "s_wait_"})) return "wait";
  if (is({"s_barrier"})) return "barrier";
  if (is({"s_cbranch", "s_branch", "s_setpc", "s_swappc", "s_call"})) return "branch";
  if (is({"s_load", "s_buffer_load", "s_store", "s_dcache", "s_scratch_load"})) return "smem";
  return "salu";
}

}  // namespace

std::string class_of(std::string_view instruction) {
  const std::string_view op = instruction.substr(0, instruction.find_first_of(" \t"));
  const auto starts = [&](std::string_view part) { return op.starts_with(part); };
  if (starts("v_")) return vector_class(instruction, op);
  if (starts("s_")) return scalar_class(op);
  if (starts("ds_bpermute") || starts("ds_permute") || starts("ds_swizzle")) return "cross_lane";
  if (contains(op, "atomic")) return "atomic";
  if (starts("ds_"))
    return contains(op, "write") || contains(op, "store") ? "lds_store" : "lds_load";
  if (starts("global_") || starts("flat_") || starts("buffer_") || starts("tbuffer_") ||
      starts("scratch_") || starts("image_")) {
    if (contains(op, "lds") && contains(op, "load")) return "async_copy";
    return contains(op, "store") ? "vmem_store" : "vmem_load";
  }
  return "other";
}

std::string stall_of(std::string_view instruction) {
  const std::string kind = class_of(instruction);
  if (kind == "wait") {
    // A wait for both counters is put down to the slower memory.
    for (const char* slow : {"vmcnt", "vscnt", "loadcnt", "storecnt", "samplecnt", "bvhcnt"}) {
      if (contains(instruction, slow)) return "waitcnt_vector";
    }
    return "waitcnt_lds";
  }
  if (kind == "barrier") return "barrier";
  if (instruction.starts_with("s_sleep")) return "sleep";
  if (kind == "nop") return "hazard";
  if (kind == "vmem_load" || kind == "vmem_store" || kind == "atomic" || kind == "async_copy") {
    return "memory_queue";
  }
  if (kind == "lds_load" || kind == "lds_store") return "lds_queue";
  if (kind == "smem") return "scalar_queue";
  if (kind == "branch") return "branch";
  return "alu_dependency";
}

int Run::add_source(const Input& input, const std::string& kind, const std::string& version) {
  Artefact artefact;
  artefact.file = input.name;
  artefact.kind = kind;
  artefact.tool = tool;
  artefact.version = version;
  artefact.hash = input.hash;
  sources_.push_back(std::move(artefact));
  passes_.push_back(input.pass);
  return static_cast<int>(sources_.size()) - 1;
}

int Run::counter_index(std::string_view name) {
  const auto it = counter_index_.find(std::string(name));
  if (it != counter_index_.end()) return it->second;
  if (counters_.size() >= kMostCounters) return -1;
  const int index = static_cast<int>(counters_.size());
  counters_.emplace_back(name);
  counter_index_.emplace(counters_.back(), index);
  return index;
}

std::string Run::identity(const Group& group) const {
  return fmt::format("{}\n{}\n{}\n{}\n{}", group.kernel, group.agent, group.grid_items.value_or(-1),
                     group.block_items.value_or(-1), group.shared_bytes.value_or(-1));
}

void Run::merge(Group& into, Group&& from) {
  into.launches += from.launches;
  const auto fill = [](auto& to, const auto& value) {
    if (!to) to = value;
  };
  fill(into.grid, from.grid);
  fill(into.block, from.block);
  fill(into.registers, from.registers);
  fill(into.accum, from.accum);
  fill(into.scalar, from.scalar);
  fill(into.scratch_bytes, from.scratch_bytes);
  if (into.symbol.empty()) into.symbol = std::move(from.symbol);
  into.most_counter = std::max(into.most_counter, from.most_counter);
  for (Value& value : from.values) {
    const auto same = std::find_if(into.values.begin(), into.values.end(), [&](const Value& other) {
      return other.counter == value.counter && other.source == value.source;
    });
    if (same == into.values.end()) {
      into.values.push_back(value);
      continue;
    }
    same->sum += value.sum;
    same->count += value.count;
    same->least = std::min(same->least, value.least);
    same->most = std::max(same->most, value.most);
  }
  for (const double duration : from.durations) {
    if (into.durations.size() < kMostDurations) into.durations.push_back(duration);
  }
  if (into.time_source < 0) {
    into.time_source = from.time_source;
    into.time_line = from.time_line;
  }
  into.timed += from.timed;
  into.total_time += from.total_time;
}

void Run::fold() {
  folded_ = true;
  std::vector<Group> old = std::move(groups_);
  groups_.clear();
  by_key_.clear();
  std::vector<std::size_t> moved(old.size());
  for (std::size_t i = 0; i < old.size(); ++i) {
    const std::string key = identity(old[i]);
    const auto [it, fresh] = by_key_.emplace(key, groups_.size());
    moved[i] = it->second;
    if (fresh) {
      groups_.push_back(std::move(old[i]));
      groups_.back().dispatch = -1;
    } else {
      merge(groups_[it->second], std::move(old[i]));
    }
  }
  if (remembers_) {
    for (auto& [key, index] : by_dispatch_) index = moved[index];
  } else {
    by_dispatch_.clear();
  }
}

Run::Group* Run::of_dispatch(std::int64_t dispatch, const std::string& process) {
  const auto it = by_dispatch_.find(fmt::format("{}\n{}", process, dispatch));
  return it == by_dispatch_.end() ? nullptr : &groups_[it->second];
}

Run::Group* Run::group(const LaunchRow& row, int source, int line, const std::string& process) {
  Group made;
  made.kernel = std::string(row.kernel);
  made.symbol = std::string(row.symbol);
  made.agent = std::string(row.agent);
  made.dispatch = row.dispatch.value_or(-1);
  made.process = process;
  made.grid = row.grid;
  made.block = row.block;
  made.grid_items = row.grid_items;
  made.block_items = row.block_items;
  if (!made.grid_items && row.grid) made.grid_items = product(*row.grid);
  if (!made.block_items && row.block) made.block_items = product(*row.block);
  made.shared_bytes = row.shared_bytes;
  made.scratch_bytes = row.scratch_bytes;
  made.registers = row.registers;
  made.accum = row.accum;
  made.scalar = row.scalar;
  made.launch_source = source;
  made.launch_line = line;

  const bool named = row.dispatch.has_value();
  const std::string dispatch_key =
      named ? fmt::format("{}\n{}", process, *row.dispatch) : std::string();
  if (named && (!folded_ || remembers_)) {
    // The launch may have been seen in another file: another pass, or the trace beside the
    // counters.
    const auto known = by_dispatch_.find(dispatch_key);
    if (known != by_dispatch_.end() && groups_[known->second].kernel == made.kernel) {
      Group& group = groups_[known->second];
      if (!group.grid_items || !made.grid_items || *group.grid_items == *made.grid_items) {
        made.launches = 0;
        merge(group, std::move(made));
        return &group;
      }
    }
  }
  if (!folded_ && groups_.size() >= kMostLaunches) fold();
  const std::string key = folded_ ? identity(made)
                          : named ? made.kernel + "\n" + dispatch_key
                                  : fmt::format("{}\n#{}", made.kernel, groups_.size());
  const auto it = by_key_.find(key);
  std::size_t index = 0;
  if (it != by_key_.end()) {
    index = it->second;
    if (groups_[index].launch_source != source) made.launches = 0;
    merge(groups_[index], std::move(made));
  } else {
    if (groups_.size() >= kMostGroups) {
      ++dropped_;
      return nullptr;
    }
    index = groups_.size();
    if (folded_) made.dispatch = -1;
    groups_.push_back(std::move(made));
    by_key_.emplace(key, index);
  }
  if (named && (!folded_ || remembers_) && by_dispatch_.size() < kMostRemembered) {
    by_dispatch_.insert_or_assign(dispatch_key, index);
  }
  return &groups_[index];
}

void Run::add_value(Group& group, int counter, double value, int source, int line,
                    std::string_view locator) {
  if (counter < 0 || !std::isfinite(value)) return;
  const auto is_it = [&](const Value& one) {
    return one.counter == counter && one.source == source;
  };
  auto at = group.values.end();
  if (group.next_value < group.values.size() && is_it(group.values[group.next_value])) {
    at = group.values.begin() + static_cast<std::ptrdiff_t>(group.next_value);
  } else if (counter <= group.most_counter) {
    at = std::find_if(group.values.begin(), group.values.end(), is_it);
  }
  group.most_counter = std::max(group.most_counter, counter);
  group.next_value = static_cast<std::size_t>(at - group.values.begin()) + 1;
  if (at == group.values.end()) {
    group.values.push_back({counter, source, value, value, value, 1, line, locator});
    return;
  }
  if (group.next_value == group.values.size()) group.next_value = 0;
  at->sum += value;
  at->least = std::min(at->least, value);
  at->most = std::max(at->most, value);
  ++at->count;
}

/// How many launches the numbers are of.
std::int64_t Run::launches_of(const Group& group) const {
  if (group.timed > 0) return group.timed;
  std::int64_t counted = 0;
  for (const Value& value : group.values) counted = std::max(counted, value.count);
  return counted > 0 ? counted : std::max<std::int64_t>(1, group.launches);
}

std::int64_t Run::ordinal_in(int source, std::string_view kernel) {
  return ordinals_[{source, std::string(kernel)}]++;
}

std::string_view Run::keep(std::string text) { return texts_.emplace_back(std::move(text)); }

void Run::time_launch(Group& group, const LaunchRow& row, int source, int line) {
  if (row.start && row.end) {
    if (!span_) span_.emplace(*row.start, *row.end);
    span_->first = std::min(span_->first, *row.start);
    span_->second = std::max(span_->second, *row.end);
  }
  if (!row.start || !row.end || (group.time_source >= 0 && group.time_source != source)) return;
  if (group.time_source < 0) {
    group.time_source = source;
    group.time_line = line;
  }
  const double seconds = (static_cast<double>(*row.end) - static_cast<double>(*row.start)) * 1e-9;
  ++group.timed;
  group.total_time += seconds;
  if (group.durations.size() < kMostDurations) group.durations.push_back(seconds);
}

Metric Run::raw(const std::string& name, double value, const std::string& unit, int source,
                int line, std::string_view locator) const {
  Metric metric;
  metric.name = name;
  metric.value = value;
  metric.unit = unit;
  const auto index = static_cast<std::size_t>(source);
  metric.where.file = sources_[index].file.string();
  metric.where.hash = sources_[index].hash;
  metric.where.pass = passes_[index];
  metric.where.raw_name = name;
  if (line > 0) {
    metric.where.locator =
        locator.empty() ? fmt::format("row {}", line) : fmt::format("row {}, {}", line, locator);
  } else {
    metric.where.locator = std::string(locator);
  }
  return metric;
}

Metric Run::raw_of_launch(const Group& group, const std::string& name, double value,
                          const std::string& unit) const {
  Metric metric = raw(name, value, unit, group.launch_source, group.launch_line, "");
  if (group.launch_line == 0) metric.where.locator = group.launch_place;
  return metric;
}

void Run::put_identity(const Group& group, KernelProfile& kernel) const {
  kernel.name = without_descriptor(group.kernel);
  if (kernel.name.empty()) kernel.name = "(unnamed kernel)";
  kernel.symbol = without_descriptor(group.symbol);
  if (group.dispatch >= 0) {
    kernel.id = group.process.empty()
                    ? fmt::format("dispatch {}", group.dispatch)
                    : fmt::format("dispatch {} of {}", group.dispatch, group.process);
  } else if (group.grid_items) {
    kernel.id = fmt::format("{} work-items in workgroups of {}", *group.grid_items,
                            group.block_items.value_or(0));
  }
  if (group.block) kernel.launch.block = group.block;
  if (group.grid && group.block) {
    std::array<std::int64_t, 3> blocks{};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t size = std::max<std::int64_t>(1, (*group.block)[i]);
      blocks[i] = blocks_of((*group.grid)[i], size);
    }
    kernel.launch.grid = blocks;
  }
  kernel.launch.shared_bytes = group.shared_bytes;

  const auto say = [&](const char* name, const std::optional<std::int64_t>& value, const char* unit,
                       const char* raw_name) {
    if (!value || *value < 0) return;
    Metric metric = raw_of_launch(group, name, static_cast<double>(*value), unit);
    metric.where.raw_name = raw_name;
    kernel.metrics.add(std::move(metric));
  };
  if (group.block_items && *group.block_items > 0) {
    say("launch.block_threads", group.block_items, "1", "Workgroup_Size");
    if (!kernel.launch.grid && group.grid_items && *group.grid_items > 0) {
      say("launch.grid_blocks", blocks_of(*group.grid_items, *group.block_items), "1",
          "Grid_Size / Workgroup_Size");
    }
  }
  say("launch.dispatches", launches_of(group), "1", "rows of this kernel");
  say("scratch.bytes", group.scratch_bytes, "B", "Scratch_Size");
  say("VGPR_Count", group.registers, "1", "VGPR_Count");
  say("Accum_VGPR_Count", group.accum, "1", "Accum_VGPR_Count");
  say("SGPR_Count", group.scalar, "1", "SGPR_Count");
  say("shared.bytes", group.shared_bytes, "B", "LDS_Block_Size");

  const Agent* agent = nullptr;
  if (const auto it = agents_.find(group.agent); it != agents_.end()) {
    agent = &it->second;
  } else {
    int gpus = 0;
    for (const auto& [id, one] : agents_) {
      if (!one.gpu) continue;
      ++gpus;
      agent = &one;
    }
    if (gpus != 1) agent = nullptr;
  }
  if (agent != nullptr) {
    kernel.device.name = agent->name;
    kernel.device.arch = agent->arch;
    for (const Metric& fact : agent->facts) kernel.metrics.add(fact);
  }

  // rocprofv3 takes the counts from the kernel descriptor: they are what is allocated.
  const std::string& arch = kernel.device.arch;
  const auto registers = group.registers;
  if (registers && *registers > 0) {
    if (arch.empty()) {
      kernel.not_measured["registers.allocated"] =
          "the artefact does not name the device, and what VGPR_Count means depends on it; add "
          "agent_info.csv or the code object";
    } else if (arch.starts_with("gfx95") && group.accum.value_or(0) == 0) {
      kernel.not_measured["registers.allocated"] =
          "rocprofv3 of ROCm 7.0 reports half of gfx950's registers; read the code object";
    } else {
      const std::int64_t accum = unified_file(arch) ? group.accum.value_or(0) : 0;
      say("registers.allocated", *registers + accum, "1",
          unified_file(arch) ? "VGPR_Count + Accum_VGPR_Count" : "VGPR_Count");
    }
  }

  if (group.timed > 0 && !group.durations.empty()) {
    const double time = median(group.durations);
    Metric metric = raw("time.device", time, "s", group.time_source, group.time_line, "");
    if (group.time_line == 0) metric.where.locator = group.launch_place;
    metric.where.raw_name =
        group.mean_time ? fmt::format("AverageNs of {} calls", group.timed)
        : group.timed == 1
            ? "End_Timestamp - Start_Timestamp"
            : fmt::format("median of End_Timestamp - Start_Timestamp over {} launches",
                          group.timed);
    if (time > 0) {
      kernel.metrics.add(std::move(metric));
    } else {
      kernel.implausible.push_back(
          fmt::format("{}: the launch ends no later than it starts, so its duration is not known",
                      metric.where.locator));
    }
    if (group.timed > 1) {
      Metric total =
          raw("time.total", group.total_time, "s", group.time_source, group.time_line, "");
      total.where.locator = "all rows of the kernel";
      total.where.raw_name = fmt::format("sum over {} launches", group.timed);
      kernel.metrics.add(std::move(total));
    }
  }
}

void Run::put_counters(const Group& group, KernelProfile& kernel) const {
  std::map<int, std::vector<const Value*>> by_counter;
  for (const Value& value : group.values) by_counter[value.counter].push_back(&value);
  // A pass whose counters cannot be right says nothing.
  std::set<int> dead;
  for (const auto& [counter, values] : by_counter) {
    const std::string& name = counters_[static_cast<std::size_t>(counter)];
    for (const Value* value : values) {
      if (value->most == 0 && never_zero(name) && dead.insert(value->source).second) {
        kernel.implausible.push_back(fmt::format(
            "{}: {} is 0 for a kernel that ran: the counters of {} were not counted (a device in a "
            "low power state, or a counter that it does not have) and are left out",
            sources_[static_cast<std::size_t>(value->source)].file.filename().string(), name,
            passes_[static_cast<std::size_t>(value->source)].empty()
                ? "this file"
                : passes_[static_cast<std::size_t>(value->source)]));
      }
    }
  }
  std::vector<std::string> unlike, repeated;
  for (const auto& [counter, values] : by_counter) {
    const std::string& name = counters_[static_cast<std::size_t>(counter)];
    const Value* chosen = nullptr;
    for (const Value* value : values) {
      if (dead.count(value->source) > 0) continue;
      if (chosen == nullptr) {
        chosen = value;
        continue;
      }
      const double one = chosen->sum / static_cast<double>(chosen->count);
      const double other = value->sum / static_cast<double>(value->count);
      if (std::fabs(one - other) > 0.1 * std::max(std::fabs(one), std::fabs(other))) {
        unlike.push_back(fmt::format("{} ({} and {})", name, number_text(one), number_text(other)));
        break;
      }
    }
    if (chosen == nullptr) continue;
    Metric metric = raw(name, chosen->sum / static_cast<double>(chosen->count), "1", chosen->source,
                        chosen->line, chosen->locator);
    if (chosen->count > 1) {
      metric.where.raw_name = fmt::format("mean of {} over {} launches", name, chosen->count);
      // One launch has one value of a counter.
      if (group.dispatch >= 0 && chosen->most != chosen->least) {
        repeated.push_back(fmt::format("{} ({} to {})", name, number_text(chosen->least),
                                       number_text(chosen->most)));
      }
    }
    kernel.metrics.add(std::move(metric));
  }
  const auto some = [](std::vector<std::string> all) {
    const bool more = all.size() > 3;
    if (more) all.resize(3);
    return join(all, ", ") + (more ? ", …" : "");
  };
  if (!repeated.empty()) {
    kernel.implausible.push_back(
        fmt::format("rows of one dispatch give a counter several values: {}; their mean is taken, "
                    "but files of several runs or passes were put together: read them one by one",
                    some(repeated)));
  }
  if (!unlike.empty()) {
    kernel.implausible.push_back(fmt::format(
        "counters that several passes counted differ by more than 10 %: {}; ratios over passes "
        "are as uncertain as that",
        some(unlike)));
  }
}

void Run::put_samples(const Group& group, KernelProfile& kernel) const {
  if (group.sample_count == 0) return;
  const auto total = static_cast<double>(group.sample_count);
  const auto add = [&](const std::string& name, double value, const char* unit,
                       const std::string& how) {
    Metric metric = raw(name, value, unit, group.sample_source, 0, "all rows");
    metric.where.raw_name = how;
    kernel.metrics.add(std::move(metric));
  };
  add("samples.count", total, "1", "rows");
  const std::pair<const std::string, SampleSite>* busiest = nullptr;
  std::map<std::string, std::int64_t> reasons;
  std::map<std::string, std::pair<const std::string*, std::int64_t>> worst;
  std::int64_t issued = 0;
  for (const auto& site : group.samples) {
    if (busiest == nullptr || site.second.samples > busiest->second.samples) busiest = &site;
    issued += site.second.issued;
    for (const auto& [reason, count] : site.second.reasons) {
      reasons[reason] += count;
      auto& most = worst[reason];
      if (count > most.second) most = {&site.first, count};
    }
  }
  const auto place = [&](const std::string& name, const std::string& text, double share) {
    Metric metric = raw(name, 0, "text", group.sample_source, 0, "");
    metric.text = text;
    metric.where.locator = group.samples.at(text).first_row;
    kernel.metrics.add(metric);
    Metric pct = raw(name + "_pct", share, "%", group.sample_source, 0, "");
    pct.where.locator = metric.where.locator;
    kernel.metrics.add(std::move(pct));
  };
  if (busiest != nullptr) {
    place("hotspot.stall", busiest->first,
          100 * static_cast<double>(busiest->second.samples) / total);
  }
  if (!group.stochastic) {
    kernel.not_measured["issue.active_pct"] =
        "host-trap samples do not say whether the instruction was issued; sample stochastically "
        "(gfx942 and later)";
    return;
  }
  add("issue.active_pct", 100 * static_cast<double>(issued) / total, "%",
      "Wave_Issued_Instruction = 1");
  for (const char* reason : {"waitcnt_vector", "waitcnt_lds", "barrier", "alu_dependency",
                             "arbiter", "no_instruction", "sleep", "internal"}) {
    reasons.emplace(reason, 0);
  }
  for (const auto& [reason, count] : reasons) {
    add(fmt::format("stall.{}_pct", reason), 100 * static_cast<double>(count) / total, "%",
        "Stall_Reason where Wave_Issued_Instruction = 0");
    if (count == 0) continue;
    const auto& [text, most] = worst.at(reason);
    place("hotspot.stall_" + reason, *text,
          100 * static_cast<double>(most) / static_cast<double>(count));
  }
  if (busiest != nullptr && !busiest->second.reasons.empty()) {
    const auto& at = busiest->second.reasons;
    const auto most = std::max_element(
        at.begin(), at.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    Metric metric = raw("hotspot.stall_reason", 0, "text", group.sample_source, 0, "");
    metric.text = most->first;
    metric.where.locator = busiest->second.first_row;
    kernel.metrics.add(metric);
    Metric pct =
        raw("hotspot.stall_reason_pct",
            100 * static_cast<double>(most->second) / static_cast<double>(busiest->second.samples),
            "%", group.sample_source, 0, "");
    pct.where.locator = metric.where.locator;
    kernel.metrics.add(std::move(pct));
  }
  if (group.sample_count < 100) {
    kernel.implausible.push_back(fmt::format(
        "{} samples: shares are known to about ±{:.0f} points at best; sample longer or more often",
        group.sample_count, 100 / std::sqrt(total)));
  }
}

Result<Reading> Run::finish() {
  Reading reading;
  reading.warnings = std::move(warnings);
  reading.session = std::move(session);
  if (dropped_ > 0) {
    reading.warnings.push_back(fmt::format(
        "{} launches of further kernels are left out: there are more than {} kernels and shapes",
        dropped_, kMostGroups));
  }
  std::vector<const Group*> order;
  for (const Group& group : groups_) {
    if (!only_sampled || group.sample_count > 0) order.push_back(&group);
  }
  if (folded_) {
    std::stable_sort(order.begin(), order.end(),
                     [](const Group* a, const Group* b) { return a->total_time > b->total_time; });
  }
  for (const Group* group : order) {
    KernelProfile kernel;
    put_identity(*group, kernel);
    put_counters(*group, kernel);
    put_samples(*group, kernel);
    BURNISH_TRY(normalise(kernel, ""));
    reading.kernels.push_back(std::move(kernel));
  }
  reading.artefacts = std::move(sources_);
  return reading;
}

Result<void> normalise(KernelProfile& kernel, const std::string& tool_version) {
  const auto& table = aliases();
  if (!table) return table.error();
  const std::string& arch = kernel.device.arch;
  std::map<std::string, std::string, std::less<>> unavailable;
  std::set<std::string, std::less<>> dropped;
  if ((arch == "gfx908" || arch == "gfx90a" || arch == "gfx906") &&
      kernel.metrics.find("num_xcd") == nullptr) {
    Where where;
    where.file = "model";
    where.locator = arch + " has one XCD";
    kernel.metrics.add(derived("num_xcd", 1, "1", where, "num_xcd"));
  }
  const auto active = kernel.metrics.value("GRBM_GUI_ACTIVE");
  const auto time = kernel.metrics.value("time.device");
  const auto dies = kernel.metrics.value("num_xcd");
  if (active && time && *time > 0) {
    // Without the number of XCDs the most that there are, eight, keeps the check sound.
    const double clock = *active / dies.value_or(8) / *time / 1e6;
    const double most = 1.05 * kernel.metrics.value("max_sclk").value_or(kHighestClock);
    if (clock > most) {
      const auto highest = kernel.metrics.value("max_sclk");
      kernel.implausible.push_back(fmt::format(
          "counters and timestamps come from different passes: GRBM_GUI_ACTIVE over the time is a "
          "clock of {:.1f} GHz, and {}; shares of peak and bandwidths are left out",
          clock / 1000,
          highest ? fmt::format("the highest is {:.1f}", *highest / 1000)
                  : std::string("no device is clocked above 3.5")));
      for (const char* name : {"GRBM_GUI_ACTIVE", "GRBM_COUNT"}) {
        dropped.insert(name);
        unavailable[name] = "from another pass than the timestamps";
      }
    }
  }
  const bool mixed = !dropped.empty();
  if (mixed) {
    // A rate over the time would mix passes as well.
    for (const char* name : {"dram.bandwidth", "dram.throughput_pct"}) {
      kernel.not_measured[name] = "counters and timestamps come from different passes";
    }
  }
  const auto waves = kernel.metrics.value("SQ_WAVES");
  const auto blocks = kernel.launch.grid
                          ? std::optional<double>(static_cast<double>(product(*kernel.launch.grid)))
                          : kernel.metrics.value("launch.grid_blocks");
  const auto threads = kernel.metrics.value("launch.block_threads");
  if (waves && blocks && threads && (arch.empty() || arch.starts_with("gfx9"))) {
    const double expected = *blocks * std::ceil(*threads / 64);
    if (std::fabs(*waves - expected) > 0.01 * expected && (!arch.empty() || *waves < expected)) {
      kernel.implausible.push_back(fmt::format(
          "SQ_WAVES is {}, but the launch has {} waves: part of the device was not counted, or "
          "other work was; sums over the device are off by that factor",
          number_text(*waves), number_text(expected)));
    }
  }
  const auto hits = kernel.metrics.value("TCC_HIT_sum");
  const auto misses = kernel.metrics.value("TCC_MISS_sum");
  const auto requests = kernel.metrics.value("TCC_REQ_sum");
  if (hits && misses && requests && *hits + *misses > 1.05 * *requests) {
    kernel.implausible.push_back(
        fmt::format("TCC_HIT_sum + TCC_MISS_sum is {}, more than the {} requests of TCC_REQ_sum: "
                    "they come from different passes; the L2 hit rate is left out",
                    number_text(*hits + *misses), number_text(*requests)));
    dropped.insert("TCC_HIT_sum");
    unavailable["TCC_HIT_sum"] = "from another pass than TCC_REQ_sum";
  }
  erase(kernel, dropped);

  const std::string known = arch.empty() ? "unknown" : arch;
  table->apply({known, tool_version}, unavailable, kernel);
  add_channel_balance(kernel);

  std::set<std::string, std::less<>> wrong;
  for (const auto& [name, metric] : kernel.metrics.all()) {
    const bool normalised = contains(name, ".") && metric.unit == "%";
    if (mixed && (name == "dram.bandwidth" || name == "dram.throughput_pct" ||
                  name == "memory.throughput_pct")) {
      wrong.insert(name);
    } else if (normalised && (metric.value > kMostPercent || metric.value < -1e-6)) {
      kernel.implausible.push_back(fmt::format(
          "{}: {:.1f} % by {} is {} there can be: instances were summed over one clock, or the "
          "passes do not belong together",
          name, metric.value, metric.where.raw_name, metric.value < 0 ? "less than" : "more than"));
      wrong.insert(name);
    } else if (metric.unit == "B" && metric.value < 0) {
      kernel.implausible.push_back(
          fmt::format("{}: {} bytes by {} is less than nothing: the counters come from different "
                      "passes",
                      name, number_text(metric.value), metric.where.raw_name));
      wrong.insert(name);
    }
  }
  // What was made from a wrong number goes with it.
  if (wrong.count("dram.bytes_read") + wrong.count("dram.bytes_written") > 0) {
    wrong.insert({"dram.bandwidth", "dram.throughput_pct", "memory.throughput_pct"});
  }
  for (const char* part :
       {"pipe.alu_pct", "pipe.tensor_pct", "pipe.scalar_pct", "shared.pipe_pct"}) {
    if (wrong.count(part) > 0) wrong.insert("sm.throughput_pct");
  }
  for (const char* part : {"l1.throughput_pct", "l2.throughput_pct", "dram.throughput_pct"}) {
    if (wrong.count(part) > 0) wrong.insert("memory.throughput_pct");
  }
  for (const std::string& name : wrong) {
    kernel.not_measured.emplace(name, "the counters cannot be right");
  }
  erase(kernel, wrong);
  return {};
}

}  // namespace burnish::profile::amd
