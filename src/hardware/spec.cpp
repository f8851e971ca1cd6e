#include "hardware/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/data.h"
#include "base/text.h"
#include "base/toml.h"

namespace burnish::hardware {
namespace {

constexpr double kTolerance = 0.02;

bool excused(const SpecValue& value) { return contains(value.note, "erratum:"); }

bool agrees(double value, double expected) {
  return std::abs(value - expected) <= kTolerance * std::abs(expected);
}

/// Rates per clock are powers of two by the width of the units; Blackwell Ultra's FP4 is 1.5 of
/// one.
bool is_round_rate(double rate) {
  if (rate <= 0) return false;
  int exponent = 0;
  const double mantissa = std::frexp(rate, &exponent);
  return mantissa == 0.5 || mantissa == 0.75;
}

bool is_peak(std::string_view name) {
  return name.ends_with(".flops") || name.ends_with(".matrix_flops") ||
         name.ends_with(".matrix_ops");
}

bool is_matrix(std::string_view name) { return contains(name, ".matrix_"); }

/// The published peaks assume one clock for the matrix units and another for the rest on some
/// parts; FP64 matrix follows the rest (H100: 1830 and 1980 MHz).
const SpecValue* clock_of(const Spec& spec, std::string_view peak) {
  if (is_matrix(peak) && !peak.starts_with("fp64.")) {
    if (const SpecValue* clock = spec.find("clock.matrix")) return clock;
  }
  return spec.find("clock.max");
}

void check_peaks(const Spec& spec, std::vector<std::string>& out) {
  const SpecValue* units = spec.find("sm.count");
  for (const SpecValue& value : spec.values) {
    if (!is_peak(value.name) || value.unit == "text") continue;
    if (const SpecValue* sparse = spec.find(value.name + "_sparse");
        sparse && sparse->unit != "text" && !excused(*sparse)) {
      const double ratio = sparse->value / value.value;
      if (!agrees(ratio, 2) && !agrees(ratio, 4.0 / 3)) {
        out.push_back(fmt::format("{} is {:.2f} of {}: a sparse rate is 2 or 4/3 of the dense one",
                                  sparse->name, ratio, value.name));
      }
    }
    const SpecValue* rate = spec.find(value.name + "_per_clock");
    if (!rate) continue;
    if (!is_round_rate(rate->value)) {
      out.push_back(fmt::format("{} is {}: no power of two, and no 1.5 of one", rate->name,
                                number_text(rate->value)));
    }
    const SpecValue* clock = clock_of(spec, value.name);
    if (!units || !clock || excused(value)) continue;
    const double expected = units->value * rate->value * clock->value;
    if (!agrees(value.value, expected)) {
      out.push_back(fmt::format("{} is {}, but {} units × {} a clock × {} make {}", value.name,
                                with_prefix(value.value, value.unit), number_text(units->value),
                                number_text(rate->value), with_prefix(clock->value, "Hz"),
                                with_prefix(expected, value.unit)));
    }
  }
}

/// Within one card the dtypes stand in fixed proportions.
void check_ratios(const Spec& spec, std::vector<std::string>& out) {
  struct Ratio {
    const char* name;
    const char* base;
    double ratio;
  };
  static const Ratio kRatios[] = {
      {"bf16.matrix_flops", "fp16.matrix_flops", 1},
      {"tf32.matrix_flops", "bf16.matrix_flops", 0.5},
      {"fp8.matrix_flops", "bf16.matrix_flops", 2},
      {"int8.matrix_ops", "fp8.matrix_flops", 1},
      {"fp6.matrix_flops", "fp8.matrix_flops", 0},
      {"fp4.matrix_flops", "fp8.matrix_flops", 0},
  };
  for (const Ratio& ratio : kRatios) {
    const SpecValue* value = spec.find(ratio.name);
    const SpecValue* base = spec.find(ratio.base);
    if (!value || !base || value->unit == "text" || base->unit == "text" || excused(*value))
      continue;
    const double actual = value->value / base->value;
    const bool right = ratio.ratio > 0
                           ? agrees(actual, ratio.ratio)
                           : agrees(actual, 1) || agrees(actual, 2) || agrees(actual, 3);
    if (!right) {
      out.push_back(fmt::format("{} is {:.2f} of {}", ratio.name, actual, ratio.base));
    }
  }
}

void check_memory(const Spec& spec, std::vector<std::string>& out) {
  const auto bandwidth = spec.number("dram.bandwidth");
  const auto clock = spec.number("dram.clock");
  const auto width = spec.number("dram.bus_width");
  const auto transfers = spec.number("dram.transfers_per_clock");
  if (bandwidth && clock && width && transfers && !excused(*spec.find("dram.bandwidth"))) {
    const double expected = *clock * *transfers * *width / 8;
    if (!agrees(*bandwidth, expected)) {
      out.push_back(fmt::format("dram.bandwidth is {}, but clock × transfers × width make {}",
                                with_prefix(*bandwidth, "B/s"), with_prefix(expected, "B/s")));
    }
  }
  for (const SpecValue& value : spec.values) {
    if (value.name.ends_with(".ridge")) {
      const std::string peak =
          value.name.substr(0, value.name.size() - std::string(".ridge").size());
      const auto flops = spec.number(peak);
      if (!flops || !bandwidth || !agrees(value.value, *flops / *bandwidth)) {
        out.push_back(fmt::format("{} is not {} / dram.bandwidth", value.name, peak));
      }
    }
    // A memory hierarchy that measures faster than its bus is a wrong bus or a cache that was read.
    if (bandwidth && value.kind == "measured" && value.name.ends_with(".bandwidth") &&
        !value.name.starts_with("l2.") && !value.name.starts_with("llc.") &&
        !value.name.starts_with("shared.") && !excused(value) && value.value > *bandwidth) {
      out.push_back(fmt::format("{} is above dram.bandwidth", value.name));
    }
  }
  const auto of_block = spec.number("shared.bytes_per_block");
  const auto of_sm = spec.number("shared.bytes_per_sm");
  if (of_block && of_sm && *of_block > *of_sm) {
    out.push_back("shared.bytes_per_block is above shared.bytes_per_sm");
  }
}

void check_presence(const Spec& spec, std::vector<std::string>& out) {
  std::set<std::string> names;
  for (const SpecValue& value : spec.values) {
    if (!names.insert(value.name).second)
      out.push_back(fmt::format("{} is there twice", value.name));
    if (value.source.empty()) out.push_back(fmt::format("{} has no source", value.name));
    if (value.unit != "text" && !(std::isfinite(value.value) && value.value > 0)) {
      out.push_back(fmt::format("{} is not a positive number", value.name));
    }
  }
  if (spec.vendor == "generic") return;
  for (const char* name : {"sm.count", "dram.bandwidth", "shared.bytes_per_sm",
                           "shared.bytes_per_block", "registers.bytes_per_sm"}) {
    // The register file and shared memory of a multiprocessor decide occupancy on every GPU.
    if (!spec.find(name)) out.push_back(fmt::format("{} is missing", name));
  }
}

}  // namespace

const std::vector<std::string>& spec_kinds() {
  static const std::vector<std::string> kinds = {"datasheet", "queried", "measured",
                                                 "threshold", "derived", "transcribed"};
  return kinds;
}

const SpecValue* Spec::find(const std::string& value_name) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const SpecValue& value) { return value.name == value_name; });
  return found == values.end() ? nullptr : &*found;
}

