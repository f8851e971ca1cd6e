#include "device/protocol.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace burnish::device {
namespace {

const std::string kFrom = "the worker's message";

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

std::map<std::string, std::string> texts(JsonFields& fields, const std::string& key) {
  std::map<std::string, std::string> result;
  const Json* object = fields.raw(key);
  if (object == nullptr) return result;
  if (!object->is_object()) {
    fields.fail(key, "expected an object of strings");
    return result;
  }
  for (const auto& [name, value] : object->items()) {
    if (!value.is_string()) {
      fields.fail(key, "expected an object of strings");
      return result;
    }
    result.emplace(name, value.get<std::string>());
  }
  return result;
}

std::vector<double> doubles(JsonFields& fields, const std::string& key) {
  std::vector<double> result;
  const Json* array = fields.raw(key);
  if (array == nullptr) return result;
  if (!array->is_array()) {
    fields.fail(key, "expected an array of numbers");
    return result;
  }
  for (const Json& value : *array) {
    if (!value.is_number()) {
      fields.fail(key, "expected an array of numbers");
      return {};
    }
    result.push_back(value.get<double>());
  }
  return result;
}

std::vector<std::int64_t> integers(JsonFields& fields, const std::string& key) {
  std::vector<std::int64_t> result;
  for (const double value : doubles(fields, key)) {
    result.push_back(static_cast<std::int64_t>(value));
  }
  return result;
}

std::array<std::int64_t, 3> triple(JsonFields& fields, const std::string& key) {
  const std::vector<std::int64_t> values = integers(fields, key);
  if (values.size() != 3) {
    fields.fail(key, "expected three numbers");
    return {1, 1, 1};
  }
  return {values[0], values[1], values[2]};
}

Json to_json(const Argument& argument) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Argument::Pointer>) {
          return {{"kind", "pointer"}, {"buffer", value.buffer}};
        } else if constexpr (std::is_same_v<T, Argument::Scalar>) {
          // As bits, since JSON has no infinities.
          return {{"kind", "scalar"},
                  {"dtype", to_string(value.dtype)},
                  {"bits", fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value.value))}};
        } else if constexpr (std::is_same_v<T, Argument::Local>) {
          return {{"kind", "local"}, {"bytes", value.bytes}};
        } else if constexpr (std::is_same_v<T, Argument::Bytes>) {
          return {{"kind", "bytes"}, {"hex", to_hex(value.bytes)}};
        } else {
          return {{"kind", "tensor_map"},
                  {"buffer", value.buffer},
                  {"dtype", to_string(value.dtype)},
                  {"shape", value.shape},
                  {"strides", value.strides},
                  {"box", value.box},
                  {"element_strides", value.element_strides},
                  {"swizzle", value.swizzle},
                  {"interleave", value.interleave},
                  {"l2_promotion", value.l2_promotion},
                  {"fill", value.fill}};
        }
      },
      argument.value);
}

DType dtype_from(JsonFields& fields) {
  const std::optional<DType> dtype = parse_dtype(fields.string("dtype"));
  if (!dtype) fields.fail("dtype", "expected an element type");
  return dtype.value_or(DType::f32);
}

Argument argument_from(JsonFields& fields) {
  const std::string kind =
      fields.one_of("kind", {"pointer", "scalar", "local", "bytes", "tensor_map"});
  if (kind == "pointer") return {Argument::Pointer{fields.string("buffer")}};
  if (kind == "scalar") {
    const std::optional<std::vector<std::byte>> bytes = from_hex(fields.string("bits"));
    std::uint64_t bits = 0;
    if (!bytes || bytes->size() != 8) {
      fields.fail("bits", "expected 16 hexadecimal digits");
    } else {
      for (const std::byte byte : *bytes) bits = bits << 8 | std::to_integer<std::uint64_t>(byte);
    }
    return {Argument::Scalar{dtype_from(fields), std::bit_cast<double>(bits)}};
  }
  if (kind == "local") {
    return {Argument::Local{static_cast<std::uint64_t>(fields.integer("bytes"))}};
  }
  if (kind == "bytes") {
    std::optional<std::vector<std::byte>> bytes = from_hex(fields.string("hex"));
    if (!bytes) fields.fail("hex", "expected hexadecimal digits");
    return {Argument::Bytes{std::move(bytes).value_or(std::vector<std::byte>{})}};
  }
  Argument::TensorMap map;
  map.buffer = fields.string("buffer");
  map.dtype = dtype_from(fields);
  map.shape = integers(fields, "shape");
  map.strides = integers(fields, "strides");
  map.box = integers(fields, "box");
  map.element_strides = integers(fields, "element_strides");
  map.swizzle = fields.string("swizzle");
  map.interleave = fields.string("interleave");
  map.l2_promotion = fields.string("l2_promotion");
  map.fill = fields.string("fill");
  return {std::move(map)};
}

