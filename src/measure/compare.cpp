#include "measure/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>

#include "base/text.h"
#include "device/ceilings.h"
#include "measure/judge.h"
#include "measure/sequential.h"
#include "measure/shapes.h"

namespace burnish::measure {
namespace {

using device::Caches;

constexpr double kShortOnGpu = 20e-6, kShortOnCpu = 50e-6;
constexpr double kBatch = 400e-6;  ///< that batches take, about
constexpr int kMostRepetitions = 200;
constexpr int kWarmUps = 3;       ///< launches of each side before the first timed one
constexpr int kSideSamples = 12;  ///< blocks that also take a launch by the other method
constexpr int kFloorSamples = 15;
constexpr int kRound = 3;               ///< blocks that give one value, where they are quick
constexpr double kRoundSeconds = 0.15;  ///< that they may take
constexpr int kFirstLook = 8;           ///< rounds of A against A before the first look at them
constexpr double kOwnShare = 1 / 3.;    ///< of a workload's time that A against A may take
constexpr double kOvertime = 3;  ///< by which an interval that is still unbounded may exceed it
constexpr double kSlack = 1.05;  ///< by which a measured ceiling may be beaten
constexpr double kLong = 5e-3;   ///< host time from which the device's share of it is judged
constexpr double kLeastShare =
    0.3;  ///< of the host's time that a long launch must be on the device
constexpr double kSkipping =
    2.5;  ///< times faster in batches than alone, and than the incumbent is
/// Of a gain, in logarithms, that the median of all launches must show too.
constexpr double kOfMedian = 0.25;
constexpr std::uint64_t kLookedAt = 4;    ///< one in so many timed launches is held to the other's
constexpr std::size_t kElements = 4096;   ///< of each output that are looked at then
constexpr std::size_t kMostSuspects = 2;  ///< launches that are judged in full for what was seen
constexpr int kChanged = 4;               ///< elements of each input, for who looks at a few

std::string empty_kernel(const std::string& language) {
  if (language == "opencl") return "__kernel void burnish_empty(void) {}\n";
  if (language == "cuda") return "extern \"C\" __global__ void burnish_empty() {}\n";
  if (language == "hip") {
    return "#include <hip/hip_runtime.h>\nextern \"C\" __global__ void burnish_empty() {}\n";
  }
  if (language == "python") return "def burnish_empty():\n    pass\n";
  return "";
}

Latency latency_of(const std::vector<double>& samples) {
  if (samples.empty()) return {};
  return {median(samples), quantile(samples, 0.05), quantile(samples, 0.95)};
}

/// A version under test with its open session.
struct Arm {
  const Candidate* candidate = nullptr;
  std::string label;
  std::unique_ptr<device::Session> session;
  device::LaunchPlan plan;
  // Of the current workload: seconds a repetition.
  std::vector<double> basis, basis_host, other;

  void clear() {
    basis.clear();
    basis_host.clear();
    other.clear();
  }
};

using Contents = std::map<std::string, std::span<const std::byte>>;

/// Outputs of one timed launch of each side, kept to be judged once all times are taken.
struct Kept {
  std::map<std::string, std::vector<std::byte>> contents;
  std::vector<std::pair<std::size_t, device::RunResult>> runs;  ///< arm, run
  Values stale;  ///< what outputs held before, by tensor; none: poison
  std::uint32_t poison = 0;
  int block = 0;
  double suspicion = 0;  ///< share of the elements looked at that differ from the incumbent's
};

/// What A against A showed, relative. A gain must stand above all that it may be, the far end of
/// its interval. A loss is held to its own interval, so that only the bias counts which was seen:
/// noise must not hide a loss.
struct Noise {
  double reach = 0, bias = 0;
};

struct WorkloadResult {
  double weight = 1;
  bool hot = true;
  std::vector<std::vector<double>> logs;  ///< [candidate][round]: log(time of incumbent / time)
  std::vector<double> medians;            ///< by candidate, the same of the medians of all launches
  std::vector<Interval> intervals;        ///< by candidate, of the mean of its logs
  std::vector<Compared> compared;         ///< by candidate
  double alpha = 0.01;                    ///< of the last look
  Noise noise;
};

class Bencher {
 public:
  Bencher(device::Device& device, const Task& task, const std::vector<Candidate>& candidates,
          const device::Limits& limits, const BenchOptions& options,
          const std::vector<hardware::Ceiling>& ceilings, Random& random, Clock& clock)
      : device_(device),
        task_(task),
        candidates_(candidates),
        limits_(limits),
        options_(options),
        ceilings_(ceilings),
        clock_(clock),
        generator_(random.seed()),
        poisons_(draw_poisons(generator_)) {}

  Result<Bench> run() {
    const double start = now();
    if (candidates_.empty()) return bad_input("there is nothing to time");
    BURNISH_TRY_ASSIGN(const auto workloads, chosen());
    result_.device = device_.info().name;
    result_.noise = {1, 1};
    BURNISH_TRY(open());
    BURNISH_TRY(measure_floor());
    for (const Workload& workload : workloads) {
      auto measured = measure(workload);
      if (!measured) return Error(std::move(measured.error())).in("timing " + workload.name);
    }
    conclude();
    tell_throttling();
    result_.seconds = now() - start;
    return std::move(result_);
  }

