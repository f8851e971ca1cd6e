#include "report/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "report/table.h"

namespace burnish::report {
namespace {

using loop::Contender;
using loop::Demo;
using loop::DemoTime;

constexpr char kNone[] = "–";

std::string counts(const std::map<std::string, std::int64_t>& kinds) {
  std::vector<std::string> parts;
  for (const auto& [name, number] : kinds)
    if (number > 0) parts.push_back(fmt::format("{} {}", number, name));
  return parts.empty() ? kNone : join(parts, ", ");
}

bool says_something(const std::string& cell) {
  return cell != kNone && cell.find_first_not_of("0 +()/") != std::string::npos;
}

/// Without the columns that say nothing in any row; the first names the row.
Cells spoken(const Cells& cells) {
  std::vector<bool> keep(cells.front().size(), false);
  keep.front() = true;
  for (std::size_t r = 1; r < cells.size(); ++r)
    for (std::size_t c = 0; c < keep.size(); ++c)
      if (says_something(cells[r][c])) keep[c] = true;
  Cells result;
  for (const auto& row : cells) {
    result.emplace_back();
    for (std::size_t c = 0; c < keep.size(); ++c)
      if (keep[c]) result.back().push_back(row[c]);
  }
  return result;
}

std::string time_text(double seconds) { return with_prefix(seconds, "s"); }

std::string interval_text(const Interval& interval) {
  // In the unit of its lower end, so that both can be compared at a glance.
  const std::string low = with_prefix(interval.low, "s");
  return fmt::format("[{}, {}]", low, with_prefix(interval.high, "s"));
}

std::string ratio_text(const loop::Ratio& ratio) {
  return fmt::format("{:.3g} [{:.3g}, {:.3g}]", ratio.value, ratio.interval.low,
                     ratio.interval.high);
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", *share * 100) : kNone;
}

std::string name_of(const Contender& one) {
  return one.kind == Contender::Kind::version ? one.label : one.label + " (peer)";
}

/// The peers, and what runs as a program.
std::vector<const Contender*> peers_of(const Demo& demo) {
  std::vector<const Contender*> peers;
  for (const Contender& one : demo.contenders)
    if (one.kind != Contender::Kind::version) peers.push_back(&one);
  return peers;
}

/// The version that is fastest at the headline workload among those that the gate let pass.
const Contender* best_of(const Demo& demo, const std::string& variant) {
  const Contender* best = nullptr;
  double seconds = HUGE_VAL;
  for (const Contender& one : demo.contenders) {
    if (one.kind != Contender::Kind::version || one.gate != "PASS") continue;
    const DemoTime* time = time_of(demo, one.label, variant, demo.headline);
    if (time == nullptr || time->seconds >= seconds) continue;
    best = &one;
    seconds = time->seconds;
  }
  return best;
}

std::vector<std::string> variants_of(const Demo& demo) {
  std::vector<std::string> variants;
  for (const DemoTime& time : demo.times)
    if (std::find(variants.begin(), variants.end(), time.variant) == variants.end())
      variants.push_back(time.variant);
  return variants;
}

std::vector<std::string> workloads_of(const Demo& demo) {
  std::vector<std::string> workloads;
  for (const DemoTime& time : demo.times)
    if (std::find(workloads.begin(), workloads.end(), time.workload) == workloads.end())
      workloads.push_back(time.workload);
  return workloads;
}

std::string means_text(const Demo& demo, int columns) {
  if (demo.means.empty()) return "";
  Cells cells{{"version", "over", "workloads", "times faster", "net of the launch floor"}};
  for (const auto& mean : demo.means)
    cells.push_back({mean.contender, mean.over, std::to_string(mean.workloads),
                     ratio_text(mean.gross), mean.net ? ratio_text(*mean.net) : kNone});
  return "\ngeometric means over all configurations and dtypes of \"" + demo.means.front().set +
         "\":\n" + plain(cells, columns);
}

}  // namespace

Cells machine_code(const std::vector<loop::CompiledStep>& steps) {
  Cells cells{{"step", "target", "registers", "scalar", "shared, B", "waves", "limit", "load, bits",
               "instructions", "FMA", "matrix", "shared writes + reads", "loads", "between lanes",
               "DPP moves", "NOP (cycles)", "wait", "spills", "what the rules say"}};
  for (const auto& at : steps) {
    const auto value = [&](const std::string& name) { return at.metrics.value(name).value_or(0); };
    const auto number = [&](const std::string& name) { return fmt::format("{:.0f}", value(name)); };
    // Kernels without a loop count as a whole.
    const std::string loop = at.metrics.find("isa.loop.instructions") ? "isa.loop." : "isa.";
    const bool is_amd = at.arch.starts_with("gfx");
    std::vector<std::string> said;
    for (const auto& finding : at.findings) said.push_back("`" + finding.id + "`");
    const auto widest = [&] {
      for (const int bits : {128, 96, 64, 32, 16, 8})
        if (value(fmt::format("isa.global_load_bits.{}", bits)) > 0) return std::to_string(bits);
      return std::string(kNone);
    };
    cells.push_back(
        {at.step, at.arch,
         number("registers.used") +
             (at.metrics.find("registers.allocated") ? " / " + number("registers.allocated") : ""),
         is_amd ? number("registers.scalar") : kNone, std::to_string(at.shared_bytes),
         at.occupancy.hardware_waves_per_simd ? fmt::format("{} / {}", at.occupancy.waves_per_simd,
                                                            *at.occupancy.hardware_waves_per_simd)
                                              : std::to_string(at.occupancy.waves_per_simd),
         at.occupancy.limiter, widest(), number(loop + "instructions"),
         fmt::format("{:.0f}", value(loop + "fma") + 2 * value(loop + "packed_fma")),
         value("isa.matrix") > 0 ? counts(at.kernel.matrix_shapes) : kNone,
         number(loop + "lds_store") + " + " + number(loop + "lds_load"), number(loop + "vmem_load"),
         counts(at.kernel.cross_lane), number(loop + "dpp_moves"),
         fmt::format("{} ({})", number(loop + "nop"), number(loop + "nop_cycles")),
         is_amd ? number(loop + "wait") : number(loop + "scoreboard_waits"), number("spill.bytes"),
         said.empty() ? "nothing" : join(said, ", ")});
  }
  return spoken(cells);
}

Cells at_workload(const Demo& demo, const std::string& variant, const std::string& workload) {
  const auto peers = peers_of(demo);
  std::vector<std::string> header{"version", "step", "gate", "time", "interval", "floor", "× v0"};
  for (const Contender* peer : peers) header.push_back("× " + peer->label);
  header.insert(header.end(), {"copy", demo.math.empty() ? "math" : demo.math, "error"});
  Cells cells{header};
  const DemoTime* first = demo.contenders.empty()
                              ? nullptr
                              : time_of(demo, demo.contenders.front().label, variant, workload);
  for (const Contender& one : demo.contenders) {
    const DemoTime* time = time_of(demo, one.label, variant, workload);
    std::vector<std::string> row{name_of(one), one.what.empty() ? kNone : one.what,
                                 one.gate.empty() ? kNone : one.gate};
    if (time == nullptr) {
      row.resize(header.size() - 1, kNone);
    } else {
      row.push_back(time_text(time->seconds));
      row.push_back(interval_text(time->interval));
      row.push_back(time->floor > 0 ? time_text(time->floor) : kNone);
      row.push_back(first == nullptr ? kNone
                    : first == time  ? "1"
                                     : ratio_text(speedup(*time, *first)));
      for (const Contender* peer : peers) {
        const DemoTime* other = time_of(demo, peer->label, variant, workload);
        row.push_back(other == nullptr ? kNone
                      : other == time  ? "1"
                                       : fmt::format("{:.3g}", speedup(*time, *other).value));
      }
      row.push_back(share_text(time->copy));
      row.push_back(share_text(time->math));
    }
    row.push_back(one.error ? fmt::format("{:.2e}", *one.error) : kNone);
    cells.push_back(std::move(row));
  }
  return cells;
}

Cells over_workloads(const Demo& demo) {
  const auto peers = peers_of(demo);
  std::vector<std::string> header{"workload", "version", "time", "floor", "copy", "× v0"};
  for (const Contender* peer : peers) {
    header.push_back(peer->label);
    header.push_back("×");
    if (peer->kind == Contender::Kind::peer) header.push_back("× net");
  }
  Cells cells{header};
  for (const std::string& variant : variants_of(demo)) {
    const Contender* best = best_of(demo, variant);
    if (best == nullptr) continue;
    for (const std::string& workload : workloads_of(demo)) {
      const DemoTime* time = time_of(demo, best->label, variant, workload);
      if (time == nullptr) continue;
      const DemoTime* first = time_of(demo, demo.contenders.front().label, variant, workload);
      std::vector<std::string> row{
          variant.empty() ? workload : workload + " " + variant,
          best->label,
          time_text(time->seconds),
          time->floor > 0 ? time_text(time->floor) : kNone,
          share_text(time->copy),
          first == nullptr ? kNone : fmt::format("{:.3g}", speedup(*time, *first).value)};
      for (const Contender* peer : peers) {
        const DemoTime* other = time_of(demo, peer->label, variant, workload);
        row.push_back(other == nullptr ? kNone : time_text(other->seconds));
        row.push_back(other == nullptr ? kNone
                                       : fmt::format("{:.3g}", speedup(*time, *other).value));
        if (peer->kind != Contender::Kind::peer) continue;
        const double own = time->seconds - time->floor;
        row.push_back(other == nullptr || !(time->floor > 0) || !(own > 0)
                          ? kNone
                          : fmt::format("{:.3g}", (other->seconds - time->floor) / own));
      }
      cells.push_back(std::move(row));
    }
  }
  return cells;
}

std::string demo_text(const Demo& demo, int columns) {
  std::string text;
  for (const std::string& variant : variants_of(demo)) {
    text += fmt::format("\n{} at {}{} on {}\n", demo.task, demo.headline,
                        variant.empty() ? "" : ", " + variant, demo.device);
    text += plain(spoken(at_workload(demo, variant, demo.headline)), columns);
  }
  if (demo.times.empty()) text += plain(spoken(at_workload(demo, "", demo.headline)), columns);
  const bool several = workloads_of(demo).size() > 1;
  if (several)
    text += "\nthe fastest version against its peers:\n" + plain(over_workloads(demo), columns);
  text += means_text(demo, columns);
  text +=
      fmt::format("\n{}; driver {}; A against A within {:.2f} %; intervals are 95 % bootstraps\n",
                  demo.method, demo.driver, demo.noise * 100);
  for (const auto& [name, range] : demo.clocks)
    text += fmt::format("{} {} to {}\n", name, number_text(range.low), number_text(range.high));
  for (const Contender& one : demo.contenders)
    if (!one.why.empty()) text += fmt::format("{}: {} ({})\n", one.label, one.why, one.gate);
  for (const auto& note : demo.notes) text += "note: " + note + "\n";
  return text;
}

std::string markdown(const Cells& cells) {
  std::string text;
  for (std::size_t r = 0; r < cells.size(); ++r) {
    text += "| " + join(cells[r], " | ") + " |\n";
    if (r > 0) continue;
    for (std::size_t c = 0; c < cells[r].size(); ++c) text += "|---";
    text += "|\n";
  }
  return text;
}

std::string plain(const Cells& cells, int columns) {
  TextTable table(cells.front());
  for (std::size_t r = 1; r < cells.size(); ++r) table.row(cells[r]);
  return table.text(columns);
}

}  // namespace burnish::report
