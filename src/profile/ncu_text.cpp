#include "profile/ncu_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "profile/ncu_page.h"

namespace burnish::profile::nvidia {
namespace {

std::size_t indent_of(std::string_view line) {
  const std::size_t at = line.find_first_not_of(' ');
  return at == std::string_view::npos ? line.size() : at;
}

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

/// Start and length of each run of dashes; empty when the line holds anything else.
std::vector<std::pair<std::size_t, std::size_t>> dash_runs(std::string_view line) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ') continue;
    if (line[i] != '-') return {};
    if (i == 0 || line[i - 1] == ' ') runs.emplace_back(i, 0);
    ++runs.back().second;
  }
  return runs;
}

/// "  name(args) (gx, gy, gz)x(bx, by, bz), Context 1, Stream 7, Device 0, CC 9.0", with what each
/// version prints of it: a date in 2020, no sizes for ranges, "Invocations 4" in summaries.
struct LaunchLine {
  std::string name, grid, block, device, capability, invocations, date;
};

std::optional<LaunchLine> parse_launch(std::string_view line) {
  line = trim(line);
  LaunchLine launch;
  int known = 0;
  for (;;) {
    const std::size_t comma = line.rfind(", ");
    if (comma == std::string_view::npos) break;
    const std::string_view part = line.substr(comma + 2);
    const auto value = [&](std::string_view key) -> std::optional<std::string> {
      if (part.size() <= key.size() || part.substr(0, key.size()) != key) return std::nullopt;
      return std::string(part.substr(key.size()));
    };
    if (value("Context ") || value("Stream ")) {
      ++known;
    } else if (const auto device = value("Device ")) {
      launch.device = *device;
      ++known;
    } else if (const auto capability = value("CC ")) {
      launch.capability = *capability;
      ++known;
    } else if (const auto invocations = value("Invocations ")) {
      launch.invocations = *invocations;
      ++known;
    } else if (part.size() == 20 && part[4] == '-' && part[11] == ' ' && part[14] == ':') {
      launch.date = part;  // 2020-Oct-01 05:00:00
    } else {
      break;
    }
    line = line.substr(0, comma);
  }
  if (known == 0) return std::nullopt;
  const std::size_t between = line.rfind(")x(");
  if (between != std::string_view::npos && !line.empty() && line.back() == ')') {
    const std::size_t open = line.rfind('(', between);
    if (open != std::string_view::npos) {
      launch.grid = line.substr(open, between + 1 - open);
      launch.block = line.substr(between + 2);
      line = line.substr(0, open);
    }
  }
  launch.name = trim(line);
  if (launch.name.empty()) return std::nullopt;
  return launch;
}

/// "  Device 0, CC 9.0" of the page by GPU; launches follow.
std::optional<LaunchLine> parse_device(std::string_view line) {
  line = trim(line);
  if (line.substr(0, 7) != "Device ") return std::nullopt;
  const std::size_t comma = line.find(", CC ");
  if (comma == std::string_view::npos) return std::nullopt;
  LaunchLine device;
  device.device = line.substr(7, comma - 7);
  device.capability = line.substr(comma + 5);
  return device;
}

/// "[661] k@127.0.0.1"
std::optional<std::string> parse_process(std::string_view line) {
  if (line.size() < 4 || line.front() != '[') return std::nullopt;
  const std::size_t close = line.find("] ");
  if (close == std::string_view::npos || close < 2 ||
      line.substr(1, close - 1).find_first_not_of("0123456789") != std::string_view::npos ||
      !contains(line.substr(close), "@")) {
    return std::nullopt;
  }
  return std::string(line.substr(1, close - 1));
}

struct Handler {
  std::function<void(std::string_view raw_or_empty, std::string_view unit, std::string_view value)>
      see;
  std::function<void(const LaunchLine&, const std::string& process, int line)> launch;
  std::function<Result<void>(const PageBuilder::Label& label, std::string_view unit,
                             std::string_view value, int line)>
      value;
  std::function<void(const std::string& section, std::string_view kind, const std::string& text)>
      rule;
  std::function<void(std::string_view)> remark;
};