template <class T>
Result<T> finished(JsonFields& fields, T value) {
  BURNISH_TRY(fields.finish());
  return value;
}

void put_u32(std::string& to, std::size_t value) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(value >> shift & 0xff);
}

std::uint32_t get_u32(std::string_view from) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(from[static_cast<std::size_t>(i)]);
  }
  return value;
}

}  // namespace

std::string encode_frame(std::string_view json, std::string_view attachment) {
  std::string frame;
  frame.reserve(kFrameHead + json.size() + attachment.size());
  put_u32(frame, json.size());
  put_u32(frame, attachment.size());
  frame += json;
  frame += attachment;
  return frame;
}

Result<FrameSizes> decode_frame_head(std::string_view head) {
  if (head.size() != kFrameHead) return bug("a message's head is not 8 bytes");
  const FrameSizes sizes{get_u32(head), get_u32(head.substr(4))};
  if (sizes.json > kLargestJson || sizes.attachment > kLargestAttachment) {
    return refused(fmt::format("a message claims {} and {} bytes: its writer is broken or hostile",
                               sizes.json, sizes.attachment));
  }
  return sizes;
}

Json to_json(const DeviceInfo& info) {
  return {{"id", info.id},
          {"name", info.name},
          {"backend", info.backend},
          {"vendor", info.vendor},
          {"arch", info.arch},
          {"platform", info.platform},
          {"driver", info.driver},
          {"memory", info.memory_bytes},
          {"shared", info.shared_bytes},
          {"cache", info.cache_bytes},
          {"compute_units", info.compute_units},
          {"largest_block", info.largest_block},
          {"timer_resolution", info.timer_resolution},
          {"queried", info.queried}};
}

Json to_json(const Source& source) {
  return {{"language", source.language}, {"file", source.file},     {"text", source.text},
          {"also", source.also},         {"macros", source.macros}, {"options", source.options}};
}

Json to_json(const LaunchPlan& plan) {
  Json launches = Json::array();
  for (const KernelLaunch& launch : plan.launches) {
    Json arguments = Json::array();
    for (const Argument& argument : launch.arguments) arguments.push_back(to_json(argument));
    launches.push_back({{"kernel", launch.kernel},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"cluster", launch.cluster},
                        {"shared", launch.shared_bytes},
                        {"arguments", std::move(arguments)}});
  }
  Json result = Json::object();
  result["launches"] = std::move(launches);
  return result;
}

Json to_json(const std::vector<Placement>& placements) {
  Json array = Json::array();
  for (const Placement& placement : placements) {
    array.push_back(
        {{"buffer", placement.buffer}, {"offset", placement.offset}, {"bytes", placement.bytes}});
  }
  Json result = Json::object();
  result["placements"] = std::move(array);
  return result;
}

Json to_json(const BuildOutcome& outcome) {
  Json diagnostics = Json::array();
  for (const Diagnostic& diagnostic : outcome.diagnostics) {
    diagnostics.push_back({{"file", diagnostic.place.file},
                           {"line", diagnostic.place.line},
                           {"column", diagnostic.place.column},
                           {"severity", diagnostic.severity},
                           {"message", diagnostic.message}});
  }
  return {{"built", outcome.built},
          {"reused", outcome.reused},
          {"log", outcome.log},
          {"diagnostics", std::move(diagnostics)},
          {"seconds", outcome.seconds}};
}

Json to_json(const Times& times) {
  return {{"device_seconds", times.device_seconds},
          {"launch_seconds", times.launch_seconds},
          {"compiled", times.compiled},
          {"timer", times.timer}};
}

Json to_json(const MetricSet& metrics) {
  Json array = Json::array();
  for (const auto& [name, metric] : metrics.all()) {
    array.push_back({{"name", name},
                     {"value", metric.value},
                     {"unit", metric.unit},
                     {"text", metric.text},
                     {"file", metric.where.file},
                     {"locator", metric.where.locator},
                     {"raw_name", metric.where.raw_name}});
  }
  Json result = Json::object();
  result["metrics"] = std::move(array);
  return result;
}

Result<DeviceInfo> device_info_from(const Json& json) {
  JsonFields fields(json, kFrom);
  DeviceInfo info;
  info.id = fields.string("id");
  info.name = fields.string("name");
  info.backend = fields.string("backend");
  info.vendor = fields.string("vendor");
  info.arch = fields.string("arch");
  info.platform = fields.string("platform");
  info.driver = fields.string("driver");
  info.memory_bytes = static_cast<std::uint64_t>(fields.integer("memory"));
  info.shared_bytes = static_cast<std::uint64_t>(fields.integer("shared"));
  info.cache_bytes = static_cast<std::uint64_t>(fields.integer("cache"));
  info.compute_units = static_cast<int>(fields.integer("compute_units"));
  info.largest_block = static_cast<int>(fields.integer("largest_block"));
  info.timer_resolution = fields.number("timer_resolution");
  info.queried = fields.numbers("queried");
  return finished(fields, std::move(info));
}

