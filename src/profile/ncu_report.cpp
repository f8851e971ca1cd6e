#include "profile/ncu_report.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "profile/cubin_lines.h"
#include "profile/ncu_container.h"
#include "profile/nvidia_model.h"
#include "profile/nvidia_units.h"
#include "profile/wire.h"

namespace burnish::profile::nvidia {
namespace {

constexpr std::string_view kMagic{"NVR\0", 4};
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
// What a model of one artefact may take up, whatever the artefact says.
constexpr std::uint64_t kLargestUnpacked = std::uint64_t{2} << 30;
constexpr std::size_t kInstanceBudget = 8'000'000;  // values, 16 bytes each
constexpr std::size_t kCodeBudget = std::size_t{256} << 20;
/// Further from the kernel's first instruction than any kernel is long.
constexpr std::uint64_t kLongestKernel = std::uint64_t{64} << 20;

/// ProfileMetricValue: at most one of these is there.
struct Value {
  enum class Kind { none, number, whole, text } kind = Kind::none;
  double number = 0;
  std::uint64_t whole = 0;
  std::string_view text;

  bool is_number() const { return kind == Kind::number || kind == Kind::whole; }
};

bool read_value(std::string_view message, Value& value, const char*& failed) {
  WireReader at(message);
  while (at.next()) {
    if (at.is_message(1)) {
      value.kind = Value::Kind::text;
      value.text = at.bytes();
    } else if ((at.field() == 2 && at.wire() == 5) || (at.field() == 3 && at.wire() == 1)) {
      value.kind = Value::Kind::number;
      value.number = at.real();
    } else if (at.is_number(4) || at.is_number(5)) {
      value.kind = Value::Kind::whole;
      value.whole = at.number();
      value.number = static_cast<double>(at.number());
    }
  }
  if (!at.ok()) failed = at.position();
  return at.ok();
}

/// Which fields of a result hold what; the numbers differ by kind of result.
struct Layout {
  std::uint32_t metrics, rules, name, references, driver;
};

Layout layout_of(Container::Kind kind) {
  switch (kind) {
    case Container::Kind::kernel:
      return {13, 19, 0, 15, 35};
    case Container::Kind::range:
      return {4, 20, 0, 15, 21};
    case Container::Kind::command_list:
      return {4, 21, 18, 17, 25};
    case Container::Kind::graph:
      return {4, 22, 0, 17, 23};
  }
  return {};
}

const char* default_name(Container::Kind kind) {
  switch (kind) {
    case Container::Kind::kernel:
      return "kernel";
    case Container::Kind::range:
      return "range";
    case Container::Kind::command_list:
      return "command list";
    case Container::Kind::graph:
      return "graph";
  }
  return "";
}

std::optional<std::array<std::int64_t, 3>> read_dimensions(std::string_view message) {
  std::array<std::int64_t, 3> result{};
  WireReader at(message);
  while (at.next()) {
    if (at.wire() != 0 || at.field() < 1 || at.field() > 3) continue;
    if (at.number() > (std::uint64_t{1} << 62)) return std::nullopt;
    result[at.field() - 1] = static_cast<std::int64_t>(at.number());
  }
  return at.ok() ? std::optional(result) : std::nullopt;
}

/// "f<(int)32>" → "f<32>", as ncu prints names; other artefacts of the same run have it so.
std::string without_casts(std::string name) {
  static constexpr std::array<std::string_view, 12> kTypes = {
      "(int)",       "(unsigned int)", "(long)",           "(unsigned long)",
      "(long long)", "(short)",        "(unsigned short)", "(unsigned long long)",
      "(bool)",      "(char)",         "(signed char)",    "(unsigned char)"};
  for (const std::string_view type : kTypes) {
    for (std::size_t at = name.find(type); at != std::string::npos; at = name.find(type, at)) {
      const char before = at > 0 ? name[at - 1] : '\0';
      const char after = at + type.size() < name.size() ? name[at + type.size()] : '\0';
      if ((before == '<' || before == ' ' || before == ',') &&
          ((after >= '0' && after <= '9') || after == '-')) {
        name.erase(at, type.size());
      } else {
        at += type.size();
      }
    }
  }
  return name;
}

/// SourceData: the code object of some kernels.
struct Source {
  std::uint64_t reference = 0;
  std::string_view binary;
};

Source read_source(std::string_view message) {
  Source source;
  WireReader at(message);
  while (at.next()) {
    if (at.is_number(1)) source.reference = at.number();
    if (at.is_message(4)) source.binary = at.bytes();
  }
  return source;
}

class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& file, const std::string& hash)
      : bytes_(bytes), file_(file), hash_(hash) {}

