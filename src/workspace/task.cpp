#include "workspace/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "evidence/evidence.h"
#include "workspace/fields.h"

namespace burnish::workspace {

namespace {

constexpr std::size_t kMostChoices = 1000;  ///< workloads of one [[workload]]

// Of the roofline's ceilings (docs/workspace.md).
const std::vector<std::string>& math_paths() {
  static const std::vector<std::string> names = {
      "f64",        "f32",        "f16",         "bf16",       "i32",
      "i8",         "f64-tensor", "tf32-tensor", "f16-tensor", "bf16-tensor",
      "fp8-tensor", "fp6-tensor", "fp4-tensor",  "i8-tensor"};
  return names;
}

/// Reads the file in two passes: its form first, and when that is sound what the values mean.
class TaskReader {
 public:
  explicit TaskReader(TomlFields root) : root_(std::move(root)) {}

  Result<TaskSpec> read() {
    read_top();
    read_kernel();
    read_workloads();
    read_tensors();
    read_workload_draws();
    read_variants();
    read_domain();
    read_work();
    read_tolerance();
    read_goals();
    read_tunables();
    read_constraints();
    read_isa_targets();
    BURNISH_TRY(root_.finish());
    check();
    BURNISH_TRY(root_.finish());
    return std::move(task_);
  }

 private:
  /// A table that must be there; recorded when it is not.
  TomlFields required_table(const std::string& key, std::string_view what) {
    root_.require(key, fmt::format("the table [{}] says {}", key, what));
    return root_.table(key);
  }

  std::vector<TomlFields> required_tables(const std::string& key, std::string_view what) {
    if (!root_.require(key, fmt::format("each [[{}]] says {}", key, what))) return {};
    std::vector<TomlFields> tables = root_.tables(key);
    if (tables.empty()) root_.fail(key, fmt::format("there is no [[{}]]", key));
    return tables;
  }

  void check_name(TomlFields& fields, const std::string& name, std::string_view what,
                  std::set<std::string>& taken) {
    if (!is_name(name)) {
      fields.fail("name", fmt::format("\"{}\" cannot be the name of a {}", name, what),
                  "use letters, digits and _, and no word or function of the expressions");
    } else if (!taken.insert(name).second) {
      fields.fail("name", fmt::format("the name \"{}\" is taken already", name),
                  fmt::format("name each {} differently", what));
    }
  }

  void check_path(TomlFields& fields, const std::string& key, const Place& place,
                  const std::string& path) {
    if (const std::string why = path_problem(path); !why.empty()) {
      fields.fail(
          place,
          fmt::format("\"{}\" cannot be a file of the {}: {}", to_valid_utf8(path), key, why),
          "give a name relative to the workspace's folder");
    } else if (!files_.insert(path).second) {
      fields.fail(place, fmt::format("the file \"{}\" is named twice", path));
    }
  }

  void read_top() {
    task_.name = root_.string("name");
    if (root_.has("name") && (trim(task_.name).empty() || task_.name.size() > 100 ||
                              task_.name.find_first_of("\n\r\t") != std::string::npos)) {
      root_.fail("name", "the task's name must be one line of 1 to 100 bytes");
    }
    task_.description = root_.string("description", "");
    task_.family = root_.string("family", "");
    task_.reference_projects = root_.has("reference_projects") ? root_.strings("reference_projects")
                                                               : std::vector<std::string>{};
    TomlFields knowledge = root_.table("knowledge");
    task_.cards = knowledge.strings("cards");
    task_.outcomes = knowledge.string("outcomes", "");
  }

