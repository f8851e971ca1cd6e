// Thread traces of rocprofv3 --att, decoded by rocprof-trace-decoder (format 3.0): code.json or
// stats_*.csv with hits, latency, stall and idle cycles by instruction, a file for each traced
// wave, occupancy.json. Latency is stall and issue on gfx9, stall and execution from gfx10 on; idle
// is the time before an instruction in which the wave issued nothing.

#include "profile/amd_att.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "profile/amd_model.h"
#include "profile/csv.h"
#include "profile/json_walk.h"

namespace burnish::profile::amd {
namespace {

/// Instructions that are kept one by one; further ones count in the sums only.
constexpr std::size_t kMostInstructions = 1'000'000;
constexpr std::int64_t kMostLines = 16'000'000;
constexpr std::size_t kMostWaits = 100'000;
/// How far back the load that a wait waits for is looked for, in instructions.
constexpr std::size_t kFarthestLoad = 1024;
/// No code nests loops deeper.
constexpr int kDeepestLoop = 64;
constexpr std::uintmax_t kLargestObject = std::uintmax_t{256} << 20;
constexpr std::size_t kStep = std::size_t{32} << 20;

/// Which counter an instruction is counted by until it is done.
enum class Access : std::uint8_t { none, vector_load, vector_store, near };

Access access_of(std::string_view instruction) {
  // Most instructions are of the vector unit.
  if (instruction.starts_with('v')) return Access::none;
  const std::string kind = class_of(instruction);
  if (kind == "vmem_load" || kind == "async_copy" || kind == "atomic") return Access::vector_load;
  if (kind == "vmem_store") return Access::vector_store;
  const bool near = kind == "lds_load" || kind == "lds_store" || kind == "smem" ||
                    (kind == "cross_lane" && instruction.starts_with("ds_"));
  return near ? Access::near : Access::none;
}

struct Instruction {
  std::string_view text, source;
  Access access = Access::none;
  std::int64_t address = 0;
  std::int64_t line = -1;  ///< as waves refer to it
  double hits = 0, latency = 0, stall = 0, idle = 0;
  int row = 0;  ///< in the artefact, from 1
};

struct TracedKernel {
  std::string_view name;
  std::size_t first = 0, count = 0;  ///< its executed instructions
  std::int64_t start = 0;            ///< address of its first instruction
  double hits = 0, latency = 0, stall = 0, idle = 0;
  double duration = 0;  ///< of its waves, cycles
  std::int64_t waves = 0;
  std::array<double, 5> states{};  ///< cycles: empty, idle, exec, wait, stall
};

struct Loop {
  std::size_t first = 0, last = 0;
  double time = 0, turns = 0;
};

double time_of(const Instruction& one) { return one.latency + one.idle; }

/// The address that a branch with an offset in words goes to.
std::optional<std::int64_t> branch_target(const Instruction& one) {
  if (!one.text.starts_with("s_cbranch") && !one.text.starts_with("s_branch")) return {};
  const std::size_t space = one.text.find_last_of(' ');
  if (space == std::string_view::npos) return {};
  const auto words = parse_integer(trim(one.text.substr(space)));
  if (!words || *words < -32768 || *words > 65535) return {};
  return one.address + 4 +
         4 * static_cast<std::int16_t>(static_cast<std::uint16_t>(*words & 0xFFFF));
}

class Trace {
 public:
  // ------------------------------------------------------------------ reading

  Result<void> read_code(const Input& input) {
    add_artefact(input, "att-code");
    // The header stands behind the rows that it explains, most often as the decoder has always
    // written it: they are read on that assumption, and again when it does not hold.
    std::vector<std::string> columns = {"isa",   "_",   "linenumber", "source", "codeobj",
                                        "vaddr", "hit", "latency",    "stall",  "idle"};
    for (int attempt = 0; attempt < 2; ++attempt) {
      std::vector<std::string> seen;
      BURNISH_TRY(read_rows(input, columns, seen));
      if (seen.empty() || seen == columns) break;
      columns = std::move(seen);
    }
    locator_ = "row {} of code";
    return {};
  }

