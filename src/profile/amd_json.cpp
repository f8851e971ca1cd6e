// rocprofv3 --output-format json. One object, or one for each process, under
// "rocprofiler-sdk-tool": agents, counters, kernel_symbols, callback_records.counter_collection[]
// with a record for each instance of a counter, buffer_records.kernel_dispatch[].

#include "profile/amd_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "profile/json_walk.h"

namespace burnish::profile::amd {
namespace {

constexpr std::size_t kStep = std::size_t{32} << 20;
/// Symbols, counters and agents are kept: far more than a process has.
constexpr std::size_t kMostDescriptions = 1'000'000;

struct Symbol {
  std::string name, symbol;
  std::optional<std::int64_t> registers, accum, scalar;
};

class ToolReader {
 public:
  ToolReader(const Input& input, Run& run)
      : input_(input), run_(run), walk_(input.bytes, input.name.string()) {}

  Result<void> read() {
    source_ = run_.add_source(input_, "rocprofv3-json", "");
    // Names may stand behind what refers to them, so they are read first.
    for (const Pass pass : {Pass::names, Pass::records}) {
      pass_ = pass;
      walk_ = JsonWalk(input_.bytes, input_.name.string());
      released_ = 0;
      process_ = -1;
      bool found = false;
      walk_.object([&](std::string_view key) {
        if (key != "rocprofiler-sdk-tool") return;
        found = true;
        if (walk_.peek() == JsonWalk::Kind::object) {
          one_process();
        } else {
          walk_.array([&] { one_process(); });
        }
      });
      walk_.finish();
      if (walk_.failed()) return walk_.error();
      if (!found) {
        return bad_input("the object has no \"rocprofiler-sdk-tool\"").at({input_.name.string()});
      }
    }
    if (counted_ == 0) {
      run_.warnings.push_back(input_.name.string() +
                              ": no counter was collected, which is not the same as counters that "
                              "are 0");
    }
    return {};
  }

 private:
  enum class Pass { names, records };

  void one_process() {
    ++process_;
    if (pass_ == Pass::names) names_.emplace_back();
    if (static_cast<std::size_t>(process_) >= names_.size()) {
      walk_.skip();
      return;
    }
    walk_.object([&](std::string_view key) {
      if (pass_ == Pass::names) {
        if (key == "agents") {
          walk_.array([&] { agent(); });
        } else if (key == "counters") {
          walk_.array([&] { counter(); });
        } else if (key == "kernel_symbols") {
          std::int64_t index = 0;
          walk_.array([&] { symbol(index++); });
        } else if (key == "metadata") {
          walk_.object([&](std::string_view field) {
            if (field == "command") {
              std::string command;
              walk_.array([&] {
                if (const auto word = walk_.string()) {
                  if (!command.empty()) command += ' ';
                  command += to_valid_utf8(*word);
                }
              });
              if (!command.empty()) run_.session.emplace("command", command);
            }
          });
        }
        return;
      }
      if (key == "callback_records") {
        walk_.object([&](std::string_view records) {
          if (records == "counter_collection") walk_.array([&] { collection(); });
        });
      } else if (key == "buffer_records") {
        walk_.object([&](std::string_view records) {
          if (records == "kernel_dispatch") walk_.array([&] { dispatch(); });
        });
      }
    });
  }

  std::optional<std::int64_t> handle() {
    if (walk_.peek() == JsonWalk::Kind::number) return walk_.integer();
    std::optional<std::int64_t> value;
    walk_.object([&](std::string_view key) {
      if (key == "handle") value = walk_.integer();
    });
    return value;
  }