  Result<Reading> run() {
    BURNISH_TRY_ASSIGN(container_, open_container(bytes_, file_));
    reading_.warnings = std::move(container_.warnings);
    units_.resize(container_.strings.size());
    names_.resize(container_.strings.size());
    read_code();
    for (std::size_t i = 0; i < container_.results.size(); ++i) BURNISH_TRY(result(i));
    reading_.session = std::move(container_.session);
    if (raw_dropped_from_ >= 0) {
      reading_.warnings.push_back(fmt::format(
          "{}: from launch {} on, of the raw metrics only those that normalised ones need are kept",
          file_, raw_dropped_from_));
    }
    if (instances_dropped_) {
      reading_.warnings.push_back(
          fmt::format("{}: per-instruction values of later launches are left out", file_));
    }
    reading_.artefacts.push_back(
        {fs::path(file_), "ncu-rep", "Nsight Compute", container_.tool_version, hash_});
    return std::move(reading_);
  }

 private:
  void read_code() {
    std::size_t total = 0;
    for (std::size_t i = 0; i < container_.sources.size(); ++i) {
      const Source source = read_source(container_.sources[i]);
      if (source.binary.empty()) continue;
      cubins_.emplace(source.reference, source.binary);
      total += source.binary.size();
      if (total > kCodeBudget) {
        reading_.warnings.push_back(
            fmt::format("{}: code objects from the {}th on are left out", file_, i + 1));
        break;
      }
      reading_.code.push_back({fmt::format("source {}", i), std::string(source.binary)});
    }
  }

  Result<void> result(std::size_t index) {
    const Container::Entry& entry = container_.results[index];
    const Layout layout = layout_of(entry.kind);
    RawKernel raw;
    KernelProfile& kernel = raw.profile;
    kernel.id = std::to_string(index);
    kernel_base_.reset();
    pending_.clear();
    if (raw_kept_ > kRawMetricBudget && raw_dropped_from_ < 0) {
      raw_dropped_from_ = static_cast<std::int64_t>(index);
    }

    std::string function, display;
    std::uint64_t reference = 0;
    std::size_t metric_index = 0;
    WireReader at(entry.bytes);
    while (at.next()) {
      if (at.is_message(layout.metrics)) {
        BURNISH_TRY(metric(at.bytes(), index, metric_index++, raw));
      } else if (at.is_message(layout.rules)) {
        rule(at.bytes(), kernel);
      } else if (entry.kind == Container::Kind::kernel) {
        if (at.is_message(5)) kernel.symbol = to_valid_utf8(at.bytes());
        if (at.is_message(6)) function = to_valid_utf8(at.bytes());
        if (at.is_message(7)) display = without_casts(to_valid_utf8(at.bytes()));
        if (at.is_message(10)) kernel.launch.grid = read_dimensions(at.bytes());
        if (at.is_message(11)) kernel.launch.block = read_dimensions(at.bytes());
        if (at.is_message(15)) reference = read_source(at.bytes()).reference;
      } else if (layout.name != 0 && at.is_message(layout.name)) {
        display = to_valid_utf8(at.bytes());
      }
      if (at.field() == layout.driver && at.wire() == 5 && at.real() > 0) {
        container_.session.emplace("driver", fmt::format("{:.7g}", at.real()));
      }
    }
    if (!at.ok()) {
      return broken(file_, bytes_, at.position(), fmt::format("result {} is broken", index));
    }
    kernel.name = !display.empty()         ? display
                  : !function.empty()      ? function
                  : !kernel.symbol.empty() ? kernel.symbol
                                           : default_name(entry.kind);
    if (container_.session.count("process") == 0 && !entry.process.empty()) {
      container_.session.emplace("process", entry.process);
    }
    add_instances(kernel);
    if (!kernel.instances.empty()) add_lines(kernel, reference);
    BURNISH_TRY_ASSIGN(KernelProfile finished, finish(std::move(raw), container_.tool_version));
    reading_.kernels.push_back(std::move(finished));
    return {};
  }

