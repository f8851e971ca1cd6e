#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "base/text.h"
#include "workspace/fields.h"
#include "workspace/task.h"

namespace burnish::workspace {

namespace {

constexpr std::int64_t kLargestGrid = std::numeric_limits<std::int32_t>::max();

/// What `when` reads of the architecture: NVIDIA's compute capability as a number, 90 for sm_90 and
/// sm_90a; 0 on other devices.
constexpr char kArchitecture[] = "sm";
/// Where it matters which one it is, a spec is worked out for all of these (CUDA 13).
constexpr std::array kArchitectures{0, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

double architecture(const std::string& arch) {
  double value = 0;
  if (!arch.starts_with("sm_")) return value;
  for (const char digit : arch.substr(3)) {
    if (digit < '0' || digit > '9') break;
    value = 10 * value + (digit - '0');
  }
  return value;
}

/// Of cuTensorMapEncodeTiled (CUDA Driver API, tensor map object management).
struct MapOption {
  const char* key;
  std::vector<std::string> allowed;
};
const std::vector<MapOption>& map_options() {
  static const std::vector<MapOption> options = {
      {"swizzle", {"none", "32B", "64B", "128B"}},
      {"interleave", {"none", "16B", "32B"}},
      {"l2_promotion", {"none", "64B", "128B", "256B"}},
      {"fill", {"zero", "nan"}},
  };
  return options;
}

Error at_place(const std::optional<Place>& place, Error error) {
  return place ? std::move(error).at(*place) : error;
}

class LaunchReader {
 public:
  LaunchReader(TomlFields root, const std::string& file, const TaskSpec& task)
      : root_(std::move(root)), task_(task), names_(names_of(task)) {
    launch_.file = file;
  }

  Result<LaunchSpec> read() {
    read_let();
    read_scratch();
    if (root_.has("requires")) {
      launch_.requires_expression = read_expression(root_, "requires");
      Names outside = names_;
      outside.lets.clear();  // worked out before any `let`, whose division may need what it demands
      check_names(root_, *launch_.requires_expression, outside);
    }
    read_kernels();
    read_tunables();
    BURNISH_TRY(root_.finish());
    return std::move(launch_);
  }

 private:
  void read_let() {
    if (!root_.has("let")) return;
    TomlFields let = root_.table("let");
    for (const std::string& name : let.keys()) {
      Expression value = read_expression(let, name);
      check_names(root_, value, names_);  // of the names before it
      if (!is_name(name)) {
        let.fail(name, fmt::format("\"{}\" cannot be the name of a value", name),
                 "use letters, digits and _, and no word or function of the expressions");
      } else if (name == kArchitecture) {
        let.fail(name, fmt::format("`{}` is the architecture already", name));
      } else if (names_.dims.contains(name) || names_.tunables.contains(name) ||
                 names_.texts.contains(name)) {
        let.fail(name, fmt::format("\"{}\" is a {} of the task already", name,
                                   names_.dims.contains(name) ? "dimension" : "tunable"));
      }
      names_.lets.insert(name);
      launch_.let.emplace_back(name, std::move(value));
    }
  }

  void read_scratch() {
    std::set<std::string> taken;
    for (const TensorSpec& tensor : task_.tensors) taken.insert(tensor.name);
    for (TomlFields& fields : root_.tables("scratch")) {
      const std::string name = fields.string("name");
      if (fields.has("name") && !is_name(name)) {
        fields.fail("name", fmt::format("\"{}\" cannot be the name of a scratch buffer", name));
      } else if (fields.has("name") && !taken.insert(name).second) {
        fields.fail("name", fmt::format("the name \"{}\" is taken already", name),
                    "tensors and scratch buffers share one set of names");
      }
      Expression bytes = read_expression(fields, "bytes");
      check_names(root_, bytes, names_);
      launch_.scratch.emplace_back(name, std::move(bytes));
    }
  }

  /// 1 to 3 extents.
  std::vector<Expression> read_extents(TomlFields& fields, const std::string& key,
                                       std::string_view example) {
    std::vector<Expression> extents = read_expressions(fields, key);
    const std::size_t given = fields.places(key).size();
    if (given < 1 || given > 3) {
      fields.fail(key, fmt::format("\"{}\" has 1 to 3 extents, not {}", key, given),
                  fmt::format("write {} = {}", key, example));
    }
    for (const Expression& extent : extents) check_names(root_, extent, names_);
    return extents;
  }

  void read_kernels() {
    if (!root_.require("kernel", "each [[kernel]] says what is launched, and how")) return;
    std::vector<TomlFields> tables = root_.tables("kernel");
    if (tables.empty()) root_.fail("kernel", "there is no [[kernel]]");
    for (TomlFields& fields : tables) {
      LaunchKernel kernel;
      kernel.place = fields.place();
      kernel.name = fields.string("name");
      if (fields.has("name") && !is_name(kernel.name)) {
        fields.fail("name", fmt::format("\"{}\" cannot be the name of a kernel", kernel.name),
                    "write the name of the function as the source declares it");
      }
      if (fields.require("grid", "write grid = [\"ceil_div(N, 256)\"]")) {
        kernel.grid = read_extents(fields, "grid", "[\"ceil_div(N, 256)\"]");
      }
      if (fields.require("block", "write block = [256]")) {
        kernel.block = read_extents(fields, "block", "[256]");
      }
      if (fields.has("cluster")) kernel.cluster = read_extents(fields, "cluster", "[2, 1, 1]");
      kernel.shared_bytes = read_optional_expression(fields, "shared");
      if (kernel.shared_bytes) check_names(root_, *kernel.shared_bytes, names_);
      kernel.when = read_optional_expression(fields, "when");
      if (kernel.when) {
        Names with_architecture = names_;
        with_architecture.dims.insert(kArchitecture);
        check_names(root_, *kernel.when, with_architecture);
      }
      kernel.arch = fields.has("arch") ? fields.strings("arch") : std::vector<std::string>{};
      fields.require("arguments",
                     "write arguments = [{tensor = \"A\"}, {scalar = \"N\", dtype = \"i32\"}]");
      for (TomlFields& argument : fields.tables("arguments")) {
        kernel.arguments.push_back(read_argument(argument));
      }
      launch_.kernels.push_back(std::move(kernel));
    }
  }

  LaunchArgument read_argument(TomlFields& fields) {
    using Kind = LaunchArgument::Kind;
    static const std::vector<std::pair<std::string, Kind>> kinds = {
        {"tensor", Kind::tensor}, {"scratch", Kind::scratch}, {"scalar", Kind::scalar},
        {"local", Kind::local},   {"struct", Kind::bytes},    {"tensor_map", Kind::tensor_map}};
    LaunchArgument argument;
    argument.place = fields.place();
    std::string key;
    for (const auto& [name, kind] : kinds) {
      if (!fields.has(name)) continue;
      if (!key.empty()) {
        fields.fail(name,
                    fmt::format("an argument is one thing, not both \"{}\" and \"{}\"", key, name));
        return argument;
      }
      key = name;
      argument.kind = kind;
    }
    if (key.empty()) {
      // A misspelt key is reported as such by finish(), which comes first when it stands before.
      const std::vector<std::string> keys = fields.keys();
      std::vector<std::string> names;
      for (const auto& kind : kinds) names.push_back(kind.first);
      const auto near = keys.empty() ? std::nullopt : nearest(keys.front(), names);
      fields.fail(fields.place(), fmt::format("an argument must be one of {}", join(names, ", ")),
                  near ? fmt::format("did you mean \"{}\"?", *near) : "");
      return argument;
    }
    switch (argument.kind) {
      case Kind::tensor:
      case Kind::scratch:
        argument.name = fields.string(key);
        check_buffer(fields, key, argument);
        break;
      case Kind::scalar:
        argument.value = read_expression(fields, key);
        check_names(root_, *argument.value, names_);
        if (fields.has("dtype")) argument.dtype = read_dtype(fields, "dtype");
        break;
      case Kind::local:
        argument.value = read_expression(fields, key);
        check_names(root_, *argument.value, names_);
        break;
      case Kind::bytes:
        read_struct(fields, argument);
        break;
      case Kind::tensor_map:
        read_tensor_map(fields, argument);
        break;
    }
    return argument;
  }

  bool is_tensor(const std::string& name) const {
    return std::any_of(task_.tensors.begin(), task_.tensors.end(),
                       [&](const TensorSpec& tensor) { return tensor.name == name; });
  }
  bool is_scratch(const std::string& name) const {
    return std::any_of(launch_.scratch.begin(), launch_.scratch.end(),
                       [&](const auto& scratch) { return scratch.first == name; });
  }

  void check_buffer(TomlFields& fields, const std::string& key, const LaunchArgument& argument) {
    const std::string& name = argument.name;
    const bool wants_scratch = argument.kind == LaunchArgument::Kind::scratch;
    if (!fields.has(key) || (wants_scratch ? is_scratch(name) : is_tensor(name))) return;
    if (wants_scratch ? is_tensor(name) : is_scratch(name)) {
      fields.fail(key,
                  fmt::format("\"{}\" is a {}", name, wants_scratch ? "tensor" : "scratch buffer"),
                  fmt::format("write {{{} = \"{}\"}}", wants_scratch ? "tensor" : "scratch", name));
      return;
    }
    std::vector<std::string> known;
    if (wants_scratch) {
      for (const auto& scratch : launch_.scratch) known.push_back(scratch.first);
    } else {
      for (const TensorSpec& tensor : task_.tensors) known.push_back(tensor.name);
    }
    const auto near = nearest(name, known);
    fields.fail(
        key, fmt::format("there is no {} \"{}\"", wants_scratch ? "[[scratch]]" : "tensor", name),
        near            ? fmt::format("did you mean \"{}\"?", *near)
        : known.empty() ? "add a [[scratch]] with this name"
                        : fmt::format("there are {}", join(known, ", ")));
  }

  void read_struct(TomlFields& fields, LaunchArgument& argument) {
    for (TomlFields& field : fields.tables("struct")) {
      const DType dtype = read_dtype(field, "dtype");
      Expression value = read_expression(field, "value");
      check_names(root_, value, names_);
      argument.fields.emplace_back(dtype, std::move(value));
    }
    if (argument.fields.empty() && !root_.failed()) {
      fields.fail("struct", "a struct needs at least one field",
                  "write struct = [{value = \"N\", dtype = \"i32\"}]");
    }
  }

  void read_tensor_map(TomlFields& fields, LaunchArgument& argument) {
    argument.name = fields.string("tensor_map");
    const bool of_scratch = is_scratch(argument.name);
    if (!of_scratch) check_buffer(fields, "tensor_map", argument);
    const auto extents = [&](const std::string& key) {
      std::vector<Expression> result;
      if (fields.has(key)) result = read_expressions(fields, key);
      for (const Expression& extent : result) check_names(root_, extent, names_);
      return result;
    };
    argument.shape = extents("shape");
    argument.strides = extents("strides");
    argument.box = extents("box");
    argument.element_strides = extents("element_strides");
    for (const MapOption& option : map_options()) {
      argument.map_options[option.key] =
          fields.one_of(option.key, option.allowed, option.allowed.front());
    }
    if (of_scratch) {
      argument.dtype = read_dtype(fields, "dtype");
      if (!fields.has("shape")) {
        fields.fail("shape", "a tensor map of a scratch buffer needs a shape");
      }
    }
    std::size_t rank = argument.shape.size();
    for (const TensorSpec& tensor : task_.tensors) {
      if (tensor.name != argument.name) continue;
      argument.dtype = tensor.dtype;
      if (rank == 0) rank = tensor.shape.size();
    }
    fields.require("box", "write box = [64, 64], outermost first");
    if (rank > 5) {
      fields.fail("tensor_map", fmt::format("a tensor map has at most 5 dimensions, not {}", rank),
                  "give a shape that joins some of them");
    }
    for (const char* key : {"strides", "box", "element_strides"}) {
      const std::size_t given = fields.places(key).size();
      if (fields.has(key) && given != rank) {
        fields.fail(key, fmt::format("\"{}\" must have {} extents like the shape, not {}", key,
                                     rank, given));
      }
    }
  }

  void read_tunables() {
    TomlFields table = root_.table("tunables");
    for (const std::string& name : table.keys()) {
      const TomlValue value = table.value(name);
      const auto tunable = std::find_if(task_.tunables.begin(), task_.tunables.end(),
                                        [&](const Tunable& one) { return one.name == name; });
      if (tunable == task_.tunables.end()) {
        std::vector<std::string> known;
        for (const Tunable& one : task_.tunables) known.push_back(one.name);
        const auto near = nearest(name, known);
        table.fail(name, fmt::format("the task has no tunable \"{}\"", name),
                   near            ? fmt::format("did you mean \"{}\"?", *near)
                   : known.empty() ? "the task has no tunables"
                                   : fmt::format("its tunables are {}", join(known, ", ")));
        continue;
      }
      if (std::find(tunable->values.begin(), tunable->values.end(), value) ==
          tunable->values.end()) {
        std::vector<std::string> allowed;
        for (const TomlValue& one : tunable->values) allowed.push_back(to_text(one));
        table.fail(name,
                   fmt::format("{} is no value of the tunable {}",
                               value.index() == tunable->initial.index()
                                   ? to_text(value)
                                   : fmt::format("{} of another type", to_text(value)),
                               name),
                   fmt::format("its values are {}", join(allowed, ", ")));
        continue;
      }
      launch_.tunables[name] = value;
    }
  }

  TomlFields root_;
  const TaskSpec& task_;
  Names names_;
  LaunchSpec launch_;
};

/// Works launches out at one choice of dimensions.
class Resolver {
 public:
  Resolver(const TaskSpec& task, const LaunchSpec& launch, Variables values)
      : task_(task), launch_(launch), values_(std::move(values)) {}

  /// Whether `requires` admits the dimensions.
  Result<double> admitted() const {
    if (!launch_.requires_expression) return 1.0;
    return launch_.requires_expression->evaluate(values_);
  }

  Result<void> work_out_lets() {
    for (const auto& [name, expression] : launch_.let) {
      BURNISH_TRY_ASSIGN(const double value, expression.evaluate(values_));
      values_[name] = value;
    }
    return {};
  }

  Result<std::vector<device::Buffer>> scratch() const {
    std::vector<device::Buffer> buffers;
    for (const auto& [name, expression] : launch_.scratch) {
      BURNISH_TRY_ASSIGN(const std::int64_t bytes, count(expression, "bytes", 1, kMostElements));
      buffers.push_back({name, static_cast<std::uint64_t>(bytes), device::Buffer::Role::scratch});
    }
    return buffers;
  }

  Result<double> wanted(const LaunchKernel& kernel, double architecture) const {
    if (!kernel.when) return 1.0;
    if (!kernel.when->variables().contains(kArchitecture)) return kernel.when->evaluate(values_);
    Variables values = values_;
    values.emplace(kArchitecture, architecture);  // a dimension of this name goes before it
    return kernel.when->evaluate(values);
  }

  /// Whether it runs on any device that there is.
  Result<bool> wanted_anywhere(const LaunchKernel& kernel) const {
    for (const double one : kArchitectures) {
      BURNISH_TRY_ASSIGN(const double value, wanted(kernel, one));
      if (value != 0) return true;
    }
    return false;
  }

  Result<device::KernelLaunch> launch(const LaunchKernel& kernel) const {
    device::KernelLaunch result;
    result.kernel = kernel.name;
    BURNISH_TRY(extents(kernel.grid, "grid", result.grid));
    BURNISH_TRY(extents(kernel.block, "block", result.block));
    BURNISH_TRY(extents(kernel.cluster, "cluster", result.cluster));
    if (kernel.shared_bytes) {
      BURNISH_TRY_ASSIGN(const std::int64_t bytes,
                         count(*kernel.shared_bytes, "shared", 0, kLargestGrid));
      result.shared_bytes = static_cast<std::uint64_t>(bytes);
    }
    for (const LaunchArgument& argument : kernel.arguments) {
      BURNISH_TRY_ASSIGN(device::Argument resolved, resolve_argument(argument));
      result.arguments.push_back(std::move(resolved));
    }
    return result;
  }

 private:
  Result<std::int64_t> count(const Expression& expression, std::string_view what, std::int64_t low,
                             std::int64_t high) const {
    BURNISH_TRY_ASSIGN(const std::int64_t value, expression.evaluate_count(values_));
    if (value >= low && value <= high) return value;
    return at_place(expression.place(),
                    bad_input(fmt::format("{} `{}` is {}, not from {} to {}", what,
                                          expression.text(), value, low, high)));
  }

  Result<void> extents(const std::vector<Expression>& expressions, std::string_view what,
                       std::array<std::int64_t, 3>& result) const {
    for (std::size_t i = 0; i < expressions.size() && i < result.size(); ++i) {
      BURNISH_TRY_ASSIGN(result[i], count(expressions[i], what, 1, kLargestGrid));
    }
    return {};
  }

  /// The value, when the dtype can hold it.
  Result<double> scalar(DType dtype, const Expression& expression) const {
    BURNISH_TRY_ASSIGN(const double value, expression.evaluate(values_));
    const double low = dtype == DType::u8 || dtype == DType::boolean ? 0
                       : is_floating(dtype)                          ? -largest(dtype)
                                                                     : -largest(dtype) - 1;
    const bool whole = is_floating(dtype) || value == std::floor(value);
    if (whole && value >= low && value <= largest(dtype)) return value;
    return at_place(expression.place(),
                    bad_input(fmt::format("`{}` is {}, which {} cannot hold", expression.text(),
                                          number_text(value), to_string(dtype))));
  }

  Result<device::Argument> resolve_argument(const LaunchArgument& argument) const {
    using Kind = LaunchArgument::Kind;
    switch (argument.kind) {
      case Kind::tensor:
      case Kind::scratch:
        return device::Argument{device::Argument::Pointer{argument.name}};
      case Kind::scalar: {
        BURNISH_TRY_ASSIGN(const double value, scalar(argument.dtype, *argument.value));
        return device::Argument{device::Argument::Scalar{argument.dtype, value}};
      }
      case Kind::local: {
        BURNISH_TRY_ASSIGN(const std::int64_t bytes,
                           count(*argument.value, "local", 1, kLargestGrid));
        return device::Argument{device::Argument::Local{static_cast<std::uint64_t>(bytes)}};
      }
      case Kind::bytes:
        return resolve_struct(argument);
      case Kind::tensor_map:
        return resolve_tensor_map(argument);
    }
    return bug("an argument of no kind");
  }

  /// C layout: each field at a multiple of its size, the whole padded to the largest.
  Result<device::Argument> resolve_struct(const LaunchArgument& argument) const {
    std::vector<std::byte> bytes;
    std::size_t alignment = 1;
    const auto pad = [&](std::size_t to) {
      while (bytes.size() % to != 0) bytes.push_back(std::byte{0});
      alignment = std::max(alignment, to);
    };
    for (const auto& [dtype, expression] : argument.fields) {
      BURNISH_TRY_ASSIGN(const double value, scalar(dtype, expression));
      pad(size_of(dtype));
      const std::vector<std::byte> encoded = from_doubles(dtype, std::array{value});
      bytes.insert(bytes.end(), encoded.begin(), encoded.end());
    }
    pad(alignment);
    return device::Argument{device::Argument::Bytes{std::move(bytes)}};
  }

  Result<std::vector<std::int64_t>> counts(const std::vector<Expression>& expressions,
                                           std::string_view what, std::int64_t high) const {
    std::vector<std::int64_t> result;
    for (const Expression& expression : expressions) {
      BURNISH_TRY_ASSIGN(const std::int64_t value, count(expression, what, 1, high));
      result.push_back(value);
    }
    return result;
  }

  /// Extents as written are outermost first and in elements; the device wants the reverse, and
  /// strides in bytes.
  Result<device::Argument> resolve_tensor_map(const LaunchArgument& argument) const {
    const auto size = static_cast<std::int64_t>(size_of(argument.dtype));
    device::Argument::TensorMap map;
    map.buffer = argument.name;
    map.dtype = argument.dtype;
    std::int64_t room = 0;  // in elements
    for (const TensorSpec& tensor : task_.tensors) {
      if (tensor.name != argument.name) continue;
      BURNISH_TRY_ASSIGN(map.shape, counts(tensor.shape, "shape", kMostElements));
      room = elements_of(map.shape);
    }
    for (const auto& [name, bytes] : launch_.scratch) {
      if (name != argument.name) continue;
      BURNISH_TRY_ASSIGN(room, count(bytes, "bytes", 1, kMostElements));
      room /= size;
    }
    if (!argument.shape.empty()) {
      BURNISH_TRY_ASSIGN(map.shape, counts(argument.shape, "shape", kMostElements));
    }
    BURNISH_TRY_ASSIGN(map.strides, counts(argument.strides, "strides", kMostElements));
    BURNISH_TRY_ASSIGN(map.box, counts(argument.box, "box", 256));
    BURNISH_TRY_ASSIGN(map.element_strides, counts(argument.element_strides, "element_strides", 8));
    const std::size_t rank = map.shape.size();
    if (map.element_strides.empty()) map.element_strides.assign(rank, 1);
    if (map.strides.empty()) {
      map.strides.assign(rank, 1);
      for (std::size_t i = rank; i-- > 1;) {
        if (map.strides[i] > kMostElements / map.shape[i]) {
          return bad_input("the tensor map spans more than 2^40 elements").at(argument.place);
        }
        map.strides[i - 1] = map.strides[i] * map.shape[i];
      }
    }
    if (map.strides.back() != 1) {
      return bad_input("the innermost stride of a tensor map must be 1").at(argument.place);
    }
    std::int64_t last = 0;  // the index of the last element that the map can reach
    for (std::size_t i = 0; i < rank; ++i) {
      if (map.shape[i] > 1 && map.strides[i] > kMostElements / map.shape[i]) {
        return bad_input("the tensor map spans more than 2^40 elements").at(argument.place);
      }
      last += (map.shape[i] - 1) * map.strides[i];
    }
    if (last >= room) {
      return bad_input(fmt::format("the tensor map reaches element {} of {}, which has {}", last,
                                   argument.name, room))
          .at(argument.place);
    }
    for (std::int64_t& stride : map.strides) stride *= size;
    for (auto* extents : {&map.shape, &map.strides, &map.box, &map.element_strides}) {
      std::reverse(extents->begin(), extents->end());
    }
    const auto option = [&](const char* key) {
      const auto at = argument.map_options.find(key);
      return at == argument.map_options.end() ? std::string() : at->second;
    };
    map.swizzle = option("swizzle");
    map.interleave = option("interleave");
    map.l2_promotion = option("l2_promotion");
    map.fill = option("fill");
    return device::Argument{std::move(map)};
  }

  static std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
    std::int64_t elements = 1;  // within 2^40: parse_task() checked the workloads, and others are
    for (const std::int64_t extent : shape) {  // clamped so that a hostile shape cannot overflow
      if (extent > kMostElements / elements) return kMostElements;
      elements *= extent;
    }
    return elements;
  }

  const TaskSpec& task_;
  const LaunchSpec& launch_;
  Variables values_;
};

Variables merged(const Configuration& configuration, const Variables& dims) {
  Variables values = variables(configuration);
  for (const auto& [name, value] : dims) values[name] = value;
  return values;
}

bool runs_on(const LaunchKernel& kernel, const std::string& arch) {
  return kernel.arch.empty() ||
         std::any_of(kernel.arch.begin(), kernel.arch.end(),
                     [&](const std::string& prefix) { return arch.starts_with(prefix); });
}

/// At the last condition that could have admitted it.
Error nothing_launched(const LaunchSpec& launch, const std::string& where, const Variables& dims) {
  const LaunchKernel& last = launch.kernels.back();
  const auto place = last.when ? last.when->place() : std::nullopt;
  return bad_input(fmt::format("no [[kernel]] is launched {} at {}", where, describe(dims)))
      .at(place.value_or(last.place))
      .with_hint("one `when` and `arch` must admit this, or `requires` refuse it");
}

}  // namespace

Result<LaunchSpec> parse_launch(std::string_view text, const std::string& file,
                                const TaskSpec& task) {
  BURNISH_TRY_ASSIGN(TomlFields root, TomlFields::parse(text, file));
  BURNISH_TRY_ASSIGN(LaunchSpec launch, LaunchReader(std::move(root), file, task).read());
  const Configuration chosen = configuration(task, launch);
  // What a forbidden configuration comes to is nobody's concern; the judge says why it is
  // forbidden.
  if (!violated_constraint(task, chosen).empty()) return launch;
  for (const WorkloadSpec& workload : task.workloads) {
    const auto context = [&](Error error) {
      return std::move(error).in(fmt::format("working out the launches at workload \"{}\" ({})",
                                             workload.name, describe(workload.dims)));
    };
    Resolver resolver(task, launch, merged(chosen, workload.dims));
    auto admitted = resolver.admitted();
    if (!admitted) return context(admitted.error());
    if (*admitted == 0) continue;
    if (auto lets = resolver.work_out_lets(); !lets) return context(lets.error());
    if (auto scratch = resolver.scratch(); !scratch) return context(scratch.error());
    bool any = false;
    for (const LaunchKernel& kernel : launch.kernels) {
      auto wanted = resolver.wanted_anywhere(kernel);
      if (!wanted) return context(wanted.error());
      if (!*wanted) continue;
      any = true;
      if (auto resolved = resolver.launch(kernel); !resolved) return context(resolved.error());
    }
    if (!any) return context(nothing_launched(launch, "anywhere", workload.dims));
  }
  return launch;
}

Result<device::LaunchPlan> resolve(const TaskSpec& task, const LaunchSpec& launch,
                                   const Configuration& configuration, const Variables& dims,
                                   const std::string& arch) {
  Resolver resolver(task, launch, merged(configuration, dims));
  BURNISH_TRY_ASSIGN(const double admitted, resolver.admitted());
  if (admitted == 0) {
    return at_place(launch.requires_expression->place(),
                    refused(fmt::format("the candidate requires `{}`, which does not hold at {}",
                                        launch.requires_expression->text(), describe(dims))));
  }
  BURNISH_TRY(resolver.work_out_lets());
  device::LaunchPlan plan;
  BURNISH_TRY_ASSIGN(plan.scratch, resolver.scratch());
  for (const LaunchKernel& kernel : launch.kernels) {
    if (!runs_on(kernel, arch)) continue;
    BURNISH_TRY_ASSIGN(const double wanted, resolver.wanted(kernel, architecture(arch)));
    if (wanted == 0) continue;
    BURNISH_TRY_ASSIGN(device::KernelLaunch resolved, resolver.launch(kernel));
    plan.launches.push_back(std::move(resolved));
  }
  if (plan.launches.empty()) return nothing_launched(launch, "on " + arch, dims);
  return plan;
}

}  // namespace burnish::workspace