std::optional<double> Spec::number(const std::string& value_name) const {
  const SpecValue* value = find(value_name);
  if (!value || value->unit == "text") return std::nullopt;
  return value->value;
}

Result<Spec> parse_spec(std::string_view text, const std::string& file, const Sources& sources) {
  BURNISH_TRY_ASSIGN(TomlFields fields, TomlFields::parse(text, file));
  Spec spec;
  spec.file = file;
  spec.id = fields.string("id");
  spec.name = fields.string("name");
  spec.aliases = fields.strings("aliases");
  spec.vendor = fields.one_of("vendor", {"nvidia", "amd", "generic"});
  spec.arch = fields.string("arch");
  spec.family = fields.string("family");
  for (TomlFields& entry : fields.tables("value")) {
    SpecValue value;
    value.name = entry.string("name");
    value.kind = entry.one_of("kind", spec_kinds());
    value.note = entry.string("note", "");
    value.line = entry.place().line;
    if (entry.has("text")) {
      value.text = entry.string("text");
      value.unit = "text";
    } else {
      value.value = entry.number("value");
      value.unit = entry.string("unit");
    }
    const std::string key = entry.string("source", value.kind == "derived" ? "derived" : "");
    const std::string section = entry.string("section", "");
    if (key == "derived") {
      value.source = value.note;
      if (value.note.empty())
        entry.fail("name", "a derived value says in `note` how it was derived");
    } else if (const Source* source = sources.find(key)) {
      value.source = source->text(section);
    } else {
      std::vector<std::string> known;
      for (const auto& [name, unused] : sources.all()) known.push_back(name);
      const auto near = nearest(key, known);
      entry.fail(entry.has("source") ? "source" : "name",
                 key.empty() ? "a value needs a source" : fmt::format("no source '{}'", key),
                 near ? fmt::format("did you mean '{}'?", *near)
                      : "sources are listed in data/knowledge/sources.toml");
    }
    spec.values.push_back(std::move(value));
  }
  BURNISH_TRY(fields.finish());
  return spec;
}

