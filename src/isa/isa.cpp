#include "isa/isa.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "isa/amd.h"
#include "isa/nvidia.h"
#include "isa/x86.h"

namespace burnish::isa {
namespace {

/// The family that reads some bytes. Host executables can hold device code, so the devices' readers
/// are asked before the one for host code.
struct Family {
  const char* vendor;
  bool (*recognises)(std::string_view);
  Result<Reading> (*read)(const fs::path&, std::string_view, ProcessRunner&);
};
constexpr std::array<Family, 3> kFamilies{{
    {"nvidia", nvidia::recognises, nvidia::read},
    {"amd", amd::recognises, amd::read},
    {"cpu", x86::recognises, x86::read},
}};

constexpr std::array<int, 6> kGpuWidths{8, 16, 32, 64, 96, 128};
constexpr std::array<int, 7> kCpuWidths{8, 16, 32, 64, 128, 256, 512};

/// Widths' keys and the metrics that they become.
struct WidthName {
  const char* key;
  const char* metric;
};
constexpr std::array<WidthName, 4> kWidthNames{{
    {"global_load", "global_load"},
    {"global_store", "global_store"},
    {"shared_load", "lds_load"},
    {"shared_store", "lds_store"},
}};

class Collector {
 public:
  explicit Collector(const Kernel& kernel) : kernel_(kernel) {
    where_ = kernel.where;
    if (where_.locator.empty()) where_.locator = "kernel " + kernel.name;
  }

  void collect() {
    resources();
    if (kernel_.instructions.empty()) return;
    count("isa.instructions", static_cast<std::int64_t>(kernel_.instructions.size()));
    count("isa.loops", static_cast<std::int64_t>(kernel_.loops.size()));
    classes_and_widths("isa.", kernel_.classes, kernel_.widths);
    for (const auto& [kind, number] : kernel_.cross_lane) count("isa.cross_lane." + kind, number);
    for (const auto& [shape, number] : kernel_.matrix_shapes) {
      std::string name = shape;
      std::replace(name.begin(), name.end(), ' ', '_');
      count("isa.matrix." + name, number);
    }
    const std::string kernel_place = where_.locator;
    const int hot = hot_loop(kernel_);
    if (hot >= 0) {
      const Loop& loop = kernel_.loops[static_cast<std::size_t>(hot)];
      where_.locator += ", " + loop_place(loop);
      count("isa.loop.instructions", loop.instructions);
      count("isa.loop.depth", loop.depth);
      classes_and_widths("isa.loop.", loop.classes, loop.widths);
      for (const auto& [name, value] : loop.extra) add("isa.loop." + name, value, "1");
    }
    const std::string hot_place = std::exchange(where_.locator, kernel_place);
    for (const auto& [name, value] : kernel_.extra) {
      where_.locator = name.starts_with("isa.loop.") ? hot_place : kernel_place;
      add(name, value, "1");
    }
  }

  MetricSet take() { return std::move(metrics_); }

 private:
  void add(const std::string& name, double value, const char* unit) {
    Metric metric;
    metric.name = name;
    metric.value = value;
    metric.unit = unit;
    metric.where = where_;
    metrics_.add(std::move(metric));
  }
  void count(const std::string& name, std::int64_t value) {
    add(name, static_cast<double>(value), "1");
  }
  void optional(const char* name, const std::optional<std::int64_t>& value, const char* unit) {
    if (value) add(name, static_cast<double>(*value), unit);
  }

  void resources() {
    optional("registers.used", kernel_.registers_used, "1");
    optional("registers.allocated", kernel_.registers_allocated, "1");
    optional("registers.accum", kernel_.registers_accum, "1");
    optional("registers.scalar", kernel_.registers_scalar, "1");
    optional("shared.static_bytes", kernel_.shared_bytes, "B");
    optional("scratch.bytes", kernel_.scratch_bytes, "B");
    if (kernel_.spill_loads || kernel_.spill_stores) {
      count("spill.instructions",
            kernel_.spill_loads.value_or(0) + kernel_.spill_stores.value_or(0));
    }
    optional("spill.bytes", kernel_.spill_bytes, "B");
    optional("isa.workgroup_limit", kernel_.workgroup_limit, "1");
  }

