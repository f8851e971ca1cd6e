#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "measure/problem.h"

namespace burnish::measure {

/// Dimensions at which the judge tries a candidate beside the task's workloads.
struct Shape {
  std::string name;      ///< "ragged 1: K=129 M=37 N=1"
  std::string workload;  ///< whose other dimensions it has
  Variables dims;
};

/// Shapes inside the task's domain that kernels get wrong: each dimension at its least, primes,
/// one more or less than a power of two, thin ones, ragged ones, and two of any size. Drawn in
/// secret, kept so cheap that the reference is quick; empty when the domain leaves no choice.
std::vector<Shape> own_shapes(const Task& task, Generator& generator);

/// Affordable shapes of the domain, the cheapest that were found, where the candidate launches
/// other kernels than at any of `tried`, or refuses.
std::vector<Shape> path_shapes(const Task& task, const Candidate& candidate,
                               const std::vector<Shape>& tried, Generator& generator);

/// The workload with the least work, where hostile inputs are cheap to try.
Result<Workload> smallest_workload(const Task& task);

/// Cost of a problem in operations and bytes, to order problems by.
double cost(const Problem& problem);

std::string describe(const Variables& dims);  ///< "K=129 M=37 N=1"

}  // namespace burnish::measure