  void agent() {
    Agent agent;
    agent.gpu = false;
    std::optional<std::int64_t> id;
    Where where;
    where.file = input_.name.string();
    where.hash = input_.hash;
    where.locator = fmt::format("byte {}", walk_.position());
    std::int64_t simds = 0, slots = 0;
    walk_.object([&](std::string_view key) {
      if (key == "id") {
        id = handle();
      } else if (key == "type") {
        if (walk_.peek() == JsonWalk::Kind::string) {
          agent.gpu = contains(walk_.string().value_or(""), "GPU");
        } else {
          agent.gpu = walk_.integer() == 2;  // ROCPROFILER_AGENT_TYPE_GPU
        }
      } else if (key == "name") {
        agent.arch = arch_of_name(walk_.string().value_or(""));
      } else if (key == "product_name") {
        agent.name = to_valid_utf8(walk_.string().value_or(""));
      } else if (key == "num_xcc") {
        agent.fact("num_xcd", walk_.number().value_or(0), where);
      } else if (key == "cu_count") {
        agent.fact("cu_per_gpu", walk_.number().value_or(0), where);
      } else if (key == "max_engine_clk_fcompute") {
        agent.fact("max_sclk", walk_.number().value_or(0), where);
      } else if (key == "simd_per_cu") {
        simds = walk_.integer().value_or(0);
      } else if (key == "max_waves_per_simd") {
        slots = walk_.integer().value_or(0);
      }
    });
    if (simds > 0 && slots > 0 && simds < 1000 && slots < 1000) {
      agent.fact("max_waves_per_cu", static_cast<double>(simds * slots), where);
    }
    if (id) run_.add_agent(agent_key(*id), std::move(agent));
  }

  void counter() {
    std::optional<std::int64_t> id;
    std::string name;
    walk_.object([&](std::string_view key) {
      if (key == "id") {
        id = handle();
      } else if (key == "name") {
        name = to_valid_utf8(walk_.string().value_or(""));
      }
    });
    auto& counters = names_.back().counters;
    if (id && !name.empty() && counters.size() < kMostDescriptions) counters[*id] = name;
  }

  void symbol(std::int64_t index) {
    Symbol symbol;
    std::int64_t id = index;
    std::string display, demangled;
    walk_.object([&](std::string_view key) {
      if (key == "kernel_id") {
        id = walk_.integer().value_or(index);
      } else if (key == "kernel_name") {
        symbol.symbol = to_valid_utf8(walk_.string().value_or(""));
      } else if (key == "formatted_kernel_name") {
        display = to_valid_utf8(walk_.string().value_or(""));
      } else if (key == "demangled_kernel_name") {
        demangled = to_valid_utf8(walk_.string().value_or(""));
      } else if (key == "arch_vgpr_count") {
        symbol.registers = walk_.integer();
      } else if (key == "accum_vgpr_count") {
        symbol.accum = walk_.integer();
      } else if (key == "sgpr_count") {
        symbol.scalar = walk_.integer();
      }
    });
    symbol.name = !display.empty() ? display : !demangled.empty() ? demangled : symbol.symbol;
    auto& symbols = names_.back().symbols;
    if (!symbol.name.empty() && symbols.size() < kMostDescriptions) {
      symbols[id] = std::move(symbol);
    }
  }

  std::optional<std::array<std::int64_t, 3>> extent() {
    std::array<std::int64_t, 3> value{-1, -1, -1};
    walk_.object([&](std::string_view key) {
      if (key.size() == 1 && key[0] >= 'x' && key[0] <= 'z') {
        value[static_cast<std::size_t>(key[0] - 'x')] = walk_.integer().value_or(-1);
      }
    });
    if (value[0] < 0 || value[1] < 0 || value[2] < 0) return std::nullopt;
    return value;
  }

  /// The row of one launch, from "dispatch_info" and what stands round it.
  struct Info {
    LaunchRow row;
    std::optional<std::int64_t> kernel, agent;
  };
  void launch_field(std::string_view key, Info& info) {
    if (key == "dispatch_info") {
      walk_.object([&](std::string_view field) {
        if (field == "agent_id") {
          info.agent = handle();
        } else if (field == "kernel_id") {
          info.kernel = walk_.integer();
        } else if (field == "dispatch_id") {
          info.row.dispatch = walk_.integer();
        } else if (field == "private_segment_size") {
          info.row.scratch_bytes = walk_.integer();
        } else if (field == "group_segment_size") {
          info.row.shared_bytes = walk_.integer();
        } else if (field == "workgroup_size") {
          info.row.block = extent();
        } else if (field == "grid_size") {
          info.row.grid = extent();
        }
      });
    } else if (key == "start_timestamp") {
      info.row.start = walk_.integer();
    } else if (key == "end_timestamp") {
      info.row.end = walk_.integer();
    }
  }