  void read_kernel() {
    TomlFields kernel = required_table("kernel", "which files the candidate is made of");
    if (!root_.has("kernel")) return;
    task_.language = kernel.one_of("language", {"opencl", "cuda", "hip", "python"});
    task_.kernel_file = kernel.string("file");
    if (kernel.has("file"))
      check_path(kernel, "candidate", kernel.place("file"), task_.kernel_file);
    // Host-code candidates launch themselves.
    task_.launch_file = kernel.string("launch", task_.language == "python" ? "" : "launch.toml");
    if (!task_.launch_file.empty() || kernel.has("launch")) {
      check_path(kernel, "candidate", kernel.place("launch"), task_.launch_file);
    }
    task_.also = kernel.strings("also");
    const std::vector<Place> places = kernel.places("also");
    for (std::size_t i = 0; i < task_.also.size(); ++i) {
      check_path(kernel, "candidate",
                 places.size() == task_.also.size() ? places[i] : kernel.place("also"),
                 task_.also[i]);
    }
    task_.options = kernel.strings("options");
    for (const std::string& option : task_.options) {
      if (option.find('\0') != std::string::npos || option.find('\n') != std::string::npos) {
        kernel.fail("options", "an option must be one line");
      }
    }

    TomlFields reference = required_table("reference", "which file computes the truth");
    if (!root_.has("reference")) return;
    task_.reference_file = reference.string("file");
    if (!reference.has("file")) return;
    check_path(reference, "reference", reference.place("file"), task_.reference_file);
    if (!task_.reference_file.ends_with(".cpp") && !task_.reference_file.ends_with(".py")) {
      reference.fail("file", fmt::format("\"{}\" is neither .cpp nor .py", task_.reference_file),
                     "the reference is C++ compiled for the host, or Python with numpy");
    }
  }

  void read_workloads() {
    std::set<std::string> taken;
    for (TomlFields& fields :
         required_tables("workload", "at which dimensions the kernel is judged")) {
      WorkloadSpec workload;
      workload.name = fields.string("name");
      const bool is_plain = !workload.name.empty() && workload.name.size() <= 64 &&
                            std::all_of(workload.name.begin(), workload.name.end(), [](char c) {
                              return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                     (c >= '0' && c <= '9') ||
                                     contains("_-.+=,", std::string_view(&c, 1));
                            });
      if (fields.has("name") && !is_plain) {
        fields.fail("name", fmt::format("\"{}\" cannot be the name of a workload", workload.name),
                    "use letters, digits and _ - . + = ,");
      } else if (fields.has("name") && !taken.insert(workload.name).second) {
        fields.fail("name", fmt::format("the name \"{}\" is taken already", workload.name),
                    "name each workload differently");
      }
      workload.weight = fields.number("weight", 1.0);
      if (!(workload.weight >= 0)) {
        fields.fail("weight", fmt::format("the weight must be 0 or above, not {}",
                                          number_text(workload.weight)));
      }
      workload.hot = fields.boolean("hot", true);
      workload.gate = fields.boolean("gate", true);
      const std::size_t first = task_.workloads.size();
      for (WorkloadSpec& choice : read_dims(fields, workload)) {
        if (!choice.set.empty() && !taken.insert(choice.name).second) {
          fields.fail("name", fmt::format("the name \"{}\" is taken already", choice.name),
                      "name each workload differently");
        }
        task_.workloads.push_back(std::move(choice));
      }
      workload_draws_.push_back({first, task_.workloads.size(), fields.table("draw")});
    }
    const auto none = [&](auto&& holds) {
      return !task_.workloads.empty() &&
             std::none_of(task_.workloads.begin(), task_.workloads.end(), holds);
    };
    if (none([](const WorkloadSpec& workload) { return workload.timed(); })) {
      root_.fail("workload", "no workload has a weight above 0",
                 "give one that is timed a weight, or leave weight out");
    } else if (none([](const WorkloadSpec& workload) {
                 return workload.gate && workload.timed();
               })) {
      root_.fail("workload", "the gate has no workload to judge and time at",
                 "leave gate = false out of one of them");
    }
  }

