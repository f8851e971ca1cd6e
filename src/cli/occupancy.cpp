#include "hardware/occupancy.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/front.h"
#include "cli/verbs.h"

namespace burnish::cli {

void add_occupancy(CommandLine& line, Common& common) {
  struct Options {
    std::string arch;
    std::int64_t threads = 0, registers = 0, accum = 0, scalar = 0, shared = 0, barriers = 0;
    std::optional<std::int64_t> carveout;
  };
  auto options = std::make_shared<Options>();
  auto arguments = line.verb("occupancy", "the vendors' occupancy calculators");
  arguments.option("--arch", options->arch, "sm_90, gfx942, …").required();
  arguments.option("--threads", options->threads, "threads a block").required();
  arguments.option("--registers", options->registers, "registers (VGPRs) a thread").required();
  arguments.option("--accum", options->accum, "accumulation registers (AGPRs) a thread");
  arguments.option("--scalar", options->scalar, "scalar registers a wave");
  arguments.option("--shared", options->shared, "shared memory (LDS) bytes a block");
  arguments.option("--carveout", options->carveout,
                   "shared memory that the multiprocessor is set to, bytes");
  arguments.option("--barriers", options->barriers, "named barriers a block");
  arguments.action([&common, options]() -> Result<int> {
    hardware::KernelResources resources;
    for (const std::int64_t value :
         {options->threads, options->registers, options->accum, options->scalar, options->barriers})
      if (value < 0 || value > 1'000'000)
        return bad_input(fmt::format("{} is out of range", value));
    resources.threads = static_cast<int>(options->threads);
    resources.registers = static_cast<int>(options->registers);
    resources.accum_registers = static_cast<int>(options->accum);
    resources.scalar_registers = static_cast<int>(options->scalar);
    resources.shared_bytes = options->shared;
    resources.carveout_bytes = options->carveout;
    resources.barriers = static_cast<int>(options->barriers);
    BURNISH_TRY_ASSIGN(const auto occupancy, hardware::occupancy(options->arch, resources));
    if (common.json) {
      Json json = {{"blocks", occupancy.blocks}, {"waves_per_simd", occupancy.waves_per_simd},
                   {"pct", occupancy.pct},       {"limiter", occupancy.limiter},
                   {"limits", occupancy.limits}, {"model", occupancy.model}};
      if (occupancy.hardware_waves_per_simd)
        json["hardware"] = {{"waves_per_simd", *occupancy.hardware_waves_per_simd},
                            {"pct", occupancy.hardware_pct.value_or(0)},
                            {"limiter", occupancy.hardware_limiter.value_or("")}};
      print_json(json);
      return 0;
    }
    print(fmt::format(
        "{:.2f} % of the most that can be resident: {} waves a SIMD or scheduler, {} blocks, "
        "limited by {}\n",
        occupancy.pct, occupancy.waves_per_simd, occupancy.blocks, occupancy.limiter));
    for (const auto& [name, limit] : occupancy.limits)
      print(fmt::format("  {:<10} allows {}\n", name, limit));
    if (occupancy.hardware_waves_per_simd)
      print(
          fmt::format("with the hardware's LDS granule: {} waves a SIMD, {:.2f} %, limited by {}\n",
                      *occupancy.hardware_waves_per_simd, occupancy.hardware_pct.value_or(0),
                      occupancy.hardware_limiter.value_or("")));
    print("model: " + occupancy.model + "\n");
    return 0;
  });
}

}  // namespace burnish::cli