  Run::Group* launch(Info& info, std::size_t at) {
    if (!info.kernel || !info.row.dispatch) return nullptr;
    Names& names = names_[static_cast<std::size_t>(process_)];
    const auto symbol = names.symbols.find(*info.kernel);
    std::string kernel = fmt::format("(kernel {})", *info.kernel);
    if (symbol != names.symbols.end()) {
      info.row.symbol = symbol->second.symbol;
      if (!info.row.registers) info.row.registers = symbol->second.registers;
      if (!info.row.accum) info.row.accum = symbol->second.accum;
      if (!info.row.scalar) info.row.scalar = symbol->second.scalar;
      kernel = symbol->second.name;
    }
    info.row.kernel = kernel;
    const std::string agent = info.agent ? agent_key(*info.agent) : std::string();
    info.row.agent = agent;
    std::string process = input_.process;
    if (names_.size() > 1) process += fmt::format("process {}", process_);
    Run::Group* group = run_.group(info.row, source_, 0, process);
    if (group != nullptr && group->launch_place.empty()) {
      group->launch_place = fmt::format("byte {}", at);
    }
    return group;
  }

  void collection() {
    const std::size_t at = walk_.position();
    Info info;
    sums_.clear();
    walk_.object([&](std::string_view key) {
      if (key == "dispatch_data") {
        walk_.object([&](std::string_view field) { launch_field(field, info); });
      } else if (key == "records") {
        walk_.array([&] {
          std::optional<std::int64_t> id;
          std::optional<double> value;
          walk_.object([&](std::string_view field) {
            if (field == "counter_id") {
              id = handle();
            } else if (field == "value" || field == "counter_value") {
              value = walk_.number();
            }
          });
          if (!id || !value) return;
          const auto known = std::find_if(sums_.begin(), sums_.end(),
                                          [&](const auto& one) { return one.first == *id; });
          if (known != sums_.end()) {
            known->second += *value;
          } else if (sums_.size() < 10'000) {
            sums_.emplace_back(*id, *value);
          }
        });
      }
    });
    release();
    if (walk_.failed()) return;
    Run::Group* group = launch(info, at);
    if (group == nullptr) return;
    run_.time_launch(*group, info.row, source_, 0);
    const auto& counters = names_[static_cast<std::size_t>(process_)].counters;
    std::string_view locator;
    for (const auto& [id, sum] : sums_) {
      const auto name = counters.find(id);
      const std::string counter =
          name == counters.end() ? fmt::format("counter {}", id) : name->second;
      const int index = run_.counter_index(counter);
      if (group->values.size() < 10'000) {
        if (locator.empty() && kept_ < 100'000) {
          ++kept_;
          locator = run_.keep(fmt::format("byte {}", at));
        }
        run_.add_value(*group, index, sum, source_, 0, locator);
        ++counted_;
      }
    }
  }

  void dispatch() {
    const std::size_t at = walk_.position();
    Info info;
    walk_.object([&](std::string_view key) { launch_field(key, info); });
    release();
    if (walk_.failed()) return;
    Run::Group* group = launch(info, at);
    // Where the counters came with times of their own, those stand.
    if (group != nullptr && counted_ == 0) run_.time_launch(*group, info.row, source_, 0);
  }

  void release() {
    if (walk_.position() < released_ + kStep) return;
    released_ = walk_.position();
    input_.done_to(released_);
  }

  std::string agent_key(std::int64_t id) const { return fmt::format("handle {}", id); }

  struct Names {
    std::unordered_map<std::int64_t, std::string> counters;
    std::unordered_map<std::int64_t, Symbol> symbols;
  };

  const Input& input_;
  Run& run_;
  JsonWalk walk_;
  Pass pass_ = Pass::names;
  int source_ = 0;
  int process_ = -1;
  std::vector<Names> names_;
  std::vector<std::pair<std::int64_t, double>> sums_;
  std::int64_t counted_ = 0;
  int kept_ = 0;
  std::size_t released_ = 0;
};

}  // namespace

bool is_tool_json(std::string_view bytes) {
  const std::string_view start = trim(bytes.substr(0, 4096));
  return start.starts_with('{') && contains(start, "\"rocprofiler-sdk-tool\"");
}

Result<void> read_tool_json(const Input& input, Run& run) { return ToolReader(input, run).read(); }

}  // namespace burnish::profile::amd