  Result<void> read_stats(const Input& input) {
    add_artefact(input, "att-stats");
    CsvReader reader(input.bytes, input.name.string(), InnerQuotes::bare);
    BURNISH_TRY_ASSIGN(const bool header, reader.next());
    if (!header) return bad_input("the file has no header").at({input.name.string()});
    const CsvColumns columns(reader.fields());
    const auto column = [&](std::string_view name) { return columns.find(name); };
    const auto address = column("Vaddr"), text = column("Instruction"), hits = column("Hitcount"),
               latency = column("Latency"), stall = column("Stall"), idle = column("Idle"),
               source = column("Source");
    if (!address || !text || !hits || !latency) {
      return bad_input("the header lacks Vaddr, Instruction, Hitcount or Latency")
          .at({input.name.string(), 1, 0});
    }
    for (;;) {
      BURNISH_TRY_ASSIGN(const bool more, reader.next());
      if (!more) break;
      if (reader.fields().size() < columns.size() - (source ? 1 : 0)) {
        return bad_input(
                   fmt::format("the row has {} fields and the header {}: the file was cut off",
                               reader.fields().size(), columns.size()))
            .at({input.name.string(), reader.line(), 0});
      }
      Instruction one;
      one.row = reader.line();
      one.text = reader.field(*text);
      if (source) one.source = reader.field(*source);
      const auto count = [&](const std::optional<std::size_t>& at) -> Result<double> {
        if (!at) return 0.0;
        const std::string_view field = trim(reader.field(*at));
        const auto value = parse_number(field);
        if (!value || !std::isfinite(*value)) {
          return bad_input(fmt::format("\"{}\" is no number", to_valid_utf8(field.substr(0, 40))))
              .at(reader.place(*at));
        }
        return *value;
      };
      BURNISH_TRY_ASSIGN(const double place, count(address));
      if (!(std::fabs(place) < 9e15)) {
        return bad_input("the address is out of range").at(reader.place(*address));
      }
      one.address = static_cast<std::int64_t>(place);
      BURNISH_TRY_ASSIGN(one.hits, count(hits));
      BURNISH_TRY_ASSIGN(one.latency, count(latency));
      BURNISH_TRY_ASSIGN(one.stall, count(stall));
      BURNISH_TRY_ASSIGN(one.idle, count(idle));
      take(one);
    }
    locator_ = "row {}";
    return {};
  }

  /// After the instructions, before the waves.
  void index_lines() {
    std::int64_t most = -1;
    for (const Instruction& one : instructions_) most = std::max(most, one.line);
    if (most < 0 || most > kMostLines) return;
    by_line_.assign(static_cast<std::size_t>(most) + 1, -1);
    for (std::size_t i = 0; i < instructions_.size(); ++i) {
      const std::int64_t line = instructions_[i].line;
      if (line >= 0) by_line_[static_cast<std::size_t>(line)] = static_cast<std::int32_t>(i);
    }
    kernel_of_.resize(instructions_.size());
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      for (std::size_t i = 0; i < kernels_[k].count; ++i) kernel_of_[kernels_[k].first + i] = k;
    }
  }

  Result<void> read_wave(const Input& input) {
    JsonWalk walk(input.bytes, input.name.string());
    std::int64_t begin = -1, end = -1;
    std::int64_t kernel = -1;
    std::array<double, 5> states{};
    std::size_t released = 0;
    const auto release = [&] {
      if (walk.position() < released + kStep) return;
      released = walk.position();
      input.done_to(released);
    };
    walk.object([&](std::string_view key) {
      if (key != "wave") return;
      walk.object([&](std::string_view field) {
        if (field == "begin") {
          begin = walk.integer().value_or(-1);
        } else if (field == "end") {
          end = walk.integer().value_or(-1);
        } else if (field == "instructions") {
          walk.array([&] {
            // [time, category, stall, duration, line of the code, …]
            std::array<std::int64_t, 5> entry{};
            std::size_t at = 0;
            walk.array([&] {
              if (at < entry.size()) {
                entry[at] = walk.integer().value_or(0);
              } else {
                walk.skip();
              }
              ++at;
            });
            ++wave_instructions_;
            if (at >= 5 && kernel < 0) {
              if (const auto found = at_line(entry[4])) {
                kernel = static_cast<std::int64_t>(kernel_of_[*found]);
              }
            }
            release();
          });
        } else if (field == "timeline") {
          walk.array([&] {
            std::int64_t state = -1, length = 0;
            std::size_t at = 0;
            walk.array([&] {
              const std::int64_t value = walk.integer().value_or(0);
              if (at == 0) state = value;
              if (at == 1) length = value;
              ++at;
            });
            if (state >= 0 && state < 5) {
              states[static_cast<std::size_t>(state)] += static_cast<double>(length);
            }
            release();
          });
        } else if (field == "waitcnt") {
          walk.array([&] { wait_entry(walk); });
        }
      });
    });
    walk.finish();
    if (walk.failed()) return walk.error();
    ++waves_;
    if (begin < 0 || end < begin) return {};
    if (kernel < 0 && kernels_.size() == 1) kernel = 0;
    if (kernel < 0) return {};
    TracedKernel& of = kernels_[static_cast<std::size_t>(kernel)];
    ++of.waves;
    of.duration += static_cast<double>(end) - static_cast<double>(begin);
    for (std::size_t i = 0; i < states.size(); ++i) of.states[i] += states[i];
    return {};
  }

