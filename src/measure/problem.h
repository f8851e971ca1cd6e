#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/expression.h"
#include "base/process.h"
#include "device/device.h"
#include "hardware/roofline.h"

namespace burnish::measure {

/// How the elements of an input are drawn by default. Families of hostile inputs (zeros, ties,
/// denormals, …) are drawn from it by the judge.
struct Draw {
  enum class Kind { normal, uniform, integers, constant };
  Kind kind = Kind::normal;
  double low = -1, high = 1;       ///< uniform, integers (inclusive)
  double mean = 0, deviation = 1;  ///< normal
  double constant = 0;
};

struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  device::Buffer::Role role = device::Buffer::Role::in;  ///< in, out or inout
  Draw draw;
  std::int64_t elements() const;
  std::uint64_t bytes() const;
};

/// When an output counts as right. `accumulation` is the number of terms summed into one element;
/// docs/judging.md derives the bounds from it and the dtype. The optional values tighten or, with a
/// reason in the task, loosen them.
struct Tolerance {
  double accumulation = 1;
  std::optional<double> relative, absolute;
  enum class NonFinite { forbidden, as_reference } non_finite = NonFinite::forbidden;
  enum class Repeatable { no, bitwise } repeatable = Repeatable::no;
};

/// The task at one choice of dimensions.
struct Problem {
  std::string workload;
  Variables dims;
  std::vector<Tensor> tensors;
  Tolerance tolerance;
  hardware::Work work;
};

struct Workload {
  std::string name;
  Variables dims;
  double weight = 1;  ///< in means over workloads; 0: judged, not timed
  bool timed() const { return weight > 0; }
  bool hot = true;  ///< may not regress
};

/// The values that a dimension may take in the judge's own shapes.
struct DimensionRange {
  std::int64_t low = 1, high = 1, multiple = 1;
};

using Values = std::map<std::string, std::vector<double>>;  ///< tensor name → elements, row-major

/// The truth, in double precision. Runs in processes of its own, which a candidate never sees.
class Reference {
 public:
  virtual ~Reference() = default;
  /// Outputs (roles out and inout) for these inputs. Errors: refused when the reference itself
  /// fails.
  virtual Result<Values> compute(const Problem& problem, const Values& inputs) = 0;
};

/// `reference.cpp` (compiled once, cached by content) or `reference.py` (python3 with numpy); see
/// docs/workspace.md for what they define. Results are cached in `cache_folder` by content.
Result<std::shared_ptr<Reference>> open_reference(const fs::path& file,
                                                  const fs::path& cache_folder,
                                                  ProcessRunner& runner);

/// What is judged: the task as functions of the dimensions.
struct Task {
  std::string name;
  std::vector<Workload> workloads;
  std::map<std::string, DimensionRange> domain;  ///< dimensions absent here stay as in the workload
  std::function<Result<Problem>(const std::string& workload, const Variables& dims)> problem;
  std::shared_ptr<Reference> reference;
};

/// A candidate: source and the launch plan at any dimensions. `plan` gives a refused error for
/// dimensions that the candidate declares itself unfit for.
struct Candidate {
  std::string label;  ///< "v3", "trial 12"
  device::Source source;
  std::function<Result<device::LaunchPlan>(const Variables& dims)> plan;
};

}  // namespace burnish::measure
