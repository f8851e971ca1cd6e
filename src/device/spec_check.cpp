#include "device/spec_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace burnish::device {
namespace {

using hardware::Ceiling;

/// Cards' names of rates, and burnish's own kernels that reach for them.
constexpr std::array<std::pair<const char*, const char*>, 11> kPeaks = {{
    {"fp64.flops", "fma f64"},
    {"fp32_packed.flops", "fma f32"},
    {"fp32.flops", "fma f32"},
    {"fp16.flops", "fma f16"},
    {"fp64.matrix_flops", "tensor f64"},
    {"fp32.matrix_flops", "tensor f32"},
    {"tf32.matrix_flops", "tensor tf32"},
    {"fp16.matrix_flops", "tensor f16"},
    {"bf16.matrix_flops", "tensor bf16"},
    {"fp8.matrix_flops", "tensor fp8"},
    {"int8.matrix_ops", "tensor i8"},
}};

/// The largest buffer's copy, which no cache holds.
const Ceiling* memory_copy(const std::vector<Ceiling>& ceilings) {
  const Ceiling* largest = nullptr;
  for (const Ceiling& ceiling : ceilings) {
    // Sizes are measured in ascending order.
    if (ceiling.unit == "B/s" && !contains(ceiling.name, "cold")) largest = &ceiling;
  }
  return largest;
}

const Ceiling* reached(const std::string& name, const std::vector<Ceiling>& ceilings) {
  if (name == "dram.bandwidth" || name == "copy.bandwidth") return memory_copy(ceilings);
  for (const auto& [card, kernel] : kPeaks) {
    if (name != card) continue;
    for (const Ceiling& ceiling : ceilings) {
      if (ceiling.name == kernel) return &ceiling;
    }
  }
  return nullptr;
}

void judge_queried(SpecCheck& check) {
  const std::string& name = check.card->name;
  const bool is_near = contains(name, "clock") || name == "dram.bytes_visible";
  const double ratio = *check.found / check.card->value;
  check.agrees = std::abs(ratio - 1) <= (is_near ? 0.01 : 1e-9);
  if (!*check.agrees) check.why = fmt::format("{:.4g} times the card's value", ratio);
}

void judge_measured(SpecCheck& check) {
  const double share = *check.found / check.card->value;
  if (check.card->kind == "measured") {
    check.agrees = std::abs(share - 1) <= 0.1;
    check.why = fmt::format("{:.1f} % of what was measured for the card", 100 * share);
    return;
  }
  check.agrees = share <= 1.03 && share >= 0.5;
  check.why = fmt::format("{:.1f} % of the peak", 100 * share);
  if (share > 1.03) check.why += ", which therefore is none";
  if (share < 0.5) check.why += ": the card is wrong, or this kernel is slow here";
}

}  // namespace

std::vector<SpecCheck> check_spec(const hardware::Spec& spec, const DeviceInfo& info,
                                  const std::vector<Ceiling>& ceilings) {
  // burnish's kernel uses packed instructions where there are any.
  const bool has_packed = std::any_of(
      spec.values.begin(), spec.values.end(),
      [](const hardware::SpecValue& value) { return value.name == "fp32_packed.flops"; });
  std::vector<SpecCheck> checks;
  for (const hardware::SpecValue& value : spec.values) {
    SpecCheck check;
    check.card = &value;
    if (value.unit != "text" && value.value > 0) {
      if (const auto queried = info.queried.find(value.name); queried != info.queried.end()) {
        check.found = queried->second;
        check.how = "the driver";
        judge_queried(check);
      } else if (value.name == "fp32.flops" && has_packed) {
        // Not measured: a card that tells both rates tells that of plain instructions here.
      } else if (const Ceiling* ceiling = reached(value.name, ceilings)) {
        check.found = ceiling->value;
        check.how = fmt::format("{}: {}", ceiling->name, ceiling->source);
        judge_measured(check);
      }
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

Result<hardware::Spec> spec_of(const DeviceInfo& info) {
  return hardware::find_spec(info.vendor == "cpu" ? "opencl-cpu" : info.name);
}

}  // namespace burnish::device