  Result<void> read_occupancy(const Input& input) {
    JsonWalk walk(input.bytes, input.name.string());
    std::map<std::array<std::int64_t, 4>, std::int64_t> open;
    std::set<std::array<std::int64_t, 3>> simds;
    double resident = 0;
    std::int64_t first = -1, last = -1, engine = 0;
    walk.object([&](std::string_view key) {
      if (walk.peek() != JsonWalk::Kind::array) return;
      (void)key;
      ++engine;
      walk.array([&] {
        std::array<std::int64_t, 5> entry{};
        std::size_t at = 0;
        walk.array([&] {
          const std::int64_t value = walk.integer().value_or(0);
          if (at < entry.size()) entry[at] = value;
          ++at;
        });
        if (at < 5) return;
        const auto [time, unit, simd, slot, starts] = entry;
        const std::array<std::int64_t, 4> place{engine, unit, simd, slot};
        if (first < 0 || time < first) first = time;
        if (time > last) last = time;
        if (starts != 0) {
          if (open.size() < 1'000'000) open[place] = time;
          if (simds.size() < 1'000'000) simds.insert({engine, unit, simd});
        } else if (const auto it = open.find(place); it != open.end()) {
          resident += static_cast<double>(time) - static_cast<double>(it->second);
          open.erase(it);
        }
      });
    });
    walk.finish();
    if (walk.failed()) return walk.error();
    for (const auto& [place, time] : open) {
      resident += static_cast<double>(last) - static_cast<double>(time);
    }
    if (last > first && !simds.empty()) {
      const double span = static_cast<double>(last) - static_cast<double>(first);
      resident_waves_ = resident / span / static_cast<double>(simds.size());
      occupancy_where_.file = input.name.string();
      occupancy_where_.hash = input.hash;
      occupancy_where_.locator = "all engines";
    }
    return {};
  }

  Result<void> read_names(const Input& input, const std::set<std::string>& present) {
    JsonWalk walk(input.bytes, input.name.string());
    std::int64_t named = 0, missing = 0;
    // "wave_filenames": engine → SIMD → slot → wave → [file, begin, end]
    const std::function<void(int)> level = [&](int depth) {
      if (depth < 4) {
        walk.object([&](std::string_view) { level(depth + 1); });
        return;
      }
      bool is_name = true;
      walk.array([&] {
        if (!is_name) {
          walk.skip();
          return;
        }
        is_name = false;
        ++named;
        if (present.count(std::string(walk.string().value_or(""))) == 0) ++missing;
      });
    };
    walk.object([&](std::string_view key) {
      if (key == "gfxip") {
        generation_ = walk.integer().value_or(9);
      } else if (key == "wave_filenames") {
        level(0);
      }
    });
    walk.finish();
    if (walk.failed()) return walk.error();
    if (missing > 0) {
      reading_.warnings.push_back(
          fmt::format("{}: the files of {} of {} waves are missing; what rests on waves is of the "
                      "others",
                      input.name.string(), missing, named));
    }
    return {};
  }

  Reading& reading() { return reading_; }
  bool has_instructions() const { return !instructions_.empty() || !kernels_.empty(); }

  // ------------------------------------------------------------------ concluding

  Result<Reading> finish() {
    if (dropped_ > 0) {
      reading_.warnings.push_back(
          fmt::format("{} instructions beyond the first {} count in the sums only", dropped_,
                      kMostInstructions));
    }
    std::size_t ran = 0;
    for (const TracedKernel& kernel : kernels_) ran += kernel.hits > 0 ? 1 : 0;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (kernels_[i].hits > 0 || (ran == 0 && i == 0)) {
        BURNISH_TRY_ASSIGN(KernelProfile kernel, profile_of(kernels_[i]));
        reading_.kernels.push_back(std::move(kernel));
      }
    }
    if (ran == 0) {
      reading_.warnings.push_back(
          "no instruction was hit: no wave ran on the compute unit that was "
          "traced; launch more workgroups or trace another unit with "
          "--att-target-cu");
    }
    return std::move(reading_);
  }

 private:
  enum class Field { isa, line, source, address, hits, latency, stall, idle, none };

  static Field field_of(std::string_view column) {
    if (column == "isa" || column == "instruction") return Field::isa;
    if (column == "linenumber") return Field::line;
    if (column == "source") return Field::source;
    if (column == "vaddr") return Field::address;
    if (column == "hit" || column == "hitcount") return Field::hits;
    if (column == "latency") return Field::latency;
    if (column == "stall") return Field::stall;
    if (column == "idle") return Field::idle;
    return Field::none;
  }

