#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/profile.h"

namespace burnish::profile::amd {

/// One file on its way through a reader.
struct Input {
  std::string_view bytes;
  fs::path name;  ///< stands for the file in errors and pointers
  std::string hash;
  std::string pass;     ///< the folder of one pass ("pmc_1", "pass_2"); empty when there is none
  std::string process;  ///< tells processes apart whose dispatches count from 1 each
  bool mapped = false;

  /// Gives the memory of a mapped file back up to a place that will not be looked at again.
  void done_to(std::size_t position) const;
};

/// A device as agent_info.csv, a database, JSON or sysinfo.csv describes it. `facts` are raw
/// metrics under the names of rocprof-compute's sysinfo.csv: num_xcd, cu_per_gpu, max_sclk (MHz), …
struct Agent {
  std::string name, arch;
  bool gpu = true;
  std::vector<Metric> facts;

  void fact(const std::string& fact_name, double value, const Where& where);
};

/// "90402" of Gfx_Target_Version, "gfx942:sramecc+" → "gfx942"; empty for anything else.
std::string arch_of_version(std::int64_t version);
std::string arch_of_name(std::string_view name);

/// What a row says of the launch that it belongs to.
struct LaunchRow {
  std::string_view kernel;  ///< as written
  std::string_view symbol;
  std::string_view agent;
  std::optional<std::int64_t> dispatch;
  std::optional<std::array<std::int64_t, 3>> grid, block;  ///< in work-items
  std::optional<std::int64_t> grid_items, block_items;     ///< their products
  std::optional<std::int64_t> shared_bytes, scratch_bytes, registers, accum, scalar;
  std::optional<std::int64_t> start, end;  ///< ns
};

/// Counts of PC samples at one instruction.
struct SampleSite {
  std::int64_t samples = 0, issued = 0;
  std::map<std::string, std::int64_t> reasons;  ///< stall.<reason>
  std::string first_row;
};

/// What one or more files of one run say, launch by launch, until there are more than
/// kMostLaunches; from then on the launches of one kernel with the same shape are one, and their
/// numbers become means (times: medians). Memory is bounded by the number of kernels and counters.
class Run {
 public:
  static constexpr std::size_t kMostLaunches = 64;
  static constexpr std::size_t kMostGroups = 20'000;
  static constexpr std::size_t kMostCounters = 20'000;

  struct Value {
    int counter = 0;
    int source = 0;  ///< file
    double sum = 0, least = 0, most = 0;
    std::int64_t count = 0;
    int line = 0;
    std::string_view locator;  ///< "column 18"; static text or in `texts_`
  };
  struct Group {
    std::string kernel, symbol, agent;
    std::int64_t dispatch = -1;  ///< -1: unknown
    std::string process;
    std::optional<std::array<std::int64_t, 3>> grid, block;
    std::optional<std::int64_t> grid_items, block_items;
    std::optional<std::int64_t> shared_bytes, scratch_bytes, registers, accum, scalar;
    std::int64_t launches = 1;
    std::vector<Value> values;
    std::size_t next_value = 0;     ///< where the next counter is likely to stand
    int most_counter = -1;          ///< none of `values` is of a later one
    std::vector<double> durations;  ///< s; the first kMostDurations of them
    std::int64_t timed = 0;
    bool mean_time = false;  ///< the one duration is a mean already
    double total_time = 0;
    int time_source = -1;
    int time_line = 0;
    int launch_source = 0, launch_line = 0;
    std::string launch_place;  ///< where there are no lines: "byte 1234", "rocpd_kernel_dispatch 7"
    std::map<std::string, SampleSite> samples;  ///< by instruction
    std::int64_t sample_count = 0, sampled_launches = 0;
    bool stochastic = false;
    int sample_source = -1;
  };

  /// `together`: launches of a kernel are one from the start, for artefacts that need it.
  enum class Grouping { when_many, always };
  explicit Run(Grouping grouping = Grouping::when_many)
      : folded_(grouping == Grouping::always), remembers_(folded_) {}

  int add_source(const Input& input, const std::string& kind, const std::string& version);
  void add_agent(const std::string& id, Agent agent) {
    agents_.insert_or_assign(id, std::move(agent));
  }
  int counter_index(std::string_view name);

  /// The group of a row's launch, good until the next call; null when there are too many.
  Group* group(const LaunchRow& row, int source, int line, const std::string& process);
  void add_value(Group& group, int counter, double value, int source, int line,
                 std::string_view locator);
  /// The group that holds a dispatch; null when no row named it.
  Group* of_dispatch(std::int64_t dispatch, const std::string& process);
  /// How many launches of a kernel the file had before this one.
  std::int64_t ordinal_in(int source, std::string_view kernel);
  /// Keeps a text for as long as the run lives.
  std::string_view keep(std::string text);
  void time_launch(Group& group, const LaunchRow& row, int source, int line);

  std::vector<std::string> warnings;
  std::map<std::string, std::string> session;
  std::string tool = "rocprofv3";
  bool only_sampled = false;  ///< launches without samples are left out: they only name kernels
  /// From the first start to the last end of launches, ns; absent without times.
  std::optional<std::pair<std::int64_t, std::int64_t>> span() const { return span_; }
  /// Normalises all launches. Where the artefact has one device only, it is every launch's.
  Result<Reading> finish();

 private:
  void fold();
  Metric raw_of_launch(const Group& group, const std::string& name, double value,
                       const std::string& unit) const;
  std::string identity(const Group& group) const;
  static void merge(Group& into, Group&& from);
  Metric raw(const std::string& name, double value, const std::string& unit, int source, int line,
             std::string_view locator) const;
  void put_identity(const Group& group, KernelProfile& kernel) const;
  std::int64_t launches_of(const Group& group) const;
  void put_counters(const Group& group, KernelProfile& kernel) const;
  void put_samples(const Group& group, KernelProfile& kernel) const;

  bool folded_;
  bool remembers_;  ///< which dispatch is in which group, launches being together
  std::int64_t dropped_ = 0;
  std::optional<std::pair<std::int64_t, std::int64_t>> span_;
  std::vector<Group> groups_;
  std::unordered_map<std::string, std::size_t> by_key_;  ///< kernel, process, dispatch or shape
  std::unordered_map<std::string, std::size_t> by_dispatch_;
  std::map<std::pair<int, std::string>, std::int64_t> ordinals_;
  std::deque<std::string> texts_;
  std::vector<std::string> counters_;
  std::unordered_map<std::string, int> counter_index_;
  std::vector<Artefact> sources_;
  std::vector<std::string> passes_;
  std::map<std::string, Agent> agents_;
};

/// Normalises what the raw metrics imply (data/metrics/amd.toml) and takes out what cannot be
/// right.
Result<void> normalise(KernelProfile& kernel, const std::string& tool_version);

/// "shared.conflicts"-style metric with its place.
Metric derived(std::string name, double value, std::string unit, Where where,
               std::string raw_name = {});
Metric derived_text(std::string name, std::string text, Where where, std::string raw_name = {});

/// A kernel's name without the ".kd", "(.kd)" or "[clone .kd]" that names its descriptor.
std::string without_descriptor(std::string_view name);

/// The class of an instruction's mnemonic in the words of docs/metrics.md.
std::string class_of(std::string_view instruction);
/// What an instruction's stall is called: waits by what they wait for, everything else by its
/// class.
std::string stall_of(std::string_view instruction);

}  // namespace burnish::profile::amd
