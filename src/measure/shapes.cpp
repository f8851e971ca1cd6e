#include "measure/shapes.h"

#include <algorithm>
#include <cmath>
#include <functional>
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
  auto add = [&](const std::string& name, const std::function<std::int64_t()>& pick,
                 const std::string& thin) {
    // A shape may be refused by the task (dimensions that do not go together) or cost too much.
    for (int attempt = 0; attempt < 8; ++attempt) {
      Variables dims = base->dims;
      for (const auto& [dimension, range] : task.domain) {
        std::int64_t wanted = dimension == thin ? range.low : pick();
        for (int halving = 0; halving < attempt; ++halving) wanted = (wanted + 1) / 2;
        dims[dimension] = static_cast<double>(
            allowed(range, std::max(wanted, wanted < range.low ? range.low : wanted)));
      }
      std::vector<double> key;
      for (const auto& [dimension, value] : dims) key.push_back(value);
      if (seen.count(key) != 0) continue;
      const auto problem = task.problem(base->name, dims);
      if (!problem || cost(*problem) > kAffordable) continue;
      seen.insert(key);
      shapes.push_back({name + ": " + describe(dims), base->name, dims});
      return;
    }
  };
  auto below = [&](std::size_t count) { return generator.below(count); };
  auto prime = [&] { return kPrimes[below(std::size(kPrimes))]; };
  auto tail = [&] { return kTails[below(std::size(kTails))]; };
  auto ragged = [&] { return 1 + static_cast<std::int64_t>(below(kRagged)); };

  add("least", [] { return std::int64_t{1}; }, "");
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
  return shapes;
}

}  // namespace burnish::measure
