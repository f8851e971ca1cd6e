#include "measure/shapes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"

namespace burnish::measure {
namespace {

constexpr std::int64_t kPrimes[] = {2,   3,   5,   7,   11,  13,  17,  19,  23,  29,  31, 37, 41,
                                    43,  47,  53,  59,  61,  67,  71,  73,  79,  83,  89, 97, 101,
                                    103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157};
constexpr std::int64_t kTails[] = {15, 17, 31, 33, 63, 65, 127, 129};
constexpr std::int64_t kRagged = 160;  ///< ragged dimensions lie within so much of the least
constexpr double kAffordable = 2e8;    ///< operations and bytes of a shape of the judge's own
constexpr double kCheap = 2e7;         ///< of one that is drawn for its size
constexpr int kPathDraws = 64;         ///< of shapes, in search of all paths of a candidate
constexpr std::size_t kMostPaths = 16;

/// A size anywhere in the range, small and large ones alike.
std::int64_t anywhere(const DimensionRange& range, Generator& generator) {
  const double low = static_cast<double>(std::max<std::int64_t>(range.low, 1));
  const double high = static_cast<double>(std::max<std::int64_t>(range.high, 1));
  return std::llround(low * std::pow(std::max(high / low, 1.0), generator.uniform()));
}

/// The allowed value nearest to `wanted`.
std::int64_t allowed(const DimensionRange& range, std::int64_t wanted) {
  const std::int64_t multiple = std::max<std::int64_t>(range.multiple, 1);
  const std::int64_t low = (range.low + multiple - 1) / multiple * multiple;
  const std::int64_t high = range.high / multiple * multiple;
  if (high < low) return range.low;
  const std::int64_t near = (wanted + multiple / 2) / multiple * multiple;
  return std::clamp(near, low, high);
}

}  // namespace

std::string describe(const Variables& dims) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : dims) parts.push_back(name + "=" + number_text(value));
  return join(parts, " ");
}

double cost(const Problem& problem) {
  double bytes = 0;
  for (const Tensor& tensor : problem.tensors) bytes += static_cast<double>(tensor.bytes());
  return problem.work.flops + std::max(problem.work.bytes, bytes);
}

Result<Workload> smallest_workload(const Task& task) {
  if (task.workloads.empty()) return bad_input("the task has no workload");
  const Workload* best = nullptr;
  double least = 0;
  for (const Workload& workload : task.workloads) {
    BURNISH_TRY_ASSIGN(const Problem problem, task.problem(workload.name, workload.dims));
    if (best == nullptr || cost(problem) < least) {
      best = &workload;
      least = cost(problem);
    }
  }
  return *best;
}

std::vector<Shape> own_shapes(const Task& task, Generator& generator) {
  std::vector<Shape> shapes;
  const auto base = smallest_workload(task);
  if (!base || task.domain.empty()) return shapes;

  std::set<std::vector<double>> seen;
  for (const Workload& workload : task.workloads) {
    std::vector<double> key;
    for (const auto& [name, value] : workload.dims) key.push_back(value);
    seen.insert(key);
  }
  auto add = [&](const std::string& name,
                 const std::function<std::int64_t(const DimensionRange&)>& pick,
                 const std::string& thin, double most = kAffordable) {
    // A shape may be refused by the task (dimensions that do not go together) or cost too much.
    for (int attempt = 0; attempt < 8; ++attempt) {
      Variables dims = base->dims;
      for (const auto& [dimension, range] : task.domain) {
        std::int64_t wanted = dimension == thin ? range.low : pick(range);
        for (int halving = 0; halving < attempt; ++halving) wanted = (wanted + 1) / 2;
        dims[dimension] = static_cast<double>(
            allowed(range, std::max(wanted, wanted < range.low ? range.low : wanted)));
      }
      std::vector<double> key;
      for (const auto& [dimension, value] : dims) key.push_back(value);
      if (seen.count(key) != 0) continue;
      const auto problem = task.problem(base->name, dims);
      if (!problem || cost(*problem) > most) continue;
      seen.insert(key);
      shapes.push_back({name + ": " + describe(dims), base->name, dims});
      return;
    }
  };
  auto below = [&](std::size_t count) { return generator.below(count); };
  using Range = DimensionRange;
  auto prime = [&](const Range&) { return kPrimes[below(std::size(kPrimes))]; };
  auto tail = [&](const Range&) { return kTails[below(std::size(kTails))]; };
  auto ragged = [&](const Range&) { return 1 + static_cast<std::int64_t>(below(kRagged)); };
  auto any = [&](const Range& range) { return anywhere(range, generator); };

  add("least", [](const Range&) { return std::int64_t{1}; }, "");
  add("prime", prime, "");
  add("tail 1", tail, "");
  add("tail 2", tail, "");
  add("ragged 1", ragged, "");
  add("ragged 2", ragged, "");
  if (task.domain.size() > 1) {
    auto at = task.domain.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(below(task.domain.size())));
    add("thin", tail, at->first);
  }
  add("any 1", any, "", kCheap);
  add("any 2", any, "", kCheap);
  return shapes;
}