class Walker {
 public:
  Walker(std::string_view bytes, const Handler& handler) : bytes_(bytes), handler_(handler) {}

  Result<void> run() {
    int number = 0;
    for (std::size_t at = 0; at < bytes_.size();) {
      const std::size_t newline = std::min(bytes_.find('\n', at), bytes_.size());
      ++number;
      BURNISH_TRY(line(without_end(bytes_.substr(at, newline - at)), number));
      at = newline + 1;
    }
    end_rule();
    return {};
  }
  int launches() const { return launches_; }

 private:
  Result<void> line(std::string_view text, int number) {
    if (text.empty()) {
      if (state_ != State::rows) end_rule();
      return {};
    }
    if (is_profiler_line(text)) {
      if (text.substr(0, 8) != "==PROF==") handler_.remark(text);
      return {};
    }
    if (const auto process = parse_process(text)) {
      process_ = *process;
      return {};
    }
    const std::size_t indent = indent_of(text);
    const std::string_view body = text.substr(indent);
    if (body.substr(0, 9) == "Section: ") {
      end_rule();
      section_ = body.substr(9);
      item_.clear();
      state_ = State::idle;
      return {};
    }
    if (body.substr(0, 13) == "Table Name : ") {
      item_ = body.substr(13);
      return {};
    }
    if (const auto runs = dash_runs(text); !runs.empty() && runs.front().second >= 3) {
      if (!kind_.empty()) {  // between two messages of one section
        end_rule();
        return {};
      }
      if (state_ == State::header) {
        state_ = State::rows;
        columns_ = runs;
      } else if (state_ == State::rows) {
        state_ = State::idle;
      } else {
        state_ = State::opened;
      }
      return {};
    }
    if (state_ == State::opened) {
      is_metric_table_ = body.substr(0, 11) == "Metric Name";
      has_average_ = contains(body, "Average");
      state_ = State::header;
      return {};
    }
    if (state_ == State::rows) {
      if (is_metric_table_ && !section_.empty()) return row(text, number);
      return {};
    }
    if (!kind_.empty() && indent >= 8) {
      if (!rule_text_.empty()) rule_text_ += ' ';
      rule_text_ += trim(body);
      return {};
    }
    for (const std::string_view kind : {"OPT", "INF", "WRN", "ERR"}) {
      if (indent >= 2 && body.substr(0, 6) == std::string(kind) + "   ") {
        end_rule();
        kind_ = kind;
        rule_text_ = trim(body.substr(3));
        return {};
      }
    }
    if (indent >= 2 && indent <= 4) {
      if (const auto device = parse_device(text); device && indent == 2) {
        device_ = *device;
        return {};
      }
      if (auto launch = parse_launch(text)) {
        end_rule();
        if (launch->capability.empty() && device_) {
          launch->device = device_->device;
          launch->capability = device_->capability;
        }
        section_.clear();
        state_ = State::idle;
        ++launches_;
        handler_.launch(*launch, process_, number);
        return {};
      }
      if (body.substr(0, 9) == "Warning: ") handler_.remark(body);
    }
    return {};
  }

  Result<void> row(std::string_view text, int number) {
    if (columns_.size() < 3) return {};
    const auto cell = [&](std::size_t column) {
      const auto [start, length] = columns_[column];
      if (start >= text.size()) return std::string_view{};
      return trim(column + 1 == columns_.size() ? text.substr(start) : text.substr(start, length));
    };
    if (handler_.see) {
      for (std::size_t i = 2; i < columns_.size(); ++i) handler_.see("", cell(1), cell(i));
    }
    if (!handler_.value) return {};
    return handler_.value({section_, item_, cell(0)}, cell(1),
                          cell(has_average_ ? columns_.size() - 1 : 2), number);
  }