  /// Reads code.json with these columns; `seen` become those that its header names.
  Result<void> read_rows(const Input& input, const std::vector<std::string>& columns,
                         std::vector<std::string>& seen) {
    instructions_.clear();
    kernels_.clear();
    dropped_ = 0;
    std::vector<Field> fields;
    for (const std::string& column : columns) fields.push_back(field_of(column));
    for (const Field needed : {Field::isa, Field::address, Field::hits, Field::latency}) {
      if (std::find(fields.begin(), fields.end(), needed) == fields.end()) {
        return bad_input(fmt::format("the header \"{}\" lacks a column that burnish needs (ISA, "
                                     "Vaddr, Hit, Latency)",
                                     to_valid_utf8(join(columns, ", "))))
            .at({input.name.string()});
      }
    }
    JsonWalk walk(input.bytes, input.name.string());
    bool has_code = false, null_code = false;
    std::size_t released = 0;
    walk.object([&](std::string_view key) {
      if (key == "header") {
        seen.clear();
        for (const auto part : split(walk.string().value_or(""), ',')) {
          seen.push_back(to_lower(trim(part)));
        }
      } else if (key == "version") {
        reading_.artefacts.back().version = to_valid_utf8(walk.string().value_or(""));
      } else if (key == "code") {
        has_code = true;
        null_code = walk.peek() == JsonWalk::Kind::null;
        int row = 0;
        walk.array([&] {
          read_row(input, walk, fields, ++row);
          if (walk.position() < released + kStep) return;
          released = walk.position();
          input.done_to(released);
        });
      }
    });
    walk.finish();
    if (walk.failed()) return walk.error();
    if (!has_code) return bad_input("the file has no \"code\"").at({input.name.string()});
    if (!null_code) return {};
    return bad_input(
               "the trace holds no code: the decoder was missing, or no wave ran on the "
               "compute unit that was traced")
        .at({input.name.string()})
        .with_hint(
            "give rocprofv3 --att-library-path, launch more workgroups, or trace another "
            "unit with --att-target-cu");
  }

  void read_row(const Input& input, JsonWalk& walk, const std::vector<Field>& fields, int row) {
    Instruction one;
    one.row = row;
    std::size_t at = 0;
    const auto number = [&] { return walk.number().value_or(0); };
    walk.array([&] {
      switch (at < fields.size() ? fields[at] : Field::none) {
        case Field::isa:
          one.text = lasting(walk.string().value_or(""), input);
          break;
        case Field::line:
          one.line = walk.integer().value_or(-1);
          break;
        case Field::source:
          one.source = lasting(walk.string().value_or(""), input);
          break;
        case Field::address:
          one.address = walk.integer().value_or(0);
          break;
        case Field::hits:
          one.hits = number();
          break;
        case Field::latency:
          one.latency = number();
          break;
        case Field::stall:
          one.stall = number();
          break;
        case Field::idle:
          one.idle = number();
          break;
        case Field::none:
          walk.skip();
      }
      ++at;
    });
    take(one);
  }

  void add_artefact(const Input& input, const std::string& kind) {
    Artefact artefact;
    artefact.file = input.name;
    artefact.kind = kind;
    artefact.tool = "rocprof-trace-decoder";
    artefact.hash = input.hash;
    reading_.artefacts.push_back(std::move(artefact));
    where_.file = input.name.string();
    where_.hash = input.hash;
  }

  /// A text that stays as long as the file does.
  std::string_view lasting(std::string_view text, const Input& input) {
    const bool inside = text.data() >= input.bytes.data() &&
                        text.data() + text.size() <= input.bytes.data() + input.bytes.size();
    if (inside || text.empty()) return text;
    if (texts_.size() >= kMostInstructions) return "(text)";
    return texts_.emplace_back(text);
  }

  void take(Instruction& one) {
    one.address = std::clamp<std::int64_t>(one.address, 0, std::int64_t{1} << 62);
    if (one.text.starts_with(';')) {
      TracedKernel kernel;
      kernel.name = trim(one.text.substr(1));
      kernel.first = instructions_.size();
      kernel.start = one.address;
      if (kernels_.size() < kMostWaits) kernels_.push_back(kernel);
      return;
    }
    if (kernels_.empty()) {
      TracedKernel kernel;
      kernel.name = "(unnamed kernel)";
      kernel.start = one.address;
      kernels_.push_back(kernel);
    }
    if (!(one.hits > 0)) return;
    one.latency = std::max(one.latency, 0.0);
    one.stall = std::clamp(one.stall, 0.0, one.latency);
    one.idle = std::max(one.idle, 0.0);
    one.access = access_of(one.text);
    TracedKernel& kernel = kernels_.back();
    kernel.hits += one.hits;
    kernel.latency += one.latency;
    kernel.stall += one.stall;
    kernel.idle += one.idle;
    if (instructions_.size() >= kMostInstructions) {
      ++dropped_;
      return;
    }
    instructions_.push_back(one);
    ++kernel.count;
  }

  std::optional<std::size_t> at_line(std::int64_t line) const {
    if (line < 0 || line >= static_cast<std::int64_t>(by_line_.size())) return {};
    const std::int32_t index = by_line_[static_cast<std::size_t>(line)];
    if (index < 0) return {};
    return static_cast<std::size_t>(index);
  }

