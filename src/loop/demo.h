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

/// A version or a peer in a demo's table.
struct Contender {
  enum class Kind { version, peer, program };
  std::string label;  ///< "v4", "butterfly", "PyTorch eager"
  Kind kind = Kind::version;
  std::string what;             ///< of a version: its step, or its action
  std::string gate, why;        ///< of a version: what the gate said; of a peer: its check
  std::optional<double> error;  ///< relative, 2-norm, against the reference in double precision
};

/// One contender at one workload of one variant of the task.
struct DemoTime {
  std::string contender, variant, workload;
  double seconds = 0;  ///< median
  Interval interval;   ///< of it, 95 % bootstrap
  double floor = 0;    ///< an empty launch by the same method; 0: unknown
  /// Shares of the measured ceilings; absent where there was none.
  std::optional<double> copy, math;
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
/// How much faster `time` is than `over`.
Ratio speedup(const DemoTime& time, const DemoTime& over);

Json to_json(const Demo& demo);

}  // namespace burnish::loop