 private:
  double now() const { return std::chrono::duration<double>(clock_.steady()).count(); }

  /// Adds what passes between making and destroying it to one of the accounts of Bench::time.
  class Account {
   public:
    Account(Bencher& bencher, const char* name)
        : bencher_(bencher), name_(name), start_(bencher.now()) {}
    ~Account() { bencher_.result_.time[name_] += bencher_.now() - start_; }
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;

   private:
    Bencher& bencher_;
    const char* name_;
    double start_;
  };

  Result<std::vector<Workload>> chosen() const {
    if (task_.workloads.empty()) return bad_input("the task has no workload");
    std::vector<Workload> result;
    if (options_.workloads.empty()) {
      std::copy_if(task_.workloads.begin(), task_.workloads.end(), std::back_inserter(result),
                   [](const Workload& workload) { return workload.timed(); });
      if (result.empty()) return bad_input("no workload of the task has a weight");
      return result;
    }
    for (const std::string& name : options_.workloads) {
      const auto found =
          std::find_if(task_.workloads.begin(), task_.workloads.end(),
                       [&](const Workload& workload) { return workload.name == name; });
      if (found == task_.workloads.end()) {
        std::vector<std::string> known;
        for (const Workload& workload : task_.workloads) known.push_back(workload.name);
        const auto near = nearest(name, known);
        return bad_input(fmt::format("the task has no workload {}", name))
            .with_hint(near ? fmt::format("did you mean {}?", *near)
                            : fmt::format("it has {}", join(known, ", ")));
      }
      result.push_back(*found);
    }
    return result;
  }

  /// Sessions of all candidates and, last, of the incumbent once more, for A against A.
  Result<void> open() {
    const Account account(*this, "build");
    for (std::size_t i = 0; i <= candidates_.size(); ++i) {
      const Candidate& candidate = candidates_[i == candidates_.size() ? 0 : i];
      Arm arm;
      arm.candidate = &candidate;
      arm.label = candidate.label;
      auto session = device_.open(candidate.source, limits_);
      if (!session) return Error(std::move(session.error())).in("building " + candidate.label);
      arm.session = std::move(*session);
      arms_.push_back(std::move(arm));
    }
    return {};
  }

  std::size_t twin() const { return arms_.size() - 1; }

  Result<void> measure_floor() {
    const std::string text = empty_kernel(candidates_[0].source.language);
    if (text.empty()) {
      result_.warnings.push_back("no launch floor: this language has no empty kernel");
      return {};
    }
    const Account account(*this, "build");
    device::Source source;
    source.language = candidates_[0].source.language;
    source.file = "empty";
    source.text = text;
    BURNISH_TRY_ASSIGN(empty_, device_.open(source, limits_));
    BURNISH_TRY(empty_->prepare({}));
    BURNISH_TRY_ASSIGN(result_.launch_floor, floor_of(1));
    return {};
  }

  /// What an empty launch takes, of so many between two time stamps.
  Result<double> floor_of(int repetitions) {
    if (empty_ == nullptr) return 0.0;
    const auto known = floors_.find(repetitions);
    if (known != floors_.end()) return known->second;
    device::LaunchPlan plan;
    plan.launches.emplace_back();
    plan.launches[0].kernel = "burnish_empty";
    device::RunRequest request;
    request.plan = &plan;
    request.repetitions = repetitions;
    std::vector<double> samples;
    for (int i = 0; i < kFloorSamples + kWarmUps; ++i) {
      BURNISH_TRY_ASSIGN(const auto run, empty_->run(request));
      if (i >= kWarmUps) samples.push_back(run.device_seconds / repetitions);
    }
    return floors_[repetitions] = median(samples);
  }

  Result<void> measure(const Workload& workload) {
    BURNISH_TRY_ASSIGN(Problem problem, task_.problem(workload.name, workload.dims));
    oracle_ = std::make_unique<Oracle>(std::move(problem), *task_.reference);
    {
      const Account account(*this, "contents");
      pool_ = std::make_unique<ContentPool>(oracle_->problem(), generator_);
    }
    for (Arm& arm : arms_) {
      arm.clear();
      BURNISH_TRY_ASSIGN(arm.plan, arm.candidate->plan(workload.dims));
      BURNISH_TRY(in_context(arm.session->prepare(buffers(oracle_->problem())), arm.label));
    }
    kept_.clear();
    suspects_.clear();
    launches_ = 0;
    BURNISH_TRY(choose_method());

    WorkloadResult outcome;
    outcome.weight = workload.weight;
    outcome.hot = workload.hot;
    const double start = now();
    BURNISH_TRY_ASSIGN(outcome.noise, compare_with_itself(start));
    if (candidates_.size() > 1) BURNISH_TRY(compare_all(start, outcome));
    BURNISH_TRY(judge_kept());
    BURNISH_TRY(record(workload, outcome));
    outcomes_.push_back(std::move(outcome));
    return {};
  }