  /// [line of the wait, [[line that it waited for, …], …]]
  void wait_entry(JsonWalk& walk) {
    std::int64_t wait = -1;
    std::size_t at = 0;
    walk.array([&] {
      if (at++ == 0) {
        wait = walk.integer().value_or(-1);
        return;
      }
      walk.array([&] {
        std::size_t part = 0;
        walk.array([&] {
          if (part++ > 0) {
            walk.skip();
            return;
          }
          const std::int64_t cause = walk.integer().value_or(-1);
          const auto from = at_line(wait), to = at_line(cause);
          if (from && to && waits_.size() < kMostWaits) ++waits_[{*from, *to}];
        });
      });
    });
  }

  /// What an instruction that waits waits for: as the decoder saw it, or by counting back.
  std::optional<std::size_t> cause_of(std::size_t wait, const TracedKernel& kernel) const {
    std::optional<std::size_t> found;
    std::int64_t most = 0;
    for (auto it = waits_.lower_bound({wait, 0}); it != waits_.end() && it->first.first == wait;
         ++it) {
      if (it->second > most) {
        most = it->second;
        found = it->first.second;
      }
    }
    if (found) return found;
    // The counters fall in the order of issue: with N left in flight it is the (N + 1)th before.
    const std::string_view text = instructions_[wait].text;
    const auto count_behind = [&](std::string_view name) -> std::optional<std::int64_t> {
      const std::size_t at = text.find(name);
      if (at == std::string_view::npos) return {};
      std::string_view tail = text.substr(at + name.size());
      const std::size_t digit = tail.find_first_of("0123456789");
      if (digit == std::string_view::npos) return {};
      tail.remove_prefix(digit);
      return parse_integer(tail.substr(0, tail.find_first_not_of("0123456789")));
    };
    const auto walk_back = [&](std::int64_t in_flight,
                               const auto& counts) -> std::optional<std::size_t> {
      // Round the code once: a loop's loads of the turn before stand behind the wait.
      for (std::size_t step = 1; step <= std::min(kernel.count, kFarthestLoad); ++step) {
        const std::size_t offset = wait - kernel.first;
        const std::size_t index = kernel.first + (offset + kernel.count - step) % kernel.count;
        if (!counts(instructions_[index].access)) continue;
        if (in_flight-- == 0) return index;
      }
      return {};
    };
    const auto vector = [](Access access) { return access == Access::vector_load; };
    const auto vector_or_store = [](Access access) {
      return access == Access::vector_load || access == Access::vector_store;
    };
    const auto local = [](Access access) { return access == Access::near; };
    for (const std::string_view name : {"vmcnt", "s_wait_loadcnt"}) {
      if (const auto count = count_behind(name)) {
        return generation_ >= 10 ? walk_back(*count, vector) : walk_back(*count, vector_or_store);
      }
    }
    for (const std::string_view name : {"lgkmcnt", "s_wait_dscnt", "s_wait_kmcnt"}) {
      if (const auto count = count_behind(name)) return walk_back(*count, local);
    }
    return {};
  }

  std::string place(const Instruction& one) const {
    if (!one.source.empty()) {
      return fmt::format("{}: {}", to_valid_utf8(one.source), to_valid_utf8(one.text));
    }
    return fmt::format("{:#x}: {}", static_cast<std::uint64_t>(one.address),
                       to_valid_utf8(one.text));
  }

  Where at(const Instruction& one) const {
    Where where = where_;
    where.locator = fmt::format(fmt::runtime(locator_), one.row);
    return where;
  }

  /// The loop that takes the time: from the largest inwards, as long as the inner one turns.
  std::optional<Loop> hot_loop(const TracedKernel& kernel) const {
    const auto begin = instructions_.begin() + static_cast<std::ptrdiff_t>(kernel.first);
    const auto end = begin + static_cast<std::ptrdiff_t>(kernel.count);
    if (!std::is_sorted(begin, end, [](const Instruction& a, const Instruction& b) {
          return a.address < b.address;
        })) {
      return {};
    }
    std::vector<double> time_before(kernel.count + 1, 0);
    for (std::size_t i = 0; i < kernel.count; ++i) {
      time_before[i + 1] = time_before[i] + time_of(instructions_[kernel.first + i]);
    }
    std::map<std::size_t, std::size_t> ends;  // header → last
    for (std::size_t i = 0; i < kernel.count; ++i) {
      const Instruction& branch = instructions_[kernel.first + i];
      const auto target = branch_target(branch);
      if (!target || *target > branch.address) continue;
      const auto header = std::lower_bound(
          begin, end, *target,
          [](const Instruction& one, std::int64_t address) { return one.address < address; });
      if (header == end || header->address != *target) continue;
      std::size_t& last = ends[static_cast<std::size_t>(header - begin)];
      last = std::max(last, i);
    }
    std::optional<Loop> hot;
    std::vector<Loop> loops;
    for (const auto& [first, last] : ends) {
      loops.push_back({first, last, time_before[last + 1] - time_before[first],
                       instructions_[kernel.first + first].hits});
    }
    for (const Loop& loop : loops) {
      if (!hot || loop.time > hot->time) hot = loop;
    }
    for (int depth = 0; hot && depth < kDeepestLoop; ++depth) {
      const Loop* inner = nullptr;
      for (const Loop& loop : loops) {
        const bool nested = loop.first >= hot->first && loop.last <= hot->last &&
                            loop.last - loop.first < hot->last - hot->first;
        if (nested && loop.time >= hot->time / 2 && loop.turns >= 1.5 * hot->turns &&
            (inner == nullptr || loop.time > inner->time)) {
          inner = &loop;
        }
      }
      if (inner == nullptr) break;
      hot = *inner;
    }
    return hot;
  }