  /// ProfileMetricResult: name, the value over the launch, values by instance.
  Result<void> metric(std::string_view message, std::size_t result_index, std::size_t metric_index,
                      RawKernel& raw) {
    std::uint64_t name_id = 0;
    Value value;
    std::size_t instances = 0;
    const char* failed = nullptr;
    WireReader at(message);
    while (at.next()) {
      if (at.is_number(1)) {
        name_id = at.number();
      } else if (at.is_message(2)) {
        if (!read_value(at.bytes(), value, failed)) break;
      } else if (at.is_message(3)) {
        ++instances;
      }
    }
    if (!at.ok() || failed != nullptr) {
      return broken(file_, bytes_, failed != nullptr ? failed : at.position(),
                    fmt::format("metric {} of result {} is broken", metric_index, result_index));
    }
    if (name_id >= container_.strings.size()) {
      return broken(file_, bytes_, message.data(),
                    fmt::format("metric {} of result {} has name {} of {}", metric_index,
                                result_index, name_id, container_.strings.size()));
    }
    const std::string_view name = container_.strings[static_cast<std::size_t>(name_id)];
    if (instances > 0) {
      if (name == "launch__function_pcs") {
        find_base(message);
      } else if (holds_instructions(name)) {
        pending_.push_back({name, message, instances});
      } else if (name.substr(0, 30) == "sass__inst_executed_per_opcode" ||
                 name == "sass__thread_inst_executed_per_opcode_category") {
        add_by_name(name, message, raw.profile);
      }
    }
    if (raw_dropped_from_ >= 0) {
      BURNISH_TRY_ASSIGN(const bool wanted, is_wanted(name));
      if (!wanted) return {};
    }
    std::string& valid_name = names_[static_cast<std::size_t>(name_id)];
    if (valid_name.empty()) valid_name = to_valid_utf8(name);
    if (value.kind == Value::Kind::none) {
      if (instances == 0) raw.unavailable.emplace(valid_name, "without a value");
      return {};
    }
    if (value.is_number() && !std::isfinite(value.number)) {
      raw.unavailable.emplace(valid_name, "not a number");
      return {};
    }
    ++raw_kept_;
    Metric metric;
    metric.name = valid_name;
    if (value.kind == Value::Kind::text) {
      metric.unit = "text";
      metric.text = to_valid_utf8(value.text);
      if (metric.text == "n/a" || metric.text == "no data") {
        raw.unavailable.emplace(metric.name, metric.text);
        return {};
      }
    } else {
      const Unit& unit = unit_of(static_cast<std::size_t>(name_id), name);
      metric.value = value.number * unit.factor;
      metric.unit = unit.name;
    }
    metric.where.file = file_;
    metric.where.hash = hash_;
    metric.where.locator.reserve(40);
    fmt::format_to(std::back_inserter(metric.where.locator), "result {}, metric {}", result_index,
                   metric_index);
    metric.where.raw_name = metric.name;
    raw.profile.metrics.add(std::move(metric));
    return {};
  }

  const Unit& unit_of(std::size_t id, std::string_view name) {
    auto& unit = units_[id];
    if (!unit) unit = unit_of_metric(name);
    return *unit;
  }

  /// Metrics whose instances are instructions.
  static bool holds_instructions(std::string_view name) {
    if (name == "inst_executed" || name == "thread_inst_executed" ||
        name == "thread_inst_executed_true" || name == "smsp__branch_targets_threads_divergent" ||
        name == "smsp__pcsamp_sample_count") {
      return true;
    }
    if (name == "memory_access_type") return true;
    if (name.substr(0, 17) == "memory_l1_tag_req") return true;
    if (name.substr(0, 10) == "memory_l1_" || name.substr(0, 10) == "memory_l2_") return true;
    if (name.substr(0, 34) == "sass__inst_executed_register_spill") return true;
    return name.substr(0, 32) == "smsp__pcsamp_warps_issue_stalled" &&
           !contains(name, "_not_issued");
  }