Result<Source> source_from(const Json& json) {
  JsonFields fields(json, kFrom);
  Source source;
  source.language = fields.string("language");
  source.file = fields.string("file");
  source.text = fields.string("text");
  source.also = texts(fields, "also");
  source.macros = texts(fields, "macros");
  source.options = fields.strings("options");
  return finished(fields, std::move(source));
}

Result<LaunchPlan> plan_from(const Json& json) {
  JsonFields fields(json, kFrom);
  LaunchPlan plan;
  for (JsonFields& item : fields.objects("launches")) {
    KernelLaunch launch;
    launch.kernel = item.string("kernel");
    launch.grid = triple(item, "grid");
    launch.block = triple(item, "block");
    launch.cluster = triple(item, "cluster");
    launch.shared_bytes = static_cast<std::uint64_t>(item.integer("shared"));
    for (JsonFields& argument : item.objects("arguments")) {
      launch.arguments.push_back(argument_from(argument));
    }
    plan.launches.push_back(std::move(launch));
  }
  return finished(fields, std::move(plan));
}

Result<std::vector<Placement>> placements_from(const Json& json) {
  JsonFields fields(json, kFrom);
  std::vector<Placement> placements;
  for (JsonFields& item : fields.objects("placements")) {
    Placement placement;
    placement.buffer = item.string("buffer");
    placement.offset = static_cast<std::uint64_t>(item.integer("offset"));
    placement.bytes = static_cast<std::uint64_t>(item.integer("bytes"));
    placements.push_back(std::move(placement));
  }
  return finished(fields, std::move(placements));
}

Result<BuildOutcome> outcome_from(const Json& json) {
  JsonFields fields(json, kFrom);
  BuildOutcome outcome;
  outcome.built = fields.boolean("built", false);
  outcome.reused = fields.boolean("reused", false);
  outcome.log = fields.string("log");
  for (JsonFields& item : fields.objects("diagnostics")) {
    Diagnostic diagnostic;
    diagnostic.place.file = item.string("file");
    diagnostic.place.line = static_cast<int>(item.integer("line"));
    diagnostic.place.column = static_cast<int>(item.integer("column"));
    diagnostic.severity = item.string("severity");
    diagnostic.message = item.string("message");
    outcome.diagnostics.push_back(std::move(diagnostic));
  }
  outcome.seconds = fields.number("seconds");
  return finished(fields, std::move(outcome));
}

Result<Times> times_from(const Json& json) {
  JsonFields fields(json, kFrom);
  Times times;
  times.device_seconds = fields.number("device_seconds");
  times.launch_seconds = doubles(fields, "launch_seconds");
  times.compiled = fields.boolean("compiled", false);
  times.timer = fields.string("timer");
  BURNISH_TRY(fields.finish());
  const auto plausible = [](double seconds) { return std::isfinite(seconds) && seconds >= 0; };
  if (!plausible(times.device_seconds)) {
    return refused(fmt::format("the worker reports {} s on the device", times.device_seconds));
  }
  for (const double seconds : times.launch_seconds) {
    if (!plausible(seconds))
      return refused(fmt::format("the worker reports {} s a launch", seconds));
  }
  return times;
}

Result<MetricSet> metrics_from(const Json& json) {
  JsonFields fields(json, kFrom);
  MetricSet metrics;
  for (JsonFields& item : fields.objects("metrics")) {
    Metric metric;
    metric.name = item.string("name");
    metric.value = item.number("value");
    metric.unit = item.string("unit");
    metric.text = item.string("text", "");
    metric.where.file = item.string("file", "");
    metric.where.locator = item.string("locator", "");
    metric.where.raw_name = item.string("raw_name", "");
    metrics.add(std::move(metric));
  }
  return finished(fields, std::move(metrics));
}

Error error_from(const Json& json) {
  JsonFields fields(json, kFrom);
  const std::vector<ErrorKind> kinds = {ErrorKind::refused,     ErrorKind::bad_input,
                                        ErrorKind::environment, ErrorKind::bug,
                                        ErrorKind::timeout,     ErrorKind::interrupted};
  const std::string kind = fields.string("kind");
  Error error;
  error.message = fields.string("message");
  for (const ErrorKind candidate : kinds) {
    if (kind == to_string(candidate)) error.kind = candidate;
  }
  if (fields.has("file")) {
    error.place = Place{fields.string("file"), static_cast<int>(fields.integer("line", 0)),
                        static_cast<int>(fields.integer("column", 0))};
  }
  error.hint = fields.string("hint", "");
  error.context = fields.strings("context");
  if (const Result<void> result = fields.finish(); !result) return result.error();
  return error;
}

}  // namespace burnish::device