std::vector<Shape> path_shapes(const Task& task, const Candidate& candidate,
                               const std::vector<Shape>& tried, Generator& generator) {
  const auto base = smallest_workload(task);
  if (!base || task.domain.empty()) return {};
  const auto path_at = [&](const Variables& dims) {
    const auto plan = candidate.plan(dims);
    if (!plan) return std::string("refused");
    std::vector<std::string> kernels;
    for (const device::KernelLaunch& launch : plan->launches) kernels.push_back(launch.kernel);
    return join(kernels, ", ");
  };
  std::set<std::string> known;
  for (const Shape& shape : tried) known.insert(path_at(shape.dims));

  std::map<std::string, std::pair<double, Shape>> found;  ///< by path, with the cost
  using Pick = std::function<std::int64_t(const std::string& dimension, const DimensionRange&)>;
  const auto consider = [&](const Workload& workload, const Pick& pick) {
    Variables dims = workload.dims;
    for (const auto& [name, range] : task.domain)
      dims[name] = static_cast<double>(allowed(range, pick(name, range)));
    const auto problem = task.problem(workload.name, dims);
    if (!problem || cost(*problem) > kAffordable) return;
    const std::string path = path_at(dims);
    if (known.contains(path)) return;
    const auto at = found.find(path);
    if (at != found.end() && at->second.first <= cost(*problem)) return;
    found[path] = {cost(*problem),
                   {"path " + path + ": " + describe(dims), workload.name, std::move(dims)}};
  };
  const auto some_dimension = [&] {
    return std::next(task.domain.begin(),
                     static_cast<std::ptrdiff_t>(generator.below(task.domain.size())))
        ->first;
  };
  for (int draw = 0; draw < kPathDraws; ++draw) {
    consider(*base, [&](const std::string&, const DimensionRange& range) {
      return anywhere(range, generator);
    });
    // Many paths are for the very sizes of some workload.
    const Workload& workload = task.workloads[generator.below(task.workloads.size())];
    const std::string other = some_dimension();
    consider(workload, [&](const std::string& name, const DimensionRange& range) {
      return name == other ? anywhere(range, generator)
                           : static_cast<std::int64_t>(workload.dims.at(name));
    });
  }
  // The far end of each dimension, which few draws come near to.
  for (const auto& [far, unused] : task.domain) {
    consider(*base, [&](const std::string& name, const DimensionRange& range) {
      return name == far ? range.high : anywhere(range, generator) % kRagged;
    });
  }
  std::vector<Shape> shapes;
  for (auto& [path, shape] : found) {
    if (shapes.size() < kMostPaths) shapes.push_back(std::move(shape.second));
  }
  return shapes;
}

}  // namespace burnish::measure