  /// The workload, or one for every choice where dimensions are lists.
  std::vector<WorkloadSpec> read_dims(TomlFields& fields, const WorkloadSpec& workload) {
    std::vector<WorkloadSpec> choices{workload};
    if (!fields.require("dims", "write dims = {M = 1024, N = 1024}")) return choices;
    TomlFields dims = fields.table("dims");
    const std::vector<std::string> names = dims.keys();
    std::set<std::string> given;
    for (const std::string& name : names) {
      const bool is_list = dims.is_array(name);
      std::vector<std::int64_t> values;
      if (is_list) {
        for (const TomlValue& value : dims.values(name)) {
          const auto* number = std::get_if<std::int64_t>(&value);
          values.push_back(number != nullptr ? *number : -1);
        }
        if (values.empty()) dims.fail(name, "a list of dimensions needs at least one value");
      } else {
        values.push_back(dims.integer(name));
      }
      if (!is_name(name)) {
        dims.fail(name, fmt::format("\"{}\" cannot be the name of a dimension", name),
                  "use letters, digits and _, and no word or function of the expressions");
      }
      std::vector<WorkloadSpec> longer;
      for (const WorkloadSpec& choice : choices) {
        for (const std::int64_t value : values) {
          longer.push_back(choice);
          longer.back().dims[name] = static_cast<double>(value);
          if (!is_list) continue;
          longer.back().name += fmt::format("{}{}={}", choice.set.empty() ? "." : ",", name, value);
          longer.back().set = workload.name;
        }
      }
      for (const std::int64_t value : values) {
        if (value >= 0 && value <= kMostElements) continue;
        dims.fail(name,
                  fmt::format("the dimension {} must be a whole number from 0 to 2^40, not {}",
                              name, value));
      }
      if (longer.size() > kMostChoices) {
        dims.fail(name, fmt::format("these are more than {} workloads", kMostChoices));
        return choices;
      }
      if (!longer.empty()) choices = std::move(longer);
      given.insert(name);
    }
    if (names.empty()) {
      fields.fail("dims", "a workload needs at least one dimension", "write dims = {N = 1024}");
    }
    if (task_.workloads.empty()) return choices;
    const WorkloadSpec& first = task_.workloads.front();
    for (const auto& [name, value] : first.dims) {
      if (!given.contains(name)) {
        fields.fail(
            "dims",
            fmt::format("the dimension {} of workload \"{}\" is missing here", name, first.name),
            "every workload gives every dimension a value");
      }
    }
    for (const std::string& name : given) {
      if (first.dims.find(name) == first.dims.end()) {
        dims.fail(name, fmt::format("workload \"{}\" has no dimension {}", first.name, name),
                  "every workload gives every dimension a value");
      }
    }
    return choices;
  }

  void read_tensors() {
    std::set<std::string> taken;
    bool has_output = false;
    for (TomlFields& fields : required_tables("tensor", "what goes in or comes out")) {
      TensorSpec tensor;
      tensor.name = fields.string("name");
      if (fields.has("name")) check_name(fields, tensor.name, "tensor", taken);
      tensor.dtype = read_dtype(fields, "dtype");
      if (fields.require("shape", "write shape = [\"M\", \"N\"]")) {
        tensor.shape = read_expressions(fields, "shape");
        const std::size_t extents = fields.places("shape").size();
        if (extents < 1 || extents > 8) {
          fields.fail("shape", fmt::format("a shape has 1 to 8 extents, not {}", extents));
        }
      }
      tensor.role = fields.one_of("role", {"in", "out", "inout"});
      has_output |= tensor.role != "in";
      read_draw(fields, tensor);
      tensor_fields_.push_back(fields);
      task_.tensors.push_back(std::move(tensor));
    }
    if (!has_output && !tensor_fields_.empty()) {
      root_.fail("tensor", "no [[tensor]] has the role \"out\" or \"inout\"",
                 "a task must compute something");
    }
  }

  void read_draw(TomlFields& fields, TensorSpec& tensor) {
    TensorDraw& draw = tensor.draw;
    const DType dtype = tensor.dtype;
    if (!is_floating(dtype)) {
      draw.kind = "integers";
      draw.low = dtype == DType::u8 || dtype == DType::boolean ? 0 : -100;
      draw.high = dtype == DType::boolean ? 1 : 100;
    }
    if (fields.has("draw")) draw = draw_at(fields, "draw", tensor);
  }