  void put_loop(const TracedKernel& kernel, const Loop& loop, double total,
                KernelProfile& to) const {
    const Instruction& first = instructions_[kernel.first + loop.first];
    const Instruction& last = instructions_[kernel.first + loop.last];
    Where where = at(first);
    where.locator += fmt::format(" to {}", last.row);
    to.metrics.add(derived_text(
        "hotspot.loop",
        fmt::format("{:#x} to {:#x}, {} instructions{}", static_cast<std::uint64_t>(first.address),
                    static_cast<std::uint64_t>(last.address), loop.last - loop.first + 1,
                    first.source.empty() ? "" : " at " + to_valid_utf8(first.source)),
        where));
    to.metrics.add(
        derived("trace.loop.time_pct", 100 * loop.time / total, "%", where, "(Latency + Idle)"));
    if (kernel.waves > 0) {
      to.metrics.add(derived("trace.loop.turns", loop.turns / static_cast<double>(kernel.waves),
                             "1", where, "Hit of its first instruction, a wave"));
    }
    struct Sum {
      double latency = 0, stall = 0, idle = 0;
    };
    std::map<std::string, Sum> classes;
    Sum all;
    for (std::size_t i = loop.first; i <= loop.last; ++i) {
      const Instruction& one = instructions_[kernel.first + i];
      for (Sum* sum : {&classes[class_of(one.text)], &all}) {
        sum->latency += one.latency;
        sum->stall += one.stall;
        sum->idle += one.idle;
      }
    }
    if (all.latency + all.idle <= 0) return;
    to.metrics.add(derived("trace.loop.idle_pct", 100 * all.idle / (all.latency + all.idle), "%",
                           where, "Idle over Latency + Idle"));
    for (const auto& [name, sum] : classes) {
      if (all.latency > 0) {
        to.metrics.add(derived(fmt::format("trace.loop.{}.latency_pct", name),
                               100 * sum.latency / all.latency, "%", where,
                               "Latency over that of the loop"));
      }
      if (sum.latency > 0) {
        to.metrics.add(derived(fmt::format("trace.loop.{}.stall_pct", name),
                               100 * sum.stall / sum.latency, "%", where, "Stall over Latency"));
      }
      if (all.idle > 0) {
        to.metrics.add(derived(fmt::format("trace.loop.{}.idle_pct", name),
                               100 * sum.idle / all.idle, "%", where,
                               "Idle over that of the loop"));
      }
    }
  }

  void put_stalls(const TracedKernel& kernel, double total, KernelProfile& to) const {
    std::map<std::string, double> reasons;
    std::map<std::string, std::size_t> worst;
    for (const char* reason :
         {"waitcnt_vector", "waitcnt_lds", "barrier", "alu_dependency", "sleep", "hazard",
          "memory_queue", "lds_queue", "scalar_queue", "branch"}) {
      reasons[reason] = 0;
    }
    std::optional<std::size_t> most;
    for (std::size_t i = kernel.first; i < kernel.first + kernel.count; ++i) {
      const Instruction& one = instructions_[i];
      if (one.stall <= 0) continue;
      std::string reason = stall_of(one.text);
      if (reason.starts_with("waitcnt")) {
        if (const auto cause = cause_of(i, kernel)) {
          const std::string kind = class_of(instructions_[*cause].text);
          const bool near =
              kind == "lds_load" || kind == "lds_store" || kind == "smem" || kind == "cross_lane";
          reason = near ? "waitcnt_lds" : "waitcnt_vector";
        }
      }
      reasons[reason] += one.stall;
      const auto [it, fresh] = worst.emplace(reason, i);
      if (!fresh && one.stall > instructions_[it->second].stall) it->second = i;
      if (!most || one.stall > instructions_[*most].stall) most = i;
    }
    const auto describe = [&](std::size_t index) {
      std::string text = place(instructions_[index]);
      if (const auto cause = stall_of(instructions_[index].text).starts_with("waitcnt")
                                 ? cause_of(index, kernel)
                                 : std::nullopt) {
        text += ", which waits for " + place(instructions_[*cause]);
      }
      return text;
    };
    for (const auto& [reason, cycles] : reasons) {
      Where where = where_;
      where.locator = "all rows of the kernel";
      to.metrics.add(derived(fmt::format("stall.{}_pct", reason), 100 * cycles / total, "%", where,
                             "Stall over Latency + Idle"));
      const auto at_most = worst.find(reason);
      if (at_most == worst.end()) continue;
      const Instruction& one = instructions_[at_most->second];
      to.metrics.add(
          derived_text("hotspot.stall_" + reason, describe(at_most->second), at(one), "Stall"));
      to.metrics.add(derived(fmt::format("hotspot.stall_{}_pct", reason), 100 * one.stall / cycles,
                             "%", at(one), "Stall"));
    }
    if (most && kernel.stall > 0) {
      const Instruction& one = instructions_[*most];
      to.metrics.add(derived_text("hotspot.stall", describe(*most), at(one), "Stall"));
      to.metrics.add(
          derived("hotspot.stall_pct", 100 * one.stall / kernel.stall, "%", at(one), "Stall"));
      to.metrics.add(derived_text("hotspot.stall_reason", stall_of(one.text), at(one), "Stall"));
      to.metrics.add(derived("hotspot.stall_reason_pct", 100, "%", at(one), "Stall"));
    }
  }