  void end_rule() {
    if (!kind_.empty()) handler_.rule(section_, kind_, rule_text_);
    kind_.clear();
    rule_text_.clear();
  }

  enum class State { idle, opened, header, rows };
  std::string_view bytes_;
  const Handler& handler_;
  State state_ = State::idle;
  std::vector<std::pair<std::size_t, std::size_t>> columns_;
  bool is_metric_table_ = false;
  bool has_average_ = false;
  std::string section_, item_, process_, kind_, rule_text_;
  std::optional<LaunchLine> device_;
  int launches_ = 0;
};

/// "Est. Speedup: 50%" and "Est. Local Speedup: 19.35%" in front of the message.
void take_speedup(const PageBuilder& builder, VendorRule& rule) {
  std::string_view text = rule.message;
  for (const std::string_view start : {"Est. Speedup: ", "Est. Local Speedup: "}) {
    if (text.substr(0, start.size()) != start) continue;
    const std::size_t percent = text.find('%');
    if (percent == std::string_view::npos) return;
    rule.speedup_pct = builder.number(text.substr(start.size(), percent - start.size()));
    rule.speedup_global = start == "Est. Speedup: ";
    rule.message = std::string(trim(text.substr(percent + 1)));
    return;
  }
}

}  // namespace

bool is_text_page(std::string_view bytes) {
  bool launch = false;
  std::size_t at = 0;
  while (at < bytes.size() && at < (std::size_t{1} << 20)) {
    const std::size_t newline = std::min(bytes.find('\n', at), bytes.size());
    const std::string_view line = without_end(bytes.substr(at, newline - at));
    at = newline + 1;
    const std::size_t indent = indent_of(line);
    if (indent >= 2 && indent <= 4 && parse_launch(line)) launch = true;
    if (launch && line.substr(indent).substr(0, 9) == "Section: ") return true;
  }
  return false;
}

Result<Reading> read_text_page(std::string_view bytes, const fs::path& name) {
  const std::string file = name.string();
  PageBuilder builder(file, content_hash(bytes));
  const auto nothing = [](auto&&...) {};
  Handler first;
  first.see = [&](std::string_view raw, std::string_view unit, std::string_view value) {
    builder.see(raw, unit, value);
  };
  first.launch = nothing;
  first.rule = nothing;
  first.remark = nothing;
  BURNISH_TRY(Walker(bytes, first).run());

  std::size_t current = 0;
  int count = 0;
  bool summary = false;
  Handler second;
  second.launch = [&](const LaunchLine& launch, const std::string& process, int line) {
    PageBuilder::Identity identity;
    identity.name = launch.name;
    identity.process = process;
    identity.grid = launch.grid;
    identity.block = launch.block;
    identity.capability = launch.capability;
    identity.id = std::to_string(count++);
    if (!launch.invocations.empty()) {
      summary = true;
      identity.id = mean_of(launch.invocations);
    }
    current = builder.launch(std::to_string(line), identity);
  };
  second.value = [&](const PageBuilder::Label& label, std::string_view unit, std::string_view value,
                     int line) -> Result<void> {
    if (count == 0) return {};
    return builder.labelled(current, label, unit, value, fmt::format("line {}", line));
  };
  second.rule = [&](const std::string& section, std::string_view kind, const std::string& text) {
    if (count == 0) return;
    VendorRule rule;
    rule.id = to_valid_utf8(section);
    rule.kind = kind_of_rule(kind);
    rule.message = to_valid_utf8(text);
    take_speedup(builder, rule);
    builder.rule(current, std::move(rule), fmt::format("section {}", to_valid_utf8(section)));
  };
  second.remark = [&](std::string_view text) { builder.warn(fmt::format("{}: {}", file, text)); };
  Walker walker(bytes, second);
  BURNISH_TRY(walker.run());
  if (walker.launches() == 0) {
    return bad_input("no launch of ncu's text output in it").at({file});
  }
  return builder.finish(summary ? "ncu-text-summary" : "ncu-text-details");
}

}  // namespace burnish::profile::nvidia
