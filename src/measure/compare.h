#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/statistics.h"
#include "measure/verify.h"

namespace burnish::measure {

/// How times are taken; part of every record, and never changed in silence.
struct Method {
  std::string timer;  ///< "opencl event profiling", "cuda events less stamping", "cuda graph of 50"
  std::string caches;   ///< "cold (128 MiB written before each launch)", "warm"
  int repetitions = 1;  ///< launches between two time stamps
  /// What `caches` says: warm in batches, whose later launches find what the first brought.
  device::Caches cache_state() const {
    return repetitions > 1 ? device::Caches::warm : device::Caches::cold;
  }
  std::string text() const;
};

struct Latency {
  double p50 = 0, p5 = 0, p95 = 0;  ///< seconds
};

struct Timing {
  std::string version, workload;
  Method method;    ///< of `latency` and `samples`; the same for all versions at one workload
  Latency latency;  ///< what verdicts rest on: cold caches, or batches where launches are short
  Latency warm;
  double floor = 0;  ///< of an empty kernel by the same method; 0: the language has none
  Latency host;      ///< round enqueue and wait, of the launches of `latency`: what a caller sees
  std::vector<double> samples;
  double flops = 0, bandwidth = 0;  ///< achieved, FLOP/s and B/s; 0 work gives 0
  /// Shares of the ceilings that were given; absent when there was none for it.
  std::optional<double> compute_utilization, bandwidth_utilization;
};

enum class Comparison { improved, regressed, inconclusive };
const char* to_string(Comparison comparison);

/// b against a: ratio is time(a) / time(b), so above 1 b is faster; of the fastest third of the
/// launches in each round of some blocks.
struct Compared {
  std::string a, b, workload;  ///< workload "all": weighted geometric mean
  double ratio = 1;
  Interval interval;
  Comparison verdict = Comparison::inconclusive;
  int blocks = 0;    ///< that it rests on; 0 for "all"
  double noise = 0;  ///< what A against A differed by, relative
  std::string why;   ///< how the verdict came about, and why sampling stopped
};

struct BenchOptions {
  double precision = 0.01;     ///< half-width of the interval to reach, relative
  double minimum_gain = 0.02;  ///< smaller gains are no gain
  int largest_samples = 200;   ///< ABBA blocks a workload
  /// A workload; three times that where fewer blocks than bound an interval have run by then.
  double largest_seconds = 15;
  double confidence = 0.99;
  /// Of each side's timed launches, drawn in secret, checked in full; with 0 none is held to the
  /// incumbent's either.
  int verified_launches = 2;
  std::vector<std::string> workloads;  ///< empty: all that have a weight
};

struct Bench {
  std::string device;
  Method method;
  double launch_floor = 0;  ///< seconds: an empty kernel
  Interval noise;           ///< of A against A, as ratios
  std::vector<Timing> results;
  std::vector<Compared> comparisons;
  std::vector<Check> failed_launches;  ///< timed launches whose outputs were wrong
  /// The fastest version and those that are not shown to be slower than it; one alone is no tie.
  std::vector<std::string> tied;
  /// Lowest and highest seen of clock.sm, temperature, … where the device tells.
  std::map<std::string, Interval> clocks;
  /// Launches by what held the clocks down right after them ("none", "power cap"), where the device
  /// tells.
  std::map<std::string, int> throttled;
  std::vector<std::string> warnings;
  double seconds = 0;
  /// Where they went: build, reference, runs, contents, allocation, statistics.
  std::map<std::string, double> time;
};

/// With what caches a launch that takes so long is timed: alone, cold, or in batches, warm, where
/// it is too short for that. On a GPU whose stamps' own time is known, a launch alone is right to 3
/// % from 20 µs on, while one of a batch may begin before the one before it has ended; on a CPU the
/// waking of its threads counts for longer.
device::Caches usual_caches(double seconds, const device::DeviceInfo& info);

/// Times candidates on all workloads under one lease: A against A first, then interleaved in ABBA
/// blocks, with fresh inputs and addresses for every launch. `candidates[0]` is the incumbent that
/// the others are compared with. `ceilings` floors impossible times: a time under the roofline's
/// floor or the timer's resolution is a refused error that says so.
Result<Bench> bench(device::Device& device, const Task& task,
                    const std::vector<Candidate>& candidates, const device::Limits& limits,
                    const BenchOptions& options, const std::vector<hardware::Ceiling>& ceilings,
                    Random& random, Clock& clock);

/// A quick estimate for the tuner: median of a few warm launches at each of the workloads, after a
/// check with one seed; never the basis of a verdict. Errors: refused with the reason when the
/// candidate is wrong, does not build, or crashes.
struct Trial {
  double seconds = 0;
  int samples = 0;
};
struct Drawn;
/// What all trials at a workload share: its inputs and what the reference makes of them.
using TrialInputs = std::map<std::string, std::shared_ptr<const Drawn>>;
Result<std::vector<Trial>> quick_trial(device::Device& device, const Task& task,
                                       const Candidate& candidate,
                                       const std::vector<std::string>& workloads,
                                       TrialInputs& inputs, const device::Limits& limits,
                                       Random& random);

Json to_json(const Bench& bench);

}  // namespace burnish::measure