  /// The draw that stands at `key`.
  TensorDraw draw_at(TomlFields& fields, const std::string& key, const TensorSpec& tensor) {
    TensorDraw draw = tensor.draw;
    TomlFields table = fields.table(key);
    if (tensor.role == "out") {
      fields.fail(key, fmt::format("the output {} is not drawn", tensor.name),
                  "remove the key, or make the role \"inout\"");
    }
    draw.kind = table.one_of("kind", {"normal", "uniform", "integers", "constant"});
    if (draw.kind == "normal") {
      draw.mean = table.number("mean", 0.0);
      draw.deviation = table.number("deviation", 1.0);
      if (!(draw.deviation > 0)) table.fail("deviation", "the deviation must be above 0");
    } else if (draw.kind == "constant") {
      draw.constant = table.number("value");
      draw.low = draw.high = draw.constant;
    } else {
      draw.low = table.number("low", draw.low);
      draw.high = table.number("high", draw.high);
      if (!(draw.low < draw.high)) {
        table.fail(table.has("high") ? "high" : "low",
                   fmt::format("high ({}) must be above low ({})", number_text(draw.high),
                               number_text(draw.low)));
      }
      if (draw.kind == "integers" &&
          (draw.low != std::floor(draw.low) || draw.high != std::floor(draw.high))) {
        table.fail("low", "low and high must be whole numbers");
      }
    }
    const DType dtype = tensor.dtype;
    const double smallest = dtype == DType::u8 || dtype == DType::boolean ? 0
                            : is_floating(dtype)                          ? -largest(dtype)
                                                                          : -largest(dtype) - 1;
    if (draw.kind != "normal" && (draw.low < smallest || draw.high > largest(dtype))) {
      fields.fail(key, fmt::format("{} to {} does not fit the dtype {}", number_text(draw.low),
                                   number_text(draw.high), to_string(dtype)));
    }
    return draw;
  }

  void read_workload_draws() {
    for (auto& [first, last, fields] : workload_draws_) {
      for (const std::string& name : fields.keys()) {
        const auto tensor = std::find_if(task_.tensors.begin(), task_.tensors.end(),
                                         [&](const TensorSpec& one) { return one.name == name; });
        if (tensor == task_.tensors.end()) {
          fields.table(name);  // what stands in it does not matter
          fields.fail(name, fmt::format("there is no tensor \"{}\"", name));
          continue;
        }
        const TensorDraw draw = draw_at(fields, name, *tensor);
        for (std::size_t i = first; i < last; ++i) task_.workloads[i].draws[name] = draw;
      }
    }
  }

  void read_variants() {
    std::set<std::string> taken;
    for (TomlFields& fields : root_.tables("variant")) {
      VariantSpec variant;
      variant.name = fields.string("name");
      if (fields.has("name")) check_name(fields, variant.name, "variant", taken);
      TomlFields dtypes = fields.table("dtype");
      for (const std::string& name : dtypes.keys()) {
        variant.dtypes[name] = read_dtype(dtypes, name);
        if (std::none_of(task_.tensors.begin(), task_.tensors.end(),
                         [&](const TensorSpec& tensor) { return tensor.name == name; })) {
          dtypes.fail(name, fmt::format("there is no tensor \"{}\"", name));
        }
      }
      TomlFields macros = fields.table("macros");
      for (const std::string& name : macros.keys()) {
        variant.macros[name] = macros.value(name);
        if (!is_name(name)) {
          macros.fail(name, fmt::format("\"{}\" cannot be the name of a macro", name),
                      "use letters, digits and _");
        }
      }
      task_.variants.push_back(std::move(variant));
    }
  }

  void read_domain() {
    if (!root_.has("domain")) return;
    TomlFields domain = root_.table("domain");
    for (const std::string& name : domain.keys()) {
      TomlFields fields = domain.table(name);
      DomainSpec range;
      range.low = fields.integer("low", 1);
      range.high = fields.integer("high");
      range.multiple = fields.integer("multiple", 1);
      if (range.low < 1) {
        fields.fail("low", fmt::format("low must be at least 1, not {}", range.low));
      } else if (range.multiple < 1 || range.multiple > kMostElements) {
        fields.fail("multiple",
                    fmt::format("multiple must be from 1 to 2^40, not {}", range.multiple));
      } else if (fields.has("high") && (range.high < range.low || range.high > kMostElements)) {
        fields.fail("high", fmt::format("high must be from low ({}) to 2^40, not {}", range.low,
                                        range.high));
      } else if (fields.has("high") && range.high / range.multiple * range.multiple < range.low) {
        fields.fail("multiple", fmt::format("there is no multiple of {} from {} to {}",
                                            range.multiple, range.low, range.high));
      }
      task_.domain[name] = range;
      domain_places_[name] = domain.place(name);
    }
  }