  void classes_and_widths(const std::string& prefix, const Counts& classes, const Widths& widths) {
    for (const auto& [name, number] : classes) count(prefix + name, number);
    const bool cpu = kernel_.arch.starts_with("x86");
    const std::span<const int> usual = cpu ? std::span<const int>(kCpuWidths) : kGpuWidths;
    for (const auto& [key, metric] : kWidthNames) {
      if (cpu && std::string_view(key).starts_with("shared")) continue;
      std::map<int, std::int64_t> histogram;
      for (const int bits : usual) histogram[bits] = 0;
      const auto found = widths.find(key);
      std::int64_t accesses = 0;
      double bits_moved = 0;
      if (found != widths.end()) {
        for (const auto& [bits, number] : found->second) {
          histogram[bits] = number;
          accesses += number;
          bits_moved += static_cast<double>(bits) * static_cast<double>(number);
        }
      }
      for (const auto& [bits, number] : histogram) {
        count(fmt::format("{}{}_bits.{}", prefix, metric, bits), number);
      }
      if (accesses > 0) {
        add(fmt::format("{}{}_mean_bits", prefix, metric),
            bits_moved / static_cast<double>(accesses), "1");
      }
    }
  }

  std::string loop_place(const Loop& loop) const {
    const BasicBlock& header = kernel_.blocks[static_cast<std::size_t>(loop.blocks.front())];
    const Instruction& first = kernel_.instructions[static_cast<std::size_t>(header.first)];
    std::string place = fmt::format("loop {} at {:#x}", loop.id, first.address);
    for (const int block : loop.blocks) {
      const BasicBlock& at = kernel_.blocks[static_cast<std::size_t>(block)];
      for (int i = at.first; i < at.first + at.count; ++i) {
        const std::string line = kernel_.instructions[static_cast<std::size_t>(i)].source_place();
        if (!line.empty()) return fmt::format("{} ({})", place, line);
      }
    }
    return place;
  }

  const Kernel& kernel_;
  Where where_;
  MetricSet metrics_;
};

}  // namespace

std::string Instruction::source_place() const {
  if (source_line <= 0) return {};
  const std::size_t slash = source_file.find_last_of("/\\");
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  return fmt::format("{}:{}", std::string_view(source_file).substr(name), source_line);
}

bool recognises_code(std::string_view bytes) {
  return std::any_of(kFamilies.begin(), kFamilies.end(),
                     [&](const Family& family) { return family.recognises(bytes); });
}

Result<Reading> read_code(const fs::path& path, ProcessRunner& runner) {
  BURNISH_TRY_ASSIGN(const std::string bytes, real_file_system().read(path));
  if (bytes.empty()) return bad_input("the file is empty").at({path.string(), 0, 0});
  const auto* family = std::find_if(kFamilies.begin(), kFamilies.end(),
                                    [&](const Family& one) { return one.recognises(bytes); });
  if (family == kFamilies.end()) {
    return bad_input("the file is no machine code that burnish reads")
        .at({path.string(), 0, 0})
        .with_hint(
            "it reads cubins, SASS, AMD code objects and assembly, and the shared objects that "
            "PoCL makes");
  }
  BURNISH_TRY_ASSIGN(Reading reading, family->read(path, bytes, runner));
  std::string hash;
  for (Kernel& kernel : reading.kernels) {
    kernel.vendor = family->vendor;
    if (kernel.where.file.empty()) kernel.where.file = path.string();
    if (!kernel.where.hash.empty()) continue;
    if (hash.empty()) hash = content_hash(bytes);
    kernel.where.hash = hash;
  }
  return reading;
}

int hot_loop(const Kernel& kernel) {
  if (kernel.hot) return *kernel.hot;
  const auto hotter = [](const Loop& a, const Loop& b) {
    return std::pair(a.depth, a.instructions) < std::pair(b.depth, b.instructions);
  };
  const auto hottest = std::max_element(kernel.loops.begin(), kernel.loops.end(), hotter);
  return hottest == kernel.loops.end() ? -1 : static_cast<int>(hottest - kernel.loops.begin());
}

void choose_hot_loop(Kernel& kernel,
                     const std::vector<std::pair<std::uint64_t, double>>& executed) {
  std::unordered_map<std::uint64_t, double> times(executed.begin(), executed.end());
  std::vector<double> work(kernel.loops.size(), 0);
  for (const BasicBlock& block : kernel.blocks) {
    if (block.loop < 0) continue;
    for (int i = block.first; i < block.first + block.count; ++i) {
      const auto found = times.find(kernel.instructions[static_cast<std::size_t>(i)].address);
      if (found != times.end()) work[static_cast<std::size_t>(block.loop)] += found->second;
    }
  }
  const auto most = std::max_element(work.begin(), work.end());
  if (most != work.end() && *most > 0) kernel.hot = static_cast<int>(most - work.begin());
}

MetricSet metrics(const Kernel& kernel) {
  Collector collector(kernel);
  collector.collect();
  return collector.take();
}

}  // namespace burnish::isa