Result<std::vector<Spec>> load_specs() {
  BURNISH_TRY_ASSIGN(const Sources sources, Sources::load());
  BURNISH_TRY_ASSIGN(const std::vector<DataFile> files, data_files("knowledge/hardware/"));
  std::vector<Spec> specs;
  for (const DataFile& file : files) {
    BURNISH_TRY_ASSIGN(Spec spec, parse_spec(file.content, file.origin, sources));
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<std::string> check_physics(const Spec& spec) {
  std::vector<std::string> out;
  check_presence(spec, out);
  check_peaks(spec, out);
  check_ratios(spec, out);
  check_memory(spec, out);
  return out;
}

std::string value_text(const SpecValue& value) {
  if (value.unit == "text") return value.text;
  if (value.unit == "1") return number_text(value.value);
  if (value.unit == "B" && std::fmod(value.value, 1024) == 0) {
    return with_binary_prefix(static_cast<std::uint64_t>(value.value));
  }
  if (value.value < 1000 || value.unit == "bit")
    return fmt::format("{} {}", number_text(value.value), value.unit);
  return with_prefix(value.value, value.unit);
}

std::string to_text(const Spec& spec) {
  std::string out =
      fmt::format("{} ({}, {}, {})\n", spec.name, spec.vendor, spec.family, spec.arch);
  std::size_t width = 0;
  for (const SpecValue& value : spec.values) width = std::max(width, value.name.size());
  // Sources are long and few: the table numbers them, and they follow below it.
  std::vector<std::string> sources;
  for (const SpecValue& value : spec.values) {
    std::string cited;
    if (value.kind != "derived") {
      auto found = std::find(sources.begin(), sources.end(), value.source);
      if (found == sources.end()) found = sources.insert(sources.end(), value.source);
      cited = fmt::format("[{}]", found - sources.begin() + 1);
    }
    std::string line = fmt::format("  {:{}}  {:>13}  {:<11}  {:<4}  {}", value.name, width,
                                   value_text(value), value.kind, cited, value.note);
    out += std::string(line, 0, line.find_last_not_of(' ') + 1) + '\n';
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    out += fmt::format("[{}] {}\n", i + 1, sources[i]);
  }
  return out;
}

Result<Spec> find_spec(const std::string& gpu) {
  BURNISH_TRY_ASSIGN(std::vector<Spec> specs, load_specs());
  const std::string wanted = to_lower(trim(gpu));
  std::vector<std::string> names;
  std::vector<Spec*> found;
  for (Spec& spec : specs) {
    std::vector<std::string> own = spec.aliases;
    own.push_back(spec.id);
    own.push_back(spec.name);
    bool hit = false;
    for (const std::string& name : own) {
      hit = hit || to_lower(name) == wanted;
      names.push_back(name);
    }
    if (hit) found.push_back(&spec);
  }
  if (found.size() == 1) return std::move(*found.front());
  if (found.size() > 1) {
    std::vector<std::string> ids;
    for (const Spec* spec : found) ids.push_back(spec->id);
    return bad_input(fmt::format("'{}' names several hardware cards: {}", gpu, join(ids, ", ")))
        .with_hint("name one of them");
  }
  std::vector<std::string> near;
  for (const Spec& spec : specs) {
    const std::string id = to_lower(spec.id);
    if (!wanted.empty() && (contains(wanted, id) || contains(id, wanted))) near.push_back(spec.id);
  }
  if (near.empty()) {
    if (const auto slip = nearest(gpu, names)) near.push_back(*slip);
  }
  std::vector<std::string> ids;
  for (const Spec& spec : specs) ids.push_back(spec.id);
  return bad_input(fmt::format("'{}' is unknown: no hardware card has that name", gpu))
      .with_hint(near.empty()
                     ? "known: " + join(ids, ", ")
                     : fmt::format("near names: {}; they are other products", join(near, ", ")));
}

}  // namespace burnish::hardware