  /// Warm-up launches, and from them whether single launches are long enough to be timed.
  Result<void> choose_method() {
    double shortest = std::numeric_limits<double>::infinity();
    method_ = {};
    for (std::size_t i = 0; i < arms_.size(); ++i) {
      std::vector<double> times;
      for (int k = 0; k < kWarmUps; ++k) {
        BURNISH_TRY_ASSIGN(const auto run, launch(i, pool_->next(generator_), Caches::warm, 1,
                                                  device::RunRequest::ReadBack::no));
        times.push_back(run.device_seconds);
      }
      shortest = std::min(shortest, median(times));
    }
    // A repetition would find what the one before made of a tensor that is updated in place.
    const auto& tensors = oracle_->problem().tensors;
    const bool in_place = std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
      return tensor.role == device::Buffer::Role::inout;
    });
    if (!in_place && usual_caches(shortest, device_.info()) == Caches::warm) {
      method_.repetitions =
          std::clamp(static_cast<int>(std::ceil(kBatch / shortest)), 2, kMostRepetitions);
      method_.caches = "warm";
    }
    return {};
  }

  /// Whether a launch finds scratch and addresses as the one before had them, as in a batch.
  enum class Follows { nothing, launch_before };

  /// One launch, its times held to what is possible. Times of the result are for all repetitions.
  Result<device::RunResult> launch(std::size_t index, const Contents& contents, Caches caches,
                                   int repetitions, device::RunRequest::ReadBack read_back,
                                   Follows follows = Follows::nothing) {
    Arm& arm = arms_[index];
    device::RunRequest request;
    request.plan = &arm.plan;
    request.contents = contents;
    request.poison = launches_ % 2 == 0 ? poisons_.first : poisons_.second;
    request.caches = caches;
    request.repetitions = repetitions;
    request.read_back = read_back;
    if (follows == Follows::launch_before) {
      request.addresses = device::Addresses::same;
      request.scratch = device::RunRequest::Scratch::kept;
    }
    ++launches_;
    const Account account(*this, "runs");
    auto run = arm.session->run(request);
    if (!run) return Error(std::move(run.error())).in("running " + arm.label);
    const double resolution = device_.info().timer_resolution;
    if (!(run->device_seconds > 0) || !std::isfinite(run->device_seconds) ||
        run->device_seconds <= resolution) {
      return refused(
          fmt::format("{} took {} by the {}, which is not above the timer's resolution of "
                      "{}: no such time is possible",
                      arm.label, with_prefix(run->device_seconds, "s"), run->timer,
                      with_prefix(resolution, "s")));
    }
    if (run->device_seconds > run->host_seconds * 1.01 + 2 * resolution) {
      return refused(
          fmt::format("{} took {} by the {} but only {} by the judge's own clock: the "
                      "device's clock is wrong",
                      arm.label, with_prefix(run->device_seconds, "s"), run->timer,
                      with_prefix(run->host_seconds, "s")));
    }
    for (const auto& [name, metric] : run->clocks.all()) {
      if (name == "throttled") {
        ++result_.throttled[metric.text];
        continue;
      }
      auto [found, fresh] = result_.clocks.try_emplace(name, Interval{metric.value, metric.value});
      if (fresh) continue;
      found->second.low = std::min(found->second.low, metric.value);
      found->second.high = std::max(found->second.high, metric.value);
    }
    // A batch may be timed in another way than a launch alone, but each always in its own.
    const std::string& timer = timers_.try_emplace(repetitions, run->timer).first->second;
    if (timer != run->timer) {
      return refused(
                 fmt::format("times were taken by {} before and by {} now; they cannot be compared",
                             timer, run->timer))
          .with_hint("find out why the device changed its timer, then time again");
    }
    if (repetitions == method_.repetitions) method_.timer = timer;
    if (method_.caches.empty() && caches == Caches::cold) {
      method_.caches = fmt::format("cold ({} written before each launch)",
                                   with_binary_prefix(run->flushed_bytes));
    }
    return run;
  }

  /// Some blocks, and of each arm the mean logarithm of the fastest third of its times in them.
  Result<std::vector<double>> round(const std::vector<std::size_t>& which) {
    std::vector<std::vector<double>> seconds(which.size());
    const double start = now();
    for (int blocks = 1; blocks <= round_ || round_ == 0; ++blocks) {
      BURNISH_TRY(block(which, seconds));
      // What fits into the first round of a workload holds for all of them.
      if (round_ == 0 && (blocks == kRound || now() - start > kRoundSeconds)) round_ = blocks;
    }
    std::vector<double> logs;
    for (const auto& times : seconds) logs.push_back(fastest_third(times));
    return logs;
  }

  /// One palindromic block over the given arms: ABBA or BAAB, by a secret coin. Which pages of
  /// memory a version got makes it a few per cent faster or slower for as long as it keeps them, so
  /// that each block has new ones.
  Result<void> block(const std::vector<std::size_t>& which,
                     std::vector<std::vector<double>>& times) {
    {
      const Account account(*this, "allocation");
      for (const std::size_t index : which) {
        BURNISH_TRY(in_context(arms_[index].session->prepare(buffers(oracle_->problem())),
                               arms_[index].label));
      }
    }
    std::vector<std::size_t> order(which.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[generator_.below(i)]);
    }
    // A reservoir over all blocks: which are verified is not known before the last has run.
    ++blocks_;
    const auto most = static_cast<std::size_t>(std::max(options_.verified_launches, 0));
    const std::uint64_t slot = generator_.below(static_cast<std::uint64_t>(blocks_));
    const bool verified = slot < most;
    const std::uint64_t verified_half = generator_.below(2);
    Kept kept;