  void read_work() {
    TomlFields work =
        required_table("work", "how many operations and bytes the task takes at least");
    if (!root_.has("work")) return;
    task_.flops = read_expression(work, "flops");
    task_.bytes = read_expression(work, "bytes");
    task_.math_path = work.one_of("math", math_paths(), "f32");
  }

  void read_tolerance() {
    if (!root_.has("tolerance")) return;
    TomlFields fields = root_.table("tolerance");
    ToleranceSpec& tolerance = task_.tolerance;
    tolerance.accumulation = read_optional_expression(fields, "accumulation");
    const auto bound = [&](const std::string& key) -> std::optional<double> {
      if (!fields.has(key)) return std::nullopt;
      const double value = fields.number(key, 0.0);
      if (value < 0) fields.fail(key, fmt::format("{} must not be negative", key));
      return value;
    };
    tolerance.relative = bound("relative");
    tolerance.absolute = bound("absolute");
    tolerance.reason = fields.string("reason", "");
    if ((tolerance.relative || tolerance.absolute) && trim(tolerance.reason).empty()) {
      fields.fail(tolerance.relative ? "relative" : "absolute",
                  "a tolerance of one's own needs a reason", "add reason = \"…\" to [tolerance]");
    }
    tolerance.non_finite = fields.one_of("non_finite", {"forbidden", "as_reference"}, "forbidden");
    tolerance.repeatable = fields.one_of("repeatable", {"no", "bitwise"}, "no");
  }

  void read_goals() {
    TomlFields stop = root_.table("stop");
    const auto goal = [&](const std::string& key, double above,
                          double most) -> std::optional<double> {
      if (!stop.has(key)) return std::nullopt;
      const double value = stop.number(key, 1.0);
      if (!(value > above && value <= most)) {
        stop.fail(key,
                  most == 1 ? fmt::format("{} must be above 0 and at most 1, not {}", key,
                                          number_text(value))
                            : fmt::format("{} must be above {}, not {}", key, number_text(above),
                                          number_text(value)),
                  key == "utilization" ? "it is a share: 0.9 for 90 %" : "");
      }
      return value;
    };
    task_.stop.utilization = goal("utilization", 0, 1);
    task_.stop.speedup = goal("speedup", 1, HUGE_VAL);
    task_.stop.seconds = goal("seconds", 0, HUGE_VAL);
    if (!task_.stop.utilization && !task_.stop.speedup && !task_.stop.seconds) {
      task_.stop.utilization = 0.9;
    }
    const std::int64_t iterations = stop.integer("max_iterations", 50);
    if (iterations < 1 || iterations > 1'000'000) {
      stop.fail("max_iterations",
                fmt::format("max_iterations must be from 1 to 1000000, not {}", iterations));
    } else {
      task_.stop.max_iterations = static_cast<int>(iterations);
    }

    TomlFields judge = root_.table("judge");
    task_.minimum_gain = judge.number("minimum_gain", 0.02);
    if (!(task_.minimum_gain >= 0 && task_.minimum_gain < 1)) {
      judge.fail("minimum_gain",
                 fmt::format("minimum_gain must be from 0 to below 1, not {}",
                             number_text(task_.minimum_gain)),
                 "it is a share: 0.02 for 2 %");
    }
    const std::int64_t enabler = judge.integer("enabler_iterations", 3);
    if (enabler < 1 || enabler > 1'000'000) {
      judge.fail("enabler_iterations",
                 fmt::format("enabler_iterations must be from 1 to 1000000, not {}", enabler));
    } else {
      task_.enabler_iterations = static_cast<int>(enabler);
    }
    TomlFields agent = root_.table("agent");
    task_.agent_budget_seconds = agent.number("budget_seconds", 0.0);
    if (task_.agent_budget_seconds < 0) {
      agent.fail("budget_seconds", "budget_seconds must not be negative", "0 means no limit");
    }
  }

