#include "profile/counter_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "base/data.h"
#include "base/text.h"
#include "base/toml.h"
#include "profile/aliases.h"

namespace burnish::profile {
namespace {

struct Blocks {
  std::map<std::string, int, std::less<>> places;
  std::vector<std::string> every_run, also;
};

/// Absent when the data does not name the architecture.
Result<std::optional<Blocks>> blocks_of(std::string_view arch) {
  BURNISH_TRY_ASSIGN(const DataFile file, data_file("metrics/amd-blocks.toml"));
  BURNISH_TRY_ASSIGN(TomlFields root, TomlFields::parse(file.content, file.origin));
  std::optional<Blocks> found;
  for (TomlFields& device : root.tables("device")) {
    const std::vector<std::string> patterns = device.strings("arch");
    Blocks blocks;
    blocks.every_run = device.strings("every_run");
    blocks.also = device.strings("also");
    device.string("source");
    TomlFields counters = device.table("counters");
    for (const std::string& block : counters.keys()) {
      const std::int64_t places = counters.integer(block);
      if (places < 1 || places > 64) counters.fail(block, "a block counts 1 to 64 events at once");
      blocks.places[block] = static_cast<int>(places);
    }
    const bool fits =
        std::any_of(patterns.begin(), patterns.end(),
                    [&](const std::string& pattern) { return arch_matches(pattern, arch); });
    if (fits && !found) found = std::move(blocks);
  }
  BURNISH_TRY(root.finish());
  return found;
}

std::string block_of(std::string_view counter) {
  std::string block(counter.substr(0, counter.find('_')));
  return block == "SQC" ? "SQ" : block;
}

struct Pass {
  std::vector<std::string> counters;
  std::map<std::string, int> used;

  bool has(const std::string& counter) const {
    return std::find(counters.begin(), counters.end(), counter) != counters.end();
  }
  bool fits(const std::vector<std::string>& more, const Blocks& blocks) const {
    std::map<std::string, int> after = used;
    for (const std::string& counter : more)
      if (!has(counter)) ++after[block_of(counter)];
    return std::all_of(after.begin(), after.end(), [&](const auto& block) {
      return block.second <= blocks.places.at(block.first);
    });
  }
  void add(const std::string& counter) {
    if (has(counter)) return;
    counters.push_back(counter);
    ++used[block_of(counter)];
  }
};

class Planner {
 public:
  explicit Planner(const Blocks& blocks) : blocks_(blocks) {}

  /// Places what no run counts yet, together if that can be.
  void place(const std::vector<std::string>& counters) {
    std::vector<std::string> open;
    for (const std::string& counter : counters)
      if (placed_.count(counter) == 0) open.push_back(counter);
    if (open.empty()) return;
    Pass* best = nullptr;
    std::ptrdiff_t most = -1;
    for (Pass& pass : passes_) {
      if (!pass.fits(open, blocks_)) continue;
      const auto shared = std::count_if(counters.begin(), counters.end(),
                                        [&](const std::string& one) { return pass.has(one); });
      if (shared > most) {
        most = shared;
        best = &pass;
      }
    }
    if (best == nullptr) {
      Pass fresh;
      for (const std::string& counter : blocks_.every_run) fresh.add(counter);
      if (!fresh.fits(open, blocks_) && open.size() > 1) {
        for (const std::string& counter : open) place({counter});
        return;
      }
      best = &passes_.emplace_back(std::move(fresh));
    }
    for (const std::string& counter : open) {
      best->add(counter);
      placed_.insert(counter);
    }
  }

  std::vector<std::vector<std::string>> finish() {
    std::vector<std::vector<std::string>> all;
    for (Pass& pass : passes_) all.push_back(std::move(pass.counters));
    return all;
  }

 private:
  const Blocks& blocks_;
  std::vector<Pass> passes_;
  std::set<std::string> placed_;
};

/// The counters among what a source reads; absent when it reads something that no block counts: a
/// counter of a certain pass ("SQ_LEVEL_WAVES.SQ_ACCUM_PREV_HIRES") or one that the tool derives.
/// What is written in small letters describes the device or is another metric.
std::optional<std::vector<std::string>> counters_of(const std::vector<std::string>& names,
                                                    const Blocks& blocks) {
  std::vector<std::string> counters;
  for (const std::string& name : names) {
    if (std::none_of(name.begin(), name.end(),
                     [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }))
      continue;
    if (contains(name, ".") || blocks.places.count(block_of(name)) == 0) return std::nullopt;
    counters.push_back(name);
  }
  return counters;
}

}  // namespace

Result<std::vector<std::vector<std::string>>> plan_counter_passes(std::string_view arch) {
  BURNISH_TRY_ASSIGN(const auto blocks, blocks_of(arch));
  if (!blocks) {
    return environment_error(arch.empty() ? std::string("the device's architecture is not known")
                                          : fmt::format("no counters are known for {}", arch))
        .with_hint("data/metrics/amd-blocks.toml lists the architectures; $BURNISH_DATA overrides");
  }
  BURNISH_TRY_ASSIGN(const AliasTable table, AliasTable::load("metrics/amd.toml"));
  std::vector<std::vector<std::string>> wanted;
  for (const auto& sources : table.sources({std::string(arch), ""})) {
    for (const auto& names : sources) {
      auto counters = counters_of(names, *blocks);
      if (!counters) continue;
      std::erase_if(*counters, [&](const std::string& counter) {
        return std::find(blocks->every_run.begin(), blocks->every_run.end(), counter) !=
               blocks->every_run.end();
      });
      if (!counters->empty()) wanted.push_back(std::move(*counters));
      break;  // the first that can be had counts
    }
  }
  for (const std::string& counter : blocks->also) wanted.push_back({counter});
  // Large sets first: what is small fits beside them.
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  Planner planner(*blocks);
  for (const auto& counters : wanted) planner.place(counters);
  return planner.finish();
}

}  // namespace burnish::profile
