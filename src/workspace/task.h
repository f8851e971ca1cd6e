#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/expression.h"
#include "base/toml.h"
#include "device/device.h"

namespace burnish::workspace {

// burnish.toml and launch.toml as they are written: shapes, bytes and launch geometry are
// expressions over the workload's dimensions and the tunables. docs/workspace.md is the reference
// for both files.

struct TensorDraw {
  std::string kind = "normal";  ///< normal, uniform, integers, constant
  double low = -1, high = 1, mean = 0, deviation = 1, constant = 0;
};

struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<Expression> shape;
  std::string role;  ///< in, out, inout
  TensorDraw draw;
};

struct WorkloadSpec {
  std::string name;
  Variables dims;
  std::map<std::string, TensorDraw> draws;  ///< of tensors that are drawn otherwise here
  double weight = 1;                        ///< in means over workloads
  bool timed() const { return weight > 0; }
  bool hot = true;
  bool gate = true;  ///< the gate judges it; else only `check`, `bench` and the demo come to it
  std::string set;   ///< the [[workload]] whose lists of dimensions it is one choice of; else empty
};

struct DomainSpec {
  std::int64_t low = 1, high = 1, multiple = 1;
};

/// A knob of the kernel: a macro, with the values that may be tried.
struct Tunable {
  std::string name;
  std::vector<TomlValue> values;
  TomlValue initial;     ///< v0's value
  std::string category;  ///< design §5
  std::string why;       ///< for people and agents; may be empty
};

struct Constraint {
  Expression when;  ///< over tunables (booleans are 0 or 1, strings not visible) and dimensions
  std::string why;
};

struct ToleranceSpec {
  std::optional<Expression> accumulation;
  std::optional<double> relative, absolute;
  std::string reason;                    ///< required when relative or absolute is given
  std::string non_finite = "forbidden";  ///< or "as_reference"
  std::string repeatable = "no";         ///< or "bitwise"
};

struct StopCondition {
  std::optional<double>
      utilization;                ///< of the roofline's ceiling, 0..1; 0.9 when no goal is given
  std::optional<double> speedup;  ///< over v0
  std::optional<double> seconds;  ///< weighted geometric mean of the latency
  int max_iterations = 50;
};

/// The same task with other dtypes: the kernel's source sees them as macros.
struct VariantSpec {
  std::string name;
  std::map<std::string, DType> dtypes;  ///< of tensors; the others stay as they are
  std::map<std::string, TomlValue> macros;
};

struct IsaTarget {
  std::string metric, comparison;  ///< one of < <= == >= >
  double value = 0;
};

struct TaskSpec {
  std::string name, description;
  std::string language;  ///< opencl, cuda, hip, python
  std::string kernel_file;
  std::vector<std::string> also;  ///< further files of the candidate
  std::string launch_file;        ///< "launch.toml"
  std::string reference_file;
  std::vector<std::string> options;  ///< compiler options
  std::vector<TensorSpec> tensors;
  std::vector<WorkloadSpec> workloads;
  std::vector<VariantSpec> variants;
  std::map<std::string, TomlValue>
      macros;  ///< of the variant that this is; none in the task itself
  std::map<std::string, DomainSpec> domain;
  Expression flops, bytes;
  std::string math_path;
  ToleranceSpec tolerance;
  StopCondition stop;
  std::vector<Tunable> tunables;
  std::vector<Constraint> constraints;
  std::vector<IsaTarget> isa_targets;
  std::vector<std::string> reference_projects;
  std::vector<std::string> cards;  ///< folders of a team's own cards, the last one wins
  std::string outcomes;            ///< a shared store of outcomes; empty: none
  double minimum_gain = 0.02;
  int enabler_iterations = 3;  ///< judged versions that an enabler has to be followed by a gain
  double agent_budget_seconds = 0;  ///< 0: none
  std::string family;               ///< operator family for cards: "gemm", "softmax", …
};

/// The task as the variant has it.
TaskSpec variant_of(TaskSpec task, const VariantSpec& variant);

/// A configuration of the tunables, complete.
using Configuration = std::map<std::string, TomlValue>;

/// Errors: bad_input at file:line:column with what was expected; unknown keys with the nearest
/// right name. Expressions are checked for unknown names.
Result<TaskSpec> parse_task(std::string_view text, const std::string& file);

struct LaunchArgument {
  enum class Kind { tensor, scratch, scalar, local, bytes, tensor_map } kind = Kind::tensor;
  std::string name;                                  ///< tensor or scratch
  DType dtype = DType::i32;                          ///< scalar
  std::optional<Expression> value;                   ///< scalar value, local bytes
  std::vector<std::pair<DType, Expression>> fields;  ///< bytes: a struct by value, with C layout
  // tensor_map: extents in elements, outermost first. An empty shape is the tensor's own, empty
  // strides are those of a dense row-major array, empty element_strides are ones.
  std::vector<Expression> shape, strides, box, element_strides;
  std::map<std::string, std::string> map_options;  ///< swizzle, interleave, l2_promotion, fill
  Place place;
};

struct LaunchKernel {
  std::string name;
  std::vector<Expression> grid, block, cluster;  ///< 1 to 3 each; grid in blocks
  std::optional<Expression> shared_bytes;
  std::vector<LaunchArgument> arguments;
  std::optional<Expression> when;  ///< over dimensions, tunables and `sm`
  std::vector<std::string> arch;   ///< prefixes; empty: any
  Place place;
};

struct LaunchSpec {
  std::vector<std::pair<std::string, Expression>> scratch;  ///< name, bytes
  std::vector<std::pair<std::string, Expression>> let;      ///< named intermediate values, in order
  std::vector<LaunchKernel> kernels;
  std::optional<Expression> requires_expression;  ///< dimensions outside are refused, not computed
  std::map<std::string, TomlValue> tunables;      ///< the candidate's values; others are initial
  std::string file;
};

/// Besides what parse_task() checks: every launch of the candidate's configuration is worked out at
/// every workload that `requires` admits, so that a grid that comes out negative is found here.
Result<LaunchSpec> parse_launch(std::string_view text, const std::string& file,
                                const TaskSpec& task);

/// launch.toml's text with `values` in its [tunables] table, which is added at the end when there
/// is none; everything else, other keys of that table too, is kept byte for byte.
Result<std::string> with_tunables(std::string_view launch_text, const std::string& file,
                                  const Configuration& values);

/// The candidate's complete configuration: its own values over the initial ones.
Configuration configuration(const TaskSpec& task, const LaunchSpec& launch);
/// What expressions see of a configuration: numbers, and booleans as 0 or 1.
Variables variables(const Configuration& configuration);
/// Empty when the configuration is allowed at every workload, else why not.
std::string violated_constraint(const TaskSpec& task, const Configuration& configuration);

/// The plan at these dimensions. Errors: refused outside `requires`; bad_input at the expression
/// that cannot be evaluated.
Result<device::LaunchPlan> resolve(const TaskSpec& task, const LaunchSpec& launch,
                                   const Configuration& configuration, const Variables& dims,
                                   const std::string& arch);

/// Macro text of a configuration: integers as they are, other numbers with a point or exponent,
/// booleans 0 or 1, strings bare.
std::map<std::string, std::string> macros(const Configuration& configuration);
std::string to_text(const TomlValue& value);

}  // namespace burnish::workspace