    for (std::uint64_t half = 0; half < 2; ++half) {
      // Both sides get the same contents, so that what depends on them cancels.
      const Contents contents = pool_->next(generator_);
      const bool kept_here = verified && half == verified_half;
      Kept now;
      const bool looked_at = most > 0 && which.back() != twin() && generator_.below(kLookedAt) == 0;
      const bool read = kept_here || looked_at;
      const std::uint64_t parity = launches_;
      for (const std::size_t at : order) {
        Arm& arm = arms_[which[at]];
        if (read) launches_ = parity;  // one poison for all that are kept together
        const auto back =
            read ? device::RunRequest::ReadBack::yes : device::RunRequest::ReadBack::no;
        BURNISH_TRY_ASSIGN(auto run, launch(which[at], contents, method_.cache_state(),
                                            method_.repetitions, back));
        const double seconds = run.device_seconds / method_.repetitions;
        times[at].push_back(seconds);
        arm.basis.push_back(seconds);
        arm.basis_host.push_back(run.host_seconds / method_.repetitions);
        if (read) now.runs.emplace_back(which[at], std::move(run));
      }
      if (read) {
        now.poison = parity % 2 == 0 ? poisons_.first : poisons_.second;
        now.block = blocks_;
        if (looked_at) suspect(contents, now);
        if (kept_here) {
          now.contents = copied(contents);
          kept = std::move(now);
        }
      }
      std::reverse(order.begin(), order.end());
    }
    if (verified) {
      const std::size_t place = kept_.size() < most ? kept_.size() : slot;
      if (place == kept_.size()) kept_.emplace_back();
      kept_[place] = std::move(kept);
    }
    // The other method's times, for the report: warm beside cold, single launches beside batches.
    for (const std::size_t index : which) {
      Arm& arm = arms_[index];
      if (arm.other.size() >= kSideSamples) continue;
      BURNISH_TRY_ASSIGN(const auto run, launch(index, pool_->next(generator_), Caches::warm, 1,
                                                device::RunRequest::ReadBack::no));
      arm.other.push_back(run.device_seconds);
    }
    return {};
  }

  static std::map<std::string, std::vector<std::byte>> copied(const Contents& contents) {
    std::map<std::string, std::vector<std::byte>> result;
    for (const auto& [name, bytes] : contents) result[name] = {bytes.begin(), bytes.end()};
    return result;
  }

  /// Keeps those launches to be judged in full whose outputs do not agree with the incumbent's for
  /// the same inputs: what works only now and then is rarely met by the few that always are.
  void suspect(const Contents& contents, const Kept& now) {
    const Account account(*this, "agreement");
    const auto incumbent = std::find_if(now.runs.begin(), now.runs.end(),
                                        [](const auto& run) { return run.first == 0; });
    if (incumbent == now.runs.end()) return;
    for (const auto& run : now.runs) {
      if (run.first == 0) continue;
      const double share = disagreement(incumbent->second, run.second);
      if (share == 0) continue;
      const auto least =
          std::min_element(suspects_.begin(), suspects_.end(),
                           [](const Kept& a, const Kept& b) { return a.suspicion < b.suspicion; });
      if (suspects_.size() >= kMostSuspects && least->suspicion >= share) continue;
      Kept& place = suspects_.size() >= kMostSuspects ? *least : suspects_.emplace_back();
      place = {};
      place.contents = copied(contents);
      place.runs.push_back(run);
      place.poison = now.poison;
      place.block = now.block;
      place.suspicion = share;
    }
  }

  /// Share of some elements of the outputs by which two launches differ more than both may from
  /// the truth. It accuses nobody: where outputs are small by cancellation it may be large.
  double disagreement(const device::RunResult& one, const device::RunResult& other) {
    std::size_t looked_at = 0, different = 0;
    for (const Tensor& tensor : oracle_->problem().tensors) {
      if (!is_output(tensor) || tensor.elements() == 0) continue;
      const auto& a = one.buffers.at(tensor.name).content;
      const auto& b = other.buffers.at(tensor.name).content;
      const std::size_t size = size_of(tensor.dtype), all = a.size() / size;
      const std::size_t count = std::min(all, kElements);
      std::vector<std::byte> left, right;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = (count == all ? i : generator_.below(all)) * size;
        left.insert(left.end(), &a[at], &a[at] + size);
        right.insert(right.end(), &b[at], &b[at] + size);
      }
      looked_at += count;
      if (left == right) continue;
      const auto x = to_doubles(tensor.dtype, left), y = to_doubles(tensor.dtype, right);
      double squares = 0;
      for (const double value : x) squares += std::isfinite(value) ? value * value : 0;
      const ErrorModel model = error_model(oracle_->problem(), tensor, Rounding::random);
      const double typical = std::sqrt(squares / static_cast<double>(count));
      for (std::size_t i = 0; i < count; ++i) {
        const double bound =
            2 * (model.absolute + model.spread * typical + model.relative * std::abs(x[i]));
        const bool same = std::memcmp(&left[i * size], &right[i * size], size) == 0;
        if (!same && !(std::abs(x[i] - y[i]) <= bound)) ++different;
      }
    }
    return looked_at == 0 ? 0 : static_cast<double>(different) / static_cast<double>(looked_at);
  }

  /// The noise floor: how much the incumbent differs from itself in another process, relative.
  Result<Noise> compare_with_itself(double start) {
    std::vector<double> logs;
    blocks_ = 0;
    round_ = 0;
    // With 95 % one knows well enough how large the noise is; verdicts are held to the full
    // confidence.
    constexpr double kAlpha = 0.05;
    double reach = std::numeric_limits<double>::infinity();
    Interval interval{};
    for (int n = 1, look = kFirstLook;; ++n) {
      BURNISH_TRY_ASSIGN(const auto times, round({0, twin()}));
      logs.push_back(times[0] - times[1]);
      const int most = rounds();
      const double share = (now() - start) / options_.largest_seconds;
      const bool late = share > kOwnShare && (n >= kFirstLook || share > kOwnShare * kOvertime);
      if (n < look && !late && n < most) continue;
      look = n + n / 2;
      const Account account(*this, "statistics");
      interval = centre_interval(logs, kAlpha, generator_);
      reach = std::max(std::abs(interval.low), std::abs(interval.high));
      if (late || n >= most || reach <= options_.minimum_gain / 2) break;
    }
    if (!std::isfinite(reach)) {
      result_.warnings.push_back(
          "too few blocks of A against A to know the noise; more time is needed");
      return Noise{reach, reach};
    }
    result_.noise.low = std::min(result_.noise.low, std::exp(interval.low));
    result_.noise.high = std::max(result_.noise.high, std::exp(interval.high));
    return Noise{std::expm1(reach), std::expm1(std::abs(trimmed_mean(logs)))};
  }

  Result<void> compare_all(double start, WorkloadResult& outcome) {
    std::vector<std::size_t> which(candidates_.size());
    std::iota(which.begin(), which.end(), 0);
    const std::size_t others = candidates_.size() - 1;
    outcome.logs.assign(candidates_.size(), {});
    const int most = rounds();
    Looks looks(most, 1 - options_.confidence);
    const Thresholds thresholds = thresholds_of(outcome.noise);
    auto& intervals = outcome.intervals;
    intervals.resize(others);
    std::string stopped;
    for (int n = 1; stopped.empty(); ++n) {
      BURNISH_TRY_ASSIGN(const auto times, round(which));
      for (std::size_t c = 0; c < which.size(); ++c) {
        outcome.logs[c].push_back(times[0] - times[c]);
      }
      // An interval that is unbounded for want of blocks says nothing: those few are worth
      // overtime.
      const double share = (now() - start) / options_.largest_seconds;
      const bool late = share > 1 && (looks.can_show(n) || share > kOvertime);
      if (!looks.due(n) && !late && n < most) continue;
      const Account account(*this, "statistics");
      outcome.alpha = looks.spend(n, late || n >= most ? Looks::Last::yes : Looks::Last::no);
      bool settled = true, precise = true;
      for (std::size_t c = 0; c < others; ++c) {
        intervals[c] = centre_interval(outcome.logs[c + 1], outcome.alpha, generator_);
        settled = settled && decide(intervals[c], thresholds).settled;
        precise = precise && intervals[c].high - intervals[c].low <= 2 * options_.precision;
      }
      if (settled) {
        stopped = "the interval settles it";
      } else if (precise) {
        stopped = "the interval is as narrow as was asked";
      } else if (n >= most) {
        stopped = "the largest number of blocks";
      } else if (late) {
        stopped = "the time for this workload is over";
      }
    }
    for (std::size_t c = 0; c < others; ++c) {
      const auto& logs = outcome.logs[c + 1];
      Compared compared;
      compared.a = arms_[0].label;
      compared.b = arms_[c + 1].label;
      compared.workload = oracle_->problem().workload;
      compared.ratio = std::exp(trimmed_mean(logs));
      compared.interval = {std::exp(intervals[c].low), std::exp(intervals[c].high)};
      compared.verdict = decide(intervals[c], thresholds).verdict;
      compared.blocks = static_cast<int>(logs.size()) * round_;
      compared.noise = outcome.noise.reach;
      compared.why = explain(compared, thresholds, stopped);
      outcome.medians.push_back(std::log(median(arms_[0].basis) / median(arms_[c + 1].basis)));
      hold_to_median(compared, outcome.medians.back());
      outcome.compared.push_back(std::move(compared));
    }
    return {};
  }

  void tell_throttling() {
    int launches = 0;
    for (const auto& [reason, times] : result_.throttled) launches += times;
    for (const auto& [reason, times] : result_.throttled) {
      if (reason == "none") continue;
      result_.warnings.push_back(fmt::format(
          "clocks were held down right after {} of {} launches: {}", times, launches, reason));
    }
  }

  int rounds() const { return std::max(options_.largest_samples / std::max(round_, 1), 1); }

  /// A version has gained nothing whose fast launches became faster, and its others did not: one
  /// that skips work now and then.
  static void hold_to_median(Compared& compared, double log_of_medians) {
    if (compared.verdict != Comparison::improved ||
        log_of_medians >= kOfMedian * std::log(compared.ratio)) {
      return;
    }
    compared.verdict = Comparison::inconclusive;
    compared.why = fmt::format(
        "the fastest third of its launches is faster ({:.3f}), but the median is not ({:.3f})",
        compared.ratio, std::exp(log_of_medians));
  }

  Thresholds thresholds_of(const Noise& noise) const {
    return {std::max(options_.minimum_gain, noise.reach),
            std::max(options_.minimum_gain / 2, noise.bias)};
  }

  static std::string explain(const Compared& compared, const Thresholds& thresholds,
                             const std::string& stopped) {
    switch (compared.verdict) {
      case Comparison::improved:
        return fmt::format("faster by more than {:.1f} % for sure", thresholds.gain * 100);
      case Comparison::regressed:
        return fmt::format("slower by more than {:.1f} % for sure", thresholds.loss * 100);
      case Comparison::inconclusive:
        break;
    }
    return fmt::format(
        "neither faster by {:.1f} % nor slower by {:.1f} % for sure; sampling stopped: {}",
        thresholds.gain * 100, thresholds.loss * 100, stopped);
  }

  /// Three launches of each version after the last timed one, as if they were of one batch: at the
  /// same addresses, with the scratch that the one before left and the incumbent's answer to its
  /// inputs in the outputs. The second has other inputs, the third those of the second with a few
  /// elements changed, so that a kernel which takes what it finds for its own need not work.
  Result<void> launch_in_a_row() {
    const Problem& problem = oracle_->problem();
    std::vector<std::map<std::string, std::vector<std::byte>>> inputs{
        copied(pool_->next(generator_)), copied(pool_->next(generator_))};
    inputs.push_back(inputs[1]);
    change_some(inputs[2]);
    std::vector<Kept> row(inputs.size());
    const std::uint64_t parity = launches_;
    for (std::size_t i = 0; i + 1 < arms_.size(); ++i) {
      for (std::size_t step = 0; step < inputs.size(); ++step) {
        Contents contents(inputs[step].begin(), inputs[step].end());
        for (const Tensor& tensor : problem.tensors) {
          if (step == 0 || tensor.role != device::Buffer::Role::out) continue;
          const auto& answer = row[step - 1].runs[0].second.buffers.at(tensor.name).content;
          contents[tensor.name] = answer;
          if (i == 0) row[step].stale[tensor.name] = to_doubles(tensor.dtype, answer);
        }
        launches_ = parity;  // one poison for all of them
        BURNISH_TRY_ASSIGN(
            auto run, launch(i, contents, method_.cache_state(),
                             step == 0 ? 1 : method_.repetitions, device::RunRequest::ReadBack::yes,
                             step == 0 ? Follows::nothing : Follows::launch_before));
        row[step].runs.emplace_back(i, std::move(run));
      }
    }
    for (std::size_t step = 1; step < row.size(); ++step) {
      row[step].contents = std::move(inputs[step]);
      row[step].poison = parity % 2 == 0 ? poisons_.first : poisons_.second;
      kept_.push_back(std::move(row[step]));
    }
    return {};
  }

  /// Draws a few elements of each input anew.
  void change_some(std::map<std::string, std::vector<std::byte>>& contents) {
    for (const Tensor& tensor : oracle_->problem().tensors) {
      if (!is_input(tensor) || tensor.elements() == 0) continue;
      Tensor few = tensor;
      few.shape = {kChanged};
      const auto drawn = from_doubles(tensor.dtype, draw_tensor(few, generator_));
      auto& bytes = contents.at(tensor.name);
      const std::size_t size = size_of(tensor.dtype);
      for (std::size_t k = 0; k < kChanged; ++k) {
        std::memcpy(&bytes[generator_.below(bytes.size() / size) * size], &drawn[k * size], size);
      }
    }
  }

  /// Judges the launches that were kept or are suspect, and those in a row.
  Result<void> judge_kept() {
    const Problem& problem = oracle_->problem();
    std::move(suspects_.begin(), suspects_.end(), std::back_inserter(kept_));
    suspects_.clear();
    BURNISH_TRY(launch_in_a_row());

    const Account account(*this, "reference");
    for (Kept& kept : kept_) {
      Drawn drawn;
      for (const Tensor& tensor : problem.tensors) {
        if (!is_input(tensor)) continue;
        drawn.inputs[tensor.name] = to_doubles(tensor.dtype, kept.contents.at(tensor.name));
      }
      BURNISH_TRY(oracle_->complete(drawn));
      drawn.bytes = std::move(kept.contents);
      for (const auto& [index, run] : kept.runs) {
        const JudgeContext context{oracle_.get(), &kept.stale, nullptr, problem.workload,
                                   JudgeContext::Holes::judged};
        BURNISH_TRY_ASSIGN(Check check, judge(problem, drawn, run, kept.poison, context));
        if (check.verdict == Verdict::pass) continue;
        check.name = kept.block == 0
                         ? fmt::format("{}, after the timed launches of {}", problem.workload,
                                       arms_[index].label)
                         : fmt::format("{}, timed launch in block {} of {}", problem.workload,
                                       kept.block, arms_[index].label);
        result_.failed_launches.push_back(std::move(check));
      }
    }
    kept_.clear();
    return {};
  }

  Result<void> record(const Workload& workload, WorkloadResult& outcome) {
    const bool batched = method_.repetitions > 1;
    const hardware::Work& work = oracle_->problem().work;
    for (std::size_t i = 0; i + 1 < arms_.size(); ++i) {
      const Arm& arm = arms_[i];
      Timing timing;
      timing.version = arm.label;
      timing.workload = workload.name;
      timing.method = method_;
      timing.latency = latency_of(arm.basis);
      timing.warm = batched ? timing.latency : latency_of(arm.other);
      timing.host = latency_of(arm.basis_host);
      timing.samples = arm.basis;
      timing.flops = work.flops / timing.latency.p50;
      timing.bandwidth = work.bytes / timing.latency.p50;
      BURNISH_TRY_ASSIGN(timing.floor, floor_of(method_.repetitions));
      BURNISH_TRY(hold_to_roofline(timing, work));
      BURNISH_TRY(hold_to_host(timing));
      if (batched && i > 0) hold_to_single_launches(arm, workload.name);
      result_.results.push_back(std::move(timing));
    }
    if (result_.method.timer.empty()) {
      result_.method = method_;
    } else if (result_.method.text() != method_.text() && !mixed_) {
      mixed_ = true;
      result_.warnings.push_back("workloads differ in method: see each result's own");
    }
    for (const Compared& compared : outcome.compared) result_.comparisons.push_back(compared);
    return {};
  }

  /// A time under the floor that the ceilings give means that the time, the task's work or the
  /// ceilings are wrong; such a time is never a result.
  Result<void> hold_to_roofline(Timing& timing, const hardware::Work& work) {
    const auto compute = device::compute_ceiling(ceilings_, work.math_path);
    // A copy of n bytes moves 2n. No launch is faster than the copy with warm caches.
    const auto copy = device::copy_ceiling(ceilings_, work.bytes / 2);
    double floor = 0;
    std::string by;
    if (compute && work.flops > 0 && compute->value > 0) {
      timing.compute_utilization = timing.flops / compute->value;
      floor = work.flops / compute->value;
      by = compute->name;
    }
    if (copy && work.bytes > 0 && copy->value > 0) {
      BURNISH_TRY_ASSIGN(const auto alike, device::copy_ceiling(ceilings_, work.bytes / 2,
                                                                timing.method.cache_state()));
      timing.bandwidth_utilization = timing.bandwidth / alike.value;
      // The copy was launched too; of short ones that is the most, and of no kernel's time a bound.
      const double seconds = work.bytes / copy->value - timing.floor;
      if (seconds > floor) {
        floor = seconds;
        by = copy->name;
      }
    }
    if (timing.latency.p50 >= floor / kSlack) return {};
    return refused(
               fmt::format("{} at {} took {}, less than the {} that its work needs at the ceiling "
                           "\"{}\": no such time is possible",
                           timing.version, timing.workload, with_prefix(timing.latency.p50, "s"),
                           with_prefix(floor, "s"), by))
        .with_hint(
            "check flops and bytes in burnish.toml, then measure the ceilings again; if both are "
            "right, the kernel does not do the work");
  }

  /// The judge's clock runs on while others have the processor, so that its fast launches count: on
  /// whatever side of the device's clock the work is done, each launch needs its time.
  static Result<void> hold_to_host(const Timing& timing) {
    if (timing.host.p5 < kLong || timing.latency.p50 >= kLeastShare * timing.host.p5) return {};
    return refused(
               fmt::format("{} at {} took {} by the device's clock but {} by the judge's own: work "
                           "was done outside the time that was taken",
                           timing.version, timing.workload, with_prefix(timing.latency.p50, "s"),
                           with_prefix(timing.host.p5, "s")))
        .with_hint(
            "others that use this machine can delay a launch as long: time it again when it is "
            "idle");
  }

  /// In a batch the later repetitions find the outputs of the first. A kernel that notices, and
  /// then skips its work, is much faster in batches than alone, and more so than the incumbent.
  void hold_to_single_launches(const Arm& arm, const std::string& workload) {
    auto excess = [&](const Arm& one) {
      const double alone = median(one.other) - result_.launch_floor;
      return alone > std::max(result_.launch_floor, 2e-6) ? alone / median(one.basis) : 1.0;
    };
    const double own = excess(arm), incumbent = excess(arms_[0]);
    if (own < kSkipping || own < kSkipping * std::max(incumbent, 1.0)) return;
    Check check;
    check.name = fmt::format("{}, batches of {}", workload, arm.label);
    check.inputs = to_string(Family::normal);
    check.verdict = Verdict::fail;
    check.why = fmt::format(
        "a launch takes {} alone but {} in a batch, where the same outputs are there "
        "already: the work seems to be skipped",
        with_prefix(median(arm.other), "s"), with_prefix(median(arm.basis), "s"));
    result_.failed_launches.push_back(std::move(check));
  }

  /// Comparisons over all workloads, and the set of versions that are not told apart from the best.
  void conclude() {
    if (candidates_.size() < 2) {
      result_.tied = {candidates_[0].label};
      return;
    }
    const Account account(*this, "statistics");
    double total = 0, log_reach = 0, log_bias = 0;
    for (const WorkloadResult& outcome : outcomes_) total += outcome.weight;
    for (const WorkloadResult& outcome : outcomes_) {
      if (!(outcome.weight > 0)) continue;
      log_reach += outcome.weight / total * std::log1p(outcome.noise.reach);
      log_bias += outcome.weight / total * std::log1p(outcome.noise.bias);
    }
    const Noise noise{std::expm1(log_reach), std::expm1(log_bias)};
    const std::size_t count = candidates_.size();
    std::vector<double> centres(count);
    for (std::size_t c = 1; c < count; ++c) {
      Compared all;
      all.a = candidates_[0].label;
      all.b = candidates_[c].label;
      all.workload = "all";
      std::vector<Interval> intervals;
      for (const WorkloadResult& outcome : outcomes_) intervals.push_back(outcome.intervals[c - 1]);
      const Interval interval = over_all(c, 0, intervals, total, centres[c]);
      all.ratio = std::exp(centres[c]);
      all.interval = {std::exp(interval.low), std::exp(interval.high)};
      all.noise = noise.reach;
      const Thresholds thresholds = thresholds_of(noise);
      all.verdict = decide(interval, thresholds).verdict;
      all.why = explain(all, thresholds, "with the workloads");
      double medians = 0;
      for (const WorkloadResult& outcome : outcomes_) {
        medians += outcome.weight / total * outcome.medians[c - 1];
      }
      hold_to_median(all, medians);
      for (const WorkloadResult& outcome : outcomes_) {
        const Compared& one = outcome.compared[c - 1];
        if (!outcome.hot || one.verdict != Comparison::regressed) continue;
        all.verdict = Comparison::regressed;
        all.why = fmt::format("{} regressed to {:.3f}, and a hot workload may not", one.workload,
                              one.ratio);
        break;
      }
      result_.comparisons.push_back(std::move(all));
    }
    const std::size_t best = static_cast<std::size_t>(
        std::max_element(centres.begin(), centres.end()) - centres.begin());
    for (std::size_t c = 0; c < count; ++c) {
      std::vector<Interval> intervals;
      for (const WorkloadResult& outcome : outcomes_) {
        intervals.push_back(
            centre_interval(differences(outcome, best, c), outcome.alpha, generator_));
      }
      double centre = 0;
      const Interval slower = over_all(best, c, intervals, total, centre);
      if (c == best || !(slower.low > 0)) result_.tied.push_back(candidates_[c].label);
    }
  }

  /// By round, log(time of `b` / time of `a`).
  static std::vector<double> differences(const WorkloadResult& outcome, std::size_t a,
                                         std::size_t b) {
    std::vector<double> result = outcome.logs[a];
    for (std::size_t i = 0; i < result.size(); ++i) result[i] -= outcome.logs[b][i];
    return result;
  }

  /// Centre and interval of the weighted mean over workloads of log(time of `b` / time of `a`),
  /// from the workloads' own intervals: since workloads are independent, the distances from the
  /// centre to the ends add up in quadrature (Zou and Donner, 2008). With one workload it is that
  /// one's.
  Interval over_all(std::size_t a, std::size_t b, const std::vector<Interval>& intervals,
                    double total, double& centre) const {
    double below = 0, above = 0;
    centre = 0;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const double share = outcomes_[i].weight / total;
      if (!(share > 0)) continue;
      const double middle = trimmed_mean(differences(outcomes_[i], a, b));
      centre += share * middle;
      below += std::pow(share * (middle - intervals[i].low), 2);
      above += std::pow(share * (intervals[i].high - middle), 2);
    }
    return {centre - std::sqrt(below), centre + std::sqrt(above)};
  }

  device::Device& device_;
  const Task& task_;
  const std::vector<Candidate>& candidates_;
  const device::Limits& limits_;
  const BenchOptions& options_;
  const std::vector<hardware::Ceiling>& ceilings_;
  Clock& clock_;
  Generator generator_;
  Poisons poisons_;
  Bench result_;
  std::vector<Arm> arms_;
  std::unique_ptr<device::Session> empty_;
  std::map<int, double> floors_;  ///< by repetitions
  std::unique_ptr<Oracle> oracle_;
  std::unique_ptr<ContentPool> pool_;
  Method method_;
  std::map<int, std::string> timers_;  ///< by repetitions, of all versions and workloads
  std::vector<Kept> kept_, suspects_;
  std::vector<WorkloadResult> outcomes_;
  std::uint64_t launches_ = 0;
  int blocks_ = 0;
  int round_ = 0;  ///< blocks of a round; 0: not known yet
  bool mixed_ = false;
};

}  // namespace

const char* to_string(Comparison comparison) {
  switch (comparison) {
    case Comparison::improved:
      return "improved";
    case Comparison::regressed:
      return "regressed";
    case Comparison::inconclusive:
      return "inconclusive";
  }
  return "";
}

std::string Method::text() const {
  return repetitions == 1 ? fmt::format("{}, {}", timer, caches)
                          : fmt::format("{}, {}, batches of {}", timer, caches, repetitions);
}

Caches usual_caches(double seconds, const device::DeviceInfo& info) {
  return seconds < (info.vendor == "cpu" ? kShortOnCpu : kShortOnGpu) ? Caches::warm : Caches::cold;
}

Result<Bench> bench(device::Device& device, const Task& task,
                    const std::vector<Candidate>& candidates, const device::Limits& limits,
                    const BenchOptions& options, const std::vector<hardware::Ceiling>& ceilings,
                    Random& random, Clock& clock) {
  return Bencher(device, task, candidates, limits, options, ceilings, random, clock).run();
}

}  // namespace burnish::measure
