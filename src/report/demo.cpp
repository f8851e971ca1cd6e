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

/// How much faster `time` is than `other`'s at the same workload; null where that is not known.
const loop::Ratio* ratio_over(const DemoTime& time, const std::string& other) {
  const auto found = time.over.find(other);
  return found == time.over.end() ? nullptr : &found->second;
}

std::string value_text(const loop::Ratio* ratio) {
  return ratio == nullptr ? kNone : fmt::format("{:.3g}", ratio->value);
}

/// A link to a file of `folder` for Markdown; only the text where there is no folder or no file.
std::string linked_text(const std::string& text, const std::string& folder,
                        const std::string& file) {
  return folder.empty() || file.empty() ? text : fmt::format("[{}]({}/{})", text, folder, file);
}

/// What people read of a profile: "profiles/v3/summary.txt".
std::string summary_of(const std::string& evidence) {
  return evidence.empty() ? ""
                          : (fs::path(evidence).parent_path() / "summary.txt").generic_string();
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
      const loop::Ratio* first = ratio_over(*time, demo.contenders.front().label);
      row.push_back(&one == &demo.contenders.front() ? "1"
                    : first == nullptr               ? kNone
                                                     : ratio_text(*first));
      for (const Contender* peer : peers)
        row.push_back(&one == peer ? "1" : value_text(ratio_over(*time, peer->label)));
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
      std::vector<std::string> row{
          variant.empty() ? workload : workload + " " + variant,
          best->label,
          time_text(time->seconds),
          time->floor > 0 ? time_text(time->floor) : kNone,
          share_text(time->copy),
          best == &demo.contenders.front()
              ? "1"
              : value_text(ratio_over(*time, demo.contenders.front().label))};
      for (const Contender* peer : peers) {
        const DemoTime* other = time_of(demo, peer->label, variant, workload);
        row.push_back(other == nullptr ? kNone : time_text(other->seconds));
        row.push_back(value_text(ratio_over(*time, peer->label)));
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

Cells over_sets(const Demo& demo) {
  const std::string set = demo.means.empty() ? "" : demo.means.front().set;
  std::vector<std::string> workloads{demo.headline};
  for (const std::string& workload : workloads_of(demo))
    if (workload != demo.headline && !workload.starts_with(set + "."))
      workloads.push_back(workload);
  std::vector<std::string> over;
  for (const Contender& one : demo.contenders)
    if (std::any_of(demo.means.begin(), demo.means.end(),
                    [&](const auto& mean) { return mean.over == one.label && mean.set == set; }))
      over.push_back(one.label);
  std::vector<std::string> header{"version", "step", "gate"};
  for (const std::string& workload : workloads)
    header.push_back(workload.starts_with(set + ".") ? workload.substr(set.size() + 1) : workload);
  for (const std::string& other : over) header.push_back("× " + other);
  Cells cells{header};
  for (const Contender& one : demo.contenders) {
    std::vector<std::string> row{name_of(one), one.what.empty() ? kNone : one.what,
                                 one.gate.empty() ? kNone : one.gate};
    for (const std::string& workload : workloads) {
      const DemoTime* time = time_of(demo, one.label, "", workload);
      row.push_back(time == nullptr ? kNone : time_text(time->seconds));
    }
    for (const std::string& other : over) {
      const auto mean = std::find_if(demo.means.begin(), demo.means.end(), [&](const auto& each) {
        return each.contender == one.label && each.over == other && each.set == set;
      });
      row.push_back(mean == demo.means.end() ? kNone
                    : mean->net
                        ? fmt::format("{:.3g} / {:.3g}", mean->gross.value, mean->net->value)
                        : fmt::format("{:.3g}", mean->gross.value));
    }
    cells.push_back(std::move(row));
  }
  return cells;
}

Cells history(const Demo& demo, const std::string& folder) {
  Cells cells{{"version", "step", "kind of change", "rests on", "gate", "verdict",
               "× the version before", "why not"}};
  std::set<std::string> workloads;
  for (const Contender& one : demo.contenders)
    if (one.recorded)
      for (const auto& [workload, seconds] : one.recorded->seconds) workloads.insert(workload);
  cells.front().insert(cells.front().end() - 1, workloads.begin(), workloads.end());
  for (const Contender& one : demo.contenders) {
    if (!one.recorded) continue;
    const loop::Recorded& recorded = *one.recorded;
    std::vector<std::string> findings;
    for (const std::string& finding : recorded.findings) findings.push_back("`" + finding + "`");
    const auto linked = [&](const std::string& text, const std::string& file) {
      return linked_text(text.empty() ? kNone : text, folder, file);
    };
    cells.push_back({linked(one.label, recorded.file), linked(one.what, recorded.plan),
                     linked(recorded.category, ""),
                     linked(join(findings, ", "), summary_of(recorded.evidence)),
                     linked(one.gate, recorded.report), linked(recorded.verdict, ""),
                     recorded.gain ? ratio_text(*recorded.gain) : kNone});
    for (const std::string& workload : workloads) {
      const auto seconds = recorded.seconds.find(workload);
      cells.back().push_back(seconds == recorded.seconds.end() ? kNone
                                                               : time_text(seconds->second));
    }
    cells.back().push_back(linked(one.why, ""));
  }
  return cells.size() == 1 ? Cells{} : spoken(cells);
}

Cells counters(const Demo& demo, const std::string& folder) {
  Cells cells{{"version"}};
  for (const char* name : loop::kProfiled) cells.front().push_back("`" + std::string(name) + "`");
  for (const Contender& one : demo.contenders) {
    if (!one.recorded || one.recorded->metrics.empty()) continue;
    const auto& metrics = one.recorded->metrics;
    cells.push_back({linked_text(one.label, folder, summary_of(one.recorded->profile))});
    for (const char* name : loop::kProfiled) {
      const auto value = metrics.find(name);
      cells.back().push_back(value == metrics.end() ? kNone : fmt::format("{:.4g}", value->second));
    }
  }
  return cells.size() == 1 ? Cells{} : spoken(cells);
}

std::string method_text(const Demo& demo) {
  std::string text =
      fmt::format("{}; driver {}; A against A within {:.2f} %; intervals are 95 % bootstraps\n",
                  demo.method, demo.driver, demo.noise * 100);
  for (const auto& [name, range] : demo.clocks) {
    const std::string unit = name == "temperature" ? "°C" : "Hz";
    text += name + " " + with_prefix(range.low, unit);
    if (range.high > range.low) text += " to " + with_prefix(range.high, unit);
    text += "\n";
  }
  for (const Contender& one : demo.contenders)
    if (!one.why.empty()) text += fmt::format("{}: {} ({})\n", one.label, one.why, one.gate);
  for (const auto& note : demo.notes) text += "note: " + note + "\n";
  return text;
}

Result<std::string> page_table(const Demo& demo, const std::string& name,
                               const std::string& folder) {
  const bool kept = std::any_of(demo.contenders.begin(), demo.contenders.end(),
                                [](const Contender& one) { return one.recorded.has_value(); });
  if (name == "history" || name == "counters")
    return kept ? markdown(name == "history" ? history(demo, folder) : counters(demo, folder))
                : std::string("The records of this run were not kept.\n");
  if (name == "workloads") return markdown(over_workloads(demo));
  if (name != "results")
    return bad_input(fmt::format("there is no table \"{}\" of a demo", name))
        .with_hint("it is results, history, counters or workloads");
  Cells cells = demo.means.empty() ? spoken(at_workload(demo, "", demo.headline)) : over_sets(demo);
  for (std::size_t i = 0; i < demo.contenders.size(); ++i)  // a row each
    if (const Contender& one = demo.contenders[i]; one.recorded)
      cells[i + 1].front() = linked_text(one.label, folder, one.recorded->file);
  std::string text = markdown(cells) + "\n";
  const std::string method = demo.device + ": " + method_text(demo);
  for (const auto line : split_lines(method))
    if (!line.empty()) text += fmt::format("- {}\n", line);
  return text;
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
  text += "\n" + method_text(demo);
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
