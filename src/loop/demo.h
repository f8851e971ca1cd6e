#pragma once

#include <map>
#include <string>
#include <vector>

#include "loop/example.h"
#include "loop/loop.h"

namespace burnish::loop {

/// How long a step of a story may be timed against the one before it, seconds a workload: most
/// differ plainly.
inline constexpr double kStorySeconds = 2;

/// A ratio of times, above 1 when the first named is faster, with its 95 % bootstrap interval.
struct Ratio {
  double value = 0;
  Interval interval;
};

/// What the loop recorded of a version; files are named as in the workspace.
struct Recorded {
  std::string file;          ///< "memory/v4.json"
  std::string plan, report;  ///< "plans/v4_plan.md", "reports/v4.md"; empty: none
  std::string evidence;      ///< that its plan rests on: "profiles/v3/evidence.json"
  std::string profile;       ///< its own: "profiles/v4/evidence.json"; empty: none
  std::string category, verdict;
  std::vector<std::string> findings;      ///< that its plan rests on
  std::optional<Ratio> gain;              ///< over the version before it, in the gate
  std::map<std::string, double> seconds;  ///< in the gate, by workload
  std::map<std::string, double> metrics;  ///< of its own profile: those of kProfiled that it has
};

/// A version or a peer in a demo's table.
struct Contender {
  enum class Kind { version, peer, program };
  std::string label;  ///< "v4", "butterfly", "PyTorch eager"
  Kind kind = Kind::version;
  std::string what;             ///< of a version: its step, or its action
  std::string gate, why;        ///< of a version: what the gate said; of a peer: its check
  std::optional<double> error;  ///< relative, 2-norm, against the reference in double precision
  std::optional<Recorded> recorded = std::nullopt;  ///< of a version
};

/// The metrics of a version's profile that a demo tells.
inline constexpr const char* kProfiled[] = {"time.device",
                                            "launch.grid_blocks",
                                            "launch.block_threads",
                                            "registers.used",
                                            "spill.bytes",
                                            "shared.bytes",
                                            "occupancy.achieved_pct",
                                            "issue.active_pct",
                                            "sm.throughput_pct",
                                            "memory.throughput_pct",
                                            "dram.throughput_pct",
                                            "l1.hit_pct",
                                            "l2.hit_pct",
                                            "pipe.tensor_pct",
                                            "pipe.fma_pct",
                                            "pipe.alu_pct",
                                            "pipe.lsu_pct",
                                            "shared.pipe_pct",
                                            "shared.conflict_ways",
                                            "instructions.executed",
                                            "roofline.utilization_pct"};

/// One contender at one workload of one variant of the task.
struct DemoTime {
  std::string contender, variant, workload;
  double seconds = 0;  ///< median
  Interval interval;   ///< of it, 95 % bootstrap
  double floor = 0;    ///< an empty launch by the same method; 0: unknown
  /// Shares of the measured ceilings; absent where there was none.
  std::optional<double> copy, math;
  std::map<std::string, Ratio> over;  ///< contender → how much faster than it at this workload
  std::vector<double> samples;
  /// Drawn again and again from the samples: the medians that the intervals come from.
  std::vector<double> medians;
};

/// How much faster `contender` is than `over`, as the geometric mean of a set of workloads over all
/// variants; net: with the launch floor taken off both times.
struct DemoMean {
  std::string contender, over, set;
  int workloads = 0;
  Ratio gross;
  std::optional<Ratio> net;  ///< absent where a time is no longer than the floor, or has none
};

struct Demo {
  std::string task, device, driver, method, math;
  std::string headline;  ///< the workload that the first table is of
  std::vector<Contender> contenders;
  std::vector<DemoTime> times;
  std::vector<DemoMean> means;
  std::vector<std::string> notes;  ///< what could not be had, and why
  std::map<std::string, Interval> clocks;
  double noise = 0;  ///< of A against A, relative: the most of any variant
};

/// Times all versions of a replayed story and their peers in one run: peers/NAME/ are kernels with
/// a launch spec, checked and timed like versions; peers/*.py are programs that get the workloads
/// as JSON on their command line and print {"peer", "workload", "variant", "samples_us", "error"?}
/// or
/// {"note"} a line; they end with 3 when what they need is not here. `tools.timing` says how long a
/// workload is timed; 0 seconds leave that to the number of workloads.
Result<Demo> measure_story(Loop& loop, Tools& tools, const Example& example);

/// The time of a contender at the headline workload of a variant; null when it was not timed.
const DemoTime* time_of(const Demo& demo, const std::string& contender, const std::string& variant,
                        const std::string& workload);
/// Fills DemoTime::over from the medians of all.
void compare_times(Demo& demo);

Json to_json(const Demo& demo);
/// What to_json() wrote, without the medians. Errors: bad_input at the JSON pointer in `file`.
Result<Demo> demo_from_json(const Json& json, const std::string& file);

}  // namespace burnish::loop