  Result<KernelProfile> profile_of(const TracedKernel& kernel) const {
    KernelProfile to;
    to.name = without_descriptor(kernel.name);
    if (to.name.starts_with("_Z")) to.symbol = to.name;
    Where where = where_;
    where.locator = "all rows of the kernel";
    const auto add = [&](const std::string& name, double value, const char* unit, const char* how) {
      to.metrics.add(derived(name, value, unit, where, how));
    };
    if (kernel.hits <= 0) {
      to.not_measured["trace.cycles"] = "no wave ran on the compute unit that was traced";
      return to;
    }
    const double total = kernel.latency + kernel.idle;
    add("trace.instructions", kernel.hits, "1", "sum of Hit");
    add("trace.cycles", total, "1", "sum of Latency and Idle");
    if (total > 0) {
      add("trace.stall_pct", 100 * kernel.stall / total, "%", "Stall over Latency + Idle");
      add("trace.idle_pct", 100 * kernel.idle / total, "%", "Idle over Latency + Idle");
      // From gfx10 on latency runs to the end of the execution, not of the issue.
      if (generation_ < 10) {
        add("issue.active_pct", 100 * (kernel.latency - kernel.stall) / total, "%",
            "(Latency - Stall) over Latency + Idle");
      }
      put_stalls(kernel, total, to);
      if (const auto loop = hot_loop(kernel)) put_loop(kernel, *loop, total, to);
    }
    if (kernel.waves > 0) {
      add("trace.waves", static_cast<double>(kernel.waves), "1", "files of waves");
      if (kernel.duration > 0 && std::fabs(total - kernel.duration) > 0.05 * kernel.duration) {
        to.implausible.push_back(fmt::format(
            "the instructions took {} cycles and the waves {}: part of the waves or of the code is "
            "missing",
            number_text(total), number_text(kernel.duration)));
      }
      double sum = 0;
      for (const double state : kernel.states) sum += state;
      constexpr std::array<const char*, 5> kNames = {"empty", "idle", "exec", "wait", "stall"};
      for (std::size_t i = 1; i < kNames.size() && sum > 0; ++i) {
        add(fmt::format("trace.state_{}_pct", kNames[i]), 100 * kernel.states[i] / sum, "%",
            "timeline of the waves");
      }
    }
    if (resident_waves_) {
      to.metrics.add(derived("trace.waves_per_simd", *resident_waves_, "1", occupancy_where_,
                             "waves resident on the traced engine, mean"));
    }
    InstanceValues hits{"Hit", {}, {}}, latency{"Latency", {}, {}}, stall{"Stall", {}, {}},
        idle{"Idle", {}, {}};
    std::string_view source;
    for (std::size_t i = kernel.first; i < kernel.first + kernel.count; ++i) {
      const Instruction& one = instructions_[i];
      const auto offset = static_cast<std::uint64_t>(one.address - kernel.start);
      hits.by_address.emplace_back(offset, one.hits);
      latency.by_address.emplace_back(offset, one.latency);
      stall.by_address.emplace_back(offset, one.stall);
      idle.by_address.emplace_back(offset, one.idle);
      if (one.source.empty() || one.source == source) continue;
      source = one.source;
      const std::size_t colon = source.rfind(':');
      const auto number =
          colon == std::string_view::npos ? std::nullopt : parse_integer(source.substr(colon + 1));
      if (number && *number > 0 && *number < 1 << 30) {
        to.lines.push_back(
            {offset, to_valid_utf8(source.substr(0, colon)), static_cast<int>(*number)});
      }
    }
    for (InstanceValues* values : {&hits, &latency, &stall, &idle}) {
      to.instances.push_back(std::move(*values));
    }
    BURNISH_TRY(normalise(to, ""));
    return to;
  }