  void read_tunables() {
    std::set<std::string> taken;
    if (!task_.workloads.empty()) {
      for (const auto& [name, value] : task_.workloads.front().dims) taken.insert(name);
    }
    for (TomlFields& fields : root_.tables("tunable")) {
      Tunable tunable;
      tunable.name = fields.string("name");
      if (fields.has("name")) check_name(fields, tunable.name, "tunable", taken);
      if (fields.require("values", "write values = [1, 2, 4]")) {
        tunable.values = fields.values("values");
        check_values(fields, tunable);
      }
      tunable.initial = fields.value("initial");
      if (fields.has("initial") && !tunable.values.empty() &&
          std::find(tunable.values.begin(), tunable.values.end(), tunable.initial) ==
              tunable.values.end()) {
        fields.fail("initial",
                    fmt::format("the initial value {} of {} is not among its values",
                                to_text(tunable.initial), tunable.name),
                    "v0 is one of the configurations");
      }
      tunable.category = fields.one_of("category", evidence::categories());
      tunable.why = fields.string("why", "");
      task_.tunables.push_back(std::move(tunable));
    }
  }

  void check_values(TomlFields& fields, const Tunable& tunable) {
    const std::vector<Place> places = fields.places("values");
    if (places.empty()) fields.fail("values", "a tunable needs at least one value");
    if (places.size() != tunable.values.size()) return;  // one of them is recorded already
    for (std::size_t i = 0; i < places.size(); ++i) {
      const TomlValue& value = tunable.values[i];
      if (value.index() != tunable.values.front().index()) {
        fields.fail(places[i], fmt::format("the values of {} are of different types", tunable.name),
                    "write 2.0 for a number among numbers with a point");
      } else if (std::find(tunable.values.begin(), tunable.values.begin() + static_cast<long>(i),
                           value) != tunable.values.begin() + static_cast<long>(i)) {
        fields.fail(places[i], fmt::format("the value {} occurs twice", to_text(value)));
      }
      if (const auto* number = std::get_if<double>(&value); number && !std::isfinite(*number)) {
        fields.fail(places[i], "a value must be finite");
      }
      if (const auto* text = std::get_if<std::string>(&value);
          text && std::any_of(text->begin(), text->end(),
                              [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
        fields.fail(places[i], "a value must be one line, since it becomes a macro");
      }
    }
  }

  void read_constraints() {
    for (TomlFields& fields : root_.tables("constraint")) {
      Constraint constraint;
      constraint.when = read_expression(fields, "when");
      constraint.why = fields.string("why");
      if (fields.has("why") && trim(constraint.why).empty()) {
        fields.fail("why", "a constraint must say why");
      }
      task_.constraints.push_back(std::move(constraint));
    }
  }

  void read_isa_targets() {
    if (!root_.has("isa_targets")) return;
    TomlFields targets = root_.table("isa_targets");
    for (const std::string& metric : targets.keys()) {
      const std::string text = targets.string(metric);
      IsaTarget target{metric, "", 0};
      for (const char* comparison : {"<=", "==", ">=", "<", ">"}) {
        if (std::string_view(text).starts_with(comparison)) {
          target.comparison = comparison;
          break;
        }
      }
      const auto value =
          parse_number(trim(std::string_view(text).substr(target.comparison.size())));
      if (target.comparison.empty() || !value || !std::isfinite(*value)) {
        targets.fail(metric,
                     fmt::format("the target \"{}\" is not a comparison with a number", text),
                     "write \"== 0\", \">= 128\" …");
        continue;
      }
      target.value = *value;
      task_.isa_targets.push_back(std::move(target));
    }
  }

  // What needs the whole file.

  void check() {
    const Names names = names_of(task_);
    Names dims;
    dims.dims = names.dims;
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      for (const Expression& extent : task_.tensors[i].shape) {
        check_names(tensor_fields_[i], extent, dims);
      }
    }
    for (const auto& [name, place] : domain_places_) {
      if (names.dims.contains(name)) continue;
      const auto near = nearest(name, {names.dims.begin(), names.dims.end()});
      root_.fail(place, fmt::format("no workload has a dimension \"{}\"", name),
                 near ? fmt::format("did you mean \"{}\"?", *near) : "");
    }
    check_names(root_, task_.flops, dims);
    check_names(root_, task_.bytes, dims);
    if (task_.tolerance.accumulation) check_names(root_, *task_.tolerance.accumulation, dims);
    for (const Constraint& constraint : task_.constraints) {
      check_names(root_, constraint.when, names);
    }
    if (root_.failed()) return;

    for (const WorkloadSpec& workload : task_.workloads) check_workload(workload);
    if (root_.failed()) return;
    const Configuration initial = configuration(task_, LaunchSpec{});
    for (const Constraint& constraint : task_.constraints) {
      TaskSpec one;
      one.workloads = task_.workloads;
      one.constraints = {constraint};
      if (const std::string why = violated_constraint(one, initial); !why.empty()) {
        root_.fail(constraint.when.place().value_or(root_.place()),
                   "the initial values of the tunables violate this: " + why);
      }
    }
  }

  void check_workload(const WorkloadSpec& workload) {
    const std::string where =
        fmt::format("at workload \"{}\" ({})", workload.name, describe(workload.dims));
    const auto value_of = [&](const Expression& expression) -> std::optional<double> {
      auto value = expression.evaluate(workload.dims);
      if (value) return *value;
      record_error(root_, "", value.error());
      return std::nullopt;
    };
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      const TensorSpec& tensor = task_.tensors[i];
      std::int64_t elements = 1;
      for (const Expression& extent : tensor.shape) {
        auto count = extent.evaluate_count(workload.dims);
        if (!count) {
          record_error(tensor_fields_[i], "shape", std::move(count.error()).in(where));
          return;
        }
        if (*count < 1) {
          tensor_fields_[i].fail(
              extent.place().value_or(tensor_fields_[i].place("shape")),
              fmt::format("the extent `{}` of {} is 0 {}", extent.text(), tensor.name, where));
          return;
        }
        if (*count > kMostElements / elements) {
          tensor_fields_[i].fail(
              "shape",
              fmt::format("the tensor {} has more than 2^40 elements {}", tensor.name, where));
          return;
        }
        elements *= *count;
      }
    }
    if (const auto flops = value_of(task_.flops); flops && *flops < 0) {
      root_.fail(*task_.flops.place(),
                 fmt::format("the work is {} operations {}", number_text(*flops), where));
    }
    if (const auto bytes = value_of(task_.bytes); bytes && !(*bytes > 0)) {
      root_.fail(*task_.bytes.place(),
                 fmt::format("the work moves {} bytes {}", number_text(*bytes), where),
                 "count each input read once and each output written once");
    }
    if (!task_.tolerance.accumulation) return;
    if (const auto terms = value_of(*task_.tolerance.accumulation); terms && *terms < 1) {
      root_.fail(*task_.tolerance.accumulation->place(),
                 fmt::format("the accumulation length is {} {}", number_text(*terms), where),
                 "it is the number of terms summed into one element, at least 1");
    }
  }

  TomlFields root_;
  TaskSpec task_;
  std::set<std::string> files_;
  std::vector<TomlFields> tensor_fields_;
  struct WorkloadDraws {
    std::size_t first, last;  ///< workloads
    TomlFields fields;
  };
  std::vector<WorkloadDraws> workload_draws_;
  std::map<std::string, Place> domain_places_;
};

}  // namespace

TaskSpec variant_of(TaskSpec task, const VariantSpec& variant) {
  task.name += " " + variant.name;
  task.variants.clear();
  task.macros = variant.macros;
  for (TensorSpec& tensor : task.tensors) {
    if (const auto dtype = variant.dtypes.find(tensor.name); dtype != variant.dtypes.end()) {
      tensor.dtype = dtype->second;
    }
  }
  return task;
}

Result<TaskSpec> parse_task(std::string_view text, const std::string& file) {
  BURNISH_TRY_ASSIGN(TomlFields root, TomlFields::parse(text, file));
  return TaskReader(std::move(root)).read();
}

}  // namespace burnish::workspace