  /// The address of the kernel's first instruction.
  void find_base(std::string_view message) {
    WireReader at(message);
    while (at.next()) {
      if (!at.is_message(3)) continue;
      const auto [key, value] = element(at.bytes());
      if (value.kind != Value::Kind::none) {
        const auto address = value.kind == Value::Kind::whole
                                 ? value.whole
                                 : static_cast<std::uint64_t>(std::clamp(value.number, 0.0, 9e18));
        if (!kernel_base_) kernel_base_ = address;
      }
      return;
    }
  }

  /// ProfileMetricListElement.
  static std::pair<Value, Value> element(std::string_view message) {
    std::pair<Value, Value> result;
    const char* failed = nullptr;
    WireReader at(message);
    while (at.next()) {
      if (at.is_message(1)) read_value(at.bytes(), result.first, failed);
      if (at.is_message(2)) read_value(at.bytes(), result.second, failed);
    }
    return result;
  }

  void add_by_name(std::string_view name, std::string_view message, KernelProfile& kernel) {
    InstanceValues values;
    values.metric = name;
    WireReader at(message);
    while (at.next()) {
      if (!at.is_message(3)) continue;
      const auto [key, value] = element(at.bytes());
      if (key.kind != Value::Kind::text || !value.is_number()) continue;
      if (instances_kept_ >= kInstanceBudget) {
        instances_dropped_ = true;
        return;
      }
      ++instances_kept_;
      values.by_name.emplace_back(to_valid_utf8(key.text), value.number);
    }
    if (!values.by_name.empty()) kernel.instances.push_back(std::move(values));
  }

  /// The base is known only when all metrics have been seen.
  void add_instances(KernelProfile& kernel) {
    if (!kernel_base_) return;
    for (const Pending& pending : pending_) {
      if (instances_kept_ + pending.count > kInstanceBudget) {
        instances_dropped_ = true;
        return;
      }
      InstanceValues values;
      values.metric = pending.name;
      values.by_address.reserve(pending.count);
      bool any = false;
      WireReader at(pending.message);
      while (at.next()) {
        if (!at.is_message(3)) continue;
        const auto [key, value] = element(at.bytes());
        if (key.kind != Value::Kind::whole || !value.is_number()) continue;
        if (key.whole < *kernel_base_ || key.whole - *kernel_base_ > kLongestKernel) continue;
        any = any || value.number != 0;
        values.by_address.emplace_back(key.whole - *kernel_base_, value.number);
      }
      // The total says that it is zero everywhere; the list would only take room.
      if (!any) continue;
      instances_kept_ += values.by_address.size();
      std::sort(values.by_address.begin(), values.by_address.end());
      kernel.instances.push_back(std::move(values));
    }
  }

  void add_lines(KernelProfile& kernel, std::uint64_t reference) {
    const auto cubin = cubins_.find(reference);
    if (cubin == cubins_.end()) return;
    auto& lines = lines_[reference];
    if (!lines) {
      lines = std::make_unique<std::map<std::string, std::vector<CodeLine>, std::less<>>>(
          read_cubin_lines(cubin->second));
    }
    const auto found = lines->find(kernel.symbol);
    if (found != lines->end()) kernel.lines = found->second;
  }

  /// RuleResult. What cannot be understood of a rule is left out; rules are the vendor's opinion.
  void rule(std::string_view message, KernelProfile& kernel) {
    std::string id;
    bool any = false;
    WireReader at(message);
    while (at.next()) {
      if (at.is_message(1)) id = to_valid_utf8(at.bytes());
      if (!at.is_message(3)) continue;
      WireReader body(at.bytes());
      while (body.next()) {
        if (!body.is_message(1)) continue;
        VendorRule rule;
        rule.id = id;
        if (!rule_item(body.bytes(), rule)) continue;
        kernel.vendor_rules.push_back(std::move(rule));
        any = true;
      }
    }
    if (!any && !id.empty()) kernel.vendor_rules.push_back({id, "ok", "", std::nullopt, false});
  }