  Reading reading_;
  Where where_, occupancy_where_;
  std::string locator_ = "row {}";
  std::deque<std::string> texts_;
  std::vector<Instruction> instructions_;
  std::vector<TracedKernel> kernels_;
  std::vector<std::int32_t> by_line_;
  std::vector<std::size_t> kernel_of_;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> waits_;
  std::int64_t generation_ = 9;
  std::int64_t waves_ = 0, wave_instructions_ = 0, dropped_ = 0;
  std::optional<double> resident_waves_;
};

Input input_of(const MappedFile& file, const fs::path& path) {
  Input input;
  input.bytes = file.bytes();
  input.name = path;
  input.hash = content_hash(file.bytes());
  input.mapped = true;
  return input;
}

bool is_wave_file(std::string_view name) {
  return name.starts_with("se") && contains(name, "_sm") && contains(name, "_wv") &&
         name.ends_with(".json");
}

}  // namespace

bool is_trace_code(std::string_view bytes) {
  const std::string_view start = trim(bytes.substr(0, 4096));
  return start.starts_with("{\"code\":") ||
         (start.starts_with('{') && contains(start, "\"header\"") && contains(start, "Vaddr"));
}

bool is_trace_part(std::string_view bytes) {
  const std::string_view start = trim(bytes.substr(0, 4096));
  if (!start.starts_with('{')) return false;
  const std::string_view end =
      bytes.substr(bytes.size() - std::min<std::size_t>(bytes.size(), 4096));
  return contains(start, "\"wave_filenames\"") || contains(start, "\"num_stitched\"") ||
         start.starts_with("{\"name\":\"wstates") || contains(end, "\"dispatches\":{");
}

Result<Reading> read_trace(const TraceFiles& files) {
  Trace trace;
  // Texts of instructions point into the mapped file.
  std::vector<MappedFile> kept;
  const auto open = [&](const fs::path& path) -> Result<Input> {
    BURNISH_TRY_ASSIGN(MappedFile file, MappedFile::open(path));
    kept.push_back(std::move(file));
    return input_of(kept.back(), path);
  };
  std::set<std::string> present;
  if (!files.folder.empty()) {
    for (const std::string& name : real_file_system().list(files.folder)) present.insert(name);
  }
  if (present.count("filenames.json") > 0) {
    BURNISH_TRY_ASSIGN(const Input input, open(files.folder / "filenames.json"));
    BURNISH_TRY(trace.read_names(input, present));
  }
  Result<void> code = bad_input("the trace has no code.json").at({files.folder.string()});
  if (present.count("code.json") > 0) {
    BURNISH_TRY_ASSIGN(const Input input, open(files.folder / "code.json"));
    code = trace.read_code(input);
  }
  if (!code) {
    // The statistics hold the same sums.
    if (files.stats.empty() || trace.has_instructions()) return code.error();
    BURNISH_TRY_ASSIGN(const Input input, open(files.stats));
    BURNISH_TRY(trace.read_stats(input));
    if (!files.folder.empty()) {
      trace.reading().warnings.push_back(
          fmt::format("{}; its statistics are read instead", code.error().message));
    }
  }
  trace.index_lines();
  for (const std::string& name : present) {
    if (!is_wave_file(name)) continue;
    const fs::path path = files.folder / name;
    BURNISH_TRY_ASSIGN(const MappedFile file, MappedFile::open(path));
    Input input;
    input.bytes = file.bytes();
    input.name = path;
    input.mapped = true;
    if (input.bytes.empty()) {
      trace.reading().warnings.push_back(path.string() + ": the file is empty");
      continue;
    }
    BURNISH_TRY(trace.read_wave(input));
  }
  if (present.count("occupancy.json") > 0) {
    BURNISH_TRY_ASSIGN(const Input input, open(files.folder / "occupancy.json"));
    BURNISH_TRY(trace.read_occupancy(input));
  }
  for (const fs::path& path : files.code_objects) {
    std::error_code ignored;
    const std::uintmax_t size = fs::file_size(path, ignored);
    if (ignored || size > kLargestObject) continue;
    BURNISH_TRY_ASSIGN(std::string bytes, real_file_system().read(path));
    trace.reading().code.push_back({path.filename().string(), std::move(bytes)});
  }
  return trace.finish();
}

Result<Reading> read_trace_stats(const Input& input) {
  Trace trace;
  BURNISH_TRY(trace.read_stats(input));
  return trace.finish();
}

Result<Reading> read_trace_code(const Input& input) {
  Trace trace;
  BURNISH_TRY(trace.read_code(input));
  return trace.finish();
}

}  // namespace burnish::profile::amd