  bool rule_item(std::string_view message, VendorRule& rule) const {
    bool any = false;
    WireReader at(message);
    while (at.next()) {
      if (at.is_message(1)) {
        any = true;
        WireReader text(at.bytes());
        while (text.next()) {
          if (text.is_message(1)) rule.message = without_markup(to_valid_utf8(text.bytes()));
          if (text.is_number(2)) rule.kind = message_kind(text.number());
        }
      } else if (at.is_message(10)) {
        WireReader speedup(at.bytes());
        while (speedup.next()) {
          if (speedup.is_number(1)) rule.speedup_global = speedup.number() == 2;
          if (speedup.field() == 2 && speedup.wire() == 1) rule.speedup_pct = speedup.real();
        }
      }
    }
    return any;
  }

  /// RuleResultMessageType. Before 2022.4 there was no type for advice; it came as a warning.
  std::string message_kind(std::uint64_t type) const {
    switch (type) {
      case 2: {
        const auto parts = split(container_.tool_version, '.');
        const auto year = parse_integer(parts[0]).value_or(9999);
        const auto release = parts.size() > 1 ? parse_integer(parts[1]).value_or(0) : 0;
        return year < 2022 || (year == 2022 && release < 4) ? "optimization" : "warning";
      }
      case 3:
        return "error";
      case 4:
        return "optimization";
      default:
        return "info";
    }
  }

  struct Pending {
    std::string_view name;
    std::string_view message;
    std::size_t count;
  };

  std::string_view bytes_;
  const std::string& file_;
  const std::string& hash_;
  Container container_;
  Reading reading_;
  std::vector<std::optional<Unit>> units_;  ///< by name id
  std::vector<std::string> names_;          ///< by name id, valid UTF-8, empty until needed
  std::unordered_map<std::uint64_t, std::string_view> cubins_;
  std::map<std::uint64_t,
           std::unique_ptr<std::map<std::string, std::vector<CodeLine>, std::less<>>>>
      lines_;
  std::optional<std::uint64_t> kernel_base_;
  std::vector<Pending> pending_;
  std::size_t raw_kept_ = 0;
  std::size_t instances_kept_ = 0;
  bool instances_dropped_ = false;
  std::int64_t raw_dropped_from_ = -1;
};

/// A zstd frame whose content starts as a report does.
Result<std::string> unpack(std::string_view bytes, const std::string& file) {
  const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                             ZSTD_freeDStream);
  if (!stream) return bug("no memory for a zstd stream");
  const auto at = [&](std::size_t position) {
    return fmt::format("at byte {} of {}", position, bytes.size());
  };
  std::string result;
  std::string chunk(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  std::size_t wanted = 1;
  while (input.pos < input.size) {
    ZSTD_outBuffer output{chunk.data(), chunk.size(), 0};
    wanted = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(wanted) != 0) {
      return bad_input(fmt::format("the compressed report cannot be unpacked: {} {}",
                                   ZSTD_getErrorName(wanted), at(input.pos)))
          .at({file});
    }
    result.append(chunk.data(), output.pos);
    if (result.size() >= kMagic.size() && result.substr(0, kMagic.size()) != kMagic) {
      return bad_input("a zstd file, but not a compressed Nsight Compute report").at({file});
    }
    if (result.size() > kLargestUnpacked) {
      return bad_input("the compressed report unpacks to more than 2 GiB").at({file});
    }
  }
  if (wanted != 0 || result.size() < kMagic.size()) {
    return bad_input("the compressed report is cut off " + at(bytes.size())).at({file});
  }
  return result;
}

}  // namespace

bool is_report(std::string_view bytes) {
  return bytes.substr(0, kMagic.size()) == kMagic || bytes.substr(0, 4) == kZstdMagic;
}

Result<Reading> read_report(std::string_view bytes, const fs::path& name) {
  const std::string file = name.string();
  const std::string hash = content_hash(bytes);
  if (bytes.substr(0, 4) == kZstdMagic) {
    BURNISH_TRY_ASSIGN(const std::string unpacked, unpack(bytes, file));
    return Decoder(unpacked, file, hash).run();
  }
  return Decoder(bytes, file, hash).run();
}

}  // namespace burnish::profile::nvidia
